"""Tests that only the long run has say why: `pytest.mark.long("real sizes")`."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from tests.house.source import ROOT

HELPERS = ("sampled", "in_turns", "long")
"""Functions of `tests/support/session/long.py` that mark parameters, with a reason."""


def test_reasons_are_given() -> None:
    folder = ROOT / "tests"
    texts = {path: path.read_text(encoding="utf-8") for path in sorted(folder.rglob("*.py"))}
    assert [
        f"{path.relative_to(folder).as_posix()}:{line}"
        for path, text in texts.items()
        if "long" in text and path.name != "long.py"
        for line in unexplained(ast.parse(text))
    ] == []


def unexplained(tree: ast.Module) -> Iterator[int]:
    """Lines with a mark, or a call of a helper, that has no text for a reason."""
    every = [*ast.walk(tree)]
    calls = [node for node in every if isinstance(node, ast.Call)]
    explained = {id(call.func) for call in calls if any(map(is_text, call.args))}
    imported = {
        alias.name
        for node in tree.body
        if isinstance(node, ast.ImportFrom) and node.module == "tests.support.session.long"
        for alias in node.names
    }
    for node in every:
        match node:
            case ast.Attribute(attr="long", value=ast.Attribute(attr="mark")):
                found = True
            case ast.Name(id=name, ctx=ast.Load()):
                found = name in imported and name in HELPERS
            case _:
                continue
        if found and id(node) not in explained:
            yield node.lineno


def is_text(argument: ast.expr) -> bool:
    return isinstance(argument, ast.Constant) and isinstance(argument.value, str)


def test_a_mark_without_a_reason_is_seen() -> None:
    text = (
        "from tests.support.session.long import sampled\n"
        "@pytest.mark.long\ndef a(): ...\n@pytest.mark.long('why')\ndef b(): ...\n"
        "@pytest.mark.long()\ndef c(): ...\nsampled([1], 'why')\nsampled([1])\n"
    )
    assert sorted(unexplained(ast.parse(text))) == [2, 6, 9]
