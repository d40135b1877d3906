"""What a walk does about stores that grow: before a call that needs more, all of a group grow.

Once stores have grown they stay so. What was seen to for one call need not be for the next one with
the same need, as long as no variable has changed since.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field

from tempoc.program.analysis.traversal import calls, variables
from tempoc.program.nodes.arithmetic import Arith, Operation, names
from tempoc.program.nodes.nodes import (
    Block,
    Call,
    CapacityNeed,
    Effect,
    Loop,
    OutputSpan,
    ProgramOutput,
    ProgramStatement,
    Region,
)
from tempoc.program.nodes.nodes import Sequence as Several
from tempoc.runtime.device.capacity import CapacityGroup, group_of

ArithText = Callable[[Arith], str]


@dataclass(slots=True)
class GrowthLines:
    """Lines that let stores grow. ``local`` are the cells that the walk has itself, by group."""

    groups: Sequence[CapacityGroup]
    emitted: set[tuple[int, str]] = field(default_factory=set)
    local: dict[int, list[int]] = field(default_factory=dict)

    def lines(self, needs: Sequence[CapacityNeed], text: ArithText) -> Iterator[str]:
        """Let stores grow as far as is needed, if they have not."""
        for need in needs:
            number = self.groups.index(group_of(need))
            for rows in map(text, need.rows):
                if (number, rows) in self.emitted:
                    continue
                self.emitted.add((number, rows))
                yield f"if {rows} > rooms[{number}]:"
                yield f"    more({number}, {rows})"
                for i in self.local.get(number, ()):
                    yield f"    s{i} = grown({i}, s{i})"

    @contextmanager
    def scoped(self) -> Iterator[None]:
        """A part that may not run, or whose variable takes other values: forget what it saw to."""
        outer = set(self.emitted)
        yield
        self.emitted = outer

    def step_limit(self, region: Region, text: ArithText) -> str:
        """How many steps of a region may follow each other, as arguments of ``turns``."""
        var = region.loop.var
        parts = [
            f"left({self.groups.index(group_of(need))}, {text(rows)})"
            for need in region.needs
            for rows in need.rows
            if var in names(rows)
        ]
        if not parts:
            return ""
        least = parts[0] if len(parts) == 1 else f"min({', '.join(parts)})"
        return f", lambda v_{var}: {least}"


def invariant_needs(loop: Loop) -> tuple[CapacityNeed, ...]:
    """What a loop is sure to need whatever its variable is."""
    return tuple(_invariant_needs(loop.body, (loop.var,)))


def _invariant_needs(s: ProgramStatement, inner: tuple[str, ...]) -> Iterator[CapacityNeed]:
    match s:
        case Several(items=items):
            for item in items:
                yield from _invariant_needs(item, inner)
        case Loop(var=var, body=body):
            yield from _invariant_needs(body, (*inner, var))
        case Effect(call=Call(needs=needs)) | Call(needs=needs):
            for n in needs:
                rows = tuple(e for e in n.rows if not any(v in names(e) for v in inner))
                if rows:
                    yield CapacityNeed(dim=n.dim, size=n.size, rows=rows)
        case _:
            pass


def block_needs(block: Block, grows: Mapping[str, CapacityGroup]) -> tuple[CapacityNeed, ...]:
    """What the kernel of a block needs, which is not called again for more.

    Stores that are made in it have all rows, and those that it takes beside them must, too.
    """
    inner = {*variables(block.body)}
    rows_of: dict[CapacityGroup, dict[Arith, None]] = {}
    for call in calls(block.body):
        for need in call.needs:
            for e in need.rows:
                rows = e if inner.isdisjoint(names(e)) else need.size
                rows_of.setdefault(group_of(need), {})[rows] = None
    for name in (*(cells.store for cells in block.made), *block.local):
        if name in grows:
            rows_of.setdefault(grows[name], {})[grows[name][1]] = None
    return tuple(
        CapacityNeed(dim=dim, size=size, rows=(*rows,)) for (dim, size), rows in rows_of.items()
    )


def output_needs(
    outputs: Sequence[ProgramOutput], grows: Mapping[str, CapacityGroup]
) -> tuple[CapacityNeed, ...]:
    """What is read when all is done."""
    needs = []
    for o in outputs:
        if o.store in grows:
            dim, size = grows[o.store]
            entry = dict(zip(o.dims, o.entries, strict=True))[dim]
            rows = entry.upper if isinstance(entry, OutputSpan) else Operation("+", (entry, 1))
            needs.append(CapacityNeed(dim=dim, size=size, rows=(rows,)))
    return tuple(needs)
