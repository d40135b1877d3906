"""Vectorized statements: one instance computes all points of some dimensions.

A statement whose nodes are marked ``[b*, t]`` runs at each ``t`` for all ``b``: its domain loses
``b``, and its accesses (``x[b, t]``) are widened to the slice of all points (``x[0:B, t]``). The
statement of a single point is kept in ``single``: codegen emits the kernel from it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from tempoc.poly.relations import syntactic as fast
from tempoc.poly.relations.space import Space
from tempoc.sdg.statements.statements import Read, Statement, Vector, Write
from tempoc.symbolic import expr as ix
from tempoc.symbolic.domain import Domain, Universe, conjuncts
from tempoc.symbolic.walk import symbols

Ranges = Mapping[str, Vector]


def vectorize_statement(single: Statement, dims: tuple[str, ...], space: Space) -> Statement:
    """The statement that runs ``single`` at all points of ``dims`` at once.

    Raises ``ValueError`` if the domain is no box along ``dims`` or a write is conditional on them.
    """
    vectors = vector_ranges(single.domain, dims, space)
    if vectors is None:
        raise ValueError(f"{single.name} does not run over whole ranges of {', '.join(dims)}")
    remaining = tuple(d for d in single.domain.dims if d not in dims)
    return replace(
        single,
        domain=space.project(single.domain, remaining),
        reads=tuple(_read(r, vectors, space.universe) for r in single.reads),
        writes=tuple(_write(w, vectors, space.universe) for w in single.writes),
        vector=tuple(vectors.values()),
        single=single,
    )


def vector_ranges(domain: Domain, dims: Sequence[str], space: Space) -> dict[str, Vector] | None:
    """The ranges of ``dims`` in a domain; ``None`` if they vary from point to point or have holes.

    Also ``None`` for an empty domain, and if an end names a run-time length, because kernels are
    traced before it is known.
    """
    key = ("ranges", domain, tuple(dims))
    return space.known.once(key, lambda: _ranges(domain, dims, space))


def _ranges(domain: Domain, dims: Sequence[str], space: Space) -> dict[str, Vector] | None:
    parts = conjuncts(domain.where)
    vectors: dict[str, Vector] = {}
    if space.is_empty(domain):
        return None
    for dim in dims:
        own = [p for p in parts if dim in symbols(p)]
        if any({*symbols(p)} & ({*domain.dims} - {dim}) for p in own):
            return None
        ends = _interval(dim, own, space) or _common_interval(dim, own, space)
        if ends is None:
            return None
        low, high = ends
        if any(n in space.universe.lengths for e in (low, high) for n in symbols(e)):
            return None
        vectors[dim] = Vector(dim=dim, lower=low, upper=high)
    return vectors


def _interval(dim: str, parts: Sequence[ix.Expr], space: Space) -> tuple[ix.Expr, ix.Expr] | None:
    """The first point and the one after the last at which all parts hold; ``None`` for holes."""
    low: ix.Expr = ix.ZERO
    high: ix.Expr = ix.Sym(space.universe.dim(dim).bound)
    if parts:
        projection = Domain((dim,), ix.conjunction(*parts))
        low = ix.maximum(low, space.lower_bound(ix.Sym(dim), projection))
        high = ix.minimum(high, ix.add(space.upper_bound(ix.Sym(dim), projection), ix.ONE))
        within = ix.compare(">=", ix.Sym(dim), low), ix.compare("<", ix.Sym(dim), high)
        if not space.equal(projection.where, ix.conjunction(*within), Domain((dim,))):
            return _stated_interval(dim, parts, space)
    return low, high


def _stated_interval(
    dim: str, parts: Sequence[ix.Expr], space: Space
) -> tuple[ix.Expr, ix.Expr] | None:
    """The interval of a single comparison of the dimension with what does not name it.

    The least and the greatest point tell nothing of bounds for which there is none: with a bound
    ``N = max(1, E-1)`` the greatest of ``t < E-1`` is ``N-1``, which for ``E == 1`` is 0.
    """
    low: ix.Expr = ix.ZERO
    high: ix.Expr = ix.Sym(space.universe.dim(dim).bound)
    match parts:
        case [ix.Relation(op=op, left=ix.Sym(name=name), right=end)] if name == dim:
            if dim in symbols(end):
                return None
        case _:
            return None
    if op in (">", ">=", "=="):
        low = ix.maximum(low, ix.add(end, ix.ONE) if op == ">" else end)
    if op in ("<", "<=", "=="):
        high = ix.minimum(high, end if op == "<" else ix.add(end, ix.ONE))
    return None if op == "!=" else (low, high)


def _common_interval(
    dim: str, parts: Sequence[ix.Expr], space: Space
) -> tuple[ix.Expr, ix.Expr] | None:
    """What intervals of single parts have in common, which for some bounds may be no point.

    The ends of ``i == N-1 and i != 0`` tell nothing of ``N == 1``, where no point is left.
    """
    intervals = [_interval(dim, (part,), space) for part in parts]
    ends = [interval for interval in intervals if interval is not None]
    if len(ends) < len(parts) or len(parts) < 2:
        return None
    return ix.maximum(*(low for low, _ in ends)), ix.minimum(*(high for _, high in ends))


def accessed_entries(
    entries: tuple[ix.Entry, ...], vector: Ranges, universe: Universe
) -> tuple[ix.Entry, ...]:
    """The entries that all points of the ranges access; exact for ``t+c``, otherwise a superset."""
    return tuple(_around(e, vector, universe) for e in entries)


def _read(read: Read, vector: Ranges, universe: Universe) -> Read:
    return replace(read, entries=accessed_entries(read.entries, vector, universe))


def _write(write: Write, vector: Ranges, universe: Universe) -> Write:
    if any(d in symbols(write.where) for d in vector):
        raise ValueError(f"{write.member} writes {write.tensor} in parts of a range only")
    return replace(write, entries=accessed_entries(write.entries, vector, universe))


def _around(entry: ix.Entry, vector: Ranges, universe: Universe) -> ix.Entry:
    """The smallest slice that contains an entry at all points of the ranges."""
    moving = [d for d in symbols(entry) if d in vector]
    if not moving:
        return entry
    if isinstance(entry, ix.Slice):
        lo = _extreme(entry.lo, vector, universe, greatest=False)
        step = entry.step if lo == entry.lo else 1
        return ix.Slice(lo, _extreme(entry.hi, vector, universe, greatest=True), step)
    low, high = (_extreme(entry, vector, universe, greatest=g) for g in (False, True))
    return ix.Slice(low, ix.add(high, ix.ONE), stride(entry, moving))


def stride(entry: ix.Expr, moving: Sequence[str]) -> int:
    """The stride of an entry along the vectorized dimension: ``3`` for ``3*t + i``; else 1."""
    if not isinstance(entry, ix.IndexSum):
        return 1
    scales = [abs(c) for c, x in entry.terms if any(d in symbols(x) for d in moving)]
    plain = all(
        isinstance(x, ix.Sym) for _, x in entry.terms if any(d in symbols(x) for d in moving)
    )
    return scales[0] if len(scales) == 1 and plain else 1


def _extreme(e: ix.Expr, vector: Ranges, universe: Universe, *, greatest: bool) -> ix.Expr:
    """The least or greatest value, by the rules of interval arithmetic."""
    match e:
        case ix.Sym(name=n) if n in vector:
            return ix.add(vector[n].upper, ix.Const(-1)) if greatest else vector[n].lower
        case ix.IndexSum(terms=terms, const=k):
            parts = (
                ix.mul(ix.Const(c), _extreme(x, vector, universe, greatest=greatest == (c > 0)))
                for c, x in terms
            )
            return ix.add(ix.Const(k), *parts)
        case ix.IndexMin(args=args):
            return ix.minimum(*(_extreme(a, vector, universe, greatest=greatest) for a in args))
        case ix.IndexMax(args=args):
            return ix.maximum(*(_extreme(a, vector, universe, greatest=greatest) for a in args))
        case ix.FloorDiv(arg=a, divisor=k):
            return ix.floordiv(_extreme(a, vector, universe, greatest=greatest), k)
        case ix.Mod(arg=a, divisor=k) if any(d in symbols(e) for d in vector):
            if not greatest:
                return ix.ZERO
            least = _extreme(a, vector, universe, greatest=False)
            is_natural = fast.at_least(least, 0, universe)  # then no remainder exceeds it
            most = (_extreme(a, vector, universe, greatest=True),) if is_natural else ()
            return ix.minimum(ix.Const(k - 1), *most)
        case _:
            return e
