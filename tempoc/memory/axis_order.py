"""The axis order of a store, chosen for its consumers.

A batched matrix product is fastest with the batch axes in front: for the keys ``k[0:t+1]: [S, KV,
D]`` that ``einsum("kgd,skd->kgs", q, k)`` reads, the heads. With steps in front, every step would
first transpose all keys. After the batch axes come the contracted axes, then the others, so that
each matrix is read sequentially. So keys, with one score for each step, are stored as
``[KV, D, S]``, and values, whose steps ``einsum("kgs,skd->kgd", p, v)`` contracts, as
``[KV, S, D]``.

A loop on the device that computes a row of scalars in each step, ``y[c, t]`` for all ``c``, would
touch as many cache lines as there are scalars; with the axis of the loop in front it touches a part
of the array that is contiguous.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator

from tempoc.base.cost_model import MODEL
from tempoc.memory.estimates import product_at, typical_bounds
from tempoc.ops.definition.types import DType
from tempoc.ops.tensor.contraction import Einsum
from tempoc.program.nodes.buffers import Buffer
from tempoc.sdg.graph.graph import Graph
from tempoc.sdg.graph.query import operand_types
from tempoc.sdg.statements.statements import Read, Statements
from tempoc.symbolic import expr as ix
from tempoc.symbolic.domain import Universe, slice_count


def spatial_in_front(tensor: str, dim: str, statements: Statements, graph: Graph) -> int:
    """How many spatial axes of a tensor to place before the axis of a dimension."""
    return min(_preferences(tensor, dim, statements, graph), default=0)


def loops_in_front(
    buffer: Buffer, moving: Collection[str], statements: Statements, universe: Universe
) -> tuple[str, ...]:
    """The dimensions of a buffer to place before all others: loops of the device step along them.

    ``moving`` are the dimensions along which an index varies with such a loop. None where they are
    in front already, where what a step touches of a row fills a cache line, or where a loop reads
    ranges along them.
    """
    dims = [axis.dim for axis in buffer.axes]
    ahead = tuple(d for d in dims if d in moving)
    plain = not any(axis.behind or axis.grows for axis in buffer.axes)
    if not plain or [*ahead] == dims[: len(ahead)]:
        return ()
    elements = product_at(buffer.shape, typical_bounds(universe))
    row = elements * DType(buffer.dtype).itemsize
    if row >= MODEL.line_bytes or _has_range_in_loop(buffer.name, ahead, statements):
        return ()
    return ahead


def _has_range_in_loop(tensor: str, dims: Collection[str], statements: Statements) -> bool:
    """Whether a statement in a loop reads or writes a range along some dimensions."""
    accesses = [(s, read.entries) for s, read in statements.readers(tensor)]
    accesses += [(s, write.entries) for s, write in statements.writers(tensor)]
    domain = statements.tensors[tensor].domain.dims
    return any(
        isinstance(entry, ix.Slice) and dim in dims
        for statement, entries in accesses
        if statement.domain.dims
        for dim, entry in zip(domain, entries, strict=True)
    )


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
    slices = slice_count(read.entries)
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
