"""Values of `-D NAME=VALUE`: numbers, `true`, `false`, strings, lists of these, dtypes."""

from __future__ import annotations

import json
import math
from collections.abc import Collection, Iterable, Iterator, Sequence

from tempoc.base.graphs import reachable
from tempoc.diagnostics.source import Span
from tempoc.frontend.environment import values as val
from tempoc.frontend.environment.failure import Failure
from tempoc.frontend.errors import names as name_errors
from tempoc.frontend.syntax import ast, errors as syntax_errors
from tempoc.frontend.syntax.build_expressions import NUMBER
from tempoc.frontend.syntax.casts import extents, type_extents
from tempoc.frontend.syntax.parse import MAX_DEPTH
from tempoc.program.nodes.dtypes import ELEMENTS

_DTYPES = {name: name for name in ast.DTYPES if name != "key"} | {
    element: name for name, element in ELEMENTS.items() if name != "key"
}
"""The dtypes by their names, and by those of NumPy, which configurations have."""


def parse_define(name: str, text: str, old: val.Value, span: Span) -> val.Value:
    """The value that replaces `old`, and is of the same kind. Raises `Failure`."""
    if isinstance(old, val.ConstantText):
        return val.ConstantText(_text(text))
    if isinstance(old, val.Builtin):
        dtype = _DTYPES.get(_text(text))
        if dtype is None:
            raise Failure(name_errors.define_kind(name, text, "a dtype", span))
        return val.Builtin(dtype)
    if text.count("[") > MAX_DEPTH:
        raise Failure(syntax_errors.too_deep(span, MAX_DEPTH))
    try:
        value = _parsed(text)
    except OverflowError:
        raise Failure(syntax_errors.number_too_large(span)) from None
    if (
        isinstance(value, val.ConstantNumber)
        and isinstance(old, val.ConstantNumber)
        and _kind(value) == _kind(old)
    ):
        # A float stays one where it is replaced by `10000`.
        return val.ConstantNumber(float(value.value)) if isinstance(old.value, float) else value
    if isinstance(value, val.Listing) and isinstance(old, val.Listing):
        return value
    raise Failure(name_errors.define_kind(name, text, _kind(old), span))


def check_extent(
    items: Sequence[ast.SyntaxNode], name: ast.Ident, text: str, value: val.Value
) -> None:
    """A number that is no extent of data, or makes none, is refused once, not at each use.

    Raises `Failure`.
    """
    number = value.value if isinstance(value, val.ConstantNumber) else 0
    declared = [i.type for i in items if isinstance(i, ast.InputDecl | ast.ParamDecl)]
    types = [t for t in declared if t is not None]
    is_index = isinstance(number, int) and abs(number) < 1 << 31
    if any(e.name == name.name for t in types for e in extents(t)):
        if not is_index or number < 0:
            expected = "an extent, an integer from 0 to 2**31 - 1"
            raise Failure(name_errors.define_kind(name.name, text, expected, name.span))
    elif not is_index and name.name in _extent_parts(items, types):
        expected = "part of an extent, an integer below 2**31"
        raise Failure(name_errors.define_kind(name.name, text, expected, name.span))


def _extent_parts(
    items: Iterable[ast.SyntaxNode], types: Iterable[ast.TypeExpr]
) -> Collection[str]:
    """The constants of which sums and products make extents, also by way of other constants."""
    constants = {i.name.name: i.value for i in items if isinstance(i, ast.ConstDecl)}
    first = {part for t in types for e in type_extents(t) for part in _terms(e)}
    return reachable(first, lambda n: _terms(constants[n]) if n in constants else ())


def _terms(e: ast.Expression) -> Iterator[str]:
    """The names in sums and products; a quotient may be small where a name is large."""
    match e:
        case ast.Name(name=name):
            yield name
        case ast.Binary(op="+" | "-" | "*", left=left, right=right):
            yield from _terms(left)
            yield from _terms(right)
        case ast.UnaryExpr(op="-", operand=operand):
            yield from _terms(operand)
        case _:
            pass


def _kind(value: val.Value) -> str:
    if isinstance(value, val.ConstantNumber):
        return "a bool (`true` or `false`)" if isinstance(value.value, bool) else "a number"
    return "a list" if isinstance(value, val.Listing) else "a string"


def _text(text: str) -> str:
    """A string as it is, or in quotes."""
    try:
        value = json.loads(text) if text.startswith('"') else text
    except ValueError:
        return text
    return value if isinstance(value, str) else text


def _parsed(text: str) -> val.Value:
    """Raises ``OverflowError`` for a number that is too large."""
    if (number := _number(text)) is not None:
        return val.ConstantNumber(number)
    try:
        return _value(json.loads(text, parse_int=_number, parse_float=_number))
    except ValueError:
        pass
    inner = text[1:-1]
    if text == f"[{inner}]" and not set(inner) & set("[]"):
        return val.Listing(tuple(_parsed(part.strip()) for part in inner.split(",")))
    return val.ConstantText(text)


def _number(text: str) -> int | float | None:
    """A number as the language writes it, with a sign; `None` if it is none."""
    digits = text[1:] if text[:1] in ("+", "-") else text
    if digits in ("inf", "nan"):
        return float(text)
    if not NUMBER.fullmatch(digits):
        return None
    if math.isinf(float(digits)):
        raise OverflowError
    return int(text) if digits.isdigit() else float(text)


def _value(value: object) -> val.Value:
    if isinstance(value, list):
        return val.Listing(tuple(_value(v) for v in value))
    if isinstance(value, (bool, int, float)):
        return val.ConstantNumber(value)
    if isinstance(value, str):
        return val.ConstantText(value)
    raise ValueError(value)
