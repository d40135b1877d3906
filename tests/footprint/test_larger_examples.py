"""Larger examples: bytes that runs take are those that were predicted.

Those of `examples/rl` are looked at where they run anyway (`tests/whole/models/test_rl.py`).
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import numpy as np
import pytest

from tempoc.driver.compilation import Compilation
from tempoc.driver.options import Options
from tempoc.program.nodes.nodes import Program
from tempoc.runtime.data.bindings import Given, leading_dims, points, tensor_name
from tempoc.runtime.data.bounds import resolve
from tempoc.runtime.data.dtypes import NUMPY, HostArray
from tempoc.runtime.data.source import as_sources
from tempoc.runtime.load.load import load
from tempoc.runtime.run import Settings, run_given
from tempoc.symbolic.walk import evaluate
from tests.support.examples import ROOT
from tests.support.session.long import sampled

pytestmark = [pytest.mark.usefixtures("without_runner")]

LLAMA = {"L": 2, "D": 16, "F": 24, "V": 11, "H": 4, "KV": 2, "heads": 4}
LEARNED = {"V": 7, "D": 8, "layers": 1, "heads": 2, "window": 3}
CASES = {
    "characters/gru": ({"I": 3, "T": 5, "N": 9}, {"V": 7, "E": 3, "H": 4, "B": 2}),
    "characters/write": ({"B": 2, "P": 3, "T": 9}, {"V": 7, "E": 3, "H": 5}),
    "characters/learn": ({"I": 2, "T": 4, "N": 9}, LEARNED | {"B": 2}),
    "characters/recite": ({"P": 3, "T": 9}, LEARNED | {"B": 2}),
    "diffusion/moons": ({"I": 3, "S": 4}, {}),
    "llama/model": ({"B": 2, "P": 4, "S": 2, "T": 9}, {**LLAMA, "window": 0}),
    "llama/sample": ({"B": 2, "P": 4, "S": 2, "T": 9}, LLAMA | {"L": 1}),
    "llama/model, window": ({"B": 2, "P": 4, "S": 2, "T": 9}, {**LLAMA, "window": 3}),
}
FEW = ("characters/gru",)


@pytest.mark.parametrize("name", sampled(CASES, "all larger examples", keep=FEW.__contains__))
def test_what_was_predicted(name: str, tmp_path: Path) -> None:
    bounds, defines = CASES[name]
    path = ROOT / "examples" / f"{name.split(',')[0]}.rt"
    options = Options(defines={n: str(v) for n, v in defines.items()}, bucket=4)
    Compilation.from_path(str(path), options).write(str(tmp_path / "out"))
    loaded = load(tmp_path / "out", [path.parent])
    inputs, params = data(loaded.program, bounds)
    given = Given(bounds=bounds, inputs=as_sources(inputs), params=as_sources(params))
    quiet = Settings(account=True, show=lambda *effect: None)
    result = run_given(loaded, given, quiet)
    assert result.predicted is not None
    assert result.peak_bytes == result.predicted.peak > 0
    assert result.stores == result.predicted.stores


def data(
    program: Program, bounds: Mapping[str, int]
) -> tuple[dict[str, HostArray], dict[str, HostArray]]:
    """Ones for all inputs, and for params that are not computed."""
    values = resolve(program, bounds, (), {}).values
    dims = {dim: values[bound] for dim, bound in program.dims}
    inputs = {
        i.name: np.ones(
            [*(dims[d] for d in i.dims), *(evaluate(e, values) for e in i.shape)], NUMPY[i.dtype]
        )
        for i in program.inputs
    }
    params = {
        tensor_name(p, point): np.ones(
            [*(dims[d] for d in leading_dims(p)), *(evaluate(e, values) for e in p.shape)],
            NUMPY[p.dtype],
        )
        for p in program.params
        if not p.has_default
        for point in points(p, program, values)
    }
    return inputs, params
