"""What an access of a statement is about: how many bytes, and if it is less than the tensor."""

from __future__ import annotations

from dataclasses import replace

from tempoc.ops.definition.types import TensorType
from tempoc.sdg.graph.graph import Graph
from tempoc.sdg.graph.query import operand_types
from tempoc.sdg.statements.statements import Read, Statement, Tensor, Write
from tempoc.symbolic import expr as ix
from tempoc.symbolic.walk import extent, substitute, symbols


def accessed_part(access: Read | Write, statement: Statement, graph: Graph) -> TensorType | None:
    """The type of the elements that an access is about at a point; ``None`` if of all.

    An operator that picks elements of its first operand reads no more than these. Of one that
    changes a part of its first operand only the part counts: XLA changes it in place. A vectorized
    statement does so at each point of its vectorized dimensions, which are the first axes.
    """
    if isinstance(access, Read) and access.slot > 0:
        return None
    node = graph.nodes[access.member]
    if node.op.changes_part:
        part = operand_types(graph, node)[-1]
    elif isinstance(access, Read) and node.op.picks:
        part = node.types[0]
    else:
        return None
    counts = (ix.sub(v.upper, v.lower) for v in statement.vector)
    return replace(part, shape=(*counts, *part.shape))


def bytes_at(tensor: Tensor, entries: tuple[ix.Entry, ...]) -> ix.Expr:
    """The bytes of a tensor at entries; where its shape varies along a slice, the larger end."""
    pairs = [*zip(tensor.domain.dims, entries, strict=True)]
    points = {dim: e for dim, e in pairs if not isinstance(e, ix.Slice)}
    slices = [(dim, e) for dim, e in pairs if isinstance(e, ix.Slice)]
    sizes: list[ix.Expr] = [extent(e) for _, e in slices]
    for size in tensor.type.shape:
        ends = [substitute(size, points)]
        for dim, e in slices:
            if dim in symbols(size):
                firsts = [substitute(x, {dim: e.lo}) for x in ends]
                ends = firsts + [substitute(x, {dim: ix.sub(e.hi, ix.ONE)}) for x in ends]
        sizes.append(ix.maximum(*ends))
    return ix.product((ix.Const(tensor.type.dtype.itemsize), *sizes))
