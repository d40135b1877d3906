"""Operators that compute each element, or each row, for itself: they do not look at padding."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import jax.numpy as jnp
import numpy as np

from tempoc.runtime.rewriting.lengths.padding import require, static
from tempoc.runtime.rewriting.lengths.rule import PaddedOperation, PaddingRule
from tempoc.runtime.rewriting.lengths.sizes import is_ragged
from tempoc.runtime.rewriting.lengths.sums import greatest, least

_NAMES = """
    abs acos acosh add add_any and asin asinh atan atan2 atanh bessel_i0e bessel_i1e
    bitcast_convert_type cbrt ceil clamp clz convert_element_type copy copy_p cos cosh digamma div
    eq erf erf_inv erfc exp exp2 expm1 floor ge gt integer_pow is_finite le lgamma log log1p
    logistic lt max min mul ne neg nextafter not optimization_barrier or population_count pow
    reduce_precision regularized_incomplete_beta rem round rsqrt select_n shift_left
    shift_right_arithmetic shift_right_logical sign sin sinh sqrt square stop_gradient sub tan tanh
    threefry2x32 xor
"""
ELEMENTWISE = frozenset(_NAMES.split())
_ROWS = ("cholesky", "eigh", "lu", "triangular_solve", "householder_product", "qr", "svd")
"""Solvers: of matrices, the last two axes."""


def _elementwise(op: PaddedOperation, given: Sequence[Any]) -> Sequence[Any]:
    if op.primitive.name != "optimization_barrier":
        made = op.made[0]
        for shape in filter(None, op.given):
            # The same bits may be more elements of fewer, along an axis of their own.
            require(all(a in (b, 1) for a, b in zip(shape, made, strict=False)))
    return op.bound(given)


def _shaped(op: PaddedOperation, given: Sequence[Any]) -> Sequence[Any]:
    return op.bound(given, shape=op.padding.shape(op.made[0]))


def _of_matrices(op: PaddedOperation, given: Sequence[Any]) -> Sequence[Any]:
    first = len(op.given[0]) - 2
    for shape in (*op.given, *op.made):
        static(shape[first:])
    return op.bound(given)


def _by_key(op: PaddedOperation, given: Sequence[Any]) -> Sequence[Any]:
    """What is drawn for each key: as many numbers for all lengths."""
    static(op.how.get("shape", ()))
    return op.bound(given)


def _sort(op: PaddedOperation, given: Sequence[Any]) -> Sequence[Any]:
    """Keys of padding are the largest, and stay behind others that are."""
    axis, keys = op.how["dimension"], op.how["num_keys"]
    if not any(is_ragged(shape[axis : axis + 1]) for shape in op.given):
        return op.bound(given)
    masked = [
        op.padding.masked(array, shape, (axis,), _largest_key(array.dtype))
        for array, shape in zip(given[:keys], op.given, strict=False)
    ]
    return op.bound([*masked, *given[keys:]], is_stable=True)


def _largest_key(dtype: Any) -> Any:
    """What no key is sorted behind: no number, where there is none."""
    require(not jnp.issubdtype(dtype, jnp.complexfloating))
    return jnp.nan if jnp.issubdtype(dtype, jnp.inexact) else greatest(dtype)


def _top_k(op: PaddedOperation, given: Sequence[Any]) -> Sequence[Any]:
    """Padding is below all others, in the order of bits, or behind those that are the same."""
    (array,) = given
    dtype = array.dtype
    last = np.array(-1, f"i{dtype.itemsize}").view(dtype)
    fill = last if jnp.issubdtype(dtype, jnp.inexact) else least(dtype)
    return op.bound([op.padding.masked(array, op.given[0], (op.how["axis"],), fill)])


def _of_last(op: PaddedOperation, given: Sequence[Any]) -> Sequence[Any]:
    static(op.given[0][-1:])
    return op.bound(given)


def _of_axis(op: PaddedOperation, given: Sequence[Any]) -> Sequence[Any]:
    static(op.given[0][op.how["axis"] :][:1])
    return op.bound(given)


def _tile(op: PaddedOperation, given: Sequence[Any]) -> Sequence[Any]:
    repeated = zip(op.given[0], op.how["reps"], strict=True)
    static([size for size, times in repeated if times != 1])
    return op.bound(given)


RULES: Mapping[str, PaddingRule] = {
    **dict.fromkeys(ELEMENTWISE, _elementwise),
    # Axes are moved, or new ones are made of no element.
    **dict.fromkeys(("transpose", "squeeze", "stack"), PaddedOperation.bound),
    **dict.fromkeys(("broadcast_in_dim", "iota"), _shaped),
    **dict.fromkeys(_ROWS, _of_matrices),
    **dict.fromkeys(
        ("random_bits", "random_split", "random_fold_in", "random_wrap", "random_unwrap"), _by_key
    ),
    "sort": _sort,
    "lu_pivots_to_permutation": _of_last,
    "top_k": _top_k,
    "split": _of_axis,
    "tile": _tile,
}
