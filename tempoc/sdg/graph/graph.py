"""The symbolic dependence graph (SDG): nodes over iteration domains, edges with affine accesses.

Grammar::

    Graph  = universe, nodes (by name, in source order), outputs, groups
    Node   = name, op, domain, inputs: Edge*, types: TensorType*, spans
    Edge   = source node, output number, entries: (Expr | Slice)*, guard

An edge reads output ``out`` of ``source`` at ``entries``, one for each dimension of the source's
domain, expressions over the sink's dimensions and the bounds. A slice entry adds a leading spatial
axis; several slices add several, in domain order. ``guard`` is ``TRUE`` except on edges of a
``Merge``, where the guards are disjoint conditions over the merge's dimensions that together cover
its domain.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from tempoc.diagnostics.source import Span
from tempoc.ops.definition.operator import Op
from tempoc.ops.definition.types import TensorType
from tempoc.symbolic import expr as ix
from tempoc.symbolic.domain import Domain, Universe


@dataclass(frozen=True, slots=True, kw_only=True)
class Edge:
    """A dependence of a sink's operand on a source's output."""

    source: str
    out: int = 0
    entries: tuple[ix.Entry, ...] = ()
    guard: ix.Expr = ix.TRUE
    span: Span | None = field(default=None, compare=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class Node:
    """An operator at every point of an iteration domain.

    ``vector`` names the vectorized dimensions of the domain (see
    ``passes/vectorization/vectorize.py``); the meaning of the node does not depend on it.
    """

    name: str
    op: Op
    domain: Domain
    inputs: tuple[Edge, ...] = ()
    types: tuple[TensorType, ...]
    vector: tuple[str, ...] = ()
    spans: tuple[Span, ...] = field(default=(), compare=False)

    @property
    def sources(self) -> tuple[str, ...]:
        """The producers of its operands, in order; one that is read twice stands there twice."""
        return tuple([e.source for e in self.inputs])

    @property
    def span(self) -> Span | None:
        """The first of its spans, for messages that point at one place."""
        return self.spans[0] if self.spans else None


@dataclass(frozen=True, slots=True, kw_only=True)
class Output:
    """A result of the program: a tensor read at entries without free dimensions."""

    name: str
    source: str
    out: int = 0
    entries: tuple[ix.Entry, ...] = ()
    span: Span | None = field(default=None, compare=False)

    @property
    def edge(self) -> Edge:
        """Its read, as an edge without a reader."""
        return Edge(source=self.source, out=self.out, entries=self.entries, span=self.span)


@dataclass(frozen=True, slots=True, kw_only=True)
class Group:
    """Nodes of one domain that are executed together as one kernel, in this (topological) order."""

    name: str
    members: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Graph:
    """A program.

    ``groups`` is empty until ``fuse`` has run; then it partitions the computed nodes.
    ``assumed_at`` has the annotations from which assumptions of the universe come, for messages.
    """

    name: str
    universe: Universe
    nodes: Mapping[str, Node]
    outputs: tuple[Output, ...]
    groups: tuple[Group, ...] = ()
    doc: str = ""
    assumed_at: Mapping[ix.Expr, Span] = field(default_factory=dict, compare=False, repr=False)
