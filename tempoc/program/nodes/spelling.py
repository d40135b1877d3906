"""The Python names of dimensions and bounds in `kernels.py`."""

from __future__ import annotations

import keyword

PREAMBLE = (
    *("all_finite", "any_point", "argsorted", "around", "at", "at_least", "attend"),
    *("attend_by_rows", "attend_by_tiles", "box_at", "branched", "cholesky_rows", "clamped"),
    *("complex_numbers", "computed_first", "convolved_by_band", "convolved_by_fourier"),
    *("convolved_by_lags", "cut_rows", "extreme", "first_fault", "first_lane", "first_wrong"),
    *("folded_pairs", "fourier_sums", "greatest", "greatest_first", "has_cudnn", "in_batches"),
    *("in_blocks", "in_branch", "in_order", "in_rows", "in_windows", "integer_power", "is_brief"),
    *("jax", "jnp", "joined", "lax", "ldl_rows", "least_first", "linear_rows"),
    *("linear_scanned_rows", "long_convolution", "looped", "looped_in_prefixes"),
    *("looped_in_strips", "looped_while", "lu_rows", "matvec", "minus_log", "paired"),
    *("picked_product", "picked_row", "put_into", "put_into_sum", "put_rows", "raised"),
    *("random_bits", "random_fold", "random_gumbel", "random_integers", "random_key"),
    *("random_noise_of_few", "random_normal", "random_normal64", "random_of_few", "random_uniform"),
    *("random_uniform64", "ring_age", "ring_row", "rotated", "running", "scanned_rows"),
    *("scatter_products", "selected", "selected_if", "selected_parts", "squeezed"),
    *("strip_mined_loop", "taken_if", "term_by_term", "threefry", "transposed_matmul"),
    *("unknown_zero", "unless_nan", "unpacked", "updated", "usually", "valid_rows_product"),
    *("window", "with_joined_row", "with_ring_row", "with_row", "with_zeros", "wrong_value"),
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
