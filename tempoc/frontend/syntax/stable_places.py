"""Stable names of source positions: invariant under changes of comments, layout or other items.

A position is named by its file, its item (``def f``, the second equation of ``h``), and the number
of calls and loops that begin before it in the item.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from tempoc.base.members import field_names
from tempoc.diagnostics.source import Span
from tempoc.frontend.syntax import ast
from tempoc.frontend.syntax.load_modules import LoadedSources

_KINDS: Mapping[type[ast.SyntaxNode], str] = {
    ast.Equation: "Equation",
    ast.DimDecl: "Dim",
    ast.ConstDecl: "Const",
    ast.Assume: "Assume",
    ast.ImportDecl: "Import",
    ast.InputDecl: "Input",
    ast.ParamDecl: "Param",
    ast.ExternDecl: "Extern",
    ast.OutputDecl: "Output",
    ast.SaveDecl: "Save",
    ast.PrintDecl: "Print",
    ast.Def: "Def",
}
"""Labels of items. They are part of the key of every random draw: never change them."""
Where = tuple[str, int, int]
Path = tuple[str | int, ...]


@dataclass(frozen=True, slots=True)
class SourcePlaces:
    """The stable names of a program's calls and loops, by span."""

    names: dict[Where, str]

    def name(self, span: Span) -> str:
        """The name of the call, or of the loop's range, with this span."""
        return self.names[span.source.path, span.start, span.end]


def places(loaded: LoadedSources) -> SourcePlaces:
    """The stable names in all files; independent of the main file's name."""
    names: dict[Where, str] = {}
    for module in loaded.modules.values():
        key = "" if module.key == loaded.main.key else module.key
        seen: dict[str, int] = {}
        for item in module.tree.items:
            label = _label(item)
            seen[label] = seen.get(label, 0) + 1
            for k, span in enumerate(_marks(item)):
                where = (span.source.path, span.start, span.end)
                names.setdefault(where, f"{key}|{label} {seen[label]}|{k}")
    return SourcePlaces(names)


def place_hash(path: Path) -> int:
    """A 32-bit hash of a path of stable names."""
    text = "\n".join(map(str, path)).encode()
    return int.from_bytes(hashlib.blake2s(text, digest_size=4).digest(), "big")


def _label(item: ast.Item) -> str:
    target = item.targets[0] if isinstance(item, ast.Equation) else item
    name = getattr(target, "name", None)
    return f"{_KINDS[type(item)]} {name.name if isinstance(name, ast.Ident) else ''}"


def _marks(node: object) -> Iterator[Span]:
    """The spans of calls and of loop ranges, in the order of the tree."""
    if isinstance(node, tuple):
        for member in node:
            yield from _marks(member)
    elif isinstance(node, ast.SyntaxNode):
        if isinstance(node, ast.CallExpr):
            yield node.span
        elif isinstance(node, (ast.ForLoop, ast.ListComp)):
            yield node.over.span
        for name in field_names(node):
            yield from _marks(getattr(node, name))
