"""One run from beginning to end: load, bind, place, walk, collect. No terminal, no result files."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tempoc.program.nodes import Program
from tempoc.runtime import backend
from tempoc.runtime.bindings import Given, bind
from tempoc.runtime.dtypes import Array
from tempoc.runtime.load import Loaded, load
from tempoc.runtime.machine import Machine
from tempoc.runtime.outputs import collect
from tempoc.runtime.source import as_sources
from tempoc.runtime.stores import layout, place_given
from tempoc.runtime.trace import Trace
from tempoc.runtime.walker import Wishes

Watch = Callable[[Program, Mapping[str, int], list[int]], AbstractContextManager[object]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """How to run. ``watch`` gets the program, its bounds and a live count of calls."""

    account: bool = False
    trace: Trace | None = None
    watch: Watch | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class RunResult:
    """Outputs by name in source order, the bounds of the run, and what it took.

    ``peak_bytes`` is 0 unless accounting was on; seconds are for the walk alone.
    """

    outputs: Mapping[str, Array]
    bounds: Mapping[str, int]
    seconds: float
    peak_bytes: int
    given_bytes: int


def run(
    directory: str | Path,
    bounds: Mapping[str, object] | None = None,
    inputs: Mapping[str, object] | None = None,
    params: Mapping[str, object] | None = None,
    *,
    cast_params: bool = False,
) -> RunResult:
    """Run a compiled program on arrays. Raises ``RunError`` for everything that is wrong."""
    given = Given(
        bounds=bounds or {},
        inputs=as_sources(inputs or {}),
        params=as_sources(params or {}),
        cast_params=cast_params,
    )
    return run_given(load(directory), given, Settings())


def run_given(loaded: Loaded, given: Given, settings: Settings) -> RunResult:
    """Run a loaded program on what is given. Raises ``RunError``."""
    program = loaded.program
    bindings = bind(program, given)
    layouts = {store.name: layout(store, bindings.bounds) for store in program.stores}
    with backend.session(program.x64):
        kernels = [
            backend.compile_kernel(f, {b: bindings.bounds[b] for b in k.bounds}, k.donated)
            for f, k in zip(loaded.functions, program.kernels, strict=True)
        ]
        traced: list[Any] = list(kernels)
        if settings.trace is not None:
            pairs = zip(program.kernels, kernels, strict=True)
            traced = [settings.trace.wrap(k.name, kernel) for k, kernel in pairs]
        wishes = Wishes(count=settings.watch is not None, account=settings.account)
        placed = place_given(program, bindings, layouts)
        machine = Machine(program, layouts, bindings.bounds, traced, placed, wishes)
        if settings.trace is not None:
            settings.trace.watch_memory(machine.ledger)
        given_bytes = machine.ledger.now
        del placed
        watching = (
            settings.watch(program, bindings.bounds, machine.done)
            if settings.watch is not None
            else nullcontext()
        )
        with watching:
            start = time.perf_counter()
            cells = machine.run()
            seconds = time.perf_counter() - start
        outputs = {
            o.name: collect(o, layouts[o.store], cells[o.store], bindings.bounds)
            for o in program.outputs
        }
    return RunResult(
        outputs=outputs,
        bounds=bindings.bounds,
        seconds=seconds,
        peak_bytes=machine.ledger.peak if settings.account else 0,
        given_bytes=given_bytes,
    )
