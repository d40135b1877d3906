"""`extern`: calls of Python functions with declared types.

An extent that is a name without another meaning stands for any extent: the operand in which it
stands alone gives it its value, as for `as`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace

from tempoc.base.diagnostics import Diagnostic
from tempoc.base.source import Span
from tempoc.frontend import annotate, ast, extern_errors, indices, type_errors
from tempoc.frontend.bind import bind
from tempoc.frontend.draft import Draft
from tempoc.frontend.operate import identity, make, read, tensor, type_of
from tempoc.frontend.problem import Problem
from tempoc.frontend.round import Arguments, Frame, Round
from tempoc.frontend.scope import Scope
from tempoc.frontend.spatial import Position, select
from tempoc.frontend.values import (
    Index,
    Listing,
    Number,
    PythonFunction,
    Record,
    Ref,
    Several,
    Typed,
    Value,
    unknown_in,
)
from tempoc.ops.control import Copy
from tempoc.ops.externs import Extern, ExternHost, ExternJax, at_extents, signature_text
from tempoc.ops.random import KEY
from tempoc.ops.types import DType, TensorType
from tempoc.symbolic.domain import Domain
from tempoc.symbolic.expr import ZERO, Expr, Slice, Sym
from tempoc.symbolic.walk import symbols

KINDS: dict[str, type[Extern]] = {"jax": ExternJax, "host": ExternHost}
_PLACE = re.compile(r"[A-Za-z_]\w*(\.[A-Za-z_]\w*)*:[A-Za-z_]\w*")


def problems(item: ast.Extern) -> list[Diagnostic]:
    """What is wrong with a declaration whatever calls it."""
    found: list[Diagnostic] = []
    if not _PLACE.fullmatch(item.path.value):
        found.append(extern_errors.bad_place(item.path.span, item.path.value))
    for part in (*item.args, *item.results):
        if isinstance(part.type, ast.RecordType):
            found.append(extern_errors.record(part.type.span, item.name.name))
    if item.kind == "jax" and item.over is not None:
        found.append(extern_errors.over_jax(item.over.span))
    if not item.results:
        found.append(extern_errors.no_results(item.span, item.name.name))
    return found


def call(
    round: Round, frame: Frame, function: PythonFunction, arguments: Arguments, span: Span
) -> Value:
    """The results of a call. Raises `Problem` or `StillUnknown`."""
    item = function.definition
    name = item.name.name
    if frame.lazy and item.kind == "host":
        raise Problem(extern_errors.in_branch(span, name))
    parameters = [p.name for p in item.args]
    shown = item.span.text.split(" from ")[0].removeprefix(f"extern {item.kind} ")
    bound = bind(name, parameters, arguments, span, shown)
    unknown = unknown_in(*bound.values.values())
    if unknown is not None:
        return unknown
    wanted, results, free = _signature(round, function)
    known: dict[str, Expr] = {}
    operands: list[Ref] = []
    for parameter, declared in zip(parameters, wanted, strict=True):
        place = bound.places.get(parameter, span)
        operands.append(_operand(round, frame, bound[parameter], declared, known, free, place))
    over = None if item.over is None else indices.entry_name(round, frame, item.over)
    if over is not None:
        operands = [_along(round, frame, o, over, span) for o in operands]
        bound_of = Sym(round.universe.dim(over).bound)
        wanted, results = (
            tuple(TensorType(t.dtype, (bound_of, *t.shape)) for t in types)
            for types in (wanted, results)
        )
    _check_extents(round, operands, name, span)
    module, _, attribute = item.path.value.partition(":")
    op = KINDS[item.kind](
        extern=name,
        module=module,
        function=attribute,
        arguments=tuple(map(signature_text, wanted)),
        results=tuple(map(signature_text, results)),
        free=free,
    )
    found = make(round, frame, op, tuple(operands), span, hint=name)
    if item.kind == "host":
        round.draws += 1  # the domain of a call is found like that of a draw
        found = _every_point(round, frame, found, span, over)
    if over is not None:
        here = Position(Index(Sym(over)), span)
        parts = [select(round, frame, ref, (here,), span) for ref in found]
        return parts[0] if len(parts) == 1 else Several(tuple(parts))
    return found[0] if len(found) == 1 else Several(found)


def _along(round: Round, frame: Frame, operand: Ref, dim: str, span: Span) -> Ref:
    """An operand at all points of a dimension, along a new first axis."""
    copy = make(round, frame, Copy(), (operand,), span)[0]
    copy.draft.dims = round.universe.ordered((*copy.draft.dims, dim))
    whole = Slice(ZERO, Sym(round.universe.dim(dim).bound))
    entries = tuple(whole if d == dim else Sym(d) for d in copy.draft.dims)
    return read(round, frame, copy.draft, 0, entries, span)


def _every_point(
    round: Round, frame: Frame, found: tuple[Ref, ...], span: Span, over: str | None
) -> tuple[Ref, ...]:
    """Have the call made at all points of its equation, whoever reads the results."""
    draft = found[0].draft
    draft.dims = round.universe.ordered(tuple(d for d in (*draft.dims, *frame.draws) if d != over))
    draft.role = "root"
    where = round.domain(frame.where)
    box = round.space.symbolic.project(where, draft.dims).where
    draft.defined = round.space.symbolic.simplify(box, Domain(draft.dims))
    sites = (part for call in frame.origin.calls for part in (call.span.start,))
    turns = (part for part in frame.path if isinstance(part, int))
    draft.turn = (*sites, span.start, *turns)
    return tuple(identity(round, frame, draft, span, k) for k in range(len(found)))


def number_turns(drafts: list[Draft]) -> None:
    """Number the calls of host functions as they stand in the source."""
    hosts = sorted((d for d in drafts if isinstance(d.op, ExternHost)), key=lambda d: d.turn)
    for k, draft in enumerate(hosts):
        assert isinstance(draft.op, ExternHost)
        draft.op = replace(draft.op, turn=k)


def _check_extents(round: Round, operands: list[Ref], name: str, span: Span) -> None:
    """A kernel knows only the largest extent of what varies with the point."""
    for operand in operands:
        for n in (n for e in operand.type.shape for n in symbols(e)):
            if round.universe.is_dim(n):
                raise Problem(extern_errors.ragged(span, name, operand.type, n))
            if n in round.universe.lengths:
                raise Problem(extern_errors.unknown_length(span, name, operand.type, n))


def _operand(
    round: Round,
    frame: Frame,
    value: Value,
    wanted: TensorType,
    known: dict[str, Expr],
    free: tuple[str, ...],
    span: Span,
) -> Ref:
    """A value as an operand of the declared type. Raises `Problem`."""
    if isinstance(value, (Record, Listing)) or not isinstance(value, (Ref, Number, Index)):
        raise Problem(extern_errors.not_a_tensor(span, value))
    have = type_of(value, span)
    for e, extent in zip(wanted.shape, have.shape, strict=False):
        if isinstance(e, Sym) and e.name in free:
            known.setdefault(e.name, extent)
    declared = Typed(at_extents(wanted, known))
    if any(n in free for e in declared.type.shape for n in symbols(e)):
        raise Problem(extern_errors.operand(span, have, wanted))
    try:
        fitting = annotate.check(round, frame, value, declared, span)
    except Problem as problem:
        if problem.diagnostic.code != type_errors.ANNOTATION:
            raise
        raise Problem(extern_errors.operand(span, have, declared.type)) from None
    return tensor(round, frame, fitting, span)


# ---------------------------------------------------------------- signatures


def _signature(
    round: Round, function: PythonFunction
) -> tuple[tuple[TensorType, ...], tuple[TensorType, ...], tuple[str, ...]]:
    """Types of arguments and results, and the names in them that stand for any extent."""
    item = function.definition
    free = tuple(dict.fromkeys(_free(function)))
    scope = Scope("loop", parent=function.scope)
    for name in free:
        scope.bind(name, Index(Sym(name)))
    assert round.top is not None
    frame = Frame(scope=scope, path=(), prefix=item.name.name, origin=round.top.origin)

    def types(fields: tuple[ast.TypeField, ...]) -> tuple[TensorType, ...]:
        return tuple(_type(round, frame, f.type) for f in fields)

    return types(item.args), types(item.results), free


def _free(function: PythonFunction) -> Iterator[str]:
    """Names that are whole extents of arguments and mean nothing else."""
    for part in function.definition.args:
        for e in part.type.extents if isinstance(part.type, ast.TensorType) else ():
            if isinstance(e, ast.Name) and function.scope.find(e.name) is None:
                yield e.name


def _type(round: Round, frame: Frame, e: ast.TypeExpr) -> TensorType:
    assert isinstance(e, ast.TensorType)
    shape = tuple(indices.extent(round.evaluate(frame, x), x.span) for x in e.extents)
    for x, extent in zip(e.extents, shape, strict=True):
        for n in symbols(extent):
            if round.universe.is_dim(n):
                raise Problem(extern_errors.dim_extent(x.span, n))
            if n in round.universe.lengths:
                raise Problem(extern_errors.length_extent(x.span, n))
    return TensorType(DType(e.dtype), (*shape, *KEY.shape) if e.dtype == "key" else shape)
