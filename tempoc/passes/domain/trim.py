"""Trim domains to the demanded points, where that gives consumers and producers one domain.

    %h = tanh %x       : [t] f32                     %h = tanh %x       : [t | t < T-1] f32
    %y = mul %h, %h    : [t | t < T-1] f32      ->   %y = mul %h, %h    : [t | t < T-1] f32

Nodes of one kernel have one domain. A node that others read at the same point should therefore be
computed exactly where they are. Nodes that could be trimmed are taken in connected components, and
a component is trimmed unless that leaves fewer aligned reads (at one point, between nodes of equal
domains) than before. Work that only one step of a loop needs, as the value of the last state, is
trimmed in any case, and so is what nothing needs of several layers, as those before the first one
that learns are in a backward pass.

Demanded points are boxes. Where a condition on several dimensions says at which points consumers
are, as `q <= p` in a triangle, an elementwise node that they read at their own points is there as
well. Others, such as products, are cheaper for all points at once.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from itertools import count
from typing import NamedTuple

from tempoc.base.graphs import connected_components
from tempoc.ops.control.control import Merge
from tempoc.passes.analysis.demand import Box, demanded_boxes, restrict_to_box
from tempoc.passes.analysis.variance import is_external
from tempoc.poly.relations.space import Space
from tempoc.sdg.graph.graph import Edge, Graph, Node
from tempoc.sdg.graph.query import multiplies_matrices, topological
from tempoc.sdg.statements.build import is_computed, is_identity
from tempoc.symbolic import expr as ix
from tempoc.symbolic.domain import Domain, conjuncts
from tempoc.symbolic.walk import symbols

Domains = dict[str, Domain]


class OwnPointRead(NamedTuple):
    """A read of the reader's own point; each has another number."""

    number: int
    reader: Node
    source: Node


def trim_domains(
    graph: Graph, space: Space, among: Collection[str] | None = None
) -> tuple[Graph, Domains]:
    """The graph with trimmed domains, and these by node.

    If ``among`` is given, of these nodes alone, and only where work of a single step is left.
    """
    full = {} if among is None else dict.fromkeys(n for n in graph.nodes if n not in among)
    within: dict[str, frozenset[str]] = {}
    aligned = _aligned_reads(graph)
    while True:
        boxes = demanded_boxes(graph, space, full, within)
        shorter = _trimmed_domains(graph, space, full, boxes)
        if among is None:
            shorter |= _coupled_domains(graph, space, shorter, full)
        parts = connected_components(shorter, lambda name: graph.nodes[name].sources)
        separating = [
            p
            for p in parts
            if not all(name in within for name in p)
            and (among is not None or _loses_alignment(graph, aligned, p, shorter, space))
            and not _is_work_of_one_step(graph, p, shorter, space)
        ]
        if not separating:
            break
        for part in separating:
            dims = _dims_of_idle_steps(graph, part, boxes, space) if among is None else frozenset()
            if dims and not any(name in within for name in part):
                within |= dict.fromkeys(part, dims)
            else:
                full |= dict.fromkeys(part)
    return _with_domains(graph, space, shorter), shorter


def trim_to_boxes(
    graph: Graph, space: Space, full: Collection[str], boxes: Mapping[str, Box]
) -> tuple[Graph, Domains]:
    """The graph with all domains but those of ``full`` trimmed to boxes, and these by node."""
    shorter = _trimmed_domains(graph, space, full, boxes)
    return _with_domains(graph, space, shorter), shorter


def _with_domains(graph: Graph, space: Space, shorter: Domains) -> Graph:
    """The graph with other domains for some nodes."""
    if not shorter:
        return graph
    nodes = {name: _trimmed(node, shorter, space) for name, node in graph.nodes.items()}
    return replace(graph, nodes=nodes)


def _trimmed_domains(
    graph: Graph, space: Space, full: Collection[str], boxes: Mapping[str, Box]
) -> Domains:
    """The domains that could be trimmed, in node order; those of ``full`` stay."""
    shorter: Domains = {}
    for name, node in graph.nodes.items():
        if name in full or is_external(node) or name not in boxes:
            continue
        trimmed = restrict_to_box(node.domain, boxes[name])
        if trimmed != node.domain and not space.implies(node.domain, trimmed.where):
            shorter[name] = Domain(
                trimmed.dims, space.simplify(trimmed.where, Domain(trimmed.dims))
            )
    return shorter


def _coupled_domains(
    graph: Graph, space: Space, shorter: Domains, full: dict[str, None]
) -> Domains:
    """The domains of nodes whose consumers are where a condition on several dimensions holds."""
    conditions: dict[str, list[tuple[Node, Edge]]] = {}
    for reader in graph.nodes.values():
        for edge in reader.inputs:
            conditions.setdefault(edge.source, []).append((reader, edge))
    outputs = {output.edge.source for output in graph.outputs}
    coupled: Domains = {}
    for name in reversed(topological(graph)):
        node, reads = graph.nodes[name], conditions.get(name, [])
        if name in full or name in outputs or not node.op.elementwise or not reads:
            continue
        if len(node.domain.dims) < 2 or not all(is_identity(edge, graph) for _, edge in reads):
            continue
        known = shorter | coupled
        wheres = dict.fromkeys(
            ix.conjunction(known.get(reader.name, reader.domain).where, edge.guard)
            for reader, edge in reads
        )
        where = next(iter(wheres))
        parts = [[*filter(graph.universe.is_dim, symbols(part))] for part in conjuncts(where)]
        if len(wheres) > 1 or max(map(len, parts)) < 2:
            continue
        own = all(d in node.domain.dims for part in parts for d in part)
        if own and not space.implies(node.domain, where):
            coupled[name] = Domain(node.domain.dims, where)
    return coupled


def _loses_alignment(
    graph: Graph,
    aligned: Mapping[str, Sequence[OwnPointRead]],
    names: tuple[str, ...],
    shorter: Domains,
    space: Space,
) -> bool:
    """Whether trimming these nodes leaves fewer aligned reads than now.

    What starts a recurrence within a step, as the word that goes through layers, does not count
    where it is read from one that stays whole: no kernel makes steps of both.
    """

    def alike(a: Domain, b: Domain) -> bool:
        return a == b or space.equal(a.where, b.where, Domain(a.dims))

    merges = (node for n in names if isinstance((node := graph.nodes[n]).op, Merge))
    deeper = [{*node.domain.dims} for node in merges]
    gain = 0
    for _, reader, source in {read[0]: read for name in names for read in aligned[name]}.values():
        apart = isinstance(source.op, Merge) and source.name not in shorter
        if apart and any({*source.domain.dims} < dims for dims in deeper):
            continue
        source_domain, reader_domain = (shorter.get(n.name, n.domain) for n in (source, reader))
        gain += alike(source_domain, reader_domain) - alike(source.domain, reader.domain)
    return gain < 0


def _is_work_of_one_step(
    graph: Graph, names: tuple[str, ...], shorter: Domains, space: Space
) -> bool:
    """Whether each node needs a single step along some dimension, and one of them does work."""

    def is_one_step(name: str) -> bool:
        old, new = graph.nodes[name].domain, shorter[name]
        return any(space.is_fixed_by(new, d) and not space.is_fixed_by(old, d) for d in new.dims)

    return any(graph.nodes[n].op.heavy for n in names) and all(map(is_one_step, names))


def _dims_of_idle_steps(
    graph: Graph, names: tuple[str, ...], boxes: Mapping[str, Box], space: Space
) -> frozenset[str]:
    """The dimensions of which several steps multiply matrices, at one end, for nothing.

    Their extents are known, as those of layers are: with what words of a prompt do not need, loops
    would have more kinds of steps, which have to be compiled.
    """
    universe = graph.universe
    known = {b.name for b in universe.bounds if isinstance(b.value, ix.Const)}
    dims: set[str] = set()
    for node in (graph.nodes[n] for n in names):
        if not multiplies_matrices(graph, node):
            continue
        for dim, ends in boxes[node.name].items():
            if universe.dim(dim).bound not in known:
                continue
            at = ix.Sym(dim)
            first = at if ends.low is None else ix.sub(ends.low, ix.ONE)
            last = at if ends.high is None else ix.add(ends.high, ix.ONE)
            near = ix.conjunction(ix.compare(">=", at, first), ix.compare("<=", at, last))
            if not space.implies(node.domain, near):
                dims.add(dim)
    return frozenset(dims)


def _aligned_reads(graph: Graph) -> dict[str, list[OwnPointRead]]:
    """The reads of own points of each node, and by others of it."""
    number, aligned = count(), {name: list[OwnPointRead]() for name in graph.nodes}
    for node in graph.nodes.values():
        for edge in node.inputs if is_computed(node) else ():
            source = graph.nodes[edge.source]
            computed = is_computed(source) or isinstance(source.op, Merge)
            if computed and source.domain.dims == node.domain.dims and is_identity(edge, graph):
                read = OwnPointRead(next(number), node, source)
                aligned[node.name].append(read)
                aligned[source.name].append(read)
    return aligned


def _trimmed(node: Node, shorter: Domains, space: Space) -> Node:
    """The node in its trimmed domain; a merge without branches that are never taken."""
    domain = shorter.get(node.name)
    if domain is None:
        return node
    if not isinstance(node.op, Merge):
        return replace(node, domain=domain)
    taken = [
        k for k, e in enumerate(node.inputs) if not space.disjoint(domain.where, e.guard, domain)
    ]
    targets = tuple(node.op.targets[k] for k in taken)
    inputs = tuple(node.inputs[k] for k in taken)
    return replace(node, domain=domain, op=replace(node.op, targets=targets), inputs=inputs)
