"""What an access of a statement is about, where that is less than the tensor at its point."""

from __future__ import annotations

from tempoc.ops.definition.types import TensorType
from tempoc.sdg.graph.graph import Graph
from tempoc.sdg.graph.query import operand_types
from tempoc.sdg.statements.statements import Read, Statement, Write


def accessed_part(access: Read | Write, statement: Statement, graph: Graph) -> TensorType | None:
    """The type of the elements that an access is about at a point; ``None`` if of all.

    An operator that picks elements of its first operand reads no more than these. Of one that
    changes a part of its first operand only the part counts: XLA changes it in place.
    """
    if statement.vector or (isinstance(access, Read) and access.slot > 0):
        return None
    node = graph.nodes[access.member]
    if node.op.changes_part:
        return operand_types(graph, node)[-1]
    return node.types[0] if isinstance(access, Read) and node.op.picks else None
