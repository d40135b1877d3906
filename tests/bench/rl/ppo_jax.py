"""The program that a JAX user would write instead of `ppo.rt`, in the form of PureJaxRL.

A scan over steps keeps transitions; the learner computes the networks again on all of them. One
epoch, one minibatch, Adam; all iterations are one scan. With `keep` the transitions have what the
layers computed as well, and the learner begins with the backward pass: an expert's form.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp

GAMMA, LAMBDA, EPSILON, ENTROPY = 0.99, 0.95, 0.2, 0.01
RATE, B1, B2, TINY = 1e-2, 0.9, 0.999, 1e-8
Weights = Mapping[str, jax.Array]


class Transition(NamedTuple):
    obs: jax.Array
    action: jax.Array
    log_prob: jax.Array
    value: jax.Array
    reward: jax.Array
    done: jax.Array
    layers: Any


def shapes(
    inputs: int = 4, hidden: Sequence[int] = (64, 64), actions: int = 2
) -> dict[str, tuple[int, ...]]:
    """All weights, by the names of `ppo.rt`."""
    found: dict[str, tuple[int, ...]] = {}
    for net, outputs in (("actor", actions), ("critic", 1)):
        sizes = (inputs, *hidden, outputs)
        for k in range(len(sizes) - 1):
            found[f"{net}.{k}.w"] = (sizes[k + 1], sizes[k])
            found[f"{net}.{k}.b"] = (sizes[k + 1],)
    return found


Layers = list[tuple[jax.Array, jax.Array]]


def layers_of(w: Weights, net: str) -> Layers:
    """Matrices and biases, the first layer first."""
    count = sum(name.startswith(net) for name in w) // 2
    return [(w[f"{net}.{k}.w"], w[f"{net}.{k}.b"]) for k in range(count)]


def mlp(layers: Layers, x: jax.Array) -> list[jax.Array]:
    """What each layer computes, the result last."""
    found: list[jax.Array] = []
    for weight, bias in layers:
        x = jnp.tanh(found[-1]) if found else x
        found.append(x @ weight.T + bias)
    return [*map(jnp.tanh, found[:-1]), found[-1]]


@jax.custom_vjp
def again(layers: Layers, x: jax.Array, kept: list[jax.Array]) -> jax.Array:
    """The result of `mlp(layers, x)`, which is known."""
    return kept[-1]


def again_forward(layers: Layers, x: jax.Array, kept: list[jax.Array]) -> tuple[jax.Array, Any]:
    return kept[-1], (layers, x, kept)


def again_backward(known: Any, g: jax.Array) -> tuple[Layers, None, None]:
    layers, x, kept = known
    slopes: Layers = []
    for k in reversed(range(len(layers))):
        inputs = kept[k - 1] if k else x
        flat, rows = g.reshape(-1, g.shape[-1]), inputs.reshape(-1, inputs.shape[-1])
        slopes.append((flat.T @ rows, flat.sum(0)))
        g = (g @ layers[k][0]) * (1 - inputs * inputs) if k else g
    return slopes[::-1], None, None


again.defvjp(again_forward, again_backward)


def forward(w: Weights, obs: jax.Array) -> tuple[jax.Array, jax.Array, dict[str, Any]]:
    """Probabilities as logarithms, the value, and all that was computed for both."""
    found = {net: mlp(layers_of(w, net), obs) for net in ("actor", "critic")}
    return jax.nn.log_softmax(found["actor"][-1]), found["critic"][-1][..., 0], found


def forward_again(w: Weights, seen: Transition) -> tuple[jax.Array, jax.Array]:
    """The same for transitions that have all of it."""
    results = {net: again(layers_of(w, net), seen.obs, seen.layers[net]) for net in seen.layers}
    return jax.nn.log_softmax(results["actor"]), results["critic"][..., 0]


def chosen(log_probs: jax.Array, action: jax.Array) -> jax.Array:
    return jnp.take_along_axis(log_probs, action[..., None], -1)[..., 0]


def loss(w: Weights, seen: Transition, adv: jax.Array, target: jax.Array) -> jax.Array:
    log_probs, value = forward_again(w, seen) if seen.layers else forward(w, seen.obs)[:2]
    ratio = jnp.exp(chosen(log_probs, seen.action) - seen.log_prob)
    good = (adv - adv.mean()) / (adv.std() + 1e-8)
    gain = -jnp.minimum(ratio * good, jnp.clip(ratio, 1 - EPSILON, 1 + EPSILON) * good)
    entropy = -(jnp.exp(log_probs) * log_probs).sum(-1)
    return (gain + 0.5 * (value - target) ** 2 - ENTROPY * entropy).mean()


def advantages(seen: Transition, last: jax.Array) -> jax.Array:
    """Generalized advantage estimation, backwards."""

    def back(state: tuple[jax.Array, jax.Array], now: Transition) -> tuple[Any, jax.Array]:
        adv, after = state
        keep = GAMMA * (1.0 - now.done)
        adv = now.reward + keep * after - now.value + keep * LAMBDA * adv
        return (adv, now.value), adv

    return jax.lax.scan(back, (jnp.zeros_like(last), last), seen._replace(layers={}), reverse=True)[
        1
    ]


@partial(jax.jit, static_argnames=("env", "iterations", "carts", "steps", "keep"))
def train(
    w: Weights,
    key: jax.Array,
    env: Any,
    iterations: int,
    carts: int,
    steps: int,
    keep: bool = False,
) -> tuple[jax.Array, jax.Array]:
    """The loss of each iteration and how often a cart fell; `env` has `reset_v1` and `step_v1`."""

    def act(carry: Any, key: jax.Array) -> tuple[Any, Transition]:
        w, state, obs = carry
        log_probs, value, layers = forward(w, obs)
        key, own = jax.random.split(key)
        action = jax.random.categorical(own, log_probs)
        keys = jax.random.split(key, carts)
        state, after, reward, done = jax.vmap(env.step_v1)(keys, state, action)
        log_prob = chosen(log_probs, action)
        kept = layers if keep else {}
        return (w, state, after), Transition(obs, action, log_prob, value, reward, done, kept)

    def iterate(carry: Any, i: jax.Array) -> tuple[Any, tuple[jax.Array, jax.Array]]:
        w, m, v, state, obs = carry
        keys = jax.random.split(jax.random.fold_in(key, i), steps)
        (_, state, obs), seen = jax.lax.scan(act, (w, state, obs), keys)
        adv = advantages(seen, forward(w, obs)[1])
        cost, g = jax.value_and_grad(loss)(w, seen, adv, adv + seen.value)
        m = {n: B1 * m[n] + (1 - B1) * g[n] for n in g}
        v = {n: B2 * v[n] + (1 - B2) * g[n] ** 2 for n in g}
        early, late = 1 - B1 ** (i + 1.0), 1 - B2 ** (i + 1.0)
        w = {n: w[n] - RATE * (m[n] / early) / (jnp.sqrt(v[n] / late) + TINY) for n in g}
        return (w, m, v, state, obs), (cost, seen.done.mean())

    start = jax.vmap(env.reset_v1)(jax.random.split(key, carts))
    zeros = {n: jnp.zeros_like(x) for n, x in w.items()}
    return jax.lax.scan(iterate, (w, zeros, zeros, *start), jnp.arange(iterations))[1]
