"""Optimizers and schedules against optax, over several steps, with trees for weights."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest

from tests.support.agreement import compile_text
from tests.whole.stdlib.both import agreed, both, wide

STEPS = 7

RATE = optax.exponential_decay(0.1, 1, 0.9)
OPTIMIZERS: dict[str, tuple[str, Any]] = {
    "sgd": ("sgd(W, g, i, lr = 0.1)", optax.sgd(0.1)),
    "heavy": ("momentum(W, g, i, lr = 0.1, beta = 0.8)", optax.sgd(0.1, 0.8)),
    "nesterov": (
        "momentum(W, g, i, lr = 0.1 * 0.9 ** i, nesterov = true)",
        optax.sgd(RATE, 0.9, nesterov=True),
    ),
    "rmsprop": ("rmsprop(W, g, i, lr = 0.1, decay = 0.8)", optax.rmsprop(0.1, 0.8)),
    "adagrad": ("adagrad(W, g, i, lr = 0.1)", optax.adagrad(0.1)),
    "adam": ("adam(W, g, i, lr = 0.1)", optax.adam(0.1)),
    "adam_rate": ("adam(W, g, i, lr = 0.1 * 0.9 ** i, b2 = 0.95)", optax.adam(RATE, 0.9, 0.95)),
    "adam_plain": ("adam(W, g, i, lr = 0.1, b1 = 0.0)", optax.adam(0.1, 0.0)),
    "adamw": (
        "adamw(W, g, i, lr = 0.1 * 0.9 ** i, weight_decay = 0.2)",
        optax.adamw(RATE, weight_decay=0.2),
    ),
    "adamw_some": (
        "adamw(W, g, i, lr = 0.1, weight_decay = {a: 0.2, rest: [0.0, 0.1]})",
        optax.chain(
            optax.scale_by_adam(),
            optax.add_decayed_weights(0.2, {"a": True, "rest": [False, False]}),
            optax.add_decayed_weights(0.1, {"a": False, "rest": [False, True]}),
            optax.scale(-0.1),
        ),
    ),
    "lion": ("lion(W, g, i, lr = 0.1)", optax.lion(0.1)),
    "clipped": (
        "sgd(W, optim.clip_by_norm(g, 2.0), i, lr = 0.1)",
        optax.chain(optax.clip_by_global_norm(2.0), optax.sgd(0.1)),
    ),
}
HEAD = """import optim
dim i < I
input a0: f32[3, 2]
input b0: f32[4]
input c0: f32
input ga[i]: f32[3, 2]
input gb[i]: f32[4]
input gc[i]: f32
g = {a: ga, rest: [gb, gc]}
"""


def weights() -> dict[str, Any]:
    random = np.random.default_rng(3)
    shapes = {"a": (3, 2), "b": (4,), "c": ()}
    start = {f"{k}0": random.standard_normal(s) for k, s in shapes.items()}
    steps = {
        f"g{k}": np.linspace(0.1, 2, STEPS).reshape(-1, *(1 for _ in s))
        * random.standard_normal((STEPS, *s))
        for k, s in shapes.items()
    }
    return start | steps


def test_optimizers() -> None:
    text = HEAD
    for name, (call, _) in OPTIMIZERS.items():
        text += f"{name}[0] = {{a: a0, rest: [b0, c0]}}\n"
        text += f"{name}[i+1] = optim.{call.replace('W', name)}\noutput {name}\n"
    given = weights()
    found = both(text, {"I": STEPS}, given)
    exact = wide(given)
    with jax.enable_x64(True):
        for name, (_, rule) in OPTIMIZERS.items():
            net = {"a": jnp.array(exact["a0"]), "rest": [jnp.array(exact[k]) for k in ("b0", "c0")]}
            state, update = rule.init(net), jax.jit(rule.update)
            for i in range(STEPS):
                for key, leaf in (("a", net["a"]), ("rest.0", net["rest"][0])):
                    np.testing.assert_allclose(
                        found[f"{name}.{key}"][i], leaf, rtol=1e-6, atol=1e-9, err_msg=name
                    )
                a, b, c = (jnp.array(exact[k][i]) for k in ("ga", "gb", "gc"))
                g = {"a": a, "rest": [b, c]}
                updates, state = update(g, state, net)
                net = optax.apply_updates(net, updates)


STEPWISE = {
    "momentum": "lr = 0.1, beta = 0.8, nesterov = true",
    "rmsprop": "lr = 0.1, decay = 0.8",
    "adagrad": "lr = 0.1",
    "adam": "lr = 0.1 * 0.9 ** i, b2 = 0.95",
    "adamw": "lr = 0.1, weight_decay = {a: 0.2, rest: [0.0, 0.1]}",
    "lion": "lr = 0.1",
}


@pytest.mark.long("all optimizers again")
def test_optimizers_whose_state_is_given() -> None:
    """Each step from what the last one gave is a step of the optimizer that keeps it itself."""
    text = HEAD
    for name, numbers in STEPWISE.items():
        for w in (name, f"{name}2"):
            text += f"{w}[0] = {{a: a0, rest: [b0, c0]}}\noutput {w}\n"
        text += f"{name}[i+1] = optim.{name}({name}, g, i, {numbers})\n"
        kind = "adam" if name == "adamw" else name
        text += f"{name}_s[0] = optim.{kind}_start({name}2[i = 0])\n"
        step = f"optim.{name}_step({name}2, g, {name}_s, {numbers})"
        text += f"{name}2[i+1], {name}_s[i+1] = {step}\n"
    found = both(text, {"I": STEPS}, weights())
    for name in STEPWISE:
        for leaf in ("a", "rest.0", "rest.1"):
            kept, given = found[f"{name}.{leaf}"], found[f"{name}2.{leaf}"]
            np.testing.assert_allclose(given, kept, rtol=1e-12, atol=1e-12, err_msg=name)


NESTED = """import optim
dim e < E
dim j < J
dim k < K
dim i < I
input w0: f32[2]
input a: f32[2, 2]
"""
FLAT = """
{x}1[0] = w0
{x}1[i+1] = optim.{x}({x}1, a @ {x}1 + f32(i), i, {numbers})
"""
DEEP = """
{x}2[0, 0, 0] = w0
{x}_new = optim.{x}({x}2, a @ {x}2 + f32({step}), {step}, {numbers})
{x}2[e, j, k+1] = {x}_new
{x}2[e, j+1, 0] = {x}_new[e, j, K-1]
{x}2[e+1, 0, 0] = {x}_new[e, J-1, K-1]
output {x}1, {x}2
"""


@pytest.mark.long("whole training runs")
def test_epochs_and_batches_are_like_one_dimension_of_steps() -> None:
    """What is remembered goes on from the last batch of an epoch, in any number of dimensions."""
    text, step = NESTED, "(e * J + j) * K + k"
    for x, rate in (("momentum", "0.1"), ("adam", "0.1 * 0.9 ** {}"), ("lion", "0.1")):
        text += FLAT.format(x=x, numbers=f"lr = {rate.format('i')}")
        text += DEEP.format(x=x, step=step, numbers=f"lr = {rate.format(f'({step})')}")
    graph, loaded = compile_text(text, 2)
    given = {"w0": np.array([0.4, -0.7]), "a": np.array([[0.5, 0.2], [-0.3, 0.4]])}
    for sizes in ((1, 1, 1), (1, 1, 4), (3, 1, 1), (2, 3, 2)):
        bounds = dict(zip("EJK", sizes, strict=True)) | {"I": int(np.prod(sizes))}
        found = agreed(graph, loaded, bounds, given)
        for x in ("momentum", "adam", "lion"):
            wanted = found[f"{x}1"].reshape(*sizes, 2)
            np.testing.assert_allclose(found[f"{x}2"], wanted, rtol=1e-12, err_msg=x)


def test_training() -> None:
    """With the gradient of a loss: each step is the same as optax's."""
    text = """import optim
dim i < I
input w0: f32[4]
input x: f32[5, 4]
input y: f32[5]
net[0] = {w: w0, b: 0.0}
cost = mean((x @ net.w + net.b - y) ** 2)
net[i+1] = optim.adam(net, optim.clip_by_norm(grad(cost, net), 1.0), i,
                      lr = optim.warmup_cosine(i, 0.3, 3, I))
slow = optim.polyak(net, i, 0.25)
size = optim.global_norm(net)
output net, cost, slow, size
"""
    random = np.random.default_rng(4)
    given = {"w0": (4,), "x": (5, 4), "y": (5,)}
    data = {k: random.standard_normal(s) for k, s in given.items()}
    found = both(text, {"I": STEPS}, data, rtol=1e-4)
    exact = wide(data)
    with jax.enable_x64(True):

        def cost(net: Any) -> Any:
            return jnp.mean((exact["x"] @ net["w"] + net["b"] - exact["y"]) ** 2)

        net = slow = {"w": jnp.array(exact["w0"]), "b": jnp.zeros(())}
        rate = optax.warmup_cosine_decay_schedule(0.0, 0.3, 3, STEPS)
        rule = optax.chain(optax.clip_by_global_norm(1.0), optax.adam(rate))
        state, update = rule.init(net), jax.jit(rule.update)
        slope = jax.jit(jax.grad(cost))
        for i in range(STEPS):
            slow = optax.incremental_update(net, slow, 0.25)
            wanted = {
                "cost": cost(net),
                "net.w": net["w"],
                "net.b": net["b"],
                "slow.w": slow["w"],
                "size": jnp.sqrt(sum(jnp.sum(x**2) for x in jax.tree.leaves(net))),
            }
            for name, value in wanted.items():
                np.testing.assert_allclose(
                    found[name][i], value, rtol=1e-6, atol=1e-7, err_msg=name
                )
            updates, state = update(slope(net), state, net)
            net = optax.apply_updates(net, updates)


SCHEDULES: dict[str, tuple[str, Callable[[int], Any]]] = {
    "linear": ("linear(i, 1.0, 0.1, 5)", optax.linear_schedule(1.0, 0.1, 5)),
    "polynomial": ("polynomial(i, 1.0, 0.1, 5)", optax.polynomial_schedule(1.0, 0.1, 2, 5)),
    "exponential": ("exponential(i, 0.5, 0.1, 4)", optax.exponential_decay(0.5, 4, 0.1)),
    "cosine": ("cosine(i, 2.0, 5, 0.5)", optax.cosine_decay_schedule(2.0, 5, 0.25)),
    "whole": ("cosine(i, 2.0, I)", optax.cosine_decay_schedule(2.0, 12)),
    "warm": (
        "warmup_cosine(i, 1.0, 3, I, 0.1, 0.2)",
        optax.warmup_cosine_decay_schedule(0.1, 1.0, 3, 12, 0.2),
    ),
    "cold": ("warmup_cosine(i, 1.0, 0, 8)", optax.cosine_decay_schedule(1.0, 8)),
    "rsqrt": (
        "warmup_rsqrt(i, 0.5, 4)",
        lambda i: 0.5 * min((i + 1) / 4, (4 / (i + 1)) ** 0.5),
    ),
    "piecewise": (
        "piecewise(i, 1.0, [0.1, 0.5], [3, 8])",
        optax.piecewise_constant_schedule(1.0, {3: 0.1, 8: 0.5}),
    ),
}


def test_schedules() -> None:
    text = "import optim\ndim i < I\n"
    for name, (call, _) in SCHEDULES.items():
        text += f"{name} = optim.{call}\noutput {name}\n"
    found = both(text, {"I": 12}, {})
    for name, (_, rule) in SCHEDULES.items():
        wanted = [rule(i) for i in range(12)]
        np.testing.assert_allclose(found[name], wanted, rtol=1e-5, atol=1e-7, err_msg=name)


def test_norms() -> None:
    text = """import optim
dim i < I
input x[i]: f32[3]
size = optim.global_norm([x, {y: 2.0 * x}])
square = optim.square_norm(x)
short = optim.clip_by_norm(x, 1.0)
none = optim.clip_by_norm(0.0 * x, 1.0)
mean3 = optim.moving_average(x, i, 0.5)
weight = optim.seen(i, 0.5)
output size, square, short, none, mean3, weight
"""
    x = np.array([[3.0, 0, 4], [0.1, 0.2, 0.2], [-9, 0, 0]])
    found = both(text, {"I": 3}, {"x": x})
    np.testing.assert_allclose(found["size"], np.sqrt(5) * np.array([5, 0.3, 9]), rtol=1e-6)
    np.testing.assert_allclose(found["square"], [25, 0.09, 81], rtol=1e-6)
    np.testing.assert_allclose(
        found["short"], [[0.6, 0, 0.8], [0.1, 0.2, 0.2], [-1, 0, 0]], rtol=1e-6
    )
    assert not found["none"].any()
    means = [x[0] / 2, x[0] / 4 + x[1] / 2, x[0] / 8 + x[1] / 4 + x[2] / 2]
    np.testing.assert_allclose(found["mean3"], means, rtol=1e-6)
    np.testing.assert_allclose(found["weight"], [0.5, 0.75, 0.875], rtol=1e-6)


def test_gradient_through_an_optimizer() -> None:
    """What the last loss owes to the learning rate: optimizers are differentiated like all else."""
    text = """import optim
dim i < I
input w0: f32[3]
input x: f32[4, 3]
input y: f32[4]
input rate: f32
w[0] = w0
cost = mean((tanh(x @ w) - y) ** 2)
w[i+1] = optim.adam(w, grad(cost, w), i, lr = rate, eps = 1e-3)
final = cost[I-1]
slope = grad(final, rate)
start = grad(final, w0)
output slope, start
"""
    random = np.random.default_rng(9)
    given = {"w0": (3,), "x": (4, 3), "y": (4,), "rate": ()}
    data = {k: random.standard_normal(s) for k, s in given.items()} | {"rate": np.array(0.3)}
    found = both(text, {"I": 4}, data, rtol=1e-3, atol=1e-5)
    exact = wide(data)

    def final(w: Any, rate: Any) -> Any:
        def cost(w: Any) -> Any:
            return jnp.mean((jnp.tanh(exact["x"] @ w) - exact["y"]) ** 2)

        rule = optax.adam(rate, eps=1e-3)
        state = rule.init(w)
        for _ in range(3):
            updates, state = rule.update(jax.grad(cost)(w), state, w)
            w = optax.apply_updates(w, updates)
        return cost(w)

    with jax.enable_x64(True):
        start, slope = jax.jit(jax.grad(final, (0, 1)))(
            jnp.array(exact["w0"]), jnp.array(exact["rate"])
        )
    np.testing.assert_allclose(found["slope"], slope, rtol=1e-6)
    np.testing.assert_allclose(found["start"], start, rtol=1e-6, atol=1e-9)
