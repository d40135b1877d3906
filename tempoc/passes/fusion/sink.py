"""Sinking: rematerialize cheap nodes in each group that uses them, instead of storing them.

    %one = literal{...} : [] f32                 %one = literal{...} : [t] f32
    %y   = add %x, %one : [t] f32         ->     %y   = add %x, %one : [t] f32

Numbers, index expressions and constant arrays get a copy of their own in each group that reads
them at points.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from tempoc.base.names import fresh_name
from tempoc.sdg.graph.graph import Edge, Graph, Node
from tempoc.sdg.graph.query import node_expressions, substitute_in_op
from tempoc.sdg.statements.build import identity, is_computed
from tempoc.symbolic import expr as ix
from tempoc.symbolic.walk import substitute


def is_sinkable(graph: Graph, edge: Edge) -> bool:
    """Whether a reader may rematerialize what it reads."""
    points = not any(isinstance(e, ix.Slice) for e in edge.entries)
    source = graph.nodes[edge.source]
    at = source.domain.at(edge.entries)
    same_value = not any(graph.universe.moves(e, at) for e in node_expressions(source))
    return points and same_value and source.op.cheap


def unsinkable_sources(graph: Graph) -> set[str]:
    """Cheap nodes that must be stored all the same: written into a merge, sliced, or outputs."""
    unsinkable = {o.source for o in graph.outputs if graph.nodes[o.source].op.cheap}
    for node in graph.nodes.values():
        for edge in node.inputs:
            cheap = graph.nodes[edge.source].op.cheap
            if cheap and not (is_computed(node) and is_sinkable(graph, edge)):
                unsinkable.add(edge.source)
    return unsinkable


def sink(graph: Graph, groups: Mapping[str, str]) -> tuple[Graph, dict[str, str]]:
    """The graph with copies, and the groups of its nodes; ``groups`` has those of the others.

    A copy keeps the name of what it copies while that is free, then gets a number.
    """
    unsinkable = unsinkable_sources(graph)
    homes = dict(groups)
    copies: dict[tuple[str, str, tuple[ix.Entry, ...]], str] = {}
    used_names = {n for n in graph.nodes if n in homes}
    nodes: dict[str, Node] = {}
    for name, node in graph.nodes.items():
        if name not in groups and is_computed(node):
            continue  # a cheap node: only its copies stay
        inputs = []
        for edge in node.inputs:
            source = graph.nodes[edge.source]
            if not is_computed(node) or not is_sinkable(graph, edge):
                inputs.append(edge)
                continue
            if edge.source in unsinkable and homes[edge.source] == homes[name]:
                inputs.append(edge)
                continue
            key = (edge.source, homes[name], edge.entries)
            if key not in copies:
                copies[key] = copy = fresh_name(edge.source, used_names, separator=".")
                used_names.add(copy)
                homes[copy] = homes[name]
                nodes[copy] = _copy(source, copy, node, edge.entries)
            inputs.append(replace(edge, source=copies[key], entries=identity(node.domain)))
        nodes[name] = replace(node, inputs=tuple(inputs))
    return replace(graph, nodes=nodes), homes


def _copy(source: Node, name: str, reader: Node, entries: tuple[ix.Entry, ...]) -> Node:
    """A cheap node in the domain of its reader."""
    pairs = zip(source.domain.dims, entries, strict=True)
    at = {dim: entry for dim, entry in pairs if isinstance(entry, ix.Expr)}
    shapes = (tuple(substitute(e, at) for e in t.shape) for t in source.types)
    types = (replace(t, shape=shape) for t, shape in zip(source.types, shapes, strict=True))
    return replace(
        source,
        name=name,
        op=substitute_in_op(source.op, at),
        domain=reader.domain,
        types=tuple(types),
        vector=reader.vector,
    )
