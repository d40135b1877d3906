"""Rules for arithmetic and logic, as equations.

Exact ones are equal to the last bit for every value. So there is no ``x * 0 = 0`` for floats (NaN,
infinities, -0.0), no ``x + 0.0 = x`` (-0.0 + 0.0 is 0.0; ``x - 0.0`` and ``x + -0.0`` are fine), no
``x - x = 0`` and no ``x / x = 1``.

Of the others none makes a result infinite or NaN that was not, as long as no number is so great or
so small that the product of a few leaves the range of the dtype. Some do the opposite: a logarithm
of an exponential stays finite where the exponential does not. ``f16``, whose range is narrow, is
left alone.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from functools import partial

from tempoc.ops.control.control import Select
from tempoc.ops.definition.types import LOSSLESS, DType
from tempoc.ops.tensor import arithmetic as binary, elementwise as unary
from tempoc.passes.simplify.rules import equation
from tempoc.passes.simplify.rules.equation import Condition, Letter, Pattern
from tempoc.passes.simplify.rules.pattern import Match, Rewrite, rule
from tempoc.sdg.graph.graph import Edge


def _are_integers(v: Match, at: Mapping[Pattern, Edge]) -> bool:
    """Neither letters nor the result are floating point."""
    return not (v.result.dtype.is_float or any(v.dtype_of(e).is_float for e in at.values()))


def _are_floats(v: Match, at: Mapping[Pattern, Edge]) -> bool:
    """All parts are floating point: exponents that are integers would wrap around."""
    return all(v.dtype_of(e).is_float for e in at.values())


def _is_power_of_two(v: Match, at: Mapping[Pattern, Edge]) -> bool:
    """The constant has an exact reciprocal, far from overflow and underflow."""
    number = v.number(at[Letter("k")])
    assert number is not None
    fraction, exponent = math.frexp(number)
    least = 10 if v.result.dtype is DType.F16 else 60
    return abs(fraction) == 0.5 and -least < exponent < least and v.is_uniform()


def _are_scalars(v: Match, at: Mapping[Pattern, Edge]) -> bool:
    """``a`` and ``b`` are scalars, ``x`` is an array."""
    a, b, x = (v.type_of(at[Letter(name)]) for name in "abx")
    return not a.shape and not b.shape and x.shape != ()


CONDITIONS: Mapping[str, Condition] = {
    "integers": _are_integers,
    "float": lambda v, _: v.result.dtype.is_float,
    "signed": lambda v, _: not v.result.dtype.is_unsigned,
    "uniform": lambda v, _: v.is_uniform(),
    "uniform float": lambda v, _: v.result.dtype.is_float and v.is_uniform(),
    "power of two": _is_power_of_two,
    "scalars": _are_scalars,
    "floats": _are_floats,
    "full floats": lambda v, at: (
        _are_floats(v, at) and all(v.type_of(e).shape == v.result.shape for e in v.node.inputs)
    ),
}
"""What an equation may require; ``full``: operands have the result's shape."""


@rule("a cast to its own dtype", unary.Cast)
def _same_cast(v: Match, _: unary.Cast) -> Rewrite | None:
    return v.same(0)


@rule("a cast of a lossless cast", unary.Cast)
def _cast_twice(v: Match, op: unary.Cast) -> Rewrite | None:
    inner = v.producer(0, unary.Cast, sliced=True)
    if inner is None:
        return None
    have, middle = v.type_of(inner.edges[0]), inner.node.types[0].dtype
    if middle is not have.dtype and middle not in LOSSLESS.get(have.dtype, ()):
        return None
    return v.same(inner.edges[0]) or Rewrite(inner.edges, op)


@rule("x ** 1.5 = x * sqrt(x)", binary.Power, exact=False, wide=True)
def _half_power(v: Match, op: binary.Power) -> Rewrite | None:
    """Powers by a half, and by one and a half: a root takes a tenth of the time.

    The power of ``-inf``, of which there is no root, is that of ``inf``; that of ``-0.0`` has no
    sign.
    """
    base, exponent = v.node.inputs
    power = v.number(exponent)
    if power is None or abs(2 * power) not in (1, 3) or v.type_of(base) != v.result:
        return None
    if not v.result.dtype.is_float:
        return None
    one, most, none, least = map(v.literal, (1.0, math.inf, 0.0, -math.inf))
    root = v.make(unary.Sqrt(), base)
    parts = [root] if abs(2 * power) == 1 else [base, root]
    if power < 0:
        parts = [v.make(binary.Divide(), one, part) for part in parts]
    value = v.make(binary.Multiply(), *parts) if len(parts) > 1 else v.make(unary.Abs(), *parts)
    is_least = v.make(binary.Equal(), base, least)
    return Rewrite((is_least, most if power > 0 else none, value), Select())


_exact = partial(equation.equations, conditions=CONDITIONS)
_rounded = partial(equation.equations, conditions=CONDITIONS, exact=False)
_wide = partial(_rounded, wide=True)

_ROUNDINGS = ("floor", "ceil", "round")
_IDEMPOTENT = ("abs", "relu", "sign")
NUMBERS = (
    *_exact("x + 0 = x", "x + 0 = x if integers", "x + -0.0 = x"),
    *_exact("x - 0 = x"),
    *_exact("x * 1 = x"),
    *_exact("x / 1 = x"),
    *_exact("x ** 1 = x"),
    *_exact("whole x * 0 = 0", "x * 0 = 0 if integers"),
    *_exact("whole x // 1 and x % 1", "x // 1 = x if integers", "x % 1 = 0 if integers"),
    *_exact(
        "whole x - x, x == x", "x - x = 0 if integers",
        *(f"x {sign} x = True if integers" for sign in ("==", "<=", ">=")),
        *(f"x {sign} x = False if integers" for sign in ("!=", "<", ">")),
    ),
    *_exact("x * -1 = -x", "x * -1 = -x", "x / -1 = -x"),
    *_exact("x / 2**k = x * 2**-k", "x / k = x * (1 / k) if power of two"),
    *_exact(
        "a + -b = a - b", "a + -b = a - b if uniform", "a - -b = a + b if uniform",
        "-a * -b = a * b if uniform", "-a / -b = a / b if uniform",
    ),
    *_exact(
        "a + -b * c = a - b * c",
        *(
            f"{left} = {right} if uniform float"
            for plus, minus in ("+-", "-+")
            for left, right in (
                (f"a {plus} -b * c", f"a {minus} b * c"), (f"a {plus} b * -c", f"a {minus} b * c"),
                (f"a {plus} -b / c", f"a {minus} b / c"), (f"a {plus} b / -c", f"a {minus} b / c"),
            )
        ),
        own=True,
    ),
    *_exact("-(-x) = x", sliced=True),
    *_exact("not not x = x", sliced=True),
    *_exact(
        "f(f(x)) = f(x)", *(f"{f}({f}(x)) = {f}(x)" for f in _IDEMPOTENT),
        *(f"{f}({g}(x)) = {g}(x)" for f in _ROUNDINGS for g in _ROUNDINGS),
    ),
    *_exact("abs(-x) = abs(x)", "abs(-x) = abs(x) if signed"),
    *_exact(
        "f(x, x) = x", "minimum(x, x) = x", "maximum(x, x) = x", "x and x = x", "x or x = x"
    ),
    *_exact(
        "f(x, neutral) = x", "x and True = x", "x and False = False",
        "x or False = x", "x or True = True",
        "minimum(x, inf) = x if float", "minimum(inf, x) = x if float",
        "maximum(x, -inf) = x if float", "maximum(-inf, x) = x if float",
    ),
    *_exact(
        "clip on one side", "clip(x, -inf, high) = minimum(x, high)",
        "clip(x, low, inf) = maximum(x, low)",
    ),
    *_exact(
        "not (a == b) = a != b", "not (a == b) = a != b", "not (a != b) = a == b",
        # Both a < b and a >= b fail for NaN.
        "not (a < b) = a >= b if integers", "not (a <= b) = a > b if integers",
        "not (a > b) = a <= b if integers", "not (a >= b) = a < b if integers",
    ),
    *_exact("where(c, x, x) = x"),
    *_exact("where(true, x, y) = x", "where(True, x, y) = x", "where(False, x, y) = y"),
    *_exact("where(not c, x, y) = where(c, y, x)"),
    *_exact(
        "where(c, where(c, x, y), z) = where(c, x, z)",
        "where(c, where(c, x, y), z) = where(c, x, z)",
        "where(c, x, where(c, y, z)) = where(c, x, z)",
    ),
    _same_cast,
    _cast_twice,
)  # fmt: skip

ROUNDED = (
    *_rounded(
        # `pow` takes as long as twenty products.
        "x ** 2 = x * x", "x ** 2 = x * x", "x ** 3 = x * x * x", "x ** 4 = x * x * (x * x)",
        "x ** 5 = x * x * (x * x) * x", "x ** 6 = x * x * x * (x * x * x)",
        "x ** 8 = x * x * (x * x) * (x * x * (x * x))", "x ** -1 = 1.0 / x if float",
        "x ** -2 = 1.0 / x * (1.0 / x) if float",
    ),
    _half_power,
    *_wide("1 / sqrt(x) = rsqrt(x)", alone=True),
    *_wide(
        "1 / (1 + exp(-x)) = sigmoid(x)", "1 / (1 + exp(-x)) = sigmoid(x) if floats",
        "1 / (exp(-x) + 1) = sigmoid(x) if floats", alone=True,
    ),
    *_wide("x * sigmoid(x) = silu(x)", alone=True),
    *_wide(
        "(x * 2) * 3 = x * 6",
        "j * x * k = x * (j * k)", "x * j * k = x * (j * k)", "j / x * k = (j * k) / x",
        "x / j * k = x * (1 / j * k)", "j * x / k = x * (j * (1 / k))",
        "x * j / k = x * (j * (1 / k))", "j / x / k = (j * (1 / k)) / x",
        "x / j / k = x * (1 / j * (1 / k))", alone=True,
    ),
    *_wide(
        "-(x * 2) = x * -2", "-(k * x) = -k * x", "-(k / x) = -k / x", "-(x * k) = x * -k",
        "-(x / k) = x / -k", alone=True,
    ),
    *_wide(
        "a * (b * x) = (a * b) * x for scalars a and b",
        "a * (b * x) = a * b * x if scalars", "a * (x * b) = a * b * x if scalars", own=True,
    ),
    *_wide(
        "exp(a) * exp(b) = exp(a + b)", "1 / exp(x) = exp(-x) if floats",
        "exp(a) * exp(b) = exp(a + b) if full floats",
        "exp(a) / exp(b) = exp(a - b) if full floats", alone=True,
    ),
    *_wide("log(exp(x)) = x"),
    *_wide(
        "log(exp(x) / s) = x - log(s)", "log(exp(x) / s) = x - log(s)",
        "log(exp(x) * s) = x + log(s)", "log(s * exp(x)) = x + log(s)",
    ),
)  # fmt: skip
