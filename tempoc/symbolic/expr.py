"""Index expressions: small frozen trees over dimensions and bounds, kept in canonical form.

Grammar (``e`` integer valued, ``c`` boolean valued)::

    e ::= Const | Sym | LengthAt(bound, e...) | IndexSum(e...) | IndexProduct(e...)
        | FloorDiv(e, k) | Mod(e, k) | IndexMin(e...) | IndexMax(e...)
    c ::= Truth | Relation(op, e, e) | Conjunction(c...) | Disjunction(c...) | Negation(c)
    Slice(lo, hi, step)              an entry of an access, never an operand

Build them with the functions below, never with the constructors: they keep sums sorted and merged,
so that equal polynomials are equal objects. Simplifications assume that symbols are not negative.
Products of symbols are for *extents* only (``B * T``): an index must be affine (``is_affine``).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import lru_cache, reduce
from math import gcd
from typing import Literal

from tempoc.symbolic.interned import MEMORY, Interned

CompareOp = Literal["<", "<=", ">", ">=", "==", "!="]


class Expr(metaclass=Interned):
    """Base of all index expressions; supports ``+ - *`` with expressions and integers."""

    __slots__ = ("__weakref__",)

    def __add__(self, other: Expr | int) -> Expr:
        return add(self, lift(other))

    __radd__ = __add__

    def __sub__(self, other: Expr | int) -> Expr:
        return sub(self, lift(other))

    def __mul__(self, other: Expr | int) -> Expr:
        return mul(self, lift(other))

    __rmul__ = __mul__


@dataclass(frozen=True, slots=True, eq=False)
class Const(Expr):
    """An integer."""

    value: int


@dataclass(frozen=True, slots=True, eq=False)
class Sym(Expr):
    """A dimension or a bound, by name (the two share one name space)."""

    name: str


@dataclass(frozen=True, slots=True, eq=False)
class LengthAt(Expr):
    """The length at a point of a bound that ends during a run; for no point that of ``Sym``."""

    bound: str
    point: tuple[Expr, ...]


@dataclass(frozen=True, slots=True, eq=False)
class IndexSum(Expr):
    """``const + sum(coefficient * atom)``; atoms sorted, coefficients non-zero."""

    terms: tuple[tuple[int, Expr], ...]
    const: int


@dataclass(frozen=True, slots=True, eq=False)
class IndexProduct(Expr):
    """A product of two or more atoms, sorted; not affine."""

    factors: tuple[Expr, ...]


@dataclass(frozen=True, slots=True, eq=False)
class FloorDiv(Expr):
    """``arg // divisor`` with a positive constant divisor."""

    arg: Expr
    divisor: int


@dataclass(frozen=True, slots=True, eq=False)
class Mod(Expr):
    """``arg % divisor`` with a positive constant divisor."""

    arg: Expr
    divisor: int


@dataclass(frozen=True, slots=True, eq=False)
class Quotient(Expr):
    """``arg // max(1, divisor)`` with a divisor that is not constant; not affine."""

    arg: Expr
    divisor: Expr


@dataclass(frozen=True, slots=True, eq=False)
class IndexMin(Expr):
    """The least of two or more expressions, sorted."""

    args: tuple[Expr, ...]


@dataclass(frozen=True, slots=True, eq=False)
class IndexMax(Expr):
    """The greatest of two or more expressions, sorted."""

    args: tuple[Expr, ...]


@dataclass(frozen=True, slots=True, eq=False)
class Truth(Expr):
    """A constant condition."""

    value: bool


@dataclass(frozen=True, slots=True, eq=False)
class Relation(Expr):
    """``left op right``."""

    op: CompareOp
    left: Expr
    right: Expr


@dataclass(frozen=True, slots=True, eq=False)
class Conjunction(Expr):
    """All conditions hold."""

    args: tuple[Expr, ...]


@dataclass(frozen=True, slots=True, eq=False)
class Disjunction(Expr):
    """At least one condition holds."""

    args: tuple[Expr, ...]


@dataclass(frozen=True, slots=True, eq=False)
class Negation(Expr):
    """The condition does not hold (only around things that have no direct complement)."""

    arg: Expr


@dataclass(frozen=True, slots=True, eq=False, weakref_slot=True)
class Slice(metaclass=Interned):
    """``lo:hi:step``, half open, ``step`` a positive integer."""

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


def _terms(e: Expr) -> tuple[tuple[tuple[int, Expr], ...], int]:
    one = ((), e.value) if isinstance(e, Const) else (((1, e),), 0)
    return (e.terms, e.const) if isinstance(e, IndexSum) else one


def _sum(terms: Iterable[tuple[int, Expr]], const: int) -> Expr:
    merged: dict[Expr, int] = {}
    for k, atom in terms:
        merged[atom] = merged.get(atom, 0) + k
    nonzero = sorted(((k, a) for a, k in merged.items() if k), key=lambda ka: _key(ka[1]))
    if len(nonzero) == 1 and (const, nonzero[0][0]) == (0, 1):
        return nonzero[0][1]
    return IndexSum(tuple(nonzero), const) if nonzero else Const(const)


@lru_cache(MEMORY)
def _key(e: Expr) -> tuple[int, str]:
    """A total, deterministic order: symbols first, then by text."""
    return (0, e.name) if isinstance(e, Sym) else (1, repr(e))


@lru_cache(MEMORY)
def add(*args: Expr) -> Expr:
    """The sum; distributed over a ``min`` or ``max`` if it has exactly one, of coefficient +-1."""
    parts = [_terms(a) for a in args]
    return _distribute(_sum((t for ts, _ in parts for t in ts), sum(k for _, k in parts)))


def _distribute(e: Expr) -> Expr:
    """``min(t+n, T) - t`` as ``min(n, T-t)``: then equal extents are equal objects."""
    if not isinstance(e, IndexSum):
        return e
    at = [n for n, (_, x) in enumerate(e.terms) if isinstance(x, (IndexMin, IndexMax))]
    if len(at) == 2:
        return _cancel(e, *at)
    if len(at) != 1 or abs(e.terms[at[0]][0]) != 1:
        return e
    k, atom = e.terms[at[0]]
    assert isinstance(atom, (IndexMin, IndexMax))
    others = _sum((*e.terms[: at[0]], *e.terms[at[0] + 1 :]), e.const)
    moved = [add(others, mul(Const(k), a)) for a in atom.args]
    return minimum(*moved) if isinstance(atom, IndexMin) == (k == 1) else maximum(*moved)


def _cancel(e: IndexSum, *at: int) -> Expr:
    """``min(n, m) + max(k-n, k-m)`` is ``k``: the extent of something padded to ``k``."""
    (k, x), (j, y) = (e.terms[n] for n in at)
    assert isinstance(x, (IndexMin, IndexMax)) and isinstance(y, (IndexMin, IndexMax))
    if abs(k) == abs(j) == 1 and (type(x) is type(y)) == (k == -j):
        lefts, rights = {mul(Const(k), a) for a in x.args}, [mul(Const(j), b) for b in y.args]
        for total in (add(a, rights[0]) for a in sorted(lefts, key=_key)):
            if {sub(total, b) for b in rights} == lefts:
                return add(_sum((t for t in e.terms if t[1] not in (x, y)), e.const), total)
    return e


def linear(terms: Iterable[tuple[int, Expr]], const: int) -> Expr:
    """``const + sum(coefficient * term)``."""
    parts = [(k, *_terms(x)) for k, x in terms]
    merged = ((k * c, x) for k, inner, _ in parts for c, x in inner)
    return _distribute(_sum(merged, const + sum(k * c for k, _, c in parts)))


@lru_cache(MEMORY)
def sub(a: Expr, b: Expr) -> Expr:
    """``a - b``."""
    ts, k = _terms(b)
    return add(a, _sum([(-c, x) for c, x in ts], -k))


@lru_cache(MEMORY)
def mul(a: Expr, b: Expr) -> Expr:
    """The product, expanded; not affine when neither factor is constant."""
    (ta, ka), (tb, kb) = _terms(a), _terms(b)
    out = [*((c * kb, x) for c, x in ta), *((c * ka, x) for c, x in tb)]
    return _distribute(_sum(out + [(c * d, _times(x, y)) for c, x in ta for d, y in tb], ka * kb))


def _times(a: Expr, b: Expr) -> Expr:
    factors = (f for e in (a, b) for f in (e.factors if isinstance(e, IndexProduct) else (e,)))
    return IndexProduct(tuple(sorted(factors, key=_key)))


def product(args: Iterable[Expr]) -> Expr:
    """The product of all (1 for none): the element count of a shape."""
    return reduce(mul, args, lift(1))


@lru_cache(MEMORY)
def floordiv(a: Expr, k: int) -> Expr:
    """``a // k``; terms divisible by ``k`` move out. Raises ``ValueError`` unless ``k > 0``."""
    if k <= 0:
        raise ValueError("divisor must be positive")
    terms, const = _terms(a)
    divisible = [(c // k, x) for c, x in terms if c % k == 0]
    indivisible = [(c, x) for c, x in terms if c % k]
    if not indivisible:
        return _sum(divisible, const // k)
    shared = gcd(k, *(c for c, _ in indivisible))
    inner = _sum([(c // shared, x) for c, x in indivisible], const % k // shared)
    divisor = k // shared
    low, high = interval(inner)
    is_constant = low is not None and high is not None and low // divisor == high // divisor
    quotient = Const((low or 0) // divisor) if is_constant else FloorDiv(inner, divisor)
    return add(_sum(divisible, const // k), quotient)


@lru_cache(MEMORY)
def mod(a: Expr, k: int) -> Expr:
    """``a % k``, without multiples of ``k`` in ``a``. Raises ``ValueError`` unless ``k > 0``."""
    if k <= 0:
        raise ValueError("divisor must be positive")
    terms, const = _terms(a)
    remainder = _sum([(c % k, x) for c, x in terms], const % k)
    low, high = interval(remainder)
    if low is not None and high is not None and low // k == high // k:
        return add(remainder, Const(-(low // k * k)))
    return Mod(remainder, k)


def quotient(a: Expr, by: Expr) -> Expr:
    """``a // max(1, by)``, so that it has a value for all values of symbols."""
    return floordiv(a, max(1, by.value)) if isinstance(by, Const) else Quotient(a, by)


def minimum(*args: Expr) -> Expr:
    """The least; arguments that differ by a constant are merged."""
    return _extremum(IndexMin, args)


def maximum(*args: Expr) -> Expr:
    """The greatest; arguments that differ by a constant are merged."""
    return _extremum(IndexMax, args)


@lru_cache(MEMORY)
def _extremum(cls: type[IndexMin] | type[IndexMax], args: Iterable[Expr]) -> Expr:
    pick = min if cls is IndexMin else max
    best: dict[Expr, int] = {}
    for a in args:
        for e in a.args if isinstance(a, cls) else (a,):
            terms, const = _terms(e)
            base = _sum(terms, 0)
            best[base] = pick(best[base], const) if base in best else const
    flat = sorted((add(b, Const(k)) for b, k in best.items()), key=_key)
    candidates = _undominated(cls, flat)
    return candidates[0] if len(candidates) == 1 else cls(tuple(candidates))


def _undominated(cls: type[IndexMin] | type[IndexMax], args: list[Expr]) -> list[Expr]:
    """The arguments that no other one dominates (symbols are not negative)."""
    candidates: list[Expr] = []
    for n, a in enumerate(args):
        rivals = (*candidates, *args[n + 1 :])
        gaps = (interval(sub(a, b) if cls is IndexMin else sub(b, a))[0] for b in rivals)
        if not any(gap is not None and gap >= 0 for gap in gaps):
            candidates.append(a)
    return candidates


@lru_cache(MEMORY)
def interval(e: Expr) -> tuple[int | None, int | None]:
    """Interval arithmetic: constant bounds on the value (``None``: unbounded) for symbols >= 0."""
    match e:
        case Const(value=v):
            return v, v
        case IndexSum(terms=terms, const=k):
            low: int | None = k
            high: int | None = k
            for c, x in terms:
                a, b = interval(x) if c > 0 else interval(x)[::-1]
                low = None if low is None or a is None else low + c * a
                high = None if high is None or b is None else high + c * b
            return low, high
        case FloorDiv(arg=x, divisor=k):
            a, b = interval(x)
            return (None if a is None else a // k), (None if b is None else b // k)
        case Mod(divisor=k):
            return 0, k - 1
        case IndexMin(args=args) | IndexMax(args=args):
            pick = min if isinstance(e, IndexMin) else max
            lows, highs = zip(*(interval(a) for a in args), strict=True)
            return _end(pick, lows, pick is min), _end(pick, highs, pick is max)
        case IndexProduct(factors=fs):
            ends = [interval(f)[0] for f in fs]
            return (0 if all(a is not None and a >= 0 for a in ends) else None), None
        case _:
            return (0 if isinstance(e, (Sym, LengthAt)) else None), None


def _end(pick: Callable[..., int], ends: tuple[int | None, ...], need_all: bool) -> int | None:
    known = [v for v in ends if v is not None]
    return None if not known or (need_all and len(known) < len(ends)) else pick(known)


HOLDS: Mapping[str, Callable[[int], bool]] = {
    "<": lambda d: d < 0, "<=": lambda d: d <= 0, ">": lambda d: d > 0, ">=": lambda d: d >= 0,
    "==": lambda d: d == 0, "!=": lambda d: d != 0,
}  # fmt: skip
_COMPLEMENT: dict[CompareOp, CompareOp] = {
    "<": ">=", "<=": ">", ">": "<=", ">=": "<", "==": "!=", "!=": "=="
}  # fmt: skip


@lru_cache(MEMORY)
def compare(op: CompareOp, left: Expr, right: Expr) -> Expr:
    """``left op right``, folded if the interval of the difference decides it."""
    low, high = interval(sub(left, right))
    if low is not None and (low > 0 or low == high or (low == 0 and op in ("<", ">="))):
        return Truth(HOLDS[op](low))
    if high is not None and (high < 0 or (high == 0 and op in (">", "<="))):
        return Truth(HOLDS[op](high))
    return Relation(op, left, right)


def conjunction(*args: Expr) -> Expr:
    """All of the conditions; flat, without duplicates, in the order given."""
    return _junction(Conjunction, args, FALSE, TRUE)


def disjunction(*args: Expr) -> Expr:
    """Any of the conditions; flat, without duplicates, in the order given."""
    return _junction(Disjunction, args, TRUE, FALSE)


@lru_cache(MEMORY)
def _junction(
    cls: type[Conjunction] | type[Disjunction], args: tuple[Expr, ...], absorb: Expr, unit: Expr
) -> Expr:
    flat: dict[Expr, None] = {}
    for a in args:
        for c in a.args if isinstance(a, cls) else (a,):
            if c == absorb:
                return absorb
            if c != unit:
                flat[c] = None
    conditions = tuple(flat)
    return unit if not conditions else conditions[0] if len(conditions) == 1 else cls(conditions)


def negation(c: Expr) -> Expr:
    """The complement, pushed down to the comparisons."""
    match c:
        case Truth(value=v):
            return Truth(not v)
        case Relation(op=op, left=left, right=right):
            return Relation(_COMPLEMENT[op], left, right)
        case Conjunction(args=args):
            return disjunction(*(negation(a) for a in args))
        case Disjunction(args=args):
            return conjunction(*(negation(a) for a in args))
        case Negation(arg=arg):
            return arg
        case _:
            return Negation(c)
