"""Formulas in units, and their inverses."""

from __future__ import annotations

import re
from fractions import Fraction

import pytest

from tempoc.symbolic.amounts import UNITS, bytes_text, count_term
from tempoc.symbolic.parse import parse
from tempoc.symbolic.simplify import in_units, inverse, polynomial
from tempoc.symbolic.walk import evaluate


@pytest.mark.parametrize(
    ("formula", "text"),
    [
        ("46080*B*T + 537919488", "45 KiB*B*T + 513 MiB"),
        ("96*T + 512", "96 bytes*T + 512 bytes"),
        ("5252 + 4*K", "4 bytes*K + 5252 bytes"),
        ("20000*T", "19.53 KiB*T"),
        ("1048512*T + B", "1 byte*B + 1023.94 KiB*T"),
        ("64*(T//4) + 4*B*max(1, T-1)", "4 bytes*B*max(1, T - 1) + 64 bytes*(T // 4)"),
        ("32*T*T + 16*T*S*S", "16 bytes*S^2*T + 32 bytes*T^2"),
        ("2048*min(3, T) - 1024*T", "-1 KiB*T + 2 KiB*min(3, T)"),
        ("4096", "4 KiB"),
        ("0", "0 bytes"),
    ],
)
def test_units(formula: str, text: str) -> None:
    assert bytes_text(parse(formula)) == text
    assert in_units(polynomial(parse(formula))) == text


def test_a_largest_term_has_units_inside() -> None:
    assert bytes_text(parse("max(96*T + 512, 2048*B)")) == "max(2 KiB*B, 96 bytes*T + 512 bytes)"


FORMULAS = [
    "46080*B*T + 537919488", "12345*T*(T+1) + 7*B", "64*(T//4) + 8000*min(B, 3)", "999*T*B + 1025",
]  # fmt: skip


@pytest.mark.parametrize("formula", FORMULAS)
@pytest.mark.parametrize("bounds", [{"T": 7, "B": 2}, {"T": 1000, "B": 64}])
def test_units_say_the_same(formula: str, bounds: dict[str, int]) -> None:
    text = re.sub(r"\bbyte\b", "bytes", bytes_text(parse(formula))).replace("^", "**")
    for power, unit in enumerate(UNITS):
        text = re.sub(rf" {unit}\b", f"*{1024**power}", text)
    shown = eval(text, {**bounds, "min": min, "max": max})
    assert shown == pytest.approx(evaluate(parse(formula), bounds), rel=5e-3)


@pytest.mark.parametrize(
    ("formula", "text"),
    [
        ("96*T + 512", "(budget - 512 bytes) // 96 bytes"),
        ("46080*B*T + 1048576*B", "(budget - (1 MiB*B)) // (45 KiB*B)"),
        ("4*T", "budget // 4 bytes"),
        ("32*T*T", None),
        ("32*B - 4*T", None),
        ("32*B", None),
        ("4*max(B, 3)", None),
        ("8*min(3, T)", None),
        ("4*T + 4*B*(T//2)", None),
    ],
)
def test_inverses(formula: str, text: str | None) -> None:
    assert inverse(parse(formula), "T") == text


@pytest.mark.parametrize(
    ("formula", "text"),
    [
        ("max(96*T + 512, 64*B)", "(budget - 512 bytes) // 96 bytes"),
        ("max(96*T, 32*T + 640)", "min((budget - 640 bytes) // 32 bytes, budget // 96 bytes)"),
        ("32*min(3, T) + 64*T", "max(budget // 96 bytes, (budget - 96 bytes) // 64 bytes)"),
        ("8*T + max(16*T, 4*B) + 2*B*min(T, 5)", None),
    ],
)
def test_inverses_split_by_cases(formula: str, text: str | None) -> None:
    shown = inverse(parse(formula), "T")
    assert shown is not None and text in (None, shown)
    code = re.sub(r" bytes?\b", "", shown)
    sizes = [evaluate(parse(formula), {"T": T, "B": 3}) for T in range(200)]
    for budget in range(700, 3000, 97):
        largest = max(T for T, size in enumerate(sizes) if size <= budget)
        assert eval(code, {"budget": budget, "B": 3}) == largest


def test_many_operations_have_units() -> None:
    assert count_term(Fraction(268435456), "B*T") == "268.44 M*B*T"
    assert count_term(Fraction(-123456), "T") == "-123456*T"
    assert count_term(Fraction(1, 2), "T^2") == "T^2/2"
