"""Inversion of reads: which readers contribute to the cotangent of each point of a tensor.

The readers of a point are usually a slice, or several, each under a condition. Where they are not
(`x[i+j]`, read at `i` and `j`), an intermediate tensor with some of the readers' dimensions may
split the read in two that are: `m[i, k] = g[i, k-i]`, summed over `i`. Otherwise the readers are
covered by slices, and candidates in them that do not read the point count as 0; each point then
costs time and memory for all candidates.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from itertools import combinations

from tempoc.autodiff import errors
from tempoc.autodiff.covering_reads import read_full_range
from tempoc.autodiff.node_builder import GraphBuilder, PointBuild
from tempoc.autodiff.transpose_read import Contribution, OperandCotangent, transpose
from tempoc.diagnostics.diagnostic import DiagnosticError
from tempoc.ops.gradients.calculus import Term
from tempoc.poly.relations.inverse import Inverse, covering, readers
from tempoc.poly.relations.run_lengths import loses_lengths
from tempoc.symbolic import expr as ix
from tempoc.symbolic.domain import Domain, conjuncts, entries_at
from tempoc.symbolic.walk import symbols


def contributions(
    builder: GraphBuilder, operand: OperandCotangent, source: Domain, prefix: str
) -> list[Contribution]:
    """The contributions of a read to the cotangent of a tensor with this domain."""
    if builder.space.is_empty(operand.sink):
        return []
    for variant in _read_variants(builder, operand, source, prefix):
        exact = _exact_contributions(builder, variant, source, prefix)
        if exact is not None:
            return exact
        if _has_slices(builder, variant.sink, variant.entries, source):
            cover = covering(builder.space, variant.sink, variant.entries, source)
            return [Contribution(where=cover.where, operand=variant, inverse=cover)]
    universe = builder.space.universe
    bound = next(universe.dim(d).bound for d in source.dims if universe.outer(d))
    raise DiagnosticError(errors.other_lengths(operand.spans, bound, universe.outer(bound)[0]))


def _read_variants(
    builder: GraphBuilder, operand: OperandCotangent, source: Domain, prefix: str
) -> Iterator[OperandCotangent]:
    """The read itself, then as a covering read, then that from all points of the dimensions."""
    yield operand
    wide = read_full_range(builder, operand, source, prefix)
    if wide is None:
        return
    yield wide
    build = PointBuild(builder=builder, domain=wide.sink, prefix=prefix, spans=wide.spans)
    yield replace(wide, sink=Domain(wide.sink.dims), term=build.zero_extended(wide.term))


def _exact_contributions(
    builder: GraphBuilder, operand: OperandCotangent, source: Domain, prefix: str
) -> list[Contribution] | None:
    """The contributions without covers; `None` if readers are no slices."""
    operand = _at_fixed_lengths(builder, operand, source, prefix)
    inverses = _readers(builder, operand.sink, operand.entries, source)
    if inverses is not None:
        operand, inverses = _across_gaps(builder, operand, source, prefix, inverses)
        return [
            Contribution(where=_also_of_none(builder, p, source), operand=operand, inverse=p)
            for p in inverses
        ]
    for middle, inner, on in _intermediate_tensors(builder, operand, source):
        first = _readers(builder, inner.sink, inner.entries, middle)
        if first is None:
            continue
        parts: list[Contribution] = []
        for piece in first:
            term, domain = _intermediate_cotangent(builder, inner, piece, middle, prefix)
            outer = replace(operand, sink=domain, term=term, entries=on)
            outer_parts = _exact_contributions(builder, outer, source, prefix)
            if outer_parts is None:
                break
            parts += outer_parts
        else:
            return parts
    return None


def _also_of_none(builder: GraphBuilder, inverse: Inverse, source: Domain) -> ix.Expr:
    """Where the sum over the readers of a point may be formed, as it is 0 where there are none.

    With bounds for which nothing is read, an empty range of readers needs no case of its own.
    """
    symbolic, parts = builder.space.symbolic, conjuncts(inverse.where)
    of_points = [p for p in parts if any(d in symbols(p) for d in source.dims)]
    if len(of_points) == len(parts):
        return inverse.where
    where = ix.conjunction(*of_points)
    others = ix.negation(ix.conjunction(*(p for p in parts if p not in of_points)))
    points = Domain(source.dims, ix.conjunction(source.where, where, others))
    ranges = [e for e in inverse.entries if isinstance(e, ix.Slice)]
    limits = ((x, y) for e in ranges for x, y in ((ix.ZERO, e.lo), (e.lo, e.hi)))
    valid = ix.conjunction(*(ix.compare("<=", x, y) for x, y in limits))
    empty = (ix.conjunction(valid, ix.compare("==", e.lo, e.hi)) for e in ranges)
    return where if any(symbolic.implies(points, e) for e in empty) else inverse.where


def _at_fixed_lengths(
    builder: GraphBuilder, operand: OperandCotangent, source: Domain, prefix: str
) -> OperandCotangent:
    """The read extended by 0 to all points, if only its domain depends on varying lengths."""
    if _has_slices(builder, operand.sink, operand.entries, source):
        return operand
    box = Domain(operand.sink.dims)
    if not _has_slices(builder, box, operand.entries, source):
        return operand
    build = PointBuild(builder=builder, domain=operand.sink, prefix=prefix, spans=operand.spans)
    return replace(operand, sink=box, term=build.zero_extended(operand.term))


def _across_gaps(
    builder: GraphBuilder,
    operand: OperandCotangent,
    source: Domain,
    prefix: str,
    inverses: tuple[Inverse, ...],
) -> tuple[OperandCotangent, tuple[Inverse, ...]]:
    """The read extended by 0 to where two dimensions are equal, if readers are fewer slices then.

    All pairs but those of a point with itself are read on both sides of a diagonal. Two sums over
    parts of each row take longer than one over the row, in which the diagonal counts as 0.
    """
    sink = operand.sink
    parts = conjuncts(sink.where)
    gaps = [p for p in parts if isinstance(p, ix.Relation) and p.op == "!="]
    gaps = [p for p in gaps if len({*symbols(p)} & {*sink.dims}) > 1]
    varies = any(n in sink.dims for e in operand.term.shape for n in symbols(e))
    slices = any(isinstance(e, ix.Slice) for e in operand.entries)
    if not gaps or varies or slices or len(inverses) < 2:
        return operand, inverses
    closed = Domain(sink.dims, ix.conjunction(*(p for p in parts if p not in gaps)))
    fewer = _readers(builder, closed, operand.entries, source)
    if fewer is None or len(fewer) >= len(inverses):
        return operand, inverses
    build = PointBuild(builder=builder, domain=sink, prefix=prefix, spans=operand.spans)
    term = build.zero_extended(operand.term, closed.where)
    return replace(operand, sink=closed, term=term), fewer


def _readers(
    builder: GraphBuilder, sink: Domain, entries: tuple[ix.Entry, ...], source: Domain
) -> tuple[Inverse, ...] | None:
    """The readers of each point as slices under conditions; `None` if they are not."""
    if not _has_slices(builder, sink, entries, source):
        return None
    return readers(builder.space, sink, entries, source)


def _has_slices(
    builder: GraphBuilder, sink: Domain, entries: tuple[ix.Entry, ...], source: Domain
) -> bool:
    """Whether readers can be slices: not if a varying length differs among them."""
    return not loses_lengths(builder.space.universe, sink, entries, source)


def _intermediate_cotangent(
    builder: GraphBuilder, inner: OperandCotangent, piece: Inverse, middle: Domain, prefix: str
) -> tuple[Term, Domain]:
    """The cotangent of the intermediate tensor, and its domain."""
    space = builder.space
    domain = Domain(middle.dims, space.symbolic.simplify(piece.where, middle))
    domain = space.intersect(middle, domain)
    build = PointBuild(builder=builder, domain=domain, prefix=prefix, spans=inner.spans)
    part = Contribution(where=piece.where, operand=inner, inverse=piece)
    return transpose(build, part), domain


InvertedRead = tuple[Domain, OperandCotangent, tuple[ix.Entry, ...]]
"""The domain of an intermediate tensor, how readers read it, and how it reads the source."""


def _intermediate_tensors(
    builder: GraphBuilder, operand: OperandCotangent, source: Domain
) -> Iterator[InvertedRead]:
    """Candidates: without a dimension that the read does not name, then with the source's ones."""
    space, sink = builder.space, operand.sink
    named = [n for e in operand.entries for n in symbols(e)]
    for dim in reversed(sink.dims):
        if dim not in named:
            remaining = tuple(d for d in sink.dims if d != dim)
            same = tuple(ix.Sym(d) for d in remaining)
            inner = replace(operand, entries=same, dims=remaining, shape=operand.term.shape)
            yield space.project(sink, remaining), inner, operand.entries
    source_point = tuple(ix.Sym(d) for d in source.dims)
    if operand.entries == source_point:
        return
    own = dict(zip(source.dims, operand.entries, strict=True))
    free = [d for d in sink.dims if d not in source.dims]
    for count in range(1, len(free) + 1):
        for added in combinations(free, count):
            dims = builder.graph.universe.ordered((*source.dims, *added))
            entries = entries_at(dims, own)
            box = Domain(dims, source.where)
            read = space.symbolic.access_map(sink, entries, box).range()
            inner = replace(operand, entries=entries, dims=dims)
            yield space.symbolic.domain(read, dims), inner, source_point
