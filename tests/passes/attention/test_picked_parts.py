"""Axes of which each point picks a position after it has read a range become dimensions."""

from __future__ import annotations

import pytest

from tempoc.diagnostics.source import Source
from tempoc.driver.compilation import Compilation
from tempoc.driver.options import Options
from tempoc.frontend.syntax.load_modules import load_source
from tempoc.passes.attention.picked_parts import PickedParts
from tests.support.generators.graphs import Story, assert_close, graph
from tests.support.golden import Golden

KEYS = """
bound T
bound H = 4
dim t < T
dim h < H
%x = input{dtype=f32, shape=(2, 3)} : [t] f32[2, 3]
%q = input{dtype=f32, shape=(3,)} : [t, h] f32[3]
%k = sin %x : [t] f32[2, 3]
"""
READ = "%r = copy %k[max(0, t-2):t+1] : [t] f32[min(3, t+1), 2, 3]\n"
PICK = "getitem{entries=((0, min(3, t+1), 1), h//2, (0, 3, 1))}"
SCORES = f"""%p = {PICK} %r : [t, h] f32[min(3, t+1), 3]
%y = matmul %p, %q : [t, h] f32[min(3, t+1)]
%z = max{{axes=(0,), keepdims=false}} %y : [t, h] f32
output z = %z[0:T, 0:H]
"""
STAYS = {
    "ranges that others read": READ + SCORES + "output r = %r[T-1]\n",
    "points that others read": READ + SCORES + "output k = %k[0:T]\n",
    "constants for derivatives": READ.replace("copy", "stop_gradient") + SCORES,
    "a position that no point picks": READ + SCORES.replace("h//2", "1"),
    "a position by the point of the range": READ + SCORES.replace("h//2", "t%2"),
    "a part of the range": READ + SCORES.replace("(0, min(3, t+1), 1)", "(0, 1, 1)").replace(
        "f32[min(3, t+1), 3]", "f32[1, 3]"
    ).replace("[t, h] f32[min(3, t+1)]", "[t, h] f32[1]"),
    "inputs, which are there as they are": READ.replace("%k", "%x") + SCORES,
}  # fmt: skip
GRADIENTS = """dim t < T
dim h < H = 4
input x[t]: f32[3]
input q[t, h]: f32[3]
param w: f32[2, 3, 3]
k = tanh(w @ x)
v = w @ x
score[t, h] = (k[t = 0:t+1])[:, h // 2] @ q
y = exp(score) @ (v[t = 0:t+1])[:, h // 2]
loss = sum(sum(tanh(y))[t = 0:T, h = 0:H])
dw = grad(loss, w)
dk = grad(loss, k)
output dw, dk
"""


def test_parts(golden: Golden) -> None:
    story = Story()
    story.tell("grouped queries", KEYS + READ + SCORES, PickedParts(), rounded=True)
    golden("passes/parts.txt", story.text)


@pytest.mark.parametrize("name", STAYS)
def test_others_stay(name: str) -> None:
    text = KEYS + STAYS[name]
    assert Story().tell(name, text, PickedParts()).graph == graph(text)


def test_gradients() -> None:
    """Keys by which gradients differentiate too; keys and values share the dimension."""
    compiled = Compilation(load_source(Source("m.rt", GRADIENTS)), Options())
    assert [d.name for d in compiled.prepared.universe.dims] == ["part", "t", "h"]
    assert_close(compiled.graph, compiled.prepared)


def test_gradients_by_what_is_picked() -> None:
    """What reads the picked keys goes on reading them, as a gradient differentiates by them."""
    text = GRADIENTS.replace("(k[t = 0:t+1])[:, h // 2] @ q", "p @ q")
    text = text.replace(
        "dk = grad(loss, k)", "p = (k[t = 0:t+1])[:, h // 2]\nr = sum(grad(loss, p))"
    )
    text = text.replace("output dw, dk", "output dw, r")
    compiled = Compilation(load_source(Source("m.rt", text)), Options())
    assert "k.part" in compiled.prepared.nodes
    assert_close(compiled.graph, compiled.prepared)
