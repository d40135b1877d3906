"""The inputs of the reference interpreter: bounds, arrays, and the order of effects."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from itertools import product

from tempoc.ops.control.externs import ExternHost
from tempoc.ops.definition.dtype_text import numpy_dtype
from tempoc.ops.definition.operator import Array, Op
from tempoc.ops.tensor.source import Input, Param
from tempoc.sdg.graph import errors
from tempoc.sdg.graph.effect_order import effect_position
from tempoc.sdg.graph.graph import Graph
from tempoc.sdg.graph.query import param_leaves
from tempoc.symbolic.domain import Point
from tempoc.symbolic.walk import evaluate, symbols

NodeInstance = tuple[str, Point]


def all_bounds(graph: Graph, given: Mapping[str, int]) -> dict[str, int]:
    """The values of all bounds: given ones, and those with a constant or derived value."""
    values = {b.name: b.value for b in graph.universe.bounds}
    known: dict[str, int] = {}

    def know(name: str) -> None:
        # A bound may be derived from one that is declared after it.
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


def check_arrays(
    graph: Graph, bounds: Mapping[str, int], kind: str, arrays: Mapping[str, Array]
) -> dict[str, Array]:
    """Inputs or params by node, cast to the declared dtype, leading axes and rank checked."""
    checked: dict[str, Array] = {}
    for name, array in arrays.items():
        node = graph.nodes.get(name)
        if node is None or not isinstance(node.op, Input if kind == "input" else Param):
            continue  # removed as dead, or reported by the caller
        lead = [bounds[graph.universe.dim(d).bound] for d in node.domain.dims]
        fits = list(array.shape[: len(lead)]) == lead
        if not fits or array.ndim != len(lead) + node.types[0].ndim:
            inner = ["..."] * node.types[0].ndim
            raise errors.wrong_array(kind, name, str([*lead, *inner]), str(list(array.shape)))
        checked[name] = array.astype(numpy_dtype(node.types[0].dtype), copy=False)
    return checked


def call_order(
    graph: Graph, bounds: Mapping[str, int], given: Collection[str]
) -> dict[NodeInstance, NodeInstance | None]:
    """For each call of a host function its predecessor in the order of effects.

    Without the calls that compute defaults of ``given`` params. The points are those of the whole
    box; the interpreter skips those outside of the node's domain.
    """
    before: dict[NodeInstance, NodeInstance | None] = {}
    last: dict[str, NodeInstance] = {}
    for queue, instance in ordered_effects(graph, bounds, ExternHost, -1):
        op = graph.nodes[instance[0]].op
        assert isinstance(op, ExternHost)
        parts = param_leaves(graph, op.default)
        if parts and all(part in given for part in parts):
            continue
        before[instance] = last.get(queue)
        last[queue] = instance
    return before


def ordered_effects(
    graph: Graph, bounds: Mapping[str, int], kind: type[Op], missing: int
) -> list[tuple[str, NodeInstance]]:
    """All points of effectful nodes of a ``kind`` with their queue, in the order of effects.

    ``missing`` is the index along dimensions that a node does not have.
    """
    dims = graph.universe.dims
    effects: list[tuple[Point, int, str, NodeInstance]] = []
    for node in graph.nodes.values():
        effect = effect_position(node)
        if effect is None or not isinstance(node.op, kind):
            continue
        own = node.domain.dims
        for point in product(*(range(bounds[graph.universe.dim(d).bound]) for d in own)):
            at = dict(zip(own, point, strict=True))
            place = tuple(at.get(d.name, missing) for d in dims)
            effects.append((place, effect.number, effect.queue, (node.name, point)))
    return [(queue, instance) for _, _, queue, instance in sorted(effects)]
