"""How large tensors are, where bounds are known only when the program runs.

An estimate takes for a bound its value, also one that the compilation is told; else the most that
the program's assumptions allow (``assume T <= 2048``), else ``NOMINAL``, or less if it depends on
several that are not known.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from types import MappingProxyType

from tempoc.ops.definition.dtype_text import numpy_dtype
from tempoc.ops.definition.types import TensorType
from tempoc.symbolic.domain import Universe
from tempoc.symbolic.expr import (
    Conjunction,
    Const,
    Expr,
    IndexSum,
    Relation,
    Sym,
    mul,
    product,
    sub,
)
from tempoc.symbolic.text import show
from tempoc.symbolic.walk import evaluate, symbols

NOMINAL = 4096
"""What a bound is taken for that nothing is known about, where it is the only one."""
MORE = 16
"""By how much each further one makes a tensor larger: few are long in all directions."""
NOTHING: Mapping[str, int] = MappingProxyType({})


def usual(universe: Universe, count: int = 1, told: Mapping[str, int] = NOTHING) -> dict[str, int]:
    """A value for each bound, and for each dimension its last point.

    ``count``: of how many bounds the size depends of which nothing is known. ``told`` are known.
    """
    each = round((NOMINAL * MORE ** (count - 1)) ** (1 / count)) if count else NOMINAL
    sizes = {b.name: each for b in universe.bounds} | _known(universe, each) | dict(told)
    for b in universe.bounds:
        if b.value is not None:
            sizes[b.name] = max(1, evaluate(b.value, sizes))
    return sizes | {d.name: sizes[d.bound] - 1 for d in universe.dims}


def _known(universe: Universe, each: int) -> dict[str, int]:
    """The most that facts allow for bounds."""
    maxima: dict[str, int] = {}
    for _ in universe.bounds:  # a fact about two bounds may need another about one of them
        limits: dict[str, int] = {}
        at = {b.name: each for b in universe.bounds} | maxima
        for name, most in _limits(universe.assumptions, at):
            limits[name] = max(1, min(most, limits.get(name, most)))
        maxima |= limits
    return maxima


def unknown(
    universe: Universe, names: Iterable[str], told: Mapping[str, int] = NOTHING
) -> tuple[str, ...]:
    """The bounds, from which those of these names follow, of which nothing is known."""
    dims = {d.name: d.bound for d in universe.dims}
    values = {b.name: b.value for b in universe.bounds}
    free_bounds: dict[str, None] = {}
    worklist = [dims.get(n, n) for n in names]
    while worklist:
        name = worklist.pop()
        value = values[name]
        if value is not None:
            worklist += symbols(value)
        elif name not in told and name not in _known(universe, NOMINAL):
            free_bounds[name] = None
    return tuple(sorted(free_bounds))


def _limits(facts: tuple[Expr, ...], known: Mapping[str, int]) -> Iterator[tuple[str, int]]:
    """What facts of the form ``T <= ...`` say about a bound, given the most of all others."""
    for fact in facts:
        if isinstance(fact, Conjunction):
            yield from _limits(fact.args, known)
        if not isinstance(fact, Relation) or fact.op == "!=":
            continue
        lower_sides = {"<=": (0,), "<": (0,), ">=": (1,), ">": (1,), "==": (0, 1)}[fact.op]
        sides = fact.left, fact.right
        for lower in lower_sides:
            gap = sub(sides[1 - lower], sides[lower])  # never negative
            terms, const = (gap.terms, gap.const) if isinstance(gap, IndexSum) else (((1, gap),), 0)
            for scale, term in terms:
                if scale < 0 and isinstance(term, Sym):
                    yield term.name, _most(terms, const, known) // -scale


def _most(terms: tuple[tuple[int, Expr], ...], const: int, known: Mapping[str, int]) -> int:
    """The greatest value of the terms that count positively, with a constant."""
    return const + sum(c * evaluate(x, known) for c, x in terms if c > 0)


def bytes_of(type_: TensorType, at: Mapping[str, int]) -> int:
    """The bytes of a tensor where bounds and dimensions have these values."""
    return max(0, evaluate(product(type_.shape), at)) * numpy_dtype(type_.dtype).itemsize


def formula(type_: TensorType, times: Iterable[Expr] = ()) -> str:
    """The bytes of so many tensors as a person writes them, ``131072*T``."""
    each = Const(numpy_dtype(type_.dtype).itemsize)
    return show(mul(product((*times, *type_.shape)), each))
