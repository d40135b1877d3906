"""Tensors that learn side by side, each by its own gradient: as one record of them learns."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

import numpy as np
import pytest
from hypothesis import given, note, strategies as st

from tempoc.diagnostics.diagnostic import DiagnosticError
from tempoc.sdg.evaluation.interpret import evaluate
from tests.support.agreement import agree, compile_text
from tests.support.elaborated import graph_of
from tests.support.generators.settings import generated
from tests.support.gradients import data

HEAD = "import optim\ndim e < E\ndim i < I\ndim b < B\ninput x[b]: f32[3]\ninput y[b]: f32\n"
STARTS = ("input a0: f32[2, 3]", "input c0: f32[2]", "input d0: f32[2]", "input f0: f32")
NAMES = "acdf"
ERRORS = (
    "{d} @ tanh({a} @ x + {c}) + {f} - y",
    "({d} * {c}) @ ({a} @ x) * {f} - y",
    "tanh({f} * {c} @ ({a} @ x)) + {d} @ {d} - y",
    "{d} @ ({a} @ x + stop_gradient({c})) + {c} @ {c} * {f} - y",
)
MOVES = (
    "{x} - 0.1 * {g}",
    "optim.sgd({x}, {g}, {t}, lr = 0.1)",
    "optim.momentum({x}, {g}, {t}, lr = 0.05)",
    "optim.adam({x}, {g}, {t}, lr = 0.1)",
    "optim.lion({x}, {g}, {t}, lr = 0.1)",
    "optim.rmsprop({x}, {g}, {t}, lr = 0.1)",
    "optim.adamw({x}, {g}, {t}, lr = 0.1, weight_decay = 0.1)",
    "optim.clip_by_norm({x} - 0.2 * {g}, 2.0)",
)
NEXT = {
    "plain": "{x}[0] = {x}0\n{x}[i+1] = {new}\n",
    "named": "{x}[0] = {x}0\n{x}2 = {new}\n{x}[i+1] = {x}2\n",
    "ahead": "m{x}[0] = zeros_like({x}0)\nm{x}[i+1] = 0.5 * m{x} + {g}\n"
    "{x}[0] = {x}0\n{x}[i+1] = {x} - 0.1 * m{x}[i+1]\n",
    "back": "{x}[i] = {x}0 when i == 0\n{x}[i] = {new}\n",
    "rarely": "{x}[0] = {x}0\n{x}[i+1] = {new} when i % 3 == 1\n{x}[i+1] = {x}\n",
    "epochs": "{x}[0, 0] = {x}0\n{x}2 = {new}\n{x}[e, i+1] = {x}2\n{x}[e+1, 0] = {x}2[e, I-1]\n",
}
Numbers = Mapping[str, np.ndarray]


@st.composite
def pairs(draw: st.DrawFn) -> tuple[str, str, str]:
    """A program with separate tensors, one with records of them, and the names that learn."""
    learned = draw(st.sets(st.sampled_from(NAMES), min_size=2).map(sorted))
    error = draw(st.sampled_from(ERRORS))
    epochs = draw(st.booleans())
    form = (
        "epochs" if epochs else draw(st.sampled_from(("plain", "named", "ahead", "back", "rarely")))
    )
    step = "e * I + i" if epochs else "i"
    back = form == "back"
    moves = {x: draw(st.sampled_from(MOVES[:1] if back else MOVES)) for x in learned}
    whole = draw(st.booleans())
    loss = f"loss = mean((({error}) ** 2)[b = 0:B])\n"
    fixed = {x: f"{x}0" for x in NAMES if x not in learned}
    apart, together = [HEAD + "\n".join(STARTS) + "\n"] * 2
    apart += loss.format(**{x: x for x in learned}, **fixed)
    together += loss.format(**{x: f"net.{x}" for x in learned}, **fixed)
    together += f"net = {{{', '.join(f'{x}: {x}' for x in learned)}}}\n"
    together += "slope = grad(loss, net)\n"
    if whole:  # the length of all gradients together, which each step reads
        apart += "".join(f"g{x} = grad(loss, {x})\n" for x in learned)
        apart += f"size = 1.0 + {' + '.join(f'sum(g{x} * g{x})' for x in learned)}\n"
        together += f"size = 1.0 + {' + '.join(f'sum(slope.{x} * slope.{x})' for x in learned)}\n"
    for x, move in moves.items():
        own = f"g{x} / size" if whole else f"grad(loss, {x})"
        joined = f"slope.{x} / size" if whole else f"slope.{x}"
        before = f"{x}[i-1]" if back else x
        own, joined = (f"({g})[i = i-1]" if back else g for g in (own, joined))
        for_own, for_joined = (move.format(x=before, g=g, t=step) for g in (own, joined))
        apart += NEXT[form].format(x=x, new=for_own, g=own)
        together += NEXT[form].format(x=x, new=for_joined, g=joined)
    if form != "epochs":
        apart, together = (re.sub(r"dim e < E\n", "", text) for text in (apart, together))
    outputs = f"output loss, {', '.join(learned)}\n"
    return apart + outputs, together + outputs, form


def numbers(text: str, bounds: Mapping[str, int], given: Numbers) -> Numbers:
    """What the evaluator says, in double precision."""
    graph = graph_of(text)
    used = {name: given[name] for name in given if name in graph.nodes}
    return evaluate(graph, dict(bounds), used, {}, float64=True)


@given(pairs=pairs())
@generated(3, long=12)
def test_separate_tensors_learn_as_a_record_of_them(pairs: tuple[str, str, str]) -> None:
    apart, together, form = pairs
    note(apart)
    sizes: Sequence[dict[str, int]] = ({"I": 1, "B": 1}, {"I": 2, "B": 2}, {"I": 5, "B": 3})
    for bounds in sizes:
        bounds = bounds | ({"E": 3} if form == "epochs" else {})
        inputs = data(graph_of(apart), bounds)
        one, other = numbers(apart, bounds, inputs), numbers(together, bounds, inputs)
        for name, value in other.items():
            np.testing.assert_allclose(one[name], value, rtol=1e-9, atol=1e-12, err_msg=name)


@given(pairs=pairs())
@generated(1, long=3)
def test_separate_tensors_learn_alike_when_compiled(pairs: tuple[str, str, str]) -> None:
    text, _, form = pairs
    note(text)
    agree(text, {"I": 3, "B": 2} | ({"E": 2} if form == "epochs" else {}))


STEP = """dim i < I
input {inputs}
loss = (v @ tanh(w) - 1.0) ** 2 + 0.1 * sum(w * v)
gw = grad(loss, w)
gv = grad(loss, v)
{steps}
output loss, gw, gv, w, v
"""


def test_each_gradient_is_that_of_its_own_step() -> None:
    steps = "w[0] = w0; v[0] = v0\nw[i+1] = w - 0.2 * gw; v[i+1] = v - 0.1 * gv"
    learning = STEP.format(inputs="w0: f32[3]; input v0: f32[3]", steps=steps)
    given = {"w0": np.array([0.3, -0.5, 0.8]), "v0": np.array([0.7, 0.2, -0.4])}
    found = numbers(learning, {"I": 4}, given)
    fixed = STEP.format(inputs="w[i]: f32[3]; input v[i]: f32[3]", steps="")
    at = {"w": found["w"], "v": found["v"]}
    for name in at:
        for k in range(3):
            change = np.zeros(3)
            change[k] = 1e-6
            up = numbers(fixed, {"I": 4}, at | {name: at[name] + change})["loss"]
            down = numbers(fixed, {"I": 4}, at | {name: at[name] - change})["loss"]
            slope = (up - down) / 2e-6
            np.testing.assert_allclose(found[f"g{name}"][:, k], slope, rtol=1e-6, atol=1e-9)


CRITIC = """dim i < I
dim b < B
input x[b]: f32[3]
input w0: f32[2, 3]
input v0: f32[2]
w[0] = w0; v[0] = v0
z = tanh(w @ x)
f = v @ z
slope = {slope}
loss = mean((f + (sum(slope * slope) - 1.0) ** 2)[b = 0:B])
w[i+1] = w - 0.1 * grad(loss, w)
v[i+1] = v - 0.1 * grad(loss, v)
y = x + 0.0 * i
output loss, w, v, slope
"""


def test_slopes_by_data_are_those_of_their_own_step() -> None:
    given = {
        "x": np.array([[0.3, -0.5, 0.8], [0.7, 0.2, -0.4]]),
        "w0": np.array([[0.5, -0.2, 0.1], [0.3, 0.9, -0.6]]),
        "v0": np.array([0.4, -0.8]),
    }
    by_data = CRITIC.format(slope="grad(f, y)").replace("w @ x", "w @ y")
    by_hand = CRITIC.format(slope="w.T @ (v * (1.0 - z * z))")
    one, other = (numbers(text, {"I": 4, "B": 2}, given) for text in (by_data, by_hand))
    for name, value in other.items():
        np.testing.assert_allclose(one[name], value, rtol=1e-9, atol=1e-12, err_msg=name)
    agree(by_data, {"I": 1, "B": 1}, {"I": 3, "B": 2})


RUN = """dim e < E
dim k < K
input x: f32[3]
input r0: f32
net[e, 0] = x
train = sum((net - 1.0) ** 2) + exp(r) * (net @ net)
net[e, k+1] = net - 0.1 * grad(train, net)
test = sum((net[k = K-1] - 0.4) ** 2)
slope = grad(test, r)
r[0] = r0
r[e+1] = r - 0.5 * slope
output test, slope, r
"""


def test_a_training_run_within_a_step_stays_part_of_the_derivative() -> None:
    """`r` and `net` learn by each other's losses, `net` anew in each step of `r`."""
    x = np.array([0.2, -0.6, 1.1])
    found = numbers(RUN, {"E": 3, "K": 4}, {"x": x, "r0": np.float64(-1.0)})
    for e in range(3):
        up, down = (
            numbers(RUN, {"E": 1, "K": 4}, {"x": x, "r0": found["r"][e] + change})["test"][0]
            for change in (1e-6, -1e-6)
        )
        np.testing.assert_allclose(found["slope"][e], (up - down) / 2e-6, rtol=1e-6)
    agree(RUN, {"E": 2, "K": 3})


SAMPLER = """dim s < S
dim l < L
input kick[s]: f32[2]
w[0] = 1.0; v[0] = 0.5
a[s, 0] = w
c[s, 0] = v
e = (a * c - 1.0) ** 2 + 0.5 * a * a
ga, gc = slopes
pa[s, l] = (kick)[0] - 0.1 * ga when l == 0
pc[s, l] = (kick)[1] - 0.1 * gc when l == 0
pa[s, l] = pa[s, l-1] - 0.2 * ga
pc[s, l] = pc[s, l-1] - 0.2 * gc
a[s, l+1] = a + 0.2 * pa
c[s, l+1] = c + 0.2 * pc
half = 0.5 * ((pa + 0.1 * ga) ** 2 + (pc + 0.1 * gc) ** 2)
end = e[s, L-1] + half[s, L-1]
accept = end < e[s, 0] + 0.5 * sum(kick * kick)
w[s+1] = where(accept, a[s, L-1], w)
v[s+1] = where(accept, c[s, L-1], v)
output w, v
"""


def test_a_sampler_keeps_its_state_in_several_tensors() -> None:
    """What leads to the next sample is a recurrence without the steps of the moves."""
    apart = SAMPLER.replace("ga, gc = slopes", "ga = grad(e, a)\ngc = grad(e, c)")
    by_hand = SAMPLER.replace(
        "ga, gc = slopes", "ga = 2.0 * (a * c - 1.0) * c + a\ngc = 2.0 * (a * c - 1.0) * a"
    )
    for bounds in ({"S": 1, "L": 1}, {"S": 3, "L": 2}):
        inputs = data(graph_of(apart), bounds)
        one, other = numbers(apart, bounds, inputs), numbers(by_hand, bounds, inputs)
        np.testing.assert_allclose(one["w"], other["w"], rtol=1e-9)
        np.testing.assert_allclose(one["v"], other["v"], rtol=1e-9)


GAN = """import optim
dim i < I
input z[i]: f32[2]
input real[i]: f32[2]
input g0: f32[2]
input d0: f32[2]
g[0] = g0; d[0] = d0
fake = g * z
d_loss = softplus(-(d @ real)) + softplus(d @ {fake})
g_loss = softplus(-(d @ fake))
d[i+1] = optim.adam(d, grad(d_loss, d), i)
g[i+1] = optim.adam(g, grad(g_loss, g), i)
output d_loss, g_loss
"""


def test_each_may_have_a_loss_of_its_own() -> None:
    free, stopped = GAN.format(fake="fake"), GAN.format(fake="stop_gradient(fake)")
    given = data(graph_of(free), {"I": 4})
    one, other = numbers(free, {"I": 4}, given), numbers(stopped, {"I": 4}, given)
    for name, value in other.items():
        np.testing.assert_allclose(one[name], value, rtol=1e-12)


@pytest.mark.parametrize(
    "step",
    [
        "b[i+1] = b - 0.1 * grad(loss, a)",
        "b[i+1] = b - 0.1 * grad(loss, b)[i = (i//4)*4] when i % 4 == 3; b[i+1] = b",
    ],
    ids=["a tensor without a gradient of its own", "a gradient that is used in a later step"],
)
def test_what_could_mean_something_else_is_refused(step: str) -> None:
    text = "dim i < I\na[0] = 1.0; b[0] = 2.0\nloss = (a * b - 1.0) ** 2\n"
    with pytest.raises(DiagnosticError, match=r"RT265|RT40"):
        compile_text(text + f"a[i+1] = a - 0.1 * grad(loss, a)\n{step}\noutput loss\n", 2)
