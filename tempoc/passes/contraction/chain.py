"""Contraction chains: nested contractions with single consumers, flattened to one product.

The factors of ``(q @ k.T) @ v`` are ``q``, ``k`` and ``v``; the program promises no order.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from tempoc.base.effort import EFFORT
from tempoc.ops.definition.types import WIDE_RANGE, DType
from tempoc.ops.tensor.contraction import Einsum, MatMul
from tempoc.passes.analysis.einsum_form import Spelling, spelling
from tempoc.sdg.graph.graph import Edge, Graph, Node
from tempoc.sdg.graph.query import operand_type, operand_types
from tempoc.sdg.statements.build import identity
from tempoc.symbolic import expr as ix
from tempoc.symbolic.domain import Domain

ProductTree = int | tuple["ProductTree", "ProductTree"]
"""An order of multiplication: a factor by its number, or the product of two trees."""

_DTYPES = (*WIDE_RANGE, DType.I32, DType.I64, DType.U32)


@dataclass(frozen=True, slots=True, kw_only=True)
class Chain:
    """A product of factors, read at the root's point; ``letters`` is its notation as one einsum.

    ``tree`` is the order in the graph, ``domains`` the domain of each intermediate product in it,
    ``extents`` the extent of each letter.
    """

    root: Node
    factors: tuple[Edge, ...]
    letters: Spelling
    tree: ProductTree
    domains: Mapping[frozenset[int], Domain]
    extents: Mapping[str, ix.Expr]


def leaves(tree: ProductTree) -> frozenset[int]:
    """The factors of a product."""
    if isinstance(tree, int):
        return frozenset((tree,))
    return leaves(tree[0]) | leaves(tree[1])


def chains(graph: Graph, uses: Mapping[str, int]) -> list[Chain]:
    """All maximal chains of three and more factors; ``uses`` counts the reads of each node.

    A chain that is too long goes on in another one, whose product is a factor of it.
    """
    inner = {
        edge.source
        for node in graph.nodes.values()
        if _is_product(graph, node)
        for edge in node.inputs
        if _extends_chain(graph, node, edge, uses)
    }
    roots = [n for n in graph.nodes.values() if n.name not in inner and _is_product(graph, n)]
    maximal = []
    while roots:
        chain = _chain(graph, roots.pop(0), uses)
        if chain is not None and len(chain.factors) > 2:
            maximal.append(chain)
            roots += (graph.nodes[e.source] for e in chain.factors if e.source in inner)
    return maximal


def _is_product(graph: Graph, node: Node) -> bool:
    """Whether a node is a contraction of two tensors of one dtype, none of which has a diagonal."""
    if not isinstance(node.op, MatMul | Einsum) or len(node.inputs) != 2:
        return False
    types = operand_types(graph, node)
    dtype = node.types[0].dtype
    if dtype not in _DTYPES or any(t.dtype is not dtype for t in types):
        return False
    letters = spelling(node.op, [t.ndim for t in types])
    return all(len({*term}) == len(term) for term in letters.terms)


def _extends_chain(graph: Graph, node: Node, edge: Edge, uses: Mapping[str, int]) -> bool:
    """Whether an operand is a product that only this node reads, at its own point."""
    source = graph.nodes[edge.source]
    at_own_point = edge.entries == identity(source.domain) and source.name != node.name
    return at_own_point and uses[source.name] == 1 and _is_product(graph, source)


def _chain(graph: Graph, root: Node, uses: Mapping[str, int]) -> Chain | None:
    """The chain with this root; ``None`` if it has more axes than there are letters."""
    factors: list[Edge] = []
    terms: list[str] = []
    domains: dict[frozenset[int], Domain] = {}
    products = [root.name]
    spare = iter("ABCDEFGHIJKLMNOPQRSTUVWXYZ")

    def flatten(node: Node, result: str) -> ProductTree:
        """Flatten a product whose result has these letters."""
        own = spelling(node.op, [t.ndim for t in operand_types(graph, node)])
        names = dict(zip(own.result, result, strict=True))
        for letter in "".join(own.terms):
            if letter not in names:
                names[letter] = next(spare)
        parts: list[ProductTree] = []
        for edge, term in zip(node.inputs, own.terms, strict=True):
            factor_letters = "".join(names[c] for c in term)
            if len(products) < EFFORT.chain_factors - 1 and _extends_chain(graph, node, edge, uses):
                products.append(edge.source)
                parts.append(flatten(graph.nodes[edge.source], factor_letters))
            else:
                parts.append(len(factors))
                factors.append(edge)
                terms.append(factor_letters)
        left, right = parts
        domains[leaves((left, right))] = node.domain
        return left, right

    root_letters = spelling(root.op, [t.ndim for t in operand_types(graph, root)])
    try:
        tree = flatten(root, root_letters.renamed().result)
    except StopIteration:  # more axes than letters
        return None
    extents: dict[str, ix.Expr] = {}
    for edge, term in zip(factors, terms, strict=True):
        for letter, extent in zip(term, operand_type(graph, edge).shape, strict=True):
            if extents.get(letter, ix.ONE) == ix.ONE:
                extents[letter] = extent
    return Chain(
        root=root,
        factors=tuple(factors),
        letters=Spelling(tuple(terms), root_letters.renamed().result),
        tree=tree,
        domains=domains,
        extents=extents,
    )
