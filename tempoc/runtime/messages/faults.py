"""Decodes the fault of a kernel: one number for the check that failed and the offending value.

A kernel with ``n`` checks returns 0, or ``n * w - k`` if its ``k``-th check failed, counted from 0,
where ``w`` is 1 without a value, else ``2 * v + 1`` for a value ``v`` and ``2 * v`` for ``-v``,
clipped so that the number fits into an ``i32``.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence


def message(checks: Sequence[str], fault: int, bounds: Mapping[str, int]) -> str:
    """The message of a fault, with the value, and with the bounds that the text names."""
    count = len(checks)
    text, wrong = checks[-fault % count], -(-fault // count)
    value = str(wrong // 2 if wrong % 2 else -(wrong // 2))
    if wrong >= min((2**31 - 1) // count, 2**30):
        value = "(too large to tell)"
    named = [n for n in dict.fromkeys(re.findall(r"\b[A-Za-z_]\w*", text)) if n in bounds]
    sizes = ", ".join(f"{name} = {bounds[name]}" for name in named)
    return text.replace("{value}", value) + (f" ({sizes})" if sizes else "")
