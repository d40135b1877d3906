"""Syntactic proofs, without isl: a fast path. `None` or `False` means undecided."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from typing import TypeAlias

from tempoc.symbolic import expr as ix
from tempoc.symbolic.domain import Domain, Universe, conjuncts, disjuncts
from tempoc.symbolic.interned import MEMORY
from tempoc.symbolic.walk import substitute, symbols


def inside(sink: Domain, entries: tuple[ix.Entry, ...], source: Domain, universe: Universe) -> bool:
    """Whether an access is syntactically inside its source."""
    if source.where != ix.TRUE and not _same_hole(sink, entries, source):
        return False
    return all(
        _in_range(entry, ix.Sym(universe.dim(d).bound), sink, universe)
        for d, entry in zip(source.dims, entries, strict=True)
    )


def _same_hole(sink: Domain, entries: tuple[ix.Entry, ...], source: Domain) -> bool:
    if any(e != ix.Sym(d) for d, e in zip(source.dims, entries, strict=True)):
        return False
    known = conjuncts(sink.where)
    return all(c in known for c in conjuncts(source.where))


def _in_range(entry: ix.Entry, bound: ix.Sym, sink: Domain, universe: Universe) -> bool:
    if isinstance(entry, ix.Slice):
        return at_least(entry.lo, 0) and at_most(entry.hi, bound, sink, universe)
    return _floor(entry, universe) and at_most(entry + 1, bound, sink, universe)


def _floor(e: ix.Expr, universe: Universe) -> bool:
    """Whether `e >= 0`: term by term, or because `T-1-t` and `T-1` count from a bound."""
    least = limit(e, universe, greatest=False)
    return at_least(e, 0) or (least is not None and at_least(least, 0, bounds=universe))


@lru_cache(MEMORY)
def at_least(e: ix.Expr, low: int, bounds: Universe | None = None) -> bool:
    """Whether `e >= low` because symbols are at least 0 (and `bounds` at least 1)."""
    if bounds is not None:
        named = (b.name for b in bounds.bounds if b.name in symbols(e))
        e = substitute(e, {name: ix.Sym(name) + 1 for name in named})
    least = ix.interval(e)[0]
    return least is not None and least >= low


def clamped_size(low: int, size: ix.Expr, universe: Universe) -> ix.Expr:
    """The size of an array, clamped to at least ``low`` where it might be less.

    A size formula may be evaluated for bounds without any point, and kernels are traced for these
    too.
    """
    return size if at_least(size, low, universe) else ix.maximum(ix.Const(low), size)


def at_most(e: ix.Expr, bound: ix.Sym, sink: Domain, universe: Universe) -> bool:
    """Whether `e <= bound` at all points, by the extremes of its dimensions."""
    if isinstance(e, ix.IndexMin) and any(at_most(a, bound, sink, universe) for a in e.args):
        return True
    if e in (bound, ix.ONE):
        return True
    most = limit(e, universe, greatest=True)
    return most is not None and at_least(ix.sub(bound, most), 0, bounds=universe)


def implies(domain: Domain, condition: ix.Expr, universe: Universe) -> bool:
    """Whether a condition is a conjunct of the domain, or a comparison that the box decides."""
    if isinstance(condition, ix.Conjunction):
        return all(implies(domain, c, universe) for c in condition.args)
    if condition in conjuncts(domain.where):
        return True
    if not isinstance(condition, ix.Relation) or condition.op not in ("<", "<=", ">", ">="):
        return False
    up = condition.op in (">", ">=")
    gap = ix.sub(condition.left, condition.right) if up else ix.sub(condition.right, condition.left)
    least = limit(gap, universe, greatest=False)
    low = 0 if condition.op in (">=", "<=") else 1
    return least is not None and at_least(least, low, bounds=universe)


@lru_cache(MEMORY)
def limit(e: ix.Expr, universe: Universe, *, greatest: bool) -> ix.Expr | None:
    """The extreme of a linear expression over the full box: each dimension at its end.

    For products of non-negative factors this is a bound, attained when the factors are.
    """
    terms, const = (e.terms, e.const) if isinstance(e, ix.IndexSum) else (((1, e),), 0)
    if isinstance(e, ix.Const):
        return e
    total: ix.Expr = ix.Const(const)
    for c, x in terms:
        part = _limit_atom(x, universe, greatest=greatest == (c > 0))
        if part is None:
            return None
        total = total + part * c
    return total


def _limit_atom(x: ix.Expr, universe: Universe, *, greatest: bool) -> ix.Expr | None:
    match x:
        case ix.Sym(name=n):
            if not universe.is_dim(n):
                return x
            return ix.Sym(universe.dim(n).bound) - 1 if greatest else ix.Const(0)
        case ix.IndexProduct(factors=fs):
            parts = [_limit_atom(f, universe, greatest=greatest) for f in fs]
            total: ix.Expr = ix.ONE
            for f, part in zip(fs, parts, strict=True):
                if part is None or not at_least(f, 0):
                    return None
                total = total * part
            return total
        case ix.FloorDiv() | ix.IndexMin() | ix.IndexMax():
            free = not any(universe.is_dim(n) for n in symbols(x))
            return x if free else None
        case _:
            return None


Range: TypeAlias = tuple[int | None, int | None]
"""Between which numbers something is, both included; none where it is not limited."""


@lru_cache(MEMORY)
def are_apart(a: ix.Expr, b: ix.Expr, gap: int = 0) -> bool:
    """Whether two conditions never hold together: where both do, one sum would have two values.

    ``gap``: so many numbers are between the values, for one of them at least.
    """
    return all(_are_apart(p, q, gap) for p in _parts(a) for q in _parts(b))


def _are_apart(a: Mapping[ix.Expr, Range], b: Mapping[ix.Expr, Range], gap: int) -> bool:
    for compared, (low, high) in a.items():
        least, most = b.get(compared, (None, None))
        if high is not None and least is not None and high + gap < least:
            return True
        if most is not None and low is not None and most + gap < low:
            return True
    return False


@lru_cache(MEMORY)
def _parts(condition: ix.Expr) -> tuple[Mapping[ix.Expr, Range], ...]:
    """Of each alternative of a condition, between which numbers it keeps the sums it compares."""
    return tuple(map(_ranges, disjuncts(condition)))


def _ranges(condition: ix.Expr) -> Mapping[ix.Expr, Range]:
    ranges: dict[ix.Expr, Range] = {}
    for part in conjuncts(condition):
        if not isinstance(part, ix.Relation) or part.op == "!=":
            continue
        compared, op = ix.sub(part.left, part.right), part.op
        terms, const = (
            (compared.terms, compared.const)
            if isinstance(compared, ix.IndexSum)
            else (((1, compared),), 0)
        )
        low = None if op in ("<", "<=") else (op == ">") - const
        high = None if op in (">", ">=") else -const - (op == "<")
        if terms[0][0] < 0:
            low, high = None if high is None else -high, None if low is None else -low
        sign = 1 if terms[0][0] > 0 else -1
        key = ix.add(*(ix.mul(ix.Const(sign * c), x) for c, x in terms))
        least, most = ranges.get(key, (None, None))
        ranges[key] = _largest(low, least), _smallest(high, most)
    return ranges


def _largest(a: int | None, b: int | None) -> int | None:
    return b if a is None else a if b is None else max(a, b)


def _smallest(a: int | None, b: int | None) -> int | None:
    return b if a is None else a if b is None else min(a, b)


def signs(dim: str, entry: ix.Entry) -> frozenset[int] | None:
    """Signs of `dim - source` for `dim + c`, and for slices whose ends are that simple."""
    if not isinstance(entry, ix.Slice):
        gap = ix.sub(ix.Sym(dim), entry)
        return frozenset({_sign(gap.value)}) if isinstance(gap, ix.Const) else None
    most, least = (
        ix.interval(ix.sub(ix.Sym(dim), entry.lo)),
        ix.interval(ix.sub(ix.Sym(dim), entry.hi) + 1),
    )
    if least[0] is None and most[1] is None:
        return None
    low = -1 if least[0] is None else _sign(least[0])
    high = 1 if most[1] is None else _sign(most[1])
    return frozenset(s for s in (-1, 0, 1) if low <= s <= high)


def _sign(v: int) -> int:
    return (v > 0) - (v < 0)
