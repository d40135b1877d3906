"""How many arrays a store has along its keys, where loops and guards leave some out.

Of layers that alternate only some have a cache of their own: ``if l % 2 == 0`` in a loop over all.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from tempoc.base.effort import EFFORT
from tempoc.footprint.formulas import BoundFacts
from tempoc.program.nodes import nodes as prog
from tempoc.program.nodes.buffers import Buffer
from tempoc.symbolic import expr as ix
from tempoc.symbolic.walk import symbols

EnclosingParts = tuple[prog.Loop | prog.Guard, ...]


def key_counts(store: Buffer, facts: BoundFacts) -> Mapping[str, int]:
    """By dimension of a key, how many of its values some statement writes.

    Only where that is plain to see, and fewer than the bound, a constant, has.
    """
    program = facts.program
    given = {*(p.store for p in program.params), *(i.store for i in program.inputs), program.seed}
    bounds = dict(program.dims)
    sizes: dict[int, int] = {}
    for place, key in enumerate(store.keys if store.name not in given else ()):
        size = facts.constants.get(bounds[key.dim])
        if key.modulo is None and isinstance(size, ix.Const) and size.value <= EFFORT.counted_keys:
            sizes[place] = size.value
    values: dict[int, set[int]] = {place: set() for place in sizes}
    for path, cell in _written(program.tree, ()) if sizes else ():
        for place, most in sizes.items() if cell.store == store.name else ():
            values[place].update(_values(path, cell, cell.key[place], most, facts))
    return {store.keys[p].dim: len(v) for p, v in values.items() if 0 < len(v) < sizes[p]}


def _written(
    s: prog.ProgramStatement, path: EnclosingParts
) -> Iterator[tuple[EnclosingParts, prog.Cell]]:
    """What statements write, each with the loops and guards around."""
    match s:
        case prog.Sequence(items=items):
            for item in items:
                yield from _written(item, path)
        case prog.Loop() | prog.Guard():
            yield from _written(s.body, (*path, s))
        case prog.Region(loop=body) | prog.Block(body=body):
            yield from _written(body, path)
        case prog.Call(results=results) | prog.Host(results=results):
            yield from ((path, cell) for cell in results)
        case prog.Effect() | prog.Free() | prog.Load() | prog.Evict() | prog.Chunk():
            pass


def _values(
    path: EnclosingParts, cell: prog.Cell, key: ix.Expr, size: int, facts: BoundFacts
) -> Iterator[int]:
    """The values that a key may have; all that it can have unless more is known."""
    loops = [p for p in path if isinstance(p, prog.Loop)]
    loop = next((p for p in loops if (p.var,) == tuple(symbols(key))), None)
    if loop is None:
        constant = facts.expr(key, dict.fromkeys(p.var for p in loops))
        yield from [constant.value] if isinstance(constant, ix.Const) else range(size)
        return
    lower, upper = (
        facts.expr(e, dict.fromkeys(p.var for p in loops)) for e in (loop.lower, loop.upper)
    )
    if not isinstance(lower, ix.Const) or not isinstance(upper, ix.Const):
        yield from range(size)
        return
    conditions = [p.condition for p in path if isinstance(p, prog.Guard)]
    conditions += [cell.when] if cell.when is not None else []
    for value in range(lower.value, upper.value, loop.step)[:size]:
        known = {**dict.fromkeys(p.var for p in loops), loop.var: ix.Const(value)}
        at = facts.expr(key, known)
        if isinstance(at, ix.Const) and all(
            facts.decided(c, known) is not False for c in conditions
        ):
            yield at.value
