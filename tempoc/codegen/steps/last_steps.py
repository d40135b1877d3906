"""Puts the last step of a device loop, which stands behind it, into the loop.

::

    for i in range(0, N - 1):                for i in range(0, N):
        loss = error(w)                          loss = error(w)
        w = update(w)                 ->         w = update(w)
    loss = error(w)

A last step often makes a part of what the others make, as a loss without new weights, and XLA would
compile that part twice. It becomes a step like the others where nothing reads what is then made too
much; what is checked of that does not count, and what is read is not overwritten.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from tempoc.base.cost_model import MODEL
from tempoc.codegen.regions.context import ProgramContext
from tempoc.codegen.steps.at_steps import (
    MOVED,
    Conditions,
    Items,
    at_step,
    is_known,
    is_plain,
    is_wrong,
    items_of,
    size,
    stays,
    substituted,
)
from tempoc.program.analysis.live import written_stores
from tempoc.program.analysis.traversal import (
    calls,
    overwritten_stores,
    statements_in,
    touched_stores,
)
from tempoc.program.nodes import nodes as prog
from tempoc.symbolic import expr as ix
from tempoc.symbolic.domain import conjuncts
from tempoc.symbolic.walk import substitute


def last_steps(
    tree: prog.ProgramStatement,
    context: ProgramContext,
    outputs: Collection[str],
    light: Collection[str] = (),
) -> prog.ProgramStatement:
    """The tree with last steps in their loops; ``outputs`` are stores that are read after it.

    ``light`` are the kernels that compute each element by itself.
    """
    positive = tuple(ix.compare(">=", ix.Sym(bound), ix.ONE) for bound in context.bounds)
    ends = _EndRoller(context=context, outputs=outputs, light=light)
    return ends.convert(tree, _Around(known=positive))


@dataclass(frozen=True, slots=True)
class _Leaf:
    """A ``statement`` that is no sequence or guard, and the conditions under which it runs."""

    when: Conditions
    statement: prog.ProgramStatement

    def guarded(self) -> prog.ProgramStatement:
        """The statement under its conditions."""
        if not self.when:
            return self.statement
        return prog.Guard(condition=ix.conjunction(*self.when), body=self.statement)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Around:
    """Where a statement stands.

    ``known`` are conditions that hold there, ``outer`` the variables of loops around it, ``None``
    in a loop on the device. ``looped``: some loop is around it. ``read`` are the stores that other
    statements may read after it, with the conditions under which they do.
    """

    known: Conditions
    outer: tuple[str, ...] | None = ()
    looped: bool = False
    read: tuple[tuple[str, Conditions], ...] = ()

    def beside(self, others: Iterable[prog.ProgramStatement]) -> _Around:
        """The same, where others stand beside the statement."""
        return replace(self, read=(*self.read, *(r for s in others for r in _reads(s))))


@dataclass(frozen=True, slots=True, kw_only=True)
class _EndRoller:
    """Converts trees; the fields are arguments of `last_steps`."""

    context: ProgramContext
    outputs: Collection[str]
    light: Collection[str]

    def convert(self, s: prog.ProgramStatement, around: _Around) -> prog.ProgramStatement:
        """The tree with longer loops."""
        match s:
            case prog.Sequence(items=items):
                for k, item in enumerate(items):
                    before = items[:k] if around.looped else ()
                    new = self.convert(item, around.beside((*before, *items[k + 1 :])))
                    items = (*items[:k], new, *items[k + 1 :])
                return replace(s, items=self.lengthened(items, around))
            case prog.Guard(condition=condition, body=body):
                known = (*around.known, *conjuncts(condition))
                return replace(s, body=self.convert(body, replace(around, known=known)))
            case prog.Loop(body=body, place=place):
                if place == "host" and around.outer is not None:
                    inside = replace(around, outer=(*around.outer, s.var), looped=True)
                    return replace(s, body=self.convert(body, inside))
                if around.outer is not None and not stays(s, around.outer, self.context):
                    return s
                inside = replace(around, outer=None, looped=True)
                return replace(s, body=self.convert(body, inside))
            case _:
                return s

    def lengthened(self, items: Items, around: _Around) -> Items:
        """The statements of a sequence, the last steps of loops among them in these."""
        k = 0
        while k < len(items):
            loop, longer = items[k], None
            if isinstance(loop, prog.Loop) and k + 1 < len(items):
                longer = self.longer(items[:k], loop, items[k + 1 :], around)
            if longer is None:
                k += 1
            else:
                items = (*items[:k], *longer)
        return items

    def longer(self, before: Items, loop: prog.Loop, after: Items, around: _Around) -> Items | None:
        """A loop with the step behind it, and what follows; ``None`` where there is no such step.

        All that a step does must do no harm in the last one: nothing reads what is made too much.
        """
        outer = around.outer
        if loop.place != "device" or abs(loop.step) != 1 or not is_plain(loop):
            return None
        if outer is not None and not stays(loop, outer, self.context):
            return None
        gap = ix.sub(loop.upper, loop.lower)
        gap = gap if loop.step > 0 else ix.sub(ix.ZERO, gap)
        first, guard, known, tail = loop.lower, None, around.known, after
        rest: Items = ()
        if isinstance(after[0], prog.Guard) and _decides(after[0].condition, gap, known):
            guard = after[0]
            known = (*known, *conjuncts(guard.condition))
            tail, rest = items_of(guard.body), after[1:]
        elif not is_known(ix.compare(">=", gap, ix.ZERO), known):
            first = (ix.minimum if loop.step > 0 else ix.maximum)(loop.lower, loop.upper)
        plain = next((k for k, s in enumerate(tail) if not _is_moved(s)), len(tail))
        at = {loop.var: loop.upper}
        body = _leaves(loop.body, at, known)
        places, left = _matched(body, _leaves(prog.Sequence(items=tail[:plain]), {}, known))
        if size([body[k].statement for k in places]) < MODEL.rolled_calls:
            return None
        extra = [leaf.statement for k, leaf in enumerate(body) if k not in places]
        wrong = self.spoiled(body, places)
        if wrong is None or (len(places) < len(body) and self.is_short(gap)):
            return None
        rest = (*_within(guard, (*(leaf.guarded() for leaf in left), *tail[plain:])), *rest)
        preserved = wrong & self.needed(before, loop, rest, replace(around, known=known))
        if preserved & _freed([loop.body]) or not self.may_keep(extra, preserved):
            return None
        upper = ix.add(loop.upper, ix.Const(loop.step))
        inside = ix.compare("<" if loop.step > 0 else ">", ix.Sym(loop.var), loop.upper)

        def is_extra(s: prog.ProgramStatement) -> bool:
            return any(leaf.statement in extra for leaf in _leaves(s, at, known))

        steps = self.apart(loop.body, is_extra, preserved, inside)
        return (replace(loop, lower=first, upper=upper, body=steps), *rest)

    def may_keep(self, extra: Sequence[prog.ProgramStatement], preserved: set[str]) -> bool:
        """Whether a last step may keep stores that statements write which it has too much.

        Those compute each element by itself, so that XLA selects them while it computes them.
        """
        makers = [s for s in extra if isinstance(s, prog.Call) and preserved & {*written_stores(s)}]
        written = {store for s in makers for store in written_stores(s)}
        return preserved <= written and all(s.kernel in self.light for s in makers)

    def apart(
        self,
        s: prog.ProgramStatement,
        is_extra: Callable[[prog.ProgramStatement], bool],
        preserved: Collection[str],
        inside: ix.Expr,
    ) -> prog.ProgramStatement:
        """A step in which what the last one has too much is checked only ``inside`` the loop.

        Nor does it write what is ``preserved``. As a branch it would cost short steps a tenth.
        """
        match s:
            case prog.Sequence(items=items):
                parts = (self.apart(item, is_extra, preserved, inside) for item in items)
                return replace(s, items=tuple(parts))
            case prog.Guard(body=body):
                return replace(s, body=self.apart(body, is_extra, preserved, inside))
            case prog.Call(kernel=kernel, results=results) if is_extra(s):
                checks = bool(self.context.kernels[kernel].checks)
                made = tuple(
                    replace(c, when=ix.conjunction(inside, c.when or ix.TRUE))
                    if c.store in preserved
                    else c
                    for c in results
                )
                return replace(s, results=made, where=inside if checks else s.where)
            case _:
                return s

    def is_short(self, gap: ix.Expr) -> bool:
        """Whether a loop is known to have few steps, so that one more counts."""
        steps = substitute(gap, {n: ix.Const(v) for n, v in self.context.fixed.items()})
        return isinstance(steps, ix.Const) and steps.value < MODEL.repeated_steps

    def spoiled(self, body: Sequence[_Leaf], places: Collection[int]) -> set[str] | None:
        """What is wrong after the last step, as that does not make it; ``None`` if it does harm."""
        wrong: set[str] = set()
        for k, leaf in enumerate(body):
            s = leaf.statement
            if k not in places:
                if not self.is_harmless(s):
                    return None
                wrong |= touched_stores(s) if isinstance(s, prog.Free) else {*written_stores(s)}
                continue
            if wrong & {store for store, _ in _reads(s)}:
                return None
            if isinstance(s, prog.Call):
                args = {c.store for c in s.args}
                wrong -= {c.store for c in s.results if c.when is None} - args
        return wrong

    def is_harmless(self, s: prog.ProgramStatement) -> bool:
        """Whether a statement may run although its results do not exist: they are whole arrays."""
        if isinstance(s, prog.Free):
            return True
        if not isinstance(s, prog.Call) or s.endings or s.needs:
            return False
        return all(c.store in self.context.registers for c in (*s.args, *s.results))

    def needed(self, before: Items, loop: prog.Loop, rest: Items, around: _Around) -> set[str]:
        """The stores that may be read after a loop, or are freed in it and after it."""
        beside = (*rest, *before) if around.looped else rest
        reads = (*around.read, *(r for s in beside for r in _reads(s)))
        read = {store for store, when in reads if not any(is_wrong(c, around.known) for c in when)}
        freed = _freed([loop.body]) & _freed(rest)
        again: set[str] = set()
        if around.looped:
            own = {store for store, _ in _reads(loop.body)}
            fresh = overwritten_stores(prog.Sequence(items=before), own)
            again = own - fresh - overwritten_stores(loop.body, own)
        return {*read, *freed, *again, *self.outputs}


def _matched(body: Sequence[_Leaf], end: Sequence[_Leaf]) -> tuple[list[int], list[_Leaf]]:
    """Where statements of a last step stand in the loop, and those that are left.

    What is freed in between can wait until after the loop. Short loops behind it are the host's, in
    it the device's.
    """
    steps = [replace(leaf, statement=_placed(leaf.statement)) for leaf in body]
    places: list[int] = []
    left: list[_Leaf] = []
    freed: set[str] = set()
    for k, leaf in enumerate(end):
        start = places[-1] + 1 if places else 0
        placed = replace(leaf, statement=_placed(leaf.statement))
        place = next((n for n in range(start, len(body)) if steps[n] == placed), None)
        if place is None and isinstance(leaf.statement, prog.Free):
            left.append(leaf)
            freed |= touched_stores(leaf.statement)
        elif place is None or freed & touched_stores(leaf.statement):
            return places, [*left, *end[k:]]
        else:
            places.append(place)
    return places, left


def _leaves(s: prog.ProgramStatement, env: Mapping[str, ix.Expr], known: Conditions) -> list[_Leaf]:
    """The statements at values of variables; conditions that are known are left out."""
    match s:
        case prog.Sequence(items=items):
            return [leaf for item in items for leaf in _leaves(item, env, known)]
        case prog.Guard(condition=condition, body=body):
            parts = conjuncts(substitute(condition, env))
            if any(is_wrong(c, known) for c in parts):
                return []
            unknown = tuple(c for c in parts if not is_known(c, known))
            inside = _leaves(body, env, (*known, *unknown))
            return [replace(leaf, when=(*unknown, *leaf.when)) for leaf in inside]
        case prog.Call():
            call = substituted(s, env)
            results = tuple(_settled(c, known) for c in call.results)
            if results and all(c.when == ix.FALSE for c in results):
                return []
            return [_Leaf((), replace(call, results=results))]
        case _:
            now = at_step(s, env)
            return [] if now is None else [_Leaf((), now)]


def _freed(items: Iterable[prog.ProgramStatement]) -> set[str]:
    """The stores that statements free."""
    parts = (part for s in items for part in statements_in(s))
    return {c.store for part in parts if isinstance(part, prog.Free) for c in part.cells}


def _settled(cell: prog.Cell, known: Conditions) -> prog.Cell:
    """A cell without a condition that is known to hold; one that fails is false."""
    if cell.when is None or is_known(cell.when, known):
        return replace(cell, when=None)
    return replace(cell, when=ix.FALSE) if is_wrong(cell.when, known) else cell


def _within(guard: prog.Guard | None, items: Items) -> Items:
    """Statements under the condition of a guard, if there is one."""
    if guard is None or not items:
        return items
    return (replace(guard, body=prog.Sequence(items=items)),)


def _reads(
    s: prog.ProgramStatement, conditions: Conditions = ()
) -> Iterator[tuple[str, Conditions]]:
    """The stores that a statement reads, with the conditions under which it does."""
    match s:
        case prog.Sequence(items=items):
            for item in items:
                yield from _reads(item, conditions)
        case prog.Guard(condition=condition, body=body):
            yield from _reads(body, (*conditions, *conjuncts(condition)))
        case prog.Loop(body=body):
            yield from _reads(body, conditions)
        case prog.Call(args=args) | prog.Host(args=args):
            yield from ((cell.store, conditions) for cell in args)
        case _:
            yield from ((c.store, conditions) for call in calls(s) for c in call.args)


def _is_moved(s: prog.ProgramStatement) -> bool:
    return isinstance(s, MOVED) and is_plain(_placed(s))


def _placed(s: prog.ProgramStatement) -> prog.ProgramStatement:
    """A statement all loops of which are on the device."""
    match s:
        case prog.Sequence(items=items):
            return replace(s, items=tuple(map(_placed, items)))
        case prog.Guard(body=body):
            return replace(s, body=_placed(body))
        case prog.Loop(body=body):
            return replace(s, body=_placed(body), place="device")
        case _:
            return s


def _decides(condition: ix.Expr, gap: ix.Expr, known: Conditions) -> bool:
    """Whether a number is at least 0 just if a condition holds."""
    holds = ix.compare(">=", gap, ix.ZERO)
    if not is_known(holds, (*known, *conjuncts(condition))):
        return False
    return is_known(ix.negation(holds), (*known, *conjuncts(ix.negation(condition))))
