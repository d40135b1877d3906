"""Transposition of reads: from cotangents of an operand to contributions to the tensor it reads.

If `y[t] = f(x[phi(t)])`, the contribution to `x[s]` is the sum, over all `t` with `s` in `phi(t)`,
of the cotangent of the operand of `f` at `t`, at the position of `s` in it. The readers are a point
or a slice (`poly.inverse`), so this is a read at that slice, an index, and a sum over an axis.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from tempoc.autodiff.index_tensors import IndexTensors
from tempoc.autodiff.node_builder import PointBuild, edge_of
from tempoc.autodiff.sum_as_contraction import as_contraction
from tempoc.diagnostics.source import Span
from tempoc.ops.definition.shapes import Shape, same
from tempoc.ops.definition.types import LOSSLESS
from tempoc.ops.gradients.calculus import Term
from tempoc.ops.indexing.indexing import IndexPart, SpatialIndex, TakeAlong
from tempoc.ops.tensor.arithmetic import Add, And, Equal
from tempoc.ops.tensor.elementwise import Cast
from tempoc.ops.tensor.movement import BroadcastTo, Pad, Squeeze
from tempoc.ops.tensor.source import Arange
from tempoc.poly.relations.inverse import Inverse
from tempoc.sdg.graph.graph import Edge
from tempoc.sdg.statements.build import identity
from tempoc.symbolic import expr as ix
from tempoc.symbolic.domain import Domain
from tempoc.symbolic.walk import extent, substitute, symbols


@dataclass(frozen=True, slots=True, kw_only=True)
class OperandCotangent:
    """The cotangent `term` of an operand that is read by `entries` in the domain `sink`.

    `dims` are the dimensions of the tensor that is read, one for each entry; `shape` is its shape.
    """

    sink: Domain
    entries: tuple[ix.Entry, ...]
    dims: tuple[str, ...]
    term: Term
    shape: Shape
    spans: tuple[Span, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Contribution:
    """A summand of a tensor's cotangent at the points where `where` holds.

    `inverse` has the readers of a point. Without an `operand` it is the 1 of a loss.
    """

    where: ix.Expr
    operand: OperandCotangent | None
    inverse: Inverse | None = None


def transpose(build: PointBuild, part: Contribution) -> Term:
    """The contribution as a term at the points of `build`.

    It may be of a wider floating point dtype than the tensor, in which it was computed.
    """
    operand, inverse = part.operand, part.inverse
    assert operand is not None and inverse is not None
    operand = replace(operand, term=_before_narrowing(build, operand))
    return _Transposition(build=build, operand=operand, inverse=inverse).run()


def _before_narrowing(build: PointBuild, operand: OperandCotangent) -> Term:
    """The cotangent of an operand as it was computed, before it got the operand's dtype.

    As in JAX, where weights are cast before all points read them, readers are summed in the wider
    dtype: products are sums of products then, and are not rounded one by one. What the program
    itself rounds, which may be a cotangent as it is, stays so, and what it is differentiated by.
    """
    term = operand.term
    if not isinstance(term.handle, Edge) or term.handle.source in build.builder.graph.nodes:
        return term
    node = build.builder.nodes[term.handle.source]
    if not isinstance(node.op, Cast) or term.handle.entries != identity(node.domain):
        return term
    wide = replace(build, domain=operand.sink).read(node.inputs[0])
    return wide if wide.type.dtype in LOSSLESS.get(term.type.dtype, ()) else term


@dataclass(frozen=True, slots=True, kw_only=True)
class _Transposition:
    """The transposition of one read, at the points of `build`.

    *Readers* are the points of the sink that read the point at hand; they range over the `sliced`
    dimensions of the sink.
    """

    build: PointBuild
    operand: OperandCotangent
    inverse: Inverse

    @property
    def points(self) -> dict[str, ix.Expr]:
        """The dimensions of the sink that have one value for a point of the source."""
        pairs = zip(self.operand.sink.dims, self.inverse.entries, strict=True)
        return {d: e for d, e in pairs if not isinstance(e, ix.Slice)}

    @property
    def sliced(self) -> dict[str, ix.Slice]:
        """The dimensions of the sink with a range of values."""
        pairs = zip(self.operand.sink.dims, self.inverse.entries, strict=True)
        return {d: e for d, e in pairs if isinstance(e, ix.Slice)}

    @property
    def moving(self) -> tuple[str, ...]:
        """The dimensions of the sink with which the shape of the term must not vary."""
        return tuple(self.sliced) if self.inverse.exact else self.operand.sink.dims

    def run(self) -> Term:
        """Read, index, sum; axes that were padded for the sum are cut to the tensor's shape."""
        term, facts = self.total(), self.build.facts
        target = self.operand.shape[len(self.operand.shape) - term.type.ndim :]
        pairs = zip(term.shape, target, strict=True)
        extents = [
            have if have == ix.ONE or same(have, want, facts) else want for have, want in pairs
        ]
        if tuple(extents) == term.shape:
            return term
        cut: tuple[IndexPart, ...] = tuple((ix.ZERO, e, 1) for e in extents)
        return self.build.calculus.op(SpatialIndex(entries=cut), term)

    def total(self) -> Term:
        """The sum over the readers."""
        broadcast = self.broadcast_operand() if self.inverse.exact else None
        if broadcast is not None:  # the same at all positions: no need to search for the point
            operand = replace(self.operand, entries=(), dims=(), term=broadcast)
            return replace(self, operand=operand).total()
        sink = self.sink_builder()
        summand = sink.calculus.held(self.operand.term)
        by = dict(zip(self.operand.sink.dims, self.inverse.entries, strict=True))
        if self.inverse.exact:
            contraction = as_contraction(
                self.build, sink, summand, by, len(self.slices()), self.select
            )
            if contraction is not None:
                node = sink.builder.nodes[edge_of(summand).source]
                return self.times_readers(contraction, node.domain.dims)
        term, ranging = self.select(summand)
        if ranging:
            term = self.build.calculus.sum(term, range(len(ranging)))
        return self.times_readers(term, ranging)

    def broadcast_operand(self) -> Term | None:
        """The cotangent without the axes of slices, if it is broadcast along all of them."""
        count, term, sink = len(self.slices()), self.operand.term, self.sink_builder()
        if not count:
            return None
        if term.handle is None and term.number is not None:
            return sink.calculus.number(term.number, term.type.dtype, term.shape[count:])
        node = sink.builder.nodes[edge_of(term).source]
        at_own_point = edge_of(term).entries == tuple(ix.Sym(d) for d in node.domain.dims)
        if not isinstance(node.op, BroadcastTo) or not at_own_point:
            return None
        operand = sink.read(node.inputs[0])
        first = range(max(0, count - (term.type.ndim - operand.type.ndim)))
        if any(operand.shape[k] != ix.ONE for k in first):
            return None
        return sink.calculus.op(Squeeze(axes=tuple(first)), operand) if first else operand

    def select(self, term: Term) -> tuple[Term, tuple[str, ...]]:
        """Each reader's cotangent for the point at hand, and the dimensions of its first axes.

        The first axes of the argument are those of the slices of the read.
        """
        term = self.read(self.uniform(term))
        edge = edge_of(term)
        dims = self.build.builder.nodes[edge.source].domain.dims
        pairs = zip(dims, edge.entries, strict=True)
        ranging = tuple(d for d, e in pairs if isinstance(e, ix.Slice))
        if self.slices() or not self.inverse.exact:
            term = self.index_slices(term, ranging)
        return term, ranging

    def times_readers(self, term: Term, dims: tuple[str, ...]) -> Term:
        """The term times the number of readers that differ only in other dimensions than these."""
        times = ix.product(extent(e) for d, e in self.sliced.items() if d not in dims)
        if times == ix.ONE:
            return term
        c = self.build.calculus
        return c.mul(c.index(times, term.type.dtype), term)

    def slices(self) -> list[tuple[ix.Slice, str]]:
        """The slices of the read, each with its dimension of the tensor."""
        pairs = zip(self.operand.entries, self.operand.dims, strict=True)
        return [(e, d) for e, d in pairs if isinstance(e, ix.Slice)]

    def sink_builder(self) -> PointBuild:
        """The builder of nodes at the points of the readers."""
        return replace(self.build, domain=self.operand.sink)

    def uniform(self, term: Term) -> Term:
        """The term as a node at the readers' points, padded to one shape for all of them."""
        build = self.sink_builder()
        moving = self.moving
        widths: list[tuple[ix.Expr, ix.Expr]] = [(ix.ZERO, ix.ZERO)] * term.type.ndim
        shape = list(term.shape)
        for axis, have in enumerate(term.shape):
            if any(n in moving for n in symbols(have)):
                padded = self.uniform_extent(have, axis)
                widths[axis] = (ix.ZERO, ix.sub(padded, have))
                shape[axis] = padded
        if shape != list(term.shape):
            type = replace(term.type, shape=tuple(shape), weak=False)
            pad = Pad(widths=tuple(widths))
            term = build.node(pad, (edge_of(term),), build.domain, (type,))[0]
        if not self.inverse.exact:
            return build.zero_extended(term)
        edge = edge_of(term)
        node = build.builder.nodes[edge.source]
        own_point = tuple(ix.Sym(d) for d in node.domain.dims)
        named = [n for e, _ in self.slices() for n in symbols(e.lo) if n in self.sliced]
        varies = all(n in node.domain.dims for n in named)
        return term if edge.entries == own_point and varies else build.at_all_points(term)

    def uniform_extent(self, have: ix.Expr, axis: int) -> ix.Expr:
        """The extent of an axis that is sufficient for all readers."""
        space, place = self.build.builder.space, axis - len(self.slices())
        longest = space.upper_bound(have, self.operand.sink)
        if place < 0:
            return longest
        length = self.operand.shape[place]  # also at points without readers
        return ix.maximum(longest, space.upper_bound(length, self.build.domain))

    def read(self, term: Term) -> Term:
        """The term read at the readers of the point at hand."""
        edge = edge_of(term)
        node = self.build.builder.nodes[edge.source]
        by = dict(zip(self.operand.sink.dims, self.inverse.entries, strict=True))
        entries = tuple(by[d] for d in node.domain.dims)
        return self.build.read(Edge(source=edge.source, out=edge.out, entries=entries))

    def at_source(self, e: ix.Expr) -> ix.Expr:
        """An expression over the sink's dimensions at the readers of a point; see `_reader_dim`."""
        return substitute(e, self.points | {d: ix.Sym(_reader_dim(d)) for d in self.sliced})

    def shift(self, entry: ix.Slice) -> tuple[str, int, ix.Expr] | None:
        """`(dim, a, offset)` if the slice starts at `a * dim + offset`, with one dimension."""
        low = self.at_source(entry.lo)
        moving = [d for d in self.sliced if _reader_dim(d) in symbols(low)]
        if len(moving) != 1 or not isinstance(low, (ix.IndexSum, ix.Sym)) or not self.inverse.exact:
            return None
        terms = low.terms if isinstance(low, ix.IndexSum) else ((1, low),)
        dim = ix.Sym(_reader_dim(moving[0]))
        factor = next((a for a, x in terms if x == dim), None)
        if factor is None:
            return None
        offset = ix.sub(low, ix.mul(ix.Const(factor), dim))
        steps = factor * self.sliced[moving[0]].step
        if dim.name in symbols(offset) or steps % entry.step:
            return None
        return moving[0], factor, offset

    def index_slices(self, term: Term, lead: tuple[str, ...]) -> Term:
        """For each reader the element of its slices that is the point at hand.

        The first axes of `term` are those of the dimensions `lead`.
        """
        c = self.build.calculus
        parts: list[IndexPart] = [(ix.ZERO, e, 1) for e in term.shape]
        along: list[tuple[int, Term]] = []
        searched: list[tuple[int, ix.Slice, str]] = []
        axis = len(lead)
        for k, (entry, dim) in enumerate(self.slices()):
            shift = self.shift(entry)
            if not self.inverse.exact:
                searched.append((axis, entry, dim))
            elif not any(n in self.sliced for n in symbols(entry.lo)):
                parts[len(lead) + k] = ix.floordiv(
                    ix.sub(ix.Sym(dim), self.at_source(entry.lo)), entry.step
                )
                continue
            elif shift is None:
                along.append((axis, self.position(entry, dim, lead)))
            else:
                others = [k for k, d in enumerate(lead) if d != shift[0]]
                along.append((axis, c.expand(self.positions(entry, dim, shift), others)))
            axis += 1
        if any(isinstance(p, ix.Expr) for p in parts):
            term = c.op(SpatialIndex(entries=tuple(parts)), term)
        for axis, positions in along:
            index = self.with_trailing_axes(positions, term.type.ndim)
            term = c.op(TakeAlong(axis=axis, sure=True), term, index)
        term = self.search(term, lead, searched)
        gone = [a for a, _ in along]
        gone = [a - sum(s < a for s, _, _ in searched) for a in gone]
        return c.op(Squeeze(axes=tuple(gone)), term) if gone else term

    def search(
        self, term: Term, lead: tuple[str, ...], axes: list[tuple[int, ix.Slice, str]]
    ) -> Term:
        """The term without these axes of slices, by a masked sum over positions.

        If the inverse is not exact, candidates that do not read the point count as 0.
        """
        c, rank = self.build.calculus, term.type.ndim
        ranging = self.ranging(lead)
        tests: list[Term] = []
        for axis, entry, dim in axes:
            place = ranging.times(entry.step, c.op(Arange(stop=term.shape[axis])))
            place = c.expand(place, [k for k in range(rank) if k != axis])
            first = self.with_trailing_axes(ranging.value(self.at_source(entry.lo)), rank)
            tests.append(c.op(Equal(), c.op(Add(), first, place), ranging.value(ix.Sym(dim))))
        pairs = zip(self.operand.entries, self.operand.dims, strict=True)
        for point, dim in pairs if not self.inverse.exact else ():
            if not isinstance(point, ix.Slice):
                same = ix.compare("==", self.at_source(point), ix.Sym(dim))
                if not self.holds_for_all(same):
                    tests.append(self.with_trailing_axes(ranging.value(same), rank))
        if not tests:
            return term
        term = c.masked(ranging.joined(And(), tests), term)
        return c.sum(term, [axis for axis, _, _ in axes])

    def holds_for_all(self, condition: ix.Expr) -> bool:
        """Whether a condition holds for all candidates."""
        if any(_reader_dim(d) in symbols(condition) for d in self.sliced):
            return condition == ix.TRUE
        return self.build.builder.space.implies(self.build.domain, condition)

    def with_trailing_axes(self, x: Term, ndim: int) -> Term:
        """A term that has the first axes only, expanded to `ndim` axes."""
        return self.build.calculus.expand(x, range(x.type.ndim, ndim)) if x.type.ndim else x

    def position(self, entry: ix.Slice, dim: str, lead: tuple[str, ...]) -> Term:
        """For each reader the position of the point at hand in its slice."""
        return self.ranging(lead).value(
            ix.floordiv(ix.sub(ix.Sym(dim), self.at_source(entry.lo)), entry.step)
        )

    def ranging(self, lead: tuple[str, ...]) -> IndexTensors:
        """Index expressions as tensors with an axis for each of these dimensions of the readers."""
        over = {_reader_dim(d): self.sliced[d] for d in lead}
        return IndexTensors(calculus=self.build.calculus, over=over)

    def positions(self, entry: ix.Slice, dim: str, shift: tuple[str, int, ix.Expr]) -> Term:
        """For each reader the position of the point at hand in a slice with a `shift`."""
        moving, factor, offset = shift
        over = self.sliced[moving]
        low = ix.add(ix.mul(ix.Const(factor), over.lo), offset)
        first = ix.floordiv(ix.sub(ix.Sym(dim), low), entry.step)
        step = -(factor * over.step // entry.step)
        count = self.build.builder.space.reduce(extent(over), self.build.domain)
        stop = ix.add(first, ix.mul(ix.Const(step), count))
        return self.build.calculus.op(Arange(start=first, stop=stop, step=step))


def _reader_dim(dim: str) -> str:
    """The name of a dimension of the readers that range over it.

    Dimensions of the source may have the same name.
    """
    return f"{dim}'"
