"""Scores that are masked once, where the exponentials of their distances from a maximum are summed.

    e = exp(s - max(s, keepdims = true))
    y = e / sum(e, keepdims = true)

Padding of ``s`` counts as -inf in the maximum. If that is subtracted from the same masked array,
exponentials are 0 there, and the sum needs no mask: on CPUs each mask is a pass over all scores.
Where the maximum is NaN or -inf they are NaN, in the padding and in an element that counts.
The padding of the distances themselves is -inf, which whatever sums those must mask.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import NamedTuple

from tempoc.ops.definition.shapes import axes_of
from tempoc.ops.tensor.arithmetic import Subtract
from tempoc.ops.tensor.elementwise import Exp
from tempoc.ops.tensor.reduction import Max, Sum
from tempoc.sdg.graph.graph import Graph, Node
from tempoc.sdg.graph.query import operand_type
from tempoc.sdg.statements.statements import Statement


class MaskedScores(NamedTuple):
    """Members with reduced axes: ``distances`` of scores from their maxima, and exponentials."""

    distances: Mapping[str, tuple[int, ...]]
    exponentials: Mapping[str, tuple[int, ...]]


def masked_scores(
    statement: Statement, graph: Graph, is_local: Callable[[str, int], bool]
) -> MaskedScores:
    """The members that compute distances of scores from their maxima, and exponentials of these.

    ``is_local`` says whether an operand of a member is another member's result at the same point.
    """
    distances: dict[str, tuple[int, ...]] = {}
    exponentials: dict[str, tuple[int, ...]] = {}

    def producer(name: str, slot: int, op: type) -> tuple[str, Node] | None:
        source = graph.nodes[name].inputs[slot].source
        node = graph.nodes[source]
        return (source, node) if is_local(name, slot) and isinstance(node.op, op) else None

    for name in statement.members:
        op = graph.nodes[name].op
        exponential = producer(name, 0, Exp) if type(op) is Sum else None
        difference = producer(exponential[0], 0, Subtract) if exponential else None
        greatest = producer(difference[0], 1, Max) if difference else None
        if exponential is None or difference is None or greatest is None:
            continue
        maximum = greatest[1].op
        assert isinstance(op, Sum)
        assert isinstance(maximum, Max)
        scores = difference[1].inputs[0]
        type_ = operand_type(graph, scores)
        axes = axes_of(maximum.axes, type_.ndim)
        summed = axes_of(op.axes, exponential[1].types[0].ndim)
        same = greatest[1].inputs[0] == scores and {*axes} <= {*summed}
        spread = maximum.keepdims and type_.shape == difference[1].types[0].shape
        if same and spread and type_.dtype.is_float and type(maximum) is Max:
            distances[difference[0]] = exponentials[exponential[0]] = axes
    return MaskedScores(distances, exponentials)
