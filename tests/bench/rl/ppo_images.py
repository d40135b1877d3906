"""An iteration of PPO from pixels, 256 games, within a sixteenth of the memory and in all of it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np

from tests.bench.compiled import Ready, ready
from tests.bench.measure import Row, per_step
from tests.bench.training.offload import counted, in_bytes

SOURCE = Path(__file__).with_name("ppo_images.rt")
GAMES, STEPS, PARTS = 256, 128, 16


def ppo_images() -> Iterator[Row]:
    """Most bytes on the device, bytes copied, and seconds for one more iteration."""
    bounds = {"I": 2, "B": GAMES, "T": STEPS}
    whole = started(bounds)
    natural = counted(whole)
    budget = natural.peak_bytes // PARTS
    given = ",".join(f"{name}={value}" for name, value in bounds.items())
    small = started(bounds, "--memory-budget", f"{budget}B", "--bounds", given)
    found = counted(small)
    assert found.peak_bytes <= budget
    for name, wanted in natural.outputs.items():
        np.testing.assert_allclose(found.outputs[name], wanted, rtol=1e-5, err_msg=name)
    name = f"PPO from pixels, {GAMES} games for {STEPS} steps, bytes"
    yield in_bytes(name, found.peak_bytes, natural.peak_bytes)
    pictures = bounds["I"] * GAMES * STEPS * 3 * 32 * 32 * 4
    yield in_bytes("bytes copied, to those of all pictures", found.loaded + found.evicted, pictures)
    mine, other = per_step(
        lambda iterations: small(I=iterations), lambda iterations: whole(I=iterations),
        few=1, many=3, rounds=5,
    )  # fmt: skip
    yield Row(name="per iteration", ours=mine, theirs=other)


def started(bounds: dict[str, int], *options: str) -> Ready:
    """The program, compiled, at these bounds."""
    return ready(SOURCE, *options, bounds=bounds, extern_path=[SOURCE.parent])
