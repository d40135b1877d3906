"""The printer of index expressions: as in the source (`show`), or as Python (`spelled`)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from tempoc.symbolic import expr as ix

# Binding strength, weakest first; Python's order.
OR, AND, NOT, COMPARE, SUM, PRODUCT, ATOM = range(7)
Printed = tuple[str, int]
"""A text and its binding strength."""


@dataclass(frozen=True, slots=True)
class ExprPrinter:
    """Prints expressions; ``names`` are the texts of some of their parts.

    ``gap`` is what stands around an operator. With spaces the text is Python.
    """

    names: Mapping[ix.Expr, str] = field(default_factory=dict)
    gap: str = ""

    def text(self, e: ix.Expr, strength: int = OR) -> str:
        """The text as an operand of something that binds so strongly."""
        text, own = self.printed(e)
        return text if own >= strength else f"({text})"

    def printed(self, e: ix.Expr) -> Printed:
        """The text and its binding strength."""
        if e in self.names:
            return self.names[e], ATOM
        match e:
            case ix.Const(value=v):
                return str(v), ATOM if v >= 0 else SUM
            case ix.Sym(name=n):
                return n, ATOM
            case ix.IndexSum():
                return self._sum(e)
            case ix.IndexProduct(factors=fs):
                return self._times.join(self.text(f, ATOM) for f in fs), PRODUCT
            case ix.FloorDiv(arg=a, divisor=k) | ix.Quotient(arg=a, divisor=k):
                by = self.text(ix.lift(k), ATOM)
                return f"{self.text(a, ATOM)}{self.gap}//{self.gap}{by}", PRODUCT
            case ix.Mod(arg=a, divisor=k):
                return f"{self.text(a, ATOM)}{self.gap}%{self.gap}{k}", PRODUCT
            case ix.IndexMin(args=args) | ix.IndexMax(args=args):
                ordered = [self.text(a) for a in sorted(args, key=_place)]
                return self.extremum("min" if isinstance(e, ix.IndexMin) else "max", ordered), ATOM
            case ix.LengthAt(bound=bound, point=point):
                return f"{bound}[{', '.join(map(self.text, point))}]" if point else bound, ATOM
            case _:
                return self.condition(e)

    def extremum(self, word: str, args: list[str]) -> str:
        """The least or the greatest of two or more."""
        return f"{word}({', '.join(args)})"

    def condition(self, e: ix.Expr) -> Printed:
        """The text of a condition."""
        match e:
            case ix.Truth(value=v):
                return str(v) if self.gap else str(v).lower(), ATOM
            case ix.Relation(op=op, left=left, right=right):
                return f"{self._side(left)} {op} {self._side(right)}", COMPARE
            case ix.Conjunction(args=args):
                return " and ".join(self.text(a, NOT) for a in args), AND
            case ix.Disjunction(args=args):
                return " or ".join(self.text(a, AND) for a in args), OR
            case ix.Negation(arg=a):
                return f"not {self.text(a, NOT)}", NOT
            case _:
                raise TypeError(f"not an index expression: {e!r}")

    def _side(self, e: ix.Expr) -> str:
        """An operand of a comparison; a lone remainder gets room: `t % 2 == 0`."""
        if isinstance(e, ix.Mod) and e not in self.names:
            return f"{self.text(e.arg, ATOM)} % {e.divisor}"
        return self.text(e, SUM)

    @property
    def _times(self) -> str:
        return f"{self.gap}*{self.gap}"

    def _sum(self, e: ix.IndexSum) -> Printed:
        """Positive terms, a negative constant, negative terms, a positive constant: `T-1-t`."""
        plus = [self._term(k, x) for k, x in e.terms if k > 0]
        minus = [self._term(-k, x) for k, x in e.terms if k < 0]
        if not plus and not e.const:
            # A leading minus binds more tightly than `//` and `%`.
            k, x = e.terms[0]
            minus[0] = f"({minus[0]})" if k == -1 and isinstance(x, _DIVISIONS) else minus[0]
        add, sub = f"{self.gap}+{self.gap}", f"{self.gap}-{self.gap}"
        if not plus:
            first = [str(e.const)] if e.const else [f"-{minus.pop(0)}"]
            return sub.join([*first, *minus]), SUM
        text = add.join(plus) + (f"{sub}{-e.const}" if e.const < 0 else "")
        text += "".join(f"{sub}{m}" for m in minus) + (f"{add}{e.const}" if e.const > 0 else "")
        return text, PRODUCT if len(e.terms) == 1 and not e.const else SUM

    def _term(self, k: int, x: ix.Expr) -> str:
        if k == 1:
            return self.text(x, PRODUCT)
        strength = ATOM if not isinstance(x, ix.IndexProduct) else PRODUCT
        return f"{k}{self._times}{self.text(x, strength)}"


_DIVISIONS = (ix.FloorDiv, ix.Mod, ix.Quotient)
_TIGHT, _SPACED = ExprPrinter(), ExprPrinter(gap=" ")


def show(e: ix.Entry) -> str:
    """The text of an expression, a condition or a slice; `parse` gives the same object back."""
    if isinstance(e, ix.Slice):
        step = f":{e.step}" if e.step != 1 else ""
        return f"{_TIGHT.text(e.lo, SUM)}:{_TIGHT.text(e.hi, SUM)}{step}"
    return _TIGHT.text(e)


def spelled(e: ix.Expr) -> str:
    """The text with spaces around operators, which is also Python: `T - t + 1`."""
    return _SPACED.text(e)


def _place(e: ix.Expr) -> tuple[int, bool]:
    """The place of an argument of `min` or `max`: `max(0, t-3)`, `min(t+n, T)`, `min(t, T)`."""
    kind = 0 if isinstance(e, ix.Const) else 2 if isinstance(e, ix.Sym) else 1
    return kind, isinstance(e, ix.Sym) and e.name[:1].isupper()
