"""A ring of 500 steps in the carry of a scan, as replay buffers are written."""

from __future__ import annotations

from collections.abc import Callable

import jax
import jax.numpy as jnp
import numpy as np

from tests.bench.compiled import Arrays
from tests.bench.gallery.compare import Pair, Sizes, Tensors
from tests.bench.gallery.networks import Tree, adam, adam_start, layers, mlp, mlp_params


def data(sizes: Sizes) -> tuple[Arrays, Arrays]:
    """Uniform numbers, for what is explored and what is learned from."""
    random = np.random.default_rng(0)
    explore = random.random((sizes["T"], 2)).astype(np.float32)
    pick = random.random((sizes["T"], 16)).astype(np.float32)
    return {"explore": explore, "pick": pick}, mlp_params(random, "net0", [2, 32, 2])


def twin(sizes: Sizes) -> Callable[[Tensors], Tensors]:
    """A step is written into the ring, then sixteen are read."""
    window = 500

    def loss(net: Tree, copy: Tree, e: Tree) -> jax.Array:
        s, a, r, done, s2 = e
        best = jnp.argmax(mlp(net, s2), axis=-1)[:, None]
        ahead = jnp.take_along_axis(mlp(copy, s2), best, -1)[:, 0]
        wanted = jax.lax.stop_gradient(r + jnp.where(done, 0.0, 0.99) * ahead)
        wrong = wanted - jnp.take_along_axis(mlp(net, s), a[:, None], -1)[:, 0]
        d = jnp.abs(wrong)
        return jnp.mean(jnp.where(d <= 1.0, 0.5 * d * d, d - 0.5))

    def run(given: Tensors) -> Tensors:
        def step(
            state: Tree, given: tuple[jax.Array, ...]
        ) -> tuple[Tree, tuple[jax.Array, jax.Array]]:
            s, ring, net, copy, moments = state
            explore, pick, t = given
            copy = jax.tree.map(lambda c, n: jnp.where(t % 20 == 0, n, c), copy, net)
            any_ = (explore[1] < 0.5).astype(jnp.int32)
            a = jnp.where(explore[0] < 0.2, any_, jnp.argmax(mlp(net, s))).astype(jnp.int32)
            push = 2.0 * a - 1.0
            s2 = jnp.stack([s[0] + 0.1 * s[1], s[1] + 0.1 * push])
            r, done = -jnp.abs(s2[0]), jnp.abs(s2[0]) > 2.0
            ring = jax.tree.map(lambda q, x: q.at[t % window].set(x), ring, (s, a, r, done, s2))
            first = jnp.maximum(0, t + 1 - window)
            j = jnp.minimum(first + (pick * (t + 1 - first)).astype(jnp.int32), t)
            some = jax.tree.map(lambda q: q[j % window], ring)
            error, slope = jax.value_and_grad(loss)(net, copy, some)
            net, moments = adam(net, slope, moments, t, 1e-3)
            return (jnp.where(done, jnp.array([1.0, 0.0]), s2), ring, net, copy, moments), (
                r,
                error,
            )

        net = layers(given, "net0")
        s = jnp.array([1.0, 0.0])
        one = (s, jnp.int32(0), jnp.float32(0.0), jnp.bool_(False), s)
        ring = jax.tree.map(lambda x: jnp.zeros((window, *x.shape), x.dtype), one)
        xs = (given["explore"], given["pick"], jnp.arange(sizes["T"]))
        _, (r, error) = jax.lax.scan(step, (s, ring, net, net, adam_start(net)), xs)
        return {"r": r, "error": error}

    return run


PAIR = Pair(data=data, twin=twin, sizes={"T": 1500}, small={"T": 45})
