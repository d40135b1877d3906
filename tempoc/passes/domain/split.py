"""Index-set splitting of loops: cut where a loop-carried dependence begins or ends.

    %tok.1 = copy %best[t-1] : [t | t >= P] i32
    %tok = merge %given when t < P, %tok.1 when t >= P : [t] i32
    %best = argmax %logits : [t] i32               # which needs %tok

    ->   %x.early = ... : [t | t < P]              %x.late = ... : [t | t >= P]

Points before ``P`` depend on no other points: they can be vectorized
(``vectorization/vectorize.py``), and only the remaining ones are a loop. A dimension is cut where a
merge in a dependence cycle switches branches, if some node with real work is then in no cycle on
one side.

Any cut preserves semantics: each point is computed by one part, and a part reads what the node
read. Parts may be empty. Code size doubles, so nothing is cut without that benefit.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import ClassVar, NamedTuple

from tempoc.base.effort import EFFORT
from tempoc.ops.control.control import Merge
from tempoc.ops.indexing.indexing import SpatialIndex
from tempoc.passes.analysis.dependence import stuck_cycles
from tempoc.passes.analysis.loop_carried import (
    loop_members,
    recurrences,
    splittable_nodes,
    thresholds,
)
from tempoc.passes.context import GraphPass, PassContext
from tempoc.passes.domain.cut_point import SIDES, Cut, CutSide, NodePart
from tempoc.passes.domain.index_set_split import SplitResult, split_nodes
from tempoc.passes.vectorization.memory_guard import affordable_nodes
from tempoc.poly.relations.memo import Memo
from tempoc.poly.relations.space import Space
from tempoc.sdg.graph.graph import Graph, Node
from tempoc.sdg.graph.rewrite import drop_dead
from tempoc.sdg.statements.build import is_computed
from tempoc.symbolic import expr as ix
from tempoc.symbolic.domain import Domain
from tempoc.symbolic.text import show as show_expr
from tempoc.symbolic.walk import symbols


class SplitLoops(GraphPass):
    """Cuts loops where one side needs none."""

    __slots__ = ()
    name: ClassVar[str] = "split"

    def run(self, graph: Graph, context: PassContext) -> Graph:
        """The graph with loops cut; a program whose lengths the data decide stays as it is."""
        if graph.universe.lengths:
            return graph
        for dim in graph.universe.dims:
            cuts: list[ix.Expr] = []
            for _ in range(EFFORT.split_rounds):
                gain = next(_profitable_cuts(graph, dim.name, context.space, cuts), None)
                if gain is None:
                    break
                cuts.append(gain.cut.at)
                _remark(graph, gain, context)
                graph = drop_dead(gain.graph)
        return graph


class _ProfitableCut(NamedTuple):
    """A cut, the graph with it, and which nodes one side can then vectorize."""

    cut: Cut
    side: CutSide
    graph: Graph
    freed: tuple[str, ...]


def _profitable_cuts(
    graph: Graph, dim: str, space: Space, cuts: Sequence[ix.Expr]
) -> Iterator[_ProfitableCut]:
    """The cuts along a dimension after which one side can vectorize a node with real work.

    ``cuts`` are those made already.
    """
    proofs, space = space, space.symbolic  # no domain depends on the value of a fixed bound
    tried = without_crowds(thresholds(graph, dim, graph.nodes, proofs), cuts)
    if not tried:
        return
    trials = _Trials(graph, dim, space, splittable_nodes(graph), Memo())
    for cycle in recurrences(graph, dim, space):
        loop: tuple[str, ...] = ()
        for at in thresholds(graph, dim, cycle, proofs):
            if at not in tried:
                continue
            cut = Cut(dim=dim, at=at)
            loop = loop or loop_members(graph, dim, cycle, trials.splittable)
            for side in SIDES:
                one_side = trials.one_side(loop, cut, side)
                candidates = [
                    one_side.graph.nodes[n]
                    for n in cycle
                    if n in one_side.graph.nodes and n not in one_side.cyclic
                ]
                candidates = [n for n in candidates if _crosses(graph.nodes[n.name], cut, space)]
                if any(computes(n) for n in candidates):
                    vectorizable = trials.vectorizable(loop, cut, side)
                    if not any(computes(n) for n in candidates if n.name in vectorizable):
                        continue  # without the split, which takes most of the time
                    division = trials.division(loop, cut)
                    vectorized = _worth_vectorizing(division, vectorizable, side, dim, space)
                    freed = [
                        n
                        for n in candidates
                        if division.names.get(NodePart(n.name, side)) in vectorized
                    ]
                    if any(computes(n) for n in freed):
                        names = tuple(n.name for n in freed if computes(n))
                        yield _ProfitableCut(cut, side, division.graph, names)


def without_crowds(points: Sequence[ix.Expr], cuts: Sequence[ix.Expr]) -> set[ix.Expr]:
    """The points without those of which many lie at constant distances, as of `when t == 3`.

    Between them lie few steps. Of such a crowd one is left, with all the others on the same side
    as the end of the dimension that they are near; and none once it has been cut there.
    """
    left: set[ix.Expr] = set()
    for point in points:
        crowd = {p: d.value for p in points if isinstance(d := ix.sub(p, point), ix.Const)}
        if len(crowd) <= EFFORT.split_rounds:
            left.add(point)
        elif not any(isinstance(ix.sub(cut, point), ix.Const) for cut in cuts):
            outermost = min if symbols(point) else max
            left.add(outermost(crowd, key=crowd.__getitem__))
    return left


def _worth_vectorizing(
    division: SplitResult, free: Sequence[str], side: CutSide, dim: str, space: Space
) -> set[str]:
    """The parts of a side that are vectorized in the split graph, within the memory guard."""
    names = [division.names.get(NodePart(name, side), name) for name in free]
    return {
        *affordable_nodes(
            division.graph, dim, [n for n in names if n in division.graph.nodes], space
        )
    }


def _crosses(node: Node, cut: Cut, space: Space) -> bool:
    """Whether a node has points on both sides."""
    domain = node.domain
    return not any(
        space.is_empty(Domain(domain.dims, ix.conjunction(domain.where, cut.on(side))))
        for side in SIDES
    )


def computes(node: Node) -> bool:
    """Whether a node computes something, rather than moving values or recomputing cheap ones."""
    moves = node.op.moves or isinstance(node.op, Merge | SpatialIndex)
    return not (moves or node.op.cheap)


# ---------------------------------------------------------------- one side alone


class _SideOfCut(NamedTuple):
    """The subgraph of one side of a cut, and its nodes in loop-carried cycles."""

    graph: Graph
    cyclic: frozenset[str]


class _Trials(NamedTuple):
    """Cuts of a graph: many cycles may be in one loop, of which each cut is tried once."""

    graph: Graph
    dim: str
    space: Space
    splittable: set[str]
    known: Memo

    def one_side(self, loop: tuple[str, ...], cut: Cut, side: CutSide) -> _SideOfCut:
        """The nodes of a loop on one side."""

        def compute() -> _SideOfCut:
            alone = _one_side(self.graph, loop, cut, side, self.space, self.splittable)
            cycles = recurrences(alone, self.dim, self.space)
            return _SideOfCut(alone, frozenset(n for cycle in cycles for n in cycle))

        return self.known.once(("side", loop, cut, side), compute)

    def vectorizable(self, loop: tuple[str, ...], cut: Cut, side: CutSide) -> tuple[str, ...]:
        """The nodes of a loop that can be vectorized on one side."""
        graph = self.one_side(loop, cut, side).graph
        return self.known.once(
            ("vectorizable", loop, cut, side),
            lambda: _vectorizable(graph, self.dim, self.space, self.splittable),
        )

    def division(self, loop: tuple[str, ...], cut: Cut) -> SplitResult:
        """The graph with a loop cut in two."""
        names = [n for n in loop if n in self.splittable]
        return self.known.once(
            ("division", loop, cut), lambda: split_nodes(self.graph, names, cut, self.space)
        )


def _one_side(
    graph: Graph, names: Sequence[str], cut: Cut, side: CutSide, space: Space, able: set[str]
) -> Graph:
    """The subgraph of these nodes on one side, as if everything else was computed already."""
    halves = {
        domain: Domain(domain.dims, ix.conjunction(domain.where, cut.on(side)))
        for domain in dict.fromkeys(graph.nodes[name].domain for name in names)
    }
    nodes: dict[str, Node] = {}
    for name in names:
        node = graph.nodes[name]
        domain = halves[node.domain] if name in able else node.domain
        if not space.is_empty(domain):
            nodes[name] = replace(node, domain=domain)
    for name, node in nodes.items():
        slots = [
            slot
            for slot, edge in enumerate(node.inputs)
            if edge.source in nodes and _is_taken(node.domain, edge.guard, space)
        ]
        op = node.op
        if isinstance(op, Merge):
            op = replace(op, targets=tuple(op.targets[slot] for slot in slots))
        inputs = tuple(node.inputs[slot] for slot in slots)
        nodes[name] = replace(node, op=op, inputs=inputs)
    return replace(graph, nodes=nodes, outputs=())


def _is_taken(domain: Domain, guard: ix.Expr, space: Space) -> bool:
    """Whether a branch of a merge is taken somewhere."""
    return guard == ix.TRUE or not space.is_empty(
        Domain(domain.dims, ix.conjunction(domain.where, guard))
    )


def _vectorizable(graph: Graph, dim: str, space: Space, able: set[str]) -> tuple[str, ...]:
    """The nodes that can be vectorized along a dimension: candidates without those in cycles."""
    nodes = [n for n in graph.nodes.values() if is_computed(n)]
    vectorized = [n.name for n in nodes if n.name in able]
    while vectorized:
        trial_nodes = {n: replace(graph.nodes[n], vector=(dim,)) for n in vectorized}
        trial = replace(graph, nodes={**graph.nodes, **trial_nodes})
        unschedulable = {n for names in stuck_cycles(trial, space) for n in names}
        if not unschedulable or not any(s in unschedulable for s in vectorized):
            return () if unschedulable else tuple(vectorized)
        vectorized = [s for s in vectorized if s not in unschedulable]
    return ()


def _remark(graph: Graph, gain: _ProfitableCut, context: PassContext) -> None:
    """Add a remark on the cut and its benefit."""
    early, late = (gain.cut.on(s) for s in SIDES)
    vectorized, looped = (early, late) if gain.side == "early" else (late, early)
    message = (
        f"{show_expr(vectorized)} is computed apart from {show_expr(looped)}: there "
        f"{need_no_others(gain.freed, gain.cut.dim)}"
    )
    head = next((n for n in gain.freed if "." not in n), gain.freed[0])
    context.remarks.add("split", message, graph.nodes[head].span)


def need_no_others(names: Sequence[str], dim: str) -> str:
    """Words of a remark: of these nodes, those that the source names first need no other point."""
    heads = [n for n in names if "." not in n] or names
    shown = ", ".join(f"`{n}`" for n in heads[:4]) + (", ..." if len(heads) > 4 else "")
    return f"{shown} need{'s' if len(heads) == 1 else ''} no earlier or later point in {dim}"
