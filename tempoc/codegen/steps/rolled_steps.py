"""Puts the first step of a loop, which stands before it, into the loop.

::

    g = gradient(w)                     for i in range(0, N):
    m = start(g)                            g = gradient(w)
    w = update(m, w)                        m = average(m, g)
    for i in range(1, N):         ->        m = start(g) if i < 1
        g = gradient(w)                     w = update(m, w)
        m = average(m, g)
        w = update(m, w)

The schedule keeps first steps apart so that steps have no conditions. XLA then compiles nearly all
of a step twice. Where most calls of both are the same, those that differ are made in all steps, and
results of the wrong ones are dropped, if they are computed element by element; so are those of
short loops, as over layers. In such a loop of the host, where layers have arrays of their own, they
are made in their steps only.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TypeAlias

from tempoc.codegen.regions.context import ProgramContext
from tempoc.codegen.regions.effects import print_kernels
from tempoc.codegen.steps.at_steps import (
    Items,
    collects,
    implies,
    is_empty,
    is_known,
    is_plain,
    items_of,
    may_be_empty,
    stays,
    step_count,
)
from tempoc.codegen.steps.kernel_kinds import KernelKinds, ResultSelection
from tempoc.codegen.steps.leaves import leaves, settled, together
from tempoc.codegen.steps.matched_steps import placed
from tempoc.codegen.steps.merged_steps import StepPair
from tempoc.codegen.steps.started_states import with_started_states
from tempoc.program.analysis.traversal import calls, statements_in
from tempoc.program.nodes import nodes as prog
from tempoc.symbolic import expr as ix
from tempoc.symbolic.domain import conjuncts
from tempoc.symbolic.walk import substitute, symbols

Written: TypeAlias = tuple[str, tuple[str, ...]]
"""A kernel, and the stores that a call of it writes."""


def rolled_steps(
    tree: prog.ProgramStatement, context: ProgramContext, kinds: KernelKinds, place: str = "device"
) -> prog.ProgramStatement:
    """The tree with first steps in their loops: those on the device, or short ones of the host.

    The loops of the host in the ends of one on the device are short; so those come first.
    """
    positive = tuple(ix.compare(">=", ix.Sym(bound), ix.ONE) for bound in context.bounds)
    return _StepRoller(context=context, kinds=kinds, place=place).convert(tree, positive, ())


def joined_loops(
    tree: prog.ProgramStatement, context: ProgramContext, kinds: KernelKinds
) -> prog.ProgramStatement:
    """The tree with loops on the device, one for the first steps and one for the others, as one.

    ::

        for i in range(0, 4):                for i in range(0, N):
            a = start(i)                         a = part(b)
            b = step(a)                          a = start(i) if i < 4
        for i in range(4, N):         ->         b = step(a)
            a = part(b)
            b = step(a)

    The schedule divides a loop where a delay begins, and XLA compiled its steps for each delay.
    """
    joined = _StepRoller(context=context, kinds=kinds, place="device", joins=True)
    return joined.convert(tree, (), ())


@dataclass(frozen=True, slots=True, kw_only=True)
class _StepRoller:
    """Converts trees; the fields are arguments of `rolled_steps`.

    It ``joins`` loops, or else puts first steps into them.
    """

    context: ProgramContext
    kinds: KernelKinds
    place: str
    joins: bool = False

    @property
    def branches(self) -> bool:
        """Whether to branch: on the host no array is there before it is made."""
        return self.place == "host"

    def conditional(
        self, s: prog.ProgramStatement, condition: ix.Expr
    ) -> prog.ProgramStatement | None:
        """A statement under a condition on the step; ``None`` if it costs much where it fails."""
        if self.branches:
            return prog.Guard(condition=condition, body=s)
        selection = ResultSelection(context=self.context, kinds=self.kinds)
        selected = selection.conditional(s, condition)
        return selection.branch(s, condition) if selected is None and self.joins else selected

    def convert(
        self,
        s: prog.ProgramStatement,
        known: tuple[ix.Expr, ...],
        outer: tuple[str, ...] | None,
    ) -> prog.ProgramStatement:
        """The tree with longer loops; ``known`` are conditions that hold where it stands.

        ``outer`` are the variables of loops around it, ``None`` in a loop on the device.
        """
        match s:
            case prog.Sequence(items=items):
                rolled: Items = ()
                for item in items:
                    new = self.convert(item, known, outer)
                    longer = None
                    if isinstance(new, prog.Loop) and self.is_candidate(new, outer):
                        longer = self.with_earlier(rolled, new, known)
                        loops = [s for s in longer or () if isinstance(s, prog.Loop)]
                        if loops and not self.is_candidate(loops[-1], outer):
                            longer = None
                    elif outer is None and rolled and isinstance(new, prog.Guard):
                        longer = self.unbranched(rolled, new)
                    rolled = (*rolled, new) if longer is None else longer
                return replace(s, items=rolled)
            case prog.Guard(condition=condition, body=body):
                inside = self.convert(body, (*known, *conjuncts(condition)), outer)
                return replace(s, body=inside)
            case prog.Loop(body=body, place="host") if outer is not None:
                return replace(s, body=self.convert(body, known, (*outer, s.var)))
            case prog.Loop(body=body) if not self.branches:
                moved = outer is None or stays(s, outer, self.context)
                return replace(s, body=self.convert(body, known, None)) if moved else s
            case _:
                return s

    def is_candidate(self, s: prog.ProgramStatement, outer: tuple[str, ...] | None) -> bool:
        """Whether a loop stays on the device, or has a known number of steps of the host.

        Those over layers have.
        """
        if not isinstance(s, prog.Loop):
            return False
        if not self.branches:
            moved = outer is None or stays(s, outer, self.context)
            return moved and (is_plain(s) or (outer is not None and collects(s, self.context)))
        fixed = {n: ix.Const(v) for n, v in self.context.fixed.items()}
        return s.place == "host" and isinstance(substitute(step_count(s), fixed), ix.Const)

    def is_moved(self, s: prog.ProgramStatement, prints: bool) -> bool:
        """Whether a statement may be a part of a step; short loops are on the device then."""
        return is_plain(s if self.branches else placed(s), prints)

    def pair(
        self, early: Items, late: Items, at: Mapping[str, ix.Expr], later: ix.Expr
    ) -> StepPair:
        """The statements of one step and of the others."""
        return StepPair(
            early=early,
            late=late,
            at=at,
            later=later,
            kinds=self.kinds,
            arrays=self.context.registers,
            replaces=not self.branches,
        )

    def with_earlier(
        self, before: Items, loop: prog.Loop, known: tuple[ix.Expr, ...]
    ) -> Items | None:
        """A longer loop, and what else stood before it; ``None`` if there are no such steps."""
        if self.joins:
            return self.joined(before, loop, known)
        longer = self.rolled(before, loop, known)
        if longer or self.branches:
            return longer
        longer = self.unguarded(before, loop, known)
        return longer or self.rolled(before, loop, known, one_by_one=True)

    def rolled(
        self,
        before: Items,
        loop: prog.Loop,
        known: tuple[ix.Expr, ...],
        one_by_one: bool = False,
    ) -> Items | None:
        """The statements before a loop that are not its first step, and the longer loop.

        ``None`` where the loop has no such step in front of it, or it stays apart. ``one_by_one``:
        each statement has conditions of its own, so that those under different ones are compared.
        """
        if loop.place != self.place or abs(loop.step) != 1 or loop.limit is not None:
            return None
        first = ix.sub(loop.lower, ix.Const(loop.step))
        exists = is_known(ix.compare(">=", first, ix.ZERO), known)
        prints = bool(print_kernels(loop)) and not self.branches
        if not exists or not is_plain(loop.body, prints):
            return None
        late, at = _settled(items_of(loop.body), known), {loop.var: first}
        later = ix.compare(">=" if loop.step > 0 else "<=", ix.Sym(loop.var), loop.lower)
        if one_by_one:
            start = self.first_shared(before, late)
            before = (*before[:start], *self.apart(before[start:], known, prints))
            late = _leaves(late, known)
        joined = self.with_step(before, late, at, later)
        if not self.branches and (joined is None or self.selects_state(joined[1])):
            started = with_started_states(before, late, at, self.context, self.kinds)
            joined = self.with_step(started, late, at, later) or joined
        if joined is None:
            return None
        rest, steps = map(together, joined) if one_by_one else joined
        upper = _not_before(loop, known)
        longer = replace(loop, lower=first, upper=upper, body=prog.Sequence(items=steps))
        return (*rest, longer)

    def selects_state(self, steps: Items) -> bool:
        """Whether steps pass an array on under a condition, and copy it for that."""
        passing = (c for s in steps for c in calls(s) if c.kernel in self.kinds.moves)
        return any(cell.when is not None for call in passing for cell in call.results)

    def apart(self, before: Items, known: tuple[ix.Expr, ...], prints: bool) -> Items:
        """Statements, of which those that may be parts of a step have conditions of their own."""
        start = len(before)
        while start and self.is_moved(before[start - 1], prints):
            start -= 1
        return (*before[:start], *_leaves(before[start:], known))

    def with_step(
        self, before: Items, late: Items, at: Mapping[str, ix.Expr], later: ix.Expr
    ) -> tuple[Items, Items] | None:
        """What stands before a first step, and the steps of a loop of which this is one."""
        least, prints = self.first_shared(before, late), any(map(print_kernels, late))
        start = len(before)
        while start > least and self.is_moved(before[start - 1], prints):
            start -= 1
        both = self.pair(before[start:], late, at, later)
        if not both.pairs:
            return None
        start += both.pairs[0][0]
        both = replace(both, early=before[start:])
        steps = both.merged(self.conditional) if both.pays() else None
        return None if steps is None else (before[:start], steps)

    def first_shared(self, before: Items, late: Items) -> int:
        """The place of the first statement that may be one of a step, by what each of them writes.

        Of many loops one after the other, each compares what is in front of it with its own.
        """
        own = frozenset[Written]().union(*map(self.written, late))
        places = (k for k, s in enumerate(before) if not own.isdisjoint(self.written(s)))
        return next(places, len(before))

    def written(self, s: prog.ProgramStatement) -> set[Written]:
        """The kernels that a statement calls, and what they write; what it frees."""
        written: set[Written] = set()
        for part in statements_in(s):
            match part:
                case prog.Call(kernel=kernel, results=cells):
                    name = "" if kernel in self.kinds.moves else kernel
                    written.add((name, tuple(c.store for c in cells)))
                case prog.Free(cells=cells):
                    written.add(("free", tuple(c.store for c in cells)))
                case prog.Sequence() | prog.Loop() | prog.Guard():
                    pass
                case _:
                    written.add((type(part).__name__, ()))
        return written or {("", ())}

    def joined(self, before: Items, loop: prog.Loop, known: tuple[ix.Expr, ...]) -> Items | None:
        """The same with a loop of earlier steps as well; ``None`` where there is none.

        What stands between them under a condition with which the later one has no steps is done
        after them.
        """
        k = len(before)
        while k and _is_instead(before[k - 1], loop):
            k -= 1
        early = before[k - 1] if k else None
        if not isinstance(early, prog.Loop) or (early.var, early.step) != (loop.var, loop.step):
            return None
        ends = _ends(early, loop, known)
        plain = all(s.limit is None and s.place == self.place for s in (early, loop))
        if ends is None or abs(loop.step) != 1 or not plain:
            return None
        if not all(map(is_plain, (early.body, loop.body))):
            return None
        lower, first, upper = ends
        later = ix.compare(">=" if loop.step > 0 else "<=", ix.Sym(loop.var), first)
        there = (*known, ix.negation(is_empty(early)))
        both = replace(self.pair(_apart(early), _apart(loop), {}, later), known=there)
        steps = both.merged(self.conditional) if both.pays() else None
        if steps is None:
            return None
        body = prog.Sequence(items=together(steps))
        longer = replace(loop, lower=lower, upper=upper, body=body)
        return (*before[: k - 1], longer, *before[k:])

    def unguarded(self, before: Items, loop: prog.Loop, known: tuple[ix.Expr, ...]) -> Items | None:
        """The same for a first step under a condition on bounds; without it there are no steps.

        JAX traces them in any case, which it cannot for arrays without elements.
        """
        guard = before[-1] if before else None
        if not isinstance(guard, prog.Guard):
            return None
        if not {*symbols(guard.condition)} <= {*self.context.bounds}:
            return None
        otherwise = conjuncts(ix.negation(guard.condition))
        given = (*known, *conjuncts(guard.condition))
        inside = self.rolled(items_of(guard.body), loop, given)
        longer = inside[-1] if inside else None
        if inside is None or not isinstance(longer, prog.Loop):
            return None
        if not all(is_known(is_empty(each), otherwise) for each in (loop, longer)):
            return None
        if any(may_be_empty(call, self.context) for call in calls(longer)):
            longer = replace(longer, body=replace(guard, body=longer.body))
        first = replace(guard, body=prog.Sequence(items=inside[:-1]))
        return (*before[:-1], *((first,) if inside[:-1] else ()), longer)

    def unbranched(self, before: Items, guard: prog.Guard) -> Items | None:
        """The statements of two branches as one, if the first is for one value of a variable."""
        first, later = before[-1], guard.condition
        if not isinstance(first, prog.Guard) or later != ix.negation(first.condition):
            return None
        match first.condition:
            case ix.Relation(op="==", left=ix.Sym(name=name), right=ix.Const() as value):
                at = {name: value}
            case _:
                return None
        early, late = items_of(first.body), items_of(guard.body)
        both = self.pair(early, late, at, later)
        steps = both.merged(self.conditional) if both.pays() else None
        return None if steps is None else (*before[:-1], *steps)


def _leaves(items: Items, known: tuple[ix.Expr, ...]) -> Items:
    return tuple(leaf.guarded() for s in items for leaf in leaves(s, {}, known))


def _settled(items: Items, known: tuple[ix.Expr, ...]) -> Items:
    """Statements without the conditions on bounds that are known to hold."""
    settled: Items = ()
    for s in items:
        if isinstance(s, prog.Guard) and is_known(s.condition, known):
            settled += _settled(items_of(s.body), known)
        elif isinstance(s, prog.Loop):
            body = _settled(items_of(s.body), known)
            settled += (replace(s, body=prog.Sequence(items=body)),)
        else:
            settled += (s,)
    return settled


def _ends(
    early: prog.Loop, late: prog.Loop, known: tuple[ix.Expr, ...]
) -> tuple[ix.Expr, ix.Expr, ix.Expr] | None:
    """The first step of two loops as one, the first one of the later loop, and the end.

    ``None`` unless the later one goes on where the earlier one ends. Each may have no steps.
    """
    nearer, further = (ix.minimum, ix.maximum) if late.step > 0 else (ix.maximum, ix.minimum)
    if early.upper == nearer(late.lower, late.upper):
        return nearer(early.lower, late.lower), late.lower, late.upper
    if late.lower == further(early.upper, early.lower):
        return early.lower, early.upper, _not_before(late, known)
    return None


def _is_instead(s: prog.ProgramStatement, loop: prog.Loop) -> bool:
    """Whether a statement is done under a condition with which a loop has no steps."""
    return isinstance(s, prog.Guard) and is_known(is_empty(loop), conjuncts(s.condition))


def _apart(loop: prog.Loop) -> Items:
    """The statements of the steps of a loop, each under its own condition."""
    up = loop.step > 0
    t = ix.Sym(loop.var)
    ends = (
        ix.compare(">=" if up else "<=", t, loop.lower),
        ix.compare("<" if up else ">", t, loop.upper),
    )
    return _parts(loop.body, ends)


def _parts(s: prog.ProgramStatement, known: tuple[ix.Expr, ...]) -> Items:
    match s:
        case prog.Sequence(items=items):
            return tuple(part for item in items for part in _parts(item, known))
        case prog.Guard(body=body):
            return tuple(replace(s, body=part) for part in _parts(body, known))
        case prog.Call(results=results):
            return (replace(s, results=tuple(settled(c, known) for c in results)),)
        case _:
            return (s,)


def _not_before(loop: prog.Loop, known: tuple[ix.Expr, ...]) -> ix.Expr:
    """The end of a loop, but no further down than its beginning.

    The step in front of it is executed in any case.
    """
    up = loop.step > 0
    gap = ix.sub(loop.upper, loop.lower) if up else ix.sub(loop.lower, loop.upper)
    if any(implies(c, gap) for c in (ix.TRUE, *known)):
        return loop.upper
    return (ix.maximum if up else ix.minimum)(loop.upper, loop.lower)
