"""The most bytes that a program has in stores at one time, as a formula of its bounds.

Of all moments (``moments.py``) those count that no other one exceeds whatever the bounds are. What
is live at all of these stands before the ``max``.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass

from tempoc.footprint.formulas import SLOTS, BoundFacts
from tempoc.footprint.key_counts import key_counts
from tempoc.footprint.moments import COPY, StorePart, moments
from tempoc.program.nodes import nodes as prog
from tempoc.program.nodes.buffers import Buffer, Key
from tempoc.runtime.data.dtypes import NUMPY
from tempoc.symbolic import expr as ix
from tempoc.symbolic.walk import substitute

BEFORE = "_before"
"""Ends the name for how long a store was before it grew to a bound's length."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PeakRow:
    """A part of a store, its size, and at which of the largest moments (from 0) it is there."""

    part: StorePart
    size: ix.Expr
    moments: tuple[int, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Peak:
    """The most bytes: what is ``always`` there then, and the largest of the others."""

    always: ix.Expr
    others: tuple[ix.Expr, ...]
    rows: tuple[PeakRow, ...]

    @property
    def formula(self) -> ix.Expr:
        """All of it."""
        return ix.add(self.always, ix.maximum(*self.others)) if self.others else self.always


def peak(program: prog.Program, given: Collection[str]) -> Peak:
    """The formula; ``given`` are the stores that are filled before the run."""
    facts = BoundFacts(program)
    stores = {s.name: s for s in program.stores}
    live_sets = moments(program, given, facts)
    sizes = {p: part_size(stores[p[0]], p, facts) for m in live_sets for p in m}
    largest = _largest([(m, total(m, sizes)) for m in live_sets], facts)
    together = frozenset.intersection(*largest) if largest else frozenset()
    rest = [total(m - together, sizes) for m in largest]
    order = sorted(frozenset().union(*largest), key=lambda p: ([*stores].index(p[0]), p[1]))
    return Peak(
        always=total(together, sizes),
        others=tuple(rest) if len(largest) > 1 else (),
        rows=tuple(
            PeakRow(
                part=p, size=sizes[p], moments=tuple(k for k, m in enumerate(largest) if p in m)
            )
            for p in order
        ),
    )


def total(parts: Iterable[StorePart], sizes: dict[StorePart, ix.Expr]) -> ix.Expr:
    """The bytes of several."""
    return ix.add(ix.Const(0), *(sizes[p] for p in sorted(parts)))


def part_size(store: Buffer, part: StorePart, facts: BoundFacts) -> ix.Expr:
    """The bytes of all cells of a store, of one of them, or of one before it grew."""
    size = cell_size(store, facts)
    if part[1] == COPY:
        names = grown(store, facts)
        before = {name: ix.Sym(name.removesuffix(SLOTS) + BEFORE) for name in names}
        return substitute(size, before)
    return size if part[1] else ix.product((size, *counts(store, facts)))


def cell_size(store: Buffer, facts: BoundFacts) -> ix.Expr:
    """The bytes of one array."""
    sizes = [*map(facts.size, (*(a.size for a in store.axes), *store.shape))]
    if name := rounded(store, facts):
        sizes[store.axes.index(store.growing)] = ix.Sym(name + SLOTS)
    return ix.product((ix.Const(int(NUMPY[store.dtype].itemsize)), *sizes))


def counts(store: Buffer, facts: BoundFacts) -> tuple[ix.Expr, ...]:
    """How many arrays there are along each key."""
    bounds = dict(facts.program.dims)
    few = key_counts(store, facts)

    def count(key: Key) -> ix.Expr:
        if key.dim in few:
            return ix.Const(few[key.dim])
        return facts.size(ix.Sym(bounds[key.dim]) if key.modulo is None else key.modulo)

    return tuple(map(count, store.keys))


def grown(store: Buffer, facts: BoundFacts) -> tuple[str, ...]:
    """The bound to which a store grows, or the name of that, rounded."""
    axis = store.growing
    if axis is None or not axis.least:
        return ()
    if name := rounded(store, facts):
        return (name + SLOTS,)
    size = facts.size(axis.size)
    return (size.name,) if isinstance(size, ix.Sym) else ()


def rounded(store: Buffer, facts: BoundFacts) -> str:
    """The bound for which a store has slots and perhaps some more; empty if there is none."""
    axis = store.growing
    if axis is None or (axis.dim, axis.size) not in facts.rounded:
        return ""
    size = facts.size(axis.size)
    assert isinstance(size, ix.Sym)
    return size.name


def _largest(
    live_sets: Sequence[tuple[frozenset[StorePart], ix.Expr]], facts: BoundFacts
) -> list[frozenset[StorePart]]:
    """Moments that no other one exceeds for all bounds; of equal ones the first."""
    largest: list[tuple[frozenset[StorePart], ix.Expr]] = []
    for moment, size in live_sets:
        if any(facts.at_least(ix.sub(other, size), 0) for _, other in largest):
            continue
        largest = [(m, e) for m, e in largest if not facts.at_least(ix.sub(size, e), 0)]
        largest.append((moment, size))
    return [moment for moment, _ in largest]
