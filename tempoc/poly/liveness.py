"""How long stored values live under a frozen schedule: exact, by relations, without another solver.

Usage (all in index expressions, no isl)::

    life = Liveness(scheduled.timeline, {"h": Stored(domain, writes, reads, kept)})
    life.windows("h")              slots needed along each dimension, modulo storage
    life.releases("h")             which cells die right after which statement, and where
    life.last_use("h", "s", at)    where a read by `s` of the cell `at` is the cell's last use

Time is the position in the schedule. Inside one statement instance reads come before writes, so
that a value read for the last time by the instance that writes another one may share its slot;
*late* reads (those of what the instance itself writes) come after its writes. Values that outputs
read (`kept`) live on after the last statement. Values never read are dead once written.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

import islpy as isl
from islpy import dim_type as D

from tempoc.poly import fast, maps, recover
from tempoc.poly.timeline import Timeline
from tempoc.symbolic.domain import Domain
from tempoc.symbolic.expr import (
    FALSE,
    ONE,
    TRUE,
    Entry,
    Expr,
    Sym,
    conjunction,
    maximum,
    minimum,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Use:
    """A statement touches a tensor at `entries` (in its dimensions), where `where` holds.

    `late` reads come after the writes of the same instance.
    """

    task: str
    entries: tuple[Entry, ...]
    where: Expr = TRUE
    late: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Stored:
    """A tensor: where it is defined, who writes it and reads it, which parts outputs take."""

    domain: Domain
    writes: tuple[Use, ...]
    reads: tuple[Use, ...] = ()
    kept: tuple[tuple[Entry, ...], ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Release:
    """After `task`, where `where` holds, the cells at `entries` (in its dimensions) are dead."""

    task: str
    entries: tuple[Entry, ...]
    where: Expr


@dataclass(slots=True)
class Liveness:
    """Live ranges of the stored tensors of a scheduled program; everything is computed once."""

    timeline: Timeline
    stored: Mapping[str, Stored]
    _touching: dict[tuple[str, Use], isl.Map] = field(default_factory=dict)
    _distances: dict[str, isl.Set | None] = field(default_factory=dict)

    def windows(self, tensor: str, order: tuple[str, ...] | None = None) -> tuple[Expr, ...]:
        """How many slots the tensor needs along each dimension of its domain, in bounds.

        Taken one dimension after the other in `order` (default: the domain's): with the window of
        the first as modulus, only values at equal coordinates there can clash in the second, and so
        on. 1 means that one slot serves all. The result is an upper bound where the exact size
        cannot be written as `min` or `max`.
        """
        dims = self.stored[tensor].domain.dims
        gaps = self._gaps(tensor)
        found: dict[str, Expr] = {}
        for dim in order or dims:
            k = dims.index(dim)
            if gaps is None or gaps.is_empty():
                found[dim] = ONE
                continue
            found[dim] = self._size(gaps, k, dim)
            gaps = gaps.fix_val(D.set, k, self.timeline.space.frame.val(0))
        return tuple(found[dim] for dim in dims)

    def _gaps(self, tensor: str) -> isl.Set | None:
        """How far apart values are that are alive together."""
        if tensor not in self._distances:
            gaps = [clash.deltas() for clash in self._clashes(tensor)]
            self._distances[tensor] = maps.union(gaps) if gaps else None
        return self._distances[tensor]

    def _size(self, gaps: isl.Set, k: int, dim: str) -> Expr:
        """The greatest distance plus one."""
        space = self.timeline.space
        facts, universe = space.sized(space.context), space.universe
        gaps = space.sized(gaps)
        try:
            furthest = gaps.dim_max(k).max(gaps.dim_min(k).neg())
        except isl.Error:  # isl gives up on some divisions; the whole extent is always enough
            return Sym(universe.dim(dim).bound)
        size = furthest.add_constant_val(self.timeline.space.frame.val(1)).intersect_params(facts)
        exact = recover.value(size, facts)
        pieces = recover.distinct(size.gist(facts)) if exact is None else []
        parts = [recover.affine(aff) for aff in pieces] if exact is None else [exact]
        parts = [space.size(p) for p in parts]
        # Where nothing clashes (say for T == 1) the size has no value; one slot is enough there.
        larger = [p for p in parts if p != ONE]
        if exact is None and _is_least(
            [a for a, p in zip(pieces, parts, strict=True) if p != ONE], size
        ):
            larger = [minimum(*larger)]
        known = any(fast.at_least(p, 1, universe) for p in larger)
        return maximum(*larger) if known else maximum(ONE, *larger)

    def releases(self, tensor: str) -> tuple[Release, ...]:
        """Which cells die right after which statement, for all cells that die.

        A cell that is never read dies after its write. Deaths that cannot be stated as entries with
        a condition are left out: those cells stay until the end.
        """
        stored, found = self.stored[tensor], list[Release]()
        deaths = self._deaths(tensor)
        if deaths is None:
            return ()
        rest = deaths
        for use in (*stored.reads, *stored.writes):
            touched = self._touch(tensor, use)
            here = rest.apply_range(self._times(use.task).reverse()).intersect(touched.reverse())
            if here.is_empty():
                continue
            rest = rest.subtract_domain(here.domain())
            found += self._stated(use.task, here.reverse())
        return tuple(found)

    def last_use(self, tensor: str, task: str, entries: tuple[Entry, ...]) -> Expr:
        """The condition, over the task's points, under which nobody needs the cells afterwards.

        `entries` are what the task reads or writes; `TRUE`: they are always dead after the task,
        `FALSE`: never.
        """
        domain = self.timeline.tasks[task]
        space, stored = self.timeline.space, self.stored[tensor]
        touched = space.access_map(domain, entries, stored.domain)
        later = isl.Set.empty(space.set(domain).get_space())
        now = self._times(task)
        after = now.apply_range(isl.Map.lex_lt(now.get_space().range()))
        for use in stored.reads:
            again = touched.apply_range(self._reading(tensor, use))
            later = later.union(again.intersect(after).domain())
        for entry in stored.kept:
            kept = space.access_map(Domain(()), entry, stored.domain).range()
            later = later.union(touched.intersect_range(kept).domain())
        dead = space.set(domain).subtract(later)
        return space.simplify(recover.condition(dead.coalesce(), space.set(domain)), domain)

    # Relations

    def _times(self, task: str) -> isl.Map:
        return self.timeline.times[task]

    def _touch(self, tensor: str, use: Use) -> isl.Map:
        """The task's points to the cells they touch."""
        found = self._touching.get((tensor, use))
        if found is None:
            domain = self.timeline.tasks[use.task]
            at = Domain(domain.dims, conjunction(domain.where, use.where))
            found = self.timeline.space.access_map(at, use.entries, self.stored[tensor].domain)
            self._touching[tensor, use] = found
        return found

    def _reading(self, tensor: str, use: Use) -> isl.Map:
        """The cells to the times at which the use touches them."""
        return self._touch(tensor, use).reverse().apply_range(self._times(use.task))

    def _kept(self, tensor: str) -> isl.Set | None:
        stored = self.stored[tensor]
        space = self.timeline.space
        sets = [
            space.access_map(Domain(()), entries, stored.domain).range() for entries in stored.kept
        ]
        total = None
        for s in sets:
            total = s if total is None else total.union(s)
        return total

    def _clashes(self, tensor: str) -> Iterator[isl.Map]:
        """Pairs of cells of which the first is alive when the second is written, use by use."""
        stored = self.stored[tensor]
        if not stored.writes:
            return
        born = maps.union([self._reading(tensor, w) for w in stored.writes])
        times = born.get_space().range()
        backwards = born.reverse()
        since = born.apply_range(isl.Map.lex_le(times)).apply_range(backwards)
        for use in stored.reads:
            reading = self._reading(tensor, use)
            order = isl.Map.lex_ge(times) if use.late else isl.Map.lex_gt(times)
            until = reading.apply_range(order).apply_range(backwards)
            yield since.intersect(until)
        kept = self._kept(tensor)
        if kept is not None:
            yield since.intersect_domain(kept)

    def _deaths(self, tensor: str) -> isl.Map | None:
        """Each cell that dies to the time of its last use."""
        stored = self.stored[tensor]
        uses = [self._reading(tensor, u) for u in (*stored.writes, *stored.reads)]
        if not stored.writes:
            return None
        last = maps.latest(maps.union(uses))
        kept = self._kept(tensor)
        return last if kept is None else last.subtract_domain(kept)

    def _stated(self, task: str, cells: isl.Map) -> Iterator[Release]:
        """The task's points to the cells that die there, as entries with conditions."""
        whole = list(self._release(task, cells))
        if whole:
            yield from whole
            return
        for part in cells.make_disjoint().get_basic_maps():
            yield from self._release(task, isl.Map.from_basic_map(part))

    def _release(self, task: str, cells: isl.Map) -> Iterator[Release]:
        found = recover.entries(cells)
        if found is None or not found[1]:
            return
        domain = self.timeline.tasks[task]
        points = self.timeline.space.set(domain)
        where = recover.condition(cells.domain(), points)
        if where != FALSE:
            yield Release(task=task, entries=found[0], where=where)


def _is_least(pieces: list[isl.Aff], size: isl.PwAff) -> bool:
    """Whether each of some pieces of a size is nowhere less than the size."""
    domain = size.domain()
    return all(domain.is_subset(size.le_set(p.to_pw_aff())) for p in pieces)
