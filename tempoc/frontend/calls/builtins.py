"""Calls of builtin functions: elementwise ones and reductions here, the rest by group."""

from __future__ import annotations

import math
from collections.abc import Callable

from tempoc.diagnostics.source import Span
from tempoc.frontend.calls import (
    associative_scan as combine,
    builtin_signatures as builtin_names,
    builtin_tensors,
    data_lengths,
)
from tempoc.frontend.calls.grad import gradient
from tempoc.frontend.environment import values as val
from tempoc.frontend.environment.failure import Failure
from tempoc.frontend.environment.round import Arguments, Frame, Round
from tempoc.frontend.errors import types as type_errors
from tempoc.frontend.expressions import (
    apply_operator as apply,
    conditional as choice,
    random_draws as draws,
)
from tempoc.frontend.expressions.arithmetic import as_expr, as_named, fold
from tempoc.frontend.expressions.bind_arguments import BoundArguments, bind
from tempoc.frontend.expressions.partial_types import partial_result
from tempoc.ops.definition.operator import Op
from tempoc.ops.definition.types import DType
from tempoc.symbolic import expr as ix
from tempoc.symbolic.walk import is_condition

# Functions that are folded for a compile-time number; the result is a float.
FOLDED: dict[str, Callable[[float], float]] = {
    "sqrt": math.sqrt,
    "exp": math.exp,
    "log": math.log,
    "log1p": math.log1p,
    "expm1": math.expm1,
    "sin": math.sin,
    "cos": math.cos,
    "tan": math.tan,
    "tanh": math.tanh,
    "erf": math.erf,
    "exp2": lambda x: 2.0**x,
    "rsqrt": lambda x: 1.0 / math.sqrt(x),
}
FOLDED_KEEPING_TYPE: dict[str, Callable[[float], float]] = {
    "abs": abs,
    "floor": lambda x: x if isinstance(x, int) else float(math.floor(x)),
    "ceil": lambda x: x if isinstance(x, int) else float(math.ceil(x)),
    "round": lambda x: x if isinstance(x, int) else float(round(x)),
    "sign": lambda x: (x > 0) - (x < 0) if isinstance(x, int) else math.copysign(x != 0, x),
}


def call(round: Round, frame: Frame, name: str, arguments: Arguments, span: Span) -> val.Value:
    """The result of a builtin. Raises `Failure` or `StillUnknown`."""
    if name in ("min", "max"):
        extremum = _index_extremum(round, frame, name, arguments, span)
        if extremum is not None:
            return extremum
    signature = builtin_names.SIGNATURES[name].split()
    shown = builtin_names.signature_text(name)
    bound = bind(name, signature, arguments, span, shown, round.universe)
    if name in builtin_names.UNARY:
        return _unary(round, frame, name, bound["x"], span)
    if name in DType._value2member_map_:
        return _cast(round, frame, DType(name), bound["x"], span)
    if name in ("minimum", "maximum", "power", *builtin_names.BITWISE):
        return _binary(round, frame, name, bound["a"], bound["b"], span)
    if name in ("where", "clip"):
        parts = tuple(bound.values[p] for p in signature)
        return apply.elementwise(round, frame, apply.operator(name), parts, span)
    if name == "grad":
        return gradient(round, frame, name, bound)
    if name == "cond":
        return choice.conditional(round, frame, bound["p"], bound["a"], bound["b"], span)
    value = partial_result(round, frame, name, bound)
    if value is not None:
        return value
    unknown = val.unknown_in(*bound.values.values(), *bound.rest)
    if unknown is not None:
        return unknown
    if name.startswith(draws.PREFIX):
        return draws.draw(round, frame, name, bound)
    if name == "associative_scan":
        return combine.scan(round, frame, bound)
    if name in builtin_names.REDUCTIONS:
        return _reduction(round, frame, name, bound)
    group = data_lengths.GROUP if name in data_lengths.GROUP else builtin_tensors.GROUP
    return group[name](round, frame, name, bound)


def _index_extremum(
    round: Round, frame: Frame, name: str, arguments: Arguments, span: Span
) -> val.Value | None:
    """`min` and `max` over index expressions or numbers alone."""
    values = arguments.positional
    if (
        not values
        or arguments.keyword
        or any(isinstance(v, (val.Listing, val.RecordValue)) for v in values)
    ):
        return None
    if all(isinstance(v, val.ConstantNumber) and not isinstance(v.value, bool) for v in values):
        numbers = [v.value for v in values if isinstance(v, val.ConstantNumber)]
        extreme = min(numbers) if name == "min" else max(numbers)
        return val.ConstantNumber(
            float(extreme) if any(isinstance(n, float) for n in numbers) else extreme
        )
    if len(values) == 1 and isinstance(values[0], val.Ref):
        return None
    exprs = [as_expr(v) for v in values]
    operands = [e for e in exprs if e is not None and not is_condition(e)]
    if len(operands) < len(values):
        return None
    for v in values:
        if isinstance(v, val.ConstantNumber):
            apply.check_number(v.value, DType.I32, span)
    extremum = val.lift((ix.minimum if name == "min" else ix.maximum)(*operands))
    return as_named(round, frame, extremum, values, span)


def _unary(round: Round, frame: Frame, name: str, value: val.Value, span: Span) -> val.Value:
    def leaf(parts: tuple[val.Value, ...]) -> val.Value:
        (x,) = parts
        if isinstance(x, val.ConstantNumber) and not isinstance(x.value, bool):
            folded = _folded(name, x.value)
            if folded is not None:
                return val.ConstantNumber(folded)
        return apply.elementwise(round, frame, apply.operator(name), (x,), span)

    return apply.map_together(round, leaf, (value,), span)


def _cast(round: Round, frame: Frame, dtype: DType, value: val.Value, span: Span) -> val.Value:
    def leaf(parts: tuple[val.Value, ...]) -> val.Value:
        (x,) = parts
        if isinstance(x, val.ConstantNumber) and dtype.is_int and not isinstance(x.value, float):
            if x.value in dtype.integers:
                literal = apply.operator("literal", value=int(x.value), dtype=dtype, weak=False)
                return apply.make(round, frame, literal, (), span)[0]
            apply.check_reach(x.value, dtype, span)
        return apply.elementwise(round, frame, apply.operator("cast", dtype=dtype), (x,), span)

    return apply.map_together(round, leaf, (value,), span)


def _folded(name: str, x: int | float) -> int | float | None:
    try:
        if name in FOLDED_KEEPING_TYPE and math.isfinite(x):
            return FOLDED_KEEPING_TYPE[name](x)
        if name in FOLDED:
            return FOLDED[name](float(x))
    except (ValueError, OverflowError, ZeroDivisionError):
        return None
    return None


def _binary(
    round: Round, frame: Frame, name: str, a: val.Value, b: val.Value, span: Span
) -> val.Value:
    def leaf(parts: tuple[val.Value, ...]) -> val.Value:
        x, y = parts
        if name in builtin_names.BITWISE:
            return apply.elementwise(round, frame, apply.operator(name), (x, y), span)
        if isinstance(x, val.ConstantNumber) and isinstance(y, val.ConstantNumber):
            if name == "power":
                return fold("**", x, y, span)
            extreme = (min if name == "minimum" else max)(x.value, y.value)
            inexact = isinstance(x.value, float) or isinstance(y.value, float)
            return val.ConstantNumber(float(extreme) if inexact else extreme)
        return apply.elementwise(round, frame, apply.operator(name), (x, y), span)

    return apply.map_together(round, leaf, (a, b), span)


def _is_axis(bound: BoundArguments, x: val.Ref) -> bool:
    """Whether `axis` can be one of `x`; a number by position, after a number, is a second value."""
    value, is_named = bound["axis"], "=" in bound.places["axis"].text
    is_integer = isinstance(value, val.ConstantNumber) and isinstance(value.value, int)
    return (is_integer and (is_named or bool(x.type.shape))) or isinstance(value, val.Listing)


def _reduction(round: Round, frame: Frame, name: str, bound: BoundArguments) -> val.Value:
    x = apply.tensor(round, frame, bound["x"], bound.span)
    if name in ("min", "max") and bound.has("axis") and not _is_axis(bound, x):
        other = "minimum" if name == "min" else "maximum"
        raise Failure(type_errors.extremum(bound.span, name, other))
    if name in ("sum", "prod") and x.type.dtype.is_byte:  # as in NumPy and JAX
        wide = DType.U32 if x.type.dtype.is_unsigned else DType.I32
        x = apply.make(round, frame, apply.operator("cast", dtype=wide), (x,), bound.span)[0]
    op: Op = apply.operator(name, axes=bound.axes(), keepdims=bound.flag("keepdims"))
    return apply.make(round, frame, op, (x,), bound.span)[0]
