"""Operators that compute each element, or each row, for itself: they do not look at padding."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from tempoc.runtime.rewriting.lengths.padding import is_ragged, require, static
from tempoc.runtime.rewriting.lengths.rule import PaddedOperation, PaddingRule

_ELEMENTWISE = """
    abs acos acosh add add_any and asin asinh atan atan2 atanh bessel_i0e bessel_i1e
    bitcast_convert_type cbrt ceil clamp clz convert_element_type copy copy_p cos cosh digamma div
    eq erf erf_inv erfc exp exp2 expm1 floor ge gt integer_pow is_finite le lgamma log log1p
    logistic lt max min mul ne neg nextafter not optimization_barrier or population_count pow
    reduce_precision regularized_incomplete_beta rem round rsqrt select_n shift_left
    shift_right_arithmetic shift_right_logical sign sin sinh sqrt square stop_gradient sub tan tanh
    threefry2x32 xor
"""
_ROWS = ("cholesky", "eigh", "lu", "triangular_solve", "householder_product", "qr", "svd")
"""Solvers: of matrices, the last two axes."""


def _elementwise(op: PaddedOperation, given: Sequence[Any]) -> Sequence[Any]:
    if op.primitive.name != "optimization_barrier":
        made = op.made[0]
        for shape in filter(None, op.given):
            require(all(a in (b, 1) for a, b in zip(shape, made, strict=True)))
    return op.bound(given)


def _as_it_is(op: PaddedOperation, given: Sequence[Any]) -> Sequence[Any]:
    """Axes are moved, or new ones are made of no element."""
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
    require(not any(is_ragged(shape[op.how["dimension"] :][:1]) for shape in op.given))
    return op.bound(given)


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
    **dict.fromkeys(_ELEMENTWISE.split(), _elementwise),
    **dict.fromkeys(("transpose", "squeeze", "stack"), _as_it_is),
    **dict.fromkeys(("broadcast_in_dim", "iota"), _shaped),
    **dict.fromkeys(_ROWS, _of_matrices),
    **dict.fromkeys(
        ("random_bits", "random_split", "random_fold_in", "random_wrap", "random_unwrap"), _by_key
    ),
    "sort": _sort,
    "lu_pivots_to_permutation": _of_last,
    **dict.fromkeys(("split", "top_k"), _of_axis),
    "tile": _tile,
}
