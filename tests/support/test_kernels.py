"""Kernels that are equal are compiled once in a process, whichever program they come from."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import jax
import pytest

from tests.codegen.programs import FIBONACCI

COMPILED = "/jax/core/compile/backend_compile_duration"


@pytest.fixture
def compilations() -> Iterator[list[str]]:
    """Those by XLA since the test began."""
    events: list[str] = []

    def listen(event: str, _: float, **__: object) -> None:
        events.extend([event] if event == COMPILED else [])

    jax.monitoring.register_event_duration_secs_listener(listen)
    yield events
    jax.monitoring.unregister_event_duration_listener(listen)


def test_equal_kernels_are_shared(tmp_path: Path, compilations: list[str]) -> None:
    for name in ("one", "other"):
        (tmp_path / name).mkdir()
        FIBONACCI.run(tmp_path / name, {"T": 7})
        before, compilations[:] = [*compilations], []
    assert before == []


@pytest.mark.usefixtures("each_its_own")
def test_or_not(tmp_path: Path, compilations: list[str]) -> None:
    FIBONACCI.run(tmp_path, {"T": 7})
    assert compilations
