"""Branches whose points are several boxes, in loops that the data end."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from tempoc.passes.context import PassContext
from tempoc.passes.domain.predicate import Predication
from tempoc.poly.relations.space import Space
from tests.support.elaborated import graph_of
from tests.support.session.long import examples
from tests.whole.until.until_runs import Agreeing

RIM = "i == 0 or i == N-1 or j == 0 or j == M-1"
WITHIN = "i >= 1 and i < N-1 and j >= 1 and j < M-1"
AROUND = "0.25 * (u[k, i-1, j] + u[k, i+1, j] + u[k, i, j-1] + u[k, i, j+1])"
RELAXED = f"""dim k < K until calm
dim i < N
dim j < M
input u0[i, j]: f32
u[0, i, j] = u0[i, j]
u[k+1, i, j] = new
new[k, i, j] = {AROUND} when {WITHIN}
new[k, i, j] = 0.1 * u[k, i, j] when {RIM}
calm = max(abs(new - u)[i = 0:N, j = 0:M]) < 0.2
output new[K-1, 0:N, 0:M] as final, K as steps
"""
# The last step is one of the alternatives.
LAST = RELAXED.replace("output new", """last[k, i, j] = u + 1.0 when k == K-1 or i == 0
last[k, i, j] = u[k, i, j] * 2.0 when k < K-1 and i >= 1
output last, new""")  # fmt: skip
EACH = f"""dim b < B
dim k < K until calm
dim i < N
dim j < M
input u0[b, i, j]: f32
u[b, 0, i, j] = u0[b, i, j]
u[b, k+1, i, j] = new
new[b, k, i, j] = {AROUND.replace("u[k", "u[b, k")} when {WITHIN}
new[b, k, i, j] = 0.1 * u[b, k, i, j] when {RIM}
calm = max(abs(new - u)[i = 0:N, j = 0:M]) < 0.2
final = new[k = K-1]
output final
"""


@pytest.mark.parametrize(
    ("text", "levels"), [(RELAXED, (0, 2)), (LAST, (1, 2))], ids=["relaxed", "last"]
)
def test_one_length(text: str, levels: tuple[int, ...], tmp_path: Path) -> None:
    program = Agreeing(text, tmp_path, levels)
    rng = np.random.default_rng(0)
    ends = set()
    tried = (1, 1, 3), (4, 5, 9), (3, 2, 9), (2, 1, 2), (3, 3, 2)
    for n, m, most in tried[: examples(2, long=5)]:
        sizes = {"K": most, "N": n, "M": m}
        program(sizes, {"u0": 3.0 * rng.normal(size=(n, m)).astype(np.float32)})
        ends.add(program.lengths["K"])
    assert len(ends) > 1


def test_a_length_for_each_point(tmp_path: Path) -> None:
    program = Agreeing(EACH, tmp_path)
    rng = np.random.default_rng(1)
    for b, n, m, most in ((1, 1, 1, 1), (3, 4, 5, 9)):
        scales = np.array([1.0, 9.0, 0.1], np.float32)[:b, None, None]
        sizes = {"B": b, "K": most, "N": n, "M": m}
        program(sizes, {"u0": scales * rng.normal(size=(b, n, m)).astype(np.float32)})


def test_values_that_are_not_finite_stay_in_their_boxes(tmp_path: Path) -> None:
    program = Agreeing(RELAXED, tmp_path, (0, 2))
    for value in (np.nan, np.inf):
        u0 = np.ones((4, 5), np.float32)
        u0[0, 0] = u0[2, 2] = value
        program({"K": 4, "N": 4, "M": 5}, {"u0": u0})


def test_the_rim_is_boxes() -> None:
    before = graph_of(RELAXED)
    context = PassContext(Space(before.universe))
    Predication().run(before, context)
    said = " ".join(remark.message for remark in context.remarks.entries)
    assert "its points are 4 boxes, each computed apart" in said
