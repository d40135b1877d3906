"""Canonicalize: dead code elimination, copy propagation, constant folding, value numbering.

    %c = copy %x              : [t] f32
    %d = add %c, %c           : [t] f32      ->   %d = add %x, %x : [t] f32
    %e = add %x, %x           : [t] f32           (%e became %d, %u was read by nobody)
    %u = exp %e               : [t] f32

Dead code and duplicates are also found in cycles. Elements of arrays are read directly by their
consumers (``element_forwarding.py``), literals get the dtype that they are used with
(``weak_types.py``), branches that no point takes go (``empty_branches.py``). Nothing is
reassociated; numbers are folded in their own precision.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import ClassVar

from tempoc.base.effort import EFFORT
from tempoc.passes.context import GraphPass, PassContext
from tempoc.passes.simplify.constant_folding import fold_constants
from tempoc.passes.simplify.copy_propagation import forward_copies
from tempoc.passes.simplify.element_forwarding import forward_elements
from tempoc.passes.simplify.empty_branches import without_empty_branches
from tempoc.passes.simplify.value_numbering import merge_duplicates
from tempoc.passes.simplify.weak_types import resolve_weak_types
from tempoc.sdg.graph.graph import Graph
from tempoc.sdg.graph.rewrite import drop_dead

_STEPS: tuple[Callable[[Graph], Graph], ...] = (
    drop_dead,
    forward_copies,
    forward_elements,
    fold_constants,
    merge_duplicates,
)


class Canonicalize(GraphPass):
    """Repeats its steps up to a fixpoint."""

    __slots__ = ()
    name: ClassVar[str] = "canonicalize"

    def run(self, graph: Graph, context: PassContext) -> Graph:
        """The smaller graph."""
        count = len(graph.nodes)
        graph = resolve_weak_types(without_empty_branches(graph, context.space), context.space)
        idle = 0  # how many steps in a row have left the graph as it is
        for step in _STEPS * EFFORT.simplify_rounds:
            start, graph = graph, step(graph)
            idle = idle + 1 if graph is start or graph == start else 0
            if idle == len(_STEPS):
                break
        if len(graph.nodes) < count:
            removed = count - len(graph.nodes)
            context.remarks.add(self.name, f"removed {removed} of {count} nodes")
        return graph
