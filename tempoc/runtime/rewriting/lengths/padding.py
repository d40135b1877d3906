"""Arrays with more rows than they have elements for lengths: how large they are, what counts.

Elements beyond are unspecified, and may be infinite or no numbers: what combines elements masks
them.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import jax.numpy as jnp
import numpy as np
from jax import enable_x64, lax

from tempoc.runtime.rewriting.lengths.sizes import (
    Lengths,
    PaddedShape,
    PaddedSize,
    UnlikeError,
    VaryingSize,
    at_lengths,
    is_ragged,
)


@dataclass(frozen=True, slots=True)
class Padding:
    """Lengths as data, and the most that they may be."""

    lengths: Sequence[Any]
    most: Lengths

    def size(self, size: PaddedSize) -> int:
        """The elements that an array has for a size."""
        return at_lengths(size, self.most)

    def shape(self, shape: Iterable[PaddedSize]) -> tuple[int, ...]:
        """The shape of an array."""
        return tuple(map(self.size, shape))

    def count(self, size: PaddedSize) -> Any:
        """The elements that count: an i32 of the device where it depends on lengths."""
        if not isinstance(size, VaryingSize):
            return size
        require(size.largest(self.most) <= np.iinfo(np.int32).max)
        return size.at(self.lengths)

    def counts(self, size: PaddedSize, places: Any) -> Any:
        """Which places lie before the end."""
        return places < self.count(size)

    def masked(self, array: Any, shape: PaddedShape, axes: Iterable[int], fill: Any) -> Any:
        """The array with ``fill`` behind the ends of these axes."""
        ragged = [axis for axis in axes if isinstance(shape[axis], VaryingSize)]
        for axis in ragged:
            keep = self.counts(shape[axis], lax.broadcasted_iota(jnp.int32, array.shape, axis))
            with enable_x64(True):  # kernels may have made integers of 64 bits to be sorted
                array = lax.select(keep, array, lax.full(array.shape, fill, array.dtype))
        return array


def require(is_so: bool) -> None:
    """Raise ``UnlikeError`` unless something holds without which functions are unlike."""
    if not is_so:
        raise UnlikeError


def static(sizes: Sequence[PaddedSize]) -> tuple[int, ...]:
    """Sizes that depend on no length; raises ``UnlikeError`` for others."""
    require(not is_ragged(sizes))
    return tuple(s for s in sizes if isinstance(s, int))
