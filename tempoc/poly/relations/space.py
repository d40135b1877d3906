"""The space of a compilation: exact queries about domains, conditions and accesses.

Two kinds of facts about bounds hold: every bound is at least 1, derived bounds have their equations
and the program's assumptions are true (always); fixed bounds have their values (`L = 30`, in proofs
only, so that schedules and simplified conditions do not depend on a number).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

from tempoc.base.effort import EFFORT
from tempoc.base.limits import LIMITS, Limits
from tempoc.poly.isl import D, isl
from tempoc.poly.relations import maps, products, recover, syntactic as fast
from tempoc.poly.relations.memo import Memo
from tempoc.poly.relations.samples import Samples
from tempoc.poly.relations.sets import IslFrame, least_point
from tempoc.symbolic import expr as ix
from tempoc.symbolic.domain import Domain, Universe, disjuncts
from tempoc.symbolic.walk import divisions, is_affine, is_condition, symbols


@dataclass(frozen=True, slots=True, kw_only=True)
class OutsideRead:
    """A read outside its source: at `point` (bounds and dimensions) it reads `index`.

    `dim` is the first dimension whose range `index` leaves; `None` if it falls into a hole.
    """

    point: dict[str, int]
    index: tuple[int, ...]
    dim: str | None


class Space:
    """Domains, conditions and accesses of one universe; one isl context, everything cached."""

    def __init__(
        self, universe: Universe, frame: IslFrame | None = None, limits: Limits = LIMITS
    ) -> None:
        self.universe = universe
        self.frame = frame or IslFrame(tuple(b.name for b in universe.bounds), limits)
        self.known = Memo()
        self._proofs: dict[tuple[Domain, ix.Expr], bool] = {}
        self._maps: dict[tuple[Domain, tuple[ix.Entry, ...], Domain], isl.Map] = {}

    @cached_property
    def context(self) -> isl.Set:
        """The facts about the bounds, as a set of parameters.

        Of one that is a product of others it is known only that it is at least 1, of a quotient
        of others that it is no larger than what is divided.
        """
        at = self.frame.coordinates(())
        facts = [ix.compare(">=", ix.Sym(b.name), ix.Const(1)) for b in self.universe.bounds]
        facts += [
            ix.compare("<=" if b.until else "==", ix.Sym(b.name), b.value)
            for b in self.universe.bounds
            if b.value is not None and is_affine(b.value)
        ]
        facts += [
            ix.compare("<=", ix.Sym(b.name), b.value.arg)
            for b in self.universe.bounds
            if isinstance(b.value, ix.Quotient) and is_affine(b.value.arg)
        ]
        return self.frame.condition(ix.conjunction(*facts, *self.universe.assumptions), at).params()

    @cached_property
    def samples(self) -> Samples:
        """Points at which proofs are tried before isl is asked."""
        return Samples(self.universe)

    @cached_property
    def symbolic(self) -> Space:
        """The same space without the values of fixed bounds: for schedules and for conditions."""
        bounds = self.universe.bounds
        if not any(isinstance(b.value, ix.Const) for b in bounds):
            return self
        free = tuple(replace(b, value=None) if isinstance(b.value, ix.Const) else b for b in bounds)
        return Space(replace(self.universe, bounds=free), self.frame)

    # Sets

    def box(self, dims: tuple[str, ...]) -> Domain:
        """All points of some dimensions (given in any order)."""
        return Domain(self.universe.sorted(dims))

    def set(self, domain: Domain) -> isl.Set:
        """The points of a domain, under the facts about the bounds."""
        return self.known.once(("set", domain), lambda: self._set(domain))

    def _set(self, domain: Domain) -> isl.Set:
        if domain.where != ix.TRUE:
            at, box = self.frame.coordinates(domain.dims), self.set(Domain(domain.dims))
            return self.frame.condition(domain.where, at, box).coalesce()
        at = self.frame.coordinates(domain.dims)
        result = isl.Set.universe(at.space).intersect_params(self.context)
        for k, name in enumerate(domain.dims):
            bound = at.env[self.universe.dim(name).bound]
            result = result.lower_bound_val(D.set, k, self.frame.val(0))
            result = result.intersect(at.env[name].lt_set(bound))
        return result

    def points(self, condition: ix.Expr, dims: tuple[str, ...]) -> isl.Set:
        """The points at which a condition holds, without any other fact."""
        at = self.frame.coordinates(dims)
        key = ("points", dims, condition)
        return self.known.once(key, lambda: self.frame.condition(condition, at))

    def sized(self, s: isl.Set) -> isl.Set:
        """The points without parameters that are unknown when a buffer is allocated."""
        return s

    def size(self, e: ix.Expr) -> ix.Expr:
        """A value over `sized` points, in bounds that are known at allocation."""
        return e

    def domain(self, s: isl.Set, dims: tuple[str, ...]) -> Domain:
        """A set of points of some dimensions (made in the `symbolic` space) as a domain."""
        candidate = Domain(dims, recover.condition(s, self.symbolic.set(Domain(dims))))
        if self.is_empty(candidate):
            return Domain(dims, ix.FALSE)
        box = Domain(dims)
        if self.implies(box, candidate.where):
            return box
        return Domain(dims, self._pruned(candidate.where, box))

    # Proofs

    def is_empty(self, domain: Domain) -> bool:
        """Whether the domain has no point, whatever the bounds."""
        return domain.where != ix.TRUE and (
            domain.where == ix.FALSE
            or (not self._sampled(domain.where) and bool(self.set(domain).is_empty()))
        )

    def implies(self, domain: Domain, condition: ix.Expr) -> bool:
        """Whether the condition provably holds at every point (products: syntactically only)."""
        if condition == ix.TRUE or condition == domain.where:
            return True
        key = (domain, condition)
        proved = self._proofs.get(key)
        if proved is None:
            proved = fast.implies(domain, condition, self.universe) or self._proved(*key)
            self._proofs[key] = proved
        return proved

    def _proved(self, domain: Domain, condition: ix.Expr) -> bool:
        if not is_affine(condition):
            return False
        if isinstance(condition, ix.Conjunction):
            return all(self.implies(domain, part) for part in condition.args)
        if self._sampled(domain.where) & ~self._sampled(condition):
            return False
        return bool(self.set(domain).is_subset(self.points(condition, domain.dims)))

    def _sampled(self, condition: ix.Expr) -> int:
        """The samples at which a condition holds; none if isl would not be asked about it."""
        return self.samples.where(condition) if is_affine(condition) else 0

    def equal(self, a: ix.Expr, b: ix.Expr, domain: Domain) -> bool:
        """Whether two expressions (or two conditions) agree at every point of the domain."""
        if a == b:
            return True
        if is_condition(a):
            other = self._sampled(a) ^ self._sampled(b) if is_affine(a) and is_affine(b) else 0
            if self._sampled(domain.where) & other:
                return False
            inside = self.set(domain)
            first, second = self.points(a, domain.dims), self.points(b, domain.dims)
            return bool(first.intersect(inside).is_equal(second.intersect(inside)))
        if not (is_affine(a) and is_affine(b)):
            plain = (products.without_values(e, self.universe) for e in (a, b))
            first, second = (products.rebuilt(e, lambda f: self.reduce(f, domain)) for e in plain)
            return first == second
        return self.implies(domain, ix.compare("==", a, b))

    def contains(self, outer: Domain, inner: Domain) -> bool:
        """Whether every point of `inner` is one of `outer` (same dimensions)."""
        return self.implies(inner, outer.where)

    def disjoint(self, a: ix.Expr, b: ix.Expr, domain: Domain) -> bool:
        """Whether two conditions never hold together in the domain."""
        both = ix.conjunction(domain.where, a, b)
        return self.is_empty(Domain(domain.dims, both))

    def witness(self, domain: Domain, condition: ix.Expr) -> dict[str, int] | None:
        """A small point of the domain where the condition is false; `None` if there is none.

        The bounds come first: they are as small as they can be, then the dimensions. `ValueError`
        for a condition with a product of symbols.
        """
        if self.implies(domain, condition):
            return None
        bad = self.set(domain).subtract(self.points(condition, domain.dims))
        least = least_point(bad, self.frame.params)
        assert least is not None
        return {**least[0], **domain.at(least[1])}

    # Rewriting

    def simplify(self, condition: ix.Expr, given: Domain) -> ix.Expr:
        """A shorter condition with the same truth everywhere in `given`, within limited steps."""
        key = ("simplify", condition, given)
        return self.known.once(
            key,
            lambda: (
                self.frame.within_patience(lambda: self._simplify(condition, given)) or condition
            ),
        )

    def _simplify(self, condition: ix.Expr, given: Domain) -> ix.Expr:
        if condition in (ix.TRUE, ix.FALSE) or self.implies(given, condition):
            return condition if condition == ix.FALSE else ix.TRUE
        if self.disjoint(condition, ix.TRUE, given):
            return ix.FALSE
        short = self._pruned(condition, given)
        if len(divisions(short)) > EFFORT.simplified_divisions:
            return short
        symbolic = self.symbolic
        holds = symbolic.points(condition, given.dims)
        other = self._pruned(recover.condition(holds, symbolic.set(given)), given)
        return min(short, other, key=recover.plainness)

    def _pruned(self, condition: ix.Expr, given: Domain) -> ix.Expr:
        """The condition without the parts that the others and `given` imply."""
        if not isinstance(condition, (ix.Conjunction, ix.Disjunction)):
            return condition
        parts = [self._pruned(a, given) for a in condition.args]
        for part in tuple(parts):
            others = [c for c in parts if c is not part]
            # Those that hold nowhere together with it, or of which the complements do not, decide
            # nothing: each part is compared with its neighbours only.
            if isinstance(condition, ix.Conjunction):
                no = ix.negation(part)
                near = (c for c in others if not fast.are_apart(ix.negation(c), no))
                decided = self.implies(
                    replace(given, where=ix.conjunction(given.where, *near)), part
                )
            else:
                near = (c for c in others if not fast.are_apart(c, part))
                given_part = replace(given, where=ix.conjunction(given.where, part))
                decided = self.implies(given_part, ix.disjunction(*near))
            if decided:
                parts = others
        return (
            ix.conjunction(*parts)
            if isinstance(condition, ix.Conjunction)
            else ix.disjunction(*parts)
        )

    def reduce(self, e: ix.Expr, given: Domain) -> ix.Expr:
        """A value expression without the `min` and `max` arguments that never win in `given`."""
        if not isinstance(e, (ix.IndexMin, ix.IndexMax)) or not is_affine(e):
            return e
        args = list(e.args)
        for part in e.args:
            others = [a for a in args if a is not part]
            small = isinstance(e, ix.IndexMin)
            if any(
                self.implies(
                    given, ix.compare("<=", a, part) if small else ix.compare(">=", a, part)
                )
                for a in others
            ):
                args = others
        return ix.minimum(*args) if isinstance(e, ix.IndexMin) else ix.maximum(*args)

    # Domains from domains

    def project(self, domain: Domain, keep: tuple[str, ...]) -> Domain:
        """The points of some dimensions over which the domain has a point."""
        dims = tuple(d for d in domain.dims if d in keep)
        if domain.where == ix.TRUE or dims == domain.dims or not self._couples(domain, dims):
            return Domain(dims, domain.where)
        return self.known.once(("project", domain, dims), lambda: self._projected(domain, dims))

    def _projected(self, domain: Domain, dims: tuple[str, ...]) -> Domain:
        s = self.symbolic.set(domain)
        for k in reversed(range(len(domain.dims))):
            if domain.dims[k] not in dims:
                s = s.project_out(D.set, k, 1)
        return self.domain(s, dims)

    def _couples(self, domain: Domain, dims: tuple[str, ...]) -> bool:
        return any(self.universe.is_dim(n) and n not in dims for n in symbols(domain.where))

    def intersect(self, a: Domain, b: Domain) -> Domain:
        """The points of both; a domain without a dimension has all its points."""
        dims = self.universe.sorted((*a.dims, *b.dims))
        if ix.TRUE in (a.where, b.where) or a.where == b.where:
            return Domain(dims, ix.conjunction(a.where, b.where) if a.where != b.where else a.where)
        where = ix.conjunction(a.where, b.where)
        return Domain(dims, self.simplify(where, Domain(dims)))

    def restrict(self, domain: Domain, condition: ix.Expr) -> Domain:
        """The points of a domain at which a condition holds."""
        where = ix.conjunction(domain.where, condition)
        return Domain(domain.dims, self.simplify(where, Domain(domain.dims)))

    def union(self, a: Domain, b: Domain) -> Domain:
        """The points of either."""
        dims = self.universe.sorted((*a.dims, *b.dims))
        return Domain(dims, self.either(a.where, b.where, Domain(dims)))

    def either(self, short: ix.Expr, more: ix.Expr, given: Domain) -> ix.Expr:
        """A condition that holds in ``given`` where one of two does, of which one is short already.

        Only the parts of it that the other one touches, or all but touches, are simplified with it:
        the conditions of `n` equations, one after the other, would take `n` cubed otherwise.
        """
        parts = disjuncts(short)
        apart = [c for c in parts if fast.are_apart(c, more, gap=2)]
        near = (c for c in parts if not fast.are_apart(c, more, gap=2))
        union = ix.disjunction(*apart, self.simplify(ix.disjunction(*near, more), given))
        return ix.TRUE if apart and self.implies(given, union) else union

    def subtract(self, a: Domain, b: Domain) -> Domain:
        """The points of the first that are none of the second."""
        dims = self.universe.sorted((*a.dims, *b.dims))
        symbolic = self.symbolic
        difference = symbolic.set(Domain(dims, a.where)).subtract(
            symbolic.set(Domain(dims, b.where))
        )
        return self.domain(difference, dims)

    # Values

    def upper_bound(self, e: ix.Expr, domain: Domain) -> ix.Expr:
        """The greatest value over the domain, in bounds only (an upper bound if not affine)."""
        return self._limit(e, domain, greatest=True)

    def lower_bound(self, e: ix.Expr, domain: Domain) -> ix.Expr:
        """The least value over the domain, in bounds only (a lower bound if not affine)."""
        return self._limit(e, domain, greatest=False)

    def is_fixed_by(self, domain: Domain, dim: str) -> bool:
        """Whether the condition of a domain leaves one point along a dimension."""
        if dim not in symbols(domain.where):
            return False
        return self.implies(
            domain, ix.compare("==", ix.Sym(dim), self.lower_bound(ix.Sym(dim), domain))
        )

    def has_few_points(self, domain: Domain, dim: str) -> bool:
        """Whether the number of points along a dimension has a limit whatever the bounds are."""
        if dim not in symbols(domain.where):
            return False
        return self.known.once(("few", domain, dim), lambda: self._has_few_points(domain, dim))

    def _has_few_points(self, domain: Domain, dim: str) -> bool:
        points = self.symbolic.set(domain)
        gaps = isl.Map.from_domain_and_range(points, points).deltas()
        for k, other in enumerate(domain.dims):
            if other != dim:
                gaps = gaps.fix_val(D.set, k, 0)
        gaps = gaps.project_out(D.param, 0, gaps.dim(D.param))
        at = domain.dims.index(dim)
        return bool(gaps.is_empty() or gaps.dim_max_val(at).is_int())

    def _limit(self, e: ix.Expr, domain: Domain, *, greatest: bool) -> ix.Expr:
        key = ("limit", e, domain, greatest)
        return self.known.once(key, lambda: self._find_limit(e, domain, greatest))

    def _find_limit(self, e: ix.Expr, domain: Domain, greatest: bool) -> ix.Expr:
        dims = [n for n in symbols(e) if self.universe.is_dim(n)]
        if not dims:
            return e
        quick = fast.limit(e, self.universe, greatest=greatest)
        if quick is not None and (domain.where == ix.TRUE or not is_affine(e)):
            return quick
        if not is_affine(e):
            return products.limit(
                e,
                lambda f, up: self._limit(f, domain, greatest=up),
                lambda f: self.implies(domain, ix.compare(">=", f, ix.ZERO)),
                greatest=greatest,
            )
        points = self.symbolic.set(domain)
        if points.is_empty():
            return ix.ZERO
        function = self.frame.value(e, self.frame.coordinates(domain.dims))
        return self.extreme(function, points, greatest=greatest)

    def extreme(self, function: isl.PwAff, points: isl.Set, *, greatest: bool) -> ix.Expr:
        """The greatest or least value of a function over a set that is not empty, or a bound."""
        values = isl.Map.from_pw_aff(function).intersect_domain(points).range()
        symbolic = self.symbolic
        best = self.frame.limited(
            EFFORT.query_steps, lambda: recover.end(values, 0, greatest=greatest)
        )
        if best is None or recover.is_divided(best):
            values = values.remove_divs()
            best = values.dim_max(0) if greatest else values.dim_min(0)
        for exact in (recover.value, recover.nested):
            value = exact(best, symbolic.context)
            if value is not None:
                return value
        parts = [recover.affine(aff) for aff in recover.distinct(best.gist(symbolic.context))]
        return ix.maximum(*parts) if greatest else ix.minimum(*parts)

    # Accesses

    def access_map(
        self, sink: Domain, entries: tuple[ix.Entry, ...], source: Domain, *, clip: bool = True
    ) -> isl.Map:
        """Sink points to the source points they read (to any integer point unless `clip`)."""
        key = (sink, entries, source)
        relation = self._maps.get(key)
        if relation is None:
            at = self.frame.coordinates
            relation = maps.access(self.frame, at(sink.dims), entries, at(source.dims))
            relation = self._maps[key] = relation.intersect_domain(self.set(sink))
        return relation.intersect_range(self.set(source)) if clip else relation

    def outside(
        self, sink: Domain, entries: tuple[ix.Entry, ...], source: Domain
    ) -> OutsideRead | None:
        """A read that leaves the source, the first by bounds and point; `None`: proved inside.

        An empty slice reads nothing.
        """
        key = ("outside", sink, entries, source)
        return self.known.once(key, lambda: self._find_outside(sink, entries, source))

    def _find_outside(
        self, sink: Domain, entries: tuple[ix.Entry, ...], source: Domain
    ) -> OutsideRead | None:
        if fast.inside(sink, entries, source, self.universe):
            return None
        if source.where == ix.TRUE and len(entries) > 1:
            each = zip(source.dims, entries, strict=True)
            if all(self._is_inside(sink, dim, entry) for dim, entry in each):
                return None
        bad = self.access_map(sink, entries, source, clip=False).subtract_range(self.set(source))
        least = None if bad.is_empty() else least_point(_flat(bad), self.frame.params)
        if least is None:
            return None
        point = {**least[0], **dict(zip(sink.dims, least[1], strict=False))}
        index = least[1][len(sink.dims) :]
        limits = (point[self.universe.dim(d).bound] for d in source.dims)
        leaves = zip(source.dims, index, limits, strict=True)
        dim = next((d for d, i, limit in leaves if not 0 <= i < limit), None)
        return OutsideRead(point=point, index=index, dim=dim)

    def _is_inside(self, sink: Domain, dim: str, entry: ix.Entry) -> bool:
        """Whether an entry alone never leaves the range of its dimension.

        The cases of all entries together are their product.
        """
        own = Domain((dim,))
        if fast.inside(sink, (entry,), own, self.universe):
            return True
        read = self.access_map(sink, (entry,), own, clip=False)
        return bool(read.subtract_range(self.set(own)).is_empty())

    def signs(
        self, sink: Domain, entries: tuple[ix.Entry, ...], source: Domain
    ) -> dict[str, frozenset[int]]:
        """For each common dimension the possible signs of its sink value minus its source value."""
        possible: dict[str, frozenset[int]] = {}
        for dim, entry in zip(source.dims, entries, strict=True):
            if dim in sink.dims:
                quick = fast.signs(dim, entry)
                possible[dim] = self._signs(sink, dim, entry) if quick is None else quick
        return possible

    def _signs(self, sink: Domain, dim: str, entry: ix.Entry) -> frozenset[int]:
        """By emptiness of the points with each sign, entry by entry (a superset for pairs)."""
        low, high = (entry.lo, entry.hi - 1) if isinstance(entry, ix.Slice) else (entry, entry)
        nonempty = ix.compare("<=", low, high)
        tests = (
            (-1, ix.compare("<", ix.Sym(dim), high)),
            (
                0,
                ix.conjunction(
                    ix.compare("<=", low, ix.Sym(dim)), ix.compare("<=", ix.Sym(dim), high)
                ),
            ),
            (1, ix.compare(">", ix.Sym(dim), low)),
        )
        return frozenset(
            sign
            for sign, test in tests
            if not self.is_empty(Domain(sink.dims, ix.conjunction(sink.where, nonempty, test)))
        )


def _flat(m: isl.Map) -> isl.Set:
    """A map as a set of flat pairs."""
    return m.wrap().flatten()
