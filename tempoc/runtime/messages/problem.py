"""The diagnostics of the runner, as data and as text.

The shipped runner cannot import the compiler's diagnostics, so it has its own, which look alike.
"""

from __future__ import annotations

from dataclasses import dataclass

_BOLD, _RED, _CYAN, _OFF = "\x1b[1m", "\x1b[1;31m", "\x1b[1;36m", "\x1b[0m"


@dataclass(frozen=True, slots=True, kw_only=True)
class Problem:
    """One thing that is wrong; ``message`` is one sentence without a full stop."""

    code: str
    message: str
    notes: tuple[str, ...] = ()
    help: str | None = None


class RunError(Exception):
    """The run is refused or failed, for the reasons in ``problems`` (at least one)."""

    problems: tuple[Problem, ...]

    def __init__(self, *problems: Problem) -> None:
        super().__init__("; ".join(f"{p.code}: {p.message}" for p in problems))
        self.problems = problems


def render(problem: Problem, *, color: bool = False) -> str:
    """A headline, notes, help; ends with a line break."""
    bold, red, cyan, off = (_BOLD, _RED, _CYAN, _OFF) if color else ("", "", "", "")
    lines = [f"{red}error[{problem.code}]{off}{bold}: {problem.message}{off}"]
    lines += [f"{bold}note{off}: " + note.replace("\n", "\n      ") for note in problem.notes]
    if problem.help is not None:
        lines.append(f"{cyan}help{off}: " + problem.help.replace("\n", "\n      "))
    return "\n".join(lines) + "\n"


def render_all(problems: tuple[Problem, ...], *, color: bool = False) -> str:
    """All problems, a blank line between two."""
    return "\n".join(render(p, color=color) for p in problems)
