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

from tempoc.base.names import fresh_name
from tempoc.ops.control.control import Copy, Merge
from tempoc.poly.relations.space import Space
from tempoc.sdg.builder import read_of
from tempoc.sdg.graph.graph import Edge, Graph, Node
from tempoc.sdg.graph.rewrite import replace_nodes, replace_operand
from tempoc.sdg.statements.branches import enclosing_conds
from tempoc.sdg.statements.build import is_computed, written_where
from tempoc.symbolic.expr import Expr
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
    copies: dict[str, list[Node]] = {}
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
            copies.setdefault(source.name, []).append(copy)
            read = replace(edge, source=copy.name, out=0)
            nodes[merge.name] = replace_operand(nodes[merge.name], k, read)
            partials.append(PartialWrite(merge=merge.name, branch=k, copy=copy.name, where=where))
    every = {name: [nodes[name], *copies.get(name, ())] for name in graph.nodes}
    return replace_nodes(graph, every), tuple(partials)


def drop_redundant_copies(graph: Graph, parts: Sequence[PartialWrite]) -> Graph:
    """The graph without the copies of nodes that loop over the merge's points anyway."""
    nodes = dict(graph.nodes)
    for p in parts:
        (read,) = nodes[p.copy].inputs
        if any(d in symbols(p.where) for d in nodes[read.source].vector):
            continue
        merge = nodes[p.merge]
        edge = replace(merge.inputs[p.branch], source=read.source, out=read.out)
        nodes[p.merge] = replace_operand(merge, p.branch, edge)
        del nodes[p.copy]
    return replace(graph, nodes=nodes)


def _copy(nodes: dict[str, Node], source: Node, edge: Edge, where: Expr, space: Space) -> Node:
    """The copy that writes into a merge in place of ``source``."""
    return replace(
        source,
        name=fresh_name(f"{source.name}.part", nodes),
        op=Copy(),
        domain=space.restrict(source.domain, where),
        inputs=(read_of(source, edge.out),),
        types=(source.types[edge.out],),
        vector=(),
    )
