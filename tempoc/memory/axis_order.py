"""The axis order of a store, chosen for its consumers.

A batched matrix product is fastest with the batch axes in front: for the keys ``k[0:t+1]: [S, KV,
D]`` that ``einsum("kgd,skd->kgs", q, k)`` reads, the heads. With steps in front, every step would
first transpose all keys. After the batch axes come the contracted axes, then the others, so that
each matrix is read sequentially. So keys, with one score for each step, are stored as
``[KV, D, S]``, and values, whose steps ``einsum("kgs,skd->kgd", p, v)`` contracts, as
``[KV, S, D]``.
"""

from __future__ import annotations

from collections.abc import Iterator

from tempoc.ops.tensor.contraction import Einsum
from tempoc.sdg.graph.graph import Graph
from tempoc.sdg.graph.query import operand_types
from tempoc.sdg.statements.statements import Read, Statements
from tempoc.symbolic import expr as ix


def spatial_in_front(tensor: str, dim: str, statements: Statements, graph: Graph) -> int:
    """How many spatial axes of a tensor to place before the axis of a dimension."""
    return min(_preferences(tensor, dim, statements, graph), default=0)


def _preferences(tensor: str, dim: str, statements: Statements, graph: Graph) -> Iterator[int]:
    """The preference of each consumer of slices along the dimension."""
    place = statements.tensors[tensor].domain.dims.index(dim)
    for statement, _ in statements.readers(tensor):
        one = statement.single or statement
        for read in one.reads:
            if read.tensor == tensor and isinstance(read.entries[place], ix.Slice):
                yield _preferred_count(read, graph)


def _preferred_count(read: Read, graph: Graph) -> int:
    """How many leading spatial axes a consumer prefers before the sliced one.

    The batch axes of its product; all spatial axes, if it contracts the others and not the slice.
    """
    node = graph.nodes[read.member]
    slices = sum(isinstance(e, ix.Slice) for e in read.entries)
    if not isinstance(node.op, Einsum) or slices != 1:
        return 0
    terms, result = node.op.letters(tuple(t.ndim for t in operand_types(graph, node)))
    own = terms[read.slot]
    others = "".join(t for k, t in enumerate(terms) if k != read.slot)
    if len({*own}) < len(own):
        return 0
    paired = [letter in result and letter in others for letter in own[1:]]
    count = paired.index(False) if False in paired else len(paired)
    summed = all(letter not in result for letter in own[1 + count :])
    return len(paired) if count and summed and own[0] in result else count
