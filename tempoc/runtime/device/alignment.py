"""Host arrays by alignment: XLA for CPUs shares the memory of aligned arrays and copies others."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from tempoc.runtime.data.dtypes import HostArray

_ALIGNMENT = 64


def aligned(array: HostArray, dtype: np.dtype[Any] | None = None) -> HostArray:
    """An aligned copy of an array, whose memory a CPU device shares."""
    copy = empty(array.shape, dtype or array.dtype)
    copy[...] = array
    return copy


def empty(shape: tuple[int, ...], dtype: np.dtype[Any]) -> HostArray:
    """An aligned array, its elements not set."""
    nbytes = math.prod(shape) * dtype.itemsize
    padded = np.empty(nbytes + _ALIGNMENT, np.uint8)
    start = -padded.ctypes.data % _ALIGNMENT
    return padded[start : start + nbytes].view(dtype).reshape(shape)


def unaligned(
    shape: tuple[int, ...], dtype: np.dtype[Any], make: Callable[..., HostArray] = np.empty
) -> HostArray:
    """An unaligned array, which the device has to copy.

    Only arrays that XLA owns can be updated in place; aligned host memory it would merely share.
    """
    nbytes = math.prod(shape) * dtype.itemsize
    padded = make(nbytes + 2 * _ALIGNMENT, np.uint8)
    start = -padded.ctypes.data % _ALIGNMENT + dtype.itemsize
    return padded[start : start + nbytes].view(dtype).reshape(shape)
