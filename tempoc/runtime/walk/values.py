"""Index expressions as functions of a run's variables: what is constant is computed once."""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from typing import Any

from tempoc.program.nodes.arithmetic import BINARY, Arith, Operation, evaluate

Variables = dict[str, Any]
"""Loop variables by name, and for each bound that ends during the run the table of its lengths."""
Function = Callable[[Variables], int]
RunValue = int | Function
"""A number, or a function of the variables."""
KeyValue = int | tuple[int, ...] | Callable[[Variables], Any]
"""The same of a key: bare where it has one dimension."""

_MANY: Mapping[str, Callable[[int, int], int]] = {
    "+": operator.add, "*": operator.mul, "min": min, "max": max,
}  # fmt: skip


def table(bound: str) -> str:
    """The name among the variables of the table of lengths of a bound."""
    return f"{bound}[]"


@dataclass(frozen=True, slots=True)
class Values:
    """Expressions of a program with these bounds; ``lengths`` are those that end during the run."""

    bounds: Mapping[str, int]
    lengths: frozenset[str] = frozenset()

    def of(self, e: Arith) -> RunValue:
        """The value of an expression."""
        match e:
            case int():
                return e
            case str() if e in self.lengths:
                name = table(e)
                return lambda variables: variables[name][()]
            case str():
                return self.bounds[e] if e in self.bounds else operator.itemgetter(e)
            case Operation(op="+" | "-") if (affine := self.affine(e)) is not None:
                name, offset = affine
                return lambda variables: variables[name] + offset
            case Operation(op="at", args=(str(bound), *point)):
                name, at = table(bound), key_value([self.of(p) for p in point])
                if not callable(at):
                    return lambda variables: variables[name][at]
                return lambda variables: variables[name][at(variables)]
            case _:
                return _operation(e.op, [self.of(a) for a in e.args])

    def affine(self, e: Arith) -> tuple[str, int] | None:
        """The variable and the offset of ``t``, ``t + 1``, ``t - 1``: the usual coordinates."""
        match e:
            case str(name):
                offset = 0
            case Operation(op="+", args=(str(name), int(offset)) | (int(offset), str(name))):
                pass
            case Operation(op="-", args=(str(name), int(less))):
                offset = -less
            case _:
                return None
        return None if name in self.bounds or name in self.lengths else (name, offset)

    def slot(self, e: Arith, modulo: int) -> RunValue:
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

    def all(self, some: Sequence[Arith]) -> list[RunValue]:
        """The values of several expressions."""
        return [self.of(e) for e in some]

    def point(self, some: Sequence[Arith]) -> tuple[int, ...] | Callable[[Variables], Any]:
        """Several values as a tuple."""
        return tuple_value(self.all(some))


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


def _operation(op: str, parts: list[RunValue]) -> RunValue:
    constants = [p for p in parts if isinstance(p, int)]
    # A division by zero is an error only if it is reached.
    undefined = op in ("//", "%") and parts[1] == 0
    if len(constants) == len(parts) and not undefined:
        return evaluate(Operation(op, tuple(constants)), {})
    if op in BINARY:
        return _binary(BINARY[op], *parts)
    if op in _MANY:
        known = [evaluate(Operation(op, tuple(constants)), {})] if constants else []
        unknown = [p for p in parts if callable(p)]
        some: list[RunValue] = [*unknown, *known]
        return reduce(lambda left, right: _binary(_MANY[op], left, right), some)
    functions = [function(p) for p in parts]
    if op == "not":
        return lambda variables: not functions[0](variables)
    last = functions.pop()
    if op == "and":
        return lambda variables: all(f(variables) for f in functions) and last(variables)
    return lambda variables: any(f(variables) for f in functions) or last(variables)


def _binary(apply: Callable[[int, int], int], left: RunValue, right: RunValue) -> RunValue:
    if isinstance(left, int):
        if isinstance(right, int):
            return lambda variables: apply(left, right)
        return lambda variables: apply(left, right(variables))
    if isinstance(right, int):
        return lambda variables: apply(left(variables), right)
    return lambda variables: apply(left(variables), right(variables))
