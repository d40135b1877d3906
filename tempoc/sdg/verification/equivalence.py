"""Differential testing of passes at small bounds.

Outputs, prints and saves of the graph before all passes are compared with those of the graph after
a pass. Both are interpreted point by point, in float64 (so that reassociation does not matter), on
the same random data. The verifier (``verify.py``) proves structural rules for all bounds, but knows
nothing about values; this compares values, but only at a few bounds.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from itertools import count, islice, product

from tempoc.base.arrays import np
from tempoc.base.effort import EFFORT
from tempoc.diagnostics.diagnostic import DiagnosticError
from tempoc.ops.control.effects import EffectOp
from tempoc.ops.control.externs import ExternCall
from tempoc.ops.definition.dtype_text import numpy_dtype
from tempoc.ops.definition.operator import Array
from tempoc.ops.definition.types import DType
from tempoc.ops.tensor.source import Input, Param
from tempoc.sdg.evaluation.given_data import all_bounds
from tempoc.sdg.evaluation.interpret import evaluate
from tempoc.sdg.graph.graph import Graph, Node
from tempoc.sdg.verification.verify import VerifyError
from tempoc.symbolic.walk import evaluate as value_of

BoundSizes = Mapping[str, int]
OutputValues = dict[str, Array]

SIZES = (1, 2, 5, 3, 4, 6, 7, 8)
"""Values of bounds to test, in this order: some programs assume that a bound is not tiny."""


@dataclass(slots=True)
class Equivalence:
    """The reference: a graph and its values at small bounds."""

    graph: Graph
    _expected: list[tuple[BoundSizes, OutputValues, OutputValues]] | None = field(default=None)

    @property
    def expected(self) -> list[tuple[BoundSizes, OutputValues, OutputValues]]:
        """Test cases: bounds, data and values; none if the graph calls Python or is too large."""
        if self._expected is None:
            tries = (self._at(bounds) for bounds in small_bounds(self.graph))
            known = (case for case in tries if case is not None)
            self._expected = [*islice(known, EFFORT.compared_bounds)]
        return self._expected

    def check(self, graph: Graph, after: str) -> None:
        """Raise ``VerifyError`` if the result of the pass ``after`` has other values.

        A pass may have made calls of Python functions: such a graph is not evaluated.
        """
        if _calls_python(graph):
            return
        for bounds, data, expected in self.expected:
            given = {name: array for name, array in data.items() if name in graph.nodes}
            try:
                values = values_at(graph, bounds, given)
            except DiagnosticError as error:
                why = f"fails at {dict(bounds)}: {error.diagnostics[0].message}"
                raise VerifyError("evaluation", why, after) from None
            for name, want in expected.items():
                if name not in values or not _same(values[name], want):
                    raise VerifyError(name, f"has other values at {dict(bounds)}", after)

    def _at(self, bounds: BoundSizes) -> tuple[BoundSizes, OutputValues, OutputValues] | None:
        """A test case; ``None`` if the graph is too large, or rejects the random data."""
        sizes = all_bounds(self.graph, bounds)
        empty = min(sizes.values(), default=1) < 1
        if (
            _calls_python(self.graph)
            or empty
            or _work(self.graph, sizes) > EFFORT.compared_elements
        ):
            return None
        data = _data(self.graph, sizes)
        try:
            return bounds, data, values_at(self.graph, bounds, data)
        except DiagnosticError:
            return None


def _calls_python(graph: Graph) -> bool:
    return any(isinstance(n.op, ExternCall) for n in graph.nodes.values())


def small_bounds(graph: Graph) -> Iterator[BoundSizes]:
    """Small values of the bounds that a run would give, as far as the assumptions allow."""
    free = [b.name for b in graph.universe.bounds if b.value is None]
    sizes: list[tuple[int, ...]] = [(n,) * len(free) for n in SIZES]
    if len(free) > 1:
        sizes.insert(2, tuple(2 + k % 2 for k in range(len(free))))
    for values in sizes if free else ((),):
        bounds = dict(zip(free, values, strict=True))
        known = all_bounds(graph, bounds)
        if all(value_of(e, known) for e in graph.universe.assumptions):
            yield bounds


def values_at(graph: Graph, bounds: BoundSizes, data: OutputValues) -> OutputValues:
    """The outputs, and what is printed and saved, in order."""
    effects: OutputValues = {}
    numbers = count()

    def perform(op: EffectOp, at: Mapping[str, int], arrays: tuple[Array, ...]) -> None:
        point = {d: at[d] for place in op.places for d, _ in place if d in at}
        for name, array in zip(op.names, arrays, strict=True):
            effects[f"{op.name} {next(numbers)} of {name} at {point}"] = array

    return evaluate(graph, bounds, data, data, float64=True, perform=perform) | effects


def _same(value: Array, want: Array) -> bool:
    """Equal, or close where they are floats: to their own size, or to that of the largest.

    Constants are folded in single precision, and what is the difference of large numbers is as
    inexact as these.
    """
    if (value.dtype, value.shape) != (want.dtype, want.shape):
        return False
    if want.dtype.kind != "f":
        return np.array_equal(value, want)
    largest = np.abs(want[np.isfinite(want)]).max(initial=0.0)
    return np.allclose(value, want, rtol=1e-6, atol=1e-8 + 1e-6 * largest, equal_nan=True)


# ---------------------------------------------------------------- data and sizes


def _shape(node: Node, out: int, sizes: BoundSizes, bounds: Mapping[str, str]) -> list[int]:
    """The largest extents of a result over the box of the node's domain."""
    dims = node.domain.dims
    corners = [dict(zip(dims, at, strict=True)) for at in product(*(
        {0, sizes[bounds[d]] - 1} for d in dims
    ))]  # fmt: skip
    extents = node.types[out].shape
    return [max(0, *(value_of(e, {**sizes, **at}) for at in corners)) for e in extents]


def _work(graph: Graph, sizes: BoundSizes) -> int:
    """The cost of an evaluation in elements: those of all nodes, plus a cost per point."""
    bounds = {d.name: d.bound for d in graph.universe.dims}
    work = 0
    for node in graph.nodes.values():
        points = int(np.prod([sizes[bounds[d]] for d in node.domain.dims], dtype=object))
        shapes = [_shape(node, out, sizes, bounds) for out in range(len(node.types))]
        elements = sum(int(np.prod(shape, dtype=object)) for shape in shapes)
        work += points * (EFFORT.interpreted_point + elements)
    return work


def _data(graph: Graph, sizes: BoundSizes) -> OutputValues:
    """Random data for inputs, and for params that have no default."""
    bounds = {d.name: d.bound for d in graph.universe.dims}
    data: OutputValues = {}
    for node in graph.nodes.values():
        if isinstance(node.op, Input) or (isinstance(node.op, Param) and not node.inputs):
            lead = [sizes[bounds[d]] for d in node.domain.dims]
            shape = [*lead, *_shape(node, 0, sizes, bounds)]
            random = np.random.default_rng([*node.name.encode(), *shape])
            data[node.name] = _draw(random, shape, node.types[0].dtype)
    return data


def _draw(random: np.random.Generator, shape: list[int], dtype: DType) -> Array:
    """Small numbers; integers are small enough to be positions."""
    if dtype is DType.BOOL:
        return random.random(shape) < 0.5
    if dtype.is_int:
        return random.integers(0, 2, shape).astype(numpy_dtype(dtype))
    return random.uniform(-1, 1, shape).astype(numpy_dtype(dtype))
