"""Suspend points in the text of a walk, and the code that resumes at one.

There is a *boundary* (suspend point) before each statement of the outermost sequence, at the start
of each step of a host loop, and after each call of a region. There the state of the run is: the
cells of stores, the remaining steps of loops, and the number of the boundary. A resumed walk begins
with ``p``, that number, and with the values of its variables::

    if p <= 4:                          # the boundaries 2 to 4 are in here
        steps0 = range(v_t, steps0.stop, steps0.step) if p else range(0, 100, 1)
        for v_t in steps0:
            if not p:
                if due(): hold(2, locals())
            elif p == 2: p = 0
            if not p:
                s1, = k3(at0, s1)

While ``p`` is not 0, statements are skipped; it is set to 0 at the boundary.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

from tempoc.program.nodes.nodes import Block, Guard, Loop, ProgramStatement, Region, Sequence


@dataclass(slots=True)
class SuspendPoints:
    """Writes boundaries if ``on``; blocks in ``single_calls`` have none."""

    lines: list[str]
    enabled: bool = False
    single_calls: Collection[str] = ()
    on: bool = False
    count: int = 0
    variables: dict[str, None] = field(default_factory=dict)

    def contains(self, s: ProgramStatement) -> bool:
        """Whether there is a boundary inside a statement."""
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
        """Reserve the line that restores variables; returns its index."""
        self.on = self.enabled
        if self.on:
            self.line(depth, "p = again")
            self.line(depth, "")
        return len(self.lines) - 1

    def finish(self, depth: int, place: int, cells: Iterator[str]) -> None:
        """Write the reserved line: restore the variables of a resumed walk."""
        if self.on:
            names = [*cells, *self.variables]
            arguments = ", ".join(map(repr, names))
            targets = "".join(f"{name}, " for name in names).rstrip()
            restore = f"({targets}) = back({arguments})" if names else "pass"
            self.lines[place] = "    " * depth + f"if p: {restore}"

    def boundary(self, depth: int) -> None:
        """Write a boundary."""
        if self.on:
            self.count += 1
            self.line(depth, "if not p:")
            self.line(depth + 1, f"if due(): hold({self.count}, locals())")
            self.line(depth, f"elif p == {self.count}: p = 0")

    def steps(self, var: str, steps: str, depth: int) -> str:
        """The steps of a loop, or the remaining ones in a resumed walk."""
        if not self.on:
            return steps
        name = self.variable("steps")
        self.variables[f"v_{var}"] = None
        remaining = f"range(v_{var}, {name}.stop, {name}.step)"
        self.line(depth, f"{name} = {remaining} if p else {steps}")
        return name

    def region_calls(self, calls: Callable[[str], str], steps: str, depth: int) -> tuple[str, str]:
        """The calls of a region, or the remaining ones, and the boundary after each of them."""
        if not self.on:
            return calls(steps), ""
        self.count += 1
        name = self.variable("turns")
        self.line(depth, f"{name} = {calls(f'{name} if p else {steps}')}")
        self.line(depth, "p = 0")
        return name, f"if due(): hold({self.count}, locals())"

    def variable(self, kind: str) -> str:
        """A new variable that is part of a snapshot."""
        name = f"{kind}{len(self.variables)}"
        self.variables[name] = None
        return name

    def unless_resumed(self, condition: str) -> str:
        """A condition that is not evaluated again in the step where the walk resumes."""
        return f"not p and ({condition})" if self.on else condition

    def or_resumed(self, condition: str) -> str:
        """A condition that counts as true where the walk resumes inside its body."""
        return f"p or ({condition})" if self.on else condition

    @contextmanager
    def guarded(self, s: ProgramStatement, depth: int) -> Iterator[int]:
        """Guard a statement that a resumed walk may have to skip; yields its depth."""
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
        """No boundaries inside a block that other walks run as a single call."""
        outer = self.on
        self.on = outer and kernel not in self.single_calls
        yield
        self.on = outer

    def line(self, depth: int, content: str) -> None:
        """Append a line."""
        self.lines.append("    " * depth + content)
