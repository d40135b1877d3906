"""For which bounds a kernel is traced, to see how it depends on lengths."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from contextlib import suppress
from typing import NamedTuple

from tempoc.runtime.execution.bound_kernel import BoundKernel
from tempoc.runtime.rewriting.lengths.sizes import Lengths, Probes, UnlikeError

Bounds = Mapping[str, int]
BoundGroup = tuple[str, ...]
"""Names of bounds that have been equal in all calls so far: they count as one length."""


def of_equal(groups: Sequence[BoundGroup], bounds: Bounds) -> tuple[BoundGroup, ...]:
    """The parts of groups that are equal for these bounds, too."""
    parts: dict[tuple[int, int], list[str]] = {}
    for k, group in enumerate(groups):
        for name in group:
            parts.setdefault((k, bounds[name]), []).append(name)
    return tuple(map(tuple, parts.values()))


class BoundMoves(NamedTuple):
    """The bounds of each length, from where they are moved, and by how much.

    Of ``start`` those are larger than what the kernel is called for on which it does not depend
    there. ``fixed`` are others that are not moved.
    """

    names: tuple[BoundGroup, ...]
    start: Bounds
    by: Lengths
    fixed: Bounds

    @classmethod
    def of(
        cls,
        source: BoundKernel,
        groups: Sequence[BoundGroup],
        names: Collection[str],
        bounds: Bounds,
        step: int,
    ) -> BoundMoves:
        """Moves by a step, for lengths of which some names are, from bounds.

        A length is moved down where assumptions do not let it grow. Raises ``UnlikeError``.
        """
        start = _start(source, bounds, step)
        still = {name for name in bounds if start[name] == bounds[name]}
        parts = [tuple(n for n in group if n in names and n in still) for group in groups]
        lengths = tuple(filter(None, parts))
        by = tuple(_step(source, start, group, step) for group in lengths)
        moved = {name for group in lengths for name in group}
        fixed = {name: bounds[name] for name in bounds if name in still - moved}
        return cls(lengths, start, by, fixed)

    @property
    def probes(self) -> Probes:
        """The lengths from and to which they are moved."""
        first = tuple(self.start[group[0]] for group in self.names)
        return Probes(first, tuple(n + by for n, by in zip(first, self.by, strict=True)))

    def corners(self) -> list[Bounds]:
        """The bounds for all lengths of the probes."""
        return [{**self.start, **_equal(self.names, at)} for at in self.probes.lengths]

    def only(self, shared: Sequence[int]) -> BoundMoves:
        """Some of the moves; the bounds of the others are fixed."""
        left = (group for k, group in enumerate(self.names) if k not in shared)
        fixed = {name: self.start[name] for group in left for name in group}
        names, by = tuple(self.names[k] for k in shared), tuple(self.by[k] for k in shared)
        return BoundMoves(names, self.start, by, {**self.fixed, **fixed})


def _equal(names: Sequence[BoundGroup], lengths: Lengths) -> Bounds:
    return {name: n for group, n in zip(names, lengths, strict=True) for name in group}


def _start(source: BoundKernel, bounds: Bounds, step: int) -> Bounds:
    """The bounds, those larger by a step for which the kernel is the same then.

    So the lengths on which it depends can be moved where others limit them, as ``min(S, T)`` does.
    """
    here, start = source.sizes(bounds), dict(bounds)
    for name in bounds:
        with suppress(UnlikeError):
            larger = {**start, name: start[name] + step}
            if source.sizes(larger) == here:
                start = larger
    return start


def _step(source: BoundKernel, start: Bounds, group: BoundGroup, step: int) -> int:
    for by in (step, -step):
        moved = start[group[0]] + by
        with suppress(UnlikeError):
            if moved > 0:
                source.sizes({**start, **_equal([group], (moved,))})
                return by
    raise UnlikeError
