"""Sums of an element of what a loop computes: the element is taken at each point, then summed.

    %e = getitem{entries=((0, K, 1), i)} %d[0:K, j] : [i*, j*] f32[K]
    %s = sum{axes=(0,)} %e                          : [i*, j*] f32
    ->
    %e = getitem{entries=(i,)} %d[k, j]             : [k, i*, j*] f32
    %s = sum{axes=(0,)} %e[0:K, i, j]               : [i*, j*] f32

A table with a dimension for each axis of which the steps of a loop read rows, ``C[i, 0:M]``, has
such derivatives: arrays of one step, and elements of all of them. Read at their points, they can be
added up in the loop that computes them (``accumulate.py``). Sinkhorn's gradient, 30 iterations of
200 x 150 on a CPU: 17 ms stored and summed, 7 ms so (2026-11-27).
"""

from __future__ import annotations

from collections.abc import Container, Mapping
from dataclasses import dataclass, replace

from tempoc.ops.control.control import Copy
from tempoc.ops.indexing.indexing import SpatialIndex
from tempoc.ops.tensor.reduction import Sum
from tempoc.passes.memory.accumulate_benefit import vectorized_dims
from tempoc.poly.relations.space import Space
from tempoc.sdg.builder import NodeBuilder, read_of
from tempoc.sdg.graph.graph import Graph, Node
from tempoc.sdg.graph.query import users
from tempoc.sdg.graph.rewrite import drop_dead, replace_nodes
from tempoc.sdg.statements.branches import enclosing_conds
from tempoc.sdg.statements.build import is_identity
from tempoc.symbolic import expr as ix
from tempoc.symbolic.domain import Domain
from tempoc.symbolic.walk import extent


@dataclass(frozen=True, slots=True, kw_only=True)
class SummedElements:
    """The elements that a sum adds: the array of which they are, and the dimension of the sum."""

    source: str
    dim: str


def with_summed_elements(
    graph: Graph, space: Space, skipped: Container[str]
) -> tuple[Graph, Mapping[str, SummedElements]]:
    """The graph in which sums but ``skipped`` ones read elements by point, and these sums."""
    candidates = [n for n in graph.nodes.values() if type(n.op) is Sum and n.name not in skipped]
    candidates = [
        n for n in candidates if isinstance(graph.nodes[n.inputs[0].source].op, SpatialIndex)
    ]
    if not candidates:
        return graph, {}
    lazy, uses = enclosing_conds(graph), users(graph)
    outputs = {o.source for o in graph.outputs}
    summed: dict[str, SummedElements] = {}
    new: dict[str, tuple[Node, ...]] = {}
    for node in candidates:
        array = node.inputs[0].source
        if len(uses[array]) > 1 or array in outputs or {node.name, array} & {*lazy}:
            continue
        dim = _looped_slice(graph, node, space)
        if dim:
            summed[node.name] = SummedElements(source=graph.nodes[array].inputs[0].source, dim=dim)
            new[node.name] = _by_point(graph, space, node, dim)
    return (drop_dead(replace_nodes(graph, new)) if new else graph), summed


def _looped_slice(graph: Graph, node: Node, space: Space) -> str:
    """The dimension of which a sum adds an element of each array; empty if there is none."""
    assert isinstance(node.op, Sum)
    (read,) = node.inputs
    array = graph.nodes[read.source]
    assert isinstance(array.op, SpatialIndex)
    (edge,) = array.inputs[:1]
    dims = graph.nodes[edge.source].domain.dims
    slices = [(d, e) for d, e in zip(dims, edge.entries, strict=True) if isinstance(e, ix.Slice)]
    if node.op != Sum(axes=(0,)) or not is_identity(read, graph) or read.guard != ix.TRUE:
        return ""
    if array.op.gathers or edge.guard != ix.TRUE or len(slices) != 1 or slices[0][1].step != 1:
        return ""
    ((dim, points),), part = slices, array.op.entries[0]
    if not isinstance(part, tuple) or part[0] != ix.ZERO or part[2] != 1:
        return ""
    if dim in array.domain.dims or dim in vectorized_dims(graph, edge.source):
        return ""
    return dim if space.equal(part[1], extent(points), array.domain) else ""


def _by_point(graph: Graph, space: Space, node: Node, dim: str) -> tuple[Node, ...]:
    """The elements at each point of a dimension, and their sum."""
    array = graph.nodes[node.inputs[0].source]
    assert isinstance(array.op, SpatialIndex)
    builder = NodeBuilder(graph=graph, space=space, node=node)
    (edge,), (type_,), rest = array.inputs, array.types, array.op.entries[1:]
    (points,) = (e for e in edge.entries if isinstance(e, ix.Slice))
    bound, at = ix.Sym(graph.universe.dim(dim).bound), ix.Sym(dim)
    ends = [ix.compare(">=", at, points.lo)] if points.lo != ix.ZERO else []
    ends += [ix.compare("<", at, points.hi)] if points.hi != bound else []
    where = ix.conjunction(array.domain.where, *ends)
    domain = Domain(graph.universe.ordered((*array.domain.dims, dim)), where)
    entries = tuple(at if isinstance(e, ix.Slice) else e for e in edge.entries)
    op = SpatialIndex(entries=rest) if rest else Copy()
    types = (replace(type_, shape=type_.shape[1:]),)
    element = builder.put("element", op, (replace(edge, entries=entries),), domain, types)
    read = read_of(element)
    range_ = tuple(points if e == at else e for e in read.entries)
    return (element, replace(node, inputs=(replace(read, entries=range_),)))
