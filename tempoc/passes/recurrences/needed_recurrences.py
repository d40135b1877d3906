"""Recurrences within the steps of a loop lose points that nothing needs, before derivatives.

    %x   = merge %x.0 when i == 0, %x.1 when i >= 1 : [t, i]
    %x.1 = mul %x[t, i-1], %a                       : [t, i | i >= 1]
    %u   = merge %a when t == 0, %x[t-1, i] when t >= 1 : [t, i]
    output %u[T-1, 0:I]
    ->
    %x   = merge %x.0 when i == 0, %x.1 when i >= 1 : [t, i | t < T-1], and so is all before it

What makes the next state does so for nothing at the last step. Derivatives of a recurrence would
have equations of their own there, which read no later state, and with two equations for its steps
no recurrence becomes a scan.
"""

from __future__ import annotations

from collections.abc import Mapping

from tempoc.passes.analysis.demand import demanded_boxes
from tempoc.passes.analysis.loop_carried import recurrences
from tempoc.passes.domain.trim import trim_to_boxes
from tempoc.poly.relations.space import Space
from tempoc.sdg.graph.active import active_nodes, ends_of, gradients
from tempoc.sdg.graph.graph import Graph
from tempoc.sdg.graph.rewrite import drop_dead
from tempoc.symbolic.domain import Domain
from tempoc.symbolic.walk import symbols


def with_needed_recurrences(graph: Graph, space: Space) -> Graph:
    """The graph, with gradients, of which recurrences are defined at the points that are needed.

    Losses and what they are differentiated by stay whole. The graph itself where no recurrence that
    is differentiated has other points within the steps of another dimension.
    """
    symbolic, asked = space.symbolic, gradients(graph)
    ends = {name for node in asked for names in ends_of(node) for name in names}
    boxes = demanded_boxes(graph, symbolic, ends)
    trimmed, shorter = trim_to_boxes(graph, symbolic, ends, boxes)
    trimmed = drop_dead(trimmed)  # steps that nothing reads at all would read points that are gone
    if any(name not in boxes for name, node in trimmed.nodes.items() if node.inputs):
        return graph
    active = {n for nodes in active_nodes(graph, asked) for n in nodes} if shorter else set()
    for dim in graph.universe.dims if not active.isdisjoint(shorter) else ():
        for cycle in recurrences(graph, dim.name, symbolic):
            differentiated = [name for name in cycle if name in active]
            if any(_loses_steps(graph, name, dim.name, shorter) for name in differentiated):
                return trimmed
    return graph


def _loses_steps(graph: Graph, name: str, dim: str, shorter: Mapping[str, Domain]) -> bool:
    """Whether a node of a recurrence along a dimension loses steps of another one."""
    if name not in shorter:
        return False
    before, after = (symbols(d.where) for d in (graph.nodes[name].domain, shorter[name]))
    return any(d in after and d not in before for d in shorter[name].dims if d != dim)
