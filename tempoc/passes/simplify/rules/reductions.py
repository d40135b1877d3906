"""Rules for reductions of reductions, of broadcast, scaled, padded and scattered operands."""

from __future__ import annotations

from dataclasses import replace

from tempoc.ops.definition.operator import Op
from tempoc.ops.definition.shapes import axes_of, axis_of
from tempoc.ops.indexing.scatter import ScatterAdd
from tempoc.ops.tensor import arithmetic as two
from tempoc.ops.tensor import elementwise as one
from tempoc.ops.tensor.movement import ExpandDims, Pad, Transpose
from tempoc.ops.tensor.reduction import All, Any, Max, Mean, Min, Prod, Reduction, Sum
from tempoc.ops.tensor.source import IndexValue
from tempoc.passes.simplify.rules.contractions import read_at
from tempoc.passes.simplify.rules.layout import reduced_singletons, without_broadcast
from tempoc.passes.simplify.rules.pattern import (
    Match,
    Rewrite,
    RewriteRule,
    fewer,
)
from tempoc.passes.simplify.rules.rounding import wide
from tempoc.sdg.graph.graph import Edge, Node
from tempoc.sdg.graph.query import substitute_in_op
from tempoc.sdg.graph.rewrite import compose
from tempoc.sdg.statements.build import identity
from tempoc.symbolic.expr import ONE, Expr, Slice, Sym, product, sub
from tempoc.symbolic.walk import symbols

_ASSOCIATIVE: tuple[type[Op], ...] = (Sum, Prod, Max, Min, Any, All)


def _reduced_twice(v: Match) -> Rewrite | None:
    """A reduction of a reduction is one over the axes of both."""
    assert isinstance(v.op, Reduction)
    if type(v.op) not in (*_ASSOCIATIVE, Mean):
        return None
    inner = v.inner(0, type(v.op), alone=True)
    if inner is None or type(inner.op) is not type(v.op) or not inner.aligned:
        return None
    assert isinstance(inner.op, Reduction)
    (edge,) = inner.edges
    first = v.type_of(edge)
    if first.dtype is not v.result.dtype:
        return None
    mine = axes_of(inner.op.axes, first.ndim)
    last = axes_of(v.op.axes, v.operand(0).ndim)
    if inner.op.keepdims:
        if not v.op.keepdims and not {*mine} <= {*last}:
            return None
        axes = tuple(sorted({*mine, *last}))
    elif v.op.keepdims:
        return None
    else:
        left = [k for k in range(first.ndim) if k not in mine]
        axes = tuple(sorted((*mine, *(left[k] for k in last))))
    return Rewrite(edges=(edge,), op=type(v.op)(axes=axes, keepdims=v.op.keepdims))


def _exactly_twice(v: Match) -> Rewrite | None:
    exact = not v.result.dtype.is_float or isinstance(v.op, Max)
    return _reduced_twice(v) if exact else None


def _sum_of_broadcast(v: Match) -> Rewrite | None:
    """A sum or mean over broadcast axes."""
    assert isinstance(v.op, Reduction)
    if type(v.op) not in (Sum, Mean):
        return None
    small = without_broadcast(v)
    if small is None:
        return None
    if isinstance(v.op, Mean):
        return Rewrite(edges=(small,), op=v.op)
    pairs = zip(v.operand(0).shape, v.type_of(small).shape, strict=True)
    count = product(e for e, now in pairs if now == ONE != e)
    number = v.make(one.Cast(dtype=v.result.dtype), v.make(IndexValue(expr=count)))
    return Rewrite(edges=(number, v.make(v.op, small)), op=two.Multiply())


def _sum_of_singletons(v: Match) -> Rewrite | None:
    if v.operand(0).dtype is not v.result.dtype:
        return None
    return reduced_singletons(v)


def _sum_of_scaled(v: Match) -> Rewrite | None:
    """A sum or mean of a product or quotient with a factor that is constant along the axes."""
    assert isinstance(v.op, Reduction)
    if type(v.op) not in (Sum, Mean):
        return None
    inner = v.inner(0, two.Multiply, two.Divide, one.Negative, alone=True)
    if inner is None or not inner.aligned:
        return None
    if isinstance(inner.op, one.Negative):
        return Rewrite(edges=(v.make(v.op, *inner.edges),), op=inner.op)
    for k in (1,) if isinstance(inner.op, two.Divide) else (1, 0):
        if _is_loop_invariant_factor(v, inner.edges[k], inner.edges[1 - k]):
            total = v.make(v.op, inner.edges[1 - k])
            return Rewrite(edges=(total, inner.edges[k]), op=inner.op)
    return None


def _is_loop_invariant_factor(v: Match, scale: Edge, other: Edge) -> bool:
    """Whether a factor is constant along all reduced axes, and the other one is not broadcast."""
    assert isinstance(v.op, Reduction)
    ndim = v.operand(0).ndim
    axes = axes_of(v.op.axes, ndim)
    own = v.type_of(scale)
    if not axes or v.type_of(other).shape != v.operand(0).shape or own.dtype is not v.result.dtype:
        return False
    if v.op.keepdims:
        aligned = (ONE,) * (ndim - own.ndim) + own.shape
        return all(aligned[a] == ONE for a in axes)
    return own.ndim == 0 or max(axes) < ndim - own.ndim


def _sum_of_padded_rows(v: Match) -> Rewrite | None:
    """A sum over steps of padded rows, each at the position of its step."""
    assert isinstance(v.op, Reduction)
    (edge,) = v.node.inputs
    node = v.nodes[edge.source]
    if type(v.op) is not Sum or v.op.keepdims or not isinstance(node.op, Pad) or node.op.value:
        return None
    at = dict(zip(node.domain.dims, edge.entries, strict=True))
    ranging = [d for d, e in at.items() if isinstance(e, Slice)]
    if len(ranging) != 1 or axes_of(v.op.axes, v.operand(0).ndim) != (0,):
        return None
    (dim,) = ranging
    steps = at.pop(dim)
    axis = _step_axis(node, dim)
    if axis is None or any(e != Sym(d) for d, e in at.items()):
        return None
    rows = _unpadded_rows(v, node, axis, edge)
    if rows is None:
        return None
    assert isinstance(steps, Slice)
    ndim = v.result.ndim
    order = tuple(k + 1 if k < axis else 0 if k == axis else k for k in range(ndim))
    transposed = rows if axis == 0 else v.make(Transpose(axes=order), rows)
    widths = list(node.op.widths)
    widths[axis] = (steps.lo, sub(v.result.shape[axis], steps.hi))
    return Rewrite(edges=(transposed,), op=Pad(widths=tuple(widths)))


def _step_axis(node: Node, dim: str) -> int | None:
    """The axis of a padded array along which the padding before it is the step itself."""
    assert isinstance(node.op, Pad)
    moving = [k for k, (a, b) in enumerate(node.op.widths) if dim in (*symbols(a), *symbols(b))]
    if len(moving) == 1 and node.op.widths[moving[0]][0] == Sym(dim):
        return moving[0]
    return None


def _unpadded_rows(v: Match, node: Node, axis: int, edge: Edge) -> Edge | None:
    """The rows before padding, without their own axis, at the steps that ``edge`` reads."""
    (placed,) = node.inputs
    new = v.nodes[placed.source]
    if not isinstance(new.op, ExpandDims) or placed.entries != identity(new.domain):
        return None
    own = axis_of(new.op.axis, node.types[0].ndim) == axis and new.domain.dims == node.domain.dims
    (row,) = new.inputs
    dims = new.domain.dims
    entries = compose(edge.entries, dims, row.entries, v.graph.universe) if own else None
    shape = v.type_of(row).shape
    if entries is None or any(d in symbols(e) for e in shape for d in dims):
        return None
    return replace(row, entries=entries, span=edge.span)


def _sum_of_scattered(v: Match) -> Rewrite | None:
    """A sum over steps of scatter-adds: one scatter-add of the rows of all steps."""
    assert isinstance(v.op, Reduction)
    (edge,) = v.node.inputs
    node = v.nodes[edge.source]
    if type(v.op) is not Sum or v.op.keepdims or not isinstance(node.op, ScatterAdd):
        return None
    at = dict(zip(node.domain.dims, edge.entries, strict=True))
    ranging = tuple(d for d, e in at.items() if isinstance(e, Slice))
    leading = tuple(range(len(ranging)))
    if v.uses[node.name] != 1 or not ranging or axes_of(v.op.axes, v.operand(0).ndim) != leading:
        return None
    x, positions = (read_at(v, edge, read) for read in node.inputs)
    if x is None or positions is None or x[1] != ranging or positions[1] != ranging:
        return None
    if not fewer(v.type_of(node.inputs[0]).shape, node.types[0].shape):
        return None
    rows, axis = x[0], axis_of(node.op.axis, node.types[0].ndim)
    if axis:
        before, rank = [len(leading) + k for k in range(axis)], v.type_of(rows).ndim
        rows = v.make(Transpose(axes=(*before, *leading, *range(len(leading) + axis, rank))), rows)
    op = substitute_in_op(node.op, {d: e for d, e in at.items() if isinstance(e, Expr)})
    return Rewrite(edges=(rows, positions[0]), op=replace(op, axis=axis))


_FLOATING = (Sum, Mean)
SUMS: tuple[RewriteRule, ...] = (
    RewriteRule(name="a reduction of a reduction", ops=_ASSOCIATIVE, find=_exactly_twice),
    RewriteRule(
        name="a sum of rows in their places", ops=(Sum,), find=_sum_of_padded_rows, exact=False
    ),
    RewriteRule(name="a sum of sums by position", ops=(Sum,), find=_sum_of_scattered, exact=False),
    RewriteRule(name="a sum of sums", ops=(Sum, Mean), find=wide(_reduced_twice), exact=False),
    RewriteRule(
        name="a sum of numbers alike", ops=_FLOATING, find=wide(_sum_of_broadcast), exact=False
    ),
    RewriteRule(name="a sum of one number", ops=_FLOATING, find=_sum_of_singletons, exact=False),
    RewriteRule(
        name="sum(c * x) = c * sum(x)", ops=_FLOATING, find=wide(_sum_of_scaled), exact=False
    ),
)
