"""From isl objects back to readable index expressions."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import accumulate

from tempoc.base.effort import EFFORT
from tempoc.poly.isl import D, integer, isl
from tempoc.poly.relations.sets import basic_sets
from tempoc.symbolic import expr as ix
from tempoc.symbolic.comparisons import solved_comparison
from tempoc.symbolic.walk import symbols


def affine(aff: isl.Aff) -> ix.Expr:
    """The expression of a quasi-affine function that is integer valued where it is used."""
    numerator, denominator = _fraction(aff)
    return remainders(ix.floordiv(numerator, denominator))


def _fraction(aff: isl.Aff) -> tuple[ix.Expr, int]:
    denominator = integer(aff.get_denominator_val())
    terms: list[ix.Expr] = [ix.Const(integer(aff.get_constant_val() * denominator))]
    for kind in (D.in_, D.param, D.div):
        for k in range(aff.dim(kind)):
            c = aff.get_coefficient_val(kind, k)
            if not c.is_zero():
                number = integer(c * denominator)
                terms.append(ix.mul(ix.Const(number), _atom(aff, kind, k)))
    return ix.add(*terms), denominator


def _atom(aff: isl.Aff, kind: D, k: int) -> ix.Expr:
    if kind != D.div:
        return ix.Sym(aff.get_dim_name(kind, k))
    return ix.floordiv(*_fraction(aff.get_div(k)))


def remainders(e: ix.Expr) -> ix.Expr:
    """The expression with `t - 4*(t//4)` written as `t % 4`, wherever that leaves fewer terms."""
    if not isinstance(e, ix.IndexSum):
        return e
    for c, x in e.terms:
        if isinstance(x, ix.FloorDiv) and c % x.divisor == 0:
            factor = c // x.divisor
            remainder = ix.sub(e, ix.mul(ix.Const(c), x))
            other = ix.add(
                remainder, ix.mul(ix.Const(factor), ix.sub(x.arg, ix.mod(x.arg, x.divisor)))
            )
            if _term_count(other) < _term_count(e):
                return remainders(other)
    return e


def _term_count(e: ix.Expr) -> int:
    return len(e.terms) + bool(e.const) if isinstance(e, ix.IndexSum) else 1


def end(points: isl.Set | isl.Map, k: int, *, greatest: bool) -> isl.PwAff | None:
    """The greatest or the least value of a dimension, that of a map as a function on its domain.

    `None` where isl gives up on some divisions, and where those of several convex parts have so
    many pieces with quotients and remainders that isl may take minutes to join them: it counts no
    steps for that.
    """
    if isinstance(points, isl.Map):
        parts = [(b, isl.Map.from_basic_map(b)) for b in points.get_basic_maps()]
    else:
        parts = [(b, isl.Set.from_basic_set(b)) for b in points.get_basic_sets()]
    try:
        if len(parts) > 1:
            ends = (_end(part, k, greatest) for b, part in parts if b.dim(D.div) > 1)
            if any(n > EFFORT.stated_divisions for n in accumulate(map(_divisions, ends))):
                return None
        return _end(points, k, greatest)
    except isl.Error:
        return None


def _end(points: isl.Set | isl.Map, k: int, greatest: bool) -> isl.PwAff:
    return points.dim_max(k) if greatest else points.dim_min(k)


def is_divided(pw: isl.PwAff) -> bool:
    """Whether isl may take minutes to shorten a function, for its quotients and remainders.

    It looks for equations that hold at all integer points of a piece, and counts no steps for it.
    """
    return _divisions(pw) > EFFORT.stated_divisions


def _divisions(pw: isl.PwAff) -> int:
    """The quotients and remainders that the pieces of a function have, all of them together."""
    sets = (b for where, _ in pw.get_pieces() for b in where.get_basic_sets())
    return sum(b.dim(D.div) for b in sets)


def value(pw: isl.PwAff, given: isl.Set) -> ix.Expr | None:
    """The expression of a piecewise function on `given`; `None` unless affine, `min` or `max`."""
    if is_divided(pw):
        return None
    pieces = distinct(pw.coalesce().gist(given))
    if len(pieces) == 1:
        return affine(pieces[0])
    return _of_all([pieces], pw.intersect_domain(given))


def limit(pw: isl.PwAff, given: isl.Set) -> ix.Expr | None:
    """The same for a limit of readers, also where isl has spelled a piece in another way.

    Sizes are not looked for so far: a constant that is 1 too much for one bound is the better one.
    """
    exact = value(pw, given)
    if exact is not None or is_divided(pw):
        return exact
    restricted = pw.intersect_domain(given)
    return _of_all(_spelled_otherwise(restricted.coalesce()), restricted)


def _of_all(options: Iterable[list[isl.Aff]], restricted: isl.PwAff) -> ix.Expr | None:
    """The minimum or maximum of some functions that is a piecewise one.

    It is, if it is one of them everywhere and none of them is beyond it: no minimum of all of them
    is built, which has pieces for every order of them.
    """
    pieces = restricted.get_pieces()
    for functions in options:
        for name in ("min", "max"):
            if all(_beyond_none(name, w, own, functions) for w, own in pieces) and all(
                _is_one_of(functions, w, own) for w, own in pieces
            ):
                parts = [affine(aff) for aff in functions]
                return ix.minimum(*parts) if name == "min" else ix.maximum(*parts)
    return None


def _beyond_none(name: str, where: isl.Set, own: isl.Aff, functions: list[isl.Aff]) -> bool:
    """Whether a function is on a piece the minimum of itself and others, or the maximum."""
    order = isl.Aff.le_set if name == "min" else isl.Aff.ge_set
    return all(own.plain_is_equal(f) or where.is_subset(order(own, f)) for f in functions)


def _is_one_of(functions: list[isl.Aff], where: isl.Set, own: isl.Aff) -> bool:
    """Whether at each point of a piece one of some functions has the value of this one."""
    if any(own.plain_is_equal(f) for f in functions):
        return True
    rest = where
    for f in functions:
        rest = rest.intersect(f.ne_set(own))
    return bool(rest.is_empty())


def _spelled_otherwise(pw: isl.PwAff) -> Iterator[list[isl.Aff]]:
    """The functions of the pieces, one of them spelled by an equation that holds on its piece.

    ``min(2, T-1)`` is 1 where ``T == 2``, and 2 elsewhere: ``T-1`` makes the minimum of these.
    """
    pieces = pw.get_pieces()
    if not 1 < len(pieces) <= EFFORT.nested_pieces:
        return
    for k, (where, aff) in enumerate(pieces):
        for c in where.affine_hull().get_constraints():
            zero = c.get_aff()
            if zero.dim(D.div) or aff.dim(D.div):
                continue
            for other in (aff.sub(zero), aff.add(zero)):
                yield [other if n == k else f for n, (_, f) in enumerate(pieces)]


def nested(pw: isl.PwAff, given: isl.Set) -> ix.Expr | None:
    """A piecewise function on `given` as a `max` of `min`; `None` unless it is continuous.

    On the piece of each function, those that are not less there are joined by `min`: a continuous
    function is the greatest of these (Tarela and Martínez, 1999). This is checked.
    """
    restricted = pw.coalesce().gist(given).intersect_domain(given)
    functions = distinct(restricted)
    if len(functions) > EFFORT.nested_pieces:
        return None
    pieces = restricted.get_pieces()
    if not all(_is_one_of(functions, where, own) for where, own in pieces):
        return None
    texts: list[ix.Expr] = []
    for aff in functions:
        own = aff.to_pw_aff()
        where = restricted.eq_set(own).intersect(restricted.domain())
        above = [f for f in functions if where.is_subset(f.to_pw_aff().ge_set(own))]
        if not all(_is_above_none(above, place, other) for place, other in pieces):
            return None
        texts.append(ix.minimum(*(affine(f) for f in above)))
    return ix.maximum(*texts)


def _is_above_none(functions: list[isl.Aff], where: isl.Set, own: isl.Aff) -> bool:
    """Whether the minimum of some functions is nowhere on a piece above this one."""
    for f in functions:
        where = where.intersect(f.gt_set(own))
    return bool(where.is_empty())


def distinct(pw: isl.PwAff) -> list[isl.Aff]:
    """The different functions among the pieces, without those that others cover."""
    functions: list[isl.Aff] = []
    pieces = pw.get_pieces()
    for _, aff in pieces:
        if not any(aff.plain_is_equal(other) for other in functions):
            functions.append(aff)
    for aff in tuple(functions):
        others = [other for other in functions if other is not aff]
        places = [where for where, a in pieces if a.plain_is_equal(aff)]
        if all(any(_agree(aff, other, where) for other in others) for where in places):
            functions = others
    return functions


def _agree(a: isl.Aff, b: isl.Aff, where: isl.Set) -> bool:
    return bool(where.is_subset(a.to_pw_aff().eq_set(b.to_pw_aff())))


def condition(s: isl.Set, given: isl.Set, outside: isl.Set | None = None) -> ix.Expr:
    """A short condition that equals membership in `s` wherever `given` holds.

    `outside` are the points of `given` that are not in `s`, where they are known: that may take isl
    far longer to find out than the way back.
    """
    inside = s.intersect(given)
    if inside.is_empty():
        return ix.FALSE
    outside = given.subtract(s) if outside is None else outside
    if outside.is_empty():
        return ix.TRUE
    direct = _disjunction(inside, given)
    if isinstance(direct, ix.Relation) or (
        isinstance(direct, ix.Conjunction) and len(direct.args) <= 2
    ):
        return direct
    opposite = ix.negation(_disjunction(outside, given))
    return min(direct, opposite, key=length)


def length(c: ix.Expr) -> int:
    """The number of comparisons in a condition."""
    return sum(length(a) for a in c.args) if isinstance(c, (ix.Conjunction, ix.Disjunction)) else 1


def plainness(c: ix.Expr) -> tuple[int, int]:
    """A sort key for readability: the number of comparisons, then that of inequalities."""
    parts = c.args if isinstance(c, (ix.Conjunction, ix.Disjunction)) else (c,)
    vague = sum(isinstance(p, ix.Relation) and p.op not in ("==", "!=") for p in parts)
    return length(c), vague


def _disjunction(s: isl.Set, given: isl.Set) -> ix.Expr:
    short = s.coalesce().gist(given).coalesce()
    return ix.disjunction(*(_conjunction(b, given) for b in basic_sets(short)))


def _conjunction(b: isl.BasicSet, given: isl.Set) -> ix.Expr:
    dims = tuple(b.get_space().get_dim_name(D.set, k) for k in range(b.dim(D.set)))
    points = isl.Set.from_basic_set(b).intersect(given)
    parts: list[ix.Expr] = []
    for c in b.remove_redundancies().get_constraints():
        if c.is_div_constraint():
            continue
        aff = c.get_aff()
        equal = c.is_equality() or points.is_subset(aff.to_pw_aff().zero_set())
        part = solved_comparison(affine(aff), equal, dims)
        if part != ix.TRUE:
            parts.append(part)
    parts.sort(key=lambda p: _place(p, dims))
    return ix.conjunction(*parts)


def _place(c: ix.Expr, dims: tuple[str, ...]) -> tuple[int, bool, str]:
    if not isinstance(c, ix.Relation):
        return len(dims), False, repr(c)
    at = [dims.index(n) for n in symbols(c.left) if n in dims]
    return min(at, default=len(dims)), isinstance(c.left, ix.Mod), repr(c)


def entries(m: isl.Map) -> tuple[tuple[ix.Expr | ix.Slice, ...], bool] | None:
    """A map as access entries, and whether they are exact; `None` if a limit cannot be stated.

    Each entry is a point or a slice (with a step where the stride asks for one) over the map's
    domain; when not exact they cover the map.
    """
    given = m.domain()
    box = isl.Map.from_domain_and_range(given, isl.Set.universe(m.get_space().range()))
    recovered: list[ix.Expr | ix.Slice] = []
    for k in range(m.dim(D.out)):
        low, high = end(m, k, greatest=False), end(m, k, greatest=True)
        entry = None if low is None or high is None else _entry(m, k, low, high, given)
        if entry is None:
            return None
        recovered.append(entry[0])
        box = box.intersect(entry[1])
    return tuple(recovered), bool(box.is_equal(m))


def limits(m: isl.Map, k: int, bound: str) -> ix.Slice:
    """A slice that contains all values of a dimension of this bound, with limits as near to them
    as can be stated."""
    given, size = m.domain(), ix.Sym(bound)
    try:
        low, high = m.dim_min(k), m.dim_max(k)
    except isl.Error:  # isl gives up on some divisions
        return ix.Slice(ix.ZERO, size)
    first, last = limit(low, given), limit(high, given)
    if first is None:
        local = isl.LocalSpace.from_space(given.get_space())
        least = _beyond(low, isl.Aff.zero_on_domain(local).to_pw_aff(), -1)
        first = ix.maximum(*least) if least else ix.ZERO
    if last is None:
        most = _beyond(high, _last_point(given, bound), 1)
        last = ix.minimum(*most) if most else ix.sub(size, ix.ONE)
    return ix.Slice(first, ix.add(last, ix.ONE))


def _last_point(given: isl.Set, bound: str) -> isl.PwAff:
    """The last point of a dimension, as a function on a set."""
    at = given.find_dim_by_name(D.param, bound)
    if at < 0:
        given = given.add_dims(D.param, 1)
        at = given.dim(D.param) - 1
        given = given.set_dim_name(D.param, at, bound)
    local = isl.LocalSpace.from_space(given.get_space())
    return isl.Aff.var_on_domain(local, D.param, at).add_constant_val(isl.Val(-1)).to_pw_aff()


def _beyond(nearest: isl.PwAff, farthest: isl.PwAff, sign: int) -> list[ix.Expr]:
    """Simple functions that are nowhere above a lower limit, or below an upper one with ``sign`` 1,
    and not beyond the farthest one: pieces of the limit, or of a little less, or more."""
    given = nearest.domain()
    simple: list[ix.Expr] = []
    for aff in distinct(nearest.coalesce()):
        for step in range(EFFORT.nested_pieces):
            own = aff.add_constant_val(isl.Val(sign * step, context=aff.get_ctx())).to_pw_aff()
            near, far = (nearest.le_set(own), own.le_set(farthest))
            if sign < 0:
                near, far = (own.le_set(nearest), farthest.le_set(own))
            if not given.is_subset(far):
                break
            if given.is_subset(near):
                simple.append(affine(own.get_pieces()[0][1]))
                break
    return simple


def _entry(
    m: isl.Map, k: int, low: isl.PwAff, high: isl.PwAff, given: isl.Set
) -> tuple[ix.Expr | ix.Slice, isl.Map] | None:
    """One entry with its limits, and the map that it represents."""
    local = isl.LocalSpace.from_space(m.get_space().range())
    out = isl.Aff.var_on_domain(local, D.set, k).to_pw_aff()
    first, last = limit(low, given), limit(high, given)
    if first is None or last is None:
        return None
    if low.is_equal(high):
        return first, low.eq_map(out)
    box = low.le_map(out).intersect(high.ge_map(out))
    stride = integer(m.get_range_stride_info(k).get_stride())
    if stride != 1:
        box = box.intersect(_every(low, out, stride))
    return ix.Slice(first, ix.add(last, ix.Const(1)), stride), box


def _every(low: isl.PwAff, out: isl.PwAff, stride: int) -> isl.Map:
    step = isl.Val(stride, context=low.get_ctx())
    return low.mod_val(step).eq_map(out.mod_val(step))
