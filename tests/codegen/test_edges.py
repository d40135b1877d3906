"""Corners of code generation, against the reference evaluator."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from tempoc.diagnostics.diagnostic import RunError
from tempoc.sdg.evaluation.interpret import evaluate
from tempoc.sdg.text.parse import parse_graph
from tests.codegen import edges


def agree(case, tmp_path, bounds, inputs, params=None):
    got = case.run(tmp_path, bounds, inputs, params)
    want = evaluate(parse_graph(case.graph, "case.sdg"), bounds, inputs, params or {})
    assert got.keys() == want.keys()
    for name, value in want.items():
        np.testing.assert_allclose(got[name], value, rtol=1e-5, atol=1e-6, err_msg=name)
        assert got[name].dtype == value.dtype


def rng(*shape, dtype=np.float32):
    return np.random.default_rng(0).standard_normal(shape).astype(dtype)


@pytest.mark.parametrize("T", [1, 2, 5])
@pytest.mark.parametrize(
    "name", ["GUARDED_AXIS", "GUARDED_CELL", "MEETING_CELL", "MEETING_AXIS", "OLD_AND_NEW"]
)
def test_corner(name, T, tmp_path):
    agree(getattr(edges, name), tmp_path, {"T": T}, {"x": rng(T, 2)})


@pytest.mark.parametrize("dtype", ["f32", "f64"])
@pytest.mark.parametrize(("B", "T"), [(1, 1), (2, 3), (3, 2)])
def test_several_axes(dtype, B, T, tmp_path):
    case = replace(edges.AXES, graph=edges.AXES.graph.replace("DTYPE", dtype))
    x = rng(B, T, 3, dtype=np.float32 if dtype == "f32" else np.float64)
    agree(case, tmp_path, {"B": B, "T": T}, {"x": x})


@pytest.mark.parametrize("T", [1, 2, 6])
def test_ragged_rows(T, tmp_path):
    agree(edges.RAGGED, tmp_path, {"T": T}, {"x": rng(T)})


@pytest.mark.parametrize("given", [True, False])
def test_default_of_a_param(given, tmp_path):
    params = {"w": np.array([1, 2], np.float32)} if given else None
    agree(edges.DEFAULT, tmp_path, {"T": 3}, {"x": rng(3, 2)}, params)


def test_a_check_names_its_point(tmp_path):
    agree(edges.CHECKED, tmp_path / "a", {"T": 3}, {"x": rng(3)})
    with pytest.raises(RunError) as error:
        edges.CHECKED.run(tmp_path / "b", {"T": 5}, {"x": rng(5)})
    assert "t = 3" in str(error.value.diagnostics)
