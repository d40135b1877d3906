"""The order of a store's axes, chosen from who reads it.

A product of many matrices wants what tells these apart in front: of keys ``k[0:t+1]: [S, KV, D]``
that ``einsum("kgd,skd->kgs", q, k)`` reads, the heads. With steps in front every step would copy
all keys into that order first.
"""

from __future__ import annotations

from collections.abc import Iterator

from tempoc.ops.contraction import Einsum
from tempoc.sdg.graph import Graph
from tempoc.sdg.query import operand_types
from tempoc.sdg.statements import Read, Statements
from tempoc.symbolic.expr import Slice


def spatial_in_front(tensor: str, dim: str, statements: Statements, graph: Graph) -> int:
    """How many spatial axes of a tensor had better stand before the axis of a dimension."""
    found = {*_wishes(tensor, dim, statements, graph)}
    return found.pop() if len(found) == 1 else 0


def _wishes(tensor: str, dim: str, statements: Statements, graph: Graph) -> Iterator[int]:
    """What each reader of slices would like."""
    place = statements.tensors[tensor].domain.dims.index(dim)
    for statement, _ in statements.readers(tensor):
        one = statement.single or statement
        for read in one.reads:
            if read.tensor == tensor and isinstance(read.entries[place], Slice):
                yield _batches(read, graph)


def _batches(read: Read, graph: Graph) -> int:
    """Over how many spatial axes, the first ones, a reader has a product for each position."""
    node = graph.nodes[read.member]
    slices = sum(isinstance(e, Slice) for e in read.entries)
    if not isinstance(node.op, Einsum) or slices != 1:
        return 0
    terms, result = node.op.letters(tuple(t.ndim for t in operand_types(graph, node)))
    own = terms[read.slot]
    others = "".join(t for k, t in enumerate(terms) if k != read.slot)
    count = 0
    for letter in own[1:]:
        if not (letter in result and letter in others) or own.count(letter) > 1:
            break
        count += 1
    return 0 if own[0] in own[1:] else count
