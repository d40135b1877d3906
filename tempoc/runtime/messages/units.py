"""Integers, numbers of bytes, and times, as people write them."""

from __future__ import annotations

import re

INTEGER = re.compile(r"[+-]?[0-9]{1,40}")
"""What is read as a number; longer ones are too large anyway."""
_UNITS = (("GiB", 1 << 30), ("MiB", 1 << 20), ("KiB", 1 << 10), ("bytes", 1))
_SIZE = re.compile(r"([0-9]{1,18}(?:\.[0-9]{1,18})?)\s*([KMGT]?)(i?)B?", re.IGNORECASE | re.ASCII)
_TIME = re.compile(r"([0-9]{1,18}(?:\.[0-9]{1,18})?)\s*(s|min|m|h|)", re.IGNORECASE | re.ASCII)

LAST = 2**63 - 1


def parse_integer(text: str, first: int = 0, last: int = LAST) -> int | None:
    """An integer in this span, in decimal ASCII digits; ``None`` if it is something else."""
    value = int(text) if INTEGER.fullmatch(text.strip()) else first - 1
    return value if first <= value <= last else None


def parse_size(text: str) -> int | None:
    """``2GiB``, ``500 MB``, ``1.5G`` or ``4096`` in bytes; ``None`` if it is no size.

    ``GiB`` and ``G`` are powers of 1024, ``GB`` of 1000.
    """
    match = _SIZE.fullmatch(text.strip())
    if match is None:
        return None
    number, prefix, binary = match.groups()
    base = 1000 if not binary and text.strip()[-1] in "bB" else 1024
    whole, _, part = number.partition(".")
    unit = base ** ("KMGT".index(prefix.upper()) + 1 if prefix else 0)
    return int(whole + part) * unit // 10 ** len(part) or None


def parse_seconds(text: str) -> float | None:
    """``60s``, ``5min``, ``1.5h`` or ``90`` in seconds; ``None`` if it is no time."""
    match = _TIME.fullmatch(text.strip())
    if match is None:
        return None
    return float(match[1]) * {"": 1, "s": 1, "m": 60, "min": 60, "h": 3600}[match[2].lower()]


def size_text(n: int) -> str:
    """``1.50 MiB``; small ones in bytes."""
    unit, size = unit_of(n)
    return f"{n / size:.2f} {unit}" if size > 1 else f"{n} bytes"


def unit_of(n: float) -> tuple[str, int]:
    """The largest unit that is no larger, and its bytes."""
    return next((unit for unit in _UNITS if n >= unit[1]), _UNITS[-1])
