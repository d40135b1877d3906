"""Index expressions as functions of a run's variables: what is constant is computed once."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from tempoc.symbolic import expr as ix
from tempoc.symbolic.walk import compiled, replace_parts

Variables = dict[str, Any]
"""Loop variables by name, and for each bound that ends during the run the table of its lengths."""
Function = Callable[[Variables], int]
RunValue = int | Function
"""A number, or a function of the variables."""
KeyValue = int | tuple[int, ...] | Callable[[Variables], Any]
"""The same of a key: bare where it has one dimension."""


@dataclass(frozen=True)
class Values:
    """Expressions of a program with these bounds; ``lengths`` are those that end during the run."""

    bounds: Mapping[str, int]
    lengths: frozenset[str] = frozenset()

    @cached_property
    def _known(self) -> dict[ix.Expr, ix.Expr]:
        """What names stand for that are no loop variables."""
        known: dict[ix.Expr, ix.Expr] = {
            ix.Sym(name): ix.Const(value) for name, value in self.bounds.items()
        }
        return known | {ix.Sym(name): ix.LengthAt(name, ()) for name in self.lengths}

    def settled(self, e: ix.Expr) -> ix.Expr:
        """The expression over loop variables and lengths alone."""
        return replace_parts(e, self._known)

    def of(self, e: ix.Expr) -> RunValue:
        """The value of an expression."""
        match self.settled(e):
            case ix.Const(value=value) | ix.Truth(value=value):
                return int(value)
            case settled:
                return compiled(settled)

    def affine(self, e: ix.Expr) -> tuple[str, int] | None:
        """The variable and the offset of ``t``, ``t + 1``, ``t - 1``: the usual coordinates."""
        match self.settled(e):
            case ix.Sym(name=name):
                return name, 0
            case ix.IndexSum(terms=((1, ix.Sym(name=name)),), const=offset):
                return name, offset
            case _:
                return None

    def slot(self, e: ix.Expr, modulo: int) -> RunValue:
        """A part of a key as the slot of its cell; a ``modulo`` of 0 leaves it as it is."""
        if modulo == 1:
            return 0
        value, affine = self.of(e), self.affine(e)
        if not callable(value):
            return value % modulo if modulo else value
        if modulo and affine is not None:
            name, offset = affine
            return lambda variables: (variables[name] + offset) % modulo
        return (lambda variables: value(variables) % modulo) if modulo else value

    def all(self, some: Sequence[ix.Expr]) -> list[RunValue]:
        """The values of several expressions."""
        return [self.of(e) for e in some]

    def point(self, some: Sequence[ix.Expr]) -> tuple[int, ...] | Callable[[Variables], Any]:
        """Several values as a tuple."""
        return tuple_value(self.all(some))


ValueRange = tuple[int, int]
"""The least and the greatest value."""


def value_range(e: ix.Expr, variables: Mapping[str, ValueRange]) -> ValueRange | None:
    """Interval arithmetic: between which values an expression is; ``None`` if that is not known."""
    match e:
        case ix.Const(value=value):
            return value, value
        case ix.Sym(name=name):
            return variables.get(name)
        case ix.IndexSum(terms=terms, const=const):
            low = high = const
            for factor, x in terms:
                if (part := value_range(x, variables)) is None:
                    return None
                ends = sorted((factor * part[0], factor * part[1]))
                low, high = low + ends[0], high + ends[1]
            return low, high
        case ix.FloorDiv(arg=x, divisor=k):
            part = value_range(x, variables)
            return part and (part[0] // k, part[1] // k)
        case ix.Mod(divisor=k):
            return 0, k - 1
        case ix.IndexMin(args=args) | ix.IndexMax(args=args):
            parts = [part for x in args if (part := value_range(x, variables)) is not None]
            pick = min if isinstance(e, ix.IndexMin) else max
            known = len(parts) == len(args)
            return (pick(p[0] for p in parts), pick(p[1] for p in parts)) if known else None
        case _:
            return None


def function(value: RunValue) -> Function:
    """The value as a function, also where it is constant."""
    return value if callable(value) else lambda variables: value


def tuple_value(parts: Sequence[RunValue]) -> tuple[int, ...] | Callable[[Variables], Any]:
    """Several values as a tuple."""
    if not any(map(callable, parts)):
        return tuple(p for p in parts if isinstance(p, int))
    functions = [function(p) for p in parts]
    if len(functions) == 1:
        only = functions[0]
        return lambda variables: (only(variables),)
    if len(functions) == 2:
        first, second = functions
        return lambda variables: (first(variables), second(variables))
    return lambda variables: tuple([f(variables) for f in functions])


def key_value(parts: Sequence[RunValue]) -> KeyValue:
    """Several values as a key: bare where there is one."""
    return parts[0] if len(parts) == 1 else tuple_value(parts)
