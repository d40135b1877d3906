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
from tests.bench.llama import decode_jax
from tests.bench.llama.decode import SOURCE, WINDOW
from tests.bench.measure import Row, clock

SMALL = {"D": 32, "F": 32, "V": 64, "H": 4}
TOKENS = (1, 1024, 8192)
EVENT = "/jax/core/compile/backend_compile_duration"


def compilations() -> Iterator[Row]:
    """Numbers of compilations of a first run in a process, and seconds of it."""
    defines = [word for name, size in SMALL.items() for word in ("-D", f"{name}={size}")]
    weights = _weights()
    for window in (0, WINDOW):
        for steps in TOKENS:
            program = ready(
                SOURCE,
                *defines,
                "-D",
                f"window={window}",
                inputs={"first": np.zeros(1, np.int32)},
                params=weights,
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


def _weights() -> dict[str, np.ndarray]:
    """The weights of `decode.rt`, cut to the small widths."""
    d, f, v, h = SMALL.values()
    kv, group = decode_jax.KV, decode_jax.GROUP
    sizes = {
        "embed": (v, d), "norm": (d,), "attn_norm": (d,), "mlp_norm": (d,),
        "wq": (kv * group * h, d), "wk": (kv * h, d), "wv": (kv * h, d), "wo": (d, kv * group * h),
        "gate": (f, d), "up": (f, d), "down": (d, f),
    }  # fmt: skip
    whole = decode_jax.weights()
    return {
        name: np.ascontiguousarray(array[(..., *(slice(n) for n in sizes[name]))])
        for name, array in whole.items()
    }
