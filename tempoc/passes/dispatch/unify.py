"""Unification of index expressions: a pattern's with a program's.

    max(0, t-W+1)   with   max(0, t-3)   where t is t   binds   W to 4

The names of a pattern are dimensions, which are bound before, and extents. An extent is bound where
it stands alone, or in a sum of which all else is bound. Extremes may have their arguments in
another order.
"""

from __future__ import annotations

from dataclasses import dataclass, field, fields
from itertools import permutations

from tempoc.symbolic import expr as ix
from tempoc.symbolic.walk import substitute, symbols

_FREE = "?"
"""Marks names of the pattern that are not bound: no name of a program begins so."""


@dataclass(slots=True)
class Unifier:
    """The values of a pattern's names, so far; expressions of the program."""

    values: dict[str, ix.Expr] = field(default_factory=dict)

    def entries(self, pattern: ix.Entry, given: ix.Entry) -> bool:
        """Whether two entries of accesses are alike, both points or both slices."""
        if isinstance(pattern, ix.Slice) and isinstance(given, ix.Slice):
            same = pattern.step == given.step
            return same and self.unify(pattern.lo, given.lo) and self.unify(pattern.hi, given.hi)
        if isinstance(pattern, ix.Expr) and isinstance(given, ix.Expr):
            return self.unify(pattern, given)
        return False

    def unify(self, pattern: ix.Expr, given: ix.Expr) -> bool:
        """Whether the expressions are equal for some values of names; these are bound."""
        known = self.known(pattern)
        free = [n for n in symbols(known) if n.startswith(_FREE)]
        if not free:
            return known == given
        if isinstance(known, ix.IndexMax | ix.IndexMin) and type(given) is type(known):
            return self._extremes(known.args, given.args)
        if len(free) > 1:
            return False
        return self._solve(known, free[0], given)

    def known(self, pattern: ix.Expr) -> ix.Expr:
        """An expression of the pattern with the values of its names; free names are marked."""
        names = [n for n in symbols(pattern) if not n.startswith(_FREE)]
        at = {n: self.values.get(n, ix.Sym(_FREE + n)) for n in names}
        at |= {
            n: self.values[n[1:]]
            for n in symbols(pattern)
            if n.startswith(_FREE) and n[1:] in self.values
        }
        return substitute(pattern, at)

    def _solve(self, known: ix.Expr, name: str, given: ix.Expr) -> bool:
        """Bind a name that stands in a sum once, with a factor of 1 or -1."""
        for sign in (1, -1):
            rest = ix.sub(known, ix.mul(ix.Const(sign), ix.Sym(name)))
            if name not in symbols(rest):
                self.values[name[1:]] = ix.mul(ix.Const(sign), ix.sub(given, rest))
                return True
        return False

    def _extremes(self, pattern: tuple[ix.Expr, ...], given: tuple[ix.Expr, ...]) -> bool:
        if len(pattern) != len(given):
            return False
        before = dict(self.values)
        for order in permutations(given):
            # What is bound decides which arguments go together, so it is compared first.
            pairs = sorted(
                zip(pattern, order, strict=True),
                key=lambda p: any(n.startswith(_FREE) for n in symbols(p[0])),
            )
            if all(self.unify(p, g) for p, g in pairs):
                return True
            self.values = dict(before)
        return False

    def attributes(self, pattern: object, given: object) -> bool:
        """Whether attributes of operators are alike: expressions unified, all else equal."""
        if isinstance(pattern, ix.Expr) and isinstance(given, ix.Expr):
            return self.unify(pattern, given)
        if isinstance(pattern, ix.Slice) and isinstance(given, ix.Slice):
            return self.entries(pattern, given)
        if isinstance(pattern, tuple) and isinstance(given, tuple):
            pairs = zip(pattern, given, strict=False)
            return len(pattern) == len(given) and all(self.attributes(p, g) for p, g in pairs)
        return pattern == given

    def operators(self, pattern: object, given: object) -> bool:
        """Whether operators have one class and are alike in all attributes."""
        return type(pattern) is type(given) and all(
            self.attributes(getattr(pattern, f.name), getattr(given, f.name))
            for f in fields(pattern)  # type: ignore[arg-type]
        )
