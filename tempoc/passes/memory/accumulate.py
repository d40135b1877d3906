"""Sums over the points of a dimension become running sums, where summands need not be stored.

    %y = mul %x, %x     : [i, t] f32[8]          %s.none = full 0            : [i] f32[8]
    %s = sum %y[i, 0:T] : [i] f32[8]      ->     %s.past = merge %s.none when t == 0,
                                                             %s.now[i, t-1] when t >= 1
                                                 %s.now  = add %s.past, %y   : [i, t] f32[8]
                                                 %s      = copy %s.now[i, T-1]

So do contractions: ``einsum("to,ti->oi", %y[i, 0:T], %x[i, 0:T])``, the gradient of a weight, adds
one outer product in each step. The loop that computes the summands then adds them up, and their
operands have short live ranges (``accumulate_benefit.py``). A sum over several dimensions runs in
loops whose directions agree with the dependences (``analysis/loop_direction.py``). Sums with large
results stay as they are: one contraction is faster than many small ones. Elements of arrays are
taken in the loop (``summed_elements.py``). Results agree up to rounding.
"""

from __future__ import annotations

import functools
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import ClassVar

from tempoc.base.cost_model import MODEL
from tempoc.ops.control.control import Copy, Merge
from tempoc.ops.definition.operator import Op
from tempoc.ops.definition.shapes import axes_of
from tempoc.ops.tensor import arithmetic as binary, elementwise as unary
from tempoc.ops.tensor.reduction import Mean, Sum
from tempoc.ops.tensor.source import Full, IndexValue
from tempoc.passes.analysis.dependence import dependences
from tempoc.passes.analysis.full_extent import full_extent_nodes
from tempoc.passes.analysis.loop_direction import DependenceCycles, DirectedLoop
from tempoc.passes.analysis.summands import Summand, is_small_sum, nested, summands
from tempoc.passes.context import GraphPass, PassContext
from tempoc.passes.memory.accumulate_benefit import (
    StoredNodes,
    is_made_in_loop,
    saves_memory,
    small_contractions,
)
from tempoc.passes.memory.serialize import large_sums
from tempoc.passes.memory.summed_elements import SummedElements, with_summed_elements
from tempoc.passes.running_recurrence import LoopEnds, running_recurrence
from tempoc.passes.simplify.copy_propagation import forward_copies
from tempoc.sdg.builder import NodeBuilder, read_of
from tempoc.sdg.graph.graph import Edge, Graph, Node
from tempoc.sdg.graph.query import users
from tempoc.sdg.graph.rewrite import drop_dead, replace_nodes
from tempoc.sdg.statements.branches import enclosing_conds
from tempoc.sdg.statements.build import identity
from tempoc.symbolic import expr as ix
from tempoc.symbolic.domain import Domain, entries_at


@dataclass(frozen=True, slots=True, kw_only=True)
class Accumulate(GraphPass):
    """Replaces sums over a dimension, but for some points at its ends, by running sums."""

    limit: int = field(
        default=MODEL.carried_elements, metadata={"help": "most elements of a running sum"}
    )
    piece: int = field(
        default=0,
        metadata={"help": "bytes of a term that are worth a step, however large the sum; 0: none"},
    )

    name: ClassVar[str] = "accumulate"

    def run(self, graph: Graph, context: PassContext) -> Graph:
        """The graph with running sums."""
        skipped: set[str] = set()
        while True:  # until all sums of elements that are left become running sums
            elements, of_elements = with_summed_elements(graph, context.space, skipped)
            chosen, steps = self.chosen(elements, context, of_elements)
            rejected = of_elements.keys() - {n.name for n in chosen}
            if not rejected:
                break
            skipped |= rejected
        graph = elements
        if not chosen:
            return graph
        cycles = DependenceCycles(dependences(graph, context.space), {*steps})
        replacements: dict[str, Iterable[Node]] = {}
        for node in chosen:
            dims = graph.universe.sorted(tuple(t.dim for t in steps[node.name]))
            nest = cycles.loops(node, dims)
            builder = _RunningSumBuilder(graph=graph, space=context.space, node=node)
            replacements[node.name] = builder.build(nest)
            along = ", ".join(f"{x.dim}{'' if x.forward else ' backwards'}" for x in nest)
            context.remarks.add(self.name, f"`{node.name}` is added up along {along}", node.span)
        return drop_dead(forward_copies(replace_nodes(graph, replacements)))

    def chosen(
        self, graph: Graph, context: PassContext, of_elements: Mapping[str, SummedElements]
    ) -> tuple[list[Node], dict[str, list[Summand]]]:
        """The sums that become running sums, and the summands of those that could."""
        lazy = enclosing_conds(graph)
        full_extent = functools.cache(lambda dim: full_extent_nodes(graph, dim, carried=self.limit))
        stored = {n for n, e in of_elements.items() if e.source in full_extent(e.dim)}
        steps = {
            n.name: summands
            for n in graph.nodes.values()
            if n.name not in lazy
            and n.name not in stored
            and (summands := self.steps(graph, n, full_extent))
        }
        sums, names, uses = [graph.nodes[n] for n in steps], {*steps}, users(graph)
        beneficial = {n.name for n in sums if saves_memory(graph, n, names, uses)}
        if not self.piece:
            of_these = {name: steps[name] for name in steps if name in beneficial}
            beneficial -= small_contractions(graph, of_these, full_extent)
        large = large_sums(graph, context, self.piece) if self.piece else {}
        steps |= large
        chosen = [n for n in graph.nodes.values() if n.name in large or n.name in beneficial]
        return chosen, steps

    def steps(self, graph: Graph, node: Node, full_extent: StoredNodes) -> list[Summand]:
        """The summands of a small sum by dimension, of those that a loop computes."""
        if not is_small_sum(graph, node, self.limit):
            return []
        made = [t for t in summands(graph, node) if is_made_in_loop(graph, t, full_extent)]
        return nested(graph, made)


class _RunningSumBuilder(NodeBuilder):
    """Builds the nodes that replace a sum, operands first; the last has its name."""

    __slots__ = ()

    def build(self, nest: Sequence[DirectedLoop]) -> Iterable[Node]:
        """The nodes of a running sum, or mean, over the dimensions of some loops."""
        if isinstance(self.node.op, Mean):
            self.running_mean(nest, self.node.op)
        else:
            self.running_sum(nest)
        return self.nodes.values()

    def running_mean(self, nest: Sequence[DirectedLoop], op: Mean) -> None:
        """Build a running sum, and divide it by the number of its terms."""
        shape = self.type_of(self.node.inputs[0]).shape
        axes = axes_of(op.axes, len(shape))
        total = replace(self.node, name=self.fresh_name("total"), op=Sum(axes=axes))
        replace(self, node=total).running_sum(nest)
        count = self.put("count", IndexValue(expr=ix.product(shape[a] for a in axes)))
        number = self.put("number", unary.Cast(dtype=self.node.types[0].dtype), (count,))
        self.add(replace(self.node, op=binary.Divide(), inputs=(read_of(total), read_of(number))))

    def running_sum(self, nest: Sequence[DirectedLoop]) -> None:
        """Build one running sum through all loops; an outer loop continues its inner loop's sum."""
        (each, points), (type_,) = self.summand(nest), self.node.types
        zero = 0 if type_.dtype.is_int else 0.0
        nothing = Full(shape=type_.shape, value=zero, dtype=type_.dtype)
        if self.space.is_empty(each.domain):  # a loop without points has no ends either
            self.add(replace(self.node, op=nothing, inputs=()))
            return
        ends = [LoopEnds.along(x.dim, points[x.dim], forward=x.forward) for x in nest]

        def added(past: Node) -> tuple[Op, tuple[Node, ...]]:
            return binary.Add(), (past, self.add(each))

        now = running_recurrence(self, each, type_, zero, ends, added)
        last = entries_at(now.domain.dims, {e.dim: e.last for e in ends})
        some = ix.conjunction(*(ix.compare("<", p.lo, p.hi) for p in points.values()))
        domain = self.node.domain
        if self.space.implies(domain, some):
            self.add(replace(self.node, op=Copy(), inputs=(Edge(source=now.name, entries=last),)))
            return
        branches = (
            (Copy(), (Edge(source=now.name, entries=last),), some),
            (nothing, (), ix.negation(some)),
        )
        reads: list[Edge] = []
        for op, inputs, where in branches:
            part = Domain(domain.dims, ix.conjunction(domain.where, where))
            reads.append(replace(read_of(self.put("total", op, inputs, part)), guard=where))
        merge = Merge(targets=(identity(domain),) * 2)
        name = self.fresh_name("all")
        either = replace(self.node, name=name, op=merge, inputs=tuple(reads), vector=())
        self.add(replace(self.node, op=Copy(), inputs=(read_of(self.add(either)),)))

    def bound(self, dim: str) -> ix.Expr:
        """The number of points of a dimension."""
        return ix.Sym(self.graph.universe.dim(dim).bound)

    def summand(self, nest: Sequence[DirectedLoop]) -> tuple[Node, dict[str, ix.Slice]]:
        """The node with the summand at a point of all loops, and the points of each loop."""
        summand, points = replace(self.node, name=self.fresh_name("each")), {}
        for loop in nest:
            term = next(t for t in summands(self.graph, summand) if t.dim == loop.dim)
            dims = self.graph.universe.ordered((*summand.domain.dims, loop.dim))
            where = ix.conjunction(summand.domain.where, term.within(self.bound(loop.dim)))
            domain = Domain(dims, where)
            summand = replace(summand, op=term.op, inputs=term.inputs, domain=domain)
            points[loop.dim] = term.points
        return summand, points
