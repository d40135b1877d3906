"""What cells of a table read of other tensors: laid out beforehand is what they take, no more."""

from __future__ import annotations

import pytest

from tempoc.diagnostics.source import Source
from tempoc.driver.compilation import Compilation
from tempoc.driver.options import Options
from tempoc.frontend.syntax.load_modules import load_source
from tempoc.passes.analysis import lattice
from tests.support.agreement import agree

TRANSDUCER = """dim t < T
dim k < K
dim u < U = K + 1
input label[k]: i32
input joint[t, u]: f32[5]
score = joint - logsumexp(joint)
path[0, 0] = 0.0
path[t, 0] = path[t-1, 0] + score[t-1, 0][0]
path[0, u] = path[0, u-1] + score[0, u-1][label[u-1] % 5]
path[t, u] = logsumexp(stack([
  path[t-1, u] + score[t-1, u][0], path[t, u-1] + score[t, u-1][label[u-1] % 5]]))
loss = path[T-1, U-1]
slope = grad(loss, joint)
output loss, slope
"""
PRODUCTS = """dim i < I
dim j < J
input x[i]: f32[3]
input y[j]: f32[3]
d[0, j] = 0.0
d[i, 0] = 0.0
d[i, j] = maximum(d[i-1, j] + x[i] @ y[j], maximum(d[i, j-1], d[i-1, j-1]))
output d[I-1, J-1] as best
"""


def compilation(text: str) -> Compilation:
    return Compilation(load_source(Source("m.rt", text)), Options())


def test_elements_of_rows_are_laid_out_without_their_rows() -> None:
    """A softmax at each cell, of which a cell reads two elements, by diagonals in both loops."""
    compiled = compilation(TRANSDUCER)
    told = [r.message for r in compiled.remarks if r.step == "wavefront"]
    assert len(told) == 2 and all("at once" in message for message in told)
    for node in compiled.passes.graph.nodes.values():
        if "diagonal" in node.domain.dims:
            assert all(s.value <= 2 for t in node.types for s in t.shape), node.name
    agree(TRANSDUCER, *({"T": t, "K": k} for t, k in ((1, 1), (1, 3), (4, 2), (3, 6))))


def test_what_a_cell_cannot_compute_is_laid_out_though_an_equation_may_have_no_points() -> None:
    """Products of the equation of the inner cells, of which there are none with I = 1."""
    compiled = compilation(PRODUCTS)
    assert any(r.step == "wavefront" and "at once" in r.message for r in compiled.remarks)
    agree(PRODUCTS, *({"I": i, "J": j} for i, j in ((1, 1), (1, 4), (5, 1), (3, 7))))


def test_what_is_read_twice_is_looked_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each tensor is read twice by the next: there are 2**14 ways from the last to the first."""
    chain = "\n".join(f"s{k + 1} = s{k} * (s{k} + {k}.5)" for k in range(14))
    text = PRODUCTS.replace("d[0, j]", f"s0[i, j] = x[i][0] * y[j][1]\n{chain}\nd[0, j]")
    text = text.replace("x[i] @ y[j]", "s14[i, j]")
    looked = []
    compose = lattice.compose_node

    def counted(*given):  # type: ignore[no-untyped-def]
        looked.append(given[0].name)
        return compose(*given)

    monkeypatch.setattr(lattice, "compose_node", counted)
    compiled = compilation(text)
    assert any(r.step == "wavefront" and "at once" in r.message for r in compiled.remarks)
    assert 14 < len(looked) < 100
