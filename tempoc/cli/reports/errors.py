"""What goes wrong around the compiler: command lines and checks."""

from collections.abc import Sequence

from tempoc.diagnostics.diagnostic import Diagnostic, error
from tempoc.diagnostics.error_row import ErrorRow


def wrong_command_line(message: str, help_command: str) -> Diagnostic:
    """RT900: options or arguments that a command does not take."""
    return error("RT900", message, help=f"{help_command} lists what it takes")


missing_file = ErrorRow(
    "RT508",
    "{path} is missing, which the compiler wrote",
    "put it back, or compile the program again",
)
unmet_requirement = ErrorRow("RT904", "tempoc cannot run: {sentence}", "{install}")


library_fails = ErrorRow(
    "RT903",
    "a library that tempoc needs cannot be used: {reason}",
    "install it (pip installs it with tempoc), or undo what the environment sets for it",
)


def outputs_differ(lines: Sequence[str]) -> Diagnostic:
    """RT910: a run disagrees with the reference evaluator."""
    return error(
        "RT910",
        "the run differs from the reference evaluator",
        help="rounding that adds up looks like this, and goes away with f64 in place of f32; so "
        "does a bug in tempoc, which stays",
        notes=tuple(lines),
    )
