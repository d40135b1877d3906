"""Cotangents of branches: 0 flows back out of a branch of `cond` that is not taken.

Inside a branch, derivatives are computed as usual, since they are demanded only there. The
cotangent that leaves it is 0 where the branch is not taken, by another `cond`: so the backward pass
computes one branch only, and an infinite slope in the other one does no harm.
"""

from __future__ import annotations

from collections.abc import Mapping

from tempoc.autodiff.node_builder import PointBuild, edge_of
from tempoc.ops.control.cond import Cond
from tempoc.ops.gradients.calculus import Term
from tempoc.ops.tensor.contraction import Einsum
from tempoc.ops.tensor.movement import BroadcastTo
from tempoc.sdg.graph.graph import Graph, Node
from tempoc.sdg.statements.branches import BranchCondition, branch_condition
from tempoc.sdg.statements.build import identity, is_identity
from tempoc.symbolic.walk import symbols


def zero_outside_branch(
    build: PointBuild,
    graph: Graph,
    conditions_of: Mapping[str, tuple[BranchCondition, ...]],
    node: Node,
    slot: int,
    part: Term,
) -> Term:
    """The cotangent `part` of an operand, set to 0 where a branch that ends here is not taken."""
    edge = node.inputs[slot]
    conditions = conditions_of[node.name]
    if isinstance(node.op, Cond):
        conditions = tuple(dict.fromkeys((*conditions, branch_condition(graph, node.name, slot))))
    operand_conditions = conditions_of[edge.source] if is_identity(edge, graph) else ()
    named_dims = [n for e in edge.entries for n in symbols(e)]
    summed = any(d not in named_dims for d in node.domain.dims)
    for need in reversed([n for n in conditions if n not in operand_conditions]):
        part = _select_branch(build, need, part, summed)
    return part


def _select_branch(build: PointBuild, need: BranchCondition, x: Term, summed: bool) -> Term:
    """The term where the branch condition holds, else 0.

    Broadcasts are moved behind the `cond`, and products that are `summed` over points stay
    products, so that `sum_as_contraction` can turn them into one contraction.
    """
    c = build.calculus
    if x.handle is None:
        one = c.number(x.number or 0.0, x.type.dtype)
        return c.spread(_conditional(build, need, one), x.shape)
    node = build.builder.nodes[edge_of(x).source]
    at_own_point = edge_of(x).entries == identity(node.domain)
    if at_own_point and isinstance(node.op, BroadcastTo):
        return c.spread(_select_branch(build, need, build.read(node.inputs[0]), summed), x.shape)
    if at_own_point and isinstance(node.op, Einsum) and summed:
        operands = [_select_branch(build, need, build.read(e), False) for e in node.inputs]
        return c.op(node.op, *operands)
    return _conditional(build, need, x)


def _conditional(build: PointBuild, need: BranchCondition, x: Term) -> Term:
    c = build.calculus
    zero = c.number(0.0, x.type.dtype, x.shape)
    a, b = (x, zero) if need.holds else (zero, x)
    return c.op(Cond(), build.read(need.condition), a, b)
