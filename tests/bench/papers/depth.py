"""Time to compile by the number of layers, and time until the first result is there.

Both are processor time: compilations take minutes on a busy machine, as long as others let them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path

import jax

from tests.bench.compiled import compiled_once
from tests.bench.llama.decode import SOURCE as DECODE, defines, runner
from tests.bench.llama.decode_jax import Sizes
from tests.bench.measure import processor_time
from tests.bench.papers.figures import Experiment, Sample
from tests.bench.papers.games import SOURCE as PPO, TINY as PLAYED, Games, Pure, ours
from tests.bench.papers.latency import TINY

SCALE = {
    "tiny": (replace(PLAYED, hidden=(8,)), TINY, (2,)),
    "small": (Games(games=64, steps=32, hidden=(16,)), TINY, (1, 4, 16)),
    "full": (Games(games=64, steps=32, hidden=(16,)), TINY, (1, 2, 4, 8, 16, 32, 64)),
}
"""Of PPO, of decoding, and numbers of layers; widths do not matter here."""
STEPS, BATCH = 8, 1


def depth(scale: str) -> Iterator[Sample]:
    """For networks of PPO, whose layers are a list, and for decoding, whose layers are a dimension.

    `tempoc compile` runs in a process; the start of Python, 0.3 s or more, is in its time.
    """
    games, sizes, counts = SCALE[scale]
    # What JAX keeps on disk of earlier runs would make a first call short.
    before = jax.config.jax_enable_compilation_cache
    jax.config.update("jax_enable_compilation_cache", False)
    try:
        for count in counts:
            yield from of_ppo(replace(games, hidden=games.hidden * count), count)
            yield from of_decoding(sizes._replace(L=count), count)
    finally:
        jax.config.update("jax_enable_compilation_cache", before)


def of_ppo(about: Games, count: int) -> Iterator[Sample]:
    compiling = compilation(PPO, about.options)
    mine, other = ours(about), Pure(about)
    first = processor_time(lambda: mine(I=2)), processor_time(lambda: other(I=2))
    yield from samples("PPO", count, compiling, first)


def of_decoding(sizes: Sizes, count: int) -> Iterator[Sample]:
    compiling = compilation(DECODE, defines(sizes, 0))
    runs: list[Callable[[], object]] = [
        runner(kind, STEPS, BATCH, 0, sizes) for kind in ("ours", "padded")
    ]
    jax.clear_caches()
    first = processor_time(runs[0]), processor_time(runs[1])
    yield from samples("decoding", count, compiling, first)


def compilation(source: Path, options: Sequence[str]) -> float:
    """Seconds to compile a program; what is read later is what was compiled here."""
    compiled_once.cache_clear()
    return processor_time(partial(compiled_once, str(source), tuple(options)))


def samples(
    name: str, count: int, compiling: float, first: tuple[float, float]
) -> Iterator[Sample]:
    yield Sample(panel=f"{name}, tempoc compile", system="tempoc", x=count, y=compiling)
    for system, seconds in zip(("tempoc", "JAX"), first, strict=True):
        yield Sample(panel=f"{name}, first call", system=system, x=count, y=seconds)


DEPTH = Experiment(
    claim="Tempo (SOSP '25), fig. 24: time to compile by the number of layers",
    x="layers",
    measure=depth,
)
