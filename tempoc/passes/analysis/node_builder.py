"""Builds the nodes that replace one node: infers types, picks fresh names, keeps spans."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from tempoc.ops.definition.operator import Op
from tempoc.ops.definition.types import TensorType
from tempoc.poly.relations.space import Space
from tempoc.sdg.graph.graph import Edge, Graph, Node
from tempoc.sdg.graph.query import operand_type
from tempoc.sdg.statements.build import identity
from tempoc.sdg.verification.verify import DomainFacts
from tempoc.symbolic.domain import Domain


@dataclass(slots=True)
class NodeBuilder:
    """Builds parts of the node ``whole``, operands first; ``nodes`` holds them in order.

    They vectorize the dimensions ``stars``.
    """

    graph: Graph
    space: Space
    whole: Node
    stars: tuple[str, ...]
    nodes: dict[str, Node] = field(default_factory=dict)

    def put(
        self,
        part: str,
        op: Op,
        inputs: Sequence[Edge],
        domain: Domain | None = None,
        like: Node | None = None,
    ) -> Node:
        """Add a node, in the domain of ``whole`` unless another one is given.

        Its source spans are those of ``whole``, or of the node ``like``. Raises ``OperandError`` if
        the operator does not take these operands.
        """
        domain = self.whole.domain if domain is None else domain
        stars = tuple(d for d in self.stars if d in domain.dims)
        name = self.free(part)
        operands = tuple(self.type(e) for e in inputs)
        types = op.infer(operands, DomainFacts(self.space, domain))
        node = replace(
            self.whole, name=name, op=op, domain=domain, inputs=tuple(inputs), types=types,
            vector=stars, spans=(like or self.whole).spans,
        )  # fmt: skip
        self.nodes[name] = node
        return node

    def type(self, edge: Edge) -> TensorType:
        """The type of a read of an old or new node."""
        if edge.source in self.nodes:
            nodes = {edge.source: self.nodes[edge.source]}
            return operand_type(replace(self.graph, nodes=nodes), edge)
        return operand_type(self.graph, edge)

    def free(self, part: str) -> str:
        """A fresh name for a part."""
        name, number = f"{self.whole.name}.{part}", 2
        while name in self.graph.nodes or name in self.nodes:
            name, number = f"{self.whole.name}.{part}{number}", number + 1
        return name

    def last(self, node: Node) -> bool:
        """Let a part replace ``whole``; false, and nothing done, if types or domains differ."""
        if node.types != self.whole.types or node.domain != self.whole.domain:
            return False
        del self.nodes[node.name]
        self.nodes[self.whole.name] = replace(node, name=self.whole.name)
        return True


def read_at_own_point(node: Node) -> Edge:
    """A read of a node at the reader's own point."""
    return Edge(source=node.name, entries=identity(node.domain))
