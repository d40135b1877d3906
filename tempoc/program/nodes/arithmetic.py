"""Integer expressions that are evaluated at run time: literals, names and operators.

Grammar::

    Arith     = int | name | Operation(op, args)
    op        = + * min max and or        any number of arguments (min, max: at least one)
              | - // % < <= > >= == !=    two arguments
              | not                       one argument
              | at                        a bound, then the point whose length is meant

A name is a bound or a loop variable. Conditions are 0 or 1; ``and`` of nothing is true, ``or`` of
nothing is false. JSON form: an integer, a string, or ``[op, argument, ...]``.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import reduce
from typing import TypeAlias


@dataclass(frozen=True, slots=True)
class Operation:
    """``op`` applied to ``args``."""

    op: str
    args: tuple[Arith, ...]


Arith: TypeAlias = int | str | Operation

TRUE = Operation("and", ())
FALSE = Operation("or", ())

BINARY: dict[str, Callable[[int, int], int]] = {
    "-": operator.sub, "//": operator.floordiv, "%": operator.mod, "<": operator.lt,
    "<=": operator.le, ">": operator.gt, ">=": operator.ge, "==": operator.eq, "!=": operator.ne,
}  # fmt: skip
MANY = ("+", "*", "min", "max", "and", "or")
# How tightly an operator binds in Python and in the source language alike.
_LEVEL = {
    "or": 0, "and": 1, "not": 2, "<": 3, "<=": 3, ">": 3, ">=": 3, "==": 3, "!=": 3,
    "+": 4, "-": 4, "*": 5, "//": 5, "%": 5, "min": 9, "max": 9, "at": 9,
}  # fmt: skip


def is_well_formed(e: Arith) -> bool:
    """Whether all operators are known and have as many arguments as they take."""
    if not isinstance(e, Operation):
        return (isinstance(e, str) and e.isidentifier()) or type(e) is int
    if e.op in BINARY:
        fits = len(e.args) == 2
    elif e.op in ("min", "max"):
        fits = len(e.args) >= 1
    else:
        fits = e.op in MANY or (e.op == "not" and len(e.args) == 1)
        fits = fits or (e.op == "at" and len(e.args) > 1 and isinstance(e.args[0], str))
    return fits and all(is_well_formed(a) for a in e.args)


def names(e: Arith) -> tuple[str, ...]:
    """The names that occur, each once, in order of first occurrence."""
    match e:
        case str():
            return (e,)
        case Operation(args=args):
            return tuple(dict.fromkeys(n for a in args for n in names(a)))
        case _:
            return ()


def at_point(bound: str, point: tuple[int, ...]) -> str:
    """The name of a length at a point: ``T[3]``."""
    return f"{bound}[{', '.join(map(str, point))}]" if point else bound


def evaluate(e: Arith, env: Mapping[str, int]) -> int:
    """The value. ``KeyError`` for a name without one, ``ZeroDivisionError`` as in Python.

    A length that has no value at a point (`at_point`) is that of its bound.
    """
    if isinstance(e, int):
        return e
    if isinstance(e, str):
        return env[e]
    if e.op == "and":
        return int(all(evaluate(a, env) for a in e.args))
    if e.op == "or":
        return int(any(evaluate(a, env) for a in e.args))
    if e.op == "at":
        bound, *point = e.args
        name = at_point(str(bound), tuple(evaluate(p, env) for p in point))
        return env[name] if name in env else evaluate(bound, env)
    return int(_apply(e.op, [evaluate(a, env) for a in e.args]))


def _apply(op: str, args: list[int]) -> int:
    if op in BINARY:
        return BINARY[op](*args)
    match op:
        case "+":
            return sum(args)
        case "*":
            return reduce(operator.mul, args, 1)
        case "min":
            return min(args)
        case "max":
            return max(args)
        case "not":
            return not args[0]
    raise ValueError(f"no operator {op!r}")


def text(e: Arith, rename: Mapping[str, str] | None = None) -> str:
    """The expression as a person would write it, which is also Python.

    ``rename`` replaces names, for generated code; ``T[]`` is the table of the lengths of ``T``.
    """
    return _text(e, rename or {}, 0)


def _text(e: Arith, rename: Mapping[str, str], level: int) -> str:
    match e:
        case int():
            return str(e) if e >= 0 or level < 5 else f"({e})"
        case str():
            return rename.get(e, e)
        case Operation(op=op, args=args):
            inner = _operation(op, args, rename)
            return f"({inner})" if _LEVEL[op] < level and args else inner


def _operation(op: str, args: tuple[Arith, ...], rename: Mapping[str, str]) -> str:
    level = _LEVEL[op]
    if not args:
        return {"and": "True", "or": "False", "+": "0", "*": "1"}[op]
    if len(args) == 1 and op not in ("not", "at"):
        return _text(args[0], rename, level)
    if op in ("min", "max"):
        return f"{op}({', '.join(_text(a, rename, 0) for a in args)})"
    if op == "at":
        bound = rename.get(f"{args[0]}[]", str(args[0]))
        return f"{bound}[{', '.join(_text(a, rename, 0) for a in args[1:])}]"
    if op == "not":
        return f"not {_text(args[0], rename, level + 1)}"
    if op == "+":
        return _sum(args, rename)
    # The right operand of `-`, `//`, `%` and a comparison needs brackets at the same level.
    parts = [_text(a, rename, level + (1 if i or level == 3 else 0)) for i, a in enumerate(args)]
    return f" {op} ".join(parts)


def _sum(args: tuple[Arith, ...], rename: Mapping[str, str]) -> str:
    """A sum in which negative terms are subtracted."""
    result = _text(args[0], rename, _LEVEL["+"])
    for arg in args[1:]:
        match arg:
            case int() if arg < 0:
                sign, term = "-", str(-arg)
            case Operation(op="*", args=(int(k), *operands)) if k < 0 and operands:
                factors = tuple(operands) if k == -1 else (-k, *operands)
                sign, term = "-", _text(Operation("*", factors), rename, _LEVEL["*"])
            case _:
                sign, term = "+", _text(arg, rename, _LEVEL["*"])
        result += f" {sign} {term}"
    return result


def compile_arith(e: Arith, parameters: tuple[str, ...]) -> Callable[..., int]:
    """A Python function of ``parameters`` (positional) with the expression as its value.

    ``ValueError`` unless the expression is well formed and names nothing else: only checked nodes
    become code.
    """
    if not is_well_formed(e) or not set(names(e)) <= set(parameters):
        raise ValueError(f"not an expression over {parameters}: {e!r}")
    rename = {name: f"p{i}" for i, name in enumerate(parameters)}
    source = f"lambda {', '.join(rename.values())}: {text(e, rename)}"
    function: Callable[..., int] = eval(source, {"min": min, "max": max, "__builtins__": {}})
    return function


def to_json(e: Arith) -> object:
    """The JSON form."""
    return [e.op, *map(to_json, e.args)] if isinstance(e, Operation) else e


def from_json(data: object) -> Arith:
    """The expression of a JSON form. ``ValueError`` if it is none."""
    match data:
        case bool():
            pass
        case int() | str():
            if is_well_formed(data):
                return data
        case [str(op), *args]:
            operation = Operation(op, tuple(from_json(a) for a in args))
            if is_well_formed(operation):
                return operation
    raise ValueError(f"not an expression: {data!r}")
