"""Branches of an equation that write boxes of one array become one kernel, which joins these."""

from __future__ import annotations

import re

import pytest

from tempoc.diagnostics.source import Source
from tempoc.driver.compilation import Compilation
from tempoc.driver.options import Options
from tempoc.frontend.syntax.load_modules import load_source
from tests.support.agreement import agree
from tests.support.session.long import sampled

LINE = """dim t < T
dim i < N
input x[i]: f32
input e[t]: f32
"""
PLATE = """dim t < T
dim i < N
dim j < M
input x[i, j]: f32
input e[t]: f32
"""
JOINED = {
    "a plate": PLATE
    + """u[0, i, j] = x[i, j]
u[t, i, j] = 0.0 when i == 0 or i == N - 1 or j == 0 or j == M - 1
u[t, i, j] = u[t-1, i, j] + 0.1 * (u[t-1, i-1, j] + u[t-1, i+1, j+1] - 2.0 * u[t-1, i, j-1])
y = sum(u[i = 0:N, j = 0:M])
output y, u[T-1, 0:N, 0:M] as z
""",
    "a plate, all steps of it": PLATE
    + """u[0, i, j] = x[i, j]
u[t, i, j] = e[t] * u[t-1, i, M-1-j] when i == 0 or j == 0 or i == N - 1 or j == M - 1
u[t, i, j] = u[t-1, i, j] - 0.2 * u[t-1, i-1, j-1] + 0.1 * u[t-1, i+1, j+1]
y = u
output y
""",
    "a rod that remembers": LINE
    + """u[t, i] = x[i] * e[t] when t < 3
u[t, i] = e[t] when i == 0
u[t, i] = u[t-1, i] when i == N - 1
u[t, i] = u[t-1, i] + 0.3 * (u[t-1, i-1] + u[t-1, i+1]) - 0.1 * (u[t-3, i] - u[t-2, i-1])
y = sum(u[i = 0:N])
output y
""",
    "rods": """dim b < B
dim t < T
dim i < N
input x[b, i]: f32
input e[t]: f32
u[b, 0, i] = x[b, i]
u[b, t, i] = e[t] + u[b, t-1, N-1] when i == 0
u[b, t, i] = u[b, t-1, N-1-i] - 0.3 * u[b, t-1, i-1]
y = max(u[b = 0:B, i = 0:N])
output y
""",
    "vectors": """dim t < T
dim i < N
input x[i]: f32[2]
input e[t]: f32[2]
u[0, i] = x[i]
u[t, i] = e[t] when i == 0
u[t, i] = tanh(u[t-1, i-1]) + u[t-1, N-i] * e[t]
y = sum(u[i = 0:N], axis = 0)
output y
""",
    "integers, of which 64 bits are kept": """dim t < T
dim i < N
input x[i]: i64
u[0, i] = x[i]
u[t, i] = 2 * u[t-1, i] when i < 2
u[t, i] = u[t-1, i-1] + u[t-1, N-i]
y = sum(u[i = 0:N])
output y
""",
    "two fields": LINE
    + """u[0, i] = x[i]
v[0, i] = 1.0 - x[i]
u[t, i] = v[t-1, i] when i == 0
u[t, i] = u[t-1, 0] when i == N - 1
v[t, i] = u[t-1, 0] when i == 0
v[t, i] = e[t] when i == N - 1
u[t, i] = u[t-1, i] + 0.1 * (u[t-1, i-1] - u[t-1, i+1]) - u[t-1, i] * v[t-1, i]
v[t, i] = v[t-1, i] + 0.2 * (v[t-1, i-1] - v[t-1, i+1]) + u[t-1, i] * v[t-1, i]
y = sum(u[i = 0:N] * v[i = 0:N])
output y
""",
    "down in time": LINE
    + """u[T-1, i] = x[i]
u[t, i] = e[t] * u[t+1, N-1] when i == 0
u[t, i] = u[t+1, 0] when i == N - 1
u[t, i] = u[t+1, i+1] - 0.3 * u[t+1, i-1]
y = sum(u[i = 0:N])
output y
""",
}
APART = {
    "rims that read what is new": LINE
    + """u[0, i] = x[i]
u[t, i] = u[t, 1] * 0.5 when i == 0 and N > 1
u[t, i] = e[t] when i == 0
u[t, i] = u[t-1, N-i] - 0.3 * u[t-1, i-1]
y = sum(u[i = 0:N])
output y
""",
    "one after the other": LINE
    + """u[0, i] = x[i]
u[t, i] = e[t] when i == 0
u[t, i] = u[t-1, i] - 0.3 * u[t, i-1]
y = sum(u[i = 0:N])
output y
""",
}


def kernels(text: str) -> str:
    options = Options(level=2, verify_each=True)
    return Compilation(load_source(Source("m.rt", text)), options).emitted.kernels


@pytest.mark.parametrize("name", sampled([*JOINED, *APART], "more boxes", of=2))
def test_boxes_mean_the_same(name: str) -> None:
    text = (JOINED | APART)[name]
    names = [line[4:].split(" < ")[1] for line in text.split("\n") if line.startswith("dim ")]
    shapes = [(1, 1, 1), (2, 1, 2), (3, 2, 1), (4, 3, 3), (7, 5, 4)]
    agree(text, *(dict(zip(names, s, strict=False)) for s in shapes))


@pytest.mark.parametrize("name", JOINED)
def test_boxes_are_joined(name: str) -> None:
    assert re.search(r"joined(_row)?\(u, ", kernels(JOINED[name]))


@pytest.mark.parametrize("name", APART)
def test_what_depends_on_another_box_is_apart(name: str) -> None:
    assert "joined(" not in kernels(APART[name])


PATHS = """dim b < B
dim t < T
dim s < S
param x[b, t]: f32
u[b, t, s] = x when t == 0
u[b, t, s] = u[b, t-1, s] + x when s == 0
%su[b, t, s] = logsumexp(stack([u[b, t-1, s], u[b, t-1, s-%d]], 0)) + x
loss = sum(u[b = 0:B, t = T-1, s = S-1])
g = grad(loss, x)
output g
"""


def test_what_one_part_keeps_beside_whole_arrays_need_not_cover_its_own() -> None:
    assert "joined(u, u_boxes)" in kernels(PATHS % ("", 1))
    # Parts of an array, here of a ring, would be concatenations.
    assert "joined_row(u, " not in kernels(
        PATHS % ("u[b, t, s] = u[b, t-1, s] * u[b, t-1, s-1] + x when s == 1\n", 2)
    )


def test_a_joined_kernel_is_one_call() -> None:
    text = kernels(JOINED["a rod that remembers"])
    steps = text[text.index("def loop_t(") :]
    assert "u_boxes(" in steps and "u_3(" not in steps


def test_levels_without_a_device_loop_update_in_turn() -> None:
    agree(JOINED["a plate"], {"T": 4, "N": 3, "M": 4}, levels=(0, 1))
    options = Options(level=2, regions=False)
    text = Compilation(load_source(Source("m.rt", JOINED["a plate"])), options).emitted.kernels
    assert "joined(" not in text
