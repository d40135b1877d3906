"""Bounds that the run decides: sets and relations for all values that they may turn out to have.

A bound that a tensor ends (`dim t < T until stop`) is a parameter like any other where a query is
about a single, completed run: it stands for the length of the run. The length is not known before
the end is reached, though, and the order of execution must be legal for every length. Here each
such bound becomes one more coordinate (`T'`, the length), and the parameter stands for the largest
length:

- `OpenRun` answers queries about sets and accesses with all points that exist for *some* length;
- `waits` relates points to the steps whose end condition they depend on: a point must wait for the
  condition at a step if the point would not exist, or would read or compute something else, in a
  run that ended there.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache

from tempoc.poly.isl import D, isl
from tempoc.poly.relations import maps
from tempoc.poly.relations.sets import Coordinates
from tempoc.poly.relations.space import Space
from tempoc.symbolic import expr as ix
from tempoc.symbolic.domain import Bound, Domain, Universe, substitute_entry
from tempoc.symbolic.interned import MEMORY
from tempoc.symbolic.walk import is_affine, is_condition, substitute, symbols


def primed(bound: str) -> str:
    """The coordinate for the length of a bound."""
    return f"{bound}'"


def names_lengths(universe: Universe, domain: Domain, entries: Sequence[ix.Entry] = ()) -> bool:
    """Whether a domain or an access of its points depends on a length."""
    lengths = universe.lengths
    if not lengths:
        return False
    named = [n for e in (domain.where, *entries) for n in symbols(e)]
    named += [universe.dim(d).bound for d in domain.dims]
    return any(n in lengths for n in named)


def inside(domain: Domain, universe: Universe, env: dict[str, ix.Expr]) -> ix.Expr:
    """The condition for a point to be in a domain, with values in place of bounds."""
    box = [ix.compare("<", ix.Sym(d), ix.Sym(universe.dim(d).bound)) for d in domain.dims]
    return ix.conjunction(*(substitute(c, env) for c in (*box, domain.where)))


def _points(space: Space, where: ix.Expr, at: Coordinates) -> isl.Set:
    """The points at which a condition holds; indices are at least 0."""
    points = space.frame.condition(where, at).intersect_params(space.context)
    for k in range(points.dim(D.set)):
        points = points.lower_bound_val(D.set, k, space.frame.val(0))
    return points


def facts(universe: Universe, env: dict[str, ix.Expr]) -> ix.Expr:
    """The facts about lengths, with these values in place of bounds; none exceeds the parameter."""
    conditions = [ix.compare(">=", e, ix.Const(1)) for e in env.values()]
    conditions += [
        ix.compare("<=", env[b.name], ix.Sym(b.name)) for b in universe.ended if b.name in env
    ]
    assumed = (a for a in universe.assumptions if any(n in env for n in symbols(a)))
    return ix.conjunction(*conditions, *(substitute(a, env) for a in assumed))


def concerned(
    universe: Universe, domains: Sequence[Domain], values: Sequence[ix.Entry] = ()
) -> tuple[Bound, ...]:
    """The ended bounds on whose lengths points and values may depend, in order.

    A fact about several lengths makes all of them matter where one does. Any others may have their
    largest lengths, for which all facts hold, and change nothing.
    """
    named = [n for e in (*(d.where for d in domains), *values) for n in symbols(e)]
    named += [universe.dim(dim).bound for d in domains for dim in d.dims]
    roots = [b for n in dict.fromkeys(named) for b in universe.roots(n)]
    linked = frozenset[Bound]().union(*(_linked_bounds(universe, b) for b in roots))
    return tuple(b for b in universe.ended if b in linked)


@lru_cache(MEMORY)
def _linked_bounds(universe: Universe, bound: Bound) -> frozenset[Bound]:
    """The ended bounds about which there are facts together with one of them, and so on."""
    named = [*map(symbols, universe.assumptions), *((b.name,) for b in universe.bounds)]
    groups = [frozenset(b for n in names for b in universe.roots(n)) for names in named]
    linked = frozenset([bound])
    for _ in universe.ended:
        linked = linked.union(*(group for group in groups if group & linked))
    return linked


def moves_elsewhere(
    universe: Universe, sink: Domain, entries: Sequence[ix.Entry], source: Domain
) -> bool:
    """Whether an access depends on lengths, and reads at a point that has other lengths.

    A condition in terms of the sink's lengths does not hold for the source's.
    """
    at = dict(zip(source.dims, entries, strict=True))
    return any(d in at and at[d] != ix.Sym(d) for d in _decisive(universe, sink, entries))


def loses_lengths(
    universe: Universe, sink: Domain, entries: Sequence[ix.Entry], source: Domain
) -> bool:
    """Whether points with different lengths may read the same point, by these lengths.

    The readers of a point cannot be stated in terms of one length then.
    """
    at = dict(zip(source.dims, entries, strict=True))
    return any(at.get(d) != ix.Sym(d) for d in _decisive(universe, sink, entries))


def _decisive(universe: Universe, sink: Domain, entries: Sequence[ix.Entry]) -> list[str]:
    """The dimensions over which the lengths vary that an access and its points depend on."""
    named = [n for e in (sink.where, *entries) for n in symbols(e) if not universe.is_dim(n)]
    named += [universe.dim(d).bound for d in sink.dims]
    return [d for n in named for d in universe.outer(n)]


def outside_elsewhere(
    space: Space, sink: Domain, entries: tuple[ix.Entry, ...], source: Domain
) -> str:
    """A bound whose length at another point would have to be larger for an access to be inside.

    Empty if the access is inside whatever the length there, or does not read at another point.
    """
    universe = space.universe
    at = dict(zip(source.dims, entries, strict=True))
    for b in universe.ended:
        if not any(d in at and at[d] != ix.Sym(d) for d in b.outer):
            continue
        other = ix.Sym(f"{b.name}''")
        lengths = universe.at_lengths({b.name: other})
        more = Space(
            replace(
                universe,
                bounds=(*universe.bounds, Bound(name=other.name)),
                assumptions=(
                    *universe.assumptions,
                    *(substitute(a, lengths) for a in universe.assumptions),
                ),
            ),
            limits=space.frame.limits,
        )
        for dim, entry in at.items():
            limit = lengths.get(universe.dim(dim).bound)
            if limit is None:
                continue
            if isinstance(entry, ix.Slice):
                empty = ix.compare("<=", entry.hi, entry.lo)
                fits = ix.disjunction(ix.compare("<=", entry.hi, limit), empty)
            else:
                fits = ix.compare("<", entry, limit)
            if not more.implies(sink, fits):
                return b.name
        if source.where != ix.TRUE and any(n in lengths for n in symbols(source.where)):
            return b.name
    return ""


class OpenRun(Space):
    """The space of runs that may still end anywhere: a point exists if it does for some length."""

    def __init__(self, space: Space) -> None:
        """Bounds that tensors end stand for their largest lengths; values are forgotten."""
        super().__init__(space.symbolic.universe, space.frame)

    @cached_property
    def symbolic(self) -> Space:
        """This space: it has no values of bounds."""
        return self

    def _set(self, domain: Domain) -> isl.Set:
        if not names_lengths(self.universe, domain):
            return super()._set(domain)
        ends = concerned(self.universe, [domain])
        return self._forgotten(self.ended(domain, ends), ends).coalesce()

    def ended(self, domain: Domain, ends: tuple[Bound, ...]) -> isl.Set:
        """The points of a domain, each with the lengths of some bounds for which it exists."""

        def points() -> isl.Set:
            env = self.at_ends(ends)
            where = ix.conjunction(inside(domain, self.universe, env), facts(self.universe, env))
            return _points(self, where, self.at(domain.dims, ends))

        return self.known.once(("ended", domain, ends), points)

    def at_ends(self, ends: tuple[Bound, ...]) -> dict[str, ix.Expr]:
        """The values of bounds and of those derived from them, as coordinates."""
        return self.universe.at_lengths({b.name: ix.Sym(primed(b.name)) for b in ends})

    def at(self, dims: tuple[str, ...], ends: tuple[Bound, ...]) -> Coordinates:
        """The coordinates of points with lengths."""
        return self.frame.coordinates((*dims, *(primed(b.name) for b in ends)))

    def access_map(
        self, sink: Domain, entries: tuple[ix.Entry, ...], source: Domain, *, clip: bool = True
    ) -> isl.Map:
        """Sink points to the source points that they read for some lengths."""
        if not any(names_lengths(self.universe, d, entries) for d in (sink, source)):
            return super().access_map(sink, entries, source, clip=clip)
        ends = concerned(self.universe, [sink, source], entries)
        return self.forget(self._linked(ends, sink, entries, source, clip=clip), ends)

    def through(
        self,
        reader: tuple[Domain, tuple[ix.Entry, ...]],
        writer: tuple[Domain, tuple[ix.Entry, ...]],
        tensor: Domain,
    ) -> isl.Map:
        """Reader points to the writer points that write what they read, for the same lengths."""
        (sink, read), (source, written) = reader, writer
        ends = concerned(self.universe, [sink, source, tensor], [*read, *written])
        reads = self._linked(ends, sink, read, tensor)
        writes = self._linked(ends, source, written, tensor)
        return self.forget(reads.apply_range(writes.reverse()), ends)

    def _linked(
        self,
        ends: tuple[Bound, ...],
        sink: Domain,
        entries: tuple[ix.Entry, ...],
        source: Domain,
        *,
        clip: bool = True,
    ) -> isl.Map:
        """Sink points to the source points that they read, each with its lengths."""
        sink_at, source_at = self.at(sink.dims, ends), self.at(source.dims, ends)
        env = self.at_ends(ends)
        moved = [substitute_entry(e, env) for e in entries]
        relation = maps.access(self.frame, sink_at, moved, source_at)
        for b in ends:
            relation = relation.intersect(self._same(b, sink_at, source_at))
        relation = relation.intersect_domain(self.ended(sink, ends))
        return relation.intersect_range(self.ended(source, ends)) if clip else relation

    def _same(self, bound: Bound, sink: Coordinates, source: Coordinates) -> isl.Map:
        """The pairs of points with the same length.

        Pairs that differ in a dimension over which the length varies may have different lengths.
        """

        def pairs() -> isl.Map:
            name = primed(bound.name)
            same = sink.env[name].eq_map(source.env[name])
            if any(d not in sink.places or d not in source.places for d in bound.outer):
                return same.universe(same.get_space())
            for d in bound.outer:
                first, second = sink.env[d], source.env[d]
                same = same.union(first.lt_map(second)).union(first.gt_map(second))
            return same

        return self.known.once(("same length", bound, (*sink.places,), (*source.places,)), pairs)

    def forget(self, linked: isl.Map, ends: tuple[Bound, ...]) -> isl.Map:
        """A relation without the lengths."""
        n = len(ends)
        for side in (D.in_, D.out):
            linked = linked.project_out(side, linked.dim(side) - n, n)
        return linked.coalesce()

    def _forgotten(self, ended: isl.Set, ends: tuple[Bound, ...]) -> isl.Set:
        n = len(ends)
        return ended.project_out(D.set, ended.dim(D.set) - n, n)

    def _limit(self, e: ix.Expr, domain: Domain, *, greatest: bool) -> ix.Expr:
        """The extreme for all lengths, in terms of the largest ones."""
        affine = is_affine(e) and names_lengths(self.universe, domain, (e,))
        if not affine or (domain.where == ix.TRUE and not self._named(e)):
            return super()._limit(e, domain, greatest=greatest)
        ends = concerned(self.universe, [domain], [e])
        points = self.ended(domain, ends)
        if points.is_empty():
            return ix.ZERO
        value = self.frame.value(substitute(e, self.at_ends(ends)), self.at(domain.dims, ends))
        return self.extreme(value, points, greatest=greatest)

    def _named(self, e: ix.Expr) -> bool:
        return any(n in self.universe.lengths for n in symbols(e))


class CompletedRun(Space):
    """The space of completed runs: both the lengths and the largest lengths are parameters.

    Bounds that tensors end stand for their lengths; ``largest`` names the parameters that stand for
    the largest ones.
    """

    def __init__(self, space: Space) -> None:
        """Assumptions hold of lengths, and of the largest ones: a run checks them before it starts.

        Values of bounds are kept.
        """
        universe = space.universe
        self.largest = largest(universe)
        most: dict[str, ix.Expr] = {b.name: ix.Sym(self.largest[b.name]) for b in universe.ended}
        values = universe.at_lengths(most)
        bounds = [
            *(Bound(name=b.name) if b.until else b for b in universe.bounds),
            *(
                Bound(name=self.largest[b.name], value=b.value if b.until else values[b.name])
                for b in universe.bounds
                if b.name in self.largest
            ),
        ]
        less = tuple(ix.compare("<=", ix.Sym(n), e) for n, e in most.items())
        assumed = dict.fromkeys(
            (*universe.assumptions, *(substitute(a, values) for a in universe.assumptions))
        )
        super().__init__(replace(universe, bounds=tuple(bounds), assumptions=(*assumed, *less)))

    @cached_property
    def symbolic(self) -> Space:
        """The same space without the values of fixed bounds."""
        space = CompletedRun.__new__(CompletedRun)
        space.largest = self.largest
        bounds = self.universe.bounds
        free = (replace(b, value=None) if isinstance(b.value, ix.Const) else b for b in bounds)
        Space.__init__(space, replace(self.universe, bounds=tuple(free)), self.frame)
        return space

    def sized(self, s: isl.Set) -> isl.Set:
        """The points that exist for some lengths, whatever the largest ones."""
        for name in self.largest:
            k = s.find_dim_by_name(D.param, name)
            if k >= 0:
                s = s.project_out(D.param, k, 1)
        return s

    def size(self, e: ix.Expr) -> ix.Expr:
        """A value over largest lengths, with these written as the ended bounds."""
        return substitute(e, {most: ix.Sym(name) for name, most in self.largest.items()})


def largest(universe: Universe) -> dict[str, str]:
    """Names for the largest values of bounds that are lengths, or follow from them."""
    taken = [b.name for b in universe.bounds] + [d.name for d in universe.dims]
    names: dict[str, str] = {}
    for name in universe.lengths:
        names[name] = f"{name}_max"
        while names[name] in taken:
            names[name] += "_"
        taken.append(names[name])
    return names


@dataclass(frozen=True, slots=True, kw_only=True)
class EndDependence:
    """The ways in which a task may depend on the length of a bound, in its own dimensions.

    ``domain`` are its points, ``reads`` its accesses, ``mentions`` the index values that it uses.
    Points that differ in ``together`` only are executed at once, and wait for the same steps.
    """

    bound: str
    domain: Domain
    reads: tuple[tuple[ix.Entry, ...], ...] = ()
    mentions: tuple[ix.Expr, ...] = ()
    together: tuple[str, ...] = ()


def open_run(space: Space) -> OpenRun:
    """The space of runs that may still end anywhere, one for each space."""
    plain = space.symbolic
    return plain.known.once("open run", lambda: OpenRun(plain))


def end_dependences(space: Space, task: EndDependence, stop: Domain) -> isl.Map:
    """The dependences of a task's points on the steps of the statement that ends the bound.

    The task's dimensions in ``together`` are projected out. ``space`` is one without fixed bounds,
    in which ended bounds stand for their largest lengths.
    """
    key = ("end dependences", task, stop)
    return space.known.once(key, lambda: _end_dependences(space, task, stop))


def _end_dependences(space: Space, task: EndDependence, stop: Domain) -> isl.Map:
    universe, frame = space.universe, space.frame
    values = [e for entries in task.reads for e in entries]
    values += [*task.mentions, ix.Sym(task.bound)]
    some = concerned(universe, [task.domain, stop], values)
    others = [b.name for b in some if b.name != task.bound]
    dims = (*task.domain.dims, primed(task.bound), *(primed(n) for n in others))
    at = frame.coordinates(dims)
    fixed: dict[str, ix.Expr] = {n: ix.Sym(primed(n)) for n in others}
    longest = universe.at_lengths({**fixed, task.bound: ix.Sym(task.bound)})
    shorter = universe.at_lengths({**fixed, task.bound: ix.Sym(primed(task.bound))})
    able = _points(space, facts(universe, shorter), at)
    full, shortened = (
        _points(space, inside(task.domain, universe, env), at) for env in (longest, shorter)
    )
    differ = full.subtract(shortened).union(shortened.subtract(full))
    both = full.intersect(shortened)
    for entries in task.reads:
        first, other = (
            _access(space, at, tuple(substitute_entry(e, env) for e in entries))
            for env in (longest, shorter)
        )
        changed = first.subtract(other).union(other.subtract(first)).domain()
        differ = differ.union(changed.intersect(both))
    for e in task.mentions:
        first, other = substitute(e, longest), substitute(e, shorter)
        if first == other:
            continue
        if is_affine(e):
            differ = differ.union(frame.condition(_unequal(first, other), at).intersect(both))
        else:
            ended = ix.compare("<", ix.Sym(primed(task.bound)), ix.Sym(task.bound))
            differ = differ.union(both.intersect(frame.condition(ended, at)))
    last: ix.Expr = ix.Sym(primed(task.bound)) - 1
    steps = tuple(
        last
        if universe.dim(d).bound == task.bound and d not in _outer(universe, task)
        else ix.Sym(d)
        for d in stop.dims
    )
    relation = maps.access(frame, at, steps, frame.coordinates(stop.dims))
    relation = relation.intersect_domain(differ.intersect(able))
    n = 1 + len(others)
    relation = relation.project_out(D.in_, relation.dim(D.in_) - n, n)
    for k in reversed([k for k, d in enumerate(task.domain.dims) if d in task.together]):
        relation = relation.project_out(D.in_, k, 1)
    return relation.coalesce()


def _outer(universe: Universe, task: EndDependence) -> tuple[str, ...]:
    return next(b.outer for b in universe.ended if b.name == task.bound)


def _unequal(a: ix.Expr, b: ix.Expr) -> ix.Expr:
    """Whether two values, or two conditions, differ."""
    if not is_condition(a):
        return ix.compare("!=", a, b)
    return ix.disjunction(ix.conjunction(a, ix.negation(b)), ix.conjunction(ix.negation(a), b))


def _access(space: Space, at: Coordinates, entries: tuple[ix.Entry, ...]) -> isl.Map:
    read = tuple(f"read{k}" for k in range(len(entries)))
    return maps.access(space.frame, at, entries, space.frame.coordinates(read))


def depends_on_end(universe: Universe, task: EndDependence) -> bool:
    """Whether anything in a task depends on the length of a bound."""
    entries = [e for entries in task.reads for e in entries]
    named = [n for e in (task.domain.where, *entries, *task.mentions) for n in symbols(e)]
    named += [universe.dim(d).bound for d in task.domain.dims]
    return any(b.name == task.bound for n in named for b in universe.roots(n))
