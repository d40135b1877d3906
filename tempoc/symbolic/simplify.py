"""Formulas for people: polynomials of bounds in units of bytes, and their inverses.

The only door to sympy. Importing it takes half a second, so only reports and searches do that,
late. Index expressions themselves stay what they are: a compilation makes tens of thousands of
them and needs equal ones to be equal objects (`expr.py`).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from fractions import Fraction
from functools import cache
from typing import TypeAlias

import sympy

from tempoc.symbolic import expr as ix

Polynomial: TypeAlias = sympy.Expr
"""A polynomial of bounds and dimensions with rational coefficients."""
UNITS = ("bytes", "KiB", "MiB", "GiB", "TiB")
"""Each is 1024 times the one before."""
LEAST = 10
"""A unit is taken once there are this many of it, or if a whole number of it says the same."""


def polynomial(e: ix.Expr) -> sympy.Expr:
    """A formula over bounds as sympy has it: symbols are positive integers.

    `min`, `max`, `//` and `%` become functions. Conditions are no formulas: raises `TypeError`.
    """
    match e:
        case ix.Const(value=value):
            return sympy.Integer(value)
        case ix.Sym(name=name):
            return sympy.Symbol(name, integer=True, positive=True)
        case ix.IndexSum(terms=terms, const=const):
            return sympy.Add(const, *(k * polynomial(x) for k, x in terms))
        case ix.IndexProduct(factors=factors):
            return sympy.Mul(*map(polynomial, factors))
        case ix.IndexMin(args=args):
            return sympy.Min(*map(polynomial, args))
        case ix.IndexMax(args=args):
            return sympy.Max(*map(polynomial, args))
        case ix.FloorDiv(arg=arg, divisor=divisor):
            return sympy.floor(polynomial(arg) / divisor)
        case ix.Mod(arg=arg, divisor=divisor):
            return sympy.Mod(polynomial(arg), divisor)
    raise TypeError(f"{type(e).__name__} is no number")


def power_sum(
    formula: Polynomial, name: str, low: Polynomial, high: Polynomial, step: int = 1
) -> Polynomial | None:
    """The sum over `low`, `low + step`, .. `high`, for one name, by Faulhaber's formula.

    `None` unless the formula is a polynomial of the name.
    """
    symbol, last = polynomial(ix.Sym(name)), (high - low) / step
    try:
        terms = sympy.Poly(formula.subs(symbol, low + step * _AT), _AT).terms()
    except sympy.PolynomialError:
        return None
    sums = (c * _power_sum(power).subs(_AT, last) for (power,), c in terms)
    return sympy.expand(sympy.Add(*sums))


_AT = sympy.Dummy("x")


@cache
def _power_sum(power: int) -> sympy.Expr:
    """The sum of ``k**power`` for ``0 <= k <= x``."""
    degree = power + 1
    rising = sympy.bernoulli(degree, _AT)
    return sympy.expand((rising.subs(_AT, _AT + 1) - rising.subs(_AT, 0)) / degree)


def with_values(formula: Polynomial, values: Mapping[str, ix.Expr]) -> Polynomial:
    """A polynomial, expanded, with expressions for some of its symbols."""
    symbols = {polynomial(ix.Sym(name)): polynomial(e) for name, e in values.items()}
    return sympy.expand(formula.subs(symbols))


def with_quotients(formula: Polynomial, known: Callable[[ix.Expr], ix.Expr | None]) -> Polynomial:
    """A polynomial with expressions for the quotients (rounded down) for which they are known."""
    for atom in sorted(formula.atoms(sympy.floor), key=str):
        above, divisor = sympy.fraction(sympy.together(atom.args[0]))
        terms = above.as_coefficients_dict().items()
        if all(c.is_Integer and (x == 1 or x.is_Symbol) for x, c in terms):
            parts = (
                ix.Const(int(c)) if x == 1 else ix.mul(ix.Const(int(c)), ix.Sym(x.name))
                for x, c in terms
            )
            e = known(ix.floordiv(ix.add(*parts), int(divisor)))
            formula = formula if e is None else formula.subs(atom, polynomial(e))
    return sympy.expand(formula)


def value_at(formula: Polynomial, values: Mapping[str, int]) -> int:
    """The value of a polynomial for these bounds."""
    return int(with_values(formula, {name: ix.Const(value) for name, value in values.items()}))


def quotient_text(above: Polynomial, below: Polynomial) -> str:
    """A quotient of polynomials without common factors; `-` for a division by zero."""
    if below == 0:
        return "-"
    above, below = map(sympy.expand, sympy.fraction(sympy.together(sympy.cancel(above / below))))
    text = in_terms(above)
    return text if below == 1 else f"{_bracketed(text)}/{_bracketed(in_terms(below))}"


def in_terms(formula: Polynomial) -> str:
    """A number as `T^2/2 + 3*T`: the largest powers first."""
    return _sum_text(formula, _term)


def _term(value: Fraction, rest: str) -> str:
    above = str(value.numerator) if not rest else f"{value.numerator}*{rest}"
    above = above.replace("-1*", "-") if above.startswith("-1*") else above.removeprefix("1*")
    return above if value.denominator == 1 else f"{above}/{value.denominator}"


def _bytes_term(value: Fraction, rest: str) -> str:
    return f"{_size(value)}*{rest}" if rest else _size(value)


def in_units(e: ix.Expr | Polynomial) -> str:
    """A number of bytes as `45 KiB*B*T + 513 MiB`: the largest powers first, units that fit."""
    return _sum_in_units(sympy.expand(polynomial(e) if isinstance(e, ix.Expr) else e))


def _sum_in_units(expanded: sympy.Expr) -> str:
    return _sum_text(expanded, _bytes_term)


def _sum_text(expanded: Polynomial, written: Callable[[Fraction, str], str]) -> str:
    terms = [term.as_coeff_Mul() for term in sympy.Add.make_args(expanded)]
    degrees = {rest: _degree(rest) for _, rest in terms}
    terms.sort(key=lambda term: (-degrees[term[1]], str(term[1])))
    texts: list[str] = []
    for coefficient, rest in terms:
        value = Fraction(int(coefficient.p), int(coefficient.q))
        text = written(value, "" if rest == 1 else _factor(rest))
        joined = f" - {text[1:]}" if text.startswith("-") else f" + {text}"
        texts.append(joined if texts else text)
    return "".join(texts)


def inverse(e: ix.Expr, name: str) -> str | None:
    """The largest `name` for which `e <= budget`, as a formula of `budget`.

    `None` where the formula does not grow in step with the name alone (`min`, `max`, powers).
    """
    symbol = sympy.Symbol(name, integer=True, positive=True)
    formula = sympy.expand(polynomial(e))
    slope = formula.diff(symbol)
    if slope.has(symbol) or slope.atoms(sympy.Function) or slope == 0:
        return None
    rest = sympy.expand(formula - slope * symbol)
    if rest.has(symbol):
        return None
    above = "budget" if rest == 0 else f"(budget - {_bracketed(_sum_in_units(rest))})"
    return f"{above} // {_bracketed(_sum_in_units(slope))}"


def _degree(rest: sympy.Expr) -> int:
    """How many symbols are multiplied in a term; a function counts as one."""
    powers = rest.as_powers_dict()
    return sum(int(power) for base, power in powers.items() if base != 1)


def _size(value: Fraction) -> str:
    """Bytes in a unit: whole numbers of it, or three digits."""
    unit = 0
    size = abs(value)
    while unit + 1 < len(UNITS) and size >= 1024:
        exact = (size / 1024).denominator == 1
        if not exact and size < LEAST * 1024:
            break
        size, unit = size / 1024, unit + 1
    number = str(size) if size.denominator == 1 else f"{float(size):.3g}"
    return f"{'-' if value < 0 else ''}{number} {UNITS[unit]}"


def _factor(rest: sympy.Expr) -> str:
    return str(rest).replace("Min(", "min(").replace("Max(", "max(").replace("**", "^")


def _bracketed(text: str) -> str:
    return f"({text})" if "*" in text or " + " in text or " - " in text else text
