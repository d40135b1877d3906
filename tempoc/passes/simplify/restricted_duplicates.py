"""Nodes that compute, at some points, what others compute at more.

    %n = add %f, %u : [t | t < T-1] f32[8]      the next state, where there is one
    %m = add %f, %u : [t] f32[8]                what an output reads at every step
    ->
    %m = add %f, %u : [t] f32[8]                what read %n reads %m

`S[t+1] = f(S, x)` with `y = g(f(S, x))` is written like that. Before differentiation, it leaves one
cotangent of the state in place of two, each with products of its own; after it, what reads the
state and what computes it anew are the same, so that the rest need not run in the loop. Operands
count as the same that would compute the same wherever both are defined. What gradients
differentiate by is left alone: the derivative by it counts the reads of its name. Duplicates at
the same points are those of ``value_numbering.py``.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from tempoc.ops.control.control import Merge
from tempoc.ops.control.gradient import Gradient
from tempoc.passes.analysis.variance import is_external
from tempoc.sdg.graph.active import independent_nodes
from tempoc.sdg.graph.graph import Edge, Graph, Node
from tempoc.sdg.graph.query import topological
from tempoc.sdg.graph.rewrite import drop_dead, redirect
from tempoc.sdg.statements.branches import branch_conditions
from tempoc.symbolic import expr as ix
from tempoc.symbolic.domain import conjuncts


def without_restricted_duplicates(graph: Graph) -> Graph:
    """The graph in which readers of such nodes read those with more points.

    The same graph if none of them is a product: the others cost less than deriving all once more.
    """
    wider = {
        name: other
        for group in _groups(graph)
        if len(group) > 1
        for name, other in _with_more_points(group).items()
    }
    if not any(graph.nodes[name].op.contraction for name in wider):
        return graph
    nodes = dict(graph.nodes)
    for name, other in wider.items():
        spans = (*nodes[other].spans, *nodes.pop(name).spans)
        nodes[other] = replace(nodes[other], spans=tuple(dict.fromkeys(spans)))
    reads = {(n, k): (o, k) for n, o in wider.items() for k in range(len(graph.nodes[n].types))}
    return redirect(replace(graph, nodes=nodes), reads)


def _groups(graph: Graph) -> list[list[Node]]:
    """The nodes that compute the same at all points that they have in common."""
    conditions, alone = branch_conditions(graph), independent_nodes(graph)
    live = drop_dead(graph).nodes  # what nobody needs may fail where it is computed
    numbers: dict[object, int] = {}
    groups: list[list[Node]] = []
    group_of: dict[str, int] = {}
    for name in topological(graph):
        node = graph.nodes[name]
        key: object = name
        fixed = is_external(node) or isinstance(node.op, Merge | Gradient)
        if name in live and name not in alone and not fixed:
            reads = ((group_of.get(e.source, e.source), e.out, *_access(e)) for e in node.inputs)
            # The text tells 0.0 from -0.0 and 1 from True, which are equal in Python.
            key = repr(node.op), node.domain.dims, node.types, tuple(reads), conditions[name]
        number = group_of[name] = numbers.setdefault(key, len(numbers))
        if number == len(groups):
            groups.append([])
        groups[number].append(node)
    return groups


def _access(edge: Edge) -> tuple[tuple[ix.Entry, ...], ix.Expr]:
    return edge.entries, edge.guard


def _with_more_points(group: Sequence[Node]) -> dict[str, str]:
    """For nodes of a group, another one whose condition is a part of theirs: the widest first."""
    parts = {n.name: frozenset(conjuncts(n.domain.where)) - {ix.TRUE} for n in group}
    widest = sorted(parts, key=lambda name: len(parts[name]))
    pairs = ((n, next(o for o in widest if parts[o] <= parts[n])) for n in parts)
    return {n: o for n, o in pairs if parts[o] < parts[n]}
