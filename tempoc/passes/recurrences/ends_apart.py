"""The first step of a recurrence apart from the others, where its nodes are steps as well.

    %d.sub = mul %d, %g                     : [t] f32
    %v.0   = add %d.sub, %v[t+1]            : [t | t < T-1] f32
    %v     = merge %v.0 when t < T-1, %d.sub when t == T-1 : [t] f32
    ->
    %d.sub.early = mul %d, %g               : [t | t < T-1] f32
    %d.sub.late  = mul %d, %g               : [t | t == T-1] f32

Where the recurrence begins, ``v`` is what a part of a step gives, so that two equations go round:
derivatives of states that are read twice in a step are such. With nodes of its own for that point,
one equation goes round, and the rest is a recurrence (``recognize_recurrence.py``).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace

from tempoc.ops.control.control import Merge
from tempoc.passes.analysis.loop_carried import splittable_nodes
from tempoc.passes.domain.cut_point import SIDES, Cut
from tempoc.passes.domain.index_set_split import split_nodes
from tempoc.passes.recurrences.recognize_recurrence import cycles
from tempoc.poly.relations.space import Space
from tempoc.sdg.graph.graph import Edge, Graph, Node
from tempoc.sdg.graph.rewrite import drop_dead
from tempoc.sdg.statements.build import is_identity
from tempoc.symbolic import expr as ix
from tempoc.symbolic.domain import Domain


def with_ends_apart(
    graph: Graph, dim: str, space: Space, is_scan: Callable[[Graph, tuple[str, ...]], bool]
) -> Graph:
    """The graph with the ends of recurrences along a dimension apart where that makes them scans.

    ``is_scan`` says of a cycle of a graph whether it is one. In the result nothing is vectorized.
    """
    for cycle in cycles(graph, dim):
        if _goes_round_twice(graph, cycle):
            for divided in _divided(graph, dim, cycle, space):
                states = {n for n in cycle if _is_merge(divided, n)}
                parts = [c for c in cycles(divided, dim) if states & {*c}]
                if parts and all(is_scan(divided, c) for c in parts):
                    graph = drop_dead(divided)
                    break
    return graph


def _is_merge(graph: Graph, name: str) -> bool:
    return name in graph.nodes and isinstance(graph.nodes[name].op, Merge)


def _goes_round_twice(graph: Graph, cycle: tuple[str, ...]) -> bool:
    """Whether several equations of a state are steps, and only that is in the way."""
    states = [graph.nodes[n] for n in cycle if _is_merge(graph, n)]
    return any(sum(e.source in cycle for e in state.inputs) > 1 for state in states)


def _divided(graph: Graph, dim: str, cycle: tuple[str, ...], space: Space) -> Iterator[Graph]:
    """The graph with the nodes of a cycle cut before the last point, or behind the first one."""
    plain = {k: replace(n, vector=()) if n.vector else n for k, n in graph.nodes.items()}
    graph = replace(graph, nodes=plain)
    able = splittable_nodes(graph)
    nodes = [n for n in cycle if not _is_merge(graph, n)]
    if able.issuperset(nodes):
        last = ix.sub(ix.Sym(graph.universe.dim(dim).bound), ix.ONE)
        for at, side in ((last, SIDES[1]), (ix.ONE, SIDES[0])):
            division = split_nodes(graph, nodes, Cut(dim=dim, at=at), space)
            ends = [name for part, name in division.names.items() if part.side == side]
            yield _without_merges(division.graph, ends, space)


def _without_merges(graph: Graph, names: Iterable[str], space: Space) -> Graph:
    """The graph where these nodes read the only branches of merges that they can read."""
    nodes = dict(graph.nodes)
    for node in (nodes[n] for n in names if n in nodes):
        inputs = tuple(_read_branch(graph, node, edge, space) for edge in node.inputs)
        nodes[node.name] = replace(node, inputs=inputs)
    return replace(graph, nodes=nodes)


def _read_branch(graph: Graph, node: Node, edge: Edge, space: Space) -> Edge:
    """A read at the own point of the branch of a merge that holds at all points of a node."""
    merge = graph.nodes[edge.source]
    own = is_identity(edge, graph) and merge.domain.dims == node.domain.dims
    if not isinstance(merge.op, Merge) or not own:
        return edge
    for branch in merge.inputs:
        others = ix.conjunction(node.domain.where, ix.negation(branch.guard))
        if space.is_empty(Domain(node.domain.dims, others)):
            return replace(branch, guard=edge.guard, span=edge.span)
    return edge
