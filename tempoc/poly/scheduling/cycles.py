"""Strongly connected components and topological order, determined by the order of nodes."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TypeVar

N = TypeVar("N", bound=str | int)


def components(nodes: Sequence[N], successors: Mapping[N, Iterable[N]]) -> list[tuple[N, ...]]:
    """The strongly connected components, each in the order of `nodes`; iterative (Tarjan 1972)."""
    number: dict[N, int] = {}
    low: dict[N, int] = {}
    stack: list[N] = []
    on_stack: dict[N, None] = {}
    parts: list[tuple[N, ...]] = []
    place = {n: k for k, n in enumerate(nodes)}
    for root in nodes:
        if root in number:
            continue
        number[root] = low[root] = len(number)
        stack.append(root)
        on_stack[root] = None
        worklist = [(root, iter(successors.get(root, ())))]
        while worklist:
            node, remaining = worklist[-1]
            for other in remaining:
                if other not in number:
                    number[other] = low[other] = len(number)
                    stack.append(other)
                    on_stack[other] = None
                    worklist.append((other, iter(successors.get(other, ()))))
                    break
                if other in on_stack:
                    low[node] = min(low[node], number[other])
            else:
                worklist.pop()
                if worklist:
                    low[worklist[-1][0]] = min(low[worklist[-1][0]], low[node])
                if low[node] == number[node]:
                    at = stack.index(node)
                    members, stack[at:] = stack[at:], []
                    for member in members:
                        del on_stack[member]
                    parts.append(tuple(sorted(members, key=place.__getitem__)))
    return parts


def sort(nodes: Sequence[N], successors: Mapping[N, Iterable[N]]) -> list[N]:
    """The nodes of an acyclic graph, predecessors first, otherwise in the order given."""
    in_degree = dict.fromkeys(nodes, 0)
    for node in nodes:
        for other in dict.fromkeys(successors.get(node, ())):
            in_degree[other] += 1
    result: list[N] = []
    while in_degree:
        node = next(n for n, k in in_degree.items() if k == 0)
        del in_degree[node]
        result.append(node)
        for other in dict.fromkeys(successors.get(node, ())):
            in_degree[other] -= 1
    return result
