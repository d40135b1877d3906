"""Values of which equal ones are one object, so that comparing and hashing them cost nothing."""

from __future__ import annotations

from typing import Any
from weakref import WeakValueDictionary

MEMORY = 2**14
"""For how many of them the answers to a question are kept (`functools.lru_cache`)."""

_known: WeakValueDictionary[tuple[object, ...], Any] = WeakValueDictionary()
"""What there is, by class and arguments; nothing is kept that nobody else holds."""


class Interned(type):
    """The metaclass of such values: frozen dataclasses with `eq=False` that have weak references.

    They are built a million times in a compilation, asked for as keys even more often, and mostly
    equal to one that is there already.
    """

    def __call__(cls, *args: Any, **named: Any) -> Any:
        """The object with these fields: the one that there is, or a new one."""
        if not named:
            found = _known.get((cls, args))
            if found is not None:
                return found
        made = super().__call__(*args, **named)
        values = tuple(getattr(made, name) for name in made.__match_args__)
        found = _known.setdefault((cls, values), made)
        if not named and len(values) != len(args):
            _known[cls, args] = found
        return found
