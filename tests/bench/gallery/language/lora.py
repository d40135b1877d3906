"""LoRA on whole arrays, with `value_and_grad` of the small matrices only."""

from __future__ import annotations

from collections.abc import Callable

import jax
import jax.numpy as jnp
import numpy as np

from tests.bench.compiled import Arrays
from tests.bench.gallery.compare import Pair, Sizes, Tensors

SHAPES = {"up_a": (8, 256), "up_b": (512, 8), "down_a": (8, 512), "down_b": (256, 8)}


def data(sizes: Sizes) -> tuple[Arrays, Arrays]:
    """Tokens, frozen weights and small ones."""
    random = np.random.default_rng(0)

    def normal(*shape: int) -> np.ndarray:
        return random.standard_normal(shape).astype(np.float32)

    inputs = {"x": normal(sizes["N"], 256), "target": normal(sizes["N"], 256)}
    weights = {"up": normal(512, 256) / 16, "down": normal(256, 512) / 22}
    return inputs, weights | {f"small.{name}": normal(*s) / 10 for name, s in SHAPES.items()}


def twin(sizes: Sizes) -> Callable[[Tensors], Tensors]:
    """Only the low-rank matrices are differentiated."""

    def cost(small: Tensors, given: Tensors) -> jax.Array:
        x = given["x"]
        h = jax.nn.silu(x @ given["up"].T + 2.0 * (x @ small["up_a"].T) @ small["up_b"].T)
        y = x + h @ given["down"].T + 2.0 * (h @ small["down_a"].T) @ small["down_b"].T
        return jnp.mean((y - given["target"]) ** 2)

    def run(given: Tensors) -> Tensors:
        small = {name: given[f"small.{name}"] for name in SHAPES}
        loss, slopes = jax.value_and_grad(cost)(small, given)
        return {"loss": loss} | {
            f"tuned.{name}": small[name] - 0.1 * slope for name, slope in slopes.items()
        }

    return run


PAIR = Pair(data=data, twin=twin, sizes={"N": 512}, small={"N": 3})
"""One step of fine-tuning with low-rank corrections of frozen weights."""
