"""Builds the nodes that replace a node: infers types, picks fresh names, keeps spans."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field, replace

from tempoc.base.names import fresh_name
from tempoc.ops.definition.operator import Op
from tempoc.ops.definition.types import TensorType
from tempoc.poly.relations.space import Space
from tempoc.sdg.graph.graph import Edge, Graph, Node
from tempoc.sdg.graph.query import type_of_read
from tempoc.sdg.statements.build import identity
from tempoc.sdg.verification.verify import DomainFacts
from tempoc.symbolic.domain import Domain


@dataclass(slots=True, kw_only=True)
class NodeBuilder:
    """Builds parts of ``node``, a node of the graph, operands first; ``nodes`` gets them in order.

    They have the node's spans and vectorize its vectorized dimensions.
    """

    graph: Graph
    space: Space
    node: Node
    nodes: dict[str, Node] = field(default_factory=dict)

    def put(
        self,
        part: str,
        op: Op,
        operands: Iterable[Edge | Node] = (),
        domain: Domain | None = None,
        types: tuple[TensorType, ...] | None = None,
    ) -> Node:
        """Add a node, in the domain of ``node`` unless another one is given.

        An operand that is a node is read at the own point. Without ``types`` they are inferred;
        raises ``OperandError`` if the operator does not take these operands.
        """
        domain = self.node.domain if domain is None else domain
        edges = tuple(read_of(x) if isinstance(x, Node) else x for x in operands)
        if types is None:
            types = op.infer(tuple(map(self.type_of, edges)), DomainFacts(self.space, domain))
        vector = tuple(d for d in self.node.vector if d in domain.dims)
        return self.add(
            replace(
                self.node, name=self.fresh_name(part), op=op, domain=domain, inputs=edges,
                types=types, vector=vector,
            )
        )  # fmt: skip

    def add(self, node: Node) -> Node:
        """Add a node as it is."""
        self.nodes[node.name] = node
        return node

    def type_of(self, edge: Edge) -> TensorType:
        """The type of a read of an old or new node."""
        source = self.nodes.get(edge.source) or self.graph.nodes[edge.source]
        return type_of_read(source, edge)

    def fresh_name(self, part: str) -> str:
        """A name for a part that no other node has."""
        return fresh_name(f"{self.node.name}.{part}", self.graph.nodes, self.nodes)

    def finish(self, node: Node) -> tuple[Node, ...] | None:
        """All parts, of which ``node`` takes the place of the node.

        ``None`` if their types or domains differ.
        """
        if node.types != self.node.types or node.domain != self.node.domain:
            return None
        del self.nodes[node.name]
        self.add(replace(node, name=self.node.name))
        return tuple(self.nodes.values())


def read_of(node: Node, out: int = 0) -> Edge:
    """A read at the reader's own point."""
    return Edge(source=node.name, out=out, entries=identity(node.domain))
