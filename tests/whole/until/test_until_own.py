"""Lengths that a loop finds out in each of its steps, of which blocks tell how many are left."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from tempoc.base.cost_model import MODEL
from tempoc.codegen.regions import single_call
from tempoc.runtime.ready import ready
from tests.support.agree import compiled
from tests.support.session.long import examples
from tests.whole.until.until_runs import Agreeing

ROLLOUTS = """dim i < I
dim t < T until out
input noise[i, t]: f32
k[0] = 0.5
x[i, 0] = 1.0
x[i, t+1] = x - k[i] * x + noise
out = abs(x) > 2.0
cost[i] = sum((x * x)[t = 0:T])
k[i+1] = k + 0.01 * tanh(cost - 1.0)
output cost, k[0:I] as k
"""
RETURNS = """dim b < B
dim t < T until stop
input r[b, t]: f32
input stop[b, t]: bool
g[b, t] = r when t == T - 1
g[b, t] = r + 0.9 * g[b, t+1] when t < T - 1
first = g[b, 0]
m[b] = mean(g[t = 0:T])
output first, m
"""
NESTED = """dim i < I
dim t < T until large
dim s < S until fits
input noise[i, t, s]: f32
base[0] = 0.1
x[i, 0] = base[i]
tried = x[i, t] + noise
fits = tried > x[i, t]
x[i, t+1] = tried[s = S-1]
large = x > 2.0
steps[i] = sum((x * x)[t = 0:T])
base[i+1] = 0.1 * tanh(steps)
output steps, base[0:I] as base
"""
PICKED = """dim i < I
dim t < T until out
input step[i, t]: i32
input table: f32[4]
k[0] = 0.5
x[i, 0] = k[i]
x[i, t+1] = x + table[step]
out = x > 2.0
k[i+1] = x[t = T-1] - 2.0
output k[0:I] as k
"""
LAST = """dim g < G
dim k < K until calm
input first: f32[3]
input drop[g]: f32[3]
start[0] = first
start[g+1] = last[g]
u[g, 0] = start + drop
u[g, k+1] = 0.5 * u[g, k] + 0.01 * u[g, 0]
w[g, k] = u[g, k] * u[g, max(k-2, 0)]
calm = max(abs(u)) < 0.3
last = u[k = K-1] - 0.1 * w[k = K-1]
total = sum(sum(u, axis = 0)[k = 0:K])
final = last[G-1]
output total, final
"""
SUMMED_AT_ONE = """dim g < G
dim k < K until calm
input first: f32[3]
input drop[g]: f32[3]
start[0] = first
u[g, 0] = start + drop
u[g, k+1] = 0.5 * u[g, k] + 0.1 * tanh(u[g, k])
w[g, k] = u[g, 0] * 0.5 + 0.3 * u[g, 0]
calm = max(abs(u)) < 0.3
last = w[k = K//2] - 0.1 * u[k = max(K-3, 0)]
m = mean(w[k = 0:K], axis = 0)
v = last + 0.05 * u[k = K-1] + 0.01 * m
back[g, k] = w[g, K-1-k] * u[g, k]
bs = sum(back[k = 0:K])
start[g+1] = last[g]
final = v[G-1]
output last[G-1] as last, final, bs
"""
TABLE = [0.5, 1.0, 4.0, 0.25]


BOUNDS = [(3, 9), (3, 3), (1, 2), (3, 1), (1, 1), (1, 3), (1, 9), (3, 2)]


@pytest.mark.parametrize("text", [ROLLOUTS, RETURNS], ids=["rollouts", "returns"])
def test_all_bounds(text: str, tmp_path: Path) -> None:
    program = Agreeing(text, tmp_path, (0, 2) if text is ROLLOUTS else (1, 2))
    rng = np.random.default_rng(0)
    for count, most in BOUNDS[: examples(4, long=8)]:
        noise = rng.normal(size=(count, most)).astype(np.float32)
        if text is ROLLOUTS:
            program({"I": count, "T": most}, {"noise": noise})
        else:
            stop = rng.random((count, most)) < 0.3
            program({"B": count, "T": most}, {"r": noise, "stop": stop})


def test_a_length_within_a_length(tmp_path: Path) -> None:
    program = Agreeing(NESTED, tmp_path, (0, 2))
    rng = np.random.default_rng(1)
    for count, most, tries in ((1, 1, 1), (3, 5, 4)):
        noise = rng.normal(size=(count, most, tries)).astype(np.float32)
        program({"I": count, "T": most, "S": tries}, {"noise": noise})


def test_the_last_of_a_state_whose_lengths_vary(tmp_path: Path) -> None:
    program = Agreeing(LAST, tmp_path, (0, 2))
    rng = np.random.default_rng(3)
    for count, most in ((1, 2), (2, 1), (5, 9)):
        drop = rng.exponential(size=(count, 3)).astype(np.float32)
        program({"G": count, "K": most}, {"first": np.ones(3, np.float32), "drop": drop})
    drop[1, 0], drop[3, 1] = np.nan, np.inf
    for count, most in ((5, 9), (3, 3)):
        program({"G": count, "K": most}, {"first": np.ones(3, np.float32), "drop": drop[:count]})


def test_a_sum_over_the_length_of_one_point(tmp_path: Path) -> None:
    program = Agreeing(SUMMED_AT_ONE, tmp_path, (2,))
    drop = np.random.default_rng(106).exponential(size=(5, 3)).astype(np.float32)
    program({"G": 5, "K": 9}, {"first": np.ones(3, np.float32), "drop": drop})


def compiled_brief(text: str, folder: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """The directory of a program whose blocks are one call only if they are brief."""
    brief = MODEL._replace(block_calls=900, block_us=900)
    monkeypatch.setattr(single_call, "MODEL", brief)
    return compiled(f"# brief\n{text}", folder)


def noise_of(lengths: list[int], most: int) -> np.ndarray:
    """Noise that keeps each x near 0 until a step, at which it ends."""
    noise = np.zeros((len(lengths), most), np.float32)
    for i, n in enumerate(lengths):
        if n <= most:
            noise[i, n - 2 :] = 9.0
    return noise


def wanted(noise: np.ndarray) -> tuple[list[float], list[int]]:
    """The costs and the lengths of `ROLLOUTS`."""
    k, costs, lengths, n = 0.5, [], [], 0
    for row in noise:
        x, cost = 1.0, 0.0
        for n, w in enumerate(row, 1):  # noqa: B007
            cost += x * x
            if abs(x) > 2.0:
                break
            x += w - k * x
        costs.append(cost)
        lengths.append(n)
        k += 0.01 * np.tanh(cost - 1.0)
    return costs, lengths


@pytest.mark.parametrize(
    ("lengths", "one_call"),
    [
        ([2, 2, 2], True),
        ([200, 50, 3], True),
        ([280, 2, 2], True),
        ([400, 400, 401], False),
        ([2, 350, 3], False),
        ([3, 2, 350], False),
        ([401, 401, 401], False),
    ],
)
def test_one_call_unless_the_lengths_add_up_to_much(
    lengths: list[int], one_call: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    often = ready(compiled_brief(ROLLOUTS, tmp_path, monkeypatch), {"I": 3, "T": 400})
    for some in (lengths, [2, 3, 2], lengths):
        noise = noise_of(some, 400)
        costs, ends = wanted(noise)
        assert ends == [min(n, 400) for n in some]
        np.testing.assert_allclose(often({"noise": noise})["cost"], costs, rtol=1e-5)
        assert (often.repeated is not None) is one_call


def test_exactly_as_many_as_there_may_be(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Around the number of steps with which the attempt ends."""
    out = compiled_brief(ROLLOUTS, tmp_path, monkeypatch)
    one_call = []
    for n in range(280, 300):
        often = ready(out, {"I": 3, "T": 400})
        noise = noise_of([n, 2, 2], 400)
        for _ in range(2):
            costs = often({"noise": noise})["cost"]
            np.testing.assert_allclose(costs, wanted(noise)[0], rtol=1e-5)
        one_call.append(often.repeated is not None)
    assert one_call == sorted(one_call, reverse=True) and len({*one_call}) == 2


def test_a_check_beyond_what_is_left_is_no_fault(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    out = compiled_brief(PICKED, tmp_path, monkeypatch)
    often = ready(out, {"I": 3, "T": 400})
    for n in (3, 350, 3):
        step = np.zeros((3, 400), np.int32)
        step[:, :n] = 3
        step[:, 2] = 2
        step[0, 5:] = 77  # after its end
        if n == 350:
            step[1] = 1
        program_k = often({"step": step, "table": np.array(TABLE, np.float32)})["k"]
        k, ks = 0.5, []
        for row in step:
            ks.append(k)
            x = k
            for t, s in enumerate(row):
                if x > 2.0 or t == 399:
                    break
                x += TABLE[s]
            k = x - 2.0
        np.testing.assert_allclose(program_k, ks)
