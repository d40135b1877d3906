"""Growth of stores: before a call that needs more slots, a whole group of stores grows.

Stores never shrink, so a need is checked once, and again only after a variable in it has changed.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field

from tempoc.program.analysis.traversal import calls, variables
from tempoc.program.nodes import nodes as prog
from tempoc.runtime.device.capacity import CapacityGroup, group_of
from tempoc.symbolic.expr import Expr
from tempoc.symbolic.walk import symbols

GroupRows = tuple[int, Expr]
"""A group of stores, by number, and the slots that it must have."""


@dataclass(slots=True)
class GrowthChecks:
    """The checks that code needs; ``emitted`` are those that hold where it stands."""

    groups: Sequence[CapacityGroup]
    emitted: set[GroupRows] = field(default_factory=set)

    def of(self, needs: Sequence[prog.CapacityNeed]) -> Iterator[GroupRows]:
        """The checks of some needs, without those emitted already."""
        for need in needs:
            number = self.groups.index(group_of(need))
            for rows in need.rows:
                if (number, rows) not in self.emitted:
                    self.emitted.add((number, rows))
                    yield number, rows

    @contextmanager
    def scoped(self) -> Iterator[None]:
        """A body that may not run, or runs for other values: forget its checks afterwards."""
        outer = set(self.emitted)
        yield
        self.emitted = outer

    def per_step(self, region: prog.Region) -> list[GroupRows]:
        """The needs that change with the steps of a region, which end a call of it."""
        return [
            (self.groups.index(group_of(need)), rows)
            for need in region.needs
            for rows in need.rows
            if region.loop.var in symbols(rows)
        ]


def invariant_needs(loop: prog.Loop) -> tuple[prog.CapacityNeed, ...]:
    """The needs of a loop that do not depend on its variable: they can be hoisted."""
    return tuple(_invariant_needs(loop.body, (loop.var,)))


def _invariant_needs(
    s: prog.ProgramStatement, inner: tuple[str, ...]
) -> Iterator[prog.CapacityNeed]:
    match s:
        case prog.Sequence(items=items):
            for item in items:
                yield from _invariant_needs(item, inner)
        case prog.Loop(var=var, body=body):
            yield from _invariant_needs(body, (*inner, var))
        case prog.Effect(call=prog.Call(needs=needs)) | prog.Call(needs=needs):
            for n in needs:
                rows = tuple(e for e in n.rows if not any(v in symbols(e) for v in inner))
                if rows:
                    yield prog.CapacityNeed(dim=n.dim, size=n.size, rows=rows)
        case _:
            pass


def block_needs(
    block: prog.Block, grows: Mapping[str, CapacityGroup]
) -> tuple[prog.CapacityNeed, ...]:
    """The needs of the kernel of a block, which runs only once: the most of all its calls.

    Stores that the block makes have their final size, so the others of their groups need it, too.
    """
    inner = {*variables(block.body)}
    rows_of: dict[CapacityGroup, dict[Expr, None]] = {}
    for call in calls(block.body):
        for need in call.needs:
            for e in need.rows:
                rows = e if inner.isdisjoint(symbols(e)) else need.size
                rows_of.setdefault(group_of(need), {})[rows] = None
    for name in (*(cells.store for cells in block.made), *block.local):
        if name in grows:
            rows_of.setdefault(grows[name], {})[grows[name][1]] = None
    return tuple(
        prog.CapacityNeed(dim=dim, size=size, rows=(*rows,))
        for (dim, size), rows in rows_of.items()
    )


def output_needs(
    outputs: Sequence[prog.ProgramOutput], grows: Mapping[str, CapacityGroup]
) -> tuple[prog.CapacityNeed, ...]:
    """The needs of reading the outputs at the end of the run."""
    needs = []
    for o in outputs:
        if o.store in grows:
            dim, size = grows[o.store]
            entry = dict(zip(o.dims, o.entries, strict=True))[dim]
            rows = entry.upper if isinstance(entry, prog.OutputSpan) else entry + 1
            needs.append(prog.CapacityNeed(dim=dim, size=size, rows=(rows,)))
    return tuple(needs)
