"""Algebraic identities, by the table of rewrite rules in ``simplify/rules/table.py``.

    %n = neg %x        : [t] f32
    %m = neg %n[t-1]   : [t | t >= 1] f32    ->   %m = copy %x[t-1] : [t | t >= 1] f32
    %y = mul %m, %one  : [t | t >= 1] f32         (and readers of %m or %y read %x[t-1])

Rows of the table that are marked exact give the same results to the last bit, NaN, infinities and
-0.0 included; the others the same up to rounding. ``algebra{exact=true}`` keeps to the former.

Termination: a row either reduces the work (fewer or cheaper operations, fewer elements), or keeps
it and moves a transpose, a broadcast or a scalar factor past an operation towards the consumers, or
an index towards the producers; no row does the reverse.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field, replace
from functools import cache
from typing import ClassVar

from tempoc.base.effort import EFFORT
from tempoc.ops.control.control import Copy
from tempoc.ops.definition.operator import Op
from tempoc.passes.context import GraphPass, PassContext
from tempoc.passes.simplify.copy_propagation import forward_copies
from tempoc.passes.simplify.rules.pattern import Match, RewriteRule
from tempoc.passes.simplify.rules.table import ROWS
from tempoc.sdg.graph.graph import Graph, Node
from tempoc.sdg.graph.query import all_reads, users
from tempoc.sdg.graph.rewrite import drop_dead


@dataclass(frozen=True, slots=True, kw_only=True)
class Algebra(GraphPass):
    """Applies the first matching rule to each node, up to a fixpoint."""

    exact: bool = False

    name: ClassVar[str] = "algebra"

    def run(self, graph: Graph, context: PassContext) -> Graph:
        """The simpler graph."""
        names = list(graph.nodes)
        for _ in range(EFFORT.simplify_rounds):
            after = drop_dead(forward_copies(self.once(graph, names, context)))
            names = _affected_nodes(graph, after)
            graph = after
            if not names:
                break
        return graph

    def once(self, graph: Graph, names: list[str], context: PassContext) -> Graph:
        """The graph after one rewrite attempt at each of these nodes, and again at the results."""
        work = _GraphRewriter.on(graph, context)
        for name in names:
            worklist = [name]
            for _ in range(EFFORT.simplify_rounds):
                if not worklist:
                    break
                changed = work.rewrite(worklist.pop(), self.exact)
                worklist += changed
        return work.result()


def _affected_nodes(before: Graph, after: Graph) -> list[str]:
    """The nodes at which another rule may match after changes.

    Rules look at operands, the operands of these, and numbers of readers. So these are the changed
    nodes, nodes that lost a reader, and the consumers of both over two steps.
    """
    changed = [n for name, n in after.nodes.items() if before.nodes.get(name) is not n]
    gone = [n for name, n in before.nodes.items() if name not in after.nodes]
    replaced = [before.nodes[n.name] for n in changed if n.name in before.nodes]
    affected = dict.fromkeys(n.name for n in changed)
    lost_operands = (e.source for n in (*gone, *replaced) for e in n.inputs)
    affected.update(dict.fromkeys(name for name in lost_operands if name in after.nodes))
    reads = users(after) if affected else {}
    for _ in range(2):
        affected.update(dict.fromkeys(use.reader for name in list(affected) for use in reads[name]))
    return [name for name in after.nodes if name in affected]


@cache
def _rows(op: type[Op], exact: bool) -> tuple[RewriteRule, ...]:
    """The rules for an operator."""
    return tuple(r for r in ROWS if r.applies_to(op) and (r.exact or not exact))


@cache
def _candidates(
    op: type[Op], producers: tuple[type[Op], ...], exact: bool
) -> tuple[RewriteRule, ...]:
    """The rules that can match an operator on operands that are made by these."""
    swapped = producers[::-1] if op.commutative else producers
    return tuple(r for r in _rows(op, exact) if r.takes(producers) or r.takes(swapped))


@dataclass(slots=True)
class _GraphRewriter:
    """A graph under rewriting; ``placed`` has the new nodes to insert before each node."""

    graph: Graph
    nodes: dict[str, Node]
    uses: dict[str, int]
    context: PassContext
    placed: dict[str, list[str]] = field(default_factory=dict)

    @classmethod
    def on(cls, graph: Graph, context: PassContext) -> _GraphRewriter:
        """The unchanged graph."""
        nodes = dict(graph.nodes)
        counts = Counter(edge.source for edge in all_reads(graph))
        own = replace(graph, nodes=nodes)
        return cls(graph=own, nodes=nodes, uses=counts, context=context)

    def rewrite(self, name: str, exact: bool) -> list[str]:
        """Apply the first rule that matches; the names of the nodes that this changed or added."""
        node = self.nodes[name]
        match = Match(
            graph=self.graph, nodes=self.nodes, node=node, space=self.context.space, uses=self.uses
        )
        producers = tuple(type(self.nodes[e.source].op) for e in node.inputs)
        for rule in _candidates(type(node.op), producers, exact):
            rewrite = rule.attempt(match)
            if rewrite is None:
                continue
            self.context.remarks.add("algebra", f"`{name}`: {rule.name}", node.span)
            after = replace(node, op=rewrite.op, inputs=rewrite.edges)
            self.nodes[name] = after
            self.count(node, -1)
            for new_node in (*match.new_nodes, after):
                self.uses.setdefault(new_node.name, 0)
            for new_node in (*match.new_nodes, after):
                self.count(new_node, 1)
            names = [m.name for m in match.new_nodes]
            self.placed.setdefault(name, []).extend(names)
            return [*([] if isinstance(rewrite.op, Copy) else [name]), *reversed(names)]
        return []

    def count(self, node: Node, by: int) -> None:
        """Add ``by`` to the use counts of a node's operands."""
        for edge in node.inputs:
            self.uses[edge.source] += by

    def result(self) -> Graph:
        """The graph, each new node before the one that it was built for."""
        nodes: dict[str, Node] = {}
        added = {name for names in self.placed.values() for name in names}

        def put(name: str) -> None:
            for operand in self.placed.get(name, ()):
                put(operand)
            nodes[name] = self.nodes[name]

        for name in self.graph.nodes:
            if name not in added:
                put(name)
        return replace(self.graph, nodes=nodes)
