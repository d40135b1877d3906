"""Derivatives of functions of two or three numbers; at ties each operand has half, as in JAX."""

from __future__ import annotations

from tempoc.ops.control.cond import Cond
from tempoc.ops.control.control import Select
from tempoc.ops.definition.operator import Op
from tempoc.ops.gradients.calculus import Calculus, Derivatives, Rules, Term, Terms
from tempoc.ops.tensor import arithmetic as binary, elementwise as unary

RULES = Rules()


@RULES.of(binary.Add)
def add(op: binary.Add, c: Calculus, args: Terms, results: Terms, cots: Terms) -> Derivatives:
    """The cotangent goes to both."""
    return c.fit(cots[0], args[0]), c.fit(cots[0], args[1])


@RULES.of(binary.Subtract)
def subtract(
    op: binary.Subtract, c: Calculus, args: Terms, results: Terms, cots: Terms
) -> Derivatives:
    """The second one is turned around."""
    return c.fit(cots[0], args[0]), c.fit(c.neg(cots[0]), args[1])


@RULES.of(binary.Multiply)
def multiply(
    op: binary.Multiply, c: Calculus, args: Terms, results: Terms, cots: Terms
) -> Derivatives:
    """Each operand times the cotangent is the other's."""
    a, b = args
    (g,) = cots
    return c.fit(c.mul(g, b), a), c.fit(c.mul(g, a), b)


@RULES.of(binary.Divide)
def divide(op: binary.Divide, c: Calculus, args: Terms, results: Terms, cots: Terms) -> Derivatives:
    """The derivative by the divisor reuses the quotient."""
    a, b = args
    part = c.op(binary.Divide(), cots[0], b)
    return c.fit(part, a), c.fit(c.neg(c.mul(part, results[0])), b)


@RULES.of(binary.Remainder)
def remainder(
    op: binary.Remainder, c: Calculus, args: Terms, results: Terms, cots: Terms
) -> Derivatives:
    """`a - b * floor(a / b)`, with the floor as a constant.

    It is found from the result: a quotient may round up to the next whole number.
    """
    a, b = args
    (g,) = cots
    quotient = c.op(unary.RoundToEven(), c.op(binary.Divide(), c.sub(a, results[0]), b))
    return c.fit(g, a), c.fit(c.neg(c.mul(g, quotient)), b)


@RULES.of(binary.Power)
def power(op: binary.Power, c: Calculus, args: Terms, results: Terms, cots: Terms) -> Derivatives:
    """Finite also where the base or the exponent is 0."""
    a, b = args
    (g,) = cots
    return c.fit(c.mul(g, _power_slope(c, a, b)), a), c.fit(_by_exponent(c, a, results[0], g), b)


def _power_slope(c: Calculus, a: Term, b: Term) -> Term:
    dtype = a.type.dtype if a.type.dtype.is_float else b.type.dtype
    if b.number is not None:
        if b.number == 2:
            return c.scale(a, 2.0)
        if b.number in (0, 1):
            return c.number(float(b.number), dtype)
        return c.scale(c.op(binary.Power(), a, c.number(b.number - 1.0, dtype)), float(b.number))
    exponent = c.cast(b, dtype)
    zero = c.op(binary.Equal(), exponent, c.number(0.0, dtype))
    one = c.number(1.0, dtype)
    lower = c.where(zero, one, c.sub(exponent, one))
    return c.masked(zero_not(c, exponent), c.mul(exponent, c.op(binary.Power(), a, lower)))


def zero_not(c: Calculus, x: Term) -> Term:
    """Where the term is not zero."""
    zero = c.number(0.0, x.type.dtype)
    return c.op(binary.Greater(), c.op(binary.Multiply(), x, x), zero)


def _by_exponent(c: Calculus, a: Term, y: Term, g: Term) -> Term:
    base = c.cast(a, y.type.dtype)
    zero = c.op(binary.Equal(), base, c.number(0.0, y.type.dtype))
    safe = c.where(zero, c.number(1.0, y.type.dtype), base)
    return c.mul(g, c.mul(c.op(unary.Log(), safe), y))


@RULES.of(binary.Maximum)
def maximum(
    op: binary.Maximum, c: Calculus, args: Terms, results: Terms, cots: Terms
) -> Derivatives:
    """To the greater one."""
    return _winner(c, args[0], args[1], cots[0], binary.Greater(), binary.Less())


@RULES.of(binary.Minimum)
def minimum(
    op: binary.Minimum, c: Calculus, args: Terms, results: Terms, cots: Terms
) -> Derivatives:
    """To the smaller one."""
    return _winner(c, args[0], args[1], cots[0], binary.Less(), binary.Greater())


def _winner(c: Calculus, a: Term, b: Term, g: Term, wins: Op, loses: Op) -> Derivatives:
    tie = c.masked(c.op(binary.Equal(), a, b), c.scale(g, 0.5))
    first, second = c.op(wins, a, b), c.op(loses, a, b)
    return c.fit(c.where(first, g, tie), a), c.fit(c.where(second, g, tie), b)


@RULES.of(binary.Clip)
def clip(op: binary.Clip, c: Calculus, args: Terms, results: Terms, cots: Terms) -> Derivatives:
    """`minimum(maximum(x, low), high)`."""
    x, low, high = args
    inner = c.op(binary.Maximum(), x, low)
    of_inner, of_high = _winner(c, inner, high, cots[0], binary.Less(), binary.Greater())
    if of_inner is None:
        return None, None, of_high
    of_x, of_low = _winner(c, x, low, of_inner, binary.Greater(), binary.Less())
    return of_x, of_low, of_high


@RULES.of(Select)
def select(op: Select, c: Calculus, args: Terms, results: Terms, cots: Terms) -> Derivatives:
    """To the operand that was chosen."""
    condition, a, b = args
    (g,) = cots
    zero = c.number(0.0, g.type.dtype)
    return None, c.fit(c.where(condition, g, zero), a), c.fit(c.where(condition, zero, g), b)


@RULES.of(Cond)
def cond(op: Cond, c: Calculus, args: Terms, results: Terms, cots: Terms) -> Derivatives:
    """To the branch taken; the other one gets zeros."""
    condition, a, b = args
    zeros = c.number(0.0, cots[0].type.dtype, cots[0].shape)
    first = c.op(Cond(), condition, cots[0], zeros)
    second = c.op(Cond(), condition, zeros, cots[0])
    return None, c.fit(first, a), c.fit(second, b)
