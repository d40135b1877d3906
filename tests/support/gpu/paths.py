"""What programs compute where they take the code of a GPU, without one: XLA runs it on the CPU."""

from __future__ import annotations

import jax
import pytest


@pytest.fixture
def gpu_paths(monkeypatch: pytest.MonkeyPatch) -> None:
    """Kernels and the runner ask for the device, and are told that it is a GPU."""
    monkeypatch.setattr(jax, "default_backend", lambda: "gpu")
