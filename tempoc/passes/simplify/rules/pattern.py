"""Matching for rewrite rules: the matched node, its producers, and the replacement.

A rule sees a node and the producers of its operands, with their accesses composed so that they
refer to the node's own point. It returns an operator and operands to replace the node with, and may
create new intermediate nodes.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Generic, TypeVar

from tempoc.ops.control.control import Copy
from tempoc.ops.definition.dtype_text import Scalar
from tempoc.ops.definition.operator import Op, OperandError
from tempoc.ops.definition.shapes import same_shape
from tempoc.ops.definition.types import WIDE_RANGE, DType, TensorType
from tempoc.ops.tensor.movement import BroadcastTo
from tempoc.ops.tensor.source import Full, Literal
from tempoc.sdg.builder import NodeBuilder, read_of
from tempoc.sdg.graph.graph import Edge, Node
from tempoc.sdg.graph.query import expressions
from tempoc.sdg.graph.rewrite import compose_node
from tempoc.sdg.statements.build import identity
from tempoc.sdg.verification.verify import DomainFacts
from tempoc.symbolic import expr as ix
from tempoc.symbolic.domain import Domain
from tempoc.symbolic.walk import symbols

_COPY = Copy()

Kind = type[Any]
"""A class of operators, abstract or not."""

O = TypeVar("O", bound=Op, covariant=True)  # noqa: E741


@dataclass(frozen=True, slots=True)
class Rewrite:
    """The replacement of a node: its operands, and an operator (a copy by default)."""

    edges: tuple[Edge, ...]
    op: Op = _COPY


@dataclass(frozen=True, slots=True)
class Producer(Generic[O]):
    """The producer of an operand; ``op`` and ``edges`` are in terms of the consumer's point."""

    node: Node
    op: O
    edges: tuple[Edge, ...]


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

    def is_uniform(self) -> bool:
        """Whether all operands have the dtype of the result."""
        dtype = self.result.dtype
        return all(self.dtype_of(e) is dtype for e in self.node.inputs)

    def dtype_of(self, edge: Edge) -> DType:
        """The dtype of a read."""
        return self.nodes[edge.source].types[edge.out].dtype

    def with_operand(self, slot: int, edge: Edge) -> tuple[Edge, ...]:
        """The operands with one replaced."""
        return (*self.node.inputs[:slot], edge, *self.node.inputs[slot + 1 :])

    def number(self, edge: Edge) -> Scalar | None:
        """The value of a read that is a constant, or an array filled with one."""
        op = self.nodes[edge.source].op
        return op.value if isinstance(op, Literal | Full) else None

    def same(self, at: int | Edge) -> Rewrite | None:
        """Replace the node by an operand or read, broadcast if needed.

        ``None`` if the dtype differs.
        """
        edge = self.node.inputs[at] if isinstance(at, int) else at
        type_ = self.type_of(edge)
        if (type_.dtype, type_.weak) != (self.result.dtype, self.result.weak):
            return None
        if same_shape(type_.shape, self.result.shape, self.facts):
            return Rewrite((edge,))
        return Rewrite((edge,), BroadcastTo(shape=self.result.shape))

    def constant(self, value: Scalar) -> Rewrite | None:
        """Replace the node by a constant."""
        type_ = self.result
        if not type_.shape:
            return Rewrite((), Literal(value=value, dtype=type_.dtype, weak=type_.weak))
        if type_.weak:
            return None
        return Rewrite((), Full(shape=type_.shape, value=value, dtype=type_.dtype))

    def producer(
        self, at: int | Edge, *kinds: type[O],
        sliced: bool = False, alone: bool = False, own: bool = False,
    ) -> Producer[O] | None:  # fmt: skip
        """The producer of an operand or read if its operator is of these kinds.

        Unless ``sliced`` only for reads of points, so that axes are those of the producer. A
        producer with other consumers that is read at another point does not match: a rewrite would
        extend the live ranges of its operands. ``alone``: it has no other consumer. ``own``: nor
        another domain, and it is read at the consumer's own point.
        """
        edge = self.node.inputs[at] if isinstance(at, int) else at
        inner = self.nodes[edge.source]
        if not isinstance(inner.op, kinds) or inner.name == self.node.name:
            return None
        if not sliced and any(isinstance(e, ix.Slice) for e in edge.entries):
            return None
        own_point = edge.entries == identity(inner.domain)
        if self.uses[inner.name] != 1 and (alone or own or not own_point):
            return None
        if own and not (own_point and inner.domain == self.node.domain):
            return None
        substituted = compose_node(inner, edge, self.graph.universe)
        if substituted is None:
            return None
        op, edges = substituted
        assert isinstance(op, kinds)
        return Producer(inner, op, edges)

    def make(self, op: Op, *edges: Edge) -> Edge:
        """Create a node over the dimensions that its operands vary with; the read of it.

        Raises ``OperandError`` if the operator does not take these operands.
        """
        node = self.put(op.name, op, edges, self._domain(op, edges))
        self.new_nodes.append(node)
        return read_of(node)

    def literal(self, value: Scalar) -> Edge:
        """A literal of the node's dtype, which is not weak. Raises ``OperandError`` if that is."""
        if self.result.weak:
            raise OperandError("the result is weak, a literal would not be")
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

    ``operands``: what the first operands must be made by, in the order of a commutative operator
    that fits; ``None``: by anything. ``exact``: results are the same to the last bit; else up to
    rounding. ``wide``: only where the result and all operands have one dtype, with a wide range of
    exponents.
    """

    name: str
    ops: tuple[Kind, ...]
    find: Callable[[Match], Rewrite | None]
    operands: tuple[tuple[Kind, ...] | None, ...] = ()
    exact: bool = True
    wide: bool = False

    def applies_to(self, op: Kind) -> bool:
        """Whether it is for an operator: one of ``ops``, or of a family among these."""
        families = tuple(f for f in self.ops if not hasattr(f, "name"))
        return op in self.ops or issubclass(op, families)

    def takes(self, producers: tuple[Kind, ...]) -> bool:
        """Whether operands made by these can match, in this order."""
        pairs = zip(self.operands, producers, strict=False)
        return all(of is None or issubclass(producer, of) for of, producer in pairs)

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
        if self.wide and not (match.result.dtype in WIDE_RANGE and match.is_uniform()):
            return False
        types = rewrite.op.infer(tuple(map(match.type_of, rewrite.edges)), match.facts)
        (type_,) = types[:1]
        same = same_shape(type_.shape, match.result.shape, match.facts)
        return type_.dtype is match.result.dtype and same


def rule(
    name: str,
    *ops: Kind,
    of: tuple[Kind, ...] = (),
    own: bool = False,
    exact: bool = True,
    wide: bool = False,
) -> Callable[[Callable[..., Rewrite | None]], RewriteRule]:
    """Make a function a rule for nodes of these operators; it takes the match and the operator.

    With ``of`` also the first operand's producer, which is of these kinds; ``own``: see
    ``Match.producer``.
    """

    def made(find: Callable[..., Rewrite | None]) -> RewriteRule:
        def of_operator(v: Match) -> Rewrite | None:
            return find(v, v.op)

        def of_producer(v: Match) -> Rewrite | None:
            inner = v.producer(0, *of, own=own)
            return None if inner is None else find(v, v.op, inner)

        matched = of_producer if of else of_operator
        operands = (of,) if of else ()
        return RewriteRule(
            name=name, ops=ops, find=matched, operands=operands, exact=exact, wide=wide
        )

    return made
