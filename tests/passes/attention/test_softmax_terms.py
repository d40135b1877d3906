"""Exponentials that a ``logsumexp`` and its derivative share."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tempoc.ops.tensor.reduction import LogSumExp, Max
from tempoc.passes.attention.softmax_terms import SoftmaxTerms
from tempoc.passes.context import PassContext
from tempoc.poly.relations.space import Space
from tests.support.generators.graphs import SIZES, Story, graph, meaning
from tests.support.golden import Golden

HEAD = """
bound N
dim t < N
%x = input{dtype=f32, shape=(3, 3)} : [t] f32[3, 3]
%c = input{dtype=f32, shape=(3, 1)} : [t] f32[3, 1]
"""
RESULT = """%y = logsumexp{axes=(1,)} %x : [t] f32[3]
"""
DERIVATIVE = """%r = expand_dims{axis=1} %y : [t] f32[3, 1]
%a = sub %x, %r : [t] f32[3, 3]
%e = exp %a : [t] f32[3, 3]
%s = sum{axes=(1,), keepdims=true} %e : [t] f32[3, 1]
%g = div %c, %s : [t] f32[3, 1]
%d = mul %g, %e : [t] f32[3, 3]
"""
ROWS = RESULT + DERIVATIVE + "output y = %y[0:N]\noutput d = %d[0:N]\n"
LATER = DERIVATIVE.replace("[t]", "[t | t >= 1]")
SHARED = {
    "rows": ROWS,
    "all elements, two derivatives": """%y = logsumexp{keepdims=true} %x : [t] f32[1, 1]
%a = sub %x, %y : [t] f32[3, 3]
%e = exp %a : [t] f32[3, 3]
%s = sum{axes=(0, 1), keepdims=true} %e : [t] f32[1, 1]
%g = div %c, %s : [t] f32[3, 1]
%d = mul %g, %e : [t] f32[3, 3]
%h = div %x, %s : [t] f32[3, 3]
%i = mul %e, %h : [t] f32[3, 3]
output y = %y[0:N]
output d = %d[0:N]
output i = %i[0:N]
""",
    "a derivative at fewer points": RESULT + LATER + "output y = %y[0:N]\noutput d = %d[1:N]\n",
}
KEPT = {
    "a softmax that is a result": ROWS + "output e = %e[0:N]\n",
    "a sum, near 1, that is a result": ROWS + "output s = %s[0:N]\n",
    "a share that is a result": ROWS + "output g = %g[0:N]\n",
    "products with what the sum does not divide": ROWS.replace("mul %g, %e", "mul %c, %e"),
    "other products beside": ROWS + "%f = mul %c, %e : [t] f32[3, 3]\noutput f = %f[0:N]\n",
    "shares of something else": ROWS + "%f = mul %g, %x : [t] f32[3, 3]\noutput f = %f[0:N]\n",
    "a sum that is divided": ROWS.replace("div %c, %s", "div %s, %c"),
    "results subtracted from columns": ROWS.replace(
        "expand_dims{axis=1} %y : [t] f32[3, 1]", "expand_dims{axis=0} %y : [t] f32[1, 3]"
    ),
    "sums of columns": ROWS.replace(
        "sum{axes=(1,), keepdims=true} %e : [t] f32[3, 1]",
        "sum{axes=(0,), keepdims=true} %e : [t] f32[1, 3]",
    ).replace("%c, %s : [t] f32[3, 1]", "%c, %s : [t] f32[3, 3]"),
    "a logarithm of softmax beside": ROWS
    + "%k = expand_dims{axis=1} %y : [t] f32[3, 1]\n"
    + "%l = sub %x, %k : [t] f32[3, 3]\noutput l = %l[0:N]\n",
    "half precision": ROWS,
    "another point": ROWS.replace("[t]", "[t | t >= 1]")
    .replace("expand_dims{axis=1} %y ", "expand_dims{axis=1} %y[1] ")
    .replace("[0:N]", "[1:N]"),
    "ranges that grow": """%v = input{dtype=f32} : [t] f32
%y = logsumexp{axes=(0,)} %v[0:t+1] : [t] f32
%a = sub %v[0:t+1], %y : [t] f32[t+1]
%e = exp %a : [t] f32[t+1]
%s = sum{axes=(0,), keepdims=true} %e : [t] f32[1]
%g = div %v, %s : [t] f32[1]
%d = mul %g, %e : [t] f32[t+1]
%m = max{axes=(0,)} %d : [t] f32
output y = %y[0:N]
output m = %m[0:N]
""",
}


def test_softmax_terms(golden: Golden) -> None:
    story = Story()
    for name, text in SHARED.items():
        outcome = story.tell(name, HEAD + text, SoftmaxTerms(), rounded=True)
        assert any(r.step == "softmax" for r in outcome.remarks), name
    golden("passes/softmax.txt", story.text)


@pytest.mark.parametrize("x", ["special", "-inf", "inf"])
@pytest.mark.parametrize("text", SHARED.values(), ids=SHARED)
def test_infinite_elements_give_what_they_gave(text: str, x: str) -> None:
    constant = f"%x = full{{shape=(3, 3), value={x}, dtype=f32}}"
    head = HEAD.replace("%x = input{dtype=f32, shape=(3, 3)}", constant)
    before = graph((HEAD if x == "special" else head) + text)
    after = SoftmaxTerms().run(before, PassContext(Space(before.universe)))
    assert after is not before
    for size in SIZES:
        wanted, given = (meaning(g, size, special=True) for g in (before, after))
        assert x == "special" or (wanted["y"] == float(x)).all()
        for name, value in wanted.items():
            np.testing.assert_allclose(given[name], value, rtol=2e-5, atol=2e-6, err_msg=name)


@pytest.mark.parametrize("text", SHARED.values(), ids=SHARED)
def test_nan_that_a_finite_maximum_loses_comes_back(
    text: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    compute = Max.compute

    def losing(self: Max, x: Any, axes: tuple[int, ...]) -> Any:
        numbers = compute(self, np.where(np.isnan(x), np.float32(-np.inf), x), axes)
        lost = self.loses_finite_nan & np.isfinite(numbers)
        return np.where(lost, numbers, compute(self, x, axes))

    monkeypatch.setattr(Max, "compute", losing)
    before = graph(HEAD + text)
    after = SoftmaxTerms().run(before, PassContext(Space(before.universe)))
    wanted, given = (meaning(g, SIZES[-1], special=True) for g in (before, after))
    assert np.isnan(wanted["y"]).any()
    for name, value in wanted.items():
        np.testing.assert_allclose(given[name], value, rtol=2e-5, atol=2e-6, err_msg=name)


@pytest.mark.parametrize("name", KEPT)
def test_others_stay(name: str) -> None:
    text = HEAD + KEPT[name]
    before = graph(text.replace("f32", "bf16") if name == "half precision" else text)
    assert SoftmaxTerms().run(before, PassContext(Space(before.universe))) is before


def test_what_is_shared_is_no_operator_of_its_own() -> None:
    before = graph(HEAD + ROWS)
    after = SoftmaxTerms().run(before, PassContext(Space(before.universe)))
    assert not any(isinstance(n.op, LogSumExp) for n in after.nodes.values())
