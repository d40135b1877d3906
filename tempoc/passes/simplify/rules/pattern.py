"""Pattern matching for rewrite rules: the matched node, its producers, and the replacement.

A rule sees a node and the producers of its operands, with their accesses composed so that they
refer to the node's own point. It returns an operator and operands to replace the node with, and may
create new intermediate nodes.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace

from tempoc.ops.control.control import Copy
from tempoc.ops.definition.dtype_text import Scalar
from tempoc.ops.definition.operator import Op, OperandError
from tempoc.ops.definition.shapes import Shape, same_shape
from tempoc.ops.definition.types import DType, TensorType
from tempoc.ops.tensor.movement import BroadcastTo
from tempoc.ops.tensor.source import Full, Literal
from tempoc.sdg.builder import NodeBuilder, read_of
from tempoc.sdg.graph.graph import Edge, Node
from tempoc.sdg.graph.query import expressions, substitute_in_op
from tempoc.sdg.graph.rewrite import compose
from tempoc.sdg.statements.build import identity
from tempoc.sdg.verification.verify import DomainFacts
from tempoc.symbolic.domain import Domain
from tempoc.symbolic.expr import ONE, Expr, Slice
from tempoc.symbolic.walk import symbols

COPY = Copy()


@dataclass(frozen=True, slots=True, kw_only=True)
class Rewrite:
    """The replacement of a node: an operator (a copy by default) and its operands."""

    edges: tuple[Edge, ...]
    op: Op = COPY


@dataclass(frozen=True, slots=True, kw_only=True)
class Producer:
    """The producer of an operand; ``op`` and ``edges`` are in terms of the consumer's point.

    ``alone``: it has no other consumer. ``aligned``: both have the same domain, and it is read at
    the consumer's own point.
    """

    node: Node
    op: Op
    edges: tuple[Edge, ...]
    alone: bool
    aligned: bool


@dataclass(slots=True)
class Match(NodeBuilder):
    """A node to which rules are applied; ``uses`` counts the reads of each node.

    ``nodes`` are those of the graph; nodes that a rule creates are added there and to
    ``new_nodes``.
    """

    uses: Mapping[str, int]
    new_nodes: list[Node] = field(default_factory=list)

    @property
    def op(self) -> Op:
        """The node's operator."""
        return self.node.op

    @property
    def result(self) -> TensorType:
        """The type of its first result."""
        return self.node.types[0]

    @property
    def facts(self) -> DomainFacts:
        """What holds at the node's points."""
        return DomainFacts(self.space, self.node.domain)

    def operand(self, slot: int) -> TensorType:
        """The type of an operand, after the access."""
        return self.type_of(self.node.inputs[slot])

    @property
    def operands(self) -> tuple[TensorType, ...]:
        """The types of all operands."""
        return tuple(self.type_of(e) for e in self.node.inputs)

    @property
    def dtypes(self) -> tuple[DType, ...]:
        """The dtypes of all operands."""
        return tuple(self.nodes[e.source].types[e.out].dtype for e in self.node.inputs)

    def number(self, slot: int) -> Scalar | None:
        """The value of an operand that is a constant, or an array filled with one."""
        op = self.nodes[self.node.inputs[slot].source].op
        return op.value if isinstance(op, Literal | Full) else None

    def same_as(self, edge: Edge) -> Rewrite | None:
        """Replace the node by a read, broadcast if needed; ``None`` if the dtype differs."""
        type_ = self.type_of(edge)
        if type_ == self.result:
            return Rewrite(edges=(edge,))
        if (type_.dtype, type_.weak) != (self.result.dtype, self.result.weak):
            return None
        if same_shape(type_.shape, self.result.shape, self.facts):
            return Rewrite(edges=(edge,))
        return Rewrite(edges=(edge,), op=BroadcastTo(shape=self.result.shape))

    def same(self, slot: int) -> Rewrite | None:
        """Replace the node by an operand, broadcast if needed."""
        return self.same_as(self.node.inputs[slot])

    def constant(self, value: Scalar) -> Rewrite | None:
        """Replace the node by a constant."""
        type_ = self.result
        if not type_.shape:
            return Rewrite(edges=(), op=Literal(value=value, dtype=type_.dtype, weak=type_.weak))
        if type_.weak:
            return None
        return Rewrite(edges=(), op=Full(shape=type_.shape, value=value, dtype=type_.dtype))

    def inner(
        self, slot: int, *kinds: type[Op], sliced: bool = False, alone: bool = False
    ) -> Producer | None:
        """The producer of an operand if its operator is of these kinds; see ``behind``."""
        return self.behind(self.node.inputs[slot], *kinds, sliced=sliced, alone=alone)

    def behind(
        self, edge: Edge, *kinds: type[Op], sliced: bool = False, alone: bool = False
    ) -> Producer | None:
        """The producer of a read if its operator is of these kinds.

        Unless ``sliced`` only for reads of points, so that axes are those of the producer. A
        producer with other consumers that is read at another point does not match: a rewrite would
        extend the live ranges of its operands.
        """
        inner = self.nodes[edge.source]
        if not isinstance(inner.op, kinds) or inner.name == self.node.name:
            return None
        if not sliced and any(isinstance(e, Slice) for e in edge.entries):
            return None
        single = self.uses[inner.name] == 1
        own_point = edge.entries == identity(inner.domain)
        if not single and (alone or not own_point):
            return None
        substituted = self.as_read_by(inner, edge)
        if substituted is None:
            return None
        op, edges = substituted
        aligned = own_point and inner.domain == self.node.domain
        return Producer(node=inner, op=op, edges=edges, alone=single, aligned=aligned)

    def as_read_by(self, inner: Node, edge: Edge) -> tuple[Op, tuple[Edge, ...]] | None:
        """A node's operator and operands, in terms of the point of a consumer with ``edge``."""
        universe, dims = self.graph.universe, inner.domain.dims
        at = dict(zip(dims, edge.entries, strict=True))
        if any(universe.moves(e, at) for e in expressions(inner.op)):
            return None
        edges = []
        for read in inner.inputs:
            entries = compose(edge.entries, dims, read.entries, universe)
            if entries is None:
                return None
            edges.append(replace(read, entries=entries, span=edge.span))
        points = {d: e for d, e in at.items() if isinstance(e, Expr)}
        return substitute_in_op(inner.op, points), tuple(edges)

    def make(self, op: Op, *edges: Edge) -> Edge:
        """Create a node over the dimensions that its operands vary with; the read of it.

        Raises ``OperandError`` if the operator does not take these operands.
        """
        node = self.put(op.name, op, edges, self._domain(op, edges))
        self.new_nodes.append(node)
        return read_of(node)

    def literal(self, value: Scalar) -> Edge:
        """A literal of the node's dtype."""
        return self.make(Literal(value=value, dtype=self.result.dtype))

    def _domain(self, op: Op, edges: tuple[Edge, ...]) -> Domain:
        own = self.node.domain
        if not edges and not any(True for _ in expressions(op)):
            return Domain(())
        named = [n for e in edges for entry in e.entries for n in symbols(entry)]
        named += [n for e in edges for x in self.type_of(e).shape for n in symbols(x)]
        named += [n for e in expressions(op) for n in symbols(e)]
        dims = self.graph.universe.ordered(tuple(named))
        if dims == own.dims or any(d not in own.dims for d in dims):
            return own
        projected = self.space.project(own, dims)
        outside = (
            self.space.outside(projected, e.entries, self.nodes[e.source].domain) for e in edges
        )
        return own if any(outside) else projected

    def undo(self) -> None:
        """Remove the nodes that were created."""
        for node in self.new_nodes:
            del self.nodes[node.name]
        self.new_nodes.clear()


@dataclass(frozen=True, slots=True, kw_only=True)
class RewriteRule:
    """A rewrite rule; ``find`` is applied to nodes of these operators.

    ``exact``: results are the same to the last bit; else up to rounding.
    """

    name: str
    ops: tuple[type[Op], ...]
    find: Callable[[Match], Rewrite | None]
    exact: bool = True

    def attempt(self, match: Match) -> Rewrite | None:
        """The replacement, if the rule matches and the replacement has the node's type."""
        try:
            rewrite = self.find(match)
            if rewrite is not None and self._fits(match, rewrite):
                return rewrite
        except OperandError:
            pass
        match.undo()
        return None

    def _fits(self, match: Match, rewrite: Rewrite) -> bool:
        types = rewrite.op.infer(tuple(map(match.type_of, rewrite.edges)), match.facts)
        (type_,) = types[:1]
        same = same_shape(type_.shape, match.result.shape, match.facts)
        return type_.dtype is match.result.dtype and same


def fewer(a: Shape, b: Shape) -> bool:
    """Whether a shape has fewer elements: its extents are a proper subset of the other's."""
    have, remaining = [e for e in a if e != ONE], [e for e in b if e != ONE]
    for e in have:
        if e not in remaining:
            return False
        remaining.remove(e)
    return bool(remaining)
