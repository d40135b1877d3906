"""Every numbered example: NumPy loops, the evaluator and the compiled program all agree."""

from __future__ import annotations

from functools import cache
from pathlib import Path

import numpy as np
import pytest
from safetensors.numpy import save_file

from tempoc.cli.main import status
from tempoc.driver.compilation import Compilation
from tempoc.driver.options import Options
from tempoc.ops.tensor.source import Param
from tempoc.sdg.evaluation.interpret import evaluate
from tempoc.sdg.graph.graph import Graph
from tests.support.examples import EXAMPLES, Example, compiled
from tests.support.oracles.oracles import expected
from tests.support.session.long import chosen, ends, in_share

SIZES = (1, 2, 3, 7)
SOME = {0: (3,), 1: (2,), 2: (1, 2)}  # kernels of each size take long, unfused ones most
FEW = {1: (2,), 2: (1, 7)}
Arrays = dict[str, np.ndarray]

each_example = pytest.mark.parametrize("example", EXAMPLES, ids=lambda example: example.name)


@cache
def graph(example: Example) -> Graph:
    """What the front end makes of an example."""
    return Compilation.from_path(str(example.source), Options(level=0)).graph


@cache
def meaning(example: Example, size: int, *, float64: bool) -> Arrays:
    """What the reference evaluator says."""
    bounds, inputs, params = example.data(size)
    nodes = [node for node in graph(example).nodes.values() if isinstance(node.op, Param)]
    weights = {node.name: params[node.op.template] for node in nodes}
    return evaluate(graph(example), bounds, inputs, weights, float64=float64)


@each_example
def test_the_evaluator_agrees_with_numpy(example: Example) -> None:
    for size in (*(SIZES if chosen["long"] else SIZES[::2]), example.largest):
        bounds, inputs, params = example.data(size)
        same(meaning(example, size, float64=True), expected(example.name, bounds, inputs | params))


@pytest.mark.parametrize(
    ("example", "level"),
    [
        pytest.param(
            example,
            level,
            id=f"{level}-{example.name}",
            marks=[]
            if level == 2 or (level == k % 2 and k % 3 == 0)
            else pytest.mark.long("all levels"),
        )
        for k, example in enumerate(EXAMPLES)
        for level in (FEW if example.heavy else SOME)
    ],
)
def test_the_compiled_program_agrees(
    example: Example, level: int, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    out = tmp_path / "out"
    if level == 2:
        compiled(example.source).write(str(out))
    else:
        assert status(["compile", str(example.source), "-o", str(out), f"-O{level}"]) == 0
    if example.heavy:
        sizes = FEW[level] if chosen["long"] else FEW[level][-1:]
    else:
        sizes = tuple(ends((*SOME[level], *((example.largest,) if level == 2 else ()))))
    for size in sizes:
        # XLA makes all its effort for few examples that are light, and in the long run for all.
        users = chosen["long"] or (not example.heavy and in_share(example.name, of=4))
        if level == 2 and size == sizes[-1] and users:
            request.getfixturevalue("as_users")
        found = run(example, size, out)
        plain = meaning(example, sizes[0], float64=False)
        assert {k: v.dtype for k, v in found.items()} == {k: v.dtype for k, v in plain.items()}
        same(found, meaning(example, size, float64=True))


def run(example: Example, size: int, out: Path) -> Arrays:
    """Run a compiled example as a user does."""
    bounds, inputs, params = example.data(size)
    result = out.parent / "results.npz"
    command = ["run", str(out), "--output", str(result)]
    if example.given:
        command += ["--bounds", ",".join(f"{name}={bounds[name]}" for name in example.given)]
    if inputs:
        np.savez(out.parent / "inputs.npz", **inputs)
        command += ["--input", str(out.parent / "inputs.npz")]
    if params:
        save_file(params, out.parent / "params.safetensors")
        command += ["--params", str(out.parent / "params.safetensors")]
    assert status(command) == 0
    with np.load(result) as file:
        return dict(file)


def same(found: Arrays, wanted: Arrays) -> None:
    """Equal names, shapes and values, floats to float32's precision."""
    assert set(found) == set(wanted)
    for name, value in wanted.items():
        assert found[name].shape == value.shape, name
        np.testing.assert_allclose(found[name], value, rtol=2e-4, atol=2e-5, err_msg=name)
