"""Ranges of two coordinates with a fixed sum or difference at each point.

A sum of products ``a[p] * b[q]`` over ``j``, where ``p`` and ``q`` are affine in ``j`` and in the
point ``t``, is a convolution if ``q`` is ``c + t - p``, a correlation if it is ``c + t + p`` or
``c - t + p``, as long as what bounds ``j`` bounds either ``p`` or ``q`` by numbers that no point
changes. ``flip`` turns one into the other.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from tempoc.poly.relations.space import Space
from tempoc.symbolic import expr as ix
from tempoc.symbolic.domain import Domain
from tempoc.symbolic.walk import rebuilt, substitute, symbols

Linear = dict[ix.Expr, int]
"""Coefficients of atoms; that of ``ONE`` is the constant. An atom may be ``max(0, x)``."""


def linear(e: ix.Expr) -> Linear:
    """The normal form of an expression; ``max(x, y)`` is ``y + max(0, x-y)``, ``min`` likewise.

    So ``min(t+1, K) + max(0, t+1-K)`` is ``t+1``, as it should.
    """
    match e:
        case ix.Const(value=v):
            return {ix.ONE: v} if v else {}
        case ix.IndexSum(terms=terms, const=k):
            parts = [(c, linear(x)) for c, x in terms]
            return combined([*parts, (1, linear(ix.Const(k)))])
        case ix.IndexMax(args=(x, y)):
            return combined([(1, linear(y)), (1, _positive(x, y))])
        case ix.IndexMin(args=(x, y)):
            return combined([(1, linear(x)), (-1, _positive(x, y))])
        case _:
            return {e: 1}


def combined(parts: Iterable[tuple[int, Linear]]) -> Linear:
    """A sum with coefficients."""
    total: Linear = {}
    for k, part in parts:
        for atom, c in part.items():
            total[atom] = total.get(atom, 0) + k * c
    return {atom: c for atom, c in total.items() if c}


def expression(form: Linear) -> ix.Expr:
    """The expression of a normal form."""
    return ix.linear([(c, atom) for atom, c in form.items() if atom != ix.ONE], form.get(ix.ONE, 0))


def _positive(x: ix.Expr, y: ix.Expr) -> Linear:
    """``max(0, x-y)``, of ``x-y`` and ``y-x`` always the one whose first symbol is positive."""
    difference = combined([(1, linear(x)), (-1, linear(y))])
    if any(isinstance(atom, ix.IndexMax | ix.IndexMin) for atom in difference):
        return {ix.maximum(ix.ZERO, ix.sub(x, y)): 1}
    named = sorted((a for a in difference if isinstance(a, ix.Sym)), key=lambda a: a.name)
    turned = bool(named) and difference[named[0]] < 0
    stride = -1 if turned else 1
    atom = ix.maximum(ix.ZERO, expression(combined([(stride, difference)])))
    positive: Linear = {atom: 1} if isinstance(atom, ix.IndexMax) else linear(atom)
    return combined([(1, positive), (1, difference)]) if turned else positive


def split(condition: Linear, name: str = "") -> list[Linear]:
    """The conditions of which ``condition >= 0`` is the conjunction: without ``-max(0, x)``.

    With a name only such of which ``x`` names it.
    """
    for atom, c in condition.items():
        if not isinstance(atom, ix.IndexMax) or (atom.args[0], c) != (ix.ZERO, -1):
            continue
        if not name or name in symbols(atom):
            others = {a: k for a, k in condition.items() if a != atom}
            less = combined([(1, others), (-1, linear(atom.args[1]))])
            return [*split(others, name), *split(less, name)]
    return [condition]


def _unclamped(e: ix.Expr, positive: list[Linear]) -> ix.Expr:
    """An expression without the ends within which it is where these are not negative."""
    e = rebuilt(e, lambda part: _unclamped(part, positive))
    if not (isinstance(e, ix.IndexMax | ix.IndexMin) and len(e.args) == 2):
        return e
    for a, b in (e.args, e.args[::-1]):
        more = linear(ix.sub(a, b) if isinstance(e, ix.IndexMax) else ix.sub(b, a))
        for form in positive:
            rest = combined([(1, more), (-1, form)])
            if {*rest} <= {ix.ONE} and rest.get(ix.ONE, 0) >= 0:
                return a
    return e


@dataclass(frozen=True, slots=True, kw_only=True)
class Lag:
    """``q = turn * p + stride * t + offset``, each within a range over bounds.

    ``turn`` is -1 for convolutions, 1 for correlations.
    """

    dim: str
    turn: int
    stride: int
    offset: ix.Expr
    first: ix.Slice
    second: ix.Slice


@dataclass(slots=True, kw_only=True)
class _CoordinateEnds:
    """The least and the greatest value of a coordinate, each the tightest of several."""

    least: list[ix.Expr] = field(default_factory=list)
    most: list[ix.Expr] = field(default_factory=list)

    def add(self, coefficient: int, rest: ix.Expr) -> None:
        """Take ``coefficient * x + rest >= 0`` into account, of a coefficient 1 or -1."""
        if coefficient > 0:
            self.least.append(ix.mul(ix.Const(-1), rest))
        else:
            self.most.append(rest)


def _numbered_by_first(
    places: tuple[ix.Expr, ix.Expr],
    conditions: Iterable[ix.Expr],
    summed: ix.Sym,
    starts: Mapping[str, ix.Expr],
) -> tuple[tuple[ix.Expr, ix.Expr], list[ix.Expr]]:
    """Places and conditions with the first place as the number of a term, without ``starts``.

    Where a range begins at ``max(5, t+1)``, an extreme of the place is not one of that as well.
    """
    symbol = {e: ix.Sym(name) for name, e in starts.items()}

    def named(e: ix.Expr) -> ix.Expr:
        return symbol[e] if e in symbol else rebuilt(e, named)

    start = substitute(places[0], {summed.name: ix.ZERO})
    plain = bool(starts) and places[0] == ix.add(start, summed)
    number = {summed.name: ix.sub(summed, start) if plain else summed}

    def written(e: ix.Expr) -> ix.Expr:
        return substitute(substitute(named(e), number), starts)

    first, second = (written(e) for e in places)
    return (first, second), [written(e) for e in conditions]


def lag_of(
    places: tuple[ix.Expr, ix.Expr],
    conditions: Iterable[ix.Expr],
    summed: ix.Sym,
    point: ix.Sym,
    domain: Domain,
    space: Space,
    starts: Mapping[str, ix.Expr],
) -> Lag | None:
    """The lag of two coordinates that move with ``summed`` and with ``point``, a dimension.

    ``conditions`` are what is at least 0 for all terms, ``starts`` what symbols in all these stand
    for. ``None`` if there is no fixed lag.
    """
    places, conditions = _numbered_by_first(places, conditions, summed, starts)
    wholes = [form for e in conditions for form in split(linear(e), summed.name)]
    forms = [form for whole in wholes for form in split(whole)]
    positive = [*forms, *(combined([(1, a), (1, b)]) for a in forms for b in forms)]
    p, q = (linear(_unclamped(e, positive)) for e in places)
    k = p.pop(summed, 0)
    if abs(k) != 1:
        return None
    # The number of the term is k * (first - p), where first stands for the coordinate.
    first = ix.Sym("%first")
    number = combined([(k, {first: 1}), (-k, p)])

    def over_first(form: Linear) -> Linear:
        inner = {a: c for a, c in form.items() if a != summed}
        return combined([(1, inner), (form.get(summed, 0), number)])

    offset = over_first(q)
    turn, stride = offset.pop(first, 0), offset.pop(point, 0)
    if abs(turn) != 1 or not stride or not _is_fixed(offset, space):
        return None
    limits = _CoordinateEnds(), _CoordinateEnds()
    for form in (f for whole in wholes for f in split(over_first(whole))):
        c, g = form.pop(first, 0), form.pop(point, 0)
        if not c:
            rest = expression(combined([(1, form), (g, {point: 1})]))
            if not space.implies(domain, ix.compare(">=", rest, ix.ZERO)):
                return None
        elif abs(c) != 1 or not _is_fixed(form, space) or g not in (0, c * turn * stride):
            return None
        elif not g:
            limits[0].add(c, expression(form))
        else:
            # c*p is c*turn * (q - stride*t - offset), which takes the point out.
            limits[1].add(c * turn, expression(combined([(1, form), (-c * turn, offset)])))
    shift = ix.add(expression(offset), ix.mul(ix.Const(stride), point))
    ranges = _ranges(limits, turn, shift, domain, space)
    if ranges is None:
        return None
    return Lag(
        dim=point.name, turn=turn, stride=stride, offset=expression(offset), first=ranges[0],
        second=ranges[1],
    )  # fmt: skip


def _ranges(
    ends: tuple[_CoordinateEnds, _CoordinateEnds],
    turn: int,
    shift: ix.Expr,
    domain: Domain,
    space: Space,
) -> tuple[ix.Slice, ix.Slice] | None:
    """The ranges of both coordinates, as far as points reach that lie within the other's range."""
    slices = []
    for own, other, back in (
        # p is turn * (q - shift), and q is turn * p + shift.
        (ends[0], ends[1], ix.mul(ix.Const(-turn), shift)),
        (ends[1], ends[0], shift),
    ):
        nearest, farthest = (other.least, other.most)[::turn]
        least, most = [*own.least], [*own.most]
        if nearest:
            reached = ix.add(ix.mul(ix.Const(turn), nearest[0]), back)
            least.append(space.lower_bound(reached, domain))
        if farthest:
            reached = ix.add(ix.mul(ix.Const(turn), farthest[0]), back)
            most.append(space.upper_bound(reached, domain))
        if not (least and most):
            return None
        lo, hi = ix.maximum(*least), ix.add(ix.minimum(*most), ix.ONE)
        part = ix.Slice(space.reduce(lo, Domain(())), space.reduce(hi, Domain(())))
        if any(space.universe.is_dim(n) for n in symbols(part)):
            return None
        slices.append(part)
    return slices[0], slices[1]


def _is_fixed(form: Mapping[ix.Expr, int], space: Space) -> bool:
    """Whether bounds alone determine a value."""
    names = [n for atom in form for n in symbols(atom)]
    return not any(space.universe.is_dim(n) or n.startswith("%") for n in names)
