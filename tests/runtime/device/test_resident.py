"""Arrays that are on the device already are taken from there, and outputs can stay there."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from tempoc.diagnostics.diagnostic import RunError
from tempoc.diagnostics.source import Source
from tempoc.driver.compilation import Compilation
from tempoc.driver.options import Options
from tempoc.frontend.syntax.load_modules import load_source
from tempoc.runtime.device import backend, resident
from tempoc.runtime.ready import ready
from tempoc.runtime.run import run

RECURRENCE = """
dim b < B
dim t < T
input x[b, t]: f32[3]
param w: f32[3, 3]
h[b, 0] = x[b, 0]
h[b, t+1] = tanh(h[b, t] @ w + x[b, t+1])
last[b] = h[b, T-1]
output h, last, h[0:B, T-1] as end, x as same, w as weights
"""
IN_PLACE = """
dim t < T
input x[t]: f32
input start: f32[4]
s[0] = start
s[t+1] = 0.5 * s + x
output s[T-1] as s
"""
KEYED = """
extern host double(x: f32[2]) -> (twice: f32[2]) from "double:double"
dim t < T
input x[t]: f32[2]
y = double(x)
z = y[T-1] + x[0]
output y, z, y[T-1] as end
"""
DOUBLE = "def double(x):\n    return 2 * x\n"
random = np.random.default_rng(0)


def compiled(folder: Path, text: str) -> Path:
    Compilation(load_source(Source("m.rt", text)), Options()).write(folder / "out")
    return folder / "out"


def drawn(*shape: int) -> np.ndarray:
    return random.normal(size=shape).astype(np.float32)


@pytest.fixture
def on_host(monkeypatch: pytest.MonkeyPatch) -> list[tuple[int, ...]]:
    """The shapes of arrays that are taken from the host to the device, or to the host."""
    moved = []
    for name in ("put", "put_all", "host", "hosts"):
        function = getattr(backend, name)

        def noted(arrays, *rest, function=function):
            moved.append(getattr(arrays, "shape", None) or [a.shape for a in arrays])
            return function(arrays, *rest)

        monkeypatch.setattr(backend, name, noted)
    return moved


class Foreign:
    """A tensor of another library on an accelerator, as DLPack shows it.

    We are told so; JAX, which asks after us, hears that it is on the CPU.
    """

    def __init__(self, array: np.ndarray) -> None:
        self.array = jnp.asarray(array)
        self.devices = itertools.cycle([(2, 0), self.array.__dlpack_device__()])

    def __dlpack_device__(self) -> tuple[int, int]:
        return next(self.devices)

    def __dlpack__(self, **how: object) -> object:
        return self.array.__dlpack__(**how)


class Exchanged:
    """A tensor of another library in host memory that offers nothing but DLPack."""

    def __init__(self, array: np.ndarray) -> None:
        self.array = array

    def __dlpack_device__(self) -> tuple[int, int]:
        return self.array.__dlpack_device__()

    def __dlpack__(self, **how: object) -> object:
        return self.array.__dlpack__(**how)


@pytest.mark.parametrize("given", [np.asarray, jnp.asarray, Foreign, Exchanged])
@pytest.mark.parametrize("stays", [False, True])
def test_a_program_of_kernels(
    given: Callable[[np.ndarray], object], stays: bool, tmp_path: Path
) -> None:
    directory = compiled(tmp_path, RECURRENCE)
    w = drawn(3, 3)
    step = ready(directory, params={"w": given(w)}, on_device=stays)
    for size in (5, 5, 5, 2, 1, 5):
        x = drawn(2, size, 3)
        wanted = run(directory, {}, {"x": x}, {"w": w}).outputs
        outputs = step({"x": given(x)})
        assert list(outputs) == list(wanted)
        for name, value in outputs.items():
            assert isinstance(value, jax.Array if stays else np.ndarray)
            np.testing.assert_array_equal(value, wanted[name])
        again = run(directory, {}, {"x": given(x)}, {"w": given(w)}).outputs
        for name, value in again.items():
            np.testing.assert_array_equal(value, wanted[name])


def test_nothing_goes_through_the_host(tmp_path: Path, on_host: list[tuple[int, ...]]) -> None:
    directory = compiled(tmp_path, RECURRENCE)
    step = ready(directory, params={"w": jnp.asarray(drawn(3, 3))}, on_device=True)
    x = jnp.asarray(drawn(2, 5, 3))
    for _ in range(3):
        h = step({"x": x})["h"]
        x = h + 1
    assert all(shape == (1,) or shape == (2,) for shape in on_host)  # coordinates


def test_what_is_given_is_not_overwritten(tmp_path: Path) -> None:
    directory = compiled(tmp_path, IN_PLACE)
    step = ready(directory, on_device=True)
    x, start = jnp.asarray(drawn(9)), jnp.asarray(drawn(4))
    kept = np.array(start)
    first = step({"x": x, "start": start})["s"]
    for _ in range(3):
        np.testing.assert_array_equal(step({"x": x, "start": start})["s"], first)
        np.testing.assert_array_equal(start, kept)
        np.testing.assert_array_equal(
            run(directory, {}, {"x": x, "start": start}).outputs["s"], first
        )


def test_host_arrays_may_change_after_a_call(tmp_path: Path) -> None:
    directory = compiled(tmp_path, RECURRENCE)
    w = drawn(3, 3)
    step = ready(directory, params={"w": w}, on_device=True)
    for _ in range(4):
        x = drawn(64, 128, 3)
        wanted = run(directory, {}, {"x": x}, {"w": w}).outputs
        outputs = step({"x": x})
        x[:] = 7
        for name, value in outputs.items():
            np.testing.assert_array_equal(value, wanted[name])


def test_cells_by_key(tmp_path: Path) -> None:
    (tmp_path / "double.py").write_text(DOUBLE)
    directory = compiled(tmp_path, KEYED)
    step = ready(directory, extern_path=[tmp_path], on_device=True)
    for size in (4, 2, 1, 4):
        x = drawn(size, 2)
        outputs = step({"x": jnp.asarray(x)})
        assert all(isinstance(value, jax.Array) for value in outputs.values())
        np.testing.assert_array_equal(outputs["y"], 2 * x)
        np.testing.assert_array_equal(outputs["end"], 2 * x[-1])


def test_weak_types_do_not_change_what_is_computed(tmp_path: Path) -> None:
    directory = compiled(
        tmp_path, "input x: f32\ny = bf16(2.0) * bf16(x)\nz = x * 3.0\noutput y, z\n"
    )
    weak = jnp.asarray(1.0)
    assert weak.weak_type
    wanted = run(directory, {}, {"x": np.float32(1)}).outputs
    outputs = ready(directory, on_device=True)({"x": weak})
    for name, value in outputs.items():
        assert value.dtype == wanted[name].dtype and not value.weak_type


def test_errors_are_those_of_host_arrays(tmp_path: Path) -> None:
    directory = compiled(tmp_path, RECURRENCE)
    step = ready(directory, params={"w": drawn(3, 3)}, on_device=True)
    for wrong in (jnp.zeros((2, 5, 4)), jnp.zeros((2, 5, 3), jnp.int32), jnp.zeros(3)):
        for call in (step, lambda inputs: run(directory, {}, inputs, {"w": drawn(3, 3)})):
            with pytest.raises(RunError) as error:
                call({"x": wrong})
            with pytest.raises(RunError) as wanted:
                call({"x": np.asarray(wrong)})
            assert error.value.diagnostics == wanted.value.diagnostics
    gone = jnp.zeros((2, 5, 3))
    gone.delete()
    with pytest.raises(RunError, match="deleted"):
        step({"x": gone})
    with pytest.raises(RunError, match="x"):
        jax.jit(lambda x: step({"x": x}))(jnp.zeros((2, 5, 3)))


def test_arrays_elsewhere_come_through_the_host() -> None:
    assert resident.resident(np.zeros(3)) is None
    assert resident.resident([1.0]) is None
    array = jnp.zeros(3)
    assert resident.resident(array) is array
    elsewhere = jax.device_put(
        array, jax.sharding.SingleDeviceSharding(jax.devices()[0], memory_kind="pinned_host")
    )
    assert resident.resident(elsewhere) is None


def test_halves_of_other_libraries_in_host_memory(tmp_path: Path) -> None:
    """NumPy has no dtype for them, so JAX has to take them."""
    directory = compiled(tmp_path, "input x: bf16[3]\ny = 2.0 * x\noutput y\n")
    given = {"x": Exchanged(jnp.arange(3, dtype=jnp.bfloat16))}
    for values in (ready(directory)(given), run(directory, {}, given).outputs):
        assert values["y"].dtype == jnp.bfloat16 and values["y"].tolist() == [0, 2, 4]
