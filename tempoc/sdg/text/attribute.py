"""Parses attributes of operators by the declared types of their fields."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from dataclasses import dataclass
from types import NoneType, UnionType
from typing import Literal, Union, get_args, get_origin

from tempoc.ops.definition.operator import Op
from tempoc.ops.definition.types import DType
from tempoc.symbolic import expr as ix
from tempoc.symbolic.parse import parse as parse_entry

Attribute = None | bool | int | float | str | DType | ix.Entry | Op | tuple["Attribute", ...]

_INT = re.compile(r"-?\d+")
_FLOAT = re.compile(r"-?(\d+(\.\d+)?([eE][+-]?\d+)?|inf|nan)")


@dataclass(frozen=True, slots=True)
class AttributePart:
    """The text of a value, its members if it is a tuple, itself if it is an operator."""

    text: str
    members: tuple[AttributePart, ...] | None = None
    op: Op | None = None


def read_attribute(part: AttributePart, hint: object) -> Attribute:
    """The value of a text. Raises ``ValueError`` if it is no value of the type.

    Of a union the first type that fits, in the order bool, int, float, none, dtype, string, tuple,
    index expression. As an index expression a number is a ``Const``.
    """
    options = get_args(hint) if get_origin(hint) in (Union, UnionType) else (hint,)
    for option in sorted(options, key=_rank):
        try:
            return _read(part, option)
        except ValueError:
            continue
    words = getattr(hint, "__name__", None) or str(hint).replace("typing.", "")
    raise ValueError(f"`{part.text}` is no {words}")


def _rank(option: object) -> int:
    order = [bool, int, float, NoneType, DType, str]
    if option in order:
        return order.index(option)
    return len(order) + (get_origin(option) is not tuple)


def _read(part: AttributePart, option: object) -> Attribute:
    if get_origin(option) is tuple:
        return _tuple(part, get_args(option))
    if get_origin(option) is Literal:
        value: Attribute = json.loads(part.text)
        if value in get_args(option):
            return value
        raise ValueError(part.text)
    if option is Op:
        if part.op is None:
            raise ValueError(part.text)
        return part.op
    if isinstance(option, type) and issubclass(option, ix.Expr | ix.Slice):
        entry = parse_entry(part.text)
        if isinstance(entry, option):
            return entry
        raise ValueError(part.text)
    reader = _READERS.get(option)
    if reader is None:
        raise ValueError(part.text)
    result: Attribute = reader(part.text)
    return result


def _tuple(part: AttributePart, hints: tuple[object, ...]) -> tuple[Attribute, ...]:
    if part.members is None:
        raise ValueError(part.text)
    if len(hints) == 2 and hints[1] is ...:
        return tuple(read_attribute(m, hints[0]) for m in part.members)
    if len(hints) != len(part.members):
        raise ValueError(part.text)
    return tuple(read_attribute(m, h) for m, h in zip(part.members, hints, strict=True))


def _bool(text: str) -> bool:
    if text not in ("true", "false"):
        raise ValueError(text)
    return text == "true"


def _none(text: str) -> None:
    if text != "none":
        raise ValueError(text)


def _int(text: str) -> int:
    if not _INT.fullmatch(text):
        raise ValueError(text)
    return int(text)


def _float(text: str) -> float:
    if not _FLOAT.fullmatch(text):
        raise ValueError(text)
    return float(text)


def _str(text: str) -> str:
    value = json.loads(text)
    if not isinstance(value, str):
        raise ValueError(text)
    return value


_READERS: dict[object, Callable[[str], Attribute]] = {
    bool: _bool,
    int: _int,
    float: _float,
    NoneType: _none,
    DType: DType,
    str: _str,
}
