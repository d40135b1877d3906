"""Constructs of the language that this version parses but does not compile."""

from __future__ import annotations

from tempoc.base.diagnostics import Diagnostic, Label
from tempoc.base.source import Span

CODES = {
    "until": "RT254",
}
_NAMES = {
    "until": "dynamic termination (`until`)",
}


def not_supported(span: Span, construct: str, shown: str = "") -> Diagnostic:
    """The construct is known and refused."""
    name = _NAMES.get(construct, f"`{shown or construct}`")
    return Diagnostic(
        code=CODES[construct],
        message=f"{name} is not supported by this version of tempoc yet",
        primary=Label(span),
    )
