"""Operators that combine the elements of axes: what is behind the end becomes neutral first."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import jax.numpy as jnp
import numpy as np
from jax import lax

from tempoc.runtime.rewriting.lengths.padding import require
from tempoc.runtime.rewriting.lengths.rule import PaddedOperation, PaddingRule


def least(dtype: Any) -> Any:
    """The least number of a dtype."""
    if jnp.issubdtype(dtype, jnp.inexact):
        return -jnp.inf
    return False if jnp.issubdtype(dtype, jnp.bool_) else jnp.iinfo(dtype).min


def greatest(dtype: Any) -> Any:
    """The greatest number of a dtype."""
    if jnp.issubdtype(dtype, jnp.inexact):
        return jnp.inf
    return True if jnp.issubdtype(dtype, jnp.bool_) else jnp.iinfo(dtype).max


def _neutral(name: str, dtype: Any) -> Any:
    """What a reduction leaves as it is: for a conjunction all bits."""
    kind = name.rpartition("_")[2].removeprefix("cum").removeprefix("arg")
    if kind in ("max", "logsumexp"):
        return least(dtype)
    if kind == "min":
        return greatest(dtype)
    if kind == "and":
        return np.array(True) if jnp.issubdtype(dtype, jnp.bool_) else ~np.zeros((), dtype)
    return int(kind == "prod")


def _reduced(op: PaddedOperation, given: Sequence[Any]) -> Sequence[Any]:
    array, name = given[0], op.primitive.name
    axes = op.how.get("axes", range(array.ndim))  # windows have all
    array = op.padding.masked(array, op.given[0], axes, _neutral(name, array.dtype))
    (made,) = op.bound([array])
    if name in _EXTREMES and jnp.issubdtype(array.dtype, jnp.inexact):
        # XLA for CPUs loses NaN among many elements, of which there are more here.
        made = jnp.where(jnp.isnan(array).any(axes), jnp.nan, made)
    return [made]


def _reduced_by(op: PaddedOperation, given: Sequence[Any]) -> Sequence[Any]:
    """A reduction of axes or windows with a function of its own, and what is neutral for that."""
    count, function = len(given) // 2, op.how["jaxpr"]
    how = {k: v for k, v in op.how.items() if k not in ("jaxpr", "consts", "computation")}
    axes = how.get("dimensions", range(len(op.given[0])))
    arrays = tuple(
        op.padding.masked(array, shape, axes, start)
        for array, shape, start in zip(given[:count], op.given, given[count:], strict=False)
    )

    def combined(a: Any, b: Any) -> Any:
        return tuple(op.compute(function, [*a, *b]))

    reduced: Any = lax.reduce if "dimensions" in how else lax.reduce_window
    return [*reduced(arrays, tuple(given[count:]), combined, **how)]


def _cumulative(op: PaddedOperation, given: Sequence[Any]) -> Sequence[Any]:
    array = given[0]
    if op.how["reverse"]:
        neutral = _neutral(op.primitive.name, array.dtype)
        array = op.padding.masked(array, op.given[0], (op.how["axis"],), neutral)
    return op.bound([array])


def _product(op: PaddedOperation, given: Sequence[Any]) -> Sequence[Any]:
    """Zeros in both operands: zero times no number is no number."""
    (summed, _batch) = op.how["dimension_numbers"]
    arrays = [
        op.padding.masked(array, shape, axes, 0)
        for array, shape, axes in zip(given, op.given, summed, strict=True)
    ]
    require(len(arrays) == 2)
    return op.bound(arrays)


_EXTREMES = ("reduce_max", "reduce_min")
_REDUCTIONS = (
    *(f"reduce_{kind}" for kind in ("sum", "max", "min", "prod", "and", "or", "xor")),
    *(f"reduce_window_{kind}" for kind in ("sum", "max", "min")),
    "argmax",
    "argmin",
)
_CUMULATIVE = tuple(f"cum{kind}" for kind in ("sum", "prod", "max", "min", "logsumexp"))

RULES: Mapping[str, PaddingRule] = {
    **dict.fromkeys(_REDUCTIONS, _reduced),
    **dict.fromkeys(_CUMULATIVE, _cumulative),
    **dict.fromkeys(("reduce", "reduce_window"), _reduced_by),
    "dot_general": _product,
}
