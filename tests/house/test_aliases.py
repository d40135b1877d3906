"""A module that is imported as a whole has one name in all files of the compiler."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from tests.house.source import File, files, is_module, read, statements


def test_a_module_has_one_name() -> None:
    assert several(entry for file in files() for entry in aliases(file)) == {}


def aliases(file: File) -> Iterator[tuple[str, str]]:
    """The modules that a file imports as modules, and the names that they get there."""
    for node in statements(file.tree):
        if isinstance(node, ast.ImportFrom):
            for alias in node.names:
                module = f"{node.module}.{alias.name}"
                if is_module(module):
                    yield module, alias.asname or alias.name


def several(entries: Iterator[tuple[str, str]]) -> dict[str, list[str]]:
    """The modules with more than one name, and their names."""
    names: dict[str, set[str]] = {}
    for module, name in entries:
        names.setdefault(module, set()).add(name)
    return {module: sorted(every) for module, every in names.items() if len(every) > 1}


def test_a_second_name_is_seen() -> None:
    file = read(files()[0].path)
    module = "from tempoc.symbolic import expr"
    entries = [
        entry
        for text in (f"{module} as ix, walk", f"if True:\n    {module} as indices", "import os")
        for entry in aliases(File(path=file.path, text=text))
    ]
    assert several(iter(entries)) == {"tempoc.symbolic.expr": ["indices", "ix"]}


def test_every_module_of_a_list_is_seen() -> None:
    text = "from tempoc.symbolic import domain, expr as ix\nfrom tempoc.symbolic.walk import reads"
    file = File(path=files()[0].path, text=text)
    modules = [item.module for item in file.found_imports()]
    assert modules == [f"tempoc.symbolic.{name}" for name in ("domain", "expr", "walk")]
