"""Estimates of time: each outermost loop, and each kernel outside of loops, for given bounds.

All sizes are taken in the middle of the dimensions that they depend on, which is exact for what
grows linearly. The rates are those of the cost model.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from math import prod
from typing import NamedTuple

from tempoc.base.cost_model import CostModel
from tempoc.driver.compilation import Compilation
from tempoc.driver.timing.rates import nanoseconds
from tempoc.ops.control.recurrence import Recurrence
from tempoc.ops.indexing.indexing import SpatialIndex
from tempoc.ops.random.draws import Normal, Uniform
from tempoc.schedule.tree import (
    Execute,
    ScheduleTree,
    TreeGuard,
    TreeLoop,
    TreeSequence,
    executed,
)
from tempoc.sdg.graph.graph import Node
from tempoc.sdg.statements.accessed import accessed_part, bytes_at
from tempoc.sdg.statements.statements import Read, Statement, Write
from tempoc.symbolic import expr as ix
from tempoc.symbolic.walk import evaluate, symbols

PointSizes = Mapping[str, int]


class _Times(NamedTuple):
    """How often something runs, and in how many steps of loops that are not written out."""

    executions: float
    steps: int


_ONCE = _Times(1.0, 1)


@dataclass(frozen=True, slots=True, kw_only=True)
class TimedKernel:
    """The executions of a statement at one place of the schedule tree.

    ``loops`` are those around it, the outermost first, written-out ones included; ``count`` the
    executions, ``steps`` those of the loops that are not written out. ``fixed``, ``work`` and
    ``moved`` are nanoseconds of all executions: what a step costs anyway, operations, and bytes.
    An execution computes ``points`` at once; ``at``: the middle of everything it depends on.
    """

    statement: Statement
    loops: tuple[TreeLoop, ...]
    count: float
    steps: int
    fixed: float
    work: float
    moved: float
    points: int
    at: PointSizes

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
        """The fraction of the part's time that a kernel takes, at all of its places."""
        name = kernel.statement.name
        return sum(k.time for k in self.kernels if k.statement.name == name) / (self.time or 1.0)

    @property
    def dearest(self) -> tuple[TimedKernel, ...]:
        """Each kernel once, at its most expensive place, the most expensive first."""
        ordered = sorted(self.kernels, key=lambda k: -k.time)
        first = {k.statement.name: k for k in reversed(ordered)}
        return tuple(sorted(first.values(), key=lambda k: -self.share(k)))


class Estimator:
    """Estimates the parts of a program; ``values`` has all bounds, those of tiles too."""

    def __init__(self, compilation: Compilation, values: PointSizes, model: CostModel) -> None:
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
                kernels = self.kernels(tree, (), _ONCE, self.values)
                yield ProgramPart(loop=tree, kernels=tuple(kernels))
            case Execute():
                yield ProgramPart(loop=None, kernels=(self.kernel(tree, (), _ONCE, self.values),))

    def kernels(
        self, tree: ScheduleTree, loops: tuple[TreeLoop, ...], times: _Times, at: PointSizes
    ) -> Iterator[TimedKernel]:
        """The kernels of a subtree that is run so many times."""
        match tree:
            case TreeSequence(items=items):
                for item in items:
                    yield from self.kernels(item, loops, times, at)
            case TreeGuard(condition=condition, body=body):
                often = holds(condition, loops, at, self.model.guard_samples)
                if often:
                    fewer = _Times(times.executions * often, times.steps)
                    yield from self.kernels(body, loops, fewer, at)
            case TreeLoop(var=var, body=body, place=place):
                steps = steps_of(tree, at)
                if steps:
                    inside = {**at, var: steps[(len(steps) - 1) // 2]}
                    run = 1 if place == "unrolled" else len(steps)
                    more = _Times(times.executions * len(steps), times.steps * run)
                    yield from self.kernels(body, (*loops, tree), more, inside)
            case Execute():
                yield self.kernel(tree, loops, times, at)

    def kernel(
        self, execute: Execute, loops: tuple[TreeLoop, ...], times: _Times, at: PointSizes
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
            count=times.executions,
            steps=times.steps,
            fixed=times.executions * fixed,
            work=times.executions * points * work,
            moved=times.executions * moved,
            points=points,
            at=middle,
        )

    def portion(self, kernel: TimedKernel, names: Collection[str]) -> float:
        """The fraction of a kernel's operations that some of its nodes do."""
        nodes = [self.graph.nodes[m] for m in kernel.statement.members]
        times = {n.name: self.nanoseconds(n, kernel.at) for n in nodes}
        return sum(times[n] for n in names) / (sum(times.values()) or 1.0)

    def nanoseconds(self, node: Node, at: PointSizes) -> float:
        """The time of a node's operations at a point."""
        return self.read_portion(node, at) * nanoseconds(self.graph, node, at, self.model)

    def read_portion(self, node: Node, at: PointSizes) -> float:
        """The fraction of random numbers that others read within their kernel: XLA draws no more.

        256 rows of 64 normal numbers at 1000 steps, of which one row is read, take as long as one
        row (2026-11-28, 0.69 and 0.66 ms, with a scan).
        """
        if not isinstance(node.op, Normal | Uniform):
            return 1.0
        readers = [n for n in self.graph.nodes.values() if node.name in n.sources]
        stored = {t.node for t in self.compilation.statements.tensors.values()}
        if node.name in stored or not all(isinstance(n.op, SpatialIndex) for n in readers):
            return 1.0
        sizes = [prod(evaluate(e, at) for e in n.types[0].shape) for n in (*readers, node)]
        return min(1.0, sum(sizes[:-1]) / (sizes[-1] or 1))

    def bytes(self, statement: Statement, at: PointSizes) -> int:
        """What is read and written in stores at a point."""
        sizes: dict[tuple[str, tuple[ix.Entry, ...]], int] = {}
        reads = [r for r in statement.reads if not r.forwarded]
        for r in reads:
            key = r.tensor, r.entries
            sizes[key] = max(self.accessed(statement, r, at), sizes.get(key, 0))
        written = (self.accessed(statement, w, at) for w in statement.writes)
        return sum(sizes.values()) + sum(written)

    def accessed(self, statement: Statement, access: Read | Write, at: PointSizes) -> int:
        """The bytes that one access is about."""
        tensor = self.compilation.statements.tensors[access.tensor]
        size = evaluate(bytes_at(tensor, access.entries), at)
        part = accessed_part(access, statement, self.graph)
        if part is None:
            return size
        moved = prod(evaluate(e, at) for e in part.shape)
        return min(size, part.dtype.itemsize * moved)

    def step(self, loops: tuple[TreeLoop, ...], statement: Statement) -> float:
        """What a call of a kernel costs by itself."""
        if not loops or not self.is_on_host(loops[-1], loops):
            return self.model.step_ns
        return self.model.host_step_ns

    def is_on_host(self, loop: TreeLoop, around: tuple[TreeLoop, ...]) -> bool:
        """Whether the host runs the steps of a loop; a short one that need not is written out."""
        loops = around[: around.index(loop) + 1]
        if any(x.place == "device" and x.var not in self.on_host for x in loops):
            return False
        stay = {x.loop.dim for x in self.compilation.remarks if x.loop and x.step == "regions"}
        short = not self.compilation.options.on_device
        return short or any(x.var in stay for x in loops)


def steps_of(loop: TreeLoop, at: PointSizes) -> range:
    """The values of a loop's variable."""
    return range(evaluate(loop.lower, at), evaluate(loop.upper, at), loop.step)


def holds(condition: ix.Expr, loops: tuple[TreeLoop, ...], at: PointSizes, samples: int) -> float:
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
