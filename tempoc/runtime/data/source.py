"""Lazy tensors: name, dtype and shape are known, the data is read on demand."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import numpy as np

from tempoc.runtime.data.dtypes import HostArray


class TensorSource(NamedTuple):
    """A tensor somewhere; ``origin`` is the file it comes from, empty for arrays in memory."""

    name: str
    dtype: np.dtype[Any]
    shape: tuple[int, ...]
    origin: str
    read: Callable[[], HostArray]


def in_memory(name: str, value: object) -> TensorSource:
    """An array (or anything numpy makes one of) as a source."""
    array = np.asarray(value)
    return TensorSource(name, array.dtype, array.shape, "", lambda: array)


def as_sources(values: Mapping[str, object]) -> dict[str, TensorSource]:
    """Arrays by name as sources; what is a source already stays."""
    return {
        name: value if isinstance(value, TensorSource) else in_memory(name, value)
        for name, value in values.items()
    }
