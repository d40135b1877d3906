"""The order and direction of loops that compute a node's operands, from dependence cycles."""

from __future__ import annotations

from collections.abc import Container, Sequence
from dataclasses import dataclass
from itertools import permutations, product as choices

from tempoc.base.graphs import edges_in_cycles, reachable
from tempoc.passes.analysis.dependence import ANY, Dependence
from tempoc.sdg.graph.graph import Node


@dataclass(frozen=True, slots=True)
class DirectedLoop:
    """A loop over a dimension, from its first point to its last or the other way round."""

    dim: str
    forward: bool = True


class DependenceCycles:
    """The dependence cycles among nodes, memoized for queries about many nodes.

    Dependences of ``sums`` do not count: these are computed after the loops.
    """

    def __init__(self, needs: Sequence[Dependence], sums: Container[str]) -> None:
        self.needs = needs
        self.sums = sums
        self.sources: dict[str, list[str]] = {}
        for d in needs:
            self.sources.setdefault(d.sink, []).append(d.source)
        self._inside: dict[tuple[str, ...], list[list[Dependence]]] = {}

    def loops(self, node: Node, dims: Sequence[str]) -> tuple[DirectedLoop, ...]:
        """Loops over some dimensions, outermost first, that the cycles before a node can run in.

        They are inside the loops over the node's own dimensions. If cycles disagree, the last ones
        in dependence order win. By default the order is that of ``dims``, all forward.
        """
        nests = [
            tuple(DirectedLoop(d, w) for d, w in zip(order, directions, strict=True))
            for order in permutations(dims)
            for directions in choices((True, False), repeat=len(order))
        ]
        ancestors = reachable([node.name], lambda name: self.sources.get(name, ()))
        for cycle in reversed(self.inside(node.domain.dims)):
            if cycle[0].sink in ancestors:
                nests = [
                    nest for nest in nests if all(_is_respected(d, nest) for d in cycle)
                ] or nests
        return nests[0]

    def inside(self, dims: tuple[str, ...]) -> list[list[Dependence]]:
        """The cycles at one point of some dimensions, producers first."""
        if dims not in self._inside:
            self._inside[dims] = self._cycles(dims)
        return self._inside[dims]

    def _cycles(self, dims: tuple[str, ...]) -> list[list[Dependence]]:
        inner = [
            d
            for d in self.needs
            if d.sink not in self.sums and all(0 in s for k, s in d.signs if k in dims)
        ]
        names = dict.fromkeys(name for d in inner for name in (d.sink, d.source))
        return [own for _, own in edges_in_cycles(names, inner, lambda d: (d.sink, d.source))]


def _is_respected(need: Dependence, nest: Sequence[DirectedLoop]) -> bool:
    """Whether a loop nest reaches the source of a dependence no later than its sink."""
    signs = dict(need.signs)
    for loop in nest:
        along = signs.get(loop.dim, ANY)
        direction = 1 if loop.forward else -1
        if -direction in along:
            return False
        if along == {direction}:
            return True
    return True
