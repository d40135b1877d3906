"""The parser, with panic-mode error recovery per statement.

The tokens from `layout` are fed to an LALR parser one by one. After an unexpected token, which is
explained by `explain_error`, the parser is restored to the start of the statement, takes a `BROKEN`
token for it, and continues after its end. So all independent errors of a file are reported at once.
"""

from functools import cache
from typing import cast

from tempoc.base.members import field_names
from tempoc.base.parsing import grammar
from tempoc.base.parsing.grammar import Grammar, Mark, Mismatch, ParseMachine, Token
from tempoc.diagnostics.diagnostic import Collector, DiagnosticError
from tempoc.diagnostics.source import Source, Span
from tempoc.frontend.syntax import ast, errors as syntax_errors
from tempoc.frontend.syntax.build_items import ItemActions
from tempoc.frontend.syntax.explain_error import explain
from tempoc.frontend.syntax.layout import layout_tokens
from tempoc.frontend.syntax.recovery import drop_faulty_statements

MAX_DEPTH = 200
"""How deep a tree may be; later stages walk it recursively."""

_UNUSED = (
    "COMMENT", "NEWLINE", "LONG_STRING", "OPEN_LONG_STRING", "OPEN_STRING", "QUOTED", "SEMICOLON",
    "STRAY",
)  # fmt: skip


@cache
def rt_grammar() -> Grammar:
    """The grammar of `.rt` files."""
    files = ("terminals", "expr", "rt")
    return grammar.load(files, start=("module",), keep=_UNUSED)


def parse(source: Source) -> ast.Module:
    """The syntax tree of a text; raises `DiagnosticError` with all syntax errors."""
    module, errors = parse_with_recovery(source)
    errors.raise_errors()
    return module


def parse_with_recovery(source: Source) -> tuple[ast.Module, Collector]:
    """The syntax tree of a text without faulty statements (see `recovery.py`), and the errors.

    Raises `DiagnosticError` if recovery is not possible.
    """
    if "\0" in source.text:
        at = source.text.index("\0")
        raise DiagnosticError(syntax_errors.not_text(source.span(at, at + 1)))
    errors = Collector()
    tokens = layout_tokens(source, rt_grammar().tokens(source.text), errors)
    reading = _RecoveringParser(source, tokens, errors)
    module = reading.module()
    if module is None:
        errors.raise_errors()
    assert module is not None
    repaired = (
        module
        if not errors.diagnostics
        else drop_faulty_statements(module, errors.diagnostics, reading.broken)
    )
    if repaired is None:
        errors.raise_errors()
    assert repaired is not None
    depth_errors = Collector()
    for item in repaired.items:
        _check_depth(item, depth_errors)
    depth_errors.raise_errors()
    return repaired, errors


class _RecoveringParser:
    """One parse; `mark` is a snapshot of the parser at a statement start, token `marked`."""

    def __init__(self, source: Source, tokens: list[Token], errors: Collector) -> None:
        self.source = source
        self.tokens = tokens
        self.errors = errors
        self.actions = ItemActions(source, errors)
        self.machine: ParseMachine = rt_grammar().machine("module", self.actions)
        self.mark: Mark = self.machine.mark()
        self.marked = 0
        self.broken = [t.start_pos for t in tokens if t.type == "BROKEN"]

    def module(self) -> ast.Module | None:
        """The tree, or None if recovery failed."""
        index = 0
        while index < len(self.tokens):
            token = self.tokens[index]
            try:
                self.machine.feed(token)
            except Mismatch as mismatch:
                index = self.recover(index, mismatch)
                continue
            index += 1
            if token.type in ("END", "LBLOCK"):
                self.mark, self.marked = self.machine.mark(), index
        try:
            return cast(ast.Module, self.machine.finish(len(self.source.text)))
        except Mismatch:
            if not self.errors.diagnostics:
                raise
            return None  # what was dropped held the brace that would have closed a body

    def recover(self, index: int, mismatch: Mismatch) -> int:
        """Report a syntax error and drop its statement; returns the index where to continue."""
        before = self.tokens[self.marked : index]
        accepted = self.machine.accepted(self.mark, before)
        remaining = self.tokens[index:]
        self.errors.add(explain(self.source, rt_grammar(), mismatch, before, remaining, accepted))
        depth, end = 0, self.marked
        while self.tokens[end].type != "END" or depth > 0:
            depth += {"LBLOCK": 1, "RBLOCK": -1}.get(self.tokens[end].type, 0)
            end += 1
        self.machine.restore(self.mark)
        start = self.tokens[self.marked].start_pos
        self.actions.drop_dtypes(start)
        self.machine.feed(Token("BROKEN", "", start))
        self.broken.append(start)
        return end


def _check_depth(item: ast.Item, errors: Collector) -> None:
    """Report a tree that is too deep; not recursive, since later recursion would overflow."""
    worklist: list[tuple[ast.SyntaxNode, int]] = [(item, 0)]
    while worklist:
        node, depth = worklist.pop()
        if depth > MAX_DEPTH:
            span = item.span
            short = Span(span.source, span.start, min(span.end, span.start + 60))
            errors.add(syntax_errors.too_deep(short, MAX_DEPTH))
            return
        worklist += [(child, depth + 1) for child in children(node)]


def children(node: ast.SyntaxNode) -> list[ast.SyntaxNode]:
    """The child nodes, in source order."""
    nodes: list[ast.SyntaxNode] = []
    for name in field_names(node):
        value = getattr(node, name)
        if isinstance(value, tuple):
            nodes += [part for part in value if isinstance(part, ast.SyntaxNode)]
        elif isinstance(value, ast.SyntaxNode):
            nodes.append(value)
    return nodes
