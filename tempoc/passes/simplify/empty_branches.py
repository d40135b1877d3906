"""Branches of merges that no point takes, as a bound has the value that it has.

    bound V = 2
    %g = merge{targets=((v), (v), (v))} %a when v == 1, %b when v == 0, %zero when v >= 2 : [v] f32
    ->
    %g = merge{targets=((v), (v))} %a when v == 1, %b when v == 0 : [v] f32

Derivatives of reads of single points have such a branch: nobody reads what is left, if something
is left. What computes it has no points, and with it no range along any dimension.
"""

from __future__ import annotations

from dataclasses import replace

from tempoc.ops.control.control import Merge
from tempoc.poly.relations.space import Space
from tempoc.sdg.graph.graph import Edge, Graph, Node
from tempoc.symbolic import expr as ix
from tempoc.symbolic.domain import Domain


def without_empty_branches(graph: Graph, space: Space) -> Graph:
    """The graph without branches that are empty for the values of fixed bounds."""
    if space.symbolic is space:
        return graph
    nodes = {name: _without_empty(node, space) for name, node in graph.nodes.items()}
    return graph if nodes == graph.nodes else replace(graph, nodes=nodes)


def _without_empty(node: Node, space: Space) -> Node:
    if not isinstance(node.op, Merge) or len(node.inputs) < 2:
        return node
    taken = [k for k, e in enumerate(node.inputs) if not space.is_empty(_points(node, e))]
    if not taken or len(taken) == len(node.inputs):
        return node
    targets = tuple(node.op.targets[k] for k in taken)
    inputs = tuple(node.inputs[k] for k in taken)
    return replace(node, inputs=inputs, op=replace(node.op, targets=targets))


def _points(merge: Node, edge: Edge) -> Domain:
    """The points of a merge that take a branch."""
    return Domain(merge.domain.dims, ix.conjunction(merge.domain.where, edge.guard))
