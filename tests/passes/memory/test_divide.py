"""What is read under disjoint conditions is kept apart: which, and how much of it."""

from __future__ import annotations

import pytest

from tempoc.diagnostics.source import Source
from tempoc.driver.compilation import Compilation
from tempoc.driver.options import Options
from tempoc.footprint.peak import peak
from tempoc.frontend.syntax.load_modules import load_source
from tempoc.passes.context import PassContext
from tempoc.passes.memory.divide import DivideByReaders
from tempoc.poly.relations.space import Space
from tempoc.runtime.forecast.least_run import default_filled_stores
from tempoc.sdg.text.text import show
from tempoc.sdg.verification.verify import verify
from tempoc.symbolic.text import show as text_of
from tests.support.agreement import agree
from tests.support.generators.graphs import assert_close, graph
from tests.support.golden import Golden

HEAD = """
bound T
bound L
dim t < T
dim l < L
%x = input{dtype=f32, shape=(3,)} : [t, l] f32[3]
"""
MERGE = """%h.0 = copy %x[t, 0] : [t] f32[3]
%h.1 = add %y[t, l-1], %x : [t, l | l >= 1] f32[3]
%h = merge{targets=((t, 0), (t, l))} %h.0 when l == 0, %h.1 when l >= 1 : [t, l] f32[3]
"""
KEYS = f"{MERGE}%g = tanh %h : [t, l] f32[3]\n%k = exp %g : [t, l] f32[3]\n"
WINDOW = "%a.0 = sum{axes=(0,)} %k[max(0, t-3):t+1, l] : [t, l | l % 3 == 1] f32[3]\n"
ALL = "%a.1 = sum{axes=(0,)} %k[0:t+1, l] : [t, l | l % 3 != 1] f32[3]\n"
BRANCHES = "%a.0 when l % 3 == 1, %a.1 when l % 3 != 1"
END = f"""%y = merge{{targets=((t, l), (t, l))}} {BRANCHES} : [t, l] f32[3]
output y = %y[0:T, 0:L]
"""
MADE = {
    "layers in turn": f"{KEYS}{WINDOW}{ALL}{END}",
    "the first layers": f"{KEYS}{WINDOW}{ALL}{END}".replace("l % 3 == 1", "l < 2").replace(
        "l % 3 != 1", "l >= 2"
    ),
    "a merge with branches of its own": f"""{MERGE}%k.0 = exp %h : [t, l | t < 2] f32[3]
%k.1 = tanh %h : [t, l | t >= 2] f32[3]
%k = merge{{targets=((t, l), (t, l))}} %k.0 when t < 2, %k.1 when t >= 2 : [t, l] f32[3]
{WINDOW}{ALL}{END}""",
}
LEFT = {
    "the same range": f"{KEYS}{WINDOW}{ALL}{END}".replace("%k[0:t+1", "%k[max(0, t-3):t+1"),
    "two windows": f"{KEYS}{WINDOW}{ALL}{END}".replace("%k[0:t+1", "%k[max(0, t-1):t+1"),
    "of the layer before": f"{KEYS}{WINDOW}{ALL}{END}".replace("%k[0:t+1, l]", "%k[0:t+1, 0]"),
    "conditions overlap": f"""{KEYS}{WINDOW}{ALL.replace(" | l % 3 != 1", "")}{END}""",
    "it is a result": f"{KEYS}{WINDOW}{ALL}{END}output k = %k[0:T, 0:L]\n",
}
HYBRID = """import nn
dim t < T
dim l < L = 5
input w[l]: f32[4, 4]
input u[l]: f32[4, 4]
input x0: f32[4]
x[0, 0] = x0
x[t, 0] = tanh(y[t-1, L-1])
x[t, l+1] = y
k = w @ x
v = u @ x
a[t, l] = nn.attention(x, k[t = max(0, t-3):t+1], v[t = max(0, t-3):t+1]) when l % 3 != 2
a[t, l] = nn.attention(x, k[t = 0:t+1], v[t = 0:t+1])
y = tanh(x + a)
output y[t = T-1, l = L-1] as last
"""


def test_parts_with_stores_of_their_own(golden: Golden) -> None:
    parts = []
    for name, text in MADE.items():
        before = graph(f"{HEAD}{text}")
        space = Space(before.universe)
        after = DivideByReaders().run(before, PassContext(space))
        verify(after, space, after="divide")
        assert_close(before, after)
        parts.append(f"# {name}\n{show(after, sources=False).split(chr(10), 1)[1]}")
    golden("passes/divide.txt", "\n".join(parts))


@pytest.mark.parametrize("name", LEFT)
def test_left_as_it_is(name: str) -> None:
    before = graph(f"{HEAD}{LEFT[name]}")
    verify(before, Space(before.universe))
    assert DivideByReaders().run(before, PassContext(Space(before.universe))) == before


def test_memory_of_layers_that_alternate() -> None:
    compilation = Compilation(load_source(Source("m.rt", HYBRID)), Options())
    program = compilation.emitted.program
    largest = peak(program, default_filled_stores(program))
    rows = {row.part[0]: text_of(row.size) for row in largest.rows if not row.part[1]}
    assert compilation.proof.is_whole
    assert rows["k.then"] == "256"  # four layers of a window
    assert rows["k.else"] == "16*T_slots"  # one layer of everything


@pytest.mark.parametrize("layers", [1, 2, 5])
def test_layers_that_alternate(layers: int) -> None:
    agree(HYBRID.replace("L = 5", f"L = {layers}"), {"T": 1}, {"T": 9})


def test_a_number_of_layers_that_the_run_knows() -> None:
    agree(HYBRID.replace("L = 5", "L"), {"T": 7, "L": 1}, {"T": 7, "L": 4})
