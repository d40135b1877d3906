"""An iteration of REINFORCE with returns of 5 steps, 512 carts for 250 steps, a network of 2 x 64.

Against plain programs in JAX: one keeps whole episodes, one keeps 5 steps.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from pathlib import Path
from statistics import median

import jax
import jax.numpy as jnp
import numpy as np

from tests.bench.compiled import ready
from tests.bench.measure import Row, in_turns
from tests.bench.rl import reinforce_jax
from tests.bench.rl.carts import CARTS, FOLDER, STEPS, environment, weights

SOURCE = Path(__file__).with_name("reinforce.rt")
FEW, MANY = 1, 6


def reinforce() -> Iterator[Row]:
    """Seconds for one more iteration."""
    carts, given = environment("cartpole"), weights(reinforce_jax.shapes())
    params = {f"start.{name}": value for name, value in given.items()}
    bounds = {"B": CARTS, "T": STEPS}
    program = ready(SOURCE, bounds=bounds, params=params, extern_path=[FOLDER])
    device = {name: jnp.array(value) for name, value in given.items()}
    key = jax.random.key(0)

    def ours(iterations: int) -> np.ndarray:
        return program(I=iterations).outputs["score"]

    def theirs(how: object, iterations: int) -> np.ndarray:
        found = reinforce_jax.train(device, key, how, carts, iterations, CARTS, STEPS)
        return np.asarray(found[1])

    ways = {"whole episodes": reinforce_jax.whole, "interleaved": reinforce_jax.interleaved}
    runs = [ours, *(partial(theirs, how) for how in ways.values())]
    # All draw their own numbers; that they learn alike shows in how long episodes last.
    lengths = [run(12).mean() for run in runs]
    np.testing.assert_allclose(lengths, lengths[0], rtol=0.15)
    times = in_turns([partial(run, n) for n in (FEW, MANY) for run in runs], rounds=5)
    few, many = times[: len(runs)], times[len(runs) :]
    each = [
        median((b - a) / (MANY - FEW) for a, b in zip(*both, strict=True))
        for both in zip(few, many, strict=True)
    ]
    for name, other in zip(ways, each[1:], strict=True):
        yield Row(name=f"REINFORCE, 5 steps, to {name}", ours=each[0], theirs=other)
