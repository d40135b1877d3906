"""Formulas of amounts as people read them: `45 KiB*B*T + 513 MiB`, `12*T^2 + 3.2 G*B`.

The one form for bytes and operations in all reports; without units `text.py` prints expressions.
A formula is written as a sum, the terms with the most factors first.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from fractions import Fraction
from typing import NamedTuple

from tempoc.symbolic import expr as ix
from tempoc.symbolic.text import spelled

UNITS = ("bytes", "KiB", "MiB", "GiB", "TiB")
"""Each is 1024 times the one before."""
LEAST = 10
"""A unit is taken once there are this many of it, or if a whole number of it says the same."""
THOUSANDS = (("T", 10**12), ("G", 10**9), ("M", 10**6))
"""Units of counts; smaller numbers are written as they are."""


class FormulaTerm(NamedTuple):
    """A term of a formula as text, its factors without the coefficient, and how many these are."""

    text: str
    factors: str
    degree: int


def bytes_text(e: ix.Expr) -> str:
    """A number of bytes as a formula in units; exact but for two decimals of coefficients.

    Raises `TypeError` for conditions.
    """
    terms, const = (e.terms, e.const) if isinstance(e, ix.IndexSum) else (((1, e),), 0)
    if isinstance(e, ix.Const):
        return size(Fraction(e.value))
    written = [_term(k, x) for k, x in terms]
    return sum_text([*written, FormulaTerm(size(Fraction(const)), "", 0)] if const else written)


def sum_text(terms: Iterable[FormulaTerm]) -> str:
    """The terms in order; a term with a minus is subtracted."""
    text = ""
    for term in sorted(terms, key=lambda t: (-t.degree, t.factors)):
        joined = f" - {term.text[1:]}" if term.text.startswith("-") else f" + {term.text}"
        text += joined if text else term.text
    return text


def bytes_term(coefficient: Fraction, factors: str) -> str:
    """``45 KiB*B*T``."""
    return f"{size(coefficient)}*{factors}" if factors else size(coefficient)


def count_term(coefficient: Fraction, factors: str) -> str:
    """``3.2 G*T``; small numbers exactly."""
    unit = next((n for n in THOUSANDS if abs(coefficient) >= LEAST * n[1]), None)
    if unit is not None:
        number = f"{_decimals(coefficient / unit[1])} {unit[0]}"
        return f"{number}*{factors}" if factors else number
    return plain_term(coefficient, factors)


def plain_term(coefficient: Fraction, factors: str) -> str:
    """``T^2/2``, ``3*T``."""
    above = str(coefficient.numerator)
    if factors:
        sign = {1: "", -1: "-"}.get(coefficient.numerator, f"{above}*")
        above = f"{sign}{factors}"
    below = coefficient.denominator
    return above if below == 1 else f"{above}/{below}"


def power_text(factor: str, power: int) -> str:
    """``T^2``."""
    return factor if power == 1 else f"{factor}^{power}"


def size(value: Fraction) -> str:
    """Bytes in a unit: whole numbers of it, or two decimals."""
    unit, amount = 0, abs(value)
    while unit + 1 < len(UNITS) and amount >= 1024:
        exact = (amount / 1024).denominator == 1
        if not exact and amount < LEAST * 1024:
            break
        amount, unit = amount / 1024, unit + 1
    name = "byte" if amount == 1 and unit == 0 else UNITS[unit]
    return f"{'-' if value < 0 else ''}{_decimals(amount)} {name}"


def _decimals(value: Fraction) -> str:
    return str(value) if value.denominator == 1 else f"{float(value):.2f}".rstrip("0").rstrip(".")


def _term(k: int, x: ix.Expr) -> FormulaTerm:
    """A term of a sum; a `min` or `max` without a coefficient is one of numbers of bytes."""
    if k == 1 and isinstance(x, ix.IndexMin | ix.IndexMax):
        word = "min" if isinstance(x, ix.IndexMin) else "max"
        text = f"{word}({', '.join(map(bytes_text, x.args))})"
        return FormulaTerm(text, text, 1)
    factors = Counter(_factor(f) for f in (x.factors if isinstance(x, ix.IndexProduct) else (x,)))
    text = "*".join(power_text(f, n) for f, n in sorted(factors.items()))
    return FormulaTerm(bytes_term(Fraction(k), text), text, sum(factors.values()))


def _factor(e: ix.Expr) -> str:
    text = spelled(e)
    return f"({text})" if isinstance(e, ix.FloorDiv | ix.Mod | ix.Quotient | ix.IndexSum) else text
