"""What goes wrong around the compiler: command lines, the system, checks, and tempoc itself."""

from collections.abc import Sequence

from tempoc import __version__
from tempoc.diagnostics.diagnostic import Diagnostic, error
from tempoc.diagnostics.error_row import ErrorRow


def wrong_command_line(message: str, help_command: str) -> Diagnostic:
    """RT900: options or arguments that a command does not take."""
    return error("RT900", message, help=f"{help_command} lists what it takes")


system_refuses = ErrorRow("RT901", "{what} cannot be used: {reason}")
missing_file = ErrorRow(
    "RT508",
    "{path} is missing, which the compiler wrote",
    "put it back, or compile the program again",
)
out_of_memory = ErrorRow(
    "RT902",
    "there is not enough memory on this machine",
    "smaller bounds need less; tempoc explain --dump-memory shows how much",
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
        help="rounding that adds up looks like this; so does a bug in tempoc: try -O0",
        notes=tuple(lines),
    )


def bug(exception: BaseException, command_line: str) -> Diagnostic:
    """RT999: an exception that nobody expected."""
    text = str(exception).split("\n")[0]
    return error(
        "RT999",
        f"tempoc itself failed: {type(exception).__name__}" + (f": {text}" if text else ""),
        help="please report it with the program, this command line and the traceback that\n"
        f"`TEMPOC_TRACEBACK=1 {command_line}` shows",
        notes=(f"this is a bug in tempoc {__version__}, not in your program",),
    )
