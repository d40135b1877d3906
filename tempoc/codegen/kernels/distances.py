"""How far from its own point a point of a vectorized kernel reads, and which part of an axis."""

from __future__ import annotations

from typing import NamedTuple

from tempoc.codegen.stores.context import Stages
from tempoc.codegen.stores.kernel_buffer import KernelAxis
from tempoc.sdg.statements.statements import Read, Statement, Write
from tempoc.symbolic import expr as ix
from tempoc.symbolic.walk import symbols


class Clamped(NamedTuple):
    """A read at so many ``steps`` from the own point, but not beyond the first or last one."""

    steps: int


class Rotated(NamedTuple):
    """A read at so many ``steps`` from the own point, where the first point follows the last."""

    steps: int


Moved = Clamped | Rotated
Distance = ix.Expr | Moved
"""How far from the own point an access is: a constant, clamped, or around a circle."""


def shift(access: Read | Write, dim: str, stages: Stages) -> ix.Expr | None:
    """``c`` if the access takes ``dim`` at ``dim + c`` and nowhere else; ``None`` otherwise."""
    at = stages.entries(access)
    entry = at.pop(dim)
    if isinstance(entry, ix.Slice) or any(dim in symbols(e) for e in at.values()):
        return None
    distance = ix.sub(entry, ix.Sym(dim))
    return distance if isinstance(distance, ix.Const) else None


def distance_along(
    access: Read | Write, axis: KernelAxis, statement: Statement, stages: Stages
) -> Distance | None:
    """How far from the own point an access is along an axis; ``None`` if that varies."""
    plain = shift(access, axis.dim, stages)
    if plain is not None:
        return plain
    at = stages.entries(access)
    entry, own, whole = at.pop(axis.dim), ix.Sym(axis.dim), axis.size
    vector = next(v for v in statement.vector if v.dim == axis.dim)
    if (vector.lower, vector.upper) != (ix.ZERO, whole) or axis.begin is not None or axis.grows:
        return None
    if whole != ix.Sym(stages.graph.universe.dim(axis.dim).bound):
        return None
    extents = stages.statements.tensors[access.tensor].type.shape
    if any(axis.dim in symbols(e) for e in extents):  # they are those at the clamped point
        return None
    if any(axis.dim in symbols(e) for e in at.values()):
        return None
    if isinstance(entry, ix.Mod):
        return _rotated(entry, own, stages)
    if not isinstance(entry, ix.IndexMax | ix.IndexMin):
        return None
    steps = next((ix.sub(e, own) for e in entry.args if axis.dim in symbols(e)), None)
    if not isinstance(steps, ix.Const):
        return None
    first, last = ix.ZERO, ix.sub(whole, ix.ONE)
    moved = ix.add(own, steps)
    limited = ix.minimum(moved, last) if steps.value > 0 else ix.maximum(moved, first)
    return Clamped(steps.value) if entry == limited else None


def is_chained(tensor: str, statement: Statement, stages: Stages) -> bool:
    """Whether another kernel makes a tensor in the same step, of neighbours of its points.

    Where XLA for CPUs fuses both, it computes what that reads once more for each of our neighbours.
    """
    assert statement.single is not None
    reads = [(statement, r) for r in statement.single.reads if r.tensor == tensor]
    writes = [w for w in stages.statements.writers(tensor) if w[0].name != statement.name]
    writes = [(s, w) for s, w in writes if s.single is not None and _reads_neighbours(s, stages)]
    return all(_is_of_step(s, r, stages) for s, r in reads) and any(
        _is_of_step(s, w, stages) for s, w in writes
    )


def _is_of_step(statement: Statement, access: Read | Write, stages: Stages) -> bool:
    """Whether an access is to the step of the loops in which the statement is executed."""
    at = stages.entries(access)
    return all(at.get(d, ix.Sym(d)) == ix.Sym(d) for d in statement.domain.dims)


def _reads_neighbours(statement: Statement, stages: Stages) -> bool:
    assert statement.single is not None
    own = [v.dim for v in statement.vector]
    return any(
        distance_along(read, axis, statement, stages) not in (None, ix.ZERO)
        for read in statement.single.reads
        if read.tensor in stages.buffers
        for axis in stages.buffers[read.tensor].axes
        if axis.dim in own
    )


def _rotated(entry: ix.Mod, own: ix.Sym, stages: Stages) -> Rotated | None:
    """``(y+47) % 48`` is one step back, if ``y`` has 48 points; ``None`` for other remainders."""
    universe = stages.graph.universe
    size = universe.settled(ix.Sym(universe.dim(own.name).bound))
    steps = universe.settled(ix.sub(entry.arg, own))
    if not isinstance(steps, ix.Const) or size != ix.Const(entry.divisor):
        return None
    ahead = steps.value % entry.divisor
    return Rotated(ahead if 2 * ahead <= entry.divisor else ahead - entry.divisor)


class TakenAxis(NamedTuple):
    """What all points together take of an axis of an array, before they are mapped over it.

    With ``dim``: each point of this dimension an element, ``size`` of them from ``start`` on. Else
    the slot ``start``, which is the same for all points.
    """

    axis: KernelAxis
    start: ix.Expr
    size: ix.Expr = ix.ONE
    dim: str = ""


def axis_parts(read: Read, statement: Statement, stages: Stages) -> tuple[TakenAxis, ...] | None:
    """What a read takes of those axes that are not those of its point; ``None`` if that varies.

    Empty where all axes are the point's own: then points are mapped over them as they are. Axes of
    which a point reads a slice stay, if all others are mapped: ``x[0:N, n]`` is a column.
    """
    at = stages.entries(read)
    vectors = {v.dim: v for v in statement.vector}
    parts: list[TakenAxis] = []
    sliced = False
    for axis in stages.buffers[read.tensor].axes:
        entry = at[axis.dim]
        if axis.dim in vectors and distance_along(read, axis, statement, stages) is not None:
            continue
        if axis.begin is not None:
            return None
        if isinstance(entry, ix.Slice):
            sliced = True
            continue
        own = [d for d in vectors if d in symbols(entry)]
        others = [s for d, e in at.items() if d != axis.dim for s in symbols(e)]
        if not own:
            parts.append(TakenAxis(axis, entry))
            continue
        vector = vectors[own[0]]
        start = ix.add(ix.sub(entry, ix.Sym(vector.dim)), vector.lower)
        size = ix.sub(vector.upper, vector.lower)
        inside = ix.compare(">=", start, ix.ZERO), ix.compare("<=", ix.add(start, size), axis.size)
        if len(own) > 1 or own[0] in (*symbols(start), *others) or axis.ring or axis.grows:
            return None
        if not stages.proves(statement, ix.conjunction(*inside)):
            return None
        parts.append(TakenAxis(axis, start, size, vector.dim))
    return None if sliced and not all(p.dim for p in parts) else tuple(parts)
