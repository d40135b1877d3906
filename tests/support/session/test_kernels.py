"""What tests that compare values leave out of how kernels are made."""

from __future__ import annotations

import pytest

from tempoc.runtime.execution import kernels
from tests.support.session import long as marks
from tests.support.session.kernels import LENGTHS, lengths_in_share


@pytest.mark.parametrize(
    ("long", "least", "most"), [(False, 70, 130), (True, 100 * LENGTHS, 100 * LENGTHS)]
)
def test_a_share_of_programs_has_kernels_for_many_lengths(
    long: bool, least: int, most: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(marks.chosen, "long", long)
    users, share = kernels.kernels_of_lengths, 0
    for number in range(100 * LENGTHS):
        with lengths_in_share(f"output y{number}\n"):
            share += kernels.kernels_of_lengths is users
        assert kernels.kernels_of_lengths is users
    assert least <= share <= most
