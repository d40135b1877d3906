"""The parser of index expressions, the inverse of `text.show`."""

from __future__ import annotations

import re
from collections.abc import Callable

from tempoc.symbolic import expr as ix


def parse(text: str) -> ix.Entry:
    """The expression or slice of a text. Raises `ValueError` with the unexpected token."""
    reader = _ExprReader(text)
    entry = reader.entry()
    reader.expect("")
    return entry


def parse_list(text: str) -> tuple[ix.Expr, ...]:
    """The expressions of a text, separated by commas; none for an empty one.

    Raises `ValueError` with the unexpected token.
    """
    reader = _ExprReader(text)
    items = [] if reader.next == "" else [reader.either()]
    while reader.accept(","):
        items.append(reader.either())
    reader.expect("")
    return tuple(items)


def parse_expr(text: str) -> ix.Expr:
    """`parse` for a text that must not be a slice."""
    entry = parse(text)
    if isinstance(entry, ix.Slice):
        raise ValueError(f"a slice where an expression belongs: {text}")
    return entry


_TOKEN = re.compile(r"\s*(?:(\d+)|([A-Za-z_][\w.']*)|(//|<=|>=|==|!=|[-+*%<>(),:]))")
_COMPARISONS: tuple[ix.CompareOp, ...] = ("<", "<=", ">", ">=", "==", "!=")


class _ExprReader:
    """Recursive descent over the tokens, with Python's precedence."""

    def __init__(self, text: str) -> None:
        self.text, self.tokens, at = text, list[str](), 0
        text = text.rstrip()
        while at < len(text):
            token = _TOKEN.match(text, at)
            if token is None:
                raise ValueError(f"unexpected {text[at:].lstrip()[:1]!r} in {text!r}")
            self.tokens.append(token[0].strip())
            at = token.end()
        self.tokens.append("")
        self.at = 0

    @property
    def next(self) -> str:
        """The token to be read."""
        return self.tokens[self.at]

    def take(self) -> str:
        """Read a token."""
        self.at += 1
        return self.tokens[self.at - 1]

    def accept(self, *tokens: str) -> str | None:
        """Read a token if it is one of these."""
        return self.take() if self.next in tokens else None

    def expect(self, token: str) -> None:
        """Read this token or raise."""
        if self.take() != token:
            raise ValueError(f"expected {token or 'the end'!r} in {self.text!r}")

    def entry(self) -> ix.Entry:
        """`or`-expression, or `lo:hi[:step]`."""
        low = self.either()
        if not self.accept(":"):
            return low
        high = self.either()
        return ix.Slice(low, high, self.number() if self.accept(":") else 1)

    def number(self) -> int:
        """A literal positive integer."""
        token = self.take()
        if not token.isdigit():
            raise ValueError(f"expected a number, not {token!r}, in {self.text!r}")
        return int(token)

    def either(self) -> ix.Expr:
        """Conditions joined by `or`."""
        parts = [self.both()]
        while self.accept("or"):
            parts.append(self.both())
        return ix.disjunction(*parts) if len(parts) > 1 else parts[0]

    def both(self) -> ix.Expr:
        """Conditions joined by `and`."""
        parts = [self.inverse()]
        while self.accept("and"):
            parts.append(self.inverse())
        return ix.conjunction(*parts) if len(parts) > 1 else parts[0]

    def inverse(self) -> ix.Expr:
        """A comparison, perhaps behind `not`."""
        if self.accept("not"):
            return ix.negation(self.inverse())
        left = self.sum()
        for op in _COMPARISONS:
            if self.accept(op):
                return ix.compare(op, left, self.sum())
        return left

    def sum(self) -> ix.Expr:
        """Terms joined by `+` and `-`."""
        value = self.product()
        while op := self.accept("+", "-"):
            value = (ix.add if op == "+" else ix.sub)(value, self.product())
        return value

    def product(self) -> ix.Expr:
        """Factors joined by `*`, `//` and `%`."""
        value = self.factor()
        while op := self.accept("*", "//", "%"):
            if op == "*":
                value = ix.mul(value, self.factor())
            elif op == "//" and not self.next.isdigit():
                value = ix.quotient(value, self.factor())
            else:
                value = (ix.floordiv if op == "//" else ix.mod)(value, self.number())
        return value

    def factor(self) -> ix.Expr:
        """A number, a name, a call of `min` or `max`, or something in parentheses."""
        if self.accept("-"):
            return ix.mul(ix.Const(-1), self.factor())
        if self.accept("("):
            inner = self.either()
            self.expect(")")
            return inner
        token = self.take()
        if token.isdigit():
            return ix.Const(int(token))
        if token in ("true", "false"):
            return ix.TRUE if token == "true" else ix.FALSE
        if token in ("min", "max") and self.next == "(":
            return self.call(ix.minimum if token == "min" else ix.maximum)
        if not (token[:1].isalpha() or token[:1] == "_"):
            raise ValueError(f"unexpected {token or 'end'!r} in {self.text!r}")
        return ix.Sym(token)

    def call(self, build: Callable[..., ix.Expr]) -> ix.Expr:
        """The arguments of `min` or `max`."""
        self.expect("(")
        args = [self.sum()]
        while self.accept(","):
            args.append(self.sum())
        self.expect(")")
        return build(*args)
