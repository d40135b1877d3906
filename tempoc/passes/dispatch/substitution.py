"""Which recurrences substitute forward or backward: their matrix, right sides and states.

A state is made of a sum over those before it, or after it, weighted by a row of a matrix::

    %z.matmul = matmul %A[i, 0:i], %z[0:i]
    %z.sub    = sub %b, %z.matmul
    %z        = div %z.sub, %A[i, i]

Derivatives of such recurrences are some, too: signs stand elsewhere in them, and equations of the
first step apart.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from tempoc.ops.control.control import Copy, Merge
from tempoc.ops.indexing.indexing import SpatialIndex
from tempoc.ops.tensor.arithmetic import Add, Divide, Multiply, Subtract
from tempoc.ops.tensor.contraction import MatMul
from tempoc.ops.tensor.elementwise import Negative
from tempoc.ops.tensor.reduction import Sum
from tempoc.passes.simplify.copy_propagation import read_original
from tempoc.poly.relations.space import Space
from tempoc.sdg.builder import NodeBuilder, read_of
from tempoc.sdg.graph.graph import Edge, Graph, Node
from tempoc.sdg.graph.query import operand_type
from tempoc.sdg.graph.rewrite import compose
from tempoc.sdg.statements.build import is_identity
from tempoc.sdg.statements.statements import Vector
from tempoc.sdg.statements.vectorized import Ranges, vector_ranges
from tempoc.symbolic import expr as ix
from tempoc.symbolic.domain import Domain, slice_count, substitute_entry
from tempoc.symbolic.walk import symbols


class NoSubstitution(Exception):
    """A cycle that is no forward or backward substitution."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MatrixRead:
    """Elements of a tensor: an entry for each dimension of it, then for each axis."""

    source: str
    out: int
    entries: tuple[ix.Entry, ...]
    dims: int

    @classmethod
    def of(cls, graph: Graph, edge: Edge) -> MatrixRead:
        """What an operand reads, also through an index of axes; raises ``NoSubstitution``."""
        node = graph.nodes[edge.source]
        if isinstance(node.op, SpatialIndex) and not node.op.gathers:
            at = node.domain.at(edge.entries)
            inner = node.inputs[0]
            if any(isinstance(e, ix.Slice) for e in inner.entries):
                raise NoSubstitution
            parts = (
                ix.Slice(p[0], ix.add(p[0], p[1]), p[2]) if isinstance(p, tuple) else p
                for p in node.op.entries
                if not isinstance(p, str)
            )
            entries = tuple(_entry_at(e, at) for e in (*inner.entries, *parts))
            return cls(source=inner.source, out=inner.out, entries=entries, dims=len(inner.entries))
        if node.types[edge.out].ndim:
            raise NoSubstitution
        return cls(source=edge.source, out=edge.out, entries=edge.entries, dims=len(edge.entries))

    @property
    def moving(self) -> int:
        """The only place of a range; raises ``NoSubstitution`` if there are others."""
        places = [k for k, e in enumerate(self.entries) if isinstance(e, ix.Slice)]
        if len(places) != 1:
            raise NoSubstitution
        return places[0]

    def at(self, place: int, entry: ix.Entry) -> MatrixRead:
        """With another entry at a place."""
        entries = (*self.entries[:place], entry, *self.entries[place + 1 :])
        return replace(self, entries=entries)


def _entry_at(entry: ix.Entry, at: Mapping[str, ix.Entry]) -> ix.Entry:
    """An entry at a point, or in a range; raises ``NoSubstitution`` for another one of a range."""
    if isinstance(entry, ix.Sym) and entry.name in at:
        return at[entry.name]
    points = {d: e for d, e in at.items() if isinstance(e, ix.Expr)}
    if any(s in at and s not in points for s in symbols(entry)):
        raise NoSubstitution
    return substitute_entry(entry, points)


@dataclass(frozen=True, slots=True, kw_only=True)
class WeightedSum:
    """The sum over other states, times ``sign`` and ``factors``: operands of row and of states."""

    row: Edge
    states: Edge
    node: Node
    sign: int = 1
    factors: tuple[Edge, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Dividend:
    """``right`` and the product: what makes a state, but for a division by ``diagonal``."""

    right: Edge | None
    product: WeightedSum
    diagonal: Edge | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Substitution:
    """A recurrence along ``dim``, ``lower``: from the first point to the last.

    ``row`` is the matrix's at a point, of which ``row.moving`` is the range of columns, and the
    entry at ``row_place`` the point; ``sign`` and ``factors`` multiply it. ``unit``: no element of
    a diagonal divides. ``ranges`` are those of all dimensions.
    """

    state: Node
    dim: str
    ranges: Ranges
    lower: bool
    right: Edge
    sign: int
    factors: tuple[Edge, ...]
    row: MatrixRead
    row_place: int
    unit: bool


@dataclass(slots=True, kw_only=True)
class Recognition:
    """Looks at one cycle; ``builder`` gets the nodes of the right sides."""

    graph: Graph
    space: Space
    part: set[str]
    builder: NodeBuilder
    visited: dict[str, None]

    @classmethod
    def of(cls, graph: Graph, space: Space, part: Sequence[str]) -> Recognition:
        """Nothing is looked at yet; raises ``NoSubstitution`` if no state is read in a range."""
        moved = [
            e
            for n in part
            for e in graph.nodes[n].inputs
            if e.source in part and any(isinstance(x, ix.Slice) for x in e.entries)
        ]
        if len(moved) != 1:
            raise NoSubstitution
        state = graph.nodes[moved[0].source]
        while isinstance(state.op, Negative | Copy) and is_identity(state.inputs[0], graph):
            state = graph.nodes[state.sources[0]]
        builder = NodeBuilder(graph=graph, space=space, node=replace(state, vector=()))
        return cls(graph=graph, space=space, part={*part}, builder=builder, visited={})

    @property
    def state(self) -> Node:
        """The state."""
        return self.builder.node

    def result(self) -> Substitution:
        """The substitution; raises ``NoSubstitution``."""
        state = self.graph.nodes[self.state.name]
        whole = self.dividend(state)
        product = whole.product
        sign = product.sign * self.sign_of(product.states.source)
        if {*self.visited} != self.part or whole.right is None:
            raise NoSubstitution
        (place,) = (k for k, e in enumerate(product.states.entries) if isinstance(e, ix.Slice))
        dim, entry = state.domain.dims[place], product.states.entries[place]
        others = (*product.states.entries[:place], *product.states.entries[place + 1 :])
        if others != tuple(ix.Sym(d) for d in state.domain.dims if d != dim):
            raise NoSubstitution
        assert isinstance(entry, ix.Slice)
        ranges = vector_ranges(state.domain, state.domain.dims, self.space)
        if ranges is None:
            raise NoSubstitution
        lower = self.is_before(ranges[dim], entry, product.node.domain)
        row = MatrixRead.of(self.graph, product.row)
        columns = row.entries[row.moving]
        assert isinstance(columns, ix.Slice)
        if columns.step != 1 or not self.same_range(columns, entry, product.node.domain):
            raise NoSubstitution
        rows = [k for k, e in enumerate(row.entries) if e == ix.Sym(dim)]
        if len(rows) != 1:
            raise NoSubstitution
        if whole.diagonal is not None:
            diagonal = MatrixRead.of(self.graph, whole.diagonal)
            if diagonal != row.at(row.moving, ix.Sym(dim)):
                raise NoSubstitution
        return Substitution(
            state=state, dim=dim, ranges=ranges, lower=lower, right=whole.right, sign=sign,
            factors=product.factors, row=row, row_place=rows[0], unit=whole.diagonal is None,
        )  # fmt: skip

    def sign_of(self, name: str) -> int:
        """What the states are multiplied by where they are read in a range."""
        sign = 1
        while name != self.state.name:
            self.visited[name] = None
            node = self.graph.nodes[name]
            if not isinstance(node.op, Negative | Copy):
                raise NoSubstitution
            sign *= -1 if isinstance(node.op, Negative) else 1
            (name,) = node.sources
        return sign

    def is_before(self, points: Vector, entry: ix.Slice, domain: Domain) -> bool:
        """Whether a range is that of all points before, not after; it has to be one of them."""
        point = ix.Sym(points.dim)
        if entry.step == 1 and self.same_range(entry, ix.Slice(points.lower, point), domain):
            return True
        after = ix.Slice(ix.add(point, ix.ONE), points.upper)
        if entry.step == 1 and self.same_range(entry, after, domain):
            return False
        raise NoSubstitution

    def same_range(self, a: ix.Slice, b: ix.Slice, domain: Domain) -> bool:
        """Whether two ranges have the same ends at all points."""
        return self.space.equal(a.lo, b.lo, domain) and self.space.equal(a.hi, b.hi, domain)

    def dividend(self, node: Node) -> Dividend:
        """What makes a state: at the top a merge of equations, then a division, or none."""
        if isinstance(node.op, Merge):
            return self.merged(node)
        if isinstance(node.op, Divide):
            self.visited[node.name] = None
            inside = self.sum_of(self.own(node, node.inputs[0]))
            if node.sources[1] in self.part:
                raise NoSubstitution
            return replace(inside, diagonal=node.inputs[1])
        return self.sum_of(node)

    def own(self, node: Node, edge: Edge) -> Node:
        """The operand of the cycle that is read at the own point; raises ``NoSubstitution``."""
        source = self.graph.nodes[edge.source]
        if edge.source not in self.part or edge.entries != tuple(map(ix.Sym, source.domain.dims)):
            raise NoSubstitution
        if source.name in self.visited:
            raise NoSubstitution
        return source

    def sum_of(self, node: Node) -> Dividend:
        """A sum of the product and other terms; its nodes are visited."""
        if isinstance(node.op, Merge):
            return self.merged(node)
        self.visited[node.name] = None
        match node.op:
            case Negative() | Copy():
                return self.scaled(node)
            case Add() | Subtract():
                return self.with_term(node)
            case Multiply():
                return self.multiplied(node)
            case MatMul():
                return Dividend(right=None, product=self.factors(node, node))
            case Sum() if node.op.axes in (None, (0,)) and not node.op.keepdims:
                inner = self.own(node, node.inputs[0])
                self.visited[inner.name] = None
                while isinstance(inner.op, Copy):
                    inner = self.own(inner, inner.inputs[0])
                    self.visited[inner.name] = None
                if isinstance(inner.op, Multiply) and inner.types[0].ndim == 1:
                    return Dividend(right=None, product=self.factors(node, inner))
        raise NoSubstitution

    def factors(self, node: Node, product: Node) -> WeightedSum:
        """The operands of a product: a row, and the states in the same range."""
        first, second = product.inputs
        own = [e.source in self.part for e in (first, second)]
        if own == [False, True]:
            row, states = first, second
        elif own == [True, False] and operand_type(self.graph, first).ndim == 1:
            row, states = second, first
        else:
            raise NoSubstitution
        if slice_count(states.entries) != 1:
            raise NoSubstitution
        axes = operand_type(self.graph, states).ndim
        if operand_type(self.graph, row).ndim != 1 or axes > 2 or axes != node.types[0].ndim + 1:
            raise NoSubstitution
        return WeightedSum(row=row, states=states, node=node)

    def scaled(self, node: Node) -> Dividend:
        """A copy, or with the opposite sign."""
        inside = self.sum_of(self.own(node, node.inputs[0]))
        if isinstance(node.op, Copy):
            return inside
        return self.negative(inside, node)

    def multiplied(self, node: Node) -> Dividend:
        """All of it times a number that is the same at all points."""
        own = [k for k, s in enumerate(node.sources) if s in self.part]
        if len(own) != 1:
            raise NoSubstitution
        factor, inside = node.inputs[1 - own[0]], self.sum_of(self.own(node, node.inputs[own[0]]))
        if factor.entries or operand_type(self.graph, factor).shape:
            raise NoSubstitution
        right = inside.right
        if right is not None:
            right = read_of(self.builder.put("right", Multiply(), (right, factor), node.domain))
        product = replace(inside.product, factors=(*inside.product.factors, factor))
        return Dividend(right=right, product=product)

    def negative(self, inside: Dividend, node: Node) -> Dividend:
        """All of it with the opposite sign."""
        product = replace(inside.product, sign=-inside.product.sign)
        right = inside.right
        if right is not None:
            right = read_of(self.builder.put("neg", Negative(), (right,), node.domain))
        return Dividend(right=right, product=product)

    def with_term(self, node: Node) -> Dividend:
        """A sum or a difference of which one operand belongs to the cycle."""
        own = [k for k, s in enumerate(node.sources) if s in self.part]
        if len(own) != 1:
            raise NoSubstitution
        (k,) = own
        inside = self.sum_of(self.own(node, node.inputs[k]))
        term = node.inputs[1 - k]
        if operand_type(self.graph, term).shape != node.types[0].shape:
            raise NoSubstitution
        if isinstance(node.op, Add):
            if inside.right is None:
                return replace(inside, right=term)
            right = self.builder.put("right", Add(), (inside.right, term), node.domain)
            return replace(inside, right=read_of(right))
        if k == 1:
            inside = self.negative(inside, node)
            if inside.right is None:
                return replace(inside, right=term)
            right = self.builder.put("right", Add(), (term, inside.right), node.domain)
            return replace(inside, right=read_of(right))
        if inside.right is None:
            right = self.builder.put("neg", Negative(), (term,), node.domain)
        else:
            right = self.builder.put("right", Subtract(), (inside.right, term), node.domain)
        return replace(inside, right=read_of(right))

    def merged(self, node: Node) -> Dividend:
        """Equations of which one has the product; the others are of points without a range."""
        self.visited[node.name] = None
        own = [k for k, s in enumerate(node.sources) if s in self.part]
        if len(own) != 1:
            raise NoSubstitution
        inside = self.dividend(self.own(node, node.inputs[own[0]]))
        (entry,) = (e for e in inside.product.states.entries if isinstance(e, ix.Slice))
        rights: list[Edge] = []
        for k, edge in enumerate(node.inputs):
            at = Domain(node.domain.dims, ix.conjunction(node.domain.where, edge.guard))
            right = inside.right
            if k != own[0]:
                if not self.space.implies(at, ix.compare(">=", entry.lo, entry.hi)):
                    raise NoSubstitution
                right = read_original(self.graph, replace(edge, guard=ix.TRUE))
                if inside.diagonal is not None:
                    right = self.divided(edge, inside.diagonal, at)
            if right is None:
                raise NoSubstitution
            rights.append(replace(right, guard=edge.guard))
        if all(replace(r, guard=ix.TRUE) == replace(rights[0], guard=ix.TRUE) for r in rights):
            return replace(inside, right=replace(rights[0], guard=ix.TRUE))
        branches = []
        for edge in rights:
            at = self.space.restrict(node.domain, edge.guard)
            branch = self.builder.put("part", Copy(), (replace(edge, guard=ix.TRUE),), at)
            branches.append(replace(read_of(branch), guard=edge.guard))
        op = Merge(targets=tuple(tuple(map(ix.Sym, node.domain.dims)) for _ in branches))
        right_node = self.builder.put("right", op, branches, node.domain, node.types)
        return replace(inside, right=read_of(right_node))

    def divided(self, edge: Edge, diagonal: Edge, at: Domain) -> Edge:
        """What another equation divides by the element of the diagonal."""
        node = self.graph.nodes[edge.source]
        if not isinstance(node.op, Divide):
            raise NoSubstitution
        reads = []
        for read in node.inputs:
            if operand_type(self.graph, read).ndim not in (0, node.types[0].ndim):
                raise NoSubstitution
            entries = compose(edge.entries, node.domain.dims, read.entries, self.graph.universe)
            if entries is None:
                raise NoSubstitution
            reads.append(replace(read, entries=entries))
        if operand_type(self.graph, reads[0]).shape != node.types[0].shape:
            raise NoSubstitution
        divisor, own = (MatrixRead.of(self.graph, e) for e in (diagonal, reads[1]))
        if (divisor.source, divisor.out, divisor.dims) != (own.source, own.out, own.dims):
            raise NoSubstitution
        for a, b in zip(divisor.entries, own.entries, strict=True):
            if isinstance(a, ix.Slice) or isinstance(b, ix.Slice):
                raise NoSubstitution
            if not self.space.equal(a, b, at):
                raise NoSubstitution
        return reads[0]
