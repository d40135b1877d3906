"""`a if c else b` with an index condition, `cond`, and conversion to a common type and domain."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from tempoc.diagnostics.source import Span
from tempoc.frontend.environment.draft_node import Doubt, Draft, Wire
from tempoc.frontend.environment.failure import Failure
from tempoc.frontend.environment.lower_bounds import deferred, doubt_of, is_open, stand_in
from tempoc.frontend.environment.round import Frame, FrameFacts, Round
from tempoc.frontend.environment.values import (
    ConstantNumber,
    Listing,
    RecordValue,
    Ref,
    Unknown,
    Value,
    dims_of,
)
from tempoc.frontend.errors import types as type_errors
from tempoc.frontend.expressions import apply_operator as apply
from tempoc.frontend.expressions.weak_literals import is_literal, numbers_of, retyped
from tempoc.ops.control.cond import Cond
from tempoc.ops.control.control import Copy, Merge
from tempoc.ops.definition.operator import Op, OperandError
from tempoc.ops.definition.promotion import promote
from tempoc.ops.definition.shapes import same_shape
from tempoc.ops.definition.types import DType, TensorType
from tempoc.ops.tensor import elementwise as unary
from tempoc.ops.tensor.movement import BroadcastTo
from tempoc.ops.tensor.source import Full, Literal
from tempoc.symbolic import expr as ix
from tempoc.symbolic.walk import symbols


def without_condition(frame: Frame) -> Frame:
    """The frame of an operand of an access: its demanded points are not known here."""
    return frame.within(ix.TRUE)


def split(round: Round, frame: Frame, holds: ix.Expr) -> tuple[Frame, Frame]:
    """The frames of the two branches."""
    frames = []
    for side in (holds, ix.negation(holds)):
        where = ix.conjunction(frame.where, side)
        box = round.domain(ix.TRUE, where)
        frames.append(frame.within(round.space.symbolic.simplify(where, box)))
    return frames[0], frames[1]


def merge_sides(
    round: Round, frame: Frame, holds: ix.Expr, then: Value, orelse: Value, span: Span
) -> Value:
    """The merge of two branches, leaf by leaf. Raises `Failure`."""
    guards = holds, ix.negation(holds)

    def leaf(parts: tuple[Value, ...]) -> Value:
        early = _partial_type(round, frame, parts, span, symbols(holds))
        if early is not None:
            return early
        types = [apply.type_of(v, span) for v in parts]
        sides = (frame.within(ix.conjunction(frame.where, g)) for g in guards)
        type = common_type(round, tuple(sides), parts, types, span)
        names = [*dims_of(parts[0], round.universe), *dims_of(parts[1], round.universe)]
        names += [n for e in (holds, *type.shape) for n in symbols(e)]
        dims = round.universe.ordered(tuple(names))
        draft = Draft(
            hint=f"{frame.prefix}.if",
            dims=dims,
            types=(type,),
            origin=frame.origin,
            op=Merge(targets=(tuple(ix.Sym(d) for d in dims),) * 2),
            spans=(span,),
            doubt=_doubt(parts),
        )
        entries = tuple(ix.Sym(d) for d in dims)
        for value, word, guard in zip(parts, ("then", "else"), guards, strict=True):
            side = Draft(
                hint=f"{frame.prefix}.{word}",
                dims=dims,
                types=(type,),
                origin=frame.origin,
                spans=(span,),
            )
            conform(round, frame.within(ix.conjunction(frame.where, guard)), value, side, span)
            draft.inputs.append(Wire(side, 0, entries, span, guard))
            side.uses += 1
        round.add(draft)
        return apply.identity(round, frame, draft, span)

    return apply.map_together(round, leaf, (then, orelse), span)


def merge_or_choose(
    round: Round, frame: Frame, holds: ix.Expr, sides: tuple[Value, Value], span: Span
) -> Value:
    """The first of ``sides`` where the condition holds, else the second. Raises `Failure`."""
    if isinstance(holds, ix.Truth):
        return choose_constant(round, frame, sides, holds.value, span)
    return merge_sides(round, frame, holds, *sides, span)


def types_literals(value: Value) -> bool:
    """Whether literals beside a value take a shape or a dtype that they do not have by themselves.

    So they do beside a tree, and maybe beside a value that is not known yet.
    """
    if isinstance(value, Ref):
        plain = value.type.dtype in (DType.BOOL, DType.I32, DType.F32)
        return bool(value.type.shape) or not plain or doubt_of(value) is not Doubt.NONE
    return isinstance(value, Unknown | Listing | RecordValue)


def choose_constant(
    round: Round,
    frame: Frame,
    sides: tuple[Value, Value],
    first: bool,
    span: Span,
    word: str = "if",
) -> Value:
    """The branch of a constant condition, with the common type and the dimensions of both.

    Raises `Failure`.
    """

    def leaf(parts: tuple[Value, ...]) -> Value:
        early = _partial_type(round, frame, parts, span, ())
        if early is not None:
            return early
        types = [apply.type_of(v, span) for v in parts]
        type = common_type(round, (frame, frame), parts, types, span, word)
        ref = converted(round, frame, parts[0 if first else 1], type, span)
        return apply.spread(round, frame, ref, dims_of(Listing(parts), round.universe))

    return apply.map_together(round, leaf, sides, span)


def conditional(
    round: Round, frame: Frame, p: Value, then: Value, orelse: Value, span: Span
) -> Value:
    """`cond(p, then, orelse)`, leaf by leaf. Raises `Failure`."""
    if isinstance(p, ConstantNumber) and isinstance(p.value, bool):
        return choose_constant(round, frame, (then, orelse), p.value, span, "cond")
    if isinstance(p, Unknown):
        if not (round.partial and is_open(p)):
            return p
        p = stand_in(round, frame, TensorType(DType.BOOL), (), span)
    condition = apply.tensor(round, frame, p, span)

    def leaf(parts: tuple[Value, ...]) -> Value:
        early = _partial_type(round, frame, parts, span, condition.draft.dims)
        if early is not None:
            return early
        types = [apply.type_of(v, span) for v in parts]
        type = common_type(round, (frame, frame), parts, types, span, "cond")
        a, b = (converted(round, frame, v, type, span) for v in parts)
        return apply.make(round, frame, Cond(), (condition, a, b), span)[0]

    return apply.map_together(round, leaf, (then, orelse), span)


def _partial_type(
    round: Round, frame: Frame, parts: tuple[Value, ...], span: Span, names: Iterable[str]
) -> Value | None:
    """A stand-in for two branches of which one is unknown or doubtful; `None` if both are known.

    The better known branch determines the type: unless it is a number, both have its shape. Raises
    `StillUnknown`.
    """
    known, other = sorted(parts, key=_rank)
    dims = round.universe.ordered((*dims_of(Listing(parts), round.universe), *names))
    if not isinstance(other, Unknown):
        if doubt_of(other) < Doubt.SHAPE or is_literal(known):
            return None
        types = apply.type_of(known, span), apply.type_of(other, span)
        if same_shape(types[0].shape, types[1].shape, FrameFacts(round, frame.where)):
            return None
        if doubt_of(known) is Doubt.SHAPE:
            raise deferred(round)
    doubt = Doubt.SHAPE if is_literal(known) else Doubt.DTYPE
    least = apply.type_of(known, span)
    return stand_in(round, frame, least, dims, span, max(doubt, doubt_of(known)))


def _rank(value: Value) -> tuple[bool, bool, int]:
    """A sort key: better known values first."""
    return isinstance(value, Unknown), is_literal(value), doubt_of(value)


def _doubt(parts: tuple[Value, ...]) -> Doubt:
    """The doubt of the merged type: one branch of sure shape determines the shape."""
    shaped = [doubt_of(v) for v in parts if not is_literal(v)]
    if not shaped:
        return Doubt.NONE
    return min(max(shaped), Doubt.DTYPE) if min(shaped) < Doubt.SHAPE else Doubt.SHAPE


def common_type(
    round: Round,
    frames: tuple[Frame, ...],
    values: tuple[Value, ...],
    types: list[TensorType],
    span: Span,
    word: str = "if",
) -> TensorType:
    """The promoted dtype and the common shape, each in its frame; numbers fit any shape."""
    try:
        dtype, weak = promote(types)
    except OperandError as error:
        raise Failure(type_errors.operands(span, error.message, error.help)) from None
    triples = zip(values, types, frames, strict=True)
    shaped = [(t, FrameFacts(round, f.where)) for v, t, f in triples if not is_literal(v)]
    if not shaped:
        return TensorType(dtype, types[0].shape, weak)
    for first, _ in shaped:
        if all(same_shape(first.shape, other.shape, facts) for other, facts in shaped):
            return TensorType(dtype, first.shape, weak)
    raise Failure(type_errors.choice_types(span, word, shaped[0][0], shaped[1][0]))


def conform(round: Round, frame: Frame, value: Value, draft: Draft, span: Span) -> None:
    """Define `draft`, whose type and dimensions are set, as the value of a leaf."""
    type = draft.types[0]
    ref = converted(round, frame, value, type, span)
    source = ref.draft
    if can_reuse(ref, draft) and round.order.is_first_use(draft, source):
        draft.copy_from(source)
    else:
        draft.op, draft.inputs = Copy(), [apply.wire(ref)]
    draft.types = (type,)
    draft.doubt = max(draft.doubt, ref.draft.doubt)
    round.add(draft)


def can_reuse(ref: Ref, draft: Draft) -> bool:
    """Whether `draft` can take over the computation of the node read, if that has no other use."""
    source = ref.draft
    return (
        source.role == "temporary"
        and source.op is not None
        and len(source.types) == 1
        and source.dims == draft.dims
        and ref.entries == tuple(ix.Sym(d) for d in source.dims)
        and not (isinstance(source.op, Merge) and draft.role == "temporary")
    )


def converted(round: Round, frame: Frame, value: Value, type: TensorType, span: Span) -> Ref:
    """A leaf converted to this dtype and shape.

    Numbers of a weak type may yet meet `i64`; `check_literals` looks at what became of them.
    """
    if isinstance(value, ConstantNumber):
        number = value.value
        apply.check_number(number, DType.I64 if type.weak else type.dtype, span)
        if type.dtype.is_float:
            number = float(number)
        op: Op = Literal(value=number, dtype=type.dtype, weak=type.weak)
        if type.shape and not type.weak:
            op = Full(shape=type.shape, value=number, dtype=type.dtype)
        ref = apply.make(round, frame, op, (), span)[0]
    else:
        ref = apply.tensor(round, frame, value, span)
    for number in numbers_of(ref):
        apply.check_number(number, DType.I64 if type.weak else type.dtype, span)
    ref = retyped(round, ref, type.dtype, type.weak)
    if ref.type.dtype is not type.dtype:
        ref = apply.make(round, frame, unary.Cast(dtype=type.dtype), (ref,), span)[0]
        ref = replace(ref, type=replace(ref.type, weak=type.weak))
        ref.draft.types = (ref.type,)
    if not same_shape(ref.type.shape, type.shape, FrameFacts(round, frame.where)):
        ref = apply.make(round, frame, BroadcastTo(shape=type.shape), (ref,), span)[0]
    return ref
