"""Interning (hash consing): equal values are one object, equality and hashing are by identity."""

from __future__ import annotations

from typing import Any
from weakref import WeakValueDictionary

MEMORY = 2**14
"""Size of the memo tables (`functools.lru_cache`) of functions on interned values."""

_known: WeakValueDictionary[tuple[object, ...], Any] = WeakValueDictionary()
"""The live values by class and arguments; weak, so that unreferenced values are collected."""


class Interned(type):
    """The metaclass of interned values: frozen dataclasses with `eq=False` and weak references.

    A compilation constructs a million of them, most of which exist already, and looks them up as
    dictionary keys even more often.
    """

    def __call__(cls, *args: Any, **named: Any) -> Any:
        """The existing object with these fields, or a new one."""
        if not named:
            # Its method `get` is in Python, and takes longer than all the rest here.
            reference = _known.data.get((cls, args))  # type: ignore[attr-defined]
            if reference is not None and (interned := reference()) is not None:
                return interned
        fresh = super().__call__(*args, **named)
        values = tuple(getattr(fresh, name) for name in fresh.__match_args__)
        interned = _known.setdefault((cls, values), fresh)
        if not named and len(values) != len(args):
            _known[cls, args] = interned
        return interned
