"""Every operator: the shape rule, the NumPy meaning and the emitted JAX tell the same story."""

from __future__ import annotations

import pytest

from tempoc.ops.catalog import OPS
from tests.ops import cases, cases_layout, cases_random
from tests.ops.harness import Case, check

CASES = [
    *cases.SOURCE, *cases.ELEMENTWISE, *cases.ARITHMETIC, *cases.CONTROL, *cases.REDUCTION,
    *cases.SEARCH, *cases.SCAN, *cases_layout.MOVEMENT, *cases_layout.JOINING,
    *cases_layout.RESHAPE, *cases_layout.INDEXING, *cases_layout.CONTRACTION,
    *cases_random.RANDOM,
]  # fmt: skip


@pytest.mark.parametrize("case", CASES, ids=str)
def test_three_ways(case: Case) -> None:
    check(case)


def test_every_operator_is_tried() -> None:
    tried = {type(case.op) for case in CASES}
    # Given from outside, stored by others, or known to the user alone: no value, no kernel.
    untried = [name for name, cls in OPS.items() if cls not in tried]
    outside = ["print", "save", "until", "extern_jax", "extern_host", "extern_vjp"]
    assert untried == ["input", "param", "seed", "merge", *outside]
