"""Joins calls in the steps of a device loop that write boxes of one array at the same point.

The inner part of a grid and its rims are branches of one equation, so each is a kernel, and each
would update the array that the one before has updated. Where their boxes cover the array, and none
reads what another writes there, one kernel computes all (`kernels/boxes.py`). What stands between
two of them runs after it; isl orders branches as it likes.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import groupby

from tempoc.base.names import Names
from tempoc.base.python_text import identifier
from tempoc.codegen.kernels.boxes import WrittenBox, reads_of_others, written_boxes
from tempoc.codegen.kernels.joined_boxes import BoxKernel, joined_function
from tempoc.codegen.kernels.kernel import KernelFunction, function
from tempoc.codegen.regions.context import ProgramContext
from tempoc.codegen.stores.context import KernelCell, Stages
from tempoc.memory.estimates import typical_bounds
from tempoc.program.analysis.live import written_stores
from tempoc.program.analysis.traversal import calls, touched_stores
from tempoc.program.nodes import nodes as prog
from tempoc.sdg.statements.statements import Statement, Write
from tempoc.symbolic import expr as ix
from tempoc.symbolic.domain import Domain, conjuncts
from tempoc.symbolic.walk import evaluate, symbols


@dataclass(frozen=True, slots=True)
class _GuardedStatement:
    """A statement of a loop's step that is executed under conditions."""

    static: ix.Expr
    traced: ix.Expr
    statement: prog.ProgramStatement


@dataclass(frozen=True, slots=True)
class _BoxCall:
    """A call of a kernel that writes boxes, its place among the steps, and its statement."""

    place: int
    step: _GuardedStatement
    call: prog.Call
    statement: Statement
    boxes: Mapping[str, WrittenBox]


@dataclass(frozen=True, slots=True, kw_only=True)
class JoinedProgram:
    """The tree with joined calls, all functions of kernels, and the context with the kernels.

    ``parts`` are the kernels that each joined one stands for.
    """

    tree: prog.ProgramStatement
    functions: tuple[KernelFunction, ...]
    context: ProgramContext
    parts: Mapping[str, tuple[str, ...]] = field(default_factory=dict)


def join_boxes(
    tree: prog.ProgramStatement,
    functions: Mapping[str, KernelFunction],
    context: ProgramContext,
    stages: Stages,
    names: Names,
    separate: Collection[str],
) -> JoinedProgram:
    """Join calls of the functions (by statement) in loops on the device, but of ``separate``."""
    by_name = stages.statements.by_name
    of = {f.name: (by_name[s], f) for s, f in functions.items() if f.name not in separate}
    joiner = BoxJoiner(
        context=context,
        stages=stages,
        names=names,
        of=of,
        count=Counter(call.kernel for call in calls(tree)),
    )
    tree = joiner.convert(tree)
    if not joiner.made:
        return JoinedProgram(tree=tree, functions=tuple(functions.values()), context=context)
    return joiner.program(tree, functions.values())


@dataclass(slots=True, kw_only=True)
class BoxJoiner:
    """Replaces calls of kernels by calls of kernels that join their boxes.

    ``of`` has the statement and the function of each kernel that may be joined, ``count`` the
    number of calls of each kernel. ``rows_of`` are the functions that return the rows of kernels,
    ``made`` the joined kernels by the kernels and conditions of their parts.
    """

    context: ProgramContext
    stages: Stages
    names: Names
    of: Mapping[str, tuple[Statement, KernelFunction]]
    count: Mapping[str, int]
    rows_of: dict[str, KernelFunction] = field(default_factory=dict)
    made: dict[tuple[tuple[str, ix.Expr], ...], KernelFunction] = field(default_factory=dict)

    def program(
        self, tree: prog.ProgramStatement, functions: Iterable[KernelFunction]
    ) -> JoinedProgram:
        """The program with the functions that a converted tree calls, each after what it calls."""
        called = {call.kernel for call in calls(tree)}
        order = [*self.of]
        last = [(max((n for n, _ in parts), key=order.index), f) for parts, f in self.made.items()]
        every: list[KernelFunction] = []
        for f in functions:
            every += [f] if f.name in called or f.name not in self.rows_of else []
            every += [self.rows_of[f.name]] if f.name in self.rows_of else []
            every += [joined for name, joined in last if name == f.name]
        kernels = {
            n: k for n, k in self.context.kernels.items() if n in called or n not in self.rows_of
        }
        touched, narrow = {**self.context.touched}, {**self.context.narrow}
        for parts, f in self.made.items():
            names = [name for name, _ in parts]
            kernels[f.name] = self.kernel(f, names)
            touched[f.name] = ix.add(*(touched[name] for name in names))
            reads = (r.tensor for name in names for r in self.of[name][0].reads)
            narrow[f.name] = frozenset(reads)
        context = replace(self.context, kernels=kernels, touched=touched, narrow=narrow)
        return JoinedProgram(
            tree=tree,
            functions=tuple(every),
            context=context,
            parts={f.name: tuple(name for name, _ in p) for p, f in self.made.items()},
        )

    def kernel(self, f: KernelFunction, parts: Sequence[str]) -> prog.Kernel:
        """A joined kernel, which takes over the arrays that its parts do."""
        taken: set[KernelCell] = set()
        for name in parts:
            donated, own = self.context.kernels[name].donated, self.of[name][1]
            taken |= {own.arguments[k].cell for k in donated}
        written = {r.cell for r in f.results} & taken
        return prog.Kernel(
            name=f.name,
            dims=self.of[parts[0]][0].domain.dims,
            bounds=f.bounds,
            donated=tuple(k for k, a in enumerate(f.arguments) if a.cell in written),
            equations=f.equations,
        )

    def convert(self, s: prog.ProgramStatement, device: bool = False) -> prog.ProgramStatement:
        """The tree with joined calls; ``device``: in a loop on the device."""
        match s:
            case prog.Sequence(items=items):
                s = replace(s, items=tuple(self.convert(item, device) for item in items))
                return self.sequence(s) if device else s
            case prog.Guard(body=body):
                return replace(s, body=self.convert(body, device))
            case prog.Loop(body=body, place=place):
                return replace(s, body=self.convert(body, device or place != "host"))
            case _:
                return s

    def sequence(self, s: prog.Sequence) -> prog.ProgramStatement:
        """A sequence with the calls joined that may be."""
        if any(call.endings for call in calls(s)):  # conditions may change their values
            return s
        steps = [*self.steps(s)]
        place, joined = 0, False
        while place < len(steps):
            group = self.group(steps, place)
            if group:
                after = [step for k, step in enumerate(steps) if k not in {p.place for p in group}]
                steps = [*after[:place], self.joined_step(group), *after[place:]]
                joined = True
            place += 1
        return _nested(steps) if joined else s

    def steps(
        self, s: prog.ProgramStatement, static: ix.Expr = ix.TRUE, traced: ix.Expr = ix.TRUE
    ) -> Iterator[_GuardedStatement]:
        """The parts of a statement with the conditions of the guards around them."""
        match s:
            case prog.Sequence(items=items):
                for item in items:
                    yield from self.steps(item, static, traced)
            case prog.Guard(condition=condition, body=body):
                parts = conjuncts(condition)
                fixed = [part for part in parts if {*symbols(part)} <= {*self.context.bounds}]
                yield from self.steps(
                    body,
                    ix.conjunction(static, *fixed),
                    ix.conjunction(traced, *(part for part in parts if part not in fixed)),
                )
            case _:
                yield _GuardedStatement(static, traced, s)

    # ------------------------------------------------------------ groups

    def group(self, steps: Sequence[_GuardedStatement], place: int) -> tuple[_BoxCall, ...]:
        """The calls from a step on that can be joined with it; empty unless they cover arrays."""
        first = self.part(steps[place], place)
        if first is None:
            return ()
        parts, between = [first], list[_GuardedStatement]()
        for k, step in enumerate(steps[place + 1 :], place + 1):
            part = self.part(step, k)
            if part is None or not self.may_join(parts, part) or _are_ordered(between, step):
                between.append(step)
            else:
                parts.append(part)
        return tuple(parts) if len(parts) > 1 and self.cover(parts) else ()

    def part(self, step: _GuardedStatement, place: int) -> _BoxCall | None:
        """A step as a part of a joined call; ``None`` if it cannot be one."""
        call = step.statement
        if not isinstance(call, prog.Call) or call.needs or call.kernel not in self.of:
            return None
        statement, f = self.of[call.kernel]
        boxes = written_boxes(statement, f, self.stages)
        if boxes is None or any(cell.when is not None for cell in call.results):
            return None
        return _BoxCall(place, step, call, statement, boxes)

    def may_join(self, parts: Sequence[_BoxCall], new: _BoxCall) -> bool:
        """Whether a part writes to arrays of others at the same point, and reads nothing of them.

        Then all may be given what the arrays held before.
        """
        first = parts[0]
        dims, point = first.statement.domain.dims, first.call.point
        if (new.statement.domain.dims, new.call.point, new.step.traced) != (
            dims, point, first.step.traced,
        ):  # fmt: skip
            return False
        boxes = {tensor: box for part in parts for tensor, box in part.boxes.items()}
        shared = boxes.keys() & new.boxes.keys()
        if not shared or any(boxes[tensor].at != new.boxes[tensor].at for tensor in shared):
            return False
        cells: dict[str, set[prog.Cell]] = {}
        for cell in (cell for part in (*parts, new) for cell in part.call.results):
            cells.setdefault(cell.store, set()).add(cell)
        if any(len(some) > 1 for some in cells.values()):
            return False
        writes: dict[str, Write] = {}
        for part in parts:
            writes |= {w.tensor: w for w in (part.statement.single or part.statement).writes}
        return not reads_of_others(new.statement, boxes, writes, self.stages)

    def cover(self, parts: Sequence[_BoxCall]) -> bool:
        """Whether the boxes of each array cover it, for typical bounds.

        Where several parts write whole arrays, those that one part writes do not count: the
        alternative is to copy the whole ones. Joined parts of arrays are concatenations, which XLA
        computes again in their consumers on a CPU, so that more has to be gained.
        """
        values = typical_bounds(self.stages.graph.universe)
        writers = Counter(tensor for part in parts for tensor in part.boxes)
        several = {tensor for tensor, count in writers.items() if count > 1}
        whole = not any(p.boxes[t].at for p in parts for t in p.boxes.keys() & several)
        counted = several if whole else writers.keys()
        written: dict[str, int] = {}
        for part in parts:
            if evaluate(part.step.static, values):
                for tensor, box in part.boxes.items():
                    if tensor not in counted:
                        continue
                    sizes = (evaluate(size, values) for _, size in box.spans)
                    written[tensor] = written.get(tensor, 0) + math.prod(sizes)
        for tensor, count in written.items():
            store = self.stages.buffers[tensor]
            at = {
                axis.dim
                for part in parts
                if tensor in part.boxes
                for axis, _ in part.boxes[tensor].at
            }
            sizes_of = [*(a.size for a in store.axes if a.dim not in at), *store.shape]
            if count != math.prod(evaluate(e, values) for e in sizes_of):
                return False
        return True

    # ------------------------------------------------------------ joined kernels

    def joined_step(self, group: tuple[_BoxCall, ...]) -> _GuardedStatement:
        """The call of the kernel that joins the boxes of a group."""
        known = tuple((part.call.kernel, part.step.static) for part in group)
        if known not in self.made:
            self.made[known] = self.joined_kernel(group)
        f = self.made[known]
        cells: dict[tuple[KernelCell, ix.Expr], prog.Cell] = {}
        for part in group:
            own = self.of[part.call.kernel][1]
            given = zip(own.arguments, part.call.args, strict=True)
            cells |= {(a.cell, a.when): cell for a, cell in given}
            given_back = zip(own.results, part.call.results, strict=True)
            cells |= {(r.cell, ix.TRUE): cell for r, cell in given_back}
        call = prog.Call(
            kernel=f.name,
            point=group[0].call.point,
            args=tuple(cells[a.cell, a.when] for a in f.arguments),
            results=tuple(cells[r.cell, ix.TRUE] for r in f.results),
        )
        return _GuardedStatement(ix.TRUE, group[0].step.traced, call)

    def joined_kernel(self, group: tuple[_BoxCall, ...]) -> KernelFunction:
        """The kernel that joins the boxes of a group."""
        parts = [
            BoxKernel(
                condition=self.needed(p.step.static),
                function=self.rows(p.call.kernel),
                boxes=p.boxes,
            )
            for p in group
        ]
        tensor = next(iter(group[0].boxes))
        name = self.names.fresh(f"{identifier(tensor)}_boxes")
        statement = group[0].statement
        return joined_function(name, statement, parts, self.stages)

    def needed(self, condition: ix.Expr) -> ix.Expr:
        """A condition over bounds without the parts that others imply."""
        parts = [*conjuncts(condition)]
        for part in [*parts]:
            others = ix.conjunction(*(other for other in parts if other != part))
            if self.stages.space.implies(Domain((), others), part):
                parts.remove(part)
        return ix.conjunction(*parts)

    def rows(self, kernel: str) -> KernelFunction:
        """The function of a kernel that returns the rows of its boxes."""
        if kernel not in self.rows_of:
            statement = self.of[kernel][0]
            name = kernel if self.count[kernel] == 1 else self.names.fresh(f"{kernel}_rows")
            stages = replace(self.stages, rows_alone=True)
            self.rows_of[kernel] = function(statement, stages, name)
        return self.rows_of[kernel]


def _are_ordered(between: Sequence[_GuardedStatement], step: _GuardedStatement) -> bool:
    """Whether a step has to stay behind one of others."""
    return any(
        not _exclude(other.traced, step.traced)
        and (
            touched_stores(other.statement) & {*written_stores(step.statement)}
            or touched_stores(step.statement) & {*written_stores(other.statement)}
        )
        for other in between
    )


def _exclude(a: ix.Expr, b: ix.Expr) -> bool:
    """Whether one of two conditions names the opposite of a part of the other."""
    return any(ix.negation(part) in conjuncts(b) for part in conjuncts(a))


def _nested(steps: Sequence[_GuardedStatement]) -> prog.ProgramStatement:
    """The steps one after the other, neighbours with the same conditions in one guard."""
    outer = (
        prog.Guard(condition=traced, body=body) if traced != ix.TRUE else body
        for traced, some in groupby(steps, key=lambda step: step.traced)
        for body in [_in_static_guards([*some])]
    )
    return _sequence([*outer])


def _in_static_guards(steps: Sequence[_GuardedStatement]) -> prog.ProgramStatement:
    parts = (
        prog.Guard(condition=static, body=body) if static != ix.TRUE else body
        for static, some in groupby(steps, key=lambda step: step.static)
        for body in [_sequence([step.statement for step in some])]
    )
    return _sequence([*parts])


def _sequence(items: Sequence[prog.ProgramStatement]) -> prog.ProgramStatement:
    flat: list[prog.ProgramStatement] = []
    for item in items:
        flat += item.items if isinstance(item, prog.Sequence) else [item]
    return flat[0] if len(flat) == 1 else prog.Sequence(items=tuple(flat))
