"""The programs that a JAX user would write instead of `reinforce.rt`.

`whole`: a scan plays an episode and keeps it, then the learner computes the network again on all of
it. `interleaved`: one scan plays, and learns from what happened four steps ago; it keeps five
steps, and nobody would write it for fun.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp

GAMMA, STEPS_AHEAD = 0.99, 5
RATE, B1, B2, TINY = 1e-2, 0.9, 0.999, 1e-8
Weights = Mapping[str, jax.Array]


def shapes() -> dict[str, tuple[int, ...]]:
    """All weights, by the names of `reinforce.rt`."""
    sizes = (4, 64, 64, 2)
    found: dict[str, tuple[int, ...]] = {}
    for k in range(3):
        found[f"{k}.w"], found[f"{k}.b"] = (sizes[k + 1], sizes[k]), (sizes[k + 1],)
    return found


def log_probs(w: Weights, x: jax.Array) -> jax.Array:
    for k in range(3):
        x = x @ w[f"{k}.w"].T + w[f"{k}.b"]
        x = jnp.tanh(x) if k < 2 else x
    return jax.nn.log_softmax(x)


def play(w: Weights, env: Any, carry: Any, key: jax.Array) -> tuple[Any, tuple[jax.Array, ...]]:
    """One step of all carts: what was seen, done and got, and whether that counts."""
    state, obs, alive = carry
    key, own = jax.random.split(key)
    action = jax.random.categorical(own, log_probs(w, obs))
    keys = jax.random.split(key, len(obs))
    state, after, reward, done = jax.vmap(env.step)(keys, state, action)
    seen = obs, action, alive * reward, alive
    return (state, after, jnp.where(done, 0.0, alive)), seen


def cost(w: Weights, obs: Any, action: Any, alive: Any, g: Any) -> jax.Array:
    """The sum of what is to be made small, over steps and carts."""
    nll = -jnp.take_along_axis(log_probs(w, obs), action[..., None], -1)[..., 0]
    return (alive * nll * (g - g.mean(-1, keepdims=True))).sum()


def returns(r: jax.Array, ahead: int) -> jax.Array:
    """Of each step `r[T, carts]`: rewards of `ahead` steps from it on, discounted."""
    steps = len(r)
    if ahead <= STEPS_AHEAD:
        padded = jnp.pad(r, ((0, ahead - 1), (0, 0)))
        return sum(GAMMA**k * padded[k : k + steps] for k in range(ahead))

    def back(after: jax.Array, now: jax.Array) -> tuple[jax.Array, jax.Array]:
        after = now + GAMMA * after
        return after, after

    g = jax.lax.scan(back, jnp.zeros_like(r[0]), r, reverse=True)[1]
    if ahead >= steps:
        return g
    return g - GAMMA**ahead * jnp.pad(g[ahead:], ((0, ahead), (0, 0)))


def whole(
    w: Weights, key: jax.Array, env: Any, start: Any, steps: int, ahead: int = STEPS_AHEAD
) -> tuple[Any, ...]:
    """Play an episode, then learn: the loss, its gradient, the mean length of an episode."""
    _, (obs, action, r, alive) = jax.lax.scan(
        lambda carry, k: play(w, env, carry, k), start, jax.random.split(key, steps)
    )
    loss, slope = jax.value_and_grad(cost)(w, obs, action, alive, returns(r, ahead))
    return loss / r.size, jax.tree.map(lambda x: x / r.size, slope), r.sum() / r.shape[1]


def interleaved(
    w: Weights, key: jax.Array, env: Any, start: Any, steps: int, ahead: int = STEPS_AHEAD
) -> tuple[Any, ...]:
    """The same, learning from each step as soon as its return is known."""
    carts = len(start[1])
    shape = ahead, carts
    recent = jnp.zeros((*shape, 4)), jnp.zeros(shape, jnp.int32), jnp.zeros(shape), jnp.zeros(shape)
    sums = jnp.zeros(()), jax.tree.map(jnp.zeros_like, w)

    def push(recent: Any, seen: Any) -> Any:
        return jax.tree.map(lambda old, x: jnp.concatenate([old[1:], x[None]]), recent, seen)

    def learn(sums: Any, recent: Any) -> Any:
        obs, action, r, alive = recent
        g = sum(GAMMA**k * r[k] for k in range(ahead))
        found = jax.value_and_grad(cost)(w, obs[0], action[0], alive[0], g)
        return jax.tree.map(jnp.add, sums, found)  # steps that are not there are not alive

    def step(carry: Any, key: jax.Array) -> tuple[Any, jax.Array]:
        now, recent, sums = carry
        now, seen = play(w, env, now, key)
        recent = push(recent, seen)
        return (now, recent, learn(sums, recent)), seen[2].sum()

    keys = jax.random.split(key, steps)
    (_, recent, sums), got = jax.lax.scan(step, (start, recent, sums), keys)
    for _ in range(ahead - 1):
        recent = push(recent, jax.tree.map(lambda x: jnp.zeros_like(x[0]), recent))
        sums = learn(sums, recent)
    loss, slope = jax.tree.map(lambda x: x / (steps * carts), sums)
    return loss, slope, got.sum() / carts


@partial(jax.jit, static_argnames=("how", "env", "iterations", "carts", "steps"))
def train(
    w: Weights, key: jax.Array, how: Any, env: Any, iterations: int, carts: int, steps: int
) -> tuple[jax.Array, jax.Array]:
    """The loss of each iteration and how long episodes lasted; `how` is one of the two."""

    def iterate(carry: Any, i: jax.Array) -> tuple[Any, tuple[jax.Array, jax.Array]]:
        w, m, v = carry
        first, own = jax.random.split(jax.random.fold_in(key, i))
        start = (*jax.vmap(env.reset)(jax.random.split(first, carts)), jnp.ones(carts))
        loss, g, score = how(w, own, env, start, steps)
        m = {n: B1 * m[n] + (1 - B1) * g[n] for n in g}
        v = {n: B2 * v[n] + (1 - B2) * g[n] ** 2 for n in g}
        early, late = 1 - B1 ** (i + 1.0), 1 - B2 ** (i + 1.0)
        w = {n: w[n] - RATE * (m[n] / early) / (jnp.sqrt(v[n] / late) + TINY) for n in g}
        return (w, m, v), (loss, score)

    zeros = {n: jnp.zeros_like(x) for n, x in w.items()}
    return jax.lax.scan(iterate, (w, zeros, zeros), jnp.arange(iterations))[1]
