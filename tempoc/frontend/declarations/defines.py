"""Values of `-D NAME=VALUE`: numbers, `true`, `false`, strings, lists of these."""

from __future__ import annotations

import json

from tempoc.diagnostics.source import Span
from tempoc.frontend.environment import values as val
from tempoc.frontend.environment.failure import Failure
from tempoc.frontend.errors import names as name_errors


def parse_define(name: str, text: str, old: val.Value, span: Span) -> val.Value:
    """The value that replaces `old`, and is of the same kind. Raises `Failure`."""
    if isinstance(old, val.ConstantText):
        value = _parsed(text)
        return value if isinstance(value, val.ConstantText) else val.ConstantText(text)
    value = _parsed(text)
    numbers = isinstance(value, val.ConstantNumber) and isinstance(old, val.ConstantNumber)
    if numbers and _kind(value) == _kind(old):
        return value
    if isinstance(value, val.Listing) and isinstance(old, val.Listing):
        return value
    raise Failure(name_errors.define_kind(name, text, _kind(old), span))


def _kind(value: val.Value) -> str:
    if isinstance(value, val.ConstantNumber):
        return "a bool (`true` or `false`)" if isinstance(value.value, bool) else "a number"
    return "a list" if isinstance(value, val.Listing) else "a string"


def _parsed(text: str) -> val.Value:
    try:
        return _value(json.loads(text))
    except ValueError:
        pass
    try:
        if "_" not in text:  # Python would take `1_000`, the language does not
            return val.ConstantNumber(float(text))
    except ValueError:
        pass
    inner = text[1:-1]
    if text == f"[{inner}]" and not set(inner) & set("[]"):
        return val.Listing(tuple(_parsed(part.strip()) for part in inner.split(",")))
    return val.ConstantText(text)


def _value(value: object) -> val.Value:
    if isinstance(value, list):
        return val.Listing(tuple(_value(v) for v in value))
    if isinstance(value, (bool, int, float)):
        return val.ConstantNumber(value)
    if isinstance(value, str):
        return val.ConstantText(value)
    raise ValueError(value)
