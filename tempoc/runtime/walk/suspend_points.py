"""What a walk does so that it can be held and gone on with: places where nothing is under way.

Such a *boundary* is before each statement of the outermost sequence, at the beginning of each step
of a loop of the host, and after each call of a region. There all that the run still needs is in the
cells of stores, in the steps that loops have left, and in the number of the boundary. A walk that
goes on begins with ``p``, that number, and what its variables held::

    if p <= 4:                          # the boundaries 2 to 4 are in here
        steps0 = range(v_t, steps0.stop, steps0.step) if p else range(0, 100, 1)
        for v_t in steps0:
            if not p:
                if due(): hold(2, locals())
            elif p == 2: p = 0
            if not p:
                s1, = k3(at0, s1)

What comes before the boundary is left out while ``p`` is not 0. From then on it is.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

from tempoc.program.nodes.nodes import Block, Guard, Loop, ProgramStatement, Region, Sequence


@dataclass(slots=True)
class SuspendPoints:
    """The boundaries of a walk. ``on``: there are any; ``whole`` are the blocks without."""

    lines: list[str]
    enabled: bool = False
    single_calls: Collection[str] = ()
    on: bool = False
    count: int = 0
    variables: dict[str, None] = field(default_factory=dict)

    def contains(self, s: ProgramStatement) -> bool:
        """Whether there is a boundary within a statement."""
        match s:
            case Loop() | Region():
                return self.on
            case Sequence(items=items):
                return any(map(self.contains, items))
            case Guard(body=body):
                return self.contains(body)
            case Block(kernel=kernel, body=body):
                return kernel not in self.single_calls and self.contains(body)
            case _:
                return False

    def start(self, depth: int) -> int:
        """Leave room for what a walk does first; the number of the line."""
        self.on = self.enabled
        if self.on:
            self.line(depth, "p = again")
            self.line(depth, "")
        return len(self.lines) - 1

    def finish(self, depth: int, place: int, cells: Iterator[str]) -> None:
        """Say what the variables of a walk that goes on hold."""
        if self.on:
            names = [*cells, *self.variables]
            arguments = ", ".join(map(repr, names))
            targets = "".join(f"{name}, " for name in names).rstrip()
            restore = f"({targets}) = back({arguments})" if names else "pass"
            self.lines[place] = "    " * depth + f"if p: {restore}"

    def boundary(self, depth: int) -> None:
        """A place where a walk may be held."""
        if self.on:
            self.count += 1
            self.line(depth, "if not p:")
            self.line(depth + 1, f"if due(): hold({self.count}, locals())")
            self.line(depth, f"elif p == {self.count}: p = 0")

    def steps(self, var: str, steps: str, depth: int) -> str:
        """The steps of a loop, or those that are left."""
        if not self.on:
            return steps
        name = self.variable("steps")
        self.variables[f"v_{var}"] = None
        remaining = f"range(v_{var}, {name}.stop, {name}.step)"
        self.line(depth, f"{name} = {remaining} if p else {steps}")
        return name

    def region_calls(self, calls: Callable[[str], str], steps: str, depth: int) -> tuple[str, str]:
        """The calls of a region, or those that are left, and the line after each of them."""
        if not self.on:
            return calls(steps), ""
        self.count += 1
        name = self.variable("turns")
        self.line(depth, f"{name} = {calls(f'{name} if p else {steps}')}")
        self.line(depth, "p = 0")
        return name, f"if due(): hold({self.count}, locals())"

    def variable(self, kind: str) -> str:
        """A new name that a walk which goes on must know."""
        name = f"{kind}{len(self.variables)}"
        self.variables[name] = None
        return name

    def unless_resumed(self, condition: str) -> str:
        """What is not looked at again in a step that the walk goes on with."""
        return f"not p and ({condition})" if self.on else condition

    def or_resumed(self, condition: str) -> str:
        """What has held already where the walk goes on."""
        return f"p or ({condition})" if self.on else condition

    @contextmanager
    def guarded(self, s: ProgramStatement, depth: int) -> Iterator[int]:
        """A statement of a sequence and all that it needs, which may lie behind: its depth."""
        if not self.on:
            yield depth
            return
        header = len(self.lines)
        self.line(depth, "")
        yield depth + 1
        condition = f"p <= {self.count}" if self.contains(s) else "not p"
        self.lines[header] = "    " * depth + f"if {condition}:"
        if len(self.lines) == header + 1:
            self.lines.pop()

    @contextmanager
    def excluded(self, kernel: str) -> Iterator[None]:
        """A block that is one call if nobody counts: no boundary in it."""
        outer = self.on
        self.on = outer and kernel not in self.single_calls
        yield
        self.on = outer

    def line(self, depth: int, content: str) -> None:
        """One more line."""
        self.lines.append("    " * depth + content)
