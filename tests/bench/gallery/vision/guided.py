"""The twin computes both halves of the guidance as one batch, in ``lax.scan`` over the steps."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from tests.bench.compiled import Arrays
from tests.bench.gallery.compare import Pair, Sizes, Tensors

SIDE, C, F, GUIDE = 16, 3, 32, 2.0


def data(sizes: Sizes) -> tuple[Arrays, Arrays]:
    rng = np.random.default_rng(0)
    steps, images = sizes["K"], sizes["B"]

    def normal(*shape: int) -> np.ndarray:
        return rng.normal(size=shape).astype(np.float32)

    def kernel(*shape: int) -> np.ndarray:
        return normal(*shape) / np.float32(np.prod(shape[:-1]) ** 0.5)

    inputs = {"x_T": normal(images, SIDE, SIDE, C), "z": normal(steps, images, SIDE, SIDE, C)}
    inputs["y"] = rng.integers(0, 10, images).astype(np.int32)
    params = {"emb": normal(11, F), "wt": normal(F, F), "cin": kernel(3, 3, C, F)}
    params |= {"c1": kernel(3, 3, F, F), "c2": kernel(3, 3, F, F), "cout": kernel(3, 3, F, C)}
    return inputs, params


def twin(sizes: Sizes) -> Callable[[Tensors], Tensors]:
    steps = sizes["K"]

    def conv(x: jax.Array, w: jax.Array) -> jax.Array:
        axes = ("NHWC", "HWIO", "NHWC")
        return lax.conv_general_dilated(x, w, (1, 1), "SAME", dimension_numbers=axes)

    def model(p: Tensors, x: jax.Array, t: jax.Array, label: jax.Array) -> jax.Array:
        turn = t * jnp.exp(-jnp.arange(F // 2) * (np.log(10000.0) / (F // 2)))
        time = jnp.concatenate([jnp.sin(turn), jnp.cos(turn)])
        e = jax.nn.silu(p["wt"] @ time) + p["emb"][label]
        h = conv(x, p["cin"]) + e[:, None, None]
        h = h + conv(jax.nn.silu(conv(jax.nn.silu(h), p["c1"])), p["c2"])
        return conv(jax.nn.silu(h), p["cout"])

    def run(given: Tensors) -> Tensors:
        beta = jnp.linspace(1e-4, 0.02, steps) if steps > 1 else jnp.array([1e-4])
        alpha = 1 - beta
        bar = jnp.cumprod(alpha)
        before = jnp.concatenate([jnp.ones(1), bar[:-1]])
        labels = jnp.concatenate([given["y"], jnp.full_like(given["y"], 10)])

        def step(x: jax.Array, each: Any) -> tuple[jax.Array, None]:
            t, z, b, a, now, last = each
            with_label, without = jnp.split(model(given, jnp.concatenate([x, x]), t, labels), 2)
            eps = without + GUIDE * (with_label - without)
            x0 = jnp.clip((x - jnp.sqrt(1 - now) * eps) / jnp.sqrt(now), -1, 1)
            mean = (jnp.sqrt(last) * b * x0 + jnp.sqrt(a) * (1 - last) * x) / (1 - now)
            return mean + jnp.sqrt(b * (1 - last) / (1 - now)) * z, None

        t = jnp.arange(steps)[::-1]
        noise = (t.astype(jnp.float32), given["z"], beta[t], alpha[t], bar[t], before[t])
        return {"sample": lax.scan(step, given["x_T"], noise)[0]}

    return run


PAIR = Pair(data=data, twin=twin, sizes={"K": 40, "B": 4}, small={"K": 2, "B": 2})
