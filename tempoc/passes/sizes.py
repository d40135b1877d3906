"""How large tensors are, where bounds are known only when the program runs.

An estimate takes for a bound its value, else the most that the program's assumptions allow
(``assume T <= 2048``), else ``NOMINAL``.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from tempoc.ops.spell import numpy_dtype
from tempoc.ops.types import TensorType
from tempoc.symbolic.domain import Universe
from tempoc.symbolic.expr import And, Compare, Const, Expr, Sum, Sym, mul, product, sub
from tempoc.symbolic.text import show
from tempoc.symbolic.walk import evaluate

NOMINAL = 4096
"""What a bound is taken for that nothing is known about."""


def usual(universe: Universe) -> dict[str, int]:
    """A value for each bound, and for each dimension that of its bound."""
    found = {b.name: NOMINAL for b in universe.bounds}
    for _ in universe.bounds:  # a fact about two bounds may need another about one of them
        limits: dict[str, int] = {}
        for name, most in _limits(universe.assumptions, found):
            limits[name] = max(1, min(most, limits.get(name, most)))
        found |= limits
    for b in universe.bounds:
        if b.value is not None:
            found[b.name] = max(1, evaluate(b.value, found))
    return found | {d.name: found[d.bound] for d in universe.dims}


def _limits(facts: tuple[Expr, ...], known: Mapping[str, int]) -> Iterator[tuple[str, int]]:
    """What facts of the form ``T <= ...`` say about a bound, given the most of all others."""
    for fact in facts:
        if isinstance(fact, And):
            yield from _limits(fact.args, known)
        if not isinstance(fact, Compare) or fact.op == "!=":
            continue
        ways = {"<=": (0,), "<": (0,), ">=": (1,), ">": (1,), "==": (0, 1)}[fact.op]
        sides = fact.left, fact.right
        for way in ways:
            gap = sub(sides[1 - way], sides[way])  # never negative
            terms, const = (gap.terms, gap.const) if isinstance(gap, Sum) else (((1, gap),), 0)
            for scale, term in terms:
                if scale < 0 and isinstance(term, Sym):
                    yield term.name, _most(terms, const, known) // -scale


def _most(terms: tuple[tuple[int, Expr], ...], const: int, known: Mapping[str, int]) -> int:
    """The greatest value of the terms that count positively, with a constant."""
    return const + sum(c * evaluate(x, known) for c, x in terms if c > 0)


def bytes_of(type_: TensorType, at: Mapping[str, int]) -> int:
    """The bytes of a tensor where bounds and dimensions have these values."""
    return max(0, evaluate(product(type_.shape), at)) * numpy_dtype(type_.dtype).itemsize


def formula(type_: TensorType) -> str:
    """The bytes of a tensor as a person writes them, ``131072*T``."""
    return show(mul(product(type_.shape), Const(numpy_dtype(type_.dtype).itemsize)))
