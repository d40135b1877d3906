"""The command line of compiled programs: ``python out/ --bounds T=64 --input x=x.npy``.

Exit status: 0 fine, 1 what was given is wrong, 2 wrong command line, 130 interrupted.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence
from pathlib import Path

from tempoc.runtime import errors
from tempoc.runtime.bindings import Given
from tempoc.runtime.files import (
    BUNDLES,
    check_writable,
    open_bundle,
    open_tensor,
    write_array,
    write_arrays,
    write_bytes,
)  # fmt: skip
from tempoc.runtime.load import load
from tempoc.runtime.problems import Problem, RunError, render_all
from tempoc.runtime.progress import progress_bar
from tempoc.runtime.run import RunResult, Settings, run_given
from tempoc.runtime.source import Source
from tempoc.runtime.table import bytes_text, outputs_table, table
from tempoc.runtime.trace import Trace

INTERRUPTED = 130


def parser() -> argparse.ArgumentParser:
    """The options of a run. ``tempoc run`` passes its own command line through."""
    p = argparse.ArgumentParser(prog="tempoc run", description="Run a compiled program.")
    add = p.add_argument
    add("directory", help="what tempoc compile wrote")
    add("--bounds", action="append", default=[], metavar="T=64,B=2", help="values of bounds")
    add(
        "--input", action="append", default=[], metavar="x=FILE",
        help="data of an input (.npy, .npz, .safetensors), or a file that holds several by name",
    )  # fmt: skip
    add("--params", action="append", default=[], metavar="FILE", help="weights by name")
    add("--cast-params", action="store_true", help="convert params even where values may change")
    add("--seed", type=int, default=0, metavar="N", help="seed of the random numbers")
    add("--output-dir", metavar="DIR", help="write each output to DIR/NAME.npy")
    add("--output", metavar="FILE", help="write all outputs to one .npz or .safetensors file")
    add("--stats", action="store_true", help="say on standard error what the run took")
    add("--profile", metavar="FILE", help="write a Chrome trace of all kernel calls")
    add("--extern-path", action="append", default=[], metavar="DIR", help="where to find externs")
    return p


def main(argv: Sequence[str] | None = None) -> int:
    """Run a command line; returns the exit status."""
    p = parser()
    try:
        options = p.parse_args(argv)
        bounds = _bounds(p, options.bounds)
    except SystemExit as stop:
        return int(stop.code or 0)
    try:
        return _run(options, bounds)
    except RunError as error:
        color = sys.stderr.isatty() and "NO_COLOR" not in os.environ
        sys.stderr.write(render_all(error.problems, color=color))
        return 1
    except KeyboardInterrupt:
        sys.stderr.write("interrupted\n")
        return INTERRUPTED


def _bounds(p: argparse.ArgumentParser, items: Sequence[str]) -> dict[str, str]:
    found: dict[str, str] = {}
    for pair in (pair for item in items for pair in item.split(",")):
        name, equals, value = (part.strip() for part in pair.partition("="))
        if not equals or not name or not value:
            p.error(f"--bounds wants NAME=VALUE, not '{pair.strip()}'")
        if found.get(name, value) != value:
            p.error(f"--bounds gives {name} twice: {found[name]} and {value}")
        found[name] = value
    return found


def _run(options: argparse.Namespace, bounds: dict[str, str]) -> int:
    loaded = load(options.directory)
    given = _given(options, bounds)
    _check_targets(options)
    trace = Trace() if options.profile else None
    settings = Settings(
        account=options.stats or options.profile is not None,
        trace=trace,
        watch=progress_bar if sys.stderr.isatty() else None,
    )
    result = run_given(loaded, given, settings)
    _deliver(options, result)
    if trace is not None:
        write_bytes(options.profile, trace.to_json())
    if options.stats:
        sys.stderr.write(_stats(result, trace))
    return 0


def _given(options: argparse.Namespace, bounds: dict[str, str]) -> Given:
    """Open all files; every one that cannot be opened is reported."""
    problems: list[Problem] = []
    inputs: dict[str, Source] = {}
    extra: dict[str, None] = {}
    for item in options.input:
        name, equals, path = item.partition("=")
        # A file name may hold `=` too; the name of an input may not hold a dot or a slash.
        single = bool(equals) and name.isidentifier()
        try:
            found = {name: open_tensor(name, path)} if single else open_bundle(item)
        except RunError as error:
            problems += error.problems
            continue
        problems += [errors.several_sources(n) for n in found if n in inputs]
        inputs |= found
        extra |= {} if single else dict.fromkeys(found)
    params: dict[str, Source] = {}
    for path in options.params:
        try:
            params |= open_bundle(path)
        except RunError as error:
            problems += error.problems
    if problems:
        raise RunError(*problems)
    return Given(
        bounds=bounds,
        inputs=inputs,
        params=params,
        params_origin=", ".join(options.params),
        extra=frozenset(extra),
        cast_params=options.cast_params,
    )


def _check_targets(options: argparse.Namespace) -> None:
    """Find out before the run whether its results can be written."""
    if options.output is not None:
        if Path(options.output).suffix not in BUNDLES:
            raise RunError(errors.unknown_suffix(options.output, BUNDLES))
        check_writable(Path(options.output).parent, create=False)
    if options.output_dir is not None:
        check_writable(options.output_dir, create=True)
    if options.profile is not None:
        check_writable(Path(options.profile).parent, create=False)


def _deliver(options: argparse.Namespace, result: RunResult) -> None:
    if options.output_dir is not None:
        for name, array in result.outputs.items():
            write_array(Path(options.output_dir) / f"{name}.npy", array)
    if options.output is not None:
        write_arrays(options.output, result.outputs)
    if options.output is None and options.output_dir is None:
        sys.stdout.write(outputs_table(result.outputs))


def _stats(result: RunResult, trace: Trace | None) -> str:
    rows = [
        ("time", f"{result.seconds:.3f} s"),
        ("inputs and params", bytes_text(result.given_bytes)),
        ("peak of all stores", bytes_text(result.peak_bytes)),
    ]
    text = table(("run", ""), rows)
    if trace is not None:
        kernels = [(n, str(c), f"{s:.3f} s") for n, (c, s) in trace.totals().items()]
        text += "\n" + table(("kernel", "calls", "time"), kernels)
    return text
