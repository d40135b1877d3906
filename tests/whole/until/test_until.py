"""`dim t < T until stop`: the length is found out by the data, and means it everywhere."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from tempoc.diagnostics.diagnostic import DiagnosticError, RunError
from tempoc.diagnostics.source import Source
from tempoc.driver.compilation import Compilation
from tempoc.driver.options import Options
from tempoc.frontend.syntax.load_modules import load_source
from tempoc.memory.text import kind
from tempoc.runtime.run import run
from tempoc.symbolic.text import show
from tests.support.agree import compiled
from tests.support.elaborated import graph_of
from tests.support.session.long import examples
from tests.whole.until.until_runs import Agreeing

COLLATZ = """dim t < T until stop
input c0: i32
c[0] = c0
c[t+1] = where(c[t] % 2 == 0, c[t] // 2, 3 * c[t] + 1)
stop[t] = c[t] == 1
peak = max(c[0:T])
total = sum(c[0:T])
length = T
output c, peak, total, c[T-1] as last, length
"""


def collatz(c: int, most: int) -> list[int]:
    found = [c]
    while found[-1] != 1 and len(found) < most:
        c = c // 2 if c % 2 == 0 else 3 * c + 1
        found.append(c)
    return found


def test_collatz(tmp_path: Path) -> None:
    program = Agreeing(COLLATZ, tmp_path)
    for start, most in ((1, 1), (1, 9), (27, 200), (7, 9), (6, 9), (6, 8), (2, 1)):
        found, wanted = program({"T": most}, {"c0": np.int32(start)}), collatz(start, most)
        assert found["c"].tolist() == wanted
        assert (found["peak"], found["total"], found["last"], found["length"]) == (
            max(wanted), sum(wanted), wanted[-1], len(wanted),
        )  # fmt: skip
        assert program.lengths == {"T": len(wanted)}


def test_newton(tmp_path: Path) -> None:
    text = """dim t < T = 30 until near
    input a: f32
    x[0] = a
    x[t+1] = 0.5 * (x[t] + a / x[t])
    err[t] = abs(x[t] * x[t] - a) / a
    near = err < 1e-5
    steps = T - 1
    output x[T-1] as root, steps, err[T-1] as off
    """
    program = Agreeing(text, tmp_path)
    for a in (1.0, 2.0, 1e4):
        x, steps = np.float32(a), 0
        while abs(x * x - np.float32(a)) / np.float32(a) >= 1e-5:
            x, steps = np.float32(0.5) * (x + np.float32(a) / x), steps + 1
        found = program({}, {"a": np.float32(a)})
        np.testing.assert_allclose(found["root"], np.sqrt(a), rtol=1e-4)
        assert found["steps"] == steps


def test_a_register_holds_the_last_state() -> None:
    """Only the end is wanted, so one slot is enough though nobody knows which step that is."""
    text = """dim t < T until near
    input a: f32
    x[0] = a
    x[t+1] = 0.5 * (x[t] + a / x[t])
    near[t] = abs(x[t] * x[t] - a) < 1e-5
    output x[T-1] as root
    """
    plan = Compilation(load_source(Source("m.rt", text)), Options()).plan
    assert kind(plan.stores["x"]) == "register"


WINDOWS = """dim t < T until done
dim n < N = (T + 3) // 4
dim u < T
input x[t]: f32
done[t] = sum(x[0:t+1]) > 2.0
g[t] = sum(x[t:min(t+3, T)])
back[T-1] = x[T-1]
back[t] = x[t] + 0.5 * back[t+1]
block[n] = sum(x[4*n:min(4*n+4, T)])
twice[u] = 2.0 * x[T-1-u]
centred = x - mean(x[0:T])
first[t] = f32(t) when t < T-1
first[t] = -1.0
output g, back, block, twice, centred, first, x[T-1] as last, block[N-1] as end
"""


def windows(x: np.ndarray) -> dict[str, np.ndarray]:
    sums = np.cumsum(x, dtype=np.float32)
    above = np.flatnonzero(sums > 2.0)
    x = x[: above[0] + 1] if len(above) else x
    n = len(x)
    back = np.zeros(n, np.float32)
    for t in reversed(range(n)):
        back[t] = x[t] + (0.5 * back[t + 1] if t + 1 < n else 0)
    return {
        "g": np.array([x[t : t + 3].sum() for t in range(n)]),
        "back": back,
        "block": np.array([x[4 * k : 4 * k + 4].sum() for k in range((n + 3) // 4)]),
        "twice": 2 * x[::-1],
        "centred": x - x.mean(),
        "first": np.array([*range(n - 1), -1.0]),
        "last": x[-1],
        "end": x[(n - 1) // 4 * 4 :].sum(),
    }


def test_everything_means_the_length(tmp_path: Path) -> None:
    program = Agreeing(WINDOWS, tmp_path)
    random = np.random.default_rng(0)
    sizes = [(1, 1.0), (9, 0.4), (6, 5.0), (7, 0.01), (2, 0.5), (12, 0.8)]
    for size, scale in sizes[: examples(4, long=6)]:
        x = (scale * random.random(size)).astype(np.float32)
        found = program({"T": size}, {"x": x})
        for name, value in windows(x).items():
            np.testing.assert_allclose(found[name], value, rtol=1e-5, atol=1e-6, err_msg=name)


BPTT = """const D = 3
dim t < T until done
param w: f32[D, D]
input x0: f32[D]
h[0] = x0
h[t+1] = tanh(w @ h[t])
done[t] = sum(abs(h[t])) < 0.5
loss = sum(h[T-1] ** 2) + mean(h[0:T])
dw = grad(loss, w)
dx = grad(loss, x0)
output loss, dw, dx
"""


def test_gradients_go_back_from_the_end(tmp_path: Path) -> None:
    jax = pytest.importorskip("jax")
    random = np.random.default_rng(1)
    w, x0 = (0.4 * random.normal(size=(3, 3))).astype(np.float32), np.ones(3, np.float32)
    program = Agreeing(BPTT, tmp_path, (0, 2))
    for most in (1, 40):
        h, n = x0, 1
        while np.abs(h).sum() >= 0.5 and n < most:
            h, n = np.tanh(w @ h), n + 1

        def loss(w: np.ndarray, h: np.ndarray, n: int = n) -> np.ndarray:
            states = [h]
            for _ in range(n - 1):
                states.append(jax.numpy.tanh(w @ states[-1]))
            return (states[-1] ** 2).sum() + jax.numpy.stack(states).mean()

        found = program({"T": most}, {"x0": x0}, {"w": w})
        np.testing.assert_allclose(found["loss"], loss(w, x0), rtol=1e-5)
        for name, wanted in zip(("dw", "dx"), jax.grad(loss, (0, 1))(w, x0), strict=True):
            np.testing.assert_allclose(found[name], wanted, rtol=1e-4, atol=1e-5, err_msg=name)


def test_a_random_end(tmp_path: Path) -> None:
    text = """dim t < T until stop
    u[t] = random.uniform([])
    stop[t] = u[t] < 0.2
    m = mean(u[0:T])
    output u, m
    """
    program = Agreeing(text, tmp_path)
    lengths = []
    for seed in range(4):
        u = program({"T": 12}, seed=seed)["u"]
        lengths.append(len(u))
        assert (u[:-1] >= 0.2).all() and (u[-1] < 0.2 or len(u) == 12)
    assert len({*lengths}) > 1


def test_given_ends(tmp_path: Path) -> None:
    """Two dimensions end for themselves, one by an input."""
    text = """dim t < T until stop
    dim k < K until full
    input stop[t]: bool
    input x[t, k]: i32
    full[k] = k == 2
    total = sum(x[0:T, 0:K])
    output total, x
    """
    program = Agreeing(text, tmp_path, (0, 2))
    x = np.arange(20, dtype=np.int32).reshape(4, 5)
    stop = np.array([False, True, True, False])
    found = program({"T": 4, "K": 5}, {"x": x, "stop": stop})
    assert found["total"] == x[:2, :3].sum() and found["x"].shape == (2, 3)
    found = program({"T": 4, "K": 2}, {"x": x[:, :2], "stop": np.zeros(4, np.bool_)})
    assert found["x"].shape == (4, 2)


EFFECTS = """# A host function decides, another one sees everything.
dim t < T until stop
extern host step(s: i32) -> (s2: i32, end: bool) from "MODULE:step"
s2, stop = step(s)
s[0] = 0
s[t+1] = s2[t]
print s[t] when t % 2 == 0
total = sum(s[0:T])
print total
save s[t] to "s-{t}.safetensors"
extern host all(s: i32[n]) -> (top: i32) from "MODULE_end:top"
top = all(s[0:T])
output s, top
"""
HOST = """
log = []

def step(s):
    log.append(int(s))
    return s + 1, bool(s == 4)

def top(s):
    log.append(s.tolist())
    return int(s.max())
"""


def test_nothing_happens_after_the_end(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.syspath_prepend(str(tmp_path))
    for level in (0, 2):
        name = f"until_host{level}"
        for module in (name, f"{name}_end"):
            (tmp_path / f"{module}.py").write_text(HOST, encoding="utf-8")
        out = compiled(EFFECTS.replace("MODULE", name), tmp_path, level)
        files = tmp_path / f"files{level}"
        files.mkdir()
        monkeypatch.chdir(files)
        found = run(out, {"T": 50}, extern_path=[tmp_path])
        assert found.outputs["s"].tolist() == [0, 1, 2, 3, 4]
        assert __import__(name).log == [0, 1, 2, 3, 4]
        assert __import__(f"{name}_end").log == [[0, 1, 2, 3, 4]]
        assert found.outputs["top"] == 4
        shown = capsys.readouterr().err
        assert shown.splitlines() == ["s[t=0] = 0", "s[t=2] = 2", "s[t=4] = 4", "total = 10"]
        assert sorted(p.name for p in files.iterdir()) == [f"s-{t}.safetensors" for t in range(5)]


def test_assumptions_hold_at_the_end(tmp_path: Path) -> None:
    text = """dim t < T until stop
    dim p < P
    dim s < S = T - P + 1
    assume P <= T
    input x[t]: f32
    stop[t] = x[t] > 1.0
    output x[P-1] as y
    """
    out = compiled(text, tmp_path)
    x = np.array([0, 0, 2, 0, 0], np.float32)
    assert run(out, {"P": 3}, {"x": x}).outputs["y"] == 2
    with pytest.raises(RunError) as caught:
        run(out, {"P": 4}, {"x": x})
    (problem,) = caught.value.diagnostics
    assert (problem.code, problem.notes) == ("RT517", ("T ended at 3",))
    with pytest.raises(RunError) as caught:
        run(out, {"P": 6}, {"x": x})
    assert [p.code for p in caught.value.diagnostics] == ["RT516"]


def test_what_follows_from_a_length_is_at_least_one(tmp_path: Path) -> None:
    text = """
    dim t < T until stop
    dim s < S = T - 1
    input x[t]: f32
    stop[t] = x[t] > 1.0
    y[s] = x[s+1]
    output y[S-1] as y
    """
    out = compiled(text, tmp_path)
    assert run(out, {}, {"x": np.array([0, 3, 2], np.float32)}).outputs["y"] == 3
    with pytest.raises(RunError) as caught:
        run(out, {}, {"x": np.array([2, 3, 2], np.float32)})
    (problem,) = caught.value.diagnostics
    assert (problem.code, problem.notes) == ("RT515", ("T ended at 1",))
    assert problem.message == "the derived bound S = T - 1 is 0, it must be >= 1"


def test_an_end_that_needs_the_length_is_a_cycle(tmp_path: Path) -> None:
    text = "dim t < T until stop\ninput x[t]: f32\nm = mean(x[0:T])\nstop[t] = x[t] > m\noutput m\n"
    with pytest.raises(DiagnosticError) as caught:
        compiled(text, tmp_path)
    (found,) = caught.value.diagnostics
    assert found.code == "RT400" and "m and stop need each other" in found.message
    assert any(note.startswith("T is known only when stop ends it") for note in found.notes)
    assert graph_of(text).universe.ended[0].until == "stop"


@pytest.mark.parametrize("level", [0, 1, 2])
@pytest.mark.parametrize(
    "stop", ["t > T - 3", "t == T - 1 or x > 0.0", "x > 1.0 if t < T - 1 else true"]
)
def test_an_end_that_names_its_own_length_needs_itself(
    stop: str, level: int, tmp_path: Path
) -> None:
    text = f"dim t < T until stop\ninput x[t]: f32\nstop[t] = {stop}\noutput stop\n"
    with pytest.raises(DiagnosticError) as caught:
        compiled(text, tmp_path, level)
    (found,) = caught.value.diagnostics
    assert found.code == "RT400" and "stop needs itself" in found.message
    assert any(note.startswith("T is known only when stop ends it") for note in found.notes)


BATCH = """dim b < B
dim t < T until stop
input w[b]: f32
c[0] = 1.0
c[t+1] = 0.5 * c[t]
stop[t] = c[t] < 0.1
y[b, t] = w[b] * c[t] + f32(b)
output y, y[0:B, T-1] as last
"""


def test_what_has_nothing_to_do_with_the_end_is_computed_at_once(tmp_path: Path) -> None:
    compilation = Compilation(load_source(Source("m.rt", BATCH)), Options(verify_each=True))
    assert "var='b'" not in str(compilation.tree) and "var='t'" in str(compilation.tree)
    program = Agreeing(BATCH, tmp_path)
    for B, T in ((1, 1), (3, 9), (2, 3)):
        program({"B": B, "T": T}, {"w": np.arange(B, dtype=np.float32)})
        assert program.lengths == {"T": min(T, 5)}


def test_all_points_of_another_dimension_at_once(tmp_path: Path) -> None:
    """Their kernel has room for the largest length."""
    text = """dim i < I until stop
    dim k < K
    input x[i, k]: f32
    input w[i]: f32
    stop = w > 0.8
    y = sum(x[0:i, k])
    output y
    """
    program = Agreeing(text, tmp_path)
    for w in ([0.9], [0.1, 0.1, 0.9, 0.1], [0.1, 0.1]):
        x = np.arange(3 * len(w), dtype=np.float32).reshape(len(w), 3)
        found = program({"I": len(w), "K": 3}, {"w": np.array(w, np.float32), "x": x})
        length = program.lengths["I"]
        np.testing.assert_array_equal(found["y"], (x.cumsum(0) - x)[:length])


def test_numbers_wait_for_the_length_too(tmp_path: Path) -> None:
    """A branch of a single number, which is there only if the length turns out to be 1."""
    text = """dim i < I until stop
    input x[i]: f32
    input w[i]: f32
    stop = w > 0.2
    y[i] = 0.5 * w[i] - x[i] when i < I - 1
    y[i] = x[i] * (w[i] if i >= 1 else 2.0)
    output y
    """
    program = Agreeing(text, tmp_path)
    for w in ([0.9, 0.1], [0.1, 0.9], [0.1, 0.1, 0.1]):
        given = {"x": np.ones(len(w), np.float32), "w": np.array(w, np.float32)}
        program({"I": len(w)}, given)


def test_branches_that_take_turns_at_points_have_an_order(tmp_path: Path) -> None:
    """Neither `tanh(x)` nor a number waits for a step at which its branch is taken."""
    text = """dim s < S until stop
    dim i < I
    input x[i]: f32
    u[0, i] = x
    v[s, i] = u + tanh(x) when i % 2 == s % 2
    v[s, i] = u * 0.5
    u[s+1, i] = v
    stop[s] = sum(v[s, 0:I]) < 2.0
    y[i] = v[S-1, i]
    output y
    """
    wheres = {n.name: show(n.domain.where) for n in graph_of(text).nodes.values()}
    assert wheres["v.tanh"] == wheres["v.literal"] == "true"
    program = Agreeing(text, tmp_path, levels=(0, 2))
    x = np.array([0.5, 0.25, 1.0], np.float32)
    for i, length in ((3, 2), (1, 1)):
        program({"S": 5, "I": i}, {"x": x[:i]})
        assert program.lengths["S"] == length
