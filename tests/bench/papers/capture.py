"""Graph capture: XLA's command buffers (CUDA graphs) as usual, and never."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from pathlib import Path

import jax
import numpy as np

from tempoc.driver.compilation import Compilation
from tempoc.driver.options import Options
from tempoc.program.nodes.gpu_commands import WAYS
from tempoc.runtime.load.load import load
from tests.bench.compiled import BUILD, Ready
from tests.bench.llama.decode import SOURCE, Kept, agree
from tests.bench.llama.decode_jax import SIZES, Sizes, weights
from tests.bench.measure import in_turns
from tests.bench.papers.figures import NOTHING, Experiment, Sample
from tests.bench.papers.latency import LLAMA, TINY

SCALE = {
    "tiny": (TINY, 6, (2,), 1),
    "small": (SIZES, 512, (1, 4), 3),
    "full": (LLAMA, 1024, (1, 4, 16), 3),
}
"""Model, tokens, batches, rounds."""


def capture(scale: str) -> Iterator[Sample]:
    """On a GPU a token with each; elsewhere nothing, with a note."""
    if jax.default_backend() == "gpu":
        yield from compared(scale)
        return
    for mode in WAYS:
        note = "needs a GPU: other devices have no command buffers"
        yield Sample(panel="a token", system="tempoc", x=mode, y=NOTHING, note=note)


def compared(scale: str) -> Iterator[Sample]:
    """A token with each mode; all give the same tokens. Graphs are built by the second call."""
    sizes, steps, batches, rounds = SCALE[scale]
    programs = {mode: program(sizes, mode) for mode in WAYS}
    for batch in batches:
        first = {"first": np.arange(batch, dtype=np.int32)}
        runs = [Kept(partial(tokens, p, first, steps)) for p in programs.values()]
        for run in runs * 3:
            run()
        times = in_turns(runs, rounds, warm=True)
        for other in runs[1:]:
            agree(runs[0].found, other.found, 0, sizes)
        for mode, taken in zip(WAYS, times, strict=True):
            panel = f"a token, batch {batch}"
            yield Sample(panel=panel, system="tempoc", x=mode, y=min(taken) / steps)


def program(sizes: Sizes, mode: str) -> Ready:
    """`decode.rt`, compiled with a mode for all of its kernels."""
    values = {**sizes._asdict(), "window": 0}
    defines = {name: str(value) for name, value in values.items()}
    out: Path = BUILD / f"papers.capture.{mode}"
    compilation = Compilation.from_path(str(SOURCE), Options(defines=defines, commands={"": mode}))
    compilation.write(str(out))
    return Ready(out=out, loaded=load(out), params=weights(sizes))


def tokens(program: Ready, first: dict[str, np.ndarray], steps: int) -> np.ndarray:
    batch = len(first["first"])
    return replace(program, inputs=first)(B=batch, T=steps).outputs["tok"]


CAPTURE = Experiment(
    claim="PyGraph (arXiv 2503.19779): CUDA graphs hurt where copies of parameters cost more than "
    "launches; deployed by measured benefit they never do",
    x="command buffers",
    measure=capture,
)
