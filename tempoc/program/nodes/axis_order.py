"""In which order the axes of a store's arrays stand."""

from __future__ import annotations

from collections.abc import Sequence


def axes_in_order(behind: Sequence[int], spatial: int) -> tuple[int, ...]:
    """The axes of an array as they follow each other: numbers in ``[*axes, *spatial]``.

    ``behind`` says of each axis behind how many spatial ones it stands; for most it is 0.
    """
    inner = [k for k, count in enumerate(behind) if count]
    order = [k for k, count in enumerate(behind) if not count]
    order += range(len(behind), len(behind) + spatial)
    for k in inner:
        order.insert(len(behind) - len(inner) + behind[k], k)
    return tuple(order)
