"""Derivatives of functions of one number. Conventions at kinks are those of JAX."""

from __future__ import annotations

import math
from collections.abc import Callable

from tempoc.ops.control.control import Copy
from tempoc.ops.definition.operator import Op
from tempoc.ops.gradients.calculus import Calculus, DerivativeRule, Derivatives, Rules, Term, Terms
from tempoc.ops.tensor import arithmetic as binary, elementwise as unary

Slope = Callable[[Calculus, Term, Term, Term], Term]
"""The operand's cotangent from the operand, the result and the result's cotangent."""


def _one(c: Calculus, like: Term) -> Term:
    return c.number(1.0, like.type.dtype)


def _abs(c: Calculus, x: Term, y: Term, g: Term) -> Term:
    return c.where(c.op(binary.GreaterEqual(), x, c.number(0.0, x.type.dtype)), g, c.neg(g))


def _tanh(c: Calculus, x: Term, y: Term, g: Term) -> Term:
    return c.mul(g, c.sub(_one(c, y), c.mul(y, y)))


def _tan(c: Calculus, x: Term, y: Term, g: Term) -> Term:
    return c.mul(g, c.add(_one(c, y), c.mul(y, y)))


def _sigmoid(c: Calculus, x: Term, y: Term, g: Term) -> Term:
    return c.mul(g, c.mul(y, c.sub(_one(c, y), y)))


def _silu(c: Calculus, x: Term, y: Term, g: Term) -> Term:
    s = c.op(unary.Sigmoid(), x)
    inner = c.add(_one(c, s), c.mul(x, c.sub(_one(c, s), s)))
    return c.mul(g, c.mul(s, inner))


def _erf(sign: float) -> Slope:
    def slope(c: Calculus, x: Term, y: Term, g: Term) -> Term:
        bell = c.op(unary.Exp(), c.neg(c.mul(x, x)))
        return c.mul(g, c.scale(bell, sign * 2.0 / math.sqrt(math.pi)))

    return slope


def _gelu(c: Calculus, x: Term, y: Term, g: Term) -> Term:
    below = c.scale(c.op(unary.Erfc(), c.scale(x, -math.sqrt(0.5))), 0.5)
    bell = c.scale(c.op(unary.Exp(), c.scale(c.mul(x, x), -0.5)), 1.0 / math.sqrt(2.0 * math.pi))
    return c.mul(g, c.add(below, c.mul(x, bell)))


def _relu(c: Calculus, x: Term, y: Term, g: Term) -> Term:
    return c.masked(c.op(binary.Greater(), x, c.number(0.0, x.type.dtype)), g)


def _rsqrt(c: Calculus, x: Term, y: Term, g: Term) -> Term:
    return c.mul(g, c.scale(c.div(y, x), -0.5))


def _log1p(c: Calculus, x: Term, y: Term, g: Term) -> Term:
    return c.div(g, c.add(_one(c, x), x))


SLOPES: dict[type[Op], Slope] = {
    unary.Negative: lambda c, x, y, g: c.neg(g),
    unary.Abs: _abs,
    unary.Relu: _relu,
    unary.Exp: lambda c, x, y, g: c.mul(g, y),
    unary.Exp2: lambda c, x, y, g: c.mul(g, c.scale(y, math.log(2.0))),
    unary.Log: lambda c, x, y, g: c.div(g, x),
    unary.Log1p: _log1p,
    unary.Expm1: lambda c, x, y, g: c.mul(
        g, c.op(unary.Exp(), x)
    ),  # y + 1 is 0 where y rounds to -1
    unary.Sqrt: lambda c, x, y, g: c.mul(g, c.div(c.number(0.5, y.type.dtype), y)),
    unary.Rsqrt: _rsqrt,
    unary.Sin: lambda c, x, y, g: c.mul(g, c.op(unary.Cos(), x)),
    unary.Cos: lambda c, x, y, g: c.neg(c.mul(g, c.op(unary.Sin(), x))),
    unary.Tan: _tan,
    unary.Tanh: _tanh,
    unary.Sigmoid: _sigmoid,
    unary.Silu: _silu,
    unary.Erf: _erf(1.0),
    unary.Erfc: _erf(-1.0),
    unary.Gelu: _gelu,
    unary.Softplus: lambda c, x, y, g: c.mul(g, c.op(unary.Sigmoid(), x)),
    unary.Cast: lambda c, x, y, g: g,
    Copy: lambda c, x, y, g: g,
}


def _rule(slope: Slope) -> DerivativeRule:
    def rule(op: Op, c: Calculus, args: Terms, results: Terms, cots: Terms) -> Derivatives:
        return (c.fit(slope(c, args[0], results[0], cots[0]), args[0]),)

    return rule


RULES = Rules({operator: _rule(slope) for operator, slope in SLOPES.items()})
