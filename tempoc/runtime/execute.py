"""One run as the command line asks for it: open files, run, deliver results."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Mapping
from contextlib import nullcontext
from pathlib import Path
from types import MappingProxyType

from tempoc.diagnostics.diagnostic import Collector, RunError
from tempoc.runtime.checkpoint.interrupts import suspend_on_interrupt
from tempoc.runtime.checkpoint.suspend import checkpoint_options
from tempoc.runtime.data import files
from tempoc.runtime.data.bindings import Given, bind
from tempoc.runtime.data.dtypes import HostArray
from tempoc.runtime.data.source import TensorSource
from tempoc.runtime.device import backend, small_loops
from tempoc.runtime.forecast.dry_run import Forecast
from tempoc.runtime.host.effects import EffectSink, saves
from tempoc.runtime.load.directory import read_stored
from tempoc.runtime.load.load import load_stored
from tempoc.runtime.messages import run as errors
from tempoc.runtime.messages.units import size_text
from tempoc.runtime.options import RunOptions
from tempoc.runtime.report.memory_plot import MemoryCurve
from tempoc.runtime.report.profile import Trace
from tempoc.runtime.report.progress import progress_bar
from tempoc.runtime.report.streams import streams_kept, write_output
from tempoc.runtime.report.table import lengths_text, outputs_table, table
from tempoc.runtime.run import RunResult, Settings, report_params, run_given

_NAME = re.compile(r"[A-Za-z_]\w*(\.\w+)*", re.ASCII)
"""An input, or a leaf of one that is a record."""


def execute(options: RunOptions) -> tuple[Given, RunResult]:
    """Run and deliver: files, or a table on standard output. Raises ``RunError``."""
    with streams_kept():
        stored = read_stored(options.directory)
    given = open_inputs(options)
    # What lacks is said before modules of the user are imported, which may take seconds.
    if options.resume is None:
        bind(stored.program, given)
    with streams_kept():
        loaded = load_stored(stored, options.extern_path)
    small_loops.compile_whole(loaded.program.tuning.unmarked_loop_bytes)
    check_targets(options, saves(loaded.program.tree))
    report_params(loaded.program, given)
    trace = Trace() if options.profile else None
    curve = MemoryCurve() if options.memory_plot else None
    settings = Settings(
        account=options.counts,
        curve=curve,
        budget=options.memory_budget,
        precision=options.precision,
        trace=trace,
        watch=progress_bar if sys.stderr.isatty() else None,
        show=effect_sink(options),
        record=options.record,
        keep=checkpoint_options(
            options.checkpoint, options.every, options.resume, options.resume_anyway
        ),
    )
    listening = backend.compilations(curve.compiled) if curve else nullcontext()
    with streams_kept(), suspend_on_interrupt(settings.keep), listening:
        result = run_given(loaded, given, settings)
    deliver(options, result.outputs, result.lengths)
    if trace is not None and options.profile is not None:
        files.write_bytes(options.profile, trace.to_json())
    if curve is not None and options.memory_plot is not None:
        peak = result.predicted.peak if result.predicted else 0
        title = f"bytes in stores, {loaded.program.name}"
        files.write_bytes(options.memory_plot, curve.svg(title, peak).encode())
    if options.stats:
        sys.stderr.write(_stats(result, trace))
    if options.memory:
        sys.stderr.write(_memory(result))
    return given, result


def open_inputs(options: RunOptions) -> Given:
    """Open all files; every one that cannot be opened is reported."""
    problems = Collector()
    inputs: dict[str, TensorSource] = {}
    extra: dict[str, None] = {}
    for item in options.input:
        name, equals, path = item.partition("=")
        # A file name may hold `=` too.
        single = bool(equals) and _NAME.fullmatch(name) is not None and not os.path.exists(item)
        sources: Mapping[str, TensorSource] = {}
        with problems.catching():
            sources = {name: files.open_tensor(name, path)} if single else files.open_bundle(item)
        problems.extend(errors.several_sources(n) for n in sources if n in inputs)
        inputs |= sources
        extra |= {} if single else dict.fromkeys(sources)
    params: dict[str, TensorSource] = {}
    for path in options.params:
        tensors: Mapping[str, TensorSource] = {}
        with problems.catching():
            tensors = files.open_weights(path)
        twice = [n for n in tensors if n in params]
        problems.extend(errors.several_files(n, params[n].origin, path) for n in twice[:1])
        params |= tensors
    problems.raise_errors(RunError)
    return Given(
        bounds=options.bounds,
        inputs=inputs,
        params=params,
        params_origin=", ".join(options.params),
        extra=frozenset(extra),
        cast_params=options.cast_params,
        seed=options.seed,
    )


def check_targets(options: RunOptions, saving: bool) -> None:
    """Find out before the run whether its results, and files on the way, can be written."""
    if options.output is not None:
        if Path(options.output).suffix not in files.BUNDLES:
            raise RunError(errors.unknown_suffix(options.output, files.BUNDLES))
        files.check_file(options.output)
    if options.output_dir is not None:
        files.check_writable(options.output_dir, create=True)
    elif saving:
        files.check_writable(".", create=False)
    for path in (options.profile, options.memory_plot):
        if path is not None:
            files.check_file(path)
    places: dict[str, str] = {}
    for flag in ("output", "profile", "memory_plot"):
        path, shown = getattr(options, flag), f"--{flag.replace('_', '-')}"
        place = "" if path is None else os.path.realpath(path)
        # Pipes and devices take several texts.
        if place in places and not (os.path.exists(place) and not os.path.isfile(place)):
            raise RunError(errors.named_twice(places[place], shown, path))
        if place:
            places[place] = shown


def effect_sink(options: RunOptions) -> EffectSink:
    """The sink of printed lines and saved files; it refuses files that other options name."""
    named = (options.output, options.profile, options.memory_plot)
    return EffectSink(options.output_dir or ".", [path for path in named if path is not None])


def deliver(
    options: RunOptions,
    outputs: Mapping[str, HostArray],
    lengths: Mapping[str, int] = MappingProxyType({}),
) -> None:
    """Write the outputs where the options say, or print a table, and what lengths there were."""
    if options.output_dir is not None:
        folder = files.OutputFolder(options.output_dir)
        for name, array in outputs.items():
            folder.write(f"{name}.npy", array)
    if options.output is not None:
        files.write_arrays(options.output, outputs)
    if options.output is None and options.output_dir is None:
        write_output(outputs_table(outputs) + lengths_text(lengths))


def _stats(result: RunResult, trace: Trace | None) -> str:
    rows = [
        ("time", f"{result.seconds:.3f} s"),
        *([("variant", variant_text(result))] if result.variant else []),
        ("inputs and params", size_text(result.given_bytes)),
        ("peak of all stores", size_text(result.peak_bytes)),
        ("predicted peak", size_text(result.predicted.peak if result.predicted else 0)),
        *_transfer_rows(result),
        *((name, str(length)) for name, length in result.lengths.items()),
    ]
    text = table(("run", ""), rows)
    what, totals = ("kernel", trace.totals()) if trace else ("host function", result.hosts)
    if trace or totals:
        calls = [(n, str(c), f"{s:.3f} s") for n, (c, s) in totals.items()]
        text += "\n" + table((what, "calls", "time"), calls)
    return text


def variant_text(result: RunResult) -> str:
    """Which program ran, and what is different about it."""
    return f"{result.variant} ({result.about})"


def _transfer_rows(result: RunResult) -> list[tuple[str, str]]:
    """Rows about offloaded stores: the most bytes on the host, and the bytes copied each way."""
    if not result.away_bytes:
        return []
    return [
        ("most with the host", size_text(result.away_bytes)),
        ("copied to the device", size_text(result.loaded)),
        ("copied to the host", size_text(result.evicted)),
    ]


def _memory(result: RunResult) -> str:
    """Bytes in stores at the peak, as predicted and as measured, by store."""
    known = result.predicted or Forecast(peak=0, stores={}, given=0)
    text = f"variant {variant_text(result)}\n" if result.variant else ""
    total = "peak", known.peak, result.peak_bytes
    text += _compared("bytes in stores", known.stores, result.stores, total)
    if result.away_stores:
        total = "most at a time", known.away, result.away_bytes
        text += "\n" + _compared(
            "bytes with the host", known.away_stores, result.away_stores, total
        )
    return text


def _compared(
    title: str,
    predicted: Mapping[str, int],
    measured: Mapping[str, int],
    total: tuple[str, int, int],
) -> str:
    """A table of bytes by store, with a last row."""
    names = dict.fromkeys((*predicted, *measured))
    rows = [*((n, predicted.get(n, 0), measured.get(n, 0)) for n in names), total]
    texts = [(name, str(before), str(after)) for name, before, after in rows]
    return table((title, "predicted", "measured"), texts)
