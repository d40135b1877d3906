"""PPO whose learner reads the activations that the actor has computed, or computes them again."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from tests.bench.papers.figures import Experiment, Sample
from tests.bench.papers.games import TINY, Games, Pure, agree, iteration, ours, peak_bytes

SCALE = {
    "tiny": (TINY, (16,), 1, 0.5),
    "small": (Games(), (512,), 3, 0.1),
    "full": (Games(), (128, 512, 2048), 5, 0.1),
}
"""The base, numbers of games, rounds, how far first losses may be apart."""
OURS = {"tempoc": (), "tempoc, again": ("--recompute", "all")}
THEIRS = {"JAX, again": False, "JAX, kept": True}


def caching(scale: str) -> Iterator[Sample]:
    """Time of an iteration, and bytes: of our stores, and of all that JAX's takes on the device."""
    base, counts, rounds, tolerance = SCALE[scale]
    for count in counts:
        about = replace(base, games=count)
        mine = {system: ours(about, *options) for system, options in OURS.items()}
        others = {system: Pure(about, keep=keep) for system, keep in THEIRS.items()}
        for program in mine.values():
            agree(program, [*others.values()], tolerance)
        seconds = iteration([*mine.values(), *others.values()], rounds)
        for system, taken in zip((*mine, *others), seconds, strict=True):
            yield Sample(panel="PPO, an iteration", system=system, x=count, y=taken)
        sizes = {system: peak_bytes(program) for system, program in mine.items()}
        sizes |= {system: program.bytes() for system, program in others.items()}
        for system, size in sizes.items():
            yield Sample(panel="PPO, memory", system=system, x=count, y=size, unit="MB")


CACHING = Experiment(
    claim="Tempo (SOSP '25), fig. 22: the forward pass of the learner, which frameworks repeat, is "
    "not needed; activations that are cached by hand help CleanRL",
    x="games",
    measure=caching,
)
