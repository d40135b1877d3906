"""Resolve weak types: literals become strongly typed where no consumer's type depends on it.

    %a = literal{value=0.5, dtype=f32, weak=true} : [] ~f32
    %y = mul %x, %a                               : [t] f32
    ->
    %a = literal{value=0.5, dtype=f32}            : [] f32
    %y = mul %x, %a                               : [t] f32

Value numbering would otherwise keep a weak and a strong literal apart.
"""

from __future__ import annotations

from dataclasses import replace

from tempoc.ops.definition.operator import OperandError
from tempoc.ops.tensor.source import Literal, Param
from tempoc.poly.relations.space import Space
from tempoc.sdg.graph.graph import Graph, Node
from tempoc.sdg.graph.query import operand_types, users
from tempoc.sdg.verification.verify import DomainFacts


def resolve_weak_types(graph: Graph, space: Space) -> Graph:
    """The graph with strongly typed literals where no reader's type depends on it."""
    weak = [n for n in graph.nodes.values() if isinstance(n.op, Literal) and n.op.weak]
    if not weak:
        return graph
    uses, output_sources = users(graph), {o.source for o in graph.outputs}
    for node in weak:
        if node.name in output_sources:
            continue
        strong = _strong(graph.nodes[node.name])
        after = replace(graph, nodes={**graph.nodes, strong.name: strong})
        readers = dict.fromkeys(use.reader for use in uses[node.name])
        if all(_keeps_types(graph, after, after.nodes[r], space) for r in readers):
            graph = after
    return graph


def _strong(node: Node) -> Node:
    assert isinstance(node.op, Literal)
    types = tuple(replace(t, weak=False) for t in node.types)
    return replace(node, op=replace(node.op, weak=False), types=types)


def _keeps_types(before: Graph, after: Graph, node: Node, space: Space) -> bool:
    """Whether a node's result types and its operands' common dtype are the same in both graphs."""
    if isinstance(node.op, Param):
        return False
    operands = operand_types(after, node)
    try:
        facts = DomainFacts(space, node.domain)
        meeting = node.op.meeting(operands)
        return node.op.infer(operands, facts) == node.types and meeting is node.op.meeting(
            operand_types(before, node)
        )
    except OperandError:
        return False
