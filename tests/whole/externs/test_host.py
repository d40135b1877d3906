"""`extern host`: called once for each point, in the order of plain loops, by everyone."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from tempoc.diagnostics.diagnostic import DiagnosticError
from tempoc.diagnostics.render import render
from tempoc.driver.compilation import Compilation
from tempoc.driver.options import Options
from tempoc.driver.reference import caller
from tempoc.runtime.run import run
from tempoc.sdg.evaluation.interpret import evaluate
from tests.support.agree import LEVELS

PYTHON = """
import numpy as np

log = []
kept = np.zeros(2, np.float32)


def reset(i):
    log.append(("reset", int(i)))
    return np.full(2, i, np.float32)


def step(s, a):
    # An environment that gives the same buffer again and again.
    log.append(("step", len(log)))
    kept[:] = 0.5 * s + a
    s[:] = 99.0
    return kept, float(kept[0]), bool(a > 0)


def once():
    log.append(("once", 0))
    return np.int32(len(log))
"""

PROGRAM = """
dim i < I
dim t < T
extern host reset(i: i32) -> (s: f32[2]) from "MODULE:reset"
extern host step(s: f32[n], a: f32) -> (s2: f32[n], r: f32, done: bool) from "MODULE:step"
extern host once() -> (k: i32) from "MODULE:once"
input a[i, t]: f32
s0[i] = reset(i)
s2, r, done = step(s, a)
s[i, 0] = s0[i]
s[i, t+1] = s2[i, t]
k = once()
total = sum(r[0:I, 0:T])
output s, done, total, k
"""


def numpy(a: np.ndarray) -> dict[str, np.ndarray]:
    s = np.zeros((*a.shape, 2), np.float32)
    total = 0.0
    for i in range(a.shape[0]):
        now = np.full(2, i, np.float32)
        for t in range(a.shape[1]):
            s[i, t] = now
            now = np.float32(0.5) * now + a[i, t]
            total += now[0]
    return {"s": s, "done": a > 0, "total": np.float32(total), "k": np.int32(1)}


def expected_log(count: int, steps: int) -> list[tuple[str, int]]:
    log: list[tuple[str, int]] = [("once", 0)]
    for i in range(count):
        log.append(("reset", i))
        log += [("step", len(log) + n) for n in range(steps)]
    return log


def test_calls_run_once_and_in_order(tmp_path: Path) -> None:
    (tmp_path / "host_env.py").write_text(PYTHON)
    path = tmp_path / "model.rt"
    path.write_text(PROGRAM.replace("MODULE", "host_env"))
    bounds = {"I": 2, "T": 3}
    a = np.random.default_rng(0).normal(size=(2, 3)).astype(np.float32)
    wanted = numpy(a)
    graph = Compilation.from_path(str(path), Options()).graph
    externs = caller(graph, bounds, [str(tmp_path)])
    found = evaluate(graph, bounds, {"a": a}, {}, externs=externs)
    import host_env  # type: ignore[import-not-found]

    assert host_env.log == expected_log(2, 3)
    for name, value in wanted.items():
        np.testing.assert_allclose(found[name], value, rtol=1e-5)
    for level in LEVELS:
        host_env.log.clear()
        out = tmp_path / f"out{level}"
        options = Options(level=level, verify_each=True)
        Compilation.from_path(str(path), options).write(str(out))
        results = run(out, bounds, {"a": a}).outputs
        assert host_env.log == expected_log(2, 3), level
        for name, value in wanted.items():
            np.testing.assert_allclose(results[name], value, rtol=1e-5)


def test_calls_happen_though_nobody_reads_them(tmp_path: Path) -> None:
    text = """
dim i < I
dim t < T
extern host f(x: f32) -> (y: f32) from "host_dead:f"
input x[t]: f32
z = x + 1.0
y[i, t] = f(x[t]) when t >= 1
output z
"""
    (tmp_path / "host_dead.py").write_text(
        "seen = []\n\n\ndef f(x):\n    seen.append(float(x))\n    return x\n"
    )
    path = tmp_path / "model.rt"
    path.write_text(text)
    for level in LEVELS:
        out = tmp_path / f"out{level}"
        Compilation.from_path(str(path), Options(level=level, verify_each=True)).write(str(out))
        run(out, {"I": 2, "T": 3}, {"x": np.arange(3, dtype=np.float32)})
        import host_dead  # type: ignore[import-not-found]

        assert host_dead.seen == [1.0, 2.0, 1.0, 2.0]
        host_dead.seen.clear()


def test_a_cycle_through_the_order_is_told(tmp_path: Path, golden) -> None:
    text = """
dim b < B
dim i < I
extern host play(w: f32) -> (r: f32) from "m:play"

w[0] = 1.0
w[i+1] = w[i] + sum(q[0:B, i])
q[b, i] = play(w[i])
output w
"""
    golden("externs/order.txt", refusal(text, tmp_path))


def refusal(text: str, folder: Path) -> str:
    """What is said of a program that has no order."""
    path = folder / "m.rt"
    path.write_text(text)
    with pytest.raises(DiagnosticError) as error:
        _ = Compilation.from_path(str(path), Options()).tree
    return "\n".join(render(d) for d in error.value.diagnostics).replace(str(folder), "DIR")


def test_a_call_that_comes_before_what_it_needs_is_told_where_to_go(tmp_path: Path, golden) -> None:
    text = """
dim b < B
dim t < T
extern host play(w: f32) -> (r: f32) from "m:play"
extern host note(w: f32) -> () from "m:note"

w[b, 0] = 1.0
w[b, t+1] = play(w[b, t])
_[b] = note(w[b, T-1])
output w
"""
    golden("externs/early.txt", refusal(text, tmp_path))
    late = text.replace("_[b]", "_[b, t]").replace("T-1])", "T-1]) when t == T - 1")
    (tmp_path / "m.rt").write_text(late)
    assert Compilation.from_path(str(tmp_path / "m.rt"), Options()).tree


def test_one_call_for_a_whole_dimension(tmp_path: Path) -> None:
    text = """
dim b < B
dim t < T
extern host step(s: f32[2], a: f32) -> (s2: f32[2], n: i32) from "host_over:step" over b
input a[t]: f32
s2, n = step(s, a + b)
s[b, 0] = 0.0 * ones([2])
s[b, t+1] = s2[b, t]
w[0] = 0
w[t+1] = w[t] + sum(n[0:B, t])
output s, n, w
"""
    (tmp_path / "host_over.py").write_text(
        "import numpy as np\n\nseen = []\n\n\ndef step(s, a):\n"
        "    seen.append((s.shape, a.shape))\n"
        "    return s + a[:, None], np.full(len(a), len(seen), np.int32)\n"
    )
    path = tmp_path / "model.rt"
    path.write_text(text)
    a = np.arange(3, dtype=np.float32)
    bounds = {"B": 2, "T": 3}
    graph = Compilation.from_path(str(path), Options()).graph
    externs = caller(graph, bounds, [str(tmp_path)])
    wanted = evaluate(graph, bounds, {"a": a}, {}, externs=externs)
    import host_over  # type: ignore[import-not-found]

    assert host_over.seen == [((2, 2), (2,))] * 3
    np.testing.assert_array_equal(wanted["n"], [[1, 2, 3]] * 2)
    np.testing.assert_array_equal(wanted["s"][1, :, 0], [0, 1, 3])
    for level in LEVELS:
        host_over.seen.clear()
        out = tmp_path / f"out{level}"
        Compilation.from_path(str(path), Options(level=level, verify_each=True)).write(str(out))
        results = run(out, bounds, {"a": a}).outputs
        assert host_over.seen == [((2, 2), (2,))] * 3
        for name, value in wanted.items():
            np.testing.assert_array_equal(results[name], value)
