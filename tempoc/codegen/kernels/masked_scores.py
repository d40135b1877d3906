"""Scores that are masked once, where exponentials of their distances from a maximum are summed.

    e = exp(s - max(s, keepdims = true))
    y = (e / sum(e, keepdims = true)) @ v

Padding of ``s`` counts as -inf in the maximum. If that is subtracted from the same masked array,
exponentials are 0 there, and neither the sum nor the product needs a mask: on CPUs each mask is a
pass over all scores. Where the maximum is NaN or -inf they are NaN, in the padding and in an
element that counts. In tiles a number that is neither is subtracted (``online_tiler.py``).
The padding of the distances themselves is -inf, which whatever sums those must mask.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import NamedTuple

from tempoc.ops.definition.shapes import axes_of
from tempoc.ops.tensor.arithmetic import Divide, Maximum, Subtract
from tempoc.ops.tensor.elementwise import Cast, Exp
from tempoc.ops.tensor.reduction import Max, Sum
from tempoc.ops.tensor.source import Literal
from tempoc.sdg.graph.graph import Graph, Node
from tempoc.sdg.graph.query import operand_type
from tempoc.sdg.statements.statements import Statement


class MaskedScores(NamedTuple):
    """Members with the axes of their padding: ``distances`` of scores, where that is -inf.

    ``weights`` are exponentials and quotients of them by their sum, where it adds nothing to sums.
    """

    distances: Mapping[str, tuple[int, ...]]
    weights: Mapping[str, tuple[int, ...]]


def masked_scores(
    statement: Statement, graph: Graph, is_local: Callable[[str, int], bool]
) -> MaskedScores:
    """The members that compute distances of scores from their maxima, and weights of these.

    ``is_local`` says whether an operand of a member is another member's result at the same point.
    """
    members = _Members(statement, graph, is_local)
    distances: dict[str, tuple[int, ...]] = {}
    weights: dict[str, tuple[int, ...]] = {}
    for difference, exponential, axes in members.exponentials():
        distances[difference] = weights[exponential] = axes
    for name in statement.members if weights else ():
        if axes := members.padding(name, weights):
            weights[name] = axes
    return MaskedScores(distances, weights)


@dataclass(frozen=True, slots=True)
class _Members:
    """The members of a statement, and which operands of these are other ones."""

    statement: Statement
    graph: Graph
    is_local: Callable[[str, int], bool]

    def producer(self, name: str, slot: int, op: type) -> Node | None:
        """The member of this kind of operator that an operand is."""
        node = self.graph.nodes[self.graph.nodes[name].inputs[slot].source]
        return node if self.is_local(name, slot) and isinstance(node.op, op) else None

    def exponentials(self) -> Iterator[tuple[str, str, tuple[int, ...]]]:
        """Distances and their exponentials, which are summed along these axes."""
        for name in self.statement.members:
            op = self.graph.nodes[name].op
            exponential = self.producer(name, 0, Exp) if type(op) is Sum else None
            difference = self.producer(exponential.name, 0, Subtract) if exponential else None
            if exponential is None or difference is None:
                continue
            assert isinstance(op, Sum)
            summed = axes_of(op.axes, exponential.types[0].ndim)
            scores = operand_type(self.graph, difference.inputs[0])
            axes = self.own_maximum(difference)
            if axes is None:
                axes = summed if self.is_above_number(difference) else ()
            same = scores.shape == difference.types[0].shape and {*axes} <= {*summed}
            if axes and same and scores.dtype.is_float:
                yield difference.name, exponential.name, axes

    def own_maximum(self, difference: Node) -> tuple[int, ...] | None:
        """The axes of the maximum of scores that is subtracted from them."""
        greatest = self.producer(difference.name, 1, Max)
        if greatest is None or type(greatest.op) is not Max:
            return None
        scores = difference.inputs[0]
        if greatest.inputs[0] != scores or not greatest.op.keepdims:
            return None
        return axes_of(greatest.op.axes, operand_type(self.graph, scores).ndim)

    def is_above_number(self, difference: Node) -> bool:
        """Whether what is subtracted is at least a finite number, and never NaN."""
        base = self.producer(difference.name, 1, Maximum)
        least = self.producer(base.name, 1, Literal) if base else None
        if base is None or least is None:
            return False
        assert isinstance(base.op, Maximum)
        assert isinstance(least.op, Literal)
        return base.op.skips_nan and abs(least.op.value) < float("inf")

    def padding(self, name: str, weights: Mapping[str, tuple[int, ...]]) -> tuple[int, ...]:
        """The axes of a member that converts weights, or divides them by their sum.

        A sum along all axes of the padding is at least 1. One along others is 0 in the padding.
        """
        node = self.graph.nodes[name]
        axes = weights.get(node.inputs[0].source, ()) if node.inputs else ()
        if not axes or not self.is_local(name, 0):
            return ()
        if isinstance(node.op, Cast):
            return axes if node.types[0].dtype.is_float else ()
        total = self.producer(name, 1, Sum) if isinstance(node.op, Divide) else None
        if total is None or type(total.op) is not Sum or not total.op.keepdims:
            return ()
        summed = axes_of(total.op.axes, node.types[0].ndim)
        own = total.inputs[0] == node.inputs[0] and self.is_local(total.name, 0)
        return axes if own and {*axes} <= {*summed} else ()
