"""Online softmax: sums of exponentials run along with the maximum that is subtracted in them.

In ``sum(exp(x - max(x)))`` the sum waits for the maximum, so that all tiles of ``x`` are needed
twice. But ``exp(x - m) = exp(x - r) * exp(r - m)``, so the sum may use the maximum ``r`` of the
elements *so far*, if the previous partial sum is multiplied by ``exp(r.past - r.now)`` whenever
that grows. The same holds for everything that is linear in the terms: their sum, or a contraction
with other tensors. A factor that does not vary along the axis, such as a division by the sum
itself, is deferred: it is applied to the result.

    max(x);  e = exp(x - max(x));  sum(e);  (e / sum(e)) @ v        three ends, one loop over tiles

This is the online softmax of Milakov and Gimelshein (Online normalizer calculation for softmax,
2018), which flash attention computes; here it follows from the two rules above.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import NamedTuple

from tempoc.ops.definition.axis_links import Link
from tempoc.ops.definition.shapes import Shape
from tempoc.ops.tensor import arithmetic as binary, elementwise as unary
from tempoc.ops.tensor.reduction import Max
from tempoc.passes.tiling.axis_flow import AxisAt, AxisFlows
from tempoc.passes.tiling.partial_results import combination
from tempoc.passes.tiling.region import PhasedOperands, TileRegion, phases
from tempoc.sdg.graph.graph import Edge, Node
from tempoc.sdg.graph.query import operand_type, operand_types
from tempoc.sdg.statements.build import identity
from tempoc.symbolic import expr as ix

Axes = tuple[int | None, ...]
"""The result's axis for each axis of an operand; ``None`` for an axis with one element."""


class SoftmaxTerm(NamedTuple):
    """A node, and the operand that depends on the terms."""

    node: str
    slot: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Factor:
    """A factor or divisor of the terms at ``step``, and the result's axes for its own."""

    step: SoftmaxTerm
    axes: Axes

    @property
    def slot(self) -> int:
        """The operand of the step that is the factor."""
        return 1 - self.step.slot


@dataclass(frozen=True, slots=True, kw_only=True)
class RunningEnd:
    """A reduction that runs along with the maximum ``top``.

    ``moves`` lead from ``top`` to its subtraction, ``steps`` from there to the reduction. ``axes``
    are the result's axes for those of the maximum. ``factors`` are deferred to the result.
    """

    top: str
    moves: tuple[str, ...]
    steps: tuple[SoftmaxTerm, ...]
    axes: Axes
    factors: tuple[Factor, ...]


@dataclass(slots=True, kw_only=True)
class RunningEndFinder:
    """Finds the reductions of a region that may run along with a maximum.

    ``needs`` are the operands of each node and ``phases`` the number of loops over tiles before it
    (``region.py``).
    """

    flows: AxisFlows
    region: TileRegion
    needs: PhasedOperands
    phases: Mapping[str, int]

    def find(self) -> tuple[dict[str, RunningEnd], Mapping[str, int]]:
        """The running ends, and the phases of all nodes, where each end is in its maximum's."""
        every = {name: self.running(name) for name in self.region.ends}
        ends = {name: running for name, running in every.items() if running is not None}
        while ends:
            needs = {**self.needs, **{name: self.awaited_operands(r) for name, r in ends.items()}}
            order = phases(self.flows, self.region, needs)
            valid = {n: r for n, r in ends.items() if order and self.is_in_time(n, r, order)}
            if order and len(valid) == len(ends):
                return ends, order
            ends = valid
        return {}, self.phases

    def awaited_operands(self, running: RunningEnd) -> Sequence[tuple[str, int]]:
        """The dependences of an end that runs along with its maximum."""
        left_out = {f.step for f in running.factors}
        operands = [(running.top, 0)]
        for before, step in pairwise(running.steps):
            if step not in left_out:
                operands += self.other_operands(step, before)
        return operands

    def other_operands(self, step: SoftmaxTerm, before: SoftmaxTerm) -> list[tuple[str, int]]:
        """The dependences of a step on nodes other than its terms."""
        return [(s, later) for s, later in self.needs.get(step.node, ()) if s != before.node]

    def is_in_time(self, name: str, running: RunningEnd, order: Mapping[str, int]) -> bool:
        """Whether an end shares its maximum's loop, and its factors are ready right after that."""
        left_out = {f.step for f in running.factors}
        pairs = [(step, before) for before, step in pairwise(running.steps) if step in left_out]
        waits = [need for pair in pairs for need in self.other_operands(*pair)]
        late = max((order[source] + later for source, later in waits), default=0)
        return order[name] == order[running.top] and late <= order[name] + 1

    def running(self, name: str) -> RunningEnd | None:
        """The running form of an end; ``None`` if it has none."""
        node = self.flows.graph.nodes[name]
        how = combination(node.op, operand_types(self.flows.graph, node), node.types[0].dtype)
        if how is None or not isinstance(how.more, binary.Add):
            return None
        every = (self.running_end(c) for c in self.chains(AxisAt(name, self.region.ends[name])))
        return next((running for running in every if running is not None), None)

    # ------------------------------------------------------------ from an end to its terms

    def chains(self, at: AxisAt) -> Iterator[tuple[SoftmaxTerm, ...]]:
        """The chains of linear steps from the exponential of a difference to a node."""
        node = self.flows.graph.nodes[at.node]
        for slot, source in self.tile_operands(at):
            below = self.flows.graph.nodes[source.node]
            if isinstance(node.op, unary.Exp):
                if isinstance(below.op, binary.Subtract):
                    yield SoftmaxTerm(source.node, 0), SoftmaxTerm(at.node, slot)
            elif self.is_linear(node, slot):
                for steps in self.chains(source):
                    yield *steps, SoftmaxTerm(at.node, slot)

    def tile_operands(self, at: AxisAt) -> Iterator[tuple[int, AxisAt]]:
        """The operands of a node that are tiles at its own point, if each is read once."""
        node = self.flows.graph.nodes[at.node]
        for slot, (edge, axis) in enumerate(zip(node.inputs, self.flows.places(at), strict=True)):
            source = self.flows.source(at, edge, axis)
            once = sum(e.source == edge.source for e in node.inputs) == 1
            is_tile = source is not None and self.region.carriers.get(source.node) == source.flow
            if source is not None and is_tile and once and self.is_pointwise(edge):
                yield slot, source

    def is_pointwise(self, edge: Edge) -> bool:
        """Whether a read is at the reader's own point."""
        return edge.entries == identity(self.flows.graph.nodes[edge.source].domain)

    def is_linear(self, node: Node, slot: int) -> bool:
        """Whether a node is linear in an operand, provided that no other depends on that one."""
        if not node.types[0].dtype.is_float:
            return False
        if isinstance(node.op, binary.Divide):
            return slot == 0
        return node.op.multilinear or node.op.moves

    # ------------------------------------------------------------ along with a maximum

    def running_end(self, steps: tuple[SoftmaxTerm, ...]) -> RunningEnd | None:
        """The end of these steps, if the first subtracts the maximum of its operand."""
        first = self.flows.graph.nodes[steps[0].node]
        top, moves = self.origin(first.inputs[1])
        if top is None or top.inputs[0] != first.inputs[0]:
            return None
        terms, maximum = (operand_type(self.flows.graph, e).shape for e in first.inputs)
        axes = self.result_axes(maximum, len(terms), steps[1:])
        if axes is None or first.types[0].shape != terms:
            return None
        if not self.is_aligned((top.name, *moves), len(terms), maximum):
            return None
        factors = []
        for k, (before, step) in enumerate(pairwise(steps), 2):
            phases = (self.phases[s] + later for s, later in self.other_operands(step, before))
            if max(phases, default=0) > self.phases[top.name]:
                factor = self.factor(step, steps[k:])
                if factor is None:
                    return None
                factors.append(factor)
        return RunningEnd(top=top.name, moves=moves, steps=steps, axes=axes, factors=tuple(factors))

    def origin(self, edge: Edge) -> tuple[Node | None, tuple[str, ...]]:
        """The maximum that an operand comes from, and the moves that give it its axes."""
        moves: list[str] = []
        while self.is_pointwise(edge):
            node = self.flows.graph.nodes[edge.source]
            if isinstance(node.op, Max) and node.name in self.region.ends:
                if not node.types[0].dtype.is_float:
                    break
                return node, tuple(reversed(moves))
            moves_one = node.op.moves and len(node.inputs) == len(node.types) == 1
            if not moves_one or node.name in self.region.carriers:
                break
            moves.append(node.name)
            (edge,) = node.inputs
        return None, ()

    def is_aligned(self, names: Sequence[str], rank: int, shape: Shape) -> bool:
        """Whether a maximum, moved to a shape, is subtracted from its own terms alone.

        The difference of other terms and the maximum so far may overflow where that of the terms
        and the maximum does not.
        """
        own = set()
        for axis in range(rank):
            place: int | None = axis
            for name in names:
                place = None if place is None else self.result_axis(SoftmaxTerm(name, 0), place)
            if place is not None and place + rank - len(shape) == axis:
                own.add(axis)
        return all(e == ix.ONE or k in own for k, e in enumerate(shape, rank - len(shape)))

    def factor(self, step: SoftmaxTerm, onward: tuple[SoftmaxTerm, ...]) -> Factor | None:
        """The factor of a node's terms, if it is constant along the axis."""
        node = self.flows.graph.nodes[step.node]
        if not onward or not isinstance(node.op, binary.Multiply | binary.Divide):
            return None
        places = self.flows.places(AxisAt(step.node, self.region.carriers[step.node]))
        terms, factor = (
            operand_type(self.flows.graph, node.inputs[s]) for s in (step.slot, 1 - step.slot)
        )
        same = (terms.dtype, terms.shape) == (node.types[0].dtype, node.types[0].shape)
        if places[1 - step.slot] is not None or not same:
            return None
        axes = self.result_axes(factor.shape, terms.ndim, onward)
        return None if axes is None else Factor(step=step, axes=axes)

    def result_axes(self, shape: Shape, rank: int, steps: tuple[SoftmaxTerm, ...]) -> Axes | None:
        """The result's axes, after some steps, for an operand that is broadcast to a rank.

        ``None`` if a step reduces one of them.
        """
        places: list[int | None] = []
        for axis, extent in enumerate(shape, rank - len(shape)):
            place: int | None = None if extent == ix.ONE else axis
            for step in steps if place is not None else ():
                place = self.result_axis(step, place)
                if place is None:
                    return None
            places.append(place)
        return tuple(places)

    def result_axis(self, step: SoftmaxTerm, axis: int | None) -> int | None:
        """The axis of a node's result that an axis of its operand becomes."""
        links = (w for w in self.flows.through(step.node) if isinstance(w, Link))
        return next((w.results[0] for w in links if w.operands[step.slot] == axis), None)
