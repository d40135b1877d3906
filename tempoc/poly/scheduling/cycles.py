"""Cycles and orders of small directed graphs; results depend on the order of the nodes alone."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TypeVar

N = TypeVar("N", bound=str | int)


def components(nodes: Sequence[N], successors: Mapping[N, Iterable[N]]) -> list[tuple[N, ...]]:
    """The strongly connected components, each in the order of `nodes`; iterative (Tarjan 1972)."""
    number: dict[N, int] = {}
    low: dict[N, int] = {}
    stack: list[N] = []
    waiting: dict[N, None] = {}
    found: list[tuple[N, ...]] = []
    place = {n: k for k, n in enumerate(nodes)}
    for root in nodes:
        if root in number:
            continue
        number[root] = low[root] = len(number)
        stack.append(root)
        waiting[root] = None
        work = [(root, iter(successors.get(root, ())))]
        while work:
            node, rest = work[-1]
            for other in rest:
                if other not in number:
                    number[other] = low[other] = len(number)
                    stack.append(other)
                    waiting[other] = None
                    work.append((other, iter(successors.get(other, ()))))
                    break
                if other in waiting:
                    low[node] = min(low[node], number[other])
            else:
                work.pop()
                if work:
                    low[work[-1][0]] = min(low[work[-1][0]], low[node])
                if low[node] == number[node]:
                    at = stack.index(node)
                    members, stack[at:] = stack[at:], []
                    for member in members:
                        del waiting[member]
                    found.append(tuple(sorted(members, key=place.__getitem__)))
    return found


def sort(nodes: Sequence[N], successors: Mapping[N, Iterable[N]]) -> list[N]:
    """The nodes of an acyclic graph, predecessors first, otherwise in the order given."""
    waiting = dict.fromkeys(nodes, 0)
    for node in nodes:
        for other in dict.fromkeys(successors.get(node, ())):
            waiting[other] += 1
    result: list[N] = []
    while waiting:
        node = next(n for n, k in waiting.items() if k == 0)
        del waiting[node]
        result.append(node)
        for other in dict.fromkeys(successors.get(node, ())):
            waiting[other] -= 1
    return result
