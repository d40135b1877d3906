"""The format of compiled programs: another one needs another version.

Only so does tempoc know that it was another version that wrote a directory, not a user.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import fields, is_dataclass
from typing import Any, get_args, get_type_hints

from tempoc.program.nodes.nodes import VERSION, Program
from tests.support.golden import ROOT, Golden

HEAD = "# What changes below needs another VERSION in program/nodes/nodes.py."


def test_another_format_has_another_version(golden: Golden) -> None:
    classes = sorted({*_classes(Program, set())}, key=lambda kind: kind.__name__)
    lines = [f"{kind.__name__}: {', '.join(f.name for f in fields(kind))}" for kind in classes]
    text = "\n".join([HEAD, f"version {VERSION}", *lines, ""])
    before = (ROOT / "codegen/format.txt").read_text(encoding="utf-8")
    # It cannot be blessed without another version either: directories that the one before has
    # written would be taken for changed by hand, and not be replaced.
    assert text == before or f"version {VERSION}" not in before.splitlines(), HEAD
    golden("codegen/format.txt", text)


def _classes(kind: Any, seen: set[Any]) -> Iterator[type]:
    """The dataclasses that may stand in a value of a type."""
    if kind in seen:
        return
    seen.add(kind)
    if is_dataclass(kind) and isinstance(kind, type):
        yield kind
        for part in get_type_hints(kind).values():
            yield from _classes(part, seen)
    for part in get_args(kind):
        yield from _classes(part, seen)
