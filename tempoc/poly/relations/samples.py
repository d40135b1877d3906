"""Points at which proofs are tried: what is false at one of them needs no isl to be refuted."""

from __future__ import annotations

from functools import reduce
from operator import and_, or_
from random import Random

from tempoc.base.effort import EFFORT
from tempoc.symbolic import expr as ix
from tempoc.symbolic.domain import Universe
from tempoc.symbolic.walk import compiled, symbols, written_integers


class Samples:
    """Some points of the box of all dimensions, under bounds for which all that is known is true.

    A set of them is an integer with a bit for each. They are the same in every compilation; there
    are none where no bounds were drawn that meet the assumptions.
    """

    def __init__(self, universe: Universe) -> None:
        draw = Random(0)
        known = compiled(ix.conjunction(*universe.assumptions))
        named = (n for a in universe.assumptions for n in written_integers(a))
        low = max(named, default=0)
        points: list[dict[str, int]] = []
        for number in range(EFFORT.sample_draws):
            at = _bounds(universe, draw, low if number % 2 else 0)
            if min(at.values(), default=1) >= 1 and known(at):
                points.append(at | {d.name: _index(draw, at[d.bound]) for d in universe.dims})
                if len(points) == EFFORT.samples:
                    break
        self._points = tuple(points)
        self._all = (1 << len(points)) - 1
        self._holding: dict[ix.Expr, int] = {}

    def where(self, condition: ix.Expr) -> int:
        """Those at which a condition holds."""
        known = self._holding.get(condition)
        if known is None:
            known = self._holding[condition] = self._where(condition)
        return known

    def _where(self, condition: ix.Expr) -> int:
        match condition:
            case ix.Conjunction(args=args):
                return reduce(and_, map(self.where, args))
            case ix.Disjunction(args=args):
                return reduce(or_, map(self.where, args))
            case ix.Negation(arg=a):
                return self._all & ~self.where(a)
            case _:
                holds = compiled(condition)
                return sum(1 << k for k, point in enumerate(self._points) if holds(point))


def _bounds(universe: Universe, draw: Random, low: int) -> dict[str, int]:
    """Values of all bounds; those that are not known are at least ``low``, and more often small."""
    at: dict[str, int] = {}

    def value(name: str) -> int:
        if name not in at:
            given = universe.bound(name).value
            drawn = max(1, low + draw.randint(0, draw.randint(1, EFFORT.sampled_bound)))
            if given is not None:
                most = compiled(given)({n: value(n) for n in symbols(given)})
                drawn = min(drawn, most) if universe.bound(name).until else most
            at[name] = drawn
        return at[name]

    for b in universe.bounds:
        value(b.name)
    return at


def _index(draw: Random, size: int) -> int:
    """A point of a dimension: near either end, or any."""
    near = draw.randint(0, draw.randrange(size))
    return draw.choice((0, size - 1, near, size - 1 - near, draw.randrange(size)))
