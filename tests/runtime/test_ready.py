"""Programs that are called often give what runs give, and look at what is given as they do."""

from __future__ import annotations

import sys
import threading
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest

from tempoc.diagnostics.diagnostic import RunError
from tempoc.diagnostics.source import Source
from tempoc.driver.compilation import Compilation
from tempoc.driver.options import Options
from tempoc.frontend.syntax.load_modules import load_source
from tempoc.runtime import ready as readily
from tempoc.runtime.device import backend
from tempoc.runtime.load.load import load
from tempoc.runtime.ready import ready
from tempoc.runtime.run import run, run_given
from tests.runtime.programs import RNN, RNN_KERNELS, SCAN, SCAN_KERNELS, SUMS, SUMS_KERNELS, write

ALL = """
dim t < T
input x[t]: f32[2]
input n: i64
param w: f32[2, 2]
y[0] = w @ x[0] + random.uniform([2])
y[t] = w @ y[t-1] + x[t] when t >= 1
z = x[0] * 2.0
m = n * n
output y, z, m, w as weights, x as same
"""
FEW = """
dim t < T
input a[t]: f32
input b[t]: f32
y[0] = a[0]
y[t] = y[t-1] * b[t] + a[t] when t >= 1
output y
"""
random = np.random.default_rng(0)


@pytest.fixture
def runs(monkeypatch):
    """What looks at everything, as often as it does."""
    made = []

    def counted(*args):
        made.append(args)
        return run_given(*args)

    monkeypatch.setattr(readily, "run_given", counted)
    return made


def compiled(folder: Path, text: str) -> Path:
    Compilation(load_source(Source("m.rt", text)), Options()).write(folder / "out")
    return folder / "out"


def drawn(*shape: int) -> np.ndarray:
    return random.normal(size=shape).astype(np.float32)


def same(found, wanted):
    assert list(found) == list(wanted)
    for name, value in wanted.items():
        np.testing.assert_array_equal(found[name], value)


ROOTS = """
dim i < I
dim k < K until stop
input a[i]: f32
x[i, 0] = a
x[i, k+1] = 0.5 * (x + a / x)
stop[i, k] = abs(x * x - a) < 1e-5 * a
root[i] = x[i, K-1]
steps[i] = K
output root, steps
"""


def test_lengths_that_stay_on_the_device(tmp_path, runs):
    directory = compiled(tmp_path, ROOTS)
    step = ready(directory, {"K": 20})
    for scale in (1, 100, 1e-3, 1):
        a = scale * (1 + np.arange(5, dtype=np.float32))
        wanted = run(directory, {"K": 20}, {"a": a})
        same(step({"a": a}), wanted.outputs)
        assert wanted.bounds["K"] == max(wanted.outputs["steps"]) < 20
    assert len(runs) == 1


CALM = """
dim p < P until done
dim k < K until calm
input a: f32[3]
goal[0] = a
goal[p+1] = 0.5 * reached
x[p, 0] = ones([3])
x[p, k+1] = 0.5 * (x + goal / x)
calm[p, k] = max(abs(x * x - goal)) < 1e-3
reached[p] = x[p, K-1]
done = max(reached) < 0.9
output reached[P-1] as last, P as rounds
"""


def test_lengths_in_steps_of_a_loop_that_the_data_end(tmp_path, runs):
    """Nothing in a step asks again whether the step exists."""
    directory = compiled(tmp_path, CALM)
    step = ready(directory, {"P": 9, "K": 20})
    for scale in (1, 100, 3, 1):
        a = scale * (1 + np.arange(3, dtype=np.float32))
        wanted = run(directory, {"P": 9, "K": 20}, {"a": a})
        same(step({"a": a}), wanted.outputs)
        assert wanted.bounds["P"] == wanted.outputs["rounds"] < 9
    assert len(runs) == 1
    assert "= taken_if(" not in (directory / "kernels.py").read_text()


HALVES = """
dim k < K until stop
input a: f32
x[0] = a
x[k+1] = 0.5 * x
stop = x < 1.0
output x[K//2] as middle, K as steps
"""


def test_lengths_that_mostly_end_early(tmp_path, runs):
    """The loop may take long, and is one call until it has taken longer than such a call may."""
    step = ready(compiled(tmp_path, HALVES), {"K": 10**6})
    for a, count in ((9.0, 1), (1000.0, 1), (3.0, 1), (np.inf, 2), (9.0, 3)):
        steps = 10**6 if a == np.inf else 1 + int(np.log2(a) + 1)
        found = step({"a": np.float32(a)})
        middle = a if a == np.inf else a * 0.5 ** (steps // 2)
        assert found["steps"] == steps and found["middle"] == middle
        assert len(runs) == count and (step.repeated is None) == (count > 1)


PICKED = """
dim b < B
input at[b]: i32
input x: f32[5]
y = x[at]
output y
"""


def test_places_are_checked_in_each_call(tmp_path, runs):
    step = ready(compiled(tmp_path, PICKED))
    x = drawn(5)
    for at, count in (([0, 4], 1), ([1, 1], 1), ([2, 7], 2), ([-5, 3], 2)):
        given = {"x": x, "at": np.array(at, np.int32)}
        if max(at) < 5:
            same(step(given), {"y": x[at]})
        else:
            with pytest.raises(RunError, match="7"):
                step(given)
        assert len(runs) == count


@pytest.mark.parametrize(
    ("program", "kernels", "counts"),
    [(SCAN, SCAN_KERNELS, (1, 1, 1, 2, 3, 3)), (RNN, RNN_KERNELS, (1, 2, 3, 4, 5, 6))],
    ids=["one call", "many"],
)
def test_by_hand(program, kernels, counts, tmp_path, runs):
    directory = write(tmp_path, program, kernels)
    w = drawn(3, 3)
    step = ready(directory, params={"net.W": w.copy()})
    for steps, count in zip((7, 7, 7, 4, 7, 7), counts, strict=True):
        x = drawn(steps, 3)
        same(step({"x": x}), run(directory, {}, {"x": x}, {"net.W": w}).outputs)
        assert len(runs) == count


def test_all_kinds_of_data(tmp_path, runs):
    directory = compiled(tmp_path, ALL)
    w = drawn(2, 2)
    step = ready(directory, params={"w": w}, seed=5)
    kept = w.copy()
    w[:] = 0  # what is given was taken over
    for k in range(4):
        x, n = drawn(5, 2), np.int64(3 * 10**9 + k)
        found = step({"x": x, "n": n})
        same(found, run(directory, {}, {"x": x, "n": n}, {"w": kept}, seed=5).outputs)
        assert not any(np.may_share_memory(value, x) for value in found.values())
    assert found["m"] == (3 * 10**9 + 3) ** 2
    assert len(runs) == 1


def test_params_that_are_left_to_defaults_are_named(tmp_path, capsys):
    text = "input x: f32\nparam w = {a: 2.0, b: 3.0}\ny = w.a * x + w.b\noutput y\n"
    directory = compiled(tmp_path, text)
    wrong, one = {"weights.a": np.float32(5)}, np.float32(1)
    note = "note: w.a, w.b are not in what is given, which holds weights.a: their defaults"
    assert ready(directory, params=wrong)({"x": one})["y"] == 5.0
    assert note in capsys.readouterr().err
    assert run(directory, {}, {"x": one}, wrong).outputs["y"] == 5.0
    assert note in capsys.readouterr().err
    ready(directory)({"x": one})
    assert not capsys.readouterr().err


def test_one_kernel(tmp_path, runs):
    directory = compiled(tmp_path, FEW)
    step = ready(directory, {"T": 6})
    a, b = drawn(6), drawn(6)
    for given in ({"a": a, "b": b}, {"b": b, "a": a}, {"a": a.tolist(), "b": b}, {"a": b, "b": b}):
        arrays = {name: np.asarray(value, np.float32) for name, value in given.items()}
        if any(isinstance(value, list) for value in given.values()):
            with pytest.raises(RunError, match="float64"):
                step(given)
            continue
        same(step(given), run(directory, {}, arrays).outputs)
    assert step.repeated is not None and len(runs) == 2  # the first and the wrong one


@pytest.mark.parametrize(
    "given",
    [
        {},
        {"x": np.zeros((7, 4), "f")},
        {"x": np.zeros((7, 3))},
        {"x": np.zeros((7, 3), ">f4"), "y": np.zeros(1)},
        {"y": np.zeros((7, 3), "f")},
        {"x": np.zeros((101, 3), "f")},
        {"x": None},
    ],
)
def test_what_is_wrong_is_said(given, tmp_path):
    directory = write(tmp_path, SCAN, SCAN_KERNELS)
    step = ready(directory, params={"net.W": drawn(3, 3)})
    for _ in range(3):
        step({"x": drawn(7, 3)})
        with pytest.raises(RunError) as found:
            step(given)
        with pytest.raises(RunError) as wanted:
            run(directory, {}, given, {"net.W": drawn(3, 3)})
        assert found.value.diagnostics == wanted.value.diagnostics


def test_byte_order(tmp_path):
    directory = write(tmp_path, SCAN, SCAN_KERNELS)
    step = ready(directory, params={"net.W": np.eye(3, dtype="f")})
    x = drawn(7, 3)
    wanted = run(directory, {}, {"x": x}, {"net.W": np.eye(3, dtype="f")}).outputs
    for given in (x, x.astype(">f4"), x, x[::-1][::-1], x.astype(">f4")):
        same(step({"x": given}), wanted)


def test_checks_hold_in_each_call(tmp_path):
    step = ready(write(tmp_path, SUMS, SUMS_KERNELS))
    for value in (1, 1, 3, 1):
        x = np.full((2, 40), value, np.int32)
        if value == 1:
            step({"x": x})
            continue
        with pytest.raises(RunError, match="larger than 50"):
            step({"x": x})


def test_what_fails_is_named(tmp_path, monkeypatch):
    step = ready(write(tmp_path, SCAN, SCAN_KERNELS), params={"net.W": np.eye(3, dtype="f")})
    x = drawn(4, 3)
    step({"x": x})
    step({"x": x})
    assert step.repeated is not None

    def failing(*arrays):
        raise readily.backend.DeviceError("out of everything")

    step.repeated.call.__globals__["kernel"] = failing
    with pytest.raises(RunError, match="out of everything") as error:
        step({"x": x})
    (problem,) = error.value.diagnostics
    assert "scan" in problem.message and problem.notes == ("it computes h[t] = ...",)


SUMS_SO_FAR = """
dim t < T
input first: f32
x[0] = first
x[t+1] = tanh(sum(x[0:t+1]) * FACTOR)
output x
"""


@pytest.fixture
def compiling(monkeypatch):
    """The kernels that are given to XLA, by name."""
    names = []
    compile_kernel = backend.compile_kernel

    def named(function, *rest):
        names.append(function.__name__)
        return compile_kernel(function, *rest)

    monkeypatch.setattr(backend, "compile_kernel", named)
    return names


def sums(first: np.float32, factor: float, steps: int) -> list[np.float32]:
    x = [first]
    for _ in range(steps - 1):
        x.append(np.tanh(np.sum(x, dtype=np.float32) * np.float32(factor)))
    return x


def sums_so_far(folder: Path, factor: float, steps: int) -> np.ndarray:
    x = sums(np.float32(0.5), factor, steps)
    found = ready(folder, {"T": steps})({"first": x[0]})["x"]
    np.testing.assert_allclose(found, x, rtol=1e-4)
    return found


@pytest.mark.usefixtures("each_its_own")
def test_programs_that_are_loaded_again_have_the_kernels_of_before(tmp_path, compiling):
    directory = compiled(tmp_path, SUMS_SO_FAR.replace("FACTOR", "0.1"))
    sums_so_far(directory, 0.1, 40)
    first = [*compiling]
    assert first
    for steps in (50, 33, 40, 60):
        sums_so_far(directory, 0.1, steps)
    assert compiling == first
    compiled(tmp_path, SUMS_SO_FAR.replace("FACTOR", "0.2"))
    sums_so_far(directory, 0.2, 40)
    assert len(compiling) == 2 * len(first)


def test_programs_without_functions_are_loaded_once(tmp_path, monkeypatch):
    module = ModuleType("scaling_for_ready")
    module.scaled = np.negative
    monkeypatch.setitem(sys.modules, module.__name__, module)
    once, calling = tmp_path / "once", tmp_path / "calling"
    directory = compiled(once, SUMS_SO_FAR.replace("FACTOR", "0.1"))
    loaded = load(directory)
    assert load(directory) is loaded
    assert load(compiled(once, SUMS_SO_FAR.replace("FACTOR", "0.2"))) is not loaded
    assert load(compiled(once, SUMS_SO_FAR.replace("FACTOR", "0.1"))) is loaded
    directory = compiled(calling, CALLED.format(module=module.__name__))
    assert load(directory) is not load(directory)


@pytest.mark.usefixtures("each_its_own")
def test_other_threads_have_kernels_of_their_own(tmp_path, compiling):
    directory = compiled(tmp_path, SUMS_SO_FAR.replace("FACTOR", "0.1"))
    sums_so_far(directory, 0.1, 40)
    first = [*compiling]
    here = ready(directory, {"T": 40})
    wanted, found = here({"first": np.float32(0.5)})["x"], []
    assert compiling == first
    there = ready(directory, {"T": 40})
    thread = threading.Thread(target=lambda: found.append(there({"first": np.float32(0.5)})["x"]))
    thread.start()
    thread.join()
    assert compiling == 2 * first
    found.append(there({"first": np.float32(0.5)})["x"])
    assert compiling == 2 * first
    np.testing.assert_array_equal(found, [wanted, wanted])


CALLED = """
extern jax scaled(x: f32) -> (y: f32) from "{module}:scaled"
input x: f32
y = scaled(x)
output y
"""


@pytest.mark.usefixtures("each_its_own")
def test_functions_of_the_user_are_traced_for_each_program(tmp_path, monkeypatch):
    module = ModuleType("scaling_for_ready")
    module.factor = 2.0
    module.scaled = lambda x: x * module.factor
    monkeypatch.setitem(sys.modules, module.__name__, module)
    directory = compiled(tmp_path, CALLED.format(module=module.__name__))
    for factor in (2.0, 3.0):
        module.factor = factor
        assert ready(directory)({"x": np.float32(1)})["y"] == factor


CALLED_BESIDE = """
extern jax scaled(x: f32) -> (y: f32) from "{module}:scaled"
dim t < T
input first: f32
x[0] = first
x[t+1] = tanh(sum(x[0:t+1]) * 0.1)
print x[T-1]
y[0] = x[T-1]
y[t+1] = scaled(y[t])
output x, y
"""


@pytest.mark.usefixtures("each_its_own")
def test_kernels_beside_those_that_call_functions_are_those_of_before(
    tmp_path, monkeypatch, compiling
):
    module = ModuleType("scaling_for_ready")
    module.scaled = lambda x: x * module.factor
    monkeypatch.setitem(sys.modules, module.__name__, module)
    directory = compiled(tmp_path, CALLED_BESIDE.format(module=module.__name__))
    named = [k.name for k in load(directory).program.kernels]
    calling = {n for n in named if n in load(directory).calling}
    assert calling and not calling.issuperset(named)
    first = np.float32(0.5)
    for factor, steps in ((0.5, 40), (2.0, 40), (0.25, 40), (0.5, 48), (0.25, 50), (0.25, 33)):
        before = {*compiling}
        compiling.clear()
        module.factor = factor
        found = ready(directory, {"T": steps})({"first": first})
        np.testing.assert_allclose(found["x"], sums(first, 0.1, steps), rtol=1e-4)
        np.testing.assert_allclose(
            found["y"], found["x"][-1] * np.float32(factor) ** np.arange(steps), rtol=1e-5
        )
        if steps != 40:
            assert {*compiling} & calling
        elif before:
            assert {*compiling} == before & calling
        else:
            assert not calling.issuperset(compiling)


WITH_THE_HOST = (
    SUMS_SO_FAR
    + """
extern host noted(v: f32) -> (w: f32) from "{module}:noted"
y = noted(x)
output y
"""
)


@pytest.mark.usefixtures("each_its_own")
def test_functions_of_the_host_are_no_part_of_kernels(tmp_path, monkeypatch, compiling):
    module = ModuleType("noting_for_ready")
    module.noted = lambda v: v * np.float32(module.factor)
    monkeypatch.setitem(sys.modules, module.__name__, module)
    text = WITH_THE_HOST.replace("FACTOR", "0.1").format(module=module.__name__)
    directory, first = compiled(tmp_path, text), np.float32(0.5)
    compilations = []
    for factor, steps in ((1.0, 40), (2.0, 40), (3.0, 50), (4.0, 33)):
        module.factor = factor
        found = ready(directory, {"T": steps})({"first": first})
        np.testing.assert_allclose(found["x"], sums(first, 0.1, steps), rtol=1e-4)
        np.testing.assert_array_equal(found["y"], found["x"] * np.float32(factor))
        compilations.append(len(compiling))
    assert compilations[0] and {*compilations} == {compilations[0]}
