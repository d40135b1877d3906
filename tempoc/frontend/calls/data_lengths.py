"""Lengths that the data decide, and what is as long: `length`, `nonzero`, `filter`, `unique`.

`length(count, most = N)` makes an index expression of a count. It is what a program says by

    dim count_step < count_steps = N + 1 until stop
    stop[count_step] = count_step >= count

with the length `count_steps - 1`, which may be 0. The dimension is the last one of the program, so
a count may vary with all others. It is added to the universe of the next round.
"""

from __future__ import annotations

import re

from tempoc.base.names import fresh_name
from tempoc.frontend.environment import values as val
from tempoc.frontend.environment.draft_node import Draft, Wire
from tempoc.frontend.environment.failure import Failure, StillUnknown
from tempoc.frontend.environment.indexed_tensor import TensorKey
from tempoc.frontend.environment.lower_bounds import DEFERRED
from tempoc.frontend.environment.round import Arguments, DataDimension, Frame, FrameFacts, Round
from tempoc.frontend.errors import lengths as ending_errors, types as type_errors
from tempoc.frontend.expressions import apply_operator as apply
from tempoc.frontend.expressions.arithmetic import as_expr, binary_operation
from tempoc.frontend.expressions.bind_arguments import BoundArguments
from tempoc.frontend.expressions.conditional import merge_sides
from tempoc.ops.control.data_length import DataLength
from tempoc.ops.control.until import Until
from tempoc.ops.definition.shapes import shape_text, type_text
from tempoc.ops.definition.types import DType
from tempoc.symbolic import expr as ix
from tempoc.symbolic.domain import Universe
from tempoc.symbolic.walk import is_affine, substitute, symbols


def length(round: Round, frame: Frame, name: str, bound: BoundArguments) -> val.Value:
    """`length(count, most)`. Raises `Failure` or `StillUnknown`."""
    if as_expr(bound["count"]) is not None:  # known without the data
        return bound["count"]
    count = apply.tensor(round, frame, bound["count"], bound.places["count"])
    return val.Index(_length(round, frame, bound, count, bound.extent("most")))


def nonzero(round: Round, frame: Frame, name: str, bound: BoundArguments) -> val.Value:
    """`nonzero(mask, most)`: the positions at which a vector holds, ascending, as `i32`."""
    return _nonzero(round, frame, bound, _mask(round, frame, name, bound))


def filtered(round: Round, frame: Frame, name: str, bound: BoundArguments) -> val.Value:
    """`filter(x, mask, most)`: the rows of `x` for which the mask holds."""
    mask = _mask(round, frame, name, bound)
    x = apply.tensor(round, frame, bound["x"], bound.places["x"])
    rows, n = x.type.shape[:1], mask.type.shape[0]
    if not rows or not FrameFacts(round, frame.where).equal(rows[0], n):
        message = f"`filter` takes a mask for each row, not {shape_text(x.type.shape)} and "
        help = "write `mask as bool[...]` if they are equal for a reason that is not seen here"
        text = f"{message}{shape_text(mask.type.shape)}"
        raise Failure(type_errors.operands(bound.span, text, help if rows else None))
    places = _nonzero(round, frame, bound, mask)
    return _call(round, frame, bound, "take", x, places, val.ConstantNumber(0))


def unique(round: Round, frame: Frame, name: str, bound: BoundArguments) -> val.Value:
    """`unique(x, most)`: the different elements of a vector, ascending; NaN is one, the last."""
    x = apply.tensor(round, frame, bound["x"], bound.places["x"])
    if x.type.ndim != 1:
        message = f"`unique` takes a vector, not {type_text(x.type)}"
        raise Failure(type_errors.operands(bound.span, message, "`reshape(x, [-1])` makes one"))
    ordered = _call(round, frame, bound, "sort", x)
    places = _call(round, frame, bound, "arange", val.lift(x.type.shape[0]))
    before = _binary(round, frame, bound, "-", places, val.ConstantNumber(1))
    before = _call(round, frame, bound, "maximum", before, val.ConstantNumber(0))
    last = _call(round, frame, bound, "take", ordered, before, val.ConstantNumber(0))
    new = _binary(round, frame, bound, "!=", ordered, last)
    if x.type.dtype.is_float:  # a NaN differs from itself
        number = _binary(round, frame, bound, "==", last, last)
        new = _binary(round, frame, bound, "and", new, number)
    first = _binary(round, frame, bound, "==", places, val.ConstantNumber(0))
    mask = _binary(round, frame, bound, "or", first, new)
    assert isinstance(mask, val.Ref)
    places = _nonzero(round, frame, bound, mask)
    return _call(round, frame, bound, "take", ordered, places, val.ConstantNumber(0))


def _mask(round: Round, frame: Frame, name: str, bound: BoundArguments) -> val.Ref:
    mask = apply.tensor(round, frame, bound["mask"], bound.places["mask"])
    if mask.type.dtype is not DType.BOOL or mask.type.ndim != 1:
        message = f"the mask of `{name}` is a bool vector, not {type_text(mask.type)}"
        help = "compare first, as in x != 0" if mask.type.dtype is not DType.BOOL else None
        raise Failure(type_errors.operands(bound.places["mask"], message, help))
    return mask


def _nonzero(round: Round, frame: Frame, bound: BoundArguments, mask: val.Ref) -> val.Value:
    """Element `k` is where the count of what holds so far first reaches `k + 1`."""
    ones = _call(round, frame, bound, "i32", mask)
    count = _call(round, frame, bound, "sum", ones)
    assert isinstance(count, val.Ref)
    most = bound.extent("most") if bound.has("most") else mask.type.shape[0]
    size = val.lift(_length(round, frame, bound, count, most))
    so_far = _call(round, frame, bound, "cumsum", ones)
    numbers = _call(round, frame, bound, "arange", size)
    ranks = _binary(round, frame, bound, "+", numbers, val.ConstantNumber(1))
    return _call(round, frame, bound, "searchsorted", so_far, ranks)


def _call(
    round: Round, frame: Frame, bound: BoundArguments, name: str, *operands: val.Value
) -> val.Value:
    """The result of another builtin."""
    arguments = Arguments(operands, (), (bound.span,) * len(operands), ())
    return round.language.call(round, frame, val.Builtin(name), arguments, bound.span)


def _binary(
    round: Round, frame: Frame, bound: BoundArguments, op: str, a: val.Value, b: val.Value
) -> val.Value:
    return binary_operation(round, frame, op, a, b, bound.span)


# ---------------------------------------------------------------- the dimension


def _length(
    round: Round, frame: Frame, bound: BoundArguments, count: val.Ref, most: ix.Expr
) -> ix.Expr:
    """A count as an index expression. Raises `Failure`, and `StillUnknown` in its first round."""
    place = bound.places.get("most", bound.span)
    fixed = substitute(most, _largest(round.universe))
    if not is_affine(fixed) or any(not _is_fixed(round.universe, n) for n in symbols(fixed)):
        raise Failure(ending_errors.open_most(place, most, given=bound.has("most")))
    known = _dimension(round, frame, bound, count, fixed)
    if not _is_there(round, known):
        raise StillUnknown(DEFERRED)
    if known.bound not in round.outer:
        _end(round, frame, bound, known, count)
    return ix.sub(ix.Sym(known.bound), ix.ONE)


def _dimension(
    round: Round, frame: Frame, bound: BoundArguments, count: val.Ref, most: ix.Expr
) -> DataDimension:
    """The dimension of a count. Equal counts of equal points share that of the first call."""
    own: TensorKey = (*frame.path, "length", bound.span.start)
    read = Wire(count.draft, count.out, count.entries, count.span)
    value = (round.equals.of(read), frame.where, most)
    key = round.counted.setdefault(value, own)
    if key != own and own in round.data_dims:
        first = round.data_dims.get(key)
        if first is None or not _is_there(round, first):
            # Types of the round before have the name of this one: the first call takes it over.
            round.data_dims[key] = round.data_dims.pop(own)
        else:
            key = own
    known = round.data_dims.get(key)
    if known is None or known.most != most:
        bounds = (name for b in round.universe.bounds for name in (b.name, b.until))
        taken = {*bounds, *(d.name for d in round.universe.dims), *frame.scope.visible()}
        taken |= {name for d in round.data_dims.values() for name in (d.dim, d.bound)}
        wish = re.sub(r"\W", "_", frame.prefix) or "data"
        steps = fresh_name(f"{wish}_steps", taken)
        dim = fresh_name(f"{wish}_step", taken, (steps,))
        known = round.data_dims[key] = DataDimension(dim=dim, bound=steps, most=most)
    return known


def _end(
    round: Round, frame: Frame, bound: BoundArguments, known: DataDimension, count: val.Ref
) -> None:
    """Let a dimension end one step after a count."""
    most = known.most
    checked: val.Value = apply.make(round, frame, DataLength(most=most), (count,), bound.span)[0]
    if frame.where != ix.TRUE:  # a length is needed at all points, the count perhaps not there
        zero = val.ConstantNumber(0)
        everywhere = frame.within(ix.TRUE)
        checked = merge_sides(round, everywhere, frame.where, checked, zero, bound.span)
    step = val.Index(ix.Sym(known.dim))
    stop = binary_operation(round, frame, ">=", step, checked, bound.span)
    assert isinstance(stop, val.Ref)
    dims = val.dims_of(stop, round.universe)
    round.outer[known.bound] = tuple(d for d in dims if d != known.dim)
    draft = Draft(
        hint=f"{frame.prefix}.until",
        dims=dims,
        types=(),
        origin=frame.origin,
        op=Until(bound=known.bound),
        role="root",
        spans=(bound.span,),
    )
    draft.inputs = [apply.wire(stop)]
    round.add(draft)


def _is_there(round: Round, known: DataDimension) -> bool:
    """Whether a dimension is part of this round's universe."""
    return any(d.name == known.dim for d in round.universe.dims)


def _largest(universe: Universe) -> dict[str, ix.Expr]:
    """The largest values of lengths, where the program says what they are."""
    return {b.name: b.value for b in universe.ended if b.value is not None}


def _is_fixed(universe: Universe, name: str) -> bool:
    """Whether a name is a bound that is known when the program starts."""
    return not universe.is_dim(name) and not universe.roots(name)


GROUP = {"length": length, "nonzero": nonzero, "filter": filtered, "unique": unique}
"""The function that builds each builtin."""
