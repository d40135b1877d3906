"""How often XLA compiles while `decode.rt` runs: stores grow a few times only, however long it is.

The widths of layers do not matter for that, so they are small here; the first token is there after
the compilations that its kernels take.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import jax
import numpy as np

from tests.bench.compiled import ready
from tests.bench.llama.decode import SOURCE, WINDOW, defines
from tests.bench.llama.decode_jax import Sizes, weights
from tests.bench.measure import Row, clock

SMALL = Sizes(D=32, F=32, V=64, H=4)
TOKENS = (1, 1024, 8192)
EVENT = "/jax/core/compile/backend_compile_duration"


def compilations() -> Iterator[Row]:
    """Numbers of compilations of a first run in a process, and seconds of it."""
    params = weights(SMALL)
    for window in (0, WINDOW):
        for steps in TOKENS:
            program = ready(
                SOURCE,
                *defines(SMALL, window),
                inputs={"first": np.zeros(1, np.int32)},
                params=params,
            )
            title = f"T {steps}" + (f", window {window}" if window else "")
            jax.clear_caches()
            with _counted() as found:
                seconds = clock(lambda: program(B=1, T=steps))  # noqa: B023
            yield Row(name=f"{title}, compilations", ours=len(found), unit="")
            yield Row(name=f"{title}, first run", ours=seconds)


@contextmanager
def _counted() -> Iterator[list[float]]:
    """The seconds of all compilations meanwhile."""
    found: list[float] = []

    def listen(event: str, seconds: float, **_: object) -> None:
        if event == EVENT:
            found.append(seconds)

    jax.monitoring.register_event_duration_secs_listener(listen)
    try:
        yield found
    finally:
        jax.monitoring.unregister_event_duration_listener(listen)
