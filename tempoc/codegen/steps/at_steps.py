"""What is known of steps of device loops: their conditions, and the statements at one step."""

from __future__ import annotations

from collections.abc import Container, Iterator, Mapping, Sequence
from dataclasses import is_dataclass, replace
from functools import lru_cache
from operator import is_
from typing import Any

from tempoc.base.members import field_names
from tempoc.codegen.regions.context import ProgramContext
from tempoc.codegen.regions.effects import most_steps, with_rows
from tempoc.codegen.regions.lengths import length_parameters
from tempoc.codegen.regions.loop_state import SharedArraysUnknown, arrays
from tempoc.program.analysis.traversal import calls, statements_in
from tempoc.program.nodes import nodes as prog
from tempoc.symbolic import expr as ix
from tempoc.symbolic.domain import conjuncts
from tempoc.symbolic.interned import MEMORY
from tempoc.symbolic.walk import evaluate, substitute, symbols

Items = tuple[prog.ProgramStatement, ...]
Conditions = tuple[ix.Expr, ...]
MOVED = (prog.Call, prog.Free, prog.Guard, prog.Loop, prog.Sequence)
"""What may stand in a device loop."""


def stays(loop: prog.Loop, outer: tuple[str, ...], context: ProgramContext) -> bool:
    """Whether a loop is on the device, and no reason is known to move it to the host.

    On the host nothing is there before it is made.
    """
    if loop.place == "host":
        return False
    names = {*context.bounds, *outer}
    try:
        arrays(loop, context.stores, context.fixed, names)
        length_parameters(loop, context, names)
    except SharedArraysUnknown:
        return False
    return True


def is_plain(s: prog.ProgramStatement, prints: bool = False) -> bool:
    """Whether a statement does nothing but what loops on the device do, and ends no length.

    It may print if ``prints`` says so.
    """
    parts = [*statements_in(s)]
    return all(
        isinstance(p, (*MOVED, prog.Effect) if prints else MOVED)
        and not (isinstance(p, prog.Loop) and (p.place == "host" or p.limit is not None))
        for p in parts
    ) and not any(call.endings for call in calls(s))


def collects(loop: prog.Loop, context: ProgramContext) -> bool:
    """Whether a loop is plain but for prints, of which the device collects the lines."""
    try:
        most_steps(with_rows(loop, context), context)
    except SharedArraysUnknown:
        return False
    return is_plain(loop, prints=True)


def may_be_empty(call: prog.Call, context: ProgramContext) -> bool:
    """Whether a call reads an array without elements if each bound is 1, or makes one of no points
    for a store that has elements then, or one of its own within its text.

    A number there may be something else than a size: then there is a condition for nothing.
    """
    least = {name: 1 if n is None else n for name, n in context.bounds.items()}

    def is_empty(e: ix.Expr) -> bool:
        return {*symbols(e)} <= {*least} and evaluate(e, least) < 1

    given, made = (
        [context.stores[cell.store] for cell in cells] for cells in (call.args, call.results)
    )
    stored = (e for store in given for e in (*(a.size for a in store.axes), *store.shape))
    sizes = (*stored, *context.numbers(call.kernel))
    ranges = context.kernels[call.kernel].vector
    empty = {r.dim for r in ranges if is_empty(ix.sub(r.upper, r.lower))}
    filled = (a for store in made for a in store.axes if a.dim in empty)
    return any(map(is_empty, sizes)) or any(not is_empty(a.size) for a in filled)


def items_of(s: prog.ProgramStatement) -> Items:
    """The statements of a sequence, or the one that there is."""
    return s.items if isinstance(s, prog.Sequence) else (s,)


@lru_cache(MEMORY)
def implies(condition: ix.Expr, gap: ix.Expr) -> bool:
    """Whether a number is at least 0, if a condition holds."""
    if ix.compare(">=", gap, ix.ZERO) == ix.TRUE:
        return True
    if not isinstance(condition, ix.Relation):
        return False
    less = _gaps(condition)
    return condition.op in less and (ix.compare(">=", gap, less[condition.op]) == ix.TRUE)


def is_wrong(condition: ix.Expr, known: Conditions) -> bool:
    """Whether the contrary of a condition follows from one of those that are known."""
    return is_known(ix.negation(condition), known)


def step_count(loop: prog.Loop) -> ix.Expr:
    """How many steps a loop by 1 or -1 has; negative where its ends have passed each other."""
    ends = (loop.upper, loop.lower) if loop.step > 0 else (loop.lower, loop.upper)
    return ix.sub(*ends)


def is_empty(loop: prog.Loop) -> ix.Expr:
    """The condition under which a loop has no steps."""
    return ix.compare(">=" if loop.step > 0 else "<=", loop.lower, loop.upper)


def fails_at_last(condition: ix.Expr, loop: prog.Loop) -> bool:
    """Whether a condition fails at the last step of a loop by 1 or -1, and at no other."""
    last = ix.sub(loop.upper, ix.Const(loop.step))
    inside = ix.compare("<" if loop.step > 0 else ">", ix.Sym(loop.var), last)
    fails = substitute(condition, {loop.var: last}) == ix.FALSE
    return fails and is_known(condition, (inside,))


def is_known(condition: ix.Expr, known: Conditions) -> bool:
    """Whether a condition follows from one of those that are known."""
    if condition == ix.TRUE or condition in known:
        return True
    if isinstance(condition, ix.Conjunction):
        return all(is_known(c, known) for c in condition.args)
    if not isinstance(condition, ix.Relation):
        return False
    gap = _gaps(condition).get(condition.op)
    return gap is not None and any(implies(c, gap) for c in (ix.TRUE, *known))


def sharpened(condition: ix.Expr, known: Conditions) -> ix.Expr:
    """An inequality as the comparison that it is where one side is known not to be the smaller.

    ``T != 2`` is ``T >= 3`` where ``T >= 2``. And ``(T - 1) % 5 == 4`` is ``T % 5 == 0``.
    """
    match condition:
        case ix.Relation(
            op="==",
            left=ix.Mod(arg=ix.IndexSum(const=c) as arg, divisor=n),
            right=ix.Const(value=r),
        ) if 0 <= r < n:
            return ix.compare("==", ix.mod(arg - c, n), ix.Const((r - c) % n))
    if not isinstance(condition, ix.Relation) or condition.op != "!=":
        return condition
    left, right = condition.left, condition.right
    if is_known(ix.compare(">=", left, right), known):
        return ix.compare(">=", left, ix.add(right, ix.ONE))
    if is_known(ix.compare("<=", left, right), known):
        return ix.compare(">=", right, ix.add(left, ix.ONE))
    return condition


def resolved(e: ix.Expr, known: Conditions) -> ix.Expr:
    """The argument that a least or a greatest one is known to be."""
    if not isinstance(e, ix.IndexMin | ix.IndexMax):
        return e
    op: ix.CompareOp = "<=" if isinstance(e, ix.IndexMin) else ">="
    best = (a for a in e.args if all(is_known(ix.compare(op, a, b), known) for b in e.args))
    return next(best, e)


def largest_gaps(conditions: Conditions, loops: Sequence[prog.Loop]) -> Iterator[ix.Expr]:
    """What conditions in steps of loops by 1 or -1 say of bounds alone; the outermost loop first.

    ``k >= 1`` of a step below ``K`` says that ``K >= 2``.
    """
    for condition in conditions:
        if not isinstance(condition, ix.Relation):
            continue
        difference = ix.sub(condition.left, condition.right)
        gap = _gaps(condition).get(condition.op)
        if condition.op == "!=" and _end(difference, loops, least=True) == ix.ZERO:
            gap = ix.sub(difference, ix.ONE)
        most = None if gap is None else _end(gap, loops, least=False)
        if most is not None:
            yield ix.compare(">=", most, ix.ZERO)


def hoisted_conditions(
    s: prog.ProgramStatement, bounds: Container[str], loops: tuple[prog.Loop, ...] = ()
) -> prog.ProgramStatement:
    """The tree with conditions on bounds around the branches of device loops that imply them.

    ::

        for i in range(0, I):                    for i in range(0, I):
            if i < I - 1:                            if I >= 2:
                if I >= 2:                               if i < I - 1:
                    d = gradient(w)           ->             d = gradient(w)
                if I >= 2:                                   w = update(w, d)
                    w = update(w, d)

    What a branch makes and reads is then known to be its own, so that the loop need not carry it.
    """
    match s:
        case prog.Sequence(items=items):
            return replace(s, items=tuple(hoisted_conditions(i, bounds, loops) for i in items))
        case prog.Loop(body=body):
            inner = (*loops, s) if loops or s.place == "device" else ()
            return replace(s, body=hoisted_conditions(body, bounds, inner))
        case prog.Guard(condition=condition, body=body):
            guard = replace(s, body=hoisted_conditions(body, bounds, loops))
            if not loops or all(name in bounds for name in symbols(condition)):
                return guard
            unit = [loop for loop in loops if abs(loop.step) == 1]
            sure = (*largest_gaps(conjuncts(condition), unit),)
            implied = dict.fromkeys(
                c
                for part in statements_in(guard.body)
                if isinstance(part, prog.Guard)
                for c in conjuncts(part.condition)
                if all(name in bounds for name in symbols(c)) and is_known(c, sure)
            )
            if not implied:
                return guard
            inside = replace(guard, body=_without_conditions(guard.body, implied))
            return prog.Guard(condition=ix.conjunction(*implied), body=inside)
        case _:
            return s


def _without_conditions(
    s: prog.ProgramStatement, known: Container[ix.Expr]
) -> prog.ProgramStatement:
    """A statement where these conditions hold."""
    match s:
        case prog.Sequence(items=items):
            return replace(s, items=tuple(_without_conditions(item, known) for item in items))
        case prog.Loop(body=body):
            return replace(s, body=_without_conditions(body, known))
        case prog.Guard(condition=condition, body=body):
            inside = _without_conditions(body, known)
            left = [c for c in conjuncts(condition) if c not in known]
            return replace(s, condition=ix.conjunction(*left), body=inside) if left else inside
        case _:
            return s


def _end(e: ix.Expr, loops: Sequence[prog.Loop], *, least: bool) -> ix.Expr | None:
    """The least or largest value of an expression in loops; ``None`` if it is not linear."""
    for loop in reversed(loops):
        if loop.var not in symbols(e):
            continue
        terms = e.terms if isinstance(e, ix.IndexSum) else ((1, e),)
        named = [(weight, term) for weight, term in terms if loop.var in symbols(term)]
        if len(named) != 1 or named[0][1] != ix.Sym(loop.var):
            return None
        first, last = loop.lower, ix.sub(loop.upper, ix.Const(loop.step))
        low, high = (first, last) if loop.step > 0 else (last, first)
        e = substitute(e, {loop.var: low if least == (named[0][0] > 0) else high})
    return e


@lru_cache(MEMORY)
def _gaps(condition: ix.Relation) -> dict[str, ix.Expr]:
    """For each comparison the number that is at least 0 where it holds."""
    difference = ix.sub(condition.left, condition.right)
    less = {">=": difference, ">": ix.sub(difference, ix.ONE)}
    return less | {"<=": ix.sub(ix.ZERO, difference), "<": ix.sub(ix.Const(-1), difference)}


def at_step(s: prog.ProgramStatement, env: Mapping[str, ix.Expr]) -> prog.ProgramStatement | None:
    """A statement with values of variables; ``None`` where its condition does not hold."""
    match s:
        case prog.Guard(condition=condition, body=body):
            now, inside = substitute(condition, env), at_step(body, env)
            if now == ix.FALSE or inside is None:
                return None
            return inside if now == ix.TRUE else prog.Guard(condition=now, body=inside)
        case prog.Sequence(items=items):
            parts = (at_step(item, env) for item in items)
            return prog.Sequence(items=tuple(p for p in parts if p is not None))
        case prog.Loop(body=body):
            inside = at_step(body, env) or prog.Sequence(items=())
            lower, upper = (substitute(e, env) for e in (s.lower, s.upper))
            return replace(s, body=inside, lower=lower, upper=upper)
        case prog.Effect(call=call):
            return replace(s, call=substituted(call, env))
        case _:
            new: prog.ProgramStatement = substituted(s, env)
            return new


def substituted(x: Any, env: Mapping[str, ix.Expr]) -> Any:
    """Data of the program with values of variables; conditions that hold are left out."""
    if isinstance(x, ix.Expr):
        return substitute(x, env)
    if isinstance(x, tuple):
        parts = tuple([substituted(part, env) for part in x])
        return x if all(map(is_, x, parts)) else parts
    if not is_dataclass(x) or isinstance(x, type):
        return x
    changed: dict[str, Any] = {}
    for name in field_names(x):
        before = getattr(x, name)
        value = substituted(before, env)
        if isinstance(x, prog.Cell) and name == "when" and value == ix.TRUE:
            value = None
        if value is not before:
            changed[name] = value
    return replace(x, **changed) if changed else x
