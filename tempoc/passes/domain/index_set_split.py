"""Nodes divided in two along a dimension: what they compute before a point, and from there on.

    %y = tanh %x : [t] f32      ->      %y.early = tanh %x : [t | t < P] f32
                                        %y.late  = tanh %x : [t | t >= P] f32

Who reads points of one part only reads that part. What is read across becomes a merge of both,
under the old name: one tensor with two writers. If nothing is read across but the point next to the
cut (``y[t-1]``), then a copy of that point is merged with the other part, so that neither store
becomes longer. Of a part nothing is kept that nobody reads: all of it, or only the point next to
the cut, or nothing. That is found out through cycles, from the readers that stay as they are.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import NamedTuple

from tempoc.base.names import Names
from tempoc.ops.control.control import Copy, Merge
from tempoc.passes.domain.cut_point import (
    SIDES,
    Cut,
    CutSide,
    NodePart,
    narrowed,
    other_side,
    part_of,
)
from tempoc.poly.relations.space import Space
from tempoc.sdg.graph.graph import Edge, Graph, Node, Output
from tempoc.sdg.statements.build import identity, tensor_name
from tempoc.symbolic.domain import Domain
from tempoc.symbolic.expr import FALSE, Entry, Expr, conjunction

OutputPort = tuple[str, int]
_NOTHING, _NEXT, _ALL = 0, 1, 2


class Divided(NamedTuple):
    """A graph with parts; what they are called, those that are gone left out."""

    graph: Graph
    names: Mapping[NodePart, str]


def divided(graph: Graph, names: Iterable[str], cut: Cut, space: Space) -> Divided:
    """The graph with these nodes in two parts each; nodes on one side only stay as they are."""
    parts: dict[NodePart, Domain] = {}
    halves_of: dict[Domain, list[Domain]] = {}
    for name in names:
        domain = graph.nodes[name].domain
        if domain not in halves_of:
            halves_of[domain] = [part_of(domain, cut, side, space) for side in SIDES]
        halves = halves_of[domain]
        if not any(space.is_empty(d) for d in halves):
            parts |= {NodePart(name, s): d for s, d in zip(SIDES, halves, strict=True)}
    division = _Division.of(graph, cut, parts, space)
    return Divided(division.result(), {part: division.names[part] for part in division.parts})


@dataclass(slots=True, kw_only=True)
class _Division:
    """One division under way: parts with the points that are needed, and what they are called.

    ``joined`` are the outputs that somebody reads across, with the side of which only the point
    next to the cut is needed for that, if there is one; ``copies`` names the copies of that point.
    """

    graph: Graph
    cut: Cut
    space: Space
    parts: dict[NodePart, Domain]
    names: dict[NodePart, str]
    joined: dict[OutputPort, CutSide | None]
    copies: dict[OutputPort, str]
    known: dict[tuple[Domain, CutSide, Entry], int]

    @classmethod
    def of(
        cls, graph: Graph, cut: Cut, parts: Mapping[NodePart, Domain], space: Space
    ) -> _Division:
        """Find out what is needed of each part, and what is read across."""
        used_names = Names(graph.nodes)
        names = {p: used_names.fresh(f"{p.node}.{p.side}") for p in parts}
        division = cls(
            graph=graph,
            cut=cut,
            space=space,
            parts=dict(parts),
            names=names,
            joined={},
            copies={},
            known={},
        )
        division._narrow()
        division._join()
        for (name, out), side in division.joined.items():
            if side is not None:
                end = "last" if side == "early" else "first"
                division.copies[name, out] = used_names.fresh(f"{tensor_name(name, out)}.{end}")
        return division

    def _is_divided(self, name: str) -> bool:
        return NodePart(name, "early") in self.names

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
        worklist = [(Domain(()), _edge(output)) for output in self.graph.outputs]
        for node, domain in self._others():
            worklist += _reads(node, domain)
        while worklist:
            sink, edge = worklist.pop()
            for part, level in self._needs(sink, edge):
                if level > levels[part]:
                    levels[part] = level
                    worklist += _reads(self.graph.nodes[part.node], self._at_level(part, level))
        self.parts = {p: self._at_level(p, n) for p, n in levels.items() if n != _NOTHING}

    def _at_level(self, part: NodePart, level: int) -> Domain:
        domain = self.parts[part]
        if level == _ALL:
            return domain
        return narrowed(domain, self.cut.is_beside(part.side), self.space)

    def _join(self) -> None:
        """Find what is read across, and how far."""
        crossing: dict[OutputPort, dict[CutSide, int]] = {}
        for sink, edge in self._plain_reads():
            needs = dict(self._needs(sink, edge))
            if len(needs) > 1:
                levels = crossing.setdefault((edge.source, edge.out), dict.fromkeys(SIDES, 0))
                for part, level in needs.items():
                    levels[part.side] = max(levels[part.side], level)
        for output, levels in crossing.items():
            adjacent = (
                s for s in SIDES if levels[s] == _NEXT and self._is_long(NodePart(output[0], s))
            )
            self.joined[output] = next(adjacent, None)

    def _is_long(self, part: NodePart) -> bool:
        """Whether a part has more than the point next to the cut."""
        return not self.space.implies(self.parts[part], self.cut.is_beside(part.side))

    def _plain_reads(self) -> Iterator[tuple[Domain, Edge]]:
        """What is read, except by branches of merges, which are divided with what they read."""
        for output in self.graph.outputs:
            yield Domain(()), _edge(output)
        for node, domain in (*self._others(), *self._divided()):
            if not isinstance(node.op, Merge):
                yield from _reads(node, domain)

    def _needs(self, sink: Domain, edge: Edge) -> Iterator[tuple[NodePart, int]]:
        """How much of which parts a read needs."""
        touched = self._touched(sink, edge)
        for part in touched:
            yield part, self._level(sink, part.side, self._entry(edge))
        if not touched and self._is_divided(edge.source):
            yield NodePart(edge.source, "late"), _NEXT  # it reads nothing, but reads it somewhere

    def _entry(self, edge: Edge) -> Entry:
        """The access along the dimension that is cut."""
        return edge.entries[self.graph.nodes[edge.source].domain.dims.index(self.cut.dim)]

    def _touched(self, sink: Domain, edge: Edge) -> list[NodePart]:
        """The parts that a read touches; none where its source is not divided."""
        parts = [p for side in SIDES if (p := NodePart(edge.source, side)) in self.parts]
        return [p for p in parts if self._level(sink, p.side, self._entry(edge)) != _NOTHING]

    def _level(self, sink: Domain, side: CutSide, entry: Entry) -> int:
        """How much an access reads on a side."""
        key = sink, side, entry
        if key not in self.known:
            where = conjunction(sink.where, self.cut.touches(side, entry))
            touched = Domain(sink.dims, where)
            if self.space.is_empty(touched):
                self.known[key] = _NOTHING
            else:
                beside = self.space.implies(touched, self.cut.stays_beside(side, entry))
                self.known[key] = _NEXT if beside else _ALL
        return self.known[key]

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
        if not self._is_divided(node.name):
            yield self._rewritten(node, node.domain)
            return
        outs = [out for out in range(len(node.types)) if (node.name, out) in self.joined]
        merged = isinstance(node.op, Merge) and bool(outs)
        for side in self._apart(node) if merged else SIDES:
            if (part := NodePart(node.name, side)) in self.parts:
                rewritten = self._rewritten(node, self.parts[part])
                yield replace(rewritten, name=self.names[part])
        for out in outs:
            yield from self._copy(node, out)
            yield self._more(node) if merged else self._merge(node, out)

    def _apart(self, merge: Node) -> tuple[CutSide, ...]:
        """The side of a merge that is read across which has a merge of its own all the same."""
        side = self.joined[merge.name, 0]
        return () if side is None else (side,)

    def _end(self, node: Node, out: int, side: CutSide) -> Domain:
        """What a part contributes to the tensor that is read across."""
        domain = self.parts[NodePart(node.name, side)]
        if self.joined[node.name, out] != side:
            return domain
        return narrowed(domain, self.cut.is_beside(side), self.space)

    def _both(self, node: Node, out: int) -> Domain:
        """The points of the tensor that is read across."""
        return self.space.union(*(self._end(node, out, side) for side in SIDES))

    def _copy(self, node: Node, out: int) -> Iterator[Node]:
        """The point next to the cut, where that is all that is read across."""
        side = self.joined[node.name, out]
        if side is not None:
            domain = self._end(node, out, side)
            edge = Edge(
                source=self.names[NodePart(node.name, side)], out=out, entries=identity(domain)
            )
            yield Node(
                name=self.copies[node.name, out],
                op=Copy(),
                domain=domain,
                inputs=(edge,),
                types=(node.types[out],),
                spans=node.spans,
            )

    def _merge(self, node: Node, out: int) -> Node:
        """One tensor, with the parts of a node for writers."""
        domain = self._both(node, out)
        return Node(
            name=tensor_name(node.name, out),
            op=Merge(targets=(identity(domain),) * 2),
            domain=domain,
            inputs=tuple(self._writer(node, out, side, domain) for side in SIDES),
            types=(node.types[out],),
            spans=node.spans,
        )

    def _writer(self, node: Node, out: int, side: CutSide, domain: Domain) -> Edge:
        """The branch of a part, or of the copy of its end."""
        copied = self.joined[node.name, out] == side
        return Edge(
            source=self.copies[node.name, out] if copied else self.names[NodePart(node.name, side)],
            out=0 if copied else out,
            entries=identity(domain),
            guard=self.space.simplify(self.cut.on(side), domain),
        )

    def _more(self, node: Node) -> Node:
        """A merge that is read across; a copy stands for the branches of a side read at its end."""
        domain = self._both(node, 0)
        side = self.joined[node.name, 0]
        if side is None:
            return self._rewritten(node, domain)
        remaining = self._rewritten(node, self.parts[NodePart(node.name, other_side(side))])
        assert isinstance(remaining.op, Merge)
        guard = self.cut.on(other_side(side))
        inputs = [
            replace(e, guard=self.space.simplify(conjunction(e.guard, guard), domain))
            for e in remaining.inputs
        ]
        op = replace(remaining.op, targets=(*remaining.op.targets, identity(domain)))
        inputs.append(self._writer(node, 0, side, domain))
        return replace(remaining, op=op, domain=domain, inputs=tuple(inputs))

    def _rewritten(self, node: Node, domain: Domain) -> Node:
        """A node at some of its points, reading parts."""
        if domain == node.domain and not any(self._is_divided(e.source) for e in node.inputs):
            return node
        if not isinstance(node.op, Merge):
            inputs = tuple(self._read(domain, edge) for edge in node.inputs)
            return replace(node, domain=domain, inputs=inputs)
        branches = [
            (branch, target)
            for edge, target in zip(node.inputs, node.op.targets, strict=True)
            for branch in self._branches(domain, edge)
        ]
        op = replace(node.op, targets=tuple(target for _, target in branches))
        return replace(node, op=op, domain=domain, inputs=tuple(edge for edge, _ in branches))

    def _read(self, sink: Domain, edge: Edge) -> Edge:
        """The same read, of the part that it touches, or of both as one tensor.

        At its own point a part is read itself: that may be in the same kernel.
        """
        if not self._is_divided(edge.source):
            return edge
        node = self.graph.nodes[edge.source]
        touched = self._touched(sink, edge)
        output = edge.source, edge.out
        if output in self.joined and (len(touched) != 1 or self._is_whole(touched[0], edge)):
            out = edge.out if isinstance(node.op, Merge) else 0
            return replace(edge, source=tensor_name(*output), out=out)
        touched = touched or [p for p in self.parts if p.node == node.name]
        return replace(edge, source=self.names[touched[0]])

    def _is_whole(self, part: NodePart, edge: Edge) -> bool:
        """Whether a read of one part goes to the tensor that is read across.

        At its own point a part is read itself: that may be in the same kernel.
        """
        node = self.graph.nodes[part.node]
        if self.joined[part.node, edge.out] == part.side:
            return False
        return isinstance(node.op, Merge) or edge.entries != identity(node.domain)

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
