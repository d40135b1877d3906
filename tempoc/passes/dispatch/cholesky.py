"""Which equations factor a matrix as Cholesky does: the elements that they read of it.

    %L.0 = sqrt %L.a                                     : [i, j | i == j]
    %L.1 = div %L.b, %L[j, j]                            : [i, j | i > j]
    %L   = merge %L.0 when i == j, %L.1 when i > j, ..   : [i, j]

where ``%L.a`` is an element of the matrix less ``sum(L[i, 0:i] ** 2)``, and ``%L.b`` one less
``L[i, 0:j] @ L[j, 0:j]``. The sum may be left out where it is empty, as equations of the first
column do; a tensor of its own may have the roots.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from tempoc.ops.control.control import Copy
from tempoc.ops.definition.types import DType
from tempoc.ops.tensor.elementwise import Sqrt
from tempoc.passes.dispatch.derivative import Pivots
from tempoc.passes.dispatch.equation_walk import EquationWalk, MatrixElement, NoFactor, Operation
from tempoc.poly.relations.space import Space
from tempoc.sdg.builder import read_of
from tempoc.sdg.graph.graph import Edge, Graph, Node
from tempoc.sdg.graph.rewrite import compose_node
from tempoc.symbolic import expr as ix
from tempoc.symbolic.domain import Domain, substitute_entry


@dataclass(frozen=True, slots=True, kw_only=True)
class CholeskyEquations:
    """The equations of a factor with rows and columns along two dimensions, ``elements`` by branch.

    ``roots`` are reads of tensors of the diagonal, in the coordinates of the factor.
    """

    state: Node
    row: str
    column: str
    elements: tuple[MatrixElement, ...]
    roots: tuple[Edge, ...]

    @property
    def batch(self) -> tuple[str, ...]:
        """All other dimensions."""
        return tuple(d for d in self.state.domain.dims if d not in (self.row, self.column))

    def pivots(self, graph: Graph) -> Pivots:
        """The roots, in all tensors that have them."""
        square, reads = (self.row, self.column), (read_of(self.state), *self.roots)
        return Pivots.of_square(graph, self.state.domain, square, reads)


def recognize(graph: Graph, space: Space, part: tuple[str, ...], state: Node) -> CholeskyEquations:
    """The equations of a merge in a cycle; raises ``NoFactor``."""
    if state.types[0].shape or state.types[0].dtype not in (DType.F32, DType.F64):
        raise NoFactor
    for row in state.domain.dims:
        for column in state.domain.dims:
            if row != column and _is_square(graph, space, state.domain, row, column):
                walk = CholeskyWalk(
                    graph=graph,
                    space=space,
                    part={*part},
                    tables=(state.name,),
                    row=row,
                    column=column,
                    at=state.domain,
                    before=column,
                )
                try:
                    return walk.equations()
                except NoFactor:
                    continue
    raise NoFactor


def _is_square(graph: Graph, space: Space, domain: Domain, row: str, column: str) -> bool:
    """Whether a tensor has all elements of the lower triangle of a square matrix."""
    rows, columns = (ix.Sym(graph.universe.dim(d).bound) for d in (row, column))
    if not space.equal(rows, columns, Domain(())):
        return False
    others = space.project(domain, tuple(d for d in domain.dims if d not in (row, column)))
    lower = ix.conjunction(others.where, ix.compare(">=", ix.Sym(row), ix.Sym(column)))
    return space.contains(domain, Domain(domain.dims, lower))


@dataclass(slots=True, kw_only=True)
class CholeskyWalk(EquationWalk):
    """Looks at the equations of one table."""

    roots: list[Edge] = field(default_factory=list)

    def equations(self) -> CholeskyEquations:
        """All equations; the roots first, as quotients may be divided by them."""
        state = self.graph.nodes[self.tables[0]]
        below: list[tuple[Edge, Domain]] = []
        elements: list[MatrixElement] = []
        for edge in state.inputs:
            self.at = self.space.restrict(state.domain, edge.guard)
            edge = replace(edge, guard=ix.TRUE)
            if self.is_where("=="):
                elements.append(self.root(edge))
            elif self.is_where(">"):
                below.append((edge, self.at))
            elif not self.is_where("<") or not self.is_number(edge, 0):
                raise NoFactor
        for edge, self.at in below:
            elements.append(self.quotient(edge))
        return CholeskyEquations(
            state=state, row=self.row, column=self.column, elements=tuple(elements),
            roots=tuple(dict.fromkeys(self.roots)),
        )  # fmt: skip

    def root(self, edge: Edge) -> MatrixElement:
        """An equation of the diagonal; raises ``NoFactor``."""
        value = self.value(edge)
        if value is None:  # there is nothing before it in its row
            value = self.first(edge)
        if not isinstance(value.op, Sqrt):  # that of -inf is no number, unlike a power of half
            raise NoFactor
        self.roots.append(value.edge)
        return self.element(value.operands[0])

    def first(self, edge: Edge) -> Operation:
        """The equation of an element before which there is none, which reads no others."""
        if not self.space.implies(self.at, ix.compare("==", ix.Sym(self.column), ix.ZERO)):
            raise NoFactor
        node = self.graph.nodes[edge.source]
        made = compose_node(node, edge, self.graph.universe)
        if made is not None and isinstance(node.op, Copy):
            return self.first(made[1][0])
        if made is None:
            raise NoFactor
        return Operation(edge, *made)

    def is_diagonal(self, edge: Edge) -> bool:
        """Whether a divisor is the root in the element's column."""
        dims, column = self.graph.nodes[self.tables[0]].domain.dims, ix.Sym(self.column)
        if edge.source in self.tables:
            own = tuple(column if d == self.row else ix.Sym(d) for d in dims)
            return self.same(edge.entries, own)
        for root in self.roots:
            above = tuple(substitute_entry(e, {self.row: column}) for e in root.entries)
            if root.source == edge.source and self.same(edge.entries, above):
                return True
        return False

    def are_rows(self, edges: Sequence[Edge]) -> bool:
        """Whether factors are the rows of an element and of its diagonal's, up to its column."""
        return self.are_two_rows(edges, self.tables[0])
