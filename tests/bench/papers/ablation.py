"""What decoding loses without one of the optimizations: time and memory."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from tempoc.driver.pipelines import O2, REGISTRY
from tests.bench.compiled import ready
from tests.bench.llama.decode import SOURCE, Kept, agree, defines
from tests.bench.llama.decode_jax import SIZES, weights
from tests.bench.measure import in_turns
from tests.bench.papers.figures import NOTHING, Experiment, Sample
from tests.bench.papers.latency import LLAMA, TINY
from tests.bench.training.offload import counted

SCALE = {
    "tiny": (TINY, 6, 2, 1),
    "small": (SIZES, 256, 1, 3),
    "full": (LLAMA, 1024, 4, 3),
}
"""Model, tokens, texts, rounds."""


def without(*names: str) -> tuple[str, ...]:
    """All passes but these."""
    words = {kind: name for name, kind in REGISTRY.items()}
    passes = [words[type(step)] for step in O2]
    return "--passes", ",".join(name for name in passes if name not in names)


OFF = {
    "nothing": (),
    "fusion": without("fuse"),
    "vectorization": without("vectorize", "lockstep"),
    "algebra": without("algebra", "distribute", "reassociate"),
    "growing caches": ("--bucket", "0"),
    "device loops": ("--no-regions",),
    "library dispatch": ("--no-dispatch",),
    "all passes but fusion": ("-O1",),
    "all passes": ("-O0",),
}
NONE = {
    "memory planning": "no option turns reuse of stores and donation off",
    "graph capture": "see the experiment `capture`; `device loops` is the nearest on a CPU",
}
"""Of Relax's ablation, what has no counterpart, and why."""


def ablation(scale: str) -> Iterator[Sample]:
    """A token, and the most bytes in stores; one optimization is off at a time."""
    sizes, steps, batch, rounds = SCALE[scale]
    params, first = weights(sizes), {"first": np.arange(batch, dtype=np.int32)}
    bounds = {"B": batch, "T": steps}
    programs = [
        ready(SOURCE, *defines(sizes, 0), *words, bounds=bounds, inputs=first, params=params)
        for words in OFF.values()
    ]
    runs = [Kept(lambda p=program: p().outputs["tok"]) for program in programs]
    times = in_turns(runs, rounds)
    for other in runs[1:]:
        agree(runs[0].found, other.found, 0, sizes)
    for off, taken, program in zip(OFF, times, programs, strict=True):
        yield Sample(panel="a token", system="tempoc", x=off, y=min(taken) / steps)
        size = counted(program).peak_bytes
        yield Sample(panel="memory", system="tempoc", x=off, y=size, unit="MB")
    for off, why in NONE.items():
        yield Sample(panel="a token", system="tempoc", x=off, y=NOTHING, note=why)
        yield Sample(panel="memory", system="tempoc", x=off, y=NOTHING, unit="MB", note=why)


ABLATION = Experiment(
    claim="Relax (ASPLOS '25), ablation: fusion, memory planning, library dispatch and CUDA graphs "
    "off one by one, each costs time or memory",
    x="what is off",
    measure=ablation,
)
