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

from collections.abc import Callable, Container, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from tempoc.base.graphs import strongly_connected_components
from tempoc.base.names import fresh_name
from tempoc.ops.control.externs import ExternCall
from tempoc.ops.control.until import Until
from tempoc.sdg.graph.graph import Edge, Graph, Node
from tempoc.sdg.graph.query import OperandUse, users
from tempoc.sdg.statements.branches import enclosing_conds
from tempoc.sdg.statements.build import is_computed, is_identity
from tempoc.symbolic import expr as ix
from tempoc.symbolic.walk import symbols


def vectorized_again(
    graph: Graph,
    dim: str,
    around: Container[str],
    wide: Container[str],
    is_affordable: Callable[[Sequence[str], Sequence[str]], bool],
) -> Graph:
    """The graph in which readers along a dimension read clones of ``wide`` nodes of its loop.

    The readers are the nodes that are vectorized along it, and those that read a slice of it, but
    none that the loop itself waits for: a clone needs all steps of it. ``around`` are the loops
    around it. It is the same graph unless computing the cloned nodes again ``is_affordable``, in
    place of storing those that are read.
    """
    cloner = _LoopCloner(
        graph=graph,
        dim=dim,
        wide=wide,
        uses=users(graph),
        lazy=enclosing_conds(graph),
        component=_components(graph, around),
    )
    nodes: dict[str, Node] = {}
    for node in graph.nodes.values():
        inputs = (cloner.redirected(node, e) for e in node.inputs)
        nodes[node.name] = replace(node, inputs=tuple(inputs)) if is_computed(node) else node
    if not is_affordable([*cloner.clones], [*cloner.replaced]):
        return graph
    return replace(graph, nodes={**nodes, **{n.name: n for n in cloner.clones.values()}})


def _components(graph: Graph, around: Container[str]) -> dict[str, int]:
    """The strongly connected component of each node within an iteration of the loops around."""

    def sources(name: str) -> tuple[str, ...]:
        return tuple(e.source for e in graph.nodes[name].inputs if is_within(e))

    def is_within(edge: Edge) -> bool:
        entries = zip(graph.nodes[edge.source].domain.dims, edge.entries, strict=True)
        return all(e == ix.Sym(d) for d, e in entries if d in around)

    parts = strongly_connected_components(graph.nodes, sources)
    return {name: k for k, part in enumerate(parts) for name in part}


def reads_at_once(graph: Graph, uses: Iterable[OperandUse], dim: str) -> bool:
    """Whether all points of a dimension are read at once anywhere."""
    readers = ((graph.nodes[use.reader], use.slot) for use in uses)
    return any(is_at_once(graph, r, r.inputs[slot], dim) for r, slot in readers)


def is_at_once(graph: Graph, reader: Node, edge: Edge, dim: str) -> bool:
    """Whether a reader needs its operand at several points of a dimension at once."""
    if not is_computed(reader):
        return False
    entries = zip(graph.nodes[edge.source].domain.dims, edge.entries, strict=True)
    return dim in reader.vector or any(isinstance(e, ix.Slice) for d, e in entries if d == dim)


@dataclass(slots=True, kw_only=True)
class _LoopCloner:
    """Makes clones on demand; ``failed`` have none, instead of ``replaced`` they are read.

    ``component`` numbers what waits for each other in one iteration of the loops around.
    """

    graph: Graph
    dim: str
    wide: Container[str]
    uses: Mapping[str, Sequence[OperandUse]]
    lazy: Container[str]
    component: Mapping[str, int]
    clones: dict[str, Node] = field(default_factory=dict)
    failed: set[str] = field(default_factory=set)
    replaced: dict[str, None] = field(default_factory=dict)

    def redirected(self, reader: Node, edge: Edge) -> Edge:
        """The read of the clone of a wide node; the same read where there is none."""
        is_read = (
            self.is_candidate(edge.source)
            and is_at_once(self.graph, reader, edge, self.dim)
            and self.component[reader.name] != self.component[edge.source]
        )
        clone = self.clone(edge.source) if is_read else None
        if clone is None:
            return edge
        self.replaced[edge.source] = None
        return replace(edge, source=clone.name)

    def is_candidate(self, name: str) -> bool:
        """Whether a node of the loop is wide."""
        node = self.graph.nodes[name]
        return self.dim in node.domain.dims and self.dim not in node.vector and name in self.wide

    def is_whole(self, name: str) -> bool:
        """Whether a node is stored at all points, whoever else reads it."""
        return reads_at_once(self.graph, self.uses[name], self.dim)

    def clone(self, name: str) -> Node | None:
        """The clone of a node of the loop; ``None`` if it needs other steps, or has effects."""
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
        if clone is not None:
            return replace(edge, source=clone.name)
        return edge if self.is_whole(edge.source) else None

    def may_repeat(self, node: Node) -> bool:
        """Whether a node may be computed twice, at all points of the dimension at once."""
        if isinstance(node.op, ExternCall | Until) or not node.op.pure:
            return False
        is_free = self.dim not in symbols(node.domain.where)
        return is_computed(node) and is_free and node.name not in self.lazy
