"""What makes a loop a loop: a dependence cycle that its steps carry, in words of the source."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from heapq import heappop, heappush

from tempoc.base.graphs import edges_in_cycles
from tempoc.driver.slow.words import Words
from tempoc.ops.control.control import Merge
from tempoc.passes.analysis.dependence import (
    STAYS,
    Dependence,
    DependenceCandidates,
    vector_dims,
)
from tempoc.poly.relations.space import Space
from tempoc.sdg.graph.graph import Edge, Graph, Node
from tempoc.symbolic import expr as ix


@dataclass(frozen=True, slots=True, kw_only=True)
class LoopCycle:
    """The shortest dependence cycle that a loop carries, and all nodes of such cycles.

    ``links`` are its dependences in order: each node needs the next, the last the first. The
    first of them goes to another step along ``dim``, at one step of the loops along ``outer``.
    """

    dim: str
    outer: tuple[str, ...]
    links: tuple[Dependence, ...]
    nodes: frozenset[str]


class LoopCycles:
    """The dependence cycles of a graph with its stars."""

    def __init__(self, graph: Graph, space: Space, words: Words) -> None:
        self.graph = graph
        self.words = words
        self.reads = DependenceCandidates.of(graph, space)
        self.vectors = vector_dims(graph)

    def carried(self, names: Collection[str], dim: str, outer: Collection[str]) -> LoopCycle | None:
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
                if cycle and (not best or self.order(cycle, dim) < self.order(best, dim)):
                    best = cycle
        if not best:
            return None
        return LoopCycle(dim=dim, outer=tuple(outer), links=best, nodes=frozenset(nodes))

    def is_free(
        self,
        names: Collection[str],
        cycle: LoopCycle,
        inner: str,
        without: Collection[tuple[str, str]],
        telling: Collection[str],
    ) -> bool:
        """Whether nodes would be in no cycle of a loop without some dependences (sink, source).

        That is so if a loop along ``inner`` may be the outer one, at one step of which they need
        nothing of other steps.
        """
        inside = [n for n in names if n in self.reads.nodes]
        needs = [
            d
            for d in self.reads.among(inside).dependences(self.vectors)
            if (d.sink, d.source) not in without
            and all(0 in s for o, s in d.signs if o in cycle.outer)
        ]
        directions = {v for d in needs for o, s in d.signs if o == inner for v in s}
        if {-1, 1} <= directions:
            return False
        within = [d for d in needs if all(0 in s for o, s in d.signs if o == inner)]
        parts = edges_in_cycles(inside, within, lambda d: (d.sink, d.source))
        held = {n for part, own in parts if any(moves(d, cycle.dim) for d in own) for n in part}
        return held.isdisjoint(telling)

    def order(self, cycle: tuple[Dependence, ...], dim: str) -> tuple[bool, bool, int, int]:
        """What comes first is shown: cycles of the source's own reads, the shortest."""
        nodes = self.graph.nodes
        unread = [d for d in cycle if edge_between(self.graph, nodes[d.sink], d.source) is None]
        running = is_running(cycle, dim, self.words)
        return running, self.is_accumulated(cycle, dim), len(unread), len(cycle)

    def is_accumulated(self, cycle: tuple[Dependence, ...], dim: str) -> bool:
        """Whether passes made a range that one equation reads a value carried from step to step.

        Of ``best[t] = max(h[0:t+1])`` they make one that needs ``best[t-1]``.
        """
        names = {self.words.origin(d.sink) for d in cycle}
        if len(names) > 1:
            return False
        own = [n for n in self.words.source.nodes.values() if self.words.name(n.name) in names]
        reads = [e for n in own for e in n.inputs if self.words.name(e.source) in names]
        return not any(dim in self.moving(e) for e in reads)

    def recurring(self, dim: str) -> set[str]:
        """What the source defines by other steps of itself along a dimension.

        Of ``u[b] = x[b] + u[b-1]`` a loop may hold only reads of ``u``: a scan computed it before.
        What goes to another step of a further dimension as well is no cycle at one step of that.
        """
        nodes = self.words.source.nodes
        reads = [(n.name, e, self.moving(e)) for n in nodes.values() for e in n.inputs]
        near = [x for x in reads if not x[2] - {dim}]
        parts = edges_in_cycles(nodes, near, lambda x: (x[0], x[1].source))
        return {n for part, inside in parts if any(dim in x[2] for x in inside) for n in part}

    def moving(self, edge: Edge) -> set[str]:
        """The dimensions along which an edge of the source reads another step, no range."""
        dims = self.words.source.nodes[edge.source].domain.dims
        each = zip(dims, edge.entries, strict=True)
        return {d for d, e in each if not isinstance(e, ix.Slice) and e != ix.Sym(d)}

    def goes_diagonally(self, names: Collection[str], outer: str, inner: str) -> bool:
        """Whether points with one sum of two coordinates need none of each other."""
        inside = [n for n in names if n in self.reads.nodes]
        needs = self.reads.among(inside).dependences(self.vectors)
        signs = [dict(d.signs) for d in needs]
        moving = [s for s in signs if any(v != STAYS for v in s.values())]
        known = all(outer in s and inner in s for s in moving)
        return known and all(-1 not in s[outer] and -1 not in s[inner] for s in moving)


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
    return next(iter(_edges_between(graph, sink, source)), None)


def _edges_between(graph: Graph, sink: Node, source: str) -> list[Edge]:
    direct = [e for e in sink.inputs if e.source == source]
    return [*(e for e in sink.inputs if source in graph.nodes[e.source].sources), *direct]


def _moving_edge(graph: Graph, need: Dependence, cycle: LoopCycle) -> Edge | None:
    """The operand that goes to another step of the loop alone, if that can be seen."""

    def stays(edge: Edge, dim: str) -> bool:
        dims = graph.nodes[edge.source].domain.dims
        return dim in dims and edge.entries[dims.index(dim)] == ix.Sym(dim)

    edges = _edges_between(graph, graph.nodes[need.sink], need.source)
    return min(
        edges,
        key=lambda e: (stays(e, cycle.dim), sum(not stays(e, d) for d in cycle.outer)),
        default=None,
    )


def is_running(links: Sequence[Dependence], dim: str, words: Words) -> bool:
    """Whether a cycle is a running value that passes made of a reduction over a dimension."""
    names = {words.name(need.sink) for need in links}
    dims = words.dims(links[0].sink)
    return len(names) == 1 and dims is not None and dim not in dims


def _running(cycle: LoopCycle, graph: Graph, words: Words) -> str:
    """A recurrence of the source of which the cycle has parts, or else a value that passes add up.

    Passes may move work of a recurrence from one step into the next: its parts then read each
    other in ways that stand nowhere in the source, which has a cycle of its own all the same.
    """
    node = graph.nodes[cycle.links[0].sink]
    name = words.name(node.name)
    written = written_cycle(cycle, words)
    if written and name.startswith("grad("):
        return f"`{name}` goes back along `{cycle.dim}`, step by step, since {written}"
    if written:
        return written
    line = words.line(words.source.nodes.get(name, node))
    place = f" ({line})" if line else ""
    if name.startswith("grad("):
        return f"`{name}`{place} goes back from step to step of `{cycle.dim}`"
    return f"`{name}`{place} combines what each `{cycle.dim}` gives, one after the other"


def cycle_text(cycle: LoopCycle, graph: Graph, words: Words) -> str:
    """`x[t]` needs `o[t-1]` (line 6), `o[t]` needs `x[t]` (line 9)."""
    if is_running(cycle.links, cycle.dim, words):
        return _running(cycle, graph, words)
    parts: dict[str, None] = {}
    left = ""
    for k, need in enumerate(cycle.links):
        sink = graph.nodes[need.sink]
        between = edge_between(graph, sink, need.source)
        edge = _moving_edge(graph, need, cycle) if k == 0 else between
        left = left or words.written(sink)
        inner = words.name(need.sink) == words.name(need.source) and len(cycle.links) > 1
        if edge is None or (inner and k > 0 and not need.apart):
            continue
        line = words.line(sink)
        if left == words.read(edge):
            return _running(cycle, graph, words)
        parts[f"`{left}` needs `{words.read(edge)}`" + (f" ({line})" if line else "")] = None
        left = ""
    return _first_reads([*parts])


def _first_reads(reads: Sequence[str]) -> str:
    """The reads of a cycle, of a long one the first two."""
    if len(reads) > 3:
        reads = [*reads[:2], f"and so on over {len(reads) - 2} more reads"]
    return ", ".join(reads)


def written_cycle(cycle: LoopCycle, words: Words) -> str:
    """The shortest cycle of reads of the source that goes through a tensor to another step.

    That of the tensor of the cycle's first node; empty if there is none.
    """
    nodes = words.source.nodes
    start = words.origin(cycle.links[0].sink)
    waiting: list[tuple[int, str, bool, str, tuple[str, ...]]] = [(0, start, False, start, ())]
    passed: set[tuple[str, bool]] = set()
    while waiting and start in nodes:
        count, name, moved, equation, reads = heappop(waiting)
        if name == start and moved:
            return _first_reads(reads)
        if (name, moved) in passed:
            continue
        passed.add((name, moved))
        for edge in nodes[name].inputs:
            entry = nodes[edge.source].domain.at(edge.entries)
            if any(entry.get(d, ix.Sym(d)) != ix.Sym(d) for d in cycle.outer):
                continue
            goes = moved or entry.get(cycle.dim, ix.Sym(cycle.dim)) != ix.Sym(cycle.dim)
            is_branch = isinstance(nodes[name].op, Merge)
            text = () if is_branch else _read_text(nodes[equation], edge, words)
            inner = edge.source if is_branch or text else equation
            heappush(waiting, (count + len(text), edge.source, goes, inner, (*reads, *text)))
    return ""


def _read_text(equation: Node, edge: Edge, words: Words) -> tuple[str, ...]:
    """`h[t+1]` needs `h[t]` (line 5); empty for an operand that is a part of the same equation."""
    source = words.source.nodes[edge.source]
    if edge.source not in words.roots and not isinstance(source.op, Merge):
        return ()
    line = words.line(equation)
    where = f" ({line})" if line else ""
    return (f"`{words.written(equation)}` needs `{words.read(edge)}`{where}",)
