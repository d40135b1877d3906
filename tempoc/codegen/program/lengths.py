"""Bounds that are found at run time: sizes use the largest length, conditions the actual one.

In schedules and memory plans such a bound stands for its largest length. In a program the two have
different names: `T` is the length, as far as it is known, `T_max` the largest one. Loops run to the
largest length, and each statement is guarded by the condition that its point exists. That is
correct because a statement is scheduled after everything that decides whether it runs; the limits
of loops only save the steps beyond the end.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import fields, replace
from typing import Any

from tempoc.memory.plan_types import CapacityUse, MemoryPlan, MemoryRelease
from tempoc.program.nodes import nodes as prog
from tempoc.program.nodes.bounds import length
from tempoc.program.nodes.buffers import Buffer, BufferAxis, Key
from tempoc.schedule.clean import bind
from tempoc.schedule.tree import (
    Execute,
    ScheduleTree,
    TreeGuard,
    TreeLoop,
    TreeSequence,
    executed,
    loops,
)
from tempoc.sdg.statements.statements import Statement, Statements
from tempoc.symbolic import expr as ix
from tempoc.symbolic.domain import Universe, conjuncts
from tempoc.symbolic.walk import substitute, symbols

LengthNames = Mapping[str, ix.Expr]


def with_largest(plan: MemoryPlan, largest: LengthNames) -> MemoryPlan:
    """The plan with the names of largest lengths in its sizes."""
    renamed: MemoryPlan = _renamed(plan, largest) if largest else plan
    return renamed


def _renamed(part: Any, largest: LengthNames) -> Any:
    """A part of a plan with other names in its expressions."""
    match part:
        case ix.Expr():
            return substitute(part, largest)
        case tuple():
            return tuple(_renamed(item, largest) for item in part)
        case Mapping():
            return {name: _renamed(item, largest) for name, item in part.items()}
        case MemoryPlan() | Buffer() | Key() | BufferAxis() | MemoryRelease() | CapacityUse():
            names = (f.name for f in fields(part))
            return replace(part, **{n: _renamed(getattr(part, n), largest) for n in names})
        case _:
            return part


def loops_with_largest(tree: ScheduleTree, largest: LengthNames) -> ScheduleTree:
    """The tree with the names of largest lengths in its loop bounds."""
    return bind(tree, dict(largest)) if largest else tree


# ---------------------------------------------------------------- guards


def presence_condition(statement: Statement, universe: Universe) -> ix.Expr:
    """The condition under which a point of a statement exists, as far as it depends on lengths."""
    lengths = universe.lengths
    if not lengths:
        return ix.TRUE
    tests = [p for p in conjuncts(statement.domain.where) if any(n in lengths for n in symbols(p))]
    for d in statement.domain.dims:
        bound = universe.dim(d).bound
        box = ix.compare("<", ix.Sym(d), ix.Sym(bound))
        tighter = any(
            p == ix.compare("<", ix.Sym(d), ix.Sym(bound) - k) for p in tests for k in range(1, 3)
        )
        if bound in lengths and not tighter:
            tests.insert(0, box)
    return ix.conjunction(*tests)


def at_point(e: ix.Expr, universe: Universe, point: Mapping[str, ix.Expr]) -> ix.Expr:
    """An expression whose lengths are those at a point: ``T`` becomes ``T[i]``."""
    values = {b.name: None if b.until else b.value for b in universe.bounds}
    at: dict[str, ix.Expr] = {}
    for name in symbols(e):
        if name in universe.lengths:
            value = values.get(name)
            outer = () if value is not None else tuple(point[d] for d in universe.outer(name))
            at[name] = length(name, outer) if value is None else at_point(value, universe, point)
    return substitute(e, at) if at else e


def uncertain(condition: ix.Expr, universe: Universe, point: Mapping[str, ix.Expr]) -> ix.Expr:
    """A condition at a point without what holds as lengths are at least 1: that there is a first
    step."""
    known = (b.name for b in universe.ended if all(d in point for d in universe.outer(b.name)))
    lengths = (at_point(ix.Sym(name), universe, point) for name in known)
    certain = {ix.compare("<", ix.ZERO, e) for e in lengths}
    return ix.conjunction(*(p for p in conjuncts(condition) if p not in certain))


def with_points(effect: prog.Effect, universe: Universe, dims: tuple[str, ...]) -> prog.Effect:
    """An effect whose lengths are those at the coordinates of its point."""
    point: dict[str, ix.Expr] = {d: ix.Sym(d) for d in dims}

    def moved(e: ix.Expr | prog.OutputSpan) -> ix.Expr | prog.OutputSpan:
        if isinstance(e, prog.OutputSpan):
            ends = (at_point(x, universe, point) for x in (e.lower, e.upper))
            return prog.OutputSpan(lower=next(ends), upper=next(ends), step=e.step)
        return at_point(e, universe, point)

    places = (
        replace(
            p,
            entries=tuple((d, moved(e)) for d, e in p.entries),
            shape=tuple(at_point(e, universe, point) for e in p.shape),
        )
        for p in effect.places
    )
    return replace(effect, places=tuple(places))


# ---------------------------------------------------------------- leaving loops


def loop_limit(loop: TreeLoop, statements: Statements, universe: Universe) -> ix.Expr | None:
    """The value of the loop variable from which on no statement in the loop has points.

    A statement that runs at one step alone, such as the first, does so before the limit of others;
    a length is at least 1.
    """
    if not universe.lengths or abs(loop.step) != 1:
        return None
    inner = [x.var for x in loops(loop)]
    domains = {s.name: s.domain for s in statements.statements}
    limits: dict[ix.Expr, None] = {}
    for execute, only in _with_step(loop.body, loop.var):
        dims = domains[execute.statement].dims
        at = dict(zip(dims, execute.point, strict=True))
        ends = [
            _end(d, at[d], loop.var, universe, {n: at.get(n) for n in universe.outer(d)}, inner)
            for d in dims
            if universe.dim(d).bound in universe.lengths
        ]
        loop_ends = [e for e in ends if e is not None]
        if not loop_ends and only is None:
            return None
        if loop_ends:
            limits[loop_ends[0]] = None
        elif only:
            limits[ix.Const(only + 1)] = None
    return ix.maximum(*limits) if any(symbols(e) for e in limits) else None


def _with_step(
    tree: ScheduleTree, var: str, only: int | None = None
) -> Iterator[tuple[Execute, int | None]]:
    """What a tree executes, with the step of a loop outside at which alone it does so, from 0."""
    match tree:
        case TreeSequence(items=items):
            for item in items:
                yield from _with_step(item, var, only)
        case TreeLoop(body=body):
            yield from _with_step(body, var, only)
        case TreeGuard(condition=condition, body=body):
            for part in conjuncts(condition):
                if isinstance(part, ix.Relation) and (part.op, part.left) == ("==", ix.Sym(var)):
                    only = part.right.value if isinstance(part.right, ix.Const) else only
            yield from _with_step(body, var, only)
        case Execute():
            yield tree, only


def runs_to_end(loop: TreeLoop, limit: ix.Expr, statements: Statements, universe: Universe) -> bool:
    """Whether a step that has begun runs to its end: no statement in it ends an earlier step.

    ``limit`` is the one of the loop; other lengths than those in it do not end the loop.
    """
    names = symbols(limit)
    for execute in executed(loop.body):
        s = statements.by_name[execute.statement]
        for bound in (b for b in s.ends if b in names):
            outer = universe.outer(bound)
            at = s.domain.at(execute.point)
            step = next(d for d in s.domain.dims if d not in outer)
            if at[step] != ix.Sym(loop.var):
                return False
    return True


def _end(
    dim: str,
    point: ix.Expr,
    var: str,
    universe: Universe,
    outer: Mapping[str, ix.Expr | None],
    inner: list[str],
) -> ix.Expr | None:
    """The limit of a loop for a statement that runs at ``var + c``: the length, less ``c``."""
    gap = ix.sub(point, ix.Sym(var))
    moving = any(e is None or any(n in inner for n in symbols(e)) for e in outer.values())
    if not isinstance(gap, ix.Const) or moving:
        return None
    end = ix.sub(ix.Sym(universe.dim(dim).bound), gap)
    return at_point(end, universe, {n: e for n, e in outer.items() if e is not None})
