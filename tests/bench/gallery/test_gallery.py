"""Every pair of the gallery computes the same as its twin, at small sizes; nothing is timed."""

from __future__ import annotations

import pytest

from tests.bench.gallery.compare import FOLDER, check, names, pair, prepared


@pytest.mark.parametrize("name", names())
def test_a_program_computes_what_its_twin_does(name: str) -> None:
    check(name, prepared(name, pair(name).small))


def test_every_program_has_a_twin() -> None:
    assert [name for name in names() if not (FOLDER / name).with_suffix(".py").exists()] == []
