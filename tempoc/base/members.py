"""The field names of a dataclass, cached per class: `dataclasses.fields` is slow."""

from __future__ import annotations

from dataclasses import fields
from functools import cache
from typing import Any


def field_names(value: Any) -> tuple[str, ...]:
    """The names of an object's fields, in order."""
    cls: Any = type(value)
    return _field_names(cls)


@cache
def _field_names(cls: Any) -> tuple[str, ...]:
    return tuple(field.name for field in fields(cls))
