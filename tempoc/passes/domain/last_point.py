"""What is read only at the last step of a length is computed behind the loop.

    bound K until %stop
    %q    = sin %v          : [k]    f32[9]
    %best = argmax %q       : [k]    i32
    output best = %best[K-1]
    ->
    %q.last = sin %v[K-1]   : []     f32[9]
    %best   = argmax %q.last : []    i32
    output best = %best

Which step is the last is not known before the data have ended the loop, so a domain cannot say
``k == K-1``: each step would compute what only the last one needs. What such a node reads of the
last step is computed behind the loop, too, as far as it is cheap: reading it from the loop would
mean to store it in each step.
"""

from __future__ import annotations

from collections.abc import Container
from dataclasses import dataclass, field, replace

from tempoc.base.names import fresh_name
from tempoc.ops.control.control import Merge
from tempoc.ops.control.until import Until
from tempoc.sdg.graph.graph import Edge, Graph, Node
from tempoc.sdg.graph.query import all_reads, components, substitute_in_op
from tempoc.sdg.graph.rewrite import drop_dead, rewrite_reads
from tempoc.sdg.statements.branches import enclosing_conds
from tempoc.sdg.statements.build import is_computed
from tempoc.symbolic import expr as ix
from tempoc.symbolic.domain import Domain, substitute_entry
from tempoc.symbolic.walk import substitute


def compute_last_points(graph: Graph) -> tuple[Graph, tuple[str, ...]]:
    """The graph with nodes behind the loops whose last step alone is read, and their names."""
    moved: list[str] = []
    bounds = graph.universe.bounds
    for dim in graph.universe.dims:
        bound = next(b for b in bounds if b.name == dim.bound)
        if bound.until and not bound.outer and not any(dim.name in b.outer for b in bounds):
            behind = _BehindLoop(graph=graph, dim=dim.name, bound=bound.name)
            moved += behind.move_all()
            graph = behind.graph
    return graph, tuple(moved)


@dataclass(slots=True, kw_only=True)
class _BehindLoop:
    """Moves nodes behind the loop over a dimension; ``copies`` are theirs of sources."""

    graph: Graph
    dim: str
    bound: str
    copies: dict[str, str] = field(default_factory=dict)

    @property
    def last(self) -> ix.Expr:
        """The last step."""
        return ix.sub(ix.Sym(self.bound), ix.ONE)

    def move_all(self) -> list[str]:
        """Move all nodes of which only the last step is read, consumers first; their names."""
        lazy = enclosing_conds(self.graph)
        order = reversed([n for part in components(self.graph) for n in part])
        movable = dict.fromkeys(n for n in order if n not in lazy and self._is_movable(n))
        moved: list[str] = []
        read_at = self._read_at()
        for name in movable:
            if name in read_at and all(e == self.last for e in read_at[name]):
                self._move(name, movable)
                moved.append(name)
                read_at = self._read_at()
        return moved

    def _is_movable(self, name: str) -> bool:
        node = self.graph.nodes[name]
        if self.dim not in node.domain.dims or node.domain.where != ix.TRUE:
            return False
        if isinstance(node.op, Merge | Until):
            return False
        return is_computed(node) and node.op.pure and not node.op.checks

    def _read_at(self) -> dict[str, list[ix.Entry]]:
        """The steps at which each node of the loop is read."""
        steps: dict[str, list[ix.Entry]] = {}
        for edge in all_reads(self.graph):
            if (step := self._step(edge)) is not None:
                steps.setdefault(edge.source, []).append(step)
        return steps

    def _step(self, edge: Edge) -> ix.Entry | None:
        """The step at which an edge reads a node of the loop; ``None`` for other nodes."""
        dims = self.graph.nodes[edge.source].domain.dims
        return edge.entries[dims.index(self.dim)] if self.dim in dims else None

    def _move(self, name: str, movable: Container[str]) -> None:
        """Compute a node behind the loop, and copies of what it needs for that."""
        node = self.graph.nodes[name]
        place = node.domain.dims.index(self.dim)

        def without_dim(edge: Edge, reader: Node | None) -> Edge:
            if edge.source != name:
                return edge
            return replace(edge, entries=edge.entries[:place] + edge.entries[place + 1 :])

        self.graph = rewrite_reads(self.graph, without_dim)
        self._put(self._at_last(node))
        self._copy_sources(name, movable)
        self.graph = drop_dead(self.graph)

    def _put(self, node: Node) -> None:
        self.graph = replace(self.graph, nodes={**self.graph.nodes, node.name: node})

    def _at_last(self, node: Node) -> Node:
        """The node at the last step."""
        at = {self.dim: self.last}
        types = (replace(t, shape=tuple(substitute(e, at) for e in t.shape)) for t in node.types)
        inputs = (
            replace(e, entries=tuple(substitute_entry(x, at) for x in e.entries))
            for e in node.inputs
        )
        dims = tuple(d for d in node.domain.dims if d != self.dim)
        return replace(
            node,
            op=substitute_in_op(node.op, at),
            domain=Domain(dims),
            types=tuple(types),
            inputs=tuple(inputs),
        )

    def _copy_sources(self, name: str, movable: Container[str]) -> None:
        """Let a node behind the loop read copies there of what is cheap to compute again."""
        waiting = [name]
        while waiting:
            node = self.graph.nodes[waiting.pop()]
            inputs = []
            for edge in node.inputs:
                source = self.graph.nodes[edge.source]
                is_last = self._step(edge) == self.last
                if is_last and source.name in movable and not source.op.heavy:
                    if source.name not in self.copies:
                        waiting.append(self._copy(source))
                    place = source.domain.dims.index(self.dim)
                    entries = edge.entries[:place] + edge.entries[place + 1 :]
                    edge = replace(edge, source=self.copies[source.name], entries=entries)
                inputs.append(edge)
            self._put(replace(node, inputs=tuple(inputs)))

    def _copy(self, source: Node) -> str:
        name = fresh_name(f"{source.name}.last", self.graph.nodes)
        self.copies[source.name] = name
        self._put(replace(self._at_last(source), name=name))
        return name
