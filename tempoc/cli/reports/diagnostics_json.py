"""Diagnostics as JSON for tools."""

import json
from collections.abc import Sequence

from tempoc.diagnostics.diagnostic import Diagnostic, Label
from tempoc.driver.report.spans import span_json


def render_json(diagnostics: Sequence[Diagnostic]) -> str:
    """A JSON list of all diagnostics, one object each; lines and columns count from 1."""
    return json.dumps([to_json(d) for d in diagnostics], indent=2) + "\n"


def to_json(diagnostic: Diagnostic) -> dict[str, object]:
    """One diagnostic as plain data."""
    return {
        "code": diagnostic.code,
        "severity": "error",
        "message": diagnostic.message,
        "primary": None if diagnostic.primary is None else _label_json(diagnostic.primary),
        "secondary": [_label_json(label) for label in diagnostic.secondary],
        "notes": list(diagnostic.notes),
        "help": diagnostic.help,
    }


def _label_json(label: Label) -> dict[str, object]:
    span = label.span
    return {**span_json(span), "start": span.start, "end": span.end, "text": label.text}
