"""Axes of heads become dimensions where all of attention treats heads one by one."""

from __future__ import annotations

import pytest

from tempoc.diagnostics.source import Source
from tempoc.driver.compilation import Compilation
from tempoc.driver.options import Options
from tempoc.frontend.syntax.load_modules import load_source
from tempoc.passes.attention.head_dimension import HeadDimension
from tests.support.generators.graphs import Story, assert_close, graph
from tests.support.golden import Golden

HEAD = """
bound T
dim t < T
%q = input{dtype=f32, shape=(2, 3)} : [t] f32[2, 3]
%k = input{dtype=f32, shape=(2, 3)} : [t] f32[2, 3]
"""
SCORES = """%s = einsum{spec="hd,shd->hs"} %q, %k[0:t+1] : [t] f32[2, t+1]
"""
SUMS = """%e = exp %s : [t] f32[2, t+1]
%y = einsum{spec="hs,she->eh"} %e, %k[0:t+1] : [t] f32[3, 2]
output y = %y[0:T]
"""
DIMENSION = {
    "attention to all so far": SCORES
    + """%m = max{axes=(1,), keepdims=true} %s : [t] f32[2, 1]
%d = sub %s, %m : [t] f32[2, t+1]
%e = exp %d : [t] f32[2, t+1]
%z = sum{axes=(1,), keepdims=true} %e : [t] f32[2, 1]
%p = div %e, %z : [t] f32[2, t+1]
%y = einsum{spec="hs,she->he"} %p, %k[0:t+1] : [t] f32[2, 3]
output y = %y[0:T]
""",
    "to all from here on, with a sum for others": """%s = einsum{spec="hd,shd->hs"} %q, %k[t:T] \
: [t] f32[2, T-t]
%z = sum{axes=(1,)} %s : [t] f32[2]
%y = einsum{spec="hs,she->eh"} %s, %k[t:T] : [t] f32[3, 2]
output y = %y[0:T]
output z = %z[0:T]
""",
}
AXIS = {
    "windows": """%s = einsum{spec="hd,shd->hs"} %q, %k[max(0, t-2):t+1] : [t] f32[2, min(3, t+1)]
%y = einsum{spec="hs,she->he"} %s, %k[max(0, t-2):t+1] : [t] f32[2, 3]
output y = %y[0:T]
""",
    "scores that others read": SCORES + SUMS + "output s = %s[T-1]\n",
    "heads that are mixed": SCORES
    + """%e = einsum{spec="gh,hs->gs"} %w, %s : [t] f32[2, t+1]
%y = einsum{spec="gs,sge->ge"} %e, %k[0:t+1] : [t] f32[2, 3]
output y = %y[0:T]
""",
    "draws by the scores": SCORES
    + """%r = random_key{place=7, at=(t,)} %seed : [t] key[2]
%u = bernoulli %r, %s : [t] bool[2, t+1]
%e = where %u, %s, %s : [t] f32[2, t+1]
%y = einsum{spec="hs,she->he"} %e, %k[0:t+1] : [t] f32[2, 3]
output y = %y[0:T]
""",
}


INDEPENDENT = """dim t < T
input q[t]: f32[2, 3]
input k[t]: f32[2, 3]
e = exp(einsum("hd,shd->hs", q, k[0:t+1]))
z = sum(e, axis = 1)
y = einsum("hs,she->he", e, k[0:t+1])
p = y / expand_dims(z, 1)
loss = sum(sum(tanh(p))[t = 0:T])
dz = grad(loss, z)
dy = grad(loss, y)
dp = grad(loss, p)
output dz, dy, dp
"""


def test_heads(golden: Golden) -> None:
    """The same values, at several lengths; layers of as many heads share the dimension."""
    story = Story()
    for name, lines in DIMENSION.items():
        outcome = story.tell(name, HEAD + lines, HeadDimension(), rounded=True)
        assert [d.name for d in outcome.graph.universe.dims] == ["head", "t"]
    golden("passes/heads.txt", story.text)


def test_gradients_by_what_has_heads() -> None:
    compiled = Compilation(load_source(Source("m.rt", INDEPENDENT)), Options())
    assert "head" in [d.name for d in compiled.prepared.universe.dims]
    assert_close(compiled.graph, compiled.prepared)


@pytest.mark.parametrize("name", AXIS)
def test_other_axes_stay(name: str) -> None:
    more = "%w = input{dtype=f32, shape=(2, 2)} : [] f32[2, 2]\n" if "%w" in AXIS[name] else ""
    more += "%seed = seed : [] key[2]\n" if "%seed" in AXIS[name] else ""
    text = HEAD + more + AXIS[name]
    assert Story().tell(name, text, HeadDimension()).graph == graph(text)
