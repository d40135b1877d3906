"""Generated programs: compiled and optimized, they still mean what the reference evaluator says."""

from __future__ import annotations

import tempfile
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, Phase, given, note, settings

from tempoc.cli.main import status
from tempoc.driver.compilation import Compilation
from tempoc.driver.options import Options
from tempoc.sdg.interpret import evaluate
from tests.support.programs import Program, programs

SIZES = ((1, 1, 1), (2, 3, 1), (5, 4, 3))

pytestmark = pytest.mark.slow


def data(program: Program, bounds: dict[str, int]) -> dict[str, np.ndarray]:
    random = np.random.default_rng(0)
    return {
        name: random.uniform(-1, 1, [bounds[dim.upper()] for dim in program.tensors[name]]).astype(
            np.float32
        )
        for name in ("x", "w")
    }


@given(program=programs())
@settings(
    max_examples=12,
    deadline=None,
    derandomize=True,
    database=None,
    phases=(Phase.generate,),
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)
def test_generated_programs_agree(program: Program) -> None:
    note(program.text)
    with tempfile.TemporaryDirectory() as folder:
        check(program, Path(folder))


def check(program: Program, folder: Path) -> None:
    source = folder / "model.rt"
    source.write_text(program.text)
    graph = Compilation.from_path(str(source), Options(level=0)).graph
    for level in (0, 2):
        out = str(folder / f"out{level}")
        assert status(["compile", str(source), "-o", out, f"-O{level}"]) == 0
    for size in SIZES:
        bounds = dict(zip(("I", "J", "K"), size, strict=True))
        inputs = data(program, bounds)
        np.savez(folder / "inputs.npz", **inputs)
        own = {dim.upper(): bounds[dim.upper()] for dim in program.dims}
        wanted = evaluate(graph, own, inputs, {}, float64=True)
        for level in (0, 2):
            command = ["run", str(folder / f"out{level}"), "--input", str(folder / "inputs.npz")]
            assert status([*command, "--output", str(folder / "results.npz")]) == 0
            with np.load(folder / "results.npz") as found:
                assert set(found) == set(wanted)
                for name, value in wanted.items():
                    np.testing.assert_allclose(found[name], value, rtol=1e-3, atol=1e-4)
