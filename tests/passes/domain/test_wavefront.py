"""Wavefronts: tables whose cells need their neighbours are computed by anti-diagonals."""

from __future__ import annotations

import numpy as np
import pytest

from tempoc.diagnostics.source import Source
from tempoc.driver.compilation import Compilation
from tempoc.driver.options import CPU, DEVICES, Options
from tempoc.frontend.syntax.load_modules import load_source
from tempoc.passes.context import PassContext
from tempoc.passes.domain.wavefront import Wavefront
from tempoc.passes.vectorization.vectorize import Vectorize
from tempoc.pipeline.spec import show_pipeline
from tempoc.poly.relations.space import Space
from tempoc.sdg.evaluation.interpret import evaluate
from tests.support.agreement import agree, data
from tests.support.generators.graphs import Story, graph
from tests.support.generators.lattices import lattice_program
from tests.support.golden import Golden
from tests.support.session.long import ends, sampled

HEAD = """
bound B
bound I
bound J
dim b < B
dim i < I
dim j < J
%x = input{dtype=f32} : [b, i] f32
%y = input{dtype=f32} : [b, j] f32
%c = input{dtype=f32} : [i, j] f32
%bx = sin %x : [b, i | i >= 1] f32
%by = sin %y : [b, j] f32
%u = copy %x[0, i] : [i | i >= 1] f32
%v = copy %y[0, j] : [j] f32
"""
INSIDE = "i != 0 and j != 0"
BACK = "i != 0 and j < J-1"
DONE = {
    "edit distance, with equations of the rim": f"""%d.0 = index{{expr=j}} : [j] i32
%d.1 = index{{expr=i}} : [i | i >= 1] i32
%d.lt = lt %x[0, i-1], %y[0, j-1] : [i, j | {INSIDE}] bool
%two = literal{{value=2, dtype=i32}} : [] i32
%no = literal{{value=0, dtype=i32}} : [] i32
%d.cost = where %d.lt, %two, %no : [i, j | {INSIDE}] i32
%d.min = minimum %d[i-1, j], %d[i, j-1] : [i, j | {INSIDE}] i32
%d.far = add %d[i-1, j-1], %d.cost : [i, j | {INSIDE}] i32
%d.2 = minimum %d.min, %d.far : [i, j | {INSIDE}] i32
%d = merge{{targets=((0, j), (i, 0), (i, j))}} %d.0 when i == 0, %d.1 when j == 0 and i != 0, \
%d.2 when {INSIDE} : [i, j] i32
output d = %d[I-1, J-1]
""",
    "rows that need their neighbours along the rim, in a batch, all of them read": f"""\
%r.1 = add %r[b, i-1, 0], %x : [b, i | i >= 1] f32
%r.2 = add %r[b, i-1, j], %r[b, i, j-1] : [b, i, j | {INSIDE}] f32
%r.3 = mul %r.2, %c : [b, i, j | {INSIDE}] f32
%r = merge{{targets=((b, 0, j), (b, i, 0), (b, i, j))}} %by when i == 0, \
%r.1 when j == 0 and i != 0, %r.3 when {INSIDE} : [b, i, j] f32
output r = %r[0:B, 0:I, 0:J]
""",
    "a guard says where the rim is, whose reads name it": f"""\
%r.sum = add %r[i-1, 0], %x[0, i] : [i | i >= 1] f32
%r.1 = copy %r.sum[i] : [i, j | i >= 1 and j == 0] f32
%r.2 = add %r[i-1, j], %r[i, j-1] : [i, j | {INSIDE}] f32
%r.3 = mul %r.2, %c : [i, j | {INSIDE}] f32
%r = merge{{targets=((0, j), (i, j), (i, j))}} %v when i == 0, %r.1 when j == 0 and i != 0, \
%r.3 when {INSIDE} : [i, j] f32
output r = %r[I-1, J-1]
""",
    "written one cell ahead": """\
%r.lt = lt %x[0, i], %y[0, j] : [i, j | i < I-1 and j < J-1] bool
%r.max = maximum %r[i, j+1], %r[i+1, j] : [i, j | i < I-1 and j < J-1] f32
%r.2 = where %r.lt, %r[i, j], %r.max : [i, j | i < I-1 and j < J-1] f32
%r = merge{targets=((0, j), (i, 0), (i+1, j+1))} %v when i == 0, %u when i != 0 and j == 0, \
%r.2[i-1, j-1] when i != 0 and j != 0 : [i, j] f32
output r = %r[I-1, J-1]
""",
    "backwards along one dimension": f"""\
%r.2 = add %r[i-1, j], %r[i, j+1] : [i, j | {BACK}] f32
%r.3 = add %r.2, %c[i-1, j+1] : [i, j | {BACK}] f32
%r = merge{{targets=((0, j), (i, J-1), (i, j))}} %v when i == 0, %u when i != 0 and j == J-1, \
%r.3 when {BACK} : [i, j] f32
output r = %r[0:I, 0]
""",
}
LEFT = {
    "one dimension at once": f"""\
%r.2 = add %r[b, i-1, j-1], %y : [b, i, j | {INSIDE}] f32
%r = merge{{targets=((b, 0, j), (b, i, 0), (b, i, j))}} %by when i == 0, \
%bx when j == 0 and i != 0, %r.2 when {INSIDE} : [b, i, j] f32
output r = %r[0:B, 0:I, 0:J]
""",
    "on both sides along one": f"""\
%r.2 = add %r[i-1, j+1], %r[i, j-1] : [i, j | {INSIDE} and j < J-1] f32
%r.3 = copy %c : [i, j | {INSIDE} and j == J-1] f32
%r = merge{{targets=((0, j), (i, 0), (i, j), (i, j))}} %v when i == 0, %u when i != 0 and j == 0, \
%r.2 when {INSIDE} and j < J-1, %r.3 when {INSIDE} and j == J-1 : [i, j] f32
output r = %r[I-1, J-1]
""",
    "at a distance that varies": f"""\
%r.2 = add %r[i//2, j], %r[i, j-1] : [i, j | {INSIDE} and i >= 2] f32
%r.3 = copy %c : [i, j | {INSIDE} and i == 1] f32
%r = merge{{targets=((0, j), (i, 0), (i, j), (i, j))}} %v when i == 0, %u when i != 0 and j == 0, \
%r.2 when {INSIDE} and i >= 2, %r.3 when {INSIDE} and i == 1 : [i, j] f32
output r = %r[I-1, J-1]
""",
}


def test_wavefront(golden: Golden) -> None:
    story = Story()
    for name, text in (DONE | LEFT).items():
        story.tell(name, HEAD + text, Vectorize(), Wavefront())
    golden("passes/wavefront.txt", story.text)


@pytest.mark.parametrize("name", DONE)
def test_each_step_computes_a_row_then(name: str) -> None:
    before = graph(HEAD + DONE[name])
    context = PassContext(Space(before.universe))
    after = Vectorize().run(Wavefront().run(before, context), context)
    assert any("at once" in r.message for r in context.remarks.entries if r.step == "wavefront")
    for node in after.nodes.values():
        loops = [d for d in node.domain.dims if d not in node.vector]
        assert loops in ([], ["diagonal"]) or not node.op.computed, node.name


@pytest.mark.parametrize("name", LEFT)
def test_what_stays_as_it_is(name: str) -> None:
    before = graph(HEAD + LEFT[name])
    context = PassContext(Space(before.universe))
    plain = Vectorize().run(before, context)
    assert Wavefront().run(plain, context) is plain
    assert context.space.universe == before.universe


def generated(seed: int) -> Compilation:
    return Compilation(load_source(Source("m.rt", lattice_program(seed))), Options())


BY_DIAGONALS = (1, 7, 10, 11)
"""Random programs that have wavefronts; others have recurrences along one dimension."""


@pytest.mark.parametrize(
    "seed", sampled(range(12), "more random programs", keep=(0, *BY_DIAGONALS[::2]).__contains__)
)
def test_generated(seed: int) -> None:
    """Optimized graphs mean what the program means, at small, odd and unequal bounds."""
    compiled = generated(seed)
    for i, j in ends(((1, 1), (1, 3), (5, 2), (2, 3), (4, 5))):
        bounds = {b.name: 2 for b in compiled.graph.universe.bounds} | {"I": i, "J": j}
        inputs = data(compiled.graph, bounds, special=False)
        wanted = evaluate(compiled.graph, bounds, inputs, {})
        computed = evaluate(compiled.passes.graph, bounds, inputs, {})
        for name, value in wanted.items():
            close = {"rtol": 1e-4, "atol": 1e-4}
            np.testing.assert_allclose(computed[name], value, **close, err_msg=f"{name}, {i}, {j}")


@pytest.mark.parametrize("seed", BY_DIAGONALS)
def test_some_generated_programs_have_wavefronts(seed: int) -> None:
    remarks = generated(seed).remarks
    assert any(r.step == "wavefront" and "at once" in r.message for r in remarks)


ALIGNED = """dim m < M
dim n < N
dim i < I = M + 1
dim j < J = N + 1
input left[m]: i32
input right[n]: i32
d[0, j] = 0 + j
d[i, 0] = 0 + i
d[i, j] = minimum(
  minimum(d[i-1, j], d[i, j-1]) + 1,
  d[i-1, j-1] + where(left[i-1] == right[j-1], 0, 1),
)
output d[I-1, J-1] as distance
"""
WARPED = """dim b < B
dim m < M
dim n < N
input x[b, m]: f32[2]
input y[b, n]: f32[2]
cost = sum((x - y) ** 2)
r[b, 0, 0] = cost[b, 0, 0]
r[b, m, 0] = cost[b, m, 0] + r[b, m-1, 0]
r[b, 0, n] = cost[b, 0, n] + r[b, 0, n-1]
r[b, m, n] = cost - logsumexp(stack([-r[b, m-1, n], -r[b, m, n-1], -r[b, m-1, n-1]]))
distance[b] = r[b, M-1, N-1]
slope = grad(distance, x)
output distance, slope
"""


def test_compiled() -> None:
    agree(ALIGNED, *({"M": m, "N": n} for m, n in ((1, 1), (2, 3), (7, 4))))


def test_compiled_with_gradient() -> None:
    agree(WARPED, {"B": 2, "M": 3, "N": 5})


LEARNED = """dim k < K
dim i < I
dim j < J
input x[i]: f32
input y[j]: f32
w[0] = 0.5
d[k, i, j] = (x[i] - w * y[j]) ** 2
r[k, i, j] = d when i == 0 and j == 0
r[k, i, j] = d + r[k, i-1, j] when j == 0
r[k, i, j] = d + r[k, i, j-1] when i == 0
r[k, i, j] = d - logsumexp(stack([-r[k, i-1, j], -r[k, i, j-1], -r[k, i-1, j-1]]))
loss = r[k, I-1, J-1]
w[k+1] = w - 0.01 * grad(loss, w)
output loss, w[K-1] as fit
"""


def test_a_table_in_each_step_of_training() -> None:
    """The whole step is a cycle along `k`; within it, two tables are left."""
    source = load_source(Source("m.rt", LEARNED))
    compiled = Compilation(source, Options())
    done = [r for r in compiled.remarks if r.step == "wavefront" and "at once" in r.message]
    assert len(done) == 2
    bounds = {b.name: 3 for b in compiled.graph.universe.bounds} | {"I": 2}
    inputs = data(compiled.graph, bounds, special=False)
    wanted = evaluate(compiled.graph, bounds, inputs, {})
    computed = evaluate(compiled.passes.graph, bounds, inputs, {})
    for name, value in wanted.items():
        np.testing.assert_allclose(computed[name], value, rtol=1e-4, err_msg=name)


QUEUES = """dim k < K
dim s < S
input gap[k]: f32
input service[k, s]: f32
arrive[0, 0] = gap[0]
arrive[k, 0] = arrive[k-1, 0] + gap
arrive[k, s] = leave[k, s-1]
free[0, s] = zeros([2])
leave = maximum(arrive, min(free)) + service
free[k+1, s] = where(arange(2) == argmin(free), leave, free)
output leave[0:K, S-1] as left
"""


@pytest.mark.parametrize(
    ("told", "row"), [("", "s"), ("assume K <= S\n", "k"), ("assume S <= K\n", "s")]
)
def test_rows_along_the_shorter_dimension(told: str, row: str) -> None:
    """Nothing is given at each station only; what is assumed of the extents says more."""
    compiled = Compilation(load_source(Source("m.rt", QUEUES + told)), Options())
    rows = [n for n in compiled.passes.graph.nodes.values() if n.name.endswith(".rows")]
    assert rows and all({*n.domain.dims} == {"diagonal", row} for n in rows)
    if not told:
        agree(QUEUES, {"K": 5, "S": 2}, {"K": 1, "S": 3})


SCALED = """dim i < I
dim j < J
input d[i, j]: f32
r[0, 0] = d[0, 0]
r[i, 0] = d[i, 0] + r[i-1, 0]
r[0, j] = d[0, j] + r[0, j-1]
r[i, j] = d - logsumexp(stack([-2.0 * r[i-1, j-1], -2.0 * r[i-1, j], -2.0 * r[i, j-1]]))
output r[I-1, J-1] as y
"""


def test_a_row_whose_cells_take_long_is_no_scan() -> None:
    """What a row needs of the one before is made of that at once, so that a scan could do it."""
    compiled = Compilation(load_source(Source("m.rt", SCALED)), Options())
    assert any(r.step == "wavefront" and "at once" in r.message for r in compiled.remarks)
    agree(SCALED, *({"I": m, "J": n} for m, n in ((1, 1), (2, 3), (7, 4))))


GAPS = """dim i < I
dim j < J
input d[i, j]: f32
h[0, j] = 0.0
h[i, 0] = 0.0
e[i, 0] = -inf
f[0, j] = -inf
e[i, j] = maximum(h[i, j-1] - 3.0, e[i, j-1] - 1.0)
f[i, j] = maximum(h[i-1, j] - 3.0, f[i-1, j] - 1.0)
h[i, j] = maximum(maximum(0.0, h[i-1, j-1] + d), maximum(e[i, j], f[i, j]))
y = max(h[0:I, 0:J])
output y
"""


@pytest.mark.parametrize("device", DEVICES)
def test_a_row_is_no_scan_where_its_steps_are_launched(device: str) -> None:
    """A CPU takes longer for rows of padding than for steps of little work; a GPU does not."""
    compiled = Compilation(load_source(Source("m.rt", GAPS)), Options(device=device))
    by_diagonals = any(r.step == "wavefront" and "at once" in r.message for r in compiled.remarks)
    assert by_diagonals == (device != CPU)
    sizes = [{"I": m, "J": n} for m, n in ((1, 1), (2, 3), (7, 4))]
    agree(GAPS, *sizes, passes=show_pipeline(compiled.steps))


LOCAL = """dim b < B
dim i < I
dim j < J
input x[b, i]: f32
input y[b, j]: f32
s = 2.0 - abs(x - y)
h[b, i, j] = maximum(0.0, s) when i == 0 or j == 0
h[b, i, j] = maximum(0.0, maximum(h[b, i-1, j-1] + s, maximum(h[b, i-1, j], h[b, i, j-1]) - 0.5))
"""
BACK = """h[b, i, j] = maximum(0.0, s) when i == I-1 or j == J-1
h[b, i, j] = maximum(0.0, maximum(h[b, i+1, j+1] + s, maximum(h[b, i+1, j], h[b, i, j+1]) - 0.5))
"""
CROSS = """h[b, i, j] = s when i == 0 or j == J-1
h[b, i, j] = maximum(h[b, i-1, j+1] + s, maximum(h[b, i-1, j], h[b, i, j+1]) - 0.5)
"""
COUNT = """h[b, i, j] = i32(s) when i == 0 or j == 0
h[b, i, j] = minimum(h[b, i-1, j-1] + i32(s > 1.0), h[b, i-1, j] - h[b, i, j-1])
"""
REACHED = """h[b, i, j] = s > -0.5 when i == 0 or j == 0
h[b, i, j] = (h[b, i-1, j] or h[b, i, j-1]) and s > 1.0 or not h[b, i-1, j-1] and s > 1.5
"""
AWAY = """h[b, i, j] = s > 1.0 when i == I-1 or j == 0
h[b, i, j] = (h[b, i+1, j] or h[b, i, j-1]) and s > 0.5
"""
GIVEN = LOCAL.split("h[b, i, j]")[0]
TOTALS = {
    "all": f"{LOCAL}best = max(h[b, 0:I, 0:J])\noutput best\n",
    "least": f"{LOCAL}best = min(h[b, 0:I, 0:J])\noutput best\n",
    "of all of a batch": f"{LOCAL}best = max(h[0:B, 0:I, 0:J])\noutput best\n",
    "of one": f"{LOCAL}best = max(h[B-1, 0:I, 0:J])\noutput best\n",
    "back": f"{GIVEN}{BACK}best = max(h[b, 0:I, 0:J])\noutput best\n",
    "across": f"{GIVEN}{CROSS}best = min(h[b, 0:I, 0:J])\noutput best\n",
    "integers": f"{GIVEN}{COUNT}best = max(h[b, 0:I, 0:J])\noutput best\n",
    "whether any holds": f"{GIVEN}{REACHED}best = any(h[b, 0:I, 0:J])\noutput best\n",
    "whether all hold": f"{GIVEN}{REACHED}best = all(h[0:B, 0:I, 0:J])\noutput best\n",
    "whether all hold, away": f"{GIVEN}{AWAY}best = all(h[b, 0:I, 0:J])\noutput best\n",
    "whether any and all hold in a box": f"assume I >= 2\n{GIVEN}{AWAY}best = any(h[b, 1:I, 0:J])\n"
    "worst = all(h[b, 0:I-1, 0:J])\noutput best, worst\n",
    "a box": f"assume I >= 2\n{LOCAL}best = max(h[b, 1:I, 0:J])\noutput best\n",
    "two": f"{LOCAL}best = max(h[b, 0:I, 0:J])\nworst = min(h[b, 0:I, 0:J])\noutput best, worst\n",
}
TABLES = {
    "sums, which would be rounded otherwise": "best = sum(h[b, 0:I, 0:J])\noutput best\n",
    "of each row": "best = max(h[b, i, 0:J])\noutput best\n",
    "a growing box": "best = max(h[b, 0:i+1, 0:J])\noutput best\n",
    "what is stored": "best = max(h[b, 0:I, 0:J])\noutput best, h\n",
    "every other row": "best = max(h[b, 0:I:2, 0:J])\noutput best\n",
}


@pytest.mark.parametrize("name", sampled(TOTALS, "more totals", of=3))
def test_totals_of_a_table_are_kept_in_its_rows(name: str) -> None:
    """No table is stored: what its rows have so far is enough."""
    text = TOTALS[name]
    compiled = Compilation(load_source(Source("m.rt", text)), Options())
    for node in compiled.passes.graph.nodes.values():
        assert not {"i", "j"} <= {*node.domain.dims} or not node.op.computed, node.name
    least = 2 if "assume" in text else 1
    sizes = ((least, 1), (2, 3), (5, 2), (2, 7))
    agree(text, *({"B": 2, "I": i, "J": j} for i, j in sizes))
    if name != "integers":
        agree(text, {"B": 2, "I": 2, "J": 7}, special=True)


@pytest.mark.parametrize("name", sampled(TABLES, "more tables", of=2))
def test_tables_that_others_read_are_stored(name: str) -> None:
    text = LOCAL + TABLES[name]
    names = Compilation(load_source(Source("m.rt", text)), Options()).passes.graph.nodes
    assert not any(n.startswith("best.row.when") for n in names)
    agree(text, *({"B": 2, "I": i, "J": j} for i, j in ((1, 1), (4, 3))))


FOUND = """dim t < T until stop
assume T <= J
input stop[t]: bool
best = max(h[b, 0:I, 0:T])
output best
"""


def test_a_table_is_stored_where_a_length_that_is_found_says_what_is_read() -> None:
    compiled = Compilation(load_source(Source("m.rt", LOCAL + FOUND)), Options())
    assert not any(n.startswith("best.row.when") for n in compiled.passes.graph.nodes)
    agree(LOCAL + FOUND, {"B": 2, "I": 3, "J": 4, "T": 3}, {"B": 1, "I": 1, "J": 1, "T": 1})
