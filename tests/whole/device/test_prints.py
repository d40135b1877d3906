"""Prints in device loops: the same lines in the same order as from loops of the host."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import numpy as np
import pytest

from tempoc.base.cost_model import MODEL
from tempoc.cli.main import status
from tempoc.diagnostics.diagnostic import RunError
from tempoc.driver.reference import evaluate_given
from tempoc.program.analysis.traversal import regions, statements_in
from tempoc.program.nodes import nodes as prog
from tempoc.runtime.data.bindings import Given
from tempoc.runtime.data.source import as_sources
from tempoc.runtime.execution.machine import Machine
from tempoc.runtime.forecast.dry_run import forecast
from tempoc.runtime.load.load import LoadedProgram
from tempoc.runtime.run import Settings, run_given
from tests.support.agreement import compile_text, data, free_bounds
from tests.support.checkpoints import Lines, held_everywhere, short_calls
from tests.support.elaborated import graph_of
from tests.support.session.long import ends, sampled

LOOPS = "canonicalize,fuse"
"""Passes that leave all loops as they are."""

SEVERAL = """dim t < T
input x[t]: i32
a[0] = x[0]
a[t] = 3 * a[t-1] % 1000 + x[t] when t >= 1
b = a % 7
even = a % 2 == 0
pair = {a: a, b: [b, even]}
print a
print b when t % 3 == 1
print pair when t % 5 == 2
print even when t % 2 == 1 or t == 4
print t when t >= T - 2
output a
"""
LAYERS = """dim t < T
dim l < L = 3
input x[t]: i32
s[0, l] = x[0] + l
s[t, l] = (s[t-1, l] * 5 + (x[t] if l == 0 else s[t, max(l - 1, 0)])) % 1009 when t >= 1
print s[t, l] when (t + l) % 2 == 0
print s[t, 0]
output s
"""
INNER = """dim i < I
dim j < J
input x: i32
c[i, 0] = x + far[i]
c[i, j] = (c[i, j-1] * 7 + i) % 1013 when j >= 1
far[0] = 1
far[i] = c[i-1, J-1] when i >= 1
print c[i, j] when j % 3 != 1
print far[i]
output far
"""
OUTER = INNER.replace("print c[i, j] when j % 3 != 1\n", "print c[i, J-1] when i % 2 == 0\n")
UNTIL = """dim t < T until stop
input c0: i32
c[0] = c0 + 27
c[t+1] = where(c[t] % 2 == 0, c[t] // 2, 3 * c[t] + 1)
stop[t] = c[t] > 100
print c[t]
print stop[t] when t % 2 == 0
square[t] = c[t] * c[t]
print square when t >= 4
peak = max(c[0:T])
print peak
output peak
"""
EACH = """dim i < I
dim t < T until stop
input x[i]: i32
c[i, 0] = x[i] * x[i] + i
c[i, t+1] = c[i, t] * 2 + 1
stop = c[i, t] > 50
print c[i, t] when t % 2 == 0
total = sum(c[i, 0:T])
print total
output total
"""
BACK = """dim t < T
input x[t]: i32
g[T-1] = x[T-1]
g[t] = (x[t] + 3 * g[t+1]) % 1021 when t < T - 1
print g
print x when t % 2 == 0
output g
"""
TYPES = """dim t < T
input x[t]: f32[2, 3]
a[0] = x[0]
a[t] = tanh(a[t-1]) + x[t] when t >= 1
half = bf16(a[t][0])
positive = a > 0.0
print a
print half
print positive
print a[t][0, 1]
output a
"""
DATA = """dim i < I
dim t < T
input x[t]: i32
a[i, 0] = x[0] + i
a[i, t] = 3 * a[i, t-1] % 1000 + x[t] when t >= 1
far[0] = a[0, T-1]
far[i] = far[i-1] % 500 + a[i, T-1] when i >= 1
print "at", i, t, "it is", a[i, t], far[i] > 300 when t % 2 == 0 and a[i, t] % 3 != 1
print a[i, t], x when t >= 1 and a[i, t] > a[i, t-1] and a[i, t] % 2 == 0
print "large" when a[i, t] > 700
print "twice", 2 * far[i], "rows", a[i, 0:2] if T >= 2 else 0 when far[i] % 2 == 1
print far[i] when far[i] > 1000000
print "end"
output far
"""
LENGTH = """dim t < T until stop
input c0: i32
c[0] = c0 + 27
c[t+1] = where(c[t] % 2 == 0, c[t] // 2, 3 * c[t] + 1)
stop[t] = c[t] > 100
print "even", c[t] when c[t] % 2 == 0
print "peak", max(c[0:t+1]), "of", T, "steps" when stop[t]
output c[T-1] as last
"""
PROGRAMS = {
    "several": SEVERAL, "layers": LAYERS, "inner": INNER, "outer": OUTER, "until": UNTIL,
    "each": EACH, "back": BACK, "types": TYPES, "data": DATA, "length": LENGTH,
}  # fmt: skip


def given_for(text: str, size: int) -> tuple[Mapping[str, int], dict[str, np.ndarray]]:
    bounds = {b: size + k for k, b in enumerate(free_bounds(text))}
    return bounds, data(graph_of(text), bounds, False)


def printed(
    loaded: LoadedProgram, bounds: Mapping[str, int], inputs: Mapping[str, np.ndarray]
) -> list[tuple[str, ...]]:
    lines = Lines()
    names = {i.name for i in loaded.program.inputs}
    used = as_sources({n: x for n, x in inputs.items() if n in names})
    run_given(loaded, Given(bounds=bounds, inputs=used, params={}), Settings(show=lines))
    return lines.found


def collected(loaded: LoadedProgram) -> set[str]:
    """What is printed within regions."""
    found = (s for r in regions(loaded.program.tree) for s in statements_in(r.loop))
    return {place.name for s in found if isinstance(s, prog.Effect) for place in s.places}


@pytest.mark.parametrize("name", sampled(PROGRAMS, "more programs", of=2))
def test_lines_and_their_order(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """As from loops of the host, also if a region takes several calls; as the evaluator says."""
    text = PROGRAMS[name]
    host = compile_text(text, 2, LOOPS, regions=False)[1]
    graph, device = compile_text(text, 2, LOOPS)
    assert collected(device)
    for size in ends((1, 2, 3, 9)):
        bounds, inputs = given_for(text, size)
        wanted = printed(host, bounds, inputs)
        assert printed(device, bounds, inputs) == wanted
        if size > 1:
            with monkeypatch.context() as patch:
                short_calls(patch)
                assert printed(device, bounds, inputs) == wanted
        if name != "types":
            lines = Lines()
            given = Given(bounds=bounds, inputs=as_sources(inputs), params={})
            evaluate_given(graph, given, show=lines)
            assert sorted(lines.found) == sorted(wanted)


def test_a_print_at_no_point() -> None:
    """The layers after the first one are a loop of no steps."""
    text = LAYERS.replace("L = 3", "L = 1").replace("(t + l) % 2 == 0", "l % 3 == 1")
    bounds, inputs = given_for(text, 4)
    lines = printed(compile_text(text, 2, LOOPS)[1], bounds, inputs)
    assert [line[0] for line in lines] == [f"s[t={t}, l=0]" for t in range(4)]


def test_which_loop_is_the_region() -> None:
    """The inner one, if it prints unknown times in a step of the outer one."""
    for text, var in ((INNER, "j"), (OUTER, "i"), (LAYERS, "t")):
        loops = [r.loop.var for r in regions(compile_text(text, 2, LOOPS)[1].program.tree)]
        assert var in loops, text


@pytest.mark.parametrize(
    "name", sampled(["several", "layers", "inner", "until", "each"], "more programs", of=2)
)
def test_each_line_once_after_a_checkpoint(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    short_calls(monkeypatch)
    text = PROGRAMS[name]
    loaded = compile_text(text, 2, LOOPS)[1]
    bounds, inputs = given_for(text, 7)
    given = Given(bounds=bounds, inputs=as_sources(inputs), params={})
    assert held_everywhere(loaded, given, tmp_path, monkeypatch, most=8) > 2


FAILS = """dim t < T
input x[t]: f32[5]
input n[t]: i32
a[0] = x[0][0]
a[t] = 0.5 * a[t-1] + 1.0 when t >= 1
print a
c[0] = x[0][0]
c[t] = c[t-1] + x[t][n[t]] when t >= 1
print c
twice = c * 2.0
print twice when t % 2 == 0
output c
"""


@pytest.mark.parametrize("wrong", [1, 6, 70, 99])
def test_lines_before_what_fails(wrong: int) -> None:
    n = np.zeros(100, np.int32)
    n[[wrong, 99]] = 5
    inputs = {"x": np.ones((100, 5), np.float32), "n": n}
    given = Given(bounds={}, inputs=as_sources(inputs), params={})
    found = []
    for on_device in (False, True):
        loaded = compile_text(FAILS, 2, LOOPS, regions=on_device)[1]
        assert bool(collected(loaded)) == on_device
        lines = Lines()
        with pytest.raises(RunError) as error:
            run_given(loaded, given, Settings(show=lines))
        found.append((str(error.value), lines.found))
    assert f"t = {wrong}" in found[0][0]
    assert found[1] == found[0]
    assert len(found[0][1]) >= 2 * wrong


RAISES = """dim t < T
input x: i32
a[0] = x
a[t] = (3 * a[t-1] + 1) % 1000 when t >= 1
print a when t % 2 == 0
extern host end(a: i32) -> (b: i32) from "failing_end:end"
b = end(a[T-1])
print b
output b
"""


def test_lines_before_a_python_function_raises(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("failing_end.py").write_text("def end(a):\n    raise ValueError(a)\n")
    Path("m.rt").write_text(RAISES)
    np.save("x.npy", np.int32(1))
    assert status(["compile", "m.rt", "--passes", LOOPS, "-o", "out"]) == 0
    assert status(["run", "out", "--bounds", "T=9", "--input", "x=x.npy"]) == 1
    lines = capsys.readouterr().err.splitlines()
    assert [line.split(" =")[0] for line in lines[:5]] == [f"a[t={t}]" for t in range(0, 9, 2)]
    assert "error[" in lines[5]


def test_lines_of_the_last_call_come_after_an_interrupt(monkeypatch: pytest.MonkeyPatch) -> None:
    """Ctrl-C is noticed while the run waits for a call."""
    short_calls(monkeypatch)
    calls: list[range] = []

    def returned(self: Machine, region: prog.Region, steps: range, *rest: object) -> None:
        calls.append(steps)
        if len(calls) == 3:
            raise KeyboardInterrupt

    monkeypatch.setattr(Machine, "region_returned", returned)
    loaded = compile_text(SEVERAL, 2, LOOPS)[1]
    bounds, inputs = given_for(SEVERAL, 20)
    lines = Lines()
    given = Given(bounds=bounds, inputs=as_sources(inputs), params={})
    with pytest.raises(KeyboardInterrupt):
        run_given(loaded, given, Settings(show=lines))
    points = [line[0] for line in lines.found if line[0].startswith("a[")]
    assert points[-1] == f"a[t={calls[-1][-1]}]"


LONG = """dim t < T
input x: i32
a[0] = x
a[t] = (3 * a[t-1] + 1) % 1000 when t >= 1
print a when t % 100 == 0
b = f32(a) * ones([200])
print b when t % 1000 == 1
output a[T-1] as last
"""


def test_the_report_on_memory_has_the_buffers(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("m.rt").write_text(LONG)
    assert status(["explain", "m.rt", "--passes", LOOPS, "--memory"]) == 0
    report = capsys.readouterr().out
    for store, shape in (
        ("print.a.steps", "i32[4096]"),
        ("print.a.rows", "i32[4096]"),
        ("print.b.rows", "f32[81, 200]"),
    ):
        assert [line for line in report.splitlines() if store in line and shape in line], report


def test_a_long_loop_holds_a_fixed_number_of_lines(monkeypatch: pytest.MonkeyPatch) -> None:
    loaded = compile_text(LONG, 2, LOOPS)[1]
    (region,) = regions(loaded.program.tree)
    row = 4 * 200
    assert region.most == MODEL.collected_bytes // row
    counts: list[int] = []
    steps_of = Machine.region_steps

    def region_steps(self: Machine, *args: object) -> int:
        counts.append(steps_of(self, *args))  # type: ignore[arg-type]
        return counts[-1]

    monkeypatch.setattr(Machine, "region_steps", region_steps)
    lines = printed(loaded, {"T": 5003}, {"x": np.int32(1)})
    assert len(lines) == 51 + 6
    assert sum(counts) == 5002 or sum(counts) == 5003
    assert max(counts) <= region.most
    peaks = {forecast(loaded.program, {"T": T}, frozenset(["x"])).peak for T in (300, 100_000)}
    assert len(peaks) == 1
    rows = 8 * MODEL.collected_lines + region.most * (4 + row)
    settings = Settings(show=Lines(), account=True)
    result = run_given(
        loaded, Given(bounds={"T": 300}, inputs=as_sources({"x": np.int32(1)}), params={}), settings
    )
    assert {result.peak_bytes} == peaks and rows < result.peak_bytes < rows + 2048
