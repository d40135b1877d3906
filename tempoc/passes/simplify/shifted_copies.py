"""Copies from other steps: an equation that takes what an earlier step has made is made there.

    %best  = argmax %score              : [t] i32
    %tok.1 = copy %best[t-1]            : [t | t != 0] i32
    %tok   = merge{targets=(0, t)} %tok.0 when t == 0, %tok.1 when t != 0        : [t] i32
    ->
    %best  = argmax %score              : [t] i32
    %tok   = merge{targets=(0, t+1)} %tok.0 when t == 0, %best[t-1] when t != 0  : [t] i32

So ``tok[t] = best[t-1]`` is as good as ``tok[t+1] = argmax(score)``: a step of the loop writes what
the next one reads, and the first step needs no place of its own in front of the loop.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import replace

from tempoc.ops.control.control import Copy, Merge
from tempoc.poly.relations.space import Space
from tempoc.sdg.graph.graph import Edge, Graph, Node
from tempoc.sdg.graph.query import all_reads, operand_type
from tempoc.sdg.graph.rewrite import compose
from tempoc.sdg.statements.build import is_computed
from tempoc.symbolic import expr as ix
from tempoc.symbolic.domain import Domain
from tempoc.symbolic.walk import substitute, symbols


def forward_shifted_copies(graph: Graph, space: Space) -> Graph:
    """The graph in which branches of merges are what copies of another step were made of.

    Nothing else reads the copy or its operand, and there is a copy for each step that has another
    one to be copied to: steps of a prompt, whose words are given, draw none.
    """
    reads = Counter(edge.source for edge in all_reads(graph))
    nodes = dict(graph.nodes)
    for node in graph.nodes.values():
        if isinstance(node.op, Merge) and not node.vector:
            branches = [
                _forwarded(graph, edge, target, reads, space) or (edge, target)
                for edge, target in zip(node.inputs, node.op.targets, strict=True)
            ]
            inputs = tuple(edge for edge, _ in branches)
            targets = tuple(target for _, target in branches)
            if inputs != node.inputs:
                op = replace(node.op, targets=targets)
                nodes[node.name] = replace(node, inputs=inputs, op=op)
    return graph if nodes == graph.nodes else replace(graph, nodes=nodes)


def _forwarded(
    graph: Graph, edge: Edge, target: tuple[ix.Expr, ...], reads: Counter[str], space: Space
) -> tuple[Edge, tuple[ix.Expr, ...]] | None:
    """The branch and its target without the copy; ``None`` where that is no copy of its kind."""
    copy = graph.nodes[edge.source]
    if not isinstance(copy.op, Copy) or reads[copy.name] > 1 or copy.vector:
        return None
    original = copy.inputs[0]
    source = graph.nodes[original.source]
    if not is_computed(source) or reads[source.name] > 1 or source.vector or not source.op.pure:
        return None
    if operand_type(graph, original) != copy.types[0] or _names_a_length(graph, copy, source):
        return None
    if source.domain.dims != copy.domain.dims or len(source.types) > 1:
        return None
    at = _points_of_copy(original, copy.domain)
    entries = compose(edge.entries, copy.domain.dims, original.entries, graph.universe)
    if at is None or entries is None or not _is_whole(graph, copy.domain, source.domain, at, space):
        return None
    forwarded = replace(edge, source=source.name, out=original.out, entries=entries)
    return forwarded, tuple(substitute(e, at) for e in target)


def _points_of_copy(original: Edge, domain: Domain) -> dict[str, ix.Expr] | None:
    """The point of a copy in terms of the point that it reads; ``None`` unless a step is between.

    That is a known number of steps, along one dimension or several.
    """
    at: dict[str, ix.Expr] = {}
    for dim, entry in zip(domain.dims, original.entries, strict=True):
        if isinstance(entry, ix.Slice):
            return None
        ahead = ix.sub(entry, ix.Sym(dim))
        if not isinstance(ahead, ix.Const):
            return None
        at[dim] = ix.sub(ix.Sym(dim), ahead)
    return at if any(e != ix.Sym(d) for d, e in at.items()) else None


def _is_whole(
    graph: Graph, copy: Domain, source: Domain, at: Mapping[str, ix.Expr], space: Space
) -> bool:
    """Whether all points of the source have a copy, but for those whose copies are outside."""
    bounds = {dim: ix.Sym(graph.universe.dim(dim).bound) for dim in at}
    inside = [ix.compare(">=", e, ix.ZERO) for e in at.values()]
    inside += [ix.compare("<", e, bounds[dim]) for dim, e in at.items()]
    copied = Domain(source.dims, ix.conjunction(source.where, *inside))
    return space.implies(copied, substitute(copy.where, at))


def _names_a_length(graph: Graph, *nodes: Node) -> bool:
    """Whether it is not known before the run at which points some node is computed."""
    names = {name for node in nodes for name in symbols(node.domain.where)}
    names |= {graph.universe.dim(d).bound for node in nodes for d in node.domain.dims}
    return any(graph.universe.roots(name) for name in sorted(names))
