"""Files and functions stay small, names mean something, output stays the same from run to run."""

from __future__ import annotations

import ast
import re
from collections import Counter
from collections.abc import Iterator
from statistics import median

import pytest

from tests.house.source import (
    PACKAGE,
    ROOT,
    File,
    files,
    files_of,
    functions,
    rooms,
    statements,
)

FILE_LINES = 600
MEDIAN_LINES = 200
FOLDER_FILES = 15
FUNCTION_LINES = 60
ORDERLESS = {"all", "any", "frozenset", "len", "max", "min", "set", "sorted", "sum"}
FORBIDDEN_NAMES = {"utils", "helpers", "common", "misc", "core", "util", "helper"}

each_room = pytest.mark.parametrize("room", ["", *rooms()])


@each_room
def test_files_are_short(room: str) -> None:
    assert [f.name for f in files_of(room) if f.text.count("\n") > FILE_LINES] == []


def test_most_files_fit_a_few_screens() -> None:
    assert median(file.text.count("\n") for file in files()) <= MEDIAN_LINES


@pytest.mark.parametrize("top", ["tempoc", "tests"])
def test_no_folder_is_crowded(top: str) -> None:
    folders = Counter(path.parent for path in (ROOT / top).rglob("*.py"))
    assert [str(f.relative_to(ROOT)) for f, count in folders.items() if count > FOLDER_FILES] == []


@each_room
def test_functions_are_short(room: str) -> None:
    long = {
        f"{file.name}: {function.name}": function.end_lineno - function.lineno + 1
        for file in files_of(room)
        for function in functions(file.tree)
        if (function.end_lineno or 0) - function.lineno + 1 > FUNCTION_LINES
    }
    assert not long


@each_room
def test_nothing_has_a_name_without_meaning(room: str) -> None:
    for file in files_of(room):
        words = {*file.path.relative_to(PACKAGE).parts, file.path.stem}
        assert not FORBIDDEN_NAMES & words, file.name


@each_room
def test_no_star_imports(room: str) -> None:
    stars = [
        f"{file.name}:{node.lineno}"
        for file in files_of(room)
        for node in statements(file.tree)
        if isinstance(node, ast.ImportFrom) and any(alias.name == "*" for alias in node.names)
    ]
    assert not stars


@each_room
def test_output_does_not_depend_on_the_process(room: str) -> None:
    found = {file.name: [*accidents(file)] for file in files_of(room)}
    assert {name: places for name, places in found.items() if places} == {}


def accidents(file: File) -> Iterator[str]:
    """Places whose result may differ between two runs: sets in loops, `id`, global counters."""
    for node in file.nodes[ast.Global]:
        yield f"line {node.lineno}: global state"
    for node in file.nodes[ast.Call]:
        if isinstance(node.func, ast.Name) and node.func.id == "id":
            yield f"line {node.lineno}: id()"
    makers = (*file.nodes[ast.SetComp], *file.nodes[ast.Call])
    orderless = {place for node in makers for place in forgets_order(node)}
    for node in (*file.nodes[ast.For], *file.nodes[ast.comprehension]):
        loop = node.iter
        if is_set(loop) and (loop.lineno, loop.col_offset) not in orderless:
            yield f"line {loop.lineno}: iteration over a set"
    for node in file.tree.body:
        if isinstance(node, ast.Assign | ast.AnnAssign) and "count(" in ast.unparse(node):
            yield f"line {node.lineno}: a counter for the whole process"


def forgets_order(node: ast.AST) -> Iterator[tuple[int, int]]:
    """Where sets are iterated over in this node without the order being seen."""
    if isinstance(node, ast.SetComp):
        made = node
    elif isinstance(node, ast.Call) and is_orderless(node.func) and node.args:
        made = node.args[0]
    else:
        return
    for part in getattr(made, "generators", []):
        yield part.iter.lineno, part.iter.col_offset


def is_orderless(function: ast.expr) -> bool:
    return isinstance(function, ast.Name) and function.id in ORDERLESS


def is_set(node: ast.expr) -> bool:
    """Is this expression, on its face, a set?"""
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
        return node.func.id in {"set", "frozenset"}
    return isinstance(node, ast.Set | ast.SetComp)


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("for x in {1, 2}: pass", True),
        ("[x for x in set(y)]", True),
        ("id(x)", True),
        ("fresh = itertools.count()", True),
        ("for x in sorted({1, 2}): pass", False),
        ("{x for x in y}", False),
        ("sorted(x for x in {1, 2})", False),
        ("tuple(x for x in {1, 2})", True),
    ],
)
def test_the_check_for_accidents_can_fail(text: str, found: bool) -> None:
    assert bool(list(accidents(File(path=PACKAGE, text=text)))) is found


def test_tests_and_examples_are_short_too() -> None:
    paths = sorted([*(ROOT / "tests").rglob("*.py"), *(ROOT / "examples").rglob("*.py")])
    assert [path.name for path in paths if path.read_text().count("\n") > FILE_LINES] == []


def test_no_type_has_a_name_twice() -> None:
    """Nor do two differ by an underscore alone, but for a label of flat code, known to one file."""
    places: dict[str, list[str]] = {}
    for file in files():
        for node in file.tree.body:
            for name in type_names(node):
                if (file.name, name) != ("tempoc/runtime/walk/assemble.py", "_Label"):
                    places.setdefault(name.lstrip("_"), []).append(file.name)
    assert {name: where for name, where in places.items() if len(where) > 1} == {}


def type_names(node: ast.stmt) -> Iterator[str]:
    """The class or alias of a type that a statement defines; type variables are nobody's."""
    if isinstance(node, ast.ClassDef):
        yield node.name
    elif isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name):
        name, plain = node.targets[0].id, node.targets[0].id.lstrip("_")
        if plain[:1].isupper() and not plain.isupper() and "TypeVar(" not in ast.unparse(node):
            yield name


# Words that fit every value tell a reader nothing, and the field has nouns for the others.
EMPTY = {
    "dropped", "found", "garbage", "kept", "room", "rooms", "said", "star", "thing", "told",
    "wanted", "way", "ways", "who",
}  # fmt: skip
CLAUSES = re.compile(r"_?(who|what|whose|which)_")


def test_names_say_what_they_hold() -> None:
    """Of locals, parameters, attributes, functions and files."""
    places = [
        f"{file.name}:{line}: {name}"
        for file in files()
        for name, line in (*bound_names(file), (file.path.stem, 1))
        if name.strip("_") in EMPTY or CLAUSES.match(name)
    ]
    assert places == []


def bound_names(file: File) -> Iterator[tuple[str, int]]:
    """Each name that code binds or defines, with its line."""
    for node in file.nodes[ast.arg]:
        yield node.arg, node.lineno
    for kind, field in ((ast.Name, "id"), (ast.Attribute, "attr")):
        for node in file.nodes[kind]:
            if isinstance(node.ctx, ast.Store):
                yield getattr(node, field), node.lineno
    for node in (*file.nodes[ast.FunctionDef], *file.nodes[ast.ClassDef]):
        yield node.name, node.lineno


@pytest.mark.parametrize(
    "text",
    [
        "found = 1",
        "def f(found): pass",
        "f = lambda *, found: 1",
        "self.found = 1",
        "for found in x: pass",
        "if found := 1: pass",
        "def found(): pass",
        "class A:\n    found: int",
    ],
)
def test_every_binding_is_seen(text: str) -> None:
    assert "found" in [name for name, _ in bound_names(File(path=PACKAGE, text=text))]
