"""Programs with inferred types compute, optimized or not, what the evaluator computes."""

from __future__ import annotations

import pytest

from tests.support.agreement import BOTH, agree, all_equal
from tests.support.inference_programs import BODY, CYCLES, GIVEN, GROWING, INSIDE


@pytest.mark.parametrize("name", CYCLES)
def test_cycles(name: str) -> None:
    text = CYCLES[name].replace("...\n", "").replace("param ", "input ")
    agree(text, *all_equal(text, 1, 2, 5), levels=BOTH)


def test_a_cycle_in_a_function() -> None:
    text = INSIDE.replace("...", "\n".join(BODY))
    agree(text, *all_equal(text, 1, 2, 5), levels=BOTH)


@pytest.mark.parametrize("name", GROWING)
def test_growing_shapes(name: str) -> None:
    text = GIVEN + GROWING[name] + "s[t] = sum(h)\noutput s\n"
    agree(text, *all_equal(text, 1, 2, 3, 5), levels=BOTH)
