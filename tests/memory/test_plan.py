from __future__ import annotations

from dataclasses import replace

import pytest

from tempoc.diagnostics.diagnostic import DiagnosticError
from tempoc.diagnostics.source import Source
from tempoc.driver.compilation import Compilation
from tempoc.driver.options import Options
from tempoc.frontend.syntax.load_modules import load_source
from tempoc.memory.plan import plan
from tempoc.memory.text import bytes_of, kinds, show
from tempoc.memory.verify import verify
from tempoc.symbolic.expr import Const, Sym
from tempoc.symbolic.text import show as show_expr
from tests.memory.programs import ATTENTION, FIBONACCI, RETURNS, RNN, STACK, planned
from tests.support.agreement import agree

CAUSAL = ATTENTION.replace("SLICE", "0:t+1").replace("EXTENT", "t+1")
WINDOWED = ATTENTION.replace("SLICE", "max(0, t+1-3):t+1").replace("EXTENT", "min(3, t+1)")
AHEAD = ATTENTION.replace("SLICE", "t:min(t+3, T)").replace("EXTENT", "min(3, T-t)")
LAST, WHOLE = RNN.replace("OUT", "T-1"), RNN.replace("OUT", "0:T")

CASES = [
    (FIBONACCI, "f", "ring", "8"),
    (LAST, "h", "register", "32"),
    (WHOLE, "h", "block", "32*T"),
    (CAUSAL, "k", "block", "16*T"),
    (WINDOWED, "k", "ring", "16*min(3, T)"),
    (AHEAD, "k", "ring", "16*min(3, T)"),
    (AHEAD, "x", "resident", "16*B*T"),
    (STACK, "h", "points", "32*T"),
    (STACK, "h.1.state", "register", "32"),
    (RETURNS, "v", "points", "12*T"),
    (RETURNS, "g", "register", "12"),
    (RETURNS, "e", "block", "12*T"),
]


@pytest.mark.parametrize(("text", "tensor", "kind", "size"), CASES)
def test_the_smallest_store_that_is_enough(text, tensor, kind, size):
    found = planned(text)
    plan, store = found.plan, found.plan.stores[tensor]
    shown = kinds(plan, found.statements)[tensor]
    assert (shown, show_expr(bytes_of(store, plan.extents))) == (kind, size)


def test_a_store_of_all_steps_is_whole_where_their_number_is_limited_and_data_end_them():
    text = """dim t < T until stop
assume T <= 64
input w: f32[4]
x[0] = w
x[t+1] = max(x[t = 0:t+1], axis = 0) * w
stop = sum(x) > 100.0
output x[T-1] as x
"""
    whole = Compilation(load_source(Source("until.rt", text)), Options(level=2)).plan
    assert [axis.size for axis in whole.stores["x"].axes] == [Sym("T")]


def test_the_last_state_has_one_slot_where_lengths_vary():
    text = """dim g < G
dim k < K until calm
input drop[g]: f32[4]
start[0] = zeros([4])
start[g+1] = last[g]
u[g, 0] = start + drop
u[g, k+1] = 0.5 * u
first[g, k] = u[g, k] + 1.0
calm = max(abs(u)) < 0.01
last = u[k = K-1]
back[g, k] = first[g, K-1-k]
sums = sum(sum(back, axis = 0)[k = 0:K])
output sums, last[G-1] as last
"""
    made = Compilation(load_source(Source("calm.rt", text)), Options(level=0))
    sizes = {n: show_expr(bytes_of(s, made.plan.extents)) for n, s in made.plan.stores.items()}
    assert (sizes["u"], sizes["first"]) == ("16", "16*K")
    assert made.proof.is_whole


@pytest.mark.parametrize("text", [FIBONACCI, LAST, WHOLE, CAUSAL, WINDOWED, AHEAD, STACK, RETURNS])
def test_plans_lose_nothing(text):
    found = planned(text)
    verify(found.plan, *found.rest)


def test_what_dies_is_given_back():
    found = planned(RETURNS)
    text = show(found.plan, found.statements)
    assert "after y  free v[t]\n" in text
    assert "after m  free e\n" in text
    assert found.plan.donations["g.1"] == ("g",)
    # Nothing is freed that an output reads, and nothing is tested for in the last part.
    assert "free z" not in text and "free y" not in text


def test_the_table():
    found = planned(WINDOWED)
    assert show(found.plan, found.statements).splitlines()[:7] == [
        "tensor  kind      type    slots              bytes",
        "x       resident  f32[4]  b: B, t: T         16*B*T",
        "k       ring      f32[4]  t: ring min(3, T)  16*min(3, T)",
        "s       register  f32[3]  1                  12",
        "a       block     f32[4]  t: T               16*T",
        "",
        "total  16 bytes*B*T + 16 bytes*T + 16 bytes*min(3, T) + 12 bytes",
    ]


def test_what_all_steps_so_far_read_grows():
    found = planned(CAUSAL)
    grown = plan(found.statements, found.scheduled, found.graph.outputs, found.space, least=8)
    assert grown.stores["k"].growing == grown.stores["k"].axes[0]
    assert "k       growing   f32[4]  t: up to T" in show(grown, found.statements)
    (need,) = grown.needs["k"]
    assert [show_expr(e) for e in need.sure] == ["t+1"]
    verify(grown, *found.rest)


@pytest.mark.parametrize("text", [FIBONACCI, LAST, WHOLE, WINDOWED, AHEAD, STACK, RETURNS])
def test_nothing_else_does(text):
    found = planned(text)
    grown = plan(found.statements, found.scheduled, found.graph.outputs, found.space, least=8)
    assert grown.needs == {}
    assert grown.stores == found.plan.stores


def test_a_store_that_does_not_grow_in_time_is_found_out():
    found = planned(CAUSAL)
    grown = plan(found.statements, found.scheduled, found.graph.outputs, found.space, least=8)
    (need,) = grown.needs["k"]
    late = replace(need, rows=(Sym("t"),), sure=(Sym("t"),))
    with pytest.raises(DiagnosticError, match="RT450"):
        verify(replace(grown, needs={**grown.needs, "k": (late,)}), *found.rest)


def test_what_is_read_at_a_number_that_is_the_last_step_is_a_register():
    text = """const S = 7
dim m < M = S
best[0] = zeros([S])
now = put(best, m, 1.0 + sum(best))
best[m+1] = now
table = now[READ]
output table
"""
    for read, slots in (("S-1", 1), ("S-2", 2)):
        source = Source("put.rt", text.replace("READ", read))
        (key,) = Compilation(load_source(source), Options(level=0)).plan.stores["now"].keys
        assert key.modulo == Const(slots)
        agree(source.text, {})
