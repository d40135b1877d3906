"""What XLA makes of the functions of a program: what is updated in place, and what is copied.

Each function that the runner calls is compiled for the shapes that it will see; nothing is
allocated. An array that is given away should come back at the same place, and no step of a loop
should copy one that is carried. Copies within fused operations do not show as such: they are among
the temporaries. Stores that grow have their last size.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from tempoc.base.cost_model import MODEL
from tempoc.diagnostics.diagnostic import RunError
from tempoc.footprint.launches import Launches, launches
from tempoc.program.analysis.traversal import calls, kernel_numbers
from tempoc.program.nodes import nodes as prog
from tempoc.program.nodes.precision import precision_of
from tempoc.program.nodes.spelling import variable
from tempoc.runtime.device import backend, inspection
from tempoc.runtime.device.capacity import groups
from tempoc.runtime.device.stores import Layout, layout
from tempoc.runtime.execution.kernels import counted_kernels
from tempoc.runtime.host.failure import ExternFailure, failure
from tempoc.runtime.load.load import LoadedProgram
from tempoc.runtime.messages.run import kernel_failed
from tempoc.runtime.walk import blocks
from tempoc.runtime.walk.region_calls import steps_below
from tempoc.symbolic.walk import evaluate

Called = prog.Region | prog.Block | prog.Call
"""What the runner calls a function for."""


_HEAD = re.compile(r"(?:ENTRY )?%?([\w.\-]+) \(.*\{\s*$")
# XLA names element types by their bits, but for `pred`, of a byte.
_COPY = re.compile(r"= ((?:pred|[a-z]+(\d+))\w*)\[([\d,]*)\]\S* copy(?:-start)?\(")


@dataclass(frozen=True, slots=True, kw_only=True)
class LoopCopy:
    """An array that is copied in each step of a loop: its type as XLA writes it, and its bytes.

    ``stores`` are those of this size that the function writes: one of them it may be.
    """

    type: str
    nbytes: int
    stores: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Compiled:
    """A function of ``kernels.py`` as XLA has it, sizes in bytes.

    ``loop`` is the variable of the loop that it runs, if it does. Of what is ``given`` away so much
    is ``updated`` in place. ``copies`` are those in bodies of loops from ``small_bytes`` on.
    """

    kernel: str
    loop: str
    given: int
    updated: int
    temporary: int
    copies: tuple[LoopCopy, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class CalledFunction:
    """A function that the runner calls, ready to be compiled.

    ``static`` are its static parameters, ``arguments`` what stands for its arrays, ``layouts``
    those of all stores.
    """

    called: Called
    kernel: prog.Kernel
    function: Callable[..., Any]
    static: Mapping[str, int]
    arguments: tuple[Any, ...]
    layouts: Mapping[str, Layout]


def called_functions(
    loaded: LoadedProgram, bounds: Mapping[str, int], filled: Collection[str]
) -> Iterator[CalledFunction]:
    """The functions that a run with these bounds calls; ``filled`` are stores given before it.

    They are to be compiled in the session of the program, one by one.
    """
    program = loaded.program
    growing = groups(program)
    layouts = {s.name: layout(s, bounds, growing) for s in program.stores}
    whole = blocks.single_call_blocks(program, bounds, filled)
    seen: set[str] = set()
    for traced in loaded.traced:
        traced.bounds = bounds
    with backend.session(program.x64):
        for called in _called(program.tree, whole):
            if called.kernel not in seen:
                seen.add(called.kernel)
                yield _described(called, loaded, layouts, bounds)


def compiled(
    loaded: LoadedProgram, bounds: Mapping[str, int], filled: Collection[str]
) -> Iterator[Compiled]:
    """The functions that a run with these bounds calls, compiled. Raises `RunError`."""
    precision = precision_of(loaded.program)
    for f in called_functions(loaded, bounds, filled):
        with _failures(f.kernel):
            yield _compiled(f, precision)


def launched(
    loaded: LoadedProgram, bounds: Mapping[str, int], filled: Collection[str]
) -> Iterator[tuple[str, Launches]]:
    """What XLA launches for each function with its usual command buffers, as far as it says.

    Raises `RunError`.
    """
    precision = precision_of(loaded.program)
    for f in called_functions(loaded, bounds, filled):
        with _failures(f.kernel):
            how = backend.JitOptions(f.static, f.kernel.donated, precision)
            text = inspection.thunk_list(f.function, how, f.arguments)
        counted = launches(text, isinstance(f.called, prog.Region))
        if counted is not None:
            yield f.kernel.name, counted


@contextmanager
def _failures(kernel: prog.Kernel) -> Iterator[None]:
    """Say which equations a function computes that cannot be compiled."""
    try:
        yield
    except ExternFailure as error:
        raise failure(error, (), (), kernel.equations) from error
    except backend.DeviceError as error:
        reason = str(error).split("\n")[0]
        raise RunError(kernel_failed(kernel.name, reason, kernel.equations)) from error


def _called(s: prog.ProgramStatement, whole: Collection[str]) -> Iterator[Called]:
    """What the runner calls, in order; of blocks that are no single call, their parts."""
    match s:
        case prog.Sequence(items=items):
            for item in items:
                yield from _called(item, whole)
        case prog.Loop(body=body) | prog.Guard(body=body):
            yield from _called(body, whole)
        case prog.Block(kernel=kernel, body=body) if kernel not in whole:
            yield from _called(body, whole)
        case prog.Effect(call=call):
            yield call
        case prog.Region() | prog.Block() | prog.Call():
            yield s
        case _:
            pass


def _described(
    called: Called, loaded: LoadedProgram, layouts: Mapping[str, Layout], bounds: Mapping[str, int]
) -> CalledFunction:
    program = loaded.program
    number = kernel_numbers(program)[called.kernel]
    kernel = program.kernels[number]
    at = backend.described((_coordinates(called, program),), "i32")
    given = [_arrays(cells, layouts[cells.store], bounds) for cells in _args(called)]
    static = {variable(name): bounds[name] for name in kernel.bounds}
    if called.kernel in counted_kernels(program):
        static["steps"] = steps_below(MODEL.reported_steps)
    return CalledFunction(
        called=called,
        kernel=kernel,
        function=loaded.functions[number],
        static=static,
        arguments=(at, *given),
        layouts=layouts,
    )


def _compiled(f: CalledFunction, precision: str) -> Compiled:
    called, kernel, layouts = f.called, f.kernel, f.layouts
    how = backend.JitOptions(f.static, kernel.donated, precision)
    inspected = inspection.inspect_kernel(f.function, how, f.arguments)
    args = _args(called)
    away = [args[k] for k in kernel.donated]
    sizes: dict[int, dict[str, None]] = {}
    for store in (cell.store for call in calls(called) for cell in call.results):
        sizes.setdefault(layouts[store].nbytes(), {})[store] = None
    copies = (
        LoopCopy(type=kind, nbytes=size, stores=tuple(sizes.get(size, ())))
        for kind, size in dict.fromkeys(_copies(inspected.text))
        if size >= MODEL.small_bytes
    )
    return Compiled(
        kernel=kernel.name,
        loop=called.loop.var if isinstance(called, prog.Region) else "",
        given=sum(layouts[c.store].nbytes() * len({*c.keys}) for c in away),
        updated=inspected.updated,
        temporary=inspected.temporary,
        copies=tuple(sorted(copies, key=lambda copy: (-copy.nbytes, copy.type))),
    )


def _args(called: Called) -> tuple[prog.Cells, ...]:
    if isinstance(called, prog.Call):
        return tuple(map(_alone, called.args))
    return (*called.carried, *called.read)


def _alone(cell: prog.Cell) -> prog.Cells:
    return prog.Cells(store=cell.store, keys=(cell.key,))


def _coordinates(called: Called, program: prog.Program) -> int:
    """How many numbers the function is told."""
    match called:
        case prog.Region(point=point, lengths=lengths, counts=counts):
            return 2 + len(point) + len(lengths) + len(counts)
        case prog.Block(point=point, lengths=lengths, counts=counts):
            return len(point) + len(lengths) + len(counts)
        case prog.Call(kernel=name, point=point):
            return len(point) + len(program.kernels[kernel_numbers(program)[name]].lengths)


def _arrays(cells: prog.Cells, store: Layout, bounds: Mapping[str, int]) -> Any:
    """What stands for the arrays of a store: one, or a dict by slots."""
    array = backend.described(store.shape, store.dtype)
    if not cells.places:
        return array
    by_slots = {}
    for key in cells.keys:
        slots = []
        for k in cells.places:
            slot, modulo = evaluate(key[k], bounds), store.moduli[k]
            slots.append(slot % modulo if modulo else slot)
        by_slots[slots[0] if len(slots) == 1 else (*slots,)] = array
    return by_slots


def _copies(text: str) -> Iterator[tuple[str, int]]:
    """The types of arrays that bodies of loops copy, with their bytes."""
    bodies = {*re.findall(r"body=%?([\w.\-]+)", text)}
    computation = ""
    for line in text.splitlines():
        if head := _HEAD.match(line):
            computation = head[1]
        elif computation in bodies and (copy := _COPY.search(line)) and copy[3]:
            elements = math.prod(map(int, copy[3].split(",")))
            yield f"{copy[1]}[{copy[3]}]", elements * int(copy[2] or 8) // 8
