"""Arithmetic of programs as formulas, and what is known of bounds: facts for comparing sizes."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property

from tempoc.program.nodes.arithmetic import Arith, Operation, names
from tempoc.program.nodes.nodes import Loop, Program
from tempoc.symbolic.expr import (
    FALSE,
    TRUE,
    Const,
    Expr,
    Sym,
    add,
    compare,
    conjunction,
    disjunction,
    floordiv,
    interval,
    maximum,
    minimum,
    mod,
    negation,
    product,
    sub,
)
from tempoc.symbolic.walk import substitute, symbols

_MANY: Mapping[str, Callable[..., Expr]] = {
    "+": add, "min": minimum, "max": maximum, "and": conjunction, "or": disjunction,
    "not": negation, "-": sub,
}  # fmt: skip
_COMPARISONS = ("<", "<=", ">", ">=", "==", "!=")


@dataclass(frozen=True)
class BoundFacts:
    """What a program says about its bounds.

    Constants have their values. A length that the run finds out is as long as it may be.
    """

    program: Program

    @cached_property
    def constants(self) -> dict[str, Expr]:
        """Names that stand for something else: constants, and the largest of lengths."""
        bounds = self.program.bounds
        constants: dict[str, Expr] = {
            b.name: Const(b.value) for b in bounds if type(b.value) is int
        }
        return constants | {n.largest: Sym(n.bound) for n in self.program.lengths}

    @cached_property
    def derived(self) -> dict[str, Expr]:
        """Bounds that follow from others, as formulas of those that are given."""
        derived: dict[str, Expr] = {}
        for b in self.program.bounds:
            if b.value is not None and b.name not in self.constants:
                value = self.expr(b.value)
                if value is not None:
                    derived[b.name] = value
        for _ in derived:
            derived = {name: substitute(e, derived) for name, e in derived.items()}
        return derived

    @property
    def free(self) -> tuple[str, ...]:
        """The bounds that a run is given."""
        return tuple(b.name for b in self.program.bounds if b.value is None)

    def expr(self, e: Arith, values: Mapping[str, Expr | None] | None = None) -> Expr | None:
        """The formula; ``None`` where it names a variable without a value."""
        values = values or {}
        match e:
            case int():
                return Const(e)
            case str():
                if e in values:
                    return values[e]
                return self.constants.get(e, Sym(e))
            case Operation(op="at", args=(bound, *_)):
                return self.expr(bound, values)
            case Operation(op=op, args=args):
                operands = [self.expr(a, values) for a in args]
                known = [a for a in operands if a is not None]
                return apply_operator(op, known) if len(known) == len(operands) else None

    def size(self, e: Arith) -> Expr:
        """The formula of a size: over bounds alone."""
        formula = self.expr(e)
        assert formula is not None, e
        return formula

    def decided(self, condition: Arith, values: Mapping[str, Expr | None]) -> bool | None:
        """Whether a condition holds, whatever the bounds are; ``None`` if that depends."""
        if isinstance(condition, Operation) and condition.op in ("and", "or"):
            parts = [self.decided(a, values) for a in condition.args]
            absorbing = condition.op == "or"
            if absorbing in parts:
                return absorbing
            return None if None in parts else not absorbing
        lengths = {n.bound for n in self.program.lengths}
        if lengths & {*names(condition)}:  # the run finds out
            return None
        formula = self.expr(condition, values)
        if formula is None:
            return None
        formula = self.least(formula)
        return True if formula == TRUE else False if formula == FALSE else None

    def least(self, e: Expr) -> Expr:
        """The same in symbols that count from 0: bounds are at least 1."""
        e = substitute(e, self.derived)
        given = {name: Sym(name) + 1 for name in self.free if name in symbols(e)}
        return substitute(e, given)

    def at_least(self, e: Expr, low: int) -> bool:
        """Whether a formula has at least that value for all bounds."""
        smallest = interval(self.least(e))[0]
        return smallest is not None and smallest >= low

    def covers(self, loop: Loop, bound: str) -> bool:
        """Whether a loop takes all values from 0 up to a bound."""
        up = loop.step > 0
        lower, upper = (loop.lower, loop.upper) if up else (loop.upper, loop.lower)
        low, high = self.expr(lower), self.expr(upper)
        if abs(loop.step) != 1 or loop.limit is not None or low is None or high is None:
            return False
        size = self.constants.get(bound, Sym(bound))
        below = self.at_least(sub(Const(0 if up else -1), low), 0)
        return below and self.at_least(sub(high, size) if up else sub(high + 1, size), 0)


def apply_operator(op: str, args: list[Expr]) -> Expr:
    """The formula for an operator of run-time arithmetic."""
    if op == "*":
        return product(args)
    if op in _MANY:
        return _MANY[op](*args)
    left, right = args
    if op in _COMPARISONS:
        return compare(op, left, right)  # type: ignore[arg-type]
    assert isinstance(right, Const), op
    return floordiv(left, right.value) if op == "//" else mod(left, right.value)
