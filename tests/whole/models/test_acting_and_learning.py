"""REINFORCE learns while it acts as soon as returns look n steps ahead only, and forgets the rest.

One line of the program differs. From it follow the loops, and how many observations are kept.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache

import pytest

from tempoc.diagnostics.source import Source
from tempoc.driver.compilation import Compilation
from tempoc.driver.options import Options
from tempoc.driver.report.stages import stage_text
from tempoc.frontend.syntax.load_modules import load_source
from tempoc.schedule.tree import Execute, ScheduleTree, TreeGuard, TreeLoop, TreeSequence
from tempoc.symbolic.text import show
from tests.support.golden import Golden

REINFORCE = """import nn, optim, rl

dim b < B
dim i < I
dim t < T

extern jax reset(key: key) -> (state: f32[4], obs: f32[4]) from "cartpole:reset"
extern jax step(key: key, state: f32[4], action: i32)
  -> (state: f32[4], obs: f32[4], reward: f32, done: bool) from "cartpole:step"

s[b, i, 0], o[b, i, 0] = reset(random.key())
s[b, i, t+1], o[b, i, t+1] = s2, o2
logits = nn.mlp(net, o)
a = random.categorical(logits)
s2, o2, r, done = step(random.key(), s, a)

g = rl.discounted_sum(r[t = t:LAST], 0.95)
nll = -nn.log_softmax(logits)[a]
loss = mean((nll * g)[b = 0:B, t = 0:T])

net[0] = nn.mlp_init([4, 32, 32, 2])
net[i+1] = optim.adam(net, grad(loss, net), i, lr = 1e-3 * 0.99 ** i)

output loss, net[I-1] as policy
save net[i] to "policy-{i}.safetensors" when (i + 1) % 5 == 0
"""
SEEN = """see[b, i, t] = tanh(s)
logits = nn.mlp(net, see)
"""
LASTS = {"monte_carlo": "T", "5_steps": "min(t+5, T)", "64_steps": "min(t+64, T)"}
STEPS = {"5_steps": 5, "64_steps": 64}


@cache
def compiled(last: str, text: str = REINFORCE) -> Compilation:
    source = Source("reinforce.rt", text.replace("LAST", last))
    return Compilation(load_source(source), Options(verify_each=True))


def loops(tree: ScheduleTree) -> Iterator[tuple[Execute, ...]]:
    """What the innermost loops execute."""
    match tree:
        case TreeSequence(items=items):
            for item in items:
                yield from loops(item)
        case TreeGuard(body=body):
            yield from loops(body)
        case TreeLoop(body=body):
            inner = tuple(loops(body))
            yield from inner or (tuple(executed(body)),)


def executed(tree: ScheduleTree) -> Iterator[Execute]:
    match tree:
        case TreeSequence(items=items):
            for item in items:
                yield from executed(item)
        case TreeGuard(body=body) | TreeLoop(body=body):
            yield from executed(body)
        case Execute():
            yield tree


def points(compilation: Compilation, part: str) -> list[tuple[str, ...] | None]:
    """For each innermost loop at which step it runs what a member of a statement is called."""
    homes = {m: s.name for s in compilation.statements.statements for m in s.members}
    home = next(h for m, h in homes.items() if m == part)
    return [
        next((tuple(map(show, e.point)) for e in body if e.statement == home), None)
        for body in loops(compilation.tree)
    ]


def slots(compilation: Compilation, tensor: str) -> dict[str, str]:
    """How many points of each dimension of a tensor are kept at once."""
    store = compilation.plan.stores[tensor]
    keys = {k.dim: "all" if k.modulo is None else show(k.modulo) for k in store.keys}
    return keys | {a.dim: show(a.size) for a in store.axes}


LEARNS = "loss.d.net.2.b.now"
BACK = "loss.d.logits.mlp.h.tanh.mul2"
PER_STEP = ("a", "logits", "nll", "s2.step.out2", "logits.mlp.h.tanh", "logits.mlp.h.tanh2")


@pytest.mark.parametrize("name", LASTS)
def test_goldens(name: str, golden: Golden) -> None:
    compilation = compiled(LASTS[name])
    for stage in ("schedule", "memory"):
        golden(f"reinforce/{name}_{stage}.txt", stage_text(compilation, stage))


@pytest.mark.parametrize("name", STEPS)
def test_a_few_steps_ahead(name: str) -> None:
    n = STEPS[name]
    compilation = compiled(LASTS[name])
    acts, learns = points(compilation, "s2.step"), points(compilation, LEARNS)
    both = [(a, b) for a, b in zip(acts, learns, strict=True) if a is not None and b is not None]
    assert both and all((a[-1], b[-1]) == ("t", f"t-{n - 1}") for a, b in both)
    for tensor in PER_STEP:
        assert slots(compilation, tensor) == {"b": "B", "i": "1", "t": f"min({n}, T)"}, tensor
    # The observation after the newest step is there when the oldest is learned from.
    assert slots(compilation, "o") == {"b": "B", "i": "1", "t": f"min({n + 1}, T)"}


def test_to_the_end_of_the_episode() -> None:
    compilation = compiled(LASTS["monte_carlo"])
    # All steps of all episodes in one pass, with what acting has found.
    assert compilation.passes.graph.nodes[BACK].vector == ("b", "t")
    assert any(points(compilation, "s2.step")) and not any(points(compilation, BACK))
    for tensor in ("o", "a", "logits.mlp.h.tanh", "logits.mlp.h.tanh2"):
        found = slots(compilation, tensor)
        assert found == {"b": "B", "i": "1", "t": found["t"]} and found["t"] in ("all", "T")


def test_observations_that_are_made_when_they_are_seen() -> None:
    text = REINFORCE.replace("logits = nn.mlp(net, o)\n", SEEN)
    compilation = compiled(LASTS["5_steps"], text)
    assert slots(compilation, "see") == {"b": "B", "i": "1", "t": "min(5, T)"}
