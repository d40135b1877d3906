"""The names of a dataclass's fields, found once: asking anew takes longer than to use them."""

from __future__ import annotations

from dataclasses import fields
from functools import cache
from typing import Any


def members(value: Any) -> tuple[str, ...]:
    """The names of an object's fields, in order."""
    cls: Any = type(value)
    return _members(cls)


@cache
def _members(cls: Any) -> tuple[str, ...]:
    return tuple(field.name for field in fields(cls))
