"""Memory of the host as XLA for CPUs takes it over, or does not: it uses what is aligned."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from tempoc.runtime.data.dtypes import HostArray

_ALIGNMENT = 64


def aligned(array: HostArray, dtype: np.dtype[Any] | None = None) -> HostArray:
    """A copy of an array such that a CPU device uses its memory."""
    target = dtype or array.dtype
    nbytes = array.size * target.itemsize
    room = np.empty(nbytes + _ALIGNMENT, np.uint8)
    start = -room.ctypes.data % _ALIGNMENT
    copy = room[start : start + nbytes].view(target).reshape(array.shape)
    copy[...] = array
    return copy


def unaligned(
    shape: tuple[int, ...], dtype: np.dtype[Any], make: Callable[..., HostArray] = np.empty
) -> HostArray:
    """An array with the host that the device copies, however it likes to take over memory.

    Only what XLA has itself can be updated in place; it takes over what is aligned.
    """
    nbytes = math.prod(shape) * dtype.itemsize
    room = make(nbytes + 2 * _ALIGNMENT, np.uint8)
    start = -room.ctypes.data % _ALIGNMENT + dtype.itemsize
    return room[start : start + nbytes].view(dtype).reshape(shape)
