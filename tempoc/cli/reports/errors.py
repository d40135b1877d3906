"""What goes wrong around the compiler: command lines and checks."""

from collections.abc import Sequence

from tempoc.diagnostics.diagnostic import Diagnostic, error


def wrong_command_line(message: str, help_command: str) -> Diagnostic:
    """RT900: options or arguments that a command does not take."""
    return error("RT900", message, help=f"{help_command} lists what it takes")


def outputs_differ(lines: Sequence[str]) -> Diagnostic:
    """RT910: a run disagrees with the reference evaluator."""
    return error(
        "RT910",
        "the run differs from the reference evaluator",
        help="rounding that adds up looks like this; so does a bug in tempoc: try -O0",
        notes=tuple(lines),
    )
