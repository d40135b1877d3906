"""Queries on a graph: consumers, operand types, reachability, topological order, components."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import NamedTuple

from tempoc.base.members import field_names
from tempoc.ops.control.control import Merge
from tempoc.ops.definition.operator import Op
from tempoc.ops.definition.types import TensorType
from tempoc.ops.tensor.source import Param
from tempoc.sdg.graph.graph import Edge, Graph, Node
from tempoc.symbolic.expr import Expr, Slice, Sym
from tempoc.symbolic.walk import extent, substitute


class OperandUse(NamedTuple):
    """Operand ``slot`` of node ``reader``."""

    reader: str
    slot: int


def param_leaves(graph: Graph, param: str) -> tuple[str, ...]:
    """The nodes of a param: itself, or the leaves of its record."""
    names = (n.name for n in graph.nodes.values() if isinstance(n.op, Param))
    return tuple(n for n in names if param and f"{n}.".startswith(f"{param}."))


def users(graph: Graph) -> dict[str, tuple[OperandUse, ...]]:
    """The consumers of each node: the operands that read any of its outputs, in node order."""
    uses_by_node: dict[str, list[OperandUse]] = {name: [] for name in graph.nodes}
    for node in graph.nodes.values():
        for slot, edge in enumerate(node.inputs):
            uses_by_node[edge.source].append(OperandUse(node.name, slot))
    return {name: tuple(uses) for name, uses in uses_by_node.items()}


def operand_type(graph: Graph, edge: Edge) -> TensorType:
    """The type of an operand, after the access: an axis for each slice, then the source's own.

    Extents of the source are expressions over its dimensions; point entries take their place.
    """
    source = graph.nodes[edge.source]
    type_ = source.types[edge.out]
    if _is_identity(source, edge):
        return type_
    pairs = list(zip(source.domain.dims, edge.entries, strict=True))
    points = {dim: entry for dim, entry in pairs if not isinstance(entry, Slice)}
    lead = tuple(extent(entry) for _, entry in pairs if isinstance(entry, Slice))
    shape = tuple(substitute(e, points) for e in type_.shape)
    return TensorType(type_.dtype, lead + shape, type_.weak)


def _is_identity(source: Node, edge: Edge) -> bool:
    """Whether a read is at the reader's own point."""
    pairs = zip(source.domain.dims, edge.entries, strict=True)
    return all(isinstance(e, Sym) and e.name == d for d, e in pairs)


def operand_types(graph: Graph, node: Node) -> tuple[TensorType, ...]:
    """The types of all operands of a node."""
    return tuple(operand_type(graph, edge) for edge in node.inputs)


def node_expressions(node: Node) -> tuple[Expr, ...]:
    """The index expressions in a node's types and in its operator's attributes."""
    extents = [e for type_ in node.types for e in type_.shape]
    return (*extents, *expressions(node.op))


def expressions(value: object) -> Iterator[Expr]:
    """The index expressions in an attribute, or in all attributes of an operator."""
    if isinstance(value, Expr):
        yield value
    elif isinstance(value, Slice):
        yield from (value.lo, value.hi)
    elif isinstance(value, tuple):
        for item in value:
            yield from expressions(item)
    elif isinstance(value, Op):
        for name in field_names(value):
            yield from expressions(getattr(value, name))


def reachable(graph: Graph, roots: Iterable[str]) -> set[str]:
    """All nodes on which the roots depend, themselves included."""
    reached = set(roots)
    worklist = sorted(reached)
    while worklist:
        for edge in graph.nodes[worklist.pop()].inputs:
            if edge.source not in reached:
                reached.add(edge.source)
                worklist.append(edge.source)
    return reached


def topological(graph: Graph) -> tuple[str, ...]:
    """All nodes in topological order of the graph without the edges of merges.

    Remaining cycles (``y = sum(y[0:t])``) start at their first node.
    """

    def operands(name: str) -> list[str]:
        node = graph.nodes[name]
        return [] if isinstance(node.op, Merge) else [e.source for e in node.inputs]

    return tuple(n for component in components(list(graph.nodes), operands) for n in component)


def components(
    names: Sequence[str], successors: Callable[[str], Iterable[str]]
) -> list[tuple[str, ...]]:
    """Strongly connected components, successors' components first, each in the order of ``names``.

    Tarjan's algorithm (Depth-first search and linear graph algorithms, 1972) with a stack of its
    own, so that long chains need no recursion.
    """
    place = {name: k for k, name in enumerate(names)}
    low: dict[str, int] = {}  # past all numbers as soon as the component is known
    stack: list[str] = []
    sccs: list[tuple[str, ...]] = []
    last = len(place)
    for root in place:
        if root in low:
            continue
        low[root] = len(low)
        path = [(root, len(low) - 1, iter(successors(root)))]
        stack.append(root)
        while path:
            name, number, pending = path[-1]
            for other in pending:
                if other not in place:
                    continue
                least = low.get(other)
                if least is None:
                    low[other] = number = len(low)
                    stack.append(other)
                    path.append((other, number, iter(successors(other))))
                    break
                if least < low[name]:
                    low[name] = least
            else:
                path.pop()
                least = low[name]
                if path and least < low[path[-1][0]]:
                    low[path[-1][0]] = least
                if least == number:
                    component = [stack.pop()]
                    while component[-1] != name:
                        component.append(stack.pop())
                    low.update(dict.fromkeys(component, last))
                    sccs.append(tuple(sorted(component, key=place.__getitem__)))
    return sccs
