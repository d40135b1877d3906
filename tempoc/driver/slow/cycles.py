"""What makes a loop a loop: a dependence cycle that its steps carry, told as the source tells it."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

from tempoc.base.graphs import edges_in_cycles
from tempoc.driver.slow.words import Words
from tempoc.passes.analysis.dependence import (
    STAYS,
    Dependence,
    DependenceCandidates,
    vector_dims,
)
from tempoc.poly.relations.space import Space
from tempoc.sdg.graph.graph import Edge, Graph, Node

Signs = Mapping[str, frozenset[int]]


@dataclass(frozen=True, slots=True, kw_only=True)
class LoopCycle:
    """The shortest dependence cycle that a loop carries, and all nodes of such cycles.

    ``links`` are its dependences in order: each node needs the next, the last the first. The
    first of them goes to another step.
    """

    links: tuple[Dependence, ...]
    nodes: frozenset[str]


class LoopCycles:
    """The dependence cycles of a graph with its stars."""

    def __init__(self, graph: Graph, space: Space) -> None:
        self.graph = graph
        self.reads = DependenceCandidates.of(graph, space)
        self.vectors = vector_dims(graph)

    def carried(
        self, names: Collection[str], dim: str, outer: Collection[str]
    ) -> LoopCycle | None:
        """What a loop along ``dim`` over some nodes carries, within loops along ``outer``."""
        inside = [n for n in names if n in self.reads.nodes]
        needs = [
            d
            for d in self.reads.among(inside).dependences(self.vectors)
            if all(0 in s for o, s in d.signs if o in outer)
        ]
        best: tuple[Dependence, ...] = ()
        nodes: set[str] = set()
        for part, own in edges_in_cycles(inside, needs, lambda d: (d.sink, d.source)):
            moving = [d for d in own if moves(d, dim)]
            nodes |= {*part} if moving else set()
            for need in moving:
                cycle = _shortest(need, own)
                if cycle and (not best or len(cycle) < len(best)):
                    best = cycle
        return LoopCycle(links=best, nodes=frozenset(nodes)) if best else None

    def goes_diagonally(self, names: Collection[str], outer: str, inner: str) -> bool:
        """Whether points with one sum of two coordinates need none of each other."""
        inside = [n for n in names if n in self.reads.nodes]
        needs = self.reads.among(inside).dependences(self.vectors)
        signs = [dict(d.signs) for d in needs]
        both = [(s.get(outer, STAYS), s.get(inner, STAYS)) for s in signs]
        return all(-1 not in a and -1 not in b for a, b in both)


def moves(need: Dependence, dim: str) -> bool:
    """Whether a dependence goes to another step of a loop."""
    return dict(need.signs).get(dim, STAYS) != STAYS


def _shortest(need: Dependence, needs: Sequence[Dependence]) -> tuple[Dependence, ...]:
    """The shortest cycle through a dependence."""
    if need.source == need.sink:
        return (need,)
    paths: dict[str, tuple[Dependence, ...]] = {need.source: (need,)}
    for name in (queue := [need.source]):  # grows meanwhile
        for step in needs:
            if step.sink == name and step.source not in paths:
                paths[step.source] = (*paths[name], step)
                queue.append(step.source)
                if step.source == need.sink:
                    return paths[step.source]
    return ()


def edge_between(graph: Graph, sink: Node, source: str) -> Edge | None:
    """The operand by which a node reads another, through a merge or not."""
    direct = [e for e in sink.inputs if e.source == source]
    through = [e for e in sink.inputs if source in graph.nodes[e.source].sources]
    return next(iter((*through, *direct)), None)


def cycle_text(cycle: LoopCycle, graph: Graph, words: Words) -> str:
    """`x[t]` needs `o[t-1]` (line 6), `o[t]` needs `x[t]` (line 9)."""
    parts: dict[str, None] = {}
    left = ""
    for k, need in enumerate(cycle.links):
        sink = graph.nodes[need.sink]
        edge = edge_between(graph, sink, need.source)
        left = left or words.written(sink)
        inner = words.name(need.sink) == words.name(need.source) and len(cycle.links) > 1
        if edge is None or (inner and k > 0 and not need.apart):
            continue
        line = words.line(sink)
        parts[f"`{left}` needs `{words.read(edge)}`" + (f" ({line})" if line else "")] = None
        left = ""
    shown = list(parts)
    if len(shown) > 3:
        shown = [*shown[:2], f"and so on over {len(shown) - 2} more reads"]
    return ", ".join(shown)
