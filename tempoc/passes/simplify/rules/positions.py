"""Rules for positions that are data: one in place of several, and sums by position."""

from __future__ import annotations

import math
import typing
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TypeAlias

from tempoc.base.cost_model import MODEL
from tempoc.ops.control.control import Copy, Merge, Select
from tempoc.ops.definition.operator import Op
from tempoc.ops.definition.shapes import axes_of, axis_of
from tempoc.ops.definition.types import DType
from tempoc.ops.indexing.indexing import IndexPart, InRange, OneHot, SpatialIndex
from tempoc.ops.indexing.pick import Pick
from tempoc.ops.indexing.picked_product import PickedProduct
from tempoc.ops.indexing.scatter import ScatterAdd
from tempoc.ops.indexing.scatter_products import ScatterProducts
from tempoc.ops.indexing.search import ArgMax, SearchSorted
from tempoc.ops.tensor import arithmetic as binary, elementwise as unary
from tempoc.ops.tensor.contraction import Einsum, MatMul
from tempoc.ops.tensor.movement import BroadcastTo, ExpandDims, Squeeze, Transpose
from tempoc.ops.tensor.reduction import Max, Mean, Min, Prod, Sum
from tempoc.ops.tensor.reshape import Reshape
from tempoc.ops.tensor.scan import CumSum
from tempoc.ops.tensor.source import Arange, IndexValue, Literal
from tempoc.passes.simplify.rules.contractions import read_at
from tempoc.passes.simplify.rules.pattern import Kind, Match, Producer, Rewrite, RewriteRule, rule
from tempoc.sdg.graph.graph import Edge, Node
from tempoc.symbolic import expr as ix
from tempoc.symbolic.domain import slice_count
from tempoc.symbolic.walk import symbols

Side: TypeAlias = typing.Literal["left", "right"]
_POSITIONS = 2**31
"""How many positions `i32` has."""
_SIGNLESS: tuple[Kind, ...] = (
    unary.Exp, unary.Exp2, unary.Abs, unary.Sigmoid, unary.Softplus, OneHot,
)  # fmt: skip
"""What has no sign (it is not below 0, nor -0.0) whatever its operands."""
_KEEPING: tuple[Kind, ...] = (
    binary.Add, binary.Multiply, binary.Divide, binary.Maximum, binary.Minimum,
    Sum, Mean, Max, Min, Prod, CumSum, Copy, Merge,
)  # fmt: skip
"""What has no sign if none of its operands has one."""
_LESS: dict[Kind, tuple[int, Side]] = {
    binary.Less: (0, "left"),
    binary.LessEqual: (0, "right"),
    binary.Greater: (1, "left"),
    binary.GreaterEqual: (1, "right"),
}
"""Which operand ascends where so many are less than the other one, and the side of that."""
_REACHED: dict[Kind, tuple[int, Side]] = {
    binary.GreaterEqual: (0, "left"),
    binary.Greater: (0, "right"),
    binary.LessEqual: (1, "left"),
    binary.Less: (1, "right"),
}
"""Which operand ascends until it is the other one or more."""


def _position(v: Match, op: SpatialIndex | ScatterAdd, n: ix.Expr, axis: int, idx: Edge) -> Edge:
    return idx if op.sure else v.make(InRange(n=n, axis=axis), idx)


def _joint(v: Match, first: Edge, second: Edge, n: ix.Expr) -> Edge:
    """The position in two axes that became one; the second has extent ``n``."""
    scaled = v.make(binary.Multiply(), first, v.make(IndexValue(expr=n)))
    return v.make(binary.Add(), scaled, second)


def _joint_extent(first: ix.Expr, second: ix.Expr) -> ix.Const | None:
    """The extent of two axes as one; ``None`` if it is unknown, or more than positions can be."""
    if not (isinstance(first, ix.Const) and isinstance(second, ix.Const)):
        return None
    count = first.value * second.value
    return ix.Const(count) if count < _POSITIONS else None


@rule("an element of a row", SpatialIndex, of=(SpatialIndex,))
def _element_of_row(v: Match, op: SpatialIndex, inner: Producer[SpatialIndex]) -> Rewrite | None:
    """Elements of a row that is chosen by data, `x[i][j]`: one position in both axes of `x`."""
    if not (op.gathers and inner.op.gathers):
        return None
    x, first = inner.edges
    shape, own = v.type_of(x).shape, inner.op.searched_axes
    others = zip(inner.op.entries, shape, strict=True)
    whole = all(e in ("tensor", (ix.ZERO, n, 1)) for e, n in others)
    if v.type_of(first).shape or not whole or op.searched_axes.start != own.start:
        return None
    before, n = ix.product(shape[own]), op.joint(v.operand(0).shape)[own.start]
    if _joint_extent(before, n) is None:
        return None
    joint = _joint(
        v,
        _position(v, inner.op, before, own.start, first),
        _position(v, op, n, own.start, v.node.inputs[1]),
        n,
    )
    before_it, after_it = op.entries[: own.start], op.entries[own.start :]
    entries: tuple[IndexPart, ...] = (*before_it, *inner.op.entries[own], *after_it)
    return Rewrite((x, joint), replace(op, entries=entries, sure=True))


@rule("sums by position of sums by position", ScatterAdd, exact=False)
def _scattered_twice(v: Match, op: ScatterAdd) -> Rewrite | None:
    """Rows that were added up by position are added up by position: one position in both axes."""
    edge, last = v.node.inputs
    inner = v.nodes[edge.source]
    rank = v.type_of(last).ndim
    if not isinstance(inner.op, ScatterAdd) or v.uses[inner.name] != 1 or not rank:
        return None
    sliced = [isinstance(e, ix.Slice) for e in edge.entries]
    axis = axis_of(inner.op.axis, inner.types[0].ndim)
    count = _joint_extent(op.n, inner.op.n)
    if sum(sliced) != rank or axis_of(op.axis, v.result.ndim) or axis or count is None:
        return None
    x, first = (read_at(v, edge, read) for read in inner.inputs)
    ranging = tuple(d for d, s in zip(inner.domain.dims, sliced, strict=True) if s)
    positions = v.nodes[inner.inputs[1].source].types[0]
    if x is None or first is None or x[1] != ranging or first[1] != ranging or positions.shape:
        return None
    joint = _joint(
        v,
        _position(v, op, op.n, 0, last),
        _position(v, inner.op, inner.op.n, 0, first[0]),
        inner.op.n,
    )
    rows = v.make(ScatterAdd(axis=0, n=count, sure=True), x[0], joint)
    return Rewrite((rows,), Reshape(shape=v.result.shape))


@rule("a product of one of few matrices", MatMul, exact=False)
def _picked_product(v: Match, op: MatMul) -> Rewrite | None:
    """A matrix that data choose for each of many points, as an expert for each word: no copies."""
    for slot, other in ((0, 1), (1, 0)):
        pick = v.producer(slot, Pick)
        if pick is None:
            continue
        x, j = pick.edges
        first = axis_of(pick.op.axis, v.type_of(x).ndim) == 0 and pick.op.lo == ix.ZERO
        slices = [e for e in x.entries if isinstance(e, ix.Slice)]
        shapes = [e for k in (slot, other) for e in v.operand(k).shape]
        varies = {n for e in (*x.entries, *shapes) for n in symbols(e)}
        shared = any(d not in varies for d in v.node.domain.dims)
        fixed = not any(v.graph.universe.is_dim(n) for e in shapes for n in symbols(e))
        if slices != [ix.Slice(ix.ZERO, pick.op.hi)] or not (first and shared and fixed):
            continue
        if v.operand(other).ndim != 1 or not _are_few(v, pick.op.hi):
            continue
        if v.is_uniform() and v.result.dtype in (DType.F32, DType.F64):
            product = PickedProduct(lo=pick.op.lo, hi=pick.op.hi, turned=slot == 1)
            return Rewrite((x, j, v.node.inputs[other]), product)
    return None


def _are_few(v: Match, n: ix.Expr) -> bool:
    """Whether products with so many matrices take no longer than copies of one for each point."""
    count = v.graph.universe.settled(n)
    return isinstance(count, ix.Const) and count.value <= MODEL.picked_matrices


@rule("sums by position of outer products", ScatterAdd, exact=False)
def _scattered_products(v: Match, op: ScatterAdd) -> Rewrite | None:
    """Gradients of one of few weights for each of many steps: products of matrices.

    The outer products of all steps, which would be written and read, are as large as a copy of the
    weights for each step.
    """
    edge, places = v.node.inputs
    inner = v.nodes[edge.source]
    alone = v.uses[inner.name] == 1
    if not isinstance(inner.op, Einsum) or not alone or not _are_few(v, op.n):
        return None
    terms, result = inner.op.letters(tuple(v.type_of(e).ndim for e in inner.inputs))
    sliced = [isinstance(e, ix.Slice) for e in edge.entries]
    vectors = [len(t) for t in terms] == [1, 1] and len({*result}) == 2
    if not vectors or sum(sliced) != 1 or v.type_of(places).ndim != 1:
        return None
    if v.result.dtype not in (DType.F32, DType.F64) or axis_of(op.axis, v.result.ndim):
        return None
    ranging = tuple(d for d, s in zip(inner.domain.dims, sliced, strict=True) if s)
    factors = [read_at(v, edge, inner.inputs[terms.index(letter)]) for letter in result]
    rows = [f[0] for f in factors if f is not None and f[1] == ranging]
    if len(rows) != 2 or any(v.dtype_of(r) is not v.result.dtype for r in rows):
        return None
    return Rewrite((*rows, _position(v, op, op.n, 0, places)), ScatterProducts(n=op.n))


@rule("a sum of what stands at positions", Sum, exact=False)
def _sum_of_placed(v: Match, op: Sum) -> Rewrite | None:
    """Gradients of elements that data choose, row by row: each is added at its place.

    ``sum(where(one_hot(k, n), x, 0))`` compares each position with all places, and XLA computes
    ``x`` for each place again. 512 x 4 elements in 4 rows of 9 took 14 to 24 us, added 5 to 8, of
    32 37 to 82 and 5 to 15, 512 x 32 in 32 rows of 8 33 to 148 and 23 to 50 (CPU, 2026-11-29).
    Sums over ranges that vary with the point may become running sums, and are left to that.
    """
    (edge,) = v.node.inputs
    ranges = [e for e in edge.entries if isinstance(e, ix.Slice)]
    moves = any(v.graph.universe.is_dim(n) for e in ranges for n in symbols(e))
    placed = None if moves else _placed(v, edge)
    if placed is None or not v.facts.holds(ix.compare(">=", placed.n, ix.ONE)):
        return None
    shape = v.type_of(placed.x).shape
    last, summed = len(shape), {placed.axes[k] for k in axes_of(op.axes, len(placed.axes))}
    order = [k for k in placed.axes if k not in summed]
    rows = sorted({*order} - {last})
    if last in summed or all(n == ix.ONE for k, n in enumerate(shape) if k not in rows):
        return None
    idx = v.make(BroadcastTo(shape=shape), placed.idx)
    x, position = _inside(v, placed.x, idx, placed.n)
    count = placed.n
    for k in reversed(rows):
        row = v.make(Arange(stop=shape[k]))
        for axis in (other for other in range(last) if other != k):
            row = v.make(ExpandDims(axis=axis), row)
        position, joint = _joint(v, row, position, count), _joint_extent(shape[k], count)
        if joint is None:
            return None
        count = joint
    total = v.make(ScatterAdd(axis=0, n=count, sure=True), x, position)
    total = v.make(Reshape(shape=(*(shape[k] for k in rows), placed.n)), total)
    total = v.make(Transpose(axes=tuple([*rows, last].index(k) for k in order)), total)
    return Rewrite((total,), Reshape(shape=v.result.shape))


def _inside(v: Match, x: Edge, idx: Edge, n: ix.Expr) -> tuple[Edge, Edge]:
    """Elements, those outside as zeros, and positions that are inside."""
    zero, last = v.make(IndexValue(expr=ix.ZERO)), v.make(IndexValue(expr=ix.sub(n, ix.ONE)))
    position = v.make(binary.Clip(), idx, zero, last)
    nothing = v.make(Literal(value=0, dtype=v.dtype_of(x)))
    return v.make(Select(), v.make(binary.Equal(), position, idx), x, nothing), position


@dataclass(frozen=True, slots=True)
class _Placed:
    """Elements ``x``, each at its position of ``n`` along a last axis; elsewhere there are zeros.

    Of a read of that, moved, ``axes`` says which of these axes its own are. Others have extent 1.
    """

    x: Edge
    idx: Edge
    n: ix.Expr
    axes: tuple[int, ...]


def _placed(v: Match, edge: Edge) -> _Placed | None:
    """What a read is, if it is of such elements, which nothing else reads."""
    shape, leading = v.type_of(edge).shape, slice_count(edge.entries)
    axes = [*range(len(shape))]
    while v.uses[edge.source] == 1:
        node = v.nodes[edge.source]
        if isinstance(node.op, Select):
            pair = _elements(v, edge)
            if pair is None or (last := v.type_of(pair[0]).ndim) not in axes:
                return None
            x, idx = pair
            return _Placed(x, idx, shape[axes.index(last)], (*axes,))
        if not isinstance(node.op, Squeeze | Transpose):
            return None
        inner = _read_there(v, edge, node.inputs[0])
        if inner is None:
            return None
        before = _axes_before(node.op, v.type_of(inner).ndim - leading)
        axes = [k if k < leading else leading + before[k - leading] for k in axes]
        edge = inner
    return None


def _axes_before(op: Squeeze | Transpose, ndim: int) -> Sequence[int]:
    """Which axes of an operand are those of the result."""
    if isinstance(op, Transpose):
        return range(ndim)[::-1] if op.axes is None else op.axes
    gone = axes_of(op.axes, ndim)
    return [k for k in range(ndim) if k not in gone]


def _elements(v: Match, edge: Edge) -> tuple[Edge, Edge] | None:
    """The elements and positions of ``where(one_hot(k, n), x, 0)``, with all axes but the last."""
    condition, values, zeros = v.nodes[edge.source].inputs
    hot, wider = v.nodes[condition.source], v.nodes[values.source]
    if not isinstance(hot.op, OneHot) or not isinstance(wider.op, ExpandDims):
        return None
    last = wider.types[0].ndim - 1
    alike = hot.types[0].ndim == last + 1 and axis_of(wider.op.axis, last + 1) == last
    if not alike or v.number(zeros) != 0:
        return None
    there, at = _read_there(v, edge, values), _read_there(v, edge, condition)
    x = None if there is None else _read_there(v, there, wider.inputs[0])
    idx = None if at is None else _read_there(v, at, hot.inputs[0])
    if x is None or idx is None or v.dtype_of(idx) is not DType.I32:
        return None
    return x, idx


def _read_there(v: Match, edge: Edge, read: Edge) -> Edge | None:
    """An operand's read composed with the read ``edge`` of its node, if it has the same slices."""
    at = zip(v.nodes[edge.source].domain.dims, edge.entries, strict=True)
    composed = None if slice_count(read.entries) else read_at(v, edge, read)
    ranging = tuple(d for d, e in at if isinstance(e, ix.Slice))
    return composed[0] if composed is not None and composed[1] == ranging else None


@rule("how often a number occurs", Sum, exact=False)
def _counted(v: Match, op: Sum) -> Rewrite | None:
    """A sum of `one_hot`: a one is added at each position, and nothing for those outside."""
    (edge,) = v.node.inputs
    hot = v.nodes[edge.source]
    ndim = v.operand(0).ndim
    if not isinstance(hot.op, OneHot) or op.keepdims or ndim < 2:
        return None
    if axes_of(op.axes, ndim) != tuple(range(ndim - 1)):
        return None
    at = hot.domain.at(edge.entries)
    read = read_at(v, edge, hot.inputs[0])
    if read is None or read[1] != tuple(d for d, e in at.items() if isinstance(e, ix.Slice)):
        return None
    n = v.operand(0).shape[-1]
    if not v.facts.holds(ix.compare(">=", n, ix.ONE)):
        return None
    idx, dtype = read[0], v.type_of(read[0]).dtype
    end, zero = (_integer(v, e, dtype) for e in (n, ix.ZERO))
    above, below = v.make(binary.GreaterEqual(), idx, zero), v.make(binary.Less(), idx, end)
    one = v.make(unary.Cast(dtype=v.result.dtype), v.make(binary.And(), above, below))
    last = _integer(v, ix.sub(n, ix.ONE), dtype)
    place = v.make(binary.Clip(), idx, zero, last)
    return Rewrite((one, place), ScatterAdd(axis=0, n=n, sure=True))


@dataclass(frozen=True, slots=True)
class _Search:
    """Numbers that are compared with all of an ascending vector, and where they would stand."""

    compared: Producer[Op]
    ascending: Edge
    x: Edge
    count: Edge


@rule("how many running sums are less", Sum, exact=False)
def _less(v: Match, op: Sum) -> Rewrite | None:
    """Running sums of what has no sign ascend: how many are less is found by halving.

    `sum(cumsum(w) < u[:, None], axis = 1)` for all elements of `u`, as where particles are drawn.
    """
    axes = axes_of(op.axes, v.operand(0).ndim)
    search = None if op.keepdims or len(axes) != 1 else _search(v, axes[0], _LESS)
    if search is None:
        return None
    count = search.count
    if v.dtype_of(search.x).is_float:
        none = v.make(Literal(value=0, dtype=DType.I32))
        count = v.make(Select(), v.make(unary.IsNan(), search.x), none, count)
    return Rewrite((count,), unary.Cast(dtype=v.result.dtype))


@rule("the first running sum that is not less", ArgMax, exact=False)
def _reached(v: Match, op: ArgMax) -> Rewrite | None:
    """`argmax(cumsum(w) >= u[:, None], axis = 1)`, which is 0 where there is none."""
    ndim = v.operand(0).ndim
    if op.keepdims or (op.axis is None and ndim != 1):
        return None
    search = _search(v, axis_of(op.axis or 0, ndim), _REACHED)
    if search is None:
        return None
    n = v.type_of(search.ascending).shape[0]
    last, none = (v.make(IndexValue(expr=e)) for e in (ix.sub(n, ix.ONE), ix.ZERO))
    place = v.make(binary.Minimum(), search.count, last)
    reached = v.make(SpatialIndex(entries=("tensor",), sure=True), search.ascending, place)
    at, _ = _REACHED[type(search.compared.op)]
    pair = (search.x, reached) if at else (reached, search.x)
    return Rewrite((v.make(search.compared.op, *pair), place, none), Select())


def _search(v: Match, axis: int, sides: dict[Kind, tuple[int, Side]]) -> _Search | None:
    """The search that answers a question about comparisons along an axis of the operand."""
    edge, back, n = v.node.inputs[0], v.operand(0).ndim - axis, v.operand(0).shape[axis]
    if cast := v.producer(edge, unary.Cast):
        edge = cast.edges[0]
    compared = v.producer(edge, *sides)
    if compared is None:
        return None
    at, side = sides[type(compared.op)]
    sums, x = compared.edges[at], compared.edges[1 - at]
    ascending, shape = _running_sums(v, sums, back), v.type_of(x).shape
    if ascending is None or not _are_many(v, n, sums, x):
        return None
    if len(shape) >= back:
        if shape[-back] != ix.ONE:
            return None
        x = v.make(Squeeze(axes=(len(shape) - back,)), x)
    count = v.make(SearchSorted(side=side), ascending, x)
    return _Search(compared, ascending, x, count)


def _running_sums(v: Match, edge: Edge, back: int) -> Edge | None:
    """The vector of running sums of what has no sign along an axis; `None`: it is none."""
    shape = v.type_of(edge).shape
    if len(shape) < back or any(n != ix.ONE for k, n in enumerate(shape) if len(shape) - k != back):
        return None
    while v.type_of(edge).ndim > 1:
        wider = v.producer(edge, ExpandDims)
        if wider is None:
            return None
        (edge,) = wider.edges
    sums = v.producer(edge, CumSum)
    if sums is None or sums.op.reverse or not v.dtype_of(edge).is_float:
        return None
    return edge if _has_no_sign(v, sums.edges[0]) else None


def _has_no_sign(v: Match, edge: Edge) -> bool:
    """Whether no element is below 0, or -0.0; a recurrence has no sign if no step gives one."""
    worklist, known = [edge.source], {edge.source}
    while worklist:
        node = v.nodes[worklist.pop()]
        op, reads = node.op, list(node.inputs)
        number = v.number(Edge(source=node.name, entries=()))
        if number is not None:
            if math.copysign(1.0, number) < 0:
                return False
        elif isinstance(op, _SIGNLESS) or _is_square(node):
            continue
        elif isinstance(op, Select):
            reads = reads[1:]
        elif isinstance(op, SpatialIndex):
            reads = reads[:1]
        elif isinstance(op, unary.Cast) and v.dtype_of(reads[0]) is DType.BOOL:
            continue
        elif not (isinstance(op, (*_KEEPING, unary.Cast)) or op.moves):
            return False
        new = {e.source for e in reads} - known
        known |= new
        worklist += sorted(new)
    return True


def _is_square(node: Node) -> bool:
    return isinstance(node.op, binary.Multiply) and node.inputs[0] == node.inputs[1]


def _are_many(v: Match, n: ix.Expr, sums: Edge, x: Edge) -> bool:
    """Whether comparing all pairs takes longer than searching; dimensions are taken to be long."""
    own = {name for e in x.entries for name in symbols(e)}
    if own - {name for e in sums.entries for name in symbols(e)}:
        return True
    count = ix.product((n, *v.result.shape))
    return not isinstance(count, ix.Const) or count.value >= MODEL.searched_pairs


def _integer(v: Match, e: ix.Expr, dtype: DType) -> Edge:
    return v.make(unary.Cast(dtype=dtype), v.make(IndexValue(expr=e)))


POSITIONS: tuple[RewriteRule, ...] = (
    _element_of_row, _scattered_twice, _picked_product, _scattered_products, _sum_of_placed,
    _counted, _less, _reached,
)  # fmt: skip
