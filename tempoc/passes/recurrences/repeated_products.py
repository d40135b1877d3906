"""Products of matrices in steps of a recurrence that others would compute again.

    %q = einsum{spec="ij,kj->ik"} %h, %w[l]    : [l] f32[17, 64]       read by derivatives as well
    %h = merge %x when l == 0, %h.1[l-1] when l >= 1 : [l] f32[17, 64]

A scan gives states, and functions of products, so others compute ``%q`` anew. That costs little if
all steps share one matrix, which many rows then take at once. It costs as much as it did in the
steps if each step has a matrix of its own, as layers of a network have, or multiplies many rows by
it itself.

CPU time to the JAX of a person, 2026-11-28, as a scan and as a loop, which stores such products:
two layers of attention over 17 patches, trained, 1.46 and 1.01; eight layers of 64 with ``gelu``,
64 rows and four, 1.14 and 0.97, 0.75 and 0.83. Cellular automata, whose steps share convolutions,
82 and 71 ms. But a GRU of 96 with 16 rows took 71 ms as a scan, 91 as a loop.
"""

from __future__ import annotations

from collections.abc import Collection

from tempoc.base.cost_model import MODEL
from tempoc.base.graphs import reachable
from tempoc.ops.definition.shapes import constant_elements
from tempoc.passes.recurrences.one_more_step import read_elsewhere
from tempoc.passes.recurrences.recognize_recurrence import RecurrenceCycle
from tempoc.passes.recurrences.surroundings import CycleSurroundings
from tempoc.sdg.graph.graph import Graph, Node
from tempoc.sdg.graph.query import multiplies_matrices, node_operations, operand_type


def makes_products_again(
    around: CycleSurroundings, cycle: Collection[str], recurrence: RecurrenceCycle
) -> bool:
    """Whether others need products of all steps, most of which are not faster for all at once."""
    graph, inside = around.graph, {*cycle}
    merges = [graph.nodes[s] for s in recurrence.states]
    states = {*recurrence.states, *(e.source for m in merges for e in m.inputs)}
    made = inside - states
    read = [n for n in read_elsewhere(graph, cycle, around.dim, around.readers) if n in made]
    again = reachable(read, lambda n: [s for s in graph.nodes[n].sources if s in made])
    total = alone = 0
    for node in (graph.nodes[n] for n in again):
        if not multiplies_matrices(graph, node):
            continue
        work = constant_elements((node_operations(graph, node),))
        if work is None:
            return False
        total += work
        shared = _shared_elements(graph, node, inside, recurrence)
        if all(work >= MODEL.many_rows * 2 * elements for elements in shared):
            alone += work
    return alone >= MODEL.again_operations and 2 * alone >= total


def _shared_elements(
    graph: Graph, node: Node, cycle: Collection[str], recurrence: RecurrenceCycle
) -> list[int]:
    """The elements of each operand that all steps share."""
    shared = [e for e in node.inputs if e.source not in cycle and not recurrence.varies(e)]
    return [constant_elements(operand_type(graph, e).shape) or 0 for e in shared]
