"""Kernels that programs of several threads share."""

from __future__ import annotations

import threading
import time
from typing import Any

import numpy as np

from tempoc.runtime.execution.lengths import KernelForBounds


class OnlyOnce:
    """Chooses padded arrays at first, and nothing for the same bounds again."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.choices = 0

    def chosen(self, bounds: Any, arguments: Any) -> Any:
        self.choices += 1
        first = self.choices == 1
        time.sleep(0.2 if first else 0)
        return (lambda *arrays: "padded") if first else None


def test_threads_decide_once_how_a_kernel_is_compiled():
    several = OnlyOnce()
    kernel = KernelForBounds(several, lambda *arrays: "exact", {"T": 3})  # type: ignore[arg-type]
    results: list[Any] = []
    array = np.zeros(3, np.float32)
    threads = [
        threading.Thread(target=lambda: results.append(kernel.on_host(array))) for _ in range(3)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert several.choices == 1 and results == ["padded"] * 3
