"""Gradients of generated programs against differences."""

from __future__ import annotations

import pytest
from hypothesis import HealthCheck, Phase, given, note, settings

from tests.support.generators.losses import losses
from tests.support.gradients import check

SIZES = ({"T": 1}, {"T": 5})
COMMON = {
    "deadline": None,
    "derandomize": True,
    "database": None,
    "phases": (Phase.generate,),
    "suppress_health_check": [HealthCheck.too_slow, HealthCheck.data_too_large],
}

pytestmark = pytest.mark.slow


@given(text=losses())
@settings(max_examples=6, **COMMON)
def test_gradients_agree_with_differences(text: str) -> None:
    note(text)
    check(text, ["x", "w", "k"], bounds=SIZES)


@given(text=losses())
@settings(max_examples=1, **COMMON)
def test_second_derivatives_agree_with_differences(text: str) -> None:
    note(text)
    text = text.replace("loss =", "inner =")
    text += "\ng = grad(inner, x)\nh = grad(inner, w)\nloss = sum(g[0:T] ** 2) + h ** 2"
    check(text, ["x", "w"], bounds=SIZES[1:])
