"""Divide by readers: what is read under disjoint conditions becomes a tensor for each of them.

    %k = matmul %w, %x                           : [t, l] f32[8]
    %a.0 = sum{axes=(0,)} %k[max(0, t-3):t+1, l] : [t, l | l % 2 == 0] f32[8]
    %a.1 = sum{axes=(0,)} %k[0:t+1, l]           : [t, l | l % 2 != 0] f32[8]
    ->
    %k.then = matmul %w, %x                      : [t, l | l % 2 == 0] f32[8]
    %k.else = matmul %w, %x                      : [t, l | l % 2 != 0] f32[8]
    %a.0 = sum{axes=(0,)} %k.then[max(0, t-3):t+1, l] : [t, l | l % 2 == 0] f32[8]
    %a.1 = sum{axes=(0,)} %k.else[0:t+1, l]           : [t, l | l % 2 != 0] f32[8]

Layers that see a window and layers that see all of a sequence would otherwise keep the keys and
values of all positions for all layers. The condition names one dimension of a loop, at which all
reads are at the reader's own point. The pass applies if a ring can hold one of the parts along
another dimension, but not both together. What only such parts read at their own points is
divided with them, so that the kernels of branches stay whole; no point is computed twice.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import ClassVar, NamedTuple

from tempoc.base.names import Names
from tempoc.ops.control.control import Merge
from tempoc.passes.analysis.full_extent import full_extent_nodes
from tempoc.passes.context import GraphPass, PassContext
from tempoc.passes.memory.serialize import looping_dims
from tempoc.poly.relations.space import Space
from tempoc.sdg.graph.graph import Edge, Graph, Node
from tempoc.sdg.graph.query import OperandUse, users
from tempoc.sdg.statements.branches import enclosing_conds
from tempoc.sdg.statements.build import is_computed, is_identity
from tempoc.symbolic import expr as ix
from tempoc.symbolic.domain import Domain, conjuncts
from tempoc.symbolic.text import show
from tempoc.symbolic.walk import symbols


class Division(NamedTuple):
    """A condition on one dimension, and the names of the parts on either side of it, by node."""

    condition: ix.Expr
    names: Mapping[str, tuple[str, str]]

    def on(self, side: int) -> ix.Expr:
        """The condition of a part."""
        return ix.negation(self.condition) if side else self.condition


class DivideByReaders(GraphPass):
    """Divides tensors by the conditions under which they are read."""

    __slots__ = ()
    name: ClassVar[str] = "divide"

    def run(self, graph: Graph, context: PassContext) -> Graph:
        """The graph in which each part is stored as its own readers need it."""
        while (better := next(_divisions(graph, context.space), None)) is not None:
            division, divided = better
            shown = ", ".join(f"`{n}`" for n in [*division.names][:3])
            where = show(division.condition)
            message = f"{shown}: points where {where} are a tensor of their own, in less memory"
            context.remarks.add(self.name, message, graph.nodes[next(iter(division.names))].span)
            graph = divided
        return graph


def _divisions(graph: Graph, space: Space) -> Iterator[tuple[Division, Graph]]:
    """What may be divided so that a ring can hold a part, and the graph with these parts."""
    uses = users(graph)
    for dim, condition in _conditions(graph, space):
        seeds = RangeReadTensors(graph, space, uses, dim, condition).names()
        if not seeds:
            continue
        fresh = Names(graph.nodes)
        parts = _with_private_sources(graph, seeds, uses, dim)
        names = {n: (fresh.fresh(f"{n}.then"), fresh.fresh(f"{n}.else")) for n in parts}
        division = Division(condition, names)
        divided = _divided(graph, division, space)
        if any(_is_of_use(graph, divided, graph.nodes[n], names[n], dim) for n in seeds):
            yield division, divided


def _conditions(graph: Graph, space: Space) -> Iterator[tuple[str, ix.Expr]]:
    """The conditions on one dimension of a loop under which something reads a range."""
    loops = looping_dims(graph, space)
    dim_of: dict[ix.Expr, str] = {}
    for node in graph.nodes.values():
        if any(isinstance(x, ix.Slice) for e in node.inputs for x in e.entries):
            for condition in conjuncts(node.domain.where):
                dims = [n for n in symbols(condition) if graph.universe.is_dim(n)]
                if len(dims) == 1 and dims[0] in loops and ix.negation(condition) not in dim_of:
                    dim_of[condition] = dims[0]
    return ((dim, condition) for condition, dim in dim_of.items())


class RangeReadTensors(NamedTuple):
    """Finds tensors that are read by ranges, each time on one side of a condition."""

    graph: Graph
    space: Space
    uses: Mapping[str, tuple[OperandUse, ...]]
    dim: str
    condition: ix.Expr

    def names(self) -> tuple[str, ...]:
        """Their names, in the order of the graph."""
        lazy = enclosing_conds(self.graph)
        results = {o.source for o in self.graph.outputs}
        apart = {*lazy, *results}
        nodes = (n for n in self.graph.nodes.values() if n.name not in apart)
        return tuple(n.name for n in nodes if _may_part(n, self.dim) and self.is_seed(n))

    def is_seed(self, node: Node) -> bool:
        """Whether both sides read, different ranges, and no read may be on both."""
        if isinstance(node.op, Merge) and not self.writes_at_own_points(node):
            return False
        ranges: tuple[dict[ix.Entry, None], dict[ix.Entry, None]] = {}, {}
        sides = [self.side(node, use) for use in self.uses[node.name]]
        if not {0, 1} <= {*sides} or None in sides:
            return False
        for side, use in zip(sides, self.uses[node.name], strict=True):
            edge = self.graph.nodes[use.reader].inputs[use.slot]
            ranges[side or 0].update((e, None) for e in edge.entries if isinstance(e, ix.Slice))
        return [*ranges[0]] != [*ranges[1]]

    def writes_at_own_points(self, merge: Node) -> bool:
        """Whether a merge has branches of its own that can be divided with it."""
        assert isinstance(merge.op, Merge)
        own = tuple(ix.Sym(d) for d in merge.domain.dims)
        return all(
            is_identity(edge, self.graph)
            and target == own
            and _may_part(self.graph.nodes[edge.source], self.dim)
            and {u.reader for u in self.uses[edge.source]} == {merge.name}
            for edge, target in zip(merge.inputs, merge.op.targets, strict=True)
        )

    def side(self, node: Node, use: OperandUse) -> int | None:
        """The side on which an operand is read, at the reader's own point of the dimension."""
        reader = self.graph.nodes[use.reader]
        edge = reader.inputs[use.slot]
        at = edge.entries[node.domain.dims.index(self.dim)]
        if at != ix.Sym(self.dim) or self.dim not in reader.domain.dims:
            return None
        where = ix.conjunction(reader.domain.where, edge.guard)
        return _side(Domain(reader.domain.dims, where), self.condition, self.space)


def _side(domain: Domain, condition: ix.Expr, space: Space) -> int | None:
    """On which side of a condition all points are; ``None`` if there may be some on both."""
    for side, on in enumerate((condition, ix.negation(condition))):
        if space.implies(domain, on):
            return side
    return None


def _may_part(node: Node, dim: str) -> bool:
    """Whether a node may be two, each with some of its points in a dimension."""
    computed = is_computed(node) and node.op.pure and not node.op.cheap
    return (
        (computed or isinstance(node.op, Merge))
        and dim in node.domain.dims
        and dim not in node.vector
        and len(node.types) == 1
    )


def _with_private_sources(
    graph: Graph, seeds: tuple[str, ...], uses: Mapping[str, tuple[OperandUse, ...]], dim: str
) -> tuple[str, ...]:
    """These nodes, with all that only they read, at their own points; in the graph's order."""
    lazy, results = enclosing_conds(graph), {o.source for o in graph.outputs}
    divided, new = dict.fromkeys(seeds), [*seeds]
    while new:
        name = new.pop()
        for edge in graph.nodes[name].inputs:
            source = graph.nodes[edge.source]
            private = all(
                u.reader in divided and is_identity(graph.nodes[u.reader].inputs[u.slot], graph)
                for u in uses[source.name]
            )
            free = source.name not in {*divided, *lazy, *results}
            same = source.domain.dims == graph.nodes[name].domain.dims
            plain = not isinstance(source.op, Merge) and _may_part(source, dim)
            if private and free and same and plain:
                divided[source.name] = None
                new.append(source.name)
    return tuple(n for n in graph.nodes if n in divided)


def _divided(graph: Graph, division: Division, space: Space) -> Graph:
    """The graph with two parts for each node, each read by what is on its side."""

    def read(edge: Edge, reader: Domain) -> Edge:
        if edge.source not in division.names:
            return edge
        where = ix.conjunction(reader.where, edge.guard)
        side = _side(Domain(reader.dims, where), division.condition, space)
        return replace(edge, source=division.names[edge.source][side or 0])

    nodes: dict[str, Node] = {}
    for node in graph.nodes.values():
        if node.name not in division.names:
            inputs = tuple(read(e, node.domain) for e in node.inputs)
            nodes[node.name] = node if inputs == node.inputs else replace(node, inputs=inputs)
            continue
        for side, name in enumerate(division.names[node.name]):
            domain = space.restrict(node.domain, division.on(side))
            part = _restricted(node, domain, space)
            inputs = tuple(read(e, domain) for e in part.inputs)
            nodes[name] = replace(part, name=name, inputs=inputs)
    return replace(graph, nodes=nodes)


def _restricted(node: Node, domain: Domain, space: Space) -> Node:
    """The node at some of its points; a merge without branches that are never taken there."""
    if not isinstance(node.op, Merge):
        return replace(node, domain=domain)
    guards = [space.simplify(e.guard, domain) for e in node.inputs]
    taken = [k for k, guard in enumerate(guards) if guard != ix.FALSE]
    op = replace(node.op, targets=tuple(node.op.targets[k] for k in taken))
    inputs = tuple(replace(node.inputs[k], guard=guards[k]) for k in taken)
    return replace(node, op=op, domain=domain, inputs=inputs)


def _is_of_use(graph: Graph, divided: Graph, node: Node, parts: tuple[str, str], dim: str) -> bool:
    """Whether a ring can hold a part of a node along a dimension, but not all of the node."""
    for other in node.domain.dims:
        looped = other != dim and other not in node.vector
        if looped and node.name in full_extent_nodes(graph, other):
            full = full_extent_nodes(divided, other)
            if not all(part in full for part in parts):
                return True
    return False
