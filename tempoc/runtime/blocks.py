"""Which blocks are one call each, and what must be there before a statement."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator, Mapping
from typing import assert_never

from tempoc.program.arith import evaluate
from tempoc.program.nodes import (
    Block,
    Call,
    Effect,
    Free,
    Guard,
    Host,
    Loop,
    Program,
    Region,
    Sequence,
    Statement,
)  # fmt: skip
from tempoc.program.parts import calls
from tempoc.runtime.progress import count_calls

LONG = 4096
"""Most calls of kernels in a block that is one call: nobody can look in between, or interrupt."""


def whole_blocks(
    s: Statement, env: Mapping[str, int], given: Collection[str]
) -> dict[str, int]:
    """The kernels of blocks without long loops, with how many kernels each calls in their place.

    The first steps of the loops around tell. A block that computes what is ``given`` is none.
    """
    match s:
        case Sequence(items=items):
            return {k: n for item in items for k, n in whole_blocks(item, env, given).items()}
        case Loop(var=var, lower=lower, body=body):
            return whole_blocks(body, {**env, var: evaluate(lower, env)}, given)
        case Guard(body=body):
            return whole_blocks(body, env, given)
        case Block(kernel=kernel, body=body):
            count = count_calls(body, dict(env))
            computed = any(cell.store in given for call in calls(body) for cell in call.results)
            return {} if computed or count > LONG else {kernel: count}
        case _:
            return {}


def late(s: Statement, whole: Collection[str]) -> Iterator[str]:
    """The stores of which a block that is one call wants a cell, be it written or not."""
    match s:
        case Sequence(items=items):
            for item in items:
                yield from late(item, whole)
        case Loop(body=body) | Guard(body=body):
            yield from late(body, whole)
        case Block(kernel=kernel, carried=carried, read=read) if kernel in whole:
            yield from (cells.store for cells in (*carried, *read))
        case _:
            pass


def needed(s: Statement, whole: Collection[str]) -> Iterator[str]:
    """The stores that a statement uses."""
    match s:
        case Sequence(items=items):
            for item in items:
                yield from needed(item, whole)
        case Loop(body=body) | Guard(body=body):
            yield from needed(body, whole)
        case Block(kernel=kernel, body=body):
            if kernel in whole:
                yield from (cells.store for cells in (*s.carried, *s.made, *s.read))
            else:
                yield from needed(body, whole)
        case Region(carried=carried, read=read):
            yield from (cells.store for cells in (*carried, *read))
        case Call(args=args, results=results) | Effect(call=Call(args=args, results=results)):
            yield from (cell.store for cell in (*args, *results))
        case Host() | Free():
            pass
        case _:
            assert_never(s)


def straight(program: Program, whole: Collection[str]) -> frozenset[str]:
    """Inputs without keys that one call takes, outside of all loops, and nobody else.

    None where functions of the user run in between, which might change the arrays.
    """
    items = program.tree.items if isinstance(program.tree, Sequence) else (program.tree,)
    if any(not isinstance(item, Block | Call | Free) for item in items):
        return frozenset()
    if any(isinstance(item, Block) and item.kernel not in whole for item in items):
        return frozenset()
    uses = Counter(store for item in items for store in dict.fromkeys(needed(item, whole)))
    uses += Counter(output.store for output in program.outputs)
    return frozenset(i.store for i in program.inputs if uses[i.store] == 1)
