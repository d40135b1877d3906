"""Elements of tensors as products of elements of other tensors, however these are laid out.

    %f = flip{axes=(0,)} %h[0:t+1] : [t] f32[t+1]     %f[t][j] = %h[t-j]
    %m = mul %f, %u[0:t+1]         : [t] f32[t+1]     %m[t][j] = %h[t-j] * %u[j]

What moves elements (slices, flips, padding, reads of other points) changes coordinates; products
and sums of products have factors. So one form is found for all ways of writing a sum of products.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace

from tempoc.base.effort import EFFORT
from tempoc.ops.control.control import Copy
from tempoc.ops.definition.operator import Op
from tempoc.ops.definition.shapes import axes_of, axis_of
from tempoc.ops.indexing.indexing import IndexPart, SpatialIndex, TakeAlong
from tempoc.ops.tensor import arithmetic as binary
from tempoc.ops.tensor.contraction import Einsum, MatMul
from tempoc.ops.tensor.movement import BroadcastTo, ExpandDims, Flip, Pad, Squeeze, Transpose
from tempoc.ops.tensor.reduction import Sum
from tempoc.ops.tensor.source import Arange, IndexValue, Literal
from tempoc.passes.analysis.einsum_form import spelling
from tempoc.sdg.graph.graph import Edge, Graph, Node
from tempoc.sdg.graph.query import operand_type, substitute_in_op
from tempoc.symbolic import expr as ix
from tempoc.symbolic.walk import substitute, symbols

ElementPlace = tuple[ix.Expr, ...]
OperandElement = tuple[Edge, ElementPlace]


@dataclass(frozen=True, slots=True)
class TensorElement:
    """An element of an output: the point of its node, and its place in the tensor."""

    node: str
    out: int
    point: ElementPlace
    place: ElementPlace


@dataclass(slots=True, kw_only=True)
class Factors:
    """The factors of elements: elements of which ``moving_of`` has a coordinate, in ``moving``.

    ``conditions`` are expressions that are at least 0 where the product is not zero by definition.
    ``picks``: some factors are elements that are taken from an array for each term.
    ``extents`` has those of the letters, which are coordinates that are summed or free. ``starts``
    has what symbols stand for, each the start of a range: sums with others are not written out.
    """

    graph: Graph
    moving_of: Callable[[TensorElement], ix.Expr | None]
    extents: dict[str, ix.Expr] = field(default_factory=dict)
    conditions: list[ix.Expr] = field(default_factory=list)
    elements: list[TensorElement] = field(default_factory=list)
    moving: list[ix.Expr] = field(default_factory=list)
    steps: int = EFFORT.factor_steps
    picks: bool = False
    starts: dict[str, ix.Expr] = field(default_factory=dict)

    def letter(self, extent: ix.Expr) -> ix.Sym:
        """A coordinate that takes all values from 0 to before the extent."""
        name = f"%{len(self.extents)}"
        self.extents[name] = extent
        return ix.Sym(name)

    def add(self, operand: OperandElement, at: Mapping[str, ix.Expr]) -> bool:
        """Add the factors of an operand's element; false if they are not known, or too many."""
        self.steps -= 1
        if self.steps < 0:
            return False
        element = self._element(operand, at)
        moving = self.moving_of(element)
        if moving is not None:
            self.elements.append(
                replace(
                    element, point=tuple(map(self.written, element.point)),
                    place=tuple(map(self.written, element.place)),
                )
            )  # fmt: skip
            self.moving.append(moving)
            return True
        node = self.graph.nodes[element.node]
        point = node.domain.at(element.point)
        operands = self._operands(node, point, element.place)
        return operands is not None and all(self.add(x, point) for x in operands)

    def terms(
        self, node: Node, at: Mapping[str, ix.Expr], place: ElementPlace
    ) -> tuple[list[OperandElement], list[ix.Sym]] | None:
        """The operands' elements of a sum of products at a place, and the letters of its sum.

        ``None`` if the node is no such sum.
        """
        if type(node.op) is Sum:
            return None if node.op.keepdims else self._summed(node, node.op, at, place)
        if not isinstance(node.op, MatMul | Einsum):
            return None
        letters = spelling(node.op, [operand_type(self.graph, e).ndim for e in node.inputs])
        shapes = [self._shape(e, at) for e in node.inputs]
        extents: dict[str, ix.Expr] = {}
        for term, shape in zip(letters.terms, shapes, strict=True):
            for letter, extent in zip(term, shape, strict=True):
                if extents.get(letter, ix.ONE) == ix.ONE:
                    extents[letter] = extent
        places: dict[str, ix.Expr] = dict(zip(letters.result, place, strict=True))
        sums = {c: self.letter(e) for c, e in extents.items() if c not in places}
        places |= sums
        operands = [
            (edge, tuple(_repeated(places[c], n) for c, n in zip(term, shape, strict=True)))
            for edge, term, shape in zip(node.inputs, letters.terms, shapes, strict=True)
        ]
        return operands, [*sums.values()]

    def _summed(
        self, node: Node, op: Sum, at: Mapping[str, ix.Expr], place: ElementPlace
    ) -> tuple[list[OperandElement], list[ix.Sym]]:
        """`terms` of a sum over axes."""
        (edge,) = node.inputs
        shape, free = self._shape(edge, at), iter(place)
        sums = {a: self.letter(shape[a]) for a in axes_of(op.axes, len(shape))}
        inside = tuple(sums[a] if a in sums else next(free) for a in range(len(shape)))
        return [(edge, inside)], [*sums.values()]

    def _element(self, operand: OperandElement, at: Mapping[str, ix.Expr]) -> TensorElement:
        """The element of the source that is the operand's at a place."""
        edge, place = operand
        axes = iter(place)
        point = [
            ix.add(self._start(substitute(e.lo, at)), ix.mul(ix.Const(e.step), next(axes)))
            if isinstance(e, ix.Slice)
            else substitute(e, at)
            for e in edge.entries
        ]
        return TensorElement(edge.source, edge.out, tuple(point), tuple(axes))

    def _start(self, e: ix.Expr) -> ix.Expr:
        """The start of a range at the reader's point, or the symbol for it if it is an extreme."""
        if not isinstance(e, ix.IndexMax | ix.IndexMin):
            return e
        if any(n.startswith("%") for n in symbols(e)):
            return e
        names = {start: name for name, start in self.starts.items()}
        name = names.get(e, f"%start{len(names)}")
        self.starts[name] = e
        return ix.Sym(name)

    def written(self, e: ix.Expr) -> ix.Expr:
        """An expression with the starts of ranges in place of their symbols."""
        return substitute(e, self.starts)

    def _shape(self, edge: Edge, at: Mapping[str, ix.Expr]) -> ElementPlace:
        return tuple(substitute(e, at) for e in operand_type(self.graph, edge).shape)

    def _operands(
        self, node: Node, at: Mapping[str, ix.Expr], place: ElementPlace
    ) -> list[OperandElement] | None:
        """The elements of operands whose product, or sum of products, the element of a node is."""
        terms = self.terms(node, at, place)
        if terms is not None:
            return terms[0]
        if isinstance(node.op, TakeAlong) and node.op.sure:
            return self._taken(node, node.op.axis, at, place)
        if isinstance(node.op, binary.Multiply):
            return [(e, _broadcast(place, self._shape(e, at))) for e in node.inputs]
        if len(node.inputs) != 1:
            return None
        edge = node.inputs[0]
        moved = self._moved(substitute_in_op(node.op, at), self._shape(edge, at), place)
        return None if moved is None else [(edge, moved)]

    def _taken(
        self, node: Node, axis: int, at: Mapping[str, ix.Expr], place: ElementPlace
    ) -> list[OperandElement] | None:
        """The element at a position that a formula gives."""
        edge, index = node.inputs
        shape = self._shape(edge, at)
        own = _broadcast(place, self._shape(index, at))
        position = self._formula(self._element((index, own), at))
        if position is None:
            return None
        self.picks = True
        inside = [*_broadcast(place, shape)]
        inside[axis_of(axis, len(shape))] = position
        return [(edge, tuple(inside))]

    def _formula(self, element: TensorElement) -> ix.Expr | None:
        """An integer as an index expression, if it is made of such."""
        self.steps -= 1
        if self.steps < 0:
            return None
        node = self.graph.nodes[element.node]
        at = node.domain.at(element.point)
        if isinstance(node.op, IndexValue):
            return substitute(node.op.expr, at)
        if isinstance(node.op, Arange):
            start = self._start(substitute(node.op.start, at))
            return ix.add(start, ix.mul(ix.Const(node.op.step), element.place[0]))
        if isinstance(node.op, Literal):
            return ix.Const(int(node.op.value))
        if len(node.inputs) == 1:
            (edge,) = node.inputs
            op, shape = substitute_in_op(node.op, at), self._shape(edge, at)
            moved = self._moved(op, shape, element.place)
            return None if moved is None else self._formula(self._element((edge, moved), at))
        operands = [(e, _broadcast(element.place, self._shape(e, at))) for e in node.inputs]
        if len(operands) != 2:
            return None
        x, y = (self._formula(self._element(operand, at)) for operand in operands)
        return None if x is None or y is None else _combined(node.op, x, y)

    def _moved(self, op: Op, shape: ElementPlace, place: ElementPlace) -> ElementPlace | None:
        """The place in the operand of what a move has at a place."""
        rank, axes = len(shape), [*place]
        match op:
            case Copy():
                pass
            case BroadcastTo():
                return _broadcast(place, shape)
            case Flip():
                for a in axes_of(op.axes, rank):
                    axes[a] = ix.sub(ix.sub(shape[a], ix.ONE), axes[a])
            case Pad() if op.value == 0:
                for a, (before, after) in enumerate(op.widths):
                    if (before, after) != (ix.ZERO, ix.ZERO):
                        axes[a] = ix.sub(axes[a], before)
                        self.conditions += within(axes[a], shape[a])
            case SpatialIndex() if not op.gathers:
                parts = iter(place)
                axes = [_indexed(e, parts) for e in op.entries]
            case ExpandDims():
                del axes[axes_of((op.axis,), rank + 1)[0]]
            case Squeeze():
                single, others = axes_of(op.axes, rank), iter(place)
                axes = [ix.ZERO if a in single else next(others) for a in range(rank)]
            case Transpose():
                order = [a % rank for a in op.axes or range(rank)[::-1]]
                axes = [place[order.index(a)] for a in range(rank)]
            case _:
                return None
        return tuple(axes)


def within(place: ix.Expr, extent: ix.Expr) -> list[ix.Expr]:
    """Expressions that are at least 0 where a place is within an extent.

    That of a slice is ``max(0, n)``, of which ``n`` says as much here.
    """
    if isinstance(extent, ix.IndexMax) and ix.ZERO in extent.args and len(extent.args) == 2:
        (extent,) = (a for a in extent.args if a != ix.ZERO)
    return [place, ix.sub(ix.sub(extent, ix.ONE), place)]


def _repeated(place: ix.Expr, extent: ix.Expr) -> ix.Expr:
    """The place along an axis that may be repeated."""
    return ix.ZERO if extent == ix.ONE else place


def _broadcast(place: ElementPlace, shape: ElementPlace) -> ElementPlace:
    """The place in an operand that is broadcast to the result."""
    own = place[len(place) - len(shape) :]
    return tuple(_repeated(c, n) for c, n in zip(own, shape, strict=True))


def _indexed(entry: IndexPart, axes: Iterator[ix.Expr]) -> ix.Expr:
    """The place that an entry reads."""
    if isinstance(entry, tuple):
        start, _, step = entry
        return ix.add(start, ix.mul(ix.Const(step), next(axes)))
    assert isinstance(entry, ix.Expr)
    return entry


def _combined(op: Op, x: ix.Expr, y: ix.Expr) -> ix.Expr | None:
    """An operator of two index expressions as one."""
    match op:
        case binary.Add():
            return ix.add(x, y)
        case binary.Subtract():
            return ix.sub(x, y)
        case binary.Minimum():
            return ix.minimum(x, y)
        case binary.Maximum():
            return ix.maximum(x, y)
        case _:
            return None
