"""Rules for contractions: layout changes and scalings of operands are folded into them.

They hold up to rounding: the same products are summed in another order, or a common factor is
multiplied with the sum.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace

from tempoc.ops.definition.operator import Op
from tempoc.ops.definition.shapes import axes_of, axis_of, is_smaller
from tempoc.ops.tensor import arithmetic as binary, elementwise as unary
from tempoc.ops.tensor.contraction import Einsum, MatMul
from tempoc.ops.tensor.movement import BroadcastTo, ExpandDims, Transpose
from tempoc.ops.tensor.reduction import Sum
from tempoc.passes.analysis.einsum_form import Spelling, contraction, spelling
from tempoc.passes.simplify.rules.pattern import Match, Producer, Rewrite, RewriteRule, rule
from tempoc.sdg.graph.graph import Edge
from tempoc.sdg.graph.rewrite import read_axes, read_through
from tempoc.symbolic import expr as ix
from tempoc.symbolic.domain import slice_count
from tempoc.symbolic.walk import symbols

_CONTRACTIONS = (MatMul, Einsum)
_LINEAR = (binary.Multiply, binary.Divide, *_CONTRACTIONS)

SCALINGS = (binary.Multiply, binary.Divide, unary.Negative)
"""What can scale a tensor by a factor."""


def _contraction(letters: Spelling, edges: tuple[Edge, ...]) -> Rewrite:
    op, ordered = contraction(letters, edges)
    return Rewrite(ordered, op)


def _spelling_of(v: Match, op: Op, edges: tuple[Edge, ...]) -> Spelling:
    return spelling(op, [v.type_of(e).ndim for e in edges])


@rule("a product of matrices", Einsum, exact=False)
def _matrix_product(v: Match, op: Einsum) -> Rewrite | None:
    """An einsum that is a matrix product."""
    rewrite = _contraction(_spelling_of(v, op, v.node.inputs), v.node.inputs)
    return rewrite if isinstance(rewrite.op, MatMul) else None


@rule("a change of axes before a contraction", *_CONTRACTIONS, exact=False)
def _operand_with_moved_axes(v: Match, op: Op) -> Rewrite | None:
    """A contraction with an operand that is transposed, broadcast, or has new axes."""
    for slot in range(len(v.node.inputs)):
        inner = v.producer(slot, Transpose, ExpandDims, BroadcastTo)
        if inner is None:
            continue
        letters = _spelling_of(v, op, v.node.inputs)
        term = _term_before(v, letters, slot, inner)
        if term is not None:
            terms = (*letters.terms[:slot], term, *letters.terms[slot + 1 :])
            edges = v.with_operand(slot, inner.edges[0])
            return _contraction(Spelling(terms, letters.result), edges)
    return None


def _term_before(v: Match, letters: Spelling, slot: int, inner: Producer[Op]) -> str | None:
    """The letters of an operand before its axes were changed; ``None`` if new axes are needed."""
    term = letters.terms[slot]
    match inner.op:
        case Transpose():
            order = inner.op.order(len(term))
            return "".join(term[order.index(k)] for k in range(len(term)))
        case ExpandDims():
            axis = axis_of(inner.op.axis, len(term))
            left = term[:axis] + term[axis + 1 :]
            others = "".join(t for k, t in enumerate(letters.terms) if k != slot) + left
            redundant = term[axis] in others or term[axis] not in letters.result
            return left if redundant else None
    small = v.type_of(inner.edges[0]).shape
    extra = len(term) - len(small)
    for axis, letter in enumerate(term):
        grown = axis < extra or small[axis - extra] == ix.ONE != v.operand(slot).shape[axis]
        if grown and (term.count(letter) > 1 or not _has_extent_elsewhere(v, letters, slot, axis)):
            return None
    return term[extra:]


def _has_extent_elsewhere(v: Match, letters: Spelling, slot: int, axis: int) -> bool:
    """Whether another operand has the extent to which an axis is broadcast."""
    letter, extent = letters.terms[slot][axis], v.operand(slot).shape[axis]
    for k, term in enumerate(letters.terms):
        if k != slot and letter in term:
            other = v.operand(k).shape[term.index(letter)]
            if other == extent or (other != ix.ONE and v.facts.equal(other, extent)):
                return True
    return False


@rule("a transpose of a contraction", Transpose, of=_CONTRACTIONS, own=True, exact=False)
def _transposed_result(v: Match, op: Transpose, inner: Producer[Op]) -> Rewrite:
    letters = _spelling_of(v, inner.op, inner.edges)
    result = "".join(letters.result[k] for k in op.order(len(letters.result)))
    return _contraction(Spelling(letters.terms, result), inner.edges)


@rule("a scaled operand of a contraction", *_CONTRACTIONS, exact=False, wide=True)
def _scaled_operand(v: Match, _: Op) -> Rewrite | None:
    """A contraction with a scaled operand: scale the result if that has fewer elements."""

    def is_scalar(scale: Edge, other: Edge) -> bool:
        return not v.type_of(scale).shape and v.type_of(other).shape != ()

    for slot in range(len(v.node.inputs)):
        inner = v.producer(slot, *SCALINGS, own=True)
        if inner is not None and is_smaller(v.result.shape, v.operand(slot).shape):
            rewrite = scale_result(v, slot, inner, is_scalar)
            if rewrite is not None:
                return rewrite
    return None


def scale_result(
    v: Match, slot: int, inner: Producer[Op], is_scale: Callable[[Edge, Edge], bool]
) -> Rewrite | None:
    """``f(x * s) = f(x) * s``, also for ``x / s`` and ``-x``.

    ``is_scale``: whether a factor can be ``s`` while the other one is ``x``.
    """
    if isinstance(inner.op, unary.Negative):
        return Rewrite((v.make(v.op, *v.with_operand(slot, inner.edges[0])),), inner.op)
    for k in (1,) if isinstance(inner.op, binary.Divide) else (1, 0):
        if is_scale(inner.edges[k], inner.edges[1 - k]):
            unscaled = v.make(v.op, *v.with_operand(slot, inner.edges[1 - k]))
            return Rewrite((unscaled, inner.edges[k]), inner.op)
    return None


def _summed(letters: Spelling, op: Sum, edges: tuple[Edge, ...]) -> Rewrite | None:
    """The sum of a contraction over some of its axes: drop their letters from the result."""
    axes = axes_of(op.axes, len(letters.result))
    result = "".join(c for k, c in enumerate(letters.result) if k not in axes)
    return None if op.keepdims else _contraction(Spelling(letters.terms, result), edges)


@rule("a sum of a contraction", Sum, of=_CONTRACTIONS, own=True, exact=False)
def _summed_axes(v: Match, op: Sum, inner: Producer[Op]) -> Rewrite | None:
    return _summed(_spelling_of(v, inner.op, inner.edges), op, inner.edges)


@rule("an axis that one factor has", Einsum, exact=False, wide=True)
def _axis_of_one_factor(v: Match, op: Einsum) -> Rewrite | None:
    """A range of values of which a product has the sum: these sums may become a running one."""
    letters = _spelling_of(v, op, v.node.inputs)
    for slot, (term, edge) in enumerate(zip(letters.terms, v.node.inputs, strict=True)):
        ranges = slice_count(edge.entries)
        others = "".join((*letters.terms[:slot], *letters.terms[slot + 1 :], letters.result))
        axes = tuple(k for k, c in enumerate(term[:ranges]) if c not in others + term[:k])
        if not axes or any(term.count(term[k]) > 1 for k in axes) or len(letters.terms) < 2:
            continue
        summed = v.make(Sum(axes=axes), edge)
        if v.type_of(summed).dtype is not v.type_of(edge).dtype:
            continue
        rest = "".join(c for k, c in enumerate(term) if k not in axes)
        terms = (*letters.terms[:slot], rest, *letters.terms[slot + 1 :])
        return _contraction(Spelling(terms, letters.result), v.with_operand(slot, summed))
    return None


@rule("a sum of outer products", Sum, exact=False, wide=True)
def _summed_products(v: Match, op: Sum) -> Rewrite | None:
    """A sum of products that are larger than their operands."""
    (edge,) = v.node.inputs
    node = v.nodes[edge.source]
    ranging = [
        d for d, e in zip(node.domain.dims, edge.entries, strict=True) if isinstance(e, ix.Slice)
    ]
    if v.uses[node.name] != 1 or not isinstance(node.op, (binary.Multiply, *_CONTRACTIONS)):
        return None
    if not ranging and not isinstance(node.op, binary.Multiply):
        return None
    shapes = [v.type_of(e).shape for e in node.inputs]
    if not all(is_smaller(s, node.types[0].shape) for s in shapes):
        return None
    if isinstance(node.op, binary.Multiply):
        axes = "ijklmnopqrst"[: node.types[0].ndim]
        letters = Spelling(tuple(axes[len(axes) - len(s) :] for s in shapes), axes)
    else:
        letters = _spelling_of(v, node.op, node.inputs)
    spare = (c for c in "ABCDEFGH" if c not in "".join(letters.terms))
    names = dict(zip(ranging, spare, strict=False))
    terms, edges = [], []
    for term, operand in zip(letters.terms, node.inputs, strict=True):
        read = term_at(v, edge, operand, term, names)
        if read is None:
            return None
        edges.append(read[0])
        terms.append(read[1])
    if not all(c in "".join(terms) for c in names.values()):
        return None
    whole = Spelling(tuple(terms), "".join(names.values()) + letters.result)
    return _summed(whole, op, tuple(edges))


def read_at(v: Match, edge: Edge, read: Edge) -> tuple[Edge, tuple[str, ...]] | None:
    """An operand's read composed with the read ``edge`` of its node; and its sliced dimensions."""
    node = v.nodes[edge.source]
    at = node.domain.at(edge.entries)
    composed = read_through(node, at, read, v.nodes[read.source], v.graph.universe)
    if composed is None:
        return None
    met = tuple(d for e in read.entries for d in symbols(e) if isinstance(at.get(d), ix.Slice))
    return replace(composed, span=edge.span), met


def term_at(
    v: Match, edge: Edge, read: Edge, term: str, dims: Mapping[str, str]
) -> tuple[Edge, str] | None:
    """An operand's read composed with the read ``edge`` of its node; and the letters of its axes.

    ``term`` are those before, ``dims`` has one for each dimension that ``edge`` slices.
    """
    node = v.nodes[edge.source]
    at = node.domain.at(edge.entries)
    read_there = read_axes(node, at, read, v.nodes[read.source], v.graph.universe)
    if read_there is None:
        return None
    composed, axes = read_there
    own = iter(term)
    letters = [dims[d] if d else next(own) for d in axes]
    return replace(composed, span=edge.span), "".join((*letters, *own))


@rule("a * x + b * x = (a + b) * x", binary.Add, binary.Subtract, exact=False, wide=True)
def _common_factor(v: Match, op: Op) -> Rewrite | None:
    """Two terms of a sum with a common factor, also with another term between them."""
    x, y = v.node.inputs
    factored = _factored(v, x, y)
    if factored is not None:
        return Rewrite(v.nodes[factored.source].inputs, v.nodes[factored.source].op)
    if not isinstance(op, binary.Add):
        return None
    for part, term in ((x, y), (y, x)):
        inner = v.producer(part, binary.Add, own=True)
        for k in (1, 0) if inner is not None else ():
            assert inner is not None
            factored = _factored(v, inner.edges[k], term)
            if factored is not None:
                return Rewrite((inner.edges[1 - k], factored), op)
    return None


def _factored(v: Match, x: Edge, y: Edge) -> Edge | None:
    """``a * x + b * x`` as ``(a + b) * x``; also for contractions and quotients."""
    first, second = v.producer(x, *_LINEAR, own=True), v.producer(y, *_LINEAR, own=True)
    if first is None or second is None or first.op != second.op:
        return None
    a, b = first.edges, second.edges
    if v.type_of(x) != v.type_of(y) or len(a) != 2 or len(b) != 2:
        return None
    places = [(1, 1)] if isinstance(first.op, binary.Divide) else [(1, 1), (0, 0)]
    if isinstance(first.op, binary.Multiply):
        places += [(0, 1), (1, 0)]
    for k, j in places:
        same = a[k] == b[j] and v.type_of(a[1 - k]) == v.type_of(b[1 - j])
        if same and v.type_of(a[1 - k]).dtype is v.result.dtype:
            total = v.make(v.op, a[1 - k], b[1 - j])
            edges = (total, a[k]) if k == 1 else (a[k], total)
            return v.make(first.op, *edges)
    return None


CONTRACTED: tuple[RewriteRule, ...] = (
    _matrix_product, _operand_with_moved_axes, _transposed_result, _scaled_operand, _summed_axes,
    _summed_products, _axis_of_one_factor, _common_factor,
)  # fmt: skip
