"""Live ranges of stored values under a fixed schedule: exact, as relations.

Usage (all in index expressions, no isl)::

    life = Liveness(scheduled.timeline, {"h": Stored(domain, writes, reads, outputs)})
    life.windows("h")              slots needed along each dimension, modulo storage
    life.releases("h")             the cells that die right after each statement
    life.is_last_use("h", "s", at) whether a read by `s` of the cell `at` is its last use

Time is the position in the schedule. Inside one statement instance reads come before writes, so
that a value whose last use is in the instance that writes another one may share its slot; *late*
reads (of values that the instance itself writes) come after its writes. Values that outputs read
(`outputs`) are live after the last statement. Values that are never read are dead once written.

Lengths that the data decide may vary from point to point, say of `k` with `g`. Cells `[g, k]` of
which all uses are at points with the same `g` are compared as if one length were that of all `g`,
as long as they have the same `g` (`StoredTensor.outer`): no use knows of another length. What has
different `g`, or is used elsewhere, is compared by `open`, where a length may be any.

Entries with many divisions can take isl hours. Queries are limited in steps: if one is given up,
the tensor gets a slot for each point, or its values live until the end.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import Enum
from functools import partial
from itertools import compress
from typing import TypeVar

from tempoc.base.effort import EFFORT
from tempoc.poly.isl import D, integer, isl, text_of
from tempoc.poly.relations import maps, recover, syntactic as fast
from tempoc.poly.scheduling.timeline import Moments, Timeline
from tempoc.symbolic import expr as ix
from tempoc.symbolic.domain import Domain, conjuncts
from tempoc.symbolic.walk import symbols

R = TypeVar("R")


@dataclass(frozen=True, slots=True, kw_only=True)
class TensorUse:
    """A statement touches a tensor at `entries` (in its dimensions), where `where` holds.

    `late` reads come after the writes of the same instance.
    """

    task: str
    entries: tuple[ix.Entry, ...]
    where: ix.Expr = ix.TRUE
    late: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredTensor:
    """A tensor: its domain, its writers and readers, and the parts that outputs take.

    All uses of a cell are at its own coordinates along `outer`, if that is not `None`.
    """

    domain: Domain
    writes: tuple[TensorUse, ...]
    reads: tuple[TensorUse, ...] = ()
    outputs: tuple[tuple[ix.Entry, ...], ...] = ()
    outer: frozenset[str] | None = frozenset()

    @property
    def uses(self) -> tuple[TensorUse, ...]:
        """Its reads and writes."""
        return (*self.reads, *self.writes)


@dataclass(frozen=True, slots=True, kw_only=True)
class CellDeath:
    """After `task`, where `where` holds, the cells at `entries` (in its dimensions) are dead."""

    task: str
    entries: tuple[ix.Entry, ...]
    where: ix.Expr


@dataclass(frozen=True, slots=True, kw_only=True)
class _Touch:
    """A use of a tensor, identified by its times and entries instead of its task."""

    moments: Moments
    entries: tuple[ix.Entry, ...]
    where: ix.Expr
    late: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class _Life:
    """A stored tensor whose uses are `_Touch`: equal ones share their results in the memo table."""

    domain: Domain
    writes: tuple[_Touch, ...]
    reads: tuple[_Touch, ...]
    outputs: tuple[tuple[ix.Entry, ...], ...]

    def distinct(self) -> _Life:
        """The same without duplicate uses."""
        writes, reads = (tuple(dict.fromkeys(uses)) for uses in (self.writes, self.reads))
        return replace(self, writes=writes, reads=reads)


class Pairs(Enum):
    """Pairs of cells: all, those with the same coordinates along some dimensions, the others."""

    ALL = "all"
    NEAR = "near"
    FAR = "far"


@dataclass(frozen=True, slots=True)
class Liveness:
    """Live ranges of the stored tensors of a scheduled program; all results are memoized.

    With lengths that vary, `timeline` is that of one length for all points, `open` of any.
    """

    timeline: Timeline
    stored: Mapping[str, StoredTensor]
    open: Timeline | None = None
    lives: dict[tuple[StoredTensor, tuple[str, ...]], _Life] = field(
        default_factory=dict, compare=False, repr=False
    )

    @property
    def unrelated(self) -> Liveness:
        """The live ranges if nothing is known of the lengths at any point."""
        return self if self.open is None else Liveness(self.open, self.stored)

    def windows(self, tensor: str, order: tuple[str, ...] | None = None) -> tuple[ix.Expr, ...]:
        """How many slots the tensor needs along each dimension of its domain, in bounds.

        Taken one dimension after the other in `order` (default: the domain's): with the window of
        the first as modulus, only values at equal coordinates there can clash in the second, and so
        on. 1 means that one slot serves all. The result is an upper bound where the exact size
        cannot be written as `min` or `max`, and the whole extent where isl takes too long.
        """
        stored = self.stored[tensor]
        universe = self.timeline.space.universe
        extents = tuple(ix.Sym(universe.dim(d).bound) for d in stored.domain.dims)
        if _stays_whole(stored, extents):
            return extents
        order = order or stored.domain.dims
        if self.open is None or stored.outer is None:
            return self.unrelated._windows_of(stored, order, Pairs.ALL) or extents
        near = self._windows_of(stored, order, Pairs.NEAR)
        far = self.unrelated._windows_of(stored, order, Pairs.FAR)
        return tuple(map(ix.maximum, near, far)) if near and far else extents

    def _windows_of(
        self, stored: StoredTensor, order: tuple[str, ...], pairs: Pairs
    ) -> tuple[ix.Expr, ...] | None:
        """`_find_windows`, once for all tensors that the same statements use alike."""
        about = stored, order, pairs
        return self._once("windows of", about, lambda: self._find_windows(*about))

    def _find_windows(
        self, stored: StoredTensor, order: tuple[str, ...], pairs: Pairs
    ) -> tuple[ix.Expr, ...] | None:
        """The windows for some pairs of cells, or `None` if isl takes too long.

        Along dimensions of which each use takes all cells at once, all clash if any do. Without
        these there are fewer orders of dimensions, and many tensors have equal live ranges.
        """
        outer = frozenset() if pairs == Pairs.ALL or stored.outer is None else stored.outer
        whole = self._whole(stored) if pairs == Pairs.ALL else {}
        # Whatever is alive is compared with what is written, nothing else.
        life = self._life(_without(stored, whole), [w.task for w in stored.writes]).distinct()
        some = tuple(d for d in order if d not in whole)
        about = (life, some, pairs, outer)
        sizes = self._limited("windows", about, lambda: self._windows(life, some, pairs, outer))
        if sizes is None or not whole:
            return sizes
        clashing = self._limited("clashing", life, lambda: self._is_clashing(life))
        if clashing is None:
            return None
        known = life.domain.at(sizes)
        return tuple(
            known[d] if d in known else whole[d] if clashing else ix.ONE for d in stored.domain.dims
        )

    def _whole(self, stored: StoredTensor) -> dict[str, ix.Expr]:
        """The dimensions along which each use takes the same cells, the first ones; how many."""
        universe, whole = self.timeline.space.universe, dict[str, ix.Expr]()
        taken = (*(use.entries for use in stored.uses), *stored.outputs)
        coupled = [set(symbols(c)) for c in conjuncts(stored.domain.where)]
        for dim, *entries in zip(stored.domain.dims, *taken, strict=True):
            if len({*entries}) != 1 or any(
                dim in names and any(universe.is_dim(n) and n != dim for n in names)
                for names in coupled
            ):
                continue
            match entries[0]:
                case ix.Slice(lo=ix.ZERO, hi=hi, step=1) if not any(
                    universe.is_dim(n) for n in symbols(hi)
                ) and fast.at_least(hi, 1, universe):
                    whole[dim] = hi
        return whole

    def _windows(
        self, life: _Life, order: tuple[str, ...], pairs: Pairs, outer: frozenset[str]
    ) -> tuple[ix.Expr, ...]:
        dims = life.domain.dims
        gaps = self._gaps(life) if order else None
        gaps = None if gaps is None else _among(gaps, [dims.index(d) for d in outer], pairs)
        sizes: dict[str, ix.Expr] = {}
        for dim in order:
            equal = frozenset(sizes)
            compute = partial(self._size, gaps, dims, equal, dim)
            sizes[dim] = self._once("size", (life, pairs, outer, equal, dim), compute)
        return tuple(sizes[dim] for dim in dims)

    def _is_clashing(self, life: _Life) -> bool:
        """Whether any cell is alive when one is written, be it the same."""
        gaps = self._gaps(life)
        return gaps is not None and not gaps.is_empty()

    def _gaps(self, life: _Life) -> isl.Set | None:
        """The distances between cells that are live at the same time."""
        return self._once("gaps", life, lambda: self._find_gaps(life))

    def _find_gaps(self, life: _Life) -> isl.Set | None:
        if not life.writes:
            return None
        writes = replace(life, reads=(), outputs=())
        gaps = [self._clash(writes, use) for use in life.reads]
        if (outputs := self._output_cells(life)) is not None:
            gaps.append(self._since(writes).intersect_domain(outputs).deltas())
        return maps.union(gaps) if gaps else None

    def _size(
        self, gaps: isl.Set | None, dims: tuple[str, ...], equal: frozenset[str], dim: str
    ) -> ix.Expr:
        """The greatest distance plus one along a dimension, at equal coordinates in others."""
        if gaps is None:
            return ix.ONE
        space = self.timeline.space
        facts, universe, zero = space.sized(space.context), space.universe, space.frame.val(0)
        for k, other in enumerate(dims):
            gaps = gaps.fix_val(D.set, k, zero) if other in equal else gaps
        if gaps.is_empty():
            return ix.ONE
        k = dims.index(dim)
        # The distances of one dimension alone are far fewer sets.
        gaps = gaps.project_out(D.set, k + 1, len(dims) - k - 1).project_out(D.set, 0, k)
        gaps = space.sized(gaps.coalesce())
        if _divisions(gaps) > EFFORT.window_divisions:
            return ix.Sym(universe.dim(dim).bound)
        # Few sets of distances are different ones: a step, all steps, a window.
        try:
            size, exact = self._once("most", text_of(gaps), lambda: self._most_slots(gaps, facts))
        except isl.Error:  # isl gives up on some divisions; the whole extent is always enough
            return ix.Sym(universe.dim(dim).bound)
        pieces = recover.distinct(size.gist(facts)) if exact is None else []
        parts = [recover.affine(aff) for aff in pieces] if exact is None else [exact]
        parts = [space.size(p) for p in parts]
        # Where nothing clashes (say for T == 1) the size has no value; one slot is enough there.
        larger = [p for p in parts if p != ix.ONE]
        if exact is None and _is_least(
            [a for a, p in zip(pieces, parts, strict=True) if p != ix.ONE], size
        ):
            larger = [ix.minimum(*larger)]
        is_positive = any(fast.at_least(p, 1, universe) for p in larger)
        slots = ix.maximum(*larger) if is_positive else ix.maximum(ix.ONE, *larger)
        if exact is None and ix.interval(slots)[1] is None and (most := _most(size)) is not None:
            # There is a limit for all bounds, which the greatest of all parts does not show.
            return ix.minimum(ix.Const(most), ix.Sym(universe.dim(dim).bound))
        return slots

    def _most_slots(self, gaps: isl.Set, facts: isl.Set) -> tuple[isl.PwAff, ix.Expr | None]:
        """The greatest distance plus one in one dimension; as an expression if one is exact."""
        for furthest in _furthest(gaps):
            one = self.timeline.space.frame.val(1)
            size = furthest.add_constant_val(one).intersect_params(facts)
            if (exact := recover.value(size, facts)) is not None:
                break
        return size, exact

    def releases(self, tensor: str, after: Collection[str] = frozenset()) -> tuple[CellDeath, ...]:
        """The cells that die right after each statement, for all cells that die.

        A cell that is never read dies after its write. Deaths that cannot be stated as entries with
        a condition are left out: those cells live until the end. So are deaths at the tasks
        `after`, which come after all others.
        """
        stored = self.stored[tensor]
        uses = stored.uses
        life = self._life(stored, [u.task for u in uses])
        asked = tuple(u.task not in after for u in uses)
        deaths = self._limited(
            "releases", (life, asked), lambda: tuple(self._releases(life, asked))
        )
        return tuple(replace(release, task=uses[k].task) for k, release in deaths or ())

    def _releases(self, life: _Life, asked: Sequence[bool]) -> Iterator[tuple[int, CellDeath]]:
        """The deaths after each of the reads and writes that are asked for, by index."""
        remaining = self._deaths(life, asked)
        if remaining is None:
            return
        for k, use in compress(enumerate((*life.reads, *life.writes)), asked):
            times = self.timeline.relation(use.moments)
            dying = remaining.apply_range(times.reverse()).intersect(
                self._touch(life, use).reverse()
            )
            if not dying.is_empty():
                remaining = remaining.subtract_domain(dying.domain())
                yield from ((k, r) for r in self._stated(self._points(use), dying.reverse()))
                if remaining.is_empty():
                    return

    def is_last_use(self, tensor: str, task: str, entries: tuple[ix.Entry, ...]) -> bool:
        """Whether the cells have no later use, at each of the task's points, as far as is known.

        `entries` are the cells that the task reads or writes.
        """
        if self.open is not None and self.stored[tensor].outer is None:
            return self.unrelated.is_last_use(tensor, task, entries)
        last = TensorUse(task=task, entries=entries)
        life = self._life(replace(self.stored[tensor], writes=(last,)), [task]).distinct()
        return bool(self._limited("last use", life, lambda: self._is_last_use(life)))

    def _is_last_use(self, life: _Life) -> bool:
        """Whether the use of the only writer is always the last one."""
        (writer,) = life.writes
        points = self.timeline.space.set(self._points(writer))
        outputs = self._output_cells(life)
        if outputs is not None:
            shown = self._touch(life, writer).intersect_range(outputs).domain()
            if not points.is_disjoint(shown):
                return False
        # What is read last in the program is mostly read after this use.
        alone = replace(life, reads=(), outputs=())
        is_dead = all(points.is_disjoint(self._again(alone, u)) for u in reversed(life.reads))
        return is_dead and not points.is_empty()

    def _again(self, life: _Life, use: _Touch) -> isl.Set:
        """The points of the only writer whose cells `use` reads later."""

        def compute() -> isl.Set:
            (writer,) = life.writes
            now = self.timeline.relation(writer.moments)
            after = now.apply_range(isl.Map.lex_lt(now.get_space().range()))
            read_times = self._touch(life, writer).apply_range(self._reading(life, use))
            return read_times.intersect(after).domain()

        return self._once("again", (life, use), compute)

    # Relations

    def _once(self, question: str, about: Hashable, make: Callable[[], R]) -> R:
        return self.timeline.space.known.once((question, about, self.timeline.exact), make)

    def _limited(self, question: str, about: Hashable, make: Callable[[], R]) -> R | None:
        """The result, or `None` if isl takes too many steps."""
        frame = self.timeline.space.frame
        return self._once(question, about, lambda: frame.within_patience(make))

    def _life(self, stored: StoredTensor, anchors: Sequence[str]) -> _Life:
        """The tensor with times that compare with those of the anchors."""
        key = (stored, tuple(anchors))
        if key not in self.lives:
            self.lives[key] = self._made_life(stored, anchors)
        return self.lives[key]

    def _made_life(self, stored: StoredTensor, anchors: Sequence[str]) -> _Life:
        tasks = dict.fromkeys(u.task for u in (*stored.writes, *stored.reads))
        when = self.timeline.compared(tuple(tasks), anchors)
        writes, reads = (
            tuple(
                _Touch(moments=when[u.task], entries=u.entries, where=u.where, late=u.late)
                for u in uses
            )
            for uses in (stored.writes, stored.reads)
        )
        return _Life(domain=stored.domain, writes=writes, reads=reads, outputs=stored.outputs)

    def _points(self, use: _Touch) -> Domain:
        return self.timeline.tasks[use.moments.like]

    def _touch(self, life: _Life, use: _Touch) -> isl.Map:
        """The points of a use to the cells that they read or write."""
        points = self._points(use)
        at = Domain(points.dims, ix.conjunction(points.where, use.where))
        return self._once(
            "touch",
            (at, use.entries, life.domain),
            lambda: self.timeline.space.access_map(at, use.entries, life.domain),
        )

    def _reading(self, life: _Life, use: _Touch) -> isl.Map:
        """The cells to the times at which the use reads or writes them."""
        times = self.timeline.relation(use.moments)
        about = (life.domain, use)
        return self._once(
            "reading", about, lambda: self._touch(life, use).reverse().apply_range(times)
        )

    def _output_cells(self, life: _Life) -> isl.Set | None:
        space = self.timeline.space
        sets = [space.access_map(Domain(()), e, life.domain).range() for e in life.outputs]
        total = None
        for s in sets:
            total = s if total is None else total.union(s)
        return total

    def _clash(self, writes: _Life, use: _Touch) -> isl.Set:
        """The distances to cells that are written while a cell still awaits the use."""

        def compute() -> isl.Set:
            born = self._born(writes)
            times = born.get_space().range()
            order = isl.Map.lex_ge(times) if use.late else isl.Map.lex_gt(times)
            until = maps.through(self._reading(writes, use), order, born.reverse())
            return self._since(writes).intersect(until).deltas()

        return self._once("clash", (writes, use), compute)

    def _since(self, writes: _Life) -> isl.Map:
        """Pairs of cells of which the second is written at the same time as the first, or later."""

        def compute() -> isl.Map:
            born = self._born(writes)
            later = isl.Map.lex_le(born.get_space().range())
            return maps.through(born, later, born.reverse())

        return self._once("since", writes, compute)

    def _born(self, writes: _Life) -> isl.Map:
        """The cells to the times at which they are written."""
        return self._once(
            "born", writes, lambda: maps.union([self._reading(writes, w) for w in writes.writes])
        )

    def _deaths(self, life: _Life, asked: Sequence[bool]) -> isl.Map | None:
        """Each cell that dies at one of the uses that are asked for, to the time of this.

        All other uses are later ones: whatever these take does not die before.
        """
        split = len(life.reads)
        uses = (
            *compress(life.writes, asked[split:]),
            *compress(life.reads, asked[:split]),
        )
        if not life.writes or not uses:
            return None
        last = maps.latest(maps.union([self._reading(life, u) for u in uses]))
        outputs = self._output_cells(life)
        last = last if outputs is None else last.subtract_domain(outputs)
        for use in compress((*life.reads, *life.writes), (not own for own in asked)):
            if last.is_empty():
                break
            last = last.subtract_domain(self._reading(life, use).domain())
        return last

    def _stated(self, domain: Domain, cells: isl.Map) -> Iterator[CellDeath]:
        """The cells that die at a task's points, as entries with conditions."""
        exact = list(self._release(domain, cells))
        if exact:
            yield from exact
            return
        for part in cells.make_disjoint().get_basic_maps():
            yield from self._release(domain, isl.Map.from_basic_map(part))

    def _release(self, domain: Domain, cells: isl.Map) -> Iterator[CellDeath]:
        recovered = recover.entries(cells)
        if recovered is None or not recovered[1]:
            return
        points = self.timeline.space.set(domain)
        where = recover.condition(cells.domain(), points)
        if where != ix.FALSE:
            yield CellDeath(task="", entries=recovered[0], where=where)


def _stays_whole(stored: StoredTensor, extents: tuple[ix.Expr, ...]) -> bool:
    """Whether an output takes all cells of a tensor: then they live at the end, all of them."""
    everything = tuple(ix.Slice(ix.ZERO, extent) for extent in extents)
    return stored.domain.where == ix.TRUE and everything in stored.outputs


def _without(stored: StoredTensor, dims: Collection[str]) -> StoredTensor:
    """The tensor with one cell for all that differ along some dimensions only."""
    if not dims:
        return stored
    places = [k for k, d in enumerate(stored.domain.dims) if d not in dims]

    def of(use: TensorUse) -> TensorUse:
        return replace(use, entries=tuple(use.entries[k] for k in places))

    return replace(
        stored,
        domain=Domain(
            tuple(stored.domain.dims[k] for k in places),
            ix.conjunction(
                *(c for c in conjuncts(stored.domain.where) if not {*symbols(c)} & {*dims})
            ),
        ),
        writes=tuple(map(of, stored.writes)),
        reads=tuple(map(of, stored.reads)),
        outputs=tuple(tuple(entries[k] for k in places) for entries in stored.outputs),
    )


def _among(gaps: isl.Set, outer: Sequence[int], pairs: Pairs) -> isl.Set:
    """The distances between those pairs, for dimensions by number."""
    if pairs == Pairs.ALL:
        return gaps
    zero = isl.Val.zero(gaps.get_ctx())
    near = gaps
    for k in outer:
        near = near.fix_val(D.set, k, zero)
    return near if pairs == Pairs.NEAR else gaps.subtract(near)


def _furthest(gaps: isl.Set) -> Iterator[isl.PwAff]:
    """The greatest of some distances, in either direction, in one or two forms.

    The first is of fewer pieces, and found in a third of the time: both directions are few convex
    sets together, but the greater of two functions has the pieces of both.
    """
    both = gaps.union(gaps.neg()).coalesce()
    if _divisions(both) <= EFFORT.window_divisions:
        yield both.dim_max(0)
    yield gaps.dim_max(0).max(gaps.dim_min(0).neg())


def _divisions(points: isl.Set) -> int:
    """The quotients and remainders that the convex parts of a set have, all of them together."""
    return sum(part.dim(D.div) for part in points.get_basic_sets())


def _most(size: isl.PwAff) -> int | None:
    """The greatest value of a size for all bounds, if there is one."""
    most = size.max_val()
    return integer(most) if most.is_int() else None


def _is_least(pieces: list[isl.Aff], size: isl.PwAff) -> bool:
    """Whether each of some pieces of a size is an upper bound of the size everywhere."""
    domain = size.domain()
    return all(domain.is_subset(size.le_set(p.to_pw_aff())) for p in pieces)
