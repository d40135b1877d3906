"""Memory over the time of decoding, in a process of its own.

    python -m tests.bench.papers.footprint SCALE KIND WINDOW

decodes twice and prints the seconds and the bytes of the second time, as JSON: what it has more
than before, every few milliseconds.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import jax

from tests.bench.compiled import ROOT
from tests.bench.llama.decode import runner
from tests.bench.llama.decode_jax import SIZES
from tests.bench.measure import TUNABLES, give_back
from tests.bench.papers.figures import Experiment, Sample
from tests.bench.papers.latency import LLAMA, TINY

SCALE = {
    "tiny": (TINY, 12, 3, 4),
    "small": (SIZES, 1024, 4, 128),
    "full": (LLAMA, 16384, 4, 512),
}
"""Model, tokens, texts, window."""
PARTS = 20
"""The curve of a run has so many places, and its beginning."""
PERIOD = 0.002


def footprint(scale: str) -> Iterator[Sample]:
    """Bytes of the process or the device, at twenty parts of a run."""
    window = SCALE[scale][-1]
    for seen, kinds in ((0, ("ours", "padded", "bucketed")), (window, ("ours", "padded", "ring"))):
        for kind in kinds:
            for part, size in enumerate(curve(scale, kind, seen)):
                yield Sample(
                    panel=f"window {seen}" if seen else "causal",
                    system="tempoc" if kind == "ours" else f"JAX, {kind}",
                    x=part / PARTS,
                    y=size,
                    unit="MB",
                )


def curve(scale: str, kind: str, window: int) -> list[float]:
    """The most bytes within each part of a run, the beginning first."""
    points = (
        watched(decoder(scale, kind, window)) if scale == "tiny" else apart(scale, kind, window)
    )
    whole = points[-1][0]
    sizes = [points[0][1]]
    for part in range(PARTS):
        begin, end = whole * part / PARTS, whole * (part + 1) / PARTS
        within = [size for at, size in points if begin <= at <= end]
        sizes.append(max(within, default=sizes[-1]))
    return sizes


def apart(scale: str, kind: str, window: int) -> list[tuple[float, int]]:
    """What a process of its own says."""
    command = [sys.executable, "-m", "tests.bench.papers.footprint", scale, kind, str(window)]
    done = subprocess.run(
        command, check=True, capture_output=True, text=True, cwd=ROOT, env=os.environ | TUNABLES
    )
    return [(at, size) for at, size in json.loads(done.stdout.splitlines()[-1])]


def in_use() -> int:
    """Bytes of arrays on the device where it counts them, else those of this process."""
    stats = jax.devices()[0].memory_stats()
    if stats is not None:
        return int(stats["bytes_in_use"])
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE")


def watched(action: Callable[[], object]) -> list[tuple[float, int]]:
    """Seconds since the beginning, and the bytes that there are more than then."""
    give_back()
    start, before, done = time.perf_counter(), in_use(), threading.Event()
    points = [(0.0, 0)]

    def watch() -> None:
        while not done.wait(PERIOD):
            points.append((time.perf_counter() - start, in_use() - before))

    watcher = threading.Thread(target=watch)
    watcher.start()
    action()
    points.append((time.perf_counter() - start, in_use() - before))
    done.set()
    watcher.join()
    return sorted(points)


def decoder(scale: str, kind: str, window: int) -> Callable[[], object]:
    """A way to decode that is warm."""
    sizes, steps, batch, _ = SCALE[scale]
    options = ("--bucket", str(steps // 8)) if kind == "ours" else ()
    run = runner(kind, steps, batch, window, sizes, options, bucket=steps // 8)
    run()
    return run


def main(scale: str, kind: str, window: str) -> None:
    """The process that is watched."""
    print(json.dumps(watched(decoder(scale, kind, int(window)))))


FOOTPRINT = Experiment(
    claim="Tempo (SOSP '25), fig. 19: causal attention takes a step of memory for each tile, a "
    "window one allocation for the whole run; JAX takes all of it from the beginning",
    x="part of the run",
    measure=footprint,
    is_logarithmic=False,
)

if __name__ == "__main__":
    main(*sys.argv[1:])
