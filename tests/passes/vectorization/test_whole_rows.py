"""Whole rows: triangular tables of recurrences are computed row by row."""

from __future__ import annotations

import pytest

from tempoc.diagnostics.source import Source
from tempoc.driver.compilation import Compilation
from tempoc.driver.options import Options
from tempoc.frontend.syntax.load_modules import load_source
from tempoc.passes.context import PassContext
from tempoc.passes.vectorization.vectorize import Vectorize
from tempoc.passes.vectorization.whole_rows import WholeRows
from tempoc.poly.relations.space import Space
from tempoc.sdg.statements.build import is_computed
from tests.support.agreement import agree
from tests.support.generators.graphs import Story, assert_same, graph
from tests.support.golden import Golden

HEAD = """
bound N
bound M = N
dim i < N
dim j < M
%x = input{dtype=f32} : [i] f32
"""
ROWS = {
    "a triangle whose first row is one cell": """%a.0 = mul %a[i-1, i-1-j], %x : [i, j | j < i] f32
%a.1 = copy %x : [i, j | i == j] f32
%a = merge{targets=((i, j), (i, j))} %a.1 when i == j, %a.0 when j < i : [i, j | j <= i] f32
%s = sum %a[i, 0:i+1] : [i] f32
output s = %s[0:N]
""",
    "a factor, by columns": """%l.sum = sum %l[i, 0:i] : [i] f32
%l.p = add %x, %l.sum : [i] f32
%l.0 = copy %l.p : [i, j | i == j] f32
%l.d = matmul %l[i, 0:j], %l[j, 0:j] : [i, j | j < i] f32
%l.1 = mul %l.d, %l[j, j] : [i, j | j < i] f32
%l = merge{targets=((i, j), (i, j))} %l.0 when i == j, %l.1 when j < i : [i, j | j <= i] f32
output l = %l[N-1, 0:N]
""",
}
CELLS = {
    "each cell needs those before it in its row and in its column": """\
%a.0 = copy %x : [i, j | i == j] f32
%a.l = sum %a[i, j+1:i+1] : [i, j | j < i] f32
%a.u = sum %a[j:i, j] : [i, j | j < i] f32
%a.1 = mul %a.l, %a.u : [i, j | j < i] f32
%a = merge{targets=((i, j), (i, j))} %a.0 when i == j, %a.1 when j < i : [i, j | j <= i] f32
output a = %a[N-1, 0]
""",
}


TWO = """%q.0 = copy %x : [i] f32
%q.1 = sin %q[i-1, j-1] : [i, j | j >= 1 and j <= i] f32
%q = merge{targets=((i, 0), (i, j))} %q.0 when j == 0, %q.1 when j >= 1 : [i, j | j <= i] f32
%a.s = sum %a[i-1, 0:i] : [i | i >= 1] f32
%a.0 = copy %x[0] : [] f32
%a.1 = mul %a.s, %q : [i, j | j <= i and i >= 1] f32
%a = merge{targets=((0, 0), (i, j))} %a.0 when i == 0, %a.1 when i >= 1 : [i, j | j <= i] f32
output a = %a[N-1, 0:N]
"""


def test_whole_rows(golden: Golden) -> None:
    story = Story()
    for name, text in ROWS.items():
        outcome = story.tell(name, HEAD + text, WholeRows())
        assert any(r.step == "rows" for r in outcome.remarks), name
    golden("passes/rows.txt", story.text)


@pytest.mark.parametrize("text", ROWS.values(), ids=ROWS)
def test_then_no_node_is_a_loop_over_the_cells_of_a_row(text: str) -> None:
    before = graph(HEAD + text)
    context = PassContext(Space(before.universe))
    after = WholeRows().run(before, context)
    assert_same(before, after)
    starred = Vectorize().run(after, context).nodes.values()
    assert all(len({*n.domain.dims} - {*n.vector}) < 2 for n in starred if n.op.computed)


def test_rows_are_those_of_another_recurrence_that_has_no_choice() -> None:
    before = graph(HEAD + TWO)
    context = PassContext(Space(before.universe))
    after = WholeRows().run(before, context)
    assert_same(before, after)
    assert [r.message.split(" are")[0] for r in context.remarks.entries] == [
        "`q`: all j",
        "`a`: all j",
    ]


@pytest.mark.parametrize("text", CELLS.values(), ids=CELLS)
def test_a_table_that_no_loop_carries_alone_stays(text: str) -> None:
    before = graph(HEAD + text)
    assert WholeRows().run(before, PassContext(Space(before.universe))) == before


TREE = """
dim t < T
dim j < J = T
input up: f32
worth[t, j] = up ** (2 * j - t) when j <= t
v[t, j] = maximum(1.0 - worth, 0.0) when t == T - 1 and j <= t
v[t, j] = maximum(1.0 - worth, 0.4 * v[t+1, j+1] + 0.5 * v[t+1, j]) when j <= t and t < T - 1
value = v[0, 0]
slope = grad(value, up)
output value, slope
"""


def test_the_gradient_of_a_triangle_is_computed_in_rows_as_well() -> None:
    """What rows are summed over are rows that begin or end with another equation."""
    compiled = Compilation(load_source(Source("m.rt", TREE)), Options(verify_each=True))
    nodes = compiled.passes.graph.nodes.values()
    assert not [n.name for n in nodes if "j" in n.domain.dims and is_computed(n) and not n.vector]
    agree(TREE, *({"T": size} for size in (1, 2, 3, 5)))


BEST = """dim n < T
dim i < T
dim j < T
input x[i]: f32[2]
input r: f32[3, 2]
c[0, i] = x[i]
c[n, i] = max(r + max(c[0:n, i] + ends[0:n, i+n], axis = 0), axis = 0) when n >= 1 and i + n < T
ends[n, j] = c[n, j-n] when j >= n
output c[T-1, 0] as best
"""


@pytest.mark.parametrize(
    "text", [BEST, BEST.replace("max(c", "f32(argmin(c").replace("0), a", "0)), a")]
)
def test_rows_leave_out_those_that_would_reduce_nothing(text: str) -> None:
    """A maximum of an empty range has no value: it is not computed in the first row."""
    agree(text, *({"T": size} for size in (1, 2, 5)))
