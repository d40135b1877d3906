"""Bounds of a program, and the lengths of those that end during the run."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from graphlib import CycleError, TopologicalSorter

from tempoc.program.nodes.arithmetic import Arith, Operation, names
from tempoc.program.nodes.errors import inconsistent

BUDGET = "memory_budget"
"""The entry of a program's provenance that bounds the bytes of all stores in a run."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ProgramBound:
    """A bound; ``value`` is ``None`` when given at run time, else an expression of other bounds."""

    name: str
    value: Arith | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class FoundLength:
    """A bound whose value is determined during the run; until then it is the largest length.

    ``largest`` names the bound that keeps the largest length. There is one length for each point of
    ``outer``; in expressions, the operator ``at`` gives the point.
    """

    bound: str
    largest: str
    outer: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Assumption:
    """A fact about bounds, checked before the first step; ``text`` as in the source."""

    text: str
    condition: Arith
    where: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class PointRange:
    """The points ``lower <= dim < upper`` of a dimension, ends over bounds."""

    dim: str
    lower: Arith
    upper: Arith


def bound_order(bounds: Sequence[ProgramBound]) -> tuple[str, ...]:
    """Bounds in topological order of their values. Raises ``ProgramError`` for a cycle."""
    needs = {b.name: () if b.value is None else names(b.value) for b in bounds}
    try:
        return tuple(TopologicalSorter(needs).static_order())
    except CycleError as error:
        raise inconsistent("bounds", " -> ".join(error.args[1]) + " is a circle") from None


def length_at(
    bounds: Sequence[ProgramBound],
    lengths: Sequence[FoundLength],
    name: str,
    point: Mapping[str, Arith],
) -> Arith:
    """A length, or a bound derived from lengths, at a point."""
    for length in lengths:
        if length.bound == name:
            outer = tuple(point[d] for d in length.outer)
            return Operation("at", (name, *outer)) if outer else name
    value = next((b.value for b in bounds if b.name == name), None)
    return name if value is None else _derived(bounds, lengths, value, point)


def _derived(
    bounds: Sequence[ProgramBound],
    lengths: Sequence[FoundLength],
    e: Arith,
    point: Mapping[str, Arith],
) -> Arith:
    match e:
        case str():
            return length_at(bounds, lengths, e, point)
        case Operation(op=op, args=args):
            return Operation(op, tuple(_derived(bounds, lengths, a, point) for a in args))
        case _:
            return e


def lengths_in(e: Arith, lengths: Sequence[FoundLength]) -> Iterator[Arith]:
    """The lengths that occur in an expression: `T`, or `T[i]` of those that vary with a point."""
    match e:
        case str():
            if any(e == length.bound for length in lengths):
                yield e
        case Operation(op="at"):
            yield e
        case Operation(args=args):
            for a in args:
                yield from lengths_in(a, lengths)


def replace_parts(e: Arith, substitution: Mapping[Arith, Arith]) -> Arith:
    """An expression with some of its parts substituted."""
    if e in substitution:
        return substitution[e]
    if isinstance(e, Operation):
        return Operation(e.op, tuple(replace_parts(a, substitution) for a in e.args))
    return e
