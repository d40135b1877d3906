"""Which nodes are computed tile by tile together: what is large along an axis, and what it feeds.

From one large tensor the axis is followed through links (``axes.py``), up to operands and down to
readers. All large tensors that are met belong to the region, and what leads from one to another.
Where the axis is reduced, the reduction is done tile by tile too: an *end*. Small tensors that come
out of the region with the axis are ends of another kind: they are put together again (``whole``),
unless all that is read of them is reduced, without a product in between, in which case the region
goes on to there.

What needs an end, in the same iteration of all loops, comes after the loop over tiles that made it.
Nodes that come after have a later *phase*; what they read of large tensors is computed again.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import NamedTuple

from tempoc.ops.contraction import Einsum, MatMul
from tempoc.ops.convolution import Conv
from tempoc.passes.axes import Link, links
from tempoc.passes.combine import combination
from tempoc.passes.legality import Dependence, dependences
from tempoc.poly.space import Space
from tempoc.sdg.branches import together
from tempoc.sdg.build import is_computed
from tempoc.sdg.graph import Edge, Graph, Node
from tempoc.sdg.query import Use, components, operand_types, topological, users
from tempoc.sdg.verify import DomainFacts
from tempoc.symbolic.expr import Expr, Slice


class Meeting(NamedTuple):
    """A node, and the axis on its way through it."""

    node: str
    link: Link


@dataclass(frozen=True, slots=True, kw_only=True)
class Region:
    """Nodes along an axis of this extent, each with its link.

    ``kept`` keep the axis, ``ends`` reduce it; both in topological order. ``whole`` are those of
    ``kept`` that others read.
    """

    extent: Expr
    kept: Mapping[str, Link]
    ends: Mapping[str, Link]
    whole: tuple[str, ...]


def slices(edge: Edge) -> int:
    """How many axes of an operand come from the access."""
    return sum(isinstance(e, Slice) for e in edge.entries)


class Ways:
    """The axes of a graph, followed from node to node."""

    def __init__(self, graph: Graph, space: Space) -> None:
        """Nothing is followed yet."""
        self.graph = graph
        self.space = space
        self._links: dict[str, tuple[Link, ...]] = {}

    @cached_property
    def lazy(self) -> Mapping[str, str]:
        """What only a branch of a `cond` needs."""
        return together(self.graph)

    @cached_property
    def order(self) -> Mapping[str, int]:
        """The place of each node, operands first."""
        return {name: k for k, name in enumerate(topological(self.graph))}

    @cached_property
    def needs(self) -> tuple[Dependence, ...]:
        """Who may need whom at the same point of all loops."""
        return tuple(d for d in dependences(self.graph, self.space) if d.may_stay)

    @cached_property
    def uses(self) -> Mapping[str, tuple[Use, ...]]:
        """Who reads whom."""
        return users(self.graph)

    def links(self, name: str) -> tuple[Link, ...]:
        """The axes of a node that can be followed, or reduced part by part."""
        found = self._links.get(name)
        if found is None:
            found = self._links[name] = tuple(self._followed(self.graph.nodes[name]))
        return found

    def _followed(self, node: Node) -> Iterator[Link]:
        if not is_computed(node) or node.name in self.lazy:
            return
        args = operand_types(self.graph, node)
        facts = DomainFacts(self.space, node.domain)
        for link in links(node.op, args, node.types, facts.equal):
            if not link.is_reduced or combination(node.op, args, node.types[0].dtype):
                yield link

    def of_result(self, name: str, out: int, axis: int) -> Link | None:
        """The link of an axis of a result."""
        return next((k for k in self.links(name) if k.results[out] == axis), None)

    def of_operand(self, name: str, slot: int, axis: int) -> Link | None:
        """The link of an axis of an operand."""
        return next((k for k in self.links(name) if k.operands[slot] == axis), None)

    def sources(self, at: Meeting) -> Iterator[Meeting]:
        """Where a node's operands have the axis from, as far as that can be followed."""
        for edge, axis in self.along(at):
            own = axis - slices(edge)
            link = self.of_result(edge.source, edge.out, own) if own >= 0 else None
            if link is not None:
                yield Meeting(edge.source, link)

    def along(self, at: Meeting) -> Iterator[tuple[Edge, int]]:
        """The operands of a node that have the axis, and where."""
        node = self.graph.nodes[at.node]
        for edge, axis in zip(node.inputs, at.link.operands, strict=True):
            if axis is not None:
                yield edge, axis

    def readers(self, at: Meeting) -> Iterator[Meeting | None]:
        """Where a node's axis goes on, for each read of the node; ``None`` where it does not."""
        for use in self.uses[at.node]:
            edge = self.graph.nodes[use.reader].inputs[use.slot]
            axis = at.link.results[edge.out]
            place = None if axis is None else axis + slices(edge)
            link = None if place is None else self.of_operand(use.reader, use.slot, place)
            yield None if link is None else Meeting(use.reader, link)


@dataclass(slots=True, kw_only=True)
class Finder:
    """Finds the region of a large tensor; ``is_large`` tells which are."""

    ways: Ways
    is_large: Callable[[str], bool]
    kept: dict[str, Link] = field(default_factory=dict)
    passed: dict[str, Link] = field(default_factory=dict)

    def region(self, name: str, link: Link, extent: Expr) -> Region:
        """The region of a node's axis."""
        self.kept = {name: link}
        while self.add_large() or self.add_between():
            pass
        self.add_results()
        ends = {m.node: m.link for m in self.reached() if m.link.is_reduced}
        kept = self.sorted(self.kept)
        whole = tuple(n for n in kept if self.is_read_whole(n, ends))
        return Region(extent=extent, kept=kept, ends=self.sorted(ends), whole=whole)

    def sorted(self, found: Mapping[str, Link]) -> dict[str, Link]:
        """Operands first."""
        return {n: found[n] for n in sorted(found, key=self.ways.order.__getitem__)}

    def reached(self) -> list[Meeting]:
        """Who reads the kept nodes along the axis and is none of them."""
        every = (m for n, k in self.kept.items() for m in self.ways.readers(Meeting(n, k)))
        return [m for m in every if m is not None and m.node not in self.kept]

    def add_large(self) -> bool:
        """Add the large tensors next to those that are there."""
        count = len(self.kept)
        waiting = list(self.kept.items())
        while waiting:
            at = Meeting(*waiting.pop())
            near = [*self.ways.sources(at), *(m for m in self.ways.readers(at) if m is not None)]
            for name, link in near:
                if name not in self.kept and not link.is_reduced and self.is_large(name):
                    self.kept[name] = link
                    waiting.append((name, link))
        return len(self.kept) > count

    def add_between(self) -> bool:
        """Add what leads from the kept nodes to a large one, or back to a kept one."""
        self.passed = {m.node: m.link for m in self.reached() if not m.link.is_reduced}
        waiting = list(self.passed.items())
        while waiting:
            for m in self.ways.readers(Meeting(*waiting.pop())):
                if m is None or m.link.is_reduced or m.node in self.kept or m.node in self.passed:
                    continue
                self.passed[m.node] = m.link
                waiting.append((m.node, m.link))
        back = [n for n in self.passed if self.is_large(n)]
        wanted = {m.node for n, k in self.kept.items() for m in self.ways.sources(Meeting(n, k))}
        back += [n for n in self.passed if n in wanted and n not in back]
        while back:
            name = back.pop()
            if name not in self.kept:
                self.kept[name] = self.passed[name]
                sources = self.ways.sources(Meeting(name, self.passed[name]))
                back += [m.node for m in sources if self.passed.get(m.node) == m.link]
        return any(n in self.kept for n in self.passed)

    def add_results(self) -> None:
        """Add small results, and what is made of them where it comes to an end soon."""
        first = [m for m in self.reached() if not m.link.is_reduced]
        soon = self.ending()
        large = [Meeting(n, k) for n, k in self.kept.items() if self.is_large(n)]
        near = {m.node for at in large for m in self.ways.readers(at) if m is not None}
        waiting = [m for m in first if m.node in near or m.node in soon]
        while waiting:
            at = waiting.pop()
            if at.node not in self.kept:
                self.kept[at.node] = at.link
                onward = (m for m in self.ways.readers(at) if m is not None)
                waiting += [m for m in onward if m.node in soon and not m.link.is_reduced]

    def ending(self) -> set[str]:
        """The small nodes of which all that is read is reduced without a product before."""
        found: set[str] = set()
        given = {o.source for o in self.ways.graph.outputs}
        for name in sorted(self.passed, key=self.ways.order.__getitem__, reverse=True):
            readers = list(self.ways.readers(Meeting(name, self.passed[name])))
            product = isinstance(self.ways.graph.nodes[name].op, MatMul | Einsum | Conv)
            if product or name in given or not readers or None in readers:
                continue
            ends = (
                m.link.is_reduced
                or (m.node in found and self.passed[m.node] == m.link)
                or self.kept.get(m.node) == m.link
                for m in readers
                if m is not None
            )
            if all(ends):
                found.add(name)
        return found

    def is_read_whole(self, name: str, ends: Mapping[str, Link]) -> bool:
        """Whether somebody reads all of a kept node, not its tiles."""
        if any(o.source == name for o in self.ways.graph.outputs):
            return True
        known = {**self.kept, **ends}
        readers = self.ways.readers(Meeting(name, self.kept[name]))
        return any(m is None or known.get(m.node) != m.link for m in readers)


def phases(ways: Ways, region: Region) -> dict[str, int] | None:
    """For each node of the region after how many loops over tiles it can be computed.

    ``None`` if some wait for themselves.
    """
    inputs: dict[str, list[tuple[str, int]]] = {}
    for need in ways.needs:
        made = need.source in region.kept or need.source in region.ends
        later = made and not _is_aligned(ways, region, need)
        inputs.setdefault(need.sink, []).append((need.source, int(later)))
    found: dict[str, int] = {}
    for part in components(list(ways.order), lambda n: [s for s, _ in inputs.get(n, ())]):
        if len(part) > 1 and any(n in region.kept or n in region.ends for n in part):
            return None
        for name in part:
            before = (found.get(s, 0) + later for s, later in inputs.get(name, ()))
            found[name] = max(before, default=0)
    return {n: found[n] for n in (*region.kept, *region.ends)}


def _is_aligned(ways: Ways, region: Region, need: Dependence) -> bool:
    """Whether all that a node of the region reads of another is the tile at hand."""
    link = region.kept.get(need.sink) or region.ends.get(need.sink)
    if link is None or need.source not in region.kept:
        return False
    places = [
        (edge.out, None if axis is None else axis - slices(edge))
        for edge, axis in zip(ways.graph.nodes[need.sink].inputs, link.operands, strict=True)
        if edge.source == need.source
    ]
    known = region.kept[need.source].results
    return bool(places) and all(own is not None and known[out] == own for out, own in places)
