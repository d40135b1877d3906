"""The command line of compiled programs: ``python out/ --bounds T=64 --input x=x.npy``.

Exit status: 0 fine, 1 what was given is wrong, 2 wrong command line, 70 a bug, 130 interrupted.
"""

from __future__ import annotations

import argparse
import os
import shlex
import sys
import traceback
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Any

from tempoc.diagnostics.diagnostic import Diagnostic, RunError
from tempoc.diagnostics.render import colored, render_all
from tempoc.runtime.execute import execute
from tempoc.runtime.messages import failures
from tempoc.runtime.options import DECLARED, RunOption, run_options
from tempoc.runtime.report.streams import abandon_output, is_terminal, prepare_streams

WRONG_PROGRAM, BUG, INTERRUPTED = 1, 70, 130


def parser() -> argparse.ArgumentParser:
    """The options of a run; the directory comes from the program itself."""
    p = argparse.ArgumentParser(prog="python DIR", description="Run the compiled program in DIR.")
    p.add_argument("directory", help=argparse.SUPPRESS)
    for name, (option, default) in DECLARED.items():
        more: dict[str, Any] = {"action": "store_true"}
        if option.metavar:
            kind = _converter(option) if option.parse else str
            more = {"metavar": option.metavar, "default": default, "type": kind}
            more |= {"choices": option.choices} if option.choices else {}
            more |= {"action": "append", "default": []} if option.many else {}
        p.add_argument(f"--{name.replace('_', '-')}", help=option.help, **more)
    return p


def _converter(option: RunOption) -> Callable[[str], object]:
    def convert(text: str) -> object:
        if option.parse and (value := option.parse(text)) is not None:
            return value
        raise argparse.ArgumentTypeError(f"'{text}' is no {option.what}")

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
    return reported(lambda: execute(options))


def reported(run: Callable[[], object]) -> int:
    """The exit status of a run, whose errors are reported: `tempoc run` has the same ones."""
    try:
        run()
        sys.stdout.flush()
        return 0
    except RunError as error:
        _show(*error.diagnostics)
        return WRONG_PROGRAM
    except BrokenPipeError:
        # The reader of our output went away (`| head`): nothing is wrong.
        abandon_output()
        return 0
    except OSError as error:
        abandon_output()
        _show(failures.system_refuses(error.filename or "the output", error.strerror or str(error)))
        return WRONG_PROGRAM
    except SystemExit as stop:
        # A signal handler of the program's Python: there are no results.
        abandon_output()
        return stop.code if isinstance(stop.code, int) and stop.code else WRONG_PROGRAM
    except KeyboardInterrupt:
        sys.stderr.write("interrupted\n")
        return INTERRUPTED
    except MemoryError:
        _show(failures.out_of_memory())
        return WRONG_PROGRAM
    except Exception as error:
        command = shlex.join(["python", *sys.argv])
        _show(failures.bug(error, command))
        if os.environ.get("TEMPOC_TRACEBACK"):
            traceback.print_exception(error)
        return BUG


def _show(*diagnostics: Diagnostic) -> None:
    text = render_all(diagnostics)
    with suppress(OSError):  # nobody may be listening
        sys.stderr.write(colored(text) if is_terminal(sys.stderr) else text)
        sys.stderr.flush()
