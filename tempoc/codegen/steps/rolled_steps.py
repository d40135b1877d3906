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
results of the wrong ones are dropped, if they are computed element by element. In a loop of the
host, as over layers of which each has arrays of its own, they are made in their steps only.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

from tempoc.base.cost_model import MODEL
from tempoc.codegen.regions.context import ProgramContext
from tempoc.codegen.steps.at_steps import (
    MOVED,
    Items,
    at_step,
    implies,
    is_known,
    is_plain,
    items_of,
    may_be_empty,
    stays,
    step_count,
)
from tempoc.codegen.steps.kernel_kinds import KernelKinds, ResultSelection
from tempoc.program.analysis.traversal import calls
from tempoc.program.nodes import nodes as prog
from tempoc.symbolic import expr as ix
from tempoc.symbolic.domain import conjuncts
from tempoc.symbolic.walk import substitute, symbols


def rolled_steps(
    tree: prog.ProgramStatement, context: ProgramContext, kinds: KernelKinds
) -> prog.ProgramStatement:
    """The tree with first steps in their loops."""
    positive = tuple(ix.compare(">=", ix.Sym(bound), ix.ONE) for bound in context.bounds)
    return _StepRoller(context=context, kinds=kinds).convert(tree, positive, ())


@dataclass(frozen=True)
class _Both:
    """The ``early`` statements of one step, and ``late`` ones, which are for the others.

    Those hold where the condition ``later`` holds, and are compared with the early ones at the
    values ``at`` of variables.
    """

    early: Items
    late: Items
    at: Mapping[str, ix.Expr]
    later: ix.Expr
    kinds: KernelKinds
    arrays: Collection[str]

    @cached_property
    def there(self) -> list[prog.ProgramStatement | None]:
        """The late statements at the early step."""
        return [at_step(s, self.at) for s in self.late]

    @cached_property
    def pairs(self) -> list[tuple[int, int]]:
        """The places of statements that are the same, in order."""
        early, there = (
            [self.kinds.bare(s, self.arrays) for s in part] for part in (self.early, self.there)
        )
        return _common(early, there)


@dataclass(frozen=True, slots=True, kw_only=True)
class _StepRoller:
    """Converts trees; the fields are arguments of `rolled_steps`.

    ``branches``: for loops of the host, where no array is there before it is made, and a branch
    costs a call in each step.
    """

    context: ProgramContext
    kinds: KernelKinds
    branches: bool = False

    def conditional(
        self, s: prog.ProgramStatement, condition: ix.Expr
    ) -> prog.ProgramStatement | None:
        """A statement under a condition on the step; ``None`` if it costs much where it fails."""
        if self.branches:
            return prog.Guard(condition=condition, body=s)
        return ResultSelection(context=self.context, kinds=self.kinds).conditional(s, condition)

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
                    if isinstance(new, prog.Loop) and (
                        outer is None or stays(new, outer, self.context)
                    ):
                        longer = self.rolled(rolled, new, known)
                        longer = longer or self.unguarded(rolled, new, known)
                    elif isinstance(new, prog.Loop) and self.is_fixed(new):
                        longer = replace(self, branches=True).rolled(rolled, new, known)
                    elif outer is None and rolled and isinstance(new, prog.Guard):
                        longer = self.unbranched(rolled, new)
                    rolled = (*rolled, new) if longer is None else longer
                return replace(s, items=rolled)
            case prog.Guard(condition=condition, body=body):
                inside = self.convert(body, (*known, *conjuncts(condition)), outer)
                return replace(s, body=inside)
            case prog.Loop(body=body, place="host") if outer is not None:
                return replace(s, body=self.convert(body, known, (*outer, s.var)))
            case prog.Loop(body=body):
                moved = outer is None or stays(s, outer, self.context)
                return replace(s, body=self.convert(body, known, None)) if moved else s
            case _:
                return s

    def is_fixed(self, loop: prog.Loop) -> bool:
        """Whether a loop of the host has a known number of steps, as those over layers have."""
        fixed = {n: ix.Const(v) for n, v in self.context.fixed.items()}
        return loop.place == "host" and isinstance(substitute(step_count(loop), fixed), ix.Const)

    def rolled(self, before: Items, loop: prog.Loop, known: tuple[ix.Expr, ...]) -> Items | None:
        """The statements before a loop that are not its first step, and the longer loop.

        ``None`` where the loop has no such step in front of it, or it stays apart.
        """
        place = "host" if self.branches else "device"
        if loop.place != place or abs(loop.step) != 1 or loop.limit is not None:
            return None
        first = ix.sub(loop.lower, ix.Const(loop.step))
        exists = is_known(ix.compare(">=", first, ix.ZERO), known)
        if not exists or not is_plain(loop.body):
            return None
        start = len(before)
        while start and isinstance(before[start - 1], MOVED) and is_plain(before[start - 1]):
            start -= 1
        later = ix.compare(">=" if loop.step > 0 else "<=", ix.Sym(loop.var), loop.lower)
        both = _Both(
            before[start:],
            _settled(items_of(loop.body), known),
            {loop.var: first},
            later,
            self.kinds,
            self.context.registers,
        )
        if not both.pairs:
            return None
        start += both.pairs[0][0]
        steps = self.merged(replace(both, early=before[start:]))
        if steps is None:
            return None
        upper = _not_before(loop, known)
        longer = replace(loop, lower=first, upper=upper, body=prog.Sequence(items=steps))
        return (*before[:start], longer)

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
        if not all(is_known(_is_empty(each), otherwise) for each in (loop, longer)):
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
        both = _Both(early, late, at, later, self.kinds, self.context.registers)
        steps = self.merged(both) if both.pairs else None
        return None if steps is None else (*before[:-1], *steps)

    def merged(self, both: _Both) -> Items | None:
        """One step for two; ``None`` where more than a part of the calls differ, or cost much."""
        early, late, pairs = both.early, both.late, both.pairs
        shared = [early[m] for m, _ in pairs]
        same = self.kinds.size(shared)
        most = max(len(self.kinds.computing(part)) for part in (early, late))
        most -= len(self.kinds.computing(shared))
        if same < MODEL.rolled_calls or most * MODEL.rolled_share > same:
            return None
        merged: list[prog.ProgramStatement | None] = []
        m = n = 0
        for m_next, n_next in [*pairs, (len(early), len(late))]:
            own = [k for k in range(n, n_next) if both.there[k] is not None]
            replaced = len(own) == 1 and _replaces(early[m:m_next], late[own[0]])
            replaced = replaced and not self.branches
            for k in range(n, n_next):
                new = self.conditional(late[k], both.later) if k in own else late[k]
                merged.append(late[k] if replaced and new is not None else new)
            no = ix.negation(both.later)
            merged += [self.conditional(s, no) for s in early[m:m_next]]
            merged += late[n_next : n_next + 1]
            m, n = m_next + 1, n_next + 1
        steps = tuple(s for s in merged if s is not None)
        return steps if len(steps) == len(merged) else None


def _replaces(early: Sequence[prog.ProgramStatement], s: prog.ProgramStatement) -> bool:
    """Whether one call writes all that another one does, and reads nothing of that."""
    made = [s for s in early if not isinstance(s, prog.Free)]
    if len(made) != 1 or not isinstance(made[0], prog.Call) or not isinstance(s, prog.Call):
        return False
    results, args = ({c.store for c in cells} for cells in (made[0].results, made[0].args))
    always = all(c.when is None for c in made[0].results)
    return always and {c.store for c in s.results} <= results and results.isdisjoint(args)


def _settled(items: Items, known: tuple[ix.Expr, ...]) -> Items:
    """Statements without the conditions on bounds that are known to hold."""
    settled: Items = ()
    for s in items:
        if isinstance(s, prog.Guard) and is_known(s.condition, known):
            settled += _settled(items_of(s.body), known)
        else:
            settled += (s,)
    return settled


def _is_empty(loop: prog.Loop) -> ix.Expr:
    """The condition under which a loop has no steps."""
    return ix.compare(">=" if loop.step > 0 else "<=", loop.lower, loop.upper)


def _not_before(loop: prog.Loop, known: tuple[ix.Expr, ...]) -> ix.Expr:
    """The end of a loop, but no further down than its beginning.

    The step in front of it is executed in any case.
    """
    up = loop.step > 0
    gap = ix.sub(loop.upper, loop.lower) if up else ix.sub(loop.lower, loop.upper)
    if any(implies(c, gap) for c in (ix.TRUE, *known)):
        return loop.upper
    return (ix.maximum if up else ix.minimum)(loop.upper, loop.lower)


def _common(
    one: Sequence[prog.ProgramStatement | None], other: Sequence[prog.ProgramStatement | None]
) -> list[tuple[int, int]]:
    """The places of a longest common subsequence, in order."""
    length = [[0] * (len(other) + 1) for _ in range(len(one) + 1)]
    for m in reversed(range(len(one))):
        for n in reversed(range(len(other))):
            longest = max(length[m + 1][n], length[m][n + 1])
            same = one[m] == other[n]
            length[m][n] = 1 + length[m + 1][n + 1] if same else longest
    places: list[tuple[int, int]] = []
    m = n = 0
    while m < len(one) and n < len(other):
        if one[m] == other[n]:
            places.append((m, n))
            m, n = m + 1, n + 1
        elif length[m + 1][n] >= length[m][n + 1]:
            m += 1
        else:
            n += 1
    return places
