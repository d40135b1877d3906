"""`output`: which tensors, at which points, under which names."""

from __future__ import annotations

from dataclasses import dataclass

from tempoc.diagnostics.source import Span
from tempoc.frontend.environment import values as val
from tempoc.frontend.environment.failure import Failure
from tempoc.frontend.environment.round import Frame, Round
from tempoc.frontend.environment.scope import Scope
from tempoc.frontend.errors import lengths as ending_errors, names as name_errors
from tempoc.frontend.expressions import apply_operator as apply
from tempoc.frontend.syntax import ast
from tempoc.symbolic import expr as ix
from tempoc.symbolic.walk import symbols


@dataclass(frozen=True, slots=True, eq=False)
class OutputRead:
    """One output: a node's output read at entries without free dimensions."""

    name: str
    ref: val.Ref
    entries: tuple[ix.Entry, ...]
    span: Span


def elaborate_outputs(round: Round, top: Frame, main: ast.Module) -> list[OutputRead]:
    """All outputs, in source order."""
    results: list[OutputRead] = []
    for item in main.items:
        for part in item.items if isinstance(item, ast.OutputDecl) else ():
            try:
                _output(round, top, part, results)
            except Failure as problem:
                round.report(problem.diagnostic)
    return results


def _output(round: Round, top: Frame, item: ast.OutputItem, results: list[OutputRead]) -> None:
    base = base_name(item.value)
    frame = Frame(
        scope=Scope("loop", parent=top.scope),
        path=("output", item.span.start),
        prefix=f"output.{base}",
        origin=top.origin,
    )
    value = round.evaluate(frame, item.value)
    if isinstance(value, val.Unknown):
        return
    if not isinstance(
        value, (val.Ref, val.RecordValue, val.Listing, val.ConstantNumber, val.Index)
    ):
        raise Failure(name_errors.output_value(item.value.span, val.describe(value)))
    name = base if item.alias is None else item.alias.name
    for path, leaf in val.leaves(value):
        if isinstance(leaf, val.Unknown):
            continue
        ref = apply.tensor(round, frame, leaf, item.value.span)
        full = ".".join((name, *path))
        for other in results:
            if other.name == full:
                raise Failure(name_errors.output_twice(item.span, full, other.span))
        entries = _entries(round, ref, item.value.span)
        results.append(OutputRead(full, ref, entries, item.value.span))


def base_name(e: ast.Expression) -> str:
    """The name of a result that is not renamed: the tensor's, with fields."""
    match e:
        case ast.Name(name=name):
            return name
        case ast.Field(base=base, name=name):
            return f"{base_name(base)}.{name}"
        case ast.Access(base=base):
            return base_name(base)
        case _:
            return "value"


def _entries(round: Round, ref: val.Ref, span: Span) -> tuple[ix.Entry, ...]:
    """The entries with each free dimension made a slice. Raises `Failure`."""
    entries: list[ix.Entry] = []
    universe = round.universe
    for e in ref.type.shape:
        _check_length(round, ref, e, span)
    for dim, entry in zip(ref.draft.dims, ref.entries, strict=True):
        if entry == ix.Sym(dim):
            _check_ragged(ref, dim, span)
            entry = ix.Slice(ix.ZERO, ix.Sym(universe.dim(dim).bound))
        _check_length(round, ref, entry, span)
        for n in symbols(entry):
            if universe.is_dim(n):
                raise Failure(name_errors.output_free(span, n))
        entries.append(entry)
    return tuple(entries)


def _check_length(round: Round, ref: val.Ref, e: ix.Entry, span: Span) -> None:
    for n in symbols(e):
        outer = round.universe.outer(n)
        if outer and not round.universe.is_dim(n):
            over = next((d for d in ref.draft.dims if round.universe.dim(d).bound == n), "")
            raise Failure(ending_errors.ragged_lengths(span, ref.draft.hint, n, outer, over))


def _check_ragged(ref: val.Ref, dim: str, span: Span) -> None:
    for e in ref.draft.types[ref.out].shape:
        if dim in symbols(e):
            raise Failure(name_errors.output_ragged(span, ref.draft.hint, dim))
