"""The correspondence of operand and result axes: the tiling rule of each operator.

A *link* is one axis and its positions in the operands and results. If the operands are tiled along
a link, the results are tiled along it, too; if no result has the axis, it is reduced, and the
partial results of the tiles must be combined. Operands without the axis are needed in full.

    einsum("tk,kv->tv"):   t: (0, -) -> 0      k: (1, 0) -> reduced      v: (-, 1) -> 1

Operators without links are opaque; ``RULES`` and ``OPAQUE`` together name every operator.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from tempoc.ops.definition.operator import Op
from tempoc.ops.definition.shapes import Shape, axes_of, axis_of
from tempoc.ops.definition.types import TensorType
from tempoc.ops.indexing.indexing import SpatialIndex, Take, TakeAlong
from tempoc.ops.indexing.pick import Pick
from tempoc.ops.indexing.scatter import ScatterAdd
from tempoc.ops.indexing.search import ArgMax, ArgSort, Sort
from tempoc.ops.tensor.contraction import Einsum
from tempoc.ops.tensor.joining import Concat, Split, Stack
from tempoc.ops.tensor.movement import BroadcastTo, ExpandDims, Flip, Pad, Squeeze, Transpose
from tempoc.ops.tensor.reduction import Reduction
from tempoc.ops.tensor.reshape import Reshape, groups
from tempoc.ops.tensor.scan import Scan
from tempoc.ops.tensor.source import Arange, Full
from tempoc.symbolic.expr import ONE, ZERO, Const, Expr, add, mul

Types = tuple[TensorType, ...]
AxisPlaces = tuple[int | None, ...]
Same = Callable[[Expr, Expr], bool]


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

    start: Expr
    count: Expr


def links(op: Op, args: Types, results: Types, same: Same) -> tuple[Link, ...]:
    """The links of an operator on operands of these types.

    ``same`` tells whether two extents provably agree.
    """
    rule = RULES.get(op.name)
    return () if rule is None else tuple(rule(op, args, results, same))


def narrow_op(op: Op, link: Link, part: AxisPart) -> Op:
    """The operator on a part of the link's axis, with its shape attributes adjusted."""

    def cut(shape: Shape) -> Shape:
        (axis,) = link.results
        assert axis is not None
        return (*shape[:axis], part.count, *shape[axis + 1 :])

    match op:
        case BroadcastTo(shape=shape) | Full(shape=shape) | Reshape(shape=shape):
            return replace(op, shape=cut(shape))
        case Arange(start=start, step=step):
            first = add(start, mul(Const(step), part.start))
            return replace(op, start=first, stop=add(first, mul(Const(step), part.count)))
        case SpatialIndex(entries=entries) if link.operands[0] is not None:
            axis = link.operands[0]
            taken = (ZERO, part.count, 1)
            return replace(op, entries=(*entries[:axis], taken, *entries[axis + 1 :]))
        case _:
            return op


# ---------------------------------------------------------------- one rule for each family


def _elementwise(op: Op, args: Types, results: Types, same: Same) -> Iterator[Link]:
    """Axes from the last one; an operand without the axis, or with one element, is repeated."""
    shape = results[0].shape
    for axis in range(len(shape)):
        places = _broadcast_axes([a.shape for a in args], shape, axis, same)
        if places is not None:
            yield Link(places, (axis,))


def _broadcast_axes(
    operands: Sequence[Shape], shape: Shape, axis: int, same: Same
) -> AxisPlaces | None:
    """The axes of operands that are broadcast to one axis of a shape."""
    axes: list[int | None] = []
    for operand in operands:
        place = axis - len(shape) + len(operand)
        if place < 0 or operand[place] == ONE:
            axes.append(None)
        elif same(operand[place], shape[axis]):
            axes.append(place)
        else:
            return None
    return None if shape[axis] == ONE else tuple(axes)


def _reduction(op: Op, args: Types, results: Types, same: Same) -> Iterator[Link]:
    """What is not reduced stays in its order."""
    assert isinstance(op, Reduction | ArgMax)
    named = op.axes if isinstance(op, Reduction) else None if op.axis is None else (op.axis,)
    gone = axes_of(named, args[0].ndim)
    for axis in range(args[0].ndim):
        before = 0 if op.keepdims else sum(g < axis for g in gone)
        if axis not in gone:
            yield Link((axis,), (axis - before,))
        elif isinstance(op, Reduction):
            yield Link((axis,), (None,))


def _along(op: Op, args: Types, results: Types, same: Same) -> Iterator[Link]:
    """All axes but the one along which elements are looked at, or moved, together."""
    assert isinstance(op, Scan | Sort | ArgSort | Split)
    own = axis_of(op.axis, args[0].ndim)
    for axis in range(args[0].ndim):
        if axis != own:
            yield Link((axis,), (axis,) * len(results))


def _top_k(op: Op, args: Types, results: Types, same: Same) -> Iterator[Link]:
    """All axes but the last."""
    for axis in range(args[0].ndim - 1):
        yield Link((axis,), (axis, axis))


def _matmul(op: Op, args: Types, results: Types, same: Same) -> Iterator[Link]:
    """Rows of the left, columns of the right, the batch of both; the inner axis is summed."""
    left, right = (a.shape for a in args)
    batch = results[0].shape[: max(len(left), len(right), 2) - 2]
    for axis in range(len(batch)):
        places = _broadcast_axes([left[:-2], right[:-2]], batch, axis, same)
        if places is not None:
            yield Link(places, (axis,))
    rows = len(left) > 1
    if rows:
        yield Link((len(left) - 2, None), (len(batch),))
    if len(right) > 1:
        yield Link((None, len(right) - 1), (len(batch) + rows,))
    inner = 0 if len(right) == 1 else len(right) - 2
    if same(left[-1], right[inner]) and left[-1] != ONE:
        yield Link((len(left) - 1, inner), (None,))


def _einsum(op: Op, args: Types, results: Types, same: Same) -> Iterator[Link]:
    """A link for each letter that stands once in an operand and means one extent."""
    assert isinstance(op, Einsum)
    terms, result = op.letters(tuple(a.ndim for a in args))
    for letter in dict.fromkeys("".join(terms)):
        places = tuple(t.index(letter) if letter in t else None for t in terms)
        extents = [a.shape[p] for a, p in zip(args, places, strict=True) if p is not None]
        plain = all(same(e, extents[0]) and e != ONE for e in extents)
        if plain and not any(t.count(letter) > 1 for t in terms):
            yield Link(places, (result.index(letter) if letter in result else None,))


def _conv(op: Op, args: Types, results: Types, same: Same) -> Iterator[Link]:
    """The batch."""
    for axis in range(args[0].ndim - args[1].ndim + 1):
        yield Link((axis, None), (axis,))


# ---------------------------------------------------------------- movement


def _transpose(op: Op, args: Types, results: Types, same: Same) -> Iterator[Link]:
    assert isinstance(op, Transpose)
    for axis, source in enumerate(op.order(args[0].ndim)):
        yield Link((source,), (axis,))


def _expand_dims(op: Op, args: Types, results: Types, same: Same) -> Iterator[Link]:
    assert isinstance(op, ExpandDims)
    new = axis_of(op.axis, results[0].ndim)
    for axis in range(args[0].ndim):
        yield Link((axis,), (axis + (axis >= new),))


def _squeeze(op: Op, args: Types, results: Types, same: Same) -> Iterator[Link]:
    assert isinstance(op, Squeeze)
    removed = axes_of(op.axes, args[0].ndim)
    remaining = [axis for axis in range(args[0].ndim) if axis not in removed]
    for place, axis in enumerate(remaining):
        yield Link((axis,), (place,))


def _made(op: Op, args: Types, results: Types, same: Same) -> Iterator[Link]:
    """An axis of what is made on the spot is cut by making less."""
    for axis in range(results[0].ndim):
        yield Link((), (axis,))


def _pad(op: Op, args: Types, results: Types, same: Same) -> Iterator[Link]:
    assert isinstance(op, Pad)
    for axis, widths in enumerate(op.widths):
        if widths == (ZERO, ZERO):
            yield Link((axis,), (axis,))


def _flip(op: Op, args: Types, results: Types, same: Same) -> Iterator[Link]:
    assert isinstance(op, Flip)
    turned = axes_of(op.axes, args[0].ndim)
    for axis in range(args[0].ndim):
        if axis not in turned:
            yield Link((axis,), (axis,))


def _reshape(op: Op, args: Types, results: Types, same: Same) -> Iterator[Link]:
    """Axes that stay as they are beside others that are split or joined."""
    for have, want in groups(args[0].shape, results[0].shape):
        if len(have) == len(want) == 1:
            yield Link((have[0],), (want[0],))


def _concat(op: Op, args: Types, results: Types, same: Same) -> Iterator[Link]:
    assert isinstance(op, Concat)
    own = axis_of(op.axis, results[0].ndim)
    for axis, extent in enumerate(results[0].shape):
        if axis != own and all(same(a.shape[axis], extent) for a in args):
            yield Link((axis,) * len(args), (axis,))


def _stack(op: Op, args: Types, results: Types, same: Same) -> Iterator[Link]:
    assert isinstance(op, Stack)
    new = axis_of(op.axis, results[0].ndim)
    for axis, extent in enumerate(args[0].shape):
        if all(same(a.shape[axis], extent) for a in args):
            yield Link((axis,) * len(args), (axis + (axis >= new),))


# ---------------------------------------------------------------- indexing


def _getitem(op: Op, args: Types, results: Types, same: Same) -> Iterator[Link]:
    """Axes taken whole, and those of the positions."""
    assert isinstance(op, SpatialIndex)
    ranges = [(k, e) for k, e in enumerate(op.entries) if isinstance(e, tuple)]
    rank, place = (args[1].ndim, op.place()) if op.gathers else (0, 0)
    for number, (axis, (start, count, step)) in enumerate(ranges):
        if (start, step) == (ZERO, 1) and same(count, args[0].shape[axis]):
            after = rank if op.gathers and number >= place else 0
            yield Link((axis, *(None,) * op.gathers), (number + after,))
    for axis in range(rank):
        yield Link((None, axis), (place + axis,))


def _take(op: Op, args: Types, results: Types, same: Same) -> Iterator[Link]:
    assert isinstance(op, Take)
    x, positions = args
    own = axis_of(op.axis, x.ndim)
    for axis in range(x.ndim):
        if axis != own:
            yield Link((axis, None), (axis if axis < own else axis + positions.ndim - 1,))
    for axis in range(positions.ndim):
        yield Link((None, axis), (own + axis,))


def _take_along(op: Op, args: Types, results: Types, same: Same) -> Iterator[Link]:
    assert isinstance(op, TakeAlong)
    shape = results[0].shape
    own = axis_of(op.axis, len(shape))
    for axis in range(len(shape)):
        places = _broadcast_axes([a.shape for a in args], shape, axis, same)
        if axis == own:
            yield Link((None, axis), (axis,))
        elif places is not None:
            yield Link(places, (axis,))


def _one_hot(op: Op, args: Types, results: Types, same: Same) -> Iterator[Link]:
    for axis in range(args[0].ndim):
        yield Link((axis,), (axis,))


def _scatter_add(op: Op, args: Types, results: Types, same: Same) -> Iterator[Link]:
    """What is sent to positions is summed over the axes of the positions."""
    assert isinstance(op, ScatterAdd)
    x, positions = args
    first = axis_of(op.axis, results[0].ndim)
    for axis in range(x.ndim):
        if first <= axis < first + positions.ndim:
            yield Link((axis, axis - first), (None,))
        else:
            yield Link((axis, None), (axis if axis < first else axis - positions.ndim + 1,))


def _pick(op: Op, args: Types, results: Types, same: Same) -> Iterator[Link]:
    assert isinstance(op, Pick)
    own = axis_of(op.axis, args[0].ndim)
    for axis in range(args[0].ndim):
        if axis != own:
            yield Link((axis, None), (axis - (axis > own),))


LinkRule = Callable[[Op, Types, Types, Same], Iterator[Link]]

_ELEMENTWISE = (
    "copy stop_gradient where neg abs sign relu floor ceil round exp exp2 log log1p expm1 sqrt "
    "rsqrt sin cos tan tanh sigmoid silu erf erfc gelu softplus isnan isinf not cast add sub mul "
    "div floordiv mod power minimum maximum clip lt le gt ge eq ne and or broadcast_to"
)
_REDUCTIONS = "sum prod max min any all mean var logsumexp argmax argmin"
_OTHERS: Mapping[str, LinkRule] = {
    "sort": _along, "argsort": _along, "cumsum": _along, "cumprod": _along, "cummax": _along,
    "cummin": _along, "cumlogsumexp": _along, "split": _along, "top_k": _top_k,
    "matmul": _matmul, "einsum": _einsum, "conv": _conv,
    "transpose": _transpose, "expand_dims": _expand_dims, "squeeze": _squeeze, "full": _made,
    "arange": _made, "pad": _pad, "flip": _flip, "reshape": _reshape, "concat": _concat,
    "stack": _stack, "getitem": _getitem, "take": _take, "take_along": _take_along,
    "one_hot": _one_hot, "scatter_add": _scatter_add, "pick": _pick,
}  # fmt: skip
RULES: Mapping[str, LinkRule] = {
    **dict.fromkeys(_ELEMENTWISE.split(), _elementwise),
    **dict.fromkeys(_REDUCTIONS.split(), _reduction),
    **_OTHERS,
}
OPAQUE = (
    "literal", "index", "input", "param", "eye", "seed", "random_key", "uniform", "normal",
    "bernoulli", "categorical", "permutation", "merge", "ensure", "cond", "print", "save", "until",
    "after", "associative_scan", "fold", "recurrence", "window",
    "extern_jax", "extern_host", "extern_vjp",
)  # fmt: skip
"""Operators without axes, given from outside, with effects, or that look at whole tensors."""
