"""Programs with inferred types compute at all levels what the evaluator computes."""

from __future__ import annotations

import pytest

from tests.support.agreement import agree, all_equal
from tests.support.inference_programs import BODY, CYCLES, GIVEN, GROWING, INSIDE

LEVELS = (0, 1, 2)


@pytest.mark.parametrize("name", CYCLES)
def test_cycles(name: str) -> None:
    text = CYCLES[name].replace("...\n", "").replace("param ", "input ")
    agree(text, *all_equal(text, 1, 2, 5), levels=LEVELS)


def test_a_cycle_in_a_function() -> None:
    text = INSIDE.replace("...", "\n".join(BODY))
    agree(text, *all_equal(text, 1, 2, 5), levels=LEVELS)


@pytest.mark.parametrize("name", GROWING)
def test_growing_shapes(name: str) -> None:
    text = GIVEN + GROWING[name] + "s[t] = sum(h)\noutput s\n"
    agree(text, *all_equal(text, 1, 2, 3, 5), levels=LEVELS)
