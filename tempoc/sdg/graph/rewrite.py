"""Rewrites of a graph: compose accesses, redirect uses, eliminate dead nodes."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from functools import lru_cache
from operator import is_

from tempoc.ops.control.until import Until
from tempoc.ops.definition.operator import Op
from tempoc.ops.tensor.source import Input, Param
from tempoc.sdg.graph.graph import Edge, Graph, Group, Node, Output
from tempoc.sdg.graph.query import ancestors, expressions, substitute_in_op
from tempoc.symbolic import expr as ix
from tempoc.symbolic.domain import Domain, Universe, substitute_entry
from tempoc.symbolic.interned import MEMORY
from tempoc.symbolic.walk import substitute, symbols


def compose(
    outer: tuple[ix.Entry, ...],
    dims: tuple[str, ...],
    inner: tuple[ix.Entry, ...],
    universe: Universe,
) -> tuple[ix.Entry, ...] | None:
    """The entries of a read through a node: ``outer`` reads the node, ``inner`` is its own read.

    ``dims`` are the node's dimensions. ``None`` where no single access means the same: a sliced
    dimension must occur in exactly one point entry, unscaled, and the slices must come out in the
    order in which they went in, before those of ``inner``.
    """
    composed = compose_axes(outer, dims, inner, universe)
    if composed is None:
        return None
    entries, axes = composed
    sliced = [d for d, e in zip(dims, outer, strict=True) if isinstance(e, ix.Slice)]
    return entries if [*axes[: len(sliced)]] == sliced else None


@lru_cache(MEMORY)
def compose_axes(
    outer: tuple[ix.Entry, ...],
    dims: tuple[str, ...],
    inner: tuple[ix.Entry, ...],
    universe: Universe,
) -> tuple[tuple[ix.Entry, ...], tuple[str, ...]] | None:
    """As ``compose``, with slices in any order; and for each slice the sliced dimension.

    That is empty for a slice of ``inner``.
    """
    at = dict(zip(dims, outer, strict=True))
    if any(universe.moves(entry, at) for entry in inner):
        return None  # it names a length, which differs at the other point
    points = {d: e for d, e in zip(dims, outer, strict=True) if not isinstance(e, ix.Slice)}
    slices = {d: e for d, e in zip(dims, outer, strict=True) if isinstance(e, ix.Slice)}
    axes: list[str] = []
    composed: list[ix.Entry] = []
    for entry in inner:
        sliced = [d for d in symbols(entry) if d in slices]
        if not sliced:
            axes += [""] if isinstance(entry, ix.Slice) else []
            composed.append(substitute_entry(entry, points))
            continue
        (name, *more) = sliced
        if isinstance(entry, ix.Slice) or more:
            return None
        shift = ix.sub(entry, ix.Sym(name))
        if name in symbols(shift):
            return None
        s = slices[name]
        by = substitute(shift, points)
        composed.append(ix.Slice(ix.add(s.lo, by), ix.add(s.hi, by), s.step))
        axes.append(name)
    return (tuple(composed), tuple(axes)) if sorted(filter(None, axes)) == sorted(slices) else None


def compose_node(node: Node, edge: Edge, universe: Universe) -> tuple[Op, tuple[Edge, ...]] | None:
    """A node's operator and operands in terms of the point of a consumer that reads it.

    ``None`` where an operand cannot be read from there (``compose``), or an attribute names a
    length that differs at the other point.
    """
    at = node.domain.at(edge.entries)
    if any(universe.moves(e, at) for e in expressions(node.op)):
        return None
    edges = []
    for read in node.inputs:
        entries = compose(edge.entries, node.domain.dims, read.entries, universe)
        if entries is None:
            return None
        edges.append(replace(read, entries=entries, span=edge.span))
    points = {d: e for d, e in at.items() if isinstance(e, ix.Expr)}
    return substitute_in_op(node.op, points), tuple(edges)


def read_through(
    node: Node, at: Mapping[str, ix.Entry], read: Edge, source: Node, universe: Universe
) -> Edge | None:
    """An operand's read of ``source`` with entries in place of the node's dimensions.

    Sliced dimensions with which the operand does not vary are left out. ``None`` as in ``compose``,
    or where the operand's extents vary with a sliced dimension.
    """
    composed = read_axes(node, at, read, source, universe)
    if composed is None:
        return None
    edge, axes = composed
    sliced = [d for d in node.domain.dims if isinstance(at[d], ix.Slice) and d in axes]
    return edge if [*axes[: len(sliced)]] == sliced else None


def read_axes(
    node: Node, at: Mapping[str, ix.Entry], read: Edge, source: Node, universe: Universe
) -> tuple[Edge, tuple[str, ...]] | None:
    """As ``read_through``, with slices in any order; and the sliced dimension of each, or none."""
    named = [n for e in read.entries for n in symbols(e)]
    dims = tuple(d for d in node.domain.dims if d in named or not isinstance(at[d], ix.Slice))
    composed = compose_axes(tuple(at[d] for d in dims), dims, read.entries, universe)
    if composed is None:
        return None
    entries, axes = composed
    extents = [n for e in source.types[read.out].shape for n in symbols(e)]
    for dim, entry in zip(source.domain.dims, entries, strict=True):
        if isinstance(entry, ix.Slice) and dim in extents:
            return None
    return Edge(source=read.source, out=read.out, entries=entries), axes


def edge_at(edge: Edge, points: Mapping[str, ix.Expr]) -> Edge:
    """The read with other points in place of the reader's."""
    return replace(edge, entries=tuple(substitute_entry(e, points) for e in edge.entries))


def node_at(node: Node, points: Mapping[str, ix.Expr], domain: Domain) -> Node:
    """The node with other points in place of its own, in this domain; guards stay as they are."""
    types = (replace(t, shape=tuple(substitute(e, points) for e in t.shape)) for t in node.types)
    return replace(
        node,
        op=substitute_in_op(node.op, points),
        domain=domain,
        inputs=tuple(edge_at(e, points) for e in node.inputs),
        types=tuple(types),
    )


def redirect(graph: Graph, to: Mapping[tuple[str, int], tuple[str, int]]) -> Graph:
    """Every read of an output goes to another output of the same domain; merges and outputs too."""

    def redirected(edge: Edge, reader: Node | None) -> Edge:
        source, out = to.get((edge.source, edge.out), (None, 0))
        return edge if source is None else replace(edge, source=source, out=out)

    return rewrite_reads(graph, redirected)


def rewrite_reads(graph: Graph, rewrite: Callable[[Edge, Node | None], Edge]) -> Graph:
    """The graph with every edge rewritten, given its reader; that of an output is ``None``."""
    nodes = {}
    for name, node in graph.nodes.items():
        inputs = tuple(rewrite(edge, node) for edge in node.inputs)
        nodes[name] = node if inputs == node.inputs else replace(node, inputs=inputs)
    edges = ((o, rewrite(o.edge, None)) for o in graph.outputs)
    outputs = (replace(o, source=e.source, out=e.out, entries=e.entries) for o, e in edges)
    return with_changes(graph, nodes, tuple(outputs))


def with_changes(graph: Graph, nodes: Mapping[str, Node], outputs: tuple[Output, ...]) -> Graph:
    """The graph with other nodes and outputs; itself if they are its own.

    Passes then see that nothing has changed, and know what they have found out.
    """
    same = len(nodes) == len(graph.nodes) and all(map(is_, nodes.values(), graph.nodes.values()))
    if same and outputs == graph.outputs:
        return graph
    return replace(graph, nodes=nodes, outputs=outputs)


def replace_nodes(graph: Graph, replacements: Mapping[str, Iterable[Node]]) -> Graph:
    """The graph with nodes replaced by others, or by none, each in its place."""
    nodes = (n for old in graph.nodes.values() for n in replacements.get(old.name, (old,)))
    return replace(graph, nodes={node.name: node for node in nodes})


def replace_operand(node: Node, slot: int, edge: Edge) -> Node:
    """The node with one operand replaced."""
    return replace(node, inputs=(*node.inputs[:slot], edge, *node.inputs[slot + 1 :]))


def drop_dead(graph: Graph) -> Graph:
    """Dead code elimination: keep what outputs, effects and ``until`` nodes depend on.

    Inputs and params without a default are kept, so that every optimization level takes the same
    data; an unused param with a default is removed.
    """
    roots = [
        n.name
        for n in graph.nodes.values()
        if isinstance(n.op, Input | Until)
        or not n.op.pure
        or (isinstance(n.op, Param) and not n.inputs)
    ]
    live = ancestors(graph, [*roots, *(o.source for o in graph.outputs)])
    if len(live) == len(graph.nodes):
        return graph
    nodes = {name: node for name, node in graph.nodes.items() if name in live}
    groups = []
    for group in graph.groups:
        members = tuple(m for m in group.members if m in live)
        if members:
            groups.append(Group(name=group.name, members=members))
    return replace(graph, nodes=nodes, groups=tuple(groups))
