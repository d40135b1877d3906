"""What steps of a recurrence compute beside their states, and others at all points as well.

A scan gives states only: others, such as derivatives, compute the rest anew. A loop stores it.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from tempoc.base.cost_model import MODEL
from tempoc.base.graphs import reachable
from tempoc.ops.control.linear_recurrence import is_linear
from tempoc.ops.definition.shapes import constant_elements
from tempoc.ops.tensor.contraction import Einsum, MatMul
from tempoc.passes.analysis.einsum_form import spelling
from tempoc.passes.recurrences.joint import NodeNames
from tempoc.passes.recurrences.recognize_recurrence import RecurrenceCycle
from tempoc.passes.recurrences.surroundings import CycleSurroundings
from tempoc.sdg.graph.graph import Graph, Node
from tempoc.sdg.graph.query import multiplies_matrices, operand_type, operand_types
from tempoc.symbolic import expr as ix


def is_made_again(around: CycleSurroundings, cycle: NodeNames, recurrence: RecurrenceCycle) -> bool:
    """Whether a loop had better store what steps compute beside their states for others.

    That is so of functions, such as exponentials, that are not much larger than a state, and of
    what takes products of many rows at each point. Products of few are computed faster for all
    points at once, and what is made of states better from all of them.
    """
    graph = around.graph
    operands = [operand_type(graph, e) for e in recurrence.operands]
    if is_linear(recurrence.steps, [graph.nodes[s].types[0] for s in recurrence.states], operands):
        return False
    readers, inside = around.readers, {*cycle}
    merges = [graph.nodes[s] for s in recurrence.states]
    states = {*recurrence.states, *(e.source for m in merges for e in m.inputs)}
    again = [
        graph.nodes[n]
        for n in cycle
        if n not in states and any(u.reader not in inside for u in readers[n])
    ]
    if any(multiplies_matrices(graph, graph.nodes[n]) for n in cycle):
        return _takes_many_rows(graph, again, inside - states)
    again = [node for node in again if node.op.transcendental]
    sizes = [constant_elements(n.types[0].shape) for n in again]
    if not again or None in sizes:
        return False
    size = sum(constant_elements(m.types[0].shape) or 0 for m in merges)
    return MODEL.is_stored_beside(sum(s or 0 for s in sizes), size)


def _takes_many_rows(graph: Graph, again: Sequence[Node], steps: set[str]) -> bool:
    """Whether steps multiply many rows at a point for some of what is made again."""
    start = [node.name for node in again]
    made = reachable(start, lambda n: [s for s in graph.nodes[n].sources if s in steps])
    return any(_rows(graph, graph.nodes[n]) >= MODEL.multiplied_rows for n in made)


def _rows(graph: Graph, node: Node) -> int:
    """How many rows of one operand, or columns of the other if they are fewer, a product of two
    matrices multiplies at a point; 0 of other operators."""
    if not isinstance(node.op, Einsum | MatMul) or len(node.inputs) != 2:
        return 0
    types = operand_types(graph, node)
    terms = spelling(node.op, [t.ndim for t in types]).terms
    own = (
        _estimate(e for c, e in zip(terms[k], types[k].shape, strict=True) if c not in terms[1 - k])
        for k in (0, 1)
    )
    return min(own)


def _estimate(extents: Iterable[ix.Expr]) -> int:
    """The product of extents, where one that is not known counts as large."""
    count = 1
    for extent in extents:
        count *= extent.value if isinstance(extent, ix.Const) else MODEL.unknown_bound
    return count
