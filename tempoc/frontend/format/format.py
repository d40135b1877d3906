"""The canonical text of a program: one statement per line, comments and groups preserved.

`parse(format_module(m)) == m`, and formatting is idempotent. At most one blank line is preserved
between two statements; trailing comments of adjacent lines are aligned. A statement with comments
inside keeps its line breaks, because only its author knows what the comments refer to.
"""

from bisect import bisect_left, bisect_right
from dataclasses import dataclass

from tempoc.base.doc import render
from tempoc.base.parsing.grammar import Token
from tempoc.diagnostics.source import Source
from tempoc.frontend.format.items import item_doc
from tempoc.frontend.syntax import ast
from tempoc.frontend.syntax.parse import rt_grammar

WIDTH = 100
INDENT = "  "
ALIGNED = 60
"""A longer line ends the run of lines whose comments are aligned."""


def format_module(module: ast.Module, source: Source | None = None) -> str:
    """The canonical text of a tree, with the comments of the source that it was parsed from.

    `source` is the one that the module's span points to unless another is given.
    """
    source = source or module.span.source
    writer = _SourceWriter(source)
    lines = writer.body(module.doc, module.items, 0, len(source.text), "")
    return "\n".join(lines) + "\n" if lines else ""


@dataclass(frozen=True, slots=True)
class _Piece:
    """A unit printed on its own lines: a comment, a documentation string, a statement."""

    start: int
    end: int
    content: Token | str | ast.Item | ast.BodyStatement


class _SourceWriter:
    """Writes statements, with the comments of one source."""

    def __init__(self, source: Source) -> None:
        self.source = source
        tokens = list(rt_grammar().tokens(source.text))
        self.comments = [t for t in tokens if t.type == "COMMENT"]
        self.starts = [t.start_pos for t in self.comments]
        self.docs = [t for t in tokens if t.type == "LONG_STRING"]
        self.braces = [t.start_pos for t in tokens if t == "{"]

    def body(
        self,
        doc: str | None,
        statements: tuple[ast.Item | ast.BodyStatement, ...],
        start: int,
        end: int,
        indent: str,
    ) -> list[str]:
        """The lines of a file or a body, whose text is `start <= offset < end`."""
        lines: list[str] = []
        remarks: dict[int, str] = {}
        last: _Piece | None = None
        for piece in self.pieces(doc, statements, start, end):
            comment = isinstance(piece.content, Token)
            if comment and last is not None and self.line(piece.start) == self.line(last.end - 1):
                remark = str(piece.content).rstrip()
                before = remarks.get(len(lines) - 1)
                remarks[len(lines) - 1] = remark if before is None else f"{before}  {remark}"
                last = _Piece(last.start, piece.end, last.content)
                continue
            if last is not None and self.line(piece.start) > self.line(last.end - 1) + 1:
                lines.append("")
            lines += self.piece(piece, indent)
            last = piece
        return _with_remarks(lines, remarks)

    def pieces(
        self,
        doc: str | None,
        statements: tuple[ast.Item | ast.BodyStatement, ...],
        start: int,
        end: int,
    ) -> list[_Piece]:
        """Comments, documentation and statements in source order."""
        pieces = [_Piece(s.span.start, s.span.end, s) for s in statements]
        if doc is not None:
            token = next((t for t in self.docs if t.start_pos >= start), None)
            at = start if token is None else token.start_pos
            pieces.insert(0, _Piece(at, at + len(doc) + 6, doc))
        inside = [(piece.start, piece.end) for piece in pieces]
        first, stop = bisect_left(self.starts, start), bisect_left(self.starts, end)
        for comment in self.comments[first:stop]:
            at = comment.start_pos
            around = bisect_right(inside, (at, at)) - 1
            if around < 0 or at >= inside[around][1]:
                pieces.append(_Piece(at, at + len(comment), comment))
        return sorted(pieces, key=lambda piece: piece.start)

    def piece(self, piece: _Piece, indent: str) -> list[str]:
        """The lines of one piece."""
        match piece.content:
            case Token():
                return [indent + str(piece.content).rstrip()]
            case str():
                return [f'{indent}"""{piece.content}"""']
            case _:
                return self.statement(piece.content, indent)

    def statement(self, node: ast.Item | ast.BodyStatement, indent: str) -> list[str]:
        """The lines of one statement."""
        if isinstance(node, ast.ForLoop) or (isinstance(node, ast.Def) and not node.inline):
            doc = node.doc if isinstance(node, ast.Def) else None
            brace = self.brace(node)
            head = self.plain(node, node.span.start, brace + 1, indent)
            body = self.body(doc, node.body, brace + 1, node.span.end - 1, indent + INDENT)
            return [*head, *body, indent + "}"]
        return self.plain(node, node.span.start, node.span.end, indent)

    def brace(self, node: ast.ForLoop | ast.Def) -> int:
        """Where the brace of a body opens."""
        before = node.name.span.end
        if isinstance(node, ast.ForLoop):
            before = node.over.span.end
        elif node.results or node.params:
            before = (*node.params, *node.results)[-1].span.end
        at = bisect_left(self.braces, before)
        return self.braces[at] if at < len(self.braces) else before

    def plain(
        self, node: ast.Item | ast.BodyStatement, start: int, end: int, indent: str
    ) -> list[str]:
        """A statement formatted, or only reindented if it has comments inside."""
        inside = bisect_left(self.starts, end) > bisect_left(self.starts, start)
        if not inside:
            text = render(item_doc(node), WIDTH - len(indent))
            return [indent + line if line else line for line in text.split("\n")]
        margin = self.source.position(start)[1] - 1
        first, *others = self.source.text[start:end].split("\n")
        dedented = [line[min(margin, len(line) - len(line.lstrip())) :] for line in others]
        return [(indent + line).rstrip() for line in (first, *dedented)]

    def line(self, offset: int) -> int:
        """The line of an offset."""
        return self.source.position(max(offset, 0))[0]


def _with_remarks(lines: list[str], remarks: dict[int, str]) -> list[str]:
    """The lines with comments at their ends, in one column where lines follow each other."""
    done = list(lines)
    runs: list[list[int]] = []
    for index in sorted(remarks):
        follows = bool(runs) and runs[-1][-1] == index - 1
        if follows and max(len(lines[index]), len(lines[index - 1])) <= ALIGNED:
            runs[-1].append(index)
        else:
            runs.append([index])
    for run in runs:
        column = max(len(lines[index]) for index in run) + 2
        for index in run:
            done[index] = lines[index].ljust(column) + remarks[index]
    return done
