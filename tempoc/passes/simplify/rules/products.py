"""Rules for sums of products of several factors: what does not vary leaves the sum.

    %p = div (%a * expand_dims(%x) * %y), %s : [t] f32[8, 8]
    %m = sum{axes=(0,)} %p[0:T]              : []  f32[8, 8]
    ->
    %w = div %y, %s                          : [t] f32[8]
    %e = einsum{"ti,tj->ij"} %x[0:T], %w[0:T]: []  f32[8, 8]
    %m = mul %a, %e                          : []  f32[8, 8]

No product of all factors is ever made. A matrix that is the same at all points comes first:

    %o = einsum{"i,j->ij"} %x, %y, %p = mul %o, %W : [t] f32[8, 8]
    %m = sum{axes=(0, 1)} %p                       : [t] f32
    ->
    %w = matmul %W, %y                             : [t] f32[8]
    %m = matmul %x, %w                             : [t] f32

The rules hold up to rounding.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace

from tempoc.base.cost_model import MODEL
from tempoc.ops.definition.operator import Op
from tempoc.ops.definition.shapes import axes_of, axis_of
from tempoc.ops.tensor import arithmetic as binary
from tempoc.ops.tensor.contraction import Einsum
from tempoc.ops.tensor.elementwise import Cast
from tempoc.ops.tensor.movement import ExpandDims
from tempoc.ops.tensor.reduction import Mean, Sum
from tempoc.ops.tensor.source import IndexValue, Literal
from tempoc.passes.analysis.einsum_form import Spelling, contraction, spelling
from tempoc.passes.simplify.rules.contractions import term_at
from tempoc.passes.simplify.rules.pattern import Match, Rewrite, rule
from tempoc.sdg.builder import read_of
from tempoc.sdg.graph.graph import Edge, Node
from tempoc.sdg.statements.build import identity
from tempoc.sdg.verification.verify import DomainFacts
from tempoc.symbolic import expr as ix
from tempoc.symbolic.walk import symbols

_AXES = "ijklmnopqrst"
_DIMS = "ABCDEFGH"
_FACTORED = (binary.Multiply, binary.Divide)


@dataclass(frozen=True, slots=True)
class ProductFactor:
    """A read at the point of the product; ``term`` has a letter for each of its axes.

    ``letters`` has those of the dimensions that it varies with, too: of those that are sliced, and,
    as ``@t``, of those of the sum's own point. ``divides``: it is a divisor.
    """

    edge: Edge
    term: str
    letters: frozenset[str]
    divides: bool


@dataclass(slots=True, kw_only=True)
class _Product:
    """A product that is summed: ``dims`` are the letters of the dimensions over which a slice is
    read, ``axes`` those of its own axes, ``gone`` those that are summed."""

    match: Match
    node: Node
    read: Edge
    dims: dict[str, str]
    axes: str
    gone: frozenset[str]
    factors: list[ProductFactor] = field(default_factory=list)

    @property
    def remaining(self) -> str:
        """The letters of the sum."""
        return "".join(c for c in (*self.dims.values(), *self.axes) if c not in self.gone)

    def take_apart(self, node: Node, divides: bool, axes: str) -> bool:
        """Add the factors of a node whose axes have these letters; false if they have others."""
        pairs = [(edge, divides) for edge in node.inputs]
        if isinstance(node.op, binary.Divide):
            pairs[1] = node.inputs[1], not divides
        return all(self._take(edge, inverse, axes) for edge, inverse in pairs)

    def _take(self, edge: Edge, divides: bool, axes: str) -> bool:
        v = self.match
        node, shape = v.nodes[edge.source], v.type_of(edge).shape
        if v.dtype_of(edge) is not v.result.dtype:
            return False
        term = axes[len(axes) - len(shape) :]
        own = edge.entries == identity(node.domain) and node.domain == self.node.domain
        if own and isinstance(node.op, ExpandDims):
            axis = axis_of(node.op.axis, len(shape))
            edge, term = node.inputs[0], term[:axis] + term[axis + 1 :]
            shape = v.type_of(edge).shape
        elif own and isinstance(node.op, _FACTORED) and v.uses[node.name] == 1:
            return self.take_apart(node, divides, term)
        extents = dict(zip(self.axes, self.node.types[0].shape, strict=True))
        facts = DomainFacts(v.space, self.node.domain)
        pairs = [(extents[c], e) for c, e in zip(term, shape, strict=True)]
        if any(a != b and not facts.equal(a, b) for a, b in pairs):
            return False
        if own and edge.source == node.name and not divides and _is_outer(v, node):
            return self._take_outer(node, term)
        return self._take_term(edge, term, divides)

    def _take_outer(self, node: Node, term: str) -> bool:
        """Add the operands of an outer product, whose axes are those of the product."""
        v = self.match
        letters = spelling(node.op, _ranks(v, node))
        letter_of = dict(zip(letters.result, term, strict=True))
        named = ["".join(letter_of[c] for c in t) for t in letters.terms]
        return all(
            list(t) == sorted(t) and v.dtype_of(e) is v.result.dtype and self._take_term(e, t)
            for e, t in zip(node.inputs, named, strict=True)
        )

    def _take_term(self, edge: Edge, term: str, divides: bool = False) -> bool:
        """Add a factor whose axes have these letters; false if what it reads cannot be."""
        composed = term_at(self.match, self.read, edge, term, self.dims)
        if composed is None:
            return False
        read, whole = composed
        at = {s for e in read.entries for s in self._varying(e)}
        points = (f"@{d}" for d in self.match.node.domain.dims if d in at)
        self.factors.append(ProductFactor(edge, term, frozenset((*whole, *points)), divides))
        return True

    def _varying(self, entry: ix.Entry) -> tuple[str, ...]:
        """The dimensions with which what is read at an entry varies; windows move along them.

        Of ``k[0:t+1]`` each ``t`` reads a part of the same.
        """
        if not isinstance(entry, ix.Slice):
            return symbols(entry)
        is_dim = self.match.space.universe.is_dim
        if any(map(is_dim, symbols(ix.sub(entry.hi, entry.lo)))):
            return ()
        return (*symbols(entry.lo), *symbols(entry.hi))

    def groups(self) -> list[list[ProductFactor]]:
        """The factors that vary over the sum; those of a group have no letters that its first one
        does not have, but for those that are summed."""
        varying = [f for f in self.factors if f.letters & self.gone]
        groups: list[list[ProductFactor]] = []
        for factor in sorted(varying, key=lambda f: -len(f.letters - self.gone)):
            own = factor.letters - self.gone
            fits = [g for g in groups if own <= g[0].letters]
            if fits:
                fits[-1].append(factor)  # the smaller one
            else:
                groups.append([factor])
        return groups

    def weighted_rows(self, group: Sequence[ProductFactor]) -> list[list[ProductFactor]]:
        """Rows and a weight for each, if that is what factors are: a product with a matrix.

        XLA for CPUs sums other than last axes of many elements by a library that is slow with it:
        256 times 5 rows of 32 take 10 us, as a product 3 (2026-11-27, JAX 0.10.2, with the call).
        """
        axes = {c for f in group for c in f.letters - self.gone if not c.startswith("@")}
        rows = [f for f in group if axes <= f.letters]
        weights = [f for f in group if f not in rows]
        own = [frozenset().union(*(f.letters for f in part)) for part in (rows, weights)]
        if not rows or own[0] & self.gone != own[1] & self.gone or axes <= own[1]:
            return []
        parts = [rows, weights]
        return [] if any(all(f.divides for f in part) for part in parts) else parts

    def _is_small(self, edge: Edge) -> bool:
        """Whether a matrix is known to have few elements."""
        count = ix.product(self.match.type_of(edge).shape)
        size = self.match.dtype_of(edge).itemsize
        return isinstance(count, ix.Const) and count.value * size < MODEL.weighty_bytes

    def halves(self) -> list[list[ProductFactor]]:
        """Of ``sum(x * W * y)`` with a matrix ``W`` for all points: ``x``, and ``W @ y``.

        The product of all has as many elements at each point as the matrix, and ``W @ y`` those of
        ``x``: for all points at once it is a product of matrices. 600 points of 256 x 256: 360 ms,
        1.1 as products; each in a step of a loop 18 ms, 2.8. With 3 x 3 a step of a loop takes
        longer, 57 ns instead of 34 (2026-11-28, on a busy machine): small ones are left.
        """
        if any(f.divides for f in self.factors):
            return []
        for y in (f for f in self.factors if len(f.term) == 1 and f.term in self.gone):
            letter = y.term
            having = [f for f in self.factors if letter in f.letters and f is not y]
            if len(having) != 1:
                continue
            (w,) = having
            others = [f for f in self.factors if f not in (w, y)]
            axes = w.term.replace(letter, "")
            points = {c for c in y.letters if c.startswith("@")}
            if not points or points & w.letters or [f.term for f in others] != [axes]:
                continue
            if not axes or not {*axes} <= self.gone or self._is_small(w.edge):
                continue
            op, edges = contraction(Spelling((w.term, letter), axes), (w.edge, y.edge))
            letters = (w.letters | y.letters) - {letter}
            part = ProductFactor(_at_points(self, op, edges), axes, letters, False)
            return [others, [part]]
        return []


@rule("a sum of products of many factors", Sum, Mean, exact=False, wide=True)
def _summed_factors(v: Match, op: Sum | Mean) -> Rewrite | None:
    """A sum over slices and axes of products: a contraction, times the factors that do not vary.

    There is a contraction if each of two groups of factors varies with something that the other one
    does not vary with, be it an axis or a dimension of the point; or if rows are weighted; or if a
    matrix that does not vary with the point stands between two vectors.
    """
    product = _product(v, op)
    if product is None:
        return None
    outer = [_of_all_points(v, f) for f in product.factors if not f.letters & product.gone]
    if not all(_is_defined(v, f) for f in outer):
        return None
    groups = product.groups()
    if len(groups) == 1:
        groups = product.weighted_rows(groups[0]) or product.halves() or groups
    if not groups or len(groups) > 2 or (len(groups) < 2 and not outer):
        return None
    if any(all(f.divides for f in g) for g in groups):
        return None
    if any(c not in product.axes for f in outer for c in f.letters if not c.startswith("@")):
        return None
    letters = {c for g in groups for f in g for c in f.letters}
    inner = "".join(c for c in product.remaining if c in letters)
    total = _times(v, _contracted(product, groups, inner), inner, outer, product.remaining)
    return total if total is None or isinstance(op, Sum) else _divided(v, product, total)


def _of_all_points(v: Match, factor: ProductFactor) -> ProductFactor:
    """A factor; one that is a number without the domain of the product."""
    op = v.nodes[factor.edge.source].op
    return replace(factor, edge=v.make(op)) if isinstance(op, Literal) else factor


def _is_defined(v: Match, factor: ProductFactor) -> bool:
    """Whether a factor is defined wherever the sum is: it may not be where that is empty."""
    edge = factor.edge
    return v.space.outside(v.node.domain, edge.entries, v.nodes[edge.source].domain) is None


def _is_outer(v: Match, node: Node) -> bool:
    """Whether a node is a contraction that sums nothing, and has no axis twice."""
    if not isinstance(node.op, Einsum):
        return False
    letters = spelling(node.op, _ranks(v, node))
    given = "".join(letters.terms)
    return len({*given}) == len(given) and {*given} == {*letters.result}


def _ranks(v: Match, node: Node) -> tuple[int, ...]:
    """How many axes the operands of a node have."""
    return tuple(v.type_of(e).ndim for e in node.inputs)


def _divided(v: Match, product: _Product, total: Rewrite) -> Rewrite:
    """The mean, given the sum."""
    (operand,) = map(v.type_of, v.node.inputs)
    letters = (*product.dims.values(), *product.axes)
    gone = [e for c, e in zip(letters, operand.shape, strict=True) if c in product.gone]
    count = v.put("count", IndexValue(expr=ix.product(gone)))
    number = v.put("number", Cast(dtype=v.result.dtype), (count,))
    v.new_nodes += (count, number)
    return Rewrite((v.make(total.op, *total.edges), read_of(number)), binary.Divide())


def _product(v: Match, op: Sum | Mean) -> _Product | None:
    """The product that a node sums, taken apart."""
    (edge,) = v.node.inputs
    node = v.nodes[edge.source]
    if op.keepdims or v.uses[node.name] != 1 or v.node.vector or node.vector:
        return None
    if not isinstance(node.op, _FACTORED):
        return None
    sliced = [
        d for d, e in zip(node.domain.dims, edge.entries, strict=True) if isinstance(e, ix.Slice)
    ]
    if len(sliced) > len(_DIMS) or node.types[0].ndim > len(_AXES):
        return None
    dims, axes = dict(zip(sliced, _DIMS, strict=False)), _AXES[: node.types[0].ndim]
    letters = (*dims.values(), *axes)
    gone = frozenset(letters[k] for k in axes_of(op.axes, len(letters)))
    product = _Product(match=v, node=node, read=edge, dims=dims, axes=axes, gone=gone)
    whole = product.take_apart(node, False, axes) and len(product.factors) > 1
    return product if whole and _is_contracted_well(product) else None


def _is_contracted_well(product: _Product) -> bool:
    """Whether nothing is lost if the sum becomes a contraction.

    A sum over ``s <= t`` of what depends on ``s`` alone is a running sum, which a contraction with
    masks is not. But if a factor is another one at each ``t``, as in ``score[t, s] * k[s]``, there
    is none.
    """
    v = product.match
    letters = (*product.dims.values(), *product.axes)
    extents = zip(letters, v.type_of(product.read).shape, strict=True)
    ends = {s for c, e in extents if c in product.gone for s in symbols(e)}
    varying = [f.letters for f in product.factors if f.letters & product.gone]
    ragged = filter(v.space.universe.is_dim, ends)
    return all(any(f"@{d}" in own for own in varying) for d in ragged)


def _contracted(product: _Product, groups: Sequence[list[ProductFactor]], result: str) -> Rewrite:
    """The sum of the products of the factors that vary."""
    v = product.match
    terms, edges = [], []
    for group in groups:
        factor = _joined(product, group)
        composed = term_at(v, product.read, factor.edge, factor.term, product.dims)
        assert composed is not None
        edges.append(composed[0])
        terms.append(composed[1])
    if len(edges) == 1:
        axes = tuple(k for k, c in enumerate(terms[0]) if c not in result)
        return Rewrite(tuple(edges), Sum(axes=axes))
    op, ordered = contraction(Spelling(tuple(terms), result), tuple(edges))
    return Rewrite(ordered, op)


def _joined(product: _Product, group: list[ProductFactor]) -> ProductFactor:
    """The product of a group, at each point."""
    first = next(f for f in group if not f.divides)
    rest = [f for f in group if f is not first]
    letters = frozenset(c for f in group for c in f.letters)
    axes = "".join(c for c in product.axes if c in letters)
    edge, term = first.edge, first.term
    for factor in rest:
        wide = "".join(c for c in product.axes if c in {*term, *factor.term})
        a, b = (_spread(product, e, t, wide) for e, t in ((edge, term), (factor.edge, factor.term)))
        op = binary.Divide() if factor.divides else binary.Multiply()
        edge, term = _at_points(product, op, (a, b)), wide
    assert term == axes
    return ProductFactor(edge, term, letters, False)


def _spread(product: _Product, edge: Edge, term: str, axes: str) -> Edge:
    """A factor with axes of extent 1 where others have axes after its first."""
    for k, letter in enumerate(axes):
        if letter not in term and any(c in term for c in axes[:k]):
            edge = _at_points(product, ExpandDims(axis=sum(c in term for c in axes[:k])), (edge,))
            term = "".join(c for c in axes if c in {*term, letter})
    return edge


def _at_points(product: _Product, op: Op, edges: Iterable[Edge]) -> Edge:
    """A new node at the points of the product."""
    v = product.match
    node = v.put(op.name, op, edges, product.node.domain)
    v.new_nodes.append(node)
    return read_of(node)


def _times(
    v: Match, total: Rewrite, inner: str, outer: Sequence[ProductFactor], remaining: str
) -> Rewrite | None:
    """The sum, whose axes have the letters ``inner``, times what does not vary over it."""
    for factor in outer:
        edge, term = v.make(total.op, *total.edges), factor.term
        wide = "".join(c for c in remaining if c in {*inner, *term})
        ends = [_expanded(v, e, t, wide) for e, t in ((edge, inner), (factor.edge, term))]
        op = binary.Divide() if factor.divides else binary.Multiply()
        total, inner = Rewrite((ends[0], ends[1]), op), wide
    return total if inner == remaining else None


def _expanded(v: Match, edge: Edge, term: str, axes: str) -> Edge:
    """A read with axes of extent 1 where another one has axes after its first."""
    for k, letter in enumerate(axes):
        if letter not in term and any(c in term for c in axes[:k]):
            edge = v.make(ExpandDims(axis=sum(c in term for c in axes[:k])), edge)
            term = "".join(c for c in axes if c in {*term, letter})
    return edge


PRODUCTS = (_summed_factors,)
