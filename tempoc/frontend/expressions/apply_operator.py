"""Builds draft nodes: operands, type inference of operators, mapping over trees of values."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

from tempoc.diagnostics.source import Span
from tempoc.frontend.environment.draft_node import Doubt, Draft, Wire
from tempoc.frontend.environment.failure import Failure, StillUnknown
from tempoc.frontend.environment.lower_bounds import (
    deferred,
    doubt_of,
    is_open,
    operand_types,
    stand_in,
)
from tempoc.frontend.environment.round import Frame, FrameFacts, Round
from tempoc.frontend.environment.values import (
    ConstantNumber,
    Index,
    Listing,
    RecordValue,
    Ref,
    Typed,
    Unknown,
    Value,
    dims_of,
    map_leaves,
    unknown_in,
)
from tempoc.frontend.errors import lengths as ending_errors, types as type_errors
from tempoc.frontend.expressions.weak_literals import typed_literal
from tempoc.ops.catalog import OPS
from tempoc.ops.control.control import Copy
from tempoc.ops.definition.operator import Op, OperandError
from tempoc.ops.definition.types import DType, TensorType
from tempoc.ops.random.draws import KEY
from tempoc.ops.tensor.source import IndexValue, Literal
from tempoc.sdg.graph.query import expressions
from tempoc.symbolic.expr import Entry, Expr, Slice, Sym
from tempoc.symbolic.walk import extent, is_condition, substitute, symbols, written_integers

_CLASH = re.compile(r": (\S.*) is not (\S.*)$")


def read(
    round: Round, frame: Frame, draft: Draft, out: int, entries: tuple[Entry, ...], span: Span
) -> Ref:
    """Output `out` of a node at these entries. Raises `Failure` for a ragged slice."""
    source = draft.types[out]
    points: dict[str, Expr] = {}
    at = dict(zip(draft.dims, entries, strict=True))
    for e in source.shape:
        if bound := round.universe.moves(e, at):
            dim = next(d for d in round.universe.outer(bound) if at.get(d) != Sym(d))
            raise Failure(ending_errors.other_length(span, span.text, bound, dim))
    axes: list[Expr] = []
    for dim, entry in zip(draft.dims, entries, strict=True):
        if isinstance(entry, Slice):
            axes.append(slice_extent(round, frame, entry))
            for e in source.shape:
                if dim in symbols(e):
                    raise Failure(type_errors.ragged_slice(span, draft.hint, dim, source))
        elif entry != Sym(dim):
            points[dim] = entry
    shape = source.shape
    if points:
        shape = tuple(substitute(e, points) for e in shape)
    return Ref(draft, out, entries, TensorType(source.dtype, (*axes, *shape), source.weak), span)


def slice_extent(round: Round, frame: Frame, entry: Slice) -> Expr:
    """The extent of a slice, simplified for the points of the frame."""
    length = extent(entry)
    return round.space.reduce(length, round.domain(frame.where, length))


def identity(round: Round, frame: Frame, draft: Draft, span: Span, out: int = 0) -> Ref:
    """Output `out` of a node at the current point."""
    return Ref(draft, out, tuple(Sym(d) for d in draft.dims), draft.types[out], span)


def tensor(round: Round, frame: Frame, value: Value, span: Span) -> Ref:
    """A leaf as a tensor; numbers and index expressions become nodes. Raises `Failure`."""
    match value:
        case Ref():
            return value
        case ConstantNumber(value=number):
            check_number(number, DType.I32, span)
            return make(round, frame, literal(number), (), span)[0]
        case Index(expr=expr):
            for number in written_integers(expr):
                check_number(number, DType.I32, span)
            return make(round, frame, IndexValue(expr=expr), (), span)[0]
        case _:
            raise Failure(type_errors.not_a_tensor(span, value))


def check_number(number: int | float, dtype: DType, span: Span) -> None:
    """Raises `Failure` for an integer that is too large for a dtype of integers."""
    if dtype.is_int and isinstance(number, int) and number not in dtype.integers:
        raise Failure(type_errors.bad_literal(span, str(number), dtype.value))


def literal(number: int | float | bool) -> Op:
    """The operator of a compile-time number."""
    if isinstance(number, bool):
        return Literal(value=number, dtype=DType.BOOL, weak=False)
    return Literal(
        value=number, dtype=DType.I32 if isinstance(number, int) else DType.F32, weak=True
    )


def type_of(value: Value, span: Span) -> TensorType:
    """The type of a leaf as a tensor. Raises `Failure` if it is none."""
    match value:
        case Ref(type=type) | Typed(type=type):
            return type
        case ConstantNumber(value=bool()):
            return TensorType(DType.BOOL)
        case ConstantNumber(value=int()):
            return TensorType(DType.I32, weak=True)
        case ConstantNumber():
            return TensorType(DType.F32, weak=True)
        case Index(expr=expr):
            return TensorType(DType.BOOL if is_condition(expr) else DType.I32)
        case _:
            raise Failure(type_errors.not_a_tensor(span, value))


def sure_type(round: Round, value: Value, span: Span) -> TensorType:
    """The type of a leaf where its shape decides what is computed.

    Raises `Failure`, and `StillUnknown` where the shape is only a lower bound.
    """
    if doubt_of(value) is Doubt.SHAPE:
        raise deferred(round)
    return type_of(value, span)


def make(
    round: Round, frame: Frame, op: Op, args: tuple[Ref, ...], span: Span, hint: str = ""
) -> tuple[Ref, ...]:
    """A new node and reads of its outputs. Raises `Failure` if the operands do not fit."""
    try:
        types = op.infer(tuple(a.type for a in args), FrameFacts(round, frame.where))
    except OperandError as error:
        help = _way_out(error)
        raise Failure(type_errors.operands(span, error.message, help)) from None
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
    draft.doubt = doubt_of(*args)
    round.add(draft)
    return tuple(identity(round, frame, draft, span, k) for k in range(len(types)))


def spread(round: Round, frame: Frame, ref: Ref, dims: tuple[str, ...]) -> Ref:
    """A value broadcast to additional dimensions, by a copy over the larger domain."""
    own = dims_of(ref, round.universe)
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
    round: Round, frame: Frame, value: Value, dims: tuple[str, ...], span: Span
) -> Value:
    """A tree broadcast to at least these dimensions, which were named in its expression.

    `x[t - t]` is `x[0]`, at every `t`.
    """
    if all(d in dims_of(value, round.universe) for d in dims):
        return value

    def leaf(_: tuple[str, ...], v: Value) -> Value:
        if isinstance(v, (ConstantNumber, Index, Ref)):
            return spread(round, frame, tensor(round, frame, v, span), dims)
        return v

    return map_leaves(leaf, value)


def unspread(round: Round, value: Value, dims: tuple[str, ...]) -> Value:
    """Undo `spread` over dimensions that a target does not have."""
    if not isinstance(value, Ref) or not isinstance(value.draft.op, Copy):
        return value
    draft = value.draft
    (source,) = draft.inputs
    own = source.source.dims
    plain = value.entries == tuple(Sym(d) for d in draft.dims) and source.entries == tuple(
        Sym(d) for d in own
    )
    named = round.universe.ordered(tuple(n for e in value.type.shape for n in symbols(e)))
    if draft.role != "temporary" or not plain or not all(d in dims for d in (*own, *named)):
        return value
    return Ref(source.source, source.out, source.entries, value.type, value.span)


def operator(name: str, **attributes: Any) -> Op:
    """The operator of that name in the catalog, with these attributes."""
    cls: Any = OPS[name]
    op: Op = cls(**attributes)
    return op


def _way_out(error: OperandError) -> str | None:
    """The help of an operand error; symbolic extents may be equal without a proof."""
    clash = _CLASH.search(error.message)
    if clash is None or all(e.lstrip("-").isdigit() for e in clash.groups()):
        return error.help
    return type_errors.unproved_extents(error.help)


def wire(ref: Ref, guard: Expr | None = None) -> Wire:
    """The operand of a read; counts as a use of its source."""
    ref.draft.uses += 1
    if guard is None:
        return Wire(ref.draft, ref.out, ref.entries, ref.span)
    return Wire(ref.draft, ref.out, ref.entries, ref.span, guard)


def _entries(args: tuple[Ref, ...]) -> Iterator[Entry]:
    for a in args:
        yield from a.entries


def _extents(types: tuple[TensorType, ...]) -> Iterator[Expr]:
    for t in types:
        yield from t.shape


def map_together(
    round: Round,
    f: Callable[[tuple[Value, ...]], Value],
    values: tuple[Value, ...],
    span: Span,
) -> Value:
    """`f` applied to corresponding leaves of several trees; a leaf is broadcast over trees.

    With an unknown leaf the result is unknown, with the dimensions of all leaves. In `partial`
    rounds `f` may be applied to unknown leaves together with known ones. Raises `Failure` if two
    trees differ in structure.
    """
    trees = [v for v in values if isinstance(v, (Listing, RecordValue))]
    if not trees:
        return _leaf(round, f, values)
    first = trees[0]
    for other in trees[1:]:
        if not _alike(first, other):
            raise Failure(type_errors.structure(span, first, other))
    if isinstance(first, RecordValue):
        return RecordValue(
            tuple(
                (n, map_together(round, f, tuple(_child(v, n) for v in values), span))
                for n in first.names
            )
        )
    return Listing(
        tuple(
            map_together(round, f, tuple(_child(v, k) for v in values), span)
            for k in range(len(first.items))
        )
    )


def _leaf(
    round: Round, f: Callable[[tuple[Value, ...]], Value], values: tuple[Value, ...]
) -> Value:
    unknown = unknown_in(*values)
    dims = frozenset(d for v in values for d in dims_of(v, round.universe))
    if unknown is not None:
        some = not all(isinstance(v, Unknown) for v in values)
        if not (round.partial and some and is_open(unknown)):
            return replace(unknown, dims=dims)
    try:
        return f(values)
    except StillUnknown as later:
        return replace(later.value, dims=dims)


def _alike(a: Value, b: Value) -> bool:
    if isinstance(a, RecordValue) and isinstance(b, RecordValue):
        return sorted(a.names) == sorted(b.names)
    return isinstance(a, Listing) and isinstance(b, Listing) and len(a.items) == len(b.items)


def _child(value: Value, which: str | int) -> Value:
    if isinstance(value, RecordValue) and isinstance(which, str):
        field = value.get(which)
        assert field is not None
        return field
    return value.items[which] if isinstance(value, Listing) and isinstance(which, int) else value


def elementwise(round: Round, frame: Frame, op: Op, values: tuple[Value, ...], span: Span) -> Value:
    """An operator with one result on each leaf of its operands."""

    def leaf(parts: tuple[Value, ...]) -> Value:
        known = tuple(None if isinstance(v, Unknown) else type_of(v, span) for v in parts)
        types = operand_types(round, op, known, FrameFacts(round, frame.where))
        operands = [
            stand_in(round, frame, t, (), span) if isinstance(v, Unknown) else v
            for v, t in zip(parts, types, strict=True)
        ]
        refs = tuple(_operand(round, frame, op, v, types, span) for v in operands)
        return make(round, frame, op, refs, span)[0]

    return map_together(round, leaf, values, span)


def _operand(
    round: Round, frame: Frame, op: Op, value: Value, types: tuple[TensorType, ...], span: Span
) -> Ref:
    """A leaf as an operand; a number takes the dtype of the operation."""
    if isinstance(value, ConstantNumber) and not isinstance(value.value, bool):
        number = typed_literal(op, types, value.value)
        if number is not None:
            return make(round, frame, number, (), span)[0]
    return tensor(round, frame, value, span)
