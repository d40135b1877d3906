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

With a length for each of several points (``bound K until %stop over i``), each step after the end
of a point selects what is read of its last one (``vectorization/lockstep.py``): nodes move if that
is smaller than what the steps no longer compute. Sinkhorn distances of 4 and 16 pairs of clouds, 40
and 50 points each, take 7.2 and 25.4 ms of CPU time so (2026-11-28), 1.03 and 1.02 of ``vmap`` of a
``while_loop`` in JAX, and 1.77 and 1.80 of it with the price of the plan computed in each step.
"""

from __future__ import annotations

from collections.abc import Container, Mapping, Sequence
from dataclasses import dataclass, field, replace
from math import prod

from tempoc.base.names import fresh_name
from tempoc.ops.control.control import Merge
from tempoc.ops.control.until import Until
from tempoc.ops.definition.types import TensorType
from tempoc.passes.analysis.size_estimate import estimated_sizes
from tempoc.sdg.graph.graph import Edge, Graph, Node
from tempoc.sdg.graph.query import all_reads, components, operand_type, substitute_in_op
from tempoc.sdg.graph.rewrite import drop_dead, rewrite_reads
from tempoc.sdg.statements.branches import enclosing_conds
from tempoc.sdg.statements.build import is_computed
from tempoc.symbolic import expr as ix
from tempoc.symbolic.domain import Domain, substitute_entry
from tempoc.symbolic.walk import evaluate, substitute


def compute_last_points(graph: Graph) -> tuple[Graph, tuple[str, ...]]:
    """The graph with nodes behind the loops whose last step alone is read, and their names."""
    moved: list[str] = []
    bounds = graph.universe.bounds
    for dim in graph.universe.dims:
        bound = graph.universe.bound(dim.bound)
        if bound.until and not any(dim.name in b.outer for b in bounds):
            behind = _BehindLoop(
                graph=graph, dim=dim.name, bound=bound.name, outer=tuple(bound.outer)
            )
            moved += behind.move_all()
            graph = behind.graph
    return graph, tuple(moved)


@dataclass(slots=True, kw_only=True)
class _BehindLoop:
    """Moves nodes behind the loop over a dimension; ``copies`` are theirs of sources.

    ``outer`` are the dimensions of which each point has a length of its own.
    """

    graph: Graph
    dim: str
    bound: str
    outer: tuple[str, ...]
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
        rest = [*movable]
        while rest:
            before, copies = self.graph, {**self.copies}
            tried = self._move_first(rest, movable)
            if not tried:
                break
            rest = rest[rest.index(tried[0]) + 1 :]
            if self.outer and not self._is_smaller(before):
                self.graph, self.copies = before, copies
                continue
            moved += tried
            rest = [name for name in rest if name not in tried]
        return moved

    def _move_first(self, names: Sequence[str], movable: Container[str]) -> list[str]:
        """Move the first node of which only the last step is read, and those that are so then.

        Their names; none if there is no such node.
        """
        others = now = self._read_at_last()
        moved: list[str] = []
        for name in names:
            if name in now and not (moved and name in others):
                self._move(name, movable)
                moved.append(name)
                now = self._read_at_last()
        return moved

    def _is_smaller(self, before: Graph) -> bool:
        """Whether what is now read of last steps is smaller than what no step computes any more.

        That counts the elements of its largest node, as one select takes about as much.
        """
        sizes = estimated_sizes(before.universe)
        inside = {n.name for n in self.graph.nodes.values() if self.dim in n.domain.dims}
        gone = [n for n in before.nodes.values() if self.dim in n.domain.dims]
        saved = [_elements(n.types[0], sizes) for n in gone if n.name not in inside]
        earlier = {e.source for e in all_reads(before) if self._is_last(e, before)}
        held = [e for e in all_reads(self.graph) if self._is_last(e, self.graph)]
        new = [e for e in held if e.source not in earlier]
        reads = {e.source: _elements(operand_type(self.graph, e), sizes) for e in new}
        return sum(reads.values()) < max(saved)

    def _is_movable(self, name: str) -> bool:
        node = self.graph.nodes[name]
        if not {self.dim, *self.outer} <= {*node.domain.dims} or node.domain.where != ix.TRUE:
            return False
        if isinstance(node.op, Merge | Until):
            return False
        return is_computed(node) and node.op.pure and not node.op.checks

    def _read_at_last(self) -> set[str]:
        """The nodes of the loop of which all reads are of the last step."""
        reads: dict[str, bool] = {}
        for edge in all_reads(self.graph):
            reads[edge.source] = reads.get(edge.source, True) and self._is_last(edge, self.graph)
        return {name for name, last in reads.items() if last}

    def _is_last(self, edge: Edge, graph: Graph) -> bool:
        """Whether an edge reads the last step of the point that reads: others have their own."""
        dims = graph.nodes[edge.source].domain.dims
        at = dict(zip(dims, edge.entries, strict=True))
        own = all(at.get(d) == ix.Sym(d) for d in self.outer)
        return own and at.get(self.dim) == self.last

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
                if (
                    self._is_last(edge, self.graph)
                    and source.name in movable
                    and not source.op.heavy
                ):
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


def _elements(type_: TensorType, sizes: Mapping[str, int]) -> int:
    return prod(evaluate(extent, sizes) for extent in type_.shape)
