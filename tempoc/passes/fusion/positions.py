"""Functions of positions alone, as masks, are computed by the kernels that read them.

    %m = ge %row, %column : [c*] bool[N, T]           group m
    %p = where %m, %s, %inf : [c*, l] f32[N, T]       group p
                          ->
    %m = ge %row, %column : [c*, l] bool[N, T]        group p
    %p = where %m, %s, %inf : [c*, l] f32[N, T]       group p

Stored, a mask has an element for each pair of positions, of all points. In the kernel that reads it
XLA fuses it with what it selects from, and it takes no memory at all.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field, replace

from tempoc.base.cost_model import MODEL
from tempoc.base.names import fresh_name
from tempoc.ops.definition.types import DType
from tempoc.ops.tensor.elementwise import Cast
from tempoc.passes.analysis.size_estimate import bytes_of
from tempoc.passes.fusion.outer import outer_functions
from tempoc.sdg.graph.graph import Edge, Graph, Node
from tempoc.sdg.graph.query import (
    node_expressions,
    operand_types,
    substitute_in_op,
    topological,
)
from tempoc.sdg.graph.rewrite import drop_dead
from tempoc.sdg.statements.branches import branch_conditions
from tempoc.sdg.statements.build import identity, is_computed
from tempoc.symbolic import expr as ix
from tempoc.symbolic.domain import substitute_entry
from tempoc.symbolic.walk import substitute, symbols


def computed_where_read(graph: Graph, groups: Mapping[str, str]) -> tuple[Graph, dict[str, str]]:
    """The graph with copies of such nodes in the groups of their consumers, and the new groups.

    So are light functions of all pairs, if all their consumers take them (``outer.py``).

    ``groups`` has the group of each node that is in one; cheap nodes are in none. Only those that
    take much are copied, with an element for each pair of points or positions, and only for
    elementwise consumers: others need an array.
    """
    conditions = branch_conditions(graph)
    fixed = {o.source for o in graph.outputs} | {n for n, needed in conditions.items() if needed}
    plain = _functions_of_positions(graph, fixed) | outer_functions(graph, groups, fixed)
    copier = _Copier(graph=graph, plain=plain, homes=dict(groups))
    for node in graph.nodes.values():
        home = groups.get(node.name)
        if home is None or node.name in fixed or not node.op.elementwise:
            copier.nodes.setdefault(node.name, node)
            continue
        edges = tuple(
            copier.here(edge, node, home)
            if edge.source in plain and groups[edge.source] != home and _is_large(graph, edge)
            else edge
            for edge in node.inputs
        )
        copier.nodes[node.name] = replace(node, inputs=edges) if edges != node.inputs else node
    if not copier.copies:
        return graph, dict(groups)
    return drop_dead(replace(graph, nodes=copier.nodes)), copier.homes


def _functions_of_positions(graph: Graph, fixed: Collection[str]) -> set[str]:
    """The nodes that are made of index expressions and numbers, in a few operations.

    Arrays of a few numbers that all points share may take part, as the slopes of distances.
    Comparisons, selections and functions of integers such as `abs` are as light as sums.
    """
    plain: set[str] = set()
    for name in topological(graph):
        node = graph.nodes[name]
        known = all(
            (graph.nodes[e.source].op.cheap or e.source in plain or _is_fixed(graph, e))
            and not any(isinstance(x, ix.Slice) for x in e.entries)
            for e in node.inputs
        )
        if known and node.inputs and name not in fixed and _is_light(graph, node):
            plain.add(name)
    return plain


def _is_fixed(graph: Graph, edge: Edge) -> bool:
    """Whether a read is of one small array, whatever the bounds are."""
    node = graph.nodes[edge.source]
    shape = node.types[edge.out].shape
    if node.domain.dims or not all(isinstance(e, ix.Const) for e in shape):
        return False
    return bytes_of(node.types[edge.out], {}) <= MODEL.small_bytes


def _is_light(graph: Graph, node: Node) -> bool:
    op, types = node.op, operand_types(graph, node)
    if not is_computed(node) or not op.pure or op.checks or op.heavy or len(node.types) > 1:
        return False
    masks = any(t.dtype is DType.BOOL for t in (*types, *node.types))
    counts = len(types) == 1 and not any(t.dtype.is_float for t in (*types, *node.types))
    is_simple = op.light or masks or counts or isinstance(op, Cast)
    return op.moves or (op.elementwise and is_simple)


def _is_large(graph: Graph, edge: Edge) -> bool:
    """Whether of the axes and dimensions of what is read at points two have no fixed length."""
    universe, node = graph.universe, graph.nodes[edge.source]
    if any(isinstance(e, ix.Slice) for e in edge.entries):
        return False
    bounds = (ix.Sym(universe.dim(d).bound) for d in node.domain.dims)
    extents: tuple[ix.Expr, ...] = (*bounds, *node.types[0].shape)
    fixed = {b.name for b in universe.bounds if isinstance(b.value, ix.Const)}
    return sum(not fixed.issuperset(symbols(e)) for e in extents) > 1


@dataclass(slots=True, kw_only=True)
class _Copier:
    """The new nodes; ``copies`` by the node, the group, the domain and the point it is read at."""

    graph: Graph
    plain: Collection[str]
    homes: dict[str, str]
    nodes: dict[str, Node] = field(default_factory=dict)
    copies: dict[tuple[object, ...], str] = field(default_factory=dict)

    def here(self, edge: Edge, reader: Node, home: str) -> Edge:
        """The read of a copy in the domain and the group of the reader; itself if it has none."""
        source = self.graph.nodes[edge.source]
        pairs = zip(source.domain.dims, edge.entries, strict=True)
        at = {dim: entry for dim, entry in pairs if isinstance(entry, ix.Expr)}
        if any(self.graph.universe.moves(e, at) for e in node_expressions(source)):
            return edge
        key = (edge.source, home, reader.domain, reader.vector, edge.entries)
        if key not in self.copies:
            name = fresh_name(edge.source, self.graph.nodes, self.nodes, separator=".")
            self.copies[key], self.homes[name] = name, home
            self.nodes[name] = self.copy(source, name, reader, at, home)
        return replace(edge, source=self.copies[key], entries=identity(reader.domain))

    def copy(
        self, node: Node, name: str, reader: Node, at: Mapping[str, ix.Expr], home: str
    ) -> Node:
        """The node under another name at the points of the reader."""
        shapes = (tuple(substitute(x, at) for x in t.shape) for t in node.types)
        types = (replace(t, shape=x) for t, x in zip(node.types, shapes, strict=True))
        edges = (
            replace(e, entries=tuple(substitute_entry(x, at) for x in e.entries))
            for e in node.inputs
        )
        inputs = (self.here(e, reader, home) if e.source in self.plain else e for e in edges)
        return replace(
            node,
            name=name,
            op=substitute_in_op(node.op, at),
            domain=reader.domain,
            vector=reader.vector,
            types=tuple(types),
            inputs=tuple(inputs),
        )
