"""Derivatives of picking and ordering: what is picked twice gets both cotangents."""

from __future__ import annotations

from tempoc.ops.control.control import Select
from tempoc.ops.definition.shapes import axis_of
from tempoc.ops.definition.types import DType
from tempoc.ops.gradients.calculus import Calculus, Derivatives, Rules, Term, Terms
from tempoc.ops.indexing.indexing import OneHot, SpatialIndex, Take, TakeAlong
from tempoc.ops.indexing.pick import Pick
from tempoc.ops.indexing.put import Put
from tempoc.ops.indexing.scatter import Scatter, ScatterAdd, ScatterMax, ScatterMin
from tempoc.ops.indexing.search import ArgSort, Sort, TopK
from tempoc.ops.tensor import arithmetic as binary, elementwise as unary
from tempoc.ops.tensor.movement import Pad, Transpose
from tempoc.ops.tensor.reshape import Reshape
from tempoc.ops.tensor.source import Arange, IndexValue
from tempoc.symbolic import expr as ix

RULES = Rules()


@RULES.of(SpatialIndex)
def getitem(op: SpatialIndex, c: Calculus, args: Terms, results: Terms, cots: Terms) -> Derivatives:
    """First the gathered axis, then points and slices, each with zeros around it.

    Points that several steps read, such as `t - s`, are added up by position instead.
    """
    x, (g,) = args[0], cots
    if op.gathers:
        g = _ungathered(op, c, args, g)
    added: set[int] = set()
    for axis, e in enumerate(op.entries):
        if isinstance(e, ix.Expr) and _is_shared(e):
            added.add(axis)
            adds = ScatterAdd(axis=axis, n=x.shape[axis], sure=True)
            g = c.op(adds, g, c.op(IndexValue(expr=e)))
        elif isinstance(e, ix.Expr):
            g = c.expand(g, [axis])
    widths: list[tuple[ix.Expr, ix.Expr]] = [(ix.ZERO, ix.ZERO)] * x.type.ndim
    for axis, e in enumerate(op.entries):
        n = x.shape[axis]
        if isinstance(e, ix.Expr) and axis not in added:
            widths[axis] = (e, ix.sub(ix.sub(n, e), ix.ONE))
        elif isinstance(e, tuple):
            start, count, step = e
            if step == 1:
                widths[axis] = (start, ix.sub(ix.sub(n, start), count))
            else:
                g = _spread(c, g, axis, e, n)
    if any(pair != (ix.ZERO, ix.ZERO) for pair in widths):
        g = c.op(Pad(widths=tuple(widths)), g)
    return (c.fit(g, x), None)[: len(args)]


def _spread(
    c: Calculus, g: Term, axis: int, part: tuple[ix.Expr, ix.Expr, int], n: ix.Expr
) -> Term:
    """Elements put at every ``step``-th place of an axis of extent ``n``, with zeros between them.

    Zeros after each element make groups of a step, which are joined: a scatter costs ten times as
    much. Where extents are known only later, it may be unknown whether the last group is whole.
    """
    start, count, step = part
    rest = ix.sub(n, ix.mul(ix.Const(step), count))
    if not isinstance(start, ix.Const) or not isinstance(rest, ix.Const) or step < 1:
        stop = ix.add(start, ix.mul(ix.Const(step), count))
        places = c.op(Arange(start=start, stop=stop, step=step))
        return c.op(ScatterAdd(axis=axis, n=n, sure=True), g, places)
    own = start.value % step
    nothing, ndim = (ix.ZERO, ix.ZERO), g.type.ndim
    groups = [nothing] * (ndim + 1)
    groups[axis + 1] = (ix.Const(own), ix.Const(step - 1 - own))
    g = c.op(Pad(widths=tuple(groups)), c.expand(g, [axis + 1]))
    whole = ix.mul(ix.Const(step), count)
    g = c.op(Reshape(shape=(*g.shape[:axis], whole, *g.shape[axis + 2 :])), g)
    before = start.value - own
    missing = rest.value - before
    if missing < 0:
        entries = [(ix.ZERO, extent, 1) for extent in g.shape]
        entries[axis] = (ix.ZERO, ix.add(whole, ix.Const(missing)), 1)
        g = c.op(SpatialIndex(entries=tuple(entries)), g)
    widths = [nothing] * ndim
    widths[axis] = (ix.Const(before), ix.Const(max(missing, 0)))
    return c.op(Pad(widths=tuple(widths)), g) if widths[axis] != nothing else g


def _is_shared(e: ix.Expr) -> bool:
    """Whether a point is not one number plus one dimension or bound, so that steps may share it."""
    if isinstance(e, ix.IndexSum):
        return len(e.terms) > 1 or not isinstance(e.terms[0][1], ix.Sym)
    return not isinstance(e, ix.Sym | ix.Const)


def _ungathered(op: SpatialIndex, c: Calculus, args: Terms, g: Term) -> Term:
    x, idx = args
    axis = op.entries.index("tensor")
    now = axis - sum(isinstance(e, ix.Expr) for e in op.entries[:axis])
    rank, place = idx.type.ndim, op.place()
    if now != place and rank:
        order = list(range(g.type.ndim))
        picked = order[place : place + rank]
        others = [k for k in order if k not in picked]
        others[now:now] = picked
        g = c.op(Transpose(axes=tuple(others)), g)
    g = c.op(ScatterAdd(axis=now, n=op.joint(x.shape)[axis], sure=op.sure), g, idx)
    if op.entries.count("tensor") > 1:
        shape = (*g.shape[:now], *x.shape[op.searched_axes], *g.shape[now + 1 :])
        g = c.op(Reshape(shape=shape), g)
    return g


@RULES.of(Take)
def take(op: Take, c: Calculus, args: Terms, results: Terms, cots: Terms) -> Derivatives:
    """Added up by position."""
    x, idx = args
    axis = axis_of(op.axis, x.type.ndim)
    adds = ScatterAdd(axis=axis, n=x.shape[axis], sure=op.sure)
    return c.fit(c.op(adds, cots[0], idx), x), None


@RULES.of(ScatterAdd)
def scatter_add(
    op: ScatterAdd, c: Calculus, args: Terms, results: Terms, cots: Terms
) -> Derivatives:
    """Each element gets what stands at its position."""
    x, idx = args
    axis = axis_of(op.axis, results[0].type.ndim)
    return c.fit(c.op(Take(axis=axis, sure=op.sure), cots[0], idx), x), None


@RULES.of(Put)
def put(op: Put, c: Calculus, args: Terms, results: Terms, cots: Terms) -> Derivatives:
    """What stands at the position, and all the rest."""
    x, idx, v = args
    (g,) = cots
    nothing = c.number(0, g.type.dtype)
    return c.fit(c.op(op, g, idx, nothing), x), None, c.fit(c.op(Take(axis=op.axis), g, idx), v)


@RULES.of(ScatterMax, ScatterMin)
def scatter_extreme(
    op: Scatter, c: Calculus, args: Terms, results: Terms, cots: Terms
) -> Derivatives:
    """Evenly to the elements that are the greatest, or least, at their position."""
    x, idx = args
    axis = axis_of(op.axis, results[0].type.ndim)
    g = cots[0]
    chosen = c.op(binary.Equal(), x, c.op(Take(axis=axis), results[0], idx))
    adds = ScatterAdd(axis=axis, n=op.n, sure=op.sure)
    count = c.op(adds, c.cast(chosen, g.type.dtype), idx)
    share = c.op(Take(axis=axis), c.div(g, count), idx)
    return c.fit(c.masked(chosen, share), x), None


@RULES.of(TakeAlong)
def take_along(op: TakeAlong, c: Calculus, args: Terms, results: Terms, cots: Terms) -> Derivatives:
    """Of a vector added up by position; row by row, each position against each place.

    So is a single position of a vector: there are as many places as the result has anyway, and XLA
    fuses that with what reads it.
    """
    x, idx = args
    axis = axis_of(op.axis, x.type.ndim)
    return c.fit(_along(c, x, idx, cots[0], axis, op.sure), x), None


def _along(c: Calculus, x: Term, idx: Term, g: Term, axis: int, sure: bool) -> Term:
    n = x.shape[axis]
    if x.type.ndim == 1 and idx.shape[0] != ix.ONE:
        return c.op(ScatterAdd(axis=0, n=n, sure=sure), g, idx)
    if idx.type.dtype.is_byte:
        idx = c.cast(idx, DType.I32)
    if idx.type.dtype is not DType.U32:
        extent = c.op(unary.Cast(dtype=idx.type.dtype), c.op(IndexValue(expr=n)))
        negative = c.op(binary.Less(), idx, c.number(0, idx.type.dtype))
        idx = c.op(Select(), negative, c.op(binary.Add(), idx, extent), idx)
    last = g.type.ndim
    there = c.masked(c.op(OneHot(n=n, dtype=DType.BOOL), idx), c.expand(g, [last]))
    cotangent = c.sum(there, [axis])
    order = [*range(axis), last - 1, *range(axis, last - 1)]
    return c.op(Transpose(axes=tuple(order)), cotangent)


@RULES.of(Sort)
def sort(op: Sort, c: Calculus, args: Terms, results: Terms, cots: Terms) -> Derivatives:
    """Each element gets what stands at its place in the order."""
    (x,) = args
    rank = c.op(ArgSort(axis=op.axis), c.op(ArgSort(axis=op.axis), x))
    return (c.fit(c.op(TakeAlong(axis=op.axis), cots[0], rank), x),)


@RULES.of(TopK)
def top_k(op: TopK, c: Calculus, args: Terms, results: Terms, cots: Terms) -> Derivatives:
    """To the elements that were taken."""
    (x,) = args
    return (c.fit(_along(c, x, results[1], cots[0], x.type.ndim - 1, sure=True), x),)


@RULES.of(Pick)
def pick(op: Pick, c: Calculus, args: Terms, results: Terms, cots: Terms) -> Derivatives:
    """To the element that was picked."""
    x, j = args
    axis = axis_of(op.axis, x.type.ndim)
    place = c.op(binary.Subtract(), j, c.op(IndexValue(expr=op.lo)))
    if op.step != 1:
        place = c.op(binary.FloorDivide(), place, c.number(op.step, DType.I32))
    return c.fit(c.op(ScatterAdd(axis=axis, n=x.shape[axis]), cots[0], place), x), None
