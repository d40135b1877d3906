"""Records of arguments and results: nested dicts for user functions, flat lists elsewhere."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from tempoc.program.nodes.functions import ArrayType
from tempoc.runtime.messages import run as errors


class TreeMismatch(Exception):
    """The result, or part of one, of this name is no tree of the form that was promised."""

    def __init__(self, name: str, why: str) -> None:
        super().__init__(name, why)
        self.name = name
        self.why = why


def heads(types: Sequence[ArrayType]) -> list[str]:
    """The names of arguments or results, each once."""
    return list(dict.fromkeys(t.name.partition(".")[0] for t in types))


def packed(types: Sequence[ArrayType], values: Sequence[Any]) -> list[Any]:
    """Arguments as the function takes them."""
    root: dict[str, Any] = {}
    for type_, value in zip(types, values, strict=True):
        *outer, last = type_.name.split(".")
        record = root
        for name in outer:
            record = record.setdefault(name, {})
        record[last] = value
    return list(root.values())


def unpacked(types: Sequence[ArrayType], values: Sequence[Any]) -> list[Any]:
    """Results as the program takes them. Raises `TreeMismatch`."""
    root = dict(zip(heads(types), values, strict=True))
    fields: dict[str, dict[str, None]] = {}
    for type_ in types:
        path = type_.name.split(".")
        for k in range(1, len(path)):
            fields.setdefault(".".join(path[:k]), {})[path[k]] = None
    leaves = []
    for type_ in types:
        path = type_.name.split(".")
        value: Any = root[path[0]]
        for k in range(1, len(path)):
            above = ".".join(path[:k])
            value = _fields(above, value, list(fields[above]))[path[k]]
        leaves.append(value)
    return leaves


def _fields(name: str, value: Any, expected: Sequence[str]) -> Mapping[str, Any]:
    if not isinstance(value, Mapping):
        kind = type(value).__name__
        raise TreeMismatch(name, f"is {kind}, expected a dict with {errors.listed(expected)}")
    if sorted(map(str, value)) != sorted(expected):
        has = errors.listed([str(k) for k in value]) or "nothing"
        raise TreeMismatch(name, f"is a dict with {has}, expected {errors.listed(expected)}")
    return value
