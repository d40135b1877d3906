"""The JSON form of programs, strict: a missing or unknown field is an error.

Nodes are objects with a field for each field of the dataclass; members of a union carry their class
name as ``"node"``. Expressions have the form of ``expression_json.py``. The schema is read off the
dataclasses, so the two cannot differ.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import fields, is_dataclass
from functools import cache
from hashlib import sha256
from types import NoneType, UnionType
from typing import Any, Union, get_args, get_origin, get_type_hints

from tempoc.program.expression_json import from_json, to_json
from tempoc.program.nodes import nodes as prog, variants as choices
from tempoc.program.nodes.errors import (
    bad_fields,
    bad_value,
    broken_seal,
    not_a_program,
    not_json,
    wrong_version,
)  # fmt: skip
from tempoc.program.nodes.variants import Choices
from tempoc.symbolic.expr import Expr

SEAL = "seal"
"""The entry of a file that tells whether the file is as it was written."""
Decoder = Callable[[object, str], Any]
_SCALARS = {int: "an integer", str: "a string", bool: "true or false"}


def dump(node: prog.Program | Choices) -> str:
    """A program, or choices, as JSON text, sealed; equal nodes give equal text."""
    data = _encode(node)
    assert isinstance(data, dict)
    return sealed(data)


def sealed(data: dict[str, object]) -> str:
    """The JSON text of an object with a seal: the SHA-256 of the text with an empty seal.

    What was changed by hand or by accident is not executed.
    """
    text = _text(data | {SEAL: ""}, "\n") + "\n"
    return _with_seal(text, "", _sum(text))


def _sum(text: str) -> str:
    return sha256(text.encode()).hexdigest()


def _with_seal(text: str, seal: str, other: str) -> str:
    """The text with another seal, which is its last entry."""
    before, entry, after = text.rpartition(f'"{SEAL}": "{seal}"')
    return f'{before}"{SEAL}": "{other}"{after}' if entry else text


def load(text: str) -> prog.Program:
    """The program of a JSON text. Raises ``ProgramError``."""
    data = _data(text, "kernels", prog.VERSION)
    program = _decoder(prog.Program)(data, "program")
    assert isinstance(program, prog.Program)
    return program


def load_choices(text: str) -> Choices:
    """The choices of a JSON text. Raises ``ProgramError``."""
    decoded = _decoder(Choices)(_data(text, "choices", choices.VERSION), "the file")
    assert isinstance(decoded, Choices)
    return decoded


def _data(text: str, field: str, version: int) -> dict[str, object]:
    """The object in a JSON text, if it has the field and the version. Raises ``ProgramError``."""
    try:
        data = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise not_json(str(error)) from None
    if not isinstance(data, dict) or "version" not in data or field not in data:
        raise not_a_program()
    if data["version"] != version:
        raise wrong_version(data["version"], version)
    seal = data.pop(SEAL, "")
    if seal != _sum(_with_seal(text, str(seal), "")):
        raise broken_seal()
    return data


def _encode(value: object) -> object:
    if isinstance(value, Expr):
        return to_json(value)
    if is_dataclass(value):
        cls: Any = type(value)
        tag = {"node": cls.__name__} if cls.__name__ in _TAGGED else {}
        return tag | {name: _encode(getattr(value, name)) for name in _names(cls)}
    if isinstance(value, tuple):
        return [_encode(item) for item in value]
    return value


@cache
def _names(cls: Any) -> tuple[str, ...]:
    return tuple(field.name for field in fields(cls))


def _text(data: object, line: str) -> str:
    """Data in the layout of ``json.dumps(data, indent=1)``, which takes three times as long."""
    inner = line + " "
    if isinstance(data, list) and data:
        return f"[{inner}{f',{inner}'.join([_text(item, inner) for item in data])}{line}]"
    if isinstance(data, dict) and data:
        items = [f"{_SPELLED(key)}: {_text(item, inner)}" for key, item in data.items()]
        return f"{{{inner}{f',{inner}'.join(items)}{line}}}"
    return _SPELLED(data)


_SPELLED = json.JSONEncoder().encode
_TAGGED = {cls.__name__ for cls in (*get_args(prog.ProgramStatement), prog.OutputSpan)}


@cache
def _decoder(hint: Any) -> Decoder:
    """The decoder of a type hint."""
    if hint in (int, str, bool):
        return _scalar(hint)
    if hint is Expr:
        return _union((hint,))
    if is_dataclass(hint):
        return _node(hint)
    if get_origin(hint) is tuple:
        return _sequence(get_args(hint))
    if get_origin(hint) in (Union, UnionType):
        return _union(get_args(hint))
    raise TypeError(f"no JSON form for {hint!r}")


def _scalar(cls: type) -> Decoder:
    def decode(data: object, path: str) -> object:
        if type(data) is not cls:
            raise bad_value(path, _SCALARS[cls], data)
        return data

    return decode


def _node(cls: Any) -> Decoder:
    def decode(data: object, path: str) -> object:
        if not isinstance(data, dict):
            raise bad_value(path, f"an object ({cls.__name__})", data)
        hints = _hints(cls)
        values = {key: value for key, value in data.items() if key != "node"}
        missing = [name for name in hints if name not in values]
        unknown = [name for name in values if name not in hints]
        if missing or unknown:
            raise bad_fields(path, missing, unknown)
        return cls(**{n: _decoder(h)(values[n], f"{path}.{n}") for n, h in hints.items()})

    return decode


@cache
def _hints(cls: Any) -> dict[str, Any]:
    """The fields of a class and their types; resolved late, because Statement refers to itself."""
    return get_type_hints(cls)


def _sequence(items: tuple[Any, ...]) -> Decoder:
    repeated = len(items) == 2 and items[1] is Ellipsis

    def decode(data: object, path: str) -> tuple[object, ...]:
        if not isinstance(data, list):
            raise bad_value(path, "a list", data)
        hints = (items[0],) * len(data) if repeated else items
        if len(hints) != len(data):
            raise bad_value(path, f"a list of {len(hints)}", data)
        pairs = enumerate(zip(hints, data, strict=True))
        return tuple(_decoder(hint)(item, f"{path}[{i}]") for i, (hint, item) in pairs)

    return decode


def _union(members: tuple[Any, ...]) -> Decoder:
    tagged = {m.__name__: m for m in members if getattr(m, "__name__", "") in _TAGGED}
    alternatives = ["an expression"] * (Expr in members) + [f"a {name}" for name in tagged]

    def decode(data: object, path: str) -> object:
        if data is None and NoneType in members:
            return None
        tag = data.get("node") if isinstance(data, dict) else None
        if isinstance(tag, str) and tag in tagged:
            return _decoder(tagged[tag])(data, path)
        try:
            return from_json(data) if Expr in members else _refuse(data)
        except ValueError:
            raise bad_value(path, " or ".join(alternatives), data) from None

    return decode


def _refuse(data: object) -> Expr:
    raise ValueError(repr(data))
