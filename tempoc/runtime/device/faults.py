"""What a kernel's check found, as one number: which check failed, and the value that was wrong.

A kernel with ``n`` checks gives 0 or ``k + (n + 1) * w``: its ``k``-th check failed, and ``w`` is 1
if there is no value to tell, else ``2 * v + 1`` for a value ``v`` and ``2 * v`` for ``-v``, cut off
where the sum would not fit an ``i32``.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence


def message(checks: Sequence[str], fault: int, bounds: Mapping[str, int]) -> str:
    """What is wrong, with the value, and with the sizes of the bounds that it names."""
    turns = len(checks) + 1
    text, wrong = checks[fault % turns - 1], fault // turns
    value = str(wrong // 2 if wrong % 2 else -(wrong // 2))
    if wrong >= min(2**31 // turns - 2, 2**30):
        value = "(too large to tell)"
    named = [n for n in dict.fromkeys(re.findall(r"\b[A-Za-z_]\w*", text)) if n in bounds]
    sizes = ", ".join(f"{name} = {bounds[name]}" for name in named)
    return text.replace("{value}", value) + (f" ({sizes})" if sizes else "")
