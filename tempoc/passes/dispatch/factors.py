"""Factors of matrices and triangular systems that a program writes as equations, as operators.

    %L.sqrt = sqrt %L.sub                            : [i]
    %L.0    = copy %L.sqrt                           : [i, j | i == j]
    %L.1    = div %L.sub2, %L[j, j]                  : [i, j | i > j]
    %L      = merge %L.0 when i == j, %L.1 when ..   : [i, j]
    ->
    %L.factor = cholesky_rows %L.matrix[0:N, 0:M]    : [] f32[N, M]
    %L        = getitem{entries=(i, j)} %L.factor    : [i, j]

This runs before differentiation as well: what a derivative goes back through is then one operator
with a rule, and not a recurrence, step by step. Systems whose matrix varies with other dimensions
are left to ``solves``, which knows what of them is done at once.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import ClassVar, NamedTuple

from tempoc.base.cost_model import MODEL
from tempoc.ops.control.control import Merge
from tempoc.ops.definition.operator import OperandError
from tempoc.ops.indexing.indexing import SpatialIndex
from tempoc.ops.linear.cholesky_rows import CholeskyRows
from tempoc.passes.context import GraphPass, PassContext
from tempoc.passes.dispatch.cholesky import CholeskyEquations, recognize
from tempoc.passes.dispatch.cycles import cycles, has_order, moved_dims
from tempoc.passes.dispatch.derivative import Pivots, is_derivative_kept
from tempoc.passes.dispatch.element_tables import put_element, put_rows, put_zeros_above
from tempoc.passes.dispatch.equation_walk import NoFactor
from tempoc.passes.dispatch.ldl import ldl_equations
from tempoc.passes.dispatch.lu import lu_equations
from tempoc.passes.dispatch.substitution import NoSubstitution, Recognition, Substitution
from tempoc.passes.dispatch.triangular import SystemBuilder
from tempoc.poly.relations.space import Space
from tempoc.sdg.builder import NodeBuilder, read_of
from tempoc.sdg.graph.graph import Edge, Graph, Node
from tempoc.sdg.graph.rewrite import drop_dead, replace_nodes
from tempoc.symbolic import expr as ix
from tempoc.symbolic.domain import Domain


class MatrixFactors(GraphPass):
    """Calls operators for Cholesky's factors and triangular systems that are written out."""

    __slots__ = ()
    name: ClassVar[str] = "factors"

    def run(self, graph: Graph, context: PassContext) -> Graph:
        """The graph with operators; one with lengths that the data decide stays as it is."""
        return with_factors(graph, context)


def with_factors(graph: Graph, context: PassContext) -> Graph:
    """The graph with operators in place of such equations; the same if there are none."""
    if graph.universe.lengths:
        return graph
    before = graph
    for part in cycles(graph):
        try:
            graph, message = _factored(graph, context.space, part)
        except (NoFactor, NoSubstitution, OperandError):
            continue
        context.remarks.add(MatrixFactors.name, message, graph.nodes[part[0]].span)
    return graph if graph is before else drop_dead(graph)


class TriangularEquations(NamedTuple):
    """A tensor whose equations factor a matrix, or solve a triangular system."""

    name: str
    is_factor: bool


def triangular_equations(graph: Graph, space: Space) -> Iterator[TriangularEquations]:
    """All such tensors of a graph, those that stay equations too."""
    for part in cycles(graph):
        with suppress(NoFactor, NoSubstitution, OperandError):
            yield _named(graph, space, part)


def _named(graph: Graph, space: Space, part: tuple[str, ...]) -> TriangularEquations:
    """The tensor of a cycle; raises ``NoFactor``, ``NoSubstitution`` or ``OperandError``."""
    for equations in _cholesky_equations(graph, space, part):
        return TriangularEquations(equations.state.name, is_factor=True)
    builder = _system(graph, space, part)
    builder.nodes(MODEL.solved_rows)
    return TriangularEquations(builder.recurrence.state.name, is_factor=False)


def _cholesky_equations(
    graph: Graph, space: Space, part: tuple[str, ...]
) -> Iterator[CholeskyEquations]:
    """The factors among the tensors of a cycle."""
    for name in (n for n in part if isinstance(graph.nodes[n].op, Merge)):
        with suppress(NoFactor):
            yield recognize(graph, space, part, graph.nodes[name])


def _system(graph: Graph, space: Space, part: tuple[str, ...]) -> SystemBuilder:
    """The triangular system of a cycle; raises ``NoSubstitution``.

    Its columns are points that need no others, wherever the cycle is a part of a larger one.
    """
    recognition = Recognition.of(graph, space, part)
    moved = moved_dims(graph, part)
    others = [d.name for d in graph.universe.dims if d.name not in moved]
    builder = SystemBuilder.of(recognition, graph, others)
    builder.builder.node = replace(
        builder.builder.node, vector=tuple(d for d in builder.batch if d not in moved)
    )
    return builder


def _factored(graph: Graph, space: Space, part: tuple[str, ...]) -> tuple[Graph, str]:
    """The graph with an operator in place of a cycle, and what is said about it.

    Raises ``NoFactor``, ``NoSubstitution`` or ``OperandError``.
    """
    for equations in _cholesky_equations(graph, space, part):
        with suppress(NoFactor, OperandError):
            replaced = _FactorBuilder.of(graph, space, part, equations).nodes()
            made = replace_nodes(graph, replaced)
            if not has_order(graph, made, (equations.row, equations.column)):
                raise NoFactor
            name = equations.state.name
            return made, f"`{name}` is Cholesky's factor of a matrix along {equations.row}"
    for recognized, how in ((lu_equations, "no rows exchanged"), (ldl_equations, "without roots")):
        with suppress(NoFactor, OperandError):
            both = recognized(graph, space, part)
            tables = " and ".join(f"`{n}`" for n in both.names)
            made = both.applied(graph, space, part)
            if not has_order(graph, made, (both.row, both.column)):
                raise NoFactor
            return made, f"{tables}: factors of a matrix along {both.row}, {how}"
    builder = _system(graph, space, part)
    if not _is_system_differentiable(graph, space, part, builder.recurrence):
        raise NoSubstitution
    state = builder.recurrence.state.name
    nodes = [replace(n, vector=()) for n in builder.nodes(MODEL.solved_rows)]
    made = replace_nodes(graph, {state: nodes})
    if not has_order(graph, made, (builder.recurrence.dim, *builder.columns)):
        raise NoSubstitution
    return made, f"`{state}` solves a triangular system along {builder.recurrence.dim}"


def _is_system_differentiable(
    graph: Graph, space: Space, part: tuple[str, ...], system: Substitution
) -> bool:
    """Whether all gradients through a system are those of the operator."""
    if system.unit:
        return True
    state, points = system.state, system.ranges[system.dim]
    end = ix.sub(points.upper, ix.ONE) if system.lower else points.lower
    here = ix.compare("==", ix.Sym(system.dim), end)
    last = Domain(state.domain.dims, ix.conjunction(state.domain.where, here))
    pivots = Pivots(last, (read_of(state),))
    return is_derivative_kept(graph, space, part, pivots, (state.name,))


@dataclass(frozen=True, slots=True, kw_only=True)
class _FactorBuilder:
    """Builds the nodes of a factor, ``builder``'s node being the tensor that has it."""

    graph: Graph
    space: Space
    equations: CholeskyEquations
    builder: NodeBuilder

    @classmethod
    def of(
        cls, graph: Graph, space: Space, part: tuple[str, ...], equations: CholeskyEquations
    ) -> _FactorBuilder:
        """Raises ``NoFactor`` if a loop, or the equations' own derivatives, are to be preferred."""
        bound = ix.Sym(graph.universe.dim(equations.row).bound)
        settled = graph.universe.settled(bound)
        few = isinstance(settled, ix.Const) and settled.value < MODEL.solved_rows
        if few and equations.batch:
            raise NoFactor
        free = (equations.state.name,)
        if not is_derivative_kept(graph, space, part, equations.pivots(graph), free):
            raise NoFactor
        builder = NodeBuilder(graph=graph, space=space, node=replace(equations.state, vector=()))
        return cls(graph=graph, space=space, equations=equations, builder=builder)

    def nodes(self) -> Mapping[str, tuple[Node, ...]]:
        """What replaces the tensor, and those of its diagonal. Raises ``NoFactor``."""
        about, state = self.equations, self.equations.state
        domain = self.space.project(state.domain, about.batch)
        whole = self.rows(domain)
        factor = self.builder.put("factor", CholeskyRows(), (whole,), domain)
        point = (ix.Sym(about.row), ix.Sym(about.column))
        read = Edge(source=factor.name, entries=tuple(map(ix.Sym, domain.dims)))
        element = self.builder.put("element", SpatialIndex(entries=point), (read,))
        nodes = self.builder.finish(element)
        if nodes is None:
            raise NoFactor
        return {state.name: nodes, **self.roots(factor)}

    def roots(self, factor: Node) -> Mapping[str, tuple[Node, ...]]:
        """What replaces tensors that have the roots of all rows: the diagonal of the factor."""
        about = self.equations
        replaced: dict[str, tuple[Node, ...]] = {}
        for edge in about.roots:
            root = self.graph.nodes[edge.source]
            at = root.domain.at(edge.entries)
            rows = [d for d, e in at.items() if e in (ix.Sym(about.row), ix.Sym(about.column))]
            own = all(e == ix.Sym(d) for d, e in at.items() if d not in rows)
            if len(rows) != 1 or not own or len(at) != len(about.batch) + 1:
                continue
            point = (ix.Sym(rows[0]), ix.Sym(rows[0]))
            read = Edge(source=factor.name, entries=tuple(map(ix.Sym, factor.domain.dims)))
            builder = NodeBuilder(
                graph=self.graph, space=self.space, node=replace(root, vector=()),
                nodes={factor.name: factor},
            )  # fmt: skip
            nodes = builder.finish(builder.put("element", SpatialIndex(entries=point), (read,)))
            if nodes is not None:
                replaced[root.name] = nodes[1:]
        return replaced

    def rows(self, domain: Domain) -> Edge | Node:
        """The matrix that the equations read, with zeros above the diagonal."""
        about, builder = self.equations, self.builder
        type_ = about.state.types[0]
        branches = [(put_element(builder, e, type_), e.domain.where) for e in about.elements]
        whole = Domain(about.state.domain.dims, domain.where)
        branches.append(put_zeros_above(builder, whole, about.row, about.column, type_))
        return put_rows(builder, branches, about.row, about.column, domain, type_)
