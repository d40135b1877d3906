"""Estimated sizes of tensors whose bounds are known only at run time.

The estimate for a bound is its value, if the program or the command line gives one; else its
maximum under the program's assumptions (``assume T <= 2048``); else that of the cost model, or less
where a size depends on several unknown bounds.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from functools import lru_cache
from types import MappingProxyType

from tempoc.base.cost_model import MODEL
from tempoc.ops.definition.types import TensorType
from tempoc.symbolic import expr as ix
from tempoc.symbolic.amounts import bytes_text
from tempoc.symbolic.domain import Universe
from tempoc.symbolic.interned import MEMORY
from tempoc.symbolic.walk import evaluate, symbols

NOTHING: Mapping[str, int] = MappingProxyType({})


def estimated_sizes(
    universe: Universe, count: int = 1, size_hints: Mapping[str, int] = NOTHING
) -> dict[str, int]:
    """The estimate of each bound, and the last point of each dimension.

    ``count`` is the number of unknown bounds that the size depends on; ``size_hints`` are values
    that are given.
    """
    all_together = MODEL.unknown_bound * MODEL.growth_per_bound ** max(0, count - 1)
    each = round(all_together ** (1 / max(1, count)))
    sizes = {b.name: each for b in universe.bounds}
    sizes.update(_assumed_maxima(universe, each))
    sizes.update(size_hints)
    for b in universe.bounds:
        if b.value is not None:
            sizes[b.name] = max(1, evaluate(b.value, sizes))
    return sizes | {d.name: sizes[d.bound] - 1 for d in universe.dims}


@lru_cache(MEMORY)
def _assumed_maxima(universe: Universe, each: int) -> Mapping[str, int]:
    """The maxima of bounds under the assumptions."""
    maxima: dict[str, int] = {}
    for _ in universe.bounds:  # a fact about two bounds may need another about one of them
        limits: dict[str, int] = {}
        at = {b.name: each for b in universe.bounds} | maxima
        for name, most in _limits(universe.assumptions, at):
            limits[name] = max(1, min(most, limits.get(name, most)))
        maxima |= limits
    return MappingProxyType(maxima)


def unknown_bounds(
    universe: Universe, names: Iterable[str], size_hints: Mapping[str, int]
) -> tuple[str, ...]:
    """The unknown bounds on which these bounds and dimensions depend."""
    dims = {d.name: d.bound for d in universe.dims}
    values = {b.name: b.value for b in universe.bounds}
    free_bounds: dict[str, None] = {}
    worklist = [dims.get(n, n) for n in names]
    while worklist:
        name = worklist.pop()
        value = values[name]
        if value is not None:
            worklist += symbols(value)
        elif name not in size_hints and name not in _assumed_maxima(universe, MODEL.unknown_bound):
            free_bounds[name] = None
    return tuple(sorted(free_bounds))


def _limits(facts: tuple[ix.Expr, ...], known: Mapping[str, int]) -> Iterator[tuple[str, int]]:
    """Maxima of bounds by facts of the form ``T <= ...``, given those of all others."""
    for fact in facts:
        if isinstance(fact, ix.Conjunction):
            yield from _limits(fact.args, known)
        if not isinstance(fact, ix.Relation) or fact.op == "!=":
            continue
        lower_sides = {"<=": (0,), "<": (0,), ">=": (1,), ">": (1,), "==": (0, 1)}[fact.op]
        sides = fact.left, fact.right
        for lower in lower_sides:
            gap = ix.sub(sides[1 - lower], sides[lower])  # never negative
            terms, const = (
                (gap.terms, gap.const) if isinstance(gap, ix.IndexSum) else (((1, gap),), 0)
            )
            for scale, term in terms:
                if scale < 0 and isinstance(term, ix.Sym):
                    yield term.name, _upper_bound(terms, const, known) // -scale


def _upper_bound(
    terms: tuple[tuple[int, ix.Expr], ...], const: int, known: Mapping[str, int]
) -> int:
    """The sum of the positive terms and a constant."""
    return const + sum(c * evaluate(x, known) for c, x in terms if c > 0)


def bytes_of(type_: TensorType, at: Mapping[str, int]) -> int:
    """The bytes of a tensor for these values of bounds and dimensions."""
    return max(0, evaluate(ix.product(type_.shape), at)) * type_.dtype.itemsize


def size_formula(type_: TensorType, times: Iterable[ix.Expr] = ()) -> str:
    """The bytes of ``times`` tensors as a readable formula, ``128 KiB*T``."""
    each = ix.Const(type_.dtype.itemsize)
    return bytes_text(ix.mul(ix.product((*times, *type_.shape)), each))
