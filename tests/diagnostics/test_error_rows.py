"""Calls of error rows give the values that the texts name: no type checker looks at that."""

from __future__ import annotations

import ast
import importlib
from collections.abc import Iterator

import pytest

from tempoc.diagnostics.error_row import ErrorRow
from tempoc.diagnostics.source import Source
from tests.house.source import File, files


def rows() -> dict[tuple[str, str], ErrorRow]:
    """All rows, by module and name."""
    modules = [
        file.module for file in files() if "error" in file.module or "messages" in file.module
    ]
    loaded = {module: vars(importlib.import_module(module)) for module in modules}
    return {
        (module, name): value
        for module, names in loaded.items()
        for name, value in names.items()
        if isinstance(value, ErrorRow)
    }


def calls(file: File) -> Iterator[tuple[tuple[str, str], ast.Call]]:
    """Calls of what a file imports, or defines itself, by module and name."""
    modules: dict[str, str] = {}
    names = {name: (module, name) for module, name in ROWS if module == file.module}
    found = []
    for node in ast.walk(file.tree):
        if isinstance(node, ast.ImportFrom) and node.module is not None:
            for item in node.names:
                modules[item.asname or item.name] = f"{node.module}.{item.name}"
                names[item.asname or item.name] = node.module, item.name
        elif isinstance(node, ast.Call):
            found.append(node)
    for node in found:
        match node.func:
            case ast.Attribute(value=ast.Name(id=module), attr=name):
                yield (modules.get(module, ""), name), node
            case ast.Name(id=name):
                yield names.get(name, ("", name)), node


ROWS = rows()
NOWHERE = ("define_run_time", "unwritable")
"""Rows of the front end whose errors have no span."""


def test_calls_give_what_the_texts_name() -> None:
    called: dict[tuple[str, str], None] = {}
    for file in files():
        for row, call in calls(file):
            if row in ROWS:
                placed = row[0].startswith("tempoc.frontend") and row[1] not in NOWHERE
                given = len(call.args) - placed
                where = f"{file.name}:{call.lineno} {row[1]}"
                assert given == len(ROWS[row].fields) and not call.keywords, where
                called[row] = None
    assert sorted(called) == sorted(ROWS), "some are never called"


def test_a_row() -> None:
    span = Source("m.rt", "x").whole()
    row = ErrorRow("RT999", "`{{{name}}}` has {count}", "write {count}", "{name}, again")
    assert row.fields == ("name", "count")
    shown = row(span, "a", 2)
    assert (shown.message, shown.help, shown.notes) == ("`{a}` has 2", "write 2", ("a, again",))
    with pytest.raises(ValueError):
        row(span, "a")
