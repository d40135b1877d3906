"""Formulas in units, and their inverses."""

from __future__ import annotations

import re
from math import floor

import pytest

from tempoc.symbolic.parse import parse
from tempoc.symbolic.simplify import UNITS, in_units, inverse
from tempoc.symbolic.walk import evaluate


@pytest.mark.parametrize(
    ("formula", "text"),
    [
        ("46080*B*T + 537919488", "45 KiB*B*T + 513 MiB"),
        ("96*T + 512", "96 bytes*T + 512 bytes"),
        ("5252 + 4*K", "4 bytes*K + 5252 bytes"),
        ("20000*T", "19.5 KiB*T"),
        ("32*T*T + 16*T*S*S", "16 bytes*S^2*T + 32 bytes*T^2"),
        ("2048*min(3, T) - 1024*T", "2 KiB*min(3, T) - 1 KiB*T"),
        ("4096", "4 KiB"),
        ("0", "0 bytes"),
    ],
)
def test_units(formula: str, text: str) -> None:
    assert in_units(parse(formula)) == text


FORMULAS = [
    "46080*B*T + 537919488", "12345*T*(T+1) + 7*B", "64*(T//4) + 8000*min(B, 3)", "999*T*B + 1025",
]  # fmt: skip


@pytest.mark.parametrize("formula", FORMULAS)
@pytest.mark.parametrize("bounds", [{"T": 7, "B": 2}, {"T": 1000, "B": 64}])
def test_units_say_the_same(formula: str, bounds: dict[str, int]) -> None:
    text = in_units(parse(formula)).replace("^", "**")
    for power, unit in enumerate(UNITS):
        text = re.sub(rf" {unit}\b", f"*{1024**power}", text)
    shown = eval(text, {**bounds, "floor": floor, "min": min, "max": max})
    assert shown == pytest.approx(evaluate(parse(formula), bounds), rel=5e-3)


@pytest.mark.parametrize(
    ("formula", "text"),
    [
        ("96*T + 512", "(budget - 512 bytes) // 96 bytes"),
        ("46080*B*T + 1048576*B", "(budget - (1 MiB*B)) // (45 KiB*B)"),
        ("4*T", "budget // 4 bytes"),
        ("32*T*T", None),
        ("32*min(3, T) + 64*T", None),
        ("32*B", None),
    ],
)
def test_inverses(formula: str, text: str | None) -> None:
    assert inverse(parse(formula), "T") == text
