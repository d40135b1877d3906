"""The command line of compiled programs: ``python out/ --bounds T=64 --input x=x.npy``.

Exit status: 0 fine, 1 what was given is wrong, 2 wrong command line, 130 interrupted.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence

from tempoc.diagnostics.diagnostic import RunError
from tempoc.diagnostics.render import colored, render, render_all
from tempoc.program.nodes.precision import PRECISIONS
from tempoc.runtime.execute import RunOptions, check_every, check_inputs, execute, parse_bounds
from tempoc.runtime.messages import run as errors
from tempoc.runtime.messages.units import parse_seconds, parse_size
from tempoc.runtime.report.streams import abandon_output, is_terminal, prepare_streams

INTERRUPTED = 130


def parser() -> argparse.ArgumentParser:
    """The options of a run; the directory comes from the program itself."""
    p = argparse.ArgumentParser(prog="python DIR", description="Run the compiled program in DIR.")
    add = p.add_argument
    add("directory", help=argparse.SUPPRESS)
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
    add("--memory", action="store_true", help="say what stores took, and what was predicted")
    add("--memory-budget", type=_size, metavar="SIZE", help="refuse a run that takes more: 24GiB")
    add("--memory-plot", metavar="FILE", help="draw the bytes in stores over time (SVG)")
    add("--checkpoint", metavar="DIR", help="write what the run needs to go on into DIR")
    add("--every", type=_seconds, metavar="TIME", help="how often, such as 60s (as it is) or 5min")
    add("--resume", metavar="DIR", help="go on from the checkpoint in DIR")
    add("--precision", choices=PRECISIONS, help="of products of matrices on GPUs and TPUs")
    add("--profile", metavar="FILE", help="write a Chrome trace of all kernel calls")
    add("--extern-path", action="append", default=[], metavar="DIR", help="where to find externs")
    return p


def _size(text: str) -> int:
    size = parse_size(text)
    if size is None:
        raise argparse.ArgumentTypeError(f"'{text}' is no size in bytes, such as 24GiB or 500MB")
    return size


def _seconds(text: str) -> float:
    seconds = parse_seconds(text)
    if seconds is None:
        raise argparse.ArgumentTypeError(f"'{text}' is no time, such as 60s or 5min")
    return seconds


def main(argv: Sequence[str] | None = None) -> int:
    """Run a command line; returns the exit status."""
    prepare_streams()
    p = parser()
    try:
        options = p.parse_args(argv)
        run_options = _run_options(p, options)
    except SystemExit as stop:
        return int(stop.code or 0)
    try:
        execute(run_options)
        return 0
    except RunError as error:
        text = render_all(error.diagnostics)
        sys.stderr.write(colored(text) if is_terminal(sys.stderr) else text)
        return 1
    except BrokenPipeError:
        # The reader of our output went away (`| head`): nothing is wrong.
        abandon_output()
        return 0
    except OSError as error:
        abandon_output()
        problem = errors.unwritable(error.filename or "the output", error.strerror or str(error))
        sys.stderr.write(render(problem))
        return 1
    except KeyboardInterrupt:
        sys.stderr.write("interrupted\n")
        return INTERRUPTED


def _run_options(p: argparse.ArgumentParser, options: argparse.Namespace) -> RunOptions:
    check_inputs(options.input, p.error)
    run_options = RunOptions(
        directory=options.directory,
        bounds=parse_bounds(options.bounds, p.error),
        input=tuple(options.input),
        params=tuple(options.params),
        cast_params=options.cast_params,
        seed=options.seed,
        output_dir=options.output_dir,
        output=options.output,
        stats=options.stats,
        memory=options.memory,
        memory_budget=options.memory_budget,
        memory_plot=options.memory_plot,
        precision=options.precision,
        profile=options.profile,
        extern_path=tuple(options.extern_path),
        checkpoint=options.checkpoint,
        every=options.every,
        resume=options.resume,
    )
    return check_every(run_options, p.error)
