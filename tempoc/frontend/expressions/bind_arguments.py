"""Binds arguments to parameters, for builtins and for `def`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from tempoc.diagnostics.source import Span
from tempoc.frontend.environment import values as val
from tempoc.frontend.environment.failure import Failure, StillUnknown
from tempoc.frontend.environment.round import Arguments
from tempoc.frontend.environment.scope import nearest
from tempoc.frontend.errors import types as type_errors
from tempoc.frontend.expressions import index_expressions as indices
from tempoc.ops.definition.types import DType
from tempoc.symbolic.domain import Universe
from tempoc.symbolic.expr import Expr


@dataclass(frozen=True, slots=True)
class BoundArguments:
    """The arguments of a call by parameter; `rest` are those of `*`."""

    values: dict[str, val.Value]
    places: dict[str, Span]
    rest: tuple[val.Value, ...]
    span: Span
    universe: Universe

    def has(self, name: str) -> bool:
        """Whether an argument was given."""
        return name in self.values

    def __getitem__(self, name: str) -> val.Value:
        return self.values[name]

    def integer(self, name: str, default: int, what: str = "") -> int:
        """A compile-time integer. Raises `Failure` or `StillUnknown`."""
        if name not in self.values:
            return default
        return self._integer(name, self.values[name], what or f"`{name}`")

    def axis(self, name: str = "axis") -> int | None:
        """A compile-time integer, if one is given. Raises `Failure` or `StillUnknown`."""
        return self.integer(name, 0) if name in self.values else None

    def axes(self, name: str = "axis") -> tuple[int, ...] | None:
        """A compile-time integer or a list of them, if given. Raises `Failure`."""
        if name not in self.values:
            return None
        value = self.values[name]
        items = value.items if isinstance(value, val.Listing) else (value,)
        return tuple(self._integer(name, v, f"`{name}`") for v in items)

    def _integer(self, name: str, value: val.Value, what: str) -> int:
        return indices.integer(self.universe, value, self.places[name], what)

    def flag(self, name: str) -> bool:
        """A compile-time bool, false if it is not given. Raises `Failure` or `StillUnknown`."""
        value = self.values.get(name, val.ConstantNumber(False))
        if isinstance(value, val.Unknown):
            raise StillUnknown(value)
        if isinstance(value, val.ConstantNumber) and isinstance(value.value, bool):
            return value.value
        raise Failure(
            type_errors.needs_kind(self.places[name], f"`{name}`", "`true` or `false`", value)
        )

    def text(self, name: str, default: str) -> str:
        """A string. Raises `Failure` or `StillUnknown`."""
        value = self.values.get(name, val.ConstantText(default))
        if isinstance(value, val.Unknown):
            raise StillUnknown(value)
        if not isinstance(value, val.ConstantText):
            raise Failure(type_errors.needs_kind(self.places[name], f"`{name}`", "a string", value))
        return value.value

    def extent(self, name: str) -> Expr:
        """An extent. Raises `Failure` or `StillUnknown`."""
        return indices.extent(self.values[name], self.places[name], f"`{name}`")

    def shape(self, name: str = "shape") -> tuple[Expr, ...]:
        """A list of extents, or one. Raises `Failure` or `StillUnknown`."""
        value = self.values[name]
        items = value.items if isinstance(value, val.Listing) else (value,)
        return tuple(indices.extent(v, self.places[name]) for v in items)

    def dtype(self, default: DType) -> DType:
        """`dtype =`, given as a dtype's name. Raises `Failure`."""
        value = self.values.get("dtype")
        if value is None:
            return default
        if isinstance(value, val.Builtin) and value.name in DType._value2member_map_:
            return DType(value.name)
        name = self.span.text.split("(")[0]
        raise Failure(type_errors.needs_dtype(self.places["dtype"], name, value))


def bind(
    name: str,
    signature: Sequence[str],
    arguments: Arguments,
    span: Span,
    shown: str,
    universe: Universe,
) -> BoundArguments:
    """Match arguments with parameters (`x`, `axis=`, `*`). Raises `Failure`."""
    parameters = [p.rstrip("=") for p in signature if p != "*"]
    given = len(arguments.positional)
    if given > len(parameters) and "*" not in signature:
        expected = (
            str(len(parameters))
            if not any("=" in p for p in signature)
            else (f"at most {len(parameters)}")
        )
        raise Failure(type_errors.wrong_count(span, name, expected, given))
    values = dict(zip(parameters, arguments.positional, strict=False))
    places = dict(zip(parameters, arguments.spans, strict=False))
    for (key, value), place in zip(arguments.keyword, arguments.keyword_spans, strict=True):
        if key not in parameters:
            close = nearest(key, iter(parameters))
            raise Failure(type_errors.unknown_argument(place, name, key, close, shown))
        if key in values:
            raise Failure(type_errors.argument_twice(place, name, key))
        values[key], places[key] = value, place
    for p in signature:
        if p != "*" and not p.endswith("=") and p not in values:
            raise Failure(type_errors.missing_argument(span, name, p, shown))
    return BoundArguments(values, places, arguments.positional[len(parameters) :], span, universe)
