"""The Python names of dimensions and bounds in `kernels.py`."""

from __future__ import annotations

import keyword

PREAMBLE = (
    *("all_finite", "looped_in_strips", "random_uniform64", "scatter_products", "strip_mined_loop"),
    *("any_point", "argsorted", "has_cudnn", "in_blocks", "in_branch", "unless_nan", "with_zeros"),
    *("at", "box_at", "joined", "looped", "matvec", "paired", "raised", "window"),
    *("at_least", "cut_rows", "greatest", "in_order", "lax", "ldl_rows", "minus_log", "put_rows"),
    *("attend", "ring_age", "ring_row", "selected", "squeezed", "taken_if", "threefry", "unpacked"),
    *("attend_by_rows", "attend_by_tiles", "complex_numbers", "random_integers", "random_normal64"),
    *("cholesky_rows", "greatest_first", "picked_product", "random_uniform", "with_joined_row"),
    *("clamped", "convolved_by_band", "convolved_by_lags", "long_convolution", "transposed_matmul"),
    *("convolved_by_fourier", "linear_scanned_rows", "looped_in_prefixes", "valid_rows_product"),
    *("extreme", "in_rows", "lu_rows", "rotated", "running", "updated", "usually", "with_row"),
    *("first_fault", "first_wrong", "least_first", "linear_rows", "random_bits", "unknown_zero"),
    *("first_lane", "fourier_sums", "looped_while", "put_into_sum", "scanned_rows", "term_by_term"),
    *("in_batches", "in_windows", "jax", "random_fold", "random_key", "selected_if", "wrong_value"),
    *("integer_power", "jnp", "random_gumbel", "random_normal", "random_of_few", "with_ring_row"),
)
"""What kernels mean by these names: an argument, modules, the functions emitted before them."""
_REGIONS = ("carry", "count", "fault", "found", "steps")
_BUILTINS = (
    *("dict", "enumerate", "float", "int", "isinstance", "len", "list", "max", "min", "next"),
    *("range", "reversed", "slice", "sorted", "sum", "tuple", "zip", "__builtins__", "__debug__"),
)
_UNFIT = frozenset(n.rstrip("_") for n in (*keyword.kwlist, *PREAMBLE, *_REGIONS, *_BUILTINS))


def variable(name: str) -> str:
    """The variable for a dimension or a bound: its own name, unless Python or a kernel needs that.

    Names that differ are spelled differently: ``at`` is ``at_``, and ``at_`` is ``at__``.
    """
    return f"{name}_" if name.rstrip("_") in _UNFIT else name
