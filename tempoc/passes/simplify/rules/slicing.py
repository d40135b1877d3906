"""Rules for slices, concatenations, stacks and padding: slice operands instead of results."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise

from tempoc.base.cost_model import MODEL
from tempoc.ops.definition.operator import Op
from tempoc.ops.definition.shapes import axes_of, axis_of, is_smaller, same, same_shape
from tempoc.ops.definition.types import DType
from tempoc.ops.indexing.indexing import IndexPart, SpatialIndex, Take, TakeAlong
from tempoc.ops.indexing.search import ArgSort, Sort, TopK
from tempoc.ops.tensor import arithmetic as binary, elementwise as unary
from tempoc.ops.tensor.joining import Concat, Split, Stack
from tempoc.ops.tensor.movement import BroadcastTo, ExpandDims, Flip, Pad, Transpose
from tempoc.ops.tensor.reduction import Max
from tempoc.passes.simplify.rules.contractions import term_at
from tempoc.passes.simplify.rules.pattern import Match, Producer, Rewrite, RewriteRule, rule
from tempoc.sdg.builder import read_of
from tempoc.sdg.graph.graph import Edge, Node
from tempoc.sdg.statements.build import identity
from tempoc.symbolic import expr as ix
from tempoc.symbolic.domain import slice_count
from tempoc.symbolic.walk import symbols

Range = tuple[ix.Expr, ix.Expr, int]
"""Start, length and step."""
Widths = tuple[ix.Expr, ix.Expr]
"""Padding before and after the elements of an axis."""

_ARITHMETIC = (binary.Add, binary.Subtract, binary.Multiply, binary.Divide)


def _with_axis(entries: tuple[IndexPart, ...], axis: int, *parts: IndexPart) -> SpatialIndex:
    """A slice with the entry of an axis replaced, or left out."""
    return SpatialIndex(entries=(*entries[:axis], *parts, *entries[axis + 1 :]))


def _is_full_range(v: Match, part: IndexPart, extent: ix.Expr) -> bool:
    if not isinstance(part, tuple):
        return False
    return (part[0], part[2]) == (ix.ZERO, 1) and same(part[1], extent, v.facts)


@rule("a slice of everything", SpatialIndex)
def _full_index(v: Match, op: SpatialIndex) -> Rewrite | None:
    """A slice of the full extent of every axis."""
    pairs = zip(op.entries, v.operand(0).shape, strict=True)
    return v.same(0) if all(_is_full_range(v, e, n) for e, n in pairs) else None


@rule("a part of a part", SpatialIndex, of=(SpatialIndex,))
def _index_twice(v: Match, op: SpatialIndex, inner: Producer[SpatialIndex]) -> Rewrite | None:
    if op.gathers or inner.op.gathers:
        return None
    outer = iter(op.entries)
    entries = (_of_range(p, next(outer)) if isinstance(p, tuple) else p for p in inner.op.entries)
    return Rewrite(inner.edges, SpatialIndex(entries=tuple(entries)))


def _of_range(part: Range, taken: IndexPart) -> IndexPart:
    """A point or a range of a range."""
    start, _, step = part
    if isinstance(taken, tuple):
        first, count, by = taken
        return ix.add(start, ix.mul(ix.Const(step), first)), count, step * by
    assert isinstance(taken, ix.Expr)
    return ix.add(start, ix.mul(ix.Const(step), taken))


@rule("a part after a change of axes", SpatialIndex, of=(Transpose, ExpandDims, BroadcastTo))
def _index_axis(v: Match, op: SpatialIndex, inner: Producer[Op]) -> Rewrite | None:
    """A slice of a transpose, of a new axis, or of a broadcast."""
    (edge,) = inner.edges
    ndim = v.operand(0).ndim
    match inner.op:
        case _ if op.gathers:
            return None
        case Transpose():
            order = inner.op.order(ndim)
            entries = [op.entries[order.index(k)] for k in range(ndim)]
            remaining = [k for k in order if isinstance(entries[k], tuple)]
            part = SpatialIndex(entries=tuple(entries))
            if remaining == sorted(remaining):
                return Rewrite((edge,), part)
            axes = tuple(sorted(remaining).index(k) for k in remaining)
            return Rewrite((v.make(part, edge),), Transpose(axes=axes))
        case ExpandDims():
            axis = axis_of(inner.op.axis, ndim)
            is_sliced = isinstance(op.entries[axis], tuple)
            return None if is_sliced else Rewrite((edge,), _with_axis(op.entries, axis))
    small = v.make(_of_broadcast(op, v.type_of(edge).shape), edge)
    return Rewrite((small,), BroadcastTo(shape=v.result.shape))


def _of_broadcast(op: SpatialIndex, shape: tuple[ix.Expr, ...]) -> SpatialIndex:
    """The part of an operand of this shape which, broadcast, is the part of its broadcast."""
    entries = op.entries[len(op.entries) - len(shape) :]
    own = tuple(
        e if n != ix.ONE else (ix.ZERO, ix.ONE, 1) if isinstance(e, tuple) else ix.ZERO
        for n, e in zip(shape, entries, strict=True)
    )  # fmt: skip
    return SpatialIndex(entries=own, sure=op.sure and "tensor" in own)


@rule("a part of what was joined", SpatialIndex, of=(Concat, Stack))
def _index_joined(v: Match, op: SpatialIndex, inner: Producer[Concat | Stack]) -> Rewrite | None:
    """A slice within one operand of a concatenation or stack."""
    if op.gathers or any(v.type_of(e).dtype is not v.result.dtype for e in inner.edges):
        return None
    axis = axis_of(inner.op.axis, len(op.entries))
    part = op.entries[axis]
    if isinstance(inner.op, Stack):
        if not isinstance(part, ix.Const):
            return None
        return Rewrite((inner.edges[part.value],), _with_axis(op.entries, axis))
    assert isinstance(part, ix.Expr | tuple)
    first, step = (part, 1) if isinstance(part, ix.Expr) else (part[0], part[2])
    if step < 1:
        return None
    end = ix.add(first, ix.ONE if isinstance(part, ix.Expr) else ix.mul(ix.Const(step), part[1]))
    start: ix.Expr = ix.ZERO
    for edge in inner.edges:
        stop = ix.add(start, v.type_of(edge).shape[axis])
        if v.facts.holds(
            ix.conjunction(ix.compare(">=", first, start), ix.compare("<=", end, stop))
        ):
            moved = ix.sub(first, start)
            own = moved if isinstance(part, ix.Expr) else (moved, *part[1:])
            return Rewrite((edge,), _with_axis(op.entries, axis, own))
        start = stop
    return None


@rule("a range of what was joined", SpatialIndex, of=(Concat,))
def _range_of_joined(v: Match, op: SpatialIndex, inner: Producer[Concat]) -> Rewrite | None:
    """A slice across operands of a concatenation that leaves others out: joined anew."""
    axis = axis_of(inner.op.axis, len(op.entries))
    part = op.entries[axis]
    alike = all(v.type_of(e).dtype is v.result.dtype for e in inner.edges)
    if op.gathers or not alike or not isinstance(part, tuple) or part[2] != 1:
        return None
    if not all(isinstance(e, tuple) for e in op.entries):
        return None
    first, end = part[0], ix.add(part[0], part[1])
    edges: list[Edge] = []
    start: ix.Expr = ix.ZERO
    for edge in inner.edges:
        stop = ix.add(start, v.type_of(edge).shape[axis])
        if not _at_most(v, stop, first) and not _at_most(v, end, start):
            low, high = _greater(v, first, start), _greater(v, end, stop)
            if low is None or high is None:
                return None
            high = end if high == stop else stop
            own = (ix.sub(low, start), ix.sub(high, low), 1)
            edges.append(v.make(_with_axis(op.entries, axis, own), edge))
        start = stop
    return Rewrite(tuple(edges), inner.op) if 1 < len(edges) < len(inner.edges) else None


def _at_most(v: Match, a: ix.Expr, b: ix.Expr) -> bool:
    return v.facts.holds(ix.compare("<=", a, b))


def _greater(v: Match, a: ix.Expr, b: ix.Expr) -> ix.Expr | None:
    """The greater one of two numbers, ``b`` if they are equal; ``None`` if it is not known."""
    return b if _at_most(v, a, b) else a if _at_most(v, b, a) else None


@rule("the first places of an order", SpatialIndex, of=(ArgSort,), own=True)
def _first_places(v: Match, op: SpatialIndex, inner: Producer[ArgSort]) -> Rewrite | None:
    """Of an order only the beginning is read: the rest of the elements need not be in order."""
    shape, last = v.operand(0).shape, op.entries[-1]
    if op.gathers or axis_of(inner.op.axis, len(shape)) != len(shape) - 1:
        return None
    assert isinstance(last, ix.Expr | tuple)
    first, count, step = (last, ix.ONE, 1) if isinstance(last, ix.Expr) else last
    end = ix.add(ix.add(first, ix.mul(ix.Const(step), ix.sub(count, ix.ONE))), ix.ONE)
    is_ordered = v.type_of(inner.edges[0]).dtype is not DType.BOOL
    if not isinstance(end, ix.Const) or step < 1 or not is_ordered:
        return None
    if end.value < 1 or end == shape[-1] or not _at_most(v, end, shape[-1]):
        return None
    beginning = v.make(replace(inner.op, count=end.value), *inner.edges)
    return Rewrite((beginning,), op)


@rule("the greatest or least of what is sorted", SpatialIndex, of=(Sort,), own=True, exact=False)
def _few_sorted(v: Match, op: SpatialIndex, inner: Producer[Sort]) -> Rewrite | None:
    """Only an end of it is read. Equal zeros may be in another order, whatever their signs."""
    shape = v.operand(0).shape
    axis = axis_of(inner.op.axis, len(shape))
    part, extent, last = op.entries[axis], shape[axis], len(shape) - 1
    if op.gathers or not (v.operand(0).dtype.is_float or v.operand(0).dtype.is_int):
        return None
    assert isinstance(part, ix.Expr | tuple)
    first, count, step = (part, ix.ONE, 1) if isinstance(part, ix.Expr) else part
    if part == ix.sub(extent, ix.ONE) and v.facts.holds(ix.compare(">=", extent, ix.ONE)):
        greatest = v.make(Max(axes=(axis,)), *inner.edges)
        return Rewrite((greatest,), _with_axis(op.entries, axis))
    rest = ix.sub(extent, first)
    if axis != last or step < 1 or not _at_most(v, ix.Const(MODEL.long_range), extent):
        return None
    if _is_few(v, rest, extent):
        assert isinstance(rest, ix.Const)
        ascending = v.make(Flip(axes=(last,)), v.make(TopK(k=rest.value), *inner.edges))
        entry = ix.ZERO if isinstance(part, ix.Expr) else (ix.ZERO, count, step)
        return Rewrite((ascending,), _with_axis(op.entries, axis, entry))
    end = ix.add(first, ix.mul(ix.Const(step), ix.sub(count, ix.ONE)), ix.ONE)
    if not _is_few(v, end, extent):
        return None
    assert isinstance(end, ix.Const)
    places = v.make(ArgSort(axis=-1, count=end.value), *inner.edges)
    least = v.make(TakeAlong(axis=-1, sure=True), *inner.edges, places)
    return Rewrite((least,), op)


def _is_few(v: Match, count: ix.Expr, extent: ix.Expr) -> bool:
    """Whether so many elements are found sooner than all are sorted."""
    if not isinstance(count, ix.Const) or count.value < 1:
        return False
    return _at_most(v, ix.Const(MODEL.sorted_part * count.value), extent)


@rule("a part of a function", SpatialIndex, Take, TakeAlong, of=(unary.Unary,), own=True)
def _index_earlier(v: Match, op: Op, inner: Producer[unary.Unary]) -> Rewrite | None:
    """A slice of an elementwise function: apply it to the slice only."""
    have, want = v.operand(0).shape, v.result.shape
    if all(isinstance(e, ix.Const) for e in (*have, *want)):
        before, after = ix.product(have), ix.product(want)
        assert isinstance(before, ix.Const) and isinstance(after, ix.Const)
        is_less = after.value < before.value
    else:
        is_less = is_smaller(want, have)
    part = v.make(op, *inner.edges, *v.node.inputs[1:]) if is_less else None
    return None if part is None else Rewrite((part,), inner.op)


@rule("a part of a product", SpatialIndex, of=_ARITHMETIC, own=True)
def _part_of_product(v: Match, op: SpatialIndex, inner: Producer[Op]) -> Rewrite | None:
    """A slice or element of an elementwise operation: of its operands, which may broadcast."""
    if (op.gathers and v.operand(1).shape) or all(isinstance(e, tuple) for e in op.entries):
        return None
    if op.entries.count("tensor") > 1:  # an operand that broadcasts may have only some of the axes
        return None
    edges = []
    for edge in inner.edges:
        shape = v.type_of(edge).shape
        own = _of_broadcast(op, shape)
        indices = v.node.inputs[1:] if own.gathers else ()
        edges.append(v.make(own, edge, *indices) if shape else edge)
    return Rewrite(tuple(edges), inner.op)


@rule("a place in padded products", SpatialIndex, exact=False)
def _place_in_padded_products(v: Match, op: SpatialIndex) -> Rewrite | None:
    """An element along the padded axis of products by a factor that does not have that axis.

    Only the other factor is padded. That is how derivatives of what is read up to each step come:
    rows of products, as long as all steps, of which each step takes one column.
    """
    edge = v.node.inputs[0]
    pad = v.nodes[edge.source]
    if op.gathers or not isinstance(pad.op, Pad) or pad.op.value or v.uses[pad.name] != 1:
        return None
    (inner,) = pad.inputs
    product, ndim = v.nodes[inner.source], pad.types[0].ndim
    axes = [k for k, pair in enumerate(pad.op.widths) if pair != (ix.ZERO, ix.ZERO)]
    own = inner.entries == identity(product.domain) and product.domain.dims == pad.domain.dims
    if not isinstance(product.op, binary.Multiply) or not own or v.uses[product.name] != 1:
        return None
    slices = slice_count(edge.entries)
    ranks = [v.type_of(factor).ndim for factor in product.inputs]
    with_axis = [n > ndim - axes[0] - 1 for n in ranks] if len(axes) == 1 else []
    if sum(with_axis) != 1 or not isinstance(op.entries[slices + axes[0]], ix.Expr):
        return None
    edges: list[Edge] = []
    for factor, rank, is_padded in zip(product.inputs, ranks, with_axis, strict=True):
        if is_padded:
            factor = _padded_alone(v, pad, factor, pad.op.widths[ndim - rank :])
        own_part = _of_broadcast(op, v.type_of(factor).shape).entries
        part = SpatialIndex(entries=(*op.entries[:slices], *own_part))
        source = term_at(v, edge, factor, "", dict.fromkeys(pad.domain.dims, "A"))
        if source is None or len(source[1]) != slices:
            return None
        pairs = zip(part.entries, v.type_of(source[0]).shape, strict=True)
        is_whole = all(_is_full_range(v, e, n) for e, n in pairs)
        read = source[0] if is_whole else v.make(part, source[0])
        for _ in range(0 if is_padded else ndim - 1 - rank):
            read = v.make(ExpandDims(axis=slices), read)
        edges.append(read)
    return Rewrite(tuple(edges), product.op)


def _padded_alone(v: Match, pad: Node, factor: Edge, widths: tuple[Widths, ...]) -> Edge:
    """A factor of padded products, padded, at those of their points at which it differs."""
    named = [n for e in factor.entries for n in symbols(e)]
    named += [n for e in v.type_of(factor).shape for n in symbols(e)]
    named += [n for pair in widths for e in pair for n in symbols(e)]
    dims = v.graph.universe.ordered(tuple(named))
    node = v.put("pad", Pad(widths=widths), (factor,), v.space.project(pad.domain, dims))
    v.new_nodes.append(node)
    return read_of(node)


@rule("elements picked of a product", TakeAlong, of=_ARITHMETIC, own=True)
def _pick_of_product(v: Match, op: TakeAlong, inner: Producer[Op]) -> Rewrite | None:
    """Elements taken along an axis of an elementwise operation: taken from its operands."""
    if not is_smaller(v.result.shape, v.operand(0).shape):
        return None
    ndim = v.result.ndim
    edges = []
    for edge in inner.edges:
        shape = v.type_of(edge).shape
        shape = (ix.ONE,) * (ndim - len(shape)) + shape
        if shape == v.operand(0).shape:
            edges.append(v.make(op, edge, v.node.inputs[1]))
        elif shape[axis_of(op.axis, ndim)] == ix.ONE:
            edges.append(edge)
        else:
            return None
    return Rewrite(tuple(edges), inner.op)


@rule("one tensor joined", Concat, Stack)
def _join_of_one(v: Match, op: Concat | Stack) -> Rewrite | None:
    if len(v.node.inputs) != 1:
        return None
    if isinstance(op, Concat):
        return v.same(0)
    return Rewrite(v.node.inputs, ExpandDims(axis=op.axis))


@rule("joined tensors joined", Concat)
def _nested_concat(v: Match, op: Concat) -> Rewrite | None:
    """A concatenation of concatenations along the same axis."""
    axis = axis_of(op.axis, v.result.ndim)
    edges: list[Edge] = []
    for slot, edge in enumerate(v.node.inputs):
        inner = v.producer(slot, Concat, own=True)
        same_dtype = v.operand(slot).dtype is v.result.dtype
        if inner and same_dtype and axis_of(inner.op.axis, v.result.ndim) == axis:
            edges += inner.edges
        else:
            edges.append(edge)
    return Rewrite(tuple(edges), op) if len(edges) != len(v.node.inputs) else None


@rule("parts added among zeros", binary.Add, exact=False)
def _added_parts(v: Match, _: binary.Add) -> Rewrite | None:
    """A sum of concatenations, in each part of which one has zeros: as derivatives of parts are."""
    first, second = (v.producer(slot, Concat, own=True) for slot in (0, 1))
    if first is None or second is None or not v.is_uniform():
        return None
    axis = axis_of(first.op.axis, v.result.ndim)
    if axis_of(second.op.axis, v.result.ndim) != axis or len(first.edges) != len(second.edges):
        return None
    parts: list[Edge] = []
    for a, b in zip(first.edges, second.edges, strict=True):
        if not same_shape(v.type_of(a).shape, v.type_of(b).shape, v.facts):
            return None
        if 0 not in (v.number(a), v.number(b)):
            return None
        parts.append(a if v.number(b) == 0 else b)
    return Rewrite(tuple(parts), first.op)


@rule("neighbouring parts joined", Concat)
def _adjacent_parts(v: Match, op: Concat) -> Rewrite | None:
    """A concatenation of adjacent slices of one tensor."""
    axis = axis_of(op.axis, v.result.ndim)
    parts = [_slice_of(v, slot, axis) for slot in range(len(v.node.inputs))]
    for k, (a, b) in enumerate(pairwise(parts)):
        if a is None or b is None:
            continue
        (tensor, others, (start, count, step)), (next_tensor, next_others, next_part) = a, b
        (second, more, by) = next_part
        adjacent = step == by == 1 and ix.add(start, count) == second
        if adjacent and tensor == next_tensor and others == next_others:
            joined = v.make(_with_axis(others, axis, (start, ix.add(count, more), 1)), tensor)
            edges = (*v.node.inputs[:k], joined, *v.node.inputs[k + 2 :])
            return Rewrite(edges, op)
    return None


def _slice_of(v: Match, slot: int, axis: int) -> tuple[Edge, tuple[IndexPart, ...], Range] | None:
    """The tensor of a slice without points, its ranges but ``axis``, and the range of that."""
    inner = v.producer(slot, SpatialIndex, Split)
    if inner is None or v.operand(slot).dtype is not v.result.dtype:
        return None
    shape = v.type_of(inner.edges[0]).shape
    if isinstance(inner.op, SpatialIndex):
        entries = inner.op.entries
    else:
        assert isinstance(inner.op, Split)
        own = axis_of(inner.op.axis, len(shape))
        length = v.operand(slot).shape[own]
        part = (ix.mul(ix.Const(v.node.inputs[slot].out), length), length, 1)
        entries = tuple(part if k == own else (ix.ZERO, n, 1) for k, n in enumerate(shape))
        if own != axis:
            return None
    part_of_axis = entries[axis] if len(entries) > axis else None
    if not isinstance(part_of_axis, tuple) or not all(isinstance(e, tuple) for e in entries):
        return None
    return inner.edges[0], _with_axis(entries, axis, (ix.ZERO, ix.ZERO, 1)).entries, part_of_axis


@rule("all parts stacked", Stack)
def _stacked_points(v: Match, op: Stack) -> Rewrite | None:
    """A stack of all elements of an axis, along that axis."""
    axis = axis_of(op.axis, v.result.ndim)
    inners = [v.producer(slot, SpatialIndex) for slot in range(len(v.node.inputs))]
    if inners[0] is None:
        return None
    (first, *_), shape = inners[0].edges, v.result.shape
    if not same_shape(v.type_of(first).shape, shape, v.facts):
        return None
    for k, inner in enumerate(inners):
        if inner is None or inner.op.gathers or inner.edges[0] != first:
            return None
        for n, (entry, extent) in enumerate(zip(inner.op.entries, shape, strict=True)):
            if not (entry == ix.Const(k) if n == axis else _is_full_range(v, entry, extent)):
                return None
    return v.same(first)


@rule("no padding", Pad)
def _no_padding(v: Match, op: Pad) -> Rewrite | None:
    return v.same(0) if all(pair == (ix.ZERO, ix.ZERO) for pair in op.widths) else None


@rule("padding of padding", Pad, of=(Pad,))
def _nested_padding(v: Match, op: Pad, inner: Producer[Pad]) -> Rewrite | None:
    if repr(float(inner.op.value)) != repr(float(op.value)):  # -0.0 is not 0.0
        return None
    pairs = zip(op.widths, inner.op.widths, strict=True)
    widths = tuple((ix.add(a, c), ix.add(b, d)) for (a, b), (c, d) in pairs)
    return Rewrite(inner.edges, Pad(widths=widths, value=op.value))


@rule("a flip of a flip", Flip, of=(Flip,))
def _nested_flip(v: Match, op: Flip, inner: Producer[Flip]) -> Rewrite | None:
    ndim = v.result.ndim
    a, b = axes_of(op.axes, ndim), axes_of(inner.op.axes, ndim)
    axes = tuple(k for k in range(ndim) if (k in a) != (k in b))
    return Rewrite(inner.edges, Flip(axes=axes)) if axes else v.same(inner.edges[0])


PARTS: tuple[RewriteRule, ...] = (
    _full_index, _index_twice, _index_axis, _index_joined, _range_of_joined, _first_places,
    _few_sorted, _index_earlier, _join_of_one, _nested_concat, _adjacent_parts, _stacked_points,
    _no_padding, _nested_padding, _nested_flip,
)  # fmt: skip

PARTS_OF_PRODUCTS: tuple[RewriteRule, ...] = (
    _added_parts, _place_in_padded_products, _part_of_product, _pick_of_product,
)  # fmt: skip
"""Those that come after the rules for products."""
