"""The project's own Python files as syntax trees: what the house tests look at."""

from __future__ import annotations

import ast
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache, cached_property
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
PACKAGE = ROOT / "tempoc"
IMPORTS: dict[Path, tuple[Import, ...]] = {}
"""What is known already of files, by their paths."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Import:
    """One imported module, by its full dotted name, and where that is written."""

    module: str
    line: int
    at_top: bool


@dataclass(frozen=True, kw_only=True)
class File:
    """A Python file of the compiler."""

    path: Path
    text: str = field(repr=False)

    @cached_property
    def tree(self) -> ast.Module:
        """The syntax tree, made when it is first asked for: that takes seconds for all files."""
        return ast.parse(self.text)

    @cached_property
    def nodes(self) -> Mapping[type[ast.AST], Sequence[Any]]:
        """All nodes of the tree by kind: each law looks at a few of a million in all files."""
        kinds: defaultdict[type[ast.AST], list[ast.AST]] = defaultdict(list)
        for node in ast.walk(self.tree):
            kinds[type(node)].append(node)
        return kinds

    @cached_property
    def name(self) -> str:
        """The path from the checkout's root, as a person would write it."""
        return self.path.relative_to(ROOT).as_posix()

    @cached_property
    def room(self) -> str:
        """The package of `tempoc` that the file is in; empty for files beside the packages."""
        parts = self.path.relative_to(PACKAGE).parts
        return parts[0] if len(parts) > 1 else ""

    @cached_property
    def folder(self) -> str:
        """The sub-package of the room that the file is in, dotted; empty for files beside them."""
        return ".".join(self.path.relative_to(PACKAGE).parts[1:-1])

    @cached_property
    def module(self) -> str:
        """The dotted name under which the file is imported."""
        return ".".join(self.path.relative_to(ROOT).with_suffix("").parts)

    def imports(self) -> tuple[Import, ...]:
        """Everything imported anywhere in the file."""
        if self.path not in IMPORTS:
            IMPORTS[self.path] = tuple(self.found_imports())
        return IMPORTS[self.path]

    def found_imports(self) -> Iterator[Import]:
        inside = {
            id_of(node)
            for function in functions(self.tree)
            for node in statements(function)
            if isinstance(node, ast.Import | ast.ImportFrom)
        }
        for node in statements(self.tree):
            if isinstance(node, ast.Import):
                modules = [alias.name for alias in node.names]
            elif isinstance(node, ast.ImportFrom):
                modules = self.modules_of(node)
            else:
                continue
            for module in modules:
                yield Import(module=module, line=node.lineno, at_top=id_of(node) not in inside)

    def modules_of(self, node: ast.ImportFrom) -> list[str]:
        """The dotted names of the modules that a `from` import means, relative ones included."""
        if not node.level:
            module = node.module or ""
        else:
            here = ("tempoc", *self.path.relative_to(PACKAGE).parent.parts)
            base = here[: len(here) - node.level + 1]
            module = ".".join((*base, *filter(None, [node.module])))
        # `from tempoc import ops` and `from . import ops` name a package, not a module's content.
        names = (f"{module}.{alias.name}" for alias in node.names)
        return [*dict.fromkeys(name if is_module(name) else module for name in names)]


def is_module(name: str) -> bool:
    """Whether a dotted name is a module or a package of the compiler."""
    top, *parts = name.split(".")
    if top != PACKAGE.name:
        return False
    path = PACKAGE.joinpath(*parts)
    return path.is_dir() or path.with_suffix(".py").is_file()


def id_of(node: ast.stmt) -> tuple[int, int]:
    """A statement's place in its file, which identifies it there."""
    return node.lineno, node.col_offset


def functions(tree: ast.Module) -> Iterator[ast.FunctionDef | ast.AsyncFunctionDef]:
    """All functions and methods of a file."""
    for node in statements(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            yield node


def statements(node: ast.AST) -> Iterator[ast.stmt]:
    """All statements within something: most of a tree are expressions, which have none."""
    for part in ast.iter_child_nodes(node):
        if isinstance(part, ast.stmt):
            yield part
        if not isinstance(part, ast.expr):
            yield from statements(part)


@cache
def files() -> tuple[File, ...]:
    """All Python files of the compiler, in the order of their paths."""
    return tuple(read(path) for path in sorted(PACKAGE.rglob("*.py")))


def read(path: Path) -> File:
    """Read one file."""
    return File(path=path, text=path.read_text(encoding="utf-8"))


@cache
def rooms() -> tuple[str, ...]:
    """The packages of `tempoc`, sorted."""
    return tuple(sorted({path.parent.name for path in PACKAGE.glob("*/*.py")}))


@cache
def files_of(room: str) -> tuple[File, ...]:
    """The files of a package of `tempoc`; those beside the packages for an empty name."""
    return tuple(file for file in files() if file.room == room)


def folders(room: str) -> tuple[str, ...]:
    """The sub-packages of a package, dotted and sorted; empty for the files beside them."""
    return tuple(sorted({file.folder for file in files_of(room)}))


def imported_folders(room: str, folder: str) -> set[str]:
    """The other sub-packages of a package that the files right in one of them import."""
    known = {file.module: file.folder for file in files_of(room)}
    found = {
        known[item.module]
        for file in files_of(room)
        for item in file.imports()
        if file.folder == folder and item.module in known
    }
    return found - {folder}


def imported_rooms(room: str) -> set[str]:
    """The other packages of `tempoc` that the files of `room` import."""
    found = {
        item.module.split(".")[1]
        for file in files_of(room)
        for item in file.imports()
        if item.module.startswith("tempoc.")
    }
    return found - {room}
