"""A block of Mamba with a `lax.scan` for the selective recurrence, and `value_and_grad`."""

from __future__ import annotations

from collections.abc import Callable

import jax
import jax.numpy as jnp
import numpy as np

from tests.bench.compiled import Arrays
from tests.bench.gallery.compare import Pair, Sizes, Tensors

SHAPES = {
    "into": (128, 32),
    "filter": (64, 4),
    "bias": (64,),
    "choose": (20, 64),
    "step.w": (64, 4),
    "step.b": (64,),
    "log_decay": (64, 8),
    "d": (64,),
    "out": (32, 64),
}


def data(sizes: Sizes) -> tuple[Arrays, Arrays]:
    """Sequences and a layer."""
    random = np.random.default_rng(0)

    def normal(*shape: int) -> np.ndarray:
        return random.standard_normal(shape).astype(np.float32)

    shape = sizes["B"], sizes["T"], 32
    weights = {f"layer.{name}": normal(*shape) / 6 for name, shape in SHAPES.items()}
    return {"x": normal(*shape), "target": normal(*shape)}, weights | {"norm": normal(32)}


def twin(sizes: Sizes) -> Callable[[Tensors], Tensors]:
    """The states from step to step, which the backward pass keeps; the rest at once."""
    length = sizes["T"]

    def cost(layer: Tensors, given: Tensors) -> jax.Array:
        x = given["x"]
        heard = x * jax.lax.rsqrt(jnp.mean(x * x, -1, keepdims=True) + 1e-5) * given["norm"]
        u, gate = jnp.split(heard @ layer["into"].T, 2, axis=-1)
        padded = jnp.pad(u, ((0, 0), (3, 0), (0, 0)))
        u = sum(padded[:, k : k + length] * layer["filter"][:, k] for k in range(4))
        u = jax.nn.silu(u + layer["bias"])
        chosen = u @ layer["choose"].T
        step = jax.nn.softplus(chosen[..., :4] @ layer["step.w"].T + layer["step.b"])
        b, c = chosen[..., 4:12], chosen[..., 12:]
        decay = -jnp.exp(layer["log_decay"])

        def forward(h: jax.Array, row: tuple[jax.Array, ...]) -> tuple[jax.Array, jax.Array]:
            u, step, b, c = row
            h = jnp.exp(step[..., None] * decay) * h + (step * u)[..., None] * b[:, None]
            return h, jnp.einsum("bdn,bn->bd", h, c)

        rows = tuple(a.swapaxes(0, 1) for a in (u, step, b, c))
        _, y = jax.lax.scan(forward, jnp.zeros((sizes["B"], 64, 8)), rows)
        y = (y.swapaxes(0, 1) + layer["d"] * u) * jax.nn.silu(gate)
        return jnp.mean((x + y @ layer["out"].T - given["target"]) ** 2)

    def run(given: Tensors) -> Tensors:
        layer = {name: given[f"layer.{name}"] for name in SHAPES}
        loss, slopes = jax.value_and_grad(cost)(layer, given)
        return {"loss": loss} | {f"slope.{name}": slope for name, slope in slopes.items()}

    return run


PAIR = Pair(data=data, twin=twin, sizes={"B": 8, "T": 128}, small={"B": 2, "T": 5})
"""A selective state space model, and its gradients."""
