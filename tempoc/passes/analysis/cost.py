"""Costs of nodes: sizes of results, operation counts; whether more points may be computed."""

from __future__ import annotations

from collections.abc import Container, Mapping
from itertools import combinations
from math import prod

from tempoc.base.cost_model import MODEL
from tempoc.ops.control.cond import Cond
from tempoc.ops.control.control import Merge
from tempoc.ops.control.externs import ExternCall
from tempoc.ops.definition.operator import Op, OperandError
from tempoc.ops.definition.types import Types
from tempoc.passes.analysis.size_estimate import bytes_of
from tempoc.poly.relations.space import Space
from tempoc.sdg.graph.graph import Graph, Node
from tempoc.sdg.graph.query import node_operations, operand_types, topological
from tempoc.sdg.statements.build import is_computed
from tempoc.sdg.verification.verify import DomainFacts
from tempoc.symbolic import expr as ix
from tempoc.symbolic.domain import Domain, conjuncts
from tempoc.symbolic.walk import evaluate, symbols


def size(node: Node) -> int:
    """The number of elements of a node's results."""
    return sum(_elements(t.shape) for t in node.types)


def operations(graph: Graph, bounds: Mapping[str, int]) -> int:
    """An estimate of the operations of a graph for these bounds; moving an element counts as one.

    Extents are taken at the last point of each dimension.
    """
    at = {**bounds, **{d.name: bounds[d.bound] - 1 for d in graph.universe.dims}}
    total = 0
    for node in graph.nodes.values():
        if is_computed(node) and not node.op.cheap:
            work = node_operations(graph, node)
            moved = (ix.product(t.shape) for t in node.types[:1])
            points = prod(bounds[graph.universe.dim(d).bound] for d in node.domain.dims)
            total += points * max(0, *(evaluate(e, at) for e in (work, *moved)))
    return total


def input_elements(graph: Graph, names: Container[str]) -> dict[str, int]:
    """For each of some nodes the elements that it has to read to be recomputed, through the others.

    ``-broadcast_to(x)`` of a scalar needs one element, however large it is. Nodes that do work
    count with their own size.
    """
    counts: dict[str, int] = {}
    for name in topological(graph):
        node = graph.nodes[name]
        if name not in names or not is_computed(node) or isinstance(node.op, Merge):
            continue
        if node.op.heavy:
            counts[name] = size(node)
            continue
        operands = zip(node.inputs, operand_types(graph, node), strict=True)
        operand_counts = {
            e.source: min(counts.get(e.source, MODEL.unknown_bound**9), _elements(t.shape))
            for e, t in operands
        }
        counts[name] = min(size(node), sum(operand_counts.values()))
    return counts


def _elements(shape: tuple[ix.Expr, ...]) -> int:
    return prod(e.value if isinstance(e, ix.Const) else MODEL.unknown_bound for e in shape)


# ---------------------------------------------------------------- boxes


def op_in_box(graph: Graph, node: Node, box: Domain, space: Space) -> Op | None:
    """The operator that computes a node at all points of a box, also where nobody needs it.

    ``None`` if it may not be computed there, or if that costs too much.
    """
    op = node.op
    if isinstance(op, Cond | ExternCall) or not op.computed or not op.pure or op.checks:
        return None
    extents = [ix.compare(">=", e, ix.ZERO) for t in node.types for e in t.shape]
    if not all(space.implies(box, e) for e in extents):
        return None
    types = operand_types(graph, node)
    limited_op = op_within_axes(op, types, box, space)
    if limited_op is None or not _has_value(limited_op, types, box, space):
        return None
    return limited_op if _is_cheap_point(node) or not _is_thin(node.domain, space) else None


def op_within_axes(op: Op, types: Types, domain: Domain, space: Space) -> Op | None:
    """The operator, or one whose positions are kept in range, that takes nothing beyond the axes of
    its operands at any point of a domain; ``None`` if neither is proved to."""

    def is_within(op: Op) -> bool:
        return all(space.implies(domain, e) for e in op.within(types))

    if is_within(op):
        return op
    limited_op = op.kept_inside(types)
    return limited_op if is_within(limited_op) else None


def _has_value(op: Op, types: Types, box: Domain, space: Space) -> bool:
    """Whether an operator has a value at all points of a box: a maximum of nothing has none."""
    try:
        op.infer(types, DomainFacts(space, box))
    except OperandError:
        return False
    return True


def limited(entry: ix.Expr, first: ix.Expr, last: ix.Expr, box: Domain, space: Space) -> ix.Expr:
    """The entry, from ``first`` to ``last`` at all points of a box."""
    if not space.implies(box, ix.compare(">=", entry, first)):
        entry = ix.maximum(entry, first)
    if not space.implies(box, ix.compare("<=", entry, last)):
        entry = ix.minimum(entry, last)
    return entry


def _is_cheap_point(node: Node) -> bool:
    """Whether a point costs less than the call of a kernel for it."""
    if node.op.heavy:
        return False
    if not all(isinstance(e, ix.Const) for t in node.types for e in t.shape):
        return False
    return sum(bytes_of(t, {}) for t in node.types) <= MODEL.point_bytes


def _is_thin(domain: Domain, space: Space) -> bool:
    """Whether all points lie within a constant distance of a line or plane."""
    named = [tuple(d for d in domain.dims if d in symbols(p)) for p in conjuncts(domain.where)]
    across: dict[ix.Expr, None] = {}
    for dims in named:
        across |= {ix.Sym(d): None for d in dims}
        for a, b in combinations(map(ix.Sym, dims), 2):
            across |= {ix.sub(a, b): None, ix.add(a, b): None}
    return any(
        isinstance(ix.sub(space.upper_bound(e, domain), space.lower_bound(e, domain)), ix.Const)
        for e in across
    )
