"""Exponentials that a logarithm of a sum and its derivative share.

    %y = logsumexp %x                         : [t] f32
    %a = sub %x, %y                           : [t] f32[K]
    %e = exp %a                               : [t] f32[K]
    %s = sum{axes=(0,), keepdims=true} %e     : [t] f32[1]
    %g = div %c, %s                           : [t] f32[1]
    %d = mul %g, %e                           : [t] f32[K]
    ->
    %m = max{axes=(0,), keepdims=true} %x     : [t] f32[1]
    %a = sub %x, %m                           : [t] f32[K]
    (%e, %s, %g, %d as before)
    %y = where %m is infinite %m, else log %s + %m, without axis 0

The derivative measures the exponents from the result, as programs do that write softmax so. Where
it alone reads these exponentials, they are measured from the greatest element, as ``logsumexp``
does within itself: exponentials and sum are computed once. They are computed where the result is;
the derivative may be needed at fewer points, as that of the last step of training is not. Where it
is computed at others, the result stays an operator of its own.

The sum is NaN if an element is, and what is computed of it, whatever a finite ``%m`` is: that one
may lose NaN.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import ClassVar, NamedTuple

from tempoc.ops.control.control import Select
from tempoc.ops.definition.operator import OperandError
from tempoc.ops.definition.shapes import axes_of
from tempoc.ops.tensor.arithmetic import Add, Divide, Multiply, Subtract
from tempoc.ops.tensor.elementwise import Exp, IsInf, Log
from tempoc.ops.tensor.movement import ExpandDims, Squeeze
from tempoc.ops.tensor.reduction import LogSumExp, Max, Sum
from tempoc.passes.context import GraphPass, PassContext
from tempoc.poly.relations.space import Space
from tempoc.sdg.builder import NodeBuilder
from tempoc.sdg.graph.graph import Edge, Graph, Node
from tempoc.sdg.graph.query import OperandUse, operand_type, users
from tempoc.sdg.graph.rewrite import drop_dead, replace_nodes
from tempoc.sdg.statements.build import is_identity
from tempoc.symbolic import expr as ix
from tempoc.symbolic.walk import symbols

UsesByNode = Mapping[str, tuple[OperandUse, ...]]


class SoftmaxTerms(GraphPass):
    """Measures exponentials that only a derivative reads from the greatest element."""

    __slots__ = ()
    name: ClassVar[str] = "softmax"

    def run(self, graph: Graph, context: PassContext) -> Graph:
        """The graph in which each such ``logsumexp`` is computed from its derivative's terms."""
        before, uses = graph, users(graph)
        outputs = {o.source for o in graph.outputs}
        for node in before.nodes.values():
            terms = _terms(before, node, uses) if isinstance(node.op, Exp) else None
            if terms is None or outputs & {node.name, terms.total.name, *terms.shares}:
                continue
            after = _measured_from_greatest(graph, terms, context.space)
            if after is not None:
                graph = after
                message = f"`{terms.result.name}` and its derivative share exponentials"
                context.remarks.add(self.name, message, node.span)
        return graph if graph is before else drop_dead(graph)


class _Exponentials(NamedTuple):
    """``exponents`` are the operand minus ``result``; ``total``: the sum of the exponentials.

    ``shares`` are the nodes that divide by the sum, ``axes`` what is summed.
    """

    result: Node
    exponents: Node
    exponentials: Node
    total: Node
    shares: frozenset[str]
    axes: tuple[int, ...]


def _terms(graph: Graph, node: Node, uses: UsesByNode) -> _Exponentials | None:
    """What surrounds exponentials, if it is a ``logsumexp`` and its derivative, and nothing else.

    All products of the exponentials have a factor that is divided by their sum, and the other way
    round. So a factor that both have is free.
    """
    exponents = graph.nodes[node.inputs[0].source]
    if not isinstance(exponents.op, Subtract) or not is_identity(node.inputs[0], graph):
        return None
    result = _subtracted(graph, exponents)
    if result is None or len(uses[exponents.name]) != 1:
        return None
    if _also_subtracted(graph, result.name, exponents, uses):
        return None
    assert isinstance(result.op, LogSumExp)
    axes = axes_of(result.op.axes, operand_type(graph, result.inputs[0]).ndim)
    readers = _readers(graph, node, uses)
    totals = [n for n, _ in readers if n.op == Sum(axes=axes, keepdims=True)]
    if len(totals) != 1:
        return None
    (total,) = totals
    shares = _readers(graph, total, uses)
    products = [(n, slot) for n, slot in readers if n is not total]
    names = frozenset(n.name for n, _ in shares)
    factors = [(n, slot) for n, _ in shares for n, slot in _readers(graph, n, uses)]
    closed = (
        all(isinstance(n.op, Divide) and slot == 1 for n, slot in shares)
        and all(isinstance(n.op, Multiply) for n, _ in products)
        and all(n.inputs[1 - slot].source in names for n, slot in products)
        and sorted(n.name for n, _ in factors) == sorted(n.name for n, _ in products)
        and all(is_identity(n.inputs[slot], graph) for n, slot in (*readers, *shares, *factors))
    )
    return _Exponentials(result, exponents, node, total, names, axes) if closed else None


def _readers(graph: Graph, node: Node, uses: UsesByNode) -> list[tuple[Node, int]]:
    """The consumers of a node and the operands by which they read it."""
    return [(graph.nodes[use.reader], use.slot) for use in uses[node.name]]


def _subtracted(graph: Graph, exponents: Node) -> Node | None:
    """The ``logsumexp`` of the first operand that is subtracted from it, row by row."""
    operand, offset = exponents.inputs
    type_ = operand_type(graph, operand)
    rows = operand_type(graph, offset).shape
    while is_identity(offset, graph):
        result = graph.nodes[offset.source]
        if isinstance(result.op, LogSumExp):
            break
        if not isinstance(result.op, ExpandDims):
            return None
        (offset,) = result.inputs
    else:
        return None
    if result.inputs[0] != operand or type_.dtype.wide is not type_.dtype:
        return None
    axes = axes_of(result.op.axes, type_.ndim)
    shape = tuple(ix.ONE if k in axes else n for k, n in enumerate(type_.shape))
    aligned = (ix.ONE,) * (type_.ndim - len(rows)) + rows == shape
    return result if axes and aligned and not _moves(graph, operand, axes) else None


def _also_subtracted(graph: Graph, name: str, exponents: Node, uses: UsesByNode) -> bool:
    """Whether the program itself subtracts the result from the operand: a softmax, its logarithm.

    Then the derivative takes that difference once equal nodes are one.
    """
    for use in uses[name]:
        reader = graph.nodes[use.reader]
        if isinstance(reader.op, ExpandDims) and _also_subtracted(
            graph, reader.name, exponents, uses
        ):
            return True
        same = isinstance(reader.op, Subtract) and reader.inputs[0] == exponents.inputs[0]
        if same and reader is not exponents:
            return True
    return False


def _moves(graph: Graph, operand: Edge, axes: tuple[int, ...]) -> bool:
    """Whether points reduce ranges of their own, of which scans make the results."""
    extents = operand_type(graph, operand).shape
    ranges = [e for e in operand.entries if isinstance(e, ix.Slice)]
    named = {n for a in axes for n in symbols(extents[a])}
    named |= {n for e in ranges for bound in (e.lo, e.hi) for n in symbols(bound)}
    return any(graph.universe.is_dim(n) for n in named)


def _covers(space: Space, result: Node, total: Node) -> bool:
    """Whether a result is computed wherever the sum is."""
    same = result.domain.dims == total.domain.dims
    return same and space.contains(result.domain, total.domain)


def _measured_from_greatest(graph: Graph, terms: _Exponentials, space: Space) -> Graph | None:
    """The graph with exponents that are at most 0; ``None`` where there may be none of them."""
    result, exponents, exponentials, total, _, axes = terms
    within = exponents, exponentials, total
    shared = all(n.domain == total.domain for n in within) and _covers(space, result, total)
    try:
        at = replace(exponents, domain=result.domain) if shared else exponents
        builder = NodeBuilder(graph=graph, space=space, node=at)
        operand = exponents.inputs[0]
        maximum = Max(axes=axes, keepdims=True, loses_finite_nan=True)
        greatest = builder.put("greatest", maximum, (operand,))
        nodes = builder.finish(builder.put("sub", Subtract(), (operand, greatest)))
        if nodes is None:
            return None
        graph = replace_nodes(graph, {exponents.name: nodes})
        if not shared:
            return graph
        there = {n.name: (replace(n, domain=result.domain),) for n in (exponentials, total)}
        graph = replace_nodes(graph, there)
        builder = NodeBuilder(graph=graph, space=space, node=result)
        value = builder.put("add", Add(), (builder.put("log", Log(), (total,)), greatest))
        infinite = builder.put("isinf", IsInf(), (greatest,))
        value = builder.put("where", Select(), (infinite, greatest, value))
        assert isinstance(result.op, LogSumExp)
        if not result.op.keepdims:
            value = builder.put("squeeze", Squeeze(axes=axes), (value,))
    except OperandError:
        return None
    nodes = builder.finish(value)
    return graph if nodes is None else replace_nodes(graph, {result.name: nodes})
