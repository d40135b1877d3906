"""Triangular systems: recurrences that substitute forward or backward become one operator.

    %z.matmul = matmul %A[i, 0:i], %z[0:i, r]   : [i, r*] f32
    %z.sub    = sub %b, %z.matmul               : [i, r*] f32
    %z        = div %z.sub, %A[i, i]            : [i, r*] f32
    ->
    %z.solve  = triangular_solve{lower=true} %A[0:N, 0:N], %b[0:N, 0:R] : [] f32[N, R]
    %z        = getitem{entries=(i, r)} %z.solve                       : [i*, r*] f32

A library computes it in blocks; the loop reads the whole matrix for each column, a row at a step.
Results agree up to rounding, as those of sums in another order do, so that halves, which a
recurrence rounds at each step, stay a loop. The vectorized dimensions with which the matrix does
not vary are columns of the right side; systems with a matrix for each point of a dimension are
solved one after the other, so that small ones stay a loop that does a step of all at once.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, field, replace
from typing import ClassVar

from tempoc.base.cost_model import MODEL
from tempoc.ops.control.control import Copy
from tempoc.ops.definition.operator import OperandError
from tempoc.ops.definition.types import DType
from tempoc.ops.indexing.indexing import IndexPart, SpatialIndex
from tempoc.ops.linear.solve import TriangularSolve
from tempoc.ops.tensor.arithmetic import Multiply
from tempoc.ops.tensor.elementwise import Negative
from tempoc.ops.tensor.movement import Transpose
from tempoc.passes.context import GraphPass, PassContext
from tempoc.passes.dispatch.substitution import NoSubstitution, Recognition, Substitution
from tempoc.passes.vectorization.vectorize import Vectorize
from tempoc.sdg.builder import NodeBuilder, read_of
from tempoc.sdg.graph.graph import Edge, Graph, Node
from tempoc.sdg.graph.query import components
from tempoc.sdg.graph.rewrite import drop_dead, replace_nodes
from tempoc.symbolic import expr as ix
from tempoc.symbolic.domain import Domain
from tempoc.symbolic.walk import symbols


@dataclass(frozen=True, slots=True, kw_only=True)
class Triangular(GraphPass):
    """Replaces forward and backward substitutions by triangular solves.

    ``least``: rows of the matrices of a batch from which on they are solved one by one.
    """

    least: int = field(
        default=MODEL.solved_rows, metadata={"help": "fewest rows of matrices of a batch"}
    )

    name: ClassVar[str] = "solves"

    def run(self, graph: Graph, context: PassContext) -> Graph:
        """The graph with solves; what is vectorized is decided anew then.

        A graph with lengths that the data decide stays as it is.
        """
        if graph.universe.lengths:
            return graph
        before = graph
        for part in components(graph):
            if len(part) == 1:
                continue
            try:
                recognition = Recognition.of(graph, context.space, part)
                vector = {d for n in part for d in graph.nodes[n].vector}
                builder = SystemBuilder.of(recognition, graph, vector)
                nodes = builder.nodes(self.least)
            except (NoSubstitution, OperandError):
                continue
            name, dim = builder.recurrence.state.name, builder.recurrence.dim
            graph = replace_nodes(graph, {name: nodes})
            context.remarks.add(
                self.name, f"`{name}` solves a triangular system along {dim}", nodes[-1].span
            )
        if graph is before:
            return graph
        inside = PassContext(context.space)
        vectorized = Vectorize().run(drop_dead(graph), inside)
        context.vectorized += inside.vectorized
        return vectorized


@dataclass(slots=True, kw_only=True)
class SystemBuilder:
    """Builds the nodes of a solve; ``columns`` are the dimensions that are columns of it."""

    recurrence: Substitution
    builder: NodeBuilder
    columns: tuple[str, ...]
    batch: tuple[str, ...]

    @classmethod
    def of(cls, recognition: Recognition, graph: Graph, vector: Collection[str]) -> SystemBuilder:
        """Along the dimensions of ``vector`` points may be columns; raises ``NoSubstitution``."""
        recurrence = recognition.result()
        dims = recurrence.state.domain.dims
        with_matrix = {n for e in recurrence.row.entries for n in symbols(e)}
        columns = tuple(d for d in dims if d in vector and d not in with_matrix)
        batch = tuple(d for d in dims if d != recurrence.dim and d not in columns)
        builder = recognition.builder
        builder.node = replace(recurrence.state, vector=tuple(d for d in batch if d in vector))
        return cls(recurrence=recurrence, builder=builder, columns=columns, batch=batch)

    def nodes(self, least: int) -> tuple[Node, ...]:
        """The solve, what it reads, and the state, which takes its element of it.

        Raises ``NoSubstitution`` or ``OperandError``.
        """
        state, space = self.recurrence.state, self.builder.space
        if state.types[0].dtype not in (DType.F32, DType.F64):
            raise NoSubstitution
        if len(self.columns) + state.types[0].ndim > 1:
            raise NoSubstitution
        n, first = self.count(self.recurrence.dim), self.range(self.recurrence.dim).lo
        settled = self.builder.graph.universe.settled(n)
        few = isinstance(settled, ix.Const) and settled.value < least
        if few and self.builder.node.vector:
            raise NoSubstitution
        domain = space.project(state.domain, self.batch)
        matrix, right = self.matrix(domain, n), self.right(domain)
        op = TriangularSolve(lower=self.recurrence.lower, unit=self.recurrence.unit)
        solved = self.builder.put("solve", op, (matrix, right), domain)
        points: list[IndexPart] = [ix.sub(ix.Sym(self.recurrence.dim), first)]
        points += [ix.sub(ix.Sym(d), self.range(d).lo) for d in self.columns]
        points += [(ix.ZERO, e, 1) for e in state.types[0].shape]
        read = Edge(source=solved.name, entries=tuple(map(ix.Sym, domain.dims)))
        last = self.builder.put("element", SpatialIndex(entries=tuple(points)), (read,))
        nodes = self.builder.finish(replace(last, vector=()))
        if nodes is None or not all(self.is_inside(n, e) for n in nodes for e in n.inputs):
            raise NoSubstitution
        return nodes

    def is_inside(self, node: Node, edge: Edge) -> bool:
        """Whether what a node reads is defined at all points at which the node is."""
        source = self.builder.nodes.get(edge.source) or self.builder.graph.nodes[edge.source]
        space = self.builder.space
        at = node.domain if edge.guard == ix.TRUE else space.restrict(node.domain, edge.guard)
        return space.outside(at, edge.entries, source.domain) is None

    def range(self, dim: str) -> ix.Slice:
        """The points along a dimension; raises ``NoSubstitution`` if their ends may be crossed."""
        points = self.recurrence.ranges[dim]
        least = ix.compare("<=", points.lower, points.upper)
        if not self.builder.space.implies(Domain(()), least):
            raise NoSubstitution
        return ix.Slice(points.lower, points.upper)

    def count(self, dim: str) -> ix.Expr:
        """How many points there are along a dimension."""
        return ix.sub(self.recurrence.ranges[dim].upper, self.recurrence.ranges[dim].lower)

    def matrix(self, domain: Domain, n: ix.Expr) -> Edge | Node:
        """All rows and columns; raises ``NoSubstitution`` if some do not exist."""
        row, graph = self.recurrence.row, self.builder.graph
        source, whole = graph.nodes[row.source], self.range(self.recurrence.dim)
        places = (self.recurrence.row_place, row.moving)
        read = row.at(places[0], whole).at(places[1], whole)
        entries, axes = read.entries[: row.dims], read.entries[row.dims :]
        if self.builder.space.outside(domain, entries, source.domain) is not None:
            raise NoSubstitution
        extents = source.types[row.out].shape
        if any(graph.universe.is_dim(s) for e in extents for s in symbols(e)):
            raise NoSubstitution
        edge: Edge | Node = Edge(source=row.source, out=row.out, entries=entries)
        if axes:
            for entry, extent in zip(axes, extents, strict=True):
                last = entry.hi if isinstance(entry, ix.Slice) else ix.ZERO
                if not self.builder.space.implies(domain, ix.compare("<=", last, extent)):
                    raise NoSubstitution
            parts: list[IndexPart] = [(ix.ZERO, n, 1) for e in entries if isinstance(e, ix.Slice)]
            parts += [(e.lo, n, 1) if isinstance(e, ix.Slice) else e for e in axes]
            edge = self.builder.put("rows", SpatialIndex(entries=tuple(parts)), (edge,), domain)
        if places[0] > places[1]:
            edge = self.builder.put("turned", Transpose(), (edge,), domain)
        if (self.recurrence.sign > 0 or self.recurrence.factors) and not self.recurrence.unit:
            raise NoSubstitution
        for factor in self.recurrence.factors:
            number = graph.nodes[factor.source]
            if not number.inputs and number.op.cheap:  # it may be defined at fewer points
                factor = read_of(
                    self.builder.put("factor", number.op, (), Domain(()), number.types)
                )
            edge = self.builder.put("scaled", Multiply(), (edge, factor), domain)
        if self.recurrence.sign > 0:
            edge = self.builder.put("opposite", Negative(), (edge,), domain)
        return edge

    def right(self, domain: Domain) -> Edge | Node:
        """The right sides, a column each; raises ``NoSubstitution`` for those of another type."""
        recurrence = self.recurrence
        state = recurrence.state
        rows = self.builder.put("right", Copy(), (recurrence.right,), state.domain)
        if replace(rows.types[0], weak=False) != replace(state.types[0], weak=False):
            raise NoSubstitution
        moving = (recurrence.dim, *self.columns)
        entries = tuple(self.range(d) if d in moving else ix.Sym(d) for d in state.domain.dims)
        edge: Edge | Node = Edge(source=rows.name, entries=entries)
        if next(d for d in state.domain.dims if d in moving) != recurrence.dim:
            edge = self.builder.put("columns", Transpose(), (edge,), domain)
        return edge
