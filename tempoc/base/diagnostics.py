"""Diagnostics as data: what is wrong, where, why, and the way out.

A layer makes its diagnostics in its own `errors.py`, one function per code; nothing here knows a
wording. Rendering is in `base/render.py`.
"""

import os
from collections.abc import Iterable
from dataclasses import dataclass, field
from enum import Enum

from tempoc.base.source import Span


class Severity(Enum):
    """How bad it is: an error refuses the program, a warning does not."""

    ERROR = "error"
    WARNING = "warning"


@dataclass(frozen=True, slots=True)
class Label:
    """A place in the source and, if it needs one, a few words about it."""

    span: Span
    text: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Diagnostic:
    """One thing to tell the user; `message` is one sentence without a full stop.

    `primary` is None only where no place in a text is to blame (an option, a missing file).
    """

    code: str
    message: str
    primary: Label | None = None
    secondary: tuple[Label, ...] = ()
    notes: tuple[str, ...] = ()
    help: str | None = None
    severity: Severity = Severity.ERROR


class DiagnosticError(Exception):
    """The program is refused, for the reasons in `diagnostics` (at least one)."""

    diagnostics: tuple[Diagnostic, ...]

    def __init__(self, *diagnostics: Diagnostic) -> None:
        """Carry the given diagnostics, in order."""
        super().__init__("; ".join(f"{d.code}: {d.message}" for d in diagnostics))
        self.diagnostics = diagnostics


@dataclass(slots=True)
class Collector:
    """Gathers independent diagnostics, so that a file's errors are reported in one go."""

    found: list[Diagnostic] = field(default_factory=list)

    def add(self, diagnostic: Diagnostic) -> None:
        """Remember a diagnostic; one that says the same again is dropped."""
        if diagnostic not in self.found:
            self.found.append(diagnostic)

    def extend(self, diagnostics: Iterable[Diagnostic]) -> None:
        """Remember several."""
        for diagnostic in diagnostics:
            self.add(diagnostic)

    @property
    def has_errors(self) -> bool:
        """Whether at least one error was found (warnings do not count)."""
        return any(d.severity is Severity.ERROR for d in self.found)

    def ordered(self) -> tuple[Diagnostic, ...]:
        """All of them by place in the source; those without a place come first."""
        return tuple(sorted(self.found, key=_place))

    def raise_errors(self) -> None:
        """Raise `DiagnosticError` with everything found, if there is an error among it."""
        if self.has_errors:
            raise DiagnosticError(*self.ordered())


def _place(diagnostic: Diagnostic) -> tuple[str, int, int]:
    if diagnostic.primary is None:
        return ("", -1, -1)
    span = diagnostic.primary.span
    # Paths may be shown from the working directory or from the root; the order is the same.
    return (os.path.abspath(span.source.path), span.start, span.end)
