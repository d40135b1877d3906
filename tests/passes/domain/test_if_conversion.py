"""If-conversion: branches that take turns become selections, where that removes loops."""

from __future__ import annotations

import numpy as np
import pytest

from tempoc.diagnostics.source import Source
from tempoc.driver.compilation import Compilation
from tempoc.driver.options import Options
from tempoc.frontend.syntax.load_modules import load_source
from tempoc.passes.context import PassContext
from tempoc.passes.domain.if_conversion import IfConversion
from tempoc.passes.vectorization.vectorize import Vectorize
from tempoc.poly.relations.space import Space
from tempoc.sdg.evaluation.interpret import evaluate
from tempoc.sdg.statements.build import is_computed
from tempoc.sdg.verification.verify import verify
from tests.support.agreement import data
from tests.support.generators.graphs import Story, assert_same, graph
from tests.support.golden import Golden

HEAD = """
bound L
bound S = 2*L+1
bound T
dim l < L
dim t < T
dim s < S
%x = input{dtype=f32} : [l] f32
%z = input{dtype=f32, shape=(2,)} : [t, s] f32[2]
"""
ODD, EVEN = "s % 2 == 1", "s % 2 == 0"
CONVERTED = {
    "every second point": f"""%y.0 = copy %x[s//2] : [s | {ODD}] f32
%zero = literal{{value=0.0, dtype=f32}} : [] f32
%y.1 = copy %zero : [s | {EVEN}] f32
%y = merge{{targets=((s,), (s,))}} %y.0 when {ODD}, %y.1 when {EVEN} : [s] f32
output y = %y[0:S]
""",
    "three branches, with what they need": """%e = exp %z : [t, s | s % 3 == 1] f32[2]
%y.0 = mul %e, %e : [t, s | s % 3 == 1] f32[2]
%y.1 = copy %z[t, s-2] : [t, s | s % 3 == 2] f32[2]
%y.2 = neg %z : [t, s | s % 3 == 0] f32[2]
%y = merge{targets=((t, s), (t, s), (t, s))} %y.0 when s % 3 == 1, %y.1 when s % 3 == 2, \
%y.2 when s % 3 == 0 : [t, s] f32[2]
output y = %y[0:T, 0:S]
""",
    "one that enters the next": f"""%a.0 = exp %x[s//2] : [s | {ODD}] f32
%a.1 = copy %x[0] : [s | {EVEN}] f32
%a = merge{{targets=((s,), (s,))}} %a.0 when {ODD}, %a.1 when {EVEN} : [s] f32
%b.0 = neg %a : [s | s % 4 < 2] f32
%b.1 = sin %a : [s | s % 4 >= 2] f32
%b = merge{{targets=((s,), (s,))}} %b.0 when s % 4 < 2, %b.1 when s % 4 >= 2 : [s] f32
output b = %b[0:S]
""",
    "differences that the last point lacks": f"""\
%d = sub %z[t, s+1], %z : [t, s | s < S-1] f32[2]
%y.0 = mul %d, %d : [t, s | {EVEN} and s < S-1] f32[2]
%y.1 = sub %z, %d[t, s-1] : [t, s | {ODD}] f32[2]
%y.2 = neg %z : [t, s | s == S-1] f32[2]
%y = merge{{targets=((t, s), (t, s), (t, s))}} %y.0 when {EVEN} and s < S-1, %y.1 when {ODD}, \
%y.2 when s == S-1 : [t, s] f32[2]
output y = %y[0:T, 0:S]
""",
    "elements that others lack": f"""%row = input{{dtype=f32, shape=(S,)}} : [] f32[S]
%y.0 = getitem{{entries=(s+1,)}} %row : [s | {ODD}] f32
%y.1 = copy %x[s//2] : [s | {EVEN} and s < S-1] f32
%y.2 = copy %x[0] : [s | s == S-1] f32
%y = merge{{targets=((s,), (s,), (s,))}} %y.0 when {ODD}, %y.1 when {EVEN} and s < S-1, \
%y.2 when s == S-1 : [s] f32
output y = %y[0:S]
""",
    "the steps of a state": f"""%h.0 = copy %x[s//2] : [s | s < S-1] f32
%h.1 = tanh %h[t, s] : [t, s | t < T-1 and {ODD}] f32
%h.2 = sin %h[t, s] : [t, s | t < T-1 and {EVEN}] f32
%h.3 = copy %x[0] : [] f32
%h = merge{{targets=((0, s), (t+1, s), (t+1, s), (0, S-1))}} %h.0 when t == 0 and s < S-1, \
%h.1[t-1, s] when t >= 1 and {ODD}, %h.2[t-1, s] when t >= 1 and {EVEN}, \
%h.3 when t == 0 and s == S-1 : [t, s] f32
output h = %h[0:T, 0:S]
""",
}
LEFT = {
    "a recurrence along the dimension": f"""%y.0 = copy %x[s//2] : [s | {ODD}] f32
%y.1 = exp %y[s-1] : [s | {EVEN} and s >= 1] f32
%y.2 = copy %x[0] : [s | s == 0] f32
%y = merge{{targets=((s,), (s,), (s,))}} %y.0 when {ODD}, %y.1 when {EVEN} and s >= 1, \
%y.2 when s == 0 : [s] f32
output y = %y[0:S]
""",
    "work that is no elementwise operation": f"""\
%y.0 = sum{{axes=(0,)}} %z[0, s] : [s | {ODD}] f32
%y.1 = copy %x[s//2] : [s | {EVEN} and s < S-1] f32
%y.2 = copy %x[0] : [s | s == S-1] f32
%y = merge{{targets=((s,), (s,), (s,))}} %y.0 when {ODD}, %y.1 when {EVEN} and s < S-1, \
%y.2 when s == S-1 : [s] f32
output y = %y[0:S]
""",
}


def test_if_conversion(golden: Golden) -> None:
    story = Story()
    for name, text in CONVERTED.items():
        outcome = story.tell(name, HEAD + text, IfConversion())
        assert any(r.step == "if_conversion" for r in outcome.remarks), name
    golden("passes/if_conversion.txt", story.text)


@pytest.mark.parametrize("name", CONVERTED)
def test_all_points_are_computed_at_once_then(name: str) -> None:
    before = graph(HEAD + CONVERTED[name])
    context = PassContext(Space(before.universe))
    after = Vectorize().run(IfConversion().run(before, context), context)
    looping = [n for n in after.nodes.values() if "s" in n.domain.dims and is_computed(n)]
    assert all("s" in n.vector for n in looping)
    verify(after, context.space)
    assert_same(before, after)


@pytest.mark.parametrize("name", LEFT)
def test_what_stays_a_loop(name: str) -> None:
    before = graph(HEAD + LEFT[name])
    assert IfConversion().run(before, PassContext(Space(before.universe))) is before


RATES = """
dim t < T
dim j < J = 2 * T + 1
input curve[t]: f32
rate[t, j] = curve[t] + 0.01 * (j - T)
v[T-1, j] = 1.0
v[t, j] = exp(-rate) * (0.4 * v[t+1, j-1] + 0.6 * v[t+1, j+1]) when j >= 1 and j < J - 1
v[t, j] = v[t+1, j] * exp(-rate)
price = v[0, T]
slope = grad(price, curve)
output price, slope
"""


def test_a_lattice_with_other_equations_at_both_ends_and_its_gradient() -> None:
    """Both ends of a row are computed with all of it, and are the rest of it in its derivatives."""
    compiled = Compilation(load_source(Source("m.rt", RATES)), Options())
    optimized = compiled.passes.graph
    nodes = [n for n in optimized.nodes.values() if is_computed(n) and "j" in n.domain.dims]
    space = Space(optimized.universe)
    loops = [n for n in nodes if "j" not in n.vector]
    assert all(space.is_fixed_by(n.domain, "j") for n in loops)
    for size in (1, 2, 3):
        bounds = {"T": size, "J": 2 * size + 1}
        given = data(compiled.graph, bounds, special=False)
        wanted = evaluate(compiled.graph, bounds, given, {})
        computed = evaluate(optimized, bounds, given, {})
        for name, value in wanted.items():
            np.testing.assert_allclose(computed[name], value, rtol=1e-4, atol=1e-5, err_msg=name)


CHECKERBOARD = """
dim t < T
dim i < H
dim j < W
input f[i, j]: f32
u[0, i, j] = f
r[t, i, j] = 0.5 * (u[t, i-1, j] + u[t, i+1, j]) \
when (i + j) % 2 == 0 and i > 0 and i < H - 1
r[t, i, j] = u
u[t+1, i, j] = 0.5 * (r[t, i, j-1] + r[t, i, j+1]) \
when (i + j) % 2 == 1 and j > 0 and j < W - 1
u[t+1, i, j] = r
output u[T-1, 0:H, 0:W] as u
"""


def test_red_and_black_points_that_take_turns_in_each_step_of_a_state() -> None:
    """What is not updated has points in several ranges, each only at steps that have a next one."""
    compiled = Compilation(load_source(Source("m.rt", CHECKERBOARD)), Options())
    optimized = compiled.passes.graph
    nodes = [n for n in optimized.nodes.values() if is_computed(n)]
    assert all({"i", "j"} & {*n.domain.dims} <= {*n.vector} for n in nodes)
    for t, h, w in ((1, 1, 1), (2, 3, 3), (3, 1, 4), (4, 5, 2)):
        bounds = {"T": t, "H": h, "W": w}
        given = data(compiled.graph, bounds, special=False)
        wanted = evaluate(compiled.graph, bounds, given, {})
        np.testing.assert_array_equal(evaluate(optimized, bounds, given, {})["u"], wanted["u"])
