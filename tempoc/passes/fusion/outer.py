"""Light functions of all pairs are computed by the loops that read them, step by step.

    %d = sub %s, %p      : [b*, n*] f32   group d
    %v = maximum %d, %u  : [b*, n] f32    group v
                          ->
    %d = sub %s, %p      : [b*, n] f32    group v
    %v = maximum %d, %u  : [b*, n] f32    group v

Where each operand lacks a dimension, what is computed of them for all points at once takes much
more memory than they do, and a loop would read all of it back, each step its part.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass

from tempoc.base.cost_model import MODEL
from tempoc.ops.control.control import Merge
from tempoc.ops.definition.types import DType
from tempoc.passes.analysis.dependence import loop_dims
from tempoc.sdg.graph.graph import Edge, Graph, Node
from tempoc.sdg.graph.query import OperandUse, node_expressions, operand_types, topological, users
from tempoc.sdg.statements.build import is_computed
from tempoc.symbolic import expr as ix
from tempoc.symbolic.walk import symbols


def outer_functions(
    graph: Graph, groups: Mapping[str, str], fixed: Collection[str]
) -> frozenset[str]:
    """The nodes that all of their consumers may compute; ``fixed`` ones stay where they are.

    ``groups`` has the group of each node that is in one.
    """
    search = _OuterSearch(graph=graph, groups=groups, fixed=fixed, uses=users(graph))
    outer = [n for n in topological(graph) if search.is_light(graph.nodes[n])]
    while True:
        movable: set[str] = set()
        for node in map(graph.nodes.__getitem__, outer):
            if all(search.lacks(node, e, movable) for e in node.inputs):
                movable.add(node.name)
        for name in reversed(outer):
            if name in movable and not search.moves(graph.nodes[name], movable):
                movable.remove(name)
        if len(movable) == len(outer):
            return frozenset(movable)
        outer = [n for n in outer if n in movable]


@dataclass(frozen=True, slots=True, kw_only=True)
class _OuterSearch:
    graph: Graph
    groups: Mapping[str, str]
    fixed: Collection[str]
    uses: Mapping[str, tuple[OperandUse, ...]]

    def is_light(self, node: Node) -> bool:
        """Whether a node for all points of two lengths of a run may be computed anywhere."""
        op, plain = node.op, node.name in self.groups and node.name not in self.fixed
        types = (*operand_types(self.graph, node), *node.types)
        selects = op.elementwise and any(t.dtype is DType.BOOL for t in types)
        if not (plain and (op.light or selects) and op.pure and is_computed(node)) or op.checks:
            return False
        return len(node.types) == 1 and len(node.vector) > 1 and len(self._lengths(node)) > 1

    def lacks(self, node: Node, edge: Edge, outer: Collection[str]) -> bool:
        """Whether an operand is cheap, such a function, or the same along a dimension."""
        if any(isinstance(e, ix.Slice) for e in edge.entries):
            return False
        source = self.graph.nodes[edge.source]
        if source.op.cheap:
            return True
        if edge.source in outer and self.groups[edge.source] == self.groups[node.name]:
            return True
        along = {s for e in edge.entries if isinstance(e, ix.Expr) for s in symbols(e)}
        return not self._lengths(node) <= along

    def moves(self, node: Node, outer: Collection[str]) -> bool:
        """Whether all consumers may compute it, and one of them is a loop; or others do so."""
        home = self.groups[node.name]
        uses = self.uses[node.name]
        inside = [u for u in uses if u.reader in outer and self.groups[u.reader] == home]
        rest = [u for u in uses if u not in inside]
        if not rest:
            return bool(inside)
        readers = [self.graph.nodes[u.reader] for u in rest]
        homes = {self.groups.get(r.name, home) for r in readers}
        operands = {self.groups.get(e.source) for e in node.inputs}
        if home in homes or len(homes) > MODEL.outer_groups or homes & operands:
            return False
        looped = any({*loop_dims(r.domain.dims, r.vector)} & {*node.vector} for r in readers)
        return looped and all(
            self._takes(node, r, r.inputs[u.slot]) for r, u in zip(readers, rest, strict=True)
        )

    def _takes(self, node: Node, reader: Node, edge: Edge) -> bool:
        """Whether a consumer may compute a node, of which it reads each element once."""
        if reader.name in self.fixed or isinstance(reader.op, Merge) or not reader.op.elementwise:
            return False
        if any(isinstance(e, ix.Slice) for e in edge.entries):
            return False
        pairs = zip(node.domain.dims, edge.entries, strict=True)
        at = {d: e for d, e in pairs if isinstance(e, ix.Expr)}
        still = not any(self.graph.universe.moves(e, at) for e in node_expressions(node))
        return still and {*reader.domain.dims} <= {*node.domain.dims}

    def _lengths(self, node: Node) -> set[str]:
        """The dimensions of a node whose length a run has."""
        universe = self.graph.universe
        ends = {d: universe.settled(ix.Sym(universe.dim(d).bound)) for d in node.domain.dims}
        return {d for d, end in ends.items() if not isinstance(end, ix.Const)}
