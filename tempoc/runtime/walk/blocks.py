"""The device blocks that run as one call each; the stores that statements use."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from typing import assert_never

from tempoc.program.analysis.traversal import blocks, calls
from tempoc.program.nodes import nodes as prog
from tempoc.runtime.device.capacity import rounded_bounds
from tempoc.symbolic.walk import evaluate


def single_call_blocks(
    program: prog.Program, bounds: Mapping[str, int], given: Collection[str]
) -> frozenset[str]:
    """The kernels of blocks that run as one call: for these bounds, and if nothing is ``given``
    that they compute. Lengths for which all kernels are the same are judged alike.
    """
    judged = rounded_bounds(program, bounds)
    return frozenset(
        block.kernel
        for block in blocks(program.tree)
        if evaluate(block.single, judged)
        and not any(cell.store in given for call in calls(block.body) for cell in call.results)
    )


def used_stores(s: prog.ProgramStatement, single_calls: Collection[str]) -> Iterator[str]:
    """The stores that a statement uses."""
    match s:
        case prog.Sequence(items=items):
            for item in items:
                yield from used_stores(item, single_calls)
        case prog.Loop(body=body) | prog.Guard(body=body):
            yield from used_stores(body, single_calls)
        case prog.Block(kernel=kernel, body=body):
            if kernel in single_calls:
                yield from (cells.store for cells in (*s.carried, *s.made, *s.read))
            else:
                yield from used_stores(body, single_calls)
        case prog.Region(carried=carried, read=read):
            yield from (cells.store for cells in (*carried, *read))
        case (
            prog.Call(args=args, results=results)
            | prog.Effect(call=prog.Call(args=args, results=results))
        ):
            yield from (cell.store for cell in (*args, *results))
        case prog.Host() | prog.Free() | prog.Load() | prog.Evict() | prog.Chunk():
            pass
        case _:
            assert_never(s)


def carried_stores(s: prog.ProgramStatement, single_calls: Collection[str]) -> frozenset[str]:
    """The stores whose arrays a statement passes to its first call, which gives others for them."""
    match s:
        case prog.Sequence(items=(first, *_)) | prog.Guard(body=first):
            return carried_stores(first, single_calls)
        case prog.Region() | prog.Block() if isinstance(s, prog.Region) or s.kernel in single_calls:
            return frozenset(cells.store for cells in s.carried)
    return frozenset()
