"""Steps of a recurrence of which others read what the last one makes, too.

    %h = tanh %x                                          : [t] f32      read by %y as well
    %g = merge %g.0 when t == 0, %h[t-1] when t >= 1      : [t] f32

The states ``%g`` are those before each of T steps: what the last step makes is none. With one more
row, which no state reads, ``%h`` has the rows from the second one on; without it others would
compute it again, at all points.

CPU time, 2026-11-28, one computed again and then read: states of 64 with a matrix and ``tanh``, of
which others read the results, 1, 8, 32, 128 rows for 500, 100, 64, 200 steps 0.23 and 0.18, 0.38
and 0.32, 0.88 and 0.79, 13.8 and 13.7 ms; R2D2 with 64 units 293 and 223 ms.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from tempoc.ops.control.control import Copy
from tempoc.passes.recurrences.recognize_recurrence import RecurrenceCycle, distance
from tempoc.poly.relations.space import Space
from tempoc.sdg.graph.graph import Graph, Node
from tempoc.sdg.graph.query import OperandUse, multiplies_matrices
from tempoc.sdg.statements.vectorized import vector_ranges
from tempoc.symbolic import expr as ix
from tempoc.symbolic.domain import Domain
from tempoc.symbolic.walk import symbols


@dataclass(frozen=True, slots=True, kw_only=True)
class LongerRecurrence:
    """A recurrence with one more step; ``offsets`` say how far behind a result its row is."""

    recurrence: RecurrenceCycle
    offsets: Mapping[str, int]


def read_elsewhere(
    graph: Graph, cycle: Collection[str], dim: str, uses: Mapping[str, Sequence[OperandUse]]
) -> Iterator[str]:
    """The nodes of a cycle of which anything else reads more than single points along ``dim``;
    ``uses`` are the consumers of all nodes."""
    inside = {*cycle}
    for name in cycle:
        place = graph.nodes[name].domain.dims.index(dim)
        edges = [graph.nodes[u.reader].inputs[u.slot] for u in uses[name] if u.reader not in inside]
        edges += [o.edge for o in graph.outputs if o.source == name]
        at = [e.entries[place] for e in edges]
        if any(isinstance(x, ix.Slice) or dim in symbols(x) for x in at):
            yield name


def one_more_step(
    graph: Graph,
    cycle: Collection[str],
    recurrence: RecurrenceCycle,
    read: Collection[str],
    space: Space,
) -> LongerRecurrence | None:
    """The recurrence that also makes what its steps make at their last point, if that is ``read``
    and costly; ``None`` if there is nothing to be gained, or another number of steps."""
    nodes = [graph.nodes[name] for name in cycle]
    if not any(n.op.transcendental or multiplies_matrices(graph, n) for n in nodes):
        return None
    made: dict[str, int] = {}
    for state, k in zip(recurrence.states, recurrence.branches, strict=True):
        node = graph.nodes[state]
        result, offset = _result(graph, node, k, recurrence.dim)
        if offset is None or result.name in recurrence.states:
            return None
        if [(t.dtype, t.shape) for t in result.types] != [(t.dtype, t.shape) for t in node.types]:
            return None
        spans = vector_ranges(result.domain, (recurrence.dim,), space)
        if spans is None or result.name in made:
            return None
        made[result.name] = -offset
        low = ix.sub(spans[recurrence.dim].lower, ix.Const(offset))
        high = ix.sub(spans[recurrence.dim].upper, ix.Const(offset))
        longer = _longer(recurrence)
        ends = ((low, longer.lower), (high, longer.upper))
        if not all(space.equal(a, b, Domain(())) for a, b in ends):
            return None
    if not any(name in read for name in made):
        return None
    return LongerRecurrence(recurrence=_longer(recurrence), offsets=made)


def _result(graph: Graph, state: Node, branch: int, dim: str) -> tuple[Node, int | None]:
    """What a branch of a state reads, or what that is a copy of, and how many points away."""
    node, edge, offset = state, state.inputs[branch], 0
    while True:
        shift = distance(graph, node, edge, dim)
        node = graph.nodes[edge.source]
        if shift is None:
            return node, None
        offset += shift
        if not isinstance(node.op, Copy):
            return node, offset
        (edge,) = node.inputs


def _longer(recurrence: RecurrenceCycle) -> RecurrenceCycle:
    if recurrence.forward:
        return replace(recurrence, upper=ix.add(recurrence.upper, ix.ONE), even=False)
    return replace(recurrence, lower=ix.sub(recurrence.lower, ix.ONE), even=False)
