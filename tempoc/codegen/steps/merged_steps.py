"""Makes one step of a loop of two, of which the first is for one step and the other for the rest.

Statements of both are the same, or loops with the same ends, as over layers, of which the bodies
are merged. What differs is done under a condition on the step.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

from tempoc.base.cost_model import MODEL
from tempoc.codegen.steps.at_steps import (
    Conditions,
    Items,
    at_step,
    is_known,
    is_wrong,
    items_of,
)
from tempoc.codegen.steps.kernel_kinds import KernelKinds
from tempoc.codegen.steps.leaves import settled
from tempoc.codegen.steps.matched_steps import placed
from tempoc.program.analysis.traversal import calls
from tempoc.program.nodes import nodes as prog
from tempoc.symbolic import expr as ix

Conditional = Callable[[prog.ProgramStatement, ix.Expr], prog.ProgramStatement | None]
"""A statement under a condition on the step; ``None`` if it costs much where it fails."""


@dataclass(frozen=True, kw_only=True)
class StepPair:
    """The ``early`` statements of one step, and ``late`` ones, which are for the others.

    Those hold where the condition ``later`` holds, and are compared with the early ones at the
    values ``at`` of variables. ``arrays`` are the stores that are one array. ``replaces``: an early
    statement may overwrite what late ones write, rather than be a branch beside these. ``known``
    are conditions that hold in the early step.
    """

    early: Items
    late: Items
    at: Mapping[str, ix.Expr]
    later: ix.Expr
    kinds: KernelKinds
    arrays: Collection[str]
    replaces: bool
    known: Conditions = ()

    @cached_property
    def there(self) -> list[prog.ProgramStatement | None]:
        """The late statements at the early step."""
        return [at_step(s, self.at) for s in self.late]

    @cached_property
    def compared(self) -> list[list[prog.ProgramStatement | None]]:
        """Early and late statements as they are compared: early ones as they are at late steps."""
        return [
            [None if s is None else self.kinds.bare(placed(s), self.arrays) for s in part]
            for part in ([self.later_on(s) for s in self.early], self.there)
        ]

    @cached_property
    def inner(self) -> dict[tuple[int, int], StepPair]:
        """The bodies of loops with the same ends that have something in common, by places."""
        pairs: dict[tuple[int, int], StepPair] = {}
        for m, one in enumerate(self.compared[0]):
            for n, other in enumerate(self.compared[1]):
                loops = self.early[m], self.late[n]  # with conditions that hold where compared
                bodies = [items_of(s.body) for s in loops if isinstance(s, prog.Loop)]
                if not _same_ends(one, other) or one == other or len(bodies) < 2:
                    continue
                pair = replace(self, early=bodies[0], late=bodies[1])
                if pair.pairs:
                    pairs[m, n] = pair
        return pairs

    @cached_property
    def pairs(self) -> list[tuple[int, int]]:
        """The places of statements that are the same, or of loops that are in part, in order."""
        one, other = self.compared

        def matches(m: int, n: int) -> bool:
            return one[m] == other[n] or (m, n) in self.inner

        return _common(len(one), len(other), matches)

    def shared(self) -> Iterator[prog.ProgramStatement]:
        """The early statements that are the same as late ones."""
        for m, n in self.pairs:
            yield from self.inner[m, n].shared() if (m, n) in self.inner else (self.early[m],)

    def pays(self) -> bool:
        """Whether a step less is worth what differs: all steps do what the early one alone has.

        What only the late ones have these do anyway, but results of it are selected.
        """
        shared = [*self.shared()]
        same, common = self.kinds.size(shared), len(self.kinds.computing(shared))
        own = [s for s in self.early if not self.is_off(s)]
        early, late = (len(self.kinds.computing(part)) - common for part in (own, self.late))
        most = max(early * MODEL.rolled_share, late * MODEL.selected_share)
        return MODEL.rolled_calls <= same and most <= same

    def merged(self, conditional: Conditional) -> Items | None:
        """One step for two; ``None`` where something that differs costs much under a condition."""
        early, late = self.early, self.late
        merged: list[prog.ProgramStatement | None] = []
        m = n = 0
        for m_next, n_next in [*self.pairs, (len(early), len(late))]:
            own = [k for k in range(n, n_next) if self.there[k] is not None]
            replaced = len(own) == 1 and self.overwrites(early[m:m_next], self.there[own[0]])
            for k in range(n, n_next):
                new = conditional(late[k], self.later) if k in own else late[k]
                merged.append(late[k] if self.replaces and replaced and new is not None else new)
            no = ix.negation(self.later)
            merged += [s if self.is_off(s) else conditional(s, no) for s in early[m:m_next]]
            if n_next < len(late):
                merged.append(self.joined(m_next, n_next, conditional))
            m, n = m_next + 1, n_next + 1
        steps = tuple(s for s in merged if s is not None)
        return steps if len(steps) == len(merged) else None

    def later_on(self, s: prog.ProgramStatement) -> prog.ProgramStatement:
        """An early statement as it is at the late steps."""
        if isinstance(s, prog.Guard):
            return replace(s, body=self.later_on(s.body))
        if not isinstance(s, prog.Call):
            return s
        return replace(s, results=tuple(settled(c, (self.later,)) for c in s.results))

    def is_off(self, s: prog.ProgramStatement) -> bool:
        """Whether an early statement does nothing at the late steps as it is."""
        if isinstance(s, prog.Guard):
            return is_wrong(s.condition, (self.later,)) or self.is_off(s.body)
        if not isinstance(s, prog.Call) or s.kernel in self.kinds.checked or s.endings:
            return False
        return all(c.when is not None and is_wrong(c.when, (self.later,)) for c in s.results)

    def overwrites(
        self, early: Sequence[prog.ProgramStatement], s: prog.ProgramStatement | None
    ) -> bool:
        """Whether one call writes all that another one does, and none reads anything of that."""
        every = [call for item in early for call in calls(item)]
        made = [self.there_always(s) for s in early if not self.is_off(s) and [*calls(s)]]
        s = s.body if isinstance(s, prog.Guard) else s
        if len(made) != 1 or not isinstance(made[0], prog.Call) or not isinstance(s, prog.Call):
            return False
        always = all(c.when is None for c in made[0].results)
        one, other = (
            {(c.store, () if c.store in self.arrays else c.key) for c in call.results}
            for call in (made[0], s)
        )
        stores = {store for store, _ in one}
        return always and other <= one and stores.isdisjoint(c.store for s in every for c in s.args)

    def there_always(self, s: prog.ProgramStatement) -> prog.ProgramStatement:
        """An early statement without its condition if that is known to hold."""
        if isinstance(s, prog.Guard) and is_known(s.condition, self.known):
            return s.body
        return s

    def joined(self, m: int, n: int, conditional: Conditional) -> prog.ProgramStatement | None:
        """A late statement that does what an early one does as well, which may do less."""
        loop = self.late[n]
        if (m, n) not in self.inner or not isinstance(loop, prog.Loop):
            does_less = self.later_on(self.early[m]) != self.early[m]
            return self.early[m] if does_less else loop
        steps = self.inner[m, n].merged(conditional)
        return None if steps is None else replace(loop, body=prog.Sequence(items=steps))


def _same_ends(one: prog.ProgramStatement | None, other: prog.ProgramStatement | None) -> bool:
    """Whether statements are loops with the same ends."""
    if not isinstance(one, prog.Loop) or not isinstance(other, prog.Loop):
        return False
    return replace(one, body=other.body) == other


def _common(one: int, other: int, matches: Callable[[int, int], bool]) -> list[tuple[int, int]]:
    """The places of a longest common subsequence of two sequences of these lengths, in order."""
    length = [[0] * (other + 1) for _ in range(one + 1)]
    for m in reversed(range(one)):
        for n in reversed(range(other)):
            longest = max(length[m + 1][n], length[m][n + 1])
            length[m][n] = 1 + length[m + 1][n + 1] if matches(m, n) else longest
    places: list[tuple[int, int]] = []
    m = n = 0
    while m < one and n < other:
        if matches(m, n):
            places.append((m, n))
            m, n = m + 1, n + 1
        elif length[m + 1][n] >= length[m][n + 1]:
            m += 1
        else:
            n += 1
    return places
