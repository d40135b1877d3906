"""The correspondence of operand and result axes: the tiling rule of each operator.

A *link* is one axis and its positions in the operands and results. If the operands are tiled along
a link, the results are tiled along it, too; if no result has the axis, it is reduced, and the
partial results of the tiles must be combined. Operands without the axis are needed in full.

    einsum("tk,kv->tv"):   t: (0, -) -> 0      k: (1, 0) -> reduced      v: (-, 1) -> 1

``Op.links`` has the rule of an operator. Here are the rules that several operators share.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from tempoc.ops.definition.types import TensorType, Types
from tempoc.symbolic import expr as ix

AxisPlaces = tuple[int | None, ...]
Same = Callable[[ix.Expr, ix.Expr], bool]
"""Whether two extents provably agree."""


@dataclass(frozen=True, slots=True)
class Link:
    """An axis: its position in each operand and each result; ``None`` for those without it."""

    operands: AxisPlaces
    results: AxisPlaces

    @property
    def is_reduced(self) -> bool:
        """Whether no result has the axis."""
        return all(r is None for r in self.results)


@dataclass(frozen=True, slots=True)
class AxisPart:
    """The positions ``start`` to ``start + count`` of an axis."""

    start: ix.Expr
    count: ix.Expr

    def of_shape(self, shape: tuple[ix.Expr, ...], link: Link) -> tuple[ix.Expr, ...]:
        """The shape of the only result with this part of the link's axis."""
        (axis,) = link.results
        assert axis is not None
        return (*shape[:axis], self.count, *shape[axis + 1 :])


def broadcast_links(args: Types, results: Types, same: Same) -> Iterator[Link]:
    """Axes from the last one; an operand without the axis, or with one element, is repeated."""
    shape = results[0].shape
    for axis in range(len(shape)):
        places = broadcast_axes([a.shape for a in args], shape, axis, same)
        if places is not None:
            yield Link(places, (axis,))


def broadcast_axes(
    operands: Sequence[tuple[ix.Expr, ...]], shape: tuple[ix.Expr, ...], axis: int, same: Same
) -> AxisPlaces | None:
    """The axes of operands that are broadcast to one axis of a shape."""
    axes: list[int | None] = []
    for operand in operands:
        place = axis - len(shape) + len(operand)
        if place < 0 or operand[place] == ix.ONE:
            axes.append(None)
        elif same(operand[place], shape[axis]):
            axes.append(place)
        else:
            return None
    return None if shape[axis] == ix.ONE else tuple(axes)


def untouched_links(ndim: int, touched: Sequence[int], results: int = 1) -> Iterator[Link]:
    """All axes of the only operand but some, along which elements are combined or moved."""
    for axis in range(ndim):
        if axis not in touched:
            yield Link((axis,), (axis,) * results)


def created_links(result: TensorType) -> Iterator[Link]:
    """An axis of a tensor without operands is cut by making less."""
    for axis in range(result.ndim):
        yield Link((), (axis,))
