"""One run: load, bind arguments, place them on the device, execute, collect outputs."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np

from tempoc.diagnostics.diagnostic import RunError
from tempoc.program.nodes import nodes as prog
from tempoc.runtime.checkpoint import suspend
from tempoc.runtime.checkpoint.interrupts import suspend_on_interrupt
from tempoc.runtime.data.bindings import Bindings, Given, beyond_params, left_to_defaults
from tempoc.runtime.data.dtypes import HostArray
from tempoc.runtime.data.source import as_sources, by_name
from tempoc.runtime.device import backend
from tempoc.runtime.device.accounting import Ledger
from tempoc.runtime.device.resident import resident
from tempoc.runtime.device.stores import CellArrays, Layout, SharedCells, place_given
from tempoc.runtime.execution.machine import Machine
from tempoc.runtime.execution.outputs import output_slice
from tempoc.runtime.execution.specialize import (
    DirectRun,
    Prepared,
    Specialization,
    cached_specialization,
    prepare,
    specialize,
)
from tempoc.runtime.execution.variants import choose_program
from tempoc.runtime.forecast.dry_run import Forecast, forecast
from tempoc.runtime.host.effects import EffectSink, Show
from tempoc.runtime.host.host_calls import RecordedCalls, totals
from tempoc.runtime.load.load import LoadedProgram, load
from tempoc.runtime.messages import run as errors
from tempoc.runtime.report.memory_plot import MemoryCurve
from tempoc.runtime.report.profile import Trace
from tempoc.runtime.report.streams import write_notice
from tempoc.runtime.walk.assemble import RunHooks

Watch = Callable[[prog.Program, Mapping[str, int], list[int]], AbstractContextManager[object]]


@dataclass(slots=True, kw_only=True)
class Settings:
    """The settings of a run.

    ``account``: count the bytes of stores. ``show`` receives printed and saved tensors, ``watch``
    the program, its bounds and a live count of calls. ``record``: keep all host calls. ``budget``:
    refuse a run whose stores take more bytes. ``keep``: write checkpoints, or resume from one.
    ``precision`` of matrix products overrides that of the program. ``curve`` is the memory plot.
    ``on_device``: outputs are arrays of the device, and no argument stays with the host.
    """

    account: bool = False
    trace: Trace | None = None
    watch: Watch | None = None
    show: Show = field(default_factory=EffectSink)
    record: bool = False
    budget: int | None = None
    keep: suspend.CheckpointOptions | None = None
    precision: str | None = None
    curve: MemoryCurve | None = None
    on_device: bool = False

    @property
    def is_plain(self) -> bool:
        """Whether a run has no observers: only its outputs and effects matter."""
        extras = self.account or self.record or self.trace or self.watch or self.keep or self.curve
        return not extras and self.budget is None and self.precision is None


@dataclass(slots=True, kw_only=True)
class RunResult:
    """Outputs by name in source order, the bounds of the run, and what it took.

    ``lengths`` are those that were found out, by bound, without those that vary with points.
    ``variant`` is the folder of the program that ran, if it is not the one that was named, and
    ``about`` says what is different.

    ``peak_bytes`` is 0 unless accounting was on; so are the bytes of each store at that time, those
    that the host had at most of stores that live there (``away``), and those that were ``loaded``
    and ``evicted``; there is no ``predicted`` peak. Seconds are for the calls alone. ``made`` are
    the calls of host functions if they were to be kept, ``hosts`` their numbers and seconds.
    """

    outputs: Mapping[str, HostArray]
    bounds: Mapping[str, int]
    seconds: float
    peak_bytes: int
    given_bytes: int
    lengths: Mapping[str, int] = field(default_factory=dict)
    made: RecordedCalls = field(default_factory=dict)
    hosts: Mapping[str, tuple[int, float]] = field(default_factory=dict)
    stores: Mapping[str, int] = field(default_factory=dict)
    away_bytes: int = 0
    away_stores: Mapping[str, int] = field(default_factory=dict)
    loaded: int = 0
    evicted: int = 0
    predicted: Forecast | None = None
    variant: str = ""
    about: str = ""


def run(
    directory: str | Path,
    bounds: Mapping[str, object] | None = None,
    inputs: Mapping[str, object] | None = None,
    params: Mapping[str, object] | None = None,
    *,
    cast_params: bool = False,
    seed: int = 0,
    extern_path: Sequence[str | Path] = (),
    precision: str | None = None,
    memory_budget: int | None = None,
    checkpoint: str | Path | None = None,
    every: float | None = None,
    resume: str | Path | None = None,
    resume_anyway: bool = False,
    output_dir: str | Path | None = None,
) -> RunResult:
    """Run a compiled program on arrays. Raises ``RunError`` for everything that is wrong.

    Arrays of JAX and, by DLPack, those that others have on the device are taken from there.
    Files of ``save`` go below ``output_dir``, or else below the working directory.
    ``precision``: ``highest``, ``high`` or ``default``, as in ``program/nodes/precision.py``. A run
    whose stores would take more than ``memory_budget`` bytes is refused. ``checkpoint`` is a
    directory into which the run writes what it needs to go on, ``every`` so many seconds (60; 0: at
    each step) and at the first Ctrl-C (then raises ``KeyboardInterrupt``); with the same arguments
    and ``resume``, such a directory, a run goes on from there, with ``resume_anyway`` also where
    numbers may come out differently. Where the directory holds several variants of a program, the
    result says which one ran.
    """
    if every is not None and checkpoint is None:
        raise ValueError("every says how often a checkpoint is written: name the directory")
    given = Given(
        bounds=by_name({} if bounds is None else bounds, "bound"),
        inputs=as_sources({} if inputs is None else inputs, "input", resident),
        params=as_sources({} if params is None else params, "param", resident),
        cast_params=cast_params,
        seed=seed,
    )
    if backend.is_traced():
        raise RunError(errors.traced())
    keep = suspend.checkpoint_options(checkpoint, every, resume, resume_anyway)
    show = EffectSink(output_dir or ".")
    settings = Settings(precision=precision, budget=memory_budget, keep=keep, show=show)
    loaded = load(directory, extern_path)
    report_params(loaded.program, given)
    with suspend_on_interrupt(keep):
        return run_given(loaded, given, settings)


def report_params(program: prog.Program, given: Given) -> None:
    """Say what files have beyond the last step of a param, and which params they do not have.

    The program may have been compiled for another checkpoint; the names of params may be wrong.
    """
    origin = given.params_origin or "what is given"
    if more := beyond_params(program, given):
        write_notice(errors.beyond_params(more, origin))
    if absent := left_to_defaults(program, given):
        others = [*given.params] if len(absent) == len(program.params) else []
        write_notice(errors.defaults_used(absent, origin, others))


def run_given(
    loaded: LoadedProgram, given: Given, settings: Settings, shared: SharedCells | None = None
) -> RunResult:
    """Run a loaded program, or one of its variants, on arguments. Raises ``RunError``.

    ``shared`` cells of params and the seed stay on the device between runs.
    """
    resume = None if settings.keep is None else settings.keep.resume
    loaded = choose_program(loaded, given, settings.budget, settings.precision, resume)
    cached = cached_specialization(loaded, given)
    try:
        if cached is not None and (direct := cached.direct) and settings.is_plain and not shared:
            with backend.settings(loaded.program.x64):
                result = _run_directly(loaded, given, cached.bounds, direct, settings)
            if result is not None:
                return result
        return _run_specialized(loaded, *specialize(loaded, given, cached), settings, shared)
    except (backend.DeviceError, MemoryError) as error:
        raise device_failure(error) from error


def device_failure(error: Exception) -> RunError:
    """The error for a device that is out of memory or failed."""
    return RunError(errors.device_failed(str(error).split("\n")[0] or "out of memory"))


def _run_specialized(
    loaded: LoadedProgram,
    bindings: Bindings,
    specialization: Specialization,
    settings: Settings,
    shared: SharedCells | None,
) -> RunResult:
    stores = specialization.stores
    prepared = prepare(loaded, bindings.bounds, settings.precision)
    keep = settings.keep
    hooks = RunHooks(
        progress=settings.watch is not None, account=settings.account, suspend=keep is not None
    )
    prepared.check_budget(stores, settings.budget)
    suspender = None
    if keep is not None:
        run_identity = suspend.identity(loaded, bindings, prepared.precision)
        suspender = suspend.suspender_of(keep, loaded.program, run_identity, stores, settings.show)
    under = backend.settings if prepared.has_run(stores, hooks) else backend.session
    with under(loaded.program.x64):
        try:
            result = _run(loaded, prepared, bindings, stores, settings, hooks, suspender, shared)
        finally:
            if suspender is not None:
                suspender.close()
        if settings.is_plain and specialization.direct is None:
            call = prepared.straight_call(stores)
            if call is not None:
                specialization.remember_direct(prepared, call, bindings)
    if settings.account:
        result = replace(result, predicted=forecast(loaded.program, bindings.bounds, stores))
    return replace(result, variant=loaded.variant, about=loaded.about) if loaded.variant else result


def _run_directly(
    loaded: LoadedProgram,
    given: Given,
    bounds: Mapping[str, int],
    direct: DirectRun,
    settings: Settings,
) -> RunResult | None:
    """A run as one call on the arrays of the caller; ``None`` if they need conversion.

    ``None``, too, if it ends lengths, which the result has to say, or checks what it is given.
    """
    prepared, call = direct.prepared, direct.call
    for traced in loaded.traced:
        traced.bounds = bounds
    if direct.arguments is None or any(call.ends) or call.attempted or call.verdict is not None:
        return None
    arrays: list[Any] = [zeros() if (zeros := call.zeros.get(s)) else None for s in call.operands]
    user_arrays = []
    for name, is_param, k in direct.arguments:
        source = (given.params if is_param else given.inputs)[name]
        arrays[k] = source.read() if source.array is None else source.array
        if source.array is None and type(arrays[k]) is not np.ndarray:
            return None
        user_arrays.append(arrays[k])
    start = time.perf_counter()
    try:
        cells = dict(zip(call.results, call.on_host(call.at, *arrays), strict=False))
        backend.wait(cells)
    except Exception as error:
        if (failure := explain_failure(loaded, direct, call.straight, settings, error)) is None:
            raise
        raise failure from error
    seconds = time.perf_counter() - start
    return RunResult(
        outputs=_outputs(prepared, bounds, cells, user_arrays),
        bounds=bounds,
        seconds=seconds,
        peak_bytes=0,
        given_bytes=sum(prepared.layouts[store].nbytes() for store in call.straight),
        variant=loaded.variant,
        about=loaded.about,
    )


def explain_failure(
    loaded: LoadedProgram,
    direct: DirectRun,
    stores: frozenset[str],
    settings: Settings,
    error: Exception,
) -> RunError | None:
    """The error for an exception in the only call of a program, if a machine can explain it."""
    prepared = direct.prepared
    code = prepared.code(stores, RunHooks())
    machine = Machine(prepared, code, {}, settings.show, loaded.hosts)
    machine.position = next(iter(code.calls))
    return machine.explained(error)


def _run(
    loaded: LoadedProgram,
    prepared: Prepared,
    bindings: Bindings,
    stores: frozenset[str],
    settings: Settings,
    hooks: RunHooks,
    suspender: suspend.Suspender | None,
    shared: SharedCells | None,
) -> RunResult:
    program, bounds, layouts = loaded.program, bindings.bounds, prepared.layouts
    for traced in loaded.traced:
        traced.bounds = bounds
    code = prepared.code(stores, hooks)
    if settings.trace is not None:
        named = zip(program.kernels, prepared.kernels, strict=True)
        kernels = [settings.trace.wrap(k.name, kernel) for k, kernel in named]
        code = prepared.assemble(stores, hooks, kernels)
    straight = frozenset[str]() if settings.on_device else code.straight
    placed = place_given(program, bindings, layouts, straight, shared)
    recorded: RecordedCalls | None = {} if settings.record else None
    machine = Machine(
        prepared,
        code,
        placed,
        settings.show if suspender is None else suspender.show,
        loaded.hosts,
        account=settings.account,
        trace=settings.trace,
        record=recorded,
        suspender=suspender,
    )
    given_bytes = prepared.given_bytes(stores, placed)
    if settings.trace is not None:
        settings.trace.watch_memory(machine.ledger)
    if settings.curve is not None:
        settings.curve.note(machine.ledger.now)
        machine.ledger.on_change = settings.curve.note
    user_arrays = _user_arrays(placed, layouts, straight)
    del placed
    watch = settings.watch
    with nullcontext() if watch is None else watch(program, bounds, machine.done):
        start = time.perf_counter()
        cells = machine.run()
        seconds = time.perf_counter() - start
    by_store = dict(zip(layouts, cells, strict=True))
    result = RunResult(
        outputs=_outputs(prepared, machine.bounds, by_store, user_arrays, settings.on_device),
        bounds=machine.bounds,
        seconds=seconds,
        peak_bytes=0,
        given_bytes=given_bytes,
        lengths=machine.known_lengths(),
        made=recorded or {},
        hosts=totals(machine.callers),
    )
    return _with_accounting(result, machine.ledger) if settings.account else result


def _user_arrays(
    placed: Mapping[str, CellArrays], layouts: Mapping[str, Layout], straight: frozenset[str]
) -> list[HostArray]:
    """The arrays that may be those of the caller themselves."""
    away = (cells.get(()) for name, cells in placed.items() if layouts[name].away)
    return [
        *(cells[()] for name, cells in placed.items() if name in straight),
        *(cell.array for cell in away if cell is not None),
    ]


def _with_accounting(result: RunResult, ledger: Ledger) -> RunResult:
    """The result with the figures of the ledger."""
    return replace(
        result,
        peak_bytes=ledger.peak,
        stores=ledger.at_peak(),
        away_bytes=ledger.away.peak,
        away_stores=ledger.away_at_peak(),
        loaded=ledger.loaded,
        evicted=ledger.evicted,
    )


def _outputs(
    prepared: Prepared,
    bounds: Mapping[str, int],
    cells: Mapping[str, Any],
    user_arrays: Sequence[HostArray],
    on_device: bool = False,
) -> dict[str, Any]:
    """The outputs out of the cells of stores; ``bounds`` are those at the end of the run."""
    outputs = {}
    for o in prepared.program.outputs:
        late = bool(prepared.program.lengths)
        layout = prepared.layouts[o.store]
        take = output_slice(o, layout, bounds) if late else prepared.take(o)
        if on_device:
            outputs[o.name] = take.on_device(cells[o.store])
        else:
            outputs[o.name] = unaliased(take(cells[o.store]), user_arrays)
    return outputs


def unaliased(output: HostArray, given: Sequence[HostArray]) -> HostArray:
    """The output, copied if it shares memory with an array of the caller."""
    for a in given:
        if isinstance(a, np.ndarray) and np.may_share_memory(output, a):
            return output.copy()
    return output
