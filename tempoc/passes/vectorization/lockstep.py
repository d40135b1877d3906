"""Lockstep: points whose loops have lengths of their own take their steps together.

    bound K until %stop over i
    %x     = merge %x.0 when k == 0, %x.1[i, k-1] when k >= 1 : [i, k] f32
    %root  = copy %x[i, K-1]                                  : [i]    f32
    ->
    bound K until %stop.all over i*
    %stop.gone = merge %false when k == 0, %stop.done[i, k-1] when k >= 1 : [i, k] bool
    %stop.done = or %stop.gone, %stop                         : [i, k] bool
    %stop.all  = all %stop.done[0:I, k]                       : [k]    bool
    %x.1.held  = where %stop.done, %x, %x.1                   : [i, k | k < K-1] f32
    %x     = merge %x.0 when k == 0, %x.1.held[i, k-1] when k >= 1 : [i, k] f32
    %root  = copy %x[i, K-1]                                  : [i]    f32

A bound whose length differs from point to point (``dim k < K until stop``, where ``stop`` varies
with ``i``) would be one loop of the host after the other. Here ``K`` becomes the greatest length
of all ``i``, as ``jax.vmap`` makes one loop of many ``lax.while_loop``, so that ``i`` can
be vectorized and the loop over ``k`` run on the device. Points past the end of their ``i`` are
*late*: computed, and not used. What is read at the last step is held from the end of its ``i`` on;
the length as a number is such a value, too; what sums all steps takes the neutral element for late
ones. A recurrence that begins at the last step, as derivatives do, keeps that state in all late
steps. Late values are selected away, never multiplied, so that no NaN of them is seen.

The price is the greatest length for all points, and that the states of all are in memory.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from typing import ClassVar

from tempoc.base.names import fresh_name
from tempoc.ops.control.control import Copy, Merge, Select
from tempoc.ops.control.until import Until
from tempoc.ops.definition.operator import Op
from tempoc.ops.definition.types import DType, TensorType
from tempoc.ops.tensor.arithmetic import Or
from tempoc.ops.tensor.monoids import SUM
from tempoc.ops.tensor.movement import ExpandDims
from tempoc.ops.tensor.reduction import All
from tempoc.ops.tensor.source import Full, IndexValue, Literal
from tempoc.passes.context import GraphPass, PassContext
from tempoc.passes.vectorization.common_length import CommonLength, KeepsItsLoop
from tempoc.poly.relations.space import Space
from tempoc.sdg.builder import read_of
from tempoc.sdg.graph.graph import Edge, Graph, Node
from tempoc.sdg.graph.query import type_of_read
from tempoc.sdg.graph.rewrite import drop_dead, edge_at, replace_operand
from tempoc.sdg.statements.build import identity
from tempoc.sdg.verification.verify import DomainFacts
from tempoc.symbolic import expr as ix
from tempoc.symbolic.domain import Domain, entries_at
from tempoc.symbolic.walk import substitute, symbols


class Lockstep(GraphPass):
    """Lets points whose loops end at different steps take their steps together."""

    __slots__ = ()
    name: ClassVar[str] = "lockstep"

    def run(self, graph: Graph, context: PassContext) -> Graph:
        """The graph with one length for all points of a dimension where that is possible."""
        names = [d.bound for d in graph.universe.dims]
        for name in dict.fromkeys(names):
            bound = graph.universe.bound(name)
            if not (bound.until and bound.outer):
                continue
            common = CommonLength(graph=graph, bound=bound, space=context.space)
            try:
                common.check()
            except KeepsItsLoop as reason:
                dims = ", ".join(bound.outer)
                message = f"`{name}` has a length for each {dims}, one loop after the other: "
                span = (reason.node or common.until).span
                context.remarks.add(self.name, message + reason.why, span)
                continue
            graph = _LockstepRewrite.of(common, context).graph()
            dims = ", ".join(common.together)
            message = f"`{name}`: all {dims} take their steps together, until the last has ended"
            context.remarks.add(self.name, message, common.until.span)
        return graph


@dataclass(slots=True, kw_only=True)
class _LockstepRewrite:
    """The nodes of a graph in which a bound gets one length for all points."""

    common: CommonLength
    space: Space
    nodes: dict[str, Node]
    done: Node = field(init=False)
    gone: Node = field(init=False)
    held: dict[tuple[str, int, str], Node] = field(default_factory=dict)

    @staticmethod
    def of(common: CommonLength, context: PassContext) -> _LockstepRewrite:
        """The beginning of a conversion; declares the bound with one length."""
        graph, bound = common.graph, common.bound
        outer = tuple(d for d in bound.outer if d not in common.together)
        one = replace(bound, outer=outer, common=(*bound.common, *common.together))
        bounds = (one if b == bound else b for b in graph.universe.bounds)
        context.declare(replace(graph.universe, bounds=tuple(bounds)))
        return _LockstepRewrite(common=common, space=context.space, nodes={**graph.nodes})

    def graph(self) -> Graph:
        """The graph with one length."""
        graph = self.common.graph
        self._find_ends()
        for node in graph.nodes.values():
            self._end_early(node)
        for reader, slot, dim in self.common.last_reads():
            self._hold_operand(reader, slot, dim)
        for name, (dim, slots) in self.common.backward_states.items():
            self._keep_backwards(name, dim, slots)
        for node in graph.nodes.values():
            if isinstance(node.op, IndexValue):
                self._hold_index(node)
            else:
                self._mask_axes(node)
        self._end_together()
        whole = replace(graph, nodes=self.nodes, universe=self.space.universe)
        return drop_dead(whole)

    # ------------------------------------------------------------ the end

    def _find_ends(self) -> None:
        """Whether a point ended before a step (``gone``), and whether by then (``done``)."""
        until, step = self.common.until, self.common.step
        (stop,) = until.inputs
        box = Domain(until.domain.dims)
        rest = Domain(tuple(d for d in box.dims if d != step))
        more = ix.compare("<", ix.Sym(step), ix.Sym(self.common.bound.name) - 1)
        name, types = self._fresh(f"{stop.source}.gone"), (TensorType(DType.BOOL),)
        first = self._put(until, f"{name}.0", Literal(value=False, dtype=DType.BOOL), rest, [])
        before = Edge(source=name, entries=identity(box))
        self.done = self._put(until, f"{stop.source}.done", Or(), box, [before, stop], types=types)
        later = self._put(
            until, f"{name}.1", Copy(), Domain(box.dims, more), [read_of(self.done)], types=types
        )
        at = ix.Sym(step)
        inputs = (
            replace(read_of(first), guard=ix.compare("==", at, ix.ZERO)),
            replace(edge_at(read_of(later), {step: at - 1}), guard=ix.compare(">=", at, ix.ONE)),
        )
        targets = tuple(entries_at(box.dims, {step: e}) for e in (ix.ZERO, at + 1))
        self.gone = Node(
            name=name,
            op=Merge(targets=targets),
            domain=box,
            inputs=inputs,
            types=types,
            spans=until.spans,
        )
        self.nodes[name] = self.gone

    def _end_together(self) -> None:
        """The common length ends where all points have ended."""
        until, together = self.common.until, self.common.together
        dims = tuple(d for d in until.domain.dims if d not in together)
        bounds = {d: ix.Sym(self.common.graph.universe.dim(d).bound) for d in together}
        whole = {d: ix.Slice(ix.ZERO, bound) for d, bound in bounds.items()}
        all_points = Edge(source=self.done.name, entries=entries_at(until.domain.dims, whole))
        stop = until.inputs[0].source
        ended = self._put(until, f"{stop}.all", All(), Domain(dims), [all_points])
        self.nodes[until.name] = replace(until, domain=Domain(dims), inputs=(read_of(ended),))

    def _end_early(self, node: Node) -> None:
        """A loop within late steps takes one step, or it might take all that are allowed."""
        if isinstance(node.op, Until) and node.name != self.common.until.name:
            (stop,) = node.inputs
            for dim in (d for d in node.domain.dims if d in self.common.step_dims):
                reads = [stop, self._gone_at(dim)]
                ends = self._put(node, f"{node.name}.ends", Or(), node.domain, reads)
                stop = read_of(ends)
            self.nodes[node.name] = replace(node, inputs=(stop,))

    def _gone_at(self, dim: str) -> Edge:
        """A read of whether a point is late, at the own step of a dimension of steps."""
        entries = entries_at(self.gone.domain.dims, {self.common.step: ix.Sym(dim)})
        return Edge(source=self.gone.name, entries=entries)

    # ------------------------------------------------------------ last steps

    def _hold_operand(self, reader: str, slot: int, dim: str) -> None:
        """What is read at the last step is that of the last step of the reader's point."""
        node = self.nodes[reader]
        edge = node.inputs[slot]
        source = self.nodes[edge.source]
        held = self._held(source, edge.out, dim)
        if held.name != source.name:
            at = source.domain.at(edge.entries)
            entries = entries_at(held.domain.dims, at)
            node = replace_operand(
                node, slot, replace(edge, source=held.name, out=0, entries=entries)
            )
            self.nodes[reader] = node

    def _held(self, source: Node, out: int, dim: str) -> Node:
        """A node with the values of another, which late steps take from the step before."""
        key = (source.name, out, dim)
        if key not in self.held:
            frozen = self._frozen(source, dim)
            self.held[key] = self._copied(source, out, dim) if frozen is None else frozen
        return self.held[key]

    def _frozen(self, merge: Node, dim: str) -> Node | None:
        """A recurrence that keeps its state in late steps; ``None`` if it is none of one step."""
        if not isinstance(merge.op, Merge) or merge.domain.where != ix.TRUE:
            return None
        place = merge.domain.dims.index(dim)
        next_step = entries_at(merge.domain.dims, {dim: ix.Sym(dim) + 1})
        steps: list[int] = []
        for k, (edge, target) in enumerate(zip(merge.inputs, merge.op.targets, strict=True)):
            branch = self.nodes[edge.source]
            if target == next_step and branch.domain.dims == merge.domain.dims:
                steps.append(k)
                if branch.types[edge.out] != merge.types[0]:
                    return None
            elif target[place] != ix.ZERO:
                return None
        if not steps:
            return None
        for k in steps:
            edge = merge.inputs[k]
            branch = self.nodes[edge.source]
            reads = [
                self._done_at(dim),
                read_of(merge),
                read_of(branch, edge.out),
            ]
            held = self._put(branch, f"{branch.name}.held", Select(), branch.domain, reads)
            merge = replace_operand(merge, k, replace(edge, source=held.name, out=0))
        self.nodes[merge.name] = merge
        return merge

    def _keep_backwards(self, name: str, dim: str, slots: tuple[int, ...]) -> None:
        """A recurrence that begins at the last step keeps its state until the end of its point."""
        merge = self.nodes[name]
        following = edge_at(read_of(merge), {dim: ix.Sym(dim) + 1})
        for k in slots:
            edge = merge.inputs[k]
            branch = self.nodes[edge.source]
            reads = [self._done_at(dim), following, read_of(branch, edge.out)]
            held = self._put(branch, f"{branch.name}.held", Select(), branch.domain, reads)
            merge = replace_operand(merge, k, replace(edge, source=held.name, out=0))
        self.nodes[name] = merge

    def _copied(self, source: Node, out: int, dim: str) -> Node:
        """A copy that keeps its value in late steps."""
        steps = [dim if d == self.common.step else d for d in self.common.until.domain.dims]
        dims = self.space.universe.ordered((*source.domain.dims, *steps))
        whole = Domain(dims, source.domain.where)
        rest = Domain(tuple(d for d in dims if d != dim), whole.where)
        name = self._fresh(f"{source.name}.held")
        own, before = read_of(source, out), ix.Sym(dim) - 1
        types = (source.types[out],)
        if types[0].dtype is not DType.KEY and dim not in symbols(whole.where):
            return self._held_from_zeros(source, own, name, whole, dim)
        first = self._put(
            source, f"{name}.0", Copy(), rest, [edge_at(own, {dim: ix.ZERO})], types=types
        )
        reads = [
            self._gone_at(dim),
            Edge(source=name, entries=entries_at(dims, {dim: before})),
            own,
        ]
        later = self._put(source, f"{name}.1", Select(), _from(whole, dim, 1), reads, types=types)
        return self._merged(source, name, whole, dim, first, later)

    def _held_from_zeros(self, source: Node, own: Edge, name: str, whole: Domain, dim: str) -> Node:
        """The same, begun by zeros that nobody sees: then all steps are one statement."""
        (type_,) = types = (source.types[own.out],)
        zero = Full(
            shape=type_.shape, value=False if type_.dtype is DType.BOOL else 0, dtype=type_.dtype
        )
        rest = Domain(tuple(d for d in whole.dims if d != dim), whole.where)
        none = self._put(source, f"{name}.none", zero, rest, [])
        at, past = ix.Sym(dim), self._fresh(f"{name}.past")
        reads = [self._gone_at(dim), Edge(source=past, entries=identity(whole)), own]
        held = self._put(source, name, Select(), whole, reads, types=types)
        before = entries_at(whole.dims, {dim: at - 1})
        inputs = (
            replace(read_of(none), guard=ix.compare("==", at, ix.ZERO)),
            Edge(source=held.name, entries=before, guard=ix.compare(">=", at, ix.ONE)),
        )
        merge = Merge(targets=tuple(entries_at(whole.dims, {dim: e}) for e in (ix.ZERO, at + 1)))
        self.nodes[past] = replace(held, name=past, op=merge, inputs=inputs)
        return held

    def _done_at(self, dim: str) -> Edge:
        """A read of whether the end was reached by the own step of a dimension of steps."""
        entries = entries_at(self.done.domain.dims, {self.common.step: ix.Sym(dim)})
        return Edge(source=self.done.name, entries=entries)

    def _hold_index(self, node: Node) -> None:
        """An expression of the length is held while the number of steps grows."""
        assert isinstance(node.op, IndexValue)
        if not self.common.names(node.op.expr):
            return
        step, bound = self.common.step, self.common.bound.name
        expr = substitute(node.op.expr, {bound: ix.Sym(step) + 1})
        dims = self.common.graph.universe.ordered((*self.common.until.domain.dims, *symbols(expr)))
        count = self._put(node, f"{node.name}.steps", IndexValue(expr=expr), Domain(dims), [])
        held = self._held(count, 0, step)
        last = entries_at(held.domain.dims, {step: ix.Sym(bound) - 1})
        read = Edge(source=held.name, entries=last)
        self.nodes[node.name] = replace(node, op=Copy(), inputs=(read,))

    # ------------------------------------------------------------ all steps

    def _mask_axes(self, node: Node) -> None:
        """What combines an axis of steps gets neutral elements for late ones."""
        if isinstance(node.op, Merge) or not node.inputs:
            return
        types = [type_of_read(self.nodes[e.source], e) for e in node.inputs]
        if not any(map(self.common.late_axes, types)):
            return
        masked: dict[int, list[int]] = {}
        for link in self.common.links(node):
            for slot, axis in enumerate(link.operands):
                if link.is_reduced and axis in self.common.late_axes(types[slot]):
                    assert axis is not None
                    masked.setdefault(slot, []).append(axis)
        node = self.nodes[node.name]  # with operands that are held
        for slot, axes in masked.items():
            for axis in axes:
                edge = self._masked(node, slot, axis)
                node = replace_operand(node, slot, edge)
                self.nodes[node.name] = node

    def _masked(self, node: Node, slot: int, axis: int) -> Edge:
        """An operand with neutral elements at the late positions of an axis."""
        edge = node.inputs[slot]
        type_ = type_of_read(self.nodes[edge.source], edge)
        skipped = self.common.skipped(type_.shape[axis])
        assert skipped is not None
        monoid = SUM if node.op.multilinear else node.op.monoid or SUM
        value = monoid.identity(type_.dtype)
        number = Literal(value=value, dtype=type_.dtype, weak=type_.weak)
        step, bound = self.common.step, ix.Sym(self.common.bound.name)
        steps = ix.Slice(ix.Const(skipped), bound)
        each = self._masked_each(node, edge, axis, steps, number)
        if each is not None:
            return each
        mask = Edge(source=self.gone.name, entries=entries_at(self.gone.domain.dims, {step: steps}))
        for _ in range(type_.ndim - axis - 1):
            op = ExpandDims(axis=1)
            mask = read_of(self._put(node, f"{node.name}.mask", op, node.domain, [mask]))
        neutral = self._put(node, f"{node.name}.neutral", number, node.domain, [])
        reads = [mask, read_of(neutral), edge]
        return read_of(self._put(node, f"{node.name}.masked", Select(), node.domain, reads))

    def _masked_each(
        self, node: Node, edge: Edge, axis: int, steps: ix.Slice, number: Literal
    ) -> Edge | None:
        """The operand with neutral elements in late steps, where the axis is a read of all steps.

        So the sum is still one over points, which the loop itself can add up.
        """
        source = self.nodes[edge.source]
        at = source.domain.at(edge.entries)
        slices = [(d, e) for d, e in at.items() if isinstance(e, ix.Slice)]
        outer = [d for d in self.common.until.domain.dims if d != self.common.step]
        if axis >= len(slices) or any(at.get(d, ix.Sym(d)) != ix.Sym(d) for d in outer):
            return None
        dim, entry = slices[axis]
        if dim not in self.common.step_dims or entry != steps:
            return None
        dims = self.space.universe.ordered((*source.domain.dims, *outer))
        domain = Domain(dims, source.domain.where)
        neutral = self._put(node, f"{node.name}.neutral", number, domain, [])
        reads = [self._gone_at(dim), read_of(neutral), read_of(source, edge.out)]
        masked = self._put(node, f"{node.name}.masked", Select(), domain, reads)
        return Edge(source=masked.name, entries=entries_at(dims, at))

    # ------------------------------------------------------------ new nodes

    def _fresh(self, name: str) -> str:
        return fresh_name(name, self.nodes)

    def _put(
        self,
        like: Node,
        name: str,
        op: Op,
        domain: Domain,
        reads: Iterable[Edge],
        types: tuple[TensorType, ...] | None = None,
    ) -> Node:
        """Add a node with the spans of another; without ``types`` they are inferred."""
        edges = tuple(reads)
        if types is None:
            operands = tuple(type_of_read(self.nodes[e.source], e) for e in edges)
            types = op.infer(operands, DomainFacts(self.space, domain))
        node = Node(
            name=self._fresh(name),
            op=op,
            domain=domain,
            inputs=edges,
            types=types,
            spans=like.spans,
        )
        self.nodes[node.name] = node
        return node

    def _merged(
        self, like: Node, name: str, domain: Domain, dim: str, first: Node, later: Node
    ) -> Node:
        """A node with a value at the first step and one at all later ones."""
        start, own = entries_at(domain.dims, {dim: ix.ZERO}), identity(domain)
        at, zero = ix.Sym(dim), ix.ZERO
        inputs = (
            replace(read_of(first), guard=ix.compare("==", at, zero)),
            replace(read_of(later), guard=ix.compare(">=", at, ix.ONE)),
        )
        merge = Merge(targets=(start, own))
        node = Node(
            name=name, op=merge, domain=domain, inputs=inputs, types=later.types, spans=like.spans
        )
        self.nodes[name] = node
        return node


def _from(domain: Domain, dim: str, first: int) -> Domain:
    """The steps of a domain from one on."""
    later = ix.compare(">=", ix.Sym(dim), ix.Const(first))
    return Domain(domain.dims, ix.conjunction(domain.where, later))
