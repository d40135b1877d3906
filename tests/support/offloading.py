"""Runs of programs whose stores live with the host, beside runs in which they do not."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from tempoc.diagnostics.source import Source
from tempoc.driver.compilation import Compilation
from tempoc.driver.options import Options
from tempoc.frontend.syntax.load_modules import load_source
from tempoc.offload.rewrite import FAR, NEAR, offloadable, offloaded
from tempoc.program.codec import dump, load
from tempoc.program.nodes.nodes import Program
from tempoc.runtime.data.bindings import Given, bind
from tempoc.runtime.data.source import as_sources
from tempoc.runtime.device.stores import given_stores
from tempoc.runtime.forecast.dry_run import forecast
from tempoc.runtime.load.load import LoadedProgram, namespace
from tempoc.runtime.run import RunResult, Settings, run_given
from tests.support.agreement import data

REACHES = (NEAR, 1, FAR)
COUNTED = Settings(account=True)


def loaded(text: str, **how: object) -> tuple[Compilation, LoadedProgram]:
    """A program as it is, all stages verified."""
    options = Options(verify_each=True, **how)  # type: ignore[arg-type]
    compilation = Compilation(load_source(Source("m.rt", text)), options)
    emitted = compilation.emitted
    scope = namespace(emitted.kernels, "kernels.py")
    kernels = tuple(scope[k.name] for k in emitted.program.kernels)
    return compilation, LoadedProgram(program=emitted.program, functions=kernels)


def all_away(program: Program, reach: int) -> Program:
    """All stores that can be are with the host; with reach 1 they are loaded ahead."""
    names = offloadable(program)
    found = offloaded(program, dict.fromkeys(names, reach), names if reach == 1 else ())
    assert load(dump(found)) == found
    return found


def run_alike(
    text: str,
    *sizes: Mapping[str, int],
    reaches: Sequence[int] = REACHES,
    params: Mapping[str, object] | None = None,
    **how: object,
) -> None:
    """Wherever stores live, outputs are the same bit for bit, and bytes as predicted."""
    compilation, plain = loaded(text, **how)
    program = plain.program
    for bounds in sizes:
        inputs = data(compilation.graph, bounds, special=False)
        names = {i.name for i in program.inputs}
        given = Given(
            bounds=bounds,
            inputs=as_sources({n: inputs[n] for n in names}),
            params=as_sources(params or {}),
        )
        # Where a block is one call, XLA may round otherwise than where its calls are counted. So it
        # may in kernels for many lengths, which a program has that ran with other bounds before.
        plain = LoadedProgram(program=program, functions=plain.functions)
        wanted = tuple(run_given(plain, given, how) for how in (COUNTED, Settings()))
        for reach in reaches:
            moving = LoadedProgram(program=all_away(program, reach), functions=plain.functions)
            check_run(moving, given, wanted)


def check_run(
    moving: LoadedProgram, given: Given, wanted: tuple[RunResult, RunResult]
) -> RunResult:
    """A run, counted and not, against others that were; and against what was predicted."""
    counted = run_given(moving, given, COUNTED)
    again = LoadedProgram(program=moving.program, functions=moving.functions)
    for found, other in zip((counted, run_given(again, given, Settings())), wanted, strict=True):
        for name, value in other.outputs.items():
            np.testing.assert_array_equal(found.outputs[name], value, err_msg=name)
    said = counted.predicted
    assert said is not None
    if moving.program.lengths:  # how far a run goes is found out by it
        return counted
    assert (counted.peak_bytes, counted.stores) == (said.peak, said.stores)
    assert (counted.away_bytes, counted.away_stores) == (said.away, said.away_stores)
    bindings = bind(moving.program, given)
    stores = given_stores(moving.program, bindings)
    exact = forecast(moving.program, bindings.bounds, stores, every_step=True)
    assert (counted.loaded, counted.evicted) == (exact.loaded, exact.evicted)
    assert counted.peak_bytes == exact.peak
    return counted
