"""Arrays with more rows than they have elements of a length: how large they are, what counts.

Elements beyond are unspecified, and may be infinite or no numbers: what combines elements masks
them.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import jax.numpy as jnp
from jax import lax

from tempoc.runtime.rewriting.lengths.form import LinearSize, PaddedShape, PaddedSize, UnlikeError


@dataclass(frozen=True, slots=True)
class Padding:
    """A length as data, and the most that it may be."""

    length: Any
    most: int

    def size(self, size: PaddedSize) -> int:
        """The elements that an array has for a size."""
        return int(size.at(self.most)) if isinstance(size, LinearSize) else size

    def shape(self, shape: Iterable[PaddedSize]) -> tuple[int, ...]:
        """The shape of an array."""
        return tuple(map(self.size, shape))

    def count(self, size: PaddedSize) -> Any:
        """The elements that count: an i32 of the device where it depends on the length."""
        return size.at(self.length) if isinstance(size, LinearSize) else size

    def counts(self, size: PaddedSize, places: Any) -> Any:
        """Which places lie before the end."""
        return places < self.count(size)

    def masked(self, array: Any, shape: PaddedShape, axes: Iterable[int], fill: Any) -> Any:
        """The array with ``fill`` behind the ends of these axes."""
        ragged = [axis for axis in axes if isinstance(shape[axis], LinearSize)]
        for axis in ragged:
            places = lax.broadcasted_iota(jnp.int32, array.shape, axis)
            keep = self.counts(shape[axis], places)
            array = lax.select(keep, array, lax.full(array.shape, fill, array.dtype))
        return array


def is_ragged(shape: Iterable[PaddedSize]) -> bool:
    """Whether a shape depends on the length."""
    return any(isinstance(size, LinearSize) for size in shape)


def slope(size: PaddedSize) -> int:
    """By how much a size grows with the length."""
    return size.slope if isinstance(size, LinearSize) else 0


def plus(a: PaddedSize, b: PaddedSize) -> PaddedSize:
    """The sum of two sizes."""
    return linear(slope(a) + slope(b), offset(a) + offset(b))


def minus(a: PaddedSize, b: PaddedSize) -> PaddedSize:
    """The difference of two sizes."""
    return linear(slope(a) - slope(b), offset(a) - offset(b))


def offset(size: PaddedSize) -> int:
    """What a size is without the length."""
    return size.offset if isinstance(size, LinearSize) else size


def linear(slope: int, offset: int) -> PaddedSize:
    """A size, a number where it does not depend on the length."""
    return LinearSize(slope, offset) if slope else offset


def require(is_so: bool) -> None:
    """Raise ``UnlikeError`` unless arrays can be padded here."""
    if not is_so:
        raise UnlikeError


def static(sizes: Sequence[PaddedSize]) -> tuple[int, ...]:
    """Sizes that depend on no length; raises ``UnlikeError`` for others."""
    require(not is_ragged(sizes))
    return tuple(s for s in sizes if isinstance(s, int))
