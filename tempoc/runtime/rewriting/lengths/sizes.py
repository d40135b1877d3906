"""Sizes and numbers that depend on lengths: polynomials in them, by their values for some lengths.

For lengths ``(n, m)`` they are such as ``n - 1``, ``3 * n * m`` or ``(n + 1) / 2``. The last one is
that of odd lengths: where a program has ``n // 2``, odd and even ones have forms of their own.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

Exponents = tuple[int, ...]
"""The power of each length."""
Lengths = tuple[int, ...]


class UnlikeError(Exception):
    """Functions that differ in more than sizes that lengths give, or that cannot be padded."""


@dataclass(frozen=True, slots=True)
class VaryingSize:
    """``sum(factor * product of powers of lengths) / divisor``, which is an integer."""

    terms: tuple[tuple[Exponents, int], ...]
    divisor: int

    def at(self, lengths: Sequence[Any]) -> Any:
        """The value: of numbers, or of an i32 for those of the device."""
        value = sum(factor * _product(lengths, powers) for powers, factor in self.terms)
        return value if self.divisor == 1 else value // self.divisor

    def is_whole(self, lengths: Lengths) -> bool:
        """Whether it is an integer for these lengths."""
        return bool(VaryingSize(self.terms, 1).at(lengths) % self.divisor == 0)

    def largest(self, most: Lengths) -> int:
        """What no partial result for lengths up to the most is above."""
        return sum(abs(factor) * _product(most, powers) for powers, factor in self.terms)


PaddedSize = int | VaryingSize
PaddedShape = tuple[PaddedSize, ...]


def at_lengths(size: PaddedSize, lengths: Lengths) -> int:
    """The number that a size is for lengths."""
    return int(size.at(lengths)) if isinstance(size, VaryingSize) else size


def _product(lengths: Sequence[Any], powers: Exponents) -> Any:
    return math.prod(n for n, power in zip(lengths, powers, strict=True) for _ in range(power))


def _factors(size: PaddedSize) -> dict[Exponents, Fraction]:
    if isinstance(size, VaryingSize):
        return {powers: Fraction(factor, size.divisor) for powers, factor in size.terms}
    return {(): Fraction(size)}


def _size(factors: Mapping[Exponents, Fraction]) -> PaddedSize:
    """The canonical size: a number where it does not depend on lengths."""
    nonzero = {p: f for p, f in sorted(factors.items()) if f}
    if not any(map(any, nonzero)):
        total = sum(nonzero.values(), Fraction(0))
        if total.denominator != 1:
            raise UnlikeError
        return int(total)
    divisor = math.lcm(*(f.denominator for f in nonzero.values()))
    return VaryingSize(tuple((p, int(f * divisor)) for p, f in nonzero.items()), divisor)


def _aligned(size: PaddedSize, other: PaddedSize) -> tuple[dict[Exponents, Fraction], ...]:
    """Factors of both, with powers of as many lengths."""
    both = _factors(size), _factors(other)
    count = max(len(powers) for factors in both for powers in factors)
    return tuple({p or (0,) * count: f for p, f in factors.items()} for factors in both)


def plus(a: PaddedSize, b: PaddedSize) -> PaddedSize:
    """The sum of two sizes."""
    one, other = _aligned(a, b)
    return _size({p: one.get(p, Fraction(0)) + other.get(p, Fraction(0)) for p in one | other})


def times(a: PaddedSize, b: PaddedSize) -> PaddedSize:
    """The product of two sizes."""
    total: dict[Exponents, Fraction] = {}
    one, other = _aligned(a, b)
    for (p, f), (q, g) in itertools.product(one.items(), other.items()):
        powers = tuple(map(sum, zip(p, q, strict=True)))
        total[powers] = total.get(powers, Fraction(0)) + f * g
    return _size(total)


def minus(a: PaddedSize, b: PaddedSize) -> PaddedSize:
    """The difference of two sizes."""
    return plus(a, times(b, -1))


def is_ragged(shape: Iterable[PaddedSize]) -> bool:
    """Whether a shape depends on lengths."""
    return any(isinstance(size, VaryingSize) for size in shape)


def grows(size: PaddedSize) -> bool:
    """Whether a size gets no smaller where lengths, which are 1 or more, get larger.

    That is where it has no negative factor once each length is 1 more than a number.
    """
    if not isinstance(size, VaryingSize):
        return True
    moved: dict[Exponents, int] = {}
    for powers, factor in size.terms:
        for lower in itertools.product(*(range(p + 1) for p in powers)):
            choices = math.prod(math.comb(p, q) for p, q in zip(powers, lower, strict=True))
            moved[lower] = moved.get(lower, 0) + factor * choices
    return all(factor >= 0 for powers, factor in moved.items() if any(powers))


@dataclass(frozen=True, slots=True)
class Probes:
    """Lengths for which something is traced: of each the first and the second, in all choices."""

    first: Lengths
    second: Lengths

    @property
    def lengths(self) -> list[Lengths]:
        """All of them; the last length changes first."""
        return [*itertools.product(*zip(self.first, self.second, strict=True))]

    def size(self, values: Sequence[int]) -> PaddedSize:
        """The size with such values, which is linear in each length. Raises ``UnlikeError``.

        Its divisor is one of all distances between first and second lengths.
        """
        factors: dict[Exponents, Fraction] = {}
        for value, weights in zip(values, itertools.product(*self._weights()), strict=True):
            for powers in itertools.product((0, 1), repeat=len(weights)):
                part = math.prod(w[power] for w, power in zip(weights, powers, strict=True))
                factors[powers] = factors.get(powers, Fraction(0)) + value * part
        size = _size(factors)
        if isinstance(size, VaryingSize):
            for a, b in zip(self.first, self.second, strict=True):
                if (b - a) % size.divisor:
                    raise UnlikeError
        return size

    def _weights(self) -> list[list[tuple[Fraction, Fraction]]]:
        """For each length what is 1 for the first one and 0 for the second, and the opposite."""
        weights = []
        for a, b in zip(self.first, self.second, strict=True):
            step = Fraction(1, b - a)
            weights.append([(b * step, -step), (-a * step, step)])
        return weights
