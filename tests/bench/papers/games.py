"""PPO on games with pictures, ours and in PureJaxRL's form: time, and memory."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from statistics import median

import jax
import jax.numpy as jnp
import numpy as np

from tests.bench.compiled import Ready, ready
from tests.bench.measure import in_turns
from tests.bench.papers.catching import Catching
from tests.bench.rl import ppo_jax
from tests.bench.rl.carts import weights
from tests.bench.training.offload import counted

SOURCE = Path(__file__).with_name("ppo.rt")
ACTIONS = 3
MANY = 3
"""A run has so many iterations: each number is a compilation of its own."""


@dataclass(frozen=True, kw_only=True)
class Games:
    """Some games at once: each is seen as 3 x side x side numbers; `hidden` are widths."""

    games: int = 512
    steps: int = 250
    side: int = 4
    hidden: Sequence[int] = (64, 64)

    @property
    def bounds(self) -> dict[str, int]:
        return {"B": self.games, "T": self.steps}

    @property
    def options(self) -> list[str]:
        """Those that give `ppo.rt` these sizes."""
        inputs = 3 * self.side**2
        nets = {
            name: str([inputs, *self.hidden, last]).replace(" ", "")
            for name, last in (("actor", ACTIONS), ("critic", 1))
        }
        return ["-D", f"side={self.side}", *(f"-D{name}={net}" for name, net in nets.items())]

    def weights(self) -> dict[str, np.ndarray]:
        return weights(ppo_jax.shapes(3 * self.side**2, self.hidden, ACTIONS))


TINY = Games(games=16, steps=6, hidden=(8, 8))
"""For the test, which compares all experiments with these."""


def ours(about: Games, *options: str) -> Ready:
    """Our program, compiled: to be called with a number of iterations, `I`."""
    params = {f"start.{name}": value for name, value in about.weights().items()}
    words = *about.options, *options
    return ready(SOURCE, *words, bounds=about.bounds, params=params, extern_path=[SOURCE.parent])


class Pure:
    """The same in PureJaxRL's form, or with activations that are kept: some iterations' losses."""

    def __init__(self, about: Games, *, keep: bool = False) -> None:
        self.weights = {name: jnp.array(value) for name, value in about.weights().items()}
        self.about, self.keep = about, keep

    def arguments(self, iterations: int) -> tuple[object, ...]:
        game, about = Catching(self.about.side), self.about
        key = jax.random.key(0)
        return self.weights, key, game, iterations, about.games, about.steps, self.keep

    def __call__(self, *, I: int) -> np.ndarray:  # noqa: E741
        return np.asarray(ppo_jax.train(*self.arguments(I))[0])

    def bytes(self) -> int:
        """What a run takes in all: arguments, results and temporaries."""
        found = ppo_jax.train.lower(*self.arguments(MANY)).compile().memory_analysis()
        parts = found.argument_size_in_bytes, found.output_size_in_bytes
        return sum(parts) + found.temp_size_in_bytes


def peak_bytes(program: Ready) -> int:
    """The most bytes of our stores in a run."""
    return counted(replace(program, bounds={**program.bounds, "I": MANY})).peak_bytes


def iteration(runs: Sequence[object], rounds: int) -> list[float]:
    """Median seconds for an iteration of each, in turns, warm."""
    times = in_turns([partial(run, I=MANY) for run in runs], rounds)  # type: ignore[arg-type]
    return [median(taken) / MANY for taken in times]


def agree(mine: Ready, others: Sequence[Pure], tolerance: float) -> None:
    """Raise unless first losses are alike: all draw their own numbers, from equal weights."""
    first = float(mine(I=MANY).outputs["loss"][0])
    for other in others:
        np.testing.assert_allclose(first, other(I=MANY)[0], rtol=tolerance)
