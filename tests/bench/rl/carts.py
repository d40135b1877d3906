"""The carts of `examples/rl`, and weights for a network that steers them."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from importlib import import_module
from typing import Any

import numpy as np

from tests.bench.compiled import ROOT, Arrays

FOLDER = ROOT / "examples" / "rl"
CARTS, STEPS = 512, 250


def environment(name: str) -> Any:
    """A module of `examples/rl/envs`."""
    sys.path.insert(0, str(FOLDER))
    return import_module(f"envs.{name}")


def weights(shapes: Mapping[str, tuple[int, ...]]) -> Arrays:
    """The same numbers each time."""
    random = np.random.default_rng(0)
    return {
        name: (random.standard_normal(shape) / shape[-1] ** 0.5).astype(np.float32)
        for name, shape in shapes.items()
    }
