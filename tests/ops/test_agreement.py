"""Every operator: the shape rule, the NumPy meaning and the emitted JAX tell the same story."""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from itertools import product

import numpy as np
import pytest
from jax import lax

from tempoc.ops.catalog import OPS
from tempoc.ops.tensor.convolution import Conv, ConvTranspose
from tempoc.symbolic.walk import symbols
from tests.ops import cases, cases_layout, cases_random
from tests.ops.harness import Kernel, Trial, check, tried
from tests.support.session.long import examples, sampled, spread

CASES = [
    *cases.SOURCE, *cases.ELEMENTWISE, *cases.ARITHMETIC, *cases.CONTROL, *cases.REDUCTION,
    *cases.SEARCH, *cases.SCAN, *cases_layout.MOVEMENT, *cases_layout.JOINING,
    *cases_layout.RESHAPE, *cases_layout.INDEXING, *cases_layout.CONTRACTION,
    *cases_layout.UNPACKED, *cases_layout.LINEAR, *cases_layout.FOURIER,
    *cases_layout.ATTENTION, *cases_random.RANDOM,
]  # fmt: skip


LAST = [
    replace(case, last=last, label=f"{case.label or case.op.name} at the end", extra=0)
    for case in CASES
    for last in dict.fromkeys([(0,), tuple(range(len(case.args)))])
    if any("t" in symbols(e) for a in case.args[: len(last)] for e in a.type.shape)
]
"""Cases with ragged operands of which the first one, or all, are valid at the end of axes."""
(FEW, REST), (FEW_LAST, REST_LAST) = (
    spread(cases, lambda case: type(case.op)) for cases in (CASES, LAST)
)
"""Of each operator some cases, and those that only the long run tries."""
EVERY = [*FEW, *FEW_LAST, *REST, *REST_LAST]
TOGETHER = 24
"""So many cases share a compilation."""


@cache
def results(group: int) -> list[tuple[Kernel, list[Trial]]]:
    return tried(EVERY[group * TOGETHER : (group + 1) * TOGETHER])


@pytest.mark.parametrize(
    "number",
    sampled(
        range(len(EVERY)),
        "all cases of each operator",
        keep=lambda number: number < len(FEW + FEW_LAST),
    ),
    ids=[str(case) for case in EVERY],
)
def test_three_ways(number: int) -> None:
    case = EVERY[number]
    kernel, trials = results(number // TOGETHER)[number % TOGETHER]
    if not trials:  # one of them cannot be compiled: is it this one?
        ((kernel, trials),) = tried([case])
    check(case, kernel, trials)


def test_every_operator_is_tried() -> None:
    tried = {type(case.op) for case in CASES}
    # Given from outside, stored by others, or known to the user alone: no value, no kernel.
    untried = [name for name, cls in OPS.items() if cls not in tried]
    outside = ["print", "save", "until", "extern_jax", "extern_host", "extern_vjp"]
    outside += ["dispatched"]
    assert untried == ["input", "param", "seed", "merge", *outside]


LAYOUT = ("NHC", "HIO", "NHC")


@pytest.mark.parametrize("padding", ("valid", "same"))
def test_transposed_convolutions_are_those_of_jax(padding: str) -> None:
    random = np.random.default_rng(0)
    every = [*product((1, 5), (1, 2, 3, 4), (1, 2, 3), (1, 2))]
    for n, k, stride, apart in every[:: examples(5, long=1)]:
        x, w = (random.standard_normal(s).astype(np.float32) for s in ((2, n, 3), (k, 3, 2)))
        op = ConvTranspose(stride=stride, padding=padding, rhs_dilation=apart)  # type: ignore[arg-type]
        (found,) = op.evaluate((x, w), {})
        wanted = lax.conv_transpose(
            x, w, (stride,), padding.upper(), rhs_dilation=(apart,), dimension_numbers=LAYOUT
        )
        np.testing.assert_allclose(found, wanted, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("padding", ("valid", "same"))
def test_groups_and_dilated_kernels_are_those_of_jax(padding: str) -> None:
    random = np.random.default_rng(0)
    every = [*product((1, 2, 3), (1, 2), (1, 2, 3), (1, 2, 4))]
    for k, stride, apart, groups in every[:: examples(5, long=1)]:
        x = random.standard_normal((2, 9, 4)).astype(np.float32)
        w = random.standard_normal((k, 4 // groups, 8)).astype(np.float32)
        op = Conv(
            stride=stride,
            padding=padding,  # type: ignore[arg-type]
            rhs_dilation=apart,
            feature_group_count=groups,
        )
        (found,) = op.evaluate((x, w), {})
        wanted = lax.conv_general_dilated(
            x, w, (stride,), padding.upper(), rhs_dilation=(apart,), dimension_numbers=LAYOUT,
            feature_group_count=groups,
        )  # fmt: skip
        np.testing.assert_allclose(found, wanted, rtol=1e-4, atol=1e-5)
