"""Gradients of programs against differences of their losses, in float64, and against float64."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

import numpy as np

from tempoc.ops.tensor.source import Input
from tempoc.poly.relations.space import Space
from tempoc.runtime.data.bindings import Given
from tempoc.runtime.data.source import as_sources
from tempoc.runtime.run import Settings, run_given
from tempoc.sdg.evaluation.interpret import evaluate
from tempoc.sdg.graph.graph import Graph
from tempoc.sdg.verification.verify import verify
from tempoc.symbolic.walk import evaluate as value_of
from tests.support.agreement import compile_text
from tests.support.elaborated import graph_of
from tests.support.session.long import chosen

Arrays = dict[str, np.ndarray]
STEP = 1e-6
EACH = 8
"""In the long run arrays of so many elements are tried element by element, which says which one is
wrong. Any wrong element shows along a way on which all change: two of these are what `make test`
tries, as each takes the evaluator two runs.
"""


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
            gradient = found[f"g_{x}"]
            for direction in directions(arrays[x].shape):
                wanted = difference(plain, some, arrays, x, direction)
                parts = gradient * direction
                size = 2e-5 * float(np.sum(np.abs(parts)))
                message = f"{x} at {some} along\n{direction}"
                np.testing.assert_allclose(
                    np.sum(parts), wanted, rtol=2e-5, atol=2e-7 + size, err_msg=message
                )


def precise(
    losses: Sequence[str], x: np.ndarray, *, rtol: float = 1e-5, atol: float = 0.0
) -> Iterator[tuple[str, np.ndarray]]:
    """Gradients by `x: f32` in single precision are those in double precision, but for rounding.

    That goes for the evaluator and for compiled programs. `losses` are expressions in `x`; each is
    given with its gradient in double precision.
    """
    shape = ", ".join(map(str, x.shape))
    lines = [f"import nn\ninput x: f32[{shape}]"]
    lines += [f"l{k} = {loss}\ng{k} = grad(l{k}, x)" for k, loss in enumerate(losses)]
    text = "\n".join([*lines, f"output {', '.join(f'g{k}' for k in range(len(losses)))}\n"])
    graph, loaded = compile_text(text, 2)
    inputs = {"x": x.astype(np.float32)}
    exact = evaluate(graph, {}, inputs, {}, float64=True)
    given = Given(bounds={}, inputs=as_sources(inputs), params={})
    compiled = run_given(loaded, given, Settings()).outputs
    for how, found in (("evaluator", evaluate(graph, {}, inputs, {})), ("-O2", compiled)):
        for k, loss in enumerate(losses):
            where, wanted = f"{loss} by {how}", exact[f"g{k}"]
            np.testing.assert_allclose(found[f"g{k}"], wanted, rtol=rtol, atol=atol, err_msg=where)
    for k, loss in enumerate(losses):
        yield loss, exact[f"g{k}"]


def directions(shape: tuple[int, ...]) -> Iterator[np.ndarray]:
    """Each element alone; of a large array some of them, and ways along which all change."""
    count = int(np.prod(shape))
    rng = np.random.default_rng(count)
    each, ways = (EACH, 4) if chosen["long"] else (2, 2)
    some: Iterable[int] = range(count)
    if count > each:
        some = sorted(rng.choice(count, each // 2, replace=False)) if chosen["long"] else ()
        for _ in range(ways):
            yield rng.uniform(0.5, 1.0, shape) * np.where(rng.random(shape) < 0.5, -1.0, 1.0)
    for k in some:
        one = np.zeros(count)
        one[k] = 1.0
        yield one.reshape(shape)


def difference(
    graph: Graph, bounds: dict[str, int], arrays: Arrays, x: str, direction: np.ndarray
) -> float:
    """The derivative of the sum of `loss` along a direction, by central differences."""

    def loss(sign: int) -> float:
        changed = arrays[x] + sign * STEP * direction
        result = evaluate(graph, bounds, {**arrays, x: changed}, {}, float64=True)
        return float(np.sum(result["loss"]))

    return (loss(1) - loss(-1)) / (2 * STEP)
