"""Programs on the standard library by the reference evaluator, wide and plain, and compiled."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from tempoc.runtime.data.bindings import Given
from tempoc.runtime.data.source import as_sources
from tempoc.runtime.load.load import LoadedProgram
from tempoc.runtime.run import Settings, run_given
from tempoc.sdg.evaluation.interpret import evaluate
from tempoc.sdg.graph.graph import Graph
from tests.support.agreement import compile_text

Data = Mapping[str, Any]


def both(
    text: str,
    bounds: Mapping[str, int],
    inputs: Data,
    *,
    level: int = 2,
    seed: int = 0,
    rtol: float = 2e-5,
    atol: float = 2e-6,
) -> dict[str, Any]:
    """The outputs in float64 by the evaluator; compiled, they are the same to float32 rounding."""
    graph, loaded = compile_text(text, level)
    return agreed(graph, loaded, bounds, inputs, seed=seed, rtol=rtol, atol=atol)


def agreed(
    graph: Graph,
    loaded: LoadedProgram,
    bounds: Mapping[str, int],
    inputs: Data,
    *,
    seed: int = 0,
    rtol: float = 2e-5,
    atol: float = 2e-6,
) -> dict[str, Any]:
    """The same for a program that is compiled already."""
    given = {k: narrow(v) for k, v in inputs.items()}
    exact = evaluate(graph, bounds, given, {}, seed=seed, float64=True)
    found = outputs(loaded, bounds, given, seed)
    assert set(found) == set(exact)
    for name, value in exact.items():
        np.testing.assert_allclose(found[name], value, rtol=rtol, atol=atol, err_msg=name)
    return exact


def outputs(
    loaded: LoadedProgram, bounds: Mapping[str, int], inputs: Data, seed: int = 0
) -> dict[str, Any]:
    """What a compiled program says."""
    used = as_sources({i.name: inputs[i.name] for i in loaded.program.inputs})
    found = run_given(loaded, Given(bounds=bounds, inputs=used, params={}, seed=seed), Settings())
    return {name: np.asarray(x) for name, x in found.outputs.items()}


def narrow(x: Any) -> Any:
    """An array as programs take it: floats of 32 bits."""
    x = np.asarray(x)
    return x.astype(np.float32) if x.dtype.kind == "f" else x


def wide(inputs: Data) -> dict[str, Any]:
    """The same numbers with 64 bits, for an exact computation elsewhere."""
    found = {k: narrow(v) for k, v in inputs.items()}
    return {k: v.astype(np.float64) if v.dtype.kind == "f" else v for k, v in found.items()}
