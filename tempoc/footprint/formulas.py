"""What is known of the bounds of a program: facts for comparing sizes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

from tempoc.program.nodes import nodes as prog
from tempoc.runtime.device.capacity import CapacityGroup, rounded_groups
from tempoc.symbolic import expr as ix
from tempoc.symbolic.walk import substitute, symbols

SLOTS = "_slots"
"""Ends the name for the slots of stores that have as many as a bound, rounded up."""


@dataclass(frozen=True)
class BoundFacts:
    """What a program says about its bounds.

    Constants have their values. A length that the run finds out is as long as it may be.
    """

    program: prog.Program

    @cached_property
    def constants(self) -> dict[str, ix.Expr]:
        """Names that stand for something else: constants, and the largest of lengths."""
        bounds = self.program.bounds
        constants: dict[str, ix.Expr] = {
            b.name: b.value for b in bounds if isinstance(b.value, ix.Const)
        }
        return constants | {n.largest: ix.Sym(n.bound) for n in self.program.lengths}

    @cached_property
    def derived(self) -> dict[str, ix.Expr]:
        """Bounds that follow from others, as formulas of those that are given."""
        derived: dict[str, ix.Expr] = {}
        for b in self.program.bounds:
            if b.value is not None and b.name not in self.constants:
                derived[b.name] = self.size(b.value)
        for _ in derived:
            derived = {name: substitute(e, derived) for name, e in derived.items()}
        return derived

    @cached_property
    def rounded(self) -> frozenset[CapacityGroup]:
        """The groups of stores that have slots for a bound, rounded up."""
        return frozenset(rounded_groups(self.program))

    @property
    def free(self) -> tuple[str, ...]:
        """The bounds that a run is given."""
        return tuple(b.name for b in self.program.bounds if b.value is None)

    def expr(
        self, e: ix.Expr, values: Mapping[str, ix.Expr | None] | None = None
    ) -> ix.Expr | None:
        """The formula; ``None`` where it names a variable without a value.

        A length is that of its bound, at all points.
        """
        named = {name: (values or {}).get(name, self.named(name)) for name in symbols(e)}
        known = {name: value for name, value in named.items() if value is not None}
        return substitute(e, known) if len(known) == len(named) else None

    def named(self, name: str) -> ix.Expr:
        """The formula of a bound."""
        return self.constants.get(name, ix.Sym(name))

    def size(self, e: ix.Expr) -> ix.Expr:
        """The formula of a size: over bounds alone."""
        formula = self.expr(e)
        assert formula is not None, e
        return formula

    def decided(self, condition: ix.Expr, values: Mapping[str, ix.Expr | None]) -> bool | None:
        """Whether a condition holds, whatever the bounds are; ``None`` if that depends."""
        if isinstance(condition, ix.Conjunction | ix.Disjunction):
            parts = [self.decided(a, values) for a in condition.args]
            absorbing = isinstance(condition, ix.Disjunction)
            if absorbing in parts:
                return absorbing
            return None if None in parts else not absorbing
        lengths = {n.bound for n in self.program.lengths}
        if lengths & {*symbols(condition)}:  # the run finds out
            return None
        formula = self.expr(condition, values)
        if formula is None:
            return None
        formula = self.least(formula)
        return True if formula == ix.TRUE else False if formula == ix.FALSE else None

    def least(self, e: ix.Expr) -> ix.Expr:
        """The same in symbols that count from 0: bounds are at least 1."""
        e = substitute(e, self.derived)
        given = {name: ix.Sym(name) + 1 for name in self.free if name in symbols(e)}
        given |= {name: self.least_slots(name) for name in symbols(e) if name.endswith(SLOTS)}
        return substitute(e, given)

    def least_slots(self, name: str) -> ix.Expr:
        """The slots for a bound, rounded up: as many as it, or more."""
        return ix.add(self.least(self.named(name.removesuffix(SLOTS))), ix.Sym(name))

    def at_least(self, e: ix.Expr, low: int) -> bool:
        """Whether a formula has at least that value for all bounds."""
        smallest = ix.interval(self.least(e))[0]
        return smallest is not None and smallest >= low

    def covers(self, loop: prog.Loop, bound: str) -> bool:
        """Whether a loop takes all values from 0 up to a bound."""
        up = loop.step > 0
        lower, upper = (loop.lower, loop.upper) if up else (loop.upper, loop.lower)
        low, high = self.expr(lower), self.expr(upper)
        if abs(loop.step) != 1 or loop.limit is not None or low is None or high is None:
            return False
        size = self.named(bound)
        below = self.at_least(ix.sub(ix.Const(0 if up else -1), low), 0)
        return below and self.at_least(ix.sub(high, size) if up else ix.sub(high + 1, size), 0)
