"""Polynomials of bounds with rational coefficients: sums, quotients, inverses, and their texts.

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

from tempoc.symbolic import amounts, expr as ix
from tempoc.symbolic.walk import replace_parts, symbols

Polynomial: TypeAlias = sympy.Expr
"""A polynomial of bounds and dimensions with rational coefficients."""
UNLIMITED = ""
"""Instead of the limit of a name that a formula does not depend on."""


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
        case ix.Quotient(arg=arg, divisor=by):
            return sympy.floor(polynomial(arg) / polynomial(by))
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
    return _sum_text(formula, amounts.plain_term)


def in_counts(formula: Polynomial) -> str:
    """A number of operations, the same with units for large coefficients: `3.2 G*T`."""
    return _sum_text(formula, amounts.count_term)


def in_units(formula: Polynomial) -> str:
    """A number of bytes as `45 KiB*B*T + 513 MiB`."""
    return _sum_text(sympy.expand(formula), amounts.bytes_term)


def _sum_text(expanded: Polynomial, written: Callable[[Fraction, str], str]) -> str:
    terms = []
    for term in sympy.Add.make_args(expanded):
        coefficient, rest = term.as_coeff_Mul()
        factors = "" if rest == 1 else _factors_text(rest)
        text = written(Fraction(int(coefficient.p), int(coefficient.q)), factors)
        terms.append(amounts.FormulaTerm(text, factors, _degree(rest)))
    return amounts.sum_text(terms)


def _factors_text(e: Polynomial) -> str:
    """A product of bounds and functions as index expressions are written, powers as ``T^2``."""
    if e.is_Mul:
        return "*".join(sorted(map(_factors_text, e.args)))
    if e.is_Pow:
        return amounts.power_text(_factors_text(e.base), int(e.exp))
    if isinstance(e, sympy.Min | sympy.Max):
        word = "min" if isinstance(e, sympy.Min) else "max"
        return f"{word}({', '.join(sorted(map(in_terms, e.args)))})"
    if isinstance(e, sympy.floor):
        above, below = sympy.fraction(sympy.together(e.args[0]))
        return f"({_bracketed(in_terms(above))} // {below})"
    if isinstance(e, sympy.Mod):
        return f"({_bracketed(in_terms(e.args[0]))} % {e.args[1]})"
    return str(e)


def inverse(e: ix.Expr, name: str) -> str | None:
    """The largest `name` for which `e <= budget`, as a formula of `budget`.

    A `max` in `e` is split: each of its cases is a limit, and the smallest one counts. Of a `min`
    the largest one counts. `None` where a case does not grow in step with the name (powers,
    quotients) and where nothing depends on it.
    """
    return _limits(e, name) or None


def _limits(e: ix.Expr, name: str) -> str | None:
    """The same; `UNLIMITED` (no text) where the name does not occur."""
    if name not in symbols(e):
        return UNLIMITED
    extremum, is_growing = _extremum_of(e, name)
    if extremum is None:
        return _linear_inverse(polynomial(e), sympy.Symbol(name, integer=True, positive=True))
    if not is_growing:
        return None
    cases = [_limits(replace_parts(e, {extremum: arg}), name) for arg in extremum.args]
    known = [*dict.fromkeys(case for case in cases if case is not None)]
    is_min = isinstance(extremum, ix.IndexMin)
    if None in cases or (is_min and UNLIMITED in cases):
        return None
    texts = [case for case in known if case != UNLIMITED]
    return texts[0] if len(texts) == 1 else f"{'max' if is_min else 'min'}({', '.join(texts)})"


def _extremum_of(e: ix.Expr, name: str) -> tuple[ix.IndexMin | ix.IndexMax | None, bool]:
    """The first `min` or `max` over the name, and whether the whole surely grows with it."""
    for k, x in e.terms if isinstance(e, ix.IndexSum) else ((1, e),):
        factors = x.factors if isinstance(x, ix.IndexProduct) else (x,)
        for factor in factors:
            if isinstance(factor, ix.IndexMin | ix.IndexMax) and name in symbols(factor):
                others = [f for f in factors if f is not factor]
                return factor, k > 0 and all(isinstance(f, ix.Sym) for f in others)
    return None, False


def _linear_inverse(formula: Polynomial, symbol: sympy.Symbol) -> str | None:
    formula = sympy.expand(formula)
    slope = formula.diff(symbol)
    if slope.has(symbol) or slope.atoms(sympy.Function) or not slope.is_positive:
        return None
    rest = sympy.expand(formula - slope * symbol)
    if rest.has(symbol):
        return None
    above = "budget" if rest == 0 else f"(budget - {_bracketed(in_units(rest))})"
    return f"{above} // {_bracketed(in_units(slope))}"


def _degree(rest: Polynomial) -> int:
    """How many symbols are multiplied in a term; a function counts as one."""
    powers = rest.as_powers_dict()
    return sum(int(power) for base, power in powers.items() if base != 1)


def _bracketed(text: str) -> str:
    return f"({text})" if "*" in text or " + " in text or " - " in text else text
