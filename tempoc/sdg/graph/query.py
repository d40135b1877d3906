"""Queries on a graph: consumers, operand types, reachability, topological order, components."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace
from functools import wraps
from operator import is_
from types import MappingProxyType
from typing import Concatenate, NamedTuple, ParamSpec, TypeVar

from tempoc.base import graphs
from tempoc.base.graphs import strongly_connected_components
from tempoc.base.members import field_names
from tempoc.ops.control.control import Merge
from tempoc.ops.definition.operator import Op
from tempoc.ops.definition.types import TensorType
from tempoc.ops.tensor.source import Param
from tempoc.sdg.graph.graph import Edge, Graph, Node
from tempoc.symbolic import expr as ix
from tempoc.symbolic.domain import own_point, substitute_entry
from tempoc.symbolic.walk import extent, substitute, symbols

P = ParamSpec("P")
T = TypeVar("T")


def of_last_nodes(query: Callable[Concatenate[Graph, P], T]) -> Callable[Concatenate[Graph, P], T]:
    """A query about the nodes of a graph that keeps its answers for the nodes of the last one.

    Nodes do not change, and passes that find nothing to do ask the same of the same nodes, in the
    same order: that was half of the questions. Answers must not change either, nor depend on the
    outputs or groups of a graph.
    """
    last: list[tuple[Graph, dict[tuple[object, ...], T]]] = []

    @wraps(query)
    def answer(graph: Graph, /, *args: P.args, **named: P.kwargs) -> T:
        # Each graph has its own answers: another thread may ask about another graph meanwhile.
        answers = next((a for known, a in last if _has_same_nodes(graph, known)), None)
        if answers is None:
            answers = {}
            last[:] = [(graph, answers)]
        key = (*args, *named.items())
        if key not in answers:
            answers[key] = query(graph, *args, **named)
        return answers[key]

    return answer


def _has_same_nodes(a: Graph, b: Graph) -> bool:
    """Whether two graphs have the very same nodes, in the same order, over the same universe."""
    if a.universe is not b.universe or len(a.nodes) != len(b.nodes):
        return False
    return a.nodes is b.nodes or all(map(is_, a.nodes.values(), b.nodes.values()))


class OperandUse(NamedTuple):
    """Operand ``slot`` of node ``reader``."""

    reader: str
    slot: int


def param_leaves(graph: Graph, param: str) -> tuple[str, ...]:
    """The nodes of a param: itself, or the leaves of its record."""
    names = (n.name for n in graph.nodes.values() if isinstance(n.op, Param))
    return tuple(n for n in names if param and f"{n}.".startswith(f"{param}."))


@of_last_nodes
def users(graph: Graph) -> Mapping[str, tuple[OperandUse, ...]]:
    """The consumers of each node: the operands that read any of its outputs, in node order."""
    uses_by_node: dict[str, list[OperandUse]] = {name: [] for name in graph.nodes}
    for node in graph.nodes.values():
        for slot, edge in enumerate(node.inputs):
            uses_by_node[edge.source].append(OperandUse(node.name, slot))
    return MappingProxyType({name: tuple(uses) for name, uses in uses_by_node.items()})


def all_reads(graph: Graph) -> Iterator[Edge]:
    """The reads of outputs, then those of all operands, in node order."""
    yield from (output.edge for output in graph.outputs)
    for node in graph.nodes.values():
        yield from node.inputs


def operand_type(graph: Graph, edge: Edge) -> TensorType:
    """The type of an operand, after the access: an axis for each slice, then the source's own.

    Extents of the source are expressions over its dimensions; point entries take their place.
    """
    return type_of_read(graph.nodes[edge.source], edge)


def type_of_read(source: Node, edge: Edge) -> TensorType:
    """`operand_type` of a read of this node."""
    type_ = source.types[edge.out]
    if _is_identity(source, edge):
        return type_
    pairs = list(zip(source.domain.dims, edge.entries, strict=True))
    points = {dim: entry for dim, entry in pairs if not isinstance(entry, ix.Slice)}
    lead = tuple(extent(entry) for _, entry in pairs if isinstance(entry, ix.Slice))
    shape = tuple(substitute(e, points) for e in type_.shape)
    return TensorType(type_.dtype, lead + shape, type_.weak)


def _is_identity(source: Node, edge: Edge) -> bool:
    """Whether a read is at the reader's own point."""
    return edge.entries == own_point(source.domain.dims)


def distance_along(graph: Graph, edge: Edge, dim: str) -> int | None:
    """How far ahead of the reader's own point a read is along a dimension.

    ``None`` if that varies, if a range is read, or if the source has no such dimension.
    """
    at = graph.nodes[edge.source].domain.at(edge.entries)
    entry = at.get(dim)
    distance = ix.sub(entry, ix.Sym(dim)) if isinstance(entry, ix.Expr) else None
    return distance.value if isinstance(distance, ix.Const) else None


def operand_types(graph: Graph, node: Node) -> tuple[TensorType, ...]:
    """The types of all operands of a node."""
    return tuple(operand_type(graph, edge) for edge in node.inputs)


def node_operations(graph: Graph, node: Node) -> ix.Expr:
    """The operations of a node at a point (``Op.work``)."""
    return node.op.work(operand_types(graph, node), node.types)


def multiplies_matrices(graph: Graph, node: Node) -> bool:
    """Whether a node multiplies more than vectors, of which a product takes as long as a sum."""
    return node.op.contraction and any(t.ndim > 1 for t in operand_types(graph, node))


def node_expressions(node: Node) -> tuple[ix.Expr, ...]:
    """The index expressions in a node's types and in its operator's attributes."""
    extents = [e for type_ in node.types for e in type_.shape]
    return (*extents, *expressions(node.op))


def expressions(value: object) -> Iterator[ix.Expr]:
    """The index expressions in an attribute, or in all attributes of an operator."""
    if isinstance(value, ix.Expr):
        yield value
    elif isinstance(value, ix.Slice):
        yield from (value.lo, value.hi)
    elif isinstance(value, tuple):
        for item in value:
            yield from expressions(item)
    elif isinstance(value, Op):
        for name in field_names(value):
            yield from expressions(getattr(value, name))


def substitute_in_op(op: T, at: Mapping[str, ix.Expr]) -> T:
    """An operator with expressions substituted for dimensions in its attributes."""
    changes = {}
    for name in field_names(op):
        value = getattr(op, name)
        other = _substituted(value, at)
        if other != value:
            changes[name] = other
    return replace(op, **changes) if changes else op  # type: ignore[type-var]


def _substituted(value: object, at: Mapping[str, ix.Expr]) -> object:
    match value:
        case ix.Expr() | ix.Slice():
            return substitute_entry(value, at)
        case tuple():
            return tuple(_substituted(v, at) for v in value)
        case Op():
            return substitute_in_op(value, at)
        case _:
            return value


def ancestors(graph: Graph, roots: Iterable[str]) -> set[str]:
    """All nodes on which the roots depend, themselves included."""
    return {*graphs.reachable(roots, lambda name: graph.nodes[name].sources)}


@of_last_nodes
def topological(graph: Graph) -> tuple[str, ...]:
    """All nodes in topological order of the graph without the edges of merges.

    Remaining cycles (``y = sum(y[0:t])``) start at their first node.
    """

    def operands(name: str) -> tuple[str, ...]:
        node = graph.nodes[name]
        return () if isinstance(node.op, Merge) else node.sources

    return tuple(n for part in strongly_connected_components(graph.nodes, operands) for n in part)


@of_last_nodes
def components(graph: Graph) -> tuple[tuple[str, ...], ...]:
    """The strongly connected components, producers first, whatever the points that are read."""
    sources = {name: node.sources for name, node in graph.nodes.items()}
    return tuple(strongly_connected_components(sources, sources.__getitem__))


def index_expressions(node: Node) -> Iterator[ix.Expr]:
    """The index expressions of a node, of its reads and of their guards."""
    yield from node_expressions(node)
    for edge in node.inputs:
        yield from expressions((edge.entries, edge.guard))


def has_run_lengths(graph: Graph, names: Iterable[str], along: str = "") -> bool:
    """Whether nodes have points, shapes or reads that depend on lengths which the data decide.

    So do those with a dimension along which a length varies. With ``along``, other dimensions that
    the data end do not count where nodes read each other at their own points of these.
    """
    lengths = {*graph.universe.lengths}
    if not lengths:
        return False
    outer = {d for b in graph.universe.ended for d in b.outer}
    for node in (graph.nodes[n] for n in names):
        dims = {d for d in node.domain.dims if not along or d == along or _moves(graph, node, d)}
        bounds = {graph.universe.dim(d).bound for d in dims}
        own = (node.domain.where, *index_expressions(node))
        named = {n for e in own for n in symbols(e)}
        if (bounds | named) & lengths or {*node.domain.dims} & outer:
            return True
    return False


def _moves(graph: Graph, node: Node, dim: str) -> bool:
    """Whether a node reads other points of one of its dimensions than its own."""
    sources = ((edge, graph.nodes[edge.source].domain.dims) for edge in node.inputs)
    return any(dim in d and e.entries[d.index(dim)] != ix.Sym(dim) for e, d in sources)
