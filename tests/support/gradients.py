"""Gradients of programs against differences of their losses, in float64."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from tempoc.ops.source import Input
from tempoc.poly.space import Space
from tempoc.sdg.graph import Graph
from tempoc.sdg.interpret import evaluate
from tempoc.sdg.verify import verify
from tempoc.symbolic.walk import evaluate as value_of
from tests.support.elaborated import graph_of

Arrays = dict[str, np.ndarray]
STEP = 1e-6


def data(graph: Graph, bounds: dict[str, int], seed: int = 0) -> Arrays:
    """Random inputs, away from zero; integers are small."""
    rng = np.random.default_rng(seed)
    found: Arrays = {}
    for node in graph.nodes.values():
        if isinstance(node.op, Input):
            lead = [bounds[graph.universe.dim(d).bound] for d in node.domain.dims]
            shape = (*lead, *(value_of(e, bounds) for e in node.types[0].shape))
            if node.types[0].dtype.is_float:
                sign = np.where(rng.random(shape) < 0.5, -1.0, 1.0)
                found[node.name] = np.asarray(sign * rng.uniform(0.3, 1.2, shape))
            else:
                found[node.name] = rng.integers(0, 3, shape)
    return found


def check(text: str, wrt: Sequence[str], *, bounds: Sequence[dict[str, int]] = ({},)) -> None:
    """`grad(loss, x)` for each `x` (an input) agrees with differences of the sum of `loss`."""
    lines = [f"g_{x} = grad(loss, {x})" for x in wrt]
    outputs = ", ".join(["loss", *(f"g_{x}" for x in wrt)])
    graph = graph_of("\n".join([text, *lines, f"output {outputs}", ""]))
    verify(graph, Space(graph.universe))
    plain = graph_of("\n".join([text, "output loss", ""]))
    for some in bounds:
        arrays = data(graph, some)
        found = evaluate(graph, some, arrays, {}, float64=True)
        for x in wrt:
            expected = differences(plain, some, arrays, x)
            message = f"{x} at {some}"
            np.testing.assert_allclose(
                found[f"g_{x}"], expected, rtol=2e-5, atol=2e-7, err_msg=message
            )


def differences(graph: Graph, bounds: dict[str, int], arrays: Arrays, x: str) -> np.ndarray:
    """The derivative of the sum of `loss` by central differences."""

    def loss(changed: np.ndarray) -> float:
        result = evaluate(graph, bounds, {**arrays, x: changed}, {}, float64=True)
        return float(np.sum(result["loss"]))

    found = np.zeros(arrays[x].shape)
    for index in np.ndindex(*found.shape):
        up, down = arrays[x].copy(), arrays[x].copy()
        up[index] += STEP
        down[index] -= STEP
        found[index] = (loss(up) - loss(down)) / (2 * STEP)
    return found
