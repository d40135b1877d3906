"""The wording of what can go wrong about variants of a program, and about choices among them."""

from __future__ import annotations

from collections.abc import Sequence

from tempoc.diagnostics.diagnostic import Diagnostic, error
from tempoc.diagnostics.error_row import ErrorRow

damaged_choices = ErrorRow(
    "RT506",
    "{path} is damaged or of another version: {reason}",
    "remove its folder: no run needs it, and --tune makes a new one",
)
other_interface = ErrorRow(
    "RT507",
    "{name} is no variant of this program: it has other {part}",
    "compile the program again",
)


def not_measured(externs: Sequence[str]) -> Diagnostic:
    """A run that calls Python functions of the user's is not to be repeated."""
    return error(
        "RT590",
        f"this run cannot be repeated to measure it: it calls {', '.join(externs)}",
        help="run without --tune, or make them extern jax if they are pure",
        notes=("each measurement would call host functions again, with all that they do",),
    )
