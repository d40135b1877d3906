"""PPO by the size of an observation, within a memory budget and without one."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from tests.bench.papers.figures import NOTHING, Experiment, Sample
from tests.bench.papers.games import MANY, TINY, Games, Pure, agree, iteration, ours, peak_bytes

MB, GB = 10**6, 10**9
SCALE = {
    "tiny": (TINY, (4,), 90_000, 1, 0.5),
    "small": (Games(games=64, steps=64), (8, 64), 40 * MB, 1, 0.2),
    "full": (Games(games=256, steps=1000), (8, 16, 32, 64, 128, 256), 24 * GB, 3, 0.1),
}
"""The base, sides of an observation, the budget, rounds, how far first losses may be apart."""
FORM = "JAX, PureJaxRL's form"


def observations(scale: str) -> Iterator[Sample]:
    """Time of an iteration and bytes on the device; ours without a budget where that fits."""
    base, sides, budget, rounds, tolerance = SCALE[scale]
    for side in sides:
        about = replace(base, side=side)
        bounds = ",".join(f"{k}={v}" for k, v in {**about.bounds, "I": MANY}.items())
        options = "--memory-budget", f"{budget}B", "--bounds", bounds
        try:
            small = ours(about, *options)
        except subprocess.CalledProcessError:
            yield from missing("tempoc", side, "does not fit into the budget")
            continue
        whole, other = ours(about), Pure(about)
        agree(small, [other], tolerance)
        np.testing.assert_allclose(
            small(I=MANY).outputs["loss"], whole(I=MANY).outputs["loss"], rtol=2e-3, atol=2e-4
        )
        seconds = iteration([small, whole, other], rounds)
        sizes = peak_bytes(small), peak_bytes(whole), other.bytes()
        assert sizes[0] <= budget
        for system, taken, size in zip(
            ("tempoc", "tempoc, no budget", FORM), seconds, sizes, strict=True
        ):
            yield Sample(panel="PPO, an iteration", system=system, x=side, y=taken)
            yield Sample(panel="PPO, memory", system=system, x=side, y=size, unit="MB")


def missing(system: str, side: int, why: str) -> Iterator[Sample]:
    for panel, unit in (("PPO, an iteration", "s"), ("PPO, memory", "MB")):
        yield Sample(panel=panel, system=system, x=side, y=NOTHING, unit=unit, note=why)


OBSERVATIONS = Experiment(
    claim="Tempo (SOSP '25), fig. 21: 256 games, 1000 steps, observations up to 3 x 256 x 256 on a "
    "GPU of 48 GB, with what does not fit on the host; the others run out of memory at 3 x 128 x "
    "128 or 3 x 256 x 256",
    x="side of an observation",
    measure=observations,
)
