"""Stable names of source positions: invariant under changes of comments, layout or other items.

A position is named by its file, its item (``def f``, the second equation of ``h``), and the number
of calls and loops that begin before it in the item.
"""

from __future__ import annotations

import hashlib
from bisect import bisect_right
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

from tempoc.diagnostics.source import Span
from tempoc.frontend.syntax import ast
from tempoc.frontend.syntax.load_modules import LoadedSources
from tempoc.frontend.syntax.parse import children

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


class _NamedItem(NamedTuple):
    tree: ast.Item
    name: str


@dataclass(frozen=True, slots=True)
class SourcePlaces:
    """The stable names of a program's calls and loops, independent of the main file's name.

    `names` has those of the items that were asked for so far: of a file of functions few are.
    `items` has the names of items, by file.
    """

    loaded: LoadedSources
    names: dict[Where, str] = field(default_factory=dict)
    items: dict[str, list[_NamedItem]] = field(default_factory=dict)

    def name(self, span: Span) -> str:
        """The name of the call, or of the loop's range, with this span."""
        where = (span.source.path, span.start, span.end)
        if where not in self.names:
            self._look(span)
        return self.names[where]

    def _look(self, place: Span) -> None:
        """Name everything in the item around a place."""
        items = self._items(place.source.path)
        around = bisect_right(items, place.start, key=lambda item: item.tree.span.start) - 1
        for k, span in enumerate(_marks(items[around].tree)):
            where = (span.source.path, span.start, span.end)
            self.names.setdefault(where, f"{items[around].name}|{k}")

    def _items(self, path: str) -> list[_NamedItem]:
        """The items of a file, in its order."""
        if path not in self.items:
            modules = self.loaded.modules.values()
            module = next(m for m in modules if m.source.path == path)
            key = "" if module.key == self.loaded.main.key else module.key
            seen: dict[str, int] = {}
            self.items[path] = []
            for item in module.tree.items:
                label = _label(item)
                seen[label] = seen.get(label, 0) + 1
                self.items[path].append(_NamedItem(item, f"{key}|{label} {seen[label]}"))
        return self.items[path]


def place_hash(path: Path) -> int:
    """A 32-bit hash of a path of stable names."""
    text = "\n".join(map(str, path)).encode()
    return int.from_bytes(hashlib.blake2s(text, digest_size=4).digest(), "big")


def _label(item: ast.Item) -> str:
    target = item.targets[0] if isinstance(item, ast.Equation) else item
    name = getattr(target, "name", None)
    return f"{_KINDS[type(item)]} {name.name if isinstance(name, ast.Ident) else ''}"


def _marks(item: ast.Item) -> list[Span]:
    """The spans of calls and of loop ranges, in the order of the tree."""
    spans: list[Span] = []
    worklist: list[ast.SyntaxNode] = [item]
    while worklist:
        node = worklist.pop()
        if isinstance(node, ast.CallExpr):
            spans.append(node.span)
        elif isinstance(node, (ast.ForLoop, ast.ListComp)):
            spans.append(node.over.span)
        worklist += reversed(children(node))
    return spans
