"""Elements of arrays that other points make: only what is read of them is computed.

    %p = pad{widths=((0, N-t),)} (mul %c, %x[0:t])  : [t] f32[N]
    %e = getitem{entries=((0, N-s-1, 1), s)} %p[s+1:N] : [s] f32[N-s-1]
    ->
    %e = mul %c[s+1:N], %x[s]                       : [s] f32[N-s-1]

The derivative of a read of many points, ``x[0:t]`` or ``x[t = j in 0:t]``, is an array at each
point, and what an element of ``x`` gets is the sum of its place in all of these: quadratic storage
for a number each. An element of a product is a product of elements, that of a padded array is one
of the array, and that of a sum of what positions send, ``scatter_add``, is what is sent if the
position is its own. Where nobody else reads the arrays, they are not made. An array of which
points read elements in its own step takes no such storage, and stays. So do exponentials and what
else costs more than a read, where something else reads them: their elements are taken. If they are
as many as those of the array, nothing is saved, and rows would be read as columns.

An element of a contraction of which nothing else is read is one of the operand that has its axis:
so the derivative of a named range, or of a function of one that keeps its places apart, is a
contraction over the readers.

The place of the element may differ among the arrays that are read, as it does where ranges begin
after their point, ``x[t+1:N]``: positions that are an arithmetic progression, ``take_along``.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from string import ascii_letters
from typing import ClassVar, NamedTuple

from tempoc.ops.control.control import Copy, Select
from tempoc.ops.definition.operator import Op, OperandError
from tempoc.ops.definition.shapes import axis_of
from tempoc.ops.indexing.indexing import SpatialIndex, TakeAlong
from tempoc.ops.indexing.pick import Pick
from tempoc.ops.indexing.scatter import ScatterAdd
from tempoc.ops.tensor.arithmetic import Equal, Subtract
from tempoc.ops.tensor.contraction import Einsum, MatMul
from tempoc.ops.tensor.movement import BroadcastTo, ExpandDims, Pad, Squeeze, Transpose
from tempoc.ops.tensor.reshape import Reshape, groups
from tempoc.ops.tensor.source import Arange, IndexValue, Literal
from tempoc.passes.analysis.einsum_form import Spelling, contraction, spelling
from tempoc.passes.context import GraphPass, PassContext
from tempoc.poly.relations.space import Space
from tempoc.sdg.builder import NodeBuilder, read_of
from tempoc.sdg.graph.graph import Edge, Graph, Node
from tempoc.sdg.graph.query import all_reads, expressions, operand_type, type_of_read, users
from tempoc.sdg.graph.rewrite import compose_axes, drop_dead, edge_at, read_axes, replace_nodes
from tempoc.sdg.statements.branches import enclosing_conds
from tempoc.sdg.statements.build import is_identity
from tempoc.symbolic import expr as ix
from tempoc.symbolic.domain import slice_count
from tempoc.symbolic.walk import extent, is_affine, substitute, symbols

READER = "@reader"
"""Ends what stands for a dimension of the reader in the place of an element, whose other symbols
are dimensions of the array."""


class ElementReads(GraphPass):
    """Computes elements of arrays where they are read."""

    __slots__ = ()
    name: ClassVar[str] = "elements"

    def run(self, graph: Graph, context: PassContext) -> Graph:
        """The graph without arrays of which only elements at the readers' places are read."""
        if graph.universe.lengths:
            return graph
        space, fixed = context.space.symbolic, {*enclosing_conds(graph)}
        kinds = SpatialIndex, TakeAlong
        candidates = [n.name for n in graph.nodes.values() if isinstance(n.op, kinds)]
        sources = [graph.nodes[n].inputs[0].source for n in candidates]
        uses, counts = users(graph), _counts(graph)
        for source in dict.fromkeys(sources):
            readers = [graph.nodes[u.reader] for u in uses.get(source, ())]
            if source in fixed or any(o.source == source for o in graph.outputs):
                continue
            if any(r.name in fixed or _element(graph, r, space) is None for r in readers):
                continue
            parts = {r.name: _computed(graph, r, space, counts) for r in readers}
            new = {name: part for name, part in parts.items() if part is not None}
            if readers and len(new) == len(parts):
                graph = replace_nodes(graph, new)
                uses, counts = users(graph), _counts(graph)
                message = f"`{source}` is not made: of each only an element is read"
                context.remarks.add(self.name, message, readers[0].span)
        return drop_dead(graph)


def _counts(graph: Graph) -> Counter[str]:
    """How often each node is read."""
    return Counter(edge.source for edge in all_reads(graph))


class _ElementRead(NamedTuple):
    """Which element a node takes: at ``place`` of spatial axis ``axis``, all of the others.

    ``keeps_axis``: the node keeps the axis, with this one element.
    """

    axis: int
    place: ix.Expr
    keeps_axis: bool = False


def _element(graph: Graph, node: Node, space: Space) -> _ElementRead | None:
    """The element that varies with the point that a node takes; ``None`` for other nodes."""
    if isinstance(node.op, TakeAlong):
        return _progression(graph, node, node.op)
    if not isinstance(node.op, SpatialIndex) or node.op.gathers:
        return None
    (edge,) = node.inputs
    slices = slice_count(edge.entries)
    points = [(k, e) for k, e in enumerate(node.op.entries) if isinstance(e, ix.Expr)]
    if len(points) != 1 or points[0][0] < slices or slices != 1 or edge.guard != ix.TRUE:
        return None
    shape = operand_type(graph, edge).shape
    entries = [*node.op.entries, *((ix.ZERO, n, 1) for n in shape[len(node.op.entries) :])]
    for entry, extent_ in zip(entries, shape, strict=True):
        if isinstance(entry, tuple) and not (
            entry[0] == ix.ZERO and entry[2] == 1 and space.equal(entry[1], extent_, node.domain)
        ):
            return None
    ((axis, place),) = points
    moves = any(graph.universe.is_dim(s) for s in symbols(place))
    return _ElementRead(axis - slices, substitute(place, _as_reader(node))) if moves else None


def _as_reader(node: Node) -> dict[str, ix.Expr]:
    """What stands for the dimensions of a node that reads an element in its place."""
    return {d: ix.Sym(d + READER) for d in node.domain.dims}


def _progression(graph: Graph, node: Node, op: TakeAlong) -> _ElementRead | None:
    """The element at places that are an arithmetic progression, one for each array of a slice."""
    read, positions = node.inputs
    slices = [e for e in read.entries if isinstance(e, ix.Slice)]
    if not op.sure or read.guard != ix.TRUE or len(slices) != 1 or slices[0].step != 1:
        return None
    index = graph.nodes[positions.source]
    while isinstance(index.op, ExpandDims) and is_identity(positions, graph):
        (positions,) = index.inputs
        index = graph.nodes[positions.source]
    if not isinstance(index.op, Arange) or not is_identity(positions, graph):
        return None
    type_ = operand_type(graph, node.inputs[1])
    lead = [k for k, n in enumerate(type_.shape) if n != ix.ONE]
    axis = op.axis % type_.ndim
    if lead != [0] or axis == 0:
        return None
    own = _as_reader(node)
    source = graph.nodes[read.source]
    (array,) = (d for d, e in zip(source.domain.dims, read.entries, strict=True) if e == slices[0])
    nth = ix.sub(ix.Sym(array), substitute(slices[0].lo, own))
    step = ix.mul(ix.Const(index.op.step), nth)
    return _ElementRead(axis - 1, ix.add(substitute(index.op.start, own), step), keeps_axis=True)


def _computed(
    graph: Graph, node: Node, space: Space, counts: Mapping[str, int]
) -> tuple[Node, ...] | None:
    """The nodes that compute an element where it is read; ``None`` if that is not possible.

    ``counts`` has how often each node is read.
    """
    element = _element(graph, node, space)
    assert element is not None
    builder = NodeBuilder(graph=graph, space=space, node=node)
    edge = node.inputs[0]
    source = graph.nodes[edge.source]
    made = _Elements(graph=graph, space=space, builder=builder, counts=counts)
    at = source.domain.at(edge.entries)
    try:
        value = made.of(source, at, element.axis, element.place)
    except OperandError:
        return None
    if value is None or not made.arrays or not value.lead or (made.takes and not made.saves):
        return None
    read = value.read
    if isinstance(read, Edge):  # of an array that is a range, padded
        read = builder.put("element", Copy(), (read,))
    if element.keeps_axis:
        spread = builder.put("axis", ExpandDims(axis=1 + element.axis), (read,))
        return builder.finish(spread) if spread.types == node.types else None
    return builder.finish(_of_type(builder, read, node))


def _of_type(builder: NodeBuilder, value: Node, node: Node) -> Node:
    """The value with extents as the node has them, which are equal but written otherwise."""
    return builder.add(replace(value, types=node.types))


class _ReadElement(NamedTuple):
    """A read or node; ``lead``: its first axis is the slice; ``rank``: the number of others."""

    read: Edge | Node
    lead: bool
    rank: int


def _edge(read: Edge | Node) -> Edge:
    return read_of(read) if isinstance(read, Node) else read


@dataclass(kw_only=True)
class _Elements:
    """Puts nodes that compute elements; ``arrays``: how many need not be made for that.

    Places of elements are expressions over the array's dimensions, and the reader's (``READER``).
    ``stays``: an array on the way has other consumers, so contractions that it needs are made.
    ``takes``: elements of arrays that are made are taken; ``saves``: other arrays are smaller than
    those that are not made.
    """

    graph: Graph
    space: Space
    builder: NodeBuilder
    counts: Mapping[str, int]
    arrays: int = 0
    stays: bool = False
    takes: bool = False
    saves: bool = False
    padded: ix.Expr | None = None

    @property
    def _reader(self) -> dict[str, ix.Expr]:
        """The dimensions of the reader for what stands for them in places."""
        return {d + READER: ix.Sym(d) for d in self.builder.node.domain.dims}

    def of(
        self, node: Node, at: Mapping[str, ix.Entry], axis: int, place: ix.Expr
    ) -> _ReadElement | None:
        """The element of a node's result, read at some points."""
        before = self.stays
        self.stays = before or self.counts[node.name] != 1
        element = self._of(node, at, axis, place)
        self.stays = before
        return element

    def _of(
        self, node: Node, at: Mapping[str, ix.Entry], axis: int, place: ix.Expr
    ) -> _ReadElement | None:
        op, rank = node.op, node.types[0].ndim if len(node.types) == 1 else -1
        if rank < 1 or not op.computed or not op.pure:
            return None
        if isinstance(op, Pad):
            return self._of_padded(node, op, at, axis, place)
        if isinstance(op, ScatterAdd):
            return self._of_sent(node, op, at, axis, place)
        if isinstance(op, Transpose | Reshape):
            return self._of_moved(node, op, at, axis, place)
        if isinstance(op, MatMul | Einsum):
            return self._of_contraction(node, at, axis, place)
        if isinstance(op, BroadcastTo):
            return self._of_repeated(node, at, axis, place)
        if not op.elementwise or op.heavy or any(True for _ in expressions(op)):
            return None
        if self.stays and not op.cheap and not self._varies(node):
            return None  # it is stored
        values: list[_ReadElement] = []
        for edge in node.inputs:
            type_ = operand_type(self.graph, edge)
            own = axis - (rank - type_.ndim)
            if own < 0:
                value = self._whole(node, edge, at)
            else:
                alone = type_.shape[own] == ix.ONE != node.types[0].shape[axis]
                value = self._operand(node, edge, at, own, ix.ZERO if alone else place)
            if value is None:
                return None
            values.append(value)
        self.arrays += 1
        return self._put("element", op, values)

    def _varies(self, node: Node) -> bool:
        """Whether extents of a node's result differ among its points."""
        return any(self.graph.universe.is_dim(s) for n in node.types[0].shape for s in symbols(n))

    def _made(self, part: str, op: Op, reads: Sequence[Edge | Node] = ()) -> Node:
        """A node whose extents are written as simply as its points allow."""
        node = self.builder.put(part, op, reads)
        (type_,) = node.types
        shape = tuple(self.space.reduce(e, node.domain) for e in type_.shape)
        return self.builder.add(replace(node, types=(replace(type_, shape=shape),)))

    def _put(self, part: str, op: Op, values: Sequence[_ReadElement]) -> _ReadElement:
        """An elementwise node of values whose ranks are made alike."""
        lead, rank = any(v.lead for v in values), max(v.rank for v in values)
        reads = [self._with_rank(v, rank) for v in values]
        node = self._made(part, op, reads)
        return _ReadElement(node, lead, rank)

    def _with_rank(self, value: _ReadElement, rank: int) -> Edge | Node:
        read = value.read
        for _ in range(rank - value.rank if value.lead else 0):
            read = self._made("expand_dims", ExpandDims(axis=1), (read,))
        return read

    def _of_moved(
        self,
        node: Node,
        op: Transpose | Reshape,
        at: Mapping[str, ix.Entry],
        axis: int,
        place: ix.Expr,
    ) -> _ReadElement | None:
        """An element of an operand whose axes are in another order, or split and joined."""
        (edge,) = node.inputs
        before, after = operand_type(self.graph, edge).shape, node.types[0].shape
        if isinstance(op, Transpose):
            own = op.order(len(before))[axis]
        else:
            pairs = groups(before, after)
            alone = [h[0] for h, w in pairs if len(h) == 1 and [*w] == [axis]]
            if not alone:
                return None
            own = alone[0]
        value = self._operand(node, edge, at, own, place)
        if value is None:
            return None
        self.arrays += 1
        shape = self.builder.type_of(_edge(value.read)).shape
        moved: Op
        if isinstance(op, Transpose):
            order = [k - (k > own) + value.lead for k in op.order(len(before)) if k != own]
            if order == sorted(order):
                return value
            moved = Transpose(axes=(*range(value.lead), *order))
        else:
            rest = (*after[:axis], *after[axis + 1 :])
            if any(n in node.domain.dims for e in rest for n in symbols(e)):
                return None
            moved = Reshape(shape=(*shape[: value.lead], *rest))
        return _ReadElement(self._made("moved", moved, (value.read,)), value.lead, len(after) - 1)

    def _of_repeated(
        self, node: Node, at: Mapping[str, ix.Entry], axis: int, place: ix.Expr
    ) -> _ReadElement | None:
        """An element of what repeats an operand: along its axis, or along others alone."""
        ((edge,), after) = node.inputs, node.types[0].shape
        before = operand_type(self.graph, edge).shape
        own, rest = axis - (len(after) - len(before)), (*after[:axis], *after[axis + 1 :])
        if any(n in node.domain.dims for e in rest for n in symbols(e)):
            return None
        alone = own < 0 or before[own] == ix.ONE != after[axis]
        inner = self.graph.nodes[edge.source]
        added = axis_of(inner.op.axis, len(before)) if isinstance(inner.op, ExpandDims) else None
        if alone and added == own and is_identity(edge, self.graph):
            (edge,), own = inner.inputs, -1
        value = self._whole(node, edge, at) if alone else self._operand(node, edge, at, own, place)
        if value is None:
            return None
        if alone and own >= 0:
            squeezed = self._made("one", Squeeze(axes=(own + value.lead,)), (value.read,))
            value = _ReadElement(squeezed, value.lead, value.rank - 1)
        self.arrays += 1
        read = self._with_rank(value, len(rest))
        own_domain = self.builder.node.domain
        lead = self.builder.type_of(_edge(read)).shape[: value.lead]
        lead = tuple(self.space.reduce(e, own_domain) for e in lead)
        repeated = self._made("repeated", BroadcastTo(shape=(*lead, *rest)), (read,))
        return _ReadElement(repeated, value.lead, len(rest))

    def _of_contraction(
        self, node: Node, at: Mapping[str, ix.Entry], axis: int, place: ix.Expr
    ) -> _ReadElement | None:
        """The contraction of elements of the operands that have the axis."""
        if self.stays:
            return None
        ranks = [operand_type(self.graph, e).ndim for e in node.inputs]
        letters = spelling(node.op, ranks)
        letter = letters.result[axis]
        lead = next(x for x in ascii_letters if x not in "".join((*letters.terms, letters.result)))
        reads: list[Edge] = []
        terms: list[str] = []
        for edge, term in zip(node.inputs, letters.terms, strict=True):
            if letter not in term:
                value = self._whole(node, edge, at)
            elif term.count(letter) > 1:
                return None
            else:
                value = self._factor(node, edge, at, term.index(letter), place)
            if value is None:
                return None
            reads.append(_edge(value.read))
            terms.append(lead * value.lead + term.replace(letter, ""))
        self.arrays += 1
        self.saves = True
        leads = any(lead in term for term in terms)
        result = lead * leads + letters.result.replace(letter, "")
        op, edges = contraction(Spelling(tuple(terms), result), tuple(reads))
        return _ReadElement(self._made("product", op, edges), leads, len(letters.result) - 1)

    def _factor(
        self, node: Node, edge: Edge, at: Mapping[str, ix.Entry], axis: int, place: ix.Expr
    ) -> _ReadElement | None:
        """The element of a factor, which is stored: as long at all points, if need be."""
        slices = slice_count(edge.entries)
        extent_ = operand_type(self.graph, edge).shape[axis]
        varies = any(self.graph.universe.is_dim(n) for n in symbols(extent_))
        if axis < slices or not varies:
            return self._operand(node, edge, at, axis, place)
        if self.padded is None or edge.guard != ix.TRUE:
            return None
        rank = operand_type(self.graph, edge).ndim
        width = ix.sub(self.padded, extent_)
        widths = tuple((ix.ZERO, width if k == axis else ix.ZERO) for k in range(rank))
        long = self.builder.put("long", Pad(widths=widths), (edge,), node.domain)
        return self._operand(node, read_of(long), at, axis, place)

    # ------------------------------------------------------------ operands

    def _whole(self, node: Node, edge: Edge, at: Mapping[str, ix.Entry]) -> _ReadElement | None:
        """An operand as it is."""
        if edge.guard != ix.TRUE:
            return None
        source = self.builder.nodes.get(edge.source) or self.graph.nodes[edge.source]
        composed = read_axes(node, at, edge, source, self.graph.universe)
        if composed is None:
            return None
        read, axes = composed
        if any(axes[1:]):
            return None
        lead = bool(axes) and bool(axes[0])
        type_ = type_of_read(source, read)
        return _ReadElement(replace(read, span=edge.span), lead, type_.ndim - lead)

    def _operand(
        self, node: Node, edge: Edge, at: Mapping[str, ix.Entry], axis: int, place: ix.Expr
    ) -> _ReadElement | None:
        """The element of an operand."""
        source = self.builder.nodes.get(edge.source) or self.graph.nodes[edge.source]
        slices = [k for k, e in enumerate(edge.entries) if isinstance(e, ix.Slice)]
        if axis < len(slices):
            entry = edge.entries[slices[axis]]
            assert isinstance(entry, ix.Slice)
            point = ix.add(entry.lo, ix.mul(ix.Const(entry.step), place))
            entries = tuple(point if k == slices[axis] else e for k, e in enumerate(edge.entries))
            value = self._whole(node, replace(edge, entries=entries), at)
            if value is None or not isinstance(value.read, Edge):
                return None
            return value._replace(read=edge_at(value.read, self._reader))
        inner = axis - len(slices)
        moving = [d for d in node.domain.dims if d in symbols(place)]
        own_point = source.domain.at(edge.entries)
        if any(own_point.get(d) != ix.Sym(d) for d in moving):
            return None
        if not slices and edge.guard == ix.TRUE and source.name in self.graph.nodes:
            composed = self._composed(node, edge, at)
            if composed is not None and not any(composed[1][1:]):
                own = source.domain.at(composed[0])
                before = dict(self.builder.nodes)
                value = self.of(source, own, inner, place)
                if value is not None:
                    return value
                self.builder.nodes = before
        whole = self._whole(node, edge, at)
        if whole is None or moving:
            return None
        place = substitute(place, self._reader)
        shape = self.builder.type_of(whole.read).shape if isinstance(whole.read, Edge) else ()
        taken = axis + whole.lead
        entries_of = [place if k == taken else (ix.ZERO, n, 1) for k, n in enumerate(shape)]
        self.takes |= whole.lead
        element = self._made("getitem", SpatialIndex(entries=tuple(entries_of)), (whole.read,))
        return _ReadElement(element, whole.lead, whole.rank - 1)

    def _composed(
        self, node: Node, edge: Edge, at: Mapping[str, ix.Entry]
    ) -> tuple[tuple[ix.Entry, ...], tuple[str, ...]] | None:
        """Which points of an operand are read; and the sliced dimension of each slice, or none.

        Sliced dimensions with which the operand does not vary are left out.
        """
        named = {n for e in edge.entries for n in symbols(e)}
        dims = node.domain.dims
        dims = tuple(d for d in dims if d in named or not isinstance(at[d], ix.Slice))
        outer = tuple(at[d] for d in dims)
        return compose_axes(outer, dims, edge.entries, self.graph.universe)

    # ------------------------------------------------------------ arrays

    def _of_padded(
        self, node: Node, op: Pad, at: Mapping[str, ix.Entry], axis: int, place: ix.Expr
    ) -> _ReadElement | None:
        """An element that is none of the padding at any of the points that are read."""
        others = (w for k, pair in enumerate(op.widths) for w in pair if k != axis)
        (edge,) = node.inputs
        before, length = op.widths[axis][0], operand_type(self.graph, edge).shape[axis]
        if any(w != ix.ZERO for w in others) or before != ix.ZERO:
            return None
        if not is_affine(length) or not self._always_below(place, length, at):
            return None
        self.arrays += 1
        self.saves = True
        total = ix.add(length, op.widths[axis][1])
        if not any(self.graph.universe.is_dim(n) for n in symbols(total)):
            self.padded = total
        return self._operand(node, edge, at, axis, place)

    def _always_below(self, place: ix.Expr, length: ix.Expr, at: Mapping[str, ix.Entry]) -> bool:
        """Whether a place is below an extent, an affine expression, at all points that are read."""
        ends: list[dict[str, ix.Expr]] = [{}]
        for dim, entry in at.items():
            values = [entry] if isinstance(entry, ix.Expr) else []
            if isinstance(entry, ix.Slice):
                last = ix.add(entry.lo, ix.mul(ix.Const(entry.step), ix.sub(extent(entry), ix.ONE)))
                values = [entry.lo, last]
            ends = [{**end, dim: value} for end in ends for value in values]
        domain = self.builder.node.domain
        slices = (e for e in at.values() if isinstance(e, ix.Slice))
        some = ix.conjunction(*(ix.compare(">", extent(e), ix.ZERO) for e in slices))
        given = self.space.restrict(domain, some)
        places = [substitute(substitute(place, end), self._reader) for end in ends]
        return is_affine(place) and all(
            self.space.implies(given, ix.compare("<", at_end, substitute(length, end)))
            for at_end, end in zip(places, ends, strict=True)
        )

    def _of_sent(
        self, node: Node, op: ScatterAdd, at: Mapping[str, ix.Entry], axis: int, place: ix.Expr
    ) -> _ReadElement | None:
        """What is sent if its position is the place, else zero."""
        values, positions = node.inputs
        reads = {n for e in at.values() for n in symbols(e)}
        own = {n.removesuffix(READER) for n in symbols(place)}
        if not own & reads:
            return None  # one sum serves all places
        scalar = operand_type(self.graph, positions).ndim == 0
        if op.axis % node.types[0].ndim != axis or not scalar or not self._is_promised(node, op):
            return None
        if any(d in symbols(place) for d in node.domain.dims):
            return None
        sent, position = self._whole(node, values, at), self._whole(node, positions, at)
        if sent is None or position is None:
            return None
        self.arrays += 1
        self.saves = True
        index = self._made("index", IndexValue(expr=substitute(place, self._reader)))
        same = self._put("own", Equal(), [position, _ReadElement(index, False, 0)])
        zero = self._made("zero", Literal(value=0, dtype=node.types[0].dtype))
        return self._put("sent", Select(), [same, sent, _ReadElement(zero, False, 0)])

    def _is_promised(self, node: Node, op: ScatterAdd) -> bool:
        """Whether the positions are those of an element that the program takes: they are checked.

        Others count from the end where they are negative, and stop the run where they are outside.
        """
        if op.sure:
            return True
        read: Edge = node.inputs[1]
        low: ix.Expr = ix.ZERO
        index = self.graph.nodes[read.source]
        if isinstance(index.op, Subtract) and is_identity(read, self.graph):
            offset = self.graph.nodes[index.inputs[1].source].op
            if isinstance(offset, IndexValue) and is_identity(index.inputs[1], self.graph):
                read, low = index.inputs[0], offset.expr
            elif isinstance(offset, Literal) and isinstance(offset.value, int):
                read, low = index.inputs[0], ix.Const(offset.value)
            else:
                return False
        for pick in self.graph.nodes.values():
            if (
                isinstance(pick.op, Pick)
                and pick.op.step == 1
                and pick.domain.dims == node.domain.dims
                and self.space.contains(pick.domain, node.domain)
            ):
                same = (pick.inputs[1].source, pick.inputs[1].entries) == (
                    read.source,
                    read.entries,
                )
                if same and pick.op.lo == low and ix.sub(pick.op.hi, low) == op.n:
                    return True
        return False
