"""What is computed in each step although `where` seldom chooses it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from tempoc.base.cost_model import MODEL
from tempoc.base.graphs import reachable
from tempoc.driver.compilation import Compilation
from tempoc.driver.slow.host_loops import Finding
from tempoc.driver.slow.words import Words
from tempoc.driver.timing.estimate import ProgramPart, TimedKernel
from tempoc.driver.timing.rates import operator_nanoseconds
from tempoc.ops.control.control import Select
from tempoc.ops.control.recurrence import Recurrence
from tempoc.ops.control.steps import typed_steps
from tempoc.ops.definition.operator import Op
from tempoc.ops.tensor.source import IndexValue
from tempoc.sdg.graph.graph import Graph, Node
from tempoc.sdg.graph.query import operand_types

ChosenValue = str | int


@dataclass(frozen=True, slots=True, kw_only=True)
class _StepOperation:
    """An operator of a step: what it reads of the step, and how long it takes."""

    op: Op
    operands: tuple[ChosenValue, ...]
    nanoseconds: float


@dataclass(frozen=True, slots=True, kw_only=True)
class _StepOperations:
    """The operators of one step, and which of them others read or keep."""

    operations: Mapping[ChosenValue, _StepOperation]
    results: tuple[ChosenValue, ...]


class ChoiceFindings:
    """Explains what steps compute for `where`, of one program."""

    def __init__(self, compilation: Compilation, words: Words) -> None:
        self.graph: Graph = compilation.optimized
        self.words = words

    def of(self, part: ProgramPart, kernel: TimedKernel) -> Iterator[Finding]:
        """A choice of a kernel whose steps do one point each: of many points it is no choice."""
        busy = max(kernel.work, kernel.moved)
        if kernel.statement.vector or busy < MODEL.telling_share * part.time:
            return
        for step, names in self.steps(kernel):
            total = sum(x.nanoseconds for x in step.operations.values()) or 1.0
            for key, number in _choices(step):
                spared = sum(step.operations[k].nanoseconds for k in _only_for(step, key, number))
                written = self.written(names, (isinstance(key, str) and key) or "")
                if written is None or spared < max(MODEL.choice_ns, MODEL.main_share * total):
                    continue
                yield self.finding(written, kernel)
                return

    def steps(self, kernel: TimedKernel) -> Iterator[tuple[_StepOperations, tuple[str, ...]]]:
        """The steps of a kernel in a loop, or of scans; with the names of their nodes."""
        members = kernel.statement.members
        nodes = [self.graph.nodes[m] for m in members]
        for node in nodes:
            if isinstance(node.op, Recurrence):
                yield self.scan(node, node.op, kernel), (node.name,)
        if kernel.loops:
            yield self.loop(nodes, kernel), tuple(members)

    def loop(self, nodes: Sequence[Node], kernel: TimedKernel) -> _StepOperations:
        """A step of a loop. What other kernels read is a result."""
        operations: dict[ChosenValue, _StepOperation] = {
            n.name: _StepOperation(
                op=n.op,
                operands=tuple(e.source for e in n.inputs),
                nanoseconds=operator_nanoseconds(
                    n.op, operand_types(self.graph, n), n.types, kernel.at, MODEL
                ),
            )
            for n in nodes
        }
        written = {w.member for w in kernel.statement.writes}
        effects = {n.name for n in nodes if not n.op.pure}
        return _StepOperations(operations=operations, results=(*sorted(written | effects),))

    def scan(self, node: Node, op: Recurrence, kernel: TimedKernel) -> _StepOperations:
        """A step of a scan, whose values are numbered."""
        given = op.given(operand_types(self.graph, node))
        operations: dict[ChosenValue, _StepOperation] = {
            s.first: _StepOperation(
                op=s.op,
                operands=s.taken,
                nanoseconds=operator_nanoseconds(s.op, s.operands, s.results, kernel.at, MODEL),
            )
            for s in typed_steps(op.steps, given)
        }
        return _StepOperations(operations=operations, results=op.carried)

    def written(self, names: Sequence[str], chosen: str) -> Node | None:
        """The `where` of the source, by one bool, that a choice comes from."""
        tensors = {self.words.name(n) for n in ([chosen] if chosen else names)}
        source = self.words.source
        for node in source.nodes.values():
            ours = isinstance(node.op, Select) and self.words.name(node.name) in tensors
            if ours and not operand_types(source, node)[0].shape:
                return node
        return None

    def finding(self, written: Node, kernel: TimedKernel) -> Finding:
        """By a condition on the step it is an equation of its own, by data `cond`."""
        condition = self.words.source.nodes[written.inputs[0].source]
        line = self.words.line(written)
        often = f"each `{kernel.loops[-1].var}`" if kernel.loops else "each step"
        why = f"{line} computes at {often} what `where` then leaves out at many"
        if isinstance(condition.op, IndexValue):
            return Finding(
                why=why,
                help="an equation with a condition (`when`) in place of `where` computes it only "
                "where that holds",
            )
        return Finding(
            why=why,
            help="`cond` in place of `where` computes only the side that is taken, which helps "
            "where the costly one rarely is",
        )


def _choices(step: _StepOperations) -> Iterator[tuple[ChosenValue, int]]:
    """The choices of a step, with the operand that is a side."""
    for key, operation in step.operations.items():
        if isinstance(operation.op, Select):
            yield key, 1
            yield key, 2


def _only_for(step: _StepOperations, choice: ChosenValue, number: int) -> list[ChosenValue]:
    """What is computed for one side of a choice alone."""

    def operands(key: ChosenValue) -> list[ChosenValue]:
        taken = step.operations[key].operands if key in step.operations else ()
        return [k for n, k in enumerate(taken) if (key, n) != (choice, number)]

    side = step.operations[choice].operands[number]
    needed = reachable(step.results, operands)
    return [k for k in reachable([side], operands) if k in step.operations and k not in needed]
