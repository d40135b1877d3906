"""Programs that are called again and again: files, misuse, threads, and whose arrays are whose."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import jax
import numpy as np
import pytest

from tempoc.diagnostics.diagnostic import RunError
from tempoc.driver.compilation import Compilation
from tempoc.driver.options import Options
from tempoc.runtime.data.files import open_bundle
from tempoc.runtime.ready import Ready, ready
from tempoc.runtime.run import run
from tests.support.functions import laid_out

SUMS = """
dim t < T
input x[t]: f32[2]
param w: f32[2] = 2.0 * ones([2])
s[0] = x[0] * w
s[t] = s[t-1] + x[t] * w when t >= 1
output s, x as same, w as weights
"""
SAVED = SUMS + 'save s[t] to "sums/s-{t}.safetensors"\n'
CALLED = (
    SUMS + 'extern host note(v: f32[2]) -> (r: f32) from "rc_note:note"\nn = note(s)\noutput n\n'
)


def compiled(folder: Path, text: str, files: Mapping[str, str] | None = None) -> Path:
    path = laid_out(folder, {"main.rt": text, **(files or {})})
    Compilation.from_path(str(path), Options()).write(str(folder / "out"))
    return folder / "out"


def data(steps: int = 3, seed: int = 0) -> np.ndarray[Any, Any]:
    return np.random.default_rng(seed).normal(size=(steps, 2)).astype(np.float32)


def right(step: Ready, x: np.ndarray[Any, Any]) -> bool:
    """Whether the program still computes what it is for."""
    wanted = np.cumsum(x * np.float32(2), 0)
    return np.allclose(step({"x": x})["s"], wanted, rtol=1e-5, atol=1e-6)


def saved(folder: Path) -> list[Any]:
    paths = sorted((folder / "sums").iterdir())
    assert [p.name for p in paths] == [f"s-{t}.safetensors" for t in range(len(paths))]
    return [open_bundle(p)["s"].read() for p in paths]


def test_each_call_saves(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    out = compiled(tmp_path, SAVED)
    step = ready(out, output_dir=tmp_path / "a")
    for seed in range(3):
        result = step({"x": data(seed=seed)})
        np.testing.assert_array_equal(saved(tmp_path / "a"), result["s"])
    other = step({"x": data(seed=7)}, output_dir=tmp_path / "b")
    np.testing.assert_array_equal(saved(tmp_path / "b"), other["s"])
    np.testing.assert_array_equal(saved(tmp_path / "a"), result["s"])
    monkeypatch.chdir(tmp_path)
    result = ready(out)({"x": data()})
    np.testing.assert_array_equal(saved(tmp_path), result["s"])
    again = run(out, {}, {"x": data(seed=2)}, output_dir=tmp_path / "c").outputs
    np.testing.assert_array_equal(saved(tmp_path / "c"), again["s"])


def test_files_of_one_call_have_different_names(tmp_path: Path) -> None:
    twice = (
        'dim k < K = 2\nz[t, k] = k * x\nsave z to "z-{t}{k}.safetensors"\n'
        'save x[0] to "z-11.safetensors"\n'
    )
    step = ready(compiled(tmp_path, SUMS + twice), output_dir=tmp_path)
    for _ in range(2):
        with pytest.raises(RunError, match="RT554"):
            step({"x": data()})


class Raising:
    def __array__(self, *args: object, **named: object) -> None:
        raise RuntimeError("no array here")


MISUSES = {
    "no dict": (data(), "RT526: each input is given by its name in a dict, not in an object of"),
    "nothing": (None, "RT526"),
    "pairs": ([("x", data())], "RT526"),
    "a number as name": ({1: data()}, "RT527: the name of each input is a string, not 1"),
    "another name": ({"X": data()}, "RT520"),
    "one too many": ({"x": data(), "y": data()}, "RT521"),
    "float64": ({"x": data().astype(float)}, "RT522"),
    "numbers": ({"x": data().tolist()}, "RT522"),
    "ragged": ({"x": [[1.0], [1.0, 2.0]]}, "RT528: the input x is no array"),
    "masked": ({"x": np.ma.array(data(), mask=True)}, "RT528: the input x is no array: masked"),
    "raises": ({"x": Raising()}, "RT528: the input x is no array: no array here"),
    "objects": ({"x": np.array([[None, 1]])}, "RT522"),
    "another shape": ({"x": data()[:, :1]}, "RT524"),
    "too few axes": ({"x": data()[0]}, "RT523"),
    "no steps": ({"x": data(0)}, "RT513"),
}


@pytest.mark.parametrize("text", [SUMS, SAVED], ids=["one kernel", "with files"])
def test_misuse_is_told_and_does_no_harm(text: str, tmp_path: Path) -> None:
    step = ready(compiled(tmp_path, text), output_dir=tmp_path)
    for count in range(3):  # before, and after the fast path is known
        for name, (inputs, says) in MISUSES.items():
            with pytest.raises(RunError, match=says) as error:
                step(inputs)  # type: ignore[arg-type]
            assert error.value.diagnostics, name
        with pytest.raises(RunError, match="RT526"):
            step(data(), data())  # type: ignore[arg-type]
        assert right(step, data(3 + count // 2))


def test_misuse_of_ready_itself_is_told(tmp_path: Path) -> None:
    out = compiled(tmp_path, SUMS)
    with pytest.raises(RunError, match="RT526: each bound is given by its name"):
        ready(out, bounds=[3])  # type: ignore[arg-type]
    with pytest.raises(RunError, match="RT526: each param is given by its name"):
        ready(out, params=np.zeros(2))  # type: ignore[arg-type]
    with pytest.raises(RunError, match="RT528: the param w is no array"):
        ready(out, params={"w": [[1.0], 2.0]})
    for bound in ("a", 2.5, 0, -1, None, np.zeros(2), 2**31):
        with pytest.raises(RunError, match="RT513"):
            ready(out, bounds={"T": bound})({"x": data()})
    for seed in (-1, 2**64, 1.0, "1", None, np.zeros(2)):
        with pytest.raises(RunError, match="RT525"):
            ready(out, seed=seed)({"x": data()})  # type: ignore[arg-type]


def test_calls_within_functions_that_jax_traces_are_refused(tmp_path: Path) -> None:
    out = compiled(tmp_path, SUMS)
    for step in (ready(out), ready(out, on_device=True)):
        for _ in range(3):  # the third is a call of the kernel alone

            def call(x: Any, step: Ready = step) -> Any:
                return step({"x": x})["s"]

            with pytest.raises(RunError, match="RT565"):
                jax.jit(call)(data())
            with pytest.raises(RunError, match="RT565"):
                jax.vmap(call)(data()[None])
            with pytest.raises(RunError, match="RT565"):
                jax.grad(lambda x, call=call: call(x).sum())(data())
            assert right(step, data())
    with pytest.raises(RunError, match="RT565"):
        jax.jit(lambda x: run(out, {}, {"x": x}))(data())


def test_nothing_traced_is_kept(tmp_path: Path) -> None:
    step = ready(compiled(tmp_path, SUMS), on_device=True)
    with pytest.raises(RunError, match="RT565"):
        jax.jit(lambda y: step({"x": data()})["s"] + y)(1.0)
    assert right(step, data())


def test_a_failed_call_does_no_harm(tmp_path: Path) -> None:
    python = "fails = False\ndef note(v):\n    assert not fails\n    return v[0]\n"
    out = compiled(tmp_path, CALLED, {"rc_note.py": python})
    step = ready(out)
    for _ in range(2):
        assert right(step, data())
        sys.modules["rc_note"].fails = True  # type: ignore[attr-defined]
        with pytest.raises(RunError, match=r"RT573: note \(rc_note:note\) raised AssertionError"):
            step({"x": data(4)})
        sys.modules["rc_note"].fails = False  # type: ignore[attr-defined]
    assert right(step, data(4))


def test_a_program_does_not_call_itself(tmp_path: Path) -> None:
    python = (
        "again = None\ndef note(v):\n    if again is not None:\n        again()\n    return v[0]\n"
    )
    out = compiled(tmp_path, CALLED.replace("rc_note", "rc_self"), {"rc_self.py": python})
    step, other = ready(out), ready(compiled(tmp_path / "other", SUMS))
    assert right(step, data())
    module = sys.modules["rc_self"]
    module.again = lambda: step({"x": data(4)})  # type: ignore[attr-defined]
    with pytest.raises(RunError, match="RT573") as error:
        step({"x": data()})
    assert "RT559: the program is called by a Python function that it calls" in str(
        error.value.diagnostics[0]
    )
    module.again = lambda: other({"x": data(4)})  # type: ignore[attr-defined]
    assert right(step, data())


@pytest.mark.parametrize("text", [SUMS, CALLED.replace("rc_note", "rc_many")])
def test_threads(text: str, tmp_path: Path) -> None:
    python = "def note(v):\n    return v[0]\n"
    step = ready(compiled(tmp_path, text, {"rc_many.py": python}))
    with ThreadPoolExecutor(8) as pool:
        calls = [pool.submit(right, step, data(2 + k % 3, k)) for k in range(24)]
        assert all(call.result() for call in calls)


@pytest.mark.parametrize("text", [SUMS, SAVED], ids=["one kernel", "with files"])
def test_arrays_are_those_of_the_caller(text: str, tmp_path: Path) -> None:
    step = ready(compiled(tmp_path, text), output_dir=tmp_path)
    inputs = [data(seed=k) for k in range(5)]
    wanted = [x.copy() for x in inputs]
    results = [step({"x": x}) for x in inputs]
    before = [{name: value.copy() for name, value in r.items()} for r in results]
    for x, copy in zip(inputs, wanted, strict=True):
        np.testing.assert_array_equal(x, copy)
        x[:] = -1
    step({"x": inputs[0]})
    for result, values in zip(results, before, strict=True):
        for name, value in values.items():
            np.testing.assert_array_equal(result[name], value, err_msg=name)
