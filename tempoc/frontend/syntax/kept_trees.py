"""Syntax trees of the standard modules, kept in the user's cache folder.

Reading one takes a sixth of the time of parsing its text. A file is found by all that its tree is
made of: the text, the grammar, the parser, and the version of Python, whose format it has.
"""

import io
import pickle
import sys
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import Any

from tempoc.base.members import field_names
from tempoc.base.parsing import grammar, parse_tables
from tempoc.base.resources import cache_folder, grammar_folder
from tempoc.diagnostics import source as sources
from tempoc.diagnostics.diagnostic import Collector
from tempoc.diagnostics.source import Source, Span
from tempoc.files.durable import replace_file
from tempoc.files.snapshot import digest
from tempoc.frontend.syntax import ast
from tempoc.frontend.syntax.parse import parse_with_recovery


@cache
def standard_tree(source: Source) -> tuple[ast.Module, Collector]:
    """As `parse_with_recovery`, for a text that many programs read; once in a process."""
    folder = cache_folder("trees")
    if folder is None:
        return parse_with_recovery(source)
    made_of = repr((source.path, source.text, sys.version, _parser_digest()))
    path = folder / f"{Path(source.path).stem}-{digest(made_of.encode())[:24]}"
    with suppress(Exception):  # no such file, or it is damaged: that costs time, nothing else
        named, _, content = path.read_bytes().partition(b"\n")
        if named.decode() == digest(content):
            return _TreeReader(source, content).load(), Collector()
    tree, errors = parse_with_recovery(source)
    if not errors.diagnostics:
        content = _written(source, tree)
        text = digest(content).encode() + b"\n" + content
        with suppress(OSError):  # a full disk
            # Not synced: what a crash damages is recognized and made anew.
            replace_file(path, lambda file: file.write(text), durable=False)
    return tree, errors


class _TreeWriter(pickle.Pickler):
    """Writes a tree without the source of its spans, which the reader has.

    A node is written as its span and its other fields, which is read in half the time of what
    dataclasses write of themselves.
    """

    def __init__(self, source: Source, file: io.BytesIO) -> None:
        super().__init__(file, pickle.HIGHEST_PROTOCOL)
        self._source = source

    def persistent_id(self, obj: object) -> str | None:
        return "source" if obj is self._source else None

    def reducer_override(self, obj: Any) -> Any:
        if not isinstance(obj, ast.SyntaxNode):
            return NotImplemented
        span, *values = (getattr(obj, name) for name in field_names(obj))
        return _node, (type(obj), span.source, span.start, span.end, *values)


def _node(cls: Any, source: Source, start: int, end: int, *values: object) -> Any:
    """A node of the class with the span and the values of all other fields, in their order."""
    node = object.__new__(cls)
    _set(node, "span", Span(source, start, end))
    for name, value in zip(field_names(node)[1:], values, strict=True):
        _set(node, name, value)
    return node


_set = object.__setattr__
"""As `__init__` of a frozen class sets its fields."""


class _TreeReader(pickle.Unpickler):
    """Reads what `_TreeWriter` has written."""

    def __init__(self, source: Source, content: bytes) -> None:
        super().__init__(io.BytesIO(content))
        self._source = source

    def persistent_load(self, pid: str) -> Source:
        return self._source


def _written(source: Source, tree: ast.Module) -> bytes:
    file = io.BytesIO()
    _TreeWriter(source, file).dump(tree)
    return file.getvalue()


@cache
def _parser_digest() -> str:
    """The digest of the grammar and of the modules that make syntax trees."""
    modules = sorted(Path(__file__).parent.glob("*.py"))
    parser = [Path(str(module.__file__)) for module in (grammar, parse_tables, sources)]
    files = [*sorted(grammar_folder().glob("*.lark")), *modules, *parser]
    return digest(b"\0".join(file.read_bytes() for file in files))
