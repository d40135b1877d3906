"""Seconds for a token by the size of the tiles in which caches grow."""

from __future__ import annotations

from collections.abc import Iterator

from tests.bench.llama.decode import Kept, agree, runner
from tests.bench.llama.decode_jax import SIZES
from tests.bench.measure import in_turns
from tests.bench.papers.figures import Experiment, Sample
from tests.bench.papers.latency import LLAMA, TINY

SCALE = {
    "tiny": (TINY, 12, (3,), (4, 12), 1),
    "small": (SIZES, 1024, (1, 4), (128, 512, 1024), 1),
    "full": (LLAMA, 4096, (1, 4, 16), (128, 256, 512, 1024, 2048, 4096), 2),
}
"""Model, tokens, batches, sizes of tiles, rounds."""


def tiles(scale: str) -> Iterator[Sample]:
    """Ours with room for one tile at first (`--bucket`), and a scan for each tile in JAX.

    The last size is that of the whole text: nothing grows.
    """
    sizes, steps, batches, rooms, rounds = SCALE[scale]
    for batch in batches:
        for room in rooms:
            options = ("--bucket", str(room % steps))
            ours = Kept(runner("ours", steps, batch, 0, sizes, options))
            theirs = Kept(runner("bucketed", steps, batch, 0, sizes, bucket=room))
            times = in_turns((ours, theirs), rounds)
            agree(ours.found, theirs.found, 0, sizes)
            panel = f"causal, batch {batch}, {steps} tokens"
            for system, taken in zip(("tempoc", "JAX, bucketed"), times, strict=True):
                yield Sample(panel=panel, system=system, x=room, y=min(taken) / steps)


TILES = Experiment(
    claim="Tempo (SOSP '25), fig. 18: at a small batch the larger tile is the better one, at a "
    "large batch the curve is a U (GPT-2, batch 64: 512 to 1024 positions)",
    x="positions in a tile",
    measure=tiles,
)
