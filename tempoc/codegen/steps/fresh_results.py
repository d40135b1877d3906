"""Results that are read only in the steps that make them, written in all steps.

::

    for k in range(0, K):                        for k in range(0, K):
        before = m if k >= 1                         before = m
        m = average(before, g) if k >= 1     ->      m = average(before, g) if k >= 1
        m = start(g) if k == 0                       m = start(g) if k == 0

What a step does not make would be what an earlier one left, so that the loop carries an array that
nothing reads: epochs of minibatches with Adam took one and a half times as long.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, field, replace

from tempoc.codegen.regions.context import ProgramContext
from tempoc.codegen.steps.at_steps import Conditions, is_known, is_plain, largest_gaps
from tempoc.program.analysis.traversal import touched_stores
from tempoc.program.nodes import nodes as prog
from tempoc.symbolic import expr as ix
from tempoc.symbolic.domain import conjuncts
from tempoc.symbolic.walk import symbols

DeviceLoops = tuple[prog.Loop, ...]


def fresh_results(
    tree: prog.ProgramStatement, context: ProgramContext, outputs: Collection[str]
) -> prog.ProgramStatement:
    """The tree with fewer conditions on results; ``outputs`` are stores that are read after it."""
    return _FreshResults(context, frozenset(outputs), _touches(tree)).convert(tree, ())


def _touches(s: prog.ProgramStatement) -> Counter[str]:
    """How many statements read, write or free each store."""
    return Counter(store for _, part in _parts(s, ()) for store in touched_stores(part))


def _parts(
    s: prog.ProgramStatement, when: Conditions, *, inside: bool = True
) -> Iterator[tuple[Conditions, prog.ProgramStatement]]:
    """What runs in a statement, with the conditions under which it does; ``inside`` loops, too."""
    match s:
        case prog.Sequence(items=items):
            for item in items:
                yield from _parts(item, when, inside=inside)
        case prog.Guard(condition=condition, body=body):
            yield from _parts(body, (*when, *conjuncts(condition)), inside=inside)
        case prog.Loop(body=body) if inside:
            yield from _parts(body, when)
        case _:
            yield when, s


@dataclass(frozen=True, slots=True)
class _FreshResults:
    """Converts trees; ``touches`` counts the statements of the whole tree that use a store."""

    context: ProgramContext
    outputs: frozenset[str]
    touches: Counter[str] = field(default_factory=Counter)

    def convert(self, s: prog.ProgramStatement, around: DeviceLoops) -> prog.ProgramStatement:
        """A statement in loops, the outermost one first."""
        match s:
            case prog.Sequence(items=items):
                return replace(s, items=tuple(self.convert(item, around) for item in items))
            case prog.Guard(body=body):
                return replace(s, body=self.convert(body, around))
            case prog.Loop(body=body):
                around = (*around, s)
                plain = s.place == "device" and is_plain(s)
                fresh = self.fresh(s, around) if plain else frozenset()
                return replace(s, body=_written(self.convert(body, around), {*fresh}))
            case _:
                return s

    def fresh(self, loop: prog.Loop, around: DeviceLoops) -> frozenset[str]:
        """The stores of which steps read nothing but what they have made."""
        uses: dict[str, list[tuple[Conditions, prog.Call]]] = {}
        for when, part in _parts(loop.body, (), inside=False):
            if isinstance(part, prog.Call):
                for store in touched_stores(part):
                    uses.setdefault(store, []).append((when, part))
        own = self.context.registers - self.outputs
        return frozenset(
            store
            for store, calls in uses.items()
            if store in own
            and len(calls) == self.touches[store]
            and self.is_fresh(store, calls, around)
        )

    def is_fresh(
        self, store: str, calls: Sequence[tuple[Conditions, prog.Call]], around: DeviceLoops
    ) -> bool:
        """Whether the first of the calls may write a store in all steps: others make it as well
        before it is read, or what they compute of it is not written."""
        (guard, first), *others = calls
        made = _condition(first, store)
        static = all({*symbols(c)} <= {*self.context.bounds} for c in guard)
        if made is None or not made or _reads(first, store) or not static:
            return False
        # Where bounds decide that the first call never runs, nothing changes.
        written = [made]
        for when, call in others:
            if _reads(call, store) and not self.is_unread(call, when, written, around):
                return False
            again = _condition(call, store)
            if again is not None:
                if not (when or again):
                    break
                written.append((*when, *again))
        return True

    def is_unread(
        self, call: prog.Call, when: Conditions, written: Sequence[Conditions], around: DeviceLoops
    ) -> bool:
        """Whether a call writes nothing where none of these conditions holds."""
        if call.endings or call.needs or self.context.kernels[call.kernel].checks:
            return False
        for cell in call.results:
            holds = (*when, *conjuncts(cell.when or ix.TRUE))
            known = (*holds, *largest_gaps(holds, around))
            if not any(all(is_known(c, known) for c in each) for each in written):
                return False
        return True


def _reads(call: prog.Call, store: str) -> bool:
    return any(cell.store == store for cell in call.args)


def _condition(call: prog.Call, store: str) -> Conditions | None:
    """The parts of the condition under which a call writes a store; ``None`` if it does not."""
    cells = [cell for cell in call.results if cell.store == store]
    if not cells:
        return None
    return () if cells[0].when is None else conjuncts(cells[0].when)


def _written(s: prog.ProgramStatement, fresh: set[str]) -> prog.ProgramStatement:
    """A step whose first results for some stores, which are taken away, have no condition."""
    match s:
        case prog.Sequence(items=items):
            return replace(s, items=tuple(_written(item, fresh) for item in items))
        case prog.Guard(body=body):
            return replace(s, body=_written(body, fresh))
        case prog.Call(results=results):
            made = tuple(replace(c, when=None) if c.store in fresh else c for c in results)
            fresh.difference_update(c.store for c in results)
            return replace(s, results=made)
        case _:
            return s
