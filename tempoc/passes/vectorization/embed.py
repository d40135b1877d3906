"""Embedding: what a recurrence computes at one point of a dimension gets this dimension.

    %s.0 = copy %g[b, 0]                     : [b] f32
    %s   = merge{targets=((b, 0), (b, t))} %s.0[b] when t == 0, %s.1 when t >= 1 : [b, t] f32
    %g   = tanh %s[b, t-1]                   : [b, t] f32
    ->
    %s.0 = copy %g                           : [b, t | t == 0] f32
    %s   = merge{targets=((b, t), (b, t))} %s.0 when t == 0, %s.1 when t >= 1 : [b, t] f32

A start that reads what the recurrence computes at its first point is a part of the cycle, and no
loop over ``t`` carries a cycle with a node that has no ``t``: then ``b`` would be a loop around all
of it. Statements are embedded into the dimensions of their nest as by Ahmed, Mateev and Pingali
(Synthesizing transformations for locality enhancement of imperfectly-nested loop nests, ICS 2000),
here only where a cycle needs it. The same at the last point, of recurrences that run backwards, as
derivatives do.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import ClassVar

from tempoc.base.graphs import connected_components
from tempoc.ops.control.control import Merge
from tempoc.ops.control.until import Until
from tempoc.passes.analysis import dependence
from tempoc.passes.context import GraphPass, PassContext
from tempoc.poly.relations.space import Space
from tempoc.sdg.graph.graph import Edge, Graph, Node
from tempoc.sdg.graph.rewrite import rewrite_reads
from tempoc.symbolic import expr as ix
from tempoc.symbolic.domain import Domain
from tempoc.symbolic.walk import symbols

Points = Mapping[str, ix.Expr]
"""For each node its one point along a dimension."""


class Embed(GraphPass):
    """Gives nodes at one point of a dimension this dimension, where a cycle needs it."""

    __slots__ = ()
    name: ClassVar[str] = "embed"

    def run(self, graph: Graph, context: PassContext) -> Graph:
        """The graph in which loops carry more cycles."""
        space = context.space.symbolic  # no domain depends on the value of a fixed bound
        for stuck in dependence.stuck_cycles(graph, context.space):
            for dim in (d.name for d in graph.universe.dims):
                points = _points(graph, dim, stuck, space)
                if points:
                    _remark(graph, dim, points, context)
                    graph = _embedded(graph, dim, points, space)
                    if not dependence.is_stuck(graph, context.space, stuck):
                        break  # a dimension that no cycle needs is only in the way
        return graph


def _points(graph: Graph, dim: str, stuck: Sequence[str], space: Space) -> Points:
    """The nodes of a cycle that lack a dimension of others, and have a single point of it."""
    lacking = [n for n in stuck if dim not in graph.nodes[n].domain.dims]
    if len(lacking) == len(stuck):
        return {}
    places: dict[str, set[ix.Entry]] = {name: set() for name in lacking}
    for name in lacking:
        places[name].update(_reads(graph, graph.nodes[name], dim, {*stuck}))
    for merge in graph.nodes.values():
        if isinstance(merge.op, Merge) and dim in merge.domain.dims:
            place = merge.domain.dims.index(dim)
            for edge, target in zip(merge.inputs, merge.op.targets, strict=True):
                if edge.source in places:
                    places[edge.source].add(target[place])
    without = _in_tensors_without(graph, dim)
    points: dict[str, ix.Expr] = {}
    for part in connected_components(lacking, lambda name: graph.nodes[name].sources):
        (at, *others) = {e for name in part for e in places[name]} or {ix.ZERO: None}
        if others or not isinstance(at, ix.Expr):
            continue
        if without.isdisjoint(part) and all(
            _may_have(graph, graph.nodes[n], dim, at, space) for n in part
        ):
            points |= dict.fromkeys(part, at)
    return points


def _in_tensors_without(graph: Graph, dim: str) -> set[str]:
    """What tensors without a dimension are made of: that cannot have it either."""
    merges = (n for n in graph.nodes.values() if isinstance(n.op, Merge))
    return {name for m in merges if dim not in m.domain.dims for name in m.sources}


def _reads(graph: Graph, node: Node, dim: str, stuck: set[str]) -> Iterator[ix.Entry]:
    """The entries along a dimension with which a node reads others of the cycle."""
    for edge in node.inputs:
        source = graph.nodes[edge.source]
        computed = source.sources if isinstance(source.op, Merge) else (source.name,)
        if dim in source.domain.dims and any(name in stuck for name in computed):
            yield edge.entries[source.domain.dims.index(dim)]


def _may_have(graph: Graph, node: Node, dim: str, at: ix.Expr, space: Space) -> bool:
    """Whether a node may have a dimension, with this as its only point."""
    universe = graph.universe
    names = symbols(at)
    if any(d.name in names for d in universe.dims) or any(n in universe.lengths for n in names):
        return False
    bound = ix.Sym(universe.dim(dim).bound)
    inside = ix.conjunction(ix.compare(">=", at, ix.ZERO), ix.compare("<", at, bound))
    if not node.op.pure or isinstance(node.op, Until) or node.vector:
        return False
    return space.implies(node.domain, inside)


def _embedded(graph: Graph, dim: str, points: Points, space: Space) -> Graph:
    """The graph in which nodes have a dimension more."""
    nodes = {**graph.nodes}
    for name, at in points.items():
        domain = nodes[name].domain
        dims = graph.universe.ordered((*domain.dims, dim))
        where = ix.conjunction(domain.where, ix.compare("==", ix.Sym(dim), at))
        nodes[name] = replace(nodes[name], domain=Domain(dims, where))
    embedded = replace(graph, nodes=nodes)

    def read(edge: Edge, reader: Node | None) -> Edge:
        source = embedded.nodes[edge.source]
        if dim not in source.domain.dims:
            return edge
        place, entries = source.domain.dims.index(dim), [*edge.entries]
        if source.name in points:
            entries.insert(place, points[source.name])
        domain = Domain(()) if reader is None else reader.domain
        here = ix.Sym(dim)
        at = entries[place]
        if dim in domain.dims and isinstance(at, ix.Expr):
            where = Domain(domain.dims, ix.conjunction(domain.where, edge.guard))
            changed = source.name in points or (reader is not None and reader.name in points)
            if changed and space.implies(where, ix.compare("==", here, at)):
                entries[place] = here
        return replace(edge, entries=tuple(entries))

    graph = rewrite_reads(embedded, read)
    return replace(graph, nodes={k: _with_targets(n, dim, points) for k, n in graph.nodes.items()})


def _with_targets(node: Node, dim: str, points: Points) -> Node:
    """A merge with the targets of branches in the coordinates of their sources."""
    if not isinstance(node.op, Merge) or dim not in node.domain.dims:
        return node
    place = node.domain.dims.index(dim)
    targets = tuple(
        (*target[:place], ix.Sym(dim), *target[place + 1 :]) if e.source in points else target
        for e, target in zip(node.inputs, node.op.targets, strict=True)
    )
    return (
        node if targets == node.op.targets else replace(node, op=replace(node.op, targets=targets))
    )


def _remark(graph: Graph, dim: str, points: Points, context: PassContext) -> None:
    """Add a remark on what is computed in the loop."""
    names = [*points]
    shown = ", ".join(f"`{n}`" for n in names[:4]) + (", ..." if len(names) > 4 else "")
    message = f"{shown} {'is a' if len(names) == 1 else 'are'} part of the recurrence along {dim}"
    context.remarks.add("embed", message, graph.nodes[names[0]].span)
