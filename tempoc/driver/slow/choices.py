"""What is computed although `where`, or `cond` of many points at once, seldom chooses it."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass

from tempoc.base.cost_model import MODEL
from tempoc.base.graphs import reachable
from tempoc.base.report_thresholds import REPORTED
from tempoc.driver.compilation import Compilation
from tempoc.driver.slow.host_loops import Finding
from tempoc.driver.slow.words import Words
from tempoc.driver.timing.estimate import ProgramPart, TimedKernel
from tempoc.driver.timing.rates import nanoseconds, operator_nanoseconds
from tempoc.ops.control.cond import Cond
from tempoc.ops.control.control import Select
from tempoc.ops.control.recurrence import Recurrence
from tempoc.ops.control.steps import typed_steps
from tempoc.ops.definition.operator import Op
from tempoc.ops.tensor.source import IndexValue
from tempoc.sdg.graph.graph import Graph, Node
from tempoc.sdg.graph.query import operand_types
from tempoc.sdg.statements.build import identity
from tempoc.symbolic import expr as ix
from tempoc.symbolic.walk import evaluate, symbols

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
        """A choice of a kernel whose steps do one point each, or a `cond` of many points."""
        if max(kernel.work, kernel.moved) < REPORTED.telling_share * part.time:
            return
        if kernel.statement.vector:
            yield from self.both_sides(kernel)
            return
        for step, names in self.steps(part, kernel):
            total = sum(x.nanoseconds for x in step.operations.values()) or 1.0
            for keys, number in _choices(step):
                spared = _spared(step, keys, number)
                key = keys[0]
                written = self.written(names, (isinstance(key, str) and key) or "")
                if written is None or spared < max(REPORTED.choice_ns, REPORTED.main_share * total):
                    continue
                if self.often(written, number, kernel) < REPORTED.telling_share:
                    continue
                yield self.finding(written, kernel, len(keys))
                return

    def both_sides(self, kernel: TimedKernel) -> Iterator[Finding]:
        """A `cond` of many points at once, some of which may take either side."""
        nodes = [self.graph.nodes[m] for m in kernel.statement.members]
        vector = [v.dim for v in kernel.statement.vector]
        step = self.loop(nodes, kernel)
        total = sum(x.nanoseconds for x in step.operations.values()) or 1.0
        for node in nodes:
            condition = node.inputs[0] if isinstance(node.op, Cond) else None
            read = {s for e in condition.entries for s in symbols(e)} if condition else set()
            varying = [d for d in vector if d in read]
            for number in (1, 2) if varying else ():
                spared = _spared(step, [node.name], number)
                if spared >= REPORTED.main_share * total:
                    yield self.both(node, number, varying)
                    return

    def both(self, node: Node, number: int, varying: Collection[str]) -> Finding:
        """Points that take one side each need both; a condition that they share is a choice."""
        condition = self.words.name(node.inputs[0].source)
        known = self.words.source.nodes.get(condition)
        dims = known.domain.dims if known is not None else ()
        named = (
            known is not None and {*varying} <= {*dims} and condition != self.words.name(node.name)
        )
        ends = {d: self.graph.universe.dim(d).bound for d in varying}
        ranges = ", ".join(f"{d} = 0:{ends[d]}" for d in varying)
        function = "any" if number == 1 else "all"
        shared = f"{function}({condition if named else 'c'}[{ranges}])"
        together = " and ".join(f"`{d}`" for d in varying)
        what = f"`{condition}` varies" if named else "its condition `c` varies"
        return Finding(
            why=f"{self.words.line(node)} computes both sides of `cond` for all {together} at "
            f"once, since {what} with {together}",
            help=f"where few take the costly side, a `cond` around this one by `{shared}`, which "
            f"does not vary with {together}, skips it at the steps where none does",
        )

    def steps(
        self, part: ProgramPart, kernel: TimedKernel
    ) -> Iterator[tuple[_StepOperations, tuple[str, ...]]]:
        """The steps of a kernel in a loop, or of scans; with the names of their nodes.

        What two kernels of one loop compute, of which each has a choice, is one step.
        """
        members = kernel.statement.members
        nodes = [self.graph.nodes[m] for m in members]
        for node in nodes:
            if isinstance(node.op, Recurrence):
                yield self.scan(node, node.op, kernel), (node.name,)
        if kernel.loops:
            same = [k for k in part.kernels if k.loops == kernel.loops and not k.statement.vector]
            names = dict.fromkeys(m for k in (kernel, *same) for m in k.statement.members)
            yield self.loop([self.graph.nodes[n] for n in names], kernel), tuple(names)

    def results(self, nodes: Sequence[Node]) -> list[str]:
        """What others than some nodes read, or these at other points than their own."""
        inside = {n.name for n in nodes}
        read = [
            e.source
            for n in self.graph.nodes.values()
            for e in n.inputs
            if n.name not in inside or e.entries != identity(self.graph.nodes[e.source].domain)
        ]
        read += [o.source for o in self.graph.outputs]
        return sorted({*read} & inside | {n.name for n in nodes if not n.op.pure})

    def loop(self, nodes: Sequence[Node], kernel: TimedKernel) -> _StepOperations:
        """A step of a loop. What is read after it, or by others, is a result."""
        operations: dict[ChosenValue, _StepOperation] = {
            n.name: _StepOperation(
                op=n.op,
                operands=tuple(e.source for e in n.inputs),
                nanoseconds=nanoseconds(self.graph, n, kernel.at, MODEL),
            )
            for n in nodes
        }
        return _StepOperations(operations=operations, results=tuple(self.results(nodes)))

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

    def often(self, written: Node, number: int, kernel: TimedKernel) -> float:
        """At which fraction of the steps a side is left out: 1 where data say so."""
        op = self.words.source.nodes[written.inputs[0].source].op
        dims = [s for s in symbols(op.expr) if self.is_dim(s)] if isinstance(op, IndexValue) else []
        if not isinstance(op, IndexValue) or len(dims) != 1:
            return 1.0
        steps = range(evaluate(ix.Sym(self.graph.universe.dim(dims[0]).bound), kernel.at))
        steps = steps[: MODEL.unknown_bound]
        taken = sum(bool(evaluate(op.expr, {**kernel.at, dims[0]: step})) for step in steps)
        return (taken if number == 2 else len(steps) - taken) / (len(steps) or 1)

    def is_dim(self, name: str) -> bool:
        """Whether a dimension of the source is still one."""
        return self.graph.universe.is_dim(name)

    def finding(self, written: Node, kernel: TimedKernel, count: int) -> Finding:
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
            "where the costly one rarely is"
            + "; one `cond` of records in place of several"
            * (count > 1),
        )


def _choices(step: _StepOperations) -> Iterator[tuple[Sequence[ChosenValue], int]]:
    """The choices of a step, those by one condition together, with the operand that is a side."""
    by: dict[ChosenValue, list[ChosenValue]] = {}
    for key, operation in step.operations.items():
        if isinstance(operation.op, Select):
            by.setdefault(operation.operands[0], []).append(key)
    for keys in by.values():
        yield keys, 1
        yield keys, 2


def _spared(step: _StepOperations, choices: Collection[ChosenValue], number: int) -> float:
    """The time of what is computed for one side of choices alone.

    Sums and products of elements do not count: they are fused with the choice, whose pass over its
    operands they hardly lengthen.
    """
    operations = [step.operations[k] for k in _only_for(step, choices, number)]
    return sum(x.nanoseconds for x in operations if x.op.transcendental or not x.op.elementwise)


def _only_for(
    step: _StepOperations, choices: Collection[ChosenValue], number: int
) -> list[ChosenValue]:
    """What is computed for one side of choices alone."""

    def operands(key: ChosenValue) -> list[ChosenValue]:
        taken = step.operations[key].operands if key in step.operations else ()
        return [k for n, k in enumerate(taken) if key not in choices or n != number]

    sides = [step.operations[c].operands[number] for c in choices]
    needed = reachable(step.results, operands)
    return [k for k in reachable(sides, operands) if k in step.operations and k not in needed]
