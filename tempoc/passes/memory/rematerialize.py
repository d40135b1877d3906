"""Rematerialization: tensors that are live across the memory peak are computed a second time.

    %z2 = matmul %w, %a1                                   : [b*] f32[4]      layers, forward
    %a2 = tanh %z2                                         : [b*] f32[4]
    ...
    %l  = sum %a5[0:B]                                     : [] f32           the program turns
    %g5 = einsum{spec="bi,bj->ij"} %e5[0:B], %a4[0:B]      : [] f32[4, 4]     backward
    %g4 = einsum{spec="bi,bj->ij"} %e4[0:B], %a3[0:B]      : [] f32[4, 4]
    ...
    %g3 = einsum{spec="bi,bj->ij"} %e3[0:B], %a2[0:B]      : [] f32[4, 4]

becomes

    %a1.late  = after %a1, %l, %g5, %g4                    : [b*] f32[4]
    %z2.again = matmul %w, %a1.late                        : [b*] f32[4]
    %a2.again = tanh %z2.again                             : [b*] f32[4]
    %g3 = einsum{spec="bi,bj->ij"} %e3[0:B], %a2.again[0:B] : [] f32[4, 4]

and all else stays. The computation before the peak is cut into segments
(``checkpoint_segments.py``). Tensors that cross a cut are held, like ``%a1``. Every other tensor
that is live across the peak gets a clone, shared by all its consumers after the peak, with clones
of its operands up to held tensors. The last segment gets none: it is consumed at once.

Clones are delayed: ``after`` returns its first operand once the others are there. These are the
small results (gradients of weights) of the segment behind, the last consumers of its clones; where
there are none, another operand of the first consumer. So dependences alone determine the order of
execution, and fusion stops at the borders of segments. No pass after this one may merge equal
nodes; a kernel that contains ``after`` is a call of its own, since XLA would merge the clones with
the originals.

Nodes that call functions of the user, have effects, or are needed only in a branch are never
cloned. Random draws give the same numbers again. Sizes are estimates
(``analysis/size_estimate.py``).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import ClassVar

from tempoc.base.graphs import reachable
from tempoc.base.names import fresh_name
from tempoc.ops.control.control import After
from tempoc.ops.control.externs import ExternCall
from tempoc.ops.control.until import Until
from tempoc.passes.analysis.dependence import Dependence, dependences, unschedulable_nodes
from tempoc.passes.context import GraphPass, PassContext
from tempoc.passes.memory.checkpoint_segments import NodeSequence, Segments, outer_loops, segmented
from tempoc.poly.relations.space import Space
from tempoc.sdg.graph.graph import Edge, Graph, Node
from tempoc.sdg.graph.query import operand_type, users
from tempoc.sdg.graph.rewrite import drop_dead, replace_operand
from tempoc.sdg.statements.branches import branch_conditions
from tempoc.sdg.statements.build import identity, is_computed
from tempoc.symbolic import expr as ix


@dataclass(frozen=True, slots=True, kw_only=True)
class Rematerialize(GraphPass):
    """Clones tensors that would be live across the peak."""

    work: bool = field(default=True, metadata={"help": "make products and reductions again, too"})
    segments: int = field(
        default=0, metadata={"help": "into how many segments to cut, even in vain; 0: what is best"}
    )

    name: ClassVar[str] = "recompute"

    def run(self, graph: Graph, context: PassContext) -> Graph:
        """The graph with clones."""
        if graph.universe.ended:
            why = "how long it runs is found out while it does"
            context.remarks.add(self.name, f"nothing is rematerialized: {why}")
            return graph
        sequence = NodeSequence.of(graph, context)
        segmentation = None if sequence is None else self.segmentation(sequence)
        if segmentation is None:
            context.remarks.add(self.name, "nothing is rematerialized: that would save no memory")
            return graph
        cloner = _Cloner(graph, context.space, *segmentation)
        cloned = cloner.run()
        if cloned is graph or unschedulable_nodes(cloned, context.space):
            why = "no later node could trigger it"
            context.remarks.add(self.name, f"nothing is rematerialized: {why}")
            return graph
        for name, count in cloner.again.items():
            what = f"and {count - 1} nodes that it is made of" if count > 1 else "alone"
            message = f"`{name}` is rematerialized instead of stored, {what}"
            context.remarks.add(self.name, message, graph.nodes[name].span)
        return drop_dead(cloned)

    def segmentation(self, sequence: NodeSequence) -> tuple[NodeSequence, Segments] | None:
        """The peak and the segments of a sequence; ``None`` if they save nothing."""
        return segmented(sequence, work=self.work, count=self.segments)


class _Cloner:
    """Builds the clones, last segment first; ``nodes`` are those of the resulting graph."""

    def __init__(
        self, graph: Graph, space: Space, sequence: NodeSequence, segments: Segments
    ) -> None:
        self.graph = graph
        self.space = space
        self.sequence = sequence
        self.segments = segments
        self.nodes: dict[str, Node] = dict(graph.nodes)
        self.lazy = branch_conditions(graph)
        self.depth = self.depths()
        self.late: dict[tuple[object, ...], str] = {}
        self.again: dict[str, int] = {}

    def run(self) -> Graph:
        """The graph with clones for all segments but the last."""
        crossing = self.sequence.crossing_peak()
        for number in reversed(range(self.segments.count - 1)):
            of_segment = [n for n in crossing if self.segments.number[n] == number]
            recomputed = [n for n in of_segment if n not in self.segments.held]
            if gates := self.small_sums(number) or self.other_operand(number, recomputed):
                self.clone_segment(number, recomputed, gates)
        if not self.again:
            return self.graph
        return replace(self.graph, nodes=self.nodes)

    # ------------------------------------------------------------ when clones may run

    def depths(self) -> Mapping[str, int]:
        """For each node the first segment of whose clones it needs one, directly or not.

        Nodes that need no clone have the last segment. Dependences that outer loops carry are
        ignored.
        """
        last = self.segments.count - 1
        depths = dict.fromkeys(self.nodes, last)
        for name, node in self.graph.nodes.items():
            if not self.sequence.is_early(name):
                depths[name] = min(
                    (self.segment_needed(e.source) for e in node.inputs), default=last
                )
        sinks: dict[str, list[str]] = {}
        for d in dependences(self.graph, self.space):
            if not self.is_carried(d):
                sinks.setdefault(d.source, []).append(d.sink)
        worklist = sorted(self.nodes, key=depths.__getitem__)
        while worklist:
            name = worklist.pop(0)
            for sink in sinks.get(name, ()):
                if depths[sink] > depths[name]:
                    depths[sink] = depths[name]
                    worklist.append(sink)
        return depths

    def segment_needed(self, source: str) -> int:
        """The segment whose clones a consumer after the peak needs to read this tensor."""
        last = self.segments.count - 1
        held = int(source in self.segments.held)
        return min(last, self.segments.number.get(source, last) + held)

    def is_carried(self, d: Dependence) -> bool:
        """Whether an outer loop carries the dependence."""
        return any(s == {1} for dim, s in d.signs if dim in self.sequence.outer)

    def small_sums(self, number: int) -> list[str]:
        """The small results of the nearest segment behind one that has any."""
        by_depth: dict[int, list[str]] = {}
        for name, node in self.graph.nodes.items():
            depth = self.depth[name]
            is_small_sum = node.domain.dims == self.sequence.outer and self.sequence.is_sum(name)
            if is_small_sum and depth > number and self.is_behind(name) and self.may_repeat(node):
                by_depth.setdefault(depth, []).append(name)
        return by_depth[min(by_depth)] if by_depth else []

    def other_operand(self, number: int, recomputed: Sequence[str]) -> list[str]:
        """Another operand of a segment's first consumer that is computed no sooner."""
        sequence = self.sequence
        late = {r for n in recomputed for r in sequence.consumers[n] if not sequence.is_early(r)}
        for reader in sequence.in_order(late):
            for edge in self.graph.nodes[reader].inputs:
                name = edge.source
                behind = name in sequence.bytes and self.is_behind(name)
                if behind and self.depth[name] > number and self.may_repeat(self.nodes[name]):
                    return [name]
        return []

    def is_behind(self, name: str) -> bool:
        """Whether a node stands behind the last cut; small sums, also right at it."""
        return self.sequence.position[name] >= self.segments.cuts[-1] + (
            name in self.sequence.bytes
        )

    # ------------------------------------------------------------ clones

    def clone_segment(self, number: int, recomputed: Sequence[str], gates: Sequence[str]) -> None:
        """Clone the recomputed tensors of a segment for their consumers after the peak."""
        clones: dict[str, str] = {}
        inside = self.cone(number, recomputed)
        for name in self.sequence.in_order(inside):
            clone = self.clone(self.graph.nodes[name], clones, gates)
            if clone is not None:
                clones[name] = clone.name
        for name in recomputed:
            if name in clones:
                self.again[name] = len(self.cone(number, [name]) & {*clones})
        every = users(self.graph)
        for name in clones:
            for use in every[name]:
                reader = self.nodes[use.reader]
                if is_computed(reader) and not self.sequence.is_early(use.reader):
                    self.nodes[use.reader] = _reading(reader, {name: clones[name]})
        self.delay_consumers(number, gates)

    def cone(self, number: int, recomputed: Sequence[str]) -> set[str]:
        """The nodes of a segment to clone for some tensors: these and all operands not held."""

        def is_inside(name: str) -> bool:
            inside = name not in self.segments.held and self.segments.number.get(name) == number
            return inside and self.may_repeat(self.graph.nodes[name])

        def sources(name: str) -> Iterator[str]:
            return filter(is_inside, self.graph.nodes[name].sources)

        return {*reachable(filter(is_inside, recomputed), sources)}

    def may_repeat(self, node: Node) -> bool:
        """Whether a node may be computed twice."""
        external = isinstance(node.op, ExternCall | Until)
        return is_computed(node) and not (external or self.lazy[node.name] or not node.op.pure)

    def clone(self, node: Node, clones: Mapping[str, str], gates: Sequence[str]) -> Node | None:
        """The clone of a node, delayed if it reads no other clone.

        ``None`` if it cannot be delayed.
        """
        clone = replace(_reading(node, clones), name=fresh_name(f"{node.name}.again", self.nodes))
        if not any(e.source in clones for e in node.inputs):
            delayed = self.delayed(clone, gates)
            if delayed is None:
                return None
            clone = delayed
        self.nodes[clone.name] = clone
        return clone

    def delayed(self, node: Node, gates: Sequence[str]) -> Node | None:
        """The node with its largest operand delayed; ``None`` if it reads nothing at a point."""
        slots = [
            k for k, e in enumerate(node.inputs)
            if not any(isinstance(x, ix.Slice) for x in e.entries)
            and not self.nodes[e.source].op.cheap
        ]  # fmt: skip
        edges = self.gate_edges(node, gates)
        if not slots or not edges:
            return None
        slot = max(slots, key=lambda k: (self.sequence.bytes.get(node.inputs[k].source, 0), -k))
        edge = node.inputs[slot]
        key = (edge.source, edge.out, edge.entries, node.domain, node.vector, tuple(edges))
        if key not in self.late:
            name = fresh_name(f"{edge.source}.late", self.nodes)
            types = (operand_type(self.graph, edge),)
            self.nodes[name] = replace(
                node, name=name, op=After(), inputs=(edge, *edges), types=types
            )
            self.late[key] = name
        read = Edge(source=self.late[key], entries=identity(node.domain), span=edge.span)
        return replace_operand(node, slot, read)

    def gate_edges(self, node: Node, gates: Sequence[str]) -> list[Edge]:
        """Reads of the gates that are available wherever the node is."""
        edges = []
        for gate in gates:
            domain = self.graph.nodes[gate].domain
            entries = identity(domain)
            has_dims = {*domain.dims} <= {*node.domain.dims}
            if has_dims and not self.space.outside(node.domain, entries, domain):
                edges.append(Edge(source=gate, entries=entries))
        return edges

    def delay_consumers(self, number: int, gates: Sequence[str]) -> None:
        """Delay nodes after the peak that read only held tensors until their segment's clones run.

        They would be computed at once, and stay live until then.
        """
        for name in self.sequence.bytes:
            node = self.nodes[name]
            if self.depth[name] != number or self.sequence.is_early(name):
                continue
            early = all(
                e.source in self.graph.nodes and self.sequence.is_early(e.source)
                for e in node.inputs
            )
            if early and self.may_repeat(node) and outer_loops(node) == self.sequence.outer:
                self.nodes[name] = self.delayed(node, gates) or node


def is_rematerialized(graph: Graph) -> bool:
    """Whether a graph has rematerialized nodes."""
    return any(isinstance(node.op, After) for node in graph.nodes.values())


def _reading(node: Node, clones: Mapping[str, str]) -> Node:
    """The node with clones in place of its operands."""
    inputs = tuple(
        replace(e, source=clones[e.source]) if e.source in clones else e for e in node.inputs
    )
    return replace(node, inputs=inputs)
