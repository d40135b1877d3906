"""Index expressions as isl objects, built without strings.

A `IslFrame` owns the one isl context of a compilation and its parameters (the bounds). Names are
set with `set_dim_name`: ids made in Python carry a user pointer and would count as other
parameters.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TypeVar

from tempoc.base.effort import EFFORT
from tempoc.base.limits import LIMITS, LimitReached, Limits
from tempoc.poly.isl import OUT_OF_STEPS, D, integer, isl
from tempoc.symbolic import expr as ix
from tempoc.symbolic.domain import disjuncts
from tempoc.symbolic.walk import divisions

R = TypeVar("R")


@dataclass(frozen=True, slots=True)
class Coordinates:
    """A tuple of named dimensions: its isl space, their places, the value of each symbol on it."""

    space: isl.Space
    places: Mapping[str, int]
    zero: isl.PwAff
    env: Mapping[str, isl.PwAff]
    known: dict[ix.Expr, isl.Set] = field(default_factory=dict)


class IslFrame:
    """One isl context with a fixed tuple of parameters; makes spaces, values and sets."""

    def __init__(self, params: tuple[str, ...], limits: Limits = LIMITS) -> None:
        self.context = isl.Context()
        self.limits = limits
        self._allow(limits.isl_steps)
        self.params = params
        space = isl.Space.params_alloc(self.context, len(params))
        for k, name in enumerate(params):
            space = space.set_dim_name(D.param, k, name)
        self.param_space = space
        self._coordinates: dict[tuple[tuple[str, ...], str], Coordinates] = {}
        self._values: dict[int, isl.Val] = {}
        self._is_limited = False
        self._hard = 0

    def val(self, value: int) -> isl.Val:
        """An integer of this context."""
        cached = self._values.get(value)
        if cached is None:
            # Through text: numbers may be larger than a C long.
            cached = self._values[value] = isl.Val.read_from_str(self.context, str(value))
        return cached

    def limited(self, steps: int, answer: Callable[[], R]) -> R | None:
        """The result of isl within so many steps; `None` if it takes more, or fails.

        Steps are counted, not timed, so that the outcome does not depend on the machine. Nested
        queries share the steps of the outer one.
        """
        if self._is_limited:
            return answer()
        self._is_limited = True
        self._allow(steps)
        try:
            return answer()
        except (isl.Error, LimitReached):
            return None
        finally:
            self._is_limited = False
            self._allow(self.limits.isl_steps)

    def _allow(self, steps: int) -> None:
        """Let isl take so many steps from now on; it fails in the middle of what takes more."""
        self.context.set_max_operations(steps)
        self.context.reset_operations()

    def _check_divisions(self, e: ix.Expr) -> None:
        if len(divisions(e)) > self.limits.divisions:
            raise LimitReached("divisions", self.limits.divisions)

    def within_patience(self, answer: Callable[[], R]) -> R | None:
        """The result of isl within a limit of steps, or `None`; each failure halves the limit."""
        result = self.limited(max(EFFORT.first_steps >> self._hard, EFFORT.least_steps), answer)
        self._hard += result is None and not self._is_limited
        return result

    def coordinates(self, dims: tuple[str, ...], name: str = "") -> Coordinates:
        """The tuple `name[dims]`."""
        key = (dims, name)
        cached = self._coordinates.get(key)
        if cached is None:
            cached = self._coordinates[key] = self._make(dims, name)
        return cached

    def _make(self, dims: tuple[str, ...], name: str) -> Coordinates:
        space = self.param_space.add_unnamed_tuple_ui(len(dims))
        if name:
            space = space.set_tuple_name(D.set, name)
        for k, dim in enumerate(dims):
            space = space.set_dim_name(D.set, k, dim)
        local = isl.LocalSpace.from_space(space)
        env = {
            name: isl.Aff.var_on_domain(local, D.param, k).to_pw_aff()
            for k, name in enumerate(self.params)
        }
        for k, dim in enumerate(dims):
            env[dim] = isl.Aff.var_on_domain(local, D.set, k).to_pw_aff()
        places = {dim: k for k, dim in enumerate(dims)}
        return Coordinates(space, places, isl.Aff.zero_on_domain(local).to_pw_aff(), env)

    def value(self, e: ix.Expr, at: Coordinates) -> isl.PwAff:
        """A quasi-affine expression as a function on a tuple; `ValueError` for a product."""
        match e:
            case ix.Const(value=v):
                return at.zero.add_constant_val(self.val(v))
            case ix.Sym(name=n):
                return at.env[n]
            case ix.IndexSum(terms=terms, const=k):
                total = at.zero.add_constant_val(self.val(k)) if k else None
                for c, x in terms:
                    term = self.value(x, at)
                    if c != 1:
                        term = term.scale_val(self.val(c))
                    total = term if total is None else total.add(term)
                return total
            case ix.FloorDiv(arg=a, divisor=k):
                self._check_divisions(e)
                return self.value(a, at).scale_down_val(self.val(k)).floor()
            case ix.Mod(arg=a, divisor=k):
                self._check_divisions(e)
                return self.value(a, at).mod_val(self.val(k))
            case ix.IndexMin(args=args) | ix.IndexMax(args=args):
                parts = [self.value(a, at) for a in args]
                best = parts[0]
                for part in parts[1:]:
                    best = best.min(part) if isinstance(e, ix.IndexMin) else best.max(part)
                return best
            case _:
                raise ValueError(f"not a quasi-affine expression: {e!r}")

    def condition(self, c: ix.Expr, at: Coordinates, within: isl.Set | None = None) -> isl.Set:
        """The points of a tuple, or of a set `within` it, at which a condition holds.

        What is convex comes first: then most combinations of alternatives turn out to be empty.
        """
        if within is not None and within.n_basic_set() > 1 and _excludes(c):
            return within.subtract(self.condition(ix.negation(c), at))
        match c:
            case ix.Truth(value=v):
                points = isl.Set.universe(at.space) if v else isl.Set.empty(at.space)
            case ix.Relation(op=op, left=left, right=right):
                points = at.known.get(c)
                if points is None:
                    points = _RELATIONS[op](self.value(left, at), self.value(right, at))
                    at.known[c] = points
            case ix.Conjunction(args=args):
                self._check_divisions(c)
                return self._all(args, at, within)
            case ix.Disjunction(args=args):
                self._check_divisions(c)
                result = self.condition(args[0], at, within)
                for a in args[1:]:
                    result = result.union(self.condition(a, at, within))
                return result.coalesce()
            case ix.Negation(arg=a):
                points = self.condition(a, at).complement()
            case _:
                raise ValueError(f"not a condition: {c!r}")
        return points if within is None else within.intersect(points)

    def _all(self, args: tuple[ix.Expr, ...], at: Coordinates, within: isl.Set | None) -> isl.Set:
        for a in sorted(args, key=_alternatives):
            before = 1 if within is None else within.n_basic_set()
            within = self.condition(a, at, within)
            if within.n_basic_set() > before:
                within = within.coalesce()
        assert within is not None
        return within


def _excludes(c: ix.Expr) -> bool:
    """Whether a condition is the complement of a convex one: the other pieces stay whole then."""
    parts = disjuncts(c)
    hard = any(isinstance(p, ix.Relation) and p.op == "!=" for p in parts)
    return (hard or len(parts) > 1) and all(
        isinstance(p, ix.Relation) and p.op != "==" for p in parts
    )


def _alternatives(c: ix.Expr) -> int:
    """How many convex sets a condition is, about."""
    match c:
        case ix.Relation(op=op):
            return 1 + (op == "!=")
        case ix.Conjunction(args=args):
            return max(map(_alternatives, args))
        case ix.Disjunction(args=args):
            return sum(map(_alternatives, args))
        case _:
            return 1


_RELATIONS = {
    "<": isl.PwAff.lt_set,
    "<=": isl.PwAff.le_set,
    ">": isl.PwAff.gt_set,
    ">=": isl.PwAff.ge_set,
    "==": isl.PwAff.eq_set,
    "!=": isl.PwAff.ne_set,
}


def limit_of(error: BaseException, limits: Limits) -> LimitReached | None:
    """The limit that an exception is about, be it isl's or ours; `None` if it is another error."""
    if isinstance(error, isl.Error) and OUT_OF_STEPS in str(error):
        return LimitReached("isl_steps", limits.isl_steps)
    return error if isinstance(error, LimitReached) else None


def basic_sets(s: isl.Set) -> tuple[isl.BasicSet, ...]:
    """The convex pieces of a set, with explicit divisions."""
    return tuple(s.compute_divs().get_basic_sets())


def least_point(
    s: isl.Set, params: tuple[str, ...]
) -> tuple[dict[str, int], tuple[int, ...]] | None:
    """The lexicographically least valuation of parameters, then coordinates; `None` if empty."""
    n = s.dim(D.set)
    flat = s.reset_tuple_id() if s.has_tuple_id() else s
    flat = flat.move_dims(D.set, 0, D.param, 0, len(params))
    if flat.is_empty():
        return None
    point = _least(flat).sample_point()
    values = [integer(point.get_coordinate_val(D.set, k)) for k in range(len(params) + n)]
    return dict(zip(params, values, strict=False)), tuple(values[len(params) :])


def _least(s: isl.Set) -> isl.Set:
    try:
        return s.lexmin()
    except isl.Error:  # isl gives up on some divisions; one coordinate after the other then
        for k in range(s.dim(D.set)):
            s = s.fix_val(D.set, k, s.dim_min_val(k))
        return s
