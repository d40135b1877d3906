"""Directed graphs given by a successor function: reachability, components, topological order.

Everything is iterative, so that long chains need no recursion, and deterministic: results depend
on the order of nodes and successors only.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Sequence
from heapq import heappop, heappush
from typing import Generic, TypeVar

E = TypeVar("E")
N = TypeVar("N", bound=Hashable)


def reachable(roots: Iterable[N], successors: Callable[[N], Iterable[N]]) -> dict[N, None]:
    """All nodes on paths from the roots, these included, breadth first."""
    reached = dict.fromkeys(roots)
    worklist = list(reached)
    for node in worklist:  # grows meanwhile
        for other in successors(node):
            if other not in reached:
                reached[other] = None
                worklist.append(other)
    return reached


def strongly_connected_components(
    nodes: Iterable[N], successors: Callable[[N], Iterable[N]]
) -> list[tuple[N, ...]]:
    """Strongly connected components, successors' components first, each in the order of ``nodes``.

    Successors that are not in ``nodes`` are ignored. Tarjan's algorithm (Depth-first search and
    linear graph algorithms, 1972) with a stack of its own.
    """
    place = {node: k for k, node in enumerate(nodes)}
    low: dict[N, int] = {}  # past all numbers as soon as the component is known
    stack: list[N] = []
    components: list[tuple[N, ...]] = []
    last = len(place)
    for root in place:
        if root in low:
            continue
        low[root] = number = len(low)
        path = [(root, number, iter(successors(root)))]
        stack.append(root)
        while path:
            node, number, pending = path[-1]
            least = low[node]
            for other in pending:
                if (known := low.get(other)) is not None:
                    if known < least:
                        least = known
                elif other in place:
                    low[node] = least
                    low[other] = number = len(low)
                    stack.append(other)
                    path.append((other, number, iter(successors(other))))
                    break
            else:
                path.pop()
                if least != number:
                    low[node] = least
                    if least < low[path[-1][0]]:
                        low[path[-1][0]] = least
                    continue
                component = stack.pop()
                low[component] = last
                if component == node:
                    components.append((node,))
                    continue
                members = [component]
                while members[-1] != node:
                    members.append(stack.pop())
                    low[members[-1]] = last
                components.append(tuple(sorted(members, key=place.__getitem__)))
    return components


def cyclic_nodes(nodes: Iterable[N], successors: Callable[[N], Iterable[N]]) -> dict[N, None]:
    """The nodes of cycles, by components; a node that is its own successor is one."""
    components = strongly_connected_components(nodes, successors)
    cycles = (c for c in components if len(c) > 1 or c[0] in successors(c[0]))
    return dict.fromkeys(node for cycle in cycles for node in cycle)


def edges_in_cycles(
    nodes: Iterable[N], edges: Sequence[E], ends: Callable[[E], tuple[N, N]]
) -> list[tuple[tuple[N, ...], list[E]]]:
    """The strongly connected components that have edges inside, each with these edges.

    An edge leads from the first of its ``ends`` to the second, whose component comes first. Edges
    from or to other nodes are ignored.
    """
    known = dict.fromkeys(nodes)
    pairs = [*map(ends, edges)]
    successors: dict[N, list[N]] = {}
    for first, second in pairs:
        if first in known:
            if (own := successors.get(first)) is None:
                own = successors[first] = []
            own.append(second)
    # Most have no edges left, where the edges that loops carry are taken away one by one.
    leading = [node for node in known if node in successors]
    components = strongly_connected_components(leading, successors.__getitem__)
    cycle = {node: part for part in components if len(part) > 1 for node in part}
    inside: dict[tuple[N, ...], list[E]] = {}
    for edge, (first, second) in zip(edges, pairs, strict=True):
        part = cycle.get(first)
        if part is None:
            if first != second or first not in known:
                continue
            part = (first,)
        elif cycle.get(second) is not part:
            continue
        inside.setdefault(part, []).append(edge)
    return [(part, inside[part]) for part in components if part in inside] if inside else []


def connected_components(
    nodes: Iterable[N], neighbours: Callable[[N], Iterable[N]]
) -> list[tuple[N, ...]]:
    """The parts of ``nodes`` without an edge between them, whatever its direction."""
    near: dict[N, list[N]] = {node: [] for node in nodes}
    for node in near:
        for other in neighbours(node):
            if other in near:
                near[node].append(other)
                near[other].append(node)
    return strongly_connected_components(near, near.__getitem__)


def topological_sort(nodes: Sequence[N], successors: Callable[[N], Iterable[N]]) -> list[N]:
    """The nodes of an acyclic graph, predecessors first, otherwise in the order given."""
    in_degree = dict.fromkeys(nodes, 0)
    for node in nodes:
        for other in dict.fromkeys(successors(node)):
            in_degree[other] += 1
    result: list[N] = []
    while in_degree:
        node = next(n for n, k in in_degree.items() if k == 0)
        del in_degree[node]
        result.append(node)
        for other in dict.fromkeys(successors(node)):
            in_degree[other] -= 1
    return result


class Worklist(Generic[N]):
    """A set of pending nodes from which the first one in a given order is taken.

    With a topological order a fact passes through an acyclic graph in one sweep.
    """

    def __init__(self, order: Sequence[N]) -> None:
        """An empty worklist over these nodes."""
        self._order = order
        self._places = {node: k for k, node in enumerate(order)}
        self._heap: list[int] = []
        self._inside: set[int] = set()

    def add(self, node: N) -> None:
        """Add a node, unless it is pending already."""
        place = self._places[node]
        if place not in self._inside:
            self._inside.add(place)
            heappush(self._heap, place)

    def take(self) -> N | None:
        """Remove and return the next node; ``None`` if the worklist is empty."""
        if not self._heap:
            return None
        place = heappop(self._heap)
        self._inside.remove(place)
        return self._order[place]
