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

from tempoc.program.expression_json import INTEGERS, from_json, to_json
from tempoc.program.nodes import nodes as prog, variants as choices
from tempoc.program.nodes.errors import (
    ProgramError,
    bad_fields,
    bad_value,
    broken_seal,
    not_a_program,
    not_json,
    too_deep,
    wrong_version,
)  # fmt: skip
from tempoc.program.nodes.variants import Choices
from tempoc.symbolic.expr import Expr

SEAL = "seal"
"""The entry of a file that tells whether the file is as it was written."""
Decoder = Callable[[object], Any]
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
    program = _decoded(prog.Program, data, "program")
    assert isinstance(program, prog.Program)
    return program


def load_choices(text: str) -> Choices:
    """The choices of a JSON text. Raises ``ProgramError``."""
    decoded = _decoded(Choices, _data(text, "choices", choices.VERSION), "the file")
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


class _BadPart(Exception):
    """A value of another kind; only then is its path put together, on the way out."""

    def __init__(self, problem: Callable[[str], ProgramError]) -> None:
        self.problem, self.path = problem, ""


def _decoded(hint: Any, data: object, path: str) -> Any:
    """The node of JSON data. Raises ``ProgramError``, with a path that begins like this."""
    try:
        return _decoder(hint)(data)
    except _BadPart as bad:
        raise bad.problem(path + bad.path) from None
    except RecursionError:
        raise too_deep(path) from None


@cache
def _decoder(hint: Any) -> Decoder:
    """The decoder of a type hint."""
    if hint in (int, str, bool):
        return _integer if hint is int else _scalar(hint)
    if hint is Expr:
        return _union((hint,))
    if is_dataclass(hint):
        return _node(hint)
    if get_origin(hint) is tuple:
        return _sequence(get_args(hint))
    if get_origin(hint) in (Union, UnionType):
        return _union(get_args(hint))
    raise TypeError(f"no JSON form for {hint!r}")


def _refuse(expected: str, data: object) -> _BadPart:
    return _BadPart(lambda path: bad_value(path, expected, data))


def _scalar(cls: type) -> Decoder:
    def decode(data: object) -> object:
        if type(data) is not cls:
            raise _refuse(_SCALARS[cls], data)
        return data

    return decode


def _integer(data: object) -> int:
    if type(data) is not int:
        raise _refuse(_SCALARS[int], data)
    if not -INTEGERS <= data < INTEGERS:
        raise _refuse("an integer of 64 bits", data)
    return data


def _node(cls: Any) -> Decoder:
    decoders: dict[str, Decoder] = {}

    def decode(data: object) -> object:
        if not isinstance(data, dict):
            raise _refuse(f"an object ({cls.__name__})", data)
        if not decoders:  # late, because statements refer to themselves
            decoders.update({n: _decoder(h) for n, h in get_type_hints(cls).items()})
        values = dict(data)
        values.pop("node", None)
        if values.keys() != decoders.keys():
            missing = [name for name in decoders if name not in values]
            unknown = [name for name in values if name not in decoders]
            raise _BadPart(lambda path: bad_fields(path, missing, unknown))
        name = ""
        try:
            for name, part in decoders.items():
                values[name] = part(values[name])
        except _BadPart as bad:
            bad.path = f".{name}{bad.path}"
            raise
        return cls(**values)

    return decode


def _sequence(items: tuple[Any, ...]) -> Decoder:
    repeated = len(items) == 2 and items[1] is Ellipsis
    decoders: list[Decoder] = []

    def decode(data: object) -> tuple[object, ...]:
        if not isinstance(data, list):
            raise _refuse("a list", data)
        if not decoders:
            decoders.extend(map(_decoder, items[:1] if repeated else items))
        if not repeated and len(items) != len(data):
            raise _refuse(f"a list of {len(items)}", data)
        values: list[object] = []
        try:
            for part, item in zip(
                decoders * len(data) if repeated else decoders, data, strict=True
            ):
                values.append(part(item))
        except _BadPart as bad:
            bad.path = f"[{len(values)}]{bad.path}"
            raise
        return tuple(values)

    return decode


def _union(members: tuple[Any, ...]) -> Decoder:
    tagged = {m.__name__: m for m in members if getattr(m, "__name__", "") in _TAGGED}
    alternatives = ["an expression"] * (Expr in members) + [f"a {name}" for name in tagged]
    optional, expression = NoneType in members, Expr in members

    def decode(data: object) -> object:
        if data is None and optional:
            return None
        tag = data.get("node") if isinstance(data, dict) else None
        if isinstance(tag, str) and tag in tagged:
            return _decoder(tagged[tag])(data)
        try:
            if expression:
                return from_json(data)
        except ValueError:
            pass
        raise _refuse(" or ".join(alternatives), data)

    return decode
