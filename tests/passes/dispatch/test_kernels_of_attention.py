"""Kernels of attention that no CPU would choose: in Pallas's interpreter, and lowered for a GPU."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import lax

from tempoc.ops.emission.prelude import HELPERS
from tempoc.ops.linear.attention import Attention
from tempoc.symbolic import expr as ix

NAMES = ("attend_by_tiles", "attend_by_rows", "has_cudnn", "attend")


def helpers() -> dict[str, Any]:
    scope = {"jax": jax, "jnp": jnp, "lax": lax}
    for name in NAMES:
        exec(HELPERS[name], scope)
    return scope


def arrays(rows: int, columns: int, shared: int, group: int, size: int, given: int) -> list[Any]:
    random = np.random.default_rng(rows + columns)
    shapes = (rows, shared * group, size), (columns, shared, size), (columns, shared, given)
    return [random.normal(size=s).astype(np.float32) for s in shapes]


def exact(q: Any, k: Any, v: Any, scale: float, causal: bool, window: int) -> Any:
    op = Attention(scale=scale, causal=causal, window=ix.Const(window))
    grouped = q.reshape(len(q), k.shape[1], -1, q.shape[-1])
    values = op.evaluate(tuple(x.astype(np.float64) for x in (grouped, k, v)), {})[0]
    return values.reshape(*q.shape[:-1], v.shape[-1])


@pytest.mark.parametrize(
    ("sizes", "causal", "window"),
    [
        ((1, 1, 1, 1, 4, 4), True, 0),
        ((130, 130, 2, 2, 20, 9), True, 0),
        ((130, 130, 1, 1, 16, 16), True, 40),
        ((7, 70, 1, 2, 16, 16), False, 0),
    ],
)
def test_tiles(sizes: tuple[int, ...], causal: bool, window: int) -> None:
    given = arrays(*sizes)
    tiles = helpers()["attend_by_tiles"]
    values = tiles(*map(jnp.asarray, given), 0.3, causal, window, None, interpret=True)
    expected = exact(*given, 0.3, causal, window)
    np.testing.assert_allclose(values, expected, rtol=1e-5, atol=1e-5)


def test_tiles_of_the_first_columns_alone() -> None:
    q, k, v = arrays(3, 40, 1, 1, 16, 16)
    k[9:], v[9:] = np.inf, 0
    tiles = helpers()["attend_by_tiles"]
    values = tiles(*map(jnp.asarray, (q, k, v)), 0.3, False, 0, 9, interpret=True)
    expected = exact(q, k[:9], v[:9], 0.3, False, 0)
    np.testing.assert_allclose(values, expected, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("dtype", ["float32", "bfloat16"])
def test_a_batch_is_lowered_for_a_gpu(dtype: str) -> None:
    q, k = (jax.ShapeDtypeStruct((2, 300, heads, 64), dtype) for heads in (8, 2))
    tiles = helpers()["attend_by_tiles"]
    call = jax.jit(jax.vmap(lambda q, k, v: tiles(q, k, v, 0.3, True, 100, None)))
    text = call.trace(q, k, k).lower(lowering_platforms=("cuda",)).as_text()
    assert text.count("custom_call") == 1 and "triton" in text


class Device:
    """What JAX says of a device."""

    def __init__(self, kind: str, capability: str = "") -> None:
        self.device_kind, self.compute_capability = kind, capability


@pytest.mark.parametrize(
    ("kind", "capability", "half", "size", "chosen"),
    [
        ("NVIDIA H200", "9.0", True, 256, True),
        ("NVIDIA A100", "8.0", True, 256, False),
        ("NVIDIA A100", "8.0", True, 64, True),
        ("NVIDIA H200", "9.0", True, 100, False),
        ("NVIDIA H200", "9.0", False, 64, False),
        ("AMD Instinct MI300X", "gfx942", True, 64, False),
    ],
)
def test_when_cudnn_has_a_kernel(
    kind: str, capability: str, half: bool, size: int, chosen: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(jax, "devices", lambda: [Device(kind, capability)])
    assert helpers()["has_cudnn"](half, size, size) == chosen
