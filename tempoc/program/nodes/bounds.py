"""Bounds of a program, and the lengths of those that end during the run."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from graphlib import CycleError, TopologicalSorter

from tempoc.program.nodes.errors import inconsistent
from tempoc.symbolic import expr as ix
from tempoc.symbolic.walk import children, substitute, symbols

BUDGET = "memory_budget"
"""The entry of a program's provenance that bounds the bytes of all stores in a run."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ProgramBound:
    """A bound; ``value`` is ``None`` when given at run time, else an expression of other bounds."""

    name: str
    value: ix.Expr | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class FoundLength:
    """A bound whose value is determined during the run; until then it is the largest length.

    ``largest`` names the bound that keeps the largest length. There is one length for each point of
    ``outer``; in expressions, ``LengthAt`` gives the point. A ``common`` length is the greatest of
    those that the source has for more points.
    """

    bound: str
    largest: str
    outer: tuple[str, ...] = ()
    common: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Assumption:
    """A fact about bounds, checked before the first step; ``text`` as in the source."""

    text: str
    condition: ix.Expr
    where: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class PointRange:
    """The points ``lower <= dim < upper`` of a dimension, ends over bounds."""

    dim: str
    lower: ix.Expr
    upper: ix.Expr


def length(bound: str, outer: tuple[ix.Expr, ...]) -> ix.Expr:
    """The length of a bound at a point of its outer dimensions."""
    return ix.LengthAt(bound, outer) if outer else ix.Sym(bound)


def bound_order(bounds: Sequence[ProgramBound]) -> tuple[str, ...]:
    """Bounds in topological order of their values. Raises ``ProgramError`` for a cycle."""
    needs = {b.name: () if b.value is None else symbols(b.value) for b in bounds}
    try:
        return tuple(TopologicalSorter(needs).static_order())
    except CycleError as error:
        raise inconsistent("bounds", " -> ".join(error.args[1]) + " is a circle") from None


def bounds_set_by_run(
    declared: Sequence[ProgramBound], lengths: Sequence[FoundLength]
) -> frozenset[str]:
    """The bounds whose values are known during the run only, and those derived from them."""
    bounds = {length.bound for length in lengths}
    size = -1
    while size < len(bounds):
        size = len(bounds)
        values = ((b.name, b.value) for b in declared if b.value is not None)
        bounds |= {name for name, value in values if bounds & {*symbols(value)}}
    return frozenset(bounds)


def length_at(
    bounds: Sequence[ProgramBound],
    lengths: Sequence[FoundLength],
    name: str,
    point: Mapping[str, ix.Expr],
) -> ix.Expr:
    """A length, or a bound derived from lengths, at a point."""
    for ended in lengths:
        if ended.bound == name:
            outer = tuple(point[d] for d in ended.outer)
            return length(name, outer)
    value = next((b.value for b in bounds if b.name == name), None)
    if value is None:
        return ix.Sym(name)
    return substitute(value, {n: length_at(bounds, lengths, n, point) for n in symbols(value)})


def lengths_in(e: ix.Expr, lengths: Sequence[FoundLength]) -> Iterator[ix.Expr]:
    """The lengths that occur in an expression: `T`, or `T[i]` of those that vary with a point."""
    if isinstance(e, ix.LengthAt) or any(e == ix.Sym(length.bound) for length in lengths):
        yield e
    else:
        for part in children(e):
            yield from lengths_in(part, lengths)
