"""Blocks that run as one call if the data end their loops early enough.

A block whose loops may take long for the largest lengths runs as several calls, between which it
can be interrupted. As a rule the data end them much earlier. So the block is first called with
lengths for which one call is short enough. If all of them end by then, that was the run: what is
computed for a length does not depend on what it could have been. Else nothing of it is kept.
Lengths that loops within a block find out, one after the other, may add up to as many steps as all
of them would have with the largest such lengths.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Collection, Mapping

from tempoc.program.analysis.traversal import calls, touched_stores
from tempoc.program.nodes import nodes as prog
from tempoc.symbolic import expr as ix
from tempoc.symbolic.walk import evaluate, symbols


def attempted_blocks(
    program: prog.Program,
    bounds: Mapping[str, int],
    given: Collection[str],
    single_calls: Collection[str],
) -> dict[str, tuple[int, ...]]:
    """The outermost blocks that are first called with smaller lengths, by kernel: their ``at``.

    They read nothing but what is ``given``, overwrite nothing, and make no store that grows.
    ``single_calls`` are the blocks that run as one call in any case.
    """
    tree = program.tree
    items = tree.items if isinstance(tree, prog.Sequence) else (tree,)
    growing = {store.name for store in program.stores if store.growing is not None}
    attempted = {}
    for block in items:
        if (
            isinstance(block, prog.Block)
            and block.kernel not in single_calls
            and not (block.carried or block.point)
            and all(cells.store in given and not cells.places for cells in block.read)
            and touched_stores(block.body).isdisjoint(growing)
            and touched_stores(block.body).isdisjoint({*given} - {c.store for c in block.read})
            and (limits := _limits(program, block, bounds))
        ):
            values = {**bounds, **limits}
            at = [evaluate(e, values) for e in (*block.lengths, *block.counts)]
            if block.begun != ix.ZERO:
                at[-1] = min(evaluate(block.begun, bounds) * max(limits.values()), at[-1])
            attempted[block.kernel] = tuple(at)
    return attempted


def _limits(program: prog.Program, block: prog.Block, bounds: Mapping[str, int]) -> dict[str, int]:
    """The largest lengths for which a block is one call, one number for all; empty if none are."""
    ended = {symbols(block.lengths[place])[0] for place in block.endings}
    own = {e.bound for call in calls(block.body) for e in call.endings}
    lengths = [n for n in program.lengths if n.bound in own]
    if len(ended) != len(block.lengths) or any(n.outer for n in lengths if n.bound in ended):
        return {}
    names = [name for n in lengths for name in (n.bound, n.largest)]

    def is_long(most: int) -> bool:
        return not evaluate(block.single, {**bounds, **{n: min(most, bounds[n]) for n in names}})

    largest = max((bounds[n.bound] for n in lengths), default=0)
    most = bisect_right(range(1, largest + 1), 0, key=is_long)
    if most < program.tuning.first_steps or not is_long(largest):
        return {}
    return {n.bound: min(most, bounds[n.bound]) for n in lengths}
