"""Generates the host program of a program tree, for given bounds: a Python function, the *walk*.

Cells of stores without keys are local variables, others are in dictionaries; expressions are
inlined with bounds as numbers. So a step costs little more than its kernel call. Names in the text:
``s3`` store, ``k2`` kernel, ``v_t`` loop variable, ``n0`` lengths of the first bound that ends
during the run, by point. A region runs its loop in several calls, which ``turns`` yields. Walks
that can be suspended have boundaries (``suspend_points.py``).
"""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import nullcontext
from dataclasses import dataclass, field
from typing import assert_never

from tempoc.program.analysis.traversal import final_frees, lengths_of, overwritten_stores
from tempoc.program.nodes.arithmetic import Operation
from tempoc.program.nodes.nodes import (
    Block,
    Call,
    CapacityNeed,
    Cell,
    Cells,
    Effect,
    Evict,
    Free,
    Guard,
    Host,
    Load,
    Loop,
    Program,
    ProgramStatement,
    Region,
    Sequence,
)  # fmt: skip
from tempoc.runtime.device.capacity import CapacityGroup, groups
from tempoc.runtime.device.stores import Layout
from tempoc.runtime.walk.blocks import (
    block_operands,
    direct_inputs,
    single_call_blocks,
    used_stores,
)
from tempoc.runtime.walk.growth import GrowthLines, block_needs, invariant_needs, output_needs
from tempoc.runtime.walk.sample_steps import steps_text
from tempoc.runtime.walk.spelling import WalkNames, length_texts
from tempoc.runtime.walk.suspend_points import SuspendPoints
from tempoc.runtime.walk.walk import WalkOptions, WalkText, is_local, zero_filled_stores


def write_walk(
    program: Program,
    layouts: Mapping[str, Layout],
    bounds: Mapping[str, int],
    given: frozenset[str],
    options: WalkOptions,
) -> WalkText:
    """The walk of a program; ``given`` are the stores that are filled before the run."""
    writer = _WalkWriter(
        program=program,
        layouts=layouts,
        given=given,
        options=options,
        numbers={store.name: i for i, store in enumerate(program.stores)},
        kernels={kernel.name: i for i, kernel in enumerate(program.kernels)},
        bounds=bounds,
        filled=zero_filled_stores(program),
        rename={name: str(value) for name, value in bounds.items()} | length_texts(program),
        growing=GrowthLines(groups(program)),
    )
    if options.suspend:
        single_calls = single_call_blocks(program, bounds, given, layouts)
        writer.points = SuspendPoints(writer.lines, enabled=True, single_calls=single_calls)
    return writer.write()


@dataclass(slots=True, kw_only=True)
class _WalkWriter(WalkNames):
    program: Program
    given: frozenset[str]
    options: WalkOptions
    kernels: Mapping[str, int]
    filled: frozenset[str]
    calls: dict[int, Call] = field(default_factory=dict)
    allocated: dict[str, None] = field(default_factory=dict)
    single_calls: dict[str, int] = field(default_factory=dict)
    hosts: list[Host] = field(default_factory=list)
    effects: list[Effect] = field(default_factory=list)
    growing: GrowthLines = field(default_factory=lambda: GrowthLines(()))
    points: SuspendPoints = field(default_factory=lambda: SuspendPoints([]))

    def write(self) -> WalkText:
        self.line(0, "def walk():")
        for name, i in self.numbers.items():
            if name in self.given and is_local(self.layouts[name]):
                self.line(1, f"s{i} = given{i}")
        tree = self.program.tree
        if not self.options.account:
            self.single_calls |= single_call_blocks(
                self.program, self.bounds, self.given, self.layouts
            )
        items = tree.items if isinstance(tree, Sequence) else (tree,)
        away = {name: None for name, store in self.layouts.items() if store.away}
        self.allocated |= away
        for name in dict.fromkeys((*block_operands(tree, self.single_calls), *away)):
            anew = name in away or name not in self.filled
            if is_local(self.layouts[name]) and name not in self.given and anew:
                self.line(1, f"s{self.numbers[name]} = None")
        restore_line = self.points.start(1)
        for item in items:
            self.points.boundary(1)
            with self.points.guarded(Sequence(items=()), 1) as depth:
                self.allocate(item, depth)
            with self.points.guarded(item, 1) as depth:
                self.statement(item, depth)
        cells = (f"s{i}" for name, i in self.numbers.items() if is_local(self.layouts[name]))
        self.points.finish(1, restore_line, cells)
        results = []
        for output in {o.store: o for o in self.program.outputs}.values():
            if is_local(self.layouts[output.store]):
                self.allocate_store(output.store, 1)
                if self.layouts[output.store].away and output.store in self.filled:
                    self.ensure_zeros(Cells(store=output.store, keys=()), 1)
                i = self.numbers[output.store]
                results.append(f"{i}: s{i}")
        self.grow(output_needs(self.program.outputs, self.growing_groups()), 1)
        self.line(1, f"return {{{', '.join(results)}}}")
        return WalkText(
            text="\n".join(self.lines) + "\n",
            calls=self.calls,
            constants=self.constants,
            zeros=self.zeros,
            hosts=tuple(self.hosts),
            effects=tuple(self.effects),
            straight=direct_inputs(self.program, self.single_calls),
        )

    # -------------------------------------------------------------- allocation

    def allocate(self, item: ProgramStatement, depth: int) -> None:
        """Allocate cells that start as zeros before the outermost statement that uses them."""
        if isinstance(item, Block) and item.kernel in self.single_calls:
            self.allocated |= dict.fromkeys(cells.store for cells in item.made)
        names = dict.fromkeys(used_stores(item, self.single_calls))
        anew = overwritten_stores(item.body if isinstance(item, Block) else item, names)
        self.allocated |= {n: None for n in names if n in anew and self.layouts[n].group < 0}
        for name in names:
            self.allocate_store(name, depth)

    def allocate_store(self, name: str, depth: int) -> None:
        store = self.layouts[name]
        is_present = name in self.given or name in self.allocated
        if name in self.filled and is_local(store) and not is_present:
            self.allocated[name] = None
            i = self.numbers[name]
            self.line(depth, f"s{i} = zeros{i}()")
            if store.group >= 0:
                self.growing.local.setdefault(store.group, []).append(i)
            if self.options.account:
                self.line(depth, f"wrote({i}, ())")

    # -------------------------------------------------------------- statements

    def statement(self, s: ProgramStatement, depth: int) -> None:
        match s:
            case Sequence(items=items):
                has_points = self.points.contains(s)
                for item in items:
                    with (
                        self.points.guarded(item, depth)
                        if has_points
                        else nullcontext(depth) as inner
                    ):
                        self.statement(item, inner)
                if not items:
                    self.line(depth, "pass")
            case Loop(var=var, limit=limit, step=step, body=body):
                self.grow(invariant_needs(s), depth)
                self.rename[var] = f"v_{var}"
                sampling = self.options.sample, self.layouts, self.growing.groups, self.expression
                steps = self.points.steps(var, steps_text(s, self.steps(s), *sampling), depth)
                self.line(depth, f"for v_{var} in {steps}:")
                if limit is not None and step > 0:
                    is_over = self.points.unless_resumed(f"v_{var} >= {self.expression(limit)}")
                    self.line(depth + 1, f"if {is_over}: break")
                self.points.boundary(depth + 1)
                with self.growing.scoped():
                    self.statement(body, depth + 1)
            case Guard(condition=condition, body=body):
                holds = self.expression(condition)
                holds = self.points.or_resumed(holds) if self.points.contains(body) else holds
                self.line(depth, f"if {holds}:")
                with self.growing.scoped():
                    self.statement(body, depth + 1)
            case Call():
                self.call(s, depth)
            case Host():
                self.host(s, depth)
            case Effect(call=call):
                self.call(call, depth, s)
            case Free(cells=freed) | Evict(cells=freed, dead=True):
                for cell in freed:
                    self.free(cell, depth)
            case Load() | Evict():
                self.move(s, depth)
            case Region():
                self.region(s, depth)
            case Block():
                self.block(s, depth)
            case _:
                assert_never(s)

    def region(self, region: Region, depth: int) -> None:
        """Call the kernel of a device loop until all its steps are done."""
        number = self.kernels[region.kernel]
        loop = region.loop
        ends = self.steps(loop)
        outer = "".join(f"{self.rename[name]}, " for name in region.point)
        for cells in (*region.carried, *region.read):
            self.ensure_zeros(cells, depth)
        for name in region.local:
            self.free(Cell(store=name), depth)
        self.rename[loop.var] = f"v_{loop.var}"
        remaining = self.growing.step_limit(region, self.expression)
        calls, hold = self.points.region_calls(
            lambda steps: f"turns({number}, {steps}, ({outer.rstrip()}){remaining})", ends, depth
        )
        self.line(depth, f"for at, turn in {calls}:")
        if remaining or region.lengths:
            self.line(depth + 1, f"v_{loop.var} = int(at[0])")
        if region.endings and loop.limit is not None:
            self.line(depth + 1, f"if v_{loop.var} >= {self.expression(loop.limit)}: break")
        if region.lengths:
            lengths = "".join(f"{self.expression(e)}, " for e in region.lengths)
            self.line(depth + 1, f"at = array((*at, {lengths.rstrip()}), i32)")
        with self.growing.scoped():
            self.grow(region.needs, depth + 1)
        args = [self.passed(cells) for cells in (*region.carried, *region.read)]
        self.call_part(region, region.carried, ["at", *args], depth + 1)
        result = "r0" if region.carried else "found"
        self.line(depth + 1, f"turn({result}{', any(found)' * bool(region.endings)})")
        self.ended(region, depth + 1)
        if hold:
            self.line(depth + 1, hold)
        if dead := final_frees(loop.body, frozenset(region.local)):
            # A region frees nothing, so the frees of its last step follow the call.
            self.rename[loop.var] = f"v_{loop.var}"
            self.line(depth, f"for v_{loop.var} in {ends}[-1:]:")
            for part in dead:
                self.statement(part, depth + 1)

    def call_part(
        self, part: Region | Block, results: tuple[Cells, ...], args: list[str], depth: int
    ) -> None:
        """Call the kernel of a region or block, and store its results."""
        number = self.kernels[part.kernel]
        checks = self.program.kernels[number].checks
        targets = [f"r{k}" for k in range(len(results))]
        targets += ["found"] * bool(part.endings) + ["fault"] * bool(checks)
        inner = [self.numbers[name] for name in part.local if self.options.account]
        self.lines_if(None, [f"wrote({i}, ())" for i in inner], depth)
        self.line(depth, f"{', '.join(targets)}, = k{number}({', '.join(args)})")
        self.calls[len(self.lines)] = Call(kernel=part.kernel, point=(), args=(), results=())
        self.lines_if(None, [f"freed({i}, ())" for i in inner], depth)
        for k, cells in enumerate(results):
            self.store_results(k, cells, depth)
        if checks:
            self.line(depth, f"faults.append(({number}, None, fault))")
        if part.endings:
            self.line(depth, "found = [*map(int, found)]")

    def ended(self, part: Region | Block, depth: int) -> None:
        """Report the lengths that ended in a call to the machine."""
        for k, place in enumerate(part.endings):
            length = self.length(part.lengths[place])
            self.line(depth, f"if found[{k}]: ended({length}, found[{k}])")

    def block(self, block: Block, depth: int) -> None:
        """Call the kernel of a block, or execute its statements one by one."""
        if block.kernel not in self.single_calls:
            with self.points.excluded(block.kernel):
                self.statement(block.body, depth)
            return
        for cells in (*block.carried, *block.read):
            self.ensure_zeros(cells, depth)
        self.grow(block_needs(block, self.growing_groups()), depth)
        point = self.point((*block.point, *block.lengths))
        args = [self.passed(cells) for cells in (*block.carried, *block.read)]
        self.call_part(block, (*block.carried, *block.made), [point, *args], depth)
        self.ended(block, depth)
        if self.options.count:
            self.line(depth, f"done[0] += {self.single_calls[block.kernel]}")
        for part in final_frees(block.body, frozenset(block.local)):
            self.statement(part, depth)

    def ensure_zeros(self, cells: Cells, depth: int) -> None:
        """Allocate an operand as zeros if it was not written yet."""
        i = self.numbers[cells.store]
        if is_local(self.layouts[cells.store]) and cells.store not in self.given:
            accounting = f"; wrote({i}, ())" if self.options.account else ""
            self.line(depth, f"if s{i} is None: s{i} = zeros{i}(){accounting}")

    def store_results(self, number: int, cells: Cells, depth: int) -> None:
        """Store a result of a region or block in its cells."""
        arrays = dict(self.arrays(cells))
        for place, cell in arrays.items():
            part = f"[{place}]" if cells.places else ""
            self.line(depth, f"{self.cell(cell)} = r{number}{part}")
            self.lines_if(None, self.stale(cell), depth)
            if self.options.account:
                self.line(depth, f"wrote({self.numbers[cell.store]}, {self.key(cell) or '()'})")

    def growing_groups(self) -> dict[str, CapacityGroup]:
        """The growing stores with their groups."""
        group_list = self.growing.groups
        return {s: group_list[x.group] for s, x in self.layouts.items() if x.group >= 0}

    def grow(self, needs: tuple[CapacityNeed, ...], depth: int) -> None:
        """Let stores grow before a call that needs more."""
        for content in self.growing.lines(needs, self.expression):
            self.line(depth, content)

    def call(self, call: Call, depth: int, effect: Effect | None = None) -> None:
        number = self.kernels[call.kernel]
        kernel = self.program.kernels[number]
        stored = [cell for cell in call.results if cell.store not in self.given]
        if not stored and not kernel.checks and effect is None and not call.endings:
            self.line(depth, "pass")
            return
        self.grow(call.needs, depth)
        targets = [self.target(i, cell) for i, cell in enumerate(call.results)]
        if effect is not None:
            targets = ["*shown"]
        targets += [f"end{k}" for k in range(len(call.endings))]
        targets += ["fault"] * bool(kernel.checks)
        lengths = lengths_of(call, kernel, self.program.bounds, self.program.lengths)
        point = self.point((*call.point, *lengths))
        overwritten = [self.cell(cell) for cell in stored if cell.when is None]
        args = [self.argument(c, i in kernel.donated, overwritten) for i, c in enumerate(call.args)]
        self.line(depth, f"{', '.join(targets)}, = k{number}({', '.join([point, *args])})")
        self.calls[len(self.lines)] = call
        for position in kernel.donated:
            if self.cell(call.args[position]) not in overwritten:
                self.free(call.args[position], depth, popped=True)
        for i, cell in enumerate(call.results):
            if cell in stored:
                self.after_result(i, cell, depth)
        for k, ending in enumerate(call.endings):
            length = self.length(Operation("at", (ending.bound, *ending.outer)))
            value = self.expression(ending.length)
            self.line(depth, f"if end{k}: ended({length}, {value})")
        if kernel.checks:
            self.line(depth, f"faults.append(({number}, {point}, fault))")
            self.line(depth, "if len(faults) > 500: check()")
        if effect is not None:
            self.line(depth, f"perform({len(self.effects)}, {point}, shown)")
            self.effects.append(effect)
        if self.options.count:
            self.line(depth, "done[0] += 1")

    def host(self, host: Host, depth: int) -> None:
        """Call a host function; its arguments and results are cells."""
        targets = [self.cell(cell) for cell in host.results]
        point = "".join(f"{self.expression(e)}, " for e in host.point)
        args = ", ".join([f"({point.rstrip()})", *map(self.cell, host.args)])
        call = f"host{len(self.hosts)}({args})"
        self.line(depth, f"{', '.join(targets)}, = {call}" if targets else call)
        self.hosts.append(host)
        for i, cell in enumerate(host.results):
            self.after_result(i, cell, depth)

    def argument(self, cell: Cell, donated: bool, overwritten: list[str]) -> str:
        """The argument for a cell; zeros where its condition fails, shared unless donated.

        A donated cell is removed from its store at once: a result may take the same slot.
        """
        if cell.when is None:
            text, key = self.cell(cell), self.key(cell)
            is_popped = donated and key and text not in overwritten
            return f"s{self.numbers[cell.store]}.pop({key})" if is_popped else text
        zeros = f"zeros{self.numbers[cell.store]}()" if donated else self.shared(cell.store)
        return f"({self.cell(cell)} if {self.expression(cell.when)} else {zeros})"

    def target(self, i: int, cell: Cell) -> str:
        """The target of a result; a conditional one is assigned to a temporary first."""
        if cell.store in self.given:
            return "_"
        return self.cell(cell) if cell.when is None else f"r{i}"

    def after_result(self, i: int, cell: Cell, depth: int) -> None:
        """Write what follows the call for a result: conditional store, host copy, accounting."""
        lines = [] if cell.when is None else [f"{self.cell(cell)} = r{i}"]
        lines += self.stale(cell)
        if self.options.account:
            lines.append(f"wrote({self.numbers[cell.store]}, {self.key(cell) or '()'})")
        self.lines_if(cell.when, lines, depth)

    def free(self, cell: Cell, depth: int, popped: bool = False) -> None:
        """Free a cell; one that was ``popped`` is not in its store any more."""
        i, key = self.numbers[cell.store], self.key(cell)
        removal = [f"s{i}.pop({key}, None)" if key else f"s{i} = None"]
        lines = [*([] if popped and key and cell.when is None else removal), *self.stale(cell)]
        if self.options.account:
            lines.append(f"freed({i}, {key or '()'})")
        self.lines_if(cell.when, lines, depth)
