"""Builtins of tensors: creation, movement, search, contraction, shape queries."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

from tempoc.diagnostics.source import Span
from tempoc.frontend.calls.grad import stop_gradient
from tempoc.frontend.environment import values as val
from tempoc.frontend.environment.failure import Failure
from tempoc.frontend.environment.lower_bounds import doubt_of
from tempoc.frontend.environment.round import Frame, Round
from tempoc.frontend.errors import types as type_errors
from tempoc.frontend.expressions import apply_operator as apply, index_expressions as indices
from tempoc.frontend.expressions.arithmetic import as_expr
from tempoc.frontend.expressions.bind_arguments import BoundArguments
from tempoc.ops.definition.operator import Op, OperandError
from tempoc.ops.definition.shapes import axis_of
from tempoc.ops.definition.types import DType, TensorType
from tempoc.ops.linear.fourier import PAIR
from tempoc.ops.tensor.reshape import resolved
from tempoc.ops.tensor.source import Arange, Eye, Full
from tempoc.symbolic import expr as ix
from tempoc.symbolic.walk import is_condition

BuiltinRule = Callable[[Round, Frame, str, BoundArguments], val.Value]


def _operand(round: Round, frame: Frame, bound: BoundArguments, name: str = "x") -> val.Ref:
    return apply.tensor(round, frame, bound[name], bound.places[name])


def _meeting(
    round: Round, frame: Frame, bound: BoundArguments, op: Op, *names: str
) -> list[val.Ref]:
    """Operands of one dtype, as which numbers among them are taken."""
    types = tuple(apply.type_of(bound[name], bound.places[name]) for name in names)
    return [
        apply.operand(round, frame, op, bound[name], types, bound.places[name]) for name in names
    ]


def _emit(round: Round, frame: Frame, bound: BoundArguments, op: Op, *args: val.Ref) -> val.Ref:
    return apply.make(round, frame, op, args, bound.span)[0]


def _flat(round: Round, frame: Frame, bound: BoundArguments, x: val.Ref) -> val.Ref:
    """A tensor flattened, as NumPy does where no axis is given."""
    if x.type.ndim == 1:
        return x
    return _emit(
        round, frame, bound, apply.operator("reshape", shape=(ix.product(x.type.shape),)), x
    )


# ---------------------------------------------------------------- scans, searches, movement


def _scan(round: Round, frame: Frame, name: str, bound: BoundArguments) -> val.Value:
    x = _operand(round, frame, bound)
    axis = bound.axis()
    if axis is None:
        x = _flat(round, frame, bound, x)
    op = apply.operator(name, axis=axis or 0, reverse=bound.flag("reverse"))
    return _emit(round, frame, bound, op, x)


def _argument(round: Round, frame: Frame, name: str, bound: BoundArguments) -> val.Value:
    op = apply.operator(name, axis=bound.axis(), keepdims=bound.flag("keepdims"))
    return _emit(round, frame, bound, op, _operand(round, frame, bound))


def _along(round: Round, frame: Frame, name: str, bound: BoundArguments) -> val.Value:
    op = apply.operator(name, axis=bound.integer("axis", -1))
    return _emit(round, frame, bound, op, _operand(round, frame, bound))


def _reshape(round: Round, frame: Frame, name: str, bound: BoundArguments) -> val.Value:
    value = bound["shape"]
    items = value.items if isinstance(value, val.Listing) else (value,)
    shape = tuple(
        ix.Const(-1) if v == val.ConstantNumber(-1) else indices.extent(v, bound.places["shape"])
        for v in items
    )
    x = _operand(round, frame, bound)
    try:
        op = apply.operator(name, shape=resolved(x.type.shape, shape))
    except OperandError as error:
        raise Failure(type_errors.operands(bound.span, error.message, error.help)) from None
    return _emit(round, frame, bound, op, x)


def _broadcast_to(round: Round, frame: Frame, name: str, bound: BoundArguments) -> val.Value:
    op = apply.operator(name, shape=_shape(round, frame, bound))
    return _emit(round, frame, bound, op, _operand(round, frame, bound))


def _transpose(round: Round, frame: Frame, name: str, bound: BoundArguments) -> val.Value:
    op = apply.operator(name, axes=bound.axes("axes"))
    return _emit(round, frame, bound, op, _operand(round, frame, bound))


def _flip(round: Round, frame: Frame, name: str, bound: BoundArguments) -> val.Value:
    op = apply.operator(name, axes=bound.axes())
    return _emit(round, frame, bound, op, _operand(round, frame, bound))


def _expand_dims(round: Round, frame: Frame, name: str, bound: BoundArguments) -> val.Value:
    op = apply.operator(name, axis=bound.integer("axis", 0))
    return _emit(round, frame, bound, op, _operand(round, frame, bound))


def _squeeze(round: Round, frame: Frame, name: str, bound: BoundArguments) -> val.Value:
    x = _operand(round, frame, bound)
    axes = bound.axes()
    if axes is None:
        axes = tuple(k for k, e in enumerate(x.type.shape) if e == ix.ONE)
    return _emit(round, frame, bound, apply.operator(name, axes=axes), x)


def _joined(round: Round, frame: Frame, name: str, bound: BoundArguments) -> val.Value:
    value = bound["xs"]
    if not isinstance(value, (val.Listing, val.Several)):
        raise Failure(type_errors.needs_list(bound.places["xs"], name, value))
    op, place = apply.operator(name, axis=bound.integer("axis", 0)), bound.places["xs"]
    return _emit(round, frame, bound, op, *apply.operands(round, frame, op, value.items, place))


def _split(round: Round, frame: Frame, name: str, bound: BoundArguments) -> val.Value:
    op = apply.operator(name, sections=bound.integer("n", 1), axis=bound.integer("axis", 0))
    return val.Listing(apply.make(round, frame, op, (_operand(round, frame, bound),), bound.span))


def _pad(round: Round, frame: Frame, name: str, bound: BoundArguments) -> val.Value:
    x = _operand(round, frame, bound)
    value, place = bound["widths"], bound.places["widths"]
    items = value.items if isinstance(value, val.Listing) else (value, value)
    pairs: list[tuple[ix.Expr, ix.Expr]] = []
    nested = all(isinstance(v, val.Listing) for v in items) and isinstance(value, val.Listing)
    for pair in items if nested else [val.Listing(items)] * x.type.ndim:
        assert isinstance(pair, val.Listing)
        if len(pair.items) != 2:
            raise Failure(type_errors.bad_widths(place, x.type.ndim))
        low, high = (indices.extent(v, place, "a width") for v in pair.items)
        pairs.append((low, high))
    filler = bound.values.get("value", val.ConstantNumber(0))
    if not isinstance(filler, val.ConstantNumber):
        raise Failure(type_errors.needs_kind(place, "`value`", "a compile-time number", filler))
    number = filler.value
    with apply.of_last_round(round, frame):
        number = _fitting(filler, x.type.dtype, place)
    return _emit(round, frame, bound, apply.operator(name, widths=tuple(pairs), value=number), x)


def _take(round: Round, frame: Frame, name: str, bound: BoundArguments) -> val.Value:
    x, idx = _operand(round, frame, bound), _operand(round, frame, bound, "idx")
    axis = bound.axis()
    if axis is None and name == "take":
        x, axis = _flat(round, frame, bound, x), 0
    op = apply.operator(name, axis=-1 if axis is None else axis)
    return _emit(round, frame, bound, op, x, idx)


def _put(round: Round, frame: Frame, name: str, bound: BoundArguments) -> val.Value:
    axis = bound.axis()
    op = apply.operator(name, axis=0 if axis is None else axis)
    x, v = _meeting(round, frame, bound, op, "x", "v")
    return _emit(round, frame, bound, op, x, _operand(round, frame, bound, "idx"), v)


def _one_hot(round: Round, frame: Frame, name: str, bound: BoundArguments) -> val.Value:
    n = bound.extent("n")
    indices.check_extents(round, frame, (n,), bound.places["n"])
    op = apply.operator(name, n=n, dtype=bound.dtype(DType.F32))
    return _emit(round, frame, bound, op, _operand(round, frame, bound, "idx"))


def _top_k(round: Round, frame: Frame, name: str, bound: BoundArguments) -> val.Value:
    op = apply.operator(name, k=bound.integer("k", 1))
    return val.Several(apply.make(round, frame, op, (_operand(round, frame, bound),), bound.span))


def _segments(round: Round, frame: Frame, name: str, bound: BoundArguments) -> val.Value:
    n = bound.extent("n")
    indices.check_extents(round, frame, (n,), bound.places["n"])
    scatter = {"segment_sum": "scatter_add", "segment_max": "scatter_max"}
    op = apply.operator(scatter.get(name, "scatter_min"), axis=0, n=n)
    x, ids = _operand(round, frame, bound), _operand(round, frame, bound, "ids")
    return _emit(round, frame, bound, op, x, ids)


def _require_choice(bound: BoundArguments, name: str, given: str, choices: Sequence[str]) -> None:
    """`Failure` unless an argument is one of some texts."""
    if given not in choices:
        raise Failure(type_errors.needs_choice(bound.places[name], f"`{name}`", choices, given))


def _searchsorted(round: Round, frame: Frame, name: str, bound: BoundArguments) -> val.Value:
    side = bound.text("side", "left")
    _require_choice(bound, "side", side, ("left", "right"))
    op = apply.operator(name, side=side)
    return _emit(round, frame, bound, op, *_meeting(round, frame, bound, op, "sorted", "values"))


def _einsum(round: Round, frame: Frame, name: str, bound: BoundArguments) -> val.Value:
    op = apply.operator(name, spec=bound.text("spec", ""))
    args = apply.operands(round, frame, op, bound.rest, bound.span)
    return _emit(round, frame, bound, op, *args)


def _conv(round: Round, frame: Frame, name: str, bound: BoundArguments) -> val.Value:
    padding = bound.text("padding", "valid")
    _require_choice(bound, "padding", padding, ("valid", "same"))
    names = ("stride", "rhs_dilation", "feature_group_count")
    op = apply.operator(name, padding=padding, **{n: bound.integer(n, 1) for n in names})
    return _emit(round, frame, bound, op, *_meeting(round, frame, bound, op, "x", "w"))


def _irfft(round: Round, frame: Frame, name: str, bound: BoundArguments) -> val.Value:
    z = _operand(round, frame, bound, "z")
    if bound.has("n"):
        n = bound.extent("n")
    else:
        n = ix.mul(PAIR, ix.sub(z.type.shape[-2], ix.ONE)) if z.type.ndim > 1 else ix.ONE
    return _emit(round, frame, bound, apply.operator(name, n=n), z)


def _of_matrix(round: Round, frame: Frame, name: str, bound: BoundArguments) -> val.Value:
    return _emit(round, frame, bound, apply.operator(name), _operand(round, frame, bound, "a"))


def _fourier(round: Round, frame: Frame, name: str, bound: BoundArguments) -> val.Value:
    x = _operand(round, frame, bound, "x" if name == "rfft" else "z")
    return _emit(round, frame, bound, apply.operator(name), x)


def _solve(round: Round, frame: Frame, name: str, bound: BoundArguments) -> val.Value:
    if name == "inverse":
        a = _operand(round, frame, bound, "a")
        dtype = a.type.dtype if a.type.dtype.is_float else DType.F32
        n = a.type.shape[-1] if a.type.shape else ix.ONE
        return _emit(
            round, frame, bound, apply.operator("solve"), a,
            _emit(round, frame, bound, Eye(n=n, m=n, dtype=dtype)),
        )  # fmt: skip
    lower = {"lower": bound.flag("lower")} if name == "triangular_solve" else {}
    op = apply.operator(name, **lower)
    return _emit(round, frame, bound, op, *_meeting(round, frame, bound, op, "a", "b"))


# ---------------------------------------------------------------- creation and shape


def _shape(round: Round, frame: Frame, bound: BoundArguments) -> tuple[ix.Expr, ...]:
    shape = bound.shape()
    indices.check_extents(round, frame, shape, bound.places["shape"])
    return shape


def _filled(round: Round, frame: Frame, name: str, bound: BoundArguments) -> val.Value:
    value = {"zeros": val.ConstantNumber(0), "ones": val.ConstantNumber(1)}.get(name) or bound[
        "value"
    ]
    if isinstance(value, val.ConstantNumber):
        default_dtype = apply.type_of(value, bound.span).dtype if name == "full" else DType.F32
        dtype = bound.dtype(default_dtype)
        fitting = _fitting(value, dtype, bound.span)
        op = Full(shape=_shape(round, frame, bound), value=fitting, dtype=dtype)
        return _emit(round, frame, bound, op)
    x = apply.tensor(round, frame, value, bound.span)
    dtype = bound.dtype(x.type.dtype)
    if dtype is not x.type.dtype:
        cast = apply.operator("cast", dtype=dtype)
        x = apply.operand(round, frame, cast, x, (x.type,), bound.span)
        x = _emit(round, frame, bound, cast, x)
    broadcast = apply.operator("broadcast_to", shape=_shape(round, frame, bound))
    return _emit(round, frame, bound, broadcast, x)


def _fitting(value: val.ConstantNumber, dtype: DType, span: Span) -> int | float | bool:
    """A number as one of a dtype; those of integers lose their fraction. Raises `Failure`."""
    number = value.value
    if dtype.is_float:
        return float(number)
    if dtype is DType.BOOL:
        return bool(number)
    if not math.isfinite(number):
        raise Failure(type_errors.bad_literal(span, str(number), dtype.value))
    apply.check_number(int(number), dtype, span)
    return int(number)


def _like(round: Round, frame: Frame, name: str, bound: BoundArguments) -> val.Value:
    def leaf(_: tuple[str, ...], v: val.Value) -> val.Value:
        type: TensorType = apply.type_of(v, bound.span)
        dtype = bound.dtype(type.dtype)
        value = val.ConstantNumber(0 if name == "zeros_like" else 1)
        op = Full(shape=type.shape, value=_fitting(value, dtype, bound.span), dtype=dtype)
        full = _emit(round, frame, bound, op)
        full.draft.doubt = doubt_of(v)
        return apply.spread(round, frame, full, val.dims_of(v, round.universe))

    return val.map_leaves(leaf, bound["x"])


def _eye(round: Round, frame: Frame, name: str, bound: BoundArguments) -> val.Value:
    n = bound.extent("n")
    m = bound.extent("m") if bound.has("m") else n
    indices.check_extents(round, frame, (n, m), bound.span)
    return _emit(round, frame, bound, Eye(n=n, m=m, dtype=bound.dtype(DType.F32)))


def _arange(round: Round, frame: Frame, name: str, bound: BoundArguments) -> val.Value:
    ends = (
        [bound["start"], bound["stop"]]
        if bound.has("stop")
        else [val.ConstantNumber(0), bound["start"]]
    )
    low, high = (_end(v, bound) for v in ends)
    step = bound.integer("step", 1)
    op = Arange(stop=high, start=low, step=step, dtype=bound.dtype(DType.I32))
    ref = _emit(round, frame, bound, op)
    extent = round.space.reduce(op.extent, round.domain(frame.where, op.extent))
    type = TensorType(op.dtype, (extent,))
    ref.draft.types = (type,)
    return val.Ref(ref.draft, 0, ref.entries, type, ref.span)


def _end(value: val.Value, bound: BoundArguments) -> ix.Expr:
    expr = as_expr(value)
    if expr is None or is_condition(expr):
        raise Failure(type_errors.needs_index(bound.span, "an end of `arange`", value))
    if isinstance(expr, ix.Const):
        apply.check_number(expr.value, DType.I32, bound.span)
    return expr


def _size(round: Round, frame: Frame, name: str, bound: BoundArguments) -> val.Value:
    value = bound["x"]
    if isinstance(value, (val.Listing, val.Several)) and not bound.has("axis"):
        return val.ConstantNumber(len(value.items))
    shape = apply.sure_type(round, value, bound.places["x"]).shape
    axis = bound.axis()
    if name == "len":
        axis = 0
    if axis is None:
        return val.lift(ix.product(shape))
    try:
        return val.lift(shape[axis_of(axis, len(shape))])
    except OperandError as error:
        help = apply.way_out(round, error, (value,))
        takes = "`len` takes a list, or a tensor with axes: " if name == "len" else ""
        raise Failure(type_errors.operands(bound.span, takes + error.message, help)) from None


def _ndim(round: Round, frame: Frame, name: str, bound: BoundArguments) -> val.Value:
    return val.ConstantNumber(apply.sure_type(round, bound["x"], bound.places["x"]).ndim)


def _leaves(round: Round, frame: Frame, name: str, bound: BoundArguments) -> val.Value:
    return val.Listing(tuple(leaf for _, leaf in val.leaves(bound["x"])))


def _range(round: Round, frame: Frame, name: str, bound: BoundArguments) -> val.Value:
    start, stop, step = (
        bound.integer(part, default, "an argument of `range`")
        for part, default in (("start", 0), ("stop", 0), ("step", 1))
    )
    low, high = (start, stop) if bound.has("stop") else (0, start)
    if step == 0:
        raise Failure(type_errors.spatial_step(bound.span))
    numbers = range(low, high, step)
    most = round.limits.range_length
    if high - low > most * abs(step) or low - high > most * abs(step):
        raise Failure(type_errors.too_long(bound.span, len(numbers), most))
    return val.Listing(tuple(val.ConstantNumber(k) for k in numbers))


GROUP: dict[str, BuiltinRule] = {
    "argmax": _argument, "argmin": _argument, "sort": _along, "argsort": _along, "top_k": _top_k,
    "cumsum": _scan, "cumprod": _scan, "cummax": _scan,
    "reshape": _reshape, "broadcast_to": _broadcast_to, "transpose": _transpose, "flip": _flip,
    "expand_dims": _expand_dims, "squeeze": _squeeze, "concat": _joined, "stack": _joined,
    "split": _split, "pad": _pad, "take": _take, "take_along": _take, "put": _put,
    "one_hot": _one_hot,
    "segment_sum": _segments, "segment_max": _segments, "segment_min": _segments,
    "searchsorted": _searchsorted, "einsum": _einsum, "conv": _conv, "conv_transpose": _conv,
    "cholesky": _of_matrix, "det": _of_matrix, "logdet": _of_matrix,
    "fft": _fourier, "ifft": _fourier, "rfft": _fourier, "irfft": _irfft,
    "solve": _solve, "triangular_solve": _solve, "inverse": _solve,
    "zeros": _filled, "ones": _filled, "full": _filled, "zeros_like": _like, "ones_like": _like,
    "eye": _eye, "arange": _arange, "size": _size, "len": _size, "ndim": _ndim, "range": _range,
    "leaves": _leaves, "stop_gradient": stop_gradient,
}  # fmt: skip
"""The function that builds each builtin."""
