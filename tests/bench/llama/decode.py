"""Decoding a small Llama (`decode.rt`), with all positions so far and with the last 256 of them.

    python -m tests.bench.llama.decode KIND T B WINDOW

decodes once, in a process of its own, so that somebody else can see how much memory that takes.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path

import jax.numpy as jnp
import numpy as np

from tests.bench.compiled import Ready, ready
from tests.bench.llama import decode_jax
from tests.bench.llama.decode_jax import SIZES, Sizes
from tests.bench.measure import Row, in_turns, peak

SOURCE = Path(__file__).with_name("decode.rt")
WINDOW = 256
STEPS = (1024, 4096, 8192)
QUICK = STEPS[:1]
BATCHES = (1, 4)
ROUNDS = 2
TILE = 256
"""Positions in a tile of `tiled`."""
FEW = 256
"""Over padded caches each token takes as long as any other: so many are enough."""
TIE = 1e-4
"""Scores as close as this depend on rounding."""
LONG = 2048
"""A sequence of more steps is decoded once; compilation, a few seconds of minutes, is timed too."""


def decode(lengths: Sequence[int] = STEPS) -> Iterator[Row]:
    """Seconds for a token, and what a sequence adds to a process; what takes longest comes last."""
    for steps in lengths:
        for batch in BATCHES:
            yield from compared(steps, batch, WINDOW, ("padded", "ring"))
        for batch in BATCHES:
            yield from compared(steps, batch, 0, ("padded", "bucketed", "tiled"))
        for window, kinds in ((0, ("padded", "bucketed")), (WINDOW, ("padded", "ring"))):
            mine = memory("ours", steps, window)
            for kind in kinds:
                name = f"{about(steps, 1, window)}, memory, to {kind}"
                theirs = memory(kind, steps, window)
                yield Row(name=name, ours=mine, theirs=theirs, unit="MB")


def compared(steps: int, batch: int, window: int, kinds: tuple[str, ...]) -> Iterator[Row]:
    """Our program and others, whole runs in turns; of a padded one the first tokens."""
    runs = [Kept(runner(kind, steps, batch, window)) for kind in ("ours", *kinds)]
    if steps > LONG:
        times = in_turns(runs, 1, warm=True)
    else:
        times = in_turns(runs, ROUNDS)
    first, *others = (run.found for run in runs)
    for other in others:
        agree(first, other, window)
    counts = [run.found.shape[1] for run in runs]
    mine, *theirs = (min(found) / n for found, n in zip(times, counts, strict=True))
    for kind, seconds in zip(kinds, theirs, strict=True):
        name = f"{about(steps, batch, window)}, to {kind}"
        yield Row(name=name, ours=mine, theirs=seconds)


def agree(found: np.ndarray, other: np.ndarray, window: int, sizes: Sizes = SIZES) -> None:
    """Raise if texts `i32[B, T]` differ, unless where one begins to differ both words score alike.

    Of thousands of choices some are that close, and from there on all may be different.
    """
    for mine, theirs in zip(found, other, strict=True):
        (places,) = np.nonzero(mine[: len(theirs)] != theirs)
        if len(places):
            at = places[0]
            device = decode_jax.on_device(decode_jax.weights(sizes))
            score = decode_jax.scores(device, jnp.array(mine[:at]), window, sizes)
            assert abs(score[mine[at]] - score[theirs[at]]) < TIE, "the programs disagree"


class Kept:
    """Decodes; the tokens of the last time are kept: `i32[B, T]`."""

    def __init__(self, run: Callable[[], np.ndarray]) -> None:
        self.run = run
        self.found = np.zeros((0, 0), np.int32)

    def __call__(self) -> None:
        self.found = self.run()


def about(steps: int, batch: int, window: int) -> str:
    """What is decoded."""
    return f"B {batch}, T {steps}" + (f", window {window}" if window else "")


def runner(
    kind: str,
    steps: int,
    batch: int,
    window: int,
    sizes: Sizes = SIZES,
    options: Sequence[str] = (),
    bucket: int | None = None,
) -> Callable[[], np.ndarray]:
    """A way to decode, ready to run: the tokens `i32[B, T]`.

    `options` are those of our compilation, `bucket` is how many positions a bucket has.
    """
    weights, first = decode_jax.weights(sizes), np.arange(batch, dtype=np.int32)
    if kind == "ours":
        words = *defines(sizes, window), *options
        bounds = {"B": batch, "T": steps}
        program = ready(SOURCE, *words, bounds=bounds, inputs={"first": first}, params=weights)
        return partial(_ours, program)
    device = decode_jax.on_device(weights)
    match kind:
        case "padded":
            few = min(FEW, steps)
            return partial(decode_jax.padded, device, first, few, window, steps, sizes)
        case "bucketed":
            size = bucket or max(256, steps // 8)
            return partial(decode_jax.bucketed, device, first, steps, size, sizes)
        case "tiled":
            return partial(decode_jax.tiled, device, first, steps, TILE, sizes)
        case "ring":
            return partial(decode_jax.ring, device, first, steps, window, sizes)
    raise ValueError(kind)


def defines(sizes: Sizes, window: int) -> list[str]:
    """The options that give `decode.rt` these sizes."""
    values = {**sizes._asdict(), "window": window}
    return [word for name, value in values.items() for word in ("-D", f"{name}={value}")]


def _ours(program: Ready) -> np.ndarray:
    """As a program that is called often: the weights stay on the device."""
    return program.often(program.inputs)["tok"]


def memory(kind: str, steps: int, window: int) -> float:
    """The bytes by which a process is larger at most when it decodes a sequence of this length."""
    command = [sys.executable, "-m", "tests.bench.llama.decode", kind]
    few, many = (peak([*command, str(count), "1", str(window)]) for count in (WINDOW, steps))
    return many - few


if __name__ == "__main__":
    runner(sys.argv[1], *map(int, sys.argv[2:5]))()
