"""The program that a JAX user would write instead of `ppo.rt`, in the form of PureJaxRL.

A scan over steps keeps transitions; the learner computes the networks again on all of them. One
epoch, one minibatch, Adam; all iterations are one scan.
"""

from __future__ import annotations

from collections.abc import Mapping
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


def shapes() -> dict[str, tuple[int, ...]]:
    """All weights, by the names of `ppo.rt`."""
    found: dict[str, tuple[int, ...]] = {}
    for net, outputs in (("actor", 2), ("critic", 1)):
        sizes = (4, 64, 64, outputs)
        for k in range(3):
            found[f"{net}.{k}.w"] = (sizes[k + 1], sizes[k])
            found[f"{net}.{k}.b"] = (sizes[k + 1],)
    return found


def mlp(w: Weights, net: str, x: jax.Array) -> jax.Array:
    for k in range(3):
        x = x @ w[f"{net}.{k}.w"].T + w[f"{net}.{k}.b"]
        x = jnp.tanh(x) if k < 2 else x
    return x


def forward(w: Weights, obs: jax.Array) -> tuple[jax.Array, jax.Array]:
    return jax.nn.log_softmax(mlp(w, "actor", obs)), mlp(w, "critic", obs)[..., 0]


def chosen(log_probs: jax.Array, action: jax.Array) -> jax.Array:
    return jnp.take_along_axis(log_probs, action[..., None], -1)[..., 0]


def loss(w: Weights, seen: Transition, adv: jax.Array, target: jax.Array) -> jax.Array:
    log_probs, value = forward(w, seen.obs)
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

    return jax.lax.scan(back, (jnp.zeros_like(last), last), seen, reverse=True)[1]


@partial(jax.jit, static_argnames=("env", "iterations", "carts", "steps"))
def train(
    w: Weights, key: jax.Array, env: Any, iterations: int, carts: int, steps: int
) -> tuple[jax.Array, jax.Array]:
    """The loss of each iteration and how often a cart fell; `env` has `reset_v1` and `step_v1`."""

    def act(carry: Any, key: jax.Array) -> tuple[Any, Transition]:
        w, state, obs = carry
        log_probs, value = forward(w, obs)
        key, own = jax.random.split(key)
        action = jax.random.categorical(own, log_probs)
        keys = jax.random.split(key, carts)
        state, after, reward, done = jax.vmap(env.step_v1)(keys, state, action)
        log_prob = chosen(log_probs, action)
        return (w, state, after), Transition(obs, action, log_prob, value, reward, done)

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
