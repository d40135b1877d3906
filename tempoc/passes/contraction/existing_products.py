"""Sums of products of which another product of the program has summed a part already.

    %y = matmul %w, %v[0:t+1]  : [t] f32[8]
    %c = matmul %v[0:t+1], %d  : [t] f32[t+1]
    %m = mul %c, %w            : [t] f32[t+1]
    %s = sum %m                : [t] f32       ->    %s = matmul %y, %d : [t] f32

The derivative of softmax sums shares times their cotangents. After attention that is the result
times its cotangent (FlashAttention-2, algorithm 2, line 4): it takes no pass over all scores, and
with tiles no loop of its own.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace

from tempoc.ops.control.control import Copy
from tempoc.ops.definition.operator import OperandError
from tempoc.ops.definition.shapes import axes_of
from tempoc.ops.tensor.arithmetic import Multiply
from tempoc.ops.tensor.contraction import Einsum, MatMul
from tempoc.ops.tensor.movement import ExpandDims
from tempoc.ops.tensor.reduction import Sum
from tempoc.passes.analysis.einsum_form import Spelling, contraction, spelling
from tempoc.passes.analysis.size_estimate import estimated_sizes
from tempoc.passes.context import PassContext
from tempoc.sdg.builder import NodeBuilder, read_of
from tempoc.sdg.graph.graph import Edge, Graph, Node
from tempoc.sdg.graph.query import OperandUse, all_reads, operand_type, users
from tempoc.sdg.graph.rewrite import drop_dead, replace_nodes
from tempoc.sdg.statements.branches import enclosing_conds
from tempoc.sdg.statements.build import is_identity
from tempoc.symbolic import expr as ix
from tempoc.symbolic.walk import evaluate


def with_existing_products(graph: Graph, context: PassContext) -> Graph:
    """The graph in which such sums are products with those that exist, where that costs less."""
    sums = [n for n in graph.nodes.values() if type(n.op) is Sum and n.types[0].dtype.is_float]
    if not sums:
        return graph
    uses, lazy = users(graph), enclosing_conds(graph)
    counts = Counter(edge.source for edge in all_reads(graph))
    sizes = estimated_sizes(context.space.universe, 1, context.sizes)
    changed: dict[str, list[Node]] = {}
    for node in sums:
        total = _sum_of_products(graph, node, counts)
        if total is None or node.name in lazy:
            continue
        products = _existing_products(graph, total, uses, context)
        product = next((p for p in products if p.node.name not in lazy), None)
        if product is None or product.multiplications(sizes) > total.elements(sizes):
            continue
        builder = NodeBuilder(graph=graph, space=context.space, node=node)
        with suppress(OperandError):
            product.put(builder)
            changed[node.name] = [*builder.nodes.values()]
            message = f"a product with `{product.node.name}`, which has summed a part of it already"
            context.remarks.add("reassociate", f"`{node.name}`: {message}", node.span)
    return drop_dead(replace_nodes(graph, changed)) if changed else graph


@dataclass(frozen=True, slots=True, kw_only=True)
class _SumOfProducts:
    """A ``node`` that sums ``weights`` times a contraction of two ``factors``.

    ``letters`` are those of the contraction, and of the weights its result; ``axes`` the summed
    ones; ``extents`` has the size of each.
    """

    node: Node
    factors: tuple[Edge, Edge]
    letters: Spelling
    weights: Edge
    axes: tuple[int, ...]
    extents: Mapping[str, ix.Expr]

    @property
    def result(self) -> str:
        """The letters that are left, without axes that are kept with one element."""
        return "".join(c for k, c in enumerate(self.letters.result) if k not in self.axes)

    def elements(self, sizes: Mapping[str, int]) -> int:
        """How many numbers are summed, for these sizes."""
        return evaluate(ix.product(self.extents[c] for c in self.letters.result), sizes)


@dataclass(frozen=True, slots=True, kw_only=True)
class _ExistingProduct:
    """A node that sums the weights times one factor, with these letters; ``other`` is the number of
    the factor that is left."""

    sum: _SumOfProducts
    node: Node
    letters: str
    other: int

    def multiplications(self, sizes: Mapping[str, int]) -> int:
        """How many the product of the node and the factor that is left takes."""
        names = dict.fromkeys(self.letters + self.sum.letters.terms[self.other])
        return evaluate(ix.product(self.sum.extents[c] for c in names), sizes)

    def put(self, builder: NodeBuilder) -> None:
        """Add the nodes in place of the sum; raises ``OperandError``."""
        total = self.sum
        terms = (self.letters, total.letters.terms[self.other])
        edges = (read_of(self.node), total.factors[self.other])
        op, operands = contraction(Spelling(terms, total.result), edges)
        result = builder.put("product", op, operands)
        assert isinstance(total.node.op, Sum)
        for axis in total.axes if total.node.op.keepdims else ():
            result = builder.put("product", ExpandDims(axis=axis), (result,))
        builder.add(replace(total.node, op=Copy(), inputs=(read_of(result),)))


def _sum_of_products(graph: Graph, node: Node, counts: Mapping[str, int]) -> _SumOfProducts | None:
    """What a node sums, if that is a contraction times weights; ``None`` for others."""
    scaled = graph.nodes[node.inputs[0].source]
    if not isinstance(scaled.op, Multiply) or node.vector or not is_identity(node.inputs[0], graph):
        return None
    if counts[scaled.name] > 1 or scaled.domain.dims != node.domain.dims:
        return None
    assert isinstance(node.op, Sum)
    for slot, weights in enumerate(scaled.inputs):
        read = scaled.inputs[1 - slot]
        product = graph.nodes[read.source]
        if not isinstance(product.op, MatMul | Einsum) or len(product.inputs) != 2:
            continue
        if not (is_identity(read, graph) and is_identity(weights, graph)):
            continue
        types = [operand_type(graph, e) for e in (read, weights, *product.inputs)]
        same = types[0].shape == types[1].shape == scaled.types[0].shape
        if not same or {t.dtype for t in types} != {node.types[0].dtype}:
            continue
        if product.domain.dims != node.domain.dims:
            continue
        letters = spelling(product.op, [t.ndim for t in types[2:]])
        extents = _extents(letters, [t.shape for t in types[2:]])
        if extents is not None:
            first, second = product.inputs
            axes = tuple(sorted(axes_of(node.op.axes, types[0].ndim)))
            return _SumOfProducts(
                node=node, factors=(first, second), letters=letters, weights=weights, axes=axes,
                extents=extents,
            )  # fmt: skip
    return None


def _extents(
    letters: Spelling, shapes: Sequence[tuple[ix.Expr, ...]]
) -> Mapping[str, ix.Expr] | None:
    """The size of each letter; ``None`` where one is broadcast."""
    sizes: dict[str, ix.Expr] = {}
    for term, shape in zip(letters.terms, shapes, strict=True):
        for letter, extent in zip(term, shape, strict=True):
            if sizes.setdefault(letter, extent) != extent:
                return None
    return sizes


def _existing_products(
    graph: Graph,
    total: _SumOfProducts,
    uses: Mapping[str, Sequence[OperandUse]],
    context: PassContext,
) -> Iterator[_ExistingProduct]:
    """The products of the weights and one of the factors, of which the sum is a product."""
    node = total.node
    for use in uses[total.weights.source]:
        reader = graph.nodes[use.reader]
        if not isinstance(reader.op, MatMul | Einsum) or len(reader.inputs) != 2:
            continue
        if reader.domain.dims != node.domain.dims or reader.inputs[use.slot] != total.weights:
            continue
        if context.space.outside(node.domain, read_of(reader).entries, reader.domain):
            continue
        ranks = [operand_type(graph, e).ndim for e in reader.inputs]
        own = spelling(reader.op, ranks)
        for k, factor in enumerate(total.factors):
            if reader.inputs[1 - use.slot] != factor:
                continue
            before = own.terms[use.slot] + own.terms[1 - use.slot]
            after = total.letters.result + total.letters.terms[k]
            names = dict(zip(before, after, strict=True))
            if [names[c] for c in before] != [*after] or len({*names.values()}) < len(names):
                continue
            letters = "".join(names[c] for c in own.result)
            needed = {*total.result, *total.letters.terms[1 - k]}
            if needed.isdisjoint({*after} - {*letters}):
                yield _ExistingProduct(sum=total, node=reader, letters=letters, other=1 - k)
