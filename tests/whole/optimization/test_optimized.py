"""Graphs after all passes mean what they meant before: programs once miscompiled, and generated."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given, note, reject, strategies as st

from tempoc.diagnostics.diagnostic import DiagnosticError
from tempoc.driver.options import Options
from tests.support.agreement import agree, free_bounds
from tests.support.elaborated import graph_of
from tests.support.generators.blends import Blend, blends, endings as blend_endings
from tests.support.generators.mixes import mixes
from tests.support.generators.programs import Program
from tests.support.generators.settings import generated
from tests.support.optimized import PLAIN, assert_kept

# All rows of `y` are one: who reads all of them does not read the array that has one only.
REPEATED = """
dim t < T
dim b < B
input v[b]: f32[3]
y[t, b] = cumsum(v[0:B], axis = 0)[b]
z[t, b] = prod(y[1:t, b], axis = 0)
output y, z
"""

# `L` is 1: no point of the second equation is ever there, wherever it would be.
NEVER = """
dim i < I
dim l < L = 1
input c: f32[3]
y[i, 0] = c
y[i, l+1] = sigmoid(c) * y[i, l] + c
output y
"""

# A tile of `y` is made of earlier points of `y`.
RECURRENT = """
dim i < I
dim j < J
input x[i, j]: f32
y[i, j] = tanh(sum(y[0:i, j])) + x
z = sum(y[j = 0:J])
output z
"""

# The sum reads no `h` if `T` is 1, but the rows of the scan backwards are not there then.
NOTHING = """
dim t < T
input c: f32[2]
input x[t]: f32[2]
y[0] = x[0]
y[t] = y[t-1] + c
l[t] = x @ y
z = grad(l, c)
output z
"""

# The elements of the slices are `max(...)` of a product.
ELEMENTS = """
dim t < T
dim b < B = 3
input c: f32[1]
y[t, b] = tanh(sum(y[t, b//2:b], axis = 0)) + c
z[t, b] = reshape(y[t = min(t, 1):t+1, b = 0:b+1], [-1, 1])[0] + y
output z
"""

# Nobody reads `h`.
UNREAD = """
dim t < T
input x[t]: f32
h[0] = x[0]
h[t] = 0.5 * h[t-1] + x
y = x + 1.0
output y
"""

# Which order of the products is cheaper depends on bounds; each is a part of an equation.
EITHER = """
dim b < B
dim t < T
input c: f32[1]
input x[b, t]: f32[1]
y[t] = c * t
z[b, t] = (x[b, 0:t+1].T @ y[0:t+1]) @ c when t != 1
z[b, t] = c
output z
"""
FOUND: dict[str, tuple[str, Options]] = {
    "repeated": (REPEATED, PLAIN),
    "never": (NEVER, PLAIN),
    "recurrent": (RECURRENT, replace(PLAIN, passes="vectorize,tile", tile=1)),
    "nothing": (NOTHING, PLAIN),
    "elements": (ELEMENTS, replace(PLAIN, tile=4)),
    "either": (EITHER, PLAIN),
    "unread": (UNREAD, replace(PLAIN, passes="scans")),
}


@pytest.mark.parametrize("name", FOUND)
def test_programs_once_miscompiled(name: str) -> None:
    text, options = FOUND[name]
    assert_kept(text, 1, 2, 4, options=options)


SIZES = ((1, 1, 1), (3, 2, 4))
TILED = replace(PLAIN, tile=2)


@given(program=blends(), tiled=st.booleans())
@generated(9, long=30)
@pytest.mark.long("many random programs")
def test_blends_keep_their_meaning(program: Blend, tiled: bool) -> None:
    check(program, TILED if tiled else PLAIN)


@given(program=blend_endings())
@generated(3, long=12)
def test_blends_that_end_keep_their_meaning(program: Blend) -> None:
    check(program, PLAIN)


@given(program=mixes())
@generated(2, long=8)
def test_mixes_keep_their_meaning(program: Program) -> None:
    check(program, PLAIN)


def check(program: Blend | Program, options: Options) -> None:
    """What a generated program means is kept; some have no order, or equations for no point."""
    note(program.text)
    free = free_bounds(program.text)
    try:
        graph_of(program.text)
    except DiagnosticError:
        reject()
    assert_kept(program.text, *(dict(zip(free, s, strict=False)) for s in SIZES), options=options)


POWERS = """\
dim t < T
input x[t]: f32
edge = stack([x, 0.0, -0.0, inf, -inf, 1e-30, 1e20, -2.0, inf - inf])
half = edge ** 0.5
more = edge ** 1.5
under = edge ** -0.5
below = edge ** -1.5
signs = 1.0 / half
y = sum(abs(x) ** 1.5)
slope = grad(y, x)
output half, more, under, below, signs, y, slope
"""


def test_half_powers() -> None:
    """Those of zeros, infinities and negative numbers, too."""
    agree(POWERS, {"T": 1}, {"T": 9}, special=True, levels=(1, 2))
