"""Gradients of generated programs against differences."""

from __future__ import annotations

from hypothesis import HealthCheck, Phase, given, note, settings

from tests.support.generators.losses import losses
from tests.support.gradients import check
from tests.support.session.long import examples

SIZES = ({"T": 1}, {"T": 5})
COMMON = {
    "deadline": None,
    "derandomize": True,
    "database": None,
    "phases": (Phase.generate,),
    "suppress_health_check": [HealthCheck.too_slow, HealthCheck.data_too_large],
}


@given(text=losses())
@settings(max_examples=examples(2, long=6), **COMMON)
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
