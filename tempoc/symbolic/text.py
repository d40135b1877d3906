"""Printer and parser of index expressions."""

from __future__ import annotations

import re
from collections.abc import Callable

from tempoc.symbolic.expr import (
    FALSE,
    TRUE,
    CompareOp,
    Conjunction,
    Const,
    Disjunction,
    Entry,
    Expr,
    FloorDiv,
    IndexMax,
    IndexMin,
    IndexProduct,
    IndexSum,
    Mod,
    Negation,
    Relation,
    Slice,
    Sym,
    Truth,
    add,
    compare,
    conjunction,
    disjunction,
    floordiv,
    maximum,
    minimum,
    mod,
    mul,
    negation,
    sub,
)

# Binding strength, weakest first; Python's order.
_OR, _AND, _NOT, _COMPARE, _SUM, _PRODUCT, _ATOM = range(7)


def show(e: Entry) -> str:
    """The text of an expression, a condition or a slice; `parse` gives the same object back."""
    if isinstance(e, Slice):
        step = f":{e.step}" if e.step != 1 else ""
        return f"{_at(e.lo, _SUM)}:{_at(e.hi, _SUM)}{step}"
    return _text(e)[0]


def show_entries(entries: tuple[Entry, ...]) -> str:
    """Entries between brackets, nothing for none: `[t+1, 0:T]`."""
    return f"[{', '.join(show(e) for e in entries)}]" if entries else ""


def _at(e: Expr, strength: int) -> str:
    text, own = _text(e)
    return text if own >= strength else f"({text})"


def _text(e: Expr) -> tuple[str, int]:
    match e:
        case Const(value=v):
            return str(v), _ATOM if v >= 0 else _SUM
        case Sym(name=n):
            return n, _ATOM
        case IndexSum():
            return _sum_text(e)
        case IndexProduct(factors=fs):
            return "*".join(_at(f, _ATOM) for f in fs), _PRODUCT
        case FloorDiv(arg=a, divisor=k):
            return f"{_at(a, _ATOM)}//{k}", _PRODUCT
        case Mod(arg=a, divisor=k):
            return f"{_at(a, _ATOM)}%{k}", _PRODUCT
        case IndexMin(args=args) | IndexMax(args=args):
            word = "min" if isinstance(e, IndexMin) else "max"
            return f"{word}({', '.join(show(a) for a in sorted(args, key=_place))})", _ATOM
        case _:
            return _condition_text(e)


def _place(e: Expr) -> tuple[int, bool]:
    """The place of an argument of `min` or `max`: `max(0, t-3)`, `min(t+n, T)`, `min(t, T)`."""
    kind = 0 if isinstance(e, Const) else 2 if isinstance(e, Sym) else 1
    return kind, isinstance(e, Sym) and e.name[:1].isupper()


def _condition_text(e: Expr) -> tuple[str, int]:
    match e:
        case Truth(value=v):
            return "true" if v else "false", _ATOM
        case Relation(op=op, left=left, right=right):
            return f"{_side(left)} {op} {_side(right)}", _COMPARE
        case Conjunction(args=args):
            return " and ".join(_at(a, _NOT) for a in args), _AND
        case Disjunction(args=args):
            return " or ".join(_at(a, _AND) for a in args), _OR
        case Negation(arg=a):
            return f"not {_at(a, _NOT)}", _NOT
        case _:
            raise TypeError(f"not an index expression: {e!r}")


def _side(e: Expr) -> str:
    """An operand of a comparison; a lone remainder gets room: `t % 2 == 0`."""
    if isinstance(e, Mod):
        return f"{_at(e.arg, _ATOM)} % {e.divisor}"
    return _at(e, _SUM)


def _sum_text(e: IndexSum) -> tuple[str, int]:
    """Positive terms, a negative constant, negative terms, a positive constant: `T-1-t`, `t+1`."""
    plus = [_term(k, x) for k, x in e.terms if k > 0]
    minus = [_term(-k, x) for k, x in e.terms if k < 0]
    if not plus and not e.const:
        # A leading minus binds more tightly than `//` and `%`.
        k, x = e.terms[0]
        minus[0] = f"({minus[0]})" if k == -1 and isinstance(x, (FloorDiv, Mod)) else minus[0]
    if not plus:
        return "-".join([str(e.const) if e.const else "", *minus]), _SUM
    text = "+".join(plus) + (str(e.const) if e.const < 0 else "")
    text += "".join(f"-{m}" for m in minus) + (f"+{e.const}" if e.const > 0 else "")
    return text, _PRODUCT if len(e.terms) == 1 and not e.const else _SUM


def _term(k: int, x: Expr) -> str:
    if k == 1:
        return _at(x, _PRODUCT)
    return f"{k}*{_at(x, _ATOM if not isinstance(x, IndexProduct) else _PRODUCT)}"


def parse(text: str) -> Entry:
    """The expression or slice of a text. Raises `ValueError` with the unexpected token."""
    reader = _ExprReader(text)
    entry = reader.entry()
    reader.expect("")
    return entry


def parse_expr(text: str) -> Expr:
    """`parse` for a text that must not be a slice."""
    entry = parse(text)
    if isinstance(entry, Slice):
        raise ValueError(f"a slice where an expression belongs: {text}")
    return entry


_TOKEN = re.compile(r"\s*(?:(\d+)|([A-Za-z_][\w.']*)|(//|<=|>=|==|!=|[-+*%<>(),:]))")
_COMPARISONS: tuple[CompareOp, ...] = ("<", "<=", ">", ">=", "==", "!=")


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

    def entry(self) -> Entry:
        """`or`-expression, or `lo:hi[:step]`."""
        low = self.either()
        if not self.accept(":"):
            return low
        high = self.either()
        return Slice(low, high, self.number() if self.accept(":") else 1)

    def number(self) -> int:
        """A literal positive integer."""
        token = self.take()
        if not token.isdigit():
            raise ValueError(f"expected a number, not {token!r}, in {self.text!r}")
        return int(token)

    def either(self) -> Expr:
        """Conditions joined by `or`."""
        parts = [self.both()]
        while self.accept("or"):
            parts.append(self.both())
        return disjunction(*parts) if len(parts) > 1 else parts[0]

    def both(self) -> Expr:
        """Conditions joined by `and`."""
        parts = [self.inverse()]
        while self.accept("and"):
            parts.append(self.inverse())
        return conjunction(*parts) if len(parts) > 1 else parts[0]

    def inverse(self) -> Expr:
        """A comparison, perhaps behind `not`."""
        if self.accept("not"):
            return negation(self.inverse())
        left = self.sum()
        for op in _COMPARISONS:
            if self.accept(op):
                return compare(op, left, self.sum())
        return left

    def sum(self) -> Expr:
        """Terms joined by `+` and `-`."""
        value = self.product()
        while op := self.accept("+", "-"):
            value = (add if op == "+" else sub)(value, self.product())
        return value

    def product(self) -> Expr:
        """Factors joined by `*`, `//` and `%`."""
        value = self.factor()
        while op := self.accept("*", "//", "%"):
            if op == "*":
                value = mul(value, self.factor())
            else:
                value = (floordiv if op == "//" else mod)(value, self.number())
        return value

    def factor(self) -> Expr:
        """A number, a name, a call of `min` or `max`, or something in parentheses."""
        if self.accept("-"):
            return mul(Const(-1), self.factor())
        if self.accept("("):
            inner = self.either()
            self.expect(")")
            return inner
        token = self.take()
        if token.isdigit():
            return Const(int(token))
        if token in ("true", "false"):
            return TRUE if token == "true" else FALSE
        if token in ("min", "max") and self.next == "(":
            return self.call(minimum if token == "min" else maximum)
        if not (token[:1].isalpha() or token[:1] == "_"):
            raise ValueError(f"unexpected {token or 'end'!r} in {self.text!r}")
        return Sym(token)

    def call(self, build: Callable[..., Expr]) -> Expr:
        """The arguments of `min` or `max`."""
        self.expect("(")
        args = [self.sum()]
        while self.accept(","):
            args.append(self.sum())
        self.expect(")")
        return build(*args)
