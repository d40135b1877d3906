"""Chains of contractions in the order that costs least.

    %m = matmul %A, %B : []  f32[64, 64]             %m = matmul %B, %x : [t] f32[64]
    %y = matmul %m, %x : [t] f32[64]        ->       %y = matmul %A, %m : [t] f32[64]
                                                     (where %A and %B vary with t)

The cost of an order is a polynomial in the bounds and, where extents vary with the point, in the
dimensions. What does not vary with a dimension is made once for all of its points. One order takes
the place of another if it provably never costs more. Where each is the better one somewhere, and
where is a condition on indices, the product becomes a merge of both:

    %s = einsum{"ij,kj->ik"} %q, %k[0:t+1] : [t] f32[8, t+1]
    %y = matmul %s, %v[0:t+1]              : [t] f32[8, 8]
    ->
    %y = merge %y.0 when t < 8, %y.1 when t >= 8       (%y.0: q first with k, %y.1: k with v)

A product that is made for all points of a dimension must not take more room than its factors.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import ClassVar

from tempoc.ops.control.control import Copy, Merge
from tempoc.ops.tensor.source import Param
from tempoc.passes.analysis.einsum_form import Spelling, contraction
from tempoc.passes.context import PassContext
from tempoc.passes.contraction.chain import Chain, ProductTree, chains, leaves
from tempoc.passes.contraction.chain_order import (
    Costs,
    Sizes,
    bests,
    is_better,
    never_negative,
    positive,
    primitive,
    result,
    results,
    samples,
    subsets,
)
from tempoc.passes.simplify.rules.pattern import fresh
from tempoc.sdg.graph.graph import Edge, Graph, Node
from tempoc.sdg.graph.query import components, operand_type, users
from tempoc.sdg.graph.rewrite import drop_dead
from tempoc.sdg.statements.build import identity
from tempoc.sdg.verification.verify import DomainFacts
from tempoc.symbolic.domain import Domain
from tempoc.symbolic.expr import TRUE, Expr, Slice, conjunction, negation, product
from tempoc.symbolic.text import show
from tempoc.symbolic.walk import evaluate, is_affine, symbols


@dataclass(frozen=True, slots=True, kw_only=True)
class Reassociate:
    """Looks at each chain of three factors or more."""

    name: ClassVar[str] = "reassociate"
    needs: ClassVar[tuple[str, ...]] = ()
    gives: ClassVar[tuple[str, ...]] = ()
    before: ClassVar[tuple[str, ...]] = ("groups",)

    def run(self, graph: Graph, context: PassContext) -> Graph:
        """The graph with cheaper orders."""
        counts = {name: len(found) for name, found in users(graph).items()}
        for output in graph.outputs:
            counts[output.source] += 1
        found = chains(graph, counts)
        cycles = _cycles(graph) if found else frozenset()
        for chain in found:
            choice = _chosen(graph, chain, context, chain.root.name in cycles)
            if choice is not None:
                graph = choice.applied(graph, context)
        return drop_dead(graph) if found else graph


def _cycles(graph: Graph) -> frozenset[str]:
    """The nodes of recurrences."""
    sources = {name: [e.source for e in node.inputs] for name, node in graph.nodes.items()}
    parts = components(list(graph.nodes), sources.__getitem__)
    return frozenset(n for part in parts if len(part) > 1 for n in part)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Choice:
    """An order for a chain, where ``guard`` holds if there is one; else that of the source."""

    chain: Chain
    tree: ProductTree
    domains: Mapping[frozenset[int], Domain]
    guard: Expr | None = None

    def applied(self, graph: Graph, context: PassContext) -> Graph:
        """The graph with the product in this order."""
        root = self.chain.root
        nodes = dict(graph.nodes)
        builder = _OrderNodes(graph=replace(graph, nodes=nodes), nodes=nodes, chain=self.chain)
        if self.guard is None:
            node = builder.make(self.tree, self.domains, root.domain, root.name, context)
            nodes[root.name] = replace(node, types=root.types)
            return replace(graph, nodes=_ordered(nodes, graph, root.name))
        inputs: list[Edge] = []
        for tree, domains, guard in (
            (self.chain.tree, self.chain.domains, negation(self.guard)),
            (self.tree, self.domains, self.guard),
        ):
            where = conjunction(root.domain.where, guard)
            simple = context.space.simplify(where, Domain(root.domain.dims))
            domain = Domain(root.domain.dims, simple)
            name = fresh(nodes, f"{root.name}.{len(inputs)}")
            nodes[name] = builder.make(tree, domains, domain, name, context)
            entries = identity(root.domain)
            inputs.append(Edge(source=name, entries=entries, guard=guard))
        merge = Merge(targets=(identity(root.domain),) * 2)
        name = root.name
        if _is_written(graph, name):  # by a node that computes: what has two equations does not
            name = fresh(nodes, f"{name}.either")
            either = Edge(source=name, entries=identity(root.domain))
            nodes[root.name] = replace(root, op=Copy(), inputs=(either,))
        nodes[name] = replace(root, name=name, op=merge, inputs=tuple(inputs), vector=())
        return replace(graph, nodes=_ordered(nodes, graph, root.name))


def _is_written(graph: Graph, name: str) -> bool:
    """Whether a node is an equation of a tensor or the default of a param."""
    homes = (n for n in graph.nodes.values() if isinstance(n.op, Merge | Param))
    return any(e.source == name for n in homes for e in n.inputs)


def _ordered(nodes: dict[str, Node], before: Graph, root: str) -> dict[str, Node]:
    """The nodes with those that are new in front of the one that they were made for."""
    new = [name for name in nodes if name not in before.nodes]
    ordered: dict[str, Node] = {}
    for name in before.nodes:
        if name == root:
            ordered.update({n: nodes[n] for n in new})
        ordered[name] = nodes[name]
    return ordered


@dataclass(slots=True, kw_only=True)
class _OrderNodes:
    """Makes the nodes of an order."""

    graph: Graph
    nodes: dict[str, Node]
    chain: Chain

    def make(
        self,
        tree: ProductTree,
        domains: Mapping[frozenset[int], Domain],
        whole: Domain,
        name: str,
        context: PassContext,
    ) -> Node:
        """The product of a tree, called ``name``, at the points of ``whole``."""
        assert not isinstance(tree, int)
        root = self.chain.root
        parts = leaves(tree)
        edges = []
        for part in tree:
            if isinstance(part, int):
                edges.append(self.chain.factors[part])
                continue
            domain = domains[leaves(part)]
            if domain.dims == whole.dims:
                domain = whole
            inner_node = self.make(part, domains, domain, root.name, context)
            inner = fresh(self.nodes, f"{root.name}.product")
            self.nodes[inner] = replace(inner_node, name=inner)
            edges.append(Edge(source=inner, entries=identity(domain)))
        terms = tuple(result(self.chain, leaves(part)) for part in tree)
        op, ordered = contraction(Spelling(terms, result(self.chain, parts)), edges)
        types = tuple(operand_type(self.graph, e) for e in ordered)
        return replace(
            root,
            name=name,
            op=op,
            domain=whole,
            inputs=ordered,
            types=op.infer(types, DomainFacts(context.space, whole)),
            vector=tuple(d for d in root.vector if d in whole.dims),
        )


# ---------------------------------------------------------------- which order


def _chosen(graph: Graph, chain: Chain, context: PassContext, in_cycle: bool) -> _Choice | None:
    """The order that is worth taking, if one is; remarks on what was found."""
    space, root = context.space, chain.root
    domains = _domains(graph, chain, context)
    every = (*domains.values(), *chain.domains.values())
    costs = Costs(
        chain=chain,
        space=space,
        domains=domains,
        at_point=all(d.dims == root.domain.dims for d in every),
        letters=results(chain),
    )
    written = costs.of(chain.tree, chain.domains)
    if (incremental := _running(graph, chain, chain.tree)) is not None:
        span = root.spans[0] if root.spans else None
        message = f"{_text(graph, chain, incremental)} stays: each step may add to that of the last"
        context.remarks.add(Reassociate.name, f"`{root.name}`: {message}", span)
        return None
    better: dict[ProductTree, list[Sizes]] = {}
    sampled = samples(space.universe, root.domain)
    cost: dict[ProductTree, Expr] = {}
    for sizes, tree in zip(sampled, bests(costs, sampled), strict=True):
        if tree not in cost:
            cost[tree] = costs.of(tree, domains)
        if is_better(written, cost[tree], sizes):
            better.setdefault(tree, []).append(sizes)
    for tree in sorted(better, key=lambda tree: -len(better[tree])):
        if _is_roomy(costs, tree, better[tree]):
            return _if_better(graph, costs, tree, written, context, in_cycle)
    return None


def _running(graph: Graph, chain: Chain, tree: ProductTree) -> ProductTree | None:
    """A product inside an order that sums over all steps so far, so that it may be kept up."""
    if isinstance(tree, int):
        return None
    for part in tree:
        inside = _running(graph, chain, part)
        if inside is not None:
            return inside
    edges = [chain.factors[k] for k in sorted(leaves(tree))]
    if tree == chain.tree or not all(_only_ranges(graph, e) for e in edges):
        return None
    moving = [n for e in edges for x in e.entries if isinstance(x, Slice) for n in symbols(x)]
    return tree if any(n in chain.root.domain.dims for n in moving) else None


def _only_ranges(graph: Graph, edge: Edge) -> bool:
    """Whether a read varies with the point by where ranges end alone."""
    dims = graph.universe
    points = [e for e in edge.entries if not isinstance(e, Slice)]
    return not any(dims.is_dim(n) for e in points for n in symbols(e))


def _if_better(
    graph: Graph,
    costs: Costs,
    tree: ProductTree,
    written: Expr,
    context: PassContext,
    in_cycle: bool,
) -> _Choice | None:
    """An order where it costs less than the one that is written: everywhere, or by a guard."""
    chain, space = costs.chain, context.space
    root = chain.root
    cost = costs.of(tree, costs.domains)
    texts = _text(graph, chain, tree), _text(graph, chain, chain.tree)
    where = "at each point" if costs.at_point else "in all"
    comparison = f"{show(cost)} instead of {show(written)} multiplications {where}"
    span = root.spans[0] if root.spans else None

    def say(message: str) -> None:
        context.remarks.add(Reassociate.name, f"`{root.name}`: {message}", span)

    gain = written - cost
    guard = positive(primitive(gain))
    if guard == TRUE or never_negative(gain, space, root.domain):
        say(f"{texts[0]} in place of {texts[1]}: {comparison}")
        return _Choice(chain=chain, tree=tree, domains=costs.domains)
    if not is_affine(guard) or any(n in space.universe.lengths for n in symbols(guard)):
        say(f"{texts[0]} may cost less than {texts[1]}, but where is no condition on indices")
        return None
    guard = space.simplify(guard, root.domain)
    if in_cycle:
        say(f"{texts[0]} costs less where {show(guard)}, but a recurrence is not split")
        return None
    say(f"{texts[0]} where {show(guard)}, else {texts[1]}: {comparison}")
    return _Choice(chain=chain, tree=tree, domains=costs.domains, guard=guard)


def _domains(graph: Graph, chain: Chain, context: PassContext) -> Mapping[frozenset[int], Domain]:
    """For each product of factors the points at which it is made: no more than it varies with."""
    root, space = chain.root.domain, context.space
    shapes = [operand_type(graph, e).shape for e in chain.factors]
    varies = []
    for edge, shape in zip(chain.factors, shapes, strict=True):
        named = [n for entry in edge.entries for n in symbols(entry)]
        varies.append((*named, *(n for e in shape for n in symbols(e))))
    projected: dict[tuple[str, ...], Domain] = {}
    outside: dict[tuple[tuple[str, ...], int], bool] = {}
    domains = {}
    for parts in subsets(len(chain.factors)):
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


def _is_roomy(costs: Costs, tree: ProductTree, where: Sequence[Sizes]) -> bool:
    """Whether no product that is made at fewer points than the root is larger than its factors."""
    chain = costs.chain
    if isinstance(tree, int) or costs.at_point:
        return True
    for part in tree:
        if isinstance(part, int):
            continue
        parts = leaves(part)
        if costs.domains[parts].dims != chain.root.domain.dims:
            elements = _elements(costs, result(chain, parts))
            terms = [chain.letters.terms[k] for k in sorted(parts)]
            factor_elements = [_elements(costs, term) for term in terms]
            for at in where:
                if evaluate(elements, at) > sum(evaluate(e, at) for e in factor_elements):
                    return False
        if not _is_roomy(costs, part, where):
            return False
    return True


def _elements(costs: Costs, term: str) -> Expr:
    root = costs.chain.root.domain
    extents = (costs.chain.extents[c] for c in term)
    return product(costs.space.upper_bound(e, root) for e in extents)


def _text(graph: Graph, chain: Chain, tree: ProductTree) -> str:
    """An order as a product in brackets."""
    if isinstance(tree, int):
        return chain.factors[tree].source
    parts = (_text(graph, chain, part) for part in tree)
    return f"({' '.join(parts)})"
