"""The data that is checked in beside the examples is what `examples/data.py` makes."""

from __future__ import annotations

import numpy as np
import pytest
from safetensors.numpy import load_file

from tests.support.examples import EXAMPLES, ROOT, Example

DATA = ROOT / "examples" / "data"


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda example: example.name)
def test_data_is_up_to_date(example: Example) -> None:
    _, inputs, params = example.data(12)
    given = np.load(DATA / f"{example.name}.npz") if inputs else {}
    weights = load_file(DATA / f"{example.name}.safetensors") if params else {}
    for made, found in ((inputs, given), (params, weights)):
        assert set(made) == set(found)
        for name, value in made.items():
            np.testing.assert_array_equal(value, found[name], strict=True)


def test_every_program_has_a_row() -> None:
    programs = sorted(path.stem for path in (ROOT / "examples").glob("*.rt"))
    assert [example.name for example in EXAMPLES] == programs
