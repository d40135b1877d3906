"""Array arguments of a region: for each store one array, or several, by the slots of their keys.

The parts of a key in a region are either static (constants, bounds, variables of unrolled loops) or
set by the enclosing loops. Static parts distinguish the arrays of a store. All others must be equal
in the whole region, since otherwise it would be unknown which arrays two calls share.

Short rings may be carried as their rows by age (`prelude.rotated`). Of stores that are equal after
each step a loop carries one.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from tempoc.codegen.regions.context import ProgramContext
from tempoc.codegen.stores.ring_rows import RingUse
from tempoc.program.analysis.live import live_before, written_stores
from tempoc.program.analysis.traversal import calls
from tempoc.program.nodes import nodes as prog
from tempoc.program.nodes.buffers import Buffer
from tempoc.symbolic import expr as ix
from tempoc.symbolic.walk import evaluate, substitute, symbols

VariableValues = Mapping[str, int]


class SharedArraysUnknown(Exception):
    """Which arrays the calls of a loop share depends on the enclosing loops."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LoopUse:
    """A cell that a call accesses, with the values of the variables of unrolled loops."""

    cell: prog.Cell
    values: VariableValues


def arrays(
    s: prog.ProgramStatement,
    stores: Mapping[str, Buffer],
    fixed: VariableValues,
    known: Collection[str],
) -> dict[str, prog.Cells]:
    """The arrays by store, in order of first use.

    ``fixed`` are bounds with constant values, ``known`` the names that have a value outside the
    statement. Raises ``SharedArraysUnknown``.
    """
    keys_of: dict[str, dict[tuple[ix.Expr, ...], None]] = {}
    for use in cell_uses(s, fixed):
        parts = zip(stores[use.cell.store].keys, use.cell.key, strict=True)
        key = tuple(ix.ZERO if k.modulo == ix.ONE else substituted(e, use.values) for k, e in parts)
        keys_of.setdefault(use.cell.store, {})[key] = None
    return {name: _cells(name, list(keys), known) for name, keys in keys_of.items()}


def _cells(store: str, keys: Sequence[tuple[ix.Expr, ...]], known: Collection[str]) -> prog.Cells:
    """The arrays of a store under some keys; ``places`` are the positions at which these differ."""
    places = []
    for k, column in enumerate(zip(*keys, strict=True)):
        alone = len(set(column)) == 1
        if not all(
            isinstance(e, ix.Const) or (alone and {*symbols(e)} <= {*known}) for e in column
        ):
            raise SharedArraysUnknown(store)
        if alone:
            continue
        places.append(k)
    return prog.Cells(store=store, keys=tuple(keys), places=tuple(places))


def cell_uses(s: prog.ProgramStatement, values: VariableValues) -> Iterator[LoopUse]:
    """All cells that calls access; calls whose guards are known to be false are left out."""
    match s:
        case prog.Sequence(items=items):
            for item in items:
                yield from cell_uses(item, values)
        case prog.Loop(var=var, body=body, place="unrolled"):
            ends = evaluate(s.lower, values), evaluate(s.upper, values)
            for k in range(*ends, s.step):
                yield from cell_uses(body, {**values, var: k})
        case prog.Loop(body=body) | prog.Region(loop=body):
            yield from cell_uses(body, values)
        case prog.Guard(condition=condition, body=body):
            if may_hold(condition, values):
                yield from cell_uses(body, values)
        case (
            prog.Call(args=args, results=results)
            | prog.Effect(call=prog.Call(args=args, results=results))
        ):
            for cell in (*args, *results):
                if cell.when is None or may_hold(cell.when, values):
                    yield LoopUse(cell=cell, values=values)
        case _:
            pass


def may_hold(condition: ix.Expr, values: VariableValues) -> bool:
    """Whether a condition may hold, as far as the values say."""
    return substituted(condition, values) != ix.FALSE


def substituted(e: ix.Expr, values: VariableValues) -> ix.Expr:
    """The expression with values substituted."""
    return substitute(e, {name: ix.Const(value) for name, value in values.items()})


def equal_stores(loop: prog.Loop, context: ProgramContext) -> Iterator[tuple[str, str]]:
    """The stores that equal another one after each step of a loop, and that one.

    The last call of a step that writes them gives both the same value, and a step reads no earlier
    value of the first one::

        for m in range(0, M):            for m in range(0, M):
            now, best = step(best)           now, best = step(best)
        last = read(now)                 now = best
                                         last = read(now)

    Of two equal arrays that a loop carries XLA copies one in each step, although a step changes one
    row: a table of 2048 rows took nine times as long.
    """
    read = live_before(loop.body, frozenset(), context.kinds)
    later: set[str] = set()
    items = loop.body.items if isinstance(loop.body, prog.Sequence) else (loop.body,)
    for item in reversed(items):
        if isinstance(item, prog.Call):
            alike: dict[tuple[str, Buffer], list[str]] = {}
            for cell, value in zip(item.results, context.values.get(item.kernel, ()), strict=False):
                if value and cell.when is None and cell.store in context.registers - later:
                    buffer = replace(context.stores[cell.store], name="")
                    alike.setdefault((value, buffer), []).append(cell.store)
            for stores in alike.values():
                first = next((name for name in stores if name in read), stores[0])
                yield from ((name, first) for name in stores if name not in {*read, first})
        later.update(written_stores(item))


def rotated_rings(
    loop: prog.Loop, cells: Mapping[str, prog.Cells], context: ProgramContext
) -> Iterator[tuple[str, int]]:
    """The rings that a loop may carry as rows, and how many steps ahead a step writes of them."""
    if abs(loop.step) != 1:
        return
    touching: dict[str, list[prog.Call]] = {}
    for call in calls(loop):
        for cell in (*call.args, *call.results):
            touching.setdefault(cell.store, []).append(call)
    for store, some in touching.items():
        if store not in cells or len(cells[store].keys) > 1:
            continue
        uses = [_use(call, store, loop, context) for call in some]
        known = [use for use in uses if use is not None]
        written = {loop.step * age for use in known for age in use.written}
        if len(known) < len(uses) or len(written) != 1:
            continue
        (ahead,) = (-age for age in written)
        buffer = context.stores[store]
        size = buffer.axes[buffer.order[0]].size
        assert isinstance(size, ix.Const)
        places = {ahead + loop.step * age for use in known for age in use.read}
        if ahead < 0 or not all(0 <= place <= size.value for place in places):
            continue
        if 0 in places or (_is_computed_twice(buffer, some) and _changes_no_array(loop, context)):
            yield store, ahead


def _changes_no_array(loop: prog.Loop, context: ProgramContext) -> bool:
    """Whether a loop reads no array that it writes, but for short rings and numbers.

    Those XLA may copy in each step once numbers are carried apart: 500 steps of Dyna-Q, which
    changes a table, took 8.4 ms in place of 1.0, a number that is also read at half the step 15
    times as long.
    """
    some = [*calls(loop)]
    stores = {cell.store: context.stores[cell.store] for call in some for cell in call.results}
    written = {name for name, store in stores.items() if store.axes or store.shape}
    return all(
        cell.store in context.ring_uses.get(call.kernel, {})
        or cell.store in context.only_written(call.kernel)
        for call in some
        for cell in (*call.args, *call.results)
        if cell.store in written
    )


def _is_computed_twice(buffer: Buffer, touching: Sequence[prog.Call]) -> bool:
    """Whether XLA computes a number once for its ring and once more for something else of its step.

    What nobody else gets in the step that makes it is best put into its slot, and so are rows:
    8192 steps of a filter of second order whose results are stored as well take 17.5 ns each with a
    ring of two numbers and 9.0 as numbers by age, 7.5 and 9.5 if only the last is stored; with 64
    filters side by side 256 and 284.
    """
    number = len(buffer.axes) == 1 and not buffer.shape
    return number and any(
        {buffer.name} < {cell.store for cell in call.results} for call in touching
    )


def _use(call: prog.Call, store: str, loop: prog.Loop, context: ProgramContext) -> RingUse | None:
    """How a call uses a ring at the step of a loop; ``None``: not only by its rows."""
    cells = [cell for cell in (*call.args, *call.results) if cell.store == store]
    use = context.ring_uses.get(call.kernel, {}).get(store)
    buffer, kernel = context.stores[store], context.kernels[call.kernel]
    if use is None or any(cell.when is not None for cell in cells):
        return None
    dim = buffer.axes[buffer.order[0]].dim
    at = dict(zip(kernel.dims, call.point, strict=True)).get(dim)
    return use if at == ix.Sym(loop.var) else None
