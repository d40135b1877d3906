"""What benchmarks measure with: memory, and the cells that are chosen."""

from __future__ import annotations

import numpy as np
import pytest

from tests.bench.llama import decode
from tests.bench.measure import growth


def test_growth_is_what_there_is_more_at_most() -> None:
    """Also of arrays that are gone at the end, and whatever the process had at most before.

    Linux counts pages loosely.
    """
    assert growth(lambda: np.ones(4_000_000).sum()) > 30_000_000
    assert growth(lambda: np.ones(1_000_000).sum()) < 16_000_000


def test_cells_are_chosen_by_words(capsys: pytest.CaptureFixture[str]) -> None:
    decode.main(["--list", "T 8192", "B 1", "memory"])
    shown = capsys.readouterr().out.splitlines()
    assert shown == ["B 1, T 8192, memory", "B 1, T 8192, window 256, memory"]
    with pytest.raises(SystemExit, match="nothing has all of T 1, B 1"):
        decode.main(["T 1", "B 1"])
