"""Algebraic identities, by the table in ``rules.py``.

    %n = neg %x        : [t] f32
    %m = neg %n[t-1]   : [t | t >= 1] f32    ->   %m = copy %x[t-1] : [t | t >= 1] f32
    %y = mul %m, %one  : [t | t >= 1] f32         (and who reads %m or %y reads %x[t-1])

Results are the same to the last bit, NaN, infinities and -0.0 included.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar

from tempoc.passes.context import PassContext
from tempoc.passes.copies import forward_copies
from tempoc.passes.rules import ROWS, View
from tempoc.sdg.graph import Graph, Node
from tempoc.sdg.rewrite import drop_dead, replace_node

_ROUNDS = 20


@dataclass(frozen=True, slots=True, kw_only=True)
class Algebra:
    """Applies the first row that fits to each node, until none does."""

    name: ClassVar[str] = "algebra"
    needs: ClassVar[tuple[str, ...]] = ()
    gives: ClassVar[tuple[str, ...]] = ()
    before: ClassVar[tuple[str, ...]] = ("groups",)

    def run(self, graph: Graph, context: PassContext) -> Graph:
        """The simpler graph."""
        for _ in range(_ROUNDS):
            start = graph
            for node in tuple(graph.nodes.values()):
                graph = self.rewrite(graph, graph.nodes[node.name], context)
            graph = drop_dead(forward_copies(graph))
            if graph == start:
                break
        return graph

    def rewrite(self, graph: Graph, node: Node, context: PassContext) -> Graph:
        """The graph after the first row that fits a node."""
        view = View(graph, node)
        for row in ROWS:
            if isinstance(node.op, row.ops) and (found := row.find(view)) is not None:
                span = node.spans[0] if node.spans else None
                context.remarks.add(self.name, f"`{node.name}`: {row.name}", span)
                return replace_node(graph, replace(node, op=found.op, inputs=found.edges))
        return graph
