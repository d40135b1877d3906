"""Nodes divided in two along a dimension: what they compute before a point, and from there on.

    %y = tanh %x : [t] f32      ->      %y.early = tanh %x : [t | t < P] f32
                                        %y.late  = tanh %x : [t | t >= P] f32

Who reads points of one part only reads that part. What is read across becomes a merge of both,
under the old name: one tensor with two writers. Of a part nothing is kept that nobody reads: all of
it, or only the point next to the other part, or nothing. That is found out through cycles, from the
readers that stay as they are.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Literal, NamedTuple

from tempoc.base.names import Names
from tempoc.ops.control import Merge
from tempoc.poly.space import Space
from tempoc.sdg.build import identity, tensor_name
from tempoc.sdg.graph import Edge, Graph, Node, Output
from tempoc.symbolic.domain import Domain
from tempoc.symbolic.expr import (
    FALSE,
    ONE,
    Entry,
    Expr,
    Slice,
    Sym,
    add,
    compare,
    conjunction,
    sub,
)

Side = Literal["early", "late"]
SIDES: tuple[Side, Side] = ("early", "late")
_NOTHING, _NEXT, _ALL = 0, 1, 2


class Part(NamedTuple):
    """A part of a node."""

    node: str
    side: Side


@dataclass(frozen=True, slots=True, kw_only=True)
class Cut:
    """A place along a dimension: ``dim < at`` is early, ``dim >= at`` is late."""

    dim: str
    at: Expr

    def on(self, side: Side, e: Expr | None = None) -> Expr:
        """That a point along the dimension is on a side."""
        return compare("<" if side == "early" else ">=", e or Sym(self.dim), self.at)

    def beside(self, side: Side) -> Expr:
        """The point of a side that is next to the other one."""
        return sub(self.at, ONE) if side == "early" else self.at

    def touches(self, side: Side, entry: Entry) -> Expr:
        """That an access reads something of a side."""
        if not isinstance(entry, Slice):
            return self.on(side, entry)
        last = entry.lo if side == "early" else sub(entry.hi, ONE)
        return conjunction(compare("<", entry.lo, entry.hi), self.on(side, last))

    def stays_beside(self, side: Side, entry: Entry) -> Expr:
        """That an access which touches a side reads only the point next to the other one."""
        low, high = (entry.lo, entry.hi) if isinstance(entry, Slice) else (entry, add(entry, ONE))
        if side == "early":
            return compare(">=", low, sub(self.at, ONE))
        return compare("<=", high, add(self.at, ONE))


def part_of(domain: Domain, cut: Cut, side: Side, space: Space) -> Domain:
    """The points of a domain on a side."""
    return narrowed(domain, cut.on(side), space)


def narrowed(domain: Domain, condition: Expr, space: Space) -> Domain:
    """The points of a domain at which a condition holds."""
    where = conjunction(domain.where, condition)
    return Domain(domain.dims, space.simplify(where, Domain(domain.dims)))


class Divided(NamedTuple):
    """A graph with parts; what they are called, those that are gone left out."""

    graph: Graph
    names: Mapping[Part, str]


def divided(graph: Graph, names: Iterable[str], cut: Cut, space: Space) -> Divided:
    """The graph with these nodes in two parts each; nodes on one side only stay as they are."""
    parts: dict[Part, Domain] = {}
    known: dict[Domain, list[Domain]] = {}
    for name in names:
        domain = graph.nodes[name].domain
        if domain not in known:
            known[domain] = [part_of(domain, cut, side, space) for side in SIDES]
        found = known[domain]
        if not any(space.is_empty(d) for d in found):
            parts |= {Part(name, s): d for s, d in zip(SIDES, found, strict=True)}
    made = _Division.of(graph, cut, parts, space)
    return Divided(made.result(), {part: made.names[part] for part in made.parts})


@dataclass(slots=True, kw_only=True)
class _Division:
    """One division under way: parts with the points that are needed, and what they are called.

    ``joined`` are the outputs that somebody reads across.
    """

    graph: Graph
    cut: Cut
    space: Space
    parts: dict[Part, Domain]
    names: dict[Part, str]
    joined: dict[tuple[str, int], None]

    @classmethod
    def of(cls, graph: Graph, cut: Cut, parts: Mapping[Part, Domain], space: Space) -> _Division:
        """Find out what is needed of each part, and what is read across."""
        taken = Names(graph.nodes)
        names = {p: taken.fresh(f"{p.node}.{p.side}") for p in parts}
        made = cls(graph=graph, cut=cut, space=space, parts=dict(parts), names=names, joined={})
        made._narrow()
        for reader, domain in (*made._others(), *made._divided()):
            # A branch of a merge is divided with what it reads.
            for edge in () if isinstance(reader.op, Merge) else reader.inputs:
                if len(made._touched(domain, edge)) > 1:
                    made.joined[edge.source, edge.out] = None
        for output in graph.outputs:
            if len(made._touched(Domain(()), _edge(output))) > 1:
                made.joined[output.source, output.out] = None
        return made

    def _is_divided(self, name: str) -> bool:
        return Part(name, "early") in self.names

    def _others(self) -> Iterator[tuple[Node, Domain]]:
        """The nodes that are not divided."""
        for node in self.graph.nodes.values():
            if not self._is_divided(node.name):
                yield node, node.domain

    def _divided(self) -> Iterator[tuple[Node, Domain]]:
        """The parts, each as the node it is a part of, and its points."""
        for part, domain in self.parts.items():
            yield self.graph.nodes[part.node], domain

    # ------------------------------------------------------------ what is needed

    def _narrow(self) -> None:
        """Cut the parts down to what is read of them."""
        levels = dict.fromkeys(self.parts, _NOTHING)
        waiting = [(Domain(()), _edge(output)) for output in self.graph.outputs]
        for node, domain in self._others():
            waiting += _reads(node, domain)
        while waiting:
            sink, edge = waiting.pop()
            for part, level in self._needs(sink, edge):
                if level > levels[part]:
                    levels[part] = level
                    waiting += _reads(self.graph.nodes[part.node], self._at_level(part, level))
        self.parts = {p: self._at_level(p, n) for p, n in levels.items() if n != _NOTHING}

    def _at_level(self, part: Part, level: int) -> Domain:
        domain = self.parts[part]
        if level == _ALL:
            return domain
        beside = compare("==", Sym(self.cut.dim), self.cut.beside(part.side))
        return narrowed(domain, beside, self.space)

    def _needs(self, sink: Domain, edge: Edge) -> Iterator[tuple[Part, int]]:
        """How much of which parts a read needs."""
        touched = self._touched(sink, edge)
        for part in touched:
            entry = self._entry(edge)
            here = conjunction(sink.where, self.cut.touches(part.side, entry))
            beside = self.cut.stays_beside(part.side, entry)
            only = self.space.implies(Domain(sink.dims, here), beside)
            yield part, _NEXT if only else _ALL
        if not touched and self._is_divided(edge.source):
            yield Part(edge.source, "late"), _NEXT  # it reads nothing, but reads it somewhere

    def _entry(self, edge: Edge) -> Entry:
        """The access along the dimension that is cut."""
        return edge.entries[self.graph.nodes[edge.source].domain.dims.index(self.cut.dim)]

    def _touched(self, sink: Domain, edge: Edge) -> list[Part]:
        """The parts that a read touches; none where its source is not divided."""
        found = []
        for side in SIDES:
            part = Part(edge.source, side)
            if part in self.parts:
                touches = self.cut.touches(side, self._entry(edge))
                here = Domain(sink.dims, conjunction(sink.where, touches))
                if not self.space.is_empty(here):
                    found.append(part)
        return found

    # ------------------------------------------------------------ the result

    def result(self) -> Graph:
        """The new graph; parts stand where the node stood, then the merge of both."""
        nodes = {m.name: m for node in self.graph.nodes.values() for m in self._made(node)}
        outputs = []
        for output in self.graph.outputs:
            edge = self._read(Domain(()), _edge(output))
            outputs.append(replace(output, source=edge.source, out=edge.out))
        return replace(self.graph, nodes=nodes, outputs=tuple(outputs))

    def _made(self, node: Node) -> Iterator[Node]:
        """What becomes of a node."""
        parts = [p for side in SIDES if (p := Part(node.name, side)) in self.parts]
        outs = [out for out in range(len(node.types)) if (node.name, out) in self.joined]
        if not self._is_divided(node.name):
            yield self._rewritten(node, node.domain)
        elif isinstance(node.op, Merge) and outs:
            yield self._rewritten(node, self._both(node))
        else:
            for part in parts:
                made = self._rewritten(node, self.parts[part])
                yield replace(made, name=self.names[part])
            for out in outs:
                yield self._merge(node, out)

    def _both(self, node: Node) -> Domain:
        """The points of both parts of a node."""
        early, late = (self.parts[Part(node.name, side)] for side in SIDES)
        return self.space.union(early, late)

    def _merge(self, node: Node, out: int) -> Node:
        """One tensor, with the parts of a node for writers."""
        domain = self._both(node)
        here = identity(domain)
        inputs = [
            Edge(
                source=self.names[Part(node.name, side)],
                out=out,
                entries=here,
                guard=self.space.simplify(self.cut.on(side), domain),
            )
            for side in SIDES
        ]
        return Node(
            name=tensor_name(node.name, out),
            op=Merge(targets=(here, here)),
            domain=domain,
            inputs=tuple(inputs),
            types=(node.types[out],),
            spans=node.spans,
        )

    def _rewritten(self, node: Node, domain: Domain) -> Node:
        """A node at some of its points, reading parts."""
        if domain == node.domain and not any(self._is_divided(e.source) for e in node.inputs):
            return node
        if not isinstance(node.op, Merge):
            inputs = tuple(self._read(domain, edge) for edge in node.inputs)
            return replace(node, domain=domain, inputs=inputs)
        found = [
            (branch, target)
            for edge, target in zip(node.inputs, node.op.targets, strict=True)
            for branch in self._branches(domain, edge)
        ]
        op = replace(node.op, targets=tuple(target for _, target in found))
        return replace(node, op=op, domain=domain, inputs=tuple(edge for edge, _ in found))

    def _read(self, sink: Domain, edge: Edge) -> Edge:
        """The same read, of the part that it touches, or of both as one tensor.

        At its own point a part is read itself: that may be in the same kernel.
        """
        if not self._is_divided(edge.source):
            return edge
        node = self.graph.nodes[edge.source]
        if (node.name, edge.out) in self.joined and (
            isinstance(node.op, Merge)
            or len(touched := self._touched(sink, edge)) != 1
            or edge.entries != identity(node.domain)
        ):
            whole = edge.out and not isinstance(node.op, Merge)
            return replace(edge, source=tensor_name(node.name, edge.out), out=0) if whole else edge
        touched = self._touched(sink, edge) or [p for p in self.parts if p.node == node.name]
        return replace(edge, source=self.names[touched[0]])

    def _branches(self, domain: Domain, edge: Edge) -> Iterator[Edge]:
        """What a branch of a merge becomes: nothing, or one for each part that it reads."""
        sink = Domain(domain.dims, conjunction(domain.where, edge.guard))
        if not self._is_divided(edge.source):
            guard = self.space.simplify(edge.guard, domain)
            if guard != FALSE:
                yield replace(edge, guard=guard)
            return
        for part in self._touched(sink, edge):
            side = self.cut.on(part.side, self._entry_point(edge))
            guard = self.space.simplify(conjunction(edge.guard, side), domain)
            yield replace(edge, source=self.names[part], guard=guard)

    def _entry_point(self, edge: Edge) -> Expr:
        entry = self._entry(edge)
        assert isinstance(entry, Expr), "a branch reads points"
        return entry


def _edge(output: Output) -> Edge:
    """An output as a read from nowhere."""
    return Edge(source=output.source, out=output.out, entries=output.entries)


def _reads(node: Node, domain: Domain) -> Iterator[tuple[Domain, Edge]]:
    """What a node reads at some points, each with the points at which it does."""
    for edge in node.inputs:
        where = conjunction(domain.where, edge.guard)
        yield Domain(domain.dims, where), edge
