"""The standard library explains itself: a docstring for each function, and a row in its README."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest

from tempoc.diagnostics.source import Source
from tempoc.frontend.syntax import ast
from tempoc.frontend.syntax.parse import parse
from tests.support.elaborated import value_of

FOLDER = Path(__file__).resolve().parents[3] / "stdlib"
README = (FOLDER / "README.md").read_text()
MODULES = sorted(p.stem for p in FOLDER.glob("*.rt"))


def module(name: str) -> ast.Module:
    return parse(Source(f"{name}.rt", (FOLDER / f"{name}.rt").read_text()))


def rows(name: str) -> list[str]:
    """The table that belongs into the README: signatures, and what the docstrings say first."""
    found = []
    for item in module(name).items:
        if isinstance(item, ast.Def):
            params = ", ".join(
                ("dim " if p.is_dim else "")
                + p.name.name
                + (f" = {p.default.span.text}" if p.default else "")
                for p in item.params
            )
            first = re.split(r"(?<=\.)\s", " ".join((item.doc or "").split()))[0]
            found.append(f"| `{item.name.name}({params})` | {first} |")
    return found


@pytest.mark.parametrize("name", MODULES)
def test_docstrings(name: str) -> None:
    parsed = module(name)
    assert parsed.doc, f"stdlib/{name}.rt needs a docstring"
    for item in parsed.items:
        if isinstance(item, ast.Def):
            assert item.doc, f"{name}.{item.name.name} needs a docstring"


@pytest.mark.parametrize("name", MODULES)
def test_table(name: str) -> None:
    part = re.search(rf"^## {name}\n(.*?)(?=^## |\Z)", README, re.MULTILINE | re.DOTALL)
    assert part, f"stdlib/README.md needs a section `## {name}`"
    found = [line for line in part[1].splitlines() if line.startswith("| `")]
    wanted = rows(name)
    assert found == wanted, "the rows should be\n" + "\n".join(wanted)


def test_no_other_sections() -> None:
    assert re.findall(r"^## (\w+)$", README, re.MULTILINE) == MODULES


def test_example() -> None:
    program = re.search(r"```rt\n(.*?)```", README, re.DOTALL)
    assert program
    found = value_of(
        program[1],
        {"I": 4, "B": 3},
        {
            "x": np.ones((4, 3, 4), np.float32),
            "label": np.zeros((4, 3), np.int32),
        },
    )
    assert found["cost"][3] < found["cost"][0] and len(found["trained.1.b"]) == 3
