"""Executables on disk: which are found again, and what is left to JAX."""

from __future__ import annotations

import pickle
import sys
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import jax
import numpy as np
import pytest
from jax.experimental import serialize_executable

from tempoc.diagnostics.source import Source
from tempoc.driver.compilation import Compilation
from tempoc.driver.options import Options
from tempoc.frontend.syntax.load_modules import load_source
from tempoc.ops.emission.prelude import HELPERS
from tempoc.runtime.device import backend
from tempoc.runtime.execution import kept_kernels
from tempoc.runtime.execution.kept_kernels import with_executables
from tempoc.runtime.load.load import load
from tempoc.runtime.ready import ready
from tempoc.runtime.rewriting.usual_branches import compiled_as_usual

AT = np.array((3,), np.int32)
MISS = "/jax/compilation_cache/cache_misses"


def compiled_as_by_users(lowered: Any) -> tuple[Any, bytes]:
    """What `backend.new_executable` gives with the cache of JAX, which tests do without."""
    compiled = lowered.compile()
    return compiled, pickle.dumps(serialize_executable.serialize(compiled))


@pytest.fixture
def folder(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """A folder for the executables of all kernels, however soon they are made."""
    monkeypatch.setattr(kept_kernels, "_WORTH", 0)
    monkeypatch.setattr(backend, "new_executable", compiled_as_by_users)
    return tmp_path / "kernels"


def kernel(traced: list[tuple[int, ...]], donated: tuple[int, ...] = ()) -> Callable[..., Any]:
    def scaled(at: Any, x: Any) -> Any:
        traced.append(x.shape)
        return (x * at[0],)

    return jax.jit(scaled, donate_argnums=donated)


def test_another_process_traces_nothing(folder: Path) -> None:
    traced: list[tuple[int, ...]] = []
    for donated in ((), (1,)):
        for times in (1, 1):
            call = with_executables(kernel(traced, donated), folder, f"donated {donated}")
            for _ in range(3):
                (result,) = call(AT, jax.device_put(np.arange(4.0)))
                assert np.asarray(result).tolist() == [0, 3, 6, 9]
            assert len(traced) == times
        traced.clear()
    with_executables(kernel(traced), folder, "another kernel")(AT, np.ones(4))
    assert traced == [(4,)]


def test_arrays_of_other_kinds_have_executables_of_their_own(folder: Path) -> None:
    kinds = [np.ones(n, t) for n, t in ((4, "float32"), (5, "float32"), (5, "int32"))]
    traced: list[tuple[int, ...]] = []
    for times in (3, 3):
        call = with_executables(kernel(traced), folder, "")
        for x in kinds:
            (result,) = call(AT, x)
            assert np.asarray(result).tolist() == [3] * len(x)
            assert result.dtype == x.dtype
        assert len(traced) == times and len([*folder.iterdir()]) == 3
    for x in (*kinds, *kinds):  # they alternate: JAX tells them apart soonest
        assert np.asarray(call(AT, x)[0]).tolist() == [3] * len(x)
    assert len(traced) == 6
    with pytest.raises(TypeError):
        call(AT, "no array")


def test_a_damaged_file_costs_time_alone(folder: Path) -> None:
    traced: list[tuple[int, ...]] = []
    for damage in (lambda old: old[:-1], lambda old: old[:70] + b"x" + old[71:], lambda old: b""):
        with_executables(kernel([]), folder, "")(AT, np.ones(4))
        (file,) = folder.iterdir()
        file.write_bytes(damage(file.read_bytes()))
        (result,) = with_executables(kernel(traced), folder, "")(AT, np.ones(4))
        assert np.asarray(result).tolist() == [3] * 4
    assert len(traced) == 3


def test_small_kernels_and_what_is_traced_are_left_to_jax(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    call = with_executables(kernel([]), folder, "")
    assert jax.jit(lambda x: call(AT, x)[0])(np.ones(2)).tolist() == [3, 3]
    monkeypatch.setattr(kept_kernels, "_WORTH", 60)
    assert np.asarray(with_executables(kernel([]), folder, "")(AT, np.ones(2))[0]).sum() == 6
    assert not folder.exists()


BRANCHES = """
def kernel(at, x):
    usual = lambda: traced.append("usual") or x * 2
    return (usually(x[0] < 3, usual, lambda: traced.append("rare") or -x),)
"""


def test_usual_and_rare_branches_are_kept_apart(folder: Path) -> None:
    traced: list[str] = []
    scope: dict[str, Any] = {"jax": jax, "lax": jax.lax, "traced": traced}
    exec(HELPERS["usually"] + BRANCHES, scope)

    def make(function: Callable[..., Any], which: str) -> Callable[..., Any]:
        return with_executables(jax.jit(function), folder, which)

    for _ in range(2):
        call = compiled_as_usual(make, scope["kernel"], ())
        for first in (0.0, 5.0, 0.0, 5.0, 5.0, 0.0):
            (result,) = call(AT, np.array((first, 1), np.float32))
            assert np.asarray(result).tolist() == ([0, 2] if first == 0 else [-5, -1])
        assert traced == ["usual", "usual", "rare"]


CALLS = """
extern jax twice(x: f32) -> (y: f32) from "twice_for_kept:twice"
input x: f32
y = exp(x)
print y
z = twice(y)
output z
"""


@pytest.mark.usefixtures("each_its_own")
def test_kernels_that_call_functions_of_the_user_are_not_kept(
    folder: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    module = ModuleType("twice_for_kept")
    module.__dict__["twice"] = lambda x: 2 * x
    monkeypatch.setitem(sys.modules, module.__name__, module)
    kept: list[str] = []

    def noted(kernel: Any, folder: Path, made_of: str) -> Any:
        kept.append(made_of)
        return with_executables(kernel, folder, made_of)

    monkeypatch.setattr(backend, "executables", lambda: folder)
    monkeypatch.setattr(kept_kernels, "with_executables", noted)
    Compilation(load_source(Source("m.rt", CALLS)), Options()).write(tmp_path / "out")
    assert ready(tmp_path / "out")({"x": np.float32(0)})["z"] == 2
    loaded = load(tmp_path / "out")
    named = [k.name for k in loaded.program.kernels if k.name not in loaded.calling]
    assert named and all(any(f"'{name}'" in text for text in kept) for name in named)
    assert loaded.calling and not any(f"'{n}'" in text for n in loaded.calling for text in kept)


class Lowered:
    """A lowered kernel, with what JAX says while it is compiled."""

    def __init__(self, text: str, *events: str) -> None:
        self.text, self.events = text, events

    def compile(self) -> Any:
        for event in self.events:
            jax.monitoring.record_event(event)
        return jax.jit(lambda x: x + 1).lower(1.0).compile()

    def as_text(self) -> str:
        return self.text


def test_nothing_is_written_that_xla_has_read_or_that_calls_libraries() -> None:
    hit = MISS.replace("misses", "hits")
    assert backend.new_executable(Lowered("stablehlo.add", MISS))[1] is not None
    for lowered in (
        Lowered("stablehlo.add"),
        Lowered("stablehlo.add", hit),
        Lowered("stablehlo.add", MISS, MISS),
        Lowered("stablehlo.custom_call @lapack_spotrf_ffi", MISS),
    ):
        assert backend.new_executable(lowered)[1] is None


def test_what_an_executable_is_made_of(monkeypatch: pytest.MonkeyPatch) -> None:
    before = backend.executable_key()
    with jax.default_matmul_precision("bfloat16"):
        assert backend.executable_key() != before
    monkeypatch.setenv("XLA_FLAGS", "--xla_cpu_enable_fast_math=true")
    assert backend.executable_key() != before
    assert backend.argument_types((AT, np.ones(3))) != backend.argument_types((AT, np.ones(4)))
    assert backend.executables() is None, "tests keep nothing"
