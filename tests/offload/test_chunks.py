"""Inputs of which a chunk at a time is on the device: the same results, whatever the bounds."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from tempoc.offload.chunks import NoChunks
from tempoc.program.analysis.traversal import regions
from tempoc.program.codec import dump, load
from tempoc.runtime.data.bindings import Given
from tempoc.runtime.data.source import as_sources
from tempoc.runtime.run import run_given
from tempoc.sdg.evaluation.interpret import evaluate
from tests.support.agreement import data
from tests.support.checkpoints import held_everywhere, short_calls
from tests.support.offloading import COUNTED, loaded

WAYS = """
dim t < T
input x[t]: f32[3]
input y[t]: f32[3]
h[0] = x[0]
h[t+1] = tanh(h + x[t+1] * y[t])
b[T-1] = h[T-1]
b[t] = tanh(b[t+1] - y[t]) when t < T-1
last = b[0]
output last
"""
"""Rows of two inputs at a distance, of one upwards and downwards."""
TILES = """
dim n < N
input x[n]: f32[3]
loss = sum(exp(x[n = 0:N]))
output loss
"""
ALL = """
dim t < T
input x[t]: f32[3]
h[0] = x[0]
h[t+1] = tanh(h * sum(x[0:t+1]))
output h[T-1] as last
"""
EACH = """
dim t < T
input x[t]: f32[3]
y[t] = exp(x)
output y
"""
STEPS = {"level": 1, "regions": True, "apart": True, "bucket": 0, "chunks": {"x": 4, "y": 4}}
TILED = {"apart": True, "bucket": 0, "tile": 2, "walk": True, "chunks": {"x": 4}}
ROW = 3 * 4


@pytest.mark.parametrize(
    ("text", "options", "name"), [(WAYS, STEPS, "T"), (TILES, TILED, "N")], ids=["ways", "tiles"]
)
def test_whatever_the_bounds(text: str, options: dict[str, object], name: str) -> None:
    compilation, program = loaded(text, **options)
    assert [*regions(program.program.tree)]
    assert load(dump(program.program)) == program.program
    for size in (1, 2, 3, 4, 5, 9, 13):
        inputs = data(compilation.graph, {name: size}, special=False)
        result = run_given(program, Given({name: size}, as_sources(inputs), {}), COUNTED)
        for output, value in evaluate(compilation.graph, {name: size}, inputs, {}).items():
            np.testing.assert_allclose(result.outputs[output], value, rtol=1e-5, atol=1e-6)
        said = result.predicted
        assert said is not None
        assert (said.peak, said.stores) == (result.peak_bytes, result.stores)
        assert result.stores["x"] == 4 * ROW


def test_a_chunk_is_copied_once_where_loops_follow_each_other() -> None:
    """The last one upwards is the first one downwards."""
    compilation, program = loaded(WAYS, **STEPS)
    inputs = data(compilation.graph, {"T": 16}, special=False)
    result = run_given(program, Given({"T": 16}, as_sources(inputs), {}), COUNTED)
    assert result.loaded == (4 + 2 * 4 - 1) * 4 * ROW


@pytest.mark.parametrize(("text", "options"), [(ALL, STEPS), (EACH, TILED)], ids=["sum", "each"])
def test_a_call_that_reads_all_rows_has_no_chunks(text: str, options: dict[str, object]) -> None:
    with pytest.raises(NoChunks):
        loaded(text, **(options | {"chunks": {"x": 4}}))


def test_a_run_goes_on_within_a_chunk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    short_calls(monkeypatch)
    compilation, program = loaded(WAYS, **STEPS)
    inputs = data(compilation.graph, {"T": 11}, special=False)
    given = Given({"T": 11}, as_sources(inputs), {})
    assert held_everywhere(program, given, tmp_path, monkeypatch, account=True) > 8
