"""Decoding a small Llama (`decode.rt`), with all positions so far and with the last 256 of them.

    python -m tests.bench.llama.decode [--processor-time] [--list] [WORDS ...]

measures the cells that have each of the words: `"T 8192" "B 1" memory`, or all.

    python -m tests.bench.llama.decode --growth KIND T WINDOW

decodes one text twice, and prints how much more memory than before the process has the second time.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import jax.numpy as jnp
import numpy as np

from tests.bench.compiled import ROOT, Ready, all_bits, ready
from tests.bench.llama import decode_jax
from tests.bench.llama.decode_jax import SIZES, Sizes
from tests.bench.measure import TUNABLES, Row, clock, growth, in_turns, processor_time
from tests.bench.training.offload import counted

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


@dataclass(frozen=True, kw_only=True)
class Cell:
    """What is measured: a text or several, of how many tokens, and memory instead of time."""

    steps: int
    batch: int = 1
    window: int = 0
    is_memory: bool = False

    @property
    def name(self) -> str:
        seen = f", window {self.window}" if self.window else ""
        return f"B {self.batch}, T {self.steps}{seen}" + ", memory" * self.is_memory

    @property
    def others(self) -> tuple[str, ...]:
        """The programs that ours is compared with."""
        if self.window:
            return "padded", "ring"
        return "padded", "bucketed", "tiled"

    def rows(self, timed: Callable[[Callable[[], object]], float]) -> Iterator[Row]:
        """Ours and each of the others."""
        if not self.is_memory:
            yield from compared(self, timed)
            return
        mine = memory("ours", self.steps, self.window)
        for kind in self.others:
            theirs = memory(kind, self.steps, self.window)
            yield Row(name=f"{self.name}, to {kind}", ours=mine, theirs=theirs, unit="MB")
        name = f"{self.name}, to what is planned"
        yield Row(name=name, ours=mine, theirs=planned(self.steps, self.window), unit="MB")


def cells(lengths: Sequence[int] = STEPS) -> list[Cell]:
    """All cells, those that take longest last."""
    found = []
    for steps in lengths:
        for window in (WINDOW, 0):
            found += [Cell(steps=steps, batch=batch, window=window) for batch in BATCHES]
        found += [Cell(steps=steps, window=window, is_memory=True) for window in (0, WINDOW)]
    return found


def decode(lengths: Sequence[int] = STEPS) -> Iterator[Row]:
    """Seconds for a token, and what a sequence adds to a process."""
    for cell in cells(lengths):
        yield from cell.rows(clock)


def compared(cell: Cell, timed: Callable[[Callable[[], object]], float]) -> Iterator[Row]:
    """Our program and others, whole runs in turns; of a padded one the first tokens."""
    kinds = "ours", *cell.others
    runs = [Kept(runner(kind, cell.steps, cell.batch, cell.window)) for kind in kinds]
    is_long = cell.steps > LONG
    times = in_turns(runs, 1 if is_long else ROUNDS, warm=is_long, timed=timed)
    first, *others = (run.found for run in runs)
    for other in others:
        agree(first, other, cell.window)
    counts = [run.found.shape[1] for run in runs]
    mine, *theirs = (min(found) / n for found, n in zip(times, counts, strict=True))
    for kind, seconds in zip(cell.others, theirs, strict=True):
        yield Row(name=f"{cell.name}, to {kind}", ours=mine, theirs=seconds)


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


def prepared(
    steps: int,
    batch: int,
    window: int,
    sizes: Sizes = SIZES,
    options: Sequence[str] = (),
) -> Ready:
    """Our program, with texts that begin with words of their own."""
    words = *defines(sizes, window), *options
    return ready(
        SOURCE,
        *words,
        bounds={"B": batch, "T": steps},
        inputs={"first": np.arange(batch, dtype=np.int32)},
        params=decode_jax.weights(sizes),
    )


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
        return partial(_ours, prepared(steps, batch, window, sizes, options))
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


def memory(kind: str, steps: int, window: int) -> int:
    """The bytes that a process of its own has more, at most, while it decodes a text.

    It has decoded such a text before: what compilations take is not counted.
    """
    words = kind, str(steps), str(window)
    command = [sys.executable, "-m", "tests.bench.llama.decode", "--growth", *words]
    done = subprocess.run(
        command, check=True, capture_output=True, text=True, cwd=ROOT, env=os.environ | TUNABLES
    )
    return int(done.stdout.split()[-1])


def planned(steps: int, window: int) -> int:
    """The bytes that our program has in stores at most while it decodes a text, beside weights."""
    program = prepared(steps, 1, window)
    return counted(program).peak_bytes - sum(array.nbytes for array in program.params.values())


def grown(kind: str, steps: int, window: int) -> int:
    """The same for this process."""
    run = runner(kind, steps, 1, window)
    run()
    return growth(run)


def main(words: list[str]) -> None:
    """Print a table of some cells."""
    if words[:1] == ["--growth"]:
        kind, steps, window = words[1:]
        print(grown(kind, int(steps), int(window)))
        return
    options = {word for word in words if word.startswith("--")}
    wanted = [word for word in words if word not in options]
    chosen = [cell for cell in cells() if all(word in cell.name.split(", ") for word in wanted)]
    unknown = options - {"--processor-time", "--list"}
    if unknown or not chosen:
        names = "; ".join(cell.name for cell in cells())
        raise SystemExit(f"nothing has all of {', '.join(words)}: there are {names}")
    all_bits()
    for cell in chosen:
        if "--list" in options:
            print(cell.name)
            continue
        for row in cell.rows(processor_time if "--processor-time" in options else clock):
            print(row.text(), flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
