"""Loads a program: its main file and, transitively, its imports.

The text of every file is retained, because the output folder has copies of them. Standard modules
come from `base/resources.py`, other files are resolved relative to the importing file; a program
from standard input is resolved in the working directory.
"""

import errno
import os
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from difflib import get_close_matches
from pathlib import Path
from types import MappingProxyType

from tempoc.base.resources import stdlib_folder, stdlib_names
from tempoc.diagnostics.diagnostic import Collector, Diagnostic, DiagnosticError
from tempoc.diagnostics.source import Source, Span
from tempoc.files.durable import replace_file
from tempoc.files.reading import read_file, read_stream
from tempoc.frontend.syntax import ast, errors as syntax_errors
from tempoc.frontend.syntax.kept_trees import standard_tree
from tempoc.frontend.syntax.parse import parse_with_recovery

STANDARD_INPUT = "-"
PRELUDE = "prelude"
MAX_SOURCE_BYTES = 1 << 20
"""The most bytes of a source, which bounds the time of its parser: some seconds."""
MAX_IMPORTS_DEEP = 100
"""The most files of which each imports the next; they are loaded recursively."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LoadedModule:
    """One file of a program.

    `key` identifies the file: `std:nn` for a standard module, else the path relative to the folder
    of the main file, with `/`. `imports` maps the local names of imports to keys.
    """

    key: str
    source: Source
    tree: ast.Module
    imports: Mapping[str, str]


@dataclass(frozen=True, slots=True, kw_only=True)
class LoadedSources:
    """A program: its main file and everything that it imports, imported files first.

    `prelude` is the key of `stdlib/prelude.rt`, whose functions are visible in every file; None if
    there is no such file. `errors` are syntax errors from which the parser recovered. `beside` are
    the folders of files that declare Python functions, the main file's first; empty for a text.
    """

    main: LoadedModule
    modules: Mapping[str, LoadedModule]
    prelude: str | None = None
    errors: tuple[Diagnostic, ...] = ()
    beside: tuple[str, ...] = ()


def is_standard(key: str) -> bool:
    """Whether a key is that of a module that comes with tempoc."""
    return key.startswith("std:") and key.removeprefix("std:") in stdlib_names()


def load_file(path: str, *, tolerant: bool = False) -> LoadedSources:
    """The program in a file, or on standard input if `path` is `-`.

    Raises `DiagnosticError` with the syntax errors of all files that could be read, and with
    what is wrong with the imports; a `tolerant` caller gets these in `LoadedSources.errors` if
    they can be worked around, and has to raise them.
    """
    source, folder = read_program(path)
    return load_source(source, folder, tolerant=tolerant)


def load_source(
    source: Source,
    folder: Path | None = None,
    texts: Mapping[str, Source] = MappingProxyType({}),
    *,
    tolerant: bool = False,
) -> LoadedSources:
    """The program of a text; files that it imports are looked for in `folder` (or not at all).

    `texts` has sources by key that take the place of files (those kept with a compiled program).
    """
    loader = _Loader(root=folder, texts=texts)
    prelude = loader.standard(PRELUDE) if PRELUDE in stdlib_names() else None
    main = loader.load(Path(source.path).name, source, folder, tolerant=tolerant)
    if main is None or not tolerant:
        loader.errors.raise_errors()
    assert main is not None
    return LoadedSources(
        main=main,
        modules=MappingProxyType(loader.done),
        prelude=prelude,
        errors=loader.errors.ordered(),
        beside=() if folder is None else _extern_folders(folder, loader.done),
    )


def _extern_folders(folder: Path, modules: Mapping[str, LoadedModule]) -> tuple[str, ...]:
    """The folder of the main file, then those of other files that declare Python functions."""
    folders = {str(folder): None}
    for module in modules.values():
        if not is_standard(module.key) and any(
            isinstance(item, ast.ExternDecl) for item in module.tree.items
        ):
            folders[os.path.normpath(folder / Path(module.key).parent)] = None
    return tuple(folders)


def read_program(path: str) -> tuple[Source, Path]:
    """The text of a program and the folder in which it lies; `DiagnosticError` if unreadable."""
    folder = Path.cwd() if path == STANDARD_INPUT else Path(os.path.realpath(path)).parent
    return read_source(path), folder


def read_source(path: str, wanted_by: Span | None = None) -> Source:
    """The text of a file, or of standard input if `path` is `-`.

    Raises `DiagnosticError` if there is none, at `wanted_by` if an import wants the file.
    """
    try:
        if path == STANDARD_INPUT and wanted_by is None:
            path = "<stdin>"
            return decode_source(path, _standard_input())
        data = read_file(path, MAX_SOURCE_BYTES)
    except OSError as error:
        raise DiagnosticError(syntax_errors.unreadable(path, _reason(error), wanted_by)) from None
    return decode_source(path, data)


def _standard_input() -> bytes:
    if sys.stdin is None:
        raise OSError(errno.EBADF, "it is closed")
    return read_stream(sys.stdin.buffer, MAX_SOURCE_BYTES, "<stdin>")


def write_source(path: str, text: str) -> None:
    """Replace the text of a program durably; raises `DiagnosticError`.

    A link stays a link, and the file keeps its permissions.
    """
    target = Path(os.path.realpath(path))
    try:
        mode = target.stat().st_mode & 0o7777 if target.exists() else None
        content = text.encode("utf-8")
        replace_file(target, lambda file: file.write(content), mode=mode)
    except (OSError, ValueError) as error:
        raise DiagnosticError(syntax_errors.unwritable(path, _reason(error))) from None


def _reason(error: Exception) -> str:
    text = getattr(error, "strerror", None) or str(error)
    return text[:1].lower() + text[1:]


def decode_source(path: str, data: bytes) -> Source:
    """The text of a file from its bytes; raises `DiagnosticError` if they are not UTF-8."""
    path = _shown(path)
    try:
        return Source(path, data.decode("utf-8-sig"))
    except UnicodeDecodeError as error:
        start = data[: error.start].decode("utf-8-sig", "replace")
        source = Source(path, data.decode("utf-8-sig", "replace"))
        span = source.span(len(start), len(start) + 1)
        raise DiagnosticError(syntax_errors.not_utf8(span, path, error.start)) from None


@dataclass(slots=True)
class _Loader:
    """Loads files depth first; `open` are those whose imports are being loaded, by key and name."""

    root: Path | None = None
    texts: Mapping[str, Source] = field(default_factory=dict)
    done: dict[str, LoadedModule] = field(default_factory=dict)
    open: dict[str, str] = field(default_factory=dict)
    failed: dict[str, None] = field(default_factory=dict)
    errors: Collector = field(default_factory=Collector)

    def load(
        self, key: str, source: Source, folder: Path | None, *, tolerant: bool = False
    ) -> LoadedModule | None:
        """Parse a text and load its imports; None (and errors) if that fails."""
        try:
            parsed = standard_tree if is_standard(key) else parse_with_recovery
            tree, errors = parsed(source)
            self.errors.extend(errors.diagnostics)
            if not tolerant:
                errors.raise_errors()
        except DiagnosticError as error:
            self.errors.extend(error.diagnostics)
            self.failed[key] = None
            return None
        self.open[key] = source.path
        imports: dict[str, str] = {}
        for item in tree.items:
            if isinstance(item, ast.ImportDecl):
                for part in item.items:
                    imported = self.load_import(part, folder)
                    if imported is not None:
                        imports[part.alias.name] = imported
        del self.open[key]
        module = LoadedModule(key=key, source=source, tree=tree, imports=MappingProxyType(imports))
        self.done[key] = module
        return module

    def load_import(self, item: ast.ImportItem, folder: Path | None) -> str | None:
        """The key of an imported file, which is loaded if it is not yet."""
        if item.module is not None:
            return self.standard(item.module, item)
        assert item.path is not None
        # The file that has this name in UTF-8, whatever the locale.
        path = Path(os.fsdecode(item.path.encode()))
        if folder is None and not path.is_absolute():
            self.errors.add(syntax_errors.unreadable(item.path, "no such file", item.span))
            return None
        shown = path if folder is None else folder / path
        key = os.path.relpath(os.path.realpath(shown), self.root) if self.root else str(shown)
        return self.file(_shown(Path(key).as_posix()), _short_path(shown), item)

    def standard(self, name: str, item: ast.ImportItem | None = None) -> str | None:
        """The key of a standard module."""
        known = tuple(n for n in stdlib_names() if n != PRELUDE)
        if item is not None and name not in known:
            close = get_close_matches(name, known, 1)
            self.errors.add(
                syntax_errors.unknown_module(item.span, name, known, close[0] if close else None)
            )
            return None
        path = stdlib_folder() / f"{name}.rt"
        return self.file(f"std:{name}", str(path), item, shown=f"stdlib/{name}.rt")

    def file(
        self, key: str, path: str, item: ast.ImportItem | None, shown: str | None = None
    ) -> str | None:
        """Load a file unless it is loaded; `shown` is its name in diagnostics."""
        if key in self.done:
            return key
        if key in self.failed:
            return None
        if key in self.open and item is not None:
            cycle = [*list(self.open.values())[list(self.open).index(key) :], self.open[key]]
            self.errors.add(syntax_errors.import_cycle(item.span, tuple(cycle)))
            return None
        if len(self.open) > MAX_IMPORTS_DEEP and item is not None:
            self.errors.add(syntax_errors.imports_too_deep(item.span, MAX_IMPORTS_DEEP))
            return None
        try:
            given = self.texts.get(key)
            source = given or read_source(path, None if item is None else item.span)
        except DiagnosticError as error:
            self.errors.extend(error.diagnostics)
            self.failed[key] = None
            return None
        if shown is not None:
            source = Source(shown, source.text)
        module = self.load(key, source, Path(path).parent)
        return None if module is None else key


def _shown(path: str) -> str:
    """The name of a file as a text, which the bytes of a name need not be."""
    return os.fsencode(path).decode("utf-8", "replace")


def _short_path(path: Path) -> str:
    """A path relative to the working directory, if that is shorter."""
    relative = os.path.relpath(path)
    return relative if len(relative) < len(str(path)) else str(path)
