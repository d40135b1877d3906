"""`tempoc`: the command group and what happens to errors.

Exit status: 0 fine, 1 the program or its data is wrong, 2 wrong command line, 3 a check failed,
70 a bug in tempoc, 130 interrupted.
"""

import importlib
import os
import sys
from collections.abc import Sequence
from contextlib import suppress
from typing import Any, cast

import click

from tempoc import __version__
from tempoc.cli.importing import importing
from tempoc.cli.reports import diagnostics
from tempoc.cli.reports.terminal import echo
from tempoc.diagnostics.diagnostic import DiagnosticError
from tempoc.files.interrupts import INTERRUPTED, end_when_asked
from tempoc.runtime.messages.failures import out_of_memory
from tempoc.runtime.report.streams import abandon_output, prepare_streams

COMMANDS = {
    "compile": "Compile a program into a directory that runs without tempoc.",
    "run": "Run a compiled program (or compile and run a .rt file).",
    "check": "Check a program: syntax, names, types, domains, every access.",
    "eval": "Evaluate a program with the reference evaluator (NumPy, point by point).",
    "explain": "Show what the compiler makes of a program, stage by stage.",
    "fmt": "Format programs in the canonical style.",
    "opt": "Read a graph in text form, run passes on it, print it.",
    "help": "Print a page of the manual, or the list of its pages.",
}


class OutputGoneError(Exception):
    """The reader of our output went away. No ``OSError``, to which click answers with status 1."""


class LazyGroup(click.Group):
    """A group whose commands are imported when they are called."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """The commands in the order in which a newcomer needs them."""
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Import `tempoc.cli.commands.<name>` and return its `command`."""
        if cmd_name not in COMMANDS:
            return None
        name = f"tempoc.cli.commands.{cmd_name}"
        if name not in sys.modules:
            with importing(cmd_name):
                importlib.import_module(name)
        return cast(click.Command, sys.modules[name].command)

    def make_context(self, *args: Any, **extra: Any) -> click.Context:
        """Read the options; `--help` is printed here. Raises ``OutputGoneError``."""
        try:
            return super().make_context(*args, **extra)
        except BrokenPipeError:
            raise OutputGoneError from None

    def invoke(self, ctx: click.Context) -> object:
        """Run the command. Raises ``OutputGoneError``."""
        try:
            return super().invoke(ctx)
        except BrokenPipeError:
            raise OutputGoneError from None

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """List the commands without importing them."""
        with formatter.section("Commands"):
            formatter.write_dl(list(COMMANDS.items()))


@click.group(cls=LazyGroup, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="tempoc")
def cli() -> None:
    """A compiler for dynamic deep learning: recurrence equations in, fast JAX programs out."""


def main(argv: Sequence[str] | None = None) -> None:
    """The console script: run, report errors, exit."""
    prepare_streams()
    # Who is asked to stop leaves no temporary files either.
    end_when_asked()
    code = status(sys.argv[1:] if argv is None else argv)
    if code == INTERRUPTED:
        # Threads of a library may compile still, and abort while Python takes itself down.
        for stream in (sys.stdout, sys.stderr):
            with suppress(OSError, ValueError):
                stream.flush()
        os._exit(code)
    sys.exit(code)


def status(argv: Sequence[str]) -> int:
    """Run a command line and return its exit status."""
    try:
        result = cli.main(args=list(argv), prog_name="tempoc", standalone_mode=False)
        if not sys.stdout.closed:
            sys.stdout.flush()
        return result if isinstance(result, int) else 0
    except click.exceptions.Exit as stop:
        return stop.exit_code
    except click.ClickException as error:
        return diagnostics.report_usage(error, argv)
    except (click.Abort, KeyboardInterrupt):
        # click turns an interrupt into the former after ending the line.
        echo("interrupted", err=True)
        return diagnostics.INTERRUPTED
    except diagnostics.CheckFailed as error:
        diagnostics.report_diagnostics(error.diagnostics, argv)
        return diagnostics.CHECK_FAILED
    except DiagnosticError as error:
        return diagnostics.report_diagnostics(error.diagnostics, argv)
    except (BrokenPipeError, OutputGoneError):
        # The reader of our output went away (`| head`): nothing is wrong.
        abandon_output()
        return 0
    except SystemExit as stop:
        abandon_output()
        if "_TEMPOC_COMPLETE" in os.environ:  # a shell asked click for completions
            return int(stop.code or 0)
        # A signal handler of the program's Python: there are no results.
        return stop.code if isinstance(stop.code, int) and stop.code else diagnostics.WRONG_PROGRAM
    except MemoryError:
        return diagnostics.report_diagnostics([out_of_memory()], argv)
    except OSError as error:
        abandon_output()
        return diagnostics.report_system(error, argv)
    except Exception as error:
        known = diagnostics.report_library(error, argv)
        return diagnostics.report_bug(error, argv) if known is None else known
