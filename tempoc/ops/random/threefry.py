"""Random bits and what is made of them, in NumPy: functions of a key and a position, no state.

The generator is Threefry-2x32 with 20 rounds (Salmon, Moraes, Dror and Shaw, SC 2011). Keys are
made, folded and expanded into bits as ``jax.random`` does it with partitionable Threefry, so the
element at position ``n`` depends on the key and ``n`` alone, however many elements there are.

Kernels compute the same with the text in ``kernel_text.py``. Everything but ``normal`` is integer
arithmetic and roundings that IEEE 754 fixes, so both give the same bits.
"""

from __future__ import annotations

import math

from tempoc.base.arrays import np
from tempoc.ops.definition.operator import Array

SEEDS = range(2**64)
"""The seeds of a run."""

_ROTATIONS = ((13, 15, 26, 6), (17, 29, 16, 24))
_PARITY = 0x1BD11BDA
UNIT = 27
"""Logarithms are integers in units of ``2**-UNIT``."""
LOG2 = round(math.log(2.0) * 2**UNIT)
LOGS = tuple(round(math.log1p(2.0**-k) * 2**UNIT) for k in range(1, 15))
"""``log(1 + 2**-k)`` for the steps of ``minus_log``."""


def root(seed: int) -> Array:
    """The key of a run. ``ValueError`` unless the seed is in ``SEEDS``."""
    if seed not in SEEDS:
        raise ValueError(f"{seed} is not in {SEEDS}")
    return np.array([seed >> 32, seed & 0xFFFFFFFF], np.uint32)


def threefry(key: Array, high: Array, low: Array) -> tuple[Array, Array]:
    """Two words for each pair of words."""
    schedule = (key[0], key[1], key[0] ^ key[1] ^ np.uint32(_PARITY))
    x, y = high + schedule[0], low + schedule[1]
    for i in range(5):
        for r in _ROTATIONS[i % 2]:
            x = x + y
            y = ((y << np.uint32(r)) | (y >> np.uint32(32 - r))) ^ x
        x = x + schedule[(i + 1) % 3]
        y = y + schedule[(i + 2) % 3] + np.uint32(i + 1)
    return x, y


def fold_in(key: Array, number: int) -> Array:
    """The key for one case of many, told apart by a number below ``2**32``."""
    word = np.array([number], np.uint32)
    return np.concatenate(threefry(key, np.zeros(1, np.uint32), word))


def words(key: Array, shape: tuple[int, ...]) -> tuple[Array, Array]:
    """Two random words for each element, a function of its position in row-major order."""
    positions = np.arange(math.prod(shape), dtype=np.uint64)
    low = (positions & np.uint64(0xFFFFFFFF)).astype(np.uint32)
    x, y = threefry(key, (positions >> np.uint64(32)).astype(np.uint32), low)
    return x.reshape(shape), y.reshape(shape)


def bits(key: Array, shape: tuple[int, ...]) -> Array:
    """A random ``u32`` for each element."""
    x, y = words(key, shape)
    return x ^ y


def integers(key: Array, shape: tuple[int, ...], count: int) -> Array:
    """Numbers (``u32``) below ``count``: the upper words of random words times ``count``."""
    wide = bits(key, shape).astype(np.uint64) * np.uint64(count)
    return np.asarray(wide >> np.uint64(32), np.uint32)


# Bits that are drawn for a number, and those that it keeps, as jax.random has it.
DIGITS = {"bfloat16": (8, 7), "float16": (16, 10), "float32": (32, 23)}


def uniform(key: Array, shape: tuple[int, ...], dtype: np.dtype[np.generic]) -> Array:
    """Multiples of ``2**-digits`` in ``[0, 1)``, with all the digits the dtype has below 1."""
    if dtype.itemsize == 8:
        x, y = words(key, shape)
        wide = (x.astype(np.uint64) << np.uint64(32) | y) >> np.uint64(12)
        return wide.astype(np.float64) * 2.0**-52
    width, digits = DIGITS[dtype.name]
    drawn = (bits(key, shape) & np.uint32(2**width - 1)) >> np.uint32(width - digits)
    return (drawn.astype(np.float32) * np.float32(2.0**-digits)).astype(dtype)


def minus_log(v: Array) -> Array:
    """``-log(v / 2**32)`` of positive ``u32`` words, in units of ``2**-UNIT``.

    The word is scaled to the top of its range by doubling and by factors ``1 + 2**-k``, whose
    logarithms add up; what is left is so close to the top that the first term of the series does.
    """
    doublings = (32 - np.frexp(v.astype(np.float64))[1]).astype(np.uint32)
    m = v << doublings
    total = doublings * np.uint32(LOG2)
    for k, log in enumerate(LOGS, 1):
        grown = m + (m >> np.uint32(k))
        fits = grown >= m  # else it ran over
        m = np.where(fits, grown, m)
        total = np.where(fits, total + np.uint32(log), total)
    result: Array = total + ((~m + np.uint32(1)) >> np.uint32(32 - UNIT))
    return result


def gumbel(key: Array, shape: tuple[int, ...]) -> Array:
    """Noise (``f32``): its sum with logits is greatest at ``k`` with probability ``softmax[k]``."""
    exponential = np.maximum(minus_log(bits(key, shape) | np.uint32(1)), np.uint32(1))
    twice = minus_log(exponential) >> np.uint32(1)
    shifted = twice.astype(np.int32) - np.int32((32 - UNIT) * LOG2 // 2)
    noise: Array = shifted.astype(np.float32) * np.float32(2.0 ** (1 - UNIT))
    return noise


# ---------------------------------------------------------------- the normal distribution


# Giles, "Approximating the erfinv function" (GPU Computing Gems, 2011), single precision.
CENTRE = (
    2.81022636e-08, 3.43273939e-07, -3.5233877e-06, -4.39150654e-06, 0.00021858087,
    -0.00125372503, -0.00417768164, 0.246640727, 1.50140941,
)  # fmt: skip
TAIL = (
    -0.000200214257, 0.000100950558, 0.00134934322, -0.00367342844, 0.00573950773,
    -0.0076224613, 0.00943887047, 1.00167406, 2.83297682,
)  # fmt: skip


def normal(key: Array, shape: tuple[int, ...], dtype: np.dtype[np.generic]) -> Array:
    """Standard normal numbers: the inverse of the distribution function at uniform ones."""
    if dtype.itemsize == 8:
        return _normal64(uniform(key, shape, dtype))
    half = np.dtype(np.float32)
    lowest = np.float32(np.nextafter(np.float32(-1), np.float32(0)))
    u = np.maximum(uniform(key, shape, half) * np.float32(2) + lowest, lowest)
    return (np.float32(math.sqrt(2)) * erfinv(u)).astype(dtype)


def erfinv(u: Array) -> Array:
    """The inverse error function in single precision; also near the ends, where it is steep."""
    w = -np.log((np.float32(1) - u) * (np.float32(1) + u))
    centre, tail = w - np.float32(2.5), np.sqrt(w) - np.float32(3)
    low, high = np.float32(CENTRE[0]), np.float32(TAIL[0])
    p, q = np.broadcast_to(low, u.shape), np.broadcast_to(high, u.shape)
    for a, b in zip(CENTRE[1:], TAIL[1:], strict=True):
        p, q = p * centre + np.float32(a), q * tail + np.float32(b)
    result: Array = np.where(w < 5, p, q) * u
    return result


def _normal64(u: Array) -> Array:
    lowest = np.nextafter(-1.0, 0.0)
    v = np.maximum(u * 2.0 + lowest, lowest)
    x = erfinv(v.astype(np.float32).clip(-1 + 2.0**-24, 1 - 2.0**-24)).astype(np.float64)
    complement, density = np.vectorize(math.erfc, otypes=[np.float64]), 2 / math.sqrt(math.pi)
    for _ in range(4):  # Newton, on the side where erfc is small
        size = np.abs(x)
        error = complement(size) - (1.0 - np.abs(v))
        size = size + error / (density * np.exp(-size * size))
        x = np.copysign(size, v)
    exact: Array = math.sqrt(2) * x
    return exact
