"""Rules for slices, concatenations, stacks and padding: slice operands instead of results."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

from tempoc.ops.definition.dtype_text import Scalar
from tempoc.ops.definition.operator import Op
from tempoc.ops.definition.shapes import axes_of, axis_of, same, same_shape
from tempoc.ops.indexing.indexing import IndexPart, SpatialIndex, Take, TakeAlong
from tempoc.ops.tensor import elementwise as one
from tempoc.ops.tensor.joining import Concat, Split, Stack
from tempoc.ops.tensor.movement import BroadcastTo, ExpandDims, Flip, Pad, Transpose
from tempoc.passes.simplify.rules.pattern import Match, Rewrite, RewriteRule, fewer
from tempoc.sdg.graph.graph import Edge
from tempoc.symbolic.expr import ONE, ZERO, Const, Expr, add, compare, conjunction, mul, sub

SliceParts = tuple[Expr, Expr, int]


def _full_index(v: Match) -> Rewrite | None:
    """A slice of the full extent of every axis."""
    assert isinstance(v.op, SpatialIndex)
    pairs = zip(v.op.entries, v.operand(0).shape, strict=True)
    return v.same(0) if all(_is_full_range(v, e, n) for e, n in pairs) else None


def _is_full_range(v: Match, part: IndexPart, extent: Expr) -> bool:
    if not isinstance(part, tuple):
        return False
    return (part[0], part[2]) == (ZERO, 1) and same(part[1], extent, v.facts)


def _index_twice(v: Match) -> Rewrite | None:
    """A slice of a slice."""
    assert isinstance(v.op, SpatialIndex)
    inner = v.inner(0, SpatialIndex)
    if inner is None:
        return None
    assert isinstance(inner.op, SpatialIndex)
    if v.op.gathers or inner.op.gathers:
        return None
    outer = iter(v.op.entries)
    entries: list[IndexPart] = []
    for part in inner.op.entries:
        entries.append(_of_range(part, next(outer)) if isinstance(part, tuple) else part)
    return Rewrite(edges=inner.edges, op=SpatialIndex(entries=tuple(entries)))


def _of_range(part: SliceParts, taken: IndexPart) -> IndexPart:
    """A point or a range of a range."""
    start, _, step = part
    if isinstance(taken, tuple):
        first, count, by = taken
        return add(start, mul(Const(step), first)), count, step * by
    assert isinstance(taken, Expr)
    return add(start, mul(Const(step), taken))


def _index_axis(v: Match) -> Rewrite | None:
    """A slice of a transpose, of a new axis, or of a broadcast."""
    assert isinstance(v.op, SpatialIndex)
    inner = None if v.op.gathers else v.inner(0, Transpose, ExpandDims, BroadcastTo)
    if inner is None:
        return None
    (edge,) = inner.edges
    match inner.op:
        case Transpose():
            order = inner.op.order(v.operand(0).ndim)
            entries = [v.op.entries[order.index(k)] for k in range(len(order))]
            remaining = [k for k in order if isinstance(entries[k], tuple)]
            part = SpatialIndex(entries=tuple(entries))
            if remaining == sorted(remaining):
                return Rewrite(edges=(edge,), op=part)
            axes = tuple(sorted(remaining).index(k) for k in remaining)
            return Rewrite(edges=(v.make(part, edge),), op=Transpose(axes=axes))
        case ExpandDims():
            axis = axis_of(inner.op.axis, v.operand(0).ndim)
            if isinstance(v.op.entries[axis], tuple):
                return None
            left = (*v.op.entries[:axis], *v.op.entries[axis + 1 :])
            return Rewrite(edges=(edge,), op=SpatialIndex(entries=left))
    shape = v.type_of(edge).shape
    return _index_broadcast(v, edge, len(v.op.entries) - len(shape))


def _index_broadcast(v: Match, edge: Edge, extra: int) -> Rewrite:
    """A slice of a broadcast: slice the operand, then broadcast."""
    assert isinstance(v.op, SpatialIndex)
    entries: list[IndexPart] = []
    for extent, part in zip(v.type_of(edge).shape, v.op.entries[extra:], strict=True):
        if extent == ONE:
            part = (ZERO, ONE, 1) if isinstance(part, tuple) else ZERO
        entries.append(part)
    small = v.make(SpatialIndex(entries=tuple(entries)), edge)
    return Rewrite(edges=(small,), op=BroadcastTo(shape=v.result.shape))


def _index_joined(v: Match) -> Rewrite | None:
    """A slice within one operand of a concatenation or stack."""
    assert isinstance(v.op, SpatialIndex)
    inner = None if v.op.gathers else v.inner(0, Concat, Stack)
    if inner is None or any(v.type_of(e).dtype is not v.result.dtype for e in inner.edges):
        return None
    entries = v.op.entries
    assert isinstance(inner.op, Concat | Stack)
    axis = axis_of(inner.op.axis, len(entries))
    part = entries[axis]
    if isinstance(inner.op, Stack):
        if not isinstance(part, Const):
            return None
        left = (*entries[:axis], *entries[axis + 1 :])
        return Rewrite(edges=(inner.edges[part.value],), op=SpatialIndex(entries=left))
    if isinstance(part, tuple) and part[2] < 1:
        return None
    start: Expr = ZERO
    for edge in inner.edges:
        stop = add(start, v.type_of(edge).shape[axis])
        if _lies_within(v, part, start, stop):
            moved: IndexPart = sub(part, start) if isinstance(part, Expr) else "tensor"
            if isinstance(part, tuple):
                moved = (sub(part[0], start), *part[1:])
            op = SpatialIndex(entries=(*entries[:axis], moved, *entries[axis + 1 :]))
            return Rewrite(edges=(edge,), op=op)
        start = stop
    return None


def _lies_within(v: Match, part: IndexPart, start: Expr, stop: Expr) -> bool:
    """Whether a slice of an axis lies in ``start:stop``."""
    if isinstance(part, Expr):
        inside = compare(">=", part, start), compare("<", part, stop)
    else:
        assert isinstance(part, tuple)
        end = add(part[0], mul(Const(part[2]), part[1]))
        inside = compare(">=", part[0], start), compare("<=", end, stop)
    return v.facts.holds(conjunction(*inside))


_UNARY: tuple[type[Op], ...] = (one.Unary,)  # abstract, for isinstance alone


def _index_earlier(v: Match) -> Rewrite | None:
    """A slice of an elementwise function: apply it to the slice only."""
    inner = v.inner(0, *_UNARY, alone=True)
    if inner is None or not inner.aligned or not _takes_less(v):
        return None
    part = v.make(v.op, *inner.edges, *v.node.inputs[1:])
    return Rewrite(edges=(part,), op=inner.op)


def _takes_less(v: Match) -> bool:
    """Whether fewer elements are taken than there are."""
    have, want = v.operand(0).shape, v.result.shape
    consts = all(isinstance(e, Const) for e in (*have, *want))
    if consts:
        sizes = [1, 1]
        for k, shape in enumerate((have, want)):
            for e in shape:
                assert isinstance(e, Const)
                sizes[k] *= e.value
        return sizes[1] < sizes[0]
    return fewer(want, have)


def _join_of_one(v: Match) -> Rewrite | None:
    assert isinstance(v.op, Concat | Stack)
    if len(v.node.inputs) != 1:
        return None
    if isinstance(v.op, Concat):
        return v.same(0)
    return Rewrite(edges=v.node.inputs, op=ExpandDims(axis=v.op.axis))


def _nested_concat(v: Match) -> Rewrite | None:
    """A concatenation of concatenations along the same axis."""
    assert isinstance(v.op, Concat)
    axis = axis_of(v.op.axis, v.result.ndim)
    edges: list[Edge] = []
    for slot, edge in enumerate(v.node.inputs):
        inner = v.inner(slot, Concat, alone=True)
        if inner is None or not inner.aligned or v.operand(slot).dtype is not v.result.dtype:
            edges.append(edge)
            continue
        assert isinstance(inner.op, Concat)
        same = axis_of(inner.op.axis, v.result.ndim) == axis
        edges += inner.edges if same else [edge]
    if len(edges) == len(v.node.inputs):
        return None
    return Rewrite(edges=tuple(edges), op=v.op)


def _adjacent_parts(v: Match) -> Rewrite | None:
    """A concatenation of adjacent slices of one tensor."""
    assert isinstance(v.op, Concat)
    axis = axis_of(v.op.axis, v.result.ndim)
    parts: list[tuple[Edge, SliceParts, tuple[IndexPart, ...]] | None] = []
    for slot in range(len(v.node.inputs)):
        parts.append(_part_of(v, slot, axis))
    for k, (a, b) in enumerate(pairwise(parts)):
        if a is None or b is None or a[0] != b[0] or a[2] != b[2]:
            continue
        (start, count, step), (second, more, by) = a[1], b[1]
        follows = add(start, mul(Const(step), count)) == second
        if step == by == 1 and follows:
            part = (start, add(count, more), 1)
            op = SpatialIndex(entries=(*a[2][:axis], part, *a[2][axis + 1 :]))
            joined = v.make(op, a[0])
            edges = (*v.node.inputs[:k], joined, *v.node.inputs[k + 2 :])
            return Rewrite(edges=edges, op=v.op)
    return None


def _part_of(
    v: Match, slot: int, axis: int
) -> tuple[Edge, SliceParts, tuple[IndexPart, ...]] | None:
    """The tensor, the range along ``axis`` and all other ranges of a slice without points."""
    inner = v.inner(slot, SpatialIndex, Split)
    if inner is None or v.operand(slot).dtype is not v.result.dtype:
        return None
    shape = v.type_of(inner.edges[0]).shape
    if isinstance(inner.op, Split):
        own = axis_of(inner.op.axis, len(shape))
        length = v.operand(slot).shape[own]
        out = Const(v.node.inputs[slot].out)
        entries: Sequence[IndexPart] = [
            (mul(out, length), length, 1) if k == own else (ZERO, n, 1) for k, n in enumerate(shape)
        ]
        if own != axis:
            return None
    else:
        assert isinstance(inner.op, SpatialIndex)
        entries = inner.op.entries
    part = entries[axis] if len(entries) > axis else None
    if not isinstance(part, tuple) or not all(isinstance(e, tuple) for e in entries):
        return None
    others = (*entries[:axis], (ZERO, ZERO, 1), *entries[axis + 1 :])
    return inner.edges[0], part, others


def _stacked_points(v: Match) -> Rewrite | None:
    """A stack of all elements of an axis, along that axis."""
    assert isinstance(v.op, Stack)
    axis = axis_of(v.op.axis, v.result.ndim)
    first: Edge | None = None
    for k in range(len(v.node.inputs)):
        inner = v.inner(k, SpatialIndex)
        if inner is None or not isinstance(inner.op, SpatialIndex) or inner.op.gathers:
            return None
        first = first or inner.edges[0]
        entries, shape = inner.op.entries, v.type_of(inner.edges[0]).shape
        other_axes = [n for n in range(len(entries)) if n != axis]
        plain = inner.edges[0] == first and len(entries) == v.result.ndim
        if not plain or entries[axis] != Const(k):
            return None
        if not all(_is_full_range(v, entries[n], shape[n]) for n in other_axes):
            return None
    assert first is not None
    exact = same_shape(v.type_of(first).shape, v.result.shape, v.facts)
    return v.same_as(first) if exact else None


def _no_padding(v: Match) -> Rewrite | None:
    assert isinstance(v.op, Pad)
    return v.same(0) if all(pair == (ZERO, ZERO) for pair in v.op.widths) else None


def _nested_padding(v: Match) -> Rewrite | None:
    assert isinstance(v.op, Pad)
    inner = v.inner(0, Pad)
    if (
        inner is None
        or not isinstance(inner.op, Pad)
        or not _is_same_number(inner.op.value, v.op.value)
    ):
        return None
    pairs = zip(v.op.widths, inner.op.widths, strict=True)
    widths = tuple((add(a, c), add(b, d)) for (a, b), (c, d) in pairs)
    return Rewrite(edges=inner.edges, op=Pad(widths=widths, value=v.op.value))


def _is_same_number(a: Scalar, b: Scalar) -> bool:
    """Whether two numbers are the same; -0.0 is not 0.0."""
    return repr(float(a)) == repr(float(b))


def _nested_flip(v: Match) -> Rewrite | None:
    assert isinstance(v.op, Flip)
    inner = v.inner(0, Flip)
    if inner is None:
        return None
    assert isinstance(inner.op, Flip)
    ndim = v.result.ndim
    a, b = axes_of(v.op.axes, ndim), axes_of(inner.op.axes, ndim)
    axes = tuple(k for k in range(ndim) if (k in a) != (k in b))
    return Rewrite(edges=inner.edges, op=Flip(axes=axes)) if axes else v.same_as(inner.edges[0])


_PICKS: tuple[type[Op], ...] = (SpatialIndex, Take, TakeAlong)
PARTS: tuple[RewriteRule, ...] = (
    RewriteRule(name="a slice of everything", ops=(SpatialIndex,), find=_full_index),
    RewriteRule(name="a part of a part", ops=(SpatialIndex,), find=_index_twice),
    RewriteRule(name="a part after a change of axes", ops=(SpatialIndex,), find=_index_axis),
    RewriteRule(name="a part of what was joined", ops=(SpatialIndex,), find=_index_joined),
    RewriteRule(name="a part of a function", ops=_PICKS, find=_index_earlier),
    RewriteRule(name="one tensor joined", ops=(Concat, Stack), find=_join_of_one),
    RewriteRule(name="joined tensors joined", ops=(Concat,), find=_nested_concat),
    RewriteRule(name="neighbouring parts joined", ops=(Concat,), find=_adjacent_parts),
    RewriteRule(name="all parts stacked", ops=(Stack,), find=_stacked_points),
    RewriteRule(name="no padding", ops=(Pad,), find=_no_padding),
    RewriteRule(name="padding of padding", ops=(Pad,), find=_nested_padding),
    RewriteRule(name="a flip of a flip", ops=(Flip,), find=_nested_flip),
)
