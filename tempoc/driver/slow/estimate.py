"""Estimates of time: each outermost loop, and each kernel outside of loops, for given bounds.

All sizes are taken in the middle of the dimensions that they depend on, which is exact for what
grows linearly. The rates are those of the cost model.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from math import prod

from tempoc.base.cost_model import CostModel
from tempoc.driver.compilation import Compilation
from tempoc.driver.report.cost import bytes_at
from tempoc.ops.control.recurrence import Recurrence
from tempoc.schedule.tree import (
    Execute,
    ScheduleTree,
    TreeGuard,
    TreeLoop,
    TreeSequence,
    executed,
)
from tempoc.sdg.graph.graph import Node
from tempoc.sdg.graph.query import operand_types
from tempoc.sdg.statements.statements import Statement
from tempoc.symbolic import expr as ix
from tempoc.symbolic.walk import evaluate, symbols

Values = Mapping[str, int]


@dataclass(frozen=True, slots=True, kw_only=True)
class TimedKernel:
    """The executions of a statement at one place of the schedule tree.

    ``loops`` are those around it, the outermost first, written-out ones included; ``count`` the
    executions. ``fixed``, ``work`` and ``moved`` are nanoseconds of all of them: what a step costs
    anyway, operations, and bytes. ``at``: the middle of everything it depends on.
    """

    statement: Statement
    loops: tuple[TreeLoop, ...]
    count: float
    fixed: float
    work: float
    moved: float
    at: Values

    @property
    def time(self) -> float:
        """Nanoseconds of all executions: work and transfers overlap."""
        return self.fixed + max(self.work, self.moved)


@dataclass(frozen=True, slots=True, kw_only=True)
class ProgramPart:
    """An outermost loop with all in it, or (``loop`` is ``None``) a kernel outside of loops."""

    loop: TreeLoop | None
    kernels: tuple[TimedKernel, ...]

    @property
    def time(self) -> float:
        """Nanoseconds of all kernels."""
        return sum(k.time for k in self.kernels)

    def share(self, kernel: TimedKernel) -> float:
        """The fraction of the part's time that a kernel takes."""
        return kernel.time / self.time if self.time else 0.0


class Estimator:
    """Estimates the parts of a program; ``values`` has all bounds, those of tiles too."""

    def __init__(self, compilation: Compilation, values: Values, model: CostModel) -> None:
        self.compilation = compilation
        self.graph = compilation.optimized
        self.values = values
        self.model = model
        self.on_host = frozenset(compilation.emitted.left)

    def parts(self) -> list[ProgramPart]:
        """All parts, in the order of execution."""
        return [*self.outside(self.compilation.tree)]

    def outside(self, tree: ScheduleTree) -> Iterator[ProgramPart]:
        """The parts of a subtree outside of all loops."""
        match tree:
            case TreeSequence(items=items):
                for item in items:
                    yield from self.outside(item)
            case TreeGuard(condition=condition, body=body):
                if evaluate(condition, self.values):
                    yield from self.outside(body)
            case TreeLoop():
                yield ProgramPart(loop=tree, kernels=(*self.kernels(tree, (), 1.0, self.values),))
            case Execute():
                yield ProgramPart(loop=None, kernels=(self.kernel(tree, (), 1.0, self.values),))

    def kernels(
        self, tree: ScheduleTree, loops: tuple[TreeLoop, ...], count: float, at: Values
    ) -> Iterator[TimedKernel]:
        """The kernels of a subtree that is run ``count`` times."""
        match tree:
            case TreeSequence(items=items):
                for item in items:
                    yield from self.kernels(item, loops, count, at)
            case TreeGuard(condition=condition, body=body):
                often = holds(condition, loops, at, self.model.guard_samples)
                if often:
                    yield from self.kernels(body, loops, count * often, at)
            case TreeLoop(var=var, body=body):
                steps = steps_of(tree, at)
                if steps:
                    middle = steps[(len(steps) - 1) // 2]
                    inside = {**at, var: middle}
                    yield from self.kernels(body, (*loops, tree), count * len(steps), inside)
            case Execute():
                yield self.kernel(tree, loops, count, at)

    def kernel(
        self, execute: Execute, loops: tuple[TreeLoop, ...], count: float, at: Values
    ) -> TimedKernel:
        """One kernel, at one place of the tree."""
        statement = self.compilation.statements.by_name[execute.statement]
        point = {
            d: evaluate(e, at) for d, e in zip(statement.domain.dims, execute.point, strict=True)
        }
        ends = {v.dim: [evaluate(e, at) for e in (v.lower, v.upper)] for v in statement.vector}
        middle = {**at, **point, **{d: max(0, (lo + hi - 1) // 2) for d, (lo, hi) in ends.items()}}
        points = prod(max(0, hi - lo) for lo, hi in ends.values())
        members = [self.graph.nodes[m] for m in statement.members]
        work = sum(self.nanoseconds(n, middle) for n in members)
        steps = sum(evaluate(n.op.count, middle) for n in members if isinstance(n.op, Recurrence))
        fixed = self.step(loops, statement) + steps * self.model.scan_step_ns
        moved = self.bytes(statement, middle) / self.model.bytes_per_ns
        return TimedKernel(
            statement=statement,
            loops=loops,
            count=count,
            fixed=count * fixed,
            work=count * points * work,
            moved=count * moved,
            at=middle,
        )

    def nanoseconds(self, node: Node, at: Values) -> float:
        """The time of a node's operations at a point."""
        count = evaluate(node.op.work(operand_types(self.graph, node), node.types), at)
        model = self.model
        return count / (model.summed_per_ns if node.op.contraction else model.elementwise_per_ns)

    def bytes(self, statement: Statement, at: Values) -> int:
        """What is read and written in stores at a point."""
        tensors = self.compilation.statements.tensors
        reads = dict.fromkeys((r.tensor, r.entries) for r in statement.reads if not r.forwarded)
        accesses = [*reads, *((w.tensor, w.entries) for w in statement.writes)]
        return sum(evaluate(bytes_at(tensors[name], entries), at) for name, entries in accesses)

    def step(self, loops: tuple[TreeLoop, ...], statement: Statement) -> float:
        """What a call of a kernel costs by itself."""
        if not loops or not self.is_on_host(loops[-1], loops):
            return self.model.step_ns
        return self.model.call_ns

    def is_on_host(self, loop: TreeLoop, around: tuple[TreeLoop, ...]) -> bool:
        """Whether the host runs the steps of a loop; a short one that need not is written out."""
        loops = around[: around.index(loop) + 1]
        if any(x.place == "device" and x.var not in self.on_host for x in loops):
            return False
        kept = {x.loop.dim for x in self.compilation.remarks if x.loop and x.step == "regions"}
        short = not self.compilation.options.on_device
        return short or any(x.var in kept for x in loops)


def steps_of(loop: TreeLoop, at: Values) -> range:
    """The values of a loop's variable."""
    return range(evaluate(loop.lower, at), evaluate(loop.upper, at), loop.step)


def holds(condition: ix.Expr, loops: tuple[TreeLoop, ...], at: Values, samples: int) -> float:
    """The fraction of the steps of the innermost loop in which a condition holds."""
    if not loops:
        return float(bool(evaluate(condition, at)))
    steps = steps_of(loops[-1], at)
    var = loops[-1].var

    def often(some: range) -> int:
        return sum(bool(evaluate(condition, {**at, var: value})) for value in some)

    if len(steps) <= 2 * samples:
        return often(steps) / len(steps)
    start = (len(steps) - samples) // 2
    rest = (len(steps) - 2) / samples * often(steps[start : start + samples])
    return (often(steps[:1]) + often(steps[-1:]) + rest) / len(steps)


def is_around(kernel: TimedKernel, loop: TreeLoop) -> bool:
    """Whether a kernel is in a loop."""
    return any(x is loop for x in kernel.loops)


def dims_of(kernel: TimedKernel, loop: TreeLoop) -> tuple[str, ...]:
    """The dimensions of a kernel's points that move with a loop."""
    for execute in executed(loop):
        if execute.statement == kernel.statement.name:
            pairs = zip(kernel.statement.domain.dims, execute.point, strict=True)
            return tuple(d for d, e in pairs if loop.var in symbols(e))
    return ()

