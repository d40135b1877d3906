"""Rules for reductions of reductions, of broadcast, scaled, padded and scattered operands.

And for sums of padded tensors that fill an axis together, and the derivative of shares of a sum.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

from tempoc.ops.control.control import Select
from tempoc.ops.definition.operator import Op
from tempoc.ops.definition.shapes import axes_of, axis_of, has_fewer_elements
from tempoc.ops.indexing.indexing import SpatialIndex
from tempoc.ops.indexing.scatter import ScatterAdd
from tempoc.ops.tensor import arithmetic as binary, elementwise as unary
from tempoc.ops.tensor.joining import Concat
from tempoc.ops.tensor.movement import BroadcastTo, ExpandDims, Pad, Transpose
from tempoc.ops.tensor.reduction import All, Any, Max, Mean, Min, Prod, Reduction, Sum
from tempoc.ops.tensor.reshape import Reshape, groups
from tempoc.ops.tensor.source import Arange, IndexValue
from tempoc.passes.simplify.rules.contractions import SCALINGS, read_at, scale_result
from tempoc.passes.simplify.rules.layout import reduced_singletons, without_broadcast
from tempoc.passes.simplify.rules.pattern import Match, Producer, Rewrite, RewriteRule, rule
from tempoc.sdg.graph.graph import Edge, Node
from tempoc.sdg.graph.query import substitute_in_op
from tempoc.sdg.graph.rewrite import compose
from tempoc.sdg.statements.build import identity
from tempoc.symbolic import expr as ix
from tempoc.symbolic.domain import slice_count
from tempoc.symbolic.walk import symbols


def _reduced_twice(v: Match, op: Reduction) -> Rewrite | None:
    """A reduction of a reduction is one over the axes of both."""
    inner = v.producer(0, type(op), own=True)
    if inner is None or type(inner.op) is not type(op):
        return None
    (edge,) = inner.edges
    first = v.type_of(edge)
    mine = axes_of(inner.op.axes, first.ndim)
    last = axes_of(op.axes, v.operand(0).ndim)
    if first.dtype is not v.result.dtype or (op.keepdims and not inner.op.keepdims):
        return None
    if inner.op.keepdims:
        if not op.keepdims and not {*mine} <= {*last}:
            return None
        axes = {*mine, *last}
    else:
        left = [k for k in range(first.ndim) if k not in mine]
        axes = {*mine, *(left[k] for k in last)}
    return Rewrite((edge,), type(op)(axes=tuple(sorted(axes)), keepdims=op.keepdims))


@rule("a reduction of a reduction", Sum, Prod, Max, Min, Any, All)
def _exactly_twice(v: Match, op: Reduction) -> Rewrite | None:
    assert op.monoid is not None
    return _reduced_twice(v, op) if op.monoid.exact or not v.result.dtype.is_float else None


@rule("a sum of sums", Sum, Mean, exact=False, wide=True)
def _summed_twice(v: Match, op: Reduction) -> Rewrite | None:
    return _reduced_twice(v, op)


@rule("a sum of a reshape", Sum, Mean, Max, Min, of=(Reshape,), own=True)
def _sum_of_reshape(v: Match, op: Reduction, inner: Producer[Reshape]) -> Rewrite | None:
    """A reduction along axes that the reshape leaves as they are; others are split or joined."""
    before = v.type_of(inner.edges[0]).shape
    parts = groups(before, v.operand(0).shape)
    alone = {want[0]: have[0] for have, want in parts if len(have) == len(want) == 1}
    axes = axes_of(op.axes, v.operand(0).ndim)
    if op.keepdims or not axes or any(a not in alone for a in axes):
        return None
    reduced = v.make(replace(op, axes=tuple(alone[a] for a in axes)), inner.edges[0])
    return Rewrite((reduced,), Reshape(shape=v.result.shape))


@rule("a sum of numbers alike", Sum, Mean, exact=False, wide=True)
def _sum_of_broadcast(v: Match, op: Reduction) -> Rewrite | None:
    """A sum or mean over broadcast axes."""
    small = without_broadcast(v, op)
    if small is None or isinstance(op, Mean):
        return None if small is None else Rewrite((small,), op)
    pairs = zip(v.operand(0).shape, v.type_of(small).shape, strict=True)
    count = ix.product(e for e, now in pairs if now == ix.ONE != e)
    number = v.make(unary.Cast(dtype=v.result.dtype), v.make(IndexValue(expr=count)))
    return Rewrite((number, v.make(op, small)), binary.Multiply())


@rule("a sum of one number", Sum, Mean, exact=False)
def _sum_of_singletons(v: Match, op: Reduction) -> Rewrite | None:
    return reduced_singletons(v, op) if v.is_uniform() else None


@rule("sum(c * x) = c * sum(x)", Sum, Mean, of=SCALINGS, own=True, exact=False, wide=True)
def _sum_of_scaled(v: Match, op: Reduction, inner: Producer[Op]) -> Rewrite | None:
    """A sum or mean of a product or quotient with a factor that is constant along the axes."""
    shape = v.operand(0).shape
    axes = axes_of(op.axes, len(shape))

    def is_scale(scale: Edge, other: Edge) -> bool:
        own = v.type_of(scale)
        before = len(shape) - own.ndim
        if not axes or v.type_of(other).shape != shape or own.dtype is not v.result.dtype:
            return False
        if op.keepdims:
            return all(a < before or own.shape[a - before] == ix.ONE for a in axes)
        return own.ndim == 0 or max(axes) < before

    return scale_result(v, 0, inner, is_scale)


@rule("a sum of rows in their places", Sum, exact=False)
def _sum_of_padded_rows(v: Match, op: Sum) -> Rewrite | None:
    """A sum over steps of padded rows, each at the position of its step; or of elements."""
    (edge,) = v.node.inputs
    node = v.nodes[edge.source]
    if op.keepdims or not isinstance(node.op, Pad) or node.op.value:
        return None
    at = node.domain.at(edge.entries)
    ranging = {d: e for d, e in at.items() if isinstance(e, ix.Slice) and e.step == 1}
    if not ranging or axes_of(op.axes, v.operand(0).ndim) != tuple(range(len(ranging))):
        return None
    places = _step_axes(node, ranging)
    if places is None or any(e != ix.Sym(d) for d, e in at.items() if d not in ranging):
        return None
    rows = _unpadded_rows(v, node, places, edge)
    if rows is None:
        return None
    rest = iter(range(len(places), v.result.ndim))
    order = tuple(places.index(k) if k in places else next(rest) for k in range(v.result.ndim))
    ordered = rows if order == tuple(sorted(order)) else v.make(Transpose(axes=order), rows)
    widths = list(node.op.widths)
    for axis, steps in zip(places, ranging.values(), strict=True):
        widths[axis] = (steps.lo, ix.sub(v.result.shape[axis], steps.hi))
    return Rewrite((ordered,), Pad(widths=tuple(widths)))


@rule("a sum of elements on a diagonal", Sum, exact=False)
def _sum_on_diagonal(v: Match, op: Sum) -> Rewrite | None:
    """A sum over steps of padded elements, each at the position of its step along two axes."""
    (edge,) = v.node.inputs
    node = v.nodes[edge.source]
    if op.keepdims or not isinstance(node.op, Pad) or node.op.value or node.types[0].ndim != 2:
        return None
    at = node.domain.at(edge.entries)
    ranging = [(d, e) for d, e in at.items() if isinstance(e, ix.Slice)]
    if len(ranging) != 1 or axes_of(op.axes, v.operand(0).ndim) != (0,):
        return None
    ((dim, steps),) = ranging
    if steps.step != 1 or any(e != ix.Sym(d) for d, e in at.items() if d != dim):
        return None
    if any(before != ix.Sym(dim) for before, _ in node.op.widths):
        return None
    elements = _unpadded_rows(v, node, [0, 1], edge)
    if elements is None:
        return None
    rows, columns = v.result.shape
    column = v.make(ExpandDims(axis=1), elements)
    around = (steps.lo, ix.sub(rows, steps.hi))
    column = v.make(Pad(widths=(around, (ix.ZERO, ix.ZERO))), column)
    row = v.make(ExpandDims(axis=1), v.make(Arange(stop=rows)))
    here = v.make(binary.Equal(), row, v.make(Arange(stop=columns)))
    return Rewrite((here, column, v.literal(0)), Select())


def _step_axes(node: Node, dims: Iterable[str]) -> list[int] | None:
    """For each dimension the axis along which the padding before an array is the step itself."""
    assert isinstance(node.op, Pad)
    places: list[int] = []
    for dim in dims:
        moving = [k for k, (a, b) in enumerate(node.op.widths) if dim in (*symbols(a), *symbols(b))]
        if len(moving) != 1 or node.op.widths[moving[0]][0] != ix.Sym(dim):
            return None
        places += moving
    return places


def _unpadded_rows(v: Match, node: Node, places: Sequence[int], edge: Edge) -> Edge | None:
    """The rows before padding, without their own axes, at the steps that ``edge`` reads.

    They are repeated along dimensions with which they do not vary.
    """
    (row,) = node.inputs
    axes = [*range(node.types[0].ndim)]
    for _ in places:
        new = v.nodes[row.source]
        if not isinstance(new.op, ExpandDims) or row.entries != identity(new.domain):
            return None
        if axes.pop(axis_of(new.op.axis, len(axes))) not in places:
            return None
        if not {*new.domain.dims} <= {*node.domain.dims}:
            return None
        (row,) = new.inputs
    at = node.domain.at(edge.entries)
    ranging = [d for d, e in at.items() if isinstance(e, ix.Slice)]
    varies = {d for e in row.entries for d in symbols(e)}
    remaining = {d: e for d, e in at.items() if d in varies or d not in ranging}
    entries = compose((*remaining.values(),), (*remaining,), row.entries, v.graph.universe)
    shape = v.type_of(row).shape
    if entries is None or any(d in symbols(e) for e in shape for d in at):
        return None
    rows = replace(row, entries=entries, span=edge.span)
    for axis in (k for k, d in enumerate(ranging) if d not in varies):
        rows = v.make(ExpandDims(axis=axis), rows)
        extents = [*v.type_of(rows).shape]
        extents[axis] = v.operand(0).shape[axis]
        rows = v.make(BroadcastTo(shape=tuple(extents)), rows)
    return rows


@rule("a sum of sums by position", Sum, exact=False)
def _sum_of_scattered(v: Match, op: Sum) -> Rewrite | None:
    """A sum over steps of scatter-adds: one scatter-add of the rows of all steps."""
    (edge,) = v.node.inputs
    node = v.nodes[edge.source]
    if op.keepdims or not isinstance(node.op, ScatterAdd):
        return None
    at = node.domain.at(edge.entries)
    ranging = tuple(d for d, e in at.items() if isinstance(e, ix.Slice))
    leading = tuple(range(len(ranging)))
    if v.uses[node.name] != 1 or not ranging or axes_of(op.axes, v.operand(0).ndim) != leading:
        return None
    x, positions = (read_at(v, edge, read) for read in node.inputs)
    if x is None or positions is None or x[1] != ranging or positions[1] != ranging:
        return None
    if not has_fewer_elements(v.type_of(node.inputs[0]).shape, node.types[0].shape):
        return None
    rows, axis = x[0], axis_of(node.op.axis, node.types[0].ndim)
    if axis:
        before, rank = [len(leading) + k for k in range(axis)], v.type_of(rows).ndim
        rows = v.make(Transpose(axes=(*before, *leading, *range(len(leading) + axis, rank))), rows)
    scatter = substitute_in_op(node.op, {d: e for d, e in at.items() if isinstance(e, ix.Expr)})
    return Rewrite((rows, positions[0]), replace(scatter, axis=axis))


@rule("a sum of what is sent to one position", Sum, of=(SpatialIndex,), own=True, exact=False)
def _sum_at_position(v: Match, op: Sum, inner: Producer[SpatialIndex]) -> Rewrite | None:
    """A part of each of many scatter-adds, or of rows in their places, summed over steps: the part
    of their sum, made once."""
    if inner.op.gathers:
        return None
    (edge,) = inner.edges
    node = v.nodes[edge.source]
    if op.keepdims or v.uses[node.name] != 1 or not _sums_by_position(node, edge):
        return None
    leading = tuple(range(slice_count(edge.entries)))
    varies = {n for e in edge.entries for n in symbols(e)}
    parts = inner.op.entries[len(leading) :]
    moves = any(n not in varies for e in parts if isinstance(e, ix.Expr) for n in symbols(e))
    if not leading or not moves or axes_of(op.axes, v.operand(0).ndim) != leading:
        return None
    whole = [(ix.ZERO, n, 1) for n in v.type_of(edge).shape[: len(leading)]]
    if [*inner.op.entries[: len(leading)]] != whole:
        return None
    return Rewrite((v.make(op, edge),), SpatialIndex(entries=parts))


def _sums_by_position(node: Node, edge: Edge) -> bool:
    """Whether a sum of a node's values over the steps that are read is one of what each puts to
    its position: a scatter-add, or a row that is padded."""
    at = node.domain.at(edge.entries).items()
    ranging = [d for d, e in at if isinstance(e, ix.Slice)]
    if isinstance(node.op, Pad):
        return not node.op.value and _step_axes(node, ranging) is not None
    return isinstance(node.op, ScatterAdd)


@rule("paddings added that fill an axis", binary.Add, exact=False)
def _filled_axis(v: Match, _: binary.Add) -> Rewrite | None:
    """Parts of an axis with zeros around, as many as it has: they are one tensor, without zeros.

    An axis of which a program takes part by part, as the gates of an LSTM, has such a derivative.
    XLA computes the functions of all parts where it selects one, and again for each reader: a
    bidirectional LSTM took 41 ms with such sums, 16 with parts side by side (2026-11-27).
    """
    paddings = _added_paddings(v, v.node.inputs)
    axes = {k for p in paddings or () for k, w in enumerate(p.op.widths) if w != (ix.ZERO, ix.ZERO)}
    if paddings is None or len(axes) != 1:
        return None
    (axis,) = axes
    parts: list[Edge] = []
    place: ix.Expr = ix.ZERO
    while paddings:
        following = [p for p in paddings if p.op.widths[axis][0] == place]
        if len(following) != 1:
            return None
        (part,) = following[0].edges
        place = ix.add(place, v.type_of(part).shape[axis])
        parts.append(part)
        paddings.remove(following[0])
    return Rewrite(tuple(parts), Concat(axis=axis)) if place == v.result.shape[axis] else None


def _added_paddings(v: Match, edges: Sequence[Edge]) -> list[Producer[Pad]] | None:
    """The summands, if all are padded with zeros."""
    paddings: list[Producer[Pad]] = []
    for edge in edges:
        if v.dtype_of(edge) is not v.result.dtype:
            return None
        pad, total = v.producer(edge, Pad, own=True), v.producer(edge, binary.Add, own=True)
        if pad is not None and not pad.op.value:
            paddings.append(pad)
        elif total is not None and (more := _added_paddings(v, total.edges)) is not None:
            paddings += more
        else:
            return None
    return paddings


@rule(
    "(a / s - sum(a / s * y)) * e = (a - sum(a * y)) * y", binary.Multiply,
    exact=False, wide=True,
)  # fmt: skip
def _derivative_of_shares(v: Match, _: binary.Multiply) -> Rewrite | None:
    """The derivative of ``y = e / s``, times ``e``, where ``s`` is the same along what is summed.

    This is the derivative of softmax, which then reads its results alone: neither exponentials nor
    their sums are kept for it.
    """
    for slot, e in enumerate(v.node.inputs):
        difference = v.producer(1 - slot, binary.Subtract, own=True)
        if difference is None:
            continue
        share, offset = difference.edges
        scaled, total = v.producer(share, binary.Divide), _summed_product(v, offset, share)
        if scaled is None or total is None or v.uses[scaled.node.name] != 2:
            continue
        (a, s), (reduction, y) = scaled.edges, total
        quotient = v.producer(y, binary.Divide)
        if quotient is None or quotient.edges != (e, s):
            continue
        if not _is_constant_along(v, s, axes_of(reduction.axes, v.type_of(share).ndim), share):
            continue
        if v.type_of(s).shape != v.type_of(offset).shape or v.type_of(a).shape != v.result.shape:
            continue
        mean = v.make(reduction, v.make(binary.Multiply(), a, y))
        if v.type_of(mean).ndim != v.type_of(offset).ndim:
            inner = v.producer(offset, ExpandDims)
            assert inner is not None
            mean = v.make(inner.op, mean)
        return Rewrite((v.make(binary.Subtract(), a, mean), y), binary.Multiply())
    return None


def _summed_product(v: Match, total: Edge, factor: Edge) -> tuple[Sum, Edge] | None:
    """The sum that a read is, maybe with an axis of length 1 more, of a product with this factor;
    and the other factor."""
    expanded = v.producer(total, ExpandDims, own=True)
    reduced = v.producer(expanded.edges[0] if expanded else total, Sum, own=True)
    product = v.producer(reduced.edges[0], binary.Multiply, own=True) if reduced else None
    if reduced is None or product is None or factor not in product.edges:
        return None
    return reduced.op, product.edges[1 - product.edges.index(factor)]


def _is_constant_along(v: Match, scale: Edge, axes: Iterable[int], whole: Edge) -> bool:
    """Whether a read that is broadcast to another one has length 1 along these axes, or lacks
    them."""
    shape = v.type_of(scale).shape
    before = v.type_of(whole).ndim - len(shape)
    return all(a < before or shape[a - before] == ix.ONE for a in axes)


SUMS: tuple[RewriteRule, ...] = (
    _exactly_twice, _sum_of_padded_rows, _sum_on_diagonal, _sum_of_scattered, _sum_at_position,
    _summed_twice, _sum_of_reshape, _sum_of_broadcast, _sum_of_singletons, _sum_of_scaled,
    _derivative_of_shares,
)  # fmt: skip

ADDED_PARTS: tuple[RewriteRule, ...] = (_filled_axis,)
"""Those that come after the rules for products."""
