"""Functions of the points of ranges: computed once for each point, with the same values."""

from __future__ import annotations

import pytest

from tempoc.diagnostics.source import Source
from tempoc.driver.compilation import Compilation
from tempoc.driver.options import Options
from tempoc.frontend.syntax.load_modules import load_source
from tempoc.passes.context import PassContext
from tempoc.passes.simplify.range_functions import RangeFunctions
from tempoc.poly.relations.space import Space
from tests.support.generators.graphs import Story, assert_close, graph
from tests.support.golden import Golden

HEAD = """
bound N
dim t < N
%x = input{dtype=f32, shape=(4,)} : [t] f32[4]
%w = input{dtype=f32, shape=(4, 6)} : [] f32[4, 6]
"""
ONCE = {
    "keys of all points so far, by heads": """%k = matmul %x[0:t+1], %w : [t] f32[t+1, 6]
%h = reshape{shape=(t+1, 2, 3)} %k : [t] f32[t+1, 2, 3]
%y = max{axes=(0,)} %h : [t] f32[2, 3]
output y = %y[0:N]
""",
    "windows, as columns": """%c = transpose{axes=(1, 0)} %x[max(0, t-2):t+1] \
: [t] f32[4, min(3, t+1)]
%e = exp %c : [t] f32[4, min(3, t+1)]
%y = max{axes=(1,)} %e : [t] f32[4]
output y = %y[0:N]
""",
    "an operator that takes one row": """%c = cumsum{axis=1} %x[t:N] : [t] f32[N-t, 4]
%y = max{axes=(0,)} %c : [t] f32[4]
output y = %y[0:N]
""",
}
LEFT = {
    "what varies with the point that reads": """%m = mul %x[0:t+1], %x : [t] f32[t+1, 4]
%e = exp %m : [t] f32[t+1, 4]
%y = max{axes=(0,)} %e : [t] f32[4]
output y = %y[0:N]
""",
    "an element that the point names": """%e = getitem{entries=((0, N-t, 1), t)} %z[t:N] \
: [t] f32[N-t]
%f = exp %e : [t] f32[N-t]
%y = max{axes=(0,)} %f : [t] f32
output y = %y[0:N]
""",
    "moves alone": """%c = transpose{axes=(1, 0)} %x[0:t+1] : [t] f32[4, t+1]
%y = max{axes=(1,)} %c : [t] f32[4]
output y = %y[0:N]
""",
    "ranges without common points": """bound K
dim k < K
assume 4 * K <= N
%e = exp %x[4*k:4*k+4] : [k] f32[4, 4]
%y = max{axes=(0,)} %e : [k] f32[4]
output y = %y[0:K]
""",
}
SQUARE = "%z = pad{widths=((0, N-4),)} %x : [t] f32[N]\n"


def test_range_functions(golden: Golden) -> None:
    story = Story()
    for name, text in ONCE.items():
        story.tell(name, HEAD + text, RangeFunctions(), rounded=True)
    golden("passes/ranges.txt", story.text)


@pytest.mark.parametrize("name", LEFT)
def test_what_stays_a_function_of_ranges(name: str) -> None:
    head = HEAD.replace("bound N\n", "bound N\nassume N >= 4\n") + SQUARE
    text = LEFT[name]
    before = graph(head + text) if "getitem" in text else graph(HEAD + text)
    assert RangeFunctions().run(before, PassContext(Space(before.universe))) == before


def test_derivatives_are_those_of_points() -> None:
    text = """dim t < N
input x[t]: f32[2]
input w: f32[2, 2]
words = tanh(x[0:t+1] @ w)
cost = sum(sum(sigmoid(words @ w), axis = 0)[t = 0:N])
dw = grad(cost, w)
inner = grad(cost, words)
total = sum(inner)
output dw, total
"""
    compilation = Compilation(load_source(Source("m.rt", text)), Options(verify_each=True))
    assert_close(compilation.graph, compilation.prepared)
    shapes = [n.types[0].shape for n in compilation.passes.graph.nodes.values() if n.op.contraction]
    assert all(len(shape) < 3 for shape in shapes)
