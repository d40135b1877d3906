"""What device loops print and save.

Tensors that are printed become rows of stores, which the runner prints after a call::

    def step_t(i, carry):
        (h, rows) = carry
        (h,) = rnn((t,), x, W, h, T=T)
        (row,) = print_h((t,), h)
        rows = with_row(rows, (t, row), 1)
        return (h, rows)

What is carried for each kernel of a print is a tuple: the number of rows, then an array of the
steps at which they were added, then one for each tensor.

Files are saved by the host, between calls::

    for i in range(I) on device:          for part in range(..):
      g[i] = ..                             for i in range(100 * part - 1, ..):
      if i % 100 == 99:            ->         if i % 100 == 99:    (one step, or none at the start)
        save w[i]                               save w[i]
      w[i + 1] = ..                         for i in range(100 * part - 1, ..) on device:
                                              g[i] = ..
                                              w[i + 1] = ..

A file is saved before all else of its step if nothing before it makes what it shows, or prints;
otherwise after all else, if nothing after it changes that, or prints. Only where neither is so do
files and lines of a step change places. What frees its arrays then follows it.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from tempoc.base.names import fresh_name
from tempoc.codegen.regions.context import ProgramContext
from tempoc.codegen.regions.loop_state import SharedArraysUnknown
from tempoc.ops.definition.types import DType, TensorType
from tempoc.program.analysis.traversal import calls, statements_in, variables
from tempoc.program.nodes import nodes as prog
from tempoc.program.nodes.buffers import Buffer
from tempoc.schedule.placement.saved_steps import remainder
from tempoc.symbolic import expr as ix
from tempoc.symbolic.walk import ceildiv, evaluate, symbols

# ------------------------------------------------------------------ prints


def row_stores(statement: str, rows: int, types: tuple[TensorType, ...]) -> tuple[Buffer, ...]:
    """The stores for so many rows of what a statement prints: their steps, and each tensor."""
    named = {f"{statement}.steps": TensorType(DType.I32)}
    named |= {f"{statement}.rows{k if len(types) > 1 else ''}": t for k, t in enumerate(types)}
    return tuple(
        Buffer(name=name, dtype=t.dtype.value, shape=(ix.Const(rows), *t.shape))
        for name, t in named.items()
    )


def print_kernels(s: prog.ProgramStatement) -> tuple[str, ...]:
    """The kernels of prints in a statement, in order."""
    prints = (part.call.kernel for part in statements_in(s) if isinstance(part, prog.Effect))
    return tuple(dict.fromkeys(prints))


def with_rows(loop: prog.Loop, context: ProgramContext) -> prog.Loop:
    """The loop with prints that add rows to stores.

    Raises ``SharedArraysUnknown`` if it has effects that the host must perform.
    """

    def converted(s: prog.ProgramStatement) -> prog.ProgramStatement:
        match s:
            case prog.Sequence(items=items):
                return replace(s, items=tuple(map(converted, items)))
            case prog.Guard(body=body) | prog.Loop(body=body):
                return replace(s, body=converted(body))
            case prog.Effect(call=call):
                if call.kernel not in context.rows:
                    raise SharedArraysUnknown(call.kernel)
                return replace(s, rows=tuple(b.name for b in context.rows[call.kernel]))
            case _:
                return s

    return replace(loop, body=converted(loop.body))


def most_steps(loop: prog.Loop, context: ProgramContext) -> int:
    """The most steps of a loop for whose rows there is room; 0 if it prints nothing.

    Raises ``SharedArraysUnknown`` if there is no room for one step, or if that is unknown.
    """
    steps = []
    for kernel in print_kernels(loop):
        rows_held = context.rows[kernel][0].shape[0]
        rows = _rows_of(loop.body, kernel, context.fixed)
        assert isinstance(rows_held, ix.Const)
        if rows is None or rows > rows_held.value:
            raise SharedArraysUnknown(kernel)
        steps.append(rows_held.value // max(1, rows))  # a loop within it may be empty
    return min(steps, default=0)


def _rows_of(s: prog.ProgramStatement, kernel: str, fixed: Mapping[str, int]) -> int | None:
    """The most rows that a statement adds for a kernel; ``None`` if that is unknown."""
    match s:
        case prog.Sequence(items=items):
            counts = [_rows_of(item, kernel, fixed) for item in items]
            known = [n for n in counts if n is not None]
            return sum(known) if len(known) == len(counts) else None
        case prog.Guard(body=body):
            return _rows_of(body, kernel, fixed)
        case prog.Loop(lower=lower, upper=upper, step=step, body=body):
            rows = _rows_of(body, kernel, fixed)
            if not rows:
                return rows
            if not fixed.keys() >= {*symbols(lower), *symbols(upper)}:
                return None
            return rows * len(range(evaluate(lower, fixed), evaluate(upper, fixed), step))
        case prog.Effect(call=call):
            return int(call.kernel == kernel)
        case _:
            return 0


# ------------------------------------------------------------------ files


@dataclass(frozen=True, slots=True)
class _StepPart:
    """A statement of a step of a loop that is no sequence and no guard, and what guards it."""

    body: prog.ProgramStatement
    condition: ix.Expr

    @property
    def guarded(self) -> prog.ProgramStatement:
        """The statement with its guard."""
        return prog.Guard(condition=self.condition, body=self.body)

    @property
    def saves(self) -> bool:
        """Whether it saves files."""
        return any(map(_is_save, statements_in(self.body)))

    @property
    def prints(self) -> bool:
        """Whether it prints lines."""
        return any(isinstance(s, prog.Effect) and not _is_save(s) for s in statements_in(self.body))

    @property
    def shown(self) -> frozenset[str]:
        """The stores that it reads, if it saves files only."""
        return frozenset(cell.store for call in calls(self.body) for cell in call.args)

    def period(self, var: str) -> tuple[ix.Expr, int] | None:
        """``r`` and ``n`` if it does nothing but save files where ``var % n == r``."""
        effects = [*_effects(self.body, self.condition)]
        shown = [e.call for e, _ in effects if _is_save(e)]
        periods = {remainder(condition, var) for _, condition in effects}
        period = periods.pop()
        if shown != [*calls(self.body)] or periods or period is None:
            return None
        return period if set(symbols(period[0])).isdisjoint(variables(self.body)) else None

    def changes(self, stores: Collection[str]) -> bool:
        """Whether it writes or frees some of these stores."""
        cells: list[prog.Cell] = []
        for s in statements_in(self.body):
            if isinstance(s, prog.Free):
                cells += s.cells
            elif isinstance(s, prog.Call | prog.Host):
                cells += s.results
        return any(cell.store in stores for cell in cells)


def between_saves(loop: prog.Loop, taken: Collection[str]) -> prog.Loop | None:
    """The loop as one over its parts, before or after each of which the host saves a file.

    Its variable is none of the ``taken`` names. ``None`` if the loop saves nothing, or has to be
    left for that within a step, or at steps that are not known.
    """
    parts = [*_parts(loop.body, ix.TRUE)]
    saving = [k for k, part in enumerate(parts) if part.saves]
    if not saving or loop.step != 1:
        return None
    before = parts[: saving[0]]
    at_start, at_end = _at_start(parts, loop.var), _at_end(parts, loop.var)
    if at_start and (not any(part.prints for part in before) or not at_end):
        return _divided(loop, at_start, taken, first=True)
    if at_end:
        return _divided(loop, at_end, taken, first=False)
    return None


def _at_start(parts: Sequence[_StepPart], var: str) -> list[_StepPart]:
    """The first parts that save files, of one period, if they may come before all others."""
    moved: list[_StepPart] = []
    for k, part in enumerate(parts):
        if moved and part.prints:
            break
        if not part.saves:
            continue
        if not _joins(part, moved, var) or any(p.changes(part.shown) for p in parts[:k]):
            break
        moved.append(part)
    return moved


def _at_end(parts: Sequence[_StepPart], var: str) -> list[_StepPart]:
    """The last parts that save files, of one period, if they may come after all others.

    What frees their arrays comes with them.
    """
    moved: list[_StepPart] = []
    freed: list[int] = []
    for k, part in reversed([*enumerate(parts)]):
        if moved and part.prints:
            break
        if not part.saves:
            continue
        later = [n for n, p in enumerate(parts[k:], k) if p.changes(part.shown)]
        is_freed = all(isinstance(parts[n].body, prog.Free) for n in later)
        if not _joins(part, moved, var) or not is_freed:
            break
        moved.insert(0, part)
        freed += later
    return [*moved, *(parts[n] for n in sorted({*freed}))]


def _joins(part: _StepPart, moved: Sequence[_StepPart], var: str) -> bool:
    """Whether a part does nothing but save files, at the steps of those that are moved."""
    period = part.period(var)
    return period is not None and all(other.period(var) == period for other in moved)


def _divided(
    loop: prog.Loop,
    apart: Sequence[_StepPart],
    taken: Collection[str],
    *,
    first: bool,
) -> prog.Loop:
    """The loop over parts of a loop; the host executes what is ``apart`` in a step of each.

    That is the ``first`` step, or the last one, of each part. Other steps do nothing of it. The
    period is that of the first of what is apart.
    """
    period = apart[0].period(loop.var)
    assert period is not None
    r, n = period
    r = r if first else ix.mod(r + 1, n)
    var = fresh_name(f"{loop.var}_part", taken)
    start = ix.Sym(var) * n + r - n
    low, high = ix.maximum(loop.lower, start), ix.minimum(loop.upper, start + n)
    steps = replace(loop, lower=low, upper=high, body=_without(loop.body, [p.body for p in apart]))
    at = (low, ix.minimum(low + 1, high)) if first else (ix.maximum(low, high - 1), high)
    body = prog.Sequence(items=tuple(part.guarded for part in apart))
    step = replace(loop, lower=at[0], upper=at[1], body=body, place="host")
    return prog.Loop(
        var=var,
        lower=ix.floordiv(loop.lower - r, n) + 1,
        upper=ceildiv(loop.upper - r, n) + 1,
        limit=None if loop.limit is None else ceildiv(loop.limit - r, n) + 1,
        step=1,
        body=prog.Sequence(items=(step, steps) if first else (steps, step)),
    )


def _parts(s: prog.ProgramStatement, condition: ix.Expr) -> Iterator[_StepPart]:
    match s:
        case prog.Sequence(items=items):
            for item in items:
                yield from _parts(item, condition)
        case prog.Guard(body=body):
            yield from _parts(body, ix.conjunction(condition, s.condition))
        case _:
            yield _StepPart(s, condition)


def _effects(s: prog.ProgramStatement, condition: ix.Expr) -> Iterator[tuple[prog.Effect, ix.Expr]]:
    """The effects in a statement, with their conditions."""
    match s:
        case prog.Effect():
            yield s, condition
        case prog.Sequence(items=items):
            for item in items:
                yield from _effects(item, condition)
        case prog.Guard(body=body):
            yield from _effects(body, ix.conjunction(condition, s.condition))
        case prog.Loop(body=body):
            yield from _effects(body, condition)
        case _:
            pass


def _is_save(s: prog.ProgramStatement) -> bool:
    return isinstance(s, prog.Effect) and s.kind == "save"


def _without(
    s: prog.ProgramStatement, apart: Sequence[prog.ProgramStatement]
) -> prog.ProgramStatement:
    """A statement without parts of it."""
    if any(s is part for part in apart):
        return prog.Sequence(items=())
    match s:
        case prog.Sequence(items=items):
            return replace(s, items=tuple(_without(item, apart) for item in items))
        case prog.Guard(body=body):
            return replace(s, body=_without(body, apart))
        case _:
            return s
