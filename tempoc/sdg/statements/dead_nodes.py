"""The graph without what is computed in vain."""

from __future__ import annotations

from dataclasses import replace

from tempoc.ops.control.control import Merge
from tempoc.poly.relations.space import Space
from tempoc.sdg.graph.graph import Graph, Node
from tempoc.sdg.graph.rewrite import drop_dead
from tempoc.symbolic import expr as ix
from tempoc.symbolic.domain import Domain


def without_dead_nodes(graph: Graph, space: Space) -> Graph:
    """The graph without dead nodes, and without branches of merges that no point takes.

    A guard that holds nowhere for any value of the bounds is a mistake that the front end reports;
    one that holds nowhere because a bound has a constant value is not.
    """
    if any(isinstance(bound.value, ix.Const) for bound in graph.universe.bounds):
        nodes = {name: _without_idle_branches(node, space) for name, node in graph.nodes.items()}
        if nodes != graph.nodes:
            graph = replace(graph, nodes=nodes)
    return drop_dead(graph)


def _without_idle_branches(node: Node, space: Space) -> Node:
    if not isinstance(node.op, Merge):
        return node
    taken = [
        k
        for k, edge in enumerate(node.inputs)
        if not space.is_empty(
            Domain(node.domain.dims, ix.conjunction(node.domain.where, edge.guard))
        )
    ]
    if len(taken) in (0, len(node.inputs)):
        return node
    op = replace(node.op, targets=tuple(node.op.targets[k] for k in taken))
    return replace(node, op=op, inputs=tuple(node.inputs[k] for k in taken))
