"""Assembles the code of a program for given bounds: its tree, flat, with the hooks of a run.

Expressions become functions of the loop variables, cells become places in the frame. A region is
one instruction for each of its calls, a block one for its only call. A run that counts bytes
executes the statements of blocks one by one, since each of them has bytes of its own.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, NamedTuple, assert_never

from tempoc.diagnostics.diagnostic import RunError
from tempoc.program.analysis.count_calls import count_calls
from tempoc.program.analysis.traversal import (
    final_frees,
    kernel_numbers,
    lengths_of,
    overwritten_stores,
)
from tempoc.program.analysis.zero_filled import zero_filled_stores
from tempoc.program.nodes import nodes as prog
from tempoc.runtime.data.bounds import LIMIT
from tempoc.runtime.device.capacity import CapacityGroup, groups
from tempoc.runtime.device.device import Device
from tempoc.runtime.device.stores import Layout
from tempoc.runtime.device.transfers import Transfers
from tempoc.runtime.messages import run as errors
from tempoc.runtime.walk import blocks, instructions as code
from tempoc.runtime.walk.bound_program import BoundProgram
from tempoc.runtime.walk.code import END, HostCode, Instruction, KernelCall, OpenLoop
from tempoc.runtime.walk.frame import RunFrame
from tempoc.runtime.walk.growth import (
    GroupRows,
    GrowthChecks,
    block_needs,
    invariant_needs,
    output_needs,
)
from tempoc.runtime.walk.operands import Action, Operands, Writer
from tempoc.runtime.walk.region_calls import steps_within
from tempoc.runtime.walk.straight import direct_inputs
from tempoc.runtime.walk.values import ValueRange, Values, Variables, function, value_range
from tempoc.symbolic import expr as ix
from tempoc.symbolic.walk import symbols


class RunHooks(NamedTuple):
    """What code does besides its calls: ``progress`` counts them, ``account`` notes their bytes.

    ``suspend``: with suspend points, at which the run can be suspended and resumed: before each
    statement of the outermost sequence, at each step of a loop, after each call of a region.
    """

    progress: bool = False
    account: bool = False
    suspend: bool = False


def assemble(
    bound: BoundProgram, kernels: Sequence[Callable[..., Any]], on: Device, hooks: RunHooks
) -> HostCode:
    """The code of a program; nothing is attempted with smaller lengths if a run has observers."""
    program, layouts = bound.program, bound.layouts
    numbers = {store.name: i for i, store in enumerate(program.stores)}
    values = Values(bound.bounds, frozenset(length.bound for length in program.lengths))
    operands = Operands(tuple(layouts.values()), numbers, values, hooks.account)
    assembler = _Assembler(
        program=program,
        layouts=layouts,
        given=bound.given,
        kernels=kernels,
        device=on,
        hooks=hooks,
        selected=bound.single_calls,
        single_calls=frozenset() if hooks.account else bound.single_calls,
        attempted={} if any(hooks) else bound.attempted,
        numbers=numbers,
        kernel_numbers=kernel_numbers(program),
        values=values,
        operands=operands,
        filled=zero_filled_stores(program),
        growth=GrowthChecks(groups(program)),
    )
    return assembler.assemble()


@dataclass(slots=True)
class _Label:
    """An instruction that is not known yet."""

    number: int = END


@dataclass(slots=True, kw_only=True)
class _Assembler:
    program: prog.Program
    layouts: Mapping[str, Layout]
    given: frozenset[str]
    kernels: Sequence[Callable[..., Any]]
    device: Device
    hooks: RunHooks
    selected: frozenset[str]
    single_calls: frozenset[str]
    attempted: Mapping[str, tuple[int, ...]]
    numbers: Mapping[str, int]
    kernel_numbers: Mapping[str, int]
    values: Values
    operands: Operands
    filled: frozenset[str]
    growth: GrowthChecks
    makers: list[Callable[[], Instruction]] = field(default_factory=list)
    acts: list[tuple[int, Action]] = field(default_factory=list)
    calls: dict[int, KernelCall | prog.Host] = field(default_factory=dict)
    resume: list[int] = field(default_factory=list)
    around: list[tuple[OpenLoop, ...]] = field(default_factory=list)
    open: list[OpenLoop] = field(default_factory=list)
    loops: list[prog.Loop] = field(default_factory=list)
    hosts: list[prog.Host] = field(default_factory=list)
    zeros: dict[int, None] = field(default_factory=dict)
    jumps: dict[int, int] = field(default_factory=dict)
    allocated: dict[str, None] = field(default_factory=dict)
    ranges: dict[str, ValueRange] = field(default_factory=dict)
    uninterrupted: bool = False

    def assemble(self) -> HostCode:
        tree = self.program.tree
        self.allocated |= {name: None for name, store in self.layouts.items() if store.away}
        for item in tree.items if isinstance(tree, prog.Sequence) else (tree,):
            self.boundary()
            finished = _Label()
            if isinstance(item, prog.Block) and item.kernel in self.attempted:
                self.attempt(item, finished)
            self.allocate_for(item)
            self.statement(item)
            self.mark(finished)
        for store in dict.fromkeys(output.store for output in self.program.outputs):
            if self.layouts[store].is_single:
                self.allocate(store)
                if self.layouts[store].away and store in self.filled:
                    self.ensure_zeros(store)
        self.grow(self.growth.of(output_needs(self.program.outputs, self.growing_groups())))
        self.jumps[len(self.makers)] = END
        return HostCode(
            instructions=tuple(make() for make in self.makers),
            entry=self.to(0),
            calls=self.calls,
            resume=tuple(map(self.to, self.resume)),
            around=tuple(self.around),
            loops=tuple(self.loops),
            hosts=tuple(self.hosts),
            zeros=tuple(self.zeros),
            straight=direct_inputs(self.program, self.single_calls),
        )

    # -------------------------------------------------------------- emission

    @property
    def following(self) -> int:
        """The number of the instruction after the next one."""
        return len(self.makers) + 1

    def emit(
        self, make: Callable[[], Instruction], call: KernelCall | prog.Host | None = None
    ) -> None:
        """Add an instruction, made when all labels are known."""
        if call is not None:
            self.calls[len(self.makers)] = call
        self.makers.append(make)
        self.acts = []

    def act(self, act: Action, call: KernelCall | prog.Host | None = None) -> None:
        """Add an action: to the instruction before, if that is one of actions.

        Each takes a number, the position if it fails.
        """
        number, acts = len(self.makers), self.acts
        if acts:
            self.emit(lambda: code.unreachable, call)
        else:
            acts = []
            self.emit(lambda: code.actions(acts, self.to(acts[-1][0] + 1)), call)
        acts.append((number, act))
        self.acts = acts

    def mark(self, label: _Label) -> None:
        """The label is the next instruction."""
        label.number = len(self.makers)
        self.acts = []

    def jump(self, number: int) -> None:
        """Go on elsewhere: takes a number, but no instruction is executed for it."""
        self.jumps[len(self.makers)] = number
        self.emit(lambda: code.unreachable)

    def to(self, number: int) -> int:
        """The next instruction, if all jumps on the way to it are taken."""
        while number in self.jumps:
            number = self.jumps[number]
        return number

    def boundary(self) -> None:
        """Add a suspend point."""
        if self.hooks.suspend and not self.uninterrupted:
            number, following = len(self.resume), self.following
            self.resume.append(following)
            self.around.append(tuple(self.open))
            self.emit(lambda: code.boundary(number, self.to(following)))

    def grow(self, checks: Iterable[GroupRows]) -> None:
        """Add checks of capacities."""
        for group, rows in checks:
            self.act(code.grow(group, function(self.values.of(rows))))

    def growing_groups(self) -> dict[str, CapacityGroup]:
        """The growing stores with their groups."""
        every = self.growth.groups
        return {name: every[s.group] for name, s in self.layouts.items() if s.group >= 0}

    # -------------------------------------------------------------- allocation

    def allocate_for(self, item: prog.ProgramStatement) -> None:
        """Allocate cells that start as zeros before the outermost statement that uses them."""
        if isinstance(item, prog.Block) and item.kernel in self.single_calls:
            self.allocated |= dict.fromkeys(cells.store for cells in item.made)
        names = dict.fromkeys(blocks.used_stores(item, self.single_calls))
        body = item.body if isinstance(item, prog.Block) else item
        anew = overwritten_stores(body, names)
        self.allocated |= {n: None for n in names if n in anew and self.layouts[n].group < 0}
        carried = blocks.carried_stores(item, self.single_calls)
        for name in names:
            self.allocate(name, name in carried)

    def allocate(self, name: str, passed: bool = False) -> None:
        """Allocate the only cell of a store that starts as zeros, unless it is there."""
        if name in self.given or name in self.allocated or name not in self.filled:
            return
        if self.layouts[name].is_single:
            self.allocated[name] = None
            self.act(self.new_zeros(name, passed))

    def ensure_zeros(self, name: str) -> None:
        """Allocate the only cell of an operand if it was not written yet."""
        if self.layouts[name].is_single and name not in self.given:
            self.act(code.ensured(self.new_zeros(name), self.numbers[name]))

    def new_zeros(self, name: str, passed: bool = False) -> Action:
        write, store = self.operands.writer(prog.Cell(store=name)), self.layouts[name]
        return lambda frame: write(frame, frame.allocate(store, passed and store.group < 0))

    # -------------------------------------------------------------- statements

    def statement(self, s: prog.ProgramStatement) -> None:
        """The instructions of a statement."""
        match s:
            case prog.Sequence(items=items):
                for item in items:
                    self.statement(item)
            case prog.Loop():
                self.loop(s)
            case prog.Guard(condition=condition, body=body):
                self.guard(condition, body)
            case prog.Call():
                self.call(s)
            case prog.Host():
                self.host(s)
            case prog.Effect(call=call):
                self.call(call, s)
            case prog.Free(cells=freed) | prog.Evict(cells=freed, dead=True):
                for cell in freed:
                    self.act(self.operands.free(cell))
            case prog.Load(cells=cells):
                self.act(self.operands.moves(cells, Transfers.loaded))
            case prog.Evict(cells=cells):
                self.act(self.operands.moves(cells, Transfers.evicted))
            case prog.Chunk():
                self.act(self.operands.chunk(s))
            case prog.Region():
                self.region(s)
            case prog.Block():
                self.block(s)
            case _:
                assert_never(s)

    def guard(self, condition: ix.Expr, body: prog.ProgramStatement) -> None:
        holds, following, end = function(self.values.of(condition)), self.following, _Label()
        self.emit(lambda: code.branch(holds, self.to(following), self.to(end.number)))
        with self.growth.scoped():
            self.statement(body)
        self.mark(end)

    def loop(self, loop: prog.Loop) -> None:
        self.grow(self.growth.of(invariant_needs(loop)))
        steps, number, head = self.steps(loop), len(self.loops), self.following
        self.loops.append(loop)
        self.emit(lambda: code.enter_loop(loop.var, number, steps, self.to(head)))
        upward = loop.limit is not None and loop.step > 0
        limit = function(self.values.of(loop.limit)) if upward and loop.limit is not None else None
        body, end = self.following, _Label()
        self.emit(lambda: code.next_step(loop.var, limit, self.to(body), self.to(end.number)))
        self.open.append(OpenLoop(loop.var, steps, divided=False))
        self.boundary()
        with self.growth.scoped(), self.stepping(loop):
            self.statement(loop.body)
        self.open.pop()
        acts = self.acts
        if acts and acts[0][0] == body:
            self.makers[head - 1] = lambda: code.loop_of_actions(
                loop.var, number, steps, limit, acts, self.to(end.number)
            )
        self.jump(head)
        self.mark(end)

    def steps(self, loop: prog.Loop) -> Callable[[Variables], range]:
        """The range of a loop, limited by what is known of lengths when it begins."""
        lower, upper, step = loop.lower, loop.upper, loop.step
        if loop.limit is not None and step == -1:
            lower = ix.minimum(lower, loop.limit - 1)
        elif loop.limit is not None and step == 1:
            upper = ix.minimum(upper, loop.limit)
        first, end = self.values.of(lower), self.values.of(upper)
        if not callable(first) and not callable(end):
            fixed = steps_within(loop.var, range(first, end, step))
            return lambda variables: fixed
        start, stop = function(first), function(end)
        if all(map(self.is_narrow, (lower, upper))):
            return lambda variables: range(start(variables), stop(variables), step)
        return lambda variables: steps_within(
            loop.var, range(start(variables), stop(variables), step)
        )

    def is_narrow(self, e: ix.Expr) -> bool:
        """Whether 32 bits hold an expression for certain."""
        ends = value_range(self.values.settled(e), self.ranges)
        return ends is not None and max(map(abs, ends)) < LIMIT

    @contextmanager
    def stepping(self, loop: prog.Loop) -> Iterator[None]:
        """Within the block the range of a variable is known, if that of its loop is."""
        upward = loop.step > 0
        ends = loop.lower, loop.upper - 1 if upward else loop.upper + 1
        spans = [value_range(self.values.settled(e), self.ranges) for e in ends]
        outer = dict(self.ranges)
        if (first := spans[0]) is not None and (last := spans[1]) is not None:
            low, high = (first[0], last[1]) if upward else (last[0], first[1])
            self.ranges[loop.var] = low, max(low, high)
        yield
        self.ranges = outer

    def check_point(self, call: prog.Call, kernel: prog.Kernel) -> None:
        """Check that a call is within its dimensions, unless that is certain: it mostly is."""
        sizes = dict(self.program.dims)
        outside = []
        for dim, e in zip(kernel.dims, call.point, strict=False):
            ends, size = (
                value_range(self.values.settled(e), self.ranges),
                self.values.bounds[sizes[dim]],
            )
            if ends is None or ends[0] < 0 or ends[1] >= size:
                outside.append((dim, function(self.values.of(e)), size))
        if outside:
            self.act(code.within(kernel.name, outside))

    # -------------------------------------------------------------- calls

    def call(self, call: prog.Call, effect: prog.Effect | None = None) -> None:
        """A kernel call; none if all that it computes is given."""
        number = self.kernel_numbers[call.kernel]
        kernel = self.program.kernels[number]
        stored = [cell for cell in call.results if cell.store not in self.given]
        if not stored and not kernel.checks and effect is None and not call.endings:
            return
        self.check_point(call, kernel)
        self.grow(self.growth.of(call.needs))
        overwritten = [self.location(cell) for cell in stored if cell.when is None]
        readers = tuple(
            self.operands.argument(
                cell, donated=i in kernel.donated, overwritten=self.location(cell) in overwritten
            )
            for i, cell in enumerate(call.args)
        )
        released = [
            cell for i in kernel.donated if self.location(cell := call.args[i]) not in overwritten
        ]
        self.zeros |= {
            self.numbers[cell.store]: None
            for i, cell in enumerate(call.args)
            if cell.when is not None and i not in kernel.donated
        }
        lengths = lengths_of(call, kernel, self.program.bounds, self.program.lengths)
        point = self.point((*call.point, *lengths))
        function_ = self.kernels[number]
        singles = self.singles(call.args)
        writers = [
            self.operands.writer(cell) if cell.store not in self.given else None
            for cell in call.results
        ]
        if released or call.endings or kernel.checks or effect or None in writers:
            sink = self.sink(call, number, writers, released, effect)
            self.act(code.call_kernel(function_, point, readers, sink.returned), call)
        elif singles is not None and all(map(self.is_plain, stored)):
            results = tuple(self.numbers[cell.store] for cell in stored)
            self.act(code.call_of_singles(function_, point, singles, results), call)
        else:
            store = code.write_all([write for write in writers if write is not None])
            self.act(code.call_kernel(function_, point, readers, store), call)
        self.count(1)

    def sink(
        self,
        call: prog.Call,
        number: int,
        writers: list[Writer | None],
        released: list[prog.Cell],
        effect: prog.Effect | None,
    ) -> code.ResultSink:
        """What takes the results of a call that ends lengths, checks, prints or gives up arrays."""
        return code.ResultSink(
            kernel=number,
            writers=tuple(writers) if effect is None else (),
            released=tuple(self.operands.free(cell, popped=True) for cell in released),
            ends=tuple(
                code.Ended(e.bound, self.tuple(e.outer), function(self.values.of(e.length)))
                for e in call.endings
            ),
            checks=bool(self.program.kernels[number].checks),
            effect=effect,
        )

    def host(self, host: prog.Host) -> None:
        """A call of a host function; its arguments and results are cells."""
        number, point = len(self.hosts), self.tuple(host.point)
        readers = tuple(map(self.operands.reader, host.args))
        store = code.write_all([*map(self.operands.writer, host.results)])
        self.hosts.append(host)
        self.act(code.call_host(number, point, readers, store), host)

    def region(self, region: prog.Region) -> None:
        """Calls of the kernel of a device loop until all its steps are done."""
        loop = region.loop
        for cells in (*region.carried, *region.read):
            self.ensure_zeros(cells.store)
        for name in region.local:
            self.act(self.operands.free(prog.Cell(store=name)))
        limited = bool(region.endings) and loop.limit is not None
        with self.growth.scoped():
            needs = [(g, function(self.values.of(e))) for g, e in self.growth.of(region.needs)]
        run = code.RegionRun(
            region=region,
            steps=self.steps(loop),
            device_call=self.device_call(region, region.carried),
            outer=self.tuple([*map(ix.Sym, region.point)]),
            lengths=self.tuple((*region.lengths, *region.counts)),
            limit=function(self.values.of(loop.limit or ix.ZERO)) if limited else None,
            steps_left=self.steps_left(region),
            needs=tuple(needs),
            counted=self.hooks.progress,
        )
        enter = self.following
        self.emit(lambda: run.enter(self.to(enter)))
        call, returned, end = len(self.makers), self.following, _Label()
        self.emit(lambda: run.call(self.to(returned), self.to(end.number)), region)
        self.open.append(OpenLoop(loop.var, run.steps, divided=True))
        self.boundary()
        self.open.pop()
        self.jump(call)
        self.mark(end)
        if dead := final_frees(loop.body, frozenset(region.local)):
            # A region frees nothing, so the frees of its last step follow the call.
            steps, following, after = self.steps(loop), self.following, _Label()
            self.emit(
                lambda: code.last_step(loop.var, steps, self.to(following), self.to(after.number))
            )
            for part in dead:
                self.statement(part)
            self.mark(after)

    def steps_left(self, region: prog.Region) -> Callable[[RunFrame], int] | None:
        """How many steps of a region may follow a step before stores must grow."""
        needs = [(g, function(self.values.of(e))) for g, e in self.growth.per_step(region)]
        if not needs:
            return None

        def steps_left(frame: RunFrame) -> int:
            left = frame.capacities.steps_left
            return min(left(group, rows(frame.variables)) for group, rows in needs)

        return steps_left

    def block(self, block: prog.Block) -> None:
        """A block as one call, or its statements one by one."""
        if block.kernel not in self.single_calls:
            # Runs that count bytes and others must have the same suspend points.
            outer = self.uninterrupted
            self.uninterrupted = outer or block.kernel in self.selected
            self.statement(block.body)
            self.uninterrupted = outer
            return
        for cells in (*block.carried, *block.read):
            self.ensure_zeros(cells.store)
        for name in block.local:
            self.act(self.operands.free(prog.Cell(store=name)))
        self.grow(self.growth.of(block_needs(block, self.growing_groups())))
        point = self.point((*map(ix.Sym, block.point), *block.lengths, *block.counts))
        device_call = self.device_call(block, (*block.carried, *block.made))
        self.act(code.call_block(device_call, point), block)
        if self.hooks.progress:
            first = dict.fromkeys(block.point, 0)
            self.count(count_calls(block.body, {**first, **self.values.bounds}))
        for part in final_frees(block.body, frozenset(block.local)):
            self.statement(part)

    def attempt(self, block: prog.Block, finished: _Label) -> None:
        """A block as one call with smaller lengths; if they end, its statements are done."""
        at, following = self.device.constant(self.attempted[block.kernel]), self.following
        tried = code.Attempt(block.kernel, self.device_call(block, block.made), at)
        self.emit(lambda: tried.instruction(self.to(following), self.to(finished.number)), block)

    def device_call(
        self, part: prog.Region | prog.Block, results: tuple[prog.Cells, ...]
    ) -> code.DeviceCall:
        """The call of the kernel of a region or block."""
        number = self.kernel_numbers[part.kernel]
        ended = (part.lengths[place] for place in part.endings)
        return code.DeviceCall(
            number=number,
            kernel=self.kernels[number],
            operands=tuple(map(self.operands.several, (*part.carried, *part.read))),
            writers=tuple(map(self.operands.several_writer, results)),
            ends=tuple(map(self.ended, ended)),
            checks=bool(self.program.kernels[number].checks),
            local=tuple(self.numbers[name] for name in part.local if self.hooks.account),
            prints=len(part.prints) if isinstance(part, prog.Region) else 0,
        )

    def ended(self, length: ix.Expr) -> code.Ended:
        """A length that a region or block may end."""
        outer = length.point if isinstance(length, ix.LengthAt) else ()
        return code.Ended(symbols(length)[0], self.tuple(outer))

    def count(self, calls: int) -> None:
        """Count kernel calls as done."""
        if self.hooks.progress:

            def done(frame: RunFrame) -> None:
                frame.done[0] += calls

            self.act(done)

    # -------------------------------------------------------------- operands

    def location(self, cell: prog.Cell) -> tuple[str, tuple[object, ...]]:
        """What tells cells apart: the store, and parts of the key that are not always 0."""
        slots = zip(cell.key, self.layouts[cell.store].moduli, strict=True)
        values = ((e, self.values.slot(e, modulo)) for e, modulo in slots)
        return cell.store, tuple(e if callable(value) else value for e, value in values)

    def is_plain(self, cell: prog.Cell) -> bool:
        """Whether a result goes to the only cell of its store, and nothing follows."""
        store = self.layouts[cell.store]
        return store.is_single and cell.when is None and not store.away and not self.hooks.account

    def singles(self, cells: Sequence[prog.Cell]) -> tuple[int, ...] | None:
        """The numbers of the stores of operands, if all are their only cells."""
        if all(self.layouts[cell.store].is_single and cell.when is None for cell in cells):
            return (*(self.numbers[cell.store] for cell in cells),)
        return None

    def tuple(self, some: Sequence[ix.Expr]) -> Callable[[Variables], tuple[int, ...]]:
        """Expressions as a function that gives a tuple."""
        point = self.values.point(some)
        return point if callable(point) else lambda variables: point

    def point(self, some: Sequence[ix.Expr]) -> code.PointReader:
        """The coordinates of a call: an empty tuple for none, which takes less time to pass."""
        if not some:
            return lambda variables: ()
        point = self.values.point(some)
        if not callable(point):
            for value in point:
                if abs(value) >= LIMIT:
                    raise RunError(errors.out_of_range("a kernel", "a coordinate", value, LIMIT))
            constant = self.device.constant(point)
            return lambda variables: constant
        if len(some) == 1 and (affine := self.values.affine(some[0])) is not None:
            coordinate, (name, offset) = self.device.coordinate, affine
            return lambda variables: coordinate(variables[name] + offset)
        coordinates = self.device.coordinates
        return lambda variables: coordinates(point(variables))
