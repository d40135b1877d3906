"""What an evaluation starts from: bounds, data, and the order of what is seen outside."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from itertools import product

from tempoc.ops.control.externs import ExternHost
from tempoc.ops.definition.dtype_text import numpy_dtype
from tempoc.ops.definition.operator import Array, Op
from tempoc.ops.tensor.source import Input, Param
from tempoc.sdg.graph import errors
from tempoc.sdg.graph.effect_order import turn
from tempoc.sdg.graph.graph import Graph
from tempoc.sdg.graph.query import parts_of
from tempoc.symbolic.domain import Point
from tempoc.symbolic.walk import evaluate, symbols

Question = tuple[str, Point]


def all_bounds(graph: Graph, given: Mapping[str, int]) -> dict[str, int]:
    """The bounds that are given, and those with a value of their own."""
    values = {b.name: b.value for b in graph.universe.bounds}
    known: dict[str, int] = {}

    def know(name: str) -> None:
        # A bound may be made of one that is declared after it.
        value = values[name]
        if name in known:
            return
        if name in given:
            known[name] = int(given[name])
        elif value is not None:
            for other in symbols(value):
                know(other)
            known[name] = evaluate(value, known)
        else:
            raise errors.not_given("bound", name, None)

    for name in values:
        know(name)
    return {name: known[name] for name in values}


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


def call_order(
    graph: Graph, bounds: Mapping[str, int], given: Collection[str]
) -> dict[Question, Question | None]:
    """For each call of a Python function the one that comes right before it.

    Calls for defaults of params that are ``given`` are not made.
    Points are those of the whole box; which of them are there is asked later.
    """
    before: dict[Question, Question | None] = {}
    last: dict[str, Question] = {}
    for queue, question in in_turn(graph, bounds, ExternHost, -1):
        op = graph.nodes[question[0]].op
        assert isinstance(op, ExternHost)
        parts = parts_of(graph, op.default)
        if parts and all(part in given for part in parts):
            continue
        before[question] = last.get(queue)
        last[queue] = question
    return before


def in_turn(
    graph: Graph, bounds: Mapping[str, int], kind: type[Op], missing: int
) -> list[tuple[str, Question]]:
    """All points of the nodes that take turns, in order; ``missing`` is an index not there."""
    dims = graph.universe.dims
    found: list[tuple[Point, int, str, Question]] = []
    for node in graph.nodes.values():
        mine = turn(node)
        if mine is None or not isinstance(node.op, kind):
            continue
        own = node.domain.dims
        for point in product(*(range(bounds[graph.universe.dim(d).bound]) for d in own)):
            at = dict(zip(own, point, strict=True))
            place = tuple(at.get(d.name, missing) for d in dims)
            found.append((place, mine.number, mine.queue, (node.name, point)))
    return [(queue, question) for _, _, queue, question in sorted(found)]
