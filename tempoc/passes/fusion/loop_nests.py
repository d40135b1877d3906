"""Incremental legality of fusion: whether loop nests still run the statements after each join.

``analysis/dependence.py`` decides that for one set of statements; here statements are joined one
by one, and most results stay valid. A *level* describes the statements inside some loops: for each
one its transitive operands and consumers there (as bits of an integer, so that the cycle that a
join closes is one conjunction), and the dependence cycles. A cycle is carried by a loop along one
of its *directions*, and inside that loop is a level again. A join within a cycle keeps its legal
directions, so only the one inner cycle that it touches is examined; a join that closes a new cycle
is decided by ``is_carried``.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from tempoc.base.graphs import reachable, strongly_connected_components
from tempoc.passes.analysis.dependence import ANY, Dependence, is_carried

DimDirection = tuple[str, int]
Dependences = Sequence[Dependence]


@dataclass(slots=True, eq=False)
class _Cycle:
    """Statements in a cycle and the loops that may carry it, each with the level inside.

    ``directions``: the loops along which no dependence runs backward, and whether some dependence
    is strictly forward; ``None`` until needed. ``good``: the direction that allowed the last join.
    """

    members: int
    is_schedulable: bool
    directions: dict[DimDirection, bool] | None = None
    inner: dict[DimDirection, _Level] = field(default_factory=dict)
    good: DimDirection | None = None


@dataclass(slots=True, eq=False)
class _Level:
    """Statements inside loops ``carried``, with bits of their transitive operands and consumers."""

    carried: tuple[DimDirection, ...]
    needs: dict[str, int]
    needed: dict[str, int]
    cycles: dict[str, _Cycle]


class LoopNests:
    """Statements with their loops, which may be joined as long as loops carry all cycles."""

    def __init__(
        self, names: Sequence[str], needs: Iterable[Dependence], dims: Mapping[str, tuple[str, ...]]
    ) -> None:
        self.names = tuple(names)
        self.dims = dims
        self.bits = {name: 1 << k for k, name in enumerate(names)}
        self.alive = sum(self.bits.values())
        self.inside: dict[str, int] = {}
        for name in names:
            for dim in dims[name]:
                self.inside[dim] = self.inside.get(dim, 0) | self.bits[name]
        self.touching: dict[str, dict[Dependence, None]] = {name: {} for name in names}
        self.own: dict[str, dict[Dependence, None]] = {name: {} for name in names}
        self.moving: dict[str, int] = {}
        for d in needs:
            ends = (self.own[d.sink],) if d.sink == d.source else self._ends(d)
            for end in ends:
                end[d] = None
            self._note_moving(d, d.sink)
        self.outer = self._level(self.names, ())
        self.illegal: dict[tuple[str, str], int] = {}

    # -------------------------------------------------------------- questions

    def between(self, a: str, b: str) -> list[Dependence]:
        """The dependences between two statements."""
        pair = (a, b)
        near = min((self.touching[a], self.touching[b]), key=len)
        return [d for d in near if d.sink in pair and d.source in pair]

    def may_join(self, a: str, b: str) -> bool:
        """Whether some loop nest runs the cycle of two statements after their join.

        If none does, none will as long as the cycle has the same members: they may come to depend
        on each other more.
        """
        members = self._cycle(self.outer, a, b) & self.alive
        if self.illegal.get((a, b)) == members:
            return False
        may = self._holds(self.outer, a, b, self._own(a, b), alone=True)
        if not may:
            self.illegal[a, b] = members
        return may

    def is_cyclic(self, a: str, b: str, dim: str) -> bool:
        """Whether two statements are in a cycle that moves along one dimension only."""
        if not self.outer.needs[a] & self.outer.needed[a] & self.bits[b]:
            return False
        return self._reaches(a, b, dim) and self._reaches(b, a, dim)

    def _reaches(self, start: str, end: str, dim: str) -> bool:
        def sources(name: str) -> Iterator[str]:
            for d in self.touching[name]:
                if d.sink == name and all(0 in s or k == dim for k, s in d.signs):
                    yield d.source

        return end in reachable([start], sources)

    def _own(self, a: str, b: str) -> list[Dependence]:
        """The dependences of two statements on themselves after their join."""
        across = (part for d in self.between(a, b) for part in d.moving())
        return [*self.own[a], *self.own[b], *across]

    def _ends(self, d: Dependence) -> tuple[dict[Dependence, None], ...]:
        return self.touching[d.sink], self.touching[d.source]

    def _holds(
        self, level: _Level, a: str, b: str, own: Dependences, *, alone: bool = False
    ) -> bool:
        """Whether a level's cycles can be carried after a join (``alone``: only the joined one)."""
        members = self._cycle(level, a, b)
        others = () if alone else dict.fromkeys(level.cycles.values())
        if not all(c.is_schedulable or c.members & members for c in others):
            return False
        if members & self.alive == self.bits[a] | self.bits[b] and not own:
            return True
        cycle = level.cycles.get(a)
        if cycle is not None and cycle is level.cycles.get(b):
            return self._carries(level, cycle, a, b, own)
        if not self._has_loop(level, members & self.alive, a, own):
            return False
        names = self._listed(members)
        around = self._inside(names, level.carried, apart=(a, b))
        needs = [*_renamed(around, a, b), *_renamed(own, a, b)]
        remaining = tuple(n for n in names if n != b)
        # Each of them needs the joined statement, which needs each of them.
        return is_carried(remaining, needs, self.dims, tuple(d for d, _ in level.carried))

    def _has_loop(self, level: _Level, members: int, name: str, own: Dependences) -> bool:
        """Whether all members have a loop of a statement that no loop around has, and some need of
        theirs, or of ``own``, always moves along it: a cycle of them needs one."""
        around = {dim for dim, _ in level.carried}
        loops = [
            dim for dim in self.dims[name] if dim not in around and not members & ~self.inside[dim]
        ]
        return any(
            members & self.moving.get(dim, 0) or any(dim in _moving_dims(d) for d in own)
            for dim in loops
        )

    def _note_moving(self, d: Dependence, sink: str) -> None:
        """Take down the statement for the dimensions along which its dependence always moves."""
        for dim in _moving_dims(d):
            self.moving[dim] = self.moving.get(dim, 0) | self.bits[sink]

    def _carries(self, level: _Level, cycle: _Cycle, a: str, b: str, own: Dependences) -> bool:
        """Whether some loop carries a cycle, and the level inside is legal, after a join in it."""
        for direction, strict in self._directions(level, cycle).items():
            remaining = [d for d in own if not _is_strict(d, direction)]
            if not strict and len(remaining) == len(own):
                continue
            if direction not in cycle.inner:
                cycle.inner[direction] = self._level(
                    self._listed(cycle.members), (*level.carried, direction)
                )
            if self._holds(cycle.inner[direction], a, b, remaining):
                cycle.good = direction
                return True
        return False

    def _directions(self, level: _Level, cycle: _Cycle) -> dict[DimDirection, bool]:
        if cycle.directions is None:
            names = self._listed(cycle.members)
            needs = [dict(d.signs) for d in self._inside(names, level.carried)]
            outer_dims = {d for d, _ in level.carried}
            cycle.directions = {}
            for dim in self.dims[names[0]]:
                if dim in outer_dims or not all(dim in self.dims[n] for n in names):
                    continue
                along = [signs.get(dim, ANY) for signs in needs]
                for forward in (1, -1):
                    if all(-forward not in s for s in along):
                        cycle.directions[dim, forward] = any(s == {forward} for s in along)
        return cycle.directions

    # -------------------------------------------------------------- joins

    def join(self, a: str, b: str) -> None:
        """Make the second statement part of the first; that must be legal (``may_join``)."""
        own = self._own(a, b)
        for d in tuple(self.touching[b]):
            for end in self._ends(d):
                del end[d]
            if a not in (d.sink, d.source):
                (moved,) = _renamed((d,), a, b)
                for end in self._ends(moved):
                    end[moved] = None
        del self.touching[b], self.own[b]
        self.own[a] = dict.fromkeys(_renamed(own, a, b))
        for dim, sinks in self.moving.items():
            if sinks & self.bits[b]:
                self.moving[dim] = sinks | self.bits[a]
        for d in own:
            self._note_moving(d, a)
        self.alive ^= self.bits[b]
        self._merge(self.outer, a, b, own)

    def _merge(self, level: _Level, a: str, b: str, own: Dependences) -> None:
        """Update a level after a join; results that became invalid are recomputed on demand."""
        members = self._cycle(level, a, b)
        self._close(level, a, b)
        cycle, other = (level.cycles.pop(x, None) for x in (a, b))
        if members & self.alive == self.bits[a] and not own:
            return
        if cycle is None or cycle is not other:
            fresh = _Cycle(members=members, is_schedulable=True)
            level.cycles.update(dict.fromkeys(self._listed(members), fresh))
            return
        level.cycles[a] = cycle
        cycle.is_schedulable = True
        directions = cycle.directions or {}
        directions.update({w: True for w in directions if any(_is_strict(d, w) for d in own)})
        inner = cycle.inner.pop(cycle.good) if cycle.good else None
        cycle.inner.clear()
        if inner is not None and cycle.good:
            self._merge(inner, a, b, [d for d in own if not _is_strict(d, cycle.good)])
            cycle.inner[cycle.good] = inner

    def _close(self, level: _Level, a: str, b: str) -> None:
        """Update the transitive closure after a join."""
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
        """The level of statements inside some loops, from scratch."""
        sources: dict[str, dict[str, None]] = {name: {} for name in names}
        inside = self._inside(names, carried)
        for d in inside:
            sources[d.sink][d.source] = None
        parts = strongly_connected_components(names, sources.__getitem__)
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
                for cycle in (self._cycle_of(parts[k], own, carried),)
                for name in parts[k]
            },
        )

    def _cycle_of(
        self, part: tuple[str, ...], needs: Dependences, carried: tuple[DimDirection, ...]
    ) -> _Cycle:
        loops = tuple(d for d, _ in carried)
        good = not carried or is_carried(part, needs, self.dims, loops)
        return _Cycle(members=sum(self.bits[n] for n in part), is_schedulable=good)

    def _inside(
        self, names: Sequence[str], carried: tuple[DimDirection, ...], apart: tuple[str, ...] = ()
    ) -> list[Dependence]:
        """The dependences among statements that no loop carries, without those among ``apart``."""
        members = {*names}
        dependences = [
            d
            for name in names
            for d in self.touching[name]
            if d.sink == name and d.source in members
            if not (apart and d.sink in apart and d.source in apart)
        ]
        dependences += [d for name in names if name not in apart for d in self.own[name]]
        return [
            d for d in dependences if not any(_is_strict(d, direction) for direction in carried)
        ]

    def _cycle(self, level: _Level, a: str, b: str) -> int:
        """The members of the cycle that a join of two statements closes, themselves included."""
        needs, needed = level.needs, level.needed
        return (needs[a] | needs[b]) & (needed[a] | needed[b])

    def _listed(self, members: int) -> list[str]:
        """The names of those members that still exist."""
        names: list[str] = []
        members &= self.alive
        while members:
            last = members & -members
            names.append(self.names[last.bit_length() - 1])
            members ^= last
        return names


def _is_strict(d: Dependence, direction: DimDirection) -> bool:
    """Whether a loop always carries a dependence."""
    dim, forward = direction
    for k, signs in d.signs:
        if k == dim:
            return forward in signs and len(signs) == 1
    return False


def _moving_dims(d: Dependence) -> list[str]:
    """The dimensions of whose loops one direction always carries a dependence."""
    return [dim for dim, signs in d.signs if len(signs) == 1 and 0 not in signs]


def _renamed(needs: Iterable[Dependence], a: str, b: str) -> Iterator[Dependence]:
    """Dependences after the second statement has become part of the first."""
    for d in needs:
        sink, source = (a if end == b else end for end in (d.sink, d.source))
        moved = (d.sink, d.source) != (sink, source)
        yield d._replace(sink=sink, source=source) if moved else d
