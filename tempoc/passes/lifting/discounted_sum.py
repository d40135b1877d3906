"""Discounted sums, whose weights are powers of one number, become recurrences or windows.

    %y = sum (mul %x[t:T], (power %g, arange)) : [t] f32
    ->
    %y.faded = mul %g, %y.run[t+1]   : [t | t < T-1] f32
    %y.next  = add %y.faded, %x      : [t | t < T-1] f32
    %y.run   = merge %x[T-1] when t == T-1, %y.next when t < T-1

The recurrence takes one step per point where the sum takes as many as its range is long; results
agree up to rounding. Discounted sums over windows of a fixed size become one operator (``Window``).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from tempoc.ops.control.control import Copy
from tempoc.ops.definition.operator import OperandError
from tempoc.ops.definition.shapes import axes_of
from tempoc.ops.indexing.indexing import SpatialIndex
from tempoc.ops.tensor.arithmetic import Multiply, Power
from tempoc.ops.tensor.contraction import MatMul
from tempoc.ops.tensor.elementwise import Cast
from tempoc.ops.tensor.monoids import SUM
from tempoc.ops.tensor.movement import ExpandDims
from tempoc.ops.tensor.reduction import Sum
from tempoc.ops.tensor.source import IndexValue, Literal
from tempoc.ops.tensor.window import Window
from tempoc.passes.lifting.geometric_weights import Powers, powers
from tempoc.passes.lifting.moving_range import MovingRange, Prefix, Sliding, Suffix, classify_range
from tempoc.passes.lifting.range_operand import Rebuild, operand_slices
from tempoc.passes.lifting.range_reduction import full_range_operands
from tempoc.passes.lifting.running_reduction import RunningReduction, range_growth, step_builder
from tempoc.poly.relations.space import Space
from tempoc.sdg.builder import NodeBuilder, read_of
from tempoc.sdg.graph.graph import Edge, Graph, Node
from tempoc.sdg.graph.query import operand_type
from tempoc.sdg.statements.build import is_identity
from tempoc.symbolic import expr as ix
from tempoc.symbolic.walk import symbols


@dataclass(frozen=True, slots=True, kw_only=True)
class DiscountedSum:
    """A sum of ``factors``, weighted by powers of ``base``, over a range that moves with ``dim``.

    The element nearest to the point has the weight ``base ** nearest``, each further one the next
    power. The product of factors and weights has ``ndim`` axes, of which ``axes`` are summed;
    ``axis``, one of them, is the range. With ``keepdims`` the summed axes stay, with one element
    each.
    """

    node: Node
    dim: str
    entry: ix.Slice
    range: MovingRange
    factors: tuple[Edge, ...]
    base: Edge
    nearest: ix.Expr
    axes: tuple[int, ...]
    axis: int
    ndim: int
    keepdims: bool

    @property
    def place(self) -> int:
        """The axis of the range, counted from the last axis."""
        return self.ndim - self.axis


def discounted_sums(graph: Graph, node: Node, space: Space) -> Iterator[DiscountedSum]:
    """All matches of a node as a discounted sum."""
    if not node.types or node.types[0].dtype.is_half or node.types[0].weak:
        return
    if isinstance(node.op, MatMul):
        if all(operand_type(graph, e).ndim == 1 for e in node.inputs):
            yield from _matches(graph, node, node.inputs, (0,), 1, space)
    elif type(node.op) is Sum:
        ndim = operand_type(graph, node.inputs[0]).ndim
        yield from _matches(
            graph, node, _factors(graph, node.inputs[0]), axes_of(node.op.axes, ndim), ndim,
            space,
        )  # fmt: skip


def _factors(graph: Graph, edge: Edge) -> tuple[Edge, ...]:
    """The factors of an operand that is a product, nested products included."""
    source = graph.nodes[edge.source]
    if not isinstance(source.op, Multiply) or not is_identity(edge, graph):
        return (edge,)
    return tuple(f for e in source.inputs for f in _factors(graph, e))


def _matches(
    graph: Graph,
    node: Node,
    factors: tuple[Edge, ...],
    axes: tuple[int, ...],
    ndim: int,
    space: Space,
) -> Iterator[DiscountedSum]:
    """The discounted sums over ``axes`` in which one factor holds the weights."""
    for axis in axes:
        place = ndim - axis
        for k, factor in enumerate(factors):
            weights = powers(graph, factor, place)
            others = (*factors[:k], *factors[k + 1 :])
            entry = next((s for e in others for s in operand_slices(graph, e, place)), None)
            if weights is None or entry is None or not _keeps_rounding(graph, node, others):
                continue
            for dim in node.domain.dims:
                moving_range = classify_range(entry, dim, node.domain, space)
                nearest = (
                    None
                    if moving_range is None
                    else _nearest_exponent(weights, moving_range, entry, dim, space)
                )
                if moving_range is not None and nearest is not None:
                    keepdims = isinstance(node.op, Sum) and node.op.keepdims
                    yield DiscountedSum(
                        node=node, dim=dim, entry=entry, range=moving_range, factors=others,
                        base=weights.base, nearest=nearest, axes=axes, axis=axis, ndim=ndim,
                        keepdims=keepdims,
                    )  # fmt: skip


def _keeps_rounding(graph: Graph, node: Node, factors: tuple[Edge, ...]) -> bool:
    """Whether the product of these factors can be recomputed without rounding differently."""
    dtypes = {operand_type(graph, e).dtype for e in factors}
    return len(factors) == 1 or dtypes == {node.types[0].dtype}


def _nearest_exponent(
    weights: Powers, moving_range: MovingRange, entry: ix.Slice, dim: str, space: Space
) -> ix.Expr | None:
    """The exponent of the element nearest to the point; ``None`` if it varies or weights grow."""
    exponent = weights.nearest_to(moving_range, entry)
    if exponent is None:
        return None
    names = (*symbols(exponent), *symbols(ix.sub(entry.lo, ix.Sym(dim))))
    cut = isinstance(moving_range, Sliding) and any(space.universe.is_dim(n) for n in names)
    varies = any(space.universe.is_dim(n) for n in symbols(exponent))
    return None if cut or varies or entry.step != 1 else exponent


# ---------------------------------------------------------------- rewrites


def as_recurrence(
    graph: Graph, discounted: DiscountedSum, space: Space, *, in_loop: bool
) -> tuple[Node, ...] | None:
    """The nodes of a recurrence, for a range that grows by one element per point.

    The last node has the name of the sum. ``None`` if the range does not grow that way.
    """
    if not isinstance(discounted.range, Prefix | Suffix):
        return None
    node, dim = discounted.node, discounted.dim
    grows = range_growth(discounted.range, discounted.entry, dim, node.domain, space)
    if grows is None:
        return None
    builder = step_builder(graph, space, node, dim)
    try:
        running = RunningReduction(
            builder, discounted.range, discounted.place, grows,
            lambda rebuild, _: rebuild.edge(discounted.base), in_loop,
        )  # fmt: skip
        merge = running.nodes(SUM, lambda rebuild: _first_term(discounted, rebuild))
        if merge is None:
            return None
        result = _with_kept_axes(builder, discounted, builder.put("held", Copy(), (merge,)))
    except OperandError:
        return None
    return builder.finish(result)


def as_windows(graph: Graph, discounted: DiscountedSum, space: Space) -> tuple[Node, ...] | None:
    """The nodes of a weighted window operator, for a range of a fixed size; ``None`` for others.

    All points are computed at once.
    """
    node, dim, moving_range = discounted.node, discounted.dim, discounted.range
    if not isinstance(moving_range, Sliding) or not isinstance(moving_range.size, ix.Const):
        return None
    if (moving_range.before, moving_range.after) != (ix.ZERO, ix.ZERO) and not _has_finite_powers(
        graph, discounted.base
    ):
        return None
    builder = NodeBuilder(graph=graph, space=space, node=node)
    rebuild = full_range_operands(builder, dim, discounted.place, moving_range)
    try:
        term, base = _first_term(discounted, rebuild), rebuild.edge(discounted.base)
        if term is None or base is None:
            return None
        axis = discounted.axis - sum(a < discounted.axis for a in discounted.axes)
        op = Window(
            reduce="sum",
            size=moving_range.size,
            before=moving_range.before,
            after=moving_range.after,
            axis=axis,
        )
        result = builder.put("windows", op, (term, base), rebuild.domain_of(node.domain.dims))
        entries: list[ix.Expr | tuple[ix.Expr, ix.Expr, int]] = [
            (ix.ZERO, e, 1) for e in result.types[0].shape
        ]
        entries[axis] = moving_range.position
        result = builder.put("at", SpatialIndex(entries=tuple(entries)), (result,))
        result = _with_kept_axes(builder, discounted, result)
    except OperandError:
        return None
    return builder.finish(result)


def _has_finite_powers(graph: Graph, base: Edge) -> bool:
    """Whether all powers of a number are finite, so that zero times them is zero."""
    op = graph.nodes[base.source].op
    return isinstance(op, Literal) and abs(op.value) <= 1


def _first_term(discounted: DiscountedSum, rebuild: Rebuild) -> Edge | None:
    """The product of the factors and the weight of the nearest element."""
    builder, domain = rebuild.builder, rebuild.domain_of(discounted.node.domain.dims)
    dtype = discounted.node.types[0].dtype
    parts = [rebuild.edge(e) for e in discounted.factors]
    if discounted.nearest != ix.ZERO:
        parts.append(_nearest_weight(discounted, rebuild))
    term = parts[0]
    for part in parts[1:]:
        if term is not None and part is not None:
            term = read_of(builder.put(f"product.{rebuild.part}", Multiply(), (term, part), domain))
    if any(p is None for p in parts) or term is None:
        return None
    if builder.type_of(term).dtype != dtype:
        term = read_of(builder.put(f"cast.{rebuild.part}", Cast(dtype=dtype), (term,), domain))
    stays = rebuild.axis_stays
    others = tuple(
        a - (a > discounted.axis and not stays) for a in discounted.axes if a != discounted.axis
    )
    if others:
        term = read_of(builder.put(f"row.{rebuild.part}", Sum(axes=others), (term,), domain))
    return term


def _nearest_weight(discounted: DiscountedSum, rebuild: Rebuild) -> Edge | None:
    """The weight of the nearest element."""
    base, builder = rebuild.edge(discounted.base), rebuild.builder
    if base is None:
        return None
    domain = rebuild.domain_of(discounted.node.domain.dims)
    nearest = IndexValue(expr=discounted.nearest)
    exponent = builder.put(f"nearest.{rebuild.part}", nearest, (), domain)
    return read_of(builder.put(f"weight.{rebuild.part}", Power(), (base, exponent), domain))


def _with_kept_axes(builder: NodeBuilder, discounted: DiscountedSum, result: Node) -> Node:
    """The value with the summed axes restored, if the sum has ``keepdims``."""
    for axis in sorted(discounted.axes) if discounted.keepdims else ():
        result = builder.put("kept", ExpandDims(axis=axis), (result,))
    return result
