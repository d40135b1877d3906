"""What a JAX user would write instead of `recompute.rt`: each block under `jax.checkpoint`.

python -m tests.bench.training.recompute_jax DATA WEIGHTS OUT plain|checkpoint
"""

from __future__ import annotations

import sys
from collections.abc import Callable

import jax
import jax.numpy as jnp
import numpy as np
from safetensors.numpy import load_file

from tests.bench.training import training_jax
from tests.bench.training.training_jax import LAYERS, Weights

Slopes = Callable[[Weights, jax.Array, jax.Array], tuple[jax.Array, Weights]]


def loss(w: Weights, letter: jax.Array, after: jax.Array) -> jax.Array:
    """As in `training_jax.py`; what is within a block is made again for its gradient."""
    x = w["letters"][letter]
    for k in range(LAYERS):
        block = jax.checkpoint(training_jax.block, static_argnums=1)
        x = block(w, f"blocks.{k}", x)
    logits = training_jax.layer_norm(w, "last", x) @ w["letters"].T
    return -jnp.take_along_axis(jax.nn.log_softmax(logits), after[..., None], -1).mean()


def slopes(how: str) -> Slopes:
    """The loss and its gradients, compiled."""
    return jax.jit(jax.value_and_grad(loss if how == "checkpoint" else training_jax.loss))


def main(data: str, weights: str, out: str, how: str) -> None:
    """Compute them once."""
    given = np.load(data)
    net = {name.removeprefix("net."): jnp.array(x) for name, x in load_file(weights).items()}
    cost, found = slopes(how)(net, jnp.array(given["letter"]), jnp.array(given["next"]))
    np.savez(out, loss=cost, **{f"slope.{name}": x for name, x in found.items()})


if __name__ == "__main__":
    main(*sys.argv[1:])
