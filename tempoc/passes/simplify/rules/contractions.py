"""Rules for contractions: layout changes and scalings of operands are folded into them.

They hold up to rounding: the same products are summed in another order, or a common factor is
multiplied with the sum.
"""

from __future__ import annotations

from tempoc.ops.definition.operator import Op
from tempoc.ops.definition.shapes import axes_of, axis_of
from tempoc.ops.tensor import arithmetic as two
from tempoc.ops.tensor import elementwise as one
from tempoc.ops.tensor.contraction import Einsum, MatMul
from tempoc.ops.tensor.movement import BroadcastTo, ExpandDims, Transpose
from tempoc.ops.tensor.reduction import Sum
from tempoc.passes.analysis.einsum_form import Spelling, contraction, spelling
from tempoc.passes.simplify.rules.pattern import Match, Producer, Rewrite, RewriteRule, fewer
from tempoc.passes.simplify.rules.rounding import wide
from tempoc.sdg.graph.graph import Edge
from tempoc.sdg.graph.rewrite import compose
from tempoc.symbolic.expr import ONE, Slice
from tempoc.symbolic.walk import symbols

CONTRACTIONS: tuple[type[Op], ...] = (MatMul, Einsum)


def _letters(v: Match) -> Spelling:
    return spelling(v.op, [t.ndim for t in v.operands])


def _contraction(letters: Spelling, edges: tuple[Edge, ...]) -> Rewrite:
    op, ordered = contraction(letters, edges)
    return Rewrite(edges=ordered, op=op)


def _matrix_product(v: Match) -> Rewrite | None:
    """An einsum that is a matrix product."""
    assert isinstance(v.op, Einsum)
    rewrite = _contraction(_letters(v), v.node.inputs)
    return rewrite if isinstance(rewrite.op, MatMul) else None


def _with_term(letters: Spelling, slot: int, term: str) -> Spelling:
    terms = (*letters.terms[:slot], term, *letters.terms[slot + 1 :])
    return Spelling(terms, letters.result)


def _with_operand(v: Match, slot: int, edge: Edge) -> tuple[Edge, ...]:
    return (*v.node.inputs[:slot], edge, *v.node.inputs[slot + 1 :])


def _operand_with_moved_axes(v: Match) -> Rewrite | None:
    """A contraction with an operand that is transposed, broadcast, or has new axes."""
    for slot in range(len(v.node.inputs)):
        inner = v.inner(slot, Transpose, ExpandDims, BroadcastTo)
        if inner is None:
            continue
        letters = _letters(v)
        term = _term_before(v, letters, slot, inner)
        if term is not None:
            return _contraction(
                _with_term(letters, slot, term), _with_operand(v, slot, inner.edges[0])
            )
    return None


def _term_before(v: Match, letters: Spelling, slot: int, inner: Producer) -> str | None:
    """The letters of an operand before its axes were changed; ``None`` if new axes are needed."""
    term = letters.terms[slot]
    match inner.op:
        case Transpose():
            order = inner.op.order(len(term))
            return "".join(term[order.index(k)] for k in range(len(term)))
        case ExpandDims():
            axis = axis_of(inner.op.axis, len(term))
            left = term[:axis] + term[axis + 1 :]
            return left if _is_axis_redundant(v, letters, slot, term[axis], left) else None
    small = v.type_of(inner.edges[0]).shape
    extra = len(term) - len(small)
    for axis, letter in enumerate(term):
        grown = axis < extra or small[axis - extra] == ONE != v.operand(slot).shape[axis]
        if grown and (term.count(letter) > 1 or not _has_extent_elsewhere(v, letters, slot, axis)):
            return None
    return term[extra:]


def _is_axis_redundant(v: Match, letters: Spelling, slot: int, letter: str, left: str) -> bool:
    """Whether an operand's axis of extent 1 can be dropped."""
    others = "".join(t for k, t in enumerate(letters.terms) if k != slot) + left
    return letter in others or letter not in letters.result


def _has_extent_elsewhere(v: Match, letters: Spelling, slot: int, axis: int) -> bool:
    """Whether another operand has the extent to which an axis is broadcast."""
    letter, extent = letters.terms[slot][axis], v.operand(slot).shape[axis]
    for k, term in enumerate(letters.terms):
        if k != slot and letter in term:
            other = v.operand(k).shape[term.index(letter)]
            if other == extent or (other != ONE and v.facts.equal(other, extent)):
                return True
    return False


def _transposed_result(v: Match) -> Rewrite | None:
    """The transpose of a contraction."""
    assert isinstance(v.op, Transpose)
    inner = v.inner(0, *CONTRACTIONS, alone=True)
    if inner is None or not inner.aligned:
        return None
    letters = spelling(inner.op, [v.type_of(e).ndim for e in inner.edges])
    order = v.op.order(len(letters.result))
    result = "".join(letters.result[k] for k in order)
    return _contraction(Spelling(letters.terms, result), inner.edges)


def _scaled_operand(v: Match) -> Rewrite | None:
    """A contraction with a scaled operand: scale the result if that has fewer elements."""
    for slot in range(len(v.node.inputs)):
        inner = v.inner(slot, two.Multiply, two.Divide, one.Negative, alone=True)
        if inner is None or not inner.aligned or not fewer(v.result.shape, v.operand(slot).shape):
            continue
        match inner.op:
            case one.Negative():
                return Rewrite(
                    edges=(v.make(v.op, *_with_operand(v, slot, inner.edges[0])),), op=inner.op
                )
            case _:
                k = _scalar_operand(v, inner)
        if k is not None:
            product = v.make(v.op, *_with_operand(v, slot, inner.edges[1 - k]))
            return Rewrite(edges=(product, inner.edges[k]), op=inner.op)
    return None


def _scalar_operand(v: Match, inner: Producer) -> int | None:
    """The slot of the scalar in a product or quotient with an array, if there is one."""
    for k in (1,) if isinstance(inner.op, two.Divide) else (1, 0):
        if not v.type_of(inner.edges[k]).shape and v.type_of(inner.edges[1 - k]).shape:
            return k
    return None


def _summed_axes(v: Match) -> Rewrite | None:
    """A sum over axes of a contraction: drop their letters from the result."""
    if type(v.op) is not Sum or v.op.keepdims:
        return None
    inner = v.inner(0, *CONTRACTIONS, alone=True)
    if inner is None or not inner.aligned:
        return None
    letters = spelling(inner.op, [v.type_of(e).ndim for e in inner.edges])
    axes = axes_of(v.op.axes, len(letters.result))
    result = "".join(c for k, c in enumerate(letters.result) if k not in axes)
    return _contraction(Spelling(letters.terms, result), inner.edges)


def _summed_products(v: Match) -> Rewrite | None:
    """A sum of products that are larger than their operands: a sum of outer products."""
    if type(v.op) is not Sum or v.op.keepdims:
        return None
    (edge,) = v.node.inputs
    node = v.nodes[edge.source]
    sliced = any(isinstance(e, Slice) for e in edge.entries)
    if v.uses[node.name] != 1 or not isinstance(node.op, (two.Multiply, *CONTRACTIONS)):
        return None
    if not sliced and not isinstance(node.op, two.Multiply):
        return None
    shapes = [v.type_of(e).shape for e in node.inputs]
    if not all(fewer(s, node.types[0].shape) for s in shapes):
        return None
    reads = [read_at(v, edge, read) for read in node.inputs]
    ranks = [len(s) for s in shapes]
    letters = _elementwise_letters(max(ranks), ranks) if isinstance(node.op, two.Multiply) else None
    letters = letters or spelling(node.op, ranks)
    spare = iter(c for c in "ABCDEFGH" if c not in "".join(letters.terms))
    dims = node.domain.dims
    ranging = [d for d, e in zip(dims, edge.entries, strict=True) if isinstance(e, Slice)]
    names = {d: next(spare) for d in ranging}
    terms, edges = [], []
    for term, read in zip(letters.terms, reads, strict=True):
        if read is None:
            return None
        edges.append(read[0])
        terms.append("".join(names[d] for d in read[1]) + term)
    if not all(c in "".join(terms) for c in names.values()):
        return None
    all_letters = "".join(names.values()) + letters.result
    axes = axes_of(v.op.axes, len(all_letters))
    result = "".join(c for k, c in enumerate(all_letters) if k not in axes)
    return _contraction(Spelling(tuple(terms), result), tuple(edges))


def _elementwise_letters(rank: int, ranks: list[int]) -> Spelling:
    """The einsum letters of an elementwise product."""
    letters = "ijklmnopqrst"[:rank]
    return Spelling(tuple(letters[rank - n :] for n in ranks), letters)


def read_at(v: Match, edge: Edge, read: Edge) -> tuple[Edge, tuple[str, ...]] | None:
    """An operand's read composed with the read ``edge`` of its node; and its sliced dimensions."""
    node = v.nodes[edge.source]
    at = dict(zip(node.domain.dims, edge.entries, strict=True))
    named = [n for e in read.entries for n in symbols(e)]
    dims = tuple(d for d in node.domain.dims if d in named or not isinstance(at[d], Slice))
    outer = tuple(at[d] for d in dims)
    entries = compose(outer, dims, read.entries, v.graph.universe)
    if entries is None:
        return None
    ranging = [d for d in dims if isinstance(at[d], Slice)]
    if any(n in ranging for e in v.type_of(read).shape for n in symbols(e)):
        return None
    met = tuple(d for e in read.entries for d in symbols(e) if d in ranging)
    composed = Edge(source=read.source, out=read.out, entries=entries, span=edge.span)
    return composed, met


_LINEAR: tuple[type[Op], ...] = (two.Multiply, two.Divide, *CONTRACTIONS)


def _common_factor(v: Match) -> Rewrite | None:
    """Two terms of a sum with a common factor, also with another term between them."""
    x, y = v.node.inputs
    factored = _factored(v, x, y)
    if factored is not None:
        return Rewrite(edges=v.nodes[factored.source].inputs, op=v.nodes[factored.source].op)
    if not isinstance(v.op, two.Add):
        return None
    for part, term in ((x, y), (y, x)):
        inner = v.behind(part, two.Add, alone=True)
        if inner is None or not inner.aligned:
            continue
        for k in (1, 0):
            factored = _factored(v, inner.edges[k], term)
            if factored is not None:
                return Rewrite(edges=(inner.edges[1 - k], factored), op=two.Add())
    return None


def _factored(v: Match, x: Edge, y: Edge) -> Edge | None:
    """``a * x + b * x`` as ``(a + b) * x``; also for contractions and quotients."""
    first, second = v.behind(x, *_LINEAR, alone=True), v.behind(y, *_LINEAR, alone=True)
    if first is None or second is None or first.op != second.op:
        return None
    if not (first.aligned and second.aligned) or v.type_of(x) != v.type_of(y):
        return None
    a, b = first.edges, second.edges
    if len(a) != 2 or len(b) != 2:
        return None
    places = [(1, 1)] if isinstance(first.op, two.Divide) else [(1, 1), (0, 0)]
    if isinstance(first.op, two.Multiply):
        places += [(0, 1), (1, 0)]
    for k, j in places:
        same = a[k] == b[j] and v.type_of(a[1 - k]) == v.type_of(b[1 - j])
        if same and v.type_of(a[1 - k]).dtype is v.result.dtype:
            total = v.make(v.op, a[1 - k], b[1 - j])
            edges = (total, a[k]) if k == 1 else (a[k], total)
            return v.make(first.op, *edges)
    return None


CONTRACTED: tuple[RewriteRule, ...] = (
    RewriteRule(name="a product of matrices", ops=(Einsum,), find=_matrix_product, exact=False),
    RewriteRule(
        name="a change of axes before a contraction",
        ops=CONTRACTIONS,
        find=_operand_with_moved_axes,
        exact=False,
    ),
    RewriteRule(
        name="a transpose of a contraction", ops=(Transpose,), find=_transposed_result, exact=False
    ),
    RewriteRule(
        name="a scaled operand of a contraction",
        ops=CONTRACTIONS,
        find=wide(_scaled_operand),
        exact=False,
    ),
    RewriteRule(name="a sum of a contraction", ops=(Sum,), find=_summed_axes, exact=False),
    RewriteRule(
        name="a sum of outer products", ops=(Sum,), find=wide(_summed_products), exact=False
    ),
    RewriteRule(
        name="a * x + b * x = (a + b) * x",
        ops=(two.Add, two.Subtract),
        find=wide(_common_factor),
        exact=False,
    ),
)
