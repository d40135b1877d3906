"""The machine: runs the walk of a program, and turns exceptions into errors with equations.

Kernel calls are asynchronous. The machine waits for the device only where a value is read on the
host, and evaluates the faults of checks every few hundred calls and at the end.
"""

from __future__ import annotations

import linecache
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from types import FunctionType, MappingProxyType, TracebackType
from typing import Any

import numpy as np

from tempoc.program.analysis.verify import bound_order
from tempoc.program.nodes.arithmetic import at_point, evaluate, names, text
from tempoc.program.nodes.nodes import Call, Kernel, Program
from tempoc.runtime.checkpoint.suspend import Suspender
from tempoc.runtime.data.bindings import PointIndex
from tempoc.runtime.device import backend, faults
from tempoc.runtime.device.accounting import Ledger
from tempoc.runtime.device.backend import DeviceArray
from tempoc.runtime.device.capacity import Capacities
from tempoc.runtime.device.stores import CellArrays, KeyedCells, Layout, allocate
from tempoc.runtime.device.transfers import Transfers
from tempoc.runtime.execution.specialize import Prepared, kernels_by_name
from tempoc.runtime.host.effects import Show, perform
from tempoc.runtime.host.externs import ExternFailure, derivative_failure, failure, place
from tempoc.runtime.host.host_calls import HostCallable, HostCaller, RecordedCalls
from tempoc.runtime.messages import run as errors
from tempoc.runtime.messages.problem import RunError
from tempoc.runtime.report.profile import Trace
from tempoc.runtime.report.progress import count_calls
from tempoc.runtime.walk.region_calls import Pace, RegionCalls
from tempoc.runtime.walk.walk import FILE, WalkOptions, WalkText, is_local

Fault = tuple[int, Any, DeviceArray]


class RunLengths(dict[tuple[int, ...] | int, int]):
    """The known lengths of a bound by point; for other points, the largest possible one.

    A point of one dimension is an integer here; in ``found`` all points are tuples.
    """

    def __init__(self, largest: int) -> None:
        super().__init__()
        self.largest = largest
        self.found: dict[tuple[int, ...], int] = {}

    def __missing__(self, outer: tuple[int, ...] | int) -> int:
        """The bound has not ended at this point."""
        return self.largest

    def put(self, outer: tuple[int, ...], length: int) -> None:
        """The bound has ended at this point."""
        self.found[outer] = length
        self[outer[0] if len(outer) == 1 else outer] = length


def derive_bounds(program: Program, bounds: dict[str, int]) -> tuple[str, ...]:
    """Recompute the bounds that are derived from lengths; returns their names."""
    derived = dict.fromkeys(n.bound for n in program.lengths)
    fixed = [*derived, *(n.largest for n in program.lengths)]
    for name in bound_order(program):
        value = next((b.value for b in program.bounds if b.name == name), None)
        if name not in fixed and value is not None and any(n in derived for n in names(value)):
            derived[name] = None
            bounds[name] = evaluate(value, bounds)
    return tuple(name for name in derived if name not in fixed)


def run_walk(
    walk: WalkText, scope: dict[str, Any], check: Callable[[], None] | None = None
) -> dict[int, DeviceArray]:
    """Run a walk in a namespace; returns the cells of outputs, computed, after a last check."""
    linecache.cache[FILE] = walk.lines
    local: dict[int, DeviceArray] = FunctionType(walk.code, scope)()
    if check is not None:
        check()
    for cell in local.values():
        backend.wait(cell)
    return local


class Machine:
    """A program with bounds and kernels, ready to run once.

    ``done[0]`` counts calls, and ``ledger`` the bytes of stores, if the options of the walk say so.
    """

    def __init__(
        self,
        prepared: Prepared,
        walk: WalkText,
        kernels: Sequence[Callable[..., Any]],
        given: Mapping[str, CellArrays],
        options: WalkOptions,
        show: Show,
        hosts: Mapping[str, HostCallable] = MappingProxyType({}),
        trace: Trace | None = None,
        record: RecordedCalls | None = None,
        keeper: Suspender | None = None,
    ) -> None:
        program, layouts, bounds = prepared.program, prepared.layouts, prepared.bounds
        self.program = program
        self.bounds = dict(bounds)
        self.show = show
        self.done = [0]
        self.capacities = Capacities(
            prepared.capacities, [sizes[0] for sizes in prepared.capacities]
        )
        self.layouts = prepared.stores
        self.ledger = Ledger(self.layouts, self.capacities.now)
        self.faults: list[Fault] = []
        self.lengths = {n.bound: RunLengths(bounds[n.bound]) for n in program.lengths}
        self.counting = options.count
        self.regions = prepared.regions
        self.paces = prepared.paces
        self.walk = walk
        self.keyed: dict[str, KeyedCells] = {}
        self.transfers = Transfers(self.layouts, self.keyed, prepared.zeroed, self.ledger)
        self.scope: dict[str, Any] = {
            **prepared.names(walk), "faults": self.faults, "check": self.check,
            "done": self.done, "wrote": self.ledger.wrote, "freed": self.ledger.freed,
            "perform": self.perform, "ended": self.length_ended, "turns": self.region_calls,
            "rooms": self.capacities.now, "left": self.capacities.steps_left, "more": self.grow,
            "grown": self.grown, **self.transfers.names(),
        }  # fmt: skip
        if kernels is not prepared.kernels:
            self.scope |= kernels_by_name(kernels)
        self.scope |= {f"n{k}": table for k, table in enumerate(self.lengths.values())}
        self._add_zeros(layouts)
        self.callers = [
            HostCaller(
                hosts[h.extern],
                h,
                self.bounds,
                [layouts[cell.store].shape for cell in h.results],
                trace,
                record,
                unwanted=bool(h.unless) and all(store in given for store in h.unless),
            )
            for h in self.walk.hosts
        ]
        self.scope |= {f"host{i}": caller for i, caller in enumerate(self.callers)}
        self._add_stores(prepared, given, options.account)
        self.given_bytes = prepared.given_bytes(walk, given, self.capacities.now)
        if keeper is not None:
            self.scope |= keeper.names(self, given)

    def _add_stores(
        self, prepared: Prepared, given: Mapping[str, CellArrays], account: bool
    ) -> None:
        for name, cells in given.items():
            if name in prepared.filled:
                self.scope[prepared.filled[name]] = cells[()]
        for i, store in prepared.keyed:
            self._add_store(i, store, prepared.zeroed, given.get(store.name))
        for i, store in enumerate(self.layouts) if account else ():
            for key in given.get(store.name, ()):
                bare = key[0] if len(key) == 1 else key
                (self.ledger.put_away if store.away else self.ledger.wrote)(i, bare)

    def _add_zeros(self, layouts: Mapping[str, Layout]) -> None:
        """Allocate the shared zeros that are passed for absent arguments."""
        if self.walk.zeros:
            numbers = {store.name: i for i, store in enumerate(self.layouts)}
            for name, store in self.walk.zeros.items():
                self.scope[name] = allocate(layouts[store], self.capacities.now)
                self.ledger.wrote(numbers[store], name)

    def _add_store(
        self, i: int, store: Layout, zeroed: frozenset[str], given: CellArrays | None
    ) -> None:
        slots = self.capacities.now
        if not is_local(store):
            cells = given or {}, slots, partial(self.ledger.wrote, i)
            self.keyed[store.name] = KeyedCells(store, store.name in zeroed, *cells)
            self.scope[f"s{i}"] = self.keyed[store.name]
        if store.group >= 0:
            self.scope[f"zeros{i}"] = partial(allocate, store, slots)

    def run(self) -> dict[str, KeyedCells | DeviceArray]:
        """Run the walk; returns the cells of all stores that outputs read. Raises ``RunError``."""
        try:
            local = run_walk(self.walk, self.scope, self.check)
        except Exception as error:
            if (explained := self.explained(error)) is None:
                raise
            raise explained from error
        finally:
            # The walk and its scope refer to each other: without this, arrays would live until the
            # garbage collector runs.
            self.scope.clear()
        stores = self.program.stores
        return {stores[i].name: cell for i, cell in local.items()} | self.keyed

    def explained(self, error: Exception) -> RunError | None:
        """The error for an exception in a walk; ``None`` if the exception has no explanation."""
        match error:
            case UnboundLocalError():
                return self._unwritten_cell(error)
            case ExternFailure():
                return self._extern_failed(error)
            case backend.DeviceError():
                return self._kernel_failed(error)
        cause = derivative_failure(error, self.program.externs)
        return self._extern_failed(cause.with_traceback(error.__traceback__)) if cause else None

    def perform(self, number: int, point: Any, values: Sequence[DeviceArray]) -> None:
        """Print or save the tensors of an effect, after all pending checks have passed."""
        self.check()
        effect = self.walk.effects[number]
        dims = next(k.dims for k in self.program.kernels if k.name == effect.call.kernel)
        values_by_name = self.known_values() | dict(
            zip(dims, np.asarray(point).tolist(), strict=False)
        )
        arrays = []
        for value, shown in zip(backend.hosts(values), effect.places, strict=True):
            true = tuple(slice(evaluate(e, values_by_name)) for e in shown.shape)
            arrays.append(value[true])
        perform(effect, values_by_name, arrays, self.show)

    def grow(self, group: int, rows: int) -> None:
        """Grow the keyed stores of a group; the walk grows those in its local variables."""
        size = self.capacities.enough(group, rows)
        if size == self.capacities.now[group]:
            return
        self.capacities.now[group] = size
        for i, store in enumerate(self.layouts):
            if store.group == group and store.name in self.keyed:
                cells = self.keyed[store.name]
                for key, cell in list(cells.items()):
                    cells[key] = self.grown(i, cell, key)

    def grown(self, number: int, cell: DeviceArray | None, key: object = ()) -> DeviceArray | None:
        """A cell with the current capacity of its group, reallocated if necessary."""
        store = self.layouts[number]
        size = self.capacities.now[store.group]
        if cell is None or cell.shape[store.growing] == size:
            return cell
        self.ledger.grew(number, key)
        return backend.lengthened(cell, store.growing, size)

    def region_calls(
        self,
        number: int,
        steps: range,
        outer: PointIndex,
        left: Callable[[int], int] | None = None,
    ) -> RegionCalls:
        """The calls of a region."""
        region = self.regions[self.program.kernels[number].name]
        pace = self.paces.setdefault(region.kernel, Pace())
        share = 0.0
        if self.counting and steps:
            values = dict(zip(region.point, outer, strict=True))
            share = count_calls(region.loop, self.bounds | values) / len(steps)
        return RegionCalls(steps, outer, lambda count: self.count_done(count * share), left, pace)

    def count_done(self, calls: float) -> None:
        """Count calls as done."""
        self.done[0] += round(calls)

    def length_ended(self, bound: str, outer: tuple[int, ...], length: int) -> None:
        """A bound has ended at a point.

        Raises ``RunError`` if an assumption is violated, or a derived bound is below 1.
        """
        self.check()
        self.lengths[bound].put(outer, length)
        self.bounds[at_point(bound, outer)] = length
        if not outer:
            derive_bounds(self.program, self.bounds)
        values_now = self.known_values() | {bound: length}
        following = derive_bounds(self.program, values_now)
        point = place(self._outer(bound), outer)
        end = f"{bound} ended at {length}" + (f" where {point}" if point else "")
        for b in self.program.bounds:
            if b.name in following and b.value is not None and values_now[b.name] < 1:
                raise RunError(errors.small_bound(b.name, text(b.value), values_now[b.name], end))
        for a in self.program.assumptions:
            if not evaluate(a.condition, values_now):
                values = ", ".join(f"{n} = {values_now[n]}" for n in names(a.condition))
                raise RunError(errors.violated_at_end(a.text, values, end))

    def _outer(self, bound: str) -> tuple[str, ...]:
        return next(n.outer for n in self.program.lengths if n.bound == bound)

    def known_values(self) -> dict[str, int]:
        """The current values of all bounds, and of lengths at points."""
        return self.bounds | self.found_lengths()

    def found_lengths(self) -> dict[str, int]:
        """The lengths by bound, or by bound and point for those that have ended."""
        lengths: dict[str, int] = {}
        for length in self.program.lengths:
            if length.outer:
                table = self.lengths[length.bound].found
                lengths |= {at_point(length.bound, point): n for point, n in table.items()}
            else:
                lengths[length.bound] = self.bounds[length.bound]
        return lengths

    def check(self) -> None:
        """Evaluate all pending checks. Raises ``RunError`` for the first that failed."""
        for number, point, fault in self.faults:
            failed, *lane = np.ravel(backend.host(fault)).tolist()
            if point is None:  # a region: the fault holds kernel, fault and point itself
                number, failed, first, *point = failed, *lane
                lane = [first] * bool(self.program.kernels[number].vector)
            if failed:
                kernel = self.program.kernels[number]
                point_text = place(*self._point(kernel, np.asarray(point).tolist(), *lane))
                message = faults.message(kernel.checks, failed, self.bounds)
                problem = errors.check_failed(message, point_text, kernel.equations)
                raise RunError(problem)
        self.faults.clear()

    def _unwritten_cell(self, error: UnboundLocalError) -> RunError | None:
        """The error for a read of a local cell before its first write."""
        words = str(error).split("'")
        number = words[1].removeprefix("s") if len(words) > 1 else ""
        if not number.isdigit():
            return None
        return RunError(errors.never_written(self.program.stores[int(number)].name, ""))

    def _kernel_failed(self, error: Exception) -> RunError:
        """The error for a failure of the device, with the kernel if the traceback shows it."""
        call = self._call_at(error.__traceback__)
        reason = str(error).split("\n")[0]
        if call is None:
            return RunError(errors.device_failed(reason))
        equations = next(k.equations for k in self.program.kernels if k.name == call.kernel)
        return RunError(errors.kernel_failed(call.kernel, reason, equations))

    def _extern_failed(self, error: ExternFailure) -> RunError:
        """The error for a failed user function, with the point and the equations of the call."""
        frame = self._frame(error.__traceback__)
        call = None if frame is None else self.walk.calls.get(frame.tb_lineno)
        if frame is None or call is None:
            return failure(error, (), (), ())
        values = frame.tb_frame.f_locals
        scope = {n[2:]: v for n, v in values.items() if n.startswith("v_")} | self.known_values()
        kernel = next(k for k in self.program.kernels if k.name == call.kernel)
        point = [evaluate(e, scope) for e in call.point]
        return failure(error, *self._point(kernel, point), kernel.equations)

    def _point(
        self, kernel: Kernel, point: Sequence[int], lane: int = 0
    ) -> tuple[tuple[str, ...], tuple[int, ...]]:
        """The dimensions and coordinates of a point of a call, vectorized ones included.

        ``lane`` is the index among the points that the kernel computes at once.
        """
        coordinates = dict(zip(kernel.dims, point, strict=False))  # lengths may follow
        for r in reversed(kernel.vector):
            low, high = evaluate(r.lower, self.bounds), evaluate(r.upper, self.bounds)
            lane, step = divmod(lane, max(1, high - low))
            coordinates[r.dim] = low + step
        dims = tuple(d for d, _ in self.program.dims if d in coordinates)
        return dims, tuple(coordinates[d] for d in dims)

    def _call_at(self, trace: TracebackType | None) -> Call | None:
        frame = self._frame(trace)
        return None if frame is None else self.walk.calls.get(frame.tb_lineno)

    def _frame(self, trace: TracebackType | None) -> TracebackType | None:
        """The frame of the walk in a traceback."""
        while trace is not None and trace.tb_frame.f_code.co_filename != FILE:
            trace = trace.tb_next
        return trace
