"""Decoding a small Llama (`decode.rt`), with all positions so far and with the last 256 of them.

    python -m tests.bench.decode KIND T B WINDOW

decodes once, in a process of its own, so that somebody else can see how much memory that takes.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from functools import partial

import numpy as np

from tests.bench import decode_jax
from tests.bench.compiled import ROOT, Ready, ready
from tests.bench.measure import Row, in_turns

SOURCE = ROOT / "tests" / "bench" / "decode.rt"
WINDOW = 256
STEPS = (1024, 4096, 8192)
BATCHES = (1, 4)
ROUNDS = 2


def decode() -> Iterator[Row]:
    """Seconds for a token, and what the longest sequence adds to a process."""
    for batch in BATCHES:
        for steps in STEPS:
            yield from compared(steps, batch, 0, ("padded", "bucketed"))
        yield from compared(STEPS[-1], batch, WINDOW, ("padded", "ring"))
    for window, kinds in ((0, ("padded", "bucketed")), (WINDOW, ("padded", "ring"))):
        mine = memory("ours", window)
        for kind in kinds:
            name = f"{about(STEPS[-1], 1, window)}, memory, to {kind}"
            yield Row(name=name, ours=mine, theirs=memory(kind, window), unit="MB")


def compared(steps: int, batch: int, window: int, kinds: tuple[str, ...]) -> Iterator[Row]:
    """Our program and others, whole runs in turns."""
    runs = [runner(kind, steps, batch, window) for kind in ("ours", *kinds)]
    first, *others = (run() for run in runs)
    assert all(np.array_equal(first, other) for other in others), "the programs disagree"
    mine, *theirs = (min(times) / steps for times in in_turns(runs, ROUNDS, warm=True))
    for kind, seconds in zip(kinds, theirs, strict=True):
        name = f"{about(steps, batch, window)}, to {kind}"
        yield Row(name=name, ours=mine, theirs=seconds)


def about(steps: int, batch: int, window: int) -> str:
    """What is decoded."""
    return f"B {batch}, T {steps}" + (f", window {window}" if window else "")


def runner(kind: str, steps: int, batch: int, window: int) -> Callable[[], np.ndarray]:
    """A way to decode, ready to run: the tokens `i32[B, T]`."""
    weights, first = decode_jax.weights(), np.arange(batch, dtype=np.int32)
    if kind == "ours":
        program = ready(SOURCE, "-D", f"window={window}", inputs={"first": first}, params=weights)
        return partial(_ours, program, steps, batch)
    device = decode_jax.on_device(weights)
    match kind:
        case "padded":
            return partial(decode_jax.padded, device, first, steps, window)
        case "bucketed":
            return partial(decode_jax.bucketed, device, first, steps, max(256, steps // 8))
        case "ring":
            return partial(decode_jax.ring, device, first, steps, window)
    raise ValueError(kind)


def _ours(program: Ready, steps: int, batch: int) -> np.ndarray:
    return program(B=batch, T=steps).outputs["tok"]


def memory(kind: str, window: int) -> float:
    """The bytes by which a process is larger at most when it decodes the longest sequence."""
    few, many = (peak(kind, steps, window) for steps in (WINDOW, STEPS[-1]))
    return float(many - few)


def peak(kind: str, steps: int, window: int) -> int:
    """The most memory of a process that decodes once, in bytes."""
    command = [sys.executable, "-m", "tests.bench.decode", kind, str(steps), "1", str(window)]
    with subprocess.Popen(command, cwd=ROOT) as process:
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise subprocess.CalledProcessError(process.returncode, command)
    return usage.ru_maxrss * 1024


if __name__ == "__main__":
    runner(sys.argv[1], *map(int, sys.argv[2:5]))()
