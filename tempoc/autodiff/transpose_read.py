"""Reads turned around: the cotangent that the readers of a tensor send to a point of it.

If `y[t] = f(x[phi(t)])`, what `x[s]` gets is the sum, over all `t` with `s` in `phi(t)`, of the
cotangent that `f` has for its operand at `t`, at the position of `s` in it. The readers are a point
or a slice (`poly.inverse`), so this is a read at that slice, an index, and a sum over an axis.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from tempoc.autodiff.index_tensors import IndexTensors
from tempoc.autodiff.node_builder import PointBuild, edge_of
from tempoc.autodiff.sum_as_contraction import as_contraction
from tempoc.base.source import Span
from tempoc.ops.definition.shapes import Shape, same
from tempoc.ops.gradients.calculus import Term
from tempoc.ops.indexing.indexing import IndexPart, SpatialIndex, TakeAlong
from tempoc.ops.tensor.arithmetic import Add, And, Equal
from tempoc.ops.tensor.movement import BroadcastTo, Pad, Squeeze
from tempoc.ops.tensor.source import Arange
from tempoc.poly.relations.inverse import Inverse
from tempoc.sdg.graph.graph import Edge
from tempoc.symbolic.domain import Domain
from tempoc.symbolic.expr import (
    ONE,
    TRUE,
    ZERO,
    Const,
    Entry,
    Expr,
    IndexSum,
    Slice,
    Sym,
    add,
    compare,
    floordiv,
    maximum,
    mul,
    product,
    sub,
)
from tempoc.symbolic.walk import extent, substitute, symbols


@dataclass(frozen=True, slots=True, kw_only=True)
class OperandCotangent:
    """An operand and its cotangent: `entries` of a read from `sink`, at which `term` lives.

    `dims` are the dimensions of what is read, one for each entry; `shape` is its own shape.
    """

    sink: Domain
    entries: tuple[Entry, ...]
    dims: tuple[str, ...]
    term: Term
    shape: Shape
    spans: tuple[Span, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Contribution:
    """What a tensor gets from some of its readers, at the points where `where` holds."""

    where: Expr
    reading: OperandCotangent | None
    inverse: Inverse | None = None


def transpose(build: PointBuild, part: Contribution) -> Term:
    """The contribution as a term at the points of `build`."""
    reading, inverse = part.reading, part.inverse
    assert reading is not None and inverse is not None
    return _Transposition(build=build, reading=reading, inverse=inverse).run()


@dataclass(frozen=True, slots=True, kw_only=True)
class _Transposition:
    """`sliced` dimensions of the sink are those over which the readers of a point range."""

    build: PointBuild
    reading: OperandCotangent
    inverse: Inverse

    @property
    def points(self) -> dict[str, Expr]:
        """The dimensions of the sink that have one value for a point of the source."""
        pairs = zip(self.reading.sink.dims, self.inverse.entries, strict=True)
        return {d: e for d, e in pairs if not isinstance(e, Slice)}

    @property
    def sliced(self) -> dict[str, Slice]:
        """The dimensions of the sink with a range of values."""
        pairs = zip(self.reading.sink.dims, self.inverse.entries, strict=True)
        return {d: e for d, e in pairs if isinstance(e, Slice)}

    @property
    def moving(self) -> tuple[str, ...]:
        """The dimensions of the sink that the shape of what is read must not vary with."""
        return tuple(self.sliced) if self.inverse.exact else self.reading.sink.dims

    def run(self) -> Term:
        """Read, index, sum; what was made longer for the sum is cut."""
        term, facts = self.total(), self.build.facts
        target = self.reading.shape[len(self.reading.shape) - term.type.ndim :]
        pairs = zip(term.shape, target, strict=True)
        extents = [have if have == ONE or same(have, want, facts) else want for have, want in pairs]
        if tuple(extents) == term.shape:
            return term
        cut: tuple[IndexPart, ...] = tuple((ZERO, e, 1) for e in extents)
        return self.build.calculus.op(SpatialIndex(entries=cut), term)

    def total(self) -> Term:
        """The sum over the readers."""
        alike = self.alike() if self.inverse.exact else None
        if alike is not None:  # whichever position: no need to look for it
            reading = replace(self.reading, entries=(), dims=(), term=alike)
            return replace(self, reading=reading).total()
        sink = self.sink_build()
        held = sink.calculus.held(self.reading.term)
        by = dict(zip(self.reading.sink.dims, self.inverse.entries, strict=True))
        if self.inverse.exact:
            contraction = as_contraction(self.build, sink, held, by, len(self.slices()), self.taken)
            if contraction is not None:
                node = sink.growing.nodes[edge_of(held).source]
                return self.counted(contraction, node.domain.dims)
        term, ranging = self.taken(held)
        if ranging:
            term = self.build.calculus.sum(term, range(len(ranging)))
        return self.counted(term, ranging)

    def alike(self) -> Term | None:
        """The cotangent without the axes of slices, if it is the same at all their positions."""
        count, term, sink = len(self.slices()), self.reading.term, self.sink_build()
        if not count:
            return None
        if term.handle is None and term.number is not None:
            return sink.calculus.number(term.number, term.type.dtype, term.shape[count:])
        node = sink.growing.nodes[edge_of(term).source]
        at_own_point = edge_of(term).entries == tuple(Sym(d) for d in node.domain.dims)
        if not isinstance(node.op, BroadcastTo) or not at_own_point:
            return None
        operand = sink.read(node.inputs[0])
        first = range(max(0, count - (term.type.ndim - operand.type.ndim)))
        if any(operand.shape[k] != ONE for k in first):
            return None
        return sink.calculus.op(Squeeze(axes=tuple(first)), operand) if first else operand

    def taken(self, term: Term) -> tuple[Term, tuple[str, ...]]:
        """What each reader has for the point at hand, and the dimensions that are its first axes.

        The first axes of `term` are those of the slices of the read.
        """
        term = self.read(self.even(term))
        edge = edge_of(term)
        dims = self.build.growing.nodes[edge.source].domain.dims
        pairs = zip(dims, edge.entries, strict=True)
        ranging = tuple(d for d, e in pairs if isinstance(e, Slice))
        if self.slices() or not self.inverse.exact:
            term = self.picked(term, ranging)
        return term, ranging

    def counted(self, term: Term, dims: tuple[str, ...]) -> Term:
        """The term as often as there are readers that differ in none of these dimensions."""
        times = product(extent(e) for d, e in self.sliced.items() if d not in dims)
        if times == ONE:
            return term
        c = self.build.calculus
        return c.mul(c.index(times, term.type.dtype), term)

    def slices(self) -> list[tuple[Slice, str]]:
        """The slices of the read, with the dimensions that they cut."""
        pairs = zip(self.reading.entries, self.reading.dims, strict=True)
        return [(e, d) for e, d in pairs if isinstance(e, Slice)]

    def sink_build(self) -> PointBuild:
        """Makes nodes where the operand is read."""
        return replace(self.build, domain=self.reading.sink)

    def even(self, term: Term) -> Term:
        """The term as a node at the readers' points, of one shape for all of them."""
        build = self.sink_build()
        moving = self.moving
        widths: list[tuple[Expr, Expr]] = [(ZERO, ZERO)] * term.type.ndim
        shape = list(term.shape)
        for axis, have in enumerate(term.shape):
            if any(n in moving for n in symbols(have)):
                room = self.room(have, axis)
                widths[axis] = (ZERO, sub(room, have))
                shape[axis] = room
        if shape != list(term.shape):
            type = replace(term.type, shape=tuple(shape), weak=False)
            pad = Pad(widths=tuple(widths))
            term = build.node(pad, (edge_of(term),), build.domain, (type,))[0]
        if not self.inverse.exact:
            return build.everywhere(term)
        edge = edge_of(term)
        node = build.growing.nodes[edge.source]
        own_point = tuple(Sym(d) for d in node.domain.dims)
        named = [n for e, _ in self.slices() for n in symbols(e.lo) if n in self.sliced]
        varies = all(n in node.domain.dims for n in named)
        return term if edge.entries == own_point and varies else build.whole(term)

    def room(self, have: Expr, axis: int) -> Expr:
        """How long an axis must be to be as long for all readers."""
        space, place = self.build.growing.space, axis - len(self.slices())
        room = space.upper_bound(have, self.reading.sink)
        if place < 0:
            return room
        needed = self.reading.shape[place]  # also where nobody reads
        return maximum(room, space.upper_bound(needed, self.build.domain))

    def read(self, term: Term) -> Term:
        """The readers' cotangents."""
        edge = edge_of(term)
        node = self.build.growing.nodes[edge.source]
        by = dict(zip(self.reading.sink.dims, self.inverse.entries, strict=True))
        entries = tuple(by[d] for d in node.domain.dims)
        return self.build.read(Edge(source=edge.source, out=edge.out, entries=entries))

    def there(self, e: Expr) -> Expr:
        """What an expression of the readers is at the source; see `_reader_dim`."""
        return substitute(e, self.points | {d: Sym(_reader_dim(d)) for d in self.sliced})

    def shift(self, entry: Slice) -> tuple[str, int, Expr] | None:
        """`(dim, a, rest)` if the slice starts at `a * dim + rest` with one ranging dimension."""
        low = self.there(entry.lo)
        moving = [d for d in self.sliced if _reader_dim(d) in symbols(low)]
        if len(moving) != 1 or not isinstance(low, (IndexSum, Sym)) or not self.inverse.exact:
            return None
        terms = low.terms if isinstance(low, IndexSum) else ((1, low),)
        dim = Sym(_reader_dim(moving[0]))
        factor = next((a for a, x in terms if x == dim), None)
        if factor is None:
            return None
        rest = sub(low, mul(Const(factor), dim))
        steps = factor * self.sliced[moving[0]].step
        if dim.name in symbols(rest) or steps % entry.step:
            return None
        return moving[0], factor, rest

    def picked(self, term: Term, lead: tuple[str, ...]) -> Term:
        """The element of the slices, for each reader, that is the point at hand.

        The first axes of `term` are those of the dimensions `lead`.
        """
        c = self.build.calculus
        parts: list[IndexPart] = [(ZERO, e, 1) for e in term.shape]
        along: list[tuple[int, Term]] = []
        searched: list[tuple[int, Slice, str]] = []
        axis = len(lead)
        for k, (entry, dim) in enumerate(self.slices()):
            shift = self.shift(entry)
            if not self.inverse.exact:
                searched.append((axis, entry, dim))
            elif not any(n in self.sliced for n in symbols(entry.lo)):
                parts[len(lead) + k] = floordiv(sub(Sym(dim), self.there(entry.lo)), entry.step)
                continue
            elif shift is None:
                along.append((axis, self.place(entry, dim, lead)))
            else:
                others = [k for k, d in enumerate(lead) if d != shift[0]]
                along.append((axis, c.expand(self.positions(entry, dim, shift), others)))
            axis += 1
        if any(isinstance(p, Expr) for p in parts):
            term = c.op(SpatialIndex(entries=tuple(parts)), term)
        for axis, positions in along:
            index = self.wide(positions, term.type.ndim)
            term = c.op(TakeAlong(axis=axis, sure=True), term, index)
        term = self.found(term, lead, searched)
        gone = [a for a, _ in along]
        gone = [a - sum(s < a for s, _, _ in searched) for a in gone]
        return c.op(Squeeze(axes=tuple(gone)), term) if gone else term

    def found(self, term: Term, lead: tuple[str, ...], axes: list[tuple[int, Slice, str]]) -> Term:
        """The term without these axes: of the slices there, what is read of the point at hand.

        If the readers that are gone through are more than those of the point, 0 for the others.
        """
        c, rank = self.build.calculus, term.type.ndim
        ranging = self.ranging(lead)
        tests: list[Term] = []
        for axis, entry, dim in axes:
            place = ranging.times(entry.step, c.op(Arange(stop=term.shape[axis])))
            place = c.expand(place, [k for k in range(rank) if k != axis])
            first = self.wide(ranging.value(self.there(entry.lo)), rank)
            tests.append(c.op(Equal(), c.op(Add(), first, place), ranging.value(Sym(dim))))
        pairs = zip(self.reading.entries, self.reading.dims, strict=True)
        for point, dim in pairs if not self.inverse.exact else ():
            if not isinstance(point, Slice):
                same = compare("==", self.there(point), Sym(dim))
                if not self.always(same):
                    tests.append(self.wide(ranging.value(same), rank))
        if not tests:
            return term
        term = c.masked(ranging.joined(And(), tests), term)
        return c.sum(term, [axis for axis, _, _ in axes])

    def always(self, condition: Expr) -> bool:
        """Whether a condition holds for all readers that are gone through."""
        if any(_reader_dim(d) in symbols(condition) for d in self.sliced):
            return condition == TRUE
        return self.build.growing.space.implies(self.build.domain, condition)

    def wide(self, x: Term, ndim: int) -> Term:
        """A term that has the first axes only, with as many as wanted."""
        return self.build.calculus.expand(x, range(x.type.ndim, ndim)) if x.type.ndim else x

    def place(self, entry: Slice, dim: str, lead: tuple[str, ...]) -> Term:
        """For each reader the place of the point at hand, wherever its slice begins."""
        return self.ranging(lead).value(floordiv(sub(Sym(dim), self.there(entry.lo)), entry.step))

    def ranging(self, lead: tuple[str, ...]) -> IndexTensors:
        """Makes terms with an axis for each of these dimensions of the readers."""
        over = {_reader_dim(d): self.sliced[d] for d in lead}
        return IndexTensors(calculus=self.build.calculus, over=over)

    def positions(self, entry: Slice, dim: str, shift: tuple[str, int, Expr]) -> Term:
        """For each reader the place of the point at hand in what it reads."""
        moving, factor, rest = shift
        over = self.sliced[moving]
        low = add(mul(Const(factor), over.lo), rest)
        first = floordiv(sub(Sym(dim), low), entry.step)
        step = -(factor * over.step // entry.step)
        count = self.build.growing.space.reduce(extent(over), self.build.domain)
        stop = add(first, mul(Const(step), count))
        return self.build.calculus.op(Arange(start=first, stop=stop, step=step))


def _reader_dim(dim: str) -> str:
    """The name of a dimension of the readers that range over it.

    Dimensions of the source may have the same name.
    """
    return f"{dim}'"
