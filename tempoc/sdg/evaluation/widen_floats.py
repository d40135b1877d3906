"""Widens every float of a graph to double precision, to compute reference results."""

from __future__ import annotations

from dataclasses import fields, replace
from typing import TypeVar

from tempoc.ops.definition.operator import Op
from tempoc.ops.definition.types import DType, TensorType
from tempoc.ops.random.draws import Draw
from tempoc.ops.tensor.source import Literal
from tempoc.sdg.graph.graph import Graph

T = TypeVar("T")


def widen(graph: Graph) -> Graph:
    """The graph with f64 in place of f32, f16 and bf16, in types and in attributes of operators."""
    nodes = {
        name: replace(
            node,
            op=_widened(node.op),
            types=tuple(_wide_type(t) for t in node.types),
        )
        for name, node in graph.nodes.items()
    }
    return replace(graph, nodes=nodes)


def _wide_type(type: TensorType) -> TensorType:
    """Floats are not weak any more: with one precision there is nothing to promote."""
    weak = type.weak and not type.dtype.is_float
    return TensorType(_wide(type.dtype), type.shape, weak=weak)


def _wide(dtype: DType) -> DType:
    return DType.F64 if dtype.is_float else dtype


def _widened(op: T) -> T:
    """An operator with its dtype attributes widened, except that it draws the same numbers."""
    if isinstance(op, Draw):
        return op
    changes: dict[str, object] = {}
    if isinstance(op, Literal) and op.dtype.is_float:
        changes["weak"] = False
    for field in fields(op):  # type: ignore[arg-type]
        value = getattr(op, field.name)
        wide = _attribute(value)
        if wide != value:
            changes[field.name] = wide
    return replace(op, **changes) if changes else op  # type: ignore[type-var]


def _attribute(value: object) -> object:
    if isinstance(value, DType):
        return _wide(value)
    if isinstance(value, Op):
        return _widened(value)
    return tuple(_attribute(v) for v in value) if isinstance(value, tuple) else value
