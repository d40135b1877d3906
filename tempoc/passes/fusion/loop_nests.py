"""Statements that become one another: do the loops that carried them before still carry them.

``legality.stuck`` answers for one set of statements; here the set shrinks statement by statement,
and most of what was found for it stays true. A *level* is what stands inside some loops: for each
statement all that it needs there, directly or not, and all that needs it (as bits of an integer, so
that the cycle that a join closes is one conjunction), and the cycles that there are. A cycle is
carried by a loop along one of its *ways*, inside of which is a level again. A join within a cycle
changes none of its ways for the worse, so only the one cycle inside that it touches is looked at; a
join that makes a new cycle asks ``stuck`` about that cycle.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from tempoc.passes.analysis.dependence import ANY, Dependence, is_schedulable
from tempoc.sdg.graph.query import components

DimDirection = tuple[str, int]
Dependences = Sequence[Dependence]


@dataclass(slots=True, eq=False)
class _Cycle:
    """Statements in a cycle and the loops that may carry it, each with what is left inside.

    ``ways``: the loops along which no dependence runs backwards, and whether some dependence always
    runs forwards; ``None`` until somebody asks. ``good``: the way of the last join.
    """

    members: int
    is_schedulable: bool
    ways: dict[DimDirection, bool] | None = None
    inner: dict[DimDirection, _Level] = field(default_factory=dict)
    good: DimDirection | None = None


@dataclass(slots=True, eq=False)
class _Level:
    """Statements inside loops ``carried``: what they need and what needs them, themselves too."""

    carried: tuple[DimDirection, ...]
    needs: dict[str, int]
    needed: dict[str, int]
    cycles: dict[str, _Cycle]


class Nests:
    """Statements of some dimensions that may be joined as long as loops carry their cycles."""

    def __init__(
        self, names: Sequence[str], needs: Iterable[Dependence], dims: Mapping[str, tuple[str, ...]]
    ) -> None:
        self.names = tuple(names)
        self.dims = dims
        self.bits = {name: 1 << k for k, name in enumerate(names)}
        self.alive = sum(self.bits.values())
        self.touching: dict[str, dict[Dependence, None]] = {name: {} for name in names}
        self.own: dict[str, dict[Dependence, None]] = {name: {} for name in names}
        for d in needs:
            ends = (self.own[d.sink],) if d.sink == d.source else self._ends(d)
            for end in ends:
                end[d] = None
        self.outer = self._level(self.names, ())

    # -------------------------------------------------------------- questions

    def between(self, a: str, b: str) -> list[Dependence]:
        """The dependences of two statements on each other."""
        pair = (a, b)
        near = min((self.touching[a], self.touching[b]), key=len)
        return [d for d in near if d.sink in pair and d.source in pair]

    def may_join(self, a: str, b: str) -> bool:
        """Whether some loop nest still runs all that is in a cycle with them if they are one."""
        return self._holds(self.outer, a, b, self._own(a, b), alone=True)

    def is_cyclic(self, a: str, b: str, dim: str) -> bool:
        """Whether two statements are in a cycle that moves along one dimension only."""
        if not self.outer.needs[a] & self.outer.needed[a] & self.bits[b]:
            return False
        return self._reaches(a, b, dim) and self._reaches(b, a, dim)

    def _reaches(self, start: str, end: str, dim: str) -> bool:
        seen, worklist = {start}, [start]
        while worklist:
            name = worklist.pop()
            for d in self.touching[name]:
                along = all(0 in s or k == dim for k, s in d.signs)
                if along and d.sink == name and d.source not in seen:
                    seen.add(d.source)
                    worklist.append(d.source)
        return end in seen

    def _own(self, a: str, b: str) -> list[Dependence]:
        """What two statements need of themselves when they are one."""
        across = (part for d in self.between(a, b) for part in d.moving())
        return [*self.own[a], *self.own[b], *across]

    def _ends(self, d: Dependence) -> tuple[dict[Dependence, None], ...]:
        return self.touching[d.sink], self.touching[d.source]

    def _holds(
        self, level: _Level, a: str, b: str, own: Dependences, *, alone: bool = False
    ) -> bool:
        """Whether a level's cycles can be carried when two are one (``alone``: only theirs)."""
        together = self._cycle(level, a, b)
        others = () if alone else dict.fromkeys(level.cycles.values())
        if not all(c.is_schedulable or c.members & together for c in others):
            return False
        if together & self.alive == self.bits[a] | self.bits[b] and not own:
            return True
        cycle = level.cycles.get(a)
        if cycle is not None and cycle is level.cycles.get(b):
            return self._carries(level, cycle, a, b, own)
        names = self._listed(together)
        around = self._inside(names, level.carried, apart=(a, b))
        needs = [*_joined(around, a, b), *_joined(own, a, b)]
        left = [n for n in names if n != b]
        return is_schedulable(left, needs, self.dims, tuple(d for d, _ in level.carried))

    def _carries(self, level: _Level, cycle: _Cycle, a: str, b: str, own: Dependences) -> bool:
        """Whether a loop carries a cycle, and what is left inside of it, when two of it are one."""
        for way, strict in self._ways(level, cycle).items():
            left = [d for d in own if not _is_strict(d, way)]
            if not strict and len(left) == len(own):
                continue
            if way not in cycle.inner:
                cycle.inner[way] = self._level(self._listed(cycle.members), (*level.carried, way))
            if self._holds(cycle.inner[way], a, b, left):
                cycle.good = way
                return True
        return False

    def _ways(self, level: _Level, cycle: _Cycle) -> dict[DimDirection, bool]:
        if cycle.ways is None:
            names = self._listed(cycle.members)
            needs = [dict(d.signs) for d in self._inside(names, level.carried)]
            outer_dims = {d for d, _ in level.carried}
            cycle.ways = {}
            for dim in self.dims[names[0]]:
                if dim in outer_dims or not all(dim in self.dims[n] for n in names):
                    continue
                along = [signs.get(dim, ANY) for signs in needs]
                for forward in (1, -1):
                    if all(-forward not in s for s in along):
                        cycle.ways[dim, forward] = any(s == {forward} for s in along)
        return cycle.ways

    # -------------------------------------------------------------- joins

    def join(self, a: str, b: str) -> None:
        """Make the second statement part of the first; that must be legal (``may_join``)."""
        own = self._own(a, b)
        for d in tuple(self.touching[b]):
            for end in self._ends(d):
                del end[d]
            if a not in (d.sink, d.source):
                (moved,) = _joined((d,), a, b)
                for end in self._ends(moved):
                    end[moved] = None
        del self.touching[b], self.own[b]
        self.own[a] = dict.fromkeys(_joined(own, a, b))
        self.alive ^= self.bits[b]
        self._merge(self.outer, a, b, own)

    def _merge(self, level: _Level, a: str, b: str, own: Dependences) -> None:
        """A level after a join; what is not known any more is found out when it is asked for."""
        together = self._cycle(level, a, b)
        self._close(level, a, b)
        cycle, other = (level.cycles.pop(x, None) for x in (a, b))
        if together & self.alive == self.bits[a] and not own:
            return
        if cycle is None or cycle is not other:
            fresh = _Cycle(members=together, is_schedulable=True)
            level.cycles.update(dict.fromkeys(self._listed(together), fresh))
            return
        level.cycles[a] = cycle
        cycle.is_schedulable = True
        ways = cycle.ways or {}
        ways.update({w: True for w in ways if any(_is_strict(d, w) for d in own)})
        inner = cycle.inner.pop(cycle.good) if cycle.good else None
        cycle.inner.clear()
        if inner is not None and cycle.good:
            self._merge(inner, a, b, [d for d in own if not _is_strict(d, cycle.good)])
            cycle.inner[cycle.good] = inner

    def _close(self, level: _Level, a: str, b: str) -> None:
        """Let two be one in the closure: who needs either needs what either needs."""
        needs, needed = level.needs, level.needed
        down, up = needs[a] | needs[b], needed[a] | needed[b]
        above, below = needed[a] ^ needed[b], needs[a] ^ needs[b]  # the others know already
        for name in self._listed(above):
            needs[name] |= down
        for name in self._listed(below):
            needed[name] |= up
        needs[a], needed[a] = down, up
        del needs[b], needed[b]

    # -------------------------------------------------------------- levels

    def _level(self, names: Sequence[str], carried: tuple[DimDirection, ...]) -> _Level:
        """What stands inside some loops, from scratch."""
        sources: dict[str, dict[str, None]] = {name: {} for name in names}
        inside = self._inside(names, carried)
        for d in inside:
            sources[d.sink][d.source] = None
        parts = components(names, sources.__getitem__)
        place = {name: k for k, part in enumerate(parts) for name in part}
        below = [dict.fromkeys(place[s] for n in part for s in sources[n]) for part in parts]
        needs = [sum(self.bits[n] for n in part) for part in parts]
        needed = list(needs)
        for k in range(len(parts)):
            for other in below[k]:
                needs[k] |= needs[other]
        for k in reversed(range(len(parts))):
            for other in below[k]:
                needed[other] |= needed[k]
        cycles: dict[int, list[Dependence]] = {}
        for d in inside:
            if place[d.sink] == place[d.source]:
                cycles.setdefault(place[d.sink], []).append(d)
        return _Level(
            carried=carried,
            needs={n: needs[k] for n, k in place.items()},
            needed={n: needed[k] for n, k in place.items()},
            cycles={
                name: cycle
                for k, own in cycles.items()
                for cycle in (self._found(parts[k], own, carried),)
                for name in parts[k]
            },
        )

    def _found(
        self, part: Sequence[str], needs: Dependences, carried: tuple[DimDirection, ...]
    ) -> _Cycle:
        loops = tuple(d for d, _ in carried)
        good = not carried or is_schedulable(part, needs, self.dims, loops)
        return _Cycle(members=sum(self.bits[n] for n in part), is_schedulable=good)

    def _inside(
        self, names: Sequence[str], carried: tuple[DimDirection, ...], apart: tuple[str, ...] = ()
    ) -> list[Dependence]:
        """The dependences among some statements that no loop carries, but those among ``apart``."""
        members = {*names}
        dependences = [
            d
            for name in names
            for d in self.touching[name]
            if d.sink == name and d.source in members
            if not (apart and d.sink in apart and d.source in apart)
        ]
        dependences += [d for name in names if name not in apart for d in self.own[name]]
        return [d for d in dependences if not any(_is_strict(d, way) for way in carried)]

    def _cycle(self, level: _Level, a: str, b: str) -> int:
        """What is in a cycle with two if they are one, themselves included."""
        needs, needed = level.needs, level.needed
        return (needs[a] | needs[b]) & (needed[a] | needed[b])

    def _listed(self, members: int) -> list[str]:
        """The statements that there still are."""
        names: list[str] = []
        members &= self.alive
        while members:
            last = members & -members
            names.append(self.names[last.bit_length() - 1])
            members ^= last
        return names


def _is_strict(d: Dependence, way: DimDirection) -> bool:
    """Whether a loop always carries a dependence."""
    dim, forward = way
    return any(k == dim and s == {forward} for k, s in d.signs)


def _joined(needs: Iterable[Dependence], a: str, b: str) -> Iterator[Dependence]:
    """Dependences with the second statement as part of the first."""
    for d in needs:
        sink, source = (a if end == b else end for end in (d.sink, d.source))
        moved = (d.sink, d.source) != (sink, source)
        yield replace(d, sink=sink, source=source) if moved else d
