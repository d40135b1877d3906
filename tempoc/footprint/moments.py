"""What is live when, for all bounds: the program's tree executed with sets of stores for values.

A *moment* is what may be live together at one place of the tree: stores, and what the runner holds
beside them. A guard that cannot be decided may be taken or not; a loop has a first, a last, and any
number of steps between these. So no run has more than the largest moment (`peak.py`); most have
exactly that. The runner's own ledger says what a run had (`runtime/device/stores.py`).
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field
from typing import assert_never

from tempoc.footprint.formulas import BoundFacts
from tempoc.program.analysis.aliases import slot
from tempoc.program.analysis.traversal import final_frees, overwritten_stores, statements_in
from tempoc.program.analysis.zero_filled import zero_filled_stores
from tempoc.program.nodes import nodes as prog
from tempoc.program.nodes.buffers import Buffer
from tempoc.runtime.walk.blocks import used_stores
from tempoc.symbolic import expr as ix
from tempoc.symbolic.text import spelled

Live = Mapping[str, frozenset[str]]
"""Stores with something in them. A store with variables is being freed: it is empty once the loops
over these are done. Of stores that live with the host single cells, by store and key."""
ZEROS, COPY, HERE, AHEAD = "zeros", "copy", "here", "ahead"
StorePart = tuple[str, str]
"""A store and what of it: its cells (empty), zeros that stand for one, an old copy of one, or (with
its key) one that is there while the others are with the host."""
_WHOLE: frozenset[str] = frozenset()


def moments(
    program: prog.Program, given: Collection[str], facts: BoundFacts
) -> tuple[frozenset[StorePart], ...]:
    """The largest sets of what may be live together; none of them is in another one."""
    walker = _Walker(program=program, given=frozenset(given), facts=facts)
    walker.run()
    return walker.largest()


@dataclass(slots=True, kw_only=True)
class _Walker:
    program: prog.Program
    given: frozenset[str]
    facts: BoundFacts
    stores: dict[str, Buffer] = field(default_factory=dict)
    donated: dict[str, tuple[int, ...]] = field(default_factory=dict)
    checked: dict[str, bool] = field(default_factory=dict)
    live_sets: dict[frozenset[StorePart], None] = field(default_factory=dict)
    values: dict[str, ix.Expr | None] = field(default_factory=dict)
    whole: dict[str, frozenset[str]] = field(default_factory=dict)
    inner: bool = False

    def run(self) -> None:
        """Execute the tree as the runner does, and notice all that is there."""
        program = self.program
        self.stores = {s.name: s for s in program.stores}
        self.donated = {k.name: k.donated for k in program.kernels}
        self.checked = {k.name: bool(k.checks) for k in program.kernels}
        filled = zero_filled_stores(program)
        away = frozenset(s.name for s in program.stores if s.away)
        live: Live = dict.fromkeys(self.given - away, _WHOLE)
        self.note(live)
        items = program.tree.items if isinstance(program.tree, prog.Sequence) else (program.tree,)
        started: dict[str, None] = dict.fromkeys((*self.given, *away))
        for item in items:
            names = [n for n in dict.fromkeys(used_stores(item, ())) if n not in started]
            first = item.body if isinstance(item, prog.Block) else item
            written = overwritten_stores(first, names)
            anew = [n for n in names if not self.grows(n) and n in written]
            fresh = [n for n in names if n in filled and self.is_single(n) and n not in anew]
            started |= dict.fromkeys((*fresh, *anew))
            live = self.after(item, self.with_(live, fresh))
        outputs = [o.store for o in program.outputs if o.store in filled]
        single = [n for n in outputs if self.is_single(n) and n not in started]
        anew = [n for n in outputs if self.is_single(n) and n in away and n not in self.given]
        self.with_(live, [*single, *(f"{n} {HERE}" for n in anew)])

    def largest(self) -> tuple[frozenset[StorePart], ...]:
        """Moments that are not part of others, the placeholders of all calls added to each."""
        zeros = frozenset((cell.store, ZEROS) for cell in self.placeholders())
        sets = [moment | zeros for moment in self.live_sets]
        sets.sort(key=len, reverse=True)
        largest: list[frozenset[StorePart]] = []
        for moment in sets:
            if not any(moment <= other for other in largest):
                largest.append(moment)
        return tuple(largest)

    def placeholders(self) -> Iterable[prog.Cell]:
        """Arguments that may not be there: the runner keeps zeros for these."""
        for call in statements_in(self.program.tree):
            if isinstance(call, prog.Call):
                gone = self.donated[call.kernel]
                yield from (
                    c for i, c in enumerate(call.args) if c.when is not None and i not in gone
                )

    def note(self, live: Live, *more: StorePart) -> None:
        """All this is there at one moment."""
        parts = (name.partition(" ") for name in live)
        self.live_sets[frozenset([*((name, cell) for name, _, cell in parts), *more])] = None

    def grows(self, name: str) -> bool:
        """Whether a store has room for what is there so far."""
        return self.stores[name].growing is not None

    def is_single(self, name: str) -> bool:
        """Whether a store is one cell."""
        return all(k.modulo == ix.ONE for k in self.stores[name].keys)

    def with_(self, live: Live, names: Iterable[str]) -> Live:
        """The same with more; the runner drops what it computes of what is given."""
        live = {**live, **{n: _WHOLE for n in names if n not in self.given}}
        self.note(live)
        return live

    # ------------------------------------------------------------ statements

    def after(self, s: prog.ProgramStatement, live: Live) -> Live:
        """What is live after a statement."""
        match s:
            case prog.Sequence(items=items):
                for item in items:
                    live = self.after(item, live)
                return live
            case prog.Loop():
                return self.loop(s, live)
            case prog.Guard(condition=condition, body=body):
                holds = self.decided(condition)
                if holds is False:
                    return live
                then = self.after(body, live)
                return then if holds else either(live, then)
            case prog.Call(results=results, endings=endings):
                of_use = any(c.store not in self.given for c in results) or endings
                return self.call(s, live) if of_use or self.checked[s.kernel] else live
            case prog.Effect(call=call):
                return self.call(call, live)
            case prog.Host(results=results):
                return self.with_(live, self.live_cells(results))
            case prog.Free(cells=cells):
                return self.freed(live, cells)
            case prog.Load(cells=cells, ahead=ahead):
                names = self.live_cells(cells, given=True)
                return self.with_(live, [_ahead(n) for n in names] if ahead else names)
            case prog.Evict(cells=cells):
                gone = {self.name(cell) for cell in cells}
                left = {name: over for name, over in live.items() if name not in gone}
                stays = (c for c in cells if c.when is not None and not self.decided(c.when))
                return left | {_ahead(n): _WHOLE for c in stays if (n := self.name(c)) in live}
            case prog.Chunk():  # the store of an input is counted from the beginning
                return live
            case prog.Region():
                return self.region(s, live)
            case prog.Block(body=body):
                before, self.inner = self.inner, True
                live = self.after(body, live)
                self.inner = before
                return live
            case _:
                assert_never(s)

    def live_cells(self, cells: Iterable[prog.Cell], *, given: bool = False) -> list[str]:
        """What cells are in that are there at all; the runner drops what it computes of the given.

        Within what is one call nothing moves, so of what lives with the host nothing is added.
        """
        return [
            self.name(c)
            for c in cells
            if (c.when is None or self.decided(c.when) is not False)
            and (given or c.store not in self.given)
            and not (self.inner and self.stores[c.store].away)
        ]

    def name(self, cell: prog.Cell) -> str:
        """The store, or the cell of one that lives with the host."""
        store = self.stores[cell.store]
        if not store.away:
            return store.name
        key = ", ".join(map(spelled, slot(store, cell.key)))
        return f"{store.name} {HERE} {key}".rstrip()

    def call(self, call: prog.Call, live: Live) -> Live:
        """Arguments that are given up are gone before the results are there."""
        self.grow(call.needs, live)
        written = [(c.store, c.key) for c in call.results if c.when is None]
        gone = [call.args[i] for i in self.donated[call.kernel]]
        live = self.freed(live, [c for c in gone if (c.store, c.key) not in written])
        return self.with_(live, self.live_cells(call.results))

    def grow(self, needs: tuple[prog.CapacityNeed, ...], live: Live) -> None:
        """While an array grows, the old one is there, too."""
        for need in needs:
            for name in live:
                axis = self.stores[name.partition(" ")[0]].growing
                if axis and axis.least and (axis.dim, axis.size) == (need.dim, need.size):
                    self.note(live, (name, COPY))

    def freed(self, live: Live, cells: Iterable[prog.Cell]) -> Live:
        """Without what is given back; of a store with many cells, only when all of them are."""
        left = dict(live)
        for cell in cells:
            if self.name(cell) not in left or cell.store in self.given:
                continue
            if cell.when is not None and self.decided(cell.when) is not True:
                continue
            if self.stores[cell.store].away:
                del left[self.name(cell)]
                continue
            over = self.freed_over(cell)
            if over is not None and not over:
                del left[cell.store]
            elif over:
                left[cell.store] = over
        return left

    def freed_over(self, cell: prog.Cell) -> frozenset[str] | None:
        """The loops around that, when they are done, have given back all cells of a store."""
        variables: list[str] = []
        for key, e in zip(self.stores[cell.store].keys, cell.key, strict=True):
            if key.modulo == ix.ONE:
                continue
            if key.modulo is not None or not isinstance(e, ix.Sym):
                return None
            if key.dim not in self.whole.get(e.name, _WHOLE):
                return None
            variables.append(e.name)
        return frozenset(variables)

    def region(self, region: prog.Region, live: Live) -> Live:
        """The device runs a loop; what its last step gives back is given back after it."""
        live = {name: over for name, over in live.items() if name not in region.local}
        self.grow(region.needs, live)
        some: tuple[prog.Cells, ...] = (*region.carried, *region.read)
        live = self.with_(live, [c.store for c in some if not self.stores[c.store].away])
        self.with_(live, region.local)
        last = self.last(region.loop)
        dead = final_frees(region.loop.body, frozenset(region.local))
        if not dead:
            return live
        then = live
        with _FixedVariable(self, region.loop, last):
            for part in dead:
                then = self.after(part, then)
        then = unless(then, region.loop.var)
        return then if self.runs(region.loop) else either(live, then)

    # ------------------------------------------------------------ loops

    def loop(self, loop: prog.Loop, live: Live) -> Live:
        """First the first step, then any step until nothing new is live, then the last one."""
        with _FixedVariable(self, loop, self.facts.expr(loop.lower, self.values)):
            first = middle = self.after(loop.body, live)
        with _FixedVariable(self, loop, None):
            while (then := either(middle, self.after(loop.body, middle))) != middle:
                middle = then
            every_step = self.after(loop.body, either(live, middle))
        with _FixedVariable(self, loop, self.last(loop)):
            end = self.after(loop.body, either(live, middle))
        if loop.limit is not None:  # it may end before
            end = either(end, middle)
        end = done(unless(end, loop.var, (first, every_step)), loop.var)
        early = [n for n in end if AHEAD in n.split(" ") and n not in live]
        end = {name: over for name, over in end.items() if name not in early}
        return end if self.runs(loop) else either(live, end)

    def runs(self, loop: prog.Loop) -> bool:
        """Whether a loop has a step for sure."""
        lower, upper = (self.facts.expr(e, self.values) for e in (loop.lower, loop.upper))
        if lower is None or upper is None:
            return False
        gap = ix.sub(upper, lower) if loop.step > 0 else ix.sub(lower, upper)
        return self.facts.at_least(gap, 1)

    def last(self, loop: prog.Loop) -> ix.Expr | None:
        """The last value of a variable, if it is plain to see."""
        upper = self.facts.expr(loop.upper, self.values)
        return None if upper is None or abs(loop.step) != 1 else upper - loop.step

    def decided(self, condition: ix.Expr) -> bool | None:
        """Whether a condition holds, as far as that is the same for all bounds."""
        return self.facts.decided(condition, self.values)


def _ahead(name: str) -> str:
    """A cell of which a loop has one more until it is done: the one that comes next."""
    store, _, key = name.partition(f" {HERE}")
    return f"{store} {HERE} {AHEAD}{key}"


class _FixedVariable:
    """For the time of a block, the variable of a loop has this value (``None``: any).

    Dimensions whose points it all takes are remembered.
    """

    def __init__(self, walker: _Walker, loop: prog.Loop, value: ix.Expr | None) -> None:
        self.walker, self.loop, self.value = walker, loop, value

    def __enter__(self) -> None:
        walker, var = self.walker, self.loop.var
        self.before = walker.values.get(var), walker.whole.get(var, _WHOLE)
        walker.values[var] = self.value
        walker.whole[var] = frozenset(
            dim for dim, bound in walker.program.dims if walker.facts.covers(self.loop, bound)
        )

    def __exit__(self, *error: object) -> None:
        walker, var = self.walker, self.loop.var
        walker.values[var], walker.whole[var] = self.before


def either(a: Live, b: Live) -> Live:
    """What may be live when nobody knows which of two is the case."""
    return {name: over if b.get(name, over) == over else _WHOLE for name, over in a.items()} | {
        name: over for name, over in b.items() if name not in a
    }


def unless(live: Live, var: str, surely: Iterable[Live] = ()) -> Live:
    """What a loop frees step by step is freed only if all steps do that, ``surely``."""
    steps = [*surely]
    return {
        name: over
        if var not in over or (steps and all(var in s.get(name, ()) for s in steps))
        else _WHOLE
        for name, over in live.items()
    }


def done(live: Live, var: str) -> Live:
    """After a loop: what has been given back in each of its steps is gone."""
    return {name: over - {var} for name, over in live.items() if over != {var}}
