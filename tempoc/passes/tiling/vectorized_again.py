"""Clones of what a loop has computed, at all points of its dimension at once.

    %z = matmul %w, %o        : [t, b*] f32[64]
    %h = tanh %z              : [t, b*] f32[64]
    %d = einsum %e[0:T, 0:B], %h[0:T, 0:B] : [] f32[64, 64]

becomes, if ``%o`` is stored for all ``t`` in any case or is small beside ``%h``,

    %z.again = matmul %w, %o  : [t*, b*] f32[64]
    %h.again = tanh %z.again  : [t*, b*] f32[64]
    %d = einsum %e[0:T, 0:B], %h.again[0:T, 0:B] : [] f32[64, 64]
"""

from __future__ import annotations

from collections.abc import Container
from dataclasses import dataclass, field, replace

from tempoc.base.names import fresh_name
from tempoc.ops.control.control import Merge
from tempoc.ops.control.externs import ExternCall
from tempoc.ops.control.until import Until
from tempoc.sdg.graph.graph import Edge, Graph, Node
from tempoc.sdg.statements.branches import enclosing_conds
from tempoc.sdg.statements.build import is_computed, is_identity
from tempoc.symbolic import expr as ix
from tempoc.symbolic.walk import symbols


def vectorized_again(graph: Graph, dim: str, wide: Container[str]) -> Graph:
    """The graph in which readers along a dimension read clones of the ``wide`` nodes of its loop.

    These are the nodes that are vectorized along it, and those that read a slice of it.
    """
    cloner = _Cloner(graph=graph, dim=dim, wide=wide, lazy=enclosing_conds(graph))
    nodes: dict[str, Node] = {}
    for node in graph.nodes.values():
        if is_computed(node) and (dim in node.vector or dim not in node.domain.dims):
            node = replace(node, inputs=tuple(map(cloner.redirected, node.inputs)))
        nodes[node.name] = node
    if not cloner.clones:
        return graph
    return replace(graph, nodes={**nodes, **{n.name: n for n in cloner.clones.values()}})


@dataclass(slots=True, kw_only=True)
class _Cloner:
    """Makes clones on demand; ``failed`` are nodes that have none."""

    graph: Graph
    dim: str
    wide: Container[str]
    lazy: Container[str]
    clones: dict[str, Node] = field(default_factory=dict)
    failed: set[str] = field(default_factory=set)

    def redirected(self, edge: Edge) -> Edge:
        """The read of the clone of a wide node; the same read where there is none."""
        clone = self.clone(edge.source) if self.is_candidate(edge.source) else None
        return edge if clone is None else replace(edge, source=clone.name)

    def is_candidate(self, name: str) -> bool:
        """Whether a node is a wide one of the loop."""
        node = self.graph.nodes[name]
        return name in self.wide and self.dim in node.domain.dims and self.dim not in node.vector

    def clone(self, name: str) -> Node | None:
        """The clone of a node of the loop; ``None`` if it depends on other steps, or on the host."""
        if name in self.clones:
            return self.clones[name]
        node = self.graph.nodes[name]
        if name in self.failed or not self.may_repeat(node):
            return None
        self.failed.add(name)  # until it has a clone, so that cycles end
        inputs = [self.operand(e) for e in node.inputs]
        if any(e is None for e in inputs):
            return None
        self.failed.discard(name)
        self.clones[name] = replace(
            node,
            name=fresh_name(f"{name}.again", self.graph.nodes),
            inputs=tuple(e for e in inputs if e is not None),
            vector=self.graph.universe.sorted((*node.vector, self.dim)),
        )
        return self.clones[name]

    def operand(self, edge: Edge) -> Edge | None:
        """The operand of a clone: another clone, or what is small or stored whole."""
        if not self.is_candidate(edge.source):
            return edge
        clone = self.clone(edge.source) if is_identity(edge, self.graph) else None
        return None if clone is None else replace(edge, source=clone.name)

    def may_repeat(self, node: Node) -> bool:
        """Whether a node may be computed twice, at all points of the dimension at once."""
        if isinstance(node.op, ExternCall | Until | Merge) or not node.op.pure:
            return False
        is_free = self.dim not in symbols(node.domain.where)
        return is_computed(node) and is_free and node.name not in self.lazy
