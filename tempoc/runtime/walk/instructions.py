"""The instructions of host programs: functions of the frame that return the next instruction."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from tempoc.diagnostics.diagnostic import RunError
from tempoc.program.analysis.count_calls import count_calls
from tempoc.program.nodes import nodes as prog
from tempoc.runtime.messages import run as errors
from tempoc.runtime.walk.code import END, Instruction
from tempoc.runtime.walk.frame import ActiveLoop, RunFrame
from tempoc.runtime.walk.lines import print_rows
from tempoc.runtime.walk.operands import Action, Reader, Writer
from tempoc.runtime.walk.values import Function, Variables

Actions = Sequence[tuple[int, Action]]
"""Actions in order, each with the number that is the position if it fails."""
PointReader = Callable[[Variables], Any]
"""The coordinates of a call, as the kernel takes them."""
ResultWriter = Callable[[RunFrame, Any, Sequence[Any]], None]
"""Takes the coordinates and the results of a call."""
DeviceFunction = Callable[..., Sequence[Any]]


def actions(acts: Actions, following: int) -> Instruction:
    """Change the frame, and go on."""
    if len(acts) == 1:
        ((_, only),) = acts

        def single(frame: RunFrame) -> int:
            only(frame)
            return following

        return single

    def instruction(frame: RunFrame) -> int:
        number = END
        try:
            for number, act in acts:  # noqa: B007  # it is the position
                act(frame)
        except BaseException:
            frame.position = number
            raise
        return following

    return instruction


def loop_of_actions(
    var: str,
    number: int,
    steps: Callable[[Variables], range],
    limit: Function | None,
    acts: Actions,
    following: int,
) -> Instruction:
    """A whole loop of the host, whose body is nothing but actions."""
    if len(acts) == 1 and limit is None:
        ((only_position, only),) = acts

        def loop_of_one(frame: RunFrame) -> int:
            variables = frame.variables
            try:
                for step in frame.steps_of(number, steps(variables)):
                    variables[var] = step
                    only(frame)
            except BaseException:
                frame.position = only_position
                raise
            return following

        return loop_of_one

    def instruction(frame: RunFrame) -> int:
        variables, position = frame.variables, END
        chosen = frame.steps_of(number, steps(variables))
        try:
            for step in chosen:
                variables[var] = step
                if limit is not None and step >= limit(variables):
                    break
                for position, act in acts:  # noqa: B007
                    act(frame)
        except BaseException:
            frame.position = position
            raise
        return following

    return instruction


def ensured(act: Action, number: int) -> Action:
    """Change the frame if a store has no cell yet."""

    def ensure(frame: RunFrame) -> None:
        if frame.cells[number] is None:
            act(frame)

    return ensure


def grow(group: int, rows: Function) -> Action:
    """Let a group of stores grow if it has fewer slots."""

    def act(frame: RunFrame) -> None:
        count = rows(frame.variables)
        if count > frame.capacities.now[group]:
            frame.grow(group, count)

    return act


def within(kernel: str, points: Sequence[tuple[str, Function, int]]) -> Action:
    """Refuse a call at a coordinate outside of its dimension; each with its name and its size."""

    def act(frame: RunFrame) -> None:
        for dim, coordinate, size in points:
            value = coordinate(frame.variables)
            if not 0 <= value < size:
                raise RunError(errors.out_of_range(kernel, dim, value, size))

    return act


def branch(condition: Function, following: int, otherwise: int) -> Instruction:
    """Go on if a condition holds."""

    def instruction(frame: RunFrame) -> int:
        return following if condition(frame.variables) else otherwise

    return instruction


def unreachable(frame: RunFrame) -> int:
    """Stands at the number of a jump."""
    raise AssertionError("a jump is never executed")


def boundary(number: int, following: int) -> Instruction:
    """A suspend point: take a snapshot if one is due."""

    def instruction(frame: RunFrame) -> int:
        if frame.is_due():
            frame.suspend(number)
        return following

    return instruction


def enter_loop(
    var: str, number: int, steps: Callable[[Variables], range], head: int
) -> Instruction:
    """Begin a loop of the host."""

    def instruction(frame: RunFrame) -> int:
        chosen = frame.steps_of(number, steps(frame.variables))
        frame.loops.append(ActiveLoop(var, chosen, iter(chosen)))
        return head

    return instruction


def next_step(var: str, limit: Function | None, body: int, following: int) -> Instruction:
    """The head of a loop of the host: its next step, or its end."""

    def instruction(frame: RunFrame) -> int:
        iterator = frame.loops[-1].iterator
        assert iterator is not None
        variables = frame.variables
        for step in iterator:
            variables[var] = step
            if limit is not None and step >= limit(variables):
                break
            return body
        frame.loops.pop()
        return following

    return instruction


def last_step(
    var: str, steps: Callable[[Variables], range], following: int, otherwise: int
) -> Instruction:
    """Set the variable of a loop to its last step; go on elsewhere if there is none."""

    def instruction(frame: RunFrame) -> int:
        executed = steps(frame.variables)
        if not executed:
            return otherwise
        frame.variables[var] = executed[-1]
        return following

    return instruction


def call_of_singles(
    kernel: DeviceFunction, point: PointReader, operands: tuple[int, ...], results: tuple[int, ...]
) -> Action:
    """A call of which all operands and results are the only cells of their stores.

    It takes little more time than the call itself: such calls fill the loops of the host.
    """
    called = _called_with(kernel, operands)
    if len(results) == 1:
        (only,) = results

        def one(frame: RunFrame) -> None:
            cells = frame.cells
            (cells[only],) = called(point(frame.variables), cells)

        return one
    if len(results) == 2:
        first, second = results

        def two(frame: RunFrame) -> None:
            cells = frame.cells
            cells[first], cells[second] = called(point(frame.variables), cells)

        return two

    def call(frame: RunFrame) -> None:
        cells = frame.cells
        arrays = called(point(frame.variables), cells)
        for number, array in zip(results, arrays, strict=True):
            cells[number] = array

    return call


def _called_with(
    kernel: DeviceFunction, operands: tuple[int, ...]
) -> Callable[[Any, list[Any]], Sequence[Any]]:
    """Calls a kernel at a point with some of the cells.

    To unpack a sequence into arguments takes 0.3 us, which is 4 % of a short call.
    """
    match operands:
        case (a,):
            return lambda at, cells: kernel(at, cells[a])
        case (a, b):
            return lambda at, cells: kernel(at, cells[a], cells[b])
        case (a, b, c):
            return lambda at, cells: kernel(at, cells[a], cells[b], cells[c])
        case (a, b, c, d):
            return lambda at, cells: kernel(at, cells[a], cells[b], cells[c], cells[d])
        case _:
            return lambda at, cells: kernel(at, *[cells[number] for number in operands])


@dataclass(frozen=True, slots=True)
class Ended:
    """A length that a kernel may end: its bound, the point, and the length, unless it is given."""

    bound: str
    outer: Callable[[Variables], tuple[int, ...]]
    length: Function | None = None

    def note(self, frame: RunFrame, end: Any) -> bool:
        """Tell the frame if the kernel says so: a condition, or the length itself."""
        if end := np.asarray(end).item():
            variables = frame.variables
            length = end if self.length is None else self.length(variables)
            frame.length_ended(self.bound, self.outer(variables), length)
        return bool(end)


@dataclass(frozen=True, slots=True, kw_only=True)
class ResultSink:
    """What to do with the results of a call: ``writers`` take them (``None``: dropped).

    ``released`` frees donated arguments first. After the results come a condition for each of the
    ``ends``, then the fault if the kernel has ``checks``. All results go to an ``effect``, if there
    is one.
    """

    kernel: int
    writers: tuple[Writer | None, ...]
    released: tuple[Action, ...] = ()
    ends: tuple[Ended, ...] = ()
    checks: bool = False
    effect: prog.Effect | None = None

    def returned(self, frame: RunFrame, at: Any, results: Sequence[Any]) -> None:
        """Take the results of a call at a point."""
        for release in self.released:
            release(frame)
        for write, array in zip(self.writers, results, strict=False):
            if write is not None:
                write(frame, array)
        last = len(results) - self.checks
        for ended, end in zip(self.ends, results[last - len(self.ends) : last], strict=True):
            ended.note(frame, end)
        if self.checks:
            frame.failed(self.kernel, at, results[-1])
        if self.effect is not None:
            frame.check()  # nothing is printed or saved after what has failed
            frame.perform(self.effect, at, results[: last - len(self.ends)])


def call_kernel(
    kernel: DeviceFunction, point: PointReader, operands: tuple[Reader, ...], store: ResultWriter
) -> Action:
    """A call whose results ``store`` takes.

    Calls of few operands, which fill loops of the host, take half the time without a list of them.
    """
    if len(operands) == 1:
        (only,) = operands

        def unary(frame: RunFrame) -> None:
            at = point(frame.variables)
            store(frame, at, kernel(at, only(frame)))

        return unary
    if len(operands) == 2:
        first, second = operands

        def binary(frame: RunFrame) -> None:
            at = point(frame.variables)
            store(frame, at, kernel(at, first(frame), second(frame)))

        return binary

    def call(frame: RunFrame) -> None:
        at = point(frame.variables)
        store(frame, at, kernel(at, *[read(frame) for read in operands]))

    return call


def write_all(writers: Sequence[Writer]) -> ResultWriter:
    """Stores all results of a call."""
    if len(writers) == 1:
        (write,) = writers

        def store_one(frame: RunFrame, at: Any, results: Sequence[Any]) -> None:
            (array,) = results
            write(frame, array)

        return store_one

    def store(frame: RunFrame, at: Any, results: Sequence[Any]) -> None:
        for write, array in zip(writers, results, strict=True):
            write(frame, array)

    return store


def call_host(
    number: int,
    point: Callable[[Variables], tuple[int, ...]],
    operands: tuple[Reader, ...],
    store: ResultWriter,
) -> Action:
    """A call of a host function."""

    def call(frame: RunFrame) -> None:
        at = point(frame.variables)
        store(frame, at, frame.call_host(number, at, [read(frame) for read in operands]))

    return call


@dataclass(frozen=True, slots=True, kw_only=True)
class DeviceCall:
    """A call of the kernel of a region or block, which returns cells, rows, lengths, and a fault.

    Stores in ``local`` exist while it runs; they are entered into the ledger. So many ``prints``
    have rows. Lengths are numbers: 0 where a bound did not end.
    """

    number: int
    kernel: DeviceFunction
    operands: tuple[Reader, ...]
    writers: tuple[Writer, ...]
    ends: tuple[Ended, ...]
    checks: bool
    local: tuple[int, ...] = ()
    prints: int = 0

    def __call__(self, frame: RunFrame, at: Any) -> tuple[Any, Sequence[Any], list[int]]:
        """Call the kernel; its first result, the rows, and the lengths."""
        for number in self.local:
            frame.ledger.wrote(number, ())
        results = self.called(frame, at)
        for number in self.local:
            frame.ledger.freed(number, ())
        return self.stored(frame, results)

    def called(self, frame: RunFrame, at: Any) -> Sequence[Any]:
        """Call the kernel: all its results."""
        return self.kernel(at, *[read(frame) for read in self.operands])

    def stored(
        self, frame: RunFrame, results: Sequence[Any]
    ) -> tuple[Any, Sequence[Any], list[int]]:
        """Take the results of the kernel."""
        first = len(self.writers)
        for write, array in zip(self.writers, results, strict=False):
            write(frame, array)
        if self.checks:
            frame.failed(self.number, None, results[-1])
        end = first + self.prints
        lengths = [np.asarray(n).item() for n in results[end]] if self.ends else []
        return results[0], results[first:end], lengths

    def note_ends(self, frame: RunFrame, lengths: Sequence[int]) -> None:
        """Tell the frame which lengths have ended."""
        for ended, length in zip(self.ends, lengths, strict=False):
            ended.note(frame, length)


def call_block(device_call: DeviceCall, point: PointReader) -> Action:
    """A block as one call."""

    def call(frame: RunFrame) -> None:
        *_, lengths = device_call(frame, point(frame.variables))
        device_call.note_ends(frame, lengths)

    return call


@dataclass(frozen=True, slots=True)
class Attempt:
    """A block, by its kernel, as one call with smaller lengths: nothing if they do not end."""

    kernel: str
    device_call: DeviceCall
    at: Any

    def instruction(self, following: int, finished: int) -> Instruction:
        """Go on where the block is ``finished``, or execute its statements."""

        def instruction(frame: RunFrame) -> int:
            if self.kernel not in frame.longer:
                results = self.device_call.called(frame, self.at)
                if all(map(np.asarray, results[len(self.device_call.writers)])):
                    *_, lengths = self.device_call.stored(frame, results)
                    self.device_call.note_ends(frame, lengths)
                    return finished
                frame.longer.add(self.kernel)
            return following

        return instruction


@dataclass(frozen=True, slots=True, kw_only=True)
class RegionRun:
    """The calls of a region.

    ``steps_left``: so many steps may follow a step without growth; ``needs``: what a call needs;
    ``limit`` where the loop ends, as far as that is known. ``counted``: its kernel calls count as
    those that it stands for.
    """

    region: prog.Region
    steps: Callable[[Variables], range]
    device_call: DeviceCall
    outer: Callable[[Variables], tuple[int, ...]]
    lengths: Callable[[Variables], tuple[int, ...]]
    limit: Function | None
    steps_left: Callable[[RunFrame], int] | None
    needs: tuple[tuple[int, Function], ...]
    counted: bool

    def enter(self, following: int) -> Instruction:
        """Begin the region."""
        var = self.region.loop.var

        def instruction(frame: RunFrame) -> int:
            frame.loops.append(ActiveLoop(var, self.steps(frame.variables)))
            return following

        return instruction

    def call(self, returned: int, following: int) -> Instruction:
        """Run some of the remaining steps, or end the region."""
        var, region = self.region.loop.var, self.region

        def instruction(frame: RunFrame) -> int:
            active, variables = frame.loops[-1], frame.variables
            steps = active.steps
            assert isinstance(steps, range)
            if steps:
                variables[var] = steps[0]
            if not steps or (self.limit is not None and steps[0] >= self.limit(variables)):
                frame.loops.pop()
                return following
            steps_left = None if self.steps_left is None else self.steps_left(frame)
            count = frame.region_steps(region, steps, steps_left)
            now, rest = steps[:count], steps[count:]
            for group, rows in self.needs:
                frame.grow(group, rows(variables))
            at = (now[0], count, *self.outer(variables), *self.lengths(variables))
            if region.prints:
                frame.check()  # nothing is printed after what has failed
            first, lines, lengths = self.device_call(frame, frame.device.coordinates(at))
            try:
                if self.counted:
                    frame.done[0] += round(count * self.calls_of_step(frame))
                result = first if region.carried or lines else lengths
                frame.region_returned(region, now, rest, result, any(lengths))
                active.steps = rest
                self.device_call.note_ends(frame, lengths)
            finally:  # also after Ctrl-C, and if a check has failed: then with the rows before that
                if lines:
                    print_rows(frame, region, lines)
            return returned

        return instruction

    def calls_of_step(self, frame: RunFrame) -> float:
        """The mean number of kernel calls that a step stands for."""
        values = frame.bounds | {var: frame.variables[var] for var in self.region.point}
        return count_calls(self.region.loop, values) / len(self.steps(frame.variables))
