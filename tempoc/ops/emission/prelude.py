"""Helper functions that are emitted in front of the kernels that call them, by name."""

from __future__ import annotations

import re

from tempoc.ops.control.fold import FOLDED_PAIRS
from tempoc.ops.control.linear_recurrence import LINEAR_ROWS, LINEAR_SCANNED_ROWS, SCANNED_ROWS
from tempoc.ops.control.unpacked_product import IN_BLOCKS, UNPACKED
from tempoc.ops.definition.padding import WINDOW
from tempoc.ops.definition.product_padding import (
    ALL_FINITE,
    ANY_POINT,
    TERM_BY_TERM,
    UNLESS_NAN,
    USUALLY,
)
from tempoc.ops.indexing.indexing import FIRST_LANE, FIRST_WRONG, WRONG_VALUE
from tempoc.ops.indexing.pick import PICKED_ROW
from tempoc.ops.indexing.picked_product import PICKED_PRODUCT
from tempoc.ops.indexing.put import PUT_INTO_SUM
from tempoc.ops.indexing.scatter_products import SCATTER_PRODUCTS
from tempoc.ops.indexing.search import ARGSORTED, GREATEST_FIRST, IN_ORDER, LEAST_FIRST
from tempoc.ops.linear import attention, fourier, long_convolution
from tempoc.ops.linear.cholesky_rows import CHOLESKY_ROWS
from tempoc.ops.linear.ldl_rows import LDL_ROWS
from tempoc.ops.linear.lu_rows import LU_ROWS
from tempoc.ops.random.kernel_text import DRAWING
from tempoc.ops.tensor import arithmetic as binary
from tempoc.ops.tensor.contraction import MATVEC, TRANSPOSED_MATMUL, VALID_ROWS_PRODUCT
from tempoc.ops.tensor.reduction import EXTREME, GREATEST
from tempoc.ops.tensor.scan import RUNNING

HELPERS = {
    **DRAWING,
    "window": WINDOW,
    "linear_rows": LINEAR_ROWS,
    "scanned_rows": SCANNED_ROWS,
    "linear_scanned_rows": LINEAR_SCANNED_ROWS,
    "folded_pairs": FOLDED_PAIRS,
    "all_finite": ALL_FINITE,
    "extreme": EXTREME,
    "greatest": GREATEST,
    "usually": USUALLY,
    "running": RUNNING,
    "any_point": ANY_POINT,
    "unless_nan": UNLESS_NAN,
    "term_by_term": TERM_BY_TERM,
    "matvec": MATVEC,
    "transposed_matmul": TRANSPOSED_MATMUL,
    "valid_rows_product": VALID_ROWS_PRODUCT,
    "in_blocks": IN_BLOCKS,
    "unpacked": UNPACKED,
    "at_least": binary.AT_LEAST,
    "integer_power": binary.INTEGER_POWER,
    "raised": binary.RAISED,
    "first_lane": FIRST_LANE,
    "wrong_value": WRONG_VALUE,
    "first_wrong": FIRST_WRONG,
    "greatest_first": GREATEST_FIRST,
    "least_first": LEAST_FIRST,
    "argsorted": ARGSORTED,
    "in_order": IN_ORDER,
    "picked_row": PICKED_ROW,
    "put_into_sum": PUT_INTO_SUM,
    "picked_product": PICKED_PRODUCT,
    "scatter_products": SCATTER_PRODUCTS,
    "cholesky_rows": CHOLESKY_ROWS,
    "ldl_rows": LDL_ROWS,
    "lu_rows": LU_ROWS,
    "attend_by_tiles": attention.ATTEND_BY_TILES,
    "attend_by_rows": attention.ATTEND_BY_ROWS,
    "has_cudnn": attention.HAS_CUDNN,
    "attend": attention.ATTEND,
    "complex_numbers": fourier.COMPLEX_NUMBERS,
    "paired": fourier.PAIRED,
    "fourier_sums": fourier.FOURIER_SUMS,
    "with_zeros": long_convolution.WITH_ZEROS,
    "convolved_by_lags": long_convolution.CONVOLVED_BY_LAGS,
    "convolved_by_band": long_convolution.CONVOLVED_BY_BAND,
    "convolved_by_fourier": long_convolution.CONVOLVED_BY_FOURIER,
    "long_convolution": long_convolution.LONG_CONVOLUTION,
}
"""Those that operators call, each after those that it calls itself."""

_CALL = re.compile(r"\b(\w+)\(")


def helpers_in(text: str, helpers: dict[str, str] = HELPERS) -> tuple[str, ...]:
    """The helpers that some code calls, directly or indirectly, each before its callers."""
    called, calls = list[str](), {*_CALL.findall(text)}
    for name in reversed(helpers):
        if name in calls:
            called.append(name)
            calls.update(_CALL.findall(helpers[name]))
    return tuple(helpers[name] for name in reversed(called))
