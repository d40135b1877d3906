"""What does not vary with a dimension is computed once for all of its points.

    %m = matmul %w, %x : [b, t] f32[3]     %m = matmul %w, %x : [b]    f32[3]
    %s = mul %m, %z    : [b, t] f32[3]  -> %s = mul %m[b], %z : [b, t] f32[3]

The new domain is the projection of the old one, so what stood at no point stays uncomputed, and
every read of the reduced node has a point to read. Where somebody needs a value at each point (an
output, a slice, a branch of a merge) and making it is work, that is done once and copied there.

A node that costs nothing but memory (a table from an index, a broadcast) is reduced only where some
reader is too: kept, it would be larger than what it is made from.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from math import prod
from typing import TypeVar

from tempoc.ops.combining import AssociativeScan
from tempoc.ops.contraction import Einsum, MatMul
from tempoc.ops.control import Copy, Merge
from tempoc.ops.convolution import Conv
from tempoc.ops.externs import ExternJax
from tempoc.ops.folding import Fold
from tempoc.ops.random import Draw
from tempoc.ops.reduction import Reduction
from tempoc.ops.scan import Scan
from tempoc.ops.scatter import ScatterAdd
from tempoc.ops.search import ArgMax, ArgSort, Sort, TopK
from tempoc.passes.sink import is_cheap
from tempoc.passes.variance import Dims, conditional, mentions, needed, values
from tempoc.poly.space import Space
from tempoc.sdg.build import identity, is_computed
from tempoc.sdg.graph import Edge, Graph, Node
from tempoc.sdg.query import operand_types, users
from tempoc.symbolic.domain import Domain
from tempoc.symbolic.expr import Const, Expr
from tempoc.symbolic.walk import symbols

E = TypeVar("E")
Reduced = dict[str, tuple[str, ...]]

_WORK = (
    MatMul, Einsum, Conv, Reduction, Scan, AssociativeScan, Fold, ScatterAdd, Draw, ExternJax,
    ArgMax, Sort, ArgSort, TopK,
)  # fmt: skip
"""Operators that do more than to pass over their operands once, or to move them."""
_LARGE = 1000


def reduce_invariant(graph: Graph, space: Space) -> tuple[Graph, Reduced]:
    """The graph with what is invariant computed once; by node the dimensions that it lost."""
    varying = values(graph)
    if all(set(n.domain.dims) <= {*varying[n.name]} for n in graph.nodes.values()):
        return graph, {}
    graph = _copied_where_needed(graph, varying)
    kept = _kept(graph, space)
    lost = {
        name: tuple(d for d in node.domain.dims if d not in kept[name])
        for name, node in graph.nodes.items()
    }
    lost = {name: dims for name, dims in lost.items() if dims}
    return (_reduced(graph, kept, space) if lost else graph), lost


# ---------------------------------------------------------------- which dimensions stay


def _kept(graph: Graph, space: Space) -> Dims:
    """The dimensions that each node keeps."""
    more: dict[str, tuple[str, ...]] = {}
    while True:
        kept = needed(graph, more)
        again = {n: d for n, d in _unstated(graph, kept, space) if n not in more}
        if not again:
            break
        more |= again
    return _regrown(graph, kept)


def _unstated(graph: Graph, kept: Dims, space: Space) -> Iterable[tuple[str, tuple[str, ...]]]:
    """Nodes whose projection would depend on a length that is only known later."""
    lengths = graph.universe.lengths
    for node in graph.nodes.values() if lengths else ():
        if kept[node.name] != node.domain.dims:
            where = space.project(node.domain, kept[node.name]).where
            if any(n in lengths for n in symbols(where)):
                yield node.name, node.domain.dims


def _regrown(graph: Graph, kept: Dims) -> Dims:
    """The same with more for what is only larger than its operands, where its readers allow it."""
    found = dict(kept)
    uses = users(graph)
    grown = True
    while grown:
        grown = False
        for name, node in reversed(list(graph.nodes.items())):
            missing = [d for d in node.domain.dims if d not in found[name]]
            if missing and is_computed(node) and uses[name] and _only_grows(graph, node):
                edges = [
                    (found[u.reader], graph.nodes[u.reader].inputs[u.slot]) for u in uses[name]
                ]
                if all(_has(graph, e, d, dims) for dims, e in edges for d in missing):
                    found[name] = node.domain.dims
                    grown = True
    return found


def _has(graph: Graph, edge: Edge, dim: str, dims: tuple[str, ...]) -> bool:
    """Whether a reader of these dimensions can name the point along a dimension of its source."""
    at = dict(zip(graph.nodes[edge.source].domain.dims, edge.entries, strict=True))
    return mentions(graph.universe, [at[dim]]) <= {*dims}


def _only_grows(graph: Graph, node: Node) -> bool:
    """Whether a node is quickly made and larger than all that it is made from."""
    if is_cheap(node.op):
        return True
    if isinstance(node.op, _WORK):
        return False
    operands = [_count(t.shape) for t in operand_types(graph, node)]
    result = sum(_count(t.shape) for t in node.types)
    return bool(operands) and result > sum(operands)


def _count(shape: tuple[Expr, ...]) -> int:
    """The number of elements, where an extent that is not known counts as a large one."""
    return prod(e.value if isinstance(e, Const) else _LARGE for e in shape)


# ---------------------------------------------------------------- rewriting


def _copied_where_needed(graph: Graph, varying: Dims) -> Graph:
    """The graph in which work is apart from the points at which its result is wanted."""
    kept = needed(graph, {})
    branches = conditional(graph)
    nodes: dict[str, Node] = {}
    for name, node in graph.nodes.items():
        held = kept[name] != varying[name] and name not in branches
        if held and is_computed(node) and len(node.types) == 1 and isinstance(node.op, _WORK):
            once = _free(f"{name}.once", graph.nodes)
            nodes[once] = replace(node, name=once)
            edge = Edge(source=once, entries=identity(node.domain))
            node = replace(node, op=Copy(), inputs=(edge,))
        nodes[name] = node
    return replace(graph, nodes=nodes)


def _free(name: str, taken: Mapping[str, Node]) -> str:
    number, free = 2, name
    while free in taken:
        free, number = f"{name}{number}", number + 1
    return free


def _reduced(graph: Graph, kept: Dims, space: Space) -> Graph:
    """The graph with domains, accesses and targets of these dimensions."""
    nodes = {}
    for name, node in graph.nodes.items():
        dims = kept[name]
        domain = node.domain if dims == node.domain.dims else space.project(node.domain, dims)
        op = node.op
        if isinstance(op, Merge) and dims != node.domain.dims:
            op = replace(op, targets=tuple(_at(node.domain, t, dims) for t in op.targets))
        inputs = tuple(_edge(graph, e, kept) for e in node.inputs)
        vector = tuple(d for d in node.vector if d in dims)
        nodes[name] = replace(node, op=op, domain=domain, inputs=inputs, vector=vector)
    outputs = tuple(
        replace(o, entries=_at(graph.nodes[o.source].domain, o.entries, kept[o.source]))
        for o in graph.outputs
    )
    return replace(graph, nodes=nodes, outputs=outputs)


def _edge(graph: Graph, edge: Edge, kept: Dims) -> Edge:
    entries = _at(graph.nodes[edge.source].domain, edge.entries, kept[edge.source])
    return edge if entries == edge.entries else replace(edge, entries=entries)


def _at(domain: Domain, entries: tuple[E, ...], dims: tuple[str, ...]) -> tuple[E, ...]:
    """The entries of some dimensions."""
    return tuple(e for d, e in zip(domain.dims, entries, strict=True) if d in dims)
