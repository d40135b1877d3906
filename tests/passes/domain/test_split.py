"""Cuts: which loops are cut where, and that the meaning stays on either side of every bound."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from hypothesis import given, note

from tempoc.driver.pipelines import O2
from tempoc.passes.analysis.dependence import stuck_cycles
from tempoc.passes.analysis.loop_carried import recurrences
from tempoc.passes.context import PassContext
from tempoc.passes.domain import split as split_loops
from tempoc.passes.domain.split import SplitLoops
from tempoc.passes.simplify.canonicalize import Canonicalize
from tempoc.passes.vectorization.vectorize import Vectorize
from tempoc.pipeline.manager import run_pipeline
from tempoc.poly.relations.space import Space
from tempoc.sdg.evaluation.interpret import evaluate
from tempoc.sdg.graph.graph import Graph
from tempoc.sdg.verification.verify import verify
from tests.support.elaborated import graph_of
from tests.support.generators.graphs import Story, data, graph
from tests.support.generators.prompts import Prompted, prompted
from tests.support.generators.settings import generated
from tests.support.golden import Golden

HEAD = """
bound P
bound T
dim p < P
dim t < T
%given = input{dtype=f32, shape=(3,)} : [p] f32[3]
"""
PROMPT = """%x.0 = copy %given[t] : [t | t < P] f32[3]
%x.1 = copy %y[t-1] : [t | t >= P] f32[3]
%x = merge{targets=((t,), (t,))} %x.0 when t < P, %x.1 when t >= P : [t] f32[3]
"""
CUT = {
    "a prompt, then what was found": f"""{PROMPT}%a = tanh %x : [t] f32[3]
%y = mul %a, %a : [t] f32[3]
output y = %y[0:T]
""",
    "of what nobody reads only the point at the cut is left": f"""{PROMPT}%a = tanh %x : [t] f32[3]
%s = sum{{axes=(0,)}} %a[0:t+1] : [t] f32[3]
%e = exp %s : [t] f32[3]
%y = div %e, %s : [t] f32[3]
output x = %x[0:T]
""",
    "a state stays a loop, what it is fed with does not": f"""\
%w = input{{dtype=f32, shape=(3, 3)}} : [] f32[3, 3]
{PROMPT}%a = matmul %w, %x : [t] f32[3]
%h.0 = copy %a[0] : [] f32[3]
%h.1 = mul %h[t-1], %a : [t | t >= 1] f32[3]
%h = merge{{targets=((0,), (t,))}} %h.0 when t == 0, %h.1 when t >= 1 : [t] f32[3]
%y = sin %h : [t] f32[3]
output y = %y[0:T]
output h = %h[0:T]
""",
    "the steps after the cut are free": """%x.0 = copy %y[t-1] : [t | t >= 1 and t < P] f32[3]
%x.1 = copy %given[P-1] : [t | t >= P or t == 0] f32[3]
%x = merge{targets=((t,), (t,))} %x.0 when t >= 1 and t < P, %x.1 when t >= P or t == 0 \
: [t] f32[3]
%y = tanh %x : [t] f32[3]
output y = %y[0:T]
""",
    "a loop that runs backwards": """%x.0 = copy %y[t+1] : [t | t < T-1 and t < P] f32[3]
%x.1 = copy %given[0] : [t | t >= P or t == T-1] f32[3]
%x = merge{targets=((t,), (t,))} %x.0 when t < T-1 and t < P, %x.1 when t >= P or t == T-1 \
: [t] f32[3]
%y = tanh %x : [t] f32[3]
output y = %y[0:T]
""",
    "what is written one step ahead": """%x.0 = copy %given[0] : [] f32[3]
%x.1 = copy %given[t+1] : [t | t+1 < T and t+1 < P] f32[3]
%a = tanh %x : [t] f32[3]
%y = sum{axes=(0,)} %a[0:t+1] : [t] f32[3]
%x = merge{targets=((0,), (t+1,), (t+1,))} %x.0 when t == 0, %x.1[t-1] when t >= 1 and t < P, \
%y[t-1] when t >= P : [t] f32[3]
output x = %x[0:T]
""",
    "several results, and a choice of which only one side is computed": f"""{PROMPT}\
%p = split{{sections=3, axis=0}} %x : [t] f32[1], f32[1], f32[1]
%c = concat{{axis=0}} %p@2, %p@1, %p@1[max(0, t-1)] : [t] f32[3]
%s = sum{{axes=(0,)}} %c : [t] f32
%zero = literal{{value=0.0, dtype=f32}} : [] f32
%b = gt %s, %zero : [t] bool
%l = log %c : [t] f32[3]
%y = cond %b, %l, %c : [t] f32[3]
output y = %y[0:T]
""",
    "once, where a second cut would not pay": """bound Q
dim q < Q
assume P <= Q
%late = input{dtype=f32, shape=(3,)} : [q] f32[3]
%x.0 = copy %given[t] : [t | t < P] f32[3]
%x.1 = copy %y[t-1] : [t | t >= P] f32[3]
%x = merge{targets=((t,), (t,))} %x.0 when t < P, %x.1 when t >= P : [t] f32[3]
%a = tanh %x : [t] f32[3]
%z.0 = copy %late[t] : [t | t < Q] f32[3]
%z.1 = copy %y[t-1] : [t | t >= Q] f32[3]
%z = merge{targets=((t,), (t,))} %z.0 when t < Q, %z.1 when t >= Q : [t] f32[3]
%b = sin %z : [t] f32[3]
%y = mul %a, %b : [t] f32[3]
output y = %y[0:T]
""",
    "windows begin with the last points before the cut": f"""{PROMPT}%a = tanh %x : [t] f32[3]
%s = sum{{axes=(0,)}} %a[max(0, t-2):t+1] : [t] f32[3]
%y = sin %s : [t] f32[3]
output y = %y[0:T]
""",
    "layers stay a loop within": f"""bound L = 3
dim l < L
{PROMPT}%u.0 = copy %x : [t] f32[3]
%w = sum{{axes=(0,)}} %u[0:t+1, l] : [t, l] f32[3]
%v = tanh %w : [t, l] f32[3]
%u = merge{{targets=((t, 0), (t, l+1))}} %u.0 when l == 0, %v[t, l-1] when l >= 1 : [t, l] f32[3]
%y = sin %v[t, L-1] : [t] f32[3]
output x = %x[0:T]
""",
}
LEFT = {
    "a state, and what it is fed with step by step": PROMPT
    + """%a = tanh %x : [t] f32[3]
%h.0 = copy %a[0] : [] f32[3]
%h.1 = mul %h[t-1], %a : [t | t >= 1] f32[3]
%h = merge{targets=((0,), (t,))} %h.0 when t == 0, %h.1 when t >= 1 : [t] f32[3]
%y = sin %h : [t] f32[3]
output y = %y[0:T]""",
    "a first step": """%x.0 = copy %given[0] : [t | t == 0] f32[3]
%x.1 = tanh %x[t-1] : [t | t >= 1] f32[3]
%x = merge{targets=((t,), (t,))} %x.0 when t == 0, %x.1 when t >= 1 : [t] f32[3]
output x = %x[0:T]""",
    "both sides wait": """%x.0 = tanh %x[max(0, t-1)] : [t | t >= 1 and t < P] f32[3]
%x.1 = sin %x[t-1] : [t | t >= P] f32[3]
%x.2 = copy %given[0] : [t | t == 0] f32[3]
%x = merge{targets=((t,), (t,), (t,))} %x.0 when t >= 1 and t < P, %x.1 when t >= P, \
%x.2 when t == 0 : [t] f32[3]
output x = %x[0:T]""",
    "nothing but copies is free": """%x.0 = copy %given[t] : [t | t < P] f32[3]
%x.1 = tanh %c[t-1] : [t | t >= P] f32[3]
%x = merge{targets=((t,), (t,))} %x.0 when t < P, %x.1 when t >= P : [t] f32[3]
%c = copy %x : [t] f32[3]
output x = %x[0:T]""",
    "nothing waits": """%x.0 = copy %given[t] : [t | t < P] f32[3]
%x.1 = copy %given[0] : [t | t >= P] f32[3]
%x = merge{targets=((t,), (t,))} %x.0 when t < P, %x.1 when t >= P : [t] f32[3]
%y = tanh %x : [t] f32[3]
output y = %y[0:T]""",
    "the other dimension decides": """bound I
dim i < I
%x.0 = copy %given[0] : [t, i | i == 0] f32[3]
%x.1 = tanh %x[max(0, t-1), i-1] : [t, i | i >= 1] f32[3]
%x = merge{targets=((t, i), (t, i))} %x.0 when i == 0, %x.1 when i >= 1 : [t, i] f32[3]
output x = %x[0:T, I-1]""",
    "both neighbours decide": """bound I
dim i < I
%y.0 = copy %given[0] : [t, i | t == 0 or i == 0 or i == I-1] f32[3]
%y.1 = mul %c[t-1, i-1], %c[t-1, i+1] : [t, i | t >= 1 and t < P and i >= 1 and i < I-1] f32[3]
%y.2 = sin %c[t-1, i] : [t, i | t >= P and i >= 1 and i < I-1] f32[3]
%y = merge{targets=((t, i), (t, i), (t, i))} %y.0 when t == 0 or i == 0 or i == I-1, \
%y.1 when t >= 1 and t < P and i >= 1 and i < I-1, \
%y.2 when t >= P and i >= 1 and i < I-1 : [t, i] f32[3]
%c = tanh %y : [t, i] f32[3]
output c = %c[0:T, 0:I]""",
}
SIZES = tuple(product((1, 2, 3, 5, 8), repeat=2))


def assert_equal(before: Graph, after: Graph) -> None:
    """Both give the same results, bit by bit, for prompts shorter and longer than the whole."""
    free = [b.name for b in before.universe.bounds if b.value is None]
    for prompt, steps in SIZES:
        sizes = dict.fromkeys(free, steps) | {"P": prompt}
        if "Q" in sizes:
            sizes["Q"] = prompt + 2
        bounds = sizes | {
            b.name: b.value.value for b in before.universe.bounds if hasattr(b.value, "value")
        }
        given = data(before, bounds)
        with np.errstate(all="ignore"):
            wanted, found = (evaluate(g, bounds, given, given) for g in (before, after))
        assert list(wanted) == list(found)
        for name, value in wanted.items():
            np.testing.assert_array_equal(found[name], value, err_msg=f"{name} at {bounds}")


def split(before: Graph) -> Graph:
    """The graph after the pass, verified and equal."""
    space = Space(before.universe)
    after = SplitLoops().run(before, PassContext(space))
    verify(after, space, after="split")
    assert_equal(before, after)
    return after


def test_split(golden: Golden) -> None:
    story = Story()
    for name, text in CUT.items():
        outcome = story.tell(name, HEAD + text, SplitLoops())
        assert_equal(graph(HEAD + text), outcome.graph)
        assert any(r.step == "split" for r in outcome.remarks)
    golden("passes/split.txt", story.text)


@pytest.mark.parametrize("name", LEFT)
def test_what_is_not_cut(name: str) -> None:
    before = graph(f"{HEAD}{LEFT[name]}\n")
    assert split(before) == before


def test_nothing_is_split_to_see_that_nothing_is_free(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(split_loops, "split_nodes", lambda *_: pytest.fail("a split"))
    looked = []
    search = split_loops._vectorizable

    def counted(one_side: Graph, dim: str, space: Space, able: set[str]) -> tuple[str, ...]:
        looked.append(dim)
        return search(one_side, dim, space, able)

    monkeypatch.setattr(split_loops, "_vectorizable", counted)
    before = graph(f"{HEAD}{LEFT['both neighbours decide']}\n")
    assert SplitLoops().run(before, PassContext(Space(before.universe))) == before
    assert looked == ["t"]


def test_all_cycles_that_no_loop_carries_are_found_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    rounds = []

    def counted(trial: Graph, space: Space) -> tuple[tuple[str, ...], ...]:
        rounds.append(trial)
        return stuck_cycles(trial, space)

    monkeypatch.setattr(split_loops, "stuck_cycles", counted)
    states = (
        f"%x{k}.1 = tanh %x{k}[t-1] : [t | t >= 1] f32[3]\n"
        f"%x{k} = merge{{targets=((t,), (t,))}} %x.0 when t == 0, %x{k}.1 when t >= 1 : [t] "
        "f32[3]\n"
        for k in range(4)
    )
    before = graph(
        f"{HEAD}%x.0 = copy %given[0] : [t | t == 0] f32[3]\n{''.join(states)}"
        "%y = sin %x0 : [t] f32[3]\noutput y = %y[0:T]\n"
    )
    free = split_loops._vectorizable(before, "t", Space(before.universe), {*before.nodes})
    assert "y" in free and "x1.1" not in free
    assert len(rounds) == 2


def test_a_cut_of_many_cycles_in_one_loop_is_tried_once(monkeypatch: pytest.MonkeyPatch) -> None:
    tried = []

    def counted(alone: Graph, dim: str, space: Space) -> list[tuple[str, ...]]:
        cycles = recurrences(alone, dim, space)
        tried.append(cycles)
        return cycles

    monkeypatch.setattr(split_loops, "recurrences", counted)
    states = (f"h{k}[t] = tanh(h{k}[t-1]) when t >= P\nh{k}[t] = h{k}[t-1]\n" for k in range(4))
    total = " + ".join(f"h{k}" for k in range(4))
    before = graph_of(
        "dim p < P\ndim t < T\ninput x: f32[3]\n"
        + "".join(f"h{k}[0] = {k + 1} * x\n" for k in range(4))
        + f"{''.join(states)}y = {total}\noutput y\n"
    )
    assert SplitLoops().run(before, PassContext(Space(before.universe))) == before
    whole, *sides = tried
    assert len(whole) == 8 and len(sides) == 2


@pytest.mark.parametrize("name", list(CUT))
def test_what_is_cut_runs_at_once(name: str) -> None:
    before = graph(HEAD + CUT[name])
    space = Space(before.universe)
    after = Vectorize().run(split(before), PassContext(space))
    verify(after, space, after="vectorize")
    stars = {n for n, node in after.nodes.items() if "t" in node.vector}
    assert {n.rpartition(".")[2] for n in stars} & {"early", "late"}
    without = Vectorize().run(before, PassContext(space))
    assert all("t" not in without.nodes[n].vector for n in without.nodes.keys() & {"a", "y", "v"})


def test_a_cut_is_explained() -> None:
    outcome = Story().tell("", HEAD + CUT["a prompt, then what was found"], SplitLoops())
    (remark,) = outcome.remarks
    assert remark.message == (
        "t < P is computed apart from t >= P: there `a`, `y` need no earlier or later point in t"
    )


def test_loops_are_not_cut_at_each_of_many_near_points() -> None:
    branches = (f"y[t] = w * y[t-1] + {k}.0 when t == {k}\n" for k in range(1, 12))
    text = "dim t < T\ninput x[t]: f32\nparam w: f32\n" + "".join(branches)
    text += "y[0] = x[0]\ny[t] = 0.5 * y[t-1] * w\nloss = sum((y * y)[t = 0:T])\n"
    before = graph_of(text + "g = grad(loss, w)\noutput loss, g\n")
    passes = O2[: [p.name for p in O2].index("split") + 1]
    outcome = run_pipeline(before, passes, PassContext(Space(before.universe)))
    assert outcome.records[-1].step == "split" and not outcome.records[-1].changed


def test_generated_programs_keep_their_meaning() -> None:
    cut: list[Graph] = []

    @given(program=prompted())
    @generated(6, long=20)
    def keeps(program: Prompted) -> None:
        note(program.text)
        before = graph_of(program.text)
        space = Space(before.universe)
        start = Canonicalize().run(before, PassContext(space))
        after = SplitLoops().run(start, PassContext(space))
        verify(after, space, after="split")
        assert_equal(before, after)
        cut.extend([after] if after != start else [])

    keeps()
    assert cut  # how many there are is up to the version of hypothesis
