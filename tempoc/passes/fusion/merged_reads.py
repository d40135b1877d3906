"""Later loops read the steps of a state from the state, if all of its steps are stored.

    %h.1 = tanh %m                                   : [l]        (the same, stored for one step)
    %h = merge %x when l == 0, %h.1[l-1] when l >= 1 : [l]        (the same)
    %d = mul %h.1, %g                                : [l]        %d = mul %h[l+1], %g : [l]

Derivatives read what a step computed, and often the state as well, as that of the layer before.
Else both are stored at all steps: the same values twice.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial

from tempoc.ops.control.control import Merge
from tempoc.passes.analysis.full_extent import full_extent_nodes, loop_rounds
from tempoc.poly.relations.space import Space
from tempoc.sdg.graph.graph import Edge, Graph, Node
from tempoc.sdg.graph.query import OperandUse, users
from tempoc.sdg.statements.branches import enclosing_conds
from tempoc.sdg.statements.build import is_computed, written_where
from tempoc.symbolic import expr as ix
from tempoc.symbolic.walk import symbols


def reads_of_states(
    graph: Graph, homes: Mapping[str, str], space: Space
) -> tuple[Graph, tuple[Node, ...]]:
    """The graph in which these groups (by node) of later loops read states.

    And the nodes that are not stored for them.
    """
    uses, lazy = users(graph), enclosing_conds(graph)
    loops = LaterReads(graph=graph, homes=homes)
    moved: dict[OperandUse, Edge] = {}
    writers: dict[str, Node] = {}
    for state, branch, writer, targets in _branches(graph):
        others = [u for u in uses[writer.name] if not _is_merge(graph.nodes[u.reader])]
        if not others or writer.name in writers or {writer.name, state.name} & {*lazy}:
            continue
        others = loops.late(writer, others, partial(loops.is_stored, state.name))
        late = {u: _moved(graph, u, writer, targets) for u in others}
        edges = {u: replace(e, source=state.name) for u, e in late.items() if e is not None}
        written = written_where(state, branch, graph)
        if len(edges) == len(late) > 0 and space.implies(writer.domain, written):
            writers[writer.name] = writer
            moved |= edges
    nodes = dict(graph.nodes)
    for use, edge in moved.items():
        inputs = [*nodes[use.reader].inputs]
        inputs[use.slot] = edge
        nodes[use.reader] = replace(nodes[use.reader], inputs=tuple(inputs))
    return replace(graph, nodes=nodes) if moved else graph, tuple(writers.values())


@dataclass(frozen=True, slots=True)
class LaterReads:
    """What is known of the loops over each dimension, as it is asked for."""

    graph: Graph
    homes: Mapping[str, str]
    rounds: dict[str, Mapping[str, int]] = field(default_factory=dict)
    full: dict[str, set[str]] = field(default_factory=dict)

    def late(
        self, writer: Node, uses: Sequence[OperandUse], stored: Callable[[str], bool]
    ) -> list[OperandUse]:
        """Those of the uses, of a writer or its state, for which that is stored at all steps.

        None if others need that as well, or the other one is not stored along the same dimension.
        """
        for dim in (d for d in writer.domain.dims if d not in writer.vector):
            late = self.of_later_loops(writer, uses, dim)
            moving = any(self.is_moving(u, writer, dim) for u in late)
            near = all(u in late or self.is_near(u, writer, dim) for u in uses)
            if moving and near and stored(dim):
                return late
        return []

    def of_later_loops(
        self, writer: Node, uses: Sequence[OperandUse], dim: str
    ) -> list[OperandUse]:
        """The uses by groups of later loops than a writer's."""
        rounds = self.rounds_of_groups(dim)
        own = rounds[self.homes.get(writer.name, writer.name)]
        return [u for u in uses if rounds[self.homes.get(u.reader, u.reader)] > own]

    def is_stored(self, name: str, dim: str) -> bool:
        """Whether all steps of a node are stored, in whatever groups its consumers are."""
        if dim not in self.full:
            self.full[dim] = full_extent_nodes(self.graph, dim)
        return name in self.full[dim]

    def is_moving(self, use: OperandUse, writer: Node, dim: str) -> bool:
        """Whether a use takes more steps than one that is the same for all of its points."""
        reader = self.graph.nodes[use.reader]
        entry = reader.inputs[use.slot].entries[writer.domain.dims.index(dim)]
        return isinstance(entry, ix.Slice) or bool({*symbols(entry)} & {*reader.domain.dims})

    def rounds_of_groups(self, dim: str) -> Mapping[str, int]:
        """The loop in which each group runs."""
        if dim not in self.rounds:
            latest: dict[str, int] = {}
            for name, number in loop_rounds(self.graph, dim).items():
                home = self.homes.get(name, name)
                latest[home] = max(latest.get(home, 0), number)
            self.rounds[dim] = latest
        return self.rounds[dim]

    def is_near(self, use: OperandUse, writer: Node, dim: str) -> bool:
        """Whether a use in the loop of its writer is at a constant distance."""
        edge = self.graph.nodes[use.reader].inputs[use.slot]
        entry = edge.entries[writer.domain.dims.index(dim)]
        return isinstance(entry, ix.Expr) and isinstance(ix.sub(entry, ix.Sym(dim)), ix.Const)


def _branches(graph: Graph) -> Iterator[tuple[Node, int, Node, tuple[ix.Expr, ...]]]:
    """The states, with the number and the writer of each of their branches, and what it becomes.

    Only of writers that have all dimensions, and of which each point is, as it is, one of the state
    at a constant distance.
    """
    for state in (n for n in graph.nodes.values() if isinstance(n.op, Merge)):
        op = state.op
        assert isinstance(op, Merge)
        for branch, targets in enumerate(op.targets):
            writer = graph.nodes[state.inputs[branch].source]
            same = writer.domain.dims == state.domain.dims and writer.types == state.types
            if same and is_computed(writer) and not writer.op.cheap:
                pairs = zip(targets, state.domain.dims, strict=True)
                if all(isinstance(ix.sub(e, ix.Sym(d)), ix.Const) for e, d in pairs):
                    yield state, branch, writer, targets


def _moved(graph: Graph, use: OperandUse, writer: Node, targets: Sequence[ix.Expr]) -> Edge | None:
    """A read of a writer as one of its state; ``None`` if shapes depend on the point."""
    edge = graph.nodes[use.reader].inputs[use.slot]
    if any(n in writer.domain.dims for t in writer.types for e in t.shape for n in symbols(e)):
        return None
    entries: list[ix.Entry] = []
    for dim, entry, target in zip(writer.domain.dims, edge.entries, targets, strict=True):
        shift = ix.sub(target, ix.Sym(dim))
        if isinstance(entry, ix.Slice):
            lo, hi = ix.add(entry.lo, shift), ix.add(entry.hi, shift)
            entries.append(ix.Slice(lo, hi, entry.step))
        else:
            entries.append(ix.add(entry, shift))
    return replace(edge, entries=tuple(entries))


def _is_merge(node: Node) -> bool:
    return isinstance(node.op, Merge)
