"""From isl's loops to ours: variables are called after the dimensions they scan.

isl counts with `c0`, `c1`, from any integer upwards, and writes points in terms of these. Here each
loop gets the variable that makes the points of its statements short: the point of the statement
that is furthest ahead *is* the variable (`g` at `t-7` beside `x` at `t`), and a loop that runs
through a dimension backwards runs backwards (`range(T-1, -1, -1)`).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

from tempoc.poly.scheduling.loop_nest import (
    Let,
    LoopNest,
    NestLeaf,
    NestLoop,
    NestSequence,
    When,
    binding,
    variable,
)
from tempoc.schedule.clean import EMPTY, guard, loop, sequence
from tempoc.schedule.tree import Execute, ScheduleTree
from tempoc.symbolic.comparisons import tidy
from tempoc.symbolic.domain import Domain, Universe
from tempoc.symbolic.expr import Expr, Sym, interval, mul, negation, sub
from tempoc.symbolic.walk import substitute, symbols


@dataclass(frozen=True, slots=True, kw_only=True)
class _DimScan:
    """A loop variable `c` scans a dimension: `dim = sign * c + rest`."""

    dim: str
    sign: int
    rest: Expr


def lower(nest: LoopNest, tasks: Mapping[str, Domain], universe: Universe) -> ScheduleTree:
    """The tree of a nest over the dimensions of its tasks."""
    return _Lowering(tasks, universe).tree(_without_lets(nest, {}), {}, ())


def _without_lets(nest: LoopNest, env: Mapping[str, Expr]) -> LoopNest:
    match nest:
        case NestSequence(items=items):
            return NestSequence(items=tuple(_without_lets(item, env) for item in items))
        case Let(var=var, value=value, body=body):
            return _without_lets(body, {**env, **binding(var, substitute(value, env))})
        case NestLoop():
            low, high = substitute(nest.lower, env), substitute(nest.upper, env)
            return replace(nest, lower=low, upper=high, body=_without_lets(nest.body, env))
        case When(condition=c, body=body, otherwise=other):
            return When(
                condition=substitute(c, env),
                body=_without_lets(body, env),
                otherwise=None if other is None else _without_lets(other, env),
            )
        case NestLeaf(task=task, point=point):
            return NestLeaf(task=task, point=tuple(substitute(p, env) for p in point))


def _leaves(nest: LoopNest) -> Iterator[NestLeaf]:
    match nest:
        case NestSequence(items=items):
            for item in items:
                yield from _leaves(item)
        case NestLoop(body=body) | Let(body=body):
            yield from _leaves(body)
        case When(body=body, otherwise=other):
            yield from _leaves(body)
            if other is not None:
                yield from _leaves(other)
        case NestLeaf():
            yield nest


class _Lowering:
    """The walk: `env` gives isl's variables in ours, `taken` the variables of enclosing loops."""

    def __init__(self, tasks: Mapping[str, Domain], universe: Universe) -> None:
        self.tasks = tasks
        # Bounds are at least 1: `T-1` is not negative once `T` stands for `T+1`.
        self.least = {b.name: Sym(b.name) + 1 for b in universe.bounds}

    def tree(self, nest: LoopNest, env: Mapping[str, Expr], taken: tuple[str, ...]) -> ScheduleTree:
        """A part of the nest as a tree."""
        match nest:
            case NestSequence(items=items):
                return sequence(self.tree(item, env, taken) for item in items)
            case When(condition=c, body=body, otherwise=other):
                here = tidy(substitute(c, env), taken)
                parts = [guard(here, self.tree(body, env, taken))]
                if other is not None:
                    parts.append(guard(tidy(negation(here), taken), self.tree(other, env, taken)))
                return sequence(parts)
            case NestLoop():
                return self.loop(nest, env, taken)
            case NestLeaf(task=task, point=point):
                return Execute(statement=task, point=tuple(substitute(p, env) for p in point))
            case Let():
                return EMPTY

    def loop(self, nest: NestLoop, env: Mapping[str, Expr], taken: tuple[str, ...]) -> ScheduleTree:
        """A loop with its own variable."""
        low, high = substitute(nest.lower, env), substitute(nest.upper, env)
        scan = self.scan(nest, env, low, high)
        var = _fresh(scan.dim, taken)
        back = mul(Sym(var) - scan.rest, Sym("") * 0 + scan.sign)
        inner = {**env, **binding(nest.var, back)}
        body = self.tree(nest.body, inner, (*taken, var))
        first, end = (mul(e, Sym("") * 0 + scan.sign) + scan.rest for e in (low, high))
        return loop(var, first, end, nest.step * scan.sign, body)

    def scan(self, nest: NestLoop, env: Mapping[str, Expr], low: Expr, high: Expr) -> _DimScan:
        """What the loop's variable shall be; it must never be negative."""
        found = list(self.scans(nest, env))
        for scan in found:
            ahead = (sub(scan.rest, other.rest) for other in found if other.sign == scan.sign)
            if all(self.natural(gap) for gap in ahead):
                start = low + scan.rest if scan.sign > 0 else scan.rest - high + 1
                if self.natural(start):
                    return scan
        return _DimScan(dim=found[0].dim if found else "i", sign=1, rest=low * -1)

    def scans(self, nest: NestLoop, env: Mapping[str, Expr]) -> Iterator[_DimScan]:
        """The dimensions that the variable scans; forward ones first, then in order."""
        c, backward = variable(nest.var), list[_DimScan]()
        seen: dict[tuple[str, Expr], None] = {}
        for leaf in _leaves(nest.body):
            seen.update(dict.fromkeys(zip(self.tasks[leaf.task].dims, leaf.point, strict=True)))
        for dim, p in seen:
            point = substitute(p, env)
            for sign in (1, -1):
                rest = sub(point, c * sign)
                if not any(n[-1] in "+-" for n in symbols(rest)):
                    scan = _DimScan(dim=dim, sign=sign, rest=rest)
                    if sign > 0:
                        yield scan
                    else:
                        backward.append(scan)
        yield from backward

    def natural(self, e: Expr) -> bool:
        """Whether the value is never negative, as far as we see."""
        least = interval(substitute(e, self.least))[0]
        return least is not None and least >= 0


def _fresh(dim: str, taken: tuple[str, ...]) -> str:
    names = (dim if k == 1 else f"{dim}{k}" for k in range(1, len(taken) + 2))
    return next(n for n in names if n not in taken)
