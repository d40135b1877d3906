"""The numbers that networks start from: shapes, spread, and what they keep."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tempoc.diagnostics.source import Source
from tempoc.driver.compilation import Compilation
from tempoc.driver.options import Options
from tempoc.frontend.syntax.load_modules import load_source
from tempoc.sdg.evaluation.interpret import evaluate
from tests.support.agreement import compile_text
from tests.whole.stdlib.both import both, outputs

DRAWS = 400
FEW = 40

PROGRAM = """import nn
dim n < N
glorot[n] = nn.glorot([3, 5])
he[n] = nn.he([3, 5])
lecun[n] = nn.lecun([3, 5])
cut[n] = nn.truncated_normal([15], 2.0)
cut3[n] = nn.truncated_normal([15], limit = 3.0)
square[n] = nn.orthogonal([4, 4])
tall[n] = nn.orthogonal([5, 2])
wide[n] = nn.orthogonal([1, 3], 2.0)
conv[n] = nn.conv_init([3, 2, 4, 5])
res[n] = nn.residual_init([3, 2, 2], 3)
table[n] = nn.embedding_init(6, 4)
dropped[n] = nn.dropout(ones([4]), 0.25)
output glorot, he, lecun, cut, cut3, square, tall, wide, conv, res, table, dropped
"""

CELLS = """import nn
dim n < N
def small(shape) = nn.orthogonal(shape, 0.5)
gru[n] = nn.gru_init(3, 2)
lstm[n] = nn.lstm_init(3, 2)
layers[n] = nn.mlp_init([2, 3, 1], small)
block[n] = nn.transformer_init(4, 6)
output gru, lstm, layers, block
"""


@pytest.fixture(scope="module")
def found() -> dict[str, Any]:
    """Many draws by the compiled program; the evaluator agrees on the first ones."""
    graph, loaded = compile_text(PROGRAM, 2)
    many = outputs(loaded, {"N": DRAWS}, {}, seed=3)
    few = evaluate(graph, {"N": 2}, {}, {}, seed=3, float64=True)
    assert set(few) == set(many)
    for name, value in few.items():
        np.testing.assert_allclose(many[name][:2], value, rtol=1e-4, atol=1e-5, err_msg=name)
    return many


@pytest.fixture(scope="module")
def cells() -> dict[str, Any]:
    """By the evaluator alone: what these are made of is compiled above, and that takes long."""
    graph = Compilation(load_source(Source("m.rt", CELLS)), Options(level=0)).graph
    return evaluate(graph, {"N": FEW}, {}, {}, seed=3)


def spread(x: Any, variance: float) -> None:
    """Mean 0 and this variance, within four standard deviations of either."""
    n = np.sqrt(x.size)
    kurtosis = ((x - x.mean()) ** 4).mean() / x.var() ** 2
    assert abs(x.mean()) < 4 * variance**0.5 / n
    assert abs(x.var() - variance) < 4 * variance * np.sqrt(max(kurtosis - 1, 0.5)) / n


@pytest.mark.long("many draws")
def test_matrices(found: dict[str, Any]) -> None:
    from scipy import stats  # takes long to load

    assert np.abs(found["glorot"]).max() <= np.sqrt(6 / 8)
    spread(found["glorot"], 2 / 8)
    spread(found["he"], 2 / 5)
    spread(found["lecun"], 1 / 5)
    spread(found["table"], 1 / 4)
    assert stats.kstest(found["he"].ravel() / np.sqrt(2 / 5), "norm").pvalue > 1e-3


def test_truncated_normal(found: dict[str, Any]) -> None:
    from scipy import stats  # takes long to load

    for name, deviation, limit in (("cut", 2.0, 2.0), ("cut3", 1.0, 3.0)):
        x = found[name].ravel() / deviation
        assert np.abs(x).max() <= limit
        assert stats.kstest(x, stats.truncnorm(-limit, limit).cdf).pvalue > 1e-3


def at_right_angles(rows: Any, length: float = 1.0) -> None:
    """The rows of each matrix, which have this length."""
    wanted = length**2 * np.eye(rows.shape[1])
    dots = rows @ np.swapaxes(rows, 1, 2)
    np.testing.assert_allclose(dots, np.broadcast_to(wanted, dots.shape), rtol=1e-6, atol=2e-6)


def test_orthogonal(found: dict[str, Any]) -> None:
    from scipy import stats  # takes long to load

    q = found["square"]
    at_right_angles(q)
    at_right_angles(np.swapaxes(found["tall"], 1, 2))
    at_right_angles(found["wide"], 2)
    # Each element is distributed like one of a random direction; both hands are as likely.
    direction = stats.beta(1.5, 1.5, loc=-1, scale=2)
    for k in range(4):
        for j in range(4):
            assert stats.kstest(q[:, k, j], direction.cdf).pvalue > 1e-4
    assert abs(np.linalg.det(q).mean()) < 0.2
    assert abs((q[:, 0, 0] * q[:, 1, 1]).mean()) < 0.05
    np.testing.assert_allclose(np.trace(q, axis1=1, axis2=2).var(), 1, atol=0.3)


def test_large_orthogonal() -> None:
    """Rounding does not pile up, and neither do the steps."""
    text = "import nn\nq = nn.orthogonal([96, 130])\noutput q\n"
    q = both(text, {}, {}, rtol=1e-3, atol=1e-4)["q"]
    np.testing.assert_allclose(q @ q.T, np.eye(96), atol=1e-6)


def test_layers(found: dict[str, Any], cells: dict[str, Any]) -> None:
    w = cells["layers.0.w"]
    assert w.shape == (FEW, 3, 2) and cells["layers.1.b"].shape == (FEW, 1)
    at_right_angles(np.swapaxes(w, 1, 2), 0.5)
    assert found["conv.w"].shape == (DRAWS, 3, 2, 4, 5) and not found["conv.b"].any()
    spread(found["conv.w"], 2 / 24)
    assert found["res.2.w"].shape == (DRAWS, 3, 2, 2) and found["res.0.b"].shape == (DRAWS, 2)
    spread(np.stack([found[f"res.{k}.w"] for k in range(3)]), 2 / 6)
    assert np.abs(np.corrcoef(found["res.0.w"].ravel(), found["res.1.w"].ravel())[0, 1]) < 0.05


def test_cells(cells: dict[str, Any]) -> None:
    assert cells["block.attention.out"].shape == (FEW, 4, 4)
    assert cells["block.mlp.0.w"].shape == (FEW, 6, 4)
    assert np.all(cells["block.first.scale"] == 1) and not cells["block.second.bias"].any()
    assert cells["gru.w"].shape == (FEW, 6, 3) and cells["lstm.w"].shape == (FEW, 8, 3)
    spread(cells["gru.w"], 2 / 5)
    for u in (cells["gru.u"], cells["lstm.u"]):
        at_right_angles(u[:, 2:4])
    np.testing.assert_array_equal(cells["lstm.b"][0], [0, 0, 1, 1, 0, 0, 0, 0])
    assert not cells["gru.b"].any() and not cells["gru.c"].any()


def test_dropout(found: dict[str, Any]) -> None:
    assert len(np.unique(found["dropped"])) == 2
    np.testing.assert_allclose(found["dropped"].max(), 1 / 0.75)
    assert abs(found["dropped"].mean() - 1) < 0.06
