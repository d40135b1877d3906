"""Programs that are fed first and feed themselves then, compiled, against the evaluator."""

from __future__ import annotations

import pytest
from hypothesis import given, note

from tempoc.diagnostics.source import Source
from tempoc.driver.compilation import Compilation
from tempoc.driver.options import Options
from tempoc.frontend.syntax.load_modules import load_source
from tests.support.agreement import agree
from tests.support.generators.prompts import Prompted, prompted
from tests.support.generators.settings import generated
from tests.support.session.long import sampled

SIZES = tuple({"P": prompt, "T": steps} for prompt, steps in ((1, 1), (3, 2), (4, 9)))
HEAD = "dim p < P\ndim t < T\ninput given[p]: f32[3]\ninput W: f32[3, 3]\n"
FEED = "x[t] = given[t] when t < P\nx[t] = y[t-1]\n"
PROGRAMS = {
    "attention to all before": f"""{FEED}
k = W @ x
v = tanh(k) + x
e[t] = exp(k[0:t+1] @ x[t] - max(k[0:t+1] @ x[t]))
y[t] = (e[t] / sum(e[t])) @ v[0:t+1]
output x, y
""",
    "what is seen of all before, in layers": f"""dim l < L = 3
{FEED}
u[t, 0] = x[t]
u[t, l+1] = v[t, l]
v[t, l] = tanh(W @ mean(u[0:t+1, l], axis = 0)) + u[t, l]
y[t] = v[t, L-1]
output x, y
""",
    "a recurrent network that writes": f"""{FEED}
a = W @ x
h[t] = tanh(a[t]) when t == 0
h[t] = tanh(a[t] + 0.5 * h[t-1])
y = tanh(W @ h)
output y, h[T-1] as last
""",
    "a batch": """dim b < B = 2
input first[p, b]: f32[3]
x[t, b] = first[t, b] when t < P
x[t, b] = y[t-1, b]
s[t, b] = sum(x[0:t+1, b], axis = 0)
y = tanh(W @ s) * 0.5
output x, y
""",
    "noise first, its own results then": """
x[t] = random.normal([3]) when t < P
x[t] = y[t-1]
y = W @ tanh(x) + 0.1 * random.uniform([3])
output y
""",
    "its own results first": """
x[t] = given[0] when t == 0
x[t] = 0.5 * y[t-1] when t < P
x[t] = given[P-1]
y = tanh(W @ x)
output y
""",
    "a loop that runs backwards": """
x[t] = given[0] when t >= P
x[t] = given[1 * 0] when t == T-1
x[t] = 0.5 * y[t+1]
y = tanh(W @ x)
output y
""",
    "one step behind": f"""{FEED}
c[t] = x[t] when t == 0
c[t] = x[t] - 0.5 * x[t-1]
y = W @ tanh(c)
output y
""",
    "a gradient": f"""{FEED}
param w: f32[3] = full([3], 0.5)
y = tanh(W @ x * w)
loss = mean(sum(y * y, axis = 0)[t = 0:T])
g = grad(loss, w)
output loss, g
""",
}


@pytest.mark.parametrize("name", sampled(PROGRAMS, "more programs", of=2))
def test_compiled_programs_agree(name: str) -> None:
    agree(HEAD + PROGRAMS[name], *SIZES)


def compiled(name: str) -> Compilation:
    source = Source("m.rt", HEAD + PROGRAMS[name])
    return Compilation(load_source(source), Options(verify_each=True))


def test_numbers_that_are_none_stay_with_their_readers() -> None:
    name = "attention to all before"
    # one product for all steps while all is finite, else each masks what it must not see
    assert "usually(all_finite(v), " in compiled(name).emitted.kernels
    agree(HEAD + PROGRAMS[name], SIZES[1], SIZES[2], special=True)


@pytest.mark.parametrize("name", PROGRAMS)
def test_what_is_fed_is_computed_at_once(name: str) -> None:
    compilation = compiled(name)
    assert any(r.step == "split" for r in compilation.remarks)
    nodes = compilation.optimized.nodes
    sides = {name.rpartition(".")[2] for name, node in nodes.items() if "t" in node.vector}
    assert sides & {"early", "late"}


@given(program=prompted())
@generated(2, long=5)
def test_generated_programs_agree(program: Prompted) -> None:
    note(program.text)
    agree(program.text.replace("param W", "input W"), SIZES[1], SIZES[2])
