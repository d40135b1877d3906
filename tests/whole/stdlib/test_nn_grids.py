"""Layers on grids and lines, and their gradients, against `jax.lax`."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
from jax import lax

from tests.whole.stdlib.reference import Case, check, normal

HEAD = """import nn
dim n < N
input x[n]: f32[5, 6, 3]
input z[n]: f32[7, 3]
input w: f32[3, 2, 3, 4]
input b: f32[4]
input keep: f32[3, 3, 3, 3]
input kernel: f32[3, 3, 2]
input b2: f32[2]
"""
GRID = ("NHWC", "HWIO", "NHWC")
LINE = ("NWC", "WIO", "NWC")
Data = dict[str, Any]


def pooled(x: Any, f: Any, start: float, width: int, stride: int) -> Any:
    axes = x.ndim - 2
    return lax.reduce_window(
        x, start, f, (1, *[width] * axes, 1), (1, *[stride] * axes, 1), "VALID"
    )


def residual(d: Data) -> Any:
    h = d["x"]
    for scale in (1.0, 0.5):
        h = jax.nn.relu(h)
        h = lax.conv_general_dilated(h, scale * d["keep"], (1, 1), "SAME", dimension_numbers=GRID)
        h = h + scale
    return d["x"] + h


CASES: dict[str, Case] = {
    "grid": (
        "nn.convolution(x, {w: w, b: b})",
        lambda d: (
            d["b"]
            + lax.conv_general_dilated(d["x"], d["w"], (1, 1), "SAME", dimension_numbers=GRID)
        ),
    ),
    "strided": (
        'nn.convolution(x, {w: w, b: b}, stride = 2, padding = "valid")',
        lambda d: (
            d["b"]
            + lax.conv_general_dilated(d["x"], d["w"], (2, 2), "VALID", dimension_numbers=GRID)
        ),
    ),
    "line": (
        "nn.convolution(z, {w: kernel, b: b2}, stride = 2)",
        lambda d: (
            d["b2"]
            + lax.conv_general_dilated(d["z"], d["kernel"], (2,), "SAME", dimension_numbers=LINE)
        ),
    ),
    "residual": (
        "nn.residual(x, [{w: keep, b: 1.0}, {w: 0.5 * keep, b: 0.5}])",
        residual,
    ),
    "max_pool": ("nn.max_pool(x)", lambda d: pooled(d["x"], lax.max, -jnp.inf, 2, 2)),
    "max_pool_line": (
        "nn.max_pool(z, 3, 1)",
        lambda d: pooled(d["z"], lax.max, -jnp.inf, 3, 1),
    ),
    "mean_pool": (
        "nn.mean_pool(x, 3, 1)",
        lambda d: pooled(d["x"], lax.add, 0.0, 3, 1) / 9,
    ),
    "mean_pool_line": (
        "nn.mean_pool(z, 2, 3)",
        lambda d: pooled(d["z"], lax.add, 0.0, 2, 3) / 2,
    ),
}


def test_grids() -> None:
    shapes = {"x": (2, 5, 6, 3), "z": (2, 7, 3), "w": (3, 2, 3, 4), "b": (4,)}
    shapes |= {"keep": (3, 3, 3, 3), "kernel": (3, 3, 2), "b2": (2,)}
    check(HEAD, CASES, {"N": 2}, normal(8, shapes))
