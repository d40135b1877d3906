"""Prints in device loops: how many of their lines a call of the loop may collect.

A region cannot print. It collects what its prints show as rows of buffers, in the order of
execution; the runner prints them after each call. The buffers hold a fixed number of rows, and the
runner lets a call take no more steps than fit. So what is printed must have few bytes, and a step
of the region's loop must print a fixed number of times.
"""

from __future__ import annotations

from collections.abc import Mapping
from math import prod

from tempoc.base.cost_model import MODEL
from tempoc.ops.control.effects import EffectOp, Print
from tempoc.ops.definition.types import DType, TensorType, Types
from tempoc.schedule.tree import TreeLoop
from tempoc.sdg.graph.graph import Graph, Node
from tempoc.sdg.graph.query import operand_types
from tempoc.sdg.statements.statements import Statement
from tempoc.symbolic import expr as ix
from tempoc.symbolic.walk import substitute


def effect_node(statement: Statement, graph: Graph) -> Node | None:
    """The member with an effect, if there is one; all others are constants then."""
    nodes = (graph.nodes[m] for m in statement.members)
    return next((n for n in nodes if isinstance(n.op, EffectOp)), None)


def fixed_bounds(graph: Graph) -> dict[str, ix.Expr]:
    """The bounds that are constants, with their values."""
    return {b.name: b.value for b in graph.universe.bounds if isinstance(b.value, ix.Const)}


def collected_types(statement: Statement, graph: Graph) -> Types:
    """The types of what a statement prints, over constants, if a region may collect its lines.

    None if it prints nothing, or tensors of unknown or many bytes.
    """
    node = effect_node(statement, graph)
    if node is None or not isinstance(node.op, Print):
        return ()
    fixed = fixed_bounds(graph)
    types = tuple(
        TensorType(t.dtype, tuple(substitute(e, fixed) for e in t.shape))
        for t in operand_types(graph, node)
    )
    return types if 0 < _row_bytes(types) <= MODEL.collected_row_bytes else ()


def collected_rows(types: Types) -> int:
    """How many lines of these types the buffers of a print hold."""
    return min(MODEL.collected_lines, MODEL.collected_bytes // _row_bytes(types))


def _row_bytes(types: Types) -> int:
    """The bytes of a line's tensors; 0 if that is unknown."""
    sizes = [e for t in types for e in t.shape]
    if any(t.dtype is DType.KEY for t in types) or not all(isinstance(e, ix.Const) for e in sizes):
        return 0
    return sum(
        t.dtype.itemsize * prod(e.value for e in t.shape if isinstance(e, ix.Const)) for t in types
    )


def step_count(loop: TreeLoop, fixed: Mapping[str, ix.Expr]) -> int | None:
    """The number of steps of a loop, if constant for these values of bounds."""
    low, high = (substitute(e, dict(fixed)) for e in (loop.lower, loop.upper))
    if not (isinstance(low, ix.Const) and isinstance(high, ix.Const)):
        return None
    return len(range(low.value, high.value, loop.step))
