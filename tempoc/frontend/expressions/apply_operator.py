"""Builds draft nodes: operands, type inference of operators, mapping over trees of values."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

from tempoc.diagnostics.diagnostic import Collector
from tempoc.diagnostics.source import Span
from tempoc.frontend.environment import lower_bounds, values as val
from tempoc.frontend.environment.draft_node import Doubt, Draft, Wire
from tempoc.frontend.environment.failure import Failure, StillUnknown
from tempoc.frontend.environment.round import Frame, FrameFacts, Round
from tempoc.frontend.errors import lengths as ending_errors, types as type_errors
from tempoc.frontend.expressions import weak_literals as literals
from tempoc.ops.catalog import OPS
from tempoc.ops.control.control import Copy, Select
from tempoc.ops.definition.operator import Op, OperandError
from tempoc.ops.definition.promotion import numeric, promote
from tempoc.ops.definition.shapes import NO_AXIS
from tempoc.ops.definition.types import DType, TensorType
from tempoc.ops.random.draws import KEY
from tempoc.ops.tensor.reduction import has_element
from tempoc.ops.tensor.source import Full, IndexValue, Literal
from tempoc.sdg.graph.query import expressions
from tempoc.symbolic import expr as ix
from tempoc.symbolic.text import show
from tempoc.symbolic.walk import extent, is_condition, substitute, symbols, written_integers

_CLASH = re.compile(r": (\S.*) is not (\S.*)$")


def read(
    round: Round, frame: Frame, draft: Draft, out: int, entries: tuple[ix.Entry, ...], span: Span
) -> val.Ref:
    """Output `out` of a node at these entries. Raises `Failure` for a ragged slice."""
    source = draft.types[out]
    points: dict[str, ix.Expr] = {}
    at = dict(zip(draft.dims, entries, strict=True))
    for e in source.shape:
        if bound := round.universe.moves(e, at):
            dim = next(d for d in round.universe.outer(bound) if at.get(d) != ix.Sym(d))
            raise Failure(ending_errors.other_length(span, span.text, bound, dim))
    axes: list[ix.Expr] = []
    for dim, entry in zip(draft.dims, entries, strict=True):
        if isinstance(entry, ix.Slice):
            axes.append(slice_extent(round, frame, entry))
            for e in source.shape:
                if dim in symbols(e):
                    raise Failure(type_errors.ragged_slice(span, draft.hint, dim, source))
        elif entry != ix.Sym(dim):
            points[dim] = entry
    shape = source.shape
    if points:
        shape = tuple(substitute(e, points) for e in shape)
    type = TensorType(source.dtype, (*axes, *shape), source.weak)
    return val.Ref(draft, out, entries, type, span, calls=frame.origin.calls)


def slice_extent(round: Round, frame: Frame, entry: ix.Slice) -> ix.Expr:
    """The extent of a slice, simplified for the points of the frame."""
    length = extent(entry)
    return round.space.reduce(length, round.domain(frame.where, length))


def identity(round: Round, frame: Frame, draft: Draft, span: Span, out: int = 0) -> val.Ref:
    """Output `out` of a node at the current point."""
    return val.Ref(draft, out, tuple(ix.Sym(d) for d in draft.dims), draft.types[out], span)


def tensor(round: Round, frame: Frame, value: val.Value, span: Span) -> val.Ref:
    """A leaf as a tensor; numbers and index expressions become nodes. Raises `Failure`."""
    match value:
        case val.Ref():
            return value
        case val.ConstantNumber(value=number):
            check_number(number, DType.I32, span)
            return make(round, frame, literal(number), (), span)[0]
        case val.Index(expr=expr):
            for number in written_integers(expr):
                check_number(number, DType.I32, span)
            return make(round, frame, IndexValue(expr=expr), (), span)[0]
        case _:
            raise Failure(type_errors.not_a_tensor(span, value))


def check_number(number: int | float, dtype: DType, span: Span) -> None:
    """Raises `Failure` for an integer that is too large for a dtype of integers."""
    if dtype.is_int and isinstance(number, int) and number not in dtype.integers:
        raise Failure(type_errors.bad_literal(span, str(number), dtype.value))


def check_literals(drafts: Iterable[Draft], errors: Collector) -> None:
    """Report numbers that conditions choose and that met nothing of a dtype that holds them."""
    for draft in drafts:
        if isinstance(draft.op, Literal | Full):
            try:
                check_number(draft.op.value, draft.op.dtype, draft.spans[0])
            except Failure as failure:
                errors.report(failure.diagnostic)


@contextmanager
def of_last_round(round: Round, frame: Frame) -> Iterator[None]:
    """Report what fails in a check, and go on, where dtypes may change until the last round.

    What is reported in earlier rounds is forgotten; to stop there would hide the type.
    """
    try:
        yield
    except Failure as failure:
        if not round.partial:
            raise
        round.report(failure.diagnostic, frame.origin.calls)


def check_reach(number: int, dtype: DType, span: Span) -> None:
    """Raises `Failure` for an integer that is written and that a dtype does not reach."""
    if not dtype.reaches(number):
        raise Failure(type_errors.bad_literal(span, str(number), dtype.value))


def literal(number: int | float | bool) -> Op:
    """The operator of a compile-time number."""
    if isinstance(number, bool):
        return Literal(value=number, dtype=DType.BOOL, weak=False)
    return Literal(
        value=number, dtype=DType.I32 if isinstance(number, int) else DType.F32, weak=True
    )


def type_of(value: val.Value, span: Span) -> TensorType:
    """The type of a leaf as a tensor. Raises `Failure` if it is none."""
    match value:
        case val.Ref(type=type) | val.Typed(type=type):
            return type
        case val.ConstantNumber(value=bool()):
            return TensorType(DType.BOOL)
        case val.ConstantNumber(value=int()):
            return TensorType(DType.I32, weak=True)
        case val.ConstantNumber():
            return TensorType(DType.F32, weak=True)
        case val.Index(expr=expr):
            return TensorType(DType.BOOL if is_condition(expr) else DType.I32)
        case _:
            raise Failure(type_errors.not_a_tensor(span, value))


def sure_type(round: Round, value: val.Value, span: Span) -> TensorType:
    """The type of a leaf where its shape decides what is computed.

    Raises `Failure`, and `StillUnknown` where the shape is only a lower bound.
    """
    if lower_bounds.doubt_of(value) is Doubt.SHAPE:
        raise lower_bounds.deferred(round)
    return type_of(value, span)


def make(
    round: Round, frame: Frame, op: Op, args: tuple[val.Ref, ...], span: Span, hint: str = ""
) -> tuple[val.Ref, ...]:
    """A new node and reads of its outputs. Raises `Failure` if the operands do not fit."""
    if op.contraction:
        args = _counted(round, frame, args, span)
    try:
        types = op.infer(tuple(a.type for a in args), FrameFacts(round, frame.where))
    except OperandError as error:
        if error.rewrites and frame.origin.calls:
            error.help = None  # of a call, the arguments may be what is wrong
        help = _empty_axis(round, frame, error, args) or way_out(round, error, args)
        notes = _slices_of_steps(round, args)
        raise Failure(type_errors.operands(span, error.message, help, *notes)) from None
    if any(t.dtype is DType.KEY and t.shape[-1:] != KEY.shape for t in types):
        raise Failure(type_errors.key_parts(span))
    names = dict.fromkeys(
        n for e in (*_entries(args), *expressions(op), *_extents(types)) for n in symbols(e)
    )
    draft = Draft(
        hint=f"{frame.prefix}.{hint or op.name}",
        dims=round.universe.ordered(tuple(names)),
        types=types,
        origin=frame.origin,
        op=op,
        spans=(span,),
    )
    draft.inputs = [wire(a) for a in args]
    draft.doubt = lower_bounds.doubt_of(*args)
    round.add(draft)
    return tuple(identity(round, frame, draft, span, k) for k in range(len(types)))


def _counted(
    round: Round, frame: Frame, factors: tuple[val.Ref, ...], span: Span
) -> tuple[val.Ref, ...]:
    """Factors of which a `bool` counts as 0 or 1 of the dtype of the others, or of `i32`."""
    types = [f.type for f in factors if f.type.dtype is not DType.KEY]
    if all(t.dtype is not DType.BOOL for t in types):
        return factors
    cast = operator("cast", dtype=numeric(promote(types))[0])
    return tuple(
        make(round, frame, cast, (f,), span)[0] if f.type.dtype is DType.BOOL else f
        for f in factors
    )


def spread(round: Round, frame: Frame, ref: val.Ref, dims: tuple[str, ...]) -> val.Ref:
    """A value broadcast to additional dimensions, by a copy over the larger domain."""
    own = val.dims_of(ref, round.universe)
    if all(d in own for d in dims):
        return ref
    draft = Draft(
        hint=f"{frame.prefix}.{ref.draft.hint.rsplit('.', 1)[-1]}",
        dims=round.universe.ordered((*own, *dims)),
        types=(ref.type,),
        origin=frame.origin,
        op=Copy(),
        spans=(ref.span,),
        doubt=ref.draft.doubt,
    )
    draft.inputs = [wire(ref)]
    round.add(draft)
    return identity(round, frame, draft, ref.span)


def spread_all(
    round: Round, frame: Frame, value: val.Value, dims: tuple[str, ...], span: Span
) -> val.Value:
    """A tree broadcast to at least these dimensions, which were named in its expression.

    `x[t - t]` is `x[0]`, at every `t`.
    """
    if all(d in val.dims_of(value, round.universe) for d in dims):
        return value

    def leaf(_: tuple[str, ...], v: val.Value) -> val.Value:
        if isinstance(v, (val.ConstantNumber, val.Index, val.Ref)):
            return spread(round, frame, tensor(round, frame, v, span), dims)
        return v

    return val.map_leaves(leaf, value)


def unspread(round: Round, value: val.Value, dims: tuple[str, ...]) -> val.Value:
    """Undo `spread` over dimensions that a target does not have."""
    if not isinstance(value, val.Ref) or not isinstance(value.draft.op, Copy):
        return value
    draft = value.draft
    (source,) = draft.inputs
    own = source.source.dims
    plain = value.entries == tuple(ix.Sym(d) for d in draft.dims) and source.entries == tuple(
        ix.Sym(d) for d in own
    )
    named = round.universe.ordered(tuple(n for e in value.type.shape for n in symbols(e)))
    if draft.role != "temporary" or not plain or not all(d in dims for d in (*own, *named)):
        return value
    return val.Ref(source.source, source.out, source.entries, value.type, value.span)


def operator(name: str, **attributes: Any) -> Op:
    """The operator of that name in the catalog, with these attributes."""
    cls: Any = OPS[name]
    op: Op = cls(**attributes)
    return op


def way_out(round: Round, error: OperandError, args: tuple[val.Value, ...]) -> str | None:
    """The help of an operand error; symbolic extents may be equal without a proof.

    Of an axis that a number at each step does not have, the steps may be meant, of the innermost
    dimension.
    """
    if error.help is None and NO_AXIS in error.message:
        for a in args:
            dims = val.dims_of(a, round.universe) if isinstance(a, val.Ref) else ()
            if isinstance(a, val.Ref) and dims and "\n" not in (shown := a.span.text):
                entry = f"{dims[-1]} = 0:{round.universe.dim(dims[-1]).bound}"
                shown = shown if re.fullmatch(r"\w+", shown) else f"({shown})"
                return type_errors.axes_of_steps(shown, entry)
    clash = _CLASH.search(error.message)
    if clash is None or all(e.lstrip("-").isdigit() for e in clash.groups()):
        return error.help
    return type_errors.unproved_extents(error.help)


def _empty_axis(
    round: Round, frame: Frame, error: OperandError, args: Sequence[val.Ref]
) -> str | None:
    """The help for an axis that may be empty: only where an operand has no value, or by data."""
    if error.empty is None:
        return None
    if any(d.bound in symbols(error.empty) for d in round.data_dims.values()):
        return type_errors.empty_by_data(show(error.empty))
    seen: set[Draft] = set()
    pending = [(a.draft, a.entries) for a in args]
    while pending:
        source, entries = pending.pop()
        if source in seen or entries != tuple(ix.Sym(d) for d in source.dims):
            continue
        seen.add(source)
        inside = FrameFacts(round, ix.conjunction(frame.where, source.defined))
        if source.defined != ix.TRUE and has_element(error.empty, inside):
            return type_errors.defined_only(source.hint, show(source.defined))
        pending += [(w.source, w.entries) for w in source.inputs if source.role == "temporary"]
    return None


def _slices_of_steps(round: Round, args: Sequence[val.Ref]) -> dict[str, None]:
    """Notes on `x[0:4]` in operands where `x` has as many axes as dimensions: which were meant?"""
    notes: dict[str, None] = {}
    seen: set[Draft] = set()
    pending: list[val.Ref | Wire] = [*args]
    while pending:
        read = pending.pop(0)
        source = read.draft if isinstance(read, val.Ref) else read.source
        if source.role == "temporary" and source.inputs:
            pending += source.inputs if source not in seen else []
            seen.add(source)
        elif _slices_all(round, read, source):
            notes[type_errors.temporal_slice(read.span.text, source.dims)] = None
    return notes


def _slices_all(round: Round, read: val.Ref | Wire, source: Draft) -> bool:
    """Whether a read takes positional slices of all dimensions of a tensor with as many axes."""
    dims, slices = source.dims, [e for e in read.entries if isinstance(e, ix.Slice)]
    own = source.types[read.out].ndim if source.types else 0
    if not dims or len(slices) < len(dims) or own < len(dims):
        return False
    whole = [ix.Slice(ix.ZERO, ix.Sym(round.universe.dim(d).bound)) for d in dims]
    parts = [e for e in slices if e not in whole]
    positional = re.fullmatch(r"\w+\[[^=\[\]]*\]", read.span.text) is not None
    return positional and any(isinstance(e.hi, ix.Const) for e in parts)


def wire(ref: val.Ref) -> Wire:
    """The operand of a read; counts as a use of its source."""
    ref.draft.uses += 1
    return Wire(ref.draft, ref.out, ref.entries, ref.span, calls=ref.calls)


def _entries(args: tuple[val.Ref, ...]) -> Iterator[ix.Entry]:
    for a in args:
        yield from a.entries


def _extents(types: tuple[TensorType, ...]) -> Iterator[ix.Expr]:
    for t in types:
        yield from t.shape


def map_together(
    round: Round,
    f: Callable[[tuple[val.Value, ...]], val.Value],
    values: tuple[val.Value, ...],
    span: Span,
) -> val.Value:
    """`f` applied to corresponding leaves of several trees; a leaf is broadcast over trees.

    With an unknown leaf the result is unknown, with the dimensions of all leaves. In `partial`
    rounds `f` may be applied to unknown leaves together with known ones. Raises `Failure` if two
    trees differ in structure.
    """
    trees = [v for v in values if isinstance(v, (val.Listing, val.RecordValue))]
    if not trees:
        return _leaf(round, f, values)
    first = trees[0]
    for other in trees[1:]:
        if not _alike(first, other):
            raise Failure(type_errors.structure(span, first, other))
    if isinstance(first, val.RecordValue):
        return val.RecordValue(
            tuple(
                (n, map_together(round, f, tuple(_child(v, n) for v in values), span))
                for n in first.names
            )
        )
    return val.Listing(
        tuple(
            map_together(round, f, tuple(_child(v, k) for v in values), span)
            for k in range(len(first.items))
        )
    )


def _leaf(
    round: Round, f: Callable[[tuple[val.Value, ...]], val.Value], values: tuple[val.Value, ...]
) -> val.Value:
    unknown = val.unknown_in(*values)
    if unknown is not None:
        some = not all(isinstance(v, val.Unknown) for v in values)
        if not (round.partial and some and lower_bounds.is_open(unknown)):
            return _with_dims(round, unknown, values)
    try:
        return f(values)
    except StillUnknown as later:
        return _with_dims(round, later.value, values)


def _with_dims(round: Round, unknown: val.Unknown, values: tuple[val.Value, ...]) -> val.Unknown:
    """An unknown value with the dimensions of the values that it depends on."""
    dims = frozenset(d for v in values for d in val.dims_of(v, round.universe))
    return replace(unknown, dims=dims)


def _alike(a: val.Value, b: val.Value) -> bool:
    if isinstance(a, val.RecordValue) and isinstance(b, val.RecordValue):
        return sorted(a.names) == sorted(b.names)
    return (
        isinstance(a, val.Listing) and isinstance(b, val.Listing) and len(a.items) == len(b.items)
    )


def _child(value: val.Value, which: str | int) -> val.Value:
    if isinstance(value, val.RecordValue) and isinstance(which, str):
        field = value.get(which)
        assert field is not None
        return field
    return (
        value.items[which] if isinstance(value, val.Listing) and isinstance(which, int) else value
    )


def elementwise(
    round: Round, frame: Frame, op: Op, values: tuple[val.Value, ...], span: Span
) -> val.Value:
    """An operator with one result on each leaf of its operands."""

    def leaf(parts: tuple[val.Value, ...]) -> val.Value:
        known = tuple(None if isinstance(v, val.Unknown) else type_of(v, span) for v in parts)
        types = lower_bounds.operand_types(round, op, known, FrameFacts(round, frame.where))
        operands = [
            lower_bounds.stand_in(round, frame, t, val.dims_of(v, round.universe), span)
            if isinstance(v, val.Unknown)
            else v
            for v, t in zip(parts, types, strict=True)
        ]
        refs = tuple(operand(round, frame, op, v, types, span) for v in operands)
        return make(round, frame, op, refs, span)[0]

    return map_together(round, leaf, values, span)


def operand(
    round: Round, frame: Frame, op: Op, value: val.Value, types: tuple[TensorType, ...], span: Span
) -> val.Ref:
    """A leaf as an operand; a number takes the dtype of the operation."""
    if isinstance(value, val.Ref) and not value.type.weak:
        return value
    if isinstance(value, val.ConstantNumber) and not isinstance(value.value, bool):
        typed = literals.typed_literal(op, types, value.value)
        if typed is not None:
            return make(round, frame, typed, (), span)[0]
    dtype, weak = literals.common_dtype(op, types)
    numbers = literals.numbers_of(value)
    fits = not weak and all(literals.holds(dtype, n) for n in numbers)
    if fits and isinstance(value, val.Ref):
        value = literals.retyped(round, value, dtype)
        strong = replace(value.type, weak=False), TensorType(dtype)
        if promote(strong)[0] is dtype:
            return value
        # Passes may make of a tensor of numbers, which gives way, one that does not.
        return make(round, frame, operator("cast", dtype=dtype), (value,), span)[0]
    for number in numbers if dtype.is_byte else ():
        if isinstance(number, int):
            with of_last_round(round, frame):
                check_reach(number, dtype, span)
    choice = isinstance(op, Select) or op.moves
    if weak and choice and isinstance(value, val.ConstantNumber):
        check_number(value.value, DType.I64, span)
        return make(round, frame, literal(value.value), (), span)[0]
    return tensor(round, frame, value, span)


def operands(
    round: Round, frame: Frame, op: Op, values: Sequence[val.Value], span: Span
) -> tuple[val.Ref, ...]:
    """Leaves as the operands of an operator; numbers take the dtype of the operation."""
    types = tuple(type_of(v, span) for v in values)
    return tuple(operand(round, frame, op, v, types, span) for v in values)
