"""What an evaluation starts from: bounds, data, and the order of what is seen outside."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import product

from tempoc.ops.effects import Effect
from tempoc.ops.externs import ExternHost
from tempoc.ops.opdef import Array
from tempoc.ops.source import Input, Param
from tempoc.ops.spell import numpy_dtype
from tempoc.sdg import errors
from tempoc.sdg.graph import Graph, Node
from tempoc.symbolic.walk import evaluate

Point = tuple[int, ...]
Question = tuple[str, Point]


def all_bounds(graph: Graph, given: Mapping[str, int]) -> dict[str, int]:
    """The bounds that are given, and those with a value of their own."""
    found: dict[str, int] = {}
    for bound in graph.universe.bounds:
        if bound.name in given:
            found[bound.name] = int(given[bound.name])
        elif bound.value is not None:
            found[bound.name] = evaluate(bound.value, found)
        else:
            raise errors.not_given("bound", bound.name, None)
    return found


def given(
    graph: Graph, bounds: Mapping[str, int], kind: str, arrays: Mapping[str, Array]
) -> dict[str, Array]:
    """Inputs or params by node, of the right dtype, their leading axes and rank checked."""
    found: dict[str, Array] = {}
    for name, array in arrays.items():
        node = graph.nodes.get(name)
        if node is None or not isinstance(node.op, Input if kind == "input" else Param):
            continue  # removed as dead, or judged by the caller
        lead = [bounds[graph.universe.dim(d).bound] for d in node.domain.dims]
        fits = list(array.shape[: len(lead)]) == lead
        if not fits or array.ndim != len(lead) + node.types[0].ndim:
            inner = ["..."] * node.types[0].ndim
            raise errors.wrong_array(kind, name, str([*lead, *inner]), str(list(array.shape)))
        found[name] = array.astype(numpy_dtype(node.types[0].dtype), copy=False)
    return found


def call_order(graph: Graph, bounds: Mapping[str, int]) -> dict[Question, Question | None]:
    """For each call of a Python function the one that comes right before it, by plain loops.

    Points are those of the whole box; which of them are there is asked later.
    """
    found: dict[str, list[tuple[Point, int, Question]]] = {}
    for node in graph.nodes.values():
        if isinstance(node.op, ExternHost):
            for place, question in _points(graph, bounds, node):
                found.setdefault(node.op.module, []).append((place, node.op.turn, question))
    before: dict[Question, Question | None] = {}
    for calls in found.values():
        last: Question | None = None
        for _, _, question in sorted(calls):
            before[question] = last
            last = question
    return before


def effect_order(graph: Graph, bounds: Mapping[str, int]) -> list[Question]:
    """Effects in the order in which they are seen: by indices, a point before those it begins."""
    found = [
        item
        for node in graph.nodes.values()
        if isinstance(node.op, Effect)
        for item in _points(graph, bounds, node)
    ]
    return [question for _, question in sorted(found, key=lambda item: item[0])]


def _points(
    graph: Graph, bounds: Mapping[str, int], node: Node
) -> Iterator[tuple[Point, Question]]:
    """The points of a node's box, each with its place among those of other nodes."""
    dims = node.domain.dims
    for point in product(*(range(bounds[graph.universe.dim(d).bound]) for d in dims)):
        at = dict(zip(dims, point, strict=True))
        yield tuple(at.get(d.name, -1) for d in graph.universe.dims), (node.name, point)
