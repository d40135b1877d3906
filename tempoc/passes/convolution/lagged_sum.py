"""Sums of products at a lag, computed at all points together by one operator.

    %y = einsum{"ij,ij->j"} (flip %h[0:t+1]), %u[0:t+1] : [t*] f32[D]
    ->
    %y.all = long_convolution{spec="a,a->a", start=0, count=T} %h[0:T], %u[0:T] : [] f32[T, D]
    %y     = getitem{(t, (0, D, 1))} %y.all                                     : [t*] f32[D]

The sum takes as many steps at each point as its range is long. It may be written in any way in
which its terms are products of elements at two places, the difference or the sum of which is the
same for all terms of a point, and its range ends where one of the tensors does: over prefixes,
suffixes and windows, of derivatives as well.

Where a point of one of the tensors needs other points of the sum, as in recurrences, there is no
such operator. If terms are then elements of arrays, as in the derivative of a window, the sum is
the product of the ranges that its point reads, and the arrays are not made:

    %y = sum (squeeze (take_along (pad (mul %d[t], %w))[t+1:t+9], 7 - arange)) : [t] f32
    ->
    %y = matmul %d[t+1:t+9], %w                                                : [t] f32
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from string import ascii_lowercase

from tempoc.base.cost_model import MODEL
from tempoc.ops.definition.operator import Op, OperandError
from tempoc.ops.indexing.indexing import IndexPart, SpatialIndex
from tempoc.ops.linear.long_convolution import LongConvolution
from tempoc.ops.tensor.monoids import SUM
from tempoc.ops.tensor.movement import Flip, Transpose
from tempoc.passes.analysis.einsum_form import Spelling, contraction
from tempoc.passes.convolution.elements import Factors, TensorElement, within
from tempoc.passes.convolution.lags import Lag, lag_of
from tempoc.poly.relations.space import Space
from tempoc.sdg.builder import NodeBuilder, read_of
from tempoc.sdg.graph.graph import Edge, Graph, Node
from tempoc.symbolic import expr as ix
from tempoc.symbolic.domain import Domain
from tempoc.symbolic.walk import substitute, symbols


@dataclass(frozen=True, slots=True, kw_only=True)
class LaggedSum:
    """A node that sums products of elements at a lag; ``extents`` are those of letters.

    Elements of one of both kinds are at the same place. ``free`` are the letters of the result's
    axes. ``picks``: arrays are made of which each term takes one element.
    """

    node: Node
    elements: tuple[tuple[TensorElement, ...], tuple[TensorElement, ...]]
    lag: Lag
    free: tuple[ix.Expr, ...]
    extents: Mapping[str, ix.Expr]
    summed: ix.Sym
    picks: bool

    @property
    def dim(self) -> str:
        """The dimension along which the lag moves."""
        return self.lag.dim


def lagged_sums(graph: Graph, node: Node, space: Space) -> Iterator[LaggedSum]:
    """The letters of a sum of products, or axes of a sum, that are summed at a lag."""
    if not node.domain.dims or not node.types or not _sums(node.op):
        return
    type_ = node.types[0]
    if type_.weak or not type_.dtype.is_float or type_.dtype.is_half:
        return
    at = {d: ix.Sym(d) for d in node.domain.dims}
    factors = Factors(graph=graph, moving_of=lambda _: None)
    free = tuple(factors.letter(e) for e in type_.shape)
    terms = factors.terms(node, at, free)
    if terms is None:
        return
    operands, letters = terms
    for summed in letters:
        extent = factors.extents[summed.name]
        for dim in node.domain.dims:
            collected = _factors(graph, summed, dim, factors.extents)
            known = all(collected.add(x, at) for x in operands)
            places = tuple(dict.fromkeys(collected.moving))
            if not known or len(places) != 2 or not (collected.picks or _is_many(extent)):
                continue
            pairs = [*zip(collected.moving, collected.elements, strict=True)]
            first, second = (tuple(e for c, e in pairs if c == place) for place in places)
            lag = lag_of(
                (places[0], places[1]),
                [*within(summed, extent), *collected.conditions],
                summed, ix.Sym(dim), node.domain, space, collected.starts,
            )  # fmt: skip
            if lag is not None and (collected.picks or is_long(lag, space)):
                extents = {n: collected.written(e) for n, e in collected.extents.items()}
                yield LaggedSum(
                    node=node, elements=(first, second), lag=lag, free=free, extents=extents,
                    summed=summed, picks=collected.picks,
                )  # fmt: skip


def _sums(op: Op) -> bool:
    return op.contraction or op.monoid is SUM


def _factors(graph: Graph, summed: ix.Sym, dim: str, extents: Mapping[str, ix.Expr]) -> Factors:
    """What collects factors down to those of which one coordinate moves with the term.

    All others are points of the reader's own, or letters that run over an axis.
    """

    def moving(element: TensorElement) -> ix.Expr | None:
        coordinates = (*element.point, *element.place)
        moves = [c for c in coordinates if summed.name in symbols(c)]
        others = [c for c in coordinates if summed.name not in symbols(c)]
        if len(moves) != 1 or any(dim in symbols(factors.written(c)) for c in others):
            return None
        source = graph.nodes[element.node]
        named = {n for e in source.types[element.out].shape for n in symbols(e)}
        points = zip(source.domain.dims, element.point, strict=True)
        varies = any(d in named and c != ix.Sym(d) for d, c in points)
        return None if varies else moves[0]

    factors = Factors(graph=graph, moving_of=moving, extents={**extents})
    return factors


def _is_many(count: ix.Expr) -> bool:
    """Whether a number of terms may be that of a band, or more."""
    return not isinstance(count, ix.Const) or count.value >= MODEL.band_places


def is_long(lag: Lag, space: Space) -> bool:
    """Whether both operands may have many places, as many as the run's bounds say."""
    ranges = (lag.first, lag.second)
    if any(lag.dim in b.outer for b in space.universe.ended):
        return False
    ended = {*space.universe.lengths} | {b.name for b in space.universe.ended}
    if ended & {space.universe.dim(lag.dim).bound, *(n for s in ranges for n in symbols(s))}:
        return False
    return all(_is_many(ix.sub(s.hi, s.lo)) for s in ranges)


def as_convolution(graph: Graph, target: LaggedSum, space: Space) -> tuple[Node, ...] | None:
    """Nodes that compute all points of the sum together; the last has its name."""
    node, lag = target.node, target.lag
    if not is_long(lag, space):
        return None
    builder = NodeBuilder(graph=graph, space=space, node=node)
    others = tuple(d for d in node.domain.dims if d != lag.dim)
    domain = space.project(node.domain, others)
    try:
        reads = _OperandReads(builder=builder, target=target, domain=domain)
        parts = zip(target.elements, (lag.first, lag.second), ("first", "second"), strict=True)
        operands = [reads.product(elements, part, name) for elements, part, name in parts]
        if operands[0] is None or operands[1] is None:
            return None
        return _convolved(builder, target, (operands[0], operands[1]), domain)
    except OperandError:
        return None


def as_product(graph: Graph, target: LaggedSum, space: Space) -> tuple[Node, ...] | None:
    """Nodes that compute each point's sum as a product of ranges; the last has its name."""
    node, lag = target.node, target.lag
    builder = NodeBuilder(graph=graph, space=space, node=node)
    reads = _OperandReads(builder=builder, target=target, domain=node.domain)
    try:
        first, second = (
            reads.product(elements, part, name)
            for elements, part, name in zip(
                target.elements, _own_ranges(lag, node.domain, space), ("first", "second"),
                strict=True,
            )
        )  # fmt: skip
        free = tuple(n for c in target.free for n in symbols(c))
        if first is None or second is None or {*first.letters, *second.letters} != {*free}:
            return None
        edge = second.edge
        if lag.turn < 0:
            edge = read_of(builder.put("second.flip", Flip(axes=(0,)), (edge,)))
        names = dict(zip(free, ascii_lowercase, strict=False))
        terms = tuple("z" + "".join(names[n] for n in x.letters) for x in (first, second))
        result = "".join(names[n] for n in free)
        op, edges = contraction(Spelling(terms, result), (first.edge, edge))
        return builder.finish(builder.put("product", op, edges))
    except OperandError:
        return None


def _own_ranges(lag: Lag, domain: Domain, space: Space) -> tuple[ix.Slice, ix.Slice]:
    """What both coordinates run over at a point."""
    shift = ix.add(lag.offset, ix.mul(ix.Const(lag.stride), ix.Sym(lag.dim)))
    ends = lag.second.lo, ix.sub(lag.second.hi, ix.ONE)
    # The first is turn * (second - shift).
    least, most = (ix.mul(ix.Const(lag.turn), ix.sub(e, shift)) for e in ends[:: lag.turn])
    lo = space.reduce(ix.maximum(lag.first.lo, least), domain)
    hi = space.reduce(ix.minimum(lag.first.hi, ix.add(most, ix.ONE)), domain)
    first = lo, ix.sub(hi, ix.ONE)
    start, last = (ix.add(ix.mul(ix.Const(lag.turn), e), shift) for e in first[:: lag.turn])
    return ix.Slice(lo, hi), ix.Slice(start, ix.add(last, ix.ONE))


@dataclass(frozen=True, slots=True)
class _LaggedOperand:
    """An operand with the axis of the lag first, and the letters of its other axes."""

    edge: Edge
    letters: tuple[str, ...]


def _convolved(
    builder: NodeBuilder,
    target: LaggedSum,
    operands: tuple[_LaggedOperand, _LaggedOperand],
    domain: Domain,
) -> tuple[Node, ...] | None:
    node, lag, space = target.node, target.lag, builder.space
    free = [n for c in target.free for n in symbols(c)]
    first, second = ({*x.letters} for x in operands)
    alone = {n for n in first ^ second if n not in free}
    mixed = (first & second) - {*free}
    if alone or {*free} - first - second or (mixed and first - second and second - first):
        return None  # A product of matrices at each frequency gains nothing.
    names = dict(zip(dict.fromkeys([*free, *first, *second]), ascii_lowercase, strict=False))
    terms = ["".join(names[n] for n in x) for x in (operands[0].letters, operands[1].letters, free)]
    a, b = (x.edge for x in operands)
    begin = ix.add(lag.offset, ix.mul(ix.Const(-1), lag.second.lo))
    if lag.turn > 0:
        begin = ix.add(begin, ix.sub(lag.first.hi, ix.ONE))
    else:
        begin = ix.sub(begin, lag.first.lo)
    turned = ix.mul(ix.Const(1 if lag.stride > 0 else -1), ix.Sym(lag.dim))
    place, last = (f(turned, node.domain) for f in (space.lower_bound, space.upper_bound))
    start = ix.add(begin, ix.mul(ix.Const(abs(lag.stride)), place))
    if _varies(space, (start, last)):
        return None
    count = ix.maximum(ix.ZERO, ix.add(ix.sub(last, place), ix.ONE))
    spec = f"{terms[0]},{terms[1]}->{terms[2]}"
    op = LongConvolution(
        spec=spec, start=start, count=count, step=abs(lag.stride), flipped=lag.turn > 0
    )
    result = builder.put("all", op, (a, b), domain)
    entries: list[IndexPart] = [(ix.ZERO, e, 1) for e in result.types[0].shape]
    entries[0] = ix.sub(turned, place)
    return builder.finish(builder.put("at", SpatialIndex(entries=tuple(entries)), (result,)))


@dataclass(frozen=True, slots=True, kw_only=True)
class _OperandReads:
    """Reads of all elements that a factor of the sum takes."""

    builder: NodeBuilder
    target: LaggedSum
    domain: Domain

    def product(
        self, elements: tuple[TensorElement, ...], part: ix.Slice, name: str
    ) -> _LaggedOperand | None:
        """The products of elements at the same place, of which letters that are shared stay."""
        reads = [self.read(e, part, name) for e in elements]
        known = [r for r in reads if r is not None]
        if len(known) < len(reads):
            return None
        if len(known) == 1:
            return known[0]
        own = tuple(dict.fromkeys(n for r in known for n in r.letters))
        names = dict(zip(own, ascii_lowercase, strict=False))
        terms = ["z" + "".join(names[n] for n in x) for x in (*(r.letters for r in known), own)]
        op, edges = contraction(Spelling(tuple(terms[:-1]), terms[-1]), [r.edge for r in known])
        return _LaggedOperand(read_of(self.builder.put(name, op, edges, self.domain)), own)

    def read(self, element: TensorElement, part: ix.Slice, name: str) -> _LaggedOperand | None:
        """The read of the part of an element's moving coordinate."""
        builder = self.builder
        points, axes = self._entries(element.point, part)
        places, letters = self._entries(element.place, part)
        if None in points or None in places:
            return None
        entries = tuple(e for e in points if e is not None)
        edge = Edge(source=element.node, out=element.out, entries=entries)
        domain = builder.graph.nodes[element.node].domain
        if builder.space.outside(self.domain, entries, domain) is not None:
            return None
        parts: list[IndexPart] = [(ix.ZERO, n, 1) for n in builder.type_of(edge).shape[: len(axes)]]
        for e in places:
            if isinstance(e, ix.Slice):
                parts.append((e.lo, ix.sub(e.hi, e.lo), 1))
            elif e is not None:
                parts.append(e)
        return self._laid_out(edge, parts, [*axes, *letters], name)

    def _laid_out(
        self, edge: Edge, parts: list[IndexPart], axes: list[str], name: str
    ) -> _LaggedOperand | None:
        """The operand with the axis of the lag first."""
        builder = self.builder
        type_ = builder.type_of(edge)
        if self.domain != builder.node.domain and _varies(builder.space, type_.shape):
            return None
        if parts != [(ix.ZERO, e, 1) for e in type_.shape]:
            index = SpatialIndex(entries=tuple(parts))
            node = builder.put(name, index, (edge,), self.domain)
            for condition in index.within((type_,)):
                if not builder.space.implies(self.domain, condition):
                    return None
            edge = read_of(node)
        place = axes.index(self.target.summed.name)
        order = (place, *(a for a in range(len(axes)) if a != place))
        if place:
            edge = read_of(
                builder.put(f"{name}.first", Transpose(axes=order), (edge,), self.domain)
            )
        return _LaggedOperand(edge, tuple(axes[a] for a in order[1:]))

    def _entries(
        self, coordinates: tuple[ix.Expr, ...], part: ix.Slice
    ) -> tuple[list[ix.Entry | None], list[str]]:
        """What is read along coordinates, ``None`` where that is not known; letters of slices.

        The part of the one that moves, all that another letter takes, or a point.
        """
        summed, entries, axes = self.target.summed.name, list[ix.Entry | None](), list[str]()
        for c in coordinates:
            names = [n for n in symbols(c) if n.startswith("%")]
            if summed in names:
                entries.append(part)
                axes.append(summed)
            elif not names:
                entries.append(c)
            else:
                start = substitute(c, {names[0]: ix.ZERO})
                plain = c == ix.add(start, ix.Sym(names[0]))
                stop = ix.add(start, self.target.extents[names[0]])
                entries.append(ix.Slice(start, stop) if plain else None)
                axes.append(names[0])
        return entries, axes


def _varies(space: Space, expressions: Iterable[ix.Expr]) -> bool:
    """Whether some of them name a dimension."""
    return any(space.universe.is_dim(n) for e in expressions for n in symbols(e))
