"""The reverse sweep: from the losses backward, node by node, for all points at once.

Each active output has a cotangent, a node of the same domain and type. A node is visited once: its
derivative rule gives the cotangents of its operands at its own points; `transpose_read` turns them
into contributions at the points that were read. A recurrence gives a recurrence in the other
direction, since cotangents have names before they are defined.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from tempoc.autodiff.accumulate_cotangents import accumulate
from tempoc.autodiff.branch_gradients import zero_outside_branch
from tempoc.autodiff.node_builder import GraphBuilder, PointBuild
from tempoc.autodiff.transpose_read import OperandCotangent
from tempoc.base.names import COTANGENT
from tempoc.diagnostics.source import Span
from tempoc.ops.control.cond import Cond
from tempoc.ops.control.control import Copy, Merge
from tempoc.ops.gradients.calculus import Term
from tempoc.ops.gradients.table import RULES
from tempoc.sdg.builder import read_of
from tempoc.sdg.graph.graph import Edge, Node
from tempoc.sdg.statements.branches import BranchCondition
from tempoc.sdg.statements.build import identity
from tempoc.symbolic import expr as ix
from tempoc.symbolic.domain import Domain

NodeOutput = tuple[str, int]


@dataclass(slots=True, kw_only=True)
class Sweep:
    """One sweep from the losses to the tensors to differentiate by (the keys of `domains`)."""

    builder: GraphBuilder
    losses: tuple[Edge, ...]
    active: frozenset[str]
    domains: dict[str, Domain]
    spans: tuple[Span, ...]
    conditions: Mapping[str, tuple[BranchCondition, ...]]
    cotangents: dict[NodeOutput, str] = field(default_factory=dict)
    reads: dict[NodeOutput, list[OperandCotangent]] = field(default_factory=dict)
    worklist: list[str] = field(default_factory=list)

    def run(self) -> None:
        """Add all cotangents to the graph."""
        for edge in self.losses:
            self.require((edge.source, edge.out))
        for name in self.domains:
            self.require((name, 0))
        while self.worklist:
            self.visit(self.builder.nodes[self.worklist.pop(0)])
        for output in list(self.cotangents):
            self.assemble(output)

    def cotangent(self, edge: Edge) -> str:
        """The node that holds the cotangent of an output."""
        return self.cotangents[edge.source, edge.out]

    def require(self, output: NodeOutput) -> None:
        """Give an output a cotangent, and put its node on the worklist."""
        if output in self.cotangents:
            return
        name, out = output
        loss = self.losses[0].source if self.losses else name
        suffix = f".out{out}" if out else ""
        self.cotangents[output] = self.builder.names.fresh(f"{loss}.{COTANGENT}.{name}{suffix}")
        node = self.builder.nodes[name]
        cotangent = self.cotangents[output]
        type = replace(node.types[out], weak=False)
        placeholder = replace(
            node, name=cotangent, op=Copy(), domain=self.domain(name), types=(type,)
        )
        self.builder.nodes[cotangent] = placeholder  # stands in until it is assembled
        if name in self.active and name not in self.domains and name not in self.worklist:
            self.worklist.append(name)
            for other, t in enumerate(node.types):
                if t.dtype.is_float:
                    self.require((name, other))

    def domain(self, name: str) -> Domain:
        """The domain of the cotangents of a node."""
        return self.domains.get(name) or self.builder.nodes[name].domain

    def term(self, node: Node, out: int) -> Term:
        """The cotangent of an output, as a term at the node's points."""
        name = self.cotangents.get((node.name, out))
        if name is None:
            return Term(node.types[out], None, 0.0)
        type = replace(node.types[out], weak=False)
        if self.is_seed(node, out):
            return Term(type, None, 1.0)
        return Term(type, Edge(source=name, entries=identity(node.domain)))

    def is_seed(self, node: Node, out: int) -> bool:
        """Whether an output is a loss once and no active node reads it: its cotangent is 1."""
        count = sum((e.source, e.out) == (node.name, out) for e in self.losses)
        return count == 1 and not any(
            e.source == node.name for n in self.active for e in self.builder.nodes[n].inputs
        )

    def visit(self, node: Node) -> None:
        """Compute the cotangents of a node's operands."""
        cots = tuple(self.term(node, k) for k in range(len(node.types)))
        if isinstance(node.op, Merge):
            for edge in node.inputs:
                domain = self.builder.space.symbolic.restrict(node.domain, edge.guard)
                self.pass_on(node, edge, cots[0], domain)
            return
        if not node.op.differentiable:
            return
        build = PointBuild(
            builder=self.builder,
            domain=node.domain,
            prefix=self.cotangents.get((node.name, 0), node.name),
            spans=node.spans,
        )
        args = tuple(build.read(replace(e, guard=ix.TRUE)) for e in node.inputs)
        results = tuple(Term(t, read_of(node, k)) for k, t in enumerate(node.types))
        if isinstance(node.op, Cond):
            operand_cotangents: tuple[Term | None, ...] = (None, cots[0], cots[0])
        else:
            operand_cotangents = RULES[type(node.op)](node.op, build.calculus, args, results, cots)
        for slot, part in enumerate(operand_cotangents):
            edge = node.inputs[slot]
            if part is not None and self.flows(edge) and part.number != 0:
                graph = self.builder.graph
                part = zero_outside_branch(build, graph, self.conditions, node, slot, part)
                self.pass_on(node, edge, part, node.domain)

    def flows(self, edge: Edge) -> bool:
        """Whether derivatives flow through an operand."""
        type = self.builder.nodes[edge.source].types[edge.out]
        return edge.source in self.active and type.dtype.is_float

    def pass_on(self, node: Node, edge: Edge, part: Term, sink: Domain) -> None:
        """Record the cotangent of an operand."""
        if not self.flows(edge) or part.number == 0:
            return
        source, output = self.builder.nodes[edge.source], (edge.source, edge.out)
        self.require(output)
        self.reads.setdefault(output, []).append(
            OperandCotangent(
                sink=sink,
                entries=edge.entries,
                dims=source.domain.dims,
                term=part,
                shape=source.types[edge.out].shape,
                spans=node.spans,
            )
        )

    def assemble(self, output: NodeOutput) -> None:
        """Define the cotangent of an output as the sum over its recorded reads."""
        name = output[0]
        node = self.builder.nodes[name]
        held = self.builder.nodes[self.cotangents[output]]
        seeds = sum((e.source, e.out) == output for e in self.losses)
        reads = self.reads.get(output, [])
        accumulate(self.builder, held, node.domain, reads, seeds, node.spans)
