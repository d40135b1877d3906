"""What the steps of a scan make beside their states, and others would make again.

    %a = matmul %u, %g                                    : [t] f32[4]
    %f = sigmoid %a                                       : [t] f32[4]   read at all points as well
    %h = mul %f, %x                                       : [t] f32[4]
    %g = merge %g.0 when t == 0, %h[t-1] when t >= 1      : [t] f32[4]

A scan hands out states; from them backward loops would make ``%f`` again, with its product. Instead
``%f`` is a further state of the scan, which no step reads and whose first row is zeros.

CPU ms, 2026-11-28, gates made again and stored: three steps of training an LSTM of 48, 64 steps
of 32, 8 and 2 texts 19.8 and 16.0, 5.1 and 4.4, 3.0 and 2.9, of 128 units 78 and 53; its gradient
alone, of 32, 4 and 1 texts 8.3 and 6.4, 1.50 and 1.59, 1.12 and 1.27. Where a product is made again
in any case, as for derivatives of a GRU, stored functions beside it gain nothing: 13.9 and 13.9.
"""

from __future__ import annotations

from collections.abc import Collection

from tempoc.base.cost_model import MODEL
from tempoc.ops.control.linear_recurrence import is_linear
from tempoc.ops.definition.shapes import constant_elements
from tempoc.passes.recurrences.recognize_recurrence import RecurrenceCycle
from tempoc.poly.relations.space import Space
from tempoc.sdg.graph.graph import Graph, Node
from tempoc.sdg.graph.query import multiplies_matrices, operand_type
from tempoc.sdg.statements.vectorized import vector_ranges
from tempoc.symbolic import expr as ix
from tempoc.symbolic.domain import Domain


def stored_results(
    graph: Graph,
    recurrence: RecurrenceCycle,
    read: Collection[str],
    rows: Collection[str],
    space: Space,
) -> tuple[str, ...]:
    """The nodes of a cycle that are ``read`` elsewhere and take a product of matrices to make.

    ``rows`` are those that the scan hands out anyway. Where no step has such a product, there are
    none, nor if the steps are linear: chains of those are computed as one on other devices; nor if
    they are much larger than the states, as readers may take some points at a time.
    """
    nodes = {name: graph.nodes[name] for name in recurrence.results}
    if not any(multiplies_matrices(graph, n) for n in nodes.values()):
        return ()
    first = [graph.nodes[s].types[0] for s in recurrence.states]
    if is_linear(recurrence.steps, first, [operand_type(graph, e) for e in recurrence.operands]):
        return ()
    demanded = _without_moves(nodes, {*read} - {*rows})
    costly: set[str] = set()
    stored: list[str] = []
    for name, node in nodes.items():
        if name in rows:
            continue
        own = node.op.transcendental or multiplies_matrices(graph, node)
        if not own and not any(source in costly for source in node.sources):
            continue
        costly.add(name)
        if name in demanded:
            if not (node.op.transcendental and _has_steps(node, recurrence, space)):
                return ()  # then the product is made again anyway
            costly.remove(name)
            stored.append(name)
    sizes = [constant_elements(nodes[name].types[0].shape) for name in stored]
    size = sum(constant_elements(t.shape) or 0 for t in first)
    if None in sizes or not MODEL.is_stored_beside(sum(s or 0 for s in sizes), size):
        return ()
    return tuple(stored)


def _without_moves(nodes: dict[str, Node], read: set[str]) -> set[str]:
    """What is read, parts of tensors and the like replaced by what they are parts of."""
    for name in reversed(nodes):
        if name in read and (nodes[name].op.moves or len(nodes[name].types) > 1):
            read.remove(name)
            read.update(s for s in nodes[name].sources if s in nodes)
    return read


def _has_steps(node: Node, recurrence: RecurrenceCycle, space: Space) -> bool:
    """Whether a node has a point for each step, and no others."""
    spans = vector_ranges(node.domain, (recurrence.dim,), space)
    if spans is None or len(node.types) != 1:
        return False
    offset = ix.Const(recurrence.results[node.name][1])
    low = ix.sub(spans[recurrence.dim].lower, offset)
    high = ix.sub(spans[recurrence.dim].upper, offset)
    ends = ((low, recurrence.lower), (high, recurrence.upper))
    return all(space.equal(a, b, Domain(())) for a, b in ends)
