"""Maxima that need not be NaN."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tempoc.ops.tensor.reduction import Max
from tempoc.passes.attention.softmax_maxima import SoftmaxMaxima
from tempoc.passes.context import PassContext
from tempoc.poly.relations.space import Space
from tests.support.generators.graphs import SIZES, Story, graph, meaning
from tests.support.golden import Golden

HEAD = """
bound N
dim t < N
%x = input{dtype=f32, shape=(3, 3)} : [t] f32[3, 3]
%v = input{dtype=f32, shape=(3, 2)} : [t] f32[3, 2]
%m = max{axes=(1,), keepdims=true} %x : [t] f32[3, 1]
%d = sub %x, %m : [t] f32[3, 3]
%e = exp %d : [t] f32[3, 3]
%s = sum{axes=(1,), keepdims=true} %e : [t] f32[3, 1]
"""
SHARES = "%y = div %e, %s : [t] f32[3, 3]\n"
SOFTMAX = HEAD + SHARES + "output y = %y[0:N]\n"
PARTS = (
    HEAD[: HEAD.index("%d")]
    + """%p = pad{widths=((0, 0), (0, 1)), value=-inf} %v : [t] f32[3, 3]
%n = max{axes=(1,), keepdims=true} %p : [t] f32[3, 1]
%o = maximum %m, %n : [t] f32[3, 1]
%d = sub %x, %o : [t] f32[3, 3]
%e = exp %d : [t] f32[3, 3]
%c = sub %v, %o : [t] f32[3, 2]
%f = exp %c : [t] f32[3, 2]
%s = sum{axes=(1,), keepdims=true} %e : [t] f32[3, 1]
%u = sum{axes=(1,), keepdims=true} %f : [t] f32[3, 1]
%w = add %s, %u : [t] f32[3, 1]
%y = div %e, %w : [t] f32[3, 3]
%z = div %f, %w : [t] f32[3, 2]
output y = %y[0:N]
output z = %z[0:N]
"""
)
MARKED = {
    "softmax": SOFTMAX,
    "products, divided at last": HEAD
    + """%p = matmul %e, %v : [t] f32[3, 2]
%y = div %p, %s : [t] f32[3, 2]
output y = %y[0:N]
output s = %s[0:N]
""",
    "its logarithm": HEAD
    + """%l = log %s : [t] f32[3, 1]
%y = sub %d, %l : [t] f32[3, 3]
output y = %y[0:N]
""",
    "rows without their axis": SOFTMAX.replace(
        "%m = max{axes=(1,), keepdims=true} %x : [t] f32[3, 1]",
        "%n = max{axes=(1,)} %x : [t] f32[3]\n%m = expand_dims{axis=1} %n : [t] f32[3, 1]",
    ).replace(
        "%s = sum{axes=(1,), keepdims=true} %e : [t] f32[3, 1]",
        "%u = sum{axes=(1,)} %e : [t] f32[3]\n%s = expand_dims{axis=1} %u : [t] f32[3, 1]",
    ),
    "columns of scaled differences": SOFTMAX.replace("axes=(1,)", "axes=(0,)")
    .replace("[3, 1]", "[1, 3]")
    .replace("%e = exp %d", "%f = mul %d, %x : [t] f32[3, 3]\n%e = exp %f"),
    "the least": SOFTMAX.replace("max{", "min{").replace("sub %x, %m", "sub %m, %x"),
    "selections": SOFTMAX.replace(
        SHARES,
        "%w = maximum %e, %x : [t] f32[3, 3]\n%y = div %w, %s : [t] f32[3, 3]\n",
    ),
    "rows in two parts": PARTS,
}
KEPT = {
    "a maximum that is a result": SOFTMAX + "output m = %m[0:N]\n",
    "exponentials that are a result": SOFTMAX + "output e = %e[0:N]\n",
    "a maximum that is added again": SOFTMAX.replace("%y = div %e, %s", "%y = add %e, %m"),
    "exponentials of another step": SOFTMAX.replace("%y = div %e, %s", "%y = div %e[0], %s"),
    "a maximum of another step": SOFTMAX.replace("%d = sub %x, %m", "%d = sub %x, %m[0]"),
    "another operand": SOFTMAX.replace("%d = sub %x, %m", "%d = sub %x[0], %m"),
    "sums of columns": SOFTMAX.replace(
        "%s = sum{axes=(1,), keepdims=true} %e : [t] f32[3, 1]",
        "%s = sum{axes=(0,), keepdims=true} %e : [t] f32[1, 3]",
    ),
    "rows beside columns": SOFTMAX.replace(
        "%m = max{axes=(1,), keepdims=true} %x : [t] f32[3, 1]",
        "%n = max{axes=(1,)} %x : [t] f32[3]\n%m = expand_dims{axis=0} %n : [t] f32[1, 3]",
    ),
    "sums that stand beside columns": SOFTMAX.replace(
        "%s = sum{axes=(1,), keepdims=true} %e : [t] f32[3, 1]",
        "%u = sum{axes=(1,)} %e : [t] f32[3]\n%s = expand_dims{axis=0} %u : [t] f32[1, 3]",
    ),
    "products along the other axis": HEAD
    + '%p = einsum{spec="rk,rc->kc"} %e, %v : [t] f32[3, 2]\n'
    + "output p = %p[0:N]\noutput s = %s[0:N]\n",
    "parts that are divided by sums of their own": PARTS.replace(
        "div %f, %w", "div %f, %u"
    ).replace("div %e, %w", "div %e, %s"),
    "nothing but a maximum": HEAD[: HEAD.index("%d")] + "output m = %m[0:N]\n",
}


@pytest.fixture
def losing(monkeypatch: pytest.MonkeyPatch) -> None:
    """Marked maxima are those of the other elements, or as infinite as they can be."""
    compute = Max.compute

    def other(self: Max, x: Any, axes: tuple[int, ...]) -> Any:
        if self.loses_nan:
            neutral = np.inf if self.name == "min" else -np.inf
            x = np.where(np.isnan(x), np.float32(neutral), x)
        return compute(self, x, axes)

    monkeypatch.setattr(Max, "compute", other)


def test_softmax_maxima(golden: Golden) -> None:
    story = Story()
    for name, text in MARKED.items():
        story.tell(name, text, SoftmaxMaxima())
    golden("passes/maxima.txt", story.text)


@pytest.mark.usefixtures("losing")
@pytest.mark.parametrize("name", MARKED)
def test_what_is_lost_comes_back(name: str) -> None:
    before = graph(MARKED[name])
    after = SoftmaxMaxima().run(before, PassContext(Space(before.universe)))
    assert after is not before
    lost = False
    for size in SIZES:
        wanted, given = (meaning(g, size, special=True) for g in (before, after))
        for output, value in wanted.items():
            np.testing.assert_array_equal(given[output], value)
            lost = lost or bool(np.isnan(value).any())
    assert lost


@pytest.mark.parametrize("name", KEPT)
def test_others_stay(name: str) -> None:
    before = graph(KEPT[name])
    assert SoftmaxMaxima().run(before, PassContext(Space(before.universe))) is before
