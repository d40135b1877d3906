"""`until` with a length for each point of other dimensions: episodes, each as long as it takes."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from tempoc.diagnostics.diagnostic import DiagnosticError
from tempoc.driver.reference import caller
from tempoc.runtime.run import run
from tempoc.sdg.evaluation.interpret import evaluate
from tests.support.agree import compilation, compiled
from tests.support.agreement import agree
from tests.support.elaborated import graph_of
from tests.support.session.long import examples
from tests.whole.until.test_until import collatz
from tests.whole.until.until_runs import Agreeing

MANY = """dim i < I
dim t < T until stop
dim n < N = (T + 3) // 4
input c0[i]: i32
c[i, 0] = c0[i]
c[i, t+1] = where(c[i, t] % 2 == 0, c[i, t] // 2, 3 * c[i, t] + 1)
stop = c == 1
peak = max(c[t = 0:T])
last = c[t = T-1]
length = T
before[0] = 0
before[i] = last[i-1] + c[i-1, 0] when i >= 1
block[i, n] = sum(c[i, 4*n:min(4*n+4, T)])
blocks = sum(block[n = 0:N])
ahead[i, t] = sum(c[i, t:min(t+2, T)])
most = max(ahead[t = 0:T])
again = (c[t = T-1])[i = I-1-i]
output peak, last, length, before, blocks, most, again, length[0] as first
"""


def test_each_has_its_length(tmp_path: Path) -> None:
    program = Agreeing(MANY, tmp_path)
    starts = [6, 1, 7, 3, 2]
    for most in (1, 9, 30, 2)[: examples(3, long=4)]:
        found = program({"T": most, "I": 5}, {"c0": np.array(starts, np.int32)})
        runs = [np.array(collatz(c, most)) for c in starts]
        before = [0, *(r[-1] + r[0] for r in runs[:-1])]
        ahead = [max(r[k : k + 2].sum() for k in range(len(r))) for r in runs]
        for name, wanted in {
            "peak": [r.max() for r in runs],
            "last": [r[-1] for r in runs],
            "length": [len(r) for r in runs],
            "before": before,
            "blocks": [r.sum() for r in runs],
            "most": ahead,
            "again": [r[-1] for r in reversed(runs)],
            "first": len(runs[0]),
        }.items():
            np.testing.assert_array_equal(found[name], wanted, err_msg=f"{name}, T = {most}")


CHOSEN = """dim i < I
dim t < T until stop
input c0[i]: i32
c[i, 0] = c0[i]
c[i, t+1] = c[i, t] + 2
stop = c > 6
before = c[t = c0 % (t+1) in 0:t+1]
found = sum(before[t = 0:T])
output found
"""


def test_data_choose_a_step() -> None:
    """The axis of the slice is that of steps alone, though a point of `i` decides how many."""
    found = evaluate(graph_of(CHOSEN), {"T": 9, "I": 3}, {"c0": np.array([1, 4, 7], np.int32)}, {})
    steps = [[c + 2 * k for k in range((7 - c + 1) // 2 + 1)] for c in (1, 4, 7)]
    wanted = [sum(row[row[0] % (t + 1)] for t in range(len(row))) for row in steps]
    assert found["found"].tolist() == wanted


DATA = """dim i < I
dim t < T until stop
dim n < N = (T + 1) // 2
input x[i, t]: f32
input z[i, n]: f32
stop = x > 0.5
y[i, t] = x[0, t] - x[I-1-i, t]
total = sum(y[t = 0:T]) + sum((z[0, n] * z)[n = 0:N])
last[i] = x[0, T-1] + max(x[I-1, 0:T])
output total, last
"""


def test_data_of_another_point_are_as_many_as_of_the_longest() -> None:
    """Read at another point they may lie behind the end of that one."""
    agree(DATA, {"I": 1, "T": 1}, {"I": 3, "T": 6})


EPISODES = """import rl
dim i < I
dim t < T until done
param start: f32[2]
input noise[i, t]: f32
w[0] = start
w[i+1] = w[i] - 0.1 * dw[i]
s[i, 0] = f32(i) * 0.1
s[i, t+1] = s[i, t] + 0.3 * a[i, t]
mu = tanh(w[i][0] * s + w[i][1])
a = stop_gradient(mu) + noise
r = -abs(s - 0.5)
done = s > 0.6
g = stop_gradient(rl.discounted_sum(r[t = t:T], 0.9) + rl.discounted_sum(r[t = t:min(t+3, T)], 0.9))
loss = mean(((a - mu) ** 2 * g)[t = 0:T])
dw = grad(loss, w)
length = T
output loss, w, length
"""


def test_learning_from_episodes(tmp_path: Path) -> None:
    jax = pytest.importorskip("jax")
    noise = np.random.default_rng(0).normal(size=(4, 12)).astype(np.float32)
    start = np.array([0.5, 0.2], np.float32)
    program = Agreeing(EPISODES, tmp_path, levels=(2,))
    found = program({"I": 4, "T": 12}, {"noise": noise}, {"start": start})
    w, lengths = start, []
    for i in range(4):
        states, actions = [np.float32(0.1 * i)], []
        while True:
            actions.append(np.tanh(w[0] * states[-1] + w[1]) + noise[i, len(actions)])
            if states[-1] > 0.6 or len(states) == 12:
                break
            states.append(states[-1] + 0.3 * actions[-1])
        s, a = np.array(states, np.float32), np.array(actions, np.float32)
        r, n = -np.abs(s - 0.5), len(s)
        g = np.array([
            sum(0.9**k * x for k, x in enumerate(r[t:]))
            + sum(0.9**k * x for k, x in enumerate(r[t : t + 3]))
            for t in range(n)
        ], np.float32)  # fmt: skip

        def loss(w, s=s, a=a, g=g):
            return ((a - jax.numpy.tanh(w[0] * s + w[1])) ** 2 * g).mean()

        lengths.append(n)
        np.testing.assert_allclose(found["loss"][i], loss(w), rtol=1e-4)
        np.testing.assert_allclose(found["w"][i], w, rtol=1e-4, atol=1e-5)
        w = w - 0.1 * np.asarray(jax.grad(loss)(w))
    assert found["length"].tolist() == lengths and len({*lengths}) > 1


FIRST = """dim i < I
dim t < T until stop
input x[i, t]: f32
h[0, 0] = x[0, 0]
h[i, 0] = last[i-1] + x[i, 0] when i >= 1
h[i, t] = 0.5 * h[i, t-1] + x when t >= 1
stop = x > 0.5
last = h[t = T-1]
output last
"""


def test_one_point_begins_them_all() -> None:
    """The first point of all is there whatever the lengths, which are those of other points."""
    x = np.random.default_rng(1).uniform(-1, 1, (4, 6)).astype(np.float32)
    optimized = compilation(FIRST, 2).optimized
    for most in (1, 2, 6):
        found, h = [], 0.0
        for row in x[:, :most]:
            h += row[0]
            for k, value in enumerate(row):
                h = 0.5 * h + value if k else h
                if value > 0.5:
                    break
            found.append(h)
        bounds, given = {"I": 4, "T": most}, {"x": x[:, :most]}
        for graph in (graph_of(FIRST), optimized):
            np.testing.assert_allclose(evaluate(graph, bounds, given, {})["last"], found, rtol=1e-5)


CALLS = """dim i < I
dim t < T until stop
extern host reset(i: i32) -> (s: i32) from "MODULE:reset"
extern host step(i: i32, s: i32) -> (s2: i32, end: bool) from "MODULE:step"
s[i, 0] = reset(i)
s[i, t+1] = s2[i, t]
s2, stop = step(i, s)
total = sum(s[t = 0:T])
print s[i, t] when t % 2 == 0
print total
save s[i, 0:T] to "s-{i}.safetensors"
output total
"""
PYTHON = """
log = []

def reset(i):
    log.append(("reset", int(i)))
    return int(i) * 10

def step(i, s):
    log.append(("step", int(i), int(s)))
    return s + 1, bool(s % 10 == (3 * i + 1) % 5)
"""


def test_calls_and_lines_of_each(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    lengths = [2, 5, 3]
    monkeypatch.syspath_prepend(str(tmp_path))
    wanted = []
    for i, n in enumerate(lengths):
        wanted += [("reset", i), *(("step", i, 10 * i + k) for k in range(n))]
    for level in (0, 2):
        name = f"until_each{level}"
        (tmp_path / f"{name}.py").write_text(PYTHON, encoding="utf-8")
        text = CALLS.replace("MODULE", name)
        out = compiled(text, tmp_path, level)
        files = tmp_path / f"files{level}"
        files.mkdir()
        monkeypatch.chdir(files)
        found = run(out, {"I": 3, "T": 9}, extern_path=[tmp_path])
        module = __import__(name)
        assert module.log == wanted
        totals = [sum(10 * i + k for k in range(n)) for i, n in enumerate(lengths)]
        assert found.outputs["total"].tolist() == totals
        assert found.lengths == {}
        lines = capsys.readouterr().err.splitlines()
        assert [x for x in lines if x.startswith("total")] == [
            f"total[i={i}] = {t}" for i, t in enumerate(totals)
        ]
        assert [x for x in lines if x.startswith("s[")] == [
            f"s[i={i}, t={k}] = {10 * i + k}" for i, n in enumerate(lengths) for k in range(0, n, 2)
        ]
        assert len(list(files.iterdir())) == 3
        module.log.clear()
        graph = graph_of(text)
        externs = caller(graph, {"I": 3, "T": 9}, [str(tmp_path)])
        again = evaluate(graph, {"I": 3, "T": 9}, {}, {}, externs=externs)
        assert module.log == wanted and again["total"].tolist() == totals


INSIDE = """dim i < I
dim t < T until stop
input c0[i]: i32
def run(x, dim t) {
  doubled[t] = 2 * x
  sums[0] = x[t = 0]
  sums[t] = sums[t-1] + doubled[t//2] + doubled[T-1-t] when t >= 1
  return sums
}
c[i, 0] = c0[i]
c[i, t+1] = c + i + 1
stop = c > 6
found = run(c, t)
last = found[t = T-1]
output last
"""


def test_a_function_carries_what_lengths_vary_with(tmp_path: Path) -> None:
    """Its own tensors over steps have the dimension that it does not name, too."""
    program = Agreeing(INSIDE, tmp_path)
    starts = [6, 1, 8]
    found = program({"T": 9, "I": 3}, {"c0": np.array(starts, np.int32)})
    wanted = []
    for i, c in enumerate(starts):
        x = [c]
        while x[-1] <= 6:
            x.append(x[-1] + i + 1)
        wanted.append(x[0] + sum(2 * x[t // 2] + 2 * x[-1 - t] for t in range(1, len(x))))
    assert found["last"].tolist() == wanted


UNREAD = """dim b < B
dim i < I
dim k < K until stop
input x[b]: f32[3]
input n[b]: i32
input s[b, i]: f32
p[b] = put(x, n, 2.0)
h[b, i, k] = tanh(0.5 * h[b, i, k-1] + p) when k >= 2
h[b, i, k] = x
stop[b, i, k] = s + f32(k) > 2.0
o[b, i] = h[b, i, K-1]
output o
"""


def test_positions_count_where_a_loop_is_long_enough(tmp_path: Path) -> None:
    program = Agreeing(UNREAD, tmp_path, (0, 2))
    x, n = np.ones((2, 3), np.float32), np.array([1, 7], np.int32)
    starts = np.array([[-5, 2, -6], [3, 3, 1.5]], np.float32)
    bounds = {"K": 9, "B": 2, "I": 3}
    program(bounds, {"x": x, "n": n, "s": starts})
    starts[1, 2] = -3
    for folder in program.folders.values():
        with pytest.raises(DiagnosticError, match="index 7 is out of range"):
            run(folder, bounds, {"x": x, "n": n, "s": starts})
