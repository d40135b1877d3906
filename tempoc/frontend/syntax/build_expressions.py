"""The semantic actions of `grammar/expr.lark`: build expression nodes.

One method per rule, called with the list of the rule's children: tokens, nodes, and `ListPart`s for
list rules. Errors that the grammar does not detect are added to `errors`; a node is built
nevertheless, so that parsing continues.
"""

import math
import re
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, replace
from difflib import get_close_matches
from typing import Any, cast

from tempoc.base.parsing.grammar import Token
from tempoc.diagnostics.diagnostic import Collector
from tempoc.diagnostics.source import Source, Span
from tempoc.frontend.syntax import ast, errors as syntax_errors

NUMBER = re.compile(
    r"(?:0|[1-9][0-9]*)|(?:[0-9]+\.[0-9]*|\.[0-9]+|[0-9]+(?=[eE]))(?:[eE][+-]?[0-9]+)?"
)
_ESCAPES = {'"': '"', "\\": "\\", "n": "\n", "t": "\t"}


@dataclass(frozen=True, slots=True)
class ListPart:
    """The items of a list rule, and its offsets (-1 if it is empty)."""

    start: int
    end: int
    items: tuple[Any, ...]


def bounds(child: object) -> tuple[int, int]:
    """The start and end offsets of a child of a rule."""
    match child:
        case Token():
            return child.start_pos, child.end_pos
        case ListPart():
            return child.start, child.end
        case ast.SyntaxNode():
            return child.span.start, child.span.end
    raise TypeError(f"no place known for {child!r}")


def after(children: Sequence[Any], word: str) -> Any:
    """The child that follows the token `word`, or None."""
    for index, child in enumerate(children[:-1]):
        if isinstance(child, Token) and child == word:
            return children[index + 1]
    return None


def names(children: Sequence[Any]) -> list[Token]:
    """The tokens among the children that are names."""
    return [c for c in children if isinstance(c, Token) and c.type == "NAME"]


def nodes(children: Sequence[Any]) -> tuple[Any, ...]:
    """The children that are not tokens."""
    return tuple(c for c in children if not isinstance(c, Token))


class ExpressionActions:
    """Builds expressions and types; see the module."""

    def __init__(self, source: Source, errors: Collector) -> None:
        """Build nodes with spans in `source`; errors are added to `errors`."""
        self.source = source
        self.errors = errors
        self.named_dtypes: list[ast.Ident] = []

    # Places

    def span(self, children: Sequence[Any]) -> Span:
        """From the first to the last child."""
        return Span(self.source, bounds(children[0])[0], bounds(children[-1])[1])

    def part(self, children: Sequence[Any]) -> ListPart:
        """The nodes among the children as one child."""
        if not children:
            return ListPart(-1, -1, ())
        return ListPart(bounds(children[0])[0], bounds(children[-1])[1], nodes(children))

    def token_span(self, token: Token) -> Span:
        """The place of one token."""
        return self.span([token])

    def ident(self, token: Token) -> ast.Ident:
        """A name where it is introduced."""
        if token == "inf":
            self.errors.add(syntax_errors.keyword_as_name(self.token_span(token), "inf"))
        return ast.Ident(span=self.token_span(token), name=str(token))

    def distinct(self, what: str, named: Iterable[tuple[str, Span]]) -> None:
        """Report names that occur twice."""
        seen: dict[str, Span] = {}
        for name, span in named:
            if name in seen:
                self.errors.add(syntax_errors.repeated(span, what, name, seen[name]))
            seen.setdefault(name, span)

    # Atoms

    def name(self, c: list[Any]) -> ast.Expression:
        """`x`, and `inf`, which looks like one."""
        if c[0] == "inf":
            return ast.NumberExpr(span=self.span(c), text="inf")
        return ast.Name(span=self.span(c), name=str(c[0]))

    def number(self, c: list[Any]) -> ast.NumberExpr:
        """`12`, `1.5`."""
        span, text = self.span(c), str(c[0])
        if not NUMBER.fullmatch(text):
            self.errors.add(syntax_errors.bad_number(span, text))
            text = "0"
        elif math.isinf(float(text)):
            self.errors.add(syntax_errors.number_too_large(span))
            text = "0"
        return ast.NumberExpr(span=span, text=text)

    def string(self, c: list[Any]) -> ast.String:
        """`"text"`, escapes replaced."""
        span, raw, value, at = self.span(c), str(c[0])[1:-1], "", 0
        while at < len(raw):
            if raw[at] != "\\":
                value += raw[at]
                at += 1
                continue
            if raw[at + 1] not in _ESCAPES:
                place = Span(self.source, span.start + 1 + at, span.start + 3 + at)
                self.errors.add(syntax_errors.bad_escape(place, raw[at : at + 2]))
            value += _ESCAPES.get(raw[at + 1], "")
            at += 2
        return ast.String(span=span, value=value)

    def boolean(self, c: list[Any]) -> ast.Bool:
        """`true`."""
        return ast.Bool(span=self.span(c), value=c[0] == "true")

    def group(self, c: list[Any]) -> ast.Expression:
        """`(e)`: the node of `e` gets the place of the parentheses too."""
        span, inner = self.span(c), cast(ast.Expression, c[1])
        if isinstance(inner, ast.Name):
            return ast.GroupExpr(span=span, value=inner)
        return inner if isinstance(inner, ast.GroupExpr) else replace(inner, span=span)

    def list_expr(self, c: list[Any]) -> ast.ListExpr:
        """`[a, b]`."""
        return ast.ListExpr(span=self.span(c), items=nodes(c))

    def comprehension(self, c: list[Any]) -> ast.ListComp:
        """`[e for k in range(n)]`."""
        return ast.ListComp(span=self.span(c), element=c[1], name=self.ident(c[3]), over=c[5])

    def record_field(self, c: list[Any]) -> ast.RecordField:
        """`w: e`."""
        return ast.RecordField(span=self.span(c), name=str(c[0]), value=c[2])

    def record(self, c: list[Any]) -> ast.RecordExpr:
        """`{w: e}`."""
        fields = nodes(c)
        self.distinct("field", ((f.name, f.span) for f in fields))
        return ast.RecordExpr(span=self.span(c), fields=fields)

    # Operators

    def unary(self, c: list[Any]) -> ast.UnaryExpr:
        """`-a`."""
        return ast.UnaryExpr(span=self.span(c), op=cast(ast.UnaryOp, str(c[0])), operand=c[1])

    def binary(self, c: list[Any]) -> ast.Binary:
        """`a + b`."""
        op = cast(ast.BinaryOp, str(c[1]))
        return ast.Binary(span=self.span(c), op=op, left=c[0], right=c[2])

    def compare(self, c: list[Any]) -> ast.ComparisonExpr:
        """`a < b`."""
        op = cast(ast.ComparisonSign, str(c[1]))
        return ast.ComparisonExpr(span=self.span(c), op=op, left=c[0], right=c[2])

    def comparator(self, c: list[Any]) -> Token:
        """The operator itself."""
        return cast(Token, c[0])

    def chain(self, c: list[Any]) -> ast.ComparisonExpr:
        """`a < b < c`: an error that suggests the conjunction."""
        pairs = [self.span(c[at : at + 3]).text for at in range(0, len(c) - 2, 2)]
        self.errors.add(syntax_errors.chained_comparison(self.span(c), " and ".join(pairs)))
        return self.compare(c[:3])

    def if_expr(self, c: list[Any]) -> ast.IfExpr:
        """`a if c else b`."""
        return ast.IfExpr(span=self.span(c), then=c[0], condition=c[2], orelse=c[4])

    def as_type(self, c: list[Any]) -> ast.AsType:
        """`e as f32[m]`."""
        return ast.AsType(span=self.span(c), value=c[0], type=c[2])

    # What follows an expression

    def access(self, c: list[Any]) -> ast.Access:
        """`x[...]`."""
        return ast.Access(span=self.span(c), base=c[0], entries=c[2].items)

    def entries(self, c: list[Any]) -> ListPart:
        """The entries of a bracket; positional and keyword entries do not mix."""
        part = self.part(c)
        named = [entry for entry in part.items if entry.name is not None]
        if 0 < len(named) < len(part.items):
            place = Span(self.source, part.start, part.end)
            texts = ", ".join(entry.span.text for entry in named)
            self.errors.add(syntax_errors.mixed_entries(place, texts))
        self.distinct("dimension", ((e.name.name, e.name.span) for e in named))
        return part

    def entry(self, c: list[Any]) -> ast.BracketEntry:
        """`e`, `t = e`."""
        name = self.ident(c[0]) if len(c) == 3 else None
        return ast.BracketEntry(span=self.span(c), name=name, value=c[-1])

    def slice(self, c: list[Any]) -> ast.SliceExpr:
        """`lo:hi:step`."""
        parts: list[Any] = [None, None, None]
        at = 0
        for child in c:
            if isinstance(child, Token):
                at += 1
            else:
                parts[at] = child
        return ast.SliceExpr(span=self.span(c), lo=parts[0], hi=parts[1], step=parts[2])

    def data_point(self, c: list[Any]) -> ast.DataPoint:
        """`j in lo:hi`."""
        return ast.DataPoint(span=self.span(c), index=c[0], within=c[2])

    def call(self, c: list[Any]) -> ast.CallExpr:
        """`f(...)`."""
        args: list[ast.Expression] = []
        kwargs: list[ast.CallArgument] = []
        for item in c[2].items:
            if isinstance(item, ast.CallArgument):
                kwargs.append(item)
                continue
            if kwargs:
                self.errors.add(syntax_errors.positional_after_keyword(item.span))
            args.append(item)
        self.distinct("argument", ((a.name.name, a.name.span) for a in kwargs))
        return ast.CallExpr(
            span=self.span(c), function=c[0], args=tuple(args), kwargs=tuple(kwargs)
        )

    def arguments(self, c: list[Any]) -> ListPart:
        """The arguments of a call."""
        return self.part(c)

    def argument(self, c: list[Any]) -> ast.Expression | ast.CallArgument:
        """`e`, `lr = e`."""
        if len(c) == 1:
            return cast(ast.Expression, c[0])
        return ast.CallArgument(span=self.span(c), name=self.ident(c[0]), value=c[2])

    def member(self, c: list[Any]) -> ast.Field | ast.TransposeExpr:
        """`.w`, and `.T`."""
        if c[2] == "T":
            return ast.TransposeExpr(span=self.span(c), base=c[0])
        name_span = self.token_span(c[2])
        return ast.Field(span=self.span(c), base=c[0], name=str(c[2]), name_span=name_span)

    # Types

    def tensor_type(self, c: list[Any]) -> ast.TensorTypeExpr:
        """`f32[D]`."""
        dtype = str(c[0])
        if dtype not in ast.DTYPES:
            self.named_dtypes.append(ast.Ident(span=self.token_span(c[0]), name=dtype))
        return ast.TensorTypeExpr(span=self.span(c), dtype=dtype, extents=nodes(c))

    def drop_dtypes(self, start: int) -> None:
        """Forget the names in front of extents from here on: their statement is in error."""
        self.named_dtypes = [used for used in self.named_dtypes if used.span.start < start]

    def check_dtypes(self, constants: Collection[str]) -> None:
        """Report names in front of extents that are neither dtypes nor constants of the file."""
        for used in self.named_dtypes:
            if used.name not in constants:
                close = get_close_matches(used.name, ast.DTYPES, 1)
                meant = syntax_errors.ELSEWHERE.get(used.name) or (close[0] if close else None)
                self.errors.add(
                    syntax_errors.unknown_dtype(used.span, used.name, ast.DTYPES, meant)
                )

    def record_type(self, c: list[Any]) -> ast.RecordType:
        """`{w: f32[D]}`."""
        fields = nodes(c)
        self.distinct("field", ((f.name, f.span) for f in fields))
        return ast.RecordType(span=self.span(c), fields=fields)

    def typed(self, c: list[Any]) -> ast.TypeField:
        """`w: f32[D]`."""
        return ast.TypeField(span=self.span(c), name=str(c[0]), type=c[2])
