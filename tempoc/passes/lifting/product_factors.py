"""Sums of products as one product of factors, with letters for axes as ``einsum`` has them.

    %a = matmul %k[0:t+1], %q : [t] f32[t+1]
    %w = mul %a, %g           : [t] f32[t+1]     %y: sd,d,s,se->e of %k[0:t+1], %q, %g, %v[0:t+1]
    %y = matmul %w, %v[0:t+1] : [t] f32[8]

What is read at its reader's own point is looked into, however often it is read: contractions,
products of elements, transposes, axes of one element, and quotients by a number, which divide the
result.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass, field

from tempoc.base.effort import EFFORT
from tempoc.ops.control.control import Copy
from tempoc.ops.definition.operator import OperandError
from tempoc.ops.definition.shapes import axes_of, axis_of
from tempoc.ops.definition.types import DType
from tempoc.ops.tensor.arithmetic import Divide, Multiply
from tempoc.ops.tensor.contraction import Einsum, MatMul
from tempoc.ops.tensor.movement import ExpandDims, Squeeze, Transpose
from tempoc.ops.tensor.reduction import Sum
from tempoc.passes.analysis.einsum_form import spelling
from tempoc.poly.relations.space import Space
from tempoc.sdg.graph.graph import Edge, Graph, Node
from tempoc.sdg.graph.query import operand_type, operand_types
from tempoc.sdg.statements.build import is_identity
from tempoc.sdg.verification.verify import DomainFacts
from tempoc.symbolic import expr as ix

_DTYPES = (DType.F32, DType.F64, DType.I32, DType.I64)


@dataclass(slots=True, kw_only=True)
class ProductFactors:
    """The factors of ``root``, and the letters of their axes; ``result`` has those of its own axes.

    ``inner`` has the nodes that were looked into, with the letters of their axes, none of them
    ``whole``, ``divisors`` the numbers by which the product is divided, ``extents`` the extent of
    each letter.
    """

    graph: Graph
    space: Space
    root: Node
    whole: Collection[str] = ()
    result: str = ""
    factors: list[Edge] = field(default_factory=list)
    terms: list[str] = field(default_factory=list)
    divisors: list[Edge] = field(default_factory=list)
    inner: dict[str, str] = field(default_factory=dict)
    extents: dict[str, ix.Expr] = field(default_factory=dict)
    _spare: Iterator[str] = field(
        default_factory=lambda: iter("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ")
    )

    def letter(self, extent: ix.Expr) -> str:
        """A letter for another axis; raises ``OperandError`` if there is none left."""
        letter = next(self._spare, None)
        if letter is None:
            raise OperandError("it has more axes than letters")
        self.extents[letter] = extent
        return letter

    def add(self, edge: Edge, letters: str) -> None:
        """Add the factors of an operand whose axes have these letters.

        Raises ``OperandError`` if there are more axes than letters.
        """
        node = self.graph.nodes[edge.source]
        dtype = self.root.types[0].dtype
        looked_into = (
            len(self.inner) < EFFORT.chain_factors
            and node.name not in (self.root.name, *self.whole)
            and is_identity(edge, self.graph)
            and all(t.dtype is dtype for t in (*node.types, *operand_types(self.graph, node)))
        )
        operands = self._operands(node, letters) if looked_into else None
        if operands is None:
            self.factors.append(edge)
            self.terms.append(letters)
            return
        self.inner[node.name] = self.inner.get(node.name, "") + letters
        for operand, term in operands:
            self.add(operand, term)

    def _operands(self, node: Node, letters: str) -> list[tuple[Edge, str]] | None:
        """The operands of a node that is a product, with their letters; ``None`` if it is none."""
        match node.op:
            case MatMul() | Einsum():
                return self.contracted(node, letters)
            case Multiply():
                return [(e, self._broadcast(e, letters)) for e in node.inputs]
            case Divide() if not operand_type(self.graph, node.inputs[1]).shape:
                self.divisors.append(node.inputs[1])
                return [(node.inputs[0], self._broadcast(node.inputs[0], letters))]
            case Copy():
                return [(node.inputs[0], letters)]
            case Transpose():
                order = node.op.order(len(letters))
                places = (order.index(k) for k in range(len(letters)))
                return [(node.inputs[0], "".join(letters[p] for p in places))]
            case ExpandDims():
                axis = axis_of(node.op.axis, len(letters))
                return [(node.inputs[0], letters[:axis] + letters[axis + 1 :])]
            case Squeeze():
                ndim = operand_type(self.graph, node.inputs[0]).ndim
                gone, rest = axes_of(node.op.axes, ndim), iter(letters)
                term = (self.letter(ix.ONE) if k in gone else next(rest) for k in range(ndim))
                return [(node.inputs[0], "".join(term))]
            case _:
                return None

    def _broadcast(self, edge: Edge, letters: str) -> str:
        """The letters of an operand of an elementwise operator; axes of one element have others."""
        shape = operand_type(self.graph, edge).shape
        own = letters[len(letters) - len(shape) :]
        facts = DomainFacts(self.space, self.root.domain)
        pairs = zip(own, shape, strict=True)
        return "".join(c if facts.equal(e, self.extents[c]) else self.letter(e) for c, e in pairs)

    def contracted(self, node: Node, letters: str) -> list[tuple[Edge, str]] | None:
        """The operands of a contraction; ``None`` if one has a diagonal or a broadcast axis."""
        types = operand_types(self.graph, node)
        own = spelling(node.op, [t.ndim for t in types])
        facts = DomainFacts(self.space, node.domain)
        extents: dict[str, ix.Expr] = {}
        for term, type_ in zip(own.terms, types, strict=True):
            for letter, extent in zip(term, type_.shape, strict=True):
                if not facts.equal(extents.setdefault(letter, extent), extent):
                    return None
        if any(len({*t}) < len(t) for t in (*own.terms, own.result)):
            return None
        names = dict(zip(own.result, letters, strict=True))
        names |= {c: self.letter(e) for c, e in extents.items() if c not in names}
        terms = ("".join(names[c] for c in term) for term in own.terms)
        return list(zip(node.inputs, terms, strict=True))


def product_factors(
    graph: Graph, node: Node, space: Space, whole: Collection[str]
) -> ProductFactors | None:
    """A contraction or a sum as one product of factors; ``None`` if it is none, or has too many.

    What is ``whole`` is not looked into.
    """
    types = (*node.types, *operand_types(graph, node))
    if not node.types or types[0].weak or types[0].dtype not in _DTYPES:
        return None
    if any(t.dtype is not types[0].dtype for t in types):
        return None
    product = ProductFactors(graph=graph, space=space, root=node, whole=whole)
    try:
        product.result = "".join(product.letter(e) for e in types[0].shape)
        operands = _summed(product, node)
        for operand, letters in operands or ():
            product.add(operand, letters)
    except OperandError:
        return None
    present = {*product.result} <= {*"".join(product.terms)}
    return product if operands and present else None


def _summed(product: ProductFactors, node: Node) -> list[tuple[Edge, str]] | None:
    """The operands of a sum, or a contraction, with their letters; ``None`` for other nodes."""
    if isinstance(node.op, MatMul | Einsum):
        return product.contracted(node, product.result)
    if type(node.op) is not Sum or node.op.keepdims:
        return None
    shape, rest = operand_type(product.graph, node.inputs[0]).shape, iter(product.result)
    gone = axes_of(node.op.axes, len(shape))
    letters = (product.letter(e) if k in gone else next(rest) for k, e in enumerate(shape))
    return [(node.inputs[0], "".join(letters))]
