"""What computes at some points what another node computes at more."""

from __future__ import annotations

from tempoc.diagnostics.source import Source
from tempoc.driver.compilation import Compilation
from tempoc.driver.options import Options
from tempoc.frontend.syntax.load_modules import load_source
from tempoc.passes.simplify.restricted_duplicates import without_restricted_duplicates
from tests.support.generators.graphs import assert_close, graph

STATE = """
bound T
dim t < T
%x = input{dtype=f32, shape=(2, 2)} : [t] f32[2, 2]
%z = full{shape=(2, 2), value=1.0, dtype=f32} : [] f32[2, 2]
%n = matmul %s, %x : [t | t < T-1] f32[2, 2]
%s = merge{targets=((0), (t+1))} %z when t == 0, %n[t-1] when t-1 >= 0 : [t] f32[2, 2]
%m = matmul %s, %x : [t] f32[2, 2]
"""
BY_ONE_NAME = """
dim t < T
input x[t]: f32[2, 2]
m[t] = x @ x
n[t] = x @ x when t < T - 1
r[t] = sum(m * n) when t < T - 1
r[t] = sum(m)
d = grad(r, m)
output d
"""
"""The derivative by `m` does not go through `n`."""


def test_the_next_state_is_what_an_output_computes() -> None:
    before = graph(STATE + "output m = %m[0:T]\n")
    after = without_restricted_duplicates(before)
    assert after.nodes["s"].sources == ("z", "m")
    assert_close(before, after)


def test_what_nobody_needs_is_not_computed_for_others() -> None:
    before = graph(STATE + "output s = %s[0:T]\n")
    assert without_restricted_duplicates(before) is before


def test_what_gradients_differentiate_by_is_left() -> None:
    loaded = load_source(Source("m.rt", BY_ONE_NAME))
    written = Compilation(loaded, Options()).elaborated.written
    assert without_restricted_duplicates(written) is written
