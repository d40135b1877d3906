"""Iterations of REINFORCE and PPO in a small deterministic world equal the same in plain JAX.

The noise that chooses actions, and the order of PPO's minibatches, are inputs. Compared are losses,
gradients and weights, of the evaluator in double precision and of the compiled program.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest

from tempoc.runtime.run import run
from tempoc.sdg.evaluation.interpret import evaluate
from tests.support.agree import compiled
from tests.support.elaborated import graph_of

Arrays = dict[str, Any]
B, ITERATIONS = 3, 2
RATE, GAMMA, LAM = 1e-2, 0.9, 0.8

WORLD = """import nn, optim, rl
dim b < B
dim i < I
dim t < T
const A = 2  # the outputs of the network
input start[b]: f32[2]
input noise[b, i, t]: f32[2]
input w1: f32[4, 2]
input b1: f32[4]
input w2: f32[A, 4]
input b2: f32[A]

# A point that turns, is pushed left or right, and starts anew when it gets too far.
def step(s, a) {
  push = f32(a) - 0.5
  near = stack([0.9 * s[0] - 0.4 * s[1] + push, 0.4 * s[0] + 0.9 * s[1]], 0)
  done = sum(near * near) > 1.5
  return where(done, 0.1 * near, near), 1.0 - abs(near[0]) - 0.1 * near[1], done
}
s[b, i, 0] = start
s[b, i, t+1] = s2
s2, r, done = step(s, a)
"""

REINFORCE = """
logits = nn.mlp(net, s)
a = argmax(logits + noise)
g = rl.discounted_sum(r[t = t:LAST], 0.9)
loss = mean(rl.policy_gradient_loss(rl.categorical_log_prob(logits, a), g)[b = 0:B, t = 0:T])
slope = grad(loss, net)
net[0] = [{w: w1, b: b1}, {w: w2, b: b2}]
net[i+1] = optim.adam(net, slope, i, lr = 1e-2)
output a, done, g, loss, slope, net
"""

PPO = """
dim u < U = 4 * I  # updates: two epochs of two minibatches in each iteration
dim m < M          # the steps of a minibatch
input order[u, m]: i32

head = nn.mlp(net[u = 4 * i], s)
logits[b, i, t] = (head)[0:2]
a = argmax(logits + noise)
v[b, i, t] = (head)[2]
end[b, i] = nn.mlp(net[u = 4 * i], s2[t = T-1])[2]
adv = rl.gae(r, v, done, end, t, 0.9, 0.8)
old = rl.categorical_log_prob(logits, a)

# What was collected, as rows in which minibatches choose.
def rows(x) = reshape(x, [-1])
states = reshape(s[b = 0:B, t = 0:T], [-1, 2])
actions = rows(a[b = 0:B, t = 0:T])
advs = rows(adv[b = 0:B, t = 0:T])
values = rows(v[b = 0:B, t = 0:T])
olds = rows(old[b = 0:B, t = 0:T])

now = nn.mlp(net, states[i = u // 4][order])
log_prob = rl.categorical_log_prob((now)[0:2], actions[i = u // 4][order])
good[u, m] = advs[i = u // 4][order]
better = rl.standardized(good, good[m = 0:M])
before[u, m] = values[i = u // 4][order]
cost = (rl.ppo_loss(log_prob, olds[i = u // 4][order], better)
  + 0.5 * rl.clipped_value_loss((now)[2], before, before + good)
  - 0.01 * rl.categorical_entropy((now)[0:2]))
loss = mean(cost[m = 0:M])
slope = grad(loss, net)
net[0] = [{w: w1, b: b1}, {w: w2, b: b2}]
net[u+1] = optim.adam(net, slope, u, lr = 1e-2)
output a, done, adv, loss, slope, net
"""


def world(s: Any, a: int) -> tuple[Any, float, bool]:
    near = np.array([0.9 * s[0] - 0.4 * s[1] + a - 0.5, 0.4 * s[0] + 0.9 * s[1]])
    done = bool(near @ near > 1.5)
    return 0.1 * near if done else near, 1.0 - abs(near[0]) - 0.1 * near[1], done


def network(net: Any, s: Any) -> Any:
    hidden = jnp.tanh(s @ net[0]["w"].T + net[0]["b"])
    return hidden @ net[1]["w"].T + net[1]["b"]


def played(net: Any, given: Arrays, i: int) -> Arrays:
    """An iteration of acting in all worlds: arrays [B, T, ...], and the states at the end."""
    steps = given["noise"].shape[2]
    found: dict[str, list[Any]] = {k: [] for k in ("s", "a", "r", "done", "head")}
    ends = []
    for b in range(B):
        s = given["start"][b]
        for t in range(steps):
            head = np.asarray(network(net, s))
            a = int(np.argmax(head[:2] + given["noise"][b, i, t]))
            after, r, done = world(s, a)
            for k, x in zip(found, (s, a, r, done, head), strict=True):
                found[k].append(x)
            s = after
        ends.append(s)
    arrays = {k: np.reshape(x, (B, steps, *np.shape(x[0]))) for k, x in found.items()}
    return arrays | {"end": np.array(ends)}


def log_prob(logits: Any, a: Any) -> Any:
    return jnp.take_along_axis(jax.nn.log_softmax(logits), a[..., None], -1)[..., 0]


def updated(net: Any, slope: Any, state: Any) -> tuple[Any, Any]:
    change, state = optax.adam(RATE).update(slope, state)
    return optax.apply_updates(net, change), state


def reinforce(net: Any, given: Arrays, n: int) -> Arrays:
    """What the program gives, in plain loops."""
    found: dict[str, list[Any]] = {k: [] for k in ("a", "done", "g", "loss", "slope", "net")}
    state = optax.adam(RATE).init(net)
    for i in range(ITERATIONS):
        x = played(net, given, i)
        g = np.zeros_like(x["r"])
        for t in range(g.shape[1]):
            for k in range(t, min(t + n, g.shape[1])):
                g[:, t] += GAMMA ** (k - t) * x["r"][:, k]
        a = jnp.asarray(x["a"])

        def cost(net: Any, x: Arrays = x, g: Any = g, a: Any = a) -> Any:
            return jnp.mean(-log_prob(network(net, x["s"]), a) * g)

        loss, slope = jax.value_and_grad(cost)(net)
        for k, value in zip(found, (x["a"], x["done"], g, loss, slope, net), strict=True):
            found[k].append(value)
        net, state = updated(net, slope, state)
    every = named("slope", found["slope"]) | named("net", found["net"])
    return every | {k: np.stack(found[k], 1) for k in ("a", "done", "g")} | {"loss": found["loss"]}


def advantages(x: Arrays, end: Any) -> Any:
    """Sums of all the differences to come, as the article writes them."""
    values = np.concatenate([x["head"][..., 2], end[:, None]], 1)
    go = 1.0 - x["done"]
    delta = x["r"] + GAMMA * go * values[:, 1:] - values[:, :-1]
    found = np.zeros_like(delta)
    for t in range(delta.shape[1]):
        factor = np.ones(B)
        for k in range(t, delta.shape[1]):
            found[:, t] += factor * delta[:, k]
            factor = factor * GAMMA * LAM * go[:, k]
    return found


def ppo_cost(net: Any, s: Any, a: Any, old: Any, good: Any, before: Any) -> Any:
    """The loss of a minibatch, in which `good` are advantages and `before` the old values."""
    head = network(net, s)
    better = (good - good.mean()) / (good.std() + 1e-8)
    ratio = jnp.exp(log_prob(head[:, :2], a) - old)
    actor = -jnp.minimum(ratio * better, jnp.clip(ratio, 0.8, 1.2) * better)
    target = before + good
    near = before + jnp.clip(head[:, 2] - before, -0.2, 0.2)
    critic = jnp.maximum(0.5 * (head[:, 2] - target) ** 2, 0.5 * (near - target) ** 2)
    p = jax.nn.softmax(head[:, :2])
    return jnp.mean(actor + 0.5 * critic + 0.01 * jnp.sum(p * jnp.log(p), -1))


def ppo(net: Any, given: Arrays) -> Arrays:
    """What the program gives, in plain loops."""
    found: dict[str, list[Any]] = {k: [] for k in ("a", "done", "adv", "loss", "slope", "net")}
    state = optax.adam(RATE).init(net)
    for i in range(ITERATIONS):
        x = played(net, given, i)
        adv = advantages(x, np.asarray(network(net, x["end"]))[:, 2])
        old = np.asarray(log_prob(x["head"][..., :2], jnp.asarray(x["a"])))
        every = (x["s"].reshape(-1, 2), x["a"], old, adv, x["head"][..., 2])
        rows = [
            np.reshape(y, (-1, *y.shape[1:])) if y.ndim == 2 and k == 0 else y.ravel()
            for k, y in enumerate(every)
        ]
        for k, value in zip(found, (x["a"], x["done"], adv), strict=False):
            found[k].append(value)
        for u in range(4 * i, 4 * i + 4):
            part = [jnp.asarray(y[given["order"][u]]) for y in rows]
            loss, slope = jax.value_and_grad(ppo_cost)(net, *part)
            for k, value in zip(("loss", "slope", "net"), (loss, slope, net), strict=True):
                found[k].append(value)
            net, state = updated(net, slope, state)
    trees = named("slope", found["slope"]) | named("net", found["net"])
    return (
        trees | {k: np.stack(found[k], 1) for k in ("a", "done", "adv")} | {"loss": found["loss"]}
    )


def named(name: str, trees: list[Any]) -> Arrays:
    """The leaves of networks, one network after the other, as outputs are called."""
    return {
        f"{name}.{k}.{w}": np.stack([np.asarray(tree[k][w]) for tree in trees])
        for k in range(2)
        for w in ("w", "b")
    }


def data(outputs: int, steps: int) -> Arrays:
    random = np.random.default_rng(7)
    shapes = {"start": (B, 2), "noise": (B, ITERATIONS, steps, 2)}
    shapes |= {"w1": (4, 2), "b1": (4,), "w2": (outputs, 4), "b2": (outputs,)}
    found = {k: random.normal(size=shape).astype(np.float32) for k, shape in shapes.items()}
    return found | {"noise": 2 * found["noise"]}


def compare(text: str, folder: Path, bounds: dict[str, int], given: Arrays, wanted: Arrays) -> None:
    """The evaluator says exactly this, the compiled program to the precision of float32."""
    assert wanted["done"].any() and len(np.unique(wanted["a"])) == 2
    exact = evaluate(graph_of(text), bounds, given, {}, float64=True)
    found = run(compiled(text, folder), bounds, given).outputs
    assert set(exact) == set(found) == set(wanted)
    for name, value in wanted.items():
        np.testing.assert_allclose(exact[name], value, rtol=1e-9, atol=1e-12, err_msg=name)
        np.testing.assert_allclose(found[name], value, rtol=1e-5, atol=1e-6, err_msg=name)


def doubled(given: Arrays) -> tuple[Any, Arrays]:
    """The network and all data in double precision."""
    wide = {k: x.astype(np.float64) if x.dtype == np.float32 else x for k, x in given.items()}
    pairs = (("w1", "b1"), ("w2", "b2"))
    return [{"w": jnp.asarray(wide[w]), "b": jnp.asarray(wide[b])} for w, b in pairs], wide


@pytest.mark.parametrize(
    "last",
    [
        pytest.param("T", id="monte_carlo", marks=pytest.mark.long("5 steps end there as well")),
        pytest.param("min(t+5, T)", id="5_step"),
    ],
)
def test_reinforce(last: str, tmp_path: Path) -> None:
    given = data(2, 9)
    with jax.enable_x64(True):
        wanted = reinforce(*doubled(given), 9 if last == "T" else 5)
    bounds = {"B": B, "I": ITERATIONS, "T": 9}
    compare(WORLD + REINFORCE.replace("LAST", last), tmp_path, bounds, given, wanted)


@pytest.mark.long("a whole algorithm; its parts stand above")
def test_ppo(tmp_path: Path) -> None:
    given = data(3, 8)
    random = np.random.default_rng(3)
    order = np.concatenate(
        [random.permutation(B * 8).reshape(2, -1) for _ in range(2 * ITERATIONS)]
    )
    given["order"] = order.astype(np.int32)
    with jax.enable_x64(True):
        wanted = ppo(*doubled(given))
    bounds = {"B": B, "I": ITERATIONS, "T": 8, "M": 12}
    compare(WORLD.replace("A = 2", "A = 3") + PPO, tmp_path, bounds, given, wanted)


RNN = """import nn
dim t < T
input x[t]: f32[3]
input y[t]: f32[2]
input w: f32[16, 3]
input u: f32[16, 16]
input b: f32[16]
input out: f32[2, 16]
h[0] = tanh(w @ x[0] + b)
h[t] = tanh(w @ x + u @ h[t-1] + b)
error = sum((out @ h - y) ** 2)
loss = mean(error[t = 0:T])
dw = grad(loss, w)
du = grad(loss, u)
db = grad(loss, b)
dout = grad(loss, out)
dx = grad(loss, x)
output loss, dw, du, db, dout, dx
"""


def test_a_gradient_through_200_steps(tmp_path: Path) -> None:
    random = np.random.default_rng(0)
    shapes = {"x": (200, 3), "y": (200, 2), "w": (16, 3), "u": (16, 16), "b": (16,), "out": (2, 16)}
    given = {k: random.normal(size=shape).astype(np.float32) for k, shape in shapes.items()}
    given["u"] *= np.float32(0.25)  # the largest eigenvalue is about one: nothing fades quickly
    names = ("w", "u", "b", "out", "x")

    def cost(*args: Any) -> Any:
        w, u, b, out, x = args

        def step(h: Any, x: Any) -> Any:
            h = jnp.tanh(w @ x + u @ h + b)
            return h, out @ h

        _, found = jax.lax.scan(step, jnp.zeros(16, x.dtype), x)
        return jnp.mean(jnp.sum((found - given["y"]) ** 2, 1))

    wanted = jax.value_and_grad(cost, (0, 1, 2, 3, 4))(*(jnp.asarray(given[k]) for k in names))
    found = run(compiled(RNN, tmp_path), {"T": 200}, given).outputs
    np.testing.assert_allclose(found["loss"], wanted[0], rtol=1e-5)
    for name, value in zip(names, wanted[1], strict=True):
        scale = np.abs(value).max()
        np.testing.assert_allclose(found[f"d{name}"], value, rtol=1e-4, atol=1e-4 * scale)
