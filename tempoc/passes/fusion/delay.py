"""Delay: light functions of one stored tensor are computed by the kernel that reads them.

    %s = sigmoid %a   : [t] f32[8]   group a        %s = sigmoid %a   : [t] f32[8]   group a
    %n = sub %one, %s : [t] f32[8]   group a   ->
    %d = mul %s, %n   : [t] f32[8]   group a        %n = sub %one, %s : [t] f32[8]   group g
    %g = mul %e, %d   : [t] f32[8]   group g        %d = mul %s, %n   : [t] f32[8]   group g
                                                    %g = mul %e, %d   : [t] f32[8]   group g

Derivatives of activations are such functions. ``%d`` would be stored for all steps until the
backward pass reads it, as ``%s`` mostly is anyway; now ``%s`` alone is, which takes no more memory.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

from tempoc.ops.control.control import Merge
from tempoc.passes.analysis.dependence import loop_dims
from tempoc.poly.relations.space import Space
from tempoc.sdg.graph.graph import Edge, Graph, Node
from tempoc.sdg.graph.query import (
    OperandUse,
    operand_type,
    substitute_in_op,
    topological,
    users,
)
from tempoc.sdg.graph.rewrite import edge_at
from tempoc.sdg.statements.branches import branch_conditions
from tempoc.sdg.statements.build import identity, is_identity, written_where
from tempoc.symbolic import expr as ix
from tempoc.symbolic.walk import substitute

OperandUses = Mapping[str, tuple[OperandUse, ...]]
"""The consumers of each node."""


def delay(graph: Graph, groups: Mapping[str, str], space: Space) -> tuple[Graph, dict[str, str]]:
    """The graph with such nodes moved to their consumers, and the new groups.

    ``groups`` has the group of each node that is in one; cheap nodes are in none.
    """
    homes = dict(groups)
    conditions = branch_conditions(graph)
    fixed = {o.source for o in graph.outputs} | {n for n, needed in conditions.items() if needed}
    uses = users(graph)
    for name in reversed(topological(graph)):
        if name not in fixed and name in homes and graph.nodes[name].op.light:
            move = _Delayed.of(graph, uses, homes, name, space)
            if move is not None and fixed.isdisjoint((move.reader.name, *move.chain)):
                graph = replace(graph, nodes={**graph.nodes, **dict(move.nodes(graph, uses))})
                uses = users(graph)
                homes.update(dict.fromkeys(move.chain, homes[move.reader.name]))
    return graph, homes


@dataclass(frozen=True, slots=True, kw_only=True)
class _Delayed:
    """``chain``: a node, which ``reader`` and others of its group read at ``entries``, and before
    it all that only it needs. ``stored`` is the read of the tensor that it is a function of."""

    chain: tuple[str, ...]
    stored: Edge
    entries: tuple[ix.Expr, ...]
    reader: Node

    @classmethod
    def of(
        cls, graph: Graph, uses: OperandUses, homes: Mapping[str, str], name: str, space: Space
    ) -> _Delayed | None:
        """The move of a node that a loop stores for one other group; None if there is none."""
        node = graph.nodes[name]
        if not loop_dims(node.domain.dims, node.vector) or not uses[name]:
            return None
        reads = {graph.nodes[use.reader].inputs[use.slot].entries for use in uses[name]}
        groups = {homes.get(use.reader, "") for use in uses[name]}
        if len(reads) != 1 or len(groups) != 1 or groups & {"", homes[name]}:
            return None
        (entries,), (group,) = reads, groups
        points = tuple(e for e in entries if isinstance(e, ix.Expr))
        chain = _chain(graph, uses, name)
        source = None if chain is None else _only_source(graph, chain)
        if chain is None or source is None or len(points) < len(entries):
            return None
        shared = any(use.reader not in chain for use in uses[source])
        stored = _stored(graph, uses, source, space)
        if not shared or stored is None or group in _groups_of(graph, homes, stored.source):
            return None
        reader = graph.nodes[uses[name][0].reader]
        return cls(chain=chain, stored=stored, entries=points, reader=reader)

    def nodes(self, graph: Graph, uses: OperandUses) -> Iterator[tuple[str, Node]]:
        """The nodes of the chain, at the points of the reader, and its consumers, by name."""
        moved = {*self.chain}
        dims = graph.nodes[self.chain[0]].domain.dims
        at = dict(zip(dims, self.entries, strict=True))
        here = identity(self.reader.domain)
        for name in self.chain:
            node = graph.nodes[name]
            edges = (
                replace(e, entries=here)
                if e.source in moved
                else edge_at(e if graph.nodes[e.source].op.cheap else self.stored, at)
                for e in node.inputs
            )
            shapes = (tuple(substitute(x, at) for x in t.shape) for t in node.types)
            types = (replace(t, shape=x) for t, x in zip(node.types, shapes, strict=True))
            yield (
                name,
                replace(
                    node,
                    op=substitute_in_op(node.op, at),
                    domain=self.reader.domain,
                    vector=self.reader.vector,
                    inputs=tuple(edges),
                    types=tuple(types),
                ),
            )
        first = self.chain[0]
        for use in uses[first]:
            if use.reader not in moved:
                node = graph.nodes[use.reader]
                edges = (replace(e, entries=here) if e.source == first else e for e in node.inputs)
                yield use.reader, replace(node, inputs=tuple(edges))


def _stored(graph: Graph, uses: OperandUses, name: str, space: Space) -> Edge | None:
    """A read of a node at its own point, or of the tensor that it is one of the equations of, which
    is stored anyway; None if that may have another value there."""
    source = graph.nodes[name]
    for use in uses[name]:
        merge = graph.nodes[use.reader]
        if isinstance(merge.op, Merge):
            target, edge = merge.op.targets[use.slot], merge.inputs[use.slot]
            # It may be there for fewer points than the equation, as only some are read, and those
            # beyond the dimension are dropped: `s[t+1] = y` at the last step, `s[t-1] = y` at 0.
            there = written_where(merge, use.slot, graph)
            same = edge.out == 0 and merge.types == source.types
            if not same or not space.implies(source.domain, there):
                return None
            return Edge(source=merge.name, entries=target)
    return Edge(source=name, entries=identity(source.domain))


def _chain(graph: Graph, uses: OperandUses, name: str) -> tuple[str, ...] | None:
    """A light node, and the light nodes at the same points that only the chain needs."""
    chain, domain = [name], graph.nodes[name].domain
    for member in chain:  # grows meanwhile
        for edge in graph.nodes[member].inputs:
            source = graph.nodes[edge.source]
            alone = all(use.reader in chain for use in uses[edge.source])
            if source.op.light and alone and source.domain == domain and edge.source not in chain:
                if not is_identity(edge, graph):
                    return None
                chain.append(edge.source)
    return tuple(chain)


def _only_source(graph: Graph, chain: tuple[str, ...]) -> str | None:
    """The one tensor that a chain reads, at its points, beside numbers; None if it reads others,
    or less than what it makes."""
    node = graph.nodes[chain[0]]
    edges = [e for member in chain for e in graph.nodes[member].inputs if e.source not in chain]
    sources = {e.source: e for e in edges if not graph.nodes[e.source].op.cheap}
    read = [e for e in edges if e.source in sources]
    if len(sources) != 1 or any(not is_identity(e, graph) or e.out for e in read):
        return None
    ((name, edge),) = sources.items()
    if graph.nodes[name].domain.dims != node.domain.dims:
        return None
    made, stored = node.types[0], operand_type(graph, edge)
    width = stored.dtype.itemsize
    same = stored.shape == made.shape and width <= made.dtype.itemsize
    return name if same else None


def _groups_of(graph: Graph, homes: Mapping[str, str], name: str) -> set[str]:
    """The groups that compute a tensor: of the equations of a merge several."""
    node = graph.nodes[name]
    if not isinstance(node.op, Merge):
        return {homes.get(name, "")}
    return {g for e in node.inputs for g in _groups_of(graph, homes, e.source)}
