"""Every kernel is compiled once in a run: nothing about its arguments changes between steps."""

from __future__ import annotations

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
