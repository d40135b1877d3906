"""The wording of what goes wrong around a run: the system, and tempoc itself."""

from __future__ import annotations

from tempoc.diagnostics.diagnostic import Diagnostic, error
from tempoc.diagnostics.error_row import ErrorRow

system_refuses = ErrorRow("RT901", "{what} cannot be used: {reason}")
out_of_memory = ErrorRow(
    "RT902",
    "there is not enough memory on this machine",
    "smaller bounds need less; tempoc explain --dump-memory shows how much",
)


def bug(exception: BaseException, command_line: str, version: str = "") -> Diagnostic:
    """RT999: an exception that nobody expected."""
    text = str(exception).split("\n")[0]
    return error(
        "RT999",
        f"tempoc itself failed: {type(exception).__name__}" + (f": {text}" if text else ""),
        help="please report it with the program, this command line and the traceback that\n"
        f"`TEMPOC_TRACEBACK=1 {command_line}` shows",
        notes=(f"this is a bug in tempoc{version and ' ' + version}, not in your program",),
    )
