"""Integers that overflow and numbers that are not finite are found where they arise."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tempoc.base.checks import FINITE, OVERFLOW
from tempoc.diagnostics.diagnostic import Diagnostic, DiagnosticError
from tempoc.diagnostics.source import Source
from tempoc.driver.elaborate import elaborate
from tempoc.frontend.syntax.load_modules import load_source
from tempoc.sdg.evaluation.checked_values import watch
from tempoc.sdg.evaluation.interpret import evaluate

I32, LAST = np.iinfo(np.int32), 2**31 - 1


def look(text: str, *checks: str, **given: Any) -> Diagnostic | None:
    """What is wrong with a program's values; its inputs are given, and its outputs all tensors."""
    graph = elaborate(load_source(Source("m.rt", text), Path(), None), {})
    arrays = {name: np.asarray(value) for name, value in given.items()}
    try:
        evaluate(graph, {}, arrays, {}, watch=watch(checks or (OVERFLOW, FINITE)))
    except DiagnosticError as error:
        (diagnostic,) = error.diagnostics
        return diagnostic
    return None


def program(expression: str, *names: str, dtype: str = "i32", shape: str = "") -> str:
    inputs = "".join(f"input {name}: {dtype}{shape}\n" for name in names)
    return f"{inputs}y = {expression}\noutput y\n"


SCALARS = (
    ("a + b", LAST, 1, LAST - 1, 1),
    ("a - b", I32.min, 1, I32.min + 1, 1),
    ("a * b", 65536, 32768, -65536, 32768),
    ("a * b", 2**16, 2**16, 46340, 46340),
    ("-a + 0 * b", I32.min, 0, I32.min + 1, 0),
    ("abs(a) + 0 * b", I32.min, 0, I32.min + 1, 0),
    ("a // b", I32.min, -1, I32.min, 1),
    ("a // b", I32.min, -1, 5, 0),
    ("a ** b", 2, 31, 2, 30),
    ("a ** b", 10, 300, 0, -1),
    ("a ** b", 2, 64, -2, 31),
)


@pytest.mark.parametrize(("expression", "a", "b", "c", "d"), SCALARS)
def test_scalars_overflow_or_fit(expression: str, a: int, b: int, c: int, d: int) -> None:
    text = program(expression, "a", "b")
    wrong = look(text, a=np.int32(a), b=np.int32(b))
    assert wrong is not None and wrong.code == "RT316"
    assert str(a) in wrong.notes[0]
    assert look(text, a=np.int32(c), b=np.int32(d)) is None


ARRAYS = (
    ("sum(a)", [LAST, 1, 0], [LAST, 1, -1]),
    ("sum(a)", [LAST, LAST, 2], [LAST, -LAST, 2]),
    ("prod(a)", [65536, 65536, 1], [65536, 32767, 1]),
    ("prod(a)", [65536, 65536, 65536], [65536, 65536, 0]),
    ("cumsum(a, axis = 0)", [LAST, 1, -1], [LAST, -1, 1]),
    ("cumprod(a, axis = 0)", [2**30, 2, 0], [2**30, 1, 0]),
    ("a @ a", [2**15, 2**15, 1], [2**15, 2**14, 1]),
    ('einsum("i,i->", a, a)', [2**16, 0, 0], [2**15, 0, 0]),
)


@pytest.mark.parametrize(("expression", "wrong", "fine"), ARRAYS)
def test_arrays_overflow_or_fit(expression: str, wrong: list[int], fine: list[int]) -> None:
    text = program(expression, "a", shape="[3]")
    found = look(text, a=np.array(wrong, np.int32))
    assert found is not None and found.code == "RT316"
    # The last of these wraps on the way, too: 65536 * 65536 * 0.
    if expression != "prod(a)" or fine[-1]:
        assert look(text, a=np.array(fine, np.int32)) is None


@pytest.mark.parametrize(
    ("value", "fine"), [(2.0**31, False), (-(2.0**31), True), (2147483520.0, True), (-3e9, False),
                        (np.nan, False), (np.inf, False), (1.9, True), (-1.9, True)],
)  # fmt: skip
def test_casts_of_what_does_not_fit(value: float, fine: bool) -> None:
    text = program("i32(a)", "a", dtype="f32")
    assert (look(text, "overflow", a=np.float32(value)) is None) is fine


def test_other_dtypes() -> None:
    assert look(program("a + a", "a", dtype="u32"), a=np.uint32(2**32 - 1)) is None
    assert look(program("a + a", "a", dtype="i64"), a=np.int64(2**40)) is None
    assert look(program("a + a", "a", dtype="i64"), a=np.int64(2**62)) is not None
    assert look(program("i32(a)", "a", dtype="i64"), a=np.int64(2**31)) is not None


def test_the_first_value_that_is_not_finite_is_named() -> None:
    text = program("sum(exp(a) * 2.) - 1.", "a", dtype="f32", shape="[2]")
    found = look(text, a=np.array([0, 100], np.float32))
    assert found is not None and found.code == "RT317"
    assert found.message == "`exp`[1] in y becomes inf"
    assert found.notes == ("of 100.0",)
    assert found.primary is not None and found.primary.span.text == "exp(a)"
    assert look(text, "overflow", a=np.array([0, 100], np.float32)) is None
    # What is not finite from the beginning does not arise.
    assert look(text, a=np.array([0, np.inf], np.float32)) is None
    assert look(program("a + inf", "a", dtype="f32"), a=np.float32(1)) is None


def test_an_index_expression_that_overflows() -> None:
    text = "dim t < T = 5\ny[t] = 1000000000 * t\noutput y\n"
    found = look(text)
    assert found is not None and found.code == "RT316"
    assert "t=3" in found.message and "3000000000" in found.message
