"""Index-set splitting: nodes become two along a dimension, before a cut point and from there on.

    %y = tanh %x : [t] f32      ->      %y.early = tanh %x : [t | t < P] f32
                                        %y.late  = tanh %x : [t | t >= P] f32

A read of points on one side becomes a read of that part. If a read *crosses* the cut, the tensor
becomes a merge of both parts, under the old name: one tensor with two writers. If crossing reads
need only the boundary point of a side (``y[t-1]``), or only the last points before the cut
(``y[t-3:t+1]``), a copy of these is merged with the other part, so that neither buffer grows. Each
part keeps only the points that are read (its *level*): all of them, those near the cut, only the
boundary point, or none. Levels are a fixpoint over cycles, from the readers that are not split.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import NamedTuple

from tempoc.base.names import Names
from tempoc.ops.control.control import Copy, Merge
from tempoc.passes.domain.cut_point import (
    SIDES,
    Cut,
    CutSide,
    NodePart,
    first_of,
    other_side,
    part_of,
)
from tempoc.poly.relations.space import Space
from tempoc.sdg.graph.graph import Edge, Graph, Node
from tempoc.sdg.statements.build import identity, tensor_name
from tempoc.symbolic import expr as ix
from tempoc.symbolic.domain import Domain
from tempoc.symbolic.walk import substitute, symbols

OutputPort = tuple[str, int]
_NOTHING, _BOUNDARY, _NEAR, _ALL = 0, 1, 2, 3


class SplitResult(NamedTuple):
    """The graph after the split, and the names of the parts that are left."""

    graph: Graph
    names: Mapping[NodePart, str]


class _Fringe(NamedTuple):
    """The points of a side next to the cut: the boundary point, or those near the cut."""

    side: CutSide
    level: int


def split_nodes(graph: Graph, names: Iterable[str], cut: Cut, space: Space) -> SplitResult:
    """Split these nodes in two parts each; nodes with points on one side only stay as they are."""
    parts: dict[NodePart, Domain] = {}
    halves_of: dict[Domain, list[Domain]] = {}
    for name in names:
        domain = graph.nodes[name].domain
        if domain not in halves_of:
            halves_of[domain] = [part_of(domain, cut, side, space) for side in SIDES]
        halves = halves_of[domain]
        if not any(space.is_empty(d) for d in halves):
            parts |= {NodePart(name, s): d for s, d in zip(SIDES, halves, strict=True)}
    division = _IndexSetSplit.of(graph, cut, parts, space)
    return SplitResult(division.result(), {part: division.names[part] for part in division.parts})


@dataclass(slots=True, kw_only=True)
class _IndexSetSplit:
    """The state of one split: parts with the points that are needed, and their names.

    ``crossing`` are the outputs with crossing reads, each with the side of which these need only
    the points next to the cut, if there is one; ``copies`` are the names of the copies of these
    points. ``near`` is the first early point that windows of late points read, if that is known.
    ``levels`` memoizes what an access needs of a side.
    """

    graph: Graph
    cut: Cut
    space: Space
    parts: dict[NodePart, Domain]
    names: dict[NodePart, str]
    crossing: dict[OutputPort, _Fringe | None]
    near: ix.Expr | None
    copies: dict[OutputPort, str]
    levels: dict[tuple[Domain, CutSide, ix.Entry], int]

    @classmethod
    def of(
        cls, graph: Graph, cut: Cut, parts: Mapping[NodePart, Domain], space: Space
    ) -> _IndexSetSplit:
        """Compute the level of each part, and the crossing reads."""
        used_names = Names(graph.nodes)
        names = {p: used_names.fresh(f"{p.node}.{p.side}") for p in parts}
        division = cls(
            graph=graph,
            cut=cut,
            space=space,
            parts=dict(parts),
            names=names,
            crossing={},
            near=_first_near(graph, cut, {part.node for part in parts}),
            copies={},
            levels={},
        )
        division._propagate_demand()
        division._find_crossing_reads()
        for (name, out), fringe in division.crossing.items():
            if fringe is not None:
                end = "last" if fringe.side == "early" else "first"
                division.copies[name, out] = used_names.fresh(f"{tensor_name(name, out)}.{end}")
        return division

    def _is_split(self, name: str) -> bool:
        return NodePart(name, "early") in self.names

    def _unsplit(self) -> Iterator[tuple[Node, Domain]]:
        """The nodes that are not split."""
        for node in self.graph.nodes.values():
            if not self._is_split(node.name):
                yield node, node.domain

    def _split(self) -> Iterator[tuple[Node, Domain]]:
        """The parts, each as its original node and the domain of the part."""
        for part, domain in self.parts.items():
            yield self.graph.nodes[part.node], domain

    # ------------------------------------------------------------ what is needed

    def _propagate_demand(self) -> None:
        """Reduce the parts to the points that are read, by a worklist from the unsplit readers."""
        levels = dict.fromkeys(self.parts, _NOTHING)
        worklist = [(Domain(()), output.edge) for output in self.graph.outputs]
        for node, domain in self._unsplit():
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
        return domain if level == _ALL else self._fringe(domain, _Fringe(part.side, level))

    def _fringe(self, domain: Domain, fringe: _Fringe) -> Domain:
        """The points of a part next to the cut."""
        if fringe.level == _NEAR:
            assert self.near is not None
            return self.space.restrict(domain, self.cut.is_from(self.near))
        return self.space.restrict(domain, self.cut.is_boundary(fringe.side))

    def _find_crossing_reads(self) -> None:
        """Find the outputs with crossing reads, and how much of each side these need."""
        crossing: dict[OutputPort, dict[CutSide, int]] = {}
        for sink, edge in self._plain_reads():
            needs = dict(self._needs(sink, edge))
            if len(needs) > 1:
                levels = crossing.setdefault((edge.source, edge.out), dict.fromkeys(SIDES, 0))
                for part, level in needs.items():
                    levels[part.side] = max(levels[part.side], level)
        for output, levels in crossing.items():
            fringes = (_Fringe(side, levels[side]) for side in SIDES)
            adjacent = (f for f in fringes if self._is_shorter(NodePart(output[0], f.side), f))
            self.crossing[output] = next(adjacent, None)

    def _is_shorter(self, part: NodePart, fringe: _Fringe) -> bool:
        """Whether a part has more than the points next to the cut."""
        if fringe.level not in (_BOUNDARY, _NEAR):
            return False
        domain = self.parts[part]
        return not self.space.contains(self._fringe(domain, fringe), domain)

    def _plain_reads(self) -> Iterator[tuple[Domain, Edge]]:
        """All reads except those of merges, whose branches are split with their operands."""
        for output in self.graph.outputs:
            yield Domain(()), output.edge
        for node, domain in (*self._unsplit(), *self._split()):
            if not isinstance(node.op, Merge):
                yield from _reads(node, domain)

    def _needs(self, sink: Domain, edge: Edge) -> Iterator[tuple[NodePart, int]]:
        """The parts that a read needs, each with the level."""
        touched = self._touched_parts(sink, edge)
        for part in touched:
            yield part, self._level(sink, part.side, self._entry(edge))
        if not touched and self._is_split(edge.source):
            yield (
                NodePart(edge.source, "late"),
                _BOUNDARY,
            )  # it reads nothing, but reads it somewhere

    def _entry(self, edge: Edge) -> ix.Entry:
        """The entry of an access along the dimension that is cut."""
        return edge.entries[self.graph.nodes[edge.source].domain.dims.index(self.cut.dim)]

    def _touched_parts(self, sink: Domain, edge: Edge) -> list[NodePart]:
        """The parts that a read touches; none if its source is not split."""
        parts = [p for side in SIDES if (p := NodePart(edge.source, side)) in self.parts]
        return [p for p in parts if self._level(sink, p.side, self._entry(edge)) != _NOTHING]

    def _level(self, sink: Domain, side: CutSide, entry: ix.Entry) -> int:
        """The level that an access needs of a side."""
        key = sink, side, entry
        if key not in self.levels:
            where = ix.conjunction(sink.where, self.cut.touches(side, entry))
            touched = Domain(sink.dims, where)
            if self.space.is_empty(touched):
                self.levels[key] = _NOTHING
            else:
                self.levels[key] = self._level_of_touched(touched, side, entry)
        return self.levels[key]

    def _level_of_touched(self, touched: Domain, side: CutSide, entry: ix.Entry) -> int:
        if self.space.implies(touched, self.cut.reads_only_boundary(side, entry)):
            return _BOUNDARY
        if side == "late" or self.near is None:
            return _ALL
        is_near = ix.compare(">=", first_of(entry), self.near)
        return _NEAR if self.space.implies(touched, is_near) else _ALL

    # ------------------------------------------------------------ the result

    def result(self) -> Graph:
        """The new graph: parts take the place of their node, followed by the merge of both."""
        nodes = {m.name: m for node in self.graph.nodes.values() for m in self._split_node(node)}
        outputs = []
        for output in self.graph.outputs:
            edge = self._read(Domain(()), output.edge)
            outputs.append(replace(output, source=edge.source, out=edge.out))
        return replace(self.graph, nodes=nodes, outputs=tuple(outputs))

    def _split_node(self, node: Node) -> Iterator[Node]:
        """The nodes that replace a node."""
        if not self._is_split(node.name):
            yield self._rewrite(node, node.domain)
            return
        outs = [out for out in range(len(node.types)) if (node.name, out) in self.crossing]
        merged = isinstance(node.op, Merge) and bool(outs)
        for side in self._separate_sides(node) if merged else SIDES:
            if (part := NodePart(node.name, side)) in self.parts:
                rewritten = self._rewrite(node, self.parts[part])
                yield replace(rewritten, name=self.names[part])
        for out in outs:
            yield from self._copy(node, out)
            yield self._crossing_merge(node) if merged else self._merge(node, out)

    def _separate_sides(self, merge: Node) -> tuple[CutSide, ...]:
        """The side of a merge with crossing reads that still needs a merge of its own."""
        fringe = self.crossing[merge.name, 0]
        return () if fringe is None else (fringe.side,)

    def _crossing_part(self, node: Node, out: int, side: CutSide) -> Domain:
        """The points that a part contributes to the tensor of crossing reads."""
        domain = self.parts[NodePart(node.name, side)]
        fringe = self.crossing[node.name, out]
        if fringe is None or fringe.side != side:
            return domain
        return self._fringe(domain, fringe)

    def _crossing_domain(self, node: Node, out: int) -> Domain:
        """The points of the tensor of crossing reads."""
        return self.space.union(*(self._crossing_part(node, out, side) for side in SIDES))

    def _copy(self, node: Node, out: int) -> Iterator[Node]:
        """The copy of the points next to the cut, if crossing reads need no more of that side."""
        fringe = self.crossing[node.name, out]
        if fringe is not None:
            domain = self._crossing_part(node, out, fringe.side)
            source = self.names[NodePart(node.name, fringe.side)]
            edge = Edge(source=source, out=out, entries=identity(domain))
            yield Node(
                name=self.copies[node.name, out],
                op=Copy(),
                domain=domain,
                inputs=(edge,),
                types=(node.types[out],),
                spans=node.spans,
            )

    def _merge(self, node: Node, out: int) -> Node:
        """The merge of both parts of a node."""
        domain = self._crossing_domain(node, out)
        return Node(
            name=tensor_name(node.name, out),
            op=Merge(targets=(identity(domain),) * 2),
            domain=domain,
            inputs=tuple(self._crossing_branch(node, out, side, domain) for side in SIDES),
            types=(node.types[out],),
            spans=node.spans,
        )

    def _crossing_branch(self, node: Node, out: int, side: CutSide, domain: Domain) -> Edge:
        """The branch of a part, or of the copy of its points next to the cut."""
        copied = self._is_copied(node.name, out, side)
        return Edge(
            source=self.copies[node.name, out] if copied else self.names[NodePart(node.name, side)],
            out=0 if copied else out,
            entries=identity(domain),
            guard=self.space.simplify(self.cut.on(side), domain),
        )

    def _is_copied(self, name: str, out: int, side: CutSide) -> bool:
        """Whether crossing reads take points of this side from a copy."""
        fringe = self.crossing[name, out]
        return fringe is not None and fringe.side == side

    def _crossing_merge(self, node: Node) -> Node:
        """A merge with crossing reads; a copy replaces the branches of a side if that is enough."""
        domain = self._crossing_domain(node, 0)
        fringe = self.crossing[node.name, 0]
        if fringe is None:
            return self._rewrite(node, domain)
        side = fringe.side
        remaining = self._rewrite(node, self.parts[NodePart(node.name, other_side(side))])
        assert isinstance(remaining.op, Merge)
        guard = self.cut.on(other_side(side))
        inputs = [
            replace(e, guard=self.space.simplify(ix.conjunction(e.guard, guard), domain))
            for e in remaining.inputs
        ]
        op = replace(remaining.op, targets=(*remaining.op.targets, identity(domain)))
        inputs.append(self._crossing_branch(node, 0, side, domain))
        return replace(remaining, op=op, domain=domain, inputs=tuple(inputs))

    def _rewrite(self, node: Node, domain: Domain) -> Node:
        """A node in a smaller domain, with reads of parts."""
        if domain == node.domain and not any(self._is_split(e.source) for e in node.inputs):
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
        """The read redirected to the part that it touches, or to the merge of both."""
        if not self._is_split(edge.source):
            return edge
        node = self.graph.nodes[edge.source]
        touched = self._touched_parts(sink, edge)
        output = edge.source, edge.out
        if output in self.crossing and (
            len(touched) != 1 or self._reads_crossing_tensor(touched[0], edge)
        ):
            out = edge.out if isinstance(node.op, Merge) else 0
            return replace(edge, source=tensor_name(*output), out=out)
        touched = touched or [p for p in self.parts if p.node == node.name]
        return replace(edge, source=self.names[touched[0]])

    def _reads_crossing_tensor(self, part: NodePart, edge: Edge) -> bool:
        """Whether a read that touches one part goes to the merge of both all the same.

        At its own point it reads the part directly: both may then be in the same kernel.
        """
        node = self.graph.nodes[part.node]
        if self._is_copied(part.node, edge.out, part.side):
            return False
        return isinstance(node.op, Merge) or edge.entries != identity(node.domain)

    def _branches(self, domain: Domain, edge: Edge) -> Iterator[Edge]:
        """The branches that replace one of a merge: one for each part that it reads."""
        sink = Domain(domain.dims, ix.conjunction(domain.where, edge.guard))
        if not self._is_split(edge.source):
            guard = self.space.simplify(edge.guard, domain)
            if guard != ix.FALSE:
                yield replace(edge, guard=guard)
            return
        for part in self._touched_parts(sink, edge):
            side = self.cut.on(part.side, self._entry_point(edge))
            guard = self.space.simplify(ix.conjunction(edge.guard, side), domain)
            yield replace(edge, source=self.names[part], guard=guard)

    def _entry_point(self, edge: Edge) -> ix.Expr:
        entry = self._entry(edge)
        assert isinstance(entry, ix.Expr), "a branch reads points"
        return entry


def _first_near(graph: Graph, cut: Cut, names: Collection[str]) -> ix.Expr | None:
    """The first point that the first late point reads of windows that move along with it."""
    starts: dict[ix.Expr, None] = {}
    dims = {dim.name for dim in graph.universe.dims}
    for node in graph.nodes.values():
        for edge in node.inputs:
            if cut.dim in node.domain.dims and edge.source in names:
                source = graph.nodes[edge.source]
                first = first_of(edge.entries[source.domain.dims.index(cut.dim)])
                if cut.dim in symbols(first) and first != ix.Sym(cut.dim):
                    start = substitute(first, {cut.dim: cut.at})
                    starts |= {start: None} if dims.isdisjoint(symbols(start)) else {}
    return ix.minimum(*starts) if starts else None


def _reads(node: Node, domain: Domain) -> Iterator[tuple[Domain, Edge]]:
    """The reads of a node in a domain, each with the points at which it happens."""
    for edge in node.inputs:
        where = ix.conjunction(domain.where, edge.guard)
        yield Domain(domain.dims, where), edge
