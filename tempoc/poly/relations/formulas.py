"""Satisfiability of formulas about integers, for any values of the bounds.

A formula is a conjunction of conditions over variables and bounds; isl decides whether integers
satisfy it. isl's steps are counted and limited: a query that takes too many is given up, so that
every query ends, and whether it is given up does not depend on the machine.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache

from tempoc.base.effort import EFFORT
from tempoc.poly.isl import D, isl
from tempoc.poly.relations.sets import IslFrame
from tempoc.symbolic import expr as ix
from tempoc.symbolic.domain import conjuncts
from tempoc.symbolic.interned import MEMORY
from tempoc.symbolic.walk import is_affine, symbols


class StepLimitExceeded(Exception):
    """The query took too many steps, or is about products of symbols."""


@dataclass(frozen=True, slots=True)
class Formula:
    """A conjunction of ``parts``; variables are not negative, except those in ``free``."""

    parts: tuple[ix.Expr, ...]
    free: tuple[str, ...] = ()

    def __and__(self, other: Formula) -> Formula:
        """The conjunction of both."""
        return Formula(self.parts + other.parts, self.free + other.free)

    def having(self, *parts: ix.Expr) -> Formula:
        """The formula with further conjuncts."""
        return Formula(self.parts + parts, self.free)


class Formulas:
    """Decides formulas; all ``bounds`` are at least 1, and satisfy ``facts``."""

    def __init__(
        self, bounds: Sequence[str], facts: Iterable[ix.Expr], steps: int = EFFORT.query_steps
    ) -> None:
        self.frame = IslFrame(tuple(bounds))
        self.facts = ix.conjunction(*facts)
        self.steps = steps
        self.asked = 0
        self.hard = 0
        self._answers: dict[tuple[Formula, ...], bool | None] = {}
        at = self.frame.coordinates(())
        about = self.frame.condition(self.facts, at).params()
        for k in range(len(bounds)):
            about = about.lower_bound_val(D.param, k, self.frame.val(1))
        self._context = about

    def never(self, formula: Formula) -> bool:
        """Whether a formula is unsatisfiable; conditions with products are taken as true."""
        affine = _affine(formula)
        if ix.FALSE in affine.parts:
            return True
        return self._once((affine,), lambda: bool(self._set(affine).is_empty()))

    def covered(self, formula: Formula, cases: Sequence[Formula]) -> bool:
        """Whether, wherever a formula holds, one of some cases can be satisfied too.

        Cases have the variables of the formula and further ones, which are existentially
        quantified. A case with a product is taken as false.
        """
        affine = _affine(formula)
        if ix.FALSE in affine.parts:
            return True
        usable = tuple(
            c for c in cases if ix.FALSE not in c.parts and all(is_affine(p) for p in c.parts)
        )
        if not usable:
            return self.never(affine)
        return self._once((affine, *usable), lambda: self._is_covered(affine, usable))

    def contradict(self) -> bool:
        """Whether no values of the bounds are allowed, so that every formula is unsatisfiable."""
        return bool(self._context.is_empty())

    def _once(self, question: tuple[Formula, ...], answer: Callable[[], bool]) -> bool:
        if question not in self._answers:
            if self.asked >= EFFORT.queries or self.hard >= EFFORT.hard_queries:
                raise StepLimitExceeded
            self.asked += 1
            self._answers[question] = self.frame.limited(self.steps, answer)
            self.hard += self._answers[question] is None
        result = self._answers[question]
        if result is None:
            raise StepLimitExceeded
        return result

    def _is_covered(self, formula: Formula, cases: Sequence[Formula]) -> bool:
        uncovered, count = self._set(formula), len(self._variables(formula))
        for case in cases:
            if uncovered.is_empty():
                break
            both = formula & case
            names = self._variables(formula)
            names += tuple(n for n in self._variables(both) if n not in names)
            case_points = self._set(both, names)
            case_points = case_points.project_out(D.set, count, len(names) - count)
            for k, name in enumerate(names[:count]):
                case_points = case_points.set_dim_name(D.set, k, name)
            uncovered = uncovered.subtract(case_points)
        return bool(uncovered.is_empty())

    # ------------------------------------------------------------------ as isl sets

    def _variables(self, formula: Formula) -> tuple[str, ...]:
        names = (n for p in formula.parts for n in symbols(p))
        return tuple(dict.fromkeys(n for n in names if n not in self.frame.params))

    def _set(self, formula: Formula, names: tuple[str, ...] | None = None) -> isl.Set:
        at = self.frame.coordinates(self._variables(formula) if names is None else names)
        names = tuple(n for n in at.env if n not in self.frame.params)
        simple = isl.BasicSet.universe(at.space)
        local = isl.LocalSpace.from_space(at.space)
        where = {n: (D.param, k) for k, n in enumerate(self.frame.params)}
        where |= {n: (D.set, k) for k, n in enumerate(names)}
        free = dict.fromkeys(formula.free)
        for n in names:
            if n not in free:
                simple = simple.add_constraint(self._linear(local, where, ix.Sym(n), equal=False))
        others = []
        for part in dict.fromkeys(formula.parts):
            linear = _as_linear(part)
            if linear is None:
                others.append(part)
                continue
            for e, equal in linear:
                simple = simple.add_constraint(self._linear(local, where, e, equal=equal))
        result = isl.Set.from_basic_set(simple).intersect_params(self._context)
        for part in others:
            if result.is_empty():
                break
            result = result.intersect(self.frame.condition(part, at))
        return result

    def _linear(
        self,
        local: isl.LocalSpace,
        where: dict[str, tuple[isl.dim_type, int]],
        e: ix.Expr,
        *,
        equal: bool,
    ) -> isl.Constraint:
        """``e == 0`` or ``e >= 0``."""
        make = isl.Constraint.alloc_equality if equal else isl.Constraint.alloc_inequality
        row = make(local)
        terms, const = (e.terms, e.const) if isinstance(e, ix.IndexSum) else (((1, e),), 0)
        for c, x in terms:
            assert isinstance(x, ix.Sym)
            row = row.set_coefficient_val(*where[x.name], self.frame.val(c))
        return row.set_constant_val(self.frame.val(const))


def _affine(formula: Formula) -> Formula:
    """The formula without conditions that have products of symbols: a weaker one."""
    parts = dict.fromkeys(part for p in formula.parts for part in conjuncts(p))
    return Formula(tuple(p for p in parts if p != ix.TRUE and is_affine(p)), formula.free)


@lru_cache(MEMORY)
def _as_linear(part: ix.Expr) -> tuple[tuple[ix.Expr, bool], ...] | None:
    """Linear equations and inequalities ``e >= 0`` equivalent to a condition, if there are any."""
    if isinstance(part, ix.Conjunction):
        conjuncts = [_as_linear(p) for p in part.args]
        return None if None in conjuncts else tuple(e for some in conjuncts for e in some or ())
    if not isinstance(part, ix.Relation) or part.op == "!=":
        return None
    left, right = part.left, part.right
    if part.op in (">", ">="):
        left, right = right, left
    gap = ix.sub(right, left)
    if part.op in ("<", ">"):
        gap = gap - 1
    terms = gap.terms if isinstance(gap, ix.IndexSum) else ((1, gap),)
    if isinstance(gap, ix.Const) or not all(isinstance(x, ix.Sym) for _, x in terms):
        return None
    return ((gap, part.op == "=="),)
