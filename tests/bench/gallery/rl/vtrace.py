"""Acting, V-trace and learning in a scan over rounds; old networks wait in a short queue."""

from __future__ import annotations

from collections.abc import Callable

import jax
import jax.numpy as jnp
import numpy as np

from tests.bench.compiled import Arrays
from tests.bench.gallery.compare import Pair, Sizes, Tensors
from tests.bench.gallery.networks import Tree, adam, adam_start, layers, mlp, mlp_params


def data(sizes: Sizes) -> tuple[Arrays, Arrays]:
    """Uniform numbers for the actions."""
    random = np.random.default_rng(0)
    shape = (sizes["I"], sizes["B"], sizes["T"])
    return {"u": random.random(shape).astype(np.float32)}, mlp_params(random, "net0", [9, 32, 3])


def twin(sizes: Sizes) -> Callable[[Tensors], Tensors]:
    """An episode is a scan over time of the whole batch."""
    places = 9

    def act(net: Tree, u: jax.Array) -> tuple[jax.Array, ...]:
        def step(place: jax.Array, u: jax.Array) -> tuple[jax.Array, tuple[jax.Array, ...]]:
            see = jax.nn.one_hot(place, places)
            out = mlp(net, see)
            a = (u < jax.nn.sigmoid(out[:, 1] - out[:, 0])).astype(jnp.int32)
            after = jnp.clip(place + 2 * a - 1, 0, places - 1)
            r = jnp.where(after == places - 1, 1.0, jnp.where(after == 0, 0.2, 0.0))
            done = (after == places - 1) | (after == 0)
            mu = jnp.take_along_axis(jax.nn.log_softmax(out[:, :2]), a[:, None], 1)[:, 0]
            return jnp.where(done, places // 2, after), (see, a, r, done, mu)

        start = jnp.full(sizes["B"], places // 2)
        return jax.lax.scan(step, start, u.T)[1]

    def loss(
        net: Tree, see: jax.Array, a: jax.Array, r: jax.Array, done: jax.Array, mu: jax.Array
    ) -> jax.Array:
        out = mlp(net, see)
        v, logs = out[..., 2], jax.nn.log_softmax(out[..., :2])
        log_p = jnp.take_along_axis(logs, a[..., None], -1)[..., 0]
        ratio = jax.lax.stop_gradient(jnp.minimum(1.0, jnp.exp(log_p - mu)))
        still = jax.lax.stop_gradient(v)
        discount = jnp.where(done, 0.0, 0.99)
        ahead = jnp.concatenate([still[1:], still[-1:]])
        delta = ratio * (r + discount * ahead - still)

        def back(
            error: jax.Array, given: tuple[jax.Array, jax.Array]
        ) -> tuple[jax.Array, jax.Array]:
            error = given[0] + given[1] * error
            return error, error

        zeros = jnp.zeros(sizes["B"])
        _, error = jax.lax.scan(back, zeros, (delta, discount * ratio), reverse=True)
        target = still + error
        adv = ratio * (r + discount * jnp.concatenate([target[1:], still[-1:]]) - still)
        entropy = -jnp.sum(jnp.exp(logs) * logs, axis=-1)
        return jnp.mean(-log_p * adv + 0.5 * (target - v) ** 2 - 0.01 * entropy)

    def run(given: Tensors) -> Tensors:
        def step(
            state: tuple[Tree, Tree, Tree], given: tuple[jax.Array, jax.Array]
        ) -> tuple[tuple[Tree, Tree, Tree], tuple[jax.Array, jax.Array]]:
            net, moments, queue = state
            u, i = given
            played = act(jax.tree.map(lambda q: q[0], queue), u)
            value, slope = jax.value_and_grad(loss)(net, *played)
            net, moments = adam(net, slope, moments, i, 1e-2)
            queue = jax.tree.map(lambda q, x: jnp.concatenate([q[1:], x[None]]), queue, net)
            return (net, moments, queue), (value, jnp.mean(played[2]))

        net = layers(given, "net0")
        queue = jax.tree.map(lambda x: jnp.stack([x] * 4), net)
        xs = (given["u"], jnp.arange(sizes["I"]))
        _, (values, score) = jax.lax.scan(step, (net, adam_start(net), queue), xs)
        return {"loss": values, "score": score}

    return run


PAIR = Pair(
    data=data,
    twin=twin,
    sizes={"I": 30, "B": 32, "T": 40},
    small={"I": 5, "B": 3, "T": 4},
)
