"""Comparison of results: exact for integers and bools, within rounding for floats."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from tempoc.runtime.data.dtypes import HostArray

TOLERANCE = {2: 2e-2, 4: 1e-4, 8: 1e-9}
"""Relative and absolute tolerance by the size of a float in bytes."""


def differences(found: Mapping[str, HostArray], expected: Mapping[str, HostArray]) -> list[str]:
    """A line for each output that differs: in shape, in dtype, or where and how much."""
    lines = []
    for name, want in expected.items():
        got = found[name]
        if got.shape != want.shape or got.dtype != want.dtype:
            kinds = [f"{a.dtype}{list(a.shape)}" for a in (got, want)]
            lines.append(f"{name} is {kinds[0]}, the reference {kinds[1]}")
        elif got.size and (line := _worst(name, got, want)):
            lines.append(line)
    return lines


def _worst(name: str, got: HostArray, want: HostArray) -> str:
    if got.dtype.kind in "iub":
        wrong = got != want
        distance = np.asarray(wrong, np.float64)
    else:
        tolerance = TOLERANCE[got.dtype.itemsize]
        a, b = np.asarray(got, np.float64), np.asarray(want, np.float64)
        wrong = ~np.isclose(a, b, rtol=tolerance, atol=tolerance, equal_nan=True)
        with np.errstate(invalid="ignore"):
            distance = np.where(wrong, np.nan_to_num(np.abs(a - b), nan=np.inf), 0.0)
    if not wrong.any():
        return ""
    at = np.unravel_index(int(np.argmax(distance)), got.shape)
    place = f"[{', '.join(str(int(i)) for i in at)}]" if at else ""
    return (
        f"{name}: {int(wrong.sum())} of {got.size} elements differ,"
        f" worst {name}{place} = {got[at]}, the reference {want[at]}"
    )
