"""Names in emitted code: Python identifiers that still say what they are in the source."""

from __future__ import annotations

import builtins
import keyword
import re
from collections.abc import Sequence

from tempoc.ops.prelude import HELPERS
from tempoc.symbolic.expr import Const, Entry, Expr, Slice, Sym, sub

RESERVED = tuple(
    sorted(
        {
            *keyword.kwlist,
            *keyword.softkwlist,
            *dir(builtins),
            *HELPERS,
            "first_fault",
            "in_batches",
            "in_windows",
            "looped",
            "squeezed",
            "looped_while",
            "updated",
            "at",
            "jax",
            "jnp",
            "lax",
        }
    )
)
"""Names that emitted code must not bind, sorted."""


def identifier(name: str) -> str:
    """A source name as an identifier: ``h.matmul`` is ``h_matmul``."""
    text = re.sub(r"\W+", "_", name)
    return text if text and not text[0].isdigit() else f"_{text}"


def access_name(tensor: str, dims: Sequence[str], entries: Sequence[Entry]) -> str:
    """A name for what an access gives: ``h_prev`` for ``h[t-1]``, ``k_slice`` for ``k[0:t+1]``."""
    parts = [_entry_name(dim, entry) for dim, entry in zip(dims, entries, strict=True)]
    return "_".join([tensor, *(p for p in parts if p)])


def _entry_name(dim: str, entry: Entry) -> str:
    """What tells a position from the identity; nothing for the identity itself."""
    if isinstance(entry, Slice):
        return "slice"
    match entry:
        case Const(value=v):
            return str(v) if v >= 0 else "at"
        case Sym(name=n):
            return "" if n == dim else n
    return _shift_name(sub(entry, Sym(dim)))


def _shift_name(shift: Expr) -> str:
    if not isinstance(shift, Const):
        return "at"
    number = "" if abs(shift.value) == 1 else str(abs(shift.value))
    return ("next" if shift.value > 0 else "prev") + number
