"""Error recovery: the part of a file that can be checked despite syntax errors.

Faulty statements are dropped, together with the other equations of their tensors; their names are
recorded as `lost`, so that uses of them are not reported as unknown. A dimension is declared
nevertheless, with a bound that has no value.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace

from tempoc.diagnostics.diagnostic import Diagnostic
from tempoc.diagnostics.source import Span
from tempoc.frontend.syntax import ast

SMALL = ("RT003", "RT005", "RT007", "RT008", "RT009", "RT010", "RT011", "RT012", "RT017")
"""Codes of errors in statements that were parsed nevertheless."""
WHOLE = (
    ast.Equation, ast.ConstDecl, ast.InputDecl, ast.ParamDecl, ast.ExternDecl, ast.OutputDecl,
    ast.PrintDecl, ast.SaveDecl, ast.Def,
)  # fmt: skip
"""Statements that can be dropped."""
_WORDS = re.compile(r"\s*(dim|assume|import|extern|def|for|return|\}|\{)(?!\w)")
_DATA = re.compile(r"\s*(?:input|param|const|extern\s+(?:jax|host))\s+(\w+)|\s*def\s+(\w+)[^{]*$")
_RESULT = re.compile(r"\s*(?:output|save|print)(?!\w)")
_NAME = re.compile(r"[A-Za-z_]\w*")
_DIMENSION = re.compile(r"\s*dim\s+([A-Za-z_]\w*)(?P<bound>[^#;\n]*)")
_MORE = re.compile(r"(?<![<>=!])=(?!=)|(?<!\w)until(?!\w)|,")


def drop_faulty_statements(
    tree: ast.Module, errors: Sequence[Diagnostic], broken: Sequence[int]
) -> ast.Module | None:
    """The tree without faulty statements; None if an error is not confined to a statement.

    `broken` are the start offsets of statements that could not be parsed.
    """
    faulty: list[ast.Item] = []
    for error in errors:
        faults = _at_fault(tree, error, broken)
        if faults is None:
            return None
        faulty += faults
    lost: dict[str, None] = dict.fromkeys(n for item in faulty for n in _names(item))
    dims: list[ast.Item] = []
    for start in broken:
        dim = _dimension(tree, start)
        dims += [dim] if dim is not None else []
        names = _lost_names(tree, start, broken, dim)
        if names is None:
            return None
        lost |= dict.fromkeys(names)
    remaining = [item for item in tree.items if not any(item is f for f in faulty)]
    remaining = sorted((*remaining, *dims), key=lambda item: item.span.start)
    while True:
        spoiled = [item for item in remaining if any(n in lost for n in _names(item))]
        if not spoiled:
            break
        lost |= dict.fromkeys(n for item in spoiled for n in _names(item))
        remaining = [item for item in remaining if not any(item is s for s in spoiled)]
    declared = [n for item in remaining for n in _declared(item)]
    return replace(tree, items=tuple(remaining), lost=tuple(n for n in lost if n not in declared))


def _at_fault(tree: ast.Module, error: Diagnostic, broken: Sequence[int]) -> list[ast.Item] | None:
    """The statement with an error (none if it is broken); None if it cannot be determined."""
    if error.primary is None:
        return None
    place = error.primary.span.start
    before = [b for b in broken if b <= place]
    for item in tree.items:
        if item.span.start <= place < item.span.end:
            if isinstance(item, ast.Def) and any(item.span.start < b for b in before):
                return [item]
            droppable = isinstance(item, WHOLE)
            return [item] if droppable and error.code in SMALL else None
    starts = [item.span.start for item in tree.items if item.span.start <= place]
    return [] if before and max(before) > max(starts, default=-1) else None


def _dimension(tree: ast.Module, start: int) -> ast.DimDecl | None:
    """The dimension that a broken statement would declare.

    None of one whose bound has a value or varies, on which too much may depend, nor of several.
    """
    source = tree.span.source
    match = _DIMENSION.match(source.text, start)
    if match is None or _MORE.search(match["bound"]):
        return None
    bounds = _NAME.findall(match["bound"])
    name, bound = match[1], bounds[0] if bounds else match[1].upper()
    if any(n in (name, bound) for item in tree.items for n in _names(item)):
        return None
    span = Span(source, match.start(1), match.end(1))
    declared = ast.Ident(name=name, span=span), ast.Ident(name=bound, span=span)
    return ast.DimDecl(name=declared[0], bound=declared[1], span=span)


def _lost_names(
    tree: ast.Module, start: int, broken: Sequence[int], dim: ast.DimDecl | None
) -> list[str] | None:
    """The names that a broken statement would define; None if they cannot be determined.

    Of a statement that declares `dim`, nothing else is lost.
    """
    for item in tree.items:
        if item.span.start < start < item.span.end:
            return [] if isinstance(item, ast.Def) else None
    text = tree.span.source.text
    following = [item.span.start for item in tree.items if item.span.start > start]
    following += [b for b in broken if b > start]
    names: list[str] = []
    for k, line in enumerate(text[start : min(following, default=len(text))].split("\n")):
        data = _DATA.match(line)
        if k == 0 and dim is not None:
            continue
        if data is not None:
            names.append(data[1] or data[2])
        elif _WORDS.match(line):
            return None
        elif (k == 0 or "=" in line) and not _RESULT.match(line):
            target = re.sub(r"\[[^\]]*\]?", " ", line.split("#")[0].split("=")[0])
            names += _NAME.findall(target)
    return names


def _declared(item: ast.Item) -> tuple[str, ...]:
    """Names of declarations, which are not lost even if a broken statement mentions them."""
    match item:
        case ast.DimDecl(name=name, bound=bound):
            return (name.name, bound.name)
        case ast.ConstDecl(name=name) | ast.Def(name=name) | ast.ExternDecl(name=name):
            return (name.name,)
        case ast.ImportDecl(items=items):
            return tuple(part.alias.name for part in items)
        case _:
            return ()


def _names(item: ast.Item) -> tuple[str, ...]:
    match item:
        case ast.Equation(targets=targets):
            return tuple(t.name.name for t in targets)
        case (
            ast.ConstDecl(name=name)
            | ast.InputDecl(name=name)
            | ast.ParamDecl(name=name)
            | ast.ExternDecl(name=name)
            | ast.Def(name=name)
        ):
            return (name.name,)
        case _:
            return ()
