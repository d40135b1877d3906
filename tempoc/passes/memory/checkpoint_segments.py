"""The memory peaks of a program, and the checkpointing segments of the computation before one.

Nodes are put into a sequence; at each position some bytes are live. At a *peak* the live bytes are
most: they consist of tensors that are computed before it and read after it. In a derivative the
peak is behind the loss. The nodes before the peak are cut into segments, at positions that few
bytes cross (the stream between two layers), such that the bytes kept at the cuts together with
those of one recomputed segment are least (Chen et al., Training deep nets with sublinear memory
cost, 2016, where layers have equal sizes and there are sqrt(n) segments).
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import accumulate, pairwise
from math import prod

from tempoc.base.cost_model import MODEL
from tempoc.base.effort import EFFORT
from tempoc.base.graphs import reachable
from tempoc.passes.analysis.dependence import loop_dims
from tempoc.passes.analysis.size_estimate import bytes_of, estimated_sizes
from tempoc.passes.context import PassContext
from tempoc.sdg.graph.graph import Graph, Node
from tempoc.sdg.graph.query import topological, users
from tempoc.sdg.statements.build import is_computed


@dataclass(slots=True)
class NodeSequence:
    """The nodes of one loop nest in an order of execution, as far as their sizes are known.

    ``position`` has the position of each node of the graph; ``every`` the sizes of the nest's
    results, at all points that are vectorized; ``bytes`` those of the large ones; ``results`` are
    live to the end. ``peaks`` are the last positions before peaks; ``peak`` is the chosen one, and
    ``ends`` has the last position up to it at which each large tensor is read.
    """

    graph: Graph
    outer: tuple[str, ...]
    every: dict[str, int]
    bytes: dict[str, int]
    results: frozenset[str]
    position: dict[str, int] = field(default_factory=dict)
    peaks: list[int] = field(default_factory=list)
    peak: int = 0
    ends: dict[str, int] = field(default_factory=dict)
    consumers: dict[str, list[str]] = field(default_factory=dict)

    @classmethod
    def of(cls, graph: Graph, context: PassContext) -> NodeSequence | None:
        """The sequence of the nest with the largest tensors; ``None`` if there is none."""
        at = estimated_sizes(graph.universe, 1, context.sizes)
        every = {n.name: _bytes(n, context, at) for n in graph.nodes.values() if is_computed(n)}
        if not every:
            return None
        sums: dict[tuple[str, ...], int] = {}
        for name, size in every.items():
            nest = outer_loops(graph.nodes[name])
            sums[nest] = sums.get(nest, 0) + size
        nest = max(sums, key=sums.__getitem__)
        nest_bytes = {n: b for n, b in every.items() if outer_loops(graph.nodes[n]) == nest}
        least = max(nest_bytes.values()) // MODEL.ignored_fraction
        large = {n: b for n, b in nest_bytes.items() if b > least}
        sequence = cls(graph, nest, nest_bytes, large, frozenset(o.source for o in graph.outputs))
        sequence.arrange()
        return sequence

    def arrange(self) -> None:
        """Determine positions, consumers and peaks.

        A node that reduces large tensors to a small one stands right behind them, so that they are
        live no longer for it.
        """
        for k, name in enumerate(topological(self.graph)):
            self.position[name] = k
            if self.is_sum(name):
                given = (e.source for e in self.graph.nodes[name].inputs)
                computed = (s for s in given if is_computed(self.graph.nodes[s]))
                places = (self.position[s] for s in computed if s in self.position)
                self.position[name] = max(places, default=k)
        self.consumers = {
            name: [u.reader for u in uses if is_computed(self.graph.nodes[u.reader])]
            for name, uses in users(self.graph).items()
        }
        live_bytes = self.crossing(self.bytes, len(self.position))
        self.peaks = _peaks(live_bytes)

    def at_peak(self, peak: int) -> NodeSequence:
        """The same sequence with a chosen peak."""
        sequence = replace(self, peak=peak)
        sequence.ends = {n: sequence.last_read(n, peak) for n in self.bytes}
        return sequence

    def is_sum(self, name: str) -> bool:
        """Whether a node's result is much smaller than its operands, like a weight's gradient."""
        node = self.graph.nodes[name]
        most = max((self.every.get(e.source, 0) for e in node.inputs), default=0)
        return name in self.every and 2 * self.every[name] <= most and not node.vector

    def is_early(self, name: str) -> bool:
        """Whether a node stands before the peak."""
        return self.position[name] <= self.peak

    def last_read(self, name: str, end: int) -> int:
        """The last position up to ``end`` at which a tensor is read; ``end`` for results."""
        if name in self.results:
            return end
        places = (self.position[r] for r in self.consumers[name])
        return max([self.position[name], *(p for p in places if p <= end)])

    def crossing(self, names: Collection[str], end: int, again: Collection[str] = ()) -> list[int]:
        """The live bytes behind each position, for consumers up to ``end``.

        Tensors that are recomputed (``again``) have two live ranges: before the peak and after it.
        """
        steps = [0] * (len(self.position) + 1)
        for name in names:
            ends = [self.position[name], self.last_read(name, end)]
            if name in again:
                late = [p for r in self.consumers[name] if (p := self.position[r]) > self.peak]
                ends = [self.position[name], self.ends[name], min(late), max(late)]
            for k, place in enumerate(ends):
                steps[place] += self.bytes[name] * (-1) ** k
        return list(accumulate(steps))

    def in_order(self, names: Collection[str]) -> list[str]:
        """Nodes by position; those at the same one in topological order."""
        return sorted((n for n in self.position if n in names), key=self.position.__getitem__)

    def crossing_peak(self) -> list[str]:
        """The tensors that are live across the peak, except results, in order."""
        names = [
            n for n in self.bytes
            if self.is_early(n) and any(not self.is_early(r) for r in self.consumers[n])
            and n not in self.results
        ]  # fmt: skip
        return sorted(names, key=self.position.__getitem__)

    def early(self) -> list[str]:
        """The large tensors computed before the peak, in order."""
        return sorted(filter(self.is_early, self.bytes), key=self.position.__getitem__)


@dataclass(frozen=True, slots=True, kw_only=True)
class Segments:
    """The segment number of each large tensor before the peak, and which tensors are ``held``.

    Each segment ends at one of the positions ``cuts``. ``before`` and ``after`` are the most live
    bytes at any position, without and with recomputation; ``again`` is an upper bound of the bytes
    that are recomputed.
    """

    number: Mapping[str, int]
    held: frozenset[str]
    cuts: tuple[int, ...]
    before: int
    after: int
    again: int

    @property
    def count(self) -> int:
        """How many there are."""
        return len(self.cuts) + 1


def segmented(
    sequence: NodeSequence, *, work: bool, count: int
) -> tuple[NodeSequence, Segments] | None:
    """The best peak and segments of a sequence; ``None`` if nothing is gained.

    With a ``count`` there are that many segments, or nearly. Without ``work`` results of products
    and reductions are held too, so that what is recomputed is cheap.
    """
    all_candidates: list[tuple[NodeSequence, Segments]] = []
    for peak in sequence.peaks:
        at_peak = sequence.at_peak(peak)
        crossing = at_peak.crossing_peak()
        candidates = [
            _segments_between(at_peak, crossing, cuts, work)
            for cuts in _candidate_cuts(at_peak, crossing)
        ]
        all_candidates += [(at_peak, s) for s in candidates if s.again]
    if count:
        most = max((s.count for _, s in all_candidates if s.count <= count), default=0)
        all_candidates = [(c, s) for c, s in all_candidates if s.count == most]
    else:
        all_candidates = [(c, s) for c, s in all_candidates if s.after < s.before]
    least = min((s.after for _, s in all_candidates), default=0)
    near_best = [(c, s) for c, s in all_candidates if s.after <= least * MODEL.memory_slack]
    return min(near_best, key=lambda x: (x[1].again, x[1].count), default=None)


def _peaks(live_bytes: Sequence[int]) -> list[int]:
    """The last positions of the highest plateaus of the live bytes."""
    last = {p: v for p, (v, after) in enumerate(pairwise(live_bytes)) if v != after}
    steps = [(0, -1), *((v, p) for p, v in last.items()), (0, len(live_bytes))]
    around = zip(steps, steps[1:], steps[2:], strict=False)
    least = max(live_bytes, default=0) / MODEL.peak_factor
    tops = [top for (a, _), top, (b, _) in around if a < top[0] > b and top[0] > least]
    return [p for _, p in sorted(tops, key=lambda top: (-top[0], top[1]))[: EFFORT.peaks]]


def _candidate_cuts(sequence: NodeSequence, crossing_names: list[str]) -> Iterator[list[int]]:
    """Cuts into 2, 3, ... segments that keep about the same number of bytes."""
    early = sequence.early()
    crossing = sequence.crossing(early, sequence.peak)
    places = [sequence.position[n] for n in crossing_names]
    sums = list(accumulate(sequence.bytes[n] for n in crossing_names))
    seen: list[list[int]] = []
    for count in EFFORT.segment_counts if crossing_names else ():
        cuts: dict[int, None] = {}
        for k in range(1, count):
            ends = (sums[-1] * (2 * k + side) / (2 * count) for side in (-1, 1))
            low, high = (places[min(bisect_left(sums, e), len(places) - 1)] for e in ends)
            cuts[min(range(low, max(low, high - 1) + 1), key=lambda p: (crossing[p], p))] = None
        points = sorted(cuts)
        if points not in seen:
            seen.append(points)
            yield points


def _segments_between(
    sequence: NodeSequence, crossing: list[str], cuts: list[int], work: bool
) -> Segments:
    """The segments between some cuts."""
    early = sequence.early()
    held = {
        n for n in early
        if any(sequence.position[n] <= p < sequence.ends[n] for p in cuts)
    }  # fmt: skip
    if not work:
        held |= _held_to_avoid_work(sequence, crossing, held)
    number = {n: bisect_left(cuts, sequence.position[n]) for n in early}
    count = len(cuts) + 1
    repeated = [n for n in early if n not in held and number[n] + 1 < count]
    recomputed = {*crossing} & {*repeated}
    return Segments(
        number=number,
        held=frozenset(held),
        cuts=(*cuts,),
        before=max(sequence.crossing(sequence.bytes, len(sequence.position))),
        after=max(sequence.crossing(sequence.bytes, len(sequence.position), recomputed)),
        again=sum(sequence.bytes[n] for n in repeated) if recomputed else 0,
    )


def _held_to_avoid_work(
    sequence: NodeSequence, crossing: list[str], held: Collection[str]
) -> set[str]:
    """The tensors to hold so that no product or reduction is recomputed.

    These are either the crossing tensors or the ones from which they are computed, whichever are
    smaller.
    """
    ops = {n: sequence.graph.nodes[n].op for n in sequence.early()}
    at_work = {n for n in crossing if ops[n].heavy}
    root_sets: dict[str, set[str]] = {}
    for name in crossing:
        if name not in at_work and name not in held:
            # What comes late, around a cycle, is never made again.
            roots = {r for r in _roots(sequence, name, held) if r in ops and ops[r].heavy}
            if more := roots - at_work - {*held}:
                root_sets[name] = more
    segment = {n for more in root_sets.values() for n in more}
    sizes = (sum(sequence.bytes[n] for n in names) for names in (segment, root_sets))
    return at_work | (segment if next(sizes) < next(sizes) else {*root_sets})


def _roots(sequence: NodeSequence, name: str, held: Collection[str]) -> set[str]:
    """The tensors, held or results of work, from which one is computed without work."""

    def is_root(name: str) -> bool:
        return name in held or sequence.graph.nodes[name].op.heavy

    def sources(name: str) -> list[str]:
        operands = () if is_root(name) else sequence.graph.nodes[name].sources
        return [source for source in operands if source in sequence.bytes]

    return {*filter(is_root, reachable([name], sources))}


def outer_loops(node: Node) -> tuple[str, ...]:
    """The loops around a node."""
    return loop_dims(node.domain.dims, node.vector)


def _bytes(node: Node, context: PassContext, at: Mapping[str, int]) -> int:
    """The bytes of a node's results at all points that are vectorized."""
    total = 0
    for type_ in node.types:
        shape = tuple(context.space.upper_bound(e, node.domain) for e in type_.shape)
        total += bytes_of(type(type_)(type_.dtype, shape, type_.weak), at)
    return total * prod(at[d] + 1 for d in node.vector)
