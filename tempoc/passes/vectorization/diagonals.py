"""Equations of a diagonal as equations of one dimension alone.

    %l.0 = copy %p[i]             : [i, j | i == j] f32
    %p   = sqrt %s                : [i] f32
    %l.1 = div %d, %l[j, j]       : [i, j | i > j] f32
    %l   = merge %l.0 when i == j, %l.1 when i > j : [i, j | i >= j] f32
    ->
    %l.0 = copy %p[j]             : [i, j | i == j] f32
    %p   = sqrt %s                : [j] f32
    %l.1 = div %d, %l.0[j, j]     : [i, j | i > j] f32

A loop over ``j`` then has everything that a column needs: what varies with ``i`` alone, and
belongs to the diagonal, is computed in the step of its column.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from tempoc.ops.control.control import Merge
from tempoc.poly.relations.space import Space
from tempoc.sdg.graph.graph import Edge, Graph, Node
from tempoc.sdg.graph.query import substitute_in_op
from tempoc.sdg.graph.rewrite import compose, node_at, replace_nodes
from tempoc.symbolic import expr as ix
from tempoc.symbolic.domain import Domain, conjuncts, substitute_entry
from tempoc.symbolic.walk import substitute, symbols


def with_diagonals(graph: Graph, part: Sequence[str], dim: str, space: Space) -> Graph:
    """The graph in which a recurrence has no equation of ``dim`` alone where that is possible."""
    changes: dict[str, tuple[Node, ...]] = {}
    for node in (graph.nodes[n] for n in part):
        if isinstance(node.op, Merge):
            continue
        new = _pinned(node, dim)
        inputs = tuple(_forwarded(graph, new, e, part, space) for e in new.inputs)
        new = replace(new, inputs=inputs)
        if new != node:
            changes[node.name] = (new,)
    graph = replace_nodes(graph, changes)
    others = [d for n in part for d in graph.nodes[n].domain.dims if d != dim]
    for other in dict.fromkeys(others):
        alone = [n for n in part if _lacks(graph.nodes[n], dim, other)]
        renamed = _renamed(graph, alone, dim, other, space) if alone else None
        graph = graph if renamed is None else renamed
    return graph


def _pinned(node: Node, dim: str) -> Node:
    """The node without a dimension in its reads whose value the others give."""
    at = next(_values(node.domain, dim), None)
    if at is None:
        return node
    inputs = tuple(
        replace(e, entries=tuple(substitute_entry(x, {dim: at}) for x in e.entries))
        for e in node.inputs
    )
    return replace(node, op=substitute_in_op(node.op, {dim: at}), inputs=inputs)


def _values(domain: Domain, dim: str) -> Iterator[ix.Expr]:
    """What a dimension is equal to at all points of a domain."""
    for condition in conjuncts(domain.where):
        if isinstance(condition, ix.Relation) and condition.op == "==":
            gap = ix.sub(condition.left, condition.right)
            for value in (ix.sub(ix.Sym(dim), gap), ix.add(ix.Sym(dim), gap)):
                if dim not in symbols(value) and dim in symbols(gap):
                    yield value


def _forwarded(graph: Graph, reader: Node, edge: Edge, part: Sequence[str], space: Space) -> Edge:
    """The read of a branch of a merge, if all points that are read are of one."""
    merge = graph.nodes[edge.source]
    if merge.name not in part or not isinstance(merge.op, Merge):
        return edge
    if any(isinstance(e, ix.Slice) for e in edge.entries):
        return edge
    read = [
        branch
        for branch in merge.inputs
        if not space.access_map(
            reader.domain,
            edge.entries,
            Domain(merge.domain.dims, ix.conjunction(merge.domain.where, branch.guard)),
        ).is_empty()
    ]
    if len(read) != 1:
        return edge
    (branch,) = read
    entries = compose(edge.entries, merge.domain.dims, branch.entries, graph.universe)
    if entries is None:
        return edge
    return replace(edge, source=branch.source, out=branch.out, entries=entries)


def _lacks(node: Node, dim: str, other: str) -> bool:
    return dim in node.domain.dims and other not in node.domain.dims


def _renamed(
    graph: Graph, names: Sequence[str], dim: str, other: str, space: Space
) -> Graph | None:
    """The graph in which nodes vary with ``other`` in place of ``dim``, both of one length."""
    size, length = (ix.Sym(graph.universe.dim(d).bound) for d in (dim, other))
    if not space.equal(size, length, Domain(())):
        return None
    at: dict[str, ix.Expr] = {dim: ix.Sym(other)}
    changes: dict[str, tuple[Node, ...]] = {}
    for name in names:
        node = graph.nodes[name]
        dims = tuple(other if d == dim else d for d in node.domain.dims)
        if graph.universe.sorted(dims) != dims or isinstance(node.op, Merge):
            return None
        domain = Domain(dims, substitute(node.domain.where, at))
        changes[name] = (node_at(node, at, domain),)
    for merge in graph.nodes.values():
        if isinstance(merge.op, Merge) and any(e.source in names for e in merge.inputs):
            return None
    return replace_nodes(graph, changes)
