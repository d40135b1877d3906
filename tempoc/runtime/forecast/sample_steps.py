"""Samples the steps of a loop for the dry run: a subset with the same peak of memory.

Few of a million steps differ: the first ones, until all cells of a rotation exist, the last ones,
and those around a step at which a condition changes or stores grow. Whole rotations are left out,
since a step reads and takes away what another one wrote, some steps before. All steps are taken
where this cannot be decided: if each step has cells of its own, or a condition is not affine in the
loop variable.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from tempoc.program.analysis.traversal import statements_in, variables
from tempoc.program.nodes import nodes as prog
from tempoc.runtime.device.capacity import CapacityGroup, group_of
from tempoc.runtime.device.stores import Layout
from tempoc.runtime.walk.values import Function, Values, Variables, function
from tempoc.symbolic import expr as ix
from tempoc.symbolic.walk import children, symbols

_AROUND = 3
"""Steps to take before and after one at which something changes."""


@dataclass(frozen=True, slots=True)
class LoopSample:
    """The steps of a loop to sample: the first ones, the last ones, and those around changes.

    A change is where one of the ``marks`` is 0, and where a group of stores (by number) needs more
    ``rows`` than one of its sizes. Of the steps between them, a multiple of the ``period`` is left
    out: after so many, cells and conditions repeat.
    """

    period: int
    marks: tuple[Function, ...]
    rows: tuple[tuple[int, Function], ...]

    def steps(
        self, steps: range, at: Callable[[int], Variables], sizes: Sequence[Sequence[int]]
    ) -> Sequence[int]:
        """The sampled steps of a range; ``at`` gives the variables at a step.

        Marks are affine: their roots follow from their values at the first two steps.
        """
        first = _AROUND + self.period
        if len(steps) <= 2 * (first + _AROUND):
            return steps
        sampled = {*range(first), *range(len(steps) - _AROUND, len(steps))}
        start, second = at(steps[0]), at(steps[1])
        lines = [(mark(start), mark(second)) for mark in self.marks]
        for group, rows in self.rows:
            needs = rows(start), rows(second)
            lines += [(needs[0] - size, needs[1] - size) for size in sizes[group]]
        for first_value, second_value in lines:
            if first_value != second_value:
                root = -first_value // (second_value - first_value)
                sampled |= {*range(root - _AROUND, root + _AROUND + 1)}
        places = sorted(k for k in sampled if 0 <= k < len(steps))
        for k, following in itertools.pairwise(places):
            sampled |= {*range(k + 1, k + 1 + (following - k - 1) % self.period)}
        return [steps[k] for k in sorted(sampled) if 0 <= k < len(steps)]


class _Unpredictable(Exception):
    """The steps cannot be sampled: all have to be taken."""


def sample_of(
    loop: prog.Loop,
    layouts: Mapping[str, Layout],
    groups: Sequence[CapacityGroup],
    values: Values,
    most: int,
) -> LoopSample | None:
    """The steps of a loop to sample; ``None`` if each step may differ.

    Conditions with more than so many cases of ``min`` and ``max`` are not analyzed.
    """
    var, period = loop.var, 1
    marks: dict[ix.Expr, None] = {}
    rows: dict[tuple[int, ix.Expr], None] = {}
    inner = variables(loop.body)
    try:
        for part in statements_in(loop.body):
            for cell in _cells(part):
                period = math.lcm(period, *_rotation(cell, layouts[cell.store], var))
            for e in _conditions(part):
                own = _period(e, var)
                period = math.lcm(period, own or 1)
                marks |= {} if own else dict.fromkeys(_marks(e, var, inner, most))
            for need in _needs(part):
                number = groups.index(group_of(need))
                rows |= {(number, e): None for e in need.rows if _is_affine(e, var, inner)}
    except _Unpredictable:
        return None
    return LoopSample(
        period,
        tuple(function(values.of(e)) for e in marks),
        tuple((number, function(values.of(e))) for number, e in rows),
    )


def _cells(s: prog.ProgramStatement) -> Iterator[prog.Cell]:
    match s:
        case prog.Call(args=args, results=results) | prog.Host(args=args, results=results):
            yield from (*args, *results)
        case prog.Free(cells=cells) | prog.Load(cells=cells) | prog.Evict(cells=cells):
            yield from cells
        case _:
            pass


def _rotation(cell: prog.Cell, store: Layout, var: str) -> list[int]:
    """The moduli of a store through whose cells a loop rotates, one for each such key."""
    turning = [(e, m) for e, m in zip(cell.key, store.moduli, strict=True) if var in symbols(e)]
    if any(not modulo or (modulo > 1 and _degree(e, var) > 1) for e, modulo in turning):
        raise _Unpredictable
    return [modulo for _, modulo in turning]


def _conditions(s: prog.ProgramStatement) -> Iterator[ix.Expr]:
    match s:
        case prog.Guard(condition=condition):
            yield condition
        case prog.Loop(lower=lower, upper=upper):
            yield ix.compare("<", lower, upper)
        case _:
            yield from (cell.when for cell in _cells(s) if cell.when is not None)


def _needs(s: prog.ProgramStatement) -> tuple[prog.CapacityNeed, ...]:
    match s:
        case (
            prog.Call(needs=needs)
            | prog.Region(needs=needs)
            | prog.Effect(call=prog.Call(needs=needs))
        ):
            return needs
        case _:
            return ()


def _period(e: ix.Expr, var: str) -> int | None:
    """The period of a condition (50 for ``t % 50 == 0``); ``None`` if it has none."""
    if var not in symbols(e):
        return 1
    if isinstance(e, ix.Sym):
        return None
    if isinstance(e, ix.Mod) and _degree(e.arg, var) < 2:
        return e.divisor
    parts = [_period(a, var) for a in children(e)]
    return None if None in parts else math.lcm(*(p for p in parts if p is not None))


def _marks(e: ix.Expr, var: str, inner: Sequence[str], most: int) -> Iterator[ix.Expr]:
    """Affine expressions that are 0 where a condition changes along a loop."""
    if var not in symbols(e):
        return
    match e:
        case ix.Relation(left=left, right=right):
            for gap in _cases(ix.sub(left, right), most):
                if _is_affine(gap, var, inner):
                    yield gap
        case ix.Conjunction() | ix.Disjunction() | ix.Negation():
            for part in children(e):
                yield from _marks(part, var, inner, most)
        case _:
            raise _Unpredictable


def _cases(e: ix.Expr, most: int) -> tuple[ix.Expr, ...]:
    """The cases of an expression, without ``min`` and ``max``; its roots are among theirs.

    Raises `_Unpredictable` for ``most`` such choices in a sum.
    """
    match e:
        case ix.IndexMin(args=args) | ix.IndexMax(args=args):
            return tuple(case for a in args for case in _cases(a, most))
        case ix.IndexSum(terms=terms, const=k):
            parts = [_cases(x, most) for _, x in terms]
            if math.prod(map(len, parts)) > most:
                raise _Unpredictable
            factors = [c for c, _ in terms]
            return tuple(
                ix.linear(zip(factors, case, strict=True), k) for case in itertools.product(*parts)
            )
        case _:
            return (e,)


def _is_affine(e: ix.Expr, var: str, inner: Sequence[str]) -> bool:
    """Whether an expression depends on the variable, and is affine in it.

    Raises `_Unpredictable` if it is not affine, or depends on an inner loop as well.
    """
    if var not in symbols(e):
        return False
    if _degree(e, var) > 1 or any(v in symbols(e) for v in inner):
        raise _Unpredictable
    return True


def _degree(e: ix.Expr, var: str) -> int:
    """The degree of a polynomial in a variable; 2 for anything else that depends on it."""
    match e:
        case ix.Sym(name=name):
            return int(name == var)
        case ix.IndexSum(terms=terms):
            return max(_degree(x, var) for _, x in terms)
        case ix.IndexProduct(factors=factors):
            return sum(_degree(f, var) for f in factors)
        case _:
            return 2 * (var in symbols(e))
