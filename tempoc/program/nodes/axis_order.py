"""The memory order of the axes of a store's arrays."""

from __future__ import annotations

from collections.abc import Sequence


def axes_in_order(behind: Sequence[int], spatial: int) -> tuple[int, ...]:
    """The permutation of ``[*axes, *spatial]`` that gives the axes of an array in memory order.

    ``behind`` has for each axis the number of spatial axes before it; for most it is 0.
    """
    inner = [k for k, count in enumerate(behind) if count]
    order = [k for k, count in enumerate(behind) if not count]
    order += range(len(behind), len(behind) + spatial)
    for k in inner:
        order.insert(len(behind) - len(inner) + behind[k], k)
    return tuple(order)
