"""Temporal accesses: a value read at other points, by substitution in its entries."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from tempoc.diagnostics.source import Span
from tempoc.frontend.environment import values as val
from tempoc.frontend.environment.failure import Failure
from tempoc.frontend.environment.round import Frame, Round
from tempoc.frontend.errors import domains as domain_errors
from tempoc.frontend.expressions import apply_operator as apply
from tempoc.ops.control.control import Copy
from tempoc.ops.indexing.pick import Pick
from tempoc.symbolic import expr as ix
from tempoc.symbolic.domain import Universe, substitute_entry
from tempoc.symbolic.walk import substitute, symbols

Mapped = Mapping[str, ix.Entry]


def temporal(
    round: Round, frame: Frame, value: val.Value, entries: Mapped, span: Span, *, strict: bool
) -> val.Value:
    """A tree read at `entries`, leaf by leaf; dimensions without an entry keep their point.

    Raises `Failure` for a slice over a dimension with which the value does not vary, and if
    `strict` also for a point of it; otherwise such a point is ignored.
    """
    if isinstance(value, val.Several):
        value = value.items[0]
    dims = val.dims_of(value, round.universe)
    for dim, entry in entries.items():
        absent = dim not in dims and not isinstance(value, val.Unknown)
        if absent and (strict or isinstance(entry, ix.Slice)):
            raise Failure(domain_errors.does_not_vary(span, dim, dims))

    def leaf(_: tuple[str, ...], v: val.Value) -> val.Value:
        if isinstance(v, val.Index):
            return _index(round, frame, v, entries, span)
        if isinstance(v, val.Ref):
            return _ref(round, frame, v, entries, span)
        if isinstance(v, val.ConstantNumber) and any(
            isinstance(e, ix.Slice) for e in entries.values()
        ):
            return leaf(_, apply.tensor(round, frame, v, span))
        if isinstance(v, val.Unknown):
            return replace(v, dims=v.dims.difference(entries))
        return v

    return val.map_leaves(leaf, value)


def pick(
    round: Round,
    frame: Frame,
    value: val.Value,
    entries: Mapped,
    points: Mapping[str, val.Value],
    span: Span,
) -> val.Value:
    """Data-dependent accesses: picks `points` from the slices of `entries` read in `value`."""
    unknown = val.unknown_in(value, *points.values())
    if unknown is not None:
        return unknown
    sliced = [d for d, e in entries.items() if isinstance(e, ix.Slice)]
    dims = round.universe.sorted(tuple(sliced))

    def leaf(_: tuple[str, ...], v: val.Value) -> val.Value:
        picked = apply.tensor(round, frame, v, span)
        for axis, dim in reversed(list(enumerate(dims))):
            within = entries[dim]
            if dim in points and isinstance(within, ix.Slice):
                op = Pick(lo=within.lo, hi=within.hi, step=within.step, axis=axis)
                index = apply.tensor(round, frame, points[dim], span)
                (picked,) = apply.make(round, frame, op, (picked, index), span)
        return picked

    return val.map_leaves(leaf, value)


def _index(round: Round, frame: Frame, value: val.Index, entries: Mapped, span: Span) -> val.Value:
    points = {d: e for d, e in entries.items() if isinstance(e, ix.Expr)}
    if len(points) == len(entries) and not round.universe.moves(value.expr, entries):
        return val.lift(substitute(value.expr, points))
    return _ref(round, frame, apply.tensor(round, frame, value, span), entries, span)


def _ref(round: Round, frame: Frame, ref: val.Ref, entries: Mapped, span: Span) -> val.Ref:
    mapped = {d: e for d, e in entries.items() if d in _dims(ref, round)}
    absent = [d for d, e in entries.items() if isinstance(e, ix.Slice) and d not in mapped]
    if absent:
        raise Failure(domain_errors.does_not_vary(span, absent[0], _dims(ref, round)))
    if not mapped:
        return ref
    composed = _composed(ref, mapped, round.universe)
    if composed is None:
        fresh = apply.make(round, frame, Copy(), (ref,), span)[0]
        composed = _composed(fresh, mapped, round.universe)
        assert composed is not None
        ref = fresh
    return apply.read(round, frame, ref.draft, ref.out, composed, span)


def _dims(ref: val.Ref, round: Round) -> tuple[str, ...]:
    names = tuple(n for e in ref.entries for n in symbols(e))
    return round.universe.ordered(names)


def _composed(ref: val.Ref, mapped: Mapped, universe: Universe) -> tuple[ix.Entry, ...] | None:
    """The composed entries of a read of a read; `None` if an intermediate copy is necessary."""
    points = {d: e for d, e in mapped.items() if isinstance(e, ix.Expr)}
    slices = {d: e for d, e in mapped.items() if isinstance(e, ix.Slice)}
    if slices and any(isinstance(e, ix.Slice) for e in ref.entries):
        return None
    if any(universe.moves(e, mapped) for e in ref.entries):
        return None  # it names a length, which differs at the other point
    composed: list[ix.Entry] = []
    sliced: list[str] = []
    for entry in ref.entries:
        named = [n for n in symbols(entry) if n in slices]
        if not named:
            composed.append(substitute_entry(entry, points))
            continue
        shift = _shift(entry, named[0])
        if shift is None or len(named) > 1 or named[0] in sliced:
            return None
        sliced.append(named[0])
        by = slices[named[0]]
        composed.append(ix.Slice(ix.add(by.lo, shift), ix.add(by.hi, shift), by.step))
    if sliced != [d for d in ref.draft.dims if d in sliced]:
        return None
    return tuple(composed)


def _shift(entry: ix.Entry, dim: str) -> ix.Expr | None:
    """What is added to a dimension in `t + c`; `None` for another form."""
    if entry == ix.Sym(dim):
        return ix.Const(0)
    if isinstance(entry, ix.IndexSum) and entry.terms == ((1, ix.Sym(dim)),):
        return ix.Const(entry.const)
    return None
