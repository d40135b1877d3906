"""Index expressions: small frozen trees over dimensions and bounds, kept in canonical form.

Grammar (``e`` integer valued, ``c`` boolean valued)::

    e ::= Const | Sym | Sum(e...) | Prod(e...) | FloorDiv(e, k) | Mod(e, k) | Min(e...) | Max(e...)
    c ::= Truth | Compare(op, e, e) | And(c...) | Or(c...) | Not(c)
    Slice(lo, hi, step)              an entry of an access, never an operand

Build them with the functions below (or ``+ - *`` on expressions), never with the constructors:
they keep sums sorted and merged, so that two expressions with the same polynomial normal form
are equal as Python objects. Products of two symbols are allowed in *extents* (``B * T``); the
predicate ``is_affine`` tells whether an expression may be used as a temporal index
(LANGUAGE.md section 5, quasi-affine expressions).
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import reduce
from typing import Literal

CompareOp = Literal["<", "<=", ">", ">=", "==", "!="]


class Expr:
    """Base of all index expressions; supports ``+ - *`` with expressions and integers."""

    __slots__ = ()

    def __add__(self, other: Expr | int) -> Expr:
        return add(self, lift(other))

    def __radd__(self, other: int) -> Expr:
        return add(lift(other), self)

    def __sub__(self, other: Expr | int) -> Expr:
        return sub(self, lift(other))

    def __rsub__(self, other: int) -> Expr:
        return sub(lift(other), self)

    def __mul__(self, other: Expr | int) -> Expr:
        return mul(self, lift(other))

    def __rmul__(self, other: int) -> Expr:
        return mul(lift(other), self)

    def __neg__(self) -> Expr:
        return mul(Const(-1), self)


@dataclass(frozen=True, slots=True)
class Const(Expr):
    """An integer."""

    value: int


@dataclass(frozen=True, slots=True)
class Sym(Expr):
    """A dimension or a bound, by name (the two share one name space)."""

    name: str


@dataclass(frozen=True, slots=True)
class Sum(Expr):
    """``const + sum(coefficient * atom)``; atoms sorted, coefficients non-zero."""

    terms: tuple[tuple[int, Expr], ...]
    const: int


@dataclass(frozen=True, slots=True)
class Prod(Expr):
    """A product of two or more atoms, sorted; not affine."""

    factors: tuple[Expr, ...]


@dataclass(frozen=True, slots=True)
class FloorDiv(Expr):
    """``arg // divisor`` with a positive constant divisor."""

    arg: Expr
    divisor: int


@dataclass(frozen=True, slots=True)
class Mod(Expr):
    """``arg % divisor`` with a positive constant divisor."""

    arg: Expr
    divisor: int


@dataclass(frozen=True, slots=True)
class Min(Expr):
    """The least of two or more expressions, sorted."""

    args: tuple[Expr, ...]


@dataclass(frozen=True, slots=True)
class Max(Expr):
    """The greatest of two or more expressions, sorted."""

    args: tuple[Expr, ...]


@dataclass(frozen=True, slots=True)
class Truth(Expr):
    """A constant condition."""

    value: bool


@dataclass(frozen=True, slots=True)
class Compare(Expr):
    """``left op right``."""

    op: CompareOp
    left: Expr
    right: Expr


@dataclass(frozen=True, slots=True)
class And(Expr):
    """All conditions hold."""

    args: tuple[Expr, ...]


@dataclass(frozen=True, slots=True)
class Or(Expr):
    """At least one condition holds."""

    args: tuple[Expr, ...]


@dataclass(frozen=True, slots=True)
class Not(Expr):
    """The condition does not hold (only around things that have no direct complement)."""

    arg: Expr


@dataclass(frozen=True, slots=True)
class Slice:
    """``lo:hi:step``, half open, ``step`` a positive integer; extent ``max(0, ceil((hi-lo)/step))``."""

    lo: Expr
    hi: Expr
    step: int = 1


Entry = Expr | Slice

ZERO = Const(0)
ONE = Const(1)
TRUE = Truth(True)
FALSE = Truth(False)


def lift(value: Expr | int) -> Expr:
    """An integer as an expression; expressions pass through."""
    return Const(value) if isinstance(value, int) else value


# ---------------------------------------------------------------- arithmetic


def _terms(e: Expr) -> tuple[tuple[tuple[int, Expr], ...], int]:
    match e:
        case Const(value=v):
            return (), v
        case Sum(terms=terms, const=k):
            return terms, k
        case _:
            return ((1, e),), 0


def _sum(terms: Iterable[tuple[int, Expr]], const: int) -> Expr:
    merged: dict[Expr, int] = {}
    for k, atom in terms:
        merged[atom] = merged.get(atom, 0) + k
    kept = sorted(((k, a) for a, k in merged.items() if k), key=lambda ka: _key(ka[1]))
    if not kept:
        return Const(const)
    if const == 0 and len(kept) == 1 and kept[0][0] == 1:
        return kept[0][1]
    return Sum(tuple(kept), const)


def _key(e: Expr) -> tuple[int, str]:
    """A total, deterministic order: symbols first, then by text."""
    return (0, e.name) if isinstance(e, Sym) else (1, repr(e))


def add(*args: Expr) -> Expr:
    """The sum."""
    terms: list[tuple[int, Expr]] = []
    const = 0
    for a in args:
        ts, k = _terms(a)
        terms.extend(ts)
        const += k
    return _sum(terms, const)


def sub(a: Expr, b: Expr) -> Expr:
    """``a - b``."""
    ts, k = _terms(b)
    return add(a, _sum([(-c, x) for c, x in ts], -k))


def mul(a: Expr, b: Expr) -> Expr:
    """The product, expanded; not affine when neither factor is constant."""
    (ta, ka), (tb, kb) = _terms(a), _terms(b)
    out: list[tuple[int, Expr]] = [(c * kb, x) for c, x in ta] + [(c * ka, x) for c, x in tb]
    out += [(c * d, _atom_product(x, y)) for c, x in ta for d, y in tb]
    return _sum(out, ka * kb)


def _atom_product(a: Expr, b: Expr) -> Expr:
    factors = [f for e in (a, b) for f in (e.factors if isinstance(e, Prod) else (e,))]
    return Prod(tuple(sorted(factors, key=_key)))


def product(args: Iterable[Expr]) -> Expr:
    """The product of all (1 for none): the element count of a shape."""
    return reduce(mul, args, ONE)


def floordiv(a: Expr, k: int) -> Expr:
    """``a // k``; parts of ``a`` that ``k`` divides are moved out. ``ValueError`` unless ``k > 0``."""
    if k <= 0:
        raise ValueError("divisor must be positive")
    if k == 1:
        return a
    terms, const = _terms(a)
    whole = [(c // k, x) for c, x in terms if c % k == 0]
    rest = [(c, x) for c, x in terms if c % k]
    if not rest:
        return _sum(whole, const // k)
    inner = _sum(rest, const % k)
    return _sum([*whole, (1, FloorDiv(inner, k))], const // k)


def mod(a: Expr, k: int) -> Expr:
    """``a % k`` in ``[0, k)``; multiples of ``k`` are dropped. ``ValueError`` unless ``k > 0``."""
    if k <= 0:
        raise ValueError("divisor must be positive")
    terms, const = _terms(a)
    rest = _sum([(c % k, x) for c, x in terms], const % k)
    return Const(rest.value % k) if isinstance(rest, Const) else (ZERO if k == 1 else Mod(rest, k))


def ceildiv(a: Expr, k: int) -> Expr:
    """``ceil(a / k)``."""
    return floordiv(add(a, Const(k - 1)), k)


def minimum(*args: Expr) -> Expr:
    """The least; arguments that differ by a constant are merged."""
    return _extremum(Min, args)


def maximum(*args: Expr) -> Expr:
    """The greatest; arguments that differ by a constant are merged."""
    return _extremum(Max, args)


def _extremum(cls: type[Min] | type[Max], args: Iterable[Expr]) -> Expr:
    pick = min if cls is Min else max
    best: dict[Expr, int] = {}
    for a in args:
        for e in a.args if isinstance(a, cls) else (a,):
            terms, const = _terms(e)
            base = _sum(terms, 0)
            best[base] = pick(best[base], const) if base in best else const
    flat = sorted((add(b, Const(k)) for b, k in best.items()), key=_key)
    return flat[0] if len(flat) == 1 else cls(tuple(flat))


# ---------------------------------------------------------------- conditions

HOLDS = {
    "<": lambda d: d < 0,
    "<=": lambda d: d <= 0,
    ">": lambda d: d > 0,
    ">=": lambda d: d >= 0,
    "==": lambda d: d == 0,
    "!=": lambda d: d != 0,
}
_COMPLEMENT: dict[CompareOp, CompareOp] = {
    "<": ">=", "<=": ">", ">": "<=", ">=": "<", "==": "!=", "!=": "==",
}  # fmt: skip


def compare(op: CompareOp, left: Expr, right: Expr) -> Expr:
    """``left op right``, decided at once when the difference is a constant."""
    difference = sub(left, right)
    if isinstance(difference, Const):
        return Truth(HOLDS[op](difference.value))
    return Compare(op, left, right)


def conjunction(*args: Expr) -> Expr:
    """All of the conditions; flat, without duplicates, in the order given."""
    return _junction(And, args, FALSE, TRUE)


def disjunction(*args: Expr) -> Expr:
    """Any of the conditions; flat, without duplicates, in the order given."""
    return _junction(Or, args, TRUE, FALSE)


def _junction(cls: type[And] | type[Or], args: Iterable[Expr], absorb: Expr, unit: Expr) -> Expr:
    flat: dict[Expr, None] = {}
    for a in args:
        for c in a.args if isinstance(a, cls) else (a,):
            if c == absorb:
                return absorb
            if c != unit:
                flat[c] = None
    kept = tuple(flat)
    return unit if not kept else kept[0] if len(kept) == 1 else cls(kept)


def negation(c: Expr) -> Expr:
    """The complement, pushed down to the comparisons."""
    match c:
        case Truth(value=v):
            return Truth(not v)
        case Compare(op=op, left=left, right=right):
            return Compare(_COMPLEMENT[op], left, right)
        case And(args=args):
            return disjunction(*(negation(a) for a in args))
        case Or(args=args):
            return conjunction(*(negation(a) for a in args))
        case Not(arg=arg):
            return arg
        case _:
            return Not(c)
