"""Prints in regions: their tensors become rows of stores, which the runner prints after a call.

::

    def step_t(i, carry):
        (h, rows) = carry
        (h,) = rnn((t,), x, W, h, T=T)
        (row,) = print_h((t,), h)
        rows = with_row(rows, (t, row), 1)
        return (h, rows)

What is carried for each kernel of a print is a tuple: the number of rows, then an array of the
steps at which they were added, then one for each tensor.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from tempoc.codegen.regions.context import ProgramContext
from tempoc.codegen.regions.loop_state import SharedArraysUnknown
from tempoc.ops.definition.types import DType, TensorType
from tempoc.program.analysis.traversal import statements_in
from tempoc.program.nodes import nodes as prog
from tempoc.program.nodes.buffers import Buffer
from tempoc.symbolic import expr as ix
from tempoc.symbolic.walk import evaluate, symbols


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
