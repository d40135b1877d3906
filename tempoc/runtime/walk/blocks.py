"""The device blocks that run as one call each; the stores that statements use."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from typing import assert_never

from tempoc.program.analysis.traversal import blocks, calls
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
from tempoc.symbolic.walk import evaluate


def single_call_blocks(
    program: Program, bounds: Mapping[str, int], given: Collection[str]
) -> frozenset[str]:
    """The kernels of blocks that run as one call: for these bounds, and if nothing is ``given``
    that they compute."""
    return frozenset(
        block.kernel
        for block in blocks(program.tree)
        if evaluate(block.single, bounds)
        and not any(cell.store in given for call in calls(block.body) for cell in call.results)
    )


def used_stores(s: ProgramStatement, single_calls: Collection[str]) -> Iterator[str]:
    """The stores that a statement uses."""
    match s:
        case Sequence(items=items):
            for item in items:
                yield from used_stores(item, single_calls)
        case Loop(body=body) | Guard(body=body):
            yield from used_stores(body, single_calls)
        case Block(kernel=kernel, body=body):
            if kernel in single_calls:
                yield from (cells.store for cells in (*s.carried, *s.made, *s.read))
            else:
                yield from used_stores(body, single_calls)
        case Region(carried=carried, read=read):
            yield from (cells.store for cells in (*carried, *read))
        case Call(args=args, results=results) | Effect(call=Call(args=args, results=results)):
            yield from (cell.store for cell in (*args, *results))
        case Host() | Free() | Load() | Evict():
            pass
        case _:
            assert_never(s)
