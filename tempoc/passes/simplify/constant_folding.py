"""Constant folding of scalar arithmetic on literals and index expressions.

    %a = literal{value=2.0, dtype=f32} : [] f32
    %b = mul %a, %a                    : [] f32   ->  %b = literal{value=4.0, dtype=f32} : [] f32

Numbers are folded in the precision of their dtype, by the operators' own NumPy meaning. Index
expressions combine with whole numbers as long as the result is an index expression again.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

from tempoc.ops.definition.dtype_text import nearest, numpy_dtype
from tempoc.ops.definition.operator import Op
from tempoc.ops.definition.types import DType
from tempoc.ops.tensor import arithmetic as binary, elementwise as unary
from tempoc.ops.tensor.source import IndexValue, Literal
from tempoc.sdg.graph.graph import Graph, Node
from tempoc.symbolic import expr as ix
from tempoc.symbolic.domain import Domain
from tempoc.symbolic.walk import is_affine, is_condition, substitute, symbols

_LIMIT = 2**31
_LEAST_NORMAL = 2.0**-126
"""Of ``f32``. Below it a second rounding may be at another bit."""


def fold_constants(graph: Graph) -> Graph:
    """Replace nodes with constant operands by literals or index expressions."""
    nodes = dict(graph.nodes)
    for name, node in graph.nodes.items():
        folded = _folded_literal(nodes, node) or _folded_index(nodes, node)
        if folded is not None:
            nodes[name] = replace(node, op=folded, inputs=())
    return replace(graph, nodes=nodes) if nodes != dict(graph.nodes) else graph


def _folded_literal(nodes: dict[str, Node], node: Node) -> Op | None:
    """The literal that equals a node, if its operands are literals."""
    if isinstance(node.op, IndexValue):
        match node.op.expr:
            case ix.Const(value=value) if -_LIMIT <= value < _LIMIT:
                return Literal(value=value, dtype=DType.I32)
            case ix.Truth(value=holds):
                return Literal(value=holds, dtype=DType.BOOL)
        return None
    if not isinstance(node.op, binary.Nary | unary.Unary) or node.types[0].shape:
        return None
    operands = [nodes[e.source].op for e in node.inputs]
    types = tuple(nodes[e.source].types[e.out] for e in node.inputs)
    if any(isinstance(entry, ix.Slice) for e in node.inputs for entry in e.entries):
        return None
    literals = [o for o in operands if isinstance(o, Literal)]
    if len(literals) != len(operands):
        return None
    (type_,) = node.types
    number = _without_numpy(node.op, literals, type_.dtype)
    if number is not None:
        return Literal(value=number, dtype=type_.dtype, weak=type_.weak)
    values = tuple(o.evaluate((), {})[0] for o in literals)
    (result,) = node.op.evaluate(node.op.settle(values, types), {})
    value = result.item()
    # Of bools and small integers the meaning is a number of ``i32``.
    if result.dtype != numpy_dtype(type_.dtype) or not isinstance(value, bool | int | float):
        return None
    return Literal(value=value, dtype=type_.dtype, weak=type_.weak)


def _without_numpy(op: Op, literals: Sequence[Literal], dtype: DType) -> float | None:
    """The same number where Python gives it: most programs need NumPy, which loads slowly, no more.

    Those are integers that keep their dtype, and normal numbers in ``f32``.
    """
    is_cast, given = isinstance(op, unary.Cast), {o.dtype for o in literals}
    if is_cast and given == {DType.I32} == {dtype} and abs(literals[0].value) < _LIMIT:
        return int(literals[0].value)
    known = {DType.F32, DType.I32} if is_cast else {DType.F32}
    if op.in_double is None or dtype is not DType.F32 or not given <= known:
        return None
    try:
        operands = [nearest(float(o.value), dtype) for o in literals]
        number = nearest(op.in_double(*operands), dtype)
    except (ArithmeticError, ValueError):
        return None
    is_normal = math.isfinite(number) and (not number or abs(number) >= _LEAST_NORMAL)
    return number if is_normal else None


def _folded_index(nodes: dict[str, Node], node: Node) -> Op | None:
    """The index expression that equals a node, if its operands are such or integers."""
    exprs = [_expr_of(nodes, node, slot) for slot in range(len(node.inputs))]
    known = [e for e in exprs if e is not None]
    varies = any(symbols(e) for e in known)
    if len(known) != len(exprs) or not known or not varies or any(map(is_condition, known)):
        return None
    match node.op:
        case unary.Negative():
            result = ix.mul(ix.Const(-1), known[0])
        case binary.Add():
            result = ix.add(*known)
        case binary.Subtract():
            result = ix.sub(*known)
        case binary.Multiply():
            result = ix.mul(*known)
        case binary.Comparison(symbol=symbol):
            result = ix.compare(symbol, *known)
        case _:
            return None
    folded = IndexValue(expr=result)
    matches = is_affine(result) and node.types[0].dtype is folded.dtype
    return folded if matches and not node.types[0].weak else None


def _expr_of(nodes: dict[str, Node], node: Node, slot: int) -> ix.Expr | None:
    edge = node.inputs[slot]
    source = nodes[edge.source]
    if isinstance(source.op, Literal):
        is_integer = type(source.op.value) is int and source.op.dtype is DType.I32
        return ix.Const(int(source.op.value)) if is_integer else None
    if isinstance(source.op, IndexValue):
        return at_entries(source.op.expr, source.domain, edge.entries)
    return None


def at_entries(e: ix.Expr, domain: Domain, entries: tuple[object, ...]) -> ix.Expr | None:
    """An expression over a node's dimensions, read at entries; None if it uses a sliced one."""
    pairs = domain.at(entries)
    if any(isinstance(entry, ix.Slice) for entry in entries):
        return None
    named = symbols(e)  # a dimension that is not named is one with which a length in it varies
    if any(d not in named and entry != ix.Sym(d) for d, entry in pairs.items()):
        return None
    return substitute(e, {d: entry for d, entry in pairs.items() if isinstance(entry, ix.Expr)})
