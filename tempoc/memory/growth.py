"""Growable buffers: causal reads (`k[0:t+1]`) allocate only the rows of the steps so far.

A loop over ``t`` that reads ``k[0:t+1]`` at each step needs ``t+1`` rows of ``k``, not ``T``. An
axis *grows* if every access in such a loop is at most a few rows ahead of the step. The capacity is
chosen at run time from a few buckets; kernels take it from the array's shape. Each statement has a
``CapacityUse``: the rows that its kernel may rely on. What has all points but the last few, as keys
that no later step reads, grows alike.

A store of the points of such a loop (`tok[t]`) grows with those that it reads. Where there are
none its size is *rounded* to a bucket: without that, each bound has kernels of its own. It is done
where no other shape depends on the bound, so that kernels do not after it. For the same reason, a
ring has all slots of its window even for a bound that is less.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterator, Mapping
from dataclasses import replace

from tempoc.base.run_costs import RUN_COSTS
from tempoc.memory.estimates import is_small
from tempoc.memory.plan_types import CapacityUse
from tempoc.ops.definition.types import DType
from tempoc.poly.relations.space import Space
from tempoc.program.nodes.buffers import Buffer, BufferAxis
from tempoc.schedule.tree import ScheduleTree, TreeLoop, executed, walk
from tempoc.sdg.statements.statements import Statement, Statements
from tempoc.symbolic import expr as ix
from tempoc.symbolic.domain import Universe
from tempoc.symbolic.walk import children, evaluate, substitute, symbols


def growing_dims(
    tree: ScheduleTree, statements: Statements, space: Space
) -> Mapping[str, frozenset[str]]:
    """For each tensor the dimensions along which its store should grow."""
    return _dims_in_loops(tree, statements, space, ranges=True)


def stepped_dims(
    tree: ScheduleTree, statements: Statements, space: Space
) -> Mapping[str, frozenset[str]]:
    """For each tensor the dimensions along which its store could grow: loops step along them."""
    return _dims_in_loops(tree, statements, space, ranges=False)


def _dims_in_loops(
    tree: ScheduleTree, statements: Statements, space: Space, *, ranges: bool
) -> Mapping[str, frozenset[str]]:
    dims_of: dict[str, set[str]] = {}
    for loop in _rising_loops(tree):
        for tensor, dim in _growth_candidates(loop, statements, space, ranges=ranges):
            dims_of.setdefault(tensor, set()).add(dim)
    return {tensor: frozenset(dims) for tensor, dims in dims_of.items()}


def _rising_loops(tree: ScheduleTree) -> Iterator[TreeLoop]:
    """Loops of step 1 between whose steps the host runs, so that it can grow stores."""
    for loop, around in walk(tree):
        on_host = all(outer.place == "host" for outer in around)
        if isinstance(loop, TreeLoop) and loop.step == 1 and on_host:
            yield loop


def _growth_candidates(
    loop: TreeLoop, statements: Statements, space: Space, *, ranges: bool
) -> Iterator[tuple[str, str]]:
    """Tensors and dimensions that the loop accesses up to its step, and never beyond it.

    ``ranges``: only those of which it reads long slices.
    """
    by_name = {s.name: s for s in statements.statements}
    followed: dict[tuple[str, str], None] = {}
    excluded: dict[tuple[str, str], None] = {}
    fixed: list[tuple[str, str, ix.Expr, Statement]] = []
    for execute in executed(loop.body):
        s = by_name[execute.statement]
        at = s.domain.at(execute.point)
        for tensor, dim, entry, is_read in _accesses(s, statements):
            needed = rows_needed(entry)
            rows = substitute(needed, at)
            if isinstance(ix.sub(rows, ix.Sym(loop.var)), ix.Const):
                is_long = isinstance(entry, ix.Slice) and _is_long(entry, dim, s, space)
                if not ranges or (is_read and is_long):
                    followed[tensor, dim] = None
            elif loop.var in symbols(rows):
                excluded[tensor, dim] = None
            else:
                fixed.append((tensor, dim, needed, s))
    left = {key for key in followed if key not in excluded}
    for tensor, dim, needed, s in fixed:
        if (tensor, dim) in left and _may_cover_bound(needed, dim, s, space):
            left.remove((tensor, dim))
    return (key for key in followed if key in left)


def _may_cover_bound(rows: ix.Expr, dim: str, s: Statement, space: Space) -> bool:
    """Whether this number of rows may reach the bound, or is unknown."""
    most = space.upper_bound(rows, s.domain)
    unknown = any(space.universe.is_dim(n) for n in symbols(most))
    return unknown or most == ix.Sym(space.universe.dim(dim).bound)


def _is_long(entry: ix.Slice, dim: str, s: Statement, space: Space) -> bool:
    """Whether the length of a slice grows with the bound."""
    most = space.upper_bound(ix.sub(entry.hi, entry.lo), s.domain)
    return not is_small(most, space.universe.dim(dim).bound, space.universe)


# ------------------------------------------------------------------ sizes that are rounded


def with_rounded(
    stores: Mapping[str, Buffer],
    stepped: Mapping[str, frozenset[str]],
    statements: Statements,
    universe: Universe,
) -> Mapping[str, Buffer]:
    """The stores, with axes that grow or are rounded where each size over a bound could be so."""
    bounds = [b.name for b in universe.bounds if b.value is None and b.name not in universe.lengths]
    ranges = [e for s in statements.statements for v in s.vector for e in (v.lower, v.upper)]
    for bound in bounds:
        size = ix.Sym(bound)
        depending = {n: s for n, s in stores.items() if any(_depends(e, bound) for e in _sizes(s))}
        axes = {n: [a for a in s.axes if a.size == size] for n, s in depending.items()}
        free = not any(_depends(e, bound) for e in ranges) and all(
            len(own) == sum(_depends(e, bound) for e in _sizes(stores[name])) == 1
            and not own[0].ring
            and own[0].every == 1
            and (own[0].grows or own[0].dim in stepped.get(name, ()))
            and not any(_depends(e, bound) for e in _ends(name, own[0].dim, statements))
            and not statements.tensors[name].is_given
            and not any(a.grows and a not in own for a in stores[name].axes)
            for name, own in axes.items()
        )
        if free:
            least = {a.dim: a.least for own in axes.values() for a in own if a.grows}
            stores = {**stores, **{n: _rounded(s, size, least) for n, s in depending.items()}}
    return stores


def _rounded(store: Buffer, size: ix.Expr, least: Mapping[str, int]) -> Buffer:
    """A store whose axis of that size grows with others along its dimension, or is rounded."""
    axes = (
        replace(a, least=least.get(a.dim, 0), rounded=a.dim not in least)
        if a.size == size and not a.grows
        else a
        for a in store.axes
    )
    return replace(store, axes=tuple(axes))


def with_ample_rings(
    stores: Mapping[str, Buffer], statements: Statements, space: Space
) -> tuple[Mapping[str, Buffer], frozenset[str]]:
    """The stores with rings of ``256`` slots in place of ``min(256, T)``, and the bounds like `T`.

    Without that each `T` below 256 has kernels of its own. It is done where kernels would not
    depend on `T` then, and where it takes few bytes, in relation to what is given: for a long run
    the rings are as large in any case. Windows are padded accordingly (`ample`).
    """
    universe, chosen = space.universe, frozenset[str]()
    lengths = {*universe.lengths, *(b.name for b in universe.ended)}
    for bound in universe.bounds:
        more = chosen | {bound.name}
        if bound.value is not None or bound.name in lengths:
            continue
        rings = {n: _ample_ring(s, more) for n, s in stores.items()}
        changed = [rings[n] for n, s in stores.items() if rings[n] != s]
        if changed and _depends_on_windows_alone(bound.name, rings, more, statements, space):
            given = sum(
                _least_bytes(stores[n]) for n, t in statements.tensors.items() if t.is_given
            )
            limit = max(RUN_COSTS.rounded_bytes, given // RUN_COSTS.rounded_part)
            if sum(map(_least_bytes, changed)) <= limit:
                stores, chosen = rings, more
    return stores, chosen


def ample(e: ix.Expr, bounds: Collection[str]) -> ix.Expr:
    """An upper bound of a size, of which these bounds are no part: 3 for ``min(3, T)``."""
    if isinstance(e, ix.IndexMin):
        numbers = [a for a in e.args if isinstance(a, ix.Const)]
        others = [a for a in e.args if not isinstance(a, ix.Const)]
        return numbers[0] if numbers and all({*symbols(a)} <= {*bounds} for a in others) else e
    return ix.maximum(*(ample(a, bounds) for a in e.args)) if isinstance(e, ix.IndexMax) else e


def _ample_ring(store: Buffer, bounds: Collection[str]) -> Buffer:
    axes = (replace(a, size=ample(a.size, bounds)) if a.ring else a for a in store.axes)
    return replace(store, axes=tuple(axes))


def _depends_on_windows_alone(
    bound: str,
    stores: Mapping[str, Buffer],
    bounds: Collection[str],
    statements: Statements,
    space: Space,
) -> bool:
    """Whether of all shapes only windows of rings depend on a bound, up to their lengths."""
    ranges = [e for s in statements.statements for v in s.vector for e in (v.lower, v.upper)]
    sizes = [e for s in stores.values() for e in _sizes(s) if not _is_grown(e, s)]
    if any(_depends(e, bound) for e in (*ranges, *sizes)):
        return False
    fixed = [e for s in stores.values() for e in s.shape]
    fixed += [a.size for s in stores.values() for a in s.axes if not a.ring]
    fixed += _longest_slices(stores, statements, space)
    return all(ample(e, bounds) == e for e in fixed)


def _is_grown(e: ix.Expr, store: Buffer) -> bool:
    return store.growing is not None and store.growing.size == e


def _longest_slices(
    stores: Mapping[str, Buffer], statements: Statements, space: Space
) -> Iterator[ix.Expr]:
    """The greatest lengths of slices of axes that are no rings."""
    for s in statements.statements:
        for one in (s, *(() if s.single is None else (s.single,))):
            for access in (*one.reads, *one.writes):
                rings = {a.dim for a in stores[access.tensor].axes if a.ring}
                dims = statements.tensors[access.tensor].domain.dims
                for dim, entry in zip(dims, access.entries, strict=True):
                    if isinstance(entry, ix.Slice) and dim not in rings:
                        yield space.upper_bound(ix.sub(entry.hi, entry.lo), one.domain)


def _least_bytes(store: Buffer) -> int:
    """The bytes of a store where all bounds are 1."""
    sizes = (*_sizes(store), *(ix.ONE for _ in store.keys))
    count = math.prod(evaluate(e, dict.fromkeys(symbols(e), 1)) for e in sizes)
    return count * DType(store.dtype).itemsize


def _sizes(store: Buffer) -> Iterator[ix.Expr]:
    yield from (axis.size for axis in store.axes)
    yield from store.shape
    yield from (key.modulo for key in store.keys if key.modulo is not None)


def _ends(tensor: str, dim: str, statements: Statements) -> Iterator[ix.Expr]:
    """The ends of all slices of a tensor along a dimension."""
    place = statements.tensors[tensor].domain.dims.index(dim)
    for s in statements.statements:
        accesses = [(r.tensor, r.entries) for r in s.reads]
        accesses += [(w.tensor, w.entries) for w in s.writes]
        for name, entries in accesses:
            if name == tensor and isinstance(entry := entries[place], ix.Slice):
                yield from (entry.lo, entry.hi)


def _depends(e: ix.Expr, bound: str) -> bool:
    """Whether a value depends on a bound however large that is: not the minimum with another."""
    if isinstance(e, ix.IndexMin):
        return all(_depends(a, bound) for a in e.args)
    return e == ix.Sym(bound) or any(_depends(part, bound) for part in children(e))


# ------------------------------------------------------------------ accesses


def _accesses(s: Statement, statements: Statements) -> Iterator[tuple[str, str, ix.Entry, bool]]:
    """All accesses of computed tensors: tensor, dimension, entry, and whether it is a read."""
    reads = [(r.tensor, r.entries, True) for r in s.reads]
    for tensor, entries, is_read in [*reads, *((w.tensor, w.entries, False) for w in s.writes)]:
        stored_tensor = statements.tensors[tensor]
        if not stored_tensor.is_given:
            for dim, entry in zip(stored_tensor.domain.dims, entries, strict=True):
                yield tensor, dim, entry, is_read


def rows_needed(entry: ix.Entry) -> ix.Expr:
    """The number of rows that an entry needs."""
    return entry.hi if isinstance(entry, ix.Slice) else entry + 1


# ---------------------------------------------------------------- needs of statements


def capacity_uses(
    stores: Mapping[str, Buffer], statements: Statements, space: Space
) -> dict[str, tuple[CapacityUse, ...]]:
    """For each statement the rows of growing stores that it accesses."""
    uses = {}
    for s in statements.statements:
        collector = _CapacityCollector(s, space)
        for tensor, dim, entry, _ in _accesses(s, statements):
            for axis in stores[tensor].axes:
                if axis.dim == dim and axis.grows:
                    collector.add(axis, rows_needed(entry))
        if collector.rows:
            uses[s.name] = collector.all()
    return uses


class _CapacityCollector:
    """Collects the capacity uses of one statement."""

    def __init__(self, statement: Statement, space: Space) -> None:
        self.domain = statement.domain
        self.space = space
        self.rows: dict[tuple[str, ix.Expr], list[ix.Expr]] = {}
        self.accessed: dict[tuple[str, ix.Expr], dict[ix.Expr, None]] = {}

    def add(self, axis: BufferAxis, rows: ix.Expr) -> None:
        """Add an access, unless an earlier one provably needs as many rows."""
        self.accessed.setdefault((axis.dim, axis.size), {})[rows] = None
        known = self.rows.setdefault((axis.dim, axis.size), [])
        if not any(self.exceeds(k, rows) for k in known):
            known[:] = [k for k in known if not self.exceeds(rows, k)] + [rows]

    def exceeds(self, a: ix.Expr, b: ix.Expr) -> bool:
        return self.space.implies(self.domain, ix.compare(">=", a, b))

    def all(self) -> tuple[CapacityUse, ...]:
        return tuple(
            CapacityUse(
                dim=dim,
                size=size,
                rows=tuple(rows),
                sure=tuple(e for e in self.accessed[dim, size] if self.exceeds(size, e)),
            )
            for (dim, size), rows in self.rows.items()
        )
