"""An iteration of PPO by the number of games, steps, the width and the depth of networks."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from tests.bench.papers.figures import Experiment, Sample
from tests.bench.papers.games import TINY, Games, Pure, agree, iteration, ours

BASE = Games()
"""512 games for 250 steps, observations of 3 x 4 x 4, networks of 2 x 64: the paper's base."""
PURE = "JAX, PureJaxRL's form"
AXES = {
    "tiny": {"games": (16,)},
    "small": {"games": (128, 512), "steps": (64, 250), "width": (16, 64), "depth": (2, 4)},
    "full": {
        "games": (128, 512, 2048),
        "steps": (125, 500, 2000),
        "width": (16, 64, 256),
        "depth": (1, 4, 16),
    },
}
SETTINGS = {"tiny": (TINY, 1, 0.5), "small": (BASE, 3, 0.1), "full": (BASE, 5, 0.1)}
"""The base, rounds, and how far first losses may be apart."""


def sweep(scale: str) -> Iterator[Sample]:
    """A panel for each of the four; the others are as in the base."""
    base, rounds, tolerance = SETTINGS[scale]
    times: dict[Games, list[float]] = {}
    for name, sizes in AXES[scale].items():
        for size in sizes:
            about = changed(base, name, size)
            if about not in times:
                runs = ours(about), Pure(about)
                agree(runs[0], runs[1:], tolerance)
                times[about] = iteration(runs, rounds)
            for system, taken in zip(("tempoc", PURE), times[about], strict=True):
                yield Sample(panel=f"PPO by {name}", system=system, x=size, y=taken)


def changed(base: Games, name: str, size: int) -> Games:
    """The base with one size changed."""
    match name:
        case "games":
            return replace(base, games=size)
        case "steps":
            return replace(base, steps=size)
        case "width":
            return replace(base, hidden=(size,) * len(base.hidden))
    return replace(base, hidden=base.hidden[:1] * size)


SWEEP = Experiment(
    claim="Tempo (SOSP '25), fig. 20: PPO 2.6 times as fast as CleanRL's and up to 54 times as "
    "RLlib's; deep networks are the weakest, for its executor is in Python",
    x="size",
    measure=sweep,
)
