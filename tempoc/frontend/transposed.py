"""Reads turned around: the cotangent that the readers of a tensor send to a point of it.

If `y[t] = f(x[phi(t)])`, what `x[s]` gets is the sum, over all `t` with `s` in `phi(t)`, of the
cotangent that `f` has for its operand at `t`, at the position of `s` in it. The readers are a point
or a slice (`poly.inverse`), so this is a read at that slice, an index, and a sum over an axis.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

from tempoc.base.source import Span
from tempoc.frontend.contracted import contracted
from tempoc.frontend.point_build import Growing, PointBuild, edge_of
from tempoc.ops.calculus import Term
from tempoc.ops.indexing import Part, SpatialIndex, TakeAlong
from tempoc.ops.movement import BroadcastTo, Pad, Squeeze
from tempoc.ops.source import Arange
from tempoc.poly.inverse import Inverse, readers
from tempoc.poly.lengths import moves_elsewhere
from tempoc.sdg.graph import Edge
from tempoc.symbolic.domain import Domain
from tempoc.symbolic.expr import (
    ONE,
    ZERO,
    Const,
    Entry,
    Expr,
    Slice,
    Sum,
    Sym,
    add,
    floordiv,
    mul,
    product,
    sub,
)
from tempoc.symbolic.walk import extent, substitute, symbols


class NoInverse(Exception):
    """Who reads a point cannot be said in slices."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Reading:
    """An operand and its cotangent: `entries` of a read from `sink`, at which `term` lives.

    `dims` are the dimensions of what is read, one for each entry.
    """

    sink: Domain
    entries: tuple[Entry, ...]
    dims: tuple[str, ...]
    term: Term
    spans: tuple[Span, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Contribution:
    """What a tensor gets from some of its readers, at the points where `where` holds."""

    where: Expr
    reading: Reading | None
    inverse: Inverse | None = None


def contributions(
    growing: Growing, reading: Reading, source: Domain, prefix: str
) -> Iterator[Contribution]:
    """What a tensor with this domain gets through a read. Raises `NoInverse`."""
    space = growing.space
    if space.is_empty(reading.sink):
        return
    universe = space.universe
    if moves_elsewhere(universe, reading.sink, reading.entries, source):
        raise NoInverse  # lengths there are other ones
    lost = [d for d in reading.sink.dims if all(d not in symbols(e) for e in reading.entries)]
    # Over steps whose number varies one sums for each point of what it varies with.
    ragged = any(n in lost for d in lost for n in universe.outer(d))
    found = None if ragged else readers(space, reading.sink, reading.entries, source)
    if found is not None:
        for piece in found:
            if not universe.has_lengths(piece.where, source.dims):
                raise NoInverse
            yield Contribution(where=piece.where, reading=reading, inverse=piece)
        return
    named = [n for e in reading.entries for n in symbols(e)]
    for dim in reversed(reading.sink.dims):
        if dim not in named:
            break
    else:
        raise NoInverse
    rest = tuple(d for d in reading.sink.dims if d != dim)
    middle = space.project(reading.sink, rest)
    inner = replace(reading, entries=tuple(Sym(d) for d in rest), dims=rest)
    parts = list(contributions(growing, inner, middle, prefix))
    for part in parts:
        here = Domain(middle.dims, space.symbolic.simplify(part.where, middle))
        here = space.intersect(middle, here)
        build = PointBuild(growing=growing, domain=here, prefix=prefix, spans=reading.spans)
        term = sent(build, part)
        outer = replace(reading, sink=here, term=term)
        yield from contributions(growing, outer, source, prefix)


def sent(build: PointBuild, part: Contribution) -> Term:
    """The contribution as a term at the points of `build`. Raises `NoInverse`."""
    reading, inverse = part.reading, part.inverse
    assert reading is not None and inverse is not None
    return _Sending(build=build, reading=reading, inverse=inverse).run()


@dataclass(frozen=True, slots=True, kw_only=True)
class _Sending:
    """`sliced` dimensions of the sink are those over which the readers of a point range."""

    build: PointBuild
    reading: Reading
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

    def run(self) -> Term:
        """Read, index, sum."""
        alike = self.alike()
        if alike is not None:  # whichever position: no need to look for it
            reading = replace(self.reading, entries=(), dims=(), term=alike)
            return replace(self, reading=reading).run()
        sink = self.sink_build()
        held = sink.calculus.held(self.reading.term)
        by = dict(zip(self.reading.sink.dims, self.inverse.entries, strict=True))
        whole = contracted(self.build, sink, held, by, len(self.slices()), self.taken)
        if whole is not None:
            node = sink.growing.nodes[edge_of(held).source]
            return self.counted(whole, node.domain.dims)
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
        here = edge_of(term).entries == tuple(Sym(d) for d in node.domain.dims)
        if not isinstance(node.op, BroadcastTo) or not here:
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
        if self.slices():
            term = self.picked(term, len(ranging))
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
        slices = self.slices()
        widths: list[tuple[Expr, Expr]] = [(ZERO, ZERO)] * term.type.ndim
        shape = list(term.shape)
        for axis, (entry, dim) in enumerate(slices):
            have = term.shape[axis]
            if self.distant(entry):
                if entry.step != 1:
                    raise NoInverse
                bound = Sym(build.growing.graph.universe.dim(dim).bound)
                widths[axis] = (entry.lo, sub(sub(bound, entry.lo), have))
                shape[axis] = bound
            elif any(n in self.sliced for n in symbols(have)):
                room = build.growing.space.upper_bound(have, self.reading.sink)
                widths[axis] = (ZERO, sub(room, have))
                shape[axis] = room
        if any(pair != (ZERO, ZERO) for pair in widths):
            type = replace(term.type, shape=tuple(shape))
            pad = Pad(widths=tuple(widths))
            pad.infer((term.type,), build.facts)
            term = build.node(pad, (edge_of(term),), build.domain, (type,))[0]
        if any(n in self.sliced for e in term.shape for n in symbols(e)):
            raise NoInverse
        edge = edge_of(term)
        node = build.growing.nodes[edge.source]
        here = tuple(Sym(d) for d in node.domain.dims)
        shifts = [found for e, _ in slices if (found := self.shift(e)) is not None]
        varies = all(found[0] in node.domain.dims for found in shifts)
        return term if edge.entries == here and varies else build.whole(term)

    def read(self, term: Term) -> Term:
        """The readers' cotangents."""
        edge = edge_of(term)
        node = self.build.growing.nodes[edge.source]
        by = dict(zip(self.reading.sink.dims, self.inverse.entries, strict=True))
        entries = tuple(by[d] for d in node.domain.dims)
        return self.build.read(Edge(source=edge.source, out=edge.out, entries=entries))

    def shift(self, entry: Slice) -> tuple[str, int, Expr] | None:
        """`(dim, a, rest)` if the slice starts at `a * dim + rest` with one ranging dimension."""
        low = substitute(entry.lo, self.points)
        moving = [n for n in symbols(low) if n in self.sliced]
        if len(moving) != 1 or not isinstance(low, (Sum, Sym)):
            return None
        terms = low.terms if isinstance(low, Sum) else ((1, low),)
        factor = next((a for a, x in terms if x == Sym(moving[0])), None)
        if factor is None:
            return None
        rest = sub(low, mul(Const(factor), Sym(moving[0])))
        steps = factor * self.sliced[moving[0]].step
        if moving[0] in symbols(rest) or steps % entry.step:
            return None
        return moving[0], factor, rest

    def distant(self, entry: Slice) -> bool:
        """Whether positions must be counted from the first point of the whole dimension."""
        low = substitute(entry.lo, self.points)
        return any(n in self.sliced for n in symbols(low)) and self.shift(entry) is None

    def picked(self, term: Term, lead: int) -> Term:
        """The element of the slice, for each reader, that is the point at hand."""
        c = self.build.calculus
        parts: list[Part] = [(ZERO, e, 1) for e in term.shape]
        along: list[tuple[int, Term, int]] = []
        slices = self.slices()
        axis = lead
        for k, (entry, dim) in enumerate(slices):
            shift = self.shift(entry)
            if self.distant(entry):
                parts[lead + k] = Sym(dim)
            elif shift is None:
                low = substitute(entry.lo, self.points)
                parts[lead + k] = floordiv(sub(Sym(dim), low), entry.step)
            else:
                positions = self.positions(entry, dim, shift)
                along.append((axis, positions, self.place(term, shift[0])))
                axis += 1
        if any(isinstance(p, Expr) for p in parts):
            term = c.op(SpatialIndex(entries=tuple(parts)), term)
        for axis, positions, place in along:
            expanded = [k for k in range(term.type.ndim) if k != place]
            index = c.expand(positions, expanded)
            term = c.op(TakeAlong(axis=axis), term, index)
        return c.op(Squeeze(axes=tuple(a for a, _, _ in along)), term) if along else term

    def place(self, term: Term, dim: str) -> int:
        """The axis of the readers along a dimension of the sink."""
        edge = edge_of(term)
        dims = self.build.growing.nodes[edge.source].domain.dims
        ranging = [d for d, e in zip(dims, edge.entries, strict=True) if isinstance(e, Slice)]
        return ranging.index(dim)

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
