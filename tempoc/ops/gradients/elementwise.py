"""Derivatives of functions of one number. Conventions at kinks are those of JAX."""

from __future__ import annotations

import math
from collections.abc import Callable

from tempoc.ops.definition.operator import Op
from tempoc.ops.gradients.calculus import Calculus, Term
from tempoc.ops.tensor.arithmetic import Greater, GreaterEqual
from tempoc.ops.tensor.elementwise import Cos, Erfc, Exp, Sigmoid, Sin

Slope = Callable[[Calculus, Term, Term, Term], Term]
"""The operand's cotangent from the operand, the result and the result's cotangent."""


def unary(slope: Slope) -> Callable[..., tuple[Term | None, ...]]:
    """The rule of an operator with one operand."""

    def rule(
        op: Op,
        c: Calculus,
        args: tuple[Term, ...],
        results: tuple[Term, ...],
        cots: tuple[Term, ...],
    ) -> tuple[Term | None, ...]:
        return (c.fit(slope(c, args[0], results[0], cots[0]), args[0]),)

    return rule


def _one(c: Calculus, like: Term) -> Term:
    return c.number(1.0, like.type.dtype)


def _abs(c: Calculus, x: Term, y: Term, g: Term) -> Term:
    return c.where(c.op(GreaterEqual(), x, c.number(0.0, x.type.dtype)), g, c.neg(g))


def _tanh(c: Calculus, x: Term, y: Term, g: Term) -> Term:
    return c.mul(g, c.sub(_one(c, y), c.mul(y, y)))


def _tan(c: Calculus, x: Term, y: Term, g: Term) -> Term:
    return c.mul(g, c.add(_one(c, y), c.mul(y, y)))


def _sigmoid(c: Calculus, x: Term, y: Term, g: Term) -> Term:
    return c.mul(g, c.mul(y, c.sub(_one(c, y), y)))


def _silu(c: Calculus, x: Term, y: Term, g: Term) -> Term:
    s = c.op(Sigmoid(), x)
    inner = c.add(_one(c, s), c.mul(x, c.sub(_one(c, s), s)))
    return c.mul(g, c.mul(s, inner))


def _erf(sign: float) -> Slope:
    def slope(c: Calculus, x: Term, y: Term, g: Term) -> Term:
        bell = c.op(Exp(), c.neg(c.mul(x, x)))
        return c.mul(g, c.scale(bell, sign * 2.0 / math.sqrt(math.pi)))

    return slope


def _gelu(c: Calculus, x: Term, y: Term, g: Term) -> Term:
    below = c.scale(c.op(Erfc(), c.scale(x, -math.sqrt(0.5))), 0.5)
    bell = c.scale(c.op(Exp(), c.scale(c.mul(x, x), -0.5)), 1.0 / math.sqrt(2.0 * math.pi))
    return c.mul(g, c.add(below, c.mul(x, bell)))


def _relu(c: Calculus, x: Term, y: Term, g: Term) -> Term:
    return c.masked(c.op(Greater(), x, c.number(0.0, x.type.dtype)), g)


def _rsqrt(c: Calculus, x: Term, y: Term, g: Term) -> Term:
    return c.mul(g, c.scale(c.div(y, x), -0.5))


def _log1p(c: Calculus, x: Term, y: Term, g: Term) -> Term:
    return c.div(g, c.add(_one(c, x), x))


SLOPES: dict[str, Slope] = {
    "neg": lambda c, x, y, g: c.neg(g),
    "abs": _abs,
    "relu": _relu,
    "exp": lambda c, x, y, g: c.mul(g, y),
    "exp2": lambda c, x, y, g: c.mul(g, c.scale(y, math.log(2.0))),
    "log": lambda c, x, y, g: c.div(g, x),
    "log1p": _log1p,
    "expm1": lambda c, x, y, g: c.mul(g, c.op(Exp(), x)),  # y + 1 is 0 where y rounds to -1
    "sqrt": lambda c, x, y, g: c.mul(g, c.div(c.number(0.5, y.type.dtype), y)),
    "rsqrt": _rsqrt,
    "sin": lambda c, x, y, g: c.mul(g, c.op(Cos(), x)),
    "cos": lambda c, x, y, g: c.neg(c.mul(g, c.op(Sin(), x))),
    "tan": _tan,
    "tanh": _tanh,
    "sigmoid": _sigmoid,
    "silu": _silu,
    "erf": _erf(1.0),
    "erfc": _erf(-1.0),
    "gelu": _gelu,
    "softplus": lambda c, x, y, g: c.mul(g, c.op(Sigmoid(), x)),
    "cast": lambda c, x, y, g: g,
    "copy": lambda c, x, y, g: g,
}
