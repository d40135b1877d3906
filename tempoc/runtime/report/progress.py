"""A progress bar on standard error for runs that take longer than a second on a terminal."""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager

from tempoc.program.nodes.arithmetic import Arith, evaluate, names
from tempoc.program.nodes.nodes import (
    Block,
    Call,
    Effect,
    Evict,
    Free,
    Guard,
    Host,
    Load,
    Loop,
    Program,
    ProgramStatement,
    Region,
    Sequence,
)  # fmt: skip

_DELAY, _INTERVAL, _WIDTH = 1.0, 0.2, 30


@contextmanager
def progress_bar(program: Program, bounds: Mapping[str, int], done: list[int]) -> Iterator[None]:
    """Draw how many of all kernel calls are done while the block runs; erase it afterwards."""
    stop = threading.Event()
    thread = threading.Thread(target=_draw, args=(program, bounds, done, stop), daemon=True)
    thread.start()
    try:
        yield
    finally:
        stop.set()
        thread.join()


def _draw(
    program: Program, bounds: Mapping[str, int], done: list[int], stop: threading.Event
) -> None:
    start = time.monotonic()
    if stop.wait(_DELAY):
        return
    total = max(1, count_calls(program.tree, dict(bounds)))
    while not stop.wait(_INTERVAL):
        sys.stderr.write("\r" + bar(done[0], total, time.monotonic() - start))
        sys.stderr.flush()
    sys.stderr.write("\r\x1b[K")
    sys.stderr.flush()


def bar(done: int, total: int, seconds: float) -> str:
    """One line: a bar, how much is done, how long it will take."""
    part = min(done / total, 1.0)
    filled = int(part * _WIDTH)
    remaining = f"{seconds / part - seconds:.0f} s left" if part > 0.01 else ""
    return (
        f"[{'#' * filled}{'.' * (_WIDTH - filled)}] {part:4.0%}  {seconds:.0f} s  {remaining:<14}"
    )


def count_calls(
    s: ProgramStatement, env: Mapping[str, int], weigh: Callable[[Call], int] = lambda call: 1
) -> int:
    """How many kernels are called. Loops whose body does not depend on the variable are not run.

    With `weigh`, what they weigh together.
    """
    count = _counter(s, weigh)
    return count if isinstance(count, int) else count(env)


_Counter = Callable[[Mapping[str, int]], int]


def _counter(s: ProgramStatement, weigh: Callable[[Call], int]) -> int | _Counter:
    """What is called in a statement, or how to find that out."""
    match s:
        case Sequence(items=items):
            return _sum_counters([_counter(item, weigh) for item in items])
        case Loop(body=body):
            return _loop_counter(s, _counter(body, weigh))
        case Guard(condition=condition, body=body):
            return _guard_counter(condition, _counter(body, weigh))
        case Call():
            return weigh(s)
        case Effect(call=call):
            return weigh(call)
        case Region(loop=body) | Block(body=body):
            return _counter(body, weigh)
        case Free() | Host() | Load() | Evict():
            return 0


def _sum_counters(parts: list[int | _Counter]) -> int | _Counter:
    constant = sum(p for p in parts if isinstance(p, int))
    counters = [p for p in parts if not isinstance(p, int)]
    return (lambda env: constant + sum([p(env) for p in counters])) if counters else constant


def _guard_counter(condition: Arith, body: int | _Counter) -> int | _Counter:
    if isinstance(body, int):
        return (lambda env: body if evaluate(condition, env) else 0) if body else 0
    return lambda env: body(env) if evaluate(condition, env) else 0


def _loop_counter(loop: Loop, body: int | _Counter) -> int | _Counter:
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


def _trip_count_names(s: ProgramStatement) -> frozenset[str]:
    """Names that decide how often something in the statement happens."""
    match s:
        case Sequence(items=items):
            return frozenset().union(*(_trip_count_names(item) for item in items))
        case Loop(lower=lower, upper=upper, body=body):
            return _trip_count_names(body).union(names(lower), names(upper))
        case Guard(condition=condition, body=body):
            return _trip_count_names(body).union(names(condition))
        case Region(loop=body) | Block(body=body):
            return _trip_count_names(body)
        case _:
            return frozenset()
