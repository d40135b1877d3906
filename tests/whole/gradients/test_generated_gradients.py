"""Gradients of generated programs against differences."""

from __future__ import annotations

from hypothesis import given, note

from tests.support.generators.losses import losses
from tests.support.generators.settings import generated
from tests.support.gradients import check

SIZES = ({"T": 1}, {"T": 5})


@given(text=losses())
@generated(2, long=6)
def test_gradients_agree_with_differences(text: str) -> None:
    note(text)
    check(text, ["x", "w", "k"], bounds=SIZES)


@given(text=losses())
@generated(1, long=1)
def test_second_derivatives_agree_with_differences(text: str) -> None:
    note(text)
    text = text.replace("loss =", "inner =")
    text += "\ng = grad(inner, x)\nh = grad(inner, w)\nloss = sum(g[0:T] ** 2) + h ** 2"
    check(text, ["x", "w"], bounds=SIZES[1:])
