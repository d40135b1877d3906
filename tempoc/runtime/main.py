"""The command line of compiled programs: ``python out/ --bounds T=64 --input x=x.npy``.

Exit status: 0 fine, 1 what was given is wrong, 2 wrong command line, 130 interrupted.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Sequence
from typing import Any

from tempoc.diagnostics.diagnostic import RunError
from tempoc.diagnostics.render import colored, render, render_all
from tempoc.runtime.execute import execute
from tempoc.runtime.messages import run as errors
from tempoc.runtime.options import DECLARED, RunOption, run_options
from tempoc.runtime.report.streams import abandon_output, is_terminal, prepare_streams

INTERRUPTED = 130


def parser() -> argparse.ArgumentParser:
    """The options of a run; the directory comes from the program itself."""
    p = argparse.ArgumentParser(prog="python DIR", description="Run the compiled program in DIR.")
    p.add_argument("directory", help=argparse.SUPPRESS)
    for name, (option, default) in DECLARED.items():
        more: dict[str, Any] = {"action": "store_true"}
        if option.metavar:
            kind = _converter(option) if option.parse else str if option.span is None else int
            more = {"metavar": option.metavar, "default": default, "type": kind}
            more |= {"choices": option.choices} if option.choices else {}
            more |= {"action": "append", "default": []} if option.many else {}
        p.add_argument(f"--{name.replace('_', '-')}", help=option.help, **more)
    return p


def _converter(option: RunOption) -> Callable[[str], object]:
    def convert(text: str) -> object:
        assert option.parse is not None
        value = option.parse(text)
        if value is None:
            raise argparse.ArgumentTypeError(f"'{text}' is no {option.what}")
        return value

    return convert


def main(argv: Sequence[str] | None = None) -> int:
    """Run a command line; returns the exit status."""
    prepare_streams()
    p = parser()
    try:
        given = vars(p.parse_args(argv))
        options = run_options(given.pop("directory"), given, p.error)
    except SystemExit as stop:
        return int(stop.code or 0)
    try:
        execute(options)
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
