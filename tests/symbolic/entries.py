"""The text of accesses."""

from __future__ import annotations

from tempoc.symbolic.expr import Entry
from tempoc.symbolic.text import show


def show_entries(entries: tuple[Entry, ...]) -> str:
    """Entries between brackets, nothing for none: `[t+1, 0:T]`."""
    return f"[{', '.join(show(e) for e in entries)}]" if entries else ""
