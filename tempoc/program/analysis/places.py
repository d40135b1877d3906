"""Verifies loads and evictions: offloaded cells are on the device wherever a statement uses them.

For all bounds: each argument of a call has been loaded or written before, and no eviction since
then may alias it. Loops and guards must leave the set of resident cells unchanged, so the number of
steps does not matter. Independent of ``offload``, which inserts the moves.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import assert_never

from tempoc.program.analysis.aliases import CellKey, are_apart, slot
from tempoc.program.analysis.traversal import cells_of, statements_in
from tempoc.program.nodes import nodes as prog
from tempoc.program.nodes.bounds import bounds_set_by_run
from tempoc.program.nodes.buffers import Buffer
from tempoc.program.nodes.errors import inconsistent
from tempoc.symbolic import expr as ix
from tempoc.symbolic.walk import symbols

ResidentCells = Mapping[tuple[str, CellKey], frozenset[ix.Expr | None]]
"""The cells on the device, each with conditions any of which suffices (``None``: always)."""


def verify_places(program: prog.Program) -> None:
    """Check a program. Raises ``ProgramError`` for a use of a cell that is not on the device."""
    away = {s.name: s for s in program.stores if s.away}
    if not away:
        return
    for store in away.values():
        if store.growing:
            raise inconsistent(f"store {store.name}", "grows, so it cannot live with the host")
    params = frozenset(p.store for p in program.params)
    checker = _ResidenceChecker(
        away=away,
        found_out=bounds_set_by_run(program.bounds, program.lengths),
        params=params,
    )
    if checker.resident_after(program.tree, {}):
        raise inconsistent("program", "leaves cells on the device that live with the host")


@dataclass(frozen=True, slots=True, kw_only=True)
class _ResidenceChecker:
    away: Mapping[str, Buffer]
    found_out: frozenset[str]
    params: frozenset[str]

    def resident_after(self, s: prog.ProgramStatement, resident: ResidentCells) -> ResidentCells:
        """The cells on the device after a statement."""
        match s:
            case prog.Sequence(items=items):
                for item in items:
                    resident = self.resident_after(item, resident)
                return resident
            case prog.Loop(body=body) | prog.Guard(body=body):
                if not _is_unchanged(resident, self.resident_after(body, resident)):
                    where = f"loop {s.var}" if isinstance(s, prog.Loop) else "guard"
                    raise inconsistent(where, "does not leave the device as it finds it")
                return resident
            case prog.Call(kernel=kernel, args=args, results=results):
                # The result for a param is dropped where that is given: it must be resident.
                params = [c for c in results if c.store in self.params]
                self.require_resident(f"call of {kernel}", (*args, *params), resident)
                return self.added(resident, results)
            case prog.Host(extern=extern, args=args, results=results):
                self.require_resident(f"call of {extern}", args, resident)
                return self.added(resident, results)
            case prog.Effect(call=call):
                return self.resident_after(call, resident)
            case prog.Region(carried=carried, read=read):
                return self.after_kernel(s, (*carried, *read), carried, resident)
            case prog.Block(carried=carried, made=made, read=read):
                changed = (*carried, *made)
                return self.after_kernel(s, (*changed, *read), changed, resident)
            case prog.Load(cells=cells, ahead=ahead):
                return resident if ahead else self.added(resident, cells)
            case prog.Evict(cells=cells):
                return self.removed(resident, cells)
            case prog.Free() | prog.Chunk():  # the proof of the memory plan checks frees
                return resident
            case _:
                assert_never(s)

    def after_kernel(
        self,
        s: prog.Region | prog.Block,
        operands: tuple[prog.Cells, ...],
        changed: tuple[prog.Cells, ...],
        resident: ResidentCells,
    ) -> ResidentCells:
        """After a region or block: within its kernel no cell moves and no store is offloaded."""
        where = f"region {s.kernel}"
        if any(name in self.away for name in s.local):
            raise inconsistent(where, "has local stores that live with the host")
        if any(isinstance(part, prog.Load | prog.Evict) for part in statements_in(s)):
            raise inconsistent(where, "moves cells")
        self.require_resident(where, cells_of(operands), resident)
        return self.added(resident, cells_of(changed))

    def require_resident(
        self, where: str, cells: Iterable[prog.Cell], resident: ResidentCells
    ) -> None:
        """Raises ``ProgramError`` unless all these cells are on the device."""
        for cell in cells:
            if cell.store in self.away:
                conditions = resident.get(self.place(cell), frozenset())
                if None not in conditions and not any(_covers(c, cell.when) for c in conditions):
                    raise inconsistent(where, f"{cell.store} is with the host there")

    def place(self, cell: prog.Cell) -> tuple[str, CellKey]:
        """The identity of a cell: its store and the parts of its key that matter."""
        fixed = [*cell.key, *(() if cell.when is None else (cell.when,))]
        if any(self.found_out & {*symbols(e)} for e in fixed):
            raise inconsistent(f"store {cell.store}", "has keys that the run finds out")
        return cell.store, slot(self.away[cell.store], cell.key)

    def added(self, resident: ResidentCells, cells: Iterable[prog.Cell]) -> ResidentCells:
        """The resident cells and these."""
        added = dict(resident)
        for cell in cells:
            if cell.store in self.away:
                place = self.place(cell)
                conditions = added.get(place, frozenset()) | {cell.when}
                added[place] = frozenset((None,)) if None in conditions else conditions
        return added

    def removed(self, resident: ResidentCells, cells: Iterable[prog.Cell]) -> ResidentCells:
        """The resident cells without all that may alias these."""
        evicted = [(self.place(cell), cell.key) for cell in cells]
        remaining = {}
        for place, conditions in resident.items():
            store = self.away[place[0]]
            keys = (key for (name, _), key in evicted if name == place[0])
            if not any(self.may_alias(store, key, place[1]) for key in keys):
                remaining[place] = conditions
        return remaining

    def may_alias(self, store: Buffer, key: CellKey, other: CellKey) -> bool:
        """Whether a key may name a slot."""
        slots = iter(other)
        full = tuple(ix.ZERO if k.modulo == ix.ONE else next(slots) for k in store.keys)
        return not are_apart(store, key, full)


def _is_unchanged(before: ResidentCells, after: ResidentCells) -> bool:
    """Whether the same cells are resident, under the same or weaker conditions."""
    same = before.keys() == after.keys()
    return same and all(None in after[p] or before[p] <= after[p] for p in before)


def _covers(condition: ix.Expr | None, other: ix.Expr | None) -> bool:
    """Whether a condition is implied by another one, decided syntactically."""
    if condition is None or condition == other:
        return True
    return isinstance(condition, ix.Disjunction) and other in condition.args
