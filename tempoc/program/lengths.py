"""Lengths at points: what a bound means at a point, where it is found out during the run."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from tempoc.program.arith import Arith, Operation
from tempoc.program.nodes import Bound, Length


def length_at(
    bounds: Sequence[Bound], lengths: Sequence[Length], name: str, at: Mapping[str, Arith]
) -> Arith:
    """A length, or a bound derived from lengths, at a point."""
    for length in lengths:
        if length.bound == name:
            outer = tuple(at[d] for d in length.outer)
            return Operation("at", (name, *outer)) if outer else name
    value = next((b.value for b in bounds if b.name == name), None)
    return name if value is None else _derived(bounds, lengths, value, at)


def _derived(
    bounds: Sequence[Bound], lengths: Sequence[Length], e: Arith, at: Mapping[str, Arith]
) -> Arith:
    match e:
        case str():
            return length_at(bounds, lengths, e, at)
        case Operation(op=op, args=args):
            return Operation(op, tuple(_derived(bounds, lengths, a, at) for a in args))
        case _:
            return e


def lengths_in(e: Arith, lengths: Sequence[Length]) -> Iterator[Arith]:
    """The lengths that an expression means: `T`, or `T[i]` of those that vary with a point."""
    match e:
        case str():
            if any(e == length.bound for length in lengths):
                yield e
        case Operation(op="at"):
            yield e
        case Operation(args=args):
            for a in args:
                yield from lengths_in(a, lengths)


def with_names(e: Arith, names: Mapping[Arith, str]) -> Arith:
    """An expression with other names for lengths."""
    if e in names:
        return names[e]
    if isinstance(e, Operation):
        return Operation(e.op, tuple(with_names(a, names) for a in e.args))
    return e
