"""First points that later steps read are kept apart: which, and that the rest goes in turn."""

from __future__ import annotations

import pytest

from tempoc.diagnostics.source import Source
from tempoc.driver.compilation import Compilation
from tempoc.driver.options import Options
from tempoc.footprint.peak import peak
from tempoc.frontend.syntax.load_modules import load_source
from tempoc.passes.context import PassContext
from tempoc.passes.memory.peel_head import PeelHead
from tempoc.poly.relations.space import Space
from tempoc.runtime.forecast.least_run import default_filled_stores
from tempoc.sdg.graph.graph import Graph
from tempoc.sdg.text.text import show
from tempoc.sdg.verification.verify import verify
from tempoc.symbolic.text import show as text_of
from tests.support.agreement import agree
from tests.support.generators.graphs import assert_close, graph
from tests.support.golden import Golden

HEAD = """
bound B
bound T
dim b < B
dim t < T
%x = input{dtype=f32, shape=(3,)} : [b, t] f32[3]
%h.0 = copy %x[b, 0] : [b*] f32[3]
%h.1 = add %h[b, t-1], %x : [b*, t | t >= 1] f32[3]
%h = merge{targets=((b, 0), (b, t))} %h.0 when t == 0, %h.1 when t >= 1 : [b, t] f32[3]
%k = tanh %h : [b*, t] f32[3]
"""
WINDOW = "%w = sum{axes=(0,)} %k[b, max(0, t-3):t+1] : [b*, t] f32[3]"
OUT = "%y = add %w, %s : [b*, t] f32[3]\noutput y = %y[0:B, 0:T]"
FIRST = "%s = sum{axes=(0,)} %k[b, 0:min(2, t+1)] : [b*, t] f32[3]"
MADE = {
    "the first two, and a window": f"{WINDOW}\n{FIRST}\n{OUT}",
    "where it began": f"{WINDOW}\n%s = neg %k[b, 0] : [b*, t] f32[3]\n{OUT}",
    "of a merge, by two readers": """%w = sub %h, %h[b, 0] : [b*, t] f32[3]
%s = sum{axes=(0,)} %h[b, 0:min(3, T)] : [b*, t | t >= 3] f32[3]
output w = %w[0:B, 0:T]
output s = %s[0:B, 3:max(3, T)]""",
}
LEFT = {
    "somebody reads all so far": f"""%w = sum{{axes=(0,)}} %k[b, 0:t+1] : [b*, t] f32[3]
{FIRST}
{OUT}""",
    "it is a result": f"{WINDOW}\n{FIRST}\n{OUT}\noutput k = %k[0:B, 0:T]",
    "the reader is early, too": f"""{WINDOW}
%s.0 = neg %k[b, 0] : [b*, t | t < 2] f32[3]
%s.1 = exp %h : [b*, t | t >= 2] f32[3]
%s = merge{{targets=((b, t), (b, t))}} %s.0 when t < 2, %s.1 when t >= 2 : [b, t] f32[3]
{OUT}""",
    "nobody reads them later": f"{WINDOW}\n%s = neg %k : [b*, t] f32[3]\n{OUT}",
    "a later loop reads all": f"""{FIRST}
%w.0 = copy %k[b, T-1] : [b*] f32[3]
%w.1 = add %w[b, t+1], %k : [b*, t | t < T-1] f32[3]
%w = merge{{targets=((b, T-1), (b, t))}} %w.0 when t == T-1, %w.1 when t < T-1 : [b, t] f32[3]
{OUT}""",
    "all are there at once": f"""{WINDOW}
{FIRST}
{OUT}""".replace("[b*, t]", "[b*, t*]"),
    "nobody knows how many": f"{WINDOW}\n{FIRST}\n{OUT}".replace("min(2, t+1)", "min(B, t+1)"),
}
SINKS = """import nn
dim t < T
input x0: f32[4]
x[0] = x0
x[t+1] = tanh(y) + 0.1
k = sin(3.0 * x)
a[t] = nn.softmax(k[0:min(2, t+1)] @ x[t]) @ k[0:min(2, t+1)]
w[t] = nn.softmax(k[max(0, t-3):t+1] @ x[t]) @ k[max(0, t-3):t+1]
y[t] = a + w - x[0]
all = mean(y[0:T], axis = 0)
output y[T-1] as last, all
"""
UNTIL = """dim t < T until stop
input x0: f32[4]
x[0] = x0
x[t+1] = 0.8 * x[t] + 0.1 * sum(k[0:min(3, t+1)], axis = 0)
k = sin(3.0 * x)
stop[t] = sum(abs(x[t] - k[0])) > 2.0 or t >= 9
output x[T-1] as last
"""


def pinned(before: Graph) -> Graph:
    """The graph after the pass, verified; it means the same."""
    space = Space(before.universe)
    after = PeelHead().run(before, PassContext(space))
    verify(after, space, after="pin")
    assert_close(before, after)
    return after


def test_first_points_are_apart(golden: Golden) -> None:
    parts = []
    for name, text in MADE.items():
        before = graph(f"{HEAD}{text}\n")
        after = pinned(before)
        parts.append(f"# {name}\n{show(after, sources=False).split(chr(10), 1)[1]}")
    golden("passes/pin.txt", "\n".join(parts))


@pytest.mark.parametrize("name", LEFT)
def test_left_as_it_is(name: str) -> None:
    before = graph(f"{HEAD}{LEFT[name]}\n")
    verify(before, Space(before.universe))
    assert PeelHead().run(before, PassContext(Space(before.universe))) == before


def test_memory_does_not_grow_with_time() -> None:
    compilation = Compilation(load_source(Source("m.rt", SINKS)), Options())
    program = compilation.emitted.program
    formula = text_of(peak(program, default_filled_stores(program)).formula)
    assert compilation.proof.is_whole
    assert formula == "208"  # of these 16 * 4 for the window, 16 for the row that is handed on


def test_a_window_that_begins_behind_the_first() -> None:
    rest = "k[max(2, t-3):max(2, t+1)]"
    apart = f"w[t] = ({rest} @ x[t]) @ {rest}"
    lines = [apart if line.startswith("w[t]") else line for line in SINKS.splitlines()]
    compilation = Compilation(load_source(Source("m.rt", "\n".join(lines))), Options())
    assert compilation.proof.is_whole
    program = compilation.emitted.program
    formula = text_of(peak(program, default_filled_stores(program)).formula)
    assert formula == "208"  # of these 16 * 4 for the window, 16 for the row that is handed on


def test_attention_to_the_first_and_the_last() -> None:
    agree(SINKS, {"T": 1}, {"T": 9})


def test_a_loop_that_ends_by_its_data() -> None:
    agree(UNTIL, {"T": 12})
