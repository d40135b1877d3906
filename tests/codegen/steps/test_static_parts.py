"""What conditions of steps that are written out say before XLA knows anything."""

from __future__ import annotations

import pytest

from tempoc.codegen.regions.branches import static_part
from tempoc.symbolic.parse import parse
from tempoc.symbolic.walk import symbols


@pytest.mark.parametrize(
    ("condition", "part"),
    [
        ("i == 0 and l >= 2 or L >= 2 and i >= 1 and l == L", "l >= 2 or L >= 2 and l == L"),
        ("l >= 1 and (i == 0 or l < L)", "l >= 1"),
        ("i == 0 or l >= 1", "0 == 0"),
        ("l >= 1", "l >= 1"),
    ],
)
def test_no_step_is_left_out_that_the_condition_may_hold_for(condition: str, part: str) -> None:
    """Of these only ``i`` is a number that XLA computes."""
    assert static_part(parse(condition), lambda e: "i" not in symbols(e)) == parse(part)
