"""Every kernel is compiled once in a run: nothing about its arguments changes between steps.

Tests compile equal kernels once, whichever program they come from (`support/session/kernels.py`).
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import jax
import numpy as np
import pytest

from tempoc.runtime import run
from tests.codegen import edges, programs

X = np.random.default_rng(0).standard_normal((6, 8)).astype(np.float32)


@pytest.mark.usefixtures("each_its_own")
@pytest.mark.parametrize(
    ("case", "bounds", "inputs", "params"),
    [
        (programs.FIBONACCI, {"T": 6}, {}, {}),
        (programs.RNN_REGISTER, {}, {"x": X}, {"W": np.ones((8, 8), np.float32)}),
        (programs.RING, {"W": 3}, {"x": X[:, :4]}, {}),
        (programs.RETURNS, {"N": 3}, {"r": X[:, 0]}, {}),
        (
            programs.LCS,
            {},
            {"x": np.arange(5, dtype=np.int32), "y": np.arange(4, dtype=np.int32)},
            {},
        ),
        (edges.MEETING_CELL, {}, {"x": X[:, :2]}, {}),
        (edges.RAGGED, {}, {"x": X[:, 0]}, {}),
    ],
)
def test_compiled_once(case, bounds, inputs, params, tmp_path, monkeypatch):
    compiled = {}
    compile_kernel = run.backend.compile_kernel

    def remember(function, *rest):
        compiled[function.__name__] = compile_kernel(function, *rest)
        return compiled[function.__name__]

    monkeypatch.setattr(run.backend, "compile_kernel", remember)
    case.run(tmp_path, bounds, inputs, params)
    counts = {name: kernel._cache_size() for name, kernel in compiled.items()}
    assert counts and set(counts.values()) <= {0, 1}, counts


COMPILED = "/jax/core/compile/backend_compile_duration"


@pytest.fixture
def compilations() -> Iterator[list[str]]:
    """The functions that XLA compiled since the test began."""
    events: list[str] = []

    def listen(event: str, _: float, fun_name: str = "", **__: object) -> None:
        events.extend([fun_name] if event == COMPILED else [])

    jax.monitoring.register_event_duration_secs_listener(listen)
    yield events
    jax.monitoring.unregister_event_duration_listener(listen)


def test_equal_kernels_are_shared(tmp_path: Path, compilations: list[str]) -> None:
    for name in ("one", "other"):
        (tmp_path / name).mkdir()
        programs.FIBONACCI.run(tmp_path / name, {"T": 7})
        before, compilations[:] = [*compilations], []
    assert before == []


@pytest.mark.usefixtures("each_its_own")
def test_or_not_and_nothing_else(tmp_path: Path, compilations: list[str]) -> None:
    jax.clear_caches()  # of operators that run by themselves
    programs.FIBONACCI.run(tmp_path, {"T": 7})
    assert compilations == ["jit(f_0)", "jit(f_1)", "jit(f_2)"]
