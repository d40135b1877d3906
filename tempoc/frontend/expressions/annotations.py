"""Type annotations: of declarations, of targets, and `as`."""

from __future__ import annotations

from dataclasses import replace
from functools import partial

from tempoc.diagnostics.source import Span
from tempoc.frontend.environment import values as val
from tempoc.frontend.environment.failure import Failure, StillUnknown
from tempoc.frontend.environment.lower_bounds import is_open
from tempoc.frontend.environment.round import CastExtent, Frame, FrameFacts, Round
from tempoc.frontend.environment.scope import CastName, PendingExtent
from tempoc.frontend.errors import types as type_errors
from tempoc.frontend.expressions import (
    apply_operator as apply,
    index_expressions as indices,
    weak_literals as literals,
)
from tempoc.frontend.expressions.conditional import converted
from tempoc.frontend.expressions.partial_types import stand_ins
from tempoc.frontend.syntax import ast
from tempoc.frontend.syntax.casts import casts, extents
from tempoc.ops.control.control import Copy, Ensure
from tempoc.ops.definition.types import DType, TensorType
from tempoc.ops.random.draws import KEY
from tempoc.ops.tensor import elementwise as unary
from tempoc.symbolic import expr as ix
from tempoc.symbolic.domain import Domain
from tempoc.symbolic.walk import is_affine, symbols

PLENTY = 8
"""A condition that no bounds of at least this size satisfy is an error, not an edge case."""


def type_tree(round: Round, frame: Frame, e: ast.TypeExpr) -> val.Value:
    """A type expression as a tree of types. Raises `Failure` or `StillUnknown`."""
    if isinstance(e, ast.RecordType):
        return val.RecordValue(tuple((f.name, type_tree(round, frame, f.type)) for f in e.fields))
    shape = tuple(indices.extent(round.evaluate(frame, x), x.span) for x in e.extents)
    if e.dtype == "key":
        shape = (*shape, *KEY.shape)
    return val.Typed(TensorType(_dtype(round, frame, e), shape))


def _dtype(round: Round, frame: Frame, e: ast.TensorTypeExpr) -> DType:
    """The dtype that a type names itself, or by a constant. Raises `Failure`, `StillUnknown`."""
    if e.dtype in ast.DTYPES:
        return DType(e.dtype)
    if frame.scope.find(e.dtype) is None:
        return DType.F32  # The parser has reported it.
    start = e.span.start
    name = ast.Name(span=replace(e.span, end=start + len(e.dtype)), name=e.dtype)
    value = round.evaluate(frame, name)
    if isinstance(value, val.Unknown):
        raise StillUnknown(value)
    if not val.is_dtype(value):
        raise Failure(type_errors.needs_kind(name.span, f"`{e.dtype}`", "a dtype", value))
    assert isinstance(value, val.Builtin)
    return DType(value.name)


def assert_type(
    round: Round, frame: Frame, value: val.Value, e: ast.TypeExpr, span: Span
) -> val.Value:
    """`value as type`: like `check`, but new names are bound to its extents."""
    if isinstance(value, val.Unknown):
        for x in extents(e):
            _publish(round, frame, x, value)
        early = round.partial and is_open(value)
        fixed = early and not any(_is_new(frame, x.name) for x in extents(e))
        return declared_only(round, frame, e, span) if fixed else value
    _bind(round, frame, value, e, span)
    return check(round, frame, value, type_tree(round, frame, e), span)


def declared_only(round: Round, frame: Frame, e: ast.TypeExpr, span: Span) -> val.Value:
    """A stand-in of the annotated type for an unknown value. Raises `Failure`, `StillUnknown`."""
    return stand_ins(round, frame, type_tree(round, frame, e), (), span)


def _is_new(frame: Frame, name: str) -> bool:
    """Whether `as` binds a name: nothing has it but casts, or it waits for this very `as`."""
    known = frame.scope.find(name)
    return known is None or isinstance(known, PendingExtent | CastName)


def predeclare_extents(round: Round, frame: Frame, e: ast.Expression) -> None:
    """Bind the extents of all `as` in an expression, so that names can be used to their left."""
    for node in casts(e):
        for extent in extents(node.type):
            if _is_new(frame, extent.name) and extent.name not in frame.scope.names:
                resume = partial(_resume, round, frame, node, extent.name)
                frame.scope.bind(extent.name, PendingExtent(resume))


def _resume(round: Round, frame: Frame, node: ast.AsType, name: str) -> val.Value:
    """The extent that an `as` binds, used before the `as` is evaluated."""
    for extent in extents(node.type):
        if isinstance(frame.scope.names.get(extent.name), PendingExtent):
            del frame.scope.names[extent.name]
    value = round.evaluate(frame, node)
    otherwise = value if isinstance(value, val.Unknown) else val.BAD
    return frame.scope.names.get(name, otherwise)  # type: ignore[return-value]


def _bind(round: Round, frame: Frame, value: val.Value, e: ast.TypeExpr, span: Span) -> None:
    if isinstance(e, ast.RecordType):
        for f in e.fields:
            part = value.get(f.name) if isinstance(value, val.RecordValue) else None
            if part is not None:
                _bind(round, frame, part, f.type, span)
        return
    if not isinstance(value, (val.Ref, val.ConstantNumber)):
        return
    actual = apply.type_of(value, e.span)
    if len(e.extents) != actual.ndim and isinstance(value, val.Ref):
        for x in extents(e):
            _publish(round, frame, x, val.BAD)
        raise Failure(type_errors.annotation(span, actual, e.span.text))
    for name, extent in zip(e.extents, actual.shape, strict=False):
        if isinstance(name, ast.Name) and _is_new(frame, name.name):
            _publish(round, frame, name, val.lift(extent))
            frame.scope.bind(name.name, val.lift(extent), name.span)


def _publish(round: Round, frame: Frame, extent: ast.Name, value: val.Value) -> None:
    """Tell other equations what a cast found a name to stand for."""
    name = frame.scope.cast_name(extent.name) if _is_new(frame, extent.name) else None
    if name is not None:
        round.extents.setdefault(name, []).append(CastExtent(value, extent.span))


def check(
    round: Round, frame: Frame, value: val.Value, declared: val.Value, span: Span
) -> val.Value:
    """The value with this type: proved, or checked at run time. Raises `Failure`."""
    if isinstance(value, val.Unknown):
        return declared
    if isinstance(declared, val.RecordValue):
        return _check_record(round, frame, value, declared, span)
    assert isinstance(declared, val.Typed)
    if isinstance(value, (val.RecordValue, val.Listing)):
        raise Failure(type_errors.needs_kind(span, "this", "a tensor", value))
    return _check_leaf(round, frame, value, declared.type, span)


def _check_record(
    round: Round, frame: Frame, value: val.Value, declared: val.RecordValue, span: Span
) -> val.Value:
    if not isinstance(value, val.RecordValue):
        raise Failure(type_errors.needs_kind(span, "this", "a record", value))
    if sorted(value.names) != sorted(declared.names):
        raise Failure(type_errors.structure(span, value, declared))
    fields = []
    for name, part in value.fields:
        expected = declared.get(name)
        assert expected is not None
        fields.append((name, check(round, frame, part, expected, span)))
    return val.RecordValue(tuple(fields))


def _check_leaf(
    round: Round, frame: Frame, value: val.Value, declared: TensorType, span: Span
) -> val.Value:
    actual = apply.type_of(value, span)
    if literals.is_literal(value):
        if not _fits(actual.dtype, declared.dtype):
            raise Failure(type_errors.annotation(span, actual, declared))
        value = converted(round, frame, value, declared, span)
        actual = value.type
    if actual.dtype is not declared.dtype and not (actual.weak and declared.dtype.is_float):
        raise Failure(type_errors.annotation(span, actual, declared))
    if actual.weak:
        ref = literals.retyped(round, apply.tensor(round, frame, value, span), declared.dtype)
        value = apply.make(round, frame, unary.Cast(dtype=declared.dtype), (ref,), span)[0]
    if actual.ndim != declared.ndim:
        raise Failure(type_errors.annotation(span, actual, declared))
    if actual.shape == declared.shape:
        return value
    pairs = list(zip(actual.shape, declared.shape, strict=True))
    facts = FrameFacts(round, frame.where)
    unproved = [(a, b) for a, b in pairs if a != b and not facts.equal(a, b)]
    ref = apply.tensor(round, frame, value, span)
    if any(not (is_affine(a) and is_affine(b)) for a, b in unproved):
        return apply.make(round, frame, Ensure(shape=declared.shape), (ref,), span)[0]
    for a, b in unproved:
        condition = _equality_condition(round, frame, a, b, actual, declared, span)
        round.assumptions.setdefault(condition, span)
    copy = apply.make(round, frame, Copy(), (ref,), span)[0]
    type = TensorType(ref.type.dtype, declared.shape, ref.type.weak)
    copy.draft.types = (type,)
    # The annotation may name a dimension with which the value does not vary, as at one point.
    named = (n for e in declared.shape for n in symbols(e))
    copy.draft.dims = round.universe.ordered((*copy.draft.dims, *named))
    return apply.identity(round, frame, copy.draft, span)


def _fits(number: DType, declared: DType) -> bool:
    """Whether a number fits a dtype: one that it can be promoted to, or any integers'."""
    if number is DType.BOOL or declared is number:
        return declared is number
    return declared.is_float or (number.is_int and declared.is_int)


def _equality_condition(
    round: Round,
    frame: Frame,
    a: ix.Expr,
    b: ix.Expr,
    actual: TensorType,
    declared: TensorType,
    span: Span,
) -> ix.Expr:
    """The condition on the bounds under which two extents agree at all points needed."""
    differ = ix.conjunction(frame.where, ix.compare("!=", a, b))
    domain = round.domain(differ)
    condition = ix.negation(round.space.project(domain, ()).where)
    limits = []
    if domain.dims:
        free = dict.fromkeys(n for n in symbols(condition))
        limits = [ix.compare(">=", ix.Sym(n), ix.Const(PLENTY)) for n in free]
    if condition == ix.FALSE or round.space.is_empty(
        Domain((), ix.conjunction(condition, *limits))
    ):
        raise Failure(type_errors.annotation(span, actual, declared))
    return condition
