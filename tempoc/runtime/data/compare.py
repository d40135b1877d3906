"""Comparison of results: exact for integers and bools, within rounding for floats."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from tempoc.runtime.data.dtypes import HostArray

TOLERANCE = {2: 2e-2, 4: 1e-4, 8: 1e-9}
"""Relative and absolute tolerance by the size of a float in bytes."""


def differences(outputs: Mapping[str, HostArray], expected: Mapping[str, HostArray]) -> list[str]:
    """A line for each output that differs: in shape, in dtype, or where and how much."""
    lines = []
    for name, reference in expected.items():
        actual = outputs[name]
        if actual.shape != reference.shape or actual.dtype != reference.dtype:
            kinds = [f"{a.dtype}{list(a.shape)}" for a in (actual, reference)]
            lines.append(f"{name} is {kinds[0]}, the reference {kinds[1]}")
        elif actual.size and (line := _worst(name, actual, reference)):
            lines.append(line)
    return lines


def _worst(name: str, actual: HostArray, reference: HostArray) -> str:
    if actual.dtype.kind in "iub":
        wrong = actual != reference
        distance = np.asarray(wrong, np.float64)
    else:
        tolerance = TOLERANCE[actual.dtype.itemsize]
        a, b = np.asarray(actual, np.float64), np.asarray(reference, np.float64)
        wrong = ~np.isclose(a, b, rtol=tolerance, atol=tolerance, equal_nan=True)
        with np.errstate(invalid="ignore"):
            distance = np.where(wrong, np.nan_to_num(np.abs(a - b), nan=np.inf), 0.0)
    if not wrong.any():
        return ""
    index = np.unravel_index(int(np.argmax(distance)), actual.shape)
    place = f"[{', '.join(str(int(i)) for i in index)}]" if index else ""
    return (
        f"{name}: {int(wrong.sum())} of {actual.size} elements differ,"
        f" worst {name}{place} = {actual[index]}, the reference {reference[index]}"
    )
