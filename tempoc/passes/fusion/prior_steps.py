"""Later loops read a state from what its steps computed, if all of that is stored.

    %s = merge %z when t == 0, %new[t-1] when t >= 1 : [t]     (the same, stored for one step)
    %d = mul %s, %g : [t]        %on = index{expr=t >= 1}                   : [t]
    %e = mul %new, %g : [t]  ->  %s.then = where %on, %new[max(t-1, 0)], %z : [t]
                                 %d = mul %s.then, %g                       : [t]
                                 %e = mul %new, %g                          : [t]

That of the last step is none of the state, so that `merged_reads.py` cannot read it there. Else
both are stored at all steps: nearly the same values twice.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import partial

from tempoc.ops.control.control import Copy, Merge, Select
from tempoc.ops.tensor.source import IndexValue
from tempoc.passes.fusion.merged_reads import LaterReads
from tempoc.poly.relations.space import Space
from tempoc.sdg.builder import NodeBuilder
from tempoc.sdg.graph.graph import Edge, Graph, Node
from tempoc.sdg.graph.query import OperandUse, users
from tempoc.sdg.statements.branches import enclosing_conds
from tempoc.sdg.statements.build import is_computed
from tempoc.symbolic import expr as ix
from tempoc.symbolic.domain import substitute_entry
from tempoc.symbolic.walk import substitute, symbols


def reads_of_steps(
    graph: Graph, groups: Mapping[str, str], space: Space
) -> tuple[Graph, dict[str, str], tuple[Node, ...]]:
    """The graph in which groups (by node) of later loops read such states so, and the new groups.

    And the states that are not stored at all steps for them.
    """
    states = [*_two_branches(graph)]
    if not states:
        return graph, {**groups}, ()
    homes, uses, lazy = {**groups}, users(graph), enclosing_conds(graph)
    outputs = {o.source for o in graph.outputs}
    loops = LaterReads(graph=graph, homes=groups)
    nodes, apart = dict(graph.nodes), []
    for state, writer in states:
        if state.name in outputs or {state.name, writer.name} & {*lazy}:
            continue
        late = loops.late(writer, uses[state.name], partial(_is_stored, loops, writer, uses))
        reads = _StepReads(graph=replace(graph, nodes=nodes), space=space, state=state)
        if late and all(reads.add(use, homes, lazy) for use in late):
            nodes = {**nodes, **reads.nodes}
            homes |= reads.homes
            apart.append(state)
    return replace(graph, nodes=nodes) if apart else graph, homes, tuple(apart)


def _is_stored(
    loops: LaterReads, writer: Node, uses: Mapping[str, tuple[OperandUse, ...]], dim: str
) -> bool:
    """Whether groups of later loops read a writer at all steps."""
    own = [u for u in uses[writer.name] if is_computed(loops.graph.nodes[u.reader])]
    late = loops.of_later_loops(writer, own, dim)
    return any(loops.is_moving(use, writer, dim) for use in late)


def _two_branches(graph: Graph) -> Iterator[tuple[Node, Node]]:
    """The states that have a first step and others, with the writer of these."""
    for state in graph.nodes.values():
        if isinstance(state.op, Merge) and len(state.inputs) == 2:
            writer = graph.nodes[state.inputs[1].source]
            same = writer.domain.dims == state.domain.dims and writer.types == state.types
            varies = any(n in state.domain.dims for e in state.types[0].shape for n in symbols(e))
            if same and not varies and is_computed(writer) and not writer.op.cheap:
                yield state, writer


@dataclass(slots=True, kw_only=True)
class _StepReads:
    """Nodes that read a state from its branches, and the consumers that now read these."""

    graph: Graph
    space: Space
    state: Node
    nodes: dict[str, Node] = field(default_factory=dict)
    homes: dict[str, str] = field(default_factory=dict)
    selected: dict[object, Node] = field(default_factory=dict)

    def add(self, use: OperandUse, homes: Mapping[str, str], lazy: Mapping[str, str]) -> bool:
        """Let a consumer read the branches; whether it can."""
        reader = self.nodes.get(use.reader) or self.graph.nodes[use.reader]
        edge, home = reader.inputs[use.slot], homes.get(use.reader)
        points = tuple(e for e in edge.entries if isinstance(e, ix.Expr))
        if reader.name in lazy or home is None or edge.guard != ix.TRUE:
            return False
        if len(points) < len(edge.entries):
            return False
        key = home, reader.domain, reader.vector, points
        if key not in self.selected:
            selected = self.select(reader, points)
            if selected is None:
                return False
            self.selected[key] = selected
            self.homes[selected.name] = home
        inputs = [*reader.inputs]
        own = tuple(map(ix.Sym, reader.domain.dims))
        inputs[use.slot] = Edge(source=self.selected[key].name, entries=own, span=edge.span)
        self.nodes[reader.name] = replace(reader, inputs=tuple(inputs))
        return True

    def select(self, reader: Node, points: tuple[ix.Expr, ...]) -> Node | None:
        """The state at points of a consumer, selected of its branches; ``None`` if they cannot be
        read there."""
        at = self.state.domain.at(points)
        own = (e for edge in self.state.inputs for e in (edge.guard, *edge.entries))
        if any(self.graph.universe.moves(e, at) for e in own):
            return None
        first, then = (self.inside(reader, self.at(e, at)) for e in self.state.inputs)
        if first is None or then is None:
            return None
        place = replace(reader, name=self.state.name, spans=self.state.spans)
        graph = replace(self.graph, nodes={**self.graph.nodes, **self.nodes})
        builder = NodeBuilder(graph=graph, space=self.space, node=place)
        condition = substitute(self.state.inputs[1].guard, at)
        on = builder.put("on", IndexValue(expr=condition))
        selected = builder.put("then", Select(), (on, then, first), types=self.state.types)
        self.nodes |= builder.nodes
        return selected

    def at(self, edge: Edge, at: Mapping[str, ix.Expr]) -> Edge:
        """A branch read at a point; what is only copied there, as constants are, is read itself."""
        entries = tuple(substitute_entry(e, at) for e in edge.entries)
        source = self.graph.nodes[edge.source]
        if isinstance(source.op, Copy) and all(isinstance(e, ix.Expr) for e in entries):
            points = (e for e in entries if isinstance(e, ix.Expr))
            there = source.domain.at(points)
            return self.at(source.inputs[0], there)
        return Edge(source=edge.source, out=edge.out, entries=entries, span=edge.span)

    def inside(self, reader: Node, edge: Edge) -> Edge | None:
        """A read with its entries kept in range; ``None`` if it is not of points that there are."""
        source, entries = self.graph.nodes[edge.source], list[ix.Entry]()
        for dim, entry in zip(source.domain.dims, edge.entries, strict=True):
            if isinstance(entry, ix.Expr):
                last = ix.sub(ix.Sym(self.graph.universe.dim(dim).bound), ix.ONE)
                if not self.space.implies(reader.domain, ix.compare(">=", entry, ix.ZERO)):
                    entry = ix.maximum(entry, ix.ZERO)
                if not self.space.implies(reader.domain, ix.compare("<=", entry, last)):
                    entry = ix.minimum(entry, last)
            entries.append(entry)
        beyond = self.space.outside(reader.domain, tuple(entries), source.domain)
        return replace(edge, entries=tuple(entries)) if beyond is None else None
