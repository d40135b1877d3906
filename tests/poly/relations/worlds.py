"""Spaces for tests, and brute force over small bounds."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product

from tempoc.poly.relations.space import Space
from tempoc.symbolic.domain import Bound, Dim, Domain, Universe
from tempoc.symbolic.expr import TRUE, Const, Entry, Slice
from tempoc.symbolic.parse import parse, parse_expr
from tempoc.symbolic.walk import evaluate

UNIVERSE = Universe(
    bounds=(
        Bound(name="T"),
        Bound(name="L", value=Const(3)),
        Bound(name="N", value=parse_expr("(T+3)//4")),
        Bound(name="P"),
    ),
    dims=(Dim(name="t", bound="T"), Dim(name="l", bound="L"), Dim(name="n", bound="N")),
    assumptions=(parse_expr("P <= T"),),
)


def space() -> Space:
    return Space(UNIVERSE)


def dom(dims: str, where: str = "true") -> Domain:
    return Domain(tuple(dims), parse_expr(where) if where != "true" else TRUE)


def at(*texts: str) -> tuple[Entry, ...]:
    return tuple(parse(text) for text in texts)


def bounds(sizes: range = range(1, 7)) -> Iterator[dict[str, int]]:
    for t in sizes:
        for p in range(1, t + 1):
            yield {"T": t, "L": 3, "N": (t + 3) // 4, "P": p}


def points(domain: Domain, env: dict[str, int]) -> Iterator[dict[str, int]]:
    ranges = [range(env[UNIVERSE.dim(d).bound]) for d in domain.dims]
    for values in product(*ranges):
        here = {**env, **dict(zip(domain.dims, values, strict=True))}
        if evaluate(domain.where, here):
            yield here


def everywhere(domain: Domain) -> Iterator[dict[str, int]]:
    for env in bounds():
        yield from points(domain, env)


def reads(entries: tuple[Entry, ...], here: dict[str, int]) -> Iterator[tuple[int, ...]]:
    ranges = []
    for e in entries:
        if isinstance(e, Slice):
            ranges.append(range(evaluate(e.lo, here), evaluate(e.hi, here), e.step))
        else:
            ranges.append([evaluate(e, here)])
    yield from product(*ranges)


def is_in(domain: Domain, index: tuple[int, ...], here: dict[str, int]) -> bool:
    inside = all(
        0 <= i < here[UNIVERSE.dim(d).bound] for d, i in zip(domain.dims, index, strict=True)
    )
    there = {**here, **dict(zip(domain.dims, index, strict=True))}
    return inside and bool(evaluate(domain.where, there))
