"""The wording of what can go wrong about variants of a program, and about choices among them."""

from __future__ import annotations

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
