"""Imports go strictly down the ranks; each package's sign says truly what it imports."""

from __future__ import annotations

import ast
import re
from graphlib import CycleError, TopologicalSorter

import pytest

from tests.house.source import (
    PACKAGE,
    files,
    files_of,
    folders,
    imported_folders,
    imported_rooms,
    read,
    rooms,
)

RANKS = {
    "base": 0,
    "diagnostics": 0,
    "files": 0,
    "symbolic": 0,
    "program": 1,
    "pipeline": 1,
    "runtime": 2,
    "footprint": 3,
    "offload": 3,
    "poly": 2,
    "ops": 2,
    "sdg": 3,
    "autodiff": 4,
    "frontend": 4,
    "passes": 4,
    "schedule": 4,
    "memory": 5,
    "codegen": 6,
    "driver": 7,
    "cli": 8,
}
# The sub-packages of each package, the lowest first; "" stands for the files beside them.
FLOORS = {
    "base": ("", "parsing"),
    "cli": ("options", "reports", "", "commands"),
    "codegen": ("", "text", "stores", "kernels", "regions", "steps", "program"),
    "driver": ("", "timing", "search", "report", "slow", "capture"),
    "frontend": (
        "syntax", "environment", "format", "errors", "expressions", "equations", "calls",
        "declarations", "domains", "",
    ),
    "ops": (
        "definition", "tensor", "linear", "control", "indexing", "random", "gradients", "",
        "emission",
    ),
    "passes": (
        "", "attention", "analysis", "simplify.rules", "simplify", "fusion", "vectorization",
        "dispatch", "domain", "tiling", "convolution", "lifting", "recurrences", "memory",
        "contraction",
    ),
    "poly": ("", "relations", "scheduling"),
    "program": ("nodes", "", "analysis"),
    "runtime": (
        "messages", "data", "rewriting.lengths", "rewriting", "device", "report", "host", "walk",
        "load", "forecast", "checkpoint", "execution", "",
    ),
    "schedule": ("", "placement"),
    "sdg": ("graph", "evaluation", "statements", "text", "verification", ""),
}  # fmt: skip
# A compiled program carries copies of these, so they know nothing of the compiler.
SHIPPED = {
    "diagnostics": set(),
    "files": set(),
    "program": {"symbolic"},
    "runtime": {"diagnostics", "files", "program", "symbolic"},
}


def test_every_room_has_a_rank() -> None:
    assert set(rooms()) <= set(RANKS)
    assert {room for room in rooms() if folders(room) != ("",)} == set(FLOORS)


@pytest.mark.parametrize("room", rooms())
def test_imports_go_down(room: str) -> None:
    wrong = {other for other in imported_rooms(room) if RANKS[other] >= RANKS[room]}
    assert not wrong, f"{room} (rank {RANKS[room]}) imports {sorted(wrong)}"


@pytest.mark.parametrize(
    ("room", "folder"), [(room, folder) for room in rooms() for folder in folders(room)]
)
def test_imports_go_down_within_a_package(room: str, folder: str) -> None:
    order = FLOORS.get(room, ("",))
    wrong = [f for f in imported_folders(room, folder) if order.index(f) >= order.index(folder)]
    assert not wrong, f"{room}/{folder} imports {wrong}"


@pytest.mark.parametrize("room", sorted(SHIPPED))
def test_what_is_shipped_stands_alone(room: str) -> None:
    assert imported_rooms(room) <= SHIPPED[room]


@pytest.mark.parametrize("room", rooms())
def test_the_sign_tells_the_truth(room: str) -> None:
    sign = ast.get_docstring(read(PACKAGE / room / "__init__.py").tree) or ""
    assert listed(sign, "May import: ") == imported_rooms(room)


@pytest.mark.parametrize(
    ("room", "folder"), [(room, folder) for room in FLOORS for folder in folders(room) if folder]
)
def test_the_sign_of_a_folder_tells_the_truth(room: str, folder: str) -> None:
    path = PACKAGE / room / folder.replace(".", "/") / "__init__.py"
    sign = ast.get_docstring(read(path).tree) or ""
    assert listed(sign, "May import, of its package: ") == imported_folders(room, folder) - {""}


def listed(sign: str, start: str) -> set[str]:
    """The names on the line of a sign that starts so, and on the lines after it."""
    match = re.search(rf"^{start}([a-z_,.\s]+)", sign, re.MULTILINE)
    assert match, f"no line `{start}...`"
    return {word for word in re.split(r"[,\s]+", match[1]) if word} - {"nothing"}


@pytest.mark.parametrize(
    ("room", "folder"), [(room, folder) for room in rooms() for folder in folders(room)]
)
def test_a_sign_is_only_a_sign(room: str, folder: str) -> None:
    path = PACKAGE / room / folder.replace(".", "/") / "__init__.py"
    body = read(path).tree.body
    assert len(body) == 1 and isinstance(body[0], ast.Expr), "no code, no re-exports"


def test_modules_form_no_cycle() -> None:
    known = {file.module for file in files()}
    graph = {
        file.module: sorted({item.module for item in file.imports()} & known - {file.module})
        for file in files()
    }
    try:
        TopologicalSorter(graph).prepare()
    except CycleError as error:
        pytest.fail("import cycle: " + " -> ".join(error.args[1]))


@pytest.mark.parametrize("room", ["", *rooms()])
def test_imports_stand_at_the_top(room: str) -> None:
    if room != "cli":
        late = [
            f"{file.name}:{item.line}: {item.module}"
            for file in files_of(room)
            for item in file.imports()
            if not item.at_top
        ]
        assert not late
