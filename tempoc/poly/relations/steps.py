"""Steps: whether what a point writes is read in the same step of some dimensions, later or before.

A step is a point of these dimensions, the slowest first; points of other dimensions are within it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import reduce

from tempoc.poly.isl import D, isl
from tempoc.poly.relations.space import Space
from tempoc.symbolic import expr as ix
from tempoc.symbolic.domain import Domain


@dataclass(frozen=True, slots=True)
class Passage:
    """Where values go: each point of a writer with the points of a reader that use it."""

    pairs: isl.Map

    def then(self, other: Passage) -> Passage:
        """First this way, then the other one."""
        return Passage(self.pairs.apply_range(other.pairs))

    def joined(self, other: Passage) -> Passage:
        """Both ways."""
        return Passage(self.pairs.union(other.pairs).coalesce())


@dataclass(frozen=True, slots=True, kw_only=True)
class Timing:
    """When a passage is: whether some of it leads to an earlier step, and some to the same one.

    ``at_once``: every point that is read at all is read in its own step.
    """

    before: bool
    same: bool
    at_once: bool


def reading(space: Space, reader: Domain, entries: tuple[ix.Entry, ...], source: Domain) -> Passage:
    """From the points of a tensor to those that read it."""
    return Passage(space.access_map(reader, entries, source).reverse())


def writing(space: Space, branch: Domain, target: tuple[ix.Expr, ...], tensor: Domain) -> Passage:
    """From the points of an equation to those of the tensor that it defines."""
    return Passage(space.access_map(branch, target, tensor))


@dataclass(frozen=True, slots=True)
class PassageEnd:
    """The points of a writer or a reader: their dimensions, and which step each belongs to.

    ``ahead``: how many points of a dimension lie between the step and the point, if not none.
    """

    dims: tuple[str, ...]
    ahead: Mapping[str, int]


def written_ahead(dims: tuple[str, ...], targets: Sequence[tuple[ix.Expr, ...]]) -> dict[str, int]:
    """How many points ahead of their own all equations of a tensor write: 1 of ``m[t+1] = ...``."""
    ahead: dict[str, int] = {}
    for place, dim in enumerate(dims):
        distances = (ix.sub(target[place], ix.Sym(dim)) for target in targets)
        constant = {d.value for d in distances if isinstance(d, ix.Const)}
        if len(constant) == 1 and (distance := constant.pop()):
            ahead[dim] = distance
    return ahead


def timing(
    space: Space, order: tuple[str, ...], passage: Passage, ends: tuple[PassageEnd, PassageEnd]
) -> Timing:
    """When a passage is, in steps of `order`, between points with these dimensions."""
    sorted_dims = space.universe.sorted(order)

    def steps(end: PassageEnd) -> isl.Map:
        own = tuple(ix.sub(ix.Sym(d), ix.Const(end.ahead.get(d, 0))) for d in sorted_dims)
        return space.access_map(Domain(end.dims), own, Domain(sorted_dims), clip=False)

    writer, reader = (steps(end) for end in ends)
    pairs = passage.pairs.apply_domain(writer).apply_range(reader)
    same = pairs.intersect(isl.Map.identity(pairs.get_space()))
    earlier = _earlier(pairs.get_space(), tuple(sorted_dims.index(d) for d in order))
    return Timing(
        before=not pairs.intersect(earlier).is_empty(),
        same=not same.is_empty(),
        at_once=bool(pairs.domain().is_subset(same.domain())),
    )


def _earlier(space: isl.Space, places: tuple[int, ...]) -> isl.Map:
    """All pairs of which the second is earlier, in the lexicographic order of some places."""
    cases = []
    for k, place in enumerate(places):
        case = isl.Map.universe(space)
        for before in places[:k]:
            case = case.equate(D.in_, before, D.out, before)
        cases.append(case.order_gt(D.in_, place, D.out, place))
    return reduce(lambda a, b: a.union(b), cases)
