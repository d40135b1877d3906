"""Stores that grow: whatever room they have at first, programs compute what the equations say."""

from __future__ import annotations

import pytest
from hypothesis import given, note, strategies as st

from tempoc.codegen.program.assemble import EmittedProgram
from tempoc.diagnostics.source import Source
from tempoc.driver.compilation import Compilation
from tempoc.driver.options import Options
from tempoc.frontend.syntax.load_modules import load_source
from tests.support.agreement import agree, all_equal, free_bounds
from tests.support.generators.programs import Program, programs
from tests.support.generators.settings import generated
from tests.support.session.long import in_turns, sampled

LOOPS = "canonicalize,fuse"
"""Passes that leave all loops as they are."""

CAUSAL = """
import nn
dim t < T
input x[t]: f32[4]
k[0] = x[0]
y = nn.softmax(k[0:t+1] @ x[t]) @ k[0:t+1]
k[t] = tanh(y[t-1] + x[t]) when t >= 1
output y
"""
WHOLE = (
    CAUSAL
    + """
every = k[0:T]
output k, every
output k[T-1] as last
"""
)
BEHIND = """
dim t < T
input x[t]: f32[3]
k[0] = x[0]
s = sum(k[0:t], axis = 0)
k[t] = tanh(s[t] + k[t-1] + x[t]) when t >= 1
output k[0:T-1] as most
"""
AHEAD = """
dim t < T
input x[t]: f32[3]
k[0] = x[0]
k[t+1] = tanh(sum(k[0:t+1], axis = 0) + x[t]) when t + 1 < T
output k
"""
INNER = """
dim t < T
input x[t]: f32[3]
k[0] = x[0]
low = max(k[0:t], axis = 0) if t >= 1 else x[t]
half = sum(k[t // 2:t+1], axis = 0)
odd = sum(k[t % 2:t+1:2], axis = 0)
some = k[0:t+1][t // 3]
k[t] = tanh(low[t-1] + half[t-1] + odd[t-1] + some[t-1] + x[t]) when t >= 1
output k, odd, half
"""
LAYERS = """
import nn
dim b < B
dim t < T
dim l < L = 3
input x[b, t]: f32[4]
input W[l]: f32[4, 4]
into = x[b, t] + 0.5 * s[b, max(t - 1, 0), L-1] if l == 0 else s[b, t, max(l - 1, 0)]
k[b, t, l] = W[l] @ into[b, t, l] when t >= 1
k[b, 0, l] = W[l] @ x[b, 0]
s[b, t, l] = nn.softmax(k[t = 0:t+1] @ into) @ k[t = 0:t+1] when t >= 1
s[b, 0, l] = W[l] @ x[b, 0]
output s[b = 0:B, t = 0:T, l = L-1] as last
"""
GRADIENT = """
dim t < T
input x[t]: f32[3]
input w: f32[3]
k[0] = x[0] * w
k[t] = tanh(mean(k[0:t], axis = 0) * w + x[t]) when t >= 1
loss = sum(k[0:T])
g = grad(loss, w)
output g, loss
"""
AGAIN = """
dim i < I
dim t < T
input x[t]: f32[3]
w[0] = 1.
k[i, 0] = x[0] * w[i]
k[i, t] = tanh(mean(k[i, 0:t], axis = 0) * w[i] + x[t]) when t >= 1
w[i+1] = w[i] - 0.1 * sum(k[i, 0:T]) when i < I - 1
output w
output k[I-1, 0:T] as found
"""
FROM_DATA = """
dim p < P
dim t < T
assume P <= T
input x[p]: f32[3]
k[t] = x[t] when t < P
k[t] = tanh(sum(k[0:t], axis = 0)) when t >= P
output k
"""
UNTIL = """
dim t < T until stop
input x: f32[3]
k[0] = x
k[t] = tanh(sum(k[0:t], axis = 0) + x) when t >= 1
stop = t >= 6
output k
"""
PROGRAMS = {
    "causal": CAUSAL, "whole": WHOLE, "behind": BEHIND, "ahead": AHEAD, "inner": INNER,
    "layers": LAYERS, "gradient": GRADIENT, "again": AGAIN, "from_data": FROM_DATA, "until": UNTIL,
}  # fmt: skip
PASSES = dict.fromkeys(PROGRAMS, LOOPS) | {"layers": "canonicalize,vectorize,fuse"}
SIZES = {False: (1, 5), True: (3, 8)}


def emitted(text: str, passes: str | None = LOOPS, **more: bool | int) -> EmittedProgram:
    options = Options(passes=passes, verify_each=True, **more)
    return Compilation(load_source(Source("m.rt", text)), options).emitted


@pytest.mark.parametrize(
    ("name", "regions"), in_turns(PROGRAMS, (True, False), "both kinds of loops")
)
def test_programs_agree(name: str, regions: bool) -> None:
    text = PROGRAMS[name]
    passes = PASSES[name]
    found = emitted(text, passes, bucket=2, regions=regions).program
    assert any(a.least for s in found.stores for a in s.axes), "nothing grows"
    sizes = all_equal(text, *SIZES[regions])
    agree(text, *sizes, passes=passes, regions=regions, bucket=2)


@pytest.mark.parametrize("bucket", sampled([0, 1, 3, 512], "more sizes", of=2))
def test_any_size_will_do(bucket: int) -> None:
    agree(WHOLE, *all_equal(WHOLE, 1, 6, 7, 25), regions=True, bucket=bucket)


@given(program=programs(), regions=st.booleans())
@generated(2, long=6)
def test_generated_programs_agree(program: Program, regions: bool) -> None:
    note(program.text)
    sizes = dict(zip(free_bounds(program.text), (5, 4, 3), strict=False))
    agree(program.text, sizes, passes=LOOPS, regions=regions, bucket=1)


def test_what_is_given_to_the_program_does_not_grow() -> None:
    text = """
dim t < T
input x[t]: f32
y = sum(x[0:t+1])
output y
"""
    found = emitted(text, bucket=2).program
    assert not any(a.least for s in found.stores for a in s.axes)
