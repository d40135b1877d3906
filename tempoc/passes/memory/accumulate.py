"""Sums over all points of a dimension become running sums, where the summands need not be stored.

    %y = mul %x, %x     : [i, t] f32[8]          %s.none = full 0            : [i] f32[8]
    %s = sum %y[i, 0:T] : [i] f32[8]      ->     %s.past = merge %s.none when t == 0,
                                                             %s.now[i, t-1] when t >= 1
                                                 %s.now  = add %s.past, %y   : [i, t] f32[8]
                                                 %s      = copy %s.now[i, T-1]

So do contractions: ``einsum("to,ti->oi", %y[i, 0:T], %x[i, 0:T])``, the gradient of a weight, adds
one outer product in each step. The loop that computes the summands then adds them up, and their
operands have short live ranges (``accumulate_benefit.py``). A sum over several dimensions runs in
loops whose directions agree with the dependences (``analysis/loop_direction.py``). Sums with large
results stay as they are: one contraction is faster than many small ones. Results agree up to
rounding.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import ClassVar

from tempoc.base.cost_model import MODEL
from tempoc.ops.control.control import Copy, Merge
from tempoc.ops.definition.shapes import axes_of
from tempoc.ops.tensor.arithmetic import Add, Divide
from tempoc.ops.tensor.elementwise import Cast
from tempoc.ops.tensor.reduction import Mean, Sum
from tempoc.ops.tensor.source import Full, IndexValue
from tempoc.passes.analysis.dependence import dependences
from tempoc.passes.analysis.full_extent import full_extent_nodes
from tempoc.passes.analysis.loop_direction import DependenceCycles, DirectedLoop
from tempoc.passes.analysis.summands import Summand, is_small_sum, summands
from tempoc.passes.context import GraphPass, PassContext
from tempoc.passes.memory.accumulate_benefit import is_made_in_loop, saves_memory
from tempoc.passes.memory.serialize import large_sums
from tempoc.passes.simplify.copy_propagation import forward_copies
from tempoc.sdg.builder import NodeBuilder, read_of
from tempoc.sdg.graph.graph import Edge, Graph, Node
from tempoc.sdg.graph.query import users
from tempoc.sdg.graph.rewrite import drop_dead, replace_nodes
from tempoc.sdg.statements.branches import enclosing_conds
from tempoc.symbolic.domain import Domain
from tempoc.symbolic.expr import (
    ONE,
    ZERO,
    Expr,
    Sym,
    add,
    compare,
    conjunction,
    product,
    sub,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Accumulate(GraphPass):
    """Replaces sums over all points of a dimension by running sums."""

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
        lazy = enclosing_conds(graph)
        full_extent = {d.name: full_extent_nodes(graph, d.name) for d in graph.universe.dims}
        steps = {
            n.name: summands
            for n in graph.nodes.values()
            if n.name not in lazy and (summands := self.steps(graph, n, full_extent))
        }
        sums, names, uses = [graph.nodes[n] for n in steps], {*steps}, users(graph)
        beneficial = {n.name for n in sums if saves_memory(graph, n, names, uses)}
        large = large_sums(graph, context, self.piece) if self.piece else {}
        steps |= large
        chosen = [n for n in graph.nodes.values() if n.name in large or n.name in beneficial]
        if not chosen:
            return graph
        cycles = DependenceCycles(dependences(graph, context.space), names)
        replacements: dict[str, Iterable[Node]] = {}
        for node in chosen:
            dims = graph.universe.sorted(tuple(t.dim for t in steps[node.name]))
            nest = cycles.loops(node, dims)
            builder = _RunningSumBuilder(graph=graph, space=context.space, node=node)
            replacements[node.name] = builder.build(nest)
            along = ", ".join(f"{x.dim}{'' if x.forward else ' backwards'}" for x in nest)
            context.remarks.add(self.name, f"`{node.name}` is added up along {along}", node.span)
        return drop_dead(forward_copies(replace_nodes(graph, replacements)))

    def steps(self, graph: Graph, node: Node, full_extent: Mapping[str, set[str]]) -> list[Summand]:
        """The summands of a small sum by dimension, of those that a loop computes."""
        if not is_small_sum(graph, node, self.limit):
            return []
        return [t for t in summands(graph, node) if is_made_in_loop(graph, t, full_extent[t.dim])]


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
        count = self.put("count", IndexValue(expr=product(shape[a] for a in axes)))
        number = self.put("number", Cast(dtype=self.node.types[0].dtype), (count,))
        self.add(replace(self.node, op=Divide(), inputs=(read_of(total), read_of(number))))

    def running_sum(self, nest: Sequence[DirectedLoop]) -> None:
        """Build one running sum through all loops; an outer loop continues its inner loop's sum."""
        each = self.summand(nest)
        dims, (type_,) = each.domain.dims, self.node.types
        zero = 0 if type_.dtype.is_int else 0.0
        none = self.put("none", Full(shape=type_.shape, value=zero, dtype=type_.dtype))
        ends = [_LoopEnds.along(self.graph, loop) for loop in nest]
        now = replace(each, name=self.fresh_name("now"))
        start = {w.dim: w.first for w in ends}
        targets = [_at(dims, start)]
        inputs = [replace(read_of(none), guard=conjunction(*(w.is_first for w in ends)))]
        for k, end in reversed([*enumerate(ends)]):
            inner = ends[k + 1 :]
            source = self.carried(now, end, inner) if inner else now
            entries = _at(source.domain.dims, {end.dim: end.before})
            guard = conjunction(end.is_later, *(w.is_first for w in inner))
            inputs.append(Edge(source=source.name, entries=entries, guard=guard))
            targets.append(_at(dims, {w.dim: w.first for w in inner} | {end.dim: end.after}))
        merge = Merge(targets=tuple(targets))
        past = replace(each, name=self.fresh_name("past"), op=merge, inputs=tuple(inputs))
        total = Edge(source=now.name, entries=_at(dims, {w.dim: w.last for w in ends}))
        self.add(past)
        self.add(each)
        self.add(replace(now, op=Add(), inputs=(read_of(past), read_of(each))))
        self.add(replace(self.node, op=Copy(), inputs=(total,)))

    def summand(self, nest: Sequence[DirectedLoop]) -> Node:
        """The node with the summand at a point of all loops."""
        summand = replace(self.node, name=self.fresh_name("each"))
        for loop in nest:
            term = next(t for t in summands(self.graph, summand) if t.dim == loop.dim)
            dims = self.graph.universe.ordered((*summand.domain.dims, loop.dim))
            domain = Domain(dims, self.node.domain.where)
            summand = replace(summand, op=term.op, inputs=term.inputs, domain=domain)
        return summand

    def carried(self, now: Node, end: _LoopEnds, inner: Sequence[_LoopEnds]) -> Node:
        """The sum after the inner loops, where loop ``end`` has a next point."""
        inside = {w.dim: w.last for w in inner}
        domain = Domain(
            tuple(d for d in now.domain.dims if d not in inside),
            conjunction(self.node.domain.where, end.has_next),
        )
        edge = Edge(source=now.name, entries=_at(now.domain.dims, inside))
        return self.put(f"over_{end.dim}", Copy(), (edge,), domain, self.node.types)


@dataclass(frozen=True, slots=True, kw_only=True)
class _LoopEnds:
    """A loop as expressions: its first and last point, and the neighbours of a point."""

    dim: str
    first: Expr
    last: Expr
    before: Expr
    after: Expr

    @classmethod
    def along(cls, graph: Graph, loop: DirectedLoop) -> _LoopEnds:
        """The ends of a loop in its direction."""
        end, point = sub(Sym(graph.universe.dim(loop.dim).bound), ONE), Sym(loop.dim)
        down, up = sub(point, ONE), add(point, ONE)
        if loop.forward:
            return cls(dim=loop.dim, first=ZERO, last=end, before=down, after=up)
        return cls(dim=loop.dim, first=end, last=ZERO, before=up, after=down)

    @property
    def is_first(self) -> Expr:
        """The condition for a point to be the first."""
        return compare("==", Sym(self.dim), self.first)

    @property
    def is_later(self) -> Expr:
        """The condition for a point to have a predecessor."""
        return self._inside(self.first)

    @property
    def has_next(self) -> Expr:
        """The condition for a point to have a successor."""
        return self._inside(self.last)

    def _inside(self, end: Expr) -> Expr:
        return (
            compare(">=", Sym(self.dim), ONE) if end == ZERO else compare("<", Sym(self.dim), end)
        )


def _at(dims: tuple[str, ...], points: Mapping[str, Expr]) -> tuple[Expr, ...]:
    """A read at some points, otherwise at the reader's own."""
    return tuple(points.get(d, Sym(d)) for d in dims)
