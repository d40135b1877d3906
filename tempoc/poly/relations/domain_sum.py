"""Sums of polynomials over domains, as polynomials of the bounds: exact operation counts.

    sum of 2*(t+1) over t < T                   = T*(T + 1)
    sum of min(t+1, 256) over t < T             = T*(T + 1)/2        if T <= 256
                                                  256*T - 32640      if T >= 257

The points are cut where another argument of a `min` or `max` wins, and into convex pieces. Then one
dimension after the other is summed between its least and its greatest value, for which isl gives a
function of the others in each of some parts (Pugh, Counting solutions to Presburger formulas: how
and why, 1994). Imports sympy: only reports import this file, late.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import permutations

from tempoc.base.effort import EFFORT
from tempoc.poly.isl import D, integer, isl
from tempoc.poly.relations import recover
from tempoc.poly.relations.sets import basic_sets
from tempoc.poly.relations.space import Space
from tempoc.symbolic import expr as ix, simplify
from tempoc.symbolic.domain import Domain
from tempoc.symbolic.walk import is_affine, substitute, symbols

Part = tuple[isl.Set, simplify.Polynomial]
"""Values of bounds (or points, while dimensions are left), and a polynomial that is summed there;
parts may overlap, then their polynomials are added."""


class Unsummable(Exception):
    """A sum is no polynomial: it has divisions with remainder of dimensions."""


@dataclass(frozen=True, slots=True, kw_only=True)
class BoundsFormula:
    """A polynomial of the bounds for each of some cases, which cover all bounds and are disjoint.

    If not ``exact``, the values are upper bounds.
    """

    cases: tuple[Part, ...]
    exact: bool = True

    def at(self, values: Mapping[str, int]) -> int:
        """The value for these bounds. Raises ``StopIteration`` if the assumptions exclude them."""
        return next(
            simplify.value_at(f, values) for where, f in self.cases if _holds(where, values)
        )


class DomainSums:
    """Sums over the domains of one space. Bounds with a value at compile time are numbers."""

    def __init__(self, space: Space) -> None:
        self.space = space

    def over(self, e: ix.Expr, domain: Domain) -> BoundsFormula:
        """The sum of an expression over a domain.

        Where that is no polynomial, the greatest value times the number of points of the box.
        """
        points, dims = self.space.set(domain), domain.dims
        terms = e.terms if isinstance(e, ix.IndexSum) else ()
        rest = ix.Const(e.const) if isinstance(e, ix.IndexSum) else e
        for order in permutations(reversed(dims)):
            try:
                parts = [*self.summed(points, self.cases(rest, points, dims), dims, order)]
                for factor, term in terms:
                    cases = [(p, factor * v) for p, v in self.cases(term, points, dims)]
                    parts += self.summed(points, cases, dims, order)
            except Unsummable:
                continue
            return self.joined(parts)
        box = [ix.Sym(self.space.universe.dim(d).bound) for d in dims]
        most = ix.product((self.space.upper_bound(e, domain), *box))
        return self.joined([(self.space.context, self.polynomial(most))], exact=False)

    def polynomial(self, e: ix.Expr) -> simplify.Polynomial:
        """An expression without dimensions under ``//``, ``%``, ``min`` and ``max``."""
        return simplify.polynomial(self.space.universe.settled(e))

    def cases(self, e: ix.Expr, points: isl.Set, dims: tuple[str, ...]) -> Iterator[Part]:
        """An expression as a polynomial, on each of disjoint parts of a set."""
        if points.is_empty():
            return
        if isinstance(e, ix.Sym) or not any(n in dims for n in symbols(e)):
            yield points, self.polynomial(e)
        elif isinstance(e, ix.IndexSum | ix.IndexProduct):
            is_sum = isinstance(e, ix.IndexSum)
            parts = [
                (points, self.polynomial(ix.Const(e.const if isinstance(e, ix.IndexSum) else 1)))
            ]
            operands = e.terms if isinstance(e, ix.IndexSum) else tuple((1, f) for f in e.factors)
            for factor, operand in operands:
                parts = [
                    (both, value + factor * more if is_sum else value * more)
                    for part, value in parts
                    for both, more in self.cases(operand, part, dims)
                ]
            yield from parts
        elif not is_affine(e):
            raise Unsummable
        elif isinstance(e, ix.IndexMin | ix.IndexMax):
            op: ix.CompareOp = "<=" if isinstance(e, ix.IndexMin) else ">="
            left = points
            for arg in e.args:
                wins = ix.conjunction(*(ix.compare(op, arg, other) for other in e.args))
                where = self.space.points(wins, dims)
                yield from self.cases(arg, left.intersect(where), dims)
                left = left.subtract(where)
        elif isinstance(e, ix.FloorDiv | ix.Mod) and e.divisor <= EFFORT.residues:
            for rest in range(e.divisor):
                where = self.space.points(
                    ix.compare("==", ix.mod(e.arg, e.divisor), ix.Const(rest)), dims
                )
                remainder = self.polynomial(ix.Const(rest))
                for part, value in self.cases(e.arg, points.intersect(where), dims):
                    quotient = (value - remainder) / e.divisor
                    yield part, quotient if isinstance(e, ix.FloorDiv) else remainder
        else:
            raise Unsummable

    def summed(
        self, points: isl.Set, cases: Iterable[Part], dims: tuple[str, ...], order: tuple[str, ...]
    ) -> Iterator[Part]:
        """The sums of the cases over all dimensions, which are summed in this order."""
        for part, value in cases:
            if not order:
                yield part.params(), value
                continue
            name, others = order[0], tuple(d for d in dims if d != order[0])
            inner: list[Part] = []
            for basic in basic_sets(part.make_disjoint()):
                line = _along(isl.Set.from_basic_set(basic), dims, name)
                for where, low, high, step in _progressions(line):
                    ends = self.polynomial(low), self.polynomial(high)
                    more = simplify.power_sum(value, name, *ends, step)
                    if more is None:
                        raise Unsummable
                    inner.append((where, more))
            yield from self.summed(points, inner, others, order[1:])

    def joined(self, parts: Iterable[Part], *, exact: bool = True) -> BoundsFormula:
        """The sum of parts over values of bounds."""
        zero = self.polynomial(ix.Const(0))
        cases: list[Part] = [(self.space.context, zero)]
        for where, value in parts:
            refined: list[Part] = []
            for known, before in cases:
                both = known.intersect(where)
                if not both.is_empty():
                    refined.append((both, before + value))
                    known = known.subtract(where)
                if not known.is_empty():
                    refined.append((known, before))
            cases = refined
        cases = _without_special([(where, self.by_bounds(v, where)) for where, v in cases])
        return BoundsFormula(cases=tuple(cases), exact=exact)

    def by_bounds(self, value: simplify.Polynomial, where: isl.Set) -> simplify.Polynomial:
        """A polynomial with quotients in terms of bounds that are like them there: `tiles - 1`."""
        bounds = self.space.universe.bounds
        names = [b.name for b in bounds if b.value is not None and symbols(b.value) and not b.until]
        frame = self.space.frame

        def known(quotient: ix.Expr) -> ix.Expr | None:
            for name in names:
                gap = frame.value(ix.sub(quotient, ix.Sym(name)), frame.coordinates(()))
                gaps = isl.Map.from_pw_aff(gap).intersect_params(where).range()
                least, most = gaps.dim_min_val(0), gaps.dim_max_val(0)
                if least.is_int() and least.eq(most):
                    return ix.add(ix.Sym(name), ix.Const(integer(least)))
            return None

        return simplify.with_quotients(value, known) if names else value

    def added(self, formulas: Sequence[BoundsFormula]) -> BoundsFormula:
        """The sum of formulas."""
        parts = [part for formula in formulas for part in formula.cases]
        return self.joined(parts, exact=all(f.exact for f in formulas))

    def aligned(
        self, formulas: Sequence[BoundsFormula]
    ) -> list[tuple[ix.Expr, tuple[simplify.Polynomial, ...]]]:
        """All formulas for each case, with its condition."""
        rows: list[tuple[isl.Set, tuple[simplify.Polynomial, ...]]] = [(self.space.context, ())]
        for formula in formulas:
            rows = [
                (both, (*values, value))
                for where, values in rows
                for other, value in formula.cases
                if not (both := where.intersect(other)).is_empty()
            ]
        return [(self.condition(w), tuple(_at_numbers(v, w) for v in vs)) for w, vs in rows]

    def condition(self, where: isl.Set) -> ix.Expr:
        """A set of values of bounds as a condition."""
        condition = recover.condition(where, self.space.context)
        return self.space.simplify(condition, Domain(()))


def _along(points: isl.Set, dims: tuple[str, ...], name: str) -> isl.Map:
    """From the other dimensions of points to the values of one of them."""
    at = dims.index(name)
    line = isl.Map.from_range(points)
    line = line.move_dims(D.in_, 0, D.out, 0, at)
    line = line.move_dims(D.in_, at, D.out, 1, len(dims) - at - 1)
    for k, other in enumerate(d for d in dims if d != name):
        line = line.set_dim_name(D.in_, k, other)
    return line


def _progressions(line: isl.Map) -> Iterator[tuple[isl.Set, ix.Expr, ix.Expr, int]]:
    """The least and the greatest value and the step between values.

    In each part of the points where each of them is one function.
    """
    step = integer(line.range().get_stride(0))
    shift = isl.Map.read_from_str(line.get_ctx(), f"{{ [x] -> [x + {step}] }}")
    below = isl.Map.lex_ge(line.get_space().range())
    if not line.apply_range(shift).intersect(line.apply_range(below)).is_subset(line):
        raise Unsummable
    lows = line.lexmin_pw_multi_aff().get_pw_aff(0).get_pieces()
    highs = line.lexmax_pw_multi_aff().get_pw_aff(0).get_pieces()
    for where, low in lows:
        for other, high in highs:
            both = where.intersect(other)
            if not both.is_empty():
                yield both, recover.affine(low), recover.affine(high), step


def _without_special(cases: list[Part]) -> list[Part]:
    """Cases joined where the polynomial of one is right in the other as well."""
    merged: list[Part] = []
    for where, value in sorted(cases, key=lambda case: len(_fixed(case[0]))):
        fixed = _fixed(where)
        for k, (other, general) in enumerate(merged):
            if simplify.with_values(value - general, fixed) == 0:
                merged[k] = other.union(where).coalesce(), general
                break
        else:
            merged.append((where, simplify.with_values(value, {})))
    return merged


def _at_numbers(value: simplify.Polynomial, where: isl.Set) -> simplify.Polynomial:
    """A polynomial with numbers for the bounds that have a single value there."""
    fixed = _fixed(where)
    return simplify.with_values(value, {n: e for n, e in fixed.items() if isinstance(e, ix.Const)})


def _fixed(where: isl.Set) -> dict[str, ix.Expr]:
    """Bounds that an equality determines by others."""
    values: dict[str, ix.Expr] = {}
    for c in where.affine_hull().get_constraints():
        count = c.dim(D.param)
        factors = [integer(c.get_coefficient_val(D.param, k)) for k in range(count)]
        free = [k for k in range(count) if abs(factors[k]) == 1]
        if not c.is_equality() or not free or c.dim(D.div):
            continue
        names = [c.get_dim_name(D.param, k) for k in range(count)]
        rest = ix.add(
            ix.Const(integer(c.get_constant_val())),
            *(
                ix.mul(ix.Const(f), ix.Sym(n))
                for k, (f, n) in enumerate(zip(factors, names, strict=True))
                if k != free[0]
            ),
        )
        values[names[free[0]]] = ix.mul(ix.Const(-factors[free[0]]), substitute(rest, values))
    return values


def _holds(where: isl.Set, values: Mapping[str, int]) -> bool:
    for k in range(where.dim(D.param)):
        value = isl.Val.read_from_str(where.get_ctx(), str(values[where.get_dim_name(D.param, k)]))
        where = where.fix_val(D.param, k, value)
    return not where.is_empty()
