"""Copies for merge branches that take only some points of a node, so that it can be vectorized.

    %a = exp %x                          : [t] f32
    %y = merge %b when t < T-5, %a when t >= T-5 : [t] f32
    ->
    %a      = exp %x                     : [t] f32
    %a.part = copy %a                    : [t | t >= T-5] f32
    %y = merge %b when t < T-5, %a.part when t >= T-5 : [t] f32

A vectorized node writes all its points at once. If a merge takes only some of them, because the
node has other consumers too, a copy of these points writes into the merge.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from tempoc.ops.control.control import Copy, Merge
from tempoc.poly.relations.space import Space
from tempoc.sdg.graph.graph import Edge, Graph, Node
from tempoc.sdg.statements.branches import enclosing_conds
from tempoc.sdg.statements.build import identity, is_computed, written_where
from tempoc.symbolic.domain import Domain
from tempoc.symbolic.expr import Expr, conjunction
from tempoc.symbolic.walk import symbols


@dataclass(frozen=True, slots=True, kw_only=True)
class PartialWrite:
    """A branch of a merge with a copy of its own, and the condition for its points."""

    merge: str
    branch: int
    copy: str
    where: Expr


def split_partial_writes(graph: Graph, space: Space) -> tuple[Graph, tuple[PartialWrite, ...]]:
    """The graph with copies, and the branches that have one."""
    lazy = enclosing_conds(graph)
    nodes, partials = dict(graph.nodes), []
    for merge in graph.nodes.values():
        for k, edge in enumerate(merge.inputs if isinstance(merge.op, Merge) else ()):
            source = graph.nodes[edge.source]
            if not is_computed(source) or source.name in lazy:
                continue
            where = space.simplify(written_where(merge, k, graph), source.domain)
            if space.implies(source.domain, where):
                continue
            copy = _copy(nodes, source, edge, where, space)
            nodes[copy.name] = copy
            inputs = list(nodes[merge.name].inputs)
            inputs[k] = replace(edge, source=copy.name, out=0)
            nodes[merge.name] = replace(nodes[merge.name], inputs=tuple(inputs))
            partials.append(PartialWrite(merge=merge.name, branch=k, copy=copy.name, where=where))
    return (replace(graph, nodes=_in_order(graph, nodes, partials)), tuple(partials))


def drop_redundant_copies(graph: Graph, parts: Sequence[PartialWrite]) -> Graph:
    """The graph without the copies of nodes that loop over the merge's points anyway."""
    nodes = dict(graph.nodes)
    for p in parts:
        (read,) = nodes[p.copy].inputs
        if any(d in symbols(p.where) for d in nodes[read.source].vector):
            continue
        inputs = list(nodes[p.merge].inputs)
        inputs[p.branch] = replace(inputs[p.branch], source=read.source, out=read.out)
        nodes[p.merge] = replace(nodes[p.merge], inputs=tuple(inputs))
        del nodes[p.copy]
    return replace(graph, nodes=nodes)


def _copy(nodes: dict[str, Node], source: Node, edge: Edge, where: Expr, space: Space) -> Node:
    """The copy that writes into a merge in place of ``source``."""
    name, number = f"{source.name}.part", 2
    while name in nodes:
        name, number = f"{source.name}.part{number}", number + 1
    written = space.simplify(conjunction(source.domain.where, where), Domain(source.domain.dims))
    return Node(
        name=name,
        op=Copy(),
        domain=Domain(source.domain.dims, written),
        inputs=(Edge(source=source.name, out=edge.out, entries=identity(source.domain)),),
        types=(source.types[edge.out],),
        spans=source.spans,
    )


def _in_order(
    graph: Graph, nodes: dict[str, Node], partials: Sequence[PartialWrite]
) -> dict[str, Node]:
    """All nodes, each followed by its copies."""
    copies: dict[str, list[str]] = {}
    for p in partials:
        copies.setdefault(nodes[p.copy].inputs[0].source, []).append(p.copy)
    order = [n for name in graph.nodes for n in (name, *copies.get(name, ()))]
    return {name: nodes[name] for name in order}
