"""A small pretty printer: documents that choose their own line breaks.

After Wadler's "A prettier printer" and Lindig's strict variant: a `DocGroup` is laid out flat if it
fits into the remaining columns, otherwise the `DocLine`s directly in it become line breaks.
Everything is iterative, so deeply nested documents do not overflow the stack.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class DocLine:
    """A line break, or `flat` when the group around it fits."""

    flat: str = " "


@dataclass(frozen=True, slots=True)
class DocNest:
    """A document whose line breaks are indented by `indent` more columns."""

    body: "Doc"
    indent: int = 2


@dataclass(frozen=True, slots=True)
class DocGroup:
    """A document that is laid out flat if it fits."""

    body: "Doc"


@dataclass(frozen=True, slots=True)
class IfBroken:
    """`broken` where the group around it is broken, else `flat`."""

    broken: str
    flat: str = ""


@dataclass(frozen=True, slots=True)
class DocConcat:
    """Documents one after another."""

    parts: "tuple[Doc, ...]"


Doc = str | DocLine | DocNest | DocGroup | IfBroken | DocConcat

SPACE = DocLine()
"""A space, or a line break."""

SOFT = DocLine("")
"""Nothing, or a line break."""


def concat(*parts: Doc) -> Doc:
    """Documents one after another."""
    return parts[0] if len(parts) == 1 else DocConcat(parts)


def join(separator: Doc, parts: Iterable[Doc]) -> Doc:
    """Documents with a separator between each two."""
    joined: list[Doc] = []
    for part in parts:
        if joined:
            joined.append(separator)
        joined.append(part)
    return DocConcat(tuple(joined))


def bracket(opening: str, parts: Sequence[Doc], closing: str) -> Doc:
    """`(a, b)` on one line, or one item a line with a comma after each."""
    if not parts:
        return opening + closing
    body = concat(SOFT, join(concat(",", SPACE), parts), IfBroken(","))
    return DocGroup(concat(opening, DocNest(body, 2), SOFT, closing))


def render(document: Doc, width: int = 100) -> str:
    """The text of a document, in lines of at most `width` columns where possible."""
    out: list[str] = []
    column = 0
    worklist: list[tuple[int, bool, Doc]] = [(0, False, document)]
    while worklist:
        indent, flat, doc = worklist.pop()
        match doc:
            case str():
                out.append(doc)
                column += len(doc)
            case DocConcat(parts):
                worklist += [(indent, flat, part) for part in reversed(parts)]
            case DocNest(body, more):
                worklist.append((indent + more, flat, body))
            case DocGroup(body):
                worklist.append((indent, _fits(width - column, body, worklist), body))
            case IfBroken(broken, otherwise):
                worklist.append((indent, flat, otherwise if flat else broken))
            case DocLine(blank):
                if flat:
                    out.append(blank)
                    column += len(blank)
                else:
                    out.append("\n" + " " * indent)
                    column = indent
    lines = "".join(out).split("\n")
    return "\n".join(line.rstrip() for line in lines)


def _fits(columns: int, body: Doc, enclosing: Sequence[tuple[int, bool, Doc]]) -> bool:
    """Whether `body` laid out flat fits, up to the first line break that may follow it."""
    worklist: list[tuple[bool, Doc]] = [(True, body)]
    after = len(enclosing)
    while columns >= 0:
        if not worklist:
            if after == 0:
                return True
            after -= 1
            worklist.append((enclosing[after][1], enclosing[after][2]))
        flat, doc = worklist.pop()
        match doc:
            case str():
                columns -= len(doc)
            case DocConcat(parts):
                worklist += [(flat, part) for part in reversed(parts)]
            case DocNest(inner, _) | DocGroup(inner):
                worklist.append((flat, inner))
            case IfBroken(broken, otherwise):
                worklist.append((flat, otherwise if flat else broken))
            case DocLine(blank):
                if not flat:
                    return True
                columns -= len(blank)
    return False
