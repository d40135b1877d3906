"""Training on images that do not fit: within a sixteenth of the memory, against all of it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from statistics import median

import numpy as np

from tempoc.runtime.data.bindings import Given
from tempoc.runtime.data.source import as_sources
from tempoc.runtime.run import RunResult, Settings, run_given
from tests.bench.compiled import Ready, agree, ready
from tests.bench.measure import Row, in_turns

SOURCE = Path(__file__).parent / "images.rt"
STEPS, PART = 200, 16


def offload() -> Iterator[Row]:
    """Most bytes on the device, and seconds, for 200 steps with 32 images each."""
    random = np.random.default_rng(0)
    data = {
        "x": random.standard_normal((STEPS, 32, 3, 32, 32)).astype(np.float32),
        "y": random.integers(0, 10, (STEPS, 32)).astype(np.int32),
    }
    whole = ready(SOURCE, inputs=data)
    natural = counted(whole)
    budget = natural.peak_bytes // PART
    limits = "--memory-budget", f"{budget}B", "--bounds", f"K={STEPS}"
    small = replace(ready(SOURCE, *limits), inputs=data)
    found = counted(small)
    assert found.peak_bytes <= budget
    agree(lambda: found.outputs, natural.outputs)
    yield in_bytes(f"most bytes on the device, {STEPS} steps", found.peak_bytes, natural.peak_bytes)
    copied = found.loaded + found.evicted
    yield in_bytes("bytes copied, to those of the images", copied, data["x"].nbytes)
    mine, other = (median(t) for t in in_turns((small, whole), rounds=9))
    yield Row(name=f"{STEPS} steps", ours=mine, theirs=other)


def in_bytes(name: str, ours: int, theirs: int) -> Row:
    """Bytes of ours and theirs."""
    return Row(name=name, ours=ours, theirs=theirs, unit="MB")


def counted(program: Ready) -> RunResult:
    """A run of which bytes are counted."""
    inputs, params = as_sources(program.inputs), as_sources(program.params)
    given = Given(bounds=program.bounds, inputs=inputs, params=params)
    return run_given(program.loaded, given, Settings(account=True))
