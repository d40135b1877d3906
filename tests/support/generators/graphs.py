"""Graphs in tests: from text, checked, compared by meaning on random data."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from tempoc.ops.definition.dtype_text import numpy_dtype
from tempoc.ops.tensor.source import Input, Param
from tempoc.passes.context import PassContext
from tempoc.pipeline.manager import Outcome, run_pipeline
from tempoc.poly.relations.space import Space
from tempoc.sdg.evaluation.interpret import evaluate
from tempoc.sdg.graph.graph import Graph
from tempoc.sdg.text.parse import parse_graph
from tempoc.sdg.text.text import show
from tempoc.sdg.verification.verify import verify
from tempoc.symbolic.walk import evaluate as value_of

SIZES = (1, 2, 5)
SPECIAL = (0.0, -0.0, 1.0, -1.0, np.nan, np.inf, -np.inf, 3e38)
Arrays = dict[str, np.ndarray]


def graph(text: str) -> Graph:
    """The graph of a text (without its first line, which is always the same), verified."""
    found = parse_graph(f"sdg test\n{text}", "test.sdg")
    verify(found, Space(found.universe))
    return found


def data(graph: Graph, bounds: dict[str, int], *, special: bool = False) -> Arrays:
    """Random arrays for all inputs and params; ``special``: with zeros, NaN and infinities."""
    random = np.random.default_rng(7)
    arrays: Arrays = {}
    for node in graph.nodes.values():
        if isinstance(node.op, Input | Param) and not node.inputs:
            lead = [bounds[graph.universe.dim(d).bound] for d in node.domain.dims]
            shape = [*lead, *(value_of(e, bounds) for e in node.types[0].shape)]
            dtype = node.types[0].dtype
            if dtype.is_float:
                array = random.uniform(-2, 2, shape)
                if special:
                    array = np.where(
                        random.random(shape) < 0.5, random.choice(SPECIAL, shape), array
                    )
            else:
                array = random.integers(0, 2 if dtype.value == "bool" else 9, shape)
            arrays[node.name] = array.astype(numpy_dtype(dtype))
    return arrays


def bounds_at(graph: Graph, size: int) -> dict[str, int]:
    """All bounds where the free ones have this size."""
    bounds: dict[str, int] = {}
    for b in graph.universe.bounds:
        bounds[b.name] = size if b.value is None else value_of(b.value, bounds)
    return bounds


def meaning(graph: Graph, size: int, *, special: bool = False) -> Arrays:
    """All outputs with every bound of this size, on random data."""
    bounds = bounds_at(graph, size)
    given = data(graph, bounds, special=special)
    return evaluate(graph, bounds, given, given, externs=lambda node, point, args: args)


def assert_same(before: Graph, after: Graph) -> None:
    """Both mean the same to the last bit, also where numbers are special.

    Of these there are so many that sums of five would mostly be no number.
    """
    if after is before:
        return
    for size, special in (*((size, False) for size in SIZES), (1, True), (3, True)):
        wanted = meaning(before, size, special=special)
        found = meaning(after, size, special=special)
        assert list(wanted) == list(found)
        for name, value in wanted.items():
            assert value.dtype == found[name].dtype
            np.testing.assert_array_equal(found[name], value, err_msg=f"{name}, {size}")
            if value.dtype.kind == "f":
                known = ~np.isnan(value)
                signs = np.signbit(value)[known], np.signbit(found[name])[known]
                np.testing.assert_array_equal(*signs)


def assert_close(before: Graph, after: Graph) -> None:
    """Both mean the same up to rounding, on ordinary numbers."""
    if after is before:
        return
    for size in SIZES:
        wanted, found = meaning(before, size), meaning(after, size)
        assert list(wanted) == list(found)
        for name, value in wanted.items():
            assert value.dtype == found[name].dtype
            where = f"{name}, {size}"
            np.testing.assert_allclose(found[name], value, rtol=2e-5, atol=2e-6, err_msg=where)


@dataclass(slots=True)
class Story:
    """Cases of one pass: before and after as text, for a golden file, and a proof for each."""

    parts: list[str] = field(default_factory=list)

    def tell(self, name: str, text: str, *steps: object, rounded: bool = False) -> Outcome[Graph]:
        """Run steps on a text; what comes out is verified and means the same.

        ``rounded``: up to rounding, on ordinary numbers.
        """
        before = graph(text)
        context = PassContext(Space(before.universe))

        def check(result: Graph, step: str) -> None:
            verify(result, context.space, after=step)

        outcome = run_pipeline(before, steps, context, verify=check)
        (assert_close if rounded else assert_same)(before, outcome.graph)
        said = "".join(f"# {r.step}: {r.message}\n" for r in outcome.remarks)
        texts = (show(g, sources=False).split("\n", 1)[1] for g in (before, outcome.graph))
        self.parts.append(f"## {name}\n\n{next(texts)}\n->\n\n{next(texts)}{said}")
        return outcome

    @property
    def text(self) -> str:
        """All cases, for the golden file."""
        return "\n".join(self.parts)
