"""Values of `-D NAME=VALUE`: numbers, `true`, `false`, strings, lists of these."""

from __future__ import annotations

import json

from tempoc.diagnostics.source import Span
from tempoc.frontend.environment.failure import Failure
from tempoc.frontend.environment.values import ConstantNumber, ConstantText, Listing, Value
from tempoc.frontend.errors import names as name_errors


def parse_define(name: str, text: str, old: Value, span: Span) -> Value:
    """The value that replaces `old`, and is of the same kind. Raises `Failure`."""
    if isinstance(old, ConstantText):
        value = _parsed(text)
        return value if isinstance(value, ConstantText) else ConstantText(text)
    value = _parsed(text)
    numbers = isinstance(value, ConstantNumber) and isinstance(old, ConstantNumber)
    if numbers and _kind(value) == _kind(old):
        return value
    if isinstance(value, Listing) and isinstance(old, Listing):
        return value
    raise Failure(name_errors.define_kind(name, text, _kind(old), span))


def _kind(value: Value) -> str:
    if isinstance(value, ConstantNumber):
        return "a bool (`true` or `false`)" if isinstance(value.value, bool) else "a number"
    return "a list" if isinstance(value, Listing) else "a string"


def _parsed(text: str) -> Value:
    try:
        return _value(json.loads(text))
    except ValueError:
        pass
    try:
        if "_" not in text:  # Python would take `1_000`, the language does not
            return ConstantNumber(float(text))
    except ValueError:
        pass
    inner = text[1:-1]
    if text == f"[{inner}]" and not set(inner) & set("[]"):
        return Listing(tuple(_parsed(part.strip()) for part in inner.split(",")))
    return ConstantText(text)


def _value(value: object) -> Value:
    if isinstance(value, list):
        return Listing(tuple(_value(v) for v in value))
    if isinstance(value, (bool, int, float)):
        return ConstantNumber(value)
    if isinstance(value, str):
        return ConstantText(value)
    raise ValueError(value)
