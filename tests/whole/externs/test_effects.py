"""`print` and `save`, compiled at all levels and evaluated: the same lines, the same files."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from tempoc.diagnostics.diagnostic import RunError
from tempoc.diagnostics.source import Source
from tempoc.driver.compilation import Compilation
from tempoc.driver.options import Options
from tempoc.driver.reference import evaluate_given
from tempoc.frontend.syntax.load_modules import load_source
from tempoc.runtime.data.bindings import Given
from tempoc.runtime.data.files import open_bundle
from tempoc.runtime.data.source import as_sources
from tempoc.runtime.host.effects import EffectSink
from tempoc.runtime.load.load import load
from tempoc.runtime.run import Settings, run, run_given
from tempoc.sdg.text.text import show
from tempoc.sdg.verification.check import read_graph
from tests.support.agree import LEVELS, compiled
from tests.support.elaborated import graph_of
from tests.support.golden import Golden

TRAIN = """dim b < B
dim i < I
input x[b, i]: f32[3]
w[0] = zeros([3])
w[i+1] = 0.5 * w[i] + mean(x[0:B, i], axis = 0)
net[i] = {a: w[i], b: [x[0, i], 2]}
y = x @ w
loss = mean(y[b = 0:B])
output loss
save w[i] to "ckpt-{i}.safetensors" when (i + 1) % 3 == 0
save net[I-1] to "./deep//net.safetensors"
save y to "{b}/{i}.safetensors" when i < 2
print loss[i] when i % 4 == 0
print net[i-1] when i == 2
print w[0:i+1] when i <= 1
"""


def files(folder: Path) -> dict[str, dict[str, np.ndarray]]:
    found = sorted(p for p in folder.rglob("*.safetensors"))
    return {
        p.relative_to(folder).as_posix(): {n: s.read() for n, s in open_bundle(p).items()}
        for p in found
    }


def test_all_agree(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    x = np.random.default_rng(0).integers(-4, 4, (2, 7, 3)).astype(np.float32)
    given = Given(bounds={}, inputs=as_sources({"x": x}), params={})
    evaluate_given(graph_of(TRAIN), given, show=EffectSink(tmp_path / "eval"))
    written, printed = files(tmp_path / "eval"), capsys.readouterr().err
    for level in LEVELS:
        folder = tmp_path / f"run{level}"
        loaded = load(compiled(TRAIN, tmp_path, level))
        run_given(loaded, given, Settings(show=EffectSink(folder)))
        assert sorted(capsys.readouterr().err.splitlines()) == sorted(printed.splitlines())
        for name, tensors in files(folder).items():
            assert list(tensors) == list(written[name])
            for key, value in tensors.items():
                np.testing.assert_allclose(value, written[name][key], rtol=1e-6)
        assert list(files(folder)) == list(written)
    w = np.zeros((8, 3), np.float32)
    for i in range(7):
        w[i + 1] = 0.5 * w[i] + x[:, i].mean(axis=0)
    names = [f"{b}/{i}.safetensors" for b in range(2) for i in range(2)]
    names += ["ckpt-2.safetensors", "ckpt-5.safetensors", "deep/net.safetensors"]
    assert list(written) == names
    np.testing.assert_allclose(written["ckpt-5.safetensors"]["w"], w[5])
    assert list(written["deep/net.safetensors"]) == ["net.a", "net.b.0", "net.b.1"]
    shown = printed.splitlines()
    assert shown[0] == "loss[i=0] = 0.0"
    assert "net.b.1[i=1] = 2" in shown
    assert f"w[i=0:1] = {w[:1]}" in printed
    assert f"loss[i=4] = {np.float32((x[:, 4] @ w[4]).mean())}" in shown


def test_points_come_in_order_though_computed_backwards(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    text = """dim t < T
input x[t]: f32
g[T-1] = x[T-1]
g[t] = x[t] + g[t+1]
output g[0] as first
print g
print x
"""
    x = np.arange(3, dtype=np.float32)
    for level in LEVELS:
        run(compiled(text, tmp_path, level), {}, {"x": x})
        shown = capsys.readouterr().err.splitlines()
        for name, values in (("g", (3.0, 3.0, 2.0)), ("x", x)):
            wanted = [f"{name}[t={t}] = {value}" for t, value in enumerate(values)]
            assert [line for line in shown if line.startswith(name)] == wanted
        assert all(shown.index(f"g[t={t}] = {v}") < shown.index(f"x[t={t}] = {float(t)}")
                   for t, v in enumerate((3.0, 3.0, 2.0)))  # fmt: skip


def test_two_dimensions_in_the_order_of_loops(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    text = "dim a < A\ndim b < B\ny = a * 10 + b\noutput y\nprint y when a != b\n"
    for level in LEVELS:
        run(compiled(text, tmp_path, level), {"A": 3, "B": 2})
        shown = capsys.readouterr().err.splitlines()
        points = [(a, b) for a in range(3) for b in range(2) if a != b]
        assert shown == [f"y[a={a}, b={b}] = {a * 10 + b}" for a, b in points]


def test_nothing_is_saved_after_a_broken_promise(tmp_path: Path) -> None:
    text = """dim t < T
input j[t]: i32
input x[t]: f32
y = x[t = j in 0:T]
output y
save y to "y-{t}.safetensors"
"""
    given = {"j": np.array([1, 0, 7], np.int32), "x": np.zeros(3, np.float32)}
    loaded = load(compiled(text, tmp_path))
    settings = Settings(show=EffectSink(tmp_path / "files"))
    with pytest.raises(RunError, match="not in 0:T"):
        run_given(loaded, Given(bounds={}, inputs=as_sources(given), params={}), settings)
    assert "y-2.safetensors" not in files(tmp_path / "files")


def test_two_statements_that_save_one_file_are_told(tmp_path: Path) -> None:
    """Where two holes side by side leave it to the run what is a file's name."""
    text = """dim i < I
input x: f32
output x
y[i, j] = x + i + j
dim j < I
save y to "x-{i}{j}.safetensors"
save x to "x-11.safetensors"
"""
    loaded = load(compiled(text, tmp_path))
    given = Given(bounds={"I": 2}, inputs=as_sources({"x": np.float32(1)}), params={})
    with pytest.raises(RunError, match=r"x-11\.safetensors is saved twice"):
        run_given(loaded, given, Settings(show=EffectSink(tmp_path / "files")))


def test_effects_are_text_that_parses_back() -> None:
    graph = graph_of(TRAIN)
    again = read_graph(show(graph), "m.sdg")
    assert show(again, sources=False) == show(graph, sources=False)
    assert again.nodes["save.w"].op == graph.nodes["save.w"].op


def test_what_only_effects_need_is_computed() -> None:
    text = "dim i < I\ninput x[i]: f32\ny = x * 2.0\noutput x\nprint y\n"
    compilation = Compilation(load_source(Source("m.rt", text)), Options())
    assert "y" in compilation.optimized.nodes


LINES = """dim i < I
param net = {a: ones([3]), deep: [zeros([2]), {b: eye(2)}]}
w[i] = bf16(stack([0.1 * i, 2.0], 0))
x[i] = {p: sum(f32(w[i])), q: [i, i > 1]}
big[i] = f64(i) / 3.0
z[i] = {r: [f32(i), {s: f32(i)}]}
output big
print x[i] when i % 2 == 0
print w[i] when i == 1
print w[0:i+1] when i == 1
print w[I-1][0]
print w[i][0] when i == 1
print x[i].q[1] when i == 1
print x[i].p when i == 1
print net.deep[1]
print net.deep[0]
print net.a[0:2]
print big[i] when i == 1
print i when i == 2
print z[i].r[1].s when i == 1
print z[I-1].r[1]
"""


def test_lines(tmp_path: Path, capsys: pytest.CaptureFixture[str], golden: Golden) -> None:
    run(compiled(LINES, tmp_path), {"I": 3})
    lines = capsys.readouterr().err
    golden("externs/lines.txt", lines)
    evaluate_given(
        graph_of(LINES), Given(bounds={"I": 3}, inputs={}, params={}), show=EffectSink(tmp_path)
    )
    assert sorted(capsys.readouterr().err.splitlines()) == sorted(lines.splitlines())


ORDER = """dim i < I
dim t < T
input x[i, t]: f32
loss[i] = sum(x[i, 0:T])
late[i] = loss[I-1-i]
best = max(loss[0:I])
output loss
print best
print late
print x
print loss
print x * 2.0
save loss[i] to "{i}.safetensors"
""".replace("print x * 2.0", "y = x * 2.0\nprint y")


def test_all_over_the_same_dimensions_take_turns(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    x = np.arange(6, dtype=np.float32).reshape(2, 3)
    for level in LEVELS:
        loaded = load(compiled(ORDER, tmp_path, level))
        given = Given(bounds={}, inputs=as_sources({"x": x}), params={})
        run_given(loaded, given, Settings(show=EffectSink(tmp_path / f"files{level}")))
        shown = [line.partition(" =")[0] for line in capsys.readouterr().err.splitlines()]
        two = [f"{n}[i={i}, t={t}]" for i in range(2) for t in range(3) for n in "xy"]
        assert [line for line in shown if "t=" in line] == two
        one = [f"{n}[i={i}]" for i in range(2) for n in ("late", "loss")]
        assert [line for line in shown if "i=" in line and "t=" not in line] == one
        assert shown.count("best") == 1
