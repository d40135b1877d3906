"""Points whose loops have lengths of their own, in lockstep: against the evaluator."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from tests.support.agree import compilation
from tests.support.session.long import examples, sampled
from tests.whole.until.until_runs import Agreeing

ROOTS = """dim i < I
dim k < K until stop
input a[i]: f32
input ends[i, k]: bool
x[i, 0] = a
x[i, k+1] = 0.5 * (x + a / x)
y = x * x + k
stop[i, k] = ends
root[i] = x[i, K-1]
last[i] = y[i, K-1] + ends[i, K-1]
n[i] = K
more[i] = 2 * K - 1
odd[i] = where(K > 2, 1.0, x[i, 0])
output root, last, n, more, odd
"""
SUMS = """dim i < I
dim k < K until stop
input a[i]: f32
input ends[i, k]: bool
x[i, 0] = a
x[i, k+1] = a / (x - 1)
stop[i, k] = ends
total[i] = sum(x[i, 0:K])
squares[i] = sum(x[i, 0:K] ** 2)
most[i] = max(abs(x[i, 0:K] - a[i]))
pairs[i] = x[i, 0:K] @ ones([K])
output total, squares, most, pairs
"""
BACKWARDS = """dim i < I
dim k < K until stop
input a[i]: f32
input ends[i, k]: bool
x[i, 0] = a
x[i, k+1] = 0.5 * (x + a / x)
w[i, k] = x * x + k
stop[i, k] = ends
root[i] = x[i, K-1]
g = grad(root, a)
y[i, k] = 3.0 * w + a when k == K-1
y[i, k] = 0.5 * y[i, k+1] + w when k < K-1
z[i] = y[i, 0]
s[i] = sum(y[i, 0:K])
last[i] = y[i, K-1]
output g, z, s, last
"""
EPISODES = """dim t < T
dim i < I
dim k < K until stop
input a[i]: f32
input ends[t, i, k]: bool
s[0, i] = a
s[t+1, i] = after
after[t, i] = x[t, i, K-1]
x[t, i, 0] = s
x[t, i, k+1] = 0.5 * x + i + t
stop[t, i, k] = ends
n[t, i] = K
output s, n
"""
NESTED = """dim i < I
dim t < T until ended
dim k < K until stop
input a[i]: f32
input ends[i, t, k]: bool
input overs[i, t]: bool
s[i, 0] = a
s[i, t+1] = after
after[i, t] = x[i, t, K-1] + K
x[i, t, 0] = s
x[i, t, k+1] = 0.5 * x + i
stop[i, t, k] = ends
ended[i, t] = overs
last[i] = s[i, T-1]
n[i] = T
total[i] = sum(s[i, 0:T])
output last, n, total
"""
PROGRAMS = {
    "roots": ROOTS,
    "sums": SUMS,
    "backwards": BACKWARDS,
    "episodes": EPISODES,
    "nested": NESTED,
}


def ending(random: np.random.Generator, shape: tuple[int, ...], often: float) -> np.ndarray:
    return random.random(shape) < often


BOUNDS = [(1, 1, 0.5), (3, 3, 0.0), (3, 7, 0.3), (1, 3, 0.0), (1, 7, 0.3), (3, 1, 0.5)]
"""So many points, of so many steps, of which each is the last one so often."""


@pytest.mark.parametrize("name", sampled(PROGRAMS, "more programs", of=2))
def test_each_ends_where_it_ends(name: str, tmp_path: Path) -> None:
    random = np.random.default_rng(0)
    program = Agreeing(PROGRAMS[name], tmp_path, levels=(2,))
    for points, steps, often in BOUNDS[: examples(3, long=6)]:
        bounds = {"I": points, "K": steps}
        if name in ("episodes", "nested"):
            bounds["T"] = 3
        sizes = {"a": [points], "ends": [points, steps]}
        if name == "episodes":
            sizes["ends"] = [3, points, steps]
        if name == "nested":
            sizes |= {"ends": [points, 3, steps], "overs": [points, 3]}
        inputs = {
            key: ending(random, tuple(shape), often)
            if key != "a"
            else random.uniform(1.5, 4, tuple(shape)).astype(np.float32)
            for key, shape in sizes.items()
        }
        program(bounds, inputs)


@pytest.mark.parametrize("name", ["roots", "sums", "backwards"])
def test_no_length_differs_any_more(name: str) -> None:
    universe = compilation(PROGRAMS[name], 2).optimized.universe
    assert all("i" not in b.outer for b in universe.bounds)
