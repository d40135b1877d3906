"""Integers of 8 bits, and the bits of integers: weights that are quantized."""

from __future__ import annotations

from typing import Any

import numpy as np

from tests.whole.language.harness import Case, case

Array = Any
CASES: list[Case] = []


def _bytes(kind: type, *shape: int) -> Array:
    info = np.iinfo(kind)
    return np.random.default_rng(5).integers(info.min, info.max + 1, shape).astype(kind)


@case(
    CASES,
    """
    dim t < T
    input x[t]: i8
    input u[t]: u8
    wrapped[t] = x * 3 + 1
    mixed = x + u
    half = x / 2
    total = sum(x[0:T])
    product[t] = prod(u[0:t+1])
    so_far[t] = cumsum(x[0:T], axis = 0)[t]
    state[t] = u when t == 0
    state[t] = state[t-1] * 5 + u when t >= 1
    high = right_shift(u, 4)
    low = bitwise_and(u, 15)
    turned = bitwise_xor(bitwise_not(x), i8(85))
    joined = bitwise_or(left_shift(i32(high), 8), i32(low))
    below = u > -1
    great = max(x[0:T])
    at[t] = u[t = i32(low) % T in 0:T]
    output wrapped, mixed, half, total, product, so_far, state, high, low, turned, joined, below
    output great, at
    """,
    {"T": 1},
    {"T": 6},
    given={"x": lambda T: _bytes(np.int8, T), "u": lambda T: _bytes(np.uint8, T)},
    dtypes={
        "wrapped": "int8", "mixed": "int32", "half": "float32", "total": "int32",
        "product": "uint32", "so_far": "int8", "state": "uint8", "high": "uint8", "low": "uint8",
        "turned": "int8", "joined": "int32", "great": "int8", "at": "uint8",
    },
)  # fmt: skip
def bytes_and_bits(T: int, x: Array, u: Array) -> Any:
    wide, state = u.astype(np.int64), [u[0]]
    for t in range(1, T):
        state.append(np.uint8((int(state[-1]) * 5 + int(u[t])) % 256))
    products = [int(np.prod([1, *map(int, u[: t + 1])], dtype=object)) % 2**32 for t in range(T)]
    return {
        "wrapped": (x * np.int8(3) + np.int8(1)), "mixed": x.astype(int) + u, "half": x / 2,
        "total": x.sum(), "product": np.array(products, np.uint32),
        "so_far": np.cumsum(x.astype(int)).astype(np.int8), "state": np.array(state),
        "high": u >> 4, "low": u & 15, "turned": ~x ^ np.int8(85),
        "joined": (wide >> 4 << 8) | (wide & 15), "below": np.zeros(T, bool), "great": x.max(),
        "at": u[(u & 15) % T],
    }  # fmt: skip


@case(
    CASES,
    """
    dim t < T
    input x[t]: f32[6]
    param w: u8[4, 3]
    param scale: f32[4]
    low = i8(bitwise_and(w, 15)) - 8
    high = i8(right_shift(w, 4)) - 8
    W = f32(concat([low, high], 1)) * expand_dims(scale, 1)
    y = W @ x
    slope = grad(sum(y ** 2), scale)
    step = max(abs(y)) / 127
    q = i8(round(y / step))
    exact = i32(q) @ i32(q)
    output y, slope, q, exact
    """,
    {"T": 1},
    {"T": 5},
    given={
        "w": lambda: _bytes(np.uint8, 4, 3),
        "scale": lambda: np.array([0.5, -0.25, 1.0, 2.0], np.float32),
    },
    dtypes={"q": "int8", "exact": "int32"},
)
def weights_of_four_bits(T: int, x: Array, w: Array, scale: Array) -> Any:
    plain = np.concatenate([(w & 15).astype(float), (w >> 4).astype(float)], 1) - 8
    y = x @ (plain * scale[:, None]).T
    q = np.round(y / (np.abs(y).max(1, keepdims=True) / 127)).astype(np.int8)
    return {
        "y": y, "slope": np.sum(2 * y * (x @ plain.T), 0), "q": q,
        "exact": np.sum(q.astype(int) ** 2, 1),
    }  # fmt: skip
