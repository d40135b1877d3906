"""Counts the kernel calls of a statement, without running loops whose steps are alike."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from tempoc.program.nodes import nodes as prog
from tempoc.symbolic.expr import Expr
from tempoc.symbolic.walk import evaluate, symbols


def count_calls(s: prog.ProgramStatement, env: Mapping[str, int]) -> int:
    """How many kernels are called. Loops whose body does not depend on the variable are not run."""
    count = _counter(s)
    return count if isinstance(count, int) else count(env)


_CallCount = Callable[[Mapping[str, int]], int]


def _counter(s: prog.ProgramStatement) -> int | _CallCount:
    """What is called in a statement, or how to find that out."""
    match s:
        case prog.Sequence(items=items):
            return _sum_counters([_counter(item) for item in items])
        case prog.Loop(body=body):
            return _loop_counter(s, _counter(body))
        case prog.Guard(condition=condition, body=body):
            return _guard_counter(condition, _counter(body))
        case prog.Call() | prog.Effect():
            return 1
        case prog.Region(loop=body) | prog.Block(body=body):
            return _counter(body)
        case prog.Free() | prog.Host() | prog.Load() | prog.Evict() | prog.Chunk():
            return 0


def _sum_counters(parts: list[int | _CallCount]) -> int | _CallCount:
    constant = sum(p for p in parts if isinstance(p, int))
    counters = [p for p in parts if not isinstance(p, int)]
    return (lambda env: constant + sum([p(env) for p in counters])) if counters else constant


def _guard_counter(condition: Expr, body: int | _CallCount) -> int | _CallCount:
    if isinstance(body, int):
        return (lambda env: body if evaluate(condition, env) else 0) if body else 0
    return lambda env: body(env) if evaluate(condition, env) else 0


def _loop_counter(loop: prog.Loop, body: int | _CallCount) -> int | _CallCount:
    if body == 0:
        return 0
    varies, var = loop.var in _trip_count_names(loop.body), loop.var

    def count(env: Mapping[str, int]) -> int:
        points = range(evaluate(loop.lower, env), evaluate(loop.upper, env), loop.step)
        if isinstance(body, int):
            return len(points) * body
        if not varies:
            return len(points) * body(env) if points else 0
        total, inner = 0, dict(env)
        for i in points:
            inner[var] = i
            total += body(inner)
        return total

    return count


def _trip_count_names(s: prog.ProgramStatement) -> frozenset[str]:
    """Names that decide how often something in the statement happens."""
    match s:
        case prog.Sequence(items=items):
            return frozenset().union(*(_trip_count_names(item) for item in items))
        case prog.Loop(lower=lower, upper=upper, body=body):
            return _trip_count_names(body).union(symbols(lower), symbols(upper))
        case prog.Guard(condition=condition, body=body):
            return _trip_count_names(body).union(symbols(condition))
        case prog.Region(loop=body) | prog.Block(body=body):
            return _trip_count_names(body)
        case _:
            return frozenset()
