"""Writes the start of a state where steps pass it on, so that the first step is like the others.

::

    a = start()                        b = start()
    b = step(a)                        for i in range(0, N):
    for i in range(1, N):       ->         a = b
        a = b                              b = step(a)
        b = step(a)

A statement that passes large arrays on costs nothing where it is in all steps: they change their
names. In all but the first one it would be a branch, which copies them, so that this one is kept
apart, and XLA compiles the step twice. Instead the start is written to what is passed on.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from tempoc.codegen.regions.context import ProgramContext
from tempoc.codegen.steps.at_steps import Items, at_step
from tempoc.codegen.steps.kernel_kinds import KernelKinds
from tempoc.codegen.steps.leaves import freed
from tempoc.program.analysis.live import written_stores
from tempoc.program.analysis.traversal import touched_stores
from tempoc.program.nodes import nodes as prog
from tempoc.symbolic import expr as ix


def with_started_states(
    before: Items,
    late: Items,
    at: Mapping[str, ix.Expr],
    context: ProgramContext,
    kinds: KernelKinds,
) -> Items:
    """The statements before a loop, with what its ``late`` ones pass on where that changes nothing.

    ``at`` has the values of variables at the first step, which stands last among the statements.
    """
    for s in late:
        if isinstance(s, prog.Call) and s.kernel in kinds.moves:
            there = at_step(s, at)
            if isinstance(there, prog.Call):
                passing = _PassedState(there, kinds.moves[s.kernel], context)
                before = passing.started(before) if passing.is_plain() else before
    return before


@dataclass(frozen=True, slots=True)
class _PassedState:
    """A ``call`` whose results are the arguments at the places ``passed``."""

    call: prog.Call
    passed: tuple[int, ...]
    context: ProgramContext

    @property
    def given(self) -> tuple[prog.Cell, ...]:
        """The argument of each result."""
        return tuple(self.call.args[k] for k in self.passed)

    @property
    def sources(self) -> frozenset[str]:
        return frozenset(c.store for c in self.call.args)

    @property
    def targets(self) -> frozenset[str]:
        return frozenset(c.store for c in self.call.results)

    def is_plain(self) -> bool:
        """Whether it passes different arrays to others of the same kind."""
        cells = (*self.given, *self.call.results)
        stores = self.context.stores
        alike = all(
            (stores[a.store].shape, stores[a.store].axes, stores[a.store].dtype)
            == (stores[b.store].shape, stores[b.store].axes, stores[b.store].dtype)
            for a, b in zip(self.given, self.call.results, strict=True)
        )
        each_once = len({c.store for c in cells}) == len(cells) == 2 * len(self.call.args)
        whole = all(c.store in self.context.registers and c.when is None for c in cells)
        return alike and each_once and whole and not self.call.needs

    def started(self, before: Items) -> Items:
        """The statements with the start in the sources, and the call in front of what reads it.

        They stay as they are if something else touches the arrays before the sources are
        overwritten, or writes to the targets.
        """
        both = self.sources | self.targets
        touching = [k for k, s in enumerate(before) if touched_stores(s) & both]
        if len(touching) < 2:
            return before
        makers = [k for k in touching if not self.targets.isdisjoint(_changed(before[k]))]
        maker = before[makers[-1]] if makers else None
        later = [k for k in touching if makers and k > makers[-1]]
        if not self.makes(maker, self.targets) or not later:
            return before
        first = later[0]
        if not self.makes(before[first], self.sources):
            return before
        assert isinstance(maker, prog.Call)
        at = {c.store: a for c, a in zip(self.call.results, self.given, strict=True)}
        new = replace(maker, results=tuple(at.get(c.store, c) for c in maker.results))
        place = makers[-1]
        return (*before[:place], new, *before[place + 1 : first], self.call, *before[first:])

    def makes(self, s: prog.ProgramStatement | None, stores: frozenset[str]) -> bool:
        """Whether a call always writes all of the stores, and reads none of them."""
        if not isinstance(s, prog.Call) or s.needs or not self.others(stores, s):
            return False
        always = {c.store for c in s.results if c.when is None}
        return stores <= always and stores.isdisjoint(c.store for c in s.args)

    def others(self, stores: frozenset[str], s: prog.Call) -> bool:
        """Whether a call that writes the targets does not write the sources as well."""
        other = (self.sources | self.targets) - stores
        return other.isdisjoint(c.store for c in s.results)


def _changed(s: prog.ProgramStatement) -> frozenset[str]:
    """The stores that a statement writes or frees."""
    return frozenset((*written_stores(s), *freed([s])))
