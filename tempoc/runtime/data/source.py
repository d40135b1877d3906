"""Lazy tensors: name, dtype and shape are known, the data is read on demand."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import numpy as np

from tempoc.diagnostics.diagnostic import RunError
from tempoc.runtime.data.dtypes import HostArray
from tempoc.runtime.messages import run as errors


class TensorSource(NamedTuple):
    """A tensor somewhere; ``origin`` is the file it comes from, empty for arrays in memory."""

    name: str
    dtype: np.dtype[Any]
    shape: tuple[int, ...]
    origin: str
    read: Callable[[], HostArray]


def in_memory(name: str, value: object, what: str = "tensor") -> TensorSource:
    """An array (or anything NumPy makes one of) as a source. Raises ``RunError``."""
    try:
        array = np.asarray(value)
    except Exception as error:
        reason = (str(error) or type(error).__name__).split("\n")[0].rstrip(".")
        raise RunError(errors.no_array(what, name, reason)) from None
    return TensorSource(name, array.dtype, array.shape, "", lambda: array)


def as_sources(values: Mapping[str, object], what: str = "tensor") -> dict[str, TensorSource]:
    """Arrays by name as sources; what is a source already stays. Raises ``RunError``.

    ``what`` they are to the program: each an input, or a param.
    """
    named = by_name(values, what)
    return {
        name: value if isinstance(value, TensorSource) else in_memory(name, value, what)
        for name, value in named.items()
    }


def by_name(values: object, what: str) -> Mapping[str, Any]:
    """What the caller gives, which must be a mapping from names. Raises ``RunError``."""
    if not isinstance(values, Mapping):
        raise RunError(errors.not_by_name(what, type(values).__name__))
    for name in values:
        if not isinstance(name, str):
            raise RunError(errors.no_name(what, repr(name)))
    return values
