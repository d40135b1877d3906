"""Seconds for a token by the length of the text, with all positions so far and with a window."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from tests.bench.llama.decode import Kept, agree, runner
from tests.bench.llama.decode_jax import SIZES, Sizes
from tests.bench.measure import in_turns
from tests.bench.papers.figures import Experiment, Sample

TINY = Sizes(L=2, D=16, F=16, V=32, H=4, KV=2, G=2)
LLAMA = Sizes(L=28, D=3072, F=8192, V=128256, H=128, KV=8, G=3)
"""The shape of Llama-3.2-3B."""


@dataclass(frozen=True, kw_only=True)
class Texts:
    """What is decoded: `window` is used besides all positions so far."""

    sizes: Sizes
    steps: tuple[int, ...]
    batches: tuple[int, ...]
    window: int
    rounds: int


SCALE = {
    "tiny": Texts(sizes=TINY, steps=(12,), batches=(3,), window=4, rounds=1),
    "small": Texts(sizes=SIZES, steps=(256, 1024), batches=(1, 4, 16), window=128, rounds=1),
    "full": Texts(
        sizes=LLAMA, steps=(1024, 2048, 4096, 8192, 16384), batches=(1, 4, 16), window=512, rounds=2
    ),
}


def latency(scale: str) -> Iterator[Sample]:
    """A panel for each batch and kind of attention; tokens are compared, too."""
    texts = SCALE[scale]
    for window in (0, texts.window):
        for batch in texts.batches:
            for steps in texts.steps:
                yield from compared(texts, steps, batch, window)


def compared(texts: Texts, steps: int, batch: int, window: int) -> Iterator[Sample]:
    """Our program and two others decode in turns, warm; a padded one only the first tokens."""
    kinds = ("ours", "padded", "ring" if window else "bucketed")
    runs = [Kept(runner(kind, steps, batch, window, texts.sizes)) for kind in kinds]
    times = in_turns(runs, texts.rounds)
    for other in runs[1:]:
        agree(runs[0].found, other.found, window, texts.sizes)
    attention = f"window {window}" if window else "causal"
    for kind, run, taken in zip(kinds, runs, times, strict=True):
        yield Sample(
            panel=f"{attention}, batch {batch}",
            system="tempoc" if kind == "ours" else f"JAX, {kind}",
            x=steps,
            y=min(taken) / run.found.shape[1],
        )


LATENCY = Experiment(
    claim="Tempo (SOSP '25), fig. 17: Llama-3.2-3B is decoded up to 7 times as fast as with JAX; "
    "with a window the time does not grow with the text",
    x="tokens",
    measure=latency,
)
