"""Reassociate chains of contractions to the cheapest order of multiplication.

    %m = matmul %A, %B : []  f32[64, 64]             %m = matmul %B, %x : [t] f32[64]
    %y = matmul %m, %x : [t] f32[64]        ->       %y = matmul %A, %m : [t] f32[64]
                                                     (where %A and %B vary with t)

The cost of an order is a polynomial in the bounds and, where extents vary with the point, in the
dimensions. An intermediate product that does not vary with a dimension is computed once for all of
its points. An order replaces another if it provably never costs more. Where each is cheaper on a
part of the domain, and that is a condition on indices, the product becomes a merge of both:

    %s = einsum{"ij,kj->ik"} %q, %k[0:t+1] : [t] f32[8, t+1]
    %y = matmul %s, %v[0:t+1]              : [t] f32[8, 8]
    ->
    %y = merge %y.0 when t < 8, %y.1 when t >= 8       (%y.0: q first with k, %y.1: k with v)

An invariant intermediate product must not need more memory than its factors. Sums of which another
product is a part are products with that (``existing_products.py``).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import ClassVar

from tempoc.ops.control.control import Copy, Merge
from tempoc.ops.tensor.source import Param
from tempoc.passes.analysis.einsum_form import Spelling, contraction
from tempoc.passes.context import GraphPass, PassContext
from tempoc.passes.contraction import chain_order
from tempoc.passes.contraction.chain import Chain, ProductTree, chains, leaves
from tempoc.passes.contraction.existing_products import with_existing_products
from tempoc.sdg.builder import NodeBuilder, read_of
from tempoc.sdg.graph.graph import Edge, Graph, Node
from tempoc.sdg.graph.query import all_reads, components, operand_type
from tempoc.sdg.graph.rewrite import drop_dead, replace_nodes
from tempoc.sdg.statements.build import identity
from tempoc.symbolic import expr as ix
from tempoc.symbolic.domain import Domain
from tempoc.symbolic.text import show
from tempoc.symbolic.walk import evaluate, is_affine, symbols


class Reassociate(GraphPass):
    """Chooses an order for each chain of three or more factors."""

    __slots__ = ()
    name: ClassVar[str] = "reassociate"

    def run(self, graph: Graph, context: PassContext) -> Graph:
        """The graph with cheaper orders."""
        graph = with_existing_products(graph, context)
        counts = Counter(edge.source for edge in all_reads(graph))
        candidates = chains(graph, counts)
        cycles = _recurrence_nodes(graph) if candidates else frozenset()
        for chain in candidates:
            choice = _choose(graph, chain, context, chain.root.name in cycles)
            if choice is not None:
                graph = choice.applied(graph, context)
        return drop_dead(graph) if candidates else graph


def _recurrence_nodes(graph: Graph) -> frozenset[str]:
    """The nodes of recurrences."""
    return frozenset(n for part in components(graph) if len(part) > 1 for n in part)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Choice:
    """A new order for a chain; with a ``guard`` only where that holds, else the old order."""

    chain: Chain
    tree: ProductTree
    domains: Mapping[frozenset[int], Domain]
    guard: ix.Expr | None = None

    def applied(self, graph: Graph, context: PassContext) -> Graph:
        """The graph with the product computed in this order."""
        chain, root = self.chain, self.chain.root
        builder = NodeBuilder(graph=graph, space=context.space, node=root)
        if self.guard is None:
            node = _product(builder, chain, self.tree, self.domains, root.domain, "product")
            del builder.nodes[node.name]
            builder.add(replace(root, op=node.op, inputs=node.inputs))
            return replace_nodes(graph, {root.name: builder.nodes.values()})
        inputs: list[Edge] = []
        for tree, domains, guard in (
            (chain.tree, chain.domains, ix.negation(self.guard)),
            (self.tree, self.domains, self.guard),
        ):
            domain = context.space.restrict(root.domain, guard)
            node = _product(builder, chain, tree, domains, domain, str(len(inputs)))
            inputs.append(replace(read_of(node), entries=identity(root.domain), guard=guard))
        op = Merge(targets=(identity(root.domain),) * 2)
        merge = replace(root, op=op, inputs=tuple(inputs), vector=())
        if _is_written(graph, root.name):  # by a node that computes; a merge does not
            either = builder.add(replace(merge, name=builder.fresh_name("either")))
            merge = replace(root, op=Copy(), inputs=(read_of(either),))
        builder.add(merge)
        return replace_nodes(graph, {root.name: builder.nodes.values()})


def _is_written(graph: Graph, name: str) -> bool:
    """Whether a node is an equation of a tensor or the default of a param."""
    homes = (n for n in graph.nodes.values() if isinstance(n.op, Merge | Param))
    return any(e.source == name for n in homes for e in n.inputs)


def _product(
    builder: NodeBuilder,
    chain: Chain,
    tree: ProductTree,
    domains: Mapping[frozenset[int], Domain],
    target: Domain,
    part: str,
) -> Node:
    """The product of a tree in the domain ``target``, with all its intermediate products."""
    assert not isinstance(tree, int)
    edges = []
    for factor in tree:
        if isinstance(factor, int):
            edges.append(chain.factors[factor])
            continue
        domain = domains[leaves(factor)]
        domain = target if domain.dims == target.dims else domain
        edges.append(read_of(_product(builder, chain, factor, domains, domain, "product")))
    terms = tuple(chain_order.product_letters(chain, leaves(factor)) for factor in tree)
    op, operands = contraction(
        Spelling(terms, chain_order.product_letters(chain, leaves(tree))), edges
    )
    return builder.put(part, op, operands, target)


# ---------------------------------------------------------------- which order


def _choose(graph: Graph, chain: Chain, context: PassContext, in_cycle: bool) -> _Choice | None:
    """The order to take, if one is cheaper than that of the program; adds remarks."""
    space, root = context.space, chain.root
    domains = _product_domains(graph, chain, context)
    every = (*domains.values(), *chain.domains.values())
    costs = chain_order.Costs(
        chain=chain,
        space=space,
        domains=domains,
        at_point=all(d.dims == root.domain.dims for d in every),
        letters=chain_order.letters_by_product(chain),
    )
    written = costs.of(chain.tree, chain.domains)
    if (incremental := _incremental_product(chain, chain.tree)) is not None:
        message = f"{_text(graph, chain, incremental)} stays: each step may add to that of the last"
        context.remarks.add(Reassociate.name, f"`{root.name}`: {message}", root.span)
        return None
    better: dict[ProductTree, list[chain_order.Sizes]] = {}
    sampled = chain_order.samples(space.universe, root.domain)
    cost: dict[ProductTree, ix.Expr] = {}
    for sizes, tree in zip(sampled, chain_order.cheapest_orders(costs, sampled), strict=True):
        if tree not in cost:
            cost[tree] = costs.of(tree, domains)
        if chain_order.is_better(written, cost[tree], sizes):
            better.setdefault(tree, []).append(sizes)
    for tree in sorted(better, key=lambda tree: -len(better[tree])):
        if _fits_factors(costs, tree, better[tree]):
            return _if_better(graph, costs, tree, written, context, in_cycle)
    return None


def _incremental_product(chain: Chain, tree: ProductTree) -> ProductTree | None:
    """An intermediate product over all steps so far, which may be updated incrementally."""
    if isinstance(tree, int):
        return None
    for part in tree:
        inside = _incremental_product(chain, part)
        if inside is not None:
            return inside
    edges = [chain.factors[k] for k in sorted(leaves(tree))]
    ranges = [x for e in edges for x in e.entries if isinstance(x, ix.Slice)]
    moving = {n for x in ranges for n in symbols(x) if n in chain.root.domain.dims}
    slide = any(moving & {*symbols(x.lo)} and moving & {*symbols(x.hi)} for x in ranges)
    if tree == chain.tree or not moving or slide:
        return None
    return tree if not any(_names_points(e, moving) for e in edges) else None


def _names_points(edge: Edge, dims: Collection[str]) -> bool:
    """Whether a read goes to other points where these dimensions move, beside its ranges."""
    points = [e for e in edge.entries if not isinstance(e, ix.Slice)]
    return any(n in dims for e in points for n in symbols(e))


def _if_better(
    graph: Graph,
    costs: chain_order.Costs,
    tree: ProductTree,
    written: ix.Expr,
    context: PassContext,
    in_cycle: bool,
) -> _Choice | None:
    """A cheaper order: everywhere, or under a guard where it costs less."""
    chain, space = costs.chain, context.space
    root = chain.root
    cost = costs.of(tree, costs.domains)
    texts = _text(graph, chain, tree), _text(graph, chain, chain.tree)
    where = "at each point" if costs.at_point else "in all"
    comparison = f"{show(cost)} instead of {show(written)} multiplications {where}"

    def remark(message: str) -> None:
        context.remarks.add(Reassociate.name, f"`{root.name}`: {message}", root.span)

    gain = written - cost
    guard = chain_order.positive(chain_order.primitive(gain))
    if guard == ix.TRUE or chain_order.never_negative(gain, space, root.domain):
        remark(f"{texts[0]} in place of {texts[1]}: {comparison}")
        return _Choice(chain=chain, tree=tree, domains=costs.domains)
    if not is_affine(guard) or any(n in space.universe.lengths for n in symbols(guard)):
        remark(f"{texts[0]} may cost less than {texts[1]}, but where is no condition on indices")
        return None
    guard = space.simplify(guard, root.domain)
    if in_cycle:
        remark(f"{texts[0]} costs less where {show(guard)}, but a recurrence is not split")
        return None
    remark(f"{texts[0]} where {show(guard)}, else {texts[1]}: {comparison}")
    return _Choice(chain=chain, tree=tree, domains=costs.domains, guard=guard)


def _product_domains(
    graph: Graph, chain: Chain, context: PassContext
) -> Mapping[frozenset[int], Domain]:
    """For each set of factors the domain of its product: only dimensions that it varies with."""
    root, space = chain.root.domain, context.space
    shapes = [operand_type(graph, e).shape for e in chain.factors]
    varies = []
    for edge, shape in zip(chain.factors, shapes, strict=True):
        named = [n for entry in edge.entries for n in symbols(entry)]
        varies.append((*named, *(n for e in shape for n in symbols(e))))
    projected: dict[tuple[str, ...], Domain] = {}
    outside: dict[tuple[tuple[str, ...], int], bool] = {}
    domains = {}
    for parts in chain_order.subsets(len(chain.factors)):
        dims = space.universe.ordered(tuple(n for k in sorted(parts) for n in varies[k]))
        domains[parts] = root
        if dims == root.dims or any(d not in root.dims for d in dims):
            continue
        if dims not in projected:
            projected[dims] = space.project(root, dims)
        for k in parts:
            if (dims, k) not in outside:
                edge = chain.factors[k]
                source = graph.nodes[edge.source].domain
                outside[dims, k] = bool(space.outside(projected[dims], edge.entries, source))
        if not any(outside[dims, k] for k in parts):
            domains[parts] = projected[dims]
    return domains


def _fits_factors(
    costs: chain_order.Costs, tree: ProductTree, where: Sequence[chain_order.Sizes]
) -> bool:
    """Whether no invariant intermediate product is larger than its factors, for these sizes."""
    chain = costs.chain
    if isinstance(tree, int) or costs.at_point:
        return True
    for part in tree:
        if isinstance(part, int):
            continue
        parts = leaves(part)
        if costs.domains[parts].dims != chain.root.domain.dims:
            elements = _elements(costs, chain_order.product_letters(chain, parts))
            terms = [chain.letters.terms[k] for k in sorted(parts)]
            factor_elements = [_elements(costs, term) for term in terms]
            for at in where:
                if evaluate(elements, at) > sum(evaluate(e, at) for e in factor_elements):
                    return False
        if not _fits_factors(costs, part, where):
            return False
    return True


def _elements(costs: chain_order.Costs, term: str) -> ix.Expr:
    root = costs.chain.root.domain
    extents = (costs.chain.extents[c] for c in term)
    return ix.product(costs.space.upper_bound(e, root) for e in extents)


def _text(graph: Graph, chain: Chain, tree: ProductTree) -> str:
    """An order as a product in brackets."""
    if isinstance(tree, int):
        return chain.factors[tree].source
    parts = (_text(graph, chain, part) for part in tree)
    return f"({' '.join(parts)})"
