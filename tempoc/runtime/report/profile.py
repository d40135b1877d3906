"""Profiles: every kernel call timed, as a Chrome trace (open it in Perfetto or chrome://tracing)."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from typing import Any

import numpy as np

from tempoc.runtime.device import backend
from tempoc.runtime.device.accounting import Ledger


class Trace:
    """Collects events; each call is waited for, so a traced run is slower than an ordinary one."""

    def __init__(self) -> None:
        self.start = time.perf_counter()
        self.events: list[dict[str, object]] = []
        self.ledger: Ledger | None = None

    def watch_memory(self, ledger: Ledger) -> None:
        """Also draw the bytes in stores over time."""
        self.ledger = ledger

    def wrap(self, name: str, kernel: Callable[..., Any]) -> Callable[..., Any]:
        """The kernel, with every call noted."""

        def traced(at: Any, *args: Any) -> Any:
            started = time.perf_counter()
            results = kernel(at, *args)
            backend.wait(results)
            self.note(name, np.asarray(at).tolist(), started)
            return results

        return traced

    def note(self, name: str, point: list[int], started: float) -> None:
        """A call that began at ``started`` and has just ended."""
        ended = time.perf_counter()
        timestamp = (started - self.start) * 1e6
        place = {"pid": 1, "tid": 1, "ts": round(timestamp, 1)}
        duration = round((ended - started) * 1e6, 1)
        event = {"name": name, "ph": "X", "dur": duration, "args": {"at": point}, **place}
        self.events.append(event)
        if self.ledger is not None:
            memory = {"name": "stores", "ph": "C", "args": {"bytes": self.ledger.now}, **place}
            self.events.append(memory)

    def to_json(self) -> bytes:
        """The trace as a file's content."""
        data = {"traceEvents": self.events, "displayTimeUnit": "ms"}
        return json.dumps(data, separators=(",", ":")).encode()

    def totals(self) -> dict[str, tuple[int, float]]:
        """Calls and seconds of each kernel, the most expensive first."""
        by_kernel: dict[str, tuple[int, float]] = {}
        for event in self.events:
            if event["ph"] == "X":
                name, micros = str(event["name"]), float(str(event["dur"]))
                count, total = by_kernel.get(name, (0, 0.0))
                by_kernel[name] = (count + 1, total + micros / 1e6)
        return dict(sorted(by_kernel.items(), key=lambda item: -item[1][1]))
