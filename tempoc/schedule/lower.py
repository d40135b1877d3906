"""Lowers isl's loop nest to a schedule tree whose loop variables are dimensions.

isl's variables `c0`, `c1` start at any integer, count upwards, and points are affine in them. Here
a loop variable equals the index of the statement that is furthest ahead (`g` at `t-7` beside `x` at
`t`), and a loop that scans a dimension backwards counts down (`range(T-1, -1, -1)`).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

from tempoc.poly.scheduling import loop_nest
from tempoc.schedule.clean import EMPTY, guard, loop, sequence
from tempoc.schedule.tree import Execute, ScheduleTree
from tempoc.symbolic import expr as ix
from tempoc.symbolic.comparisons import solve_comparisons
from tempoc.symbolic.domain import Domain, Universe
from tempoc.symbolic.walk import substitute, symbols


@dataclass(frozen=True, slots=True, kw_only=True)
class _DimScan:
    """A loop variable `c` scans a dimension: `dim = sign * c + offset`."""

    dim: str
    sign: int
    offset: ix.Expr


def lower(
    nest: loop_nest.LoopNest, tasks: Mapping[str, Domain], universe: Universe
) -> ScheduleTree:
    """The tree of a nest over the dimensions of its tasks."""
    return _Lowering(tasks, universe).tree(_without_lets(nest, {}), {}, ())


def _without_lets(nest: loop_nest.LoopNest, env: Mapping[str, ix.Expr]) -> loop_nest.LoopNest:
    match nest:
        case loop_nest.NestSequence(items=items):
            return loop_nest.NestSequence(items=tuple(_without_lets(item, env) for item in items))
        case loop_nest.Let(var=var, value=value, body=body):
            return _without_lets(body, {**env, **loop_nest.binding(var, substitute(value, env))})
        case loop_nest.NestLoop():
            low, high = substitute(nest.lower, env), substitute(nest.upper, env)
            return replace(nest, lower=low, upper=high, body=_without_lets(nest.body, env))
        case loop_nest.When(condition=c, body=body, otherwise=other):
            return loop_nest.When(
                condition=substitute(c, env),
                body=_without_lets(body, env),
                otherwise=None if other is None else _without_lets(other, env),
            )
        case loop_nest.NestLeaf(task=task, point=point):
            return loop_nest.NestLeaf(task=task, point=tuple(substitute(p, env) for p in point))


def _leaves(nest: loop_nest.LoopNest) -> Iterator[loop_nest.NestLeaf]:
    match nest:
        case loop_nest.NestSequence(items=items):
            for item in items:
                yield from _leaves(item)
        case loop_nest.NestLoop(body=body) | loop_nest.Let(body=body):
            yield from _leaves(body)
        case loop_nest.When(body=body, otherwise=other):
            yield from _leaves(body)
            if other is not None:
                yield from _leaves(other)
        case loop_nest.NestLeaf():
            yield nest


class _Lowering:
    """The lowering: `env` maps isl's variables to ours, `taken` are those of enclosing loops."""

    def __init__(self, tasks: Mapping[str, Domain], universe: Universe) -> None:
        self.tasks = tasks
        # Bounds are at least 1: `T-1` is not negative once `T` stands for `T+1`.
        self.least = {b.name: ix.Sym(b.name) + 1 for b in universe.bounds}

    def tree(
        self, nest: loop_nest.LoopNest, env: Mapping[str, ix.Expr], taken: tuple[str, ...]
    ) -> ScheduleTree:
        """The tree of a subtree of the nest."""
        match nest:
            case loop_nest.NestSequence(items=items):
                return sequence(self.tree(item, env, taken) for item in items)
            case loop_nest.When(condition=c, body=body, otherwise=other):
                guard_condition = solve_comparisons(substitute(c, env), taken)
                parts = [guard(guard_condition, self.tree(body, env, taken))]
                if other is not None:
                    parts.append(
                        guard(
                            solve_comparisons(ix.negation(guard_condition), taken),
                            self.tree(other, env, taken),
                        )
                    )
                return sequence(parts)
            case loop_nest.NestLoop():
                return self.loop(nest, env, taken)
            case loop_nest.NestLeaf(task=task, point=point):
                return Execute(statement=task, point=tuple(substitute(p, env) for p in point))
            case loop_nest.Let():
                return EMPTY

    def loop(
        self, nest: loop_nest.NestLoop, env: Mapping[str, ix.Expr], taken: tuple[str, ...]
    ) -> ScheduleTree:
        """The loop over the dimension that it scans."""
        low, high = substitute(nest.lower, env), substitute(nest.upper, env)
        scan = self.scan(nest, env, low, high)
        var = _fresh(scan.dim, taken)
        inverse = ix.mul(ix.Sym(var) - scan.offset, ix.Sym("") * 0 + scan.sign)
        inner = {**env, **loop_nest.binding(nest.var, inverse)}
        body = self.tree(nest.body, inner, (*taken, var))
        first, end = (ix.mul(e, ix.Sym("") * 0 + scan.sign) + scan.offset for e in (low, high))
        return loop(var, first, end, nest.step * scan.sign, body)

    def scan(
        self, nest: loop_nest.NestLoop, env: Mapping[str, ix.Expr], low: ix.Expr, high: ix.Expr
    ) -> _DimScan:
        """The change of the loop variable; the new one must never be negative."""
        candidates = list(self.scans(nest, env))
        for scan in candidates:
            gaps = (
                ix.sub(scan.offset, other.offset) for other in candidates if other.sign == scan.sign
            )
            if all(self.natural(gap) for gap in gaps):
                start = low + scan.offset if scan.sign > 0 else scan.offset - high + 1
                if self.natural(start):
                    return scan
        return _DimScan(dim=candidates[0].dim if candidates else "i", sign=1, offset=low * -1)

    def scans(self, nest: loop_nest.NestLoop, env: Mapping[str, ix.Expr]) -> Iterator[_DimScan]:
        """The dimensions that the variable scans; forward ones first, then in order."""
        c, backward = loop_nest.variable(nest.var), list[_DimScan]()
        dim_points: dict[tuple[str, ix.Expr], None] = {}
        for leaf in _leaves(nest.body):
            dim_points.update(
                dict.fromkeys(zip(self.tasks[leaf.task].dims, leaf.point, strict=True))
            )
        for dim, p in dim_points:
            point = substitute(p, env)
            for sign in (1, -1):
                offset = ix.sub(point, c * sign)
                if not any(n[-1] in "+-" for n in symbols(offset)):
                    scan = _DimScan(dim=dim, sign=sign, offset=offset)
                    if sign > 0:
                        yield scan
                    else:
                        backward.append(scan)
        yield from backward

    def natural(self, e: ix.Expr) -> bool:
        """Whether interval arithmetic proves that the value is not negative."""
        least = ix.interval(substitute(e, self.least))[0]
        return least is not None and least >= 0


def _fresh(dim: str, taken: tuple[str, ...]) -> str:
    names = (dim if k == 1 else f"{dim}{k}" for k in range(1, len(taken) + 2))
    return next(n for n in names if n not in taken)
