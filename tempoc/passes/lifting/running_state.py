"""Products with all steps so far, in an order in which a state of constant size has their sum.

    %a = matmul %k[0:t+1], %q : [t] f32[t+1]    %s = einsum{"si,sj->ij"} %k[0:t+1], %v[0:t+1]
    %y = matmul %a, %v[0:t+1] : [t] f32[8]  ->  %y = matmul %q, %s : [t] f32[8]

Linear attention takes ``T * T`` products as it is often written, and ``T`` with a state; a sum of
its scores, which normalizes them, is ``%q`` times a sum of keys likewise. Weights may fade with the
distance of steps, as in retention and where data decide how much stays (``fading_weights.py``):
then the state fades. ``%s`` becomes a recurrence at once (``range_contraction.py``).

Weights ``exp(%c - %c[0:t+1])`` are ``exp(%c - %m) * exp(%m - %c[0:t+1])``, with ``%m`` the least of
the range: what is in the state never grows. As the product is the same whatever ``%m`` is, it is a
constant for derivatives.

This runs before differentiation, so that derivatives are those of recurrences, too, which run
backward; also where a program has such a state as it is written.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace

from tempoc.base.cost_model import MODEL
from tempoc.base.graphs import reachable
from tempoc.ops.control.control import StopGradient
from tempoc.ops.definition.operator import OperandError
from tempoc.ops.tensor.arithmetic import Divide, Multiply
from tempoc.ops.tensor.contraction import Einsum, MatMul
from tempoc.ops.tensor.reduction import Max, Min, Sum
from tempoc.passes.analysis.einsum_form import Spelling, contraction
from tempoc.passes.analysis.size_estimate import estimated_sizes, unknown_bounds
from tempoc.passes.context import PassContext
from tempoc.passes.lifting.fading_weights import (
    Distances,
    distances_of,
    fading_weights,
    named_part,
)
from tempoc.passes.lifting.moving_range import Sliding, classify_range
from tempoc.passes.lifting.product_factors import ProductFactors, product_factors
from tempoc.passes.lifting.range_operand import operand_slices
from tempoc.passes.lifting.running_steps import RunningStep, contraction_step, with_steps
from tempoc.passes.simplify.range_functions import with_point_functions
from tempoc.pipeline.step import LoopRemark
from tempoc.poly.relations.space import Space
from tempoc.sdg.builder import NodeBuilder, read_of
from tempoc.sdg.graph.active import gradients, independent_nodes, passed_over
from tempoc.sdg.graph.graph import Edge, Graph, Node
from tempoc.sdg.graph.query import components, distance_along, users
from tempoc.sdg.graph.rewrite import drop_dead, replace_nodes
from tempoc.sdg.graph.stencils import reads_moving_ranges
from tempoc.sdg.statements.branches import enclosing_conds
from tempoc.symbolic import expr as ix
from tempoc.symbolic.domain import Domain
from tempoc.symbolic.walk import evaluate


@dataclass(frozen=True, slots=True, kw_only=True)
class _StateProduct:
    """A product that sums over ``letter``, a range that grows with ``dim``.

    ``state`` has the letters of the sum of the factors ``inside``, which have the letter; some of
    them are weights by ``distances``. ``rows`` are the nodes that have the letter, too: nothing
    needs them if the state takes their place. ``least_steps``: with fewer the state costs more.
    """

    product: ProductFactors
    letter: str
    dim: str
    inside: tuple[int, ...]
    state: str
    distances: Mapping[int, Distances]
    least_steps: int = 0

    @property
    def root(self) -> Node:
        """The product."""
        return self.product.root

    @property
    def rows(self) -> tuple[str, ...]:
        """The nodes that have an element for each step of the range."""
        return tuple(n for n, letters in self.product.inner.items() if self.letter in letters)

    @property
    def multiplies_rows(self) -> bool:
        """Whether the product is not one with such a sum already."""
        nodes = (self.product.graph.nodes[n] for n in self.rows)
        return len(self.root.inputs) > 2 or any(isinstance(n.op, MatMul | Einsum) for n in nodes)

    @property
    def others(self) -> tuple[int, ...]:
        """The factors that the sum leaves out."""
        return tuple(k for k in range(len(self.product.factors)) if k not in self.inside)


def with_running_states(graph: Graph, context: PassContext) -> Graph:
    """The graph with states in place of products with all steps so far, where these cost more.

    It may have gradients; then states that it has become recurrences, too. The same graph if there
    are none.
    """
    if graph.universe.lengths or not any(map(reads_moving_ranges, graph.nodes.values())):
        return graph
    differentiated = bool(gradients(graph))
    each = graph
    if not differentiated:
        if not _products(graph, context, ()):
            return graph
        each = with_point_functions(graph, context)
    left_out: set[str] = set()
    while True:
        products = _products(each, context, left_out)
        updated, states, as_written = _reordered(each, products, context.space)
        steps = _steps(updated, updated.nodes if differentiated else states, context.space)
        running, rejected = with_steps(updated, steps, contraction_step, context.space)
        failed = as_written | {
            root
            for state, root in states.items()
            if running is updated or state in rejected or state not in steps
        }
        if not failed:
            break
        left_out |= failed
    if running is each:
        return graph
    for p in products:
        message = f"`{p.root.name}`: a state along {p.dim}, to which each step adds"
        pays = LoopRemark(
            reason="state", dim=p.dim, nodes=(p.root.name,), size=ix.Const(p.least_steps)
        )
        context.remarks.add("states", message, p.root.span, pays)
    return drop_dead(running)


def _steps(graph: Graph, names: Iterable[str], space: Space) -> dict[str, RunningStep]:
    """The recurrences of contractions over ranges that grow."""
    lazy, independent = enclosing_conds(graph), independent_nodes(graph)
    nodes = (graph.nodes[name] for name in names if name not in lazy)
    steps = ((n.name, contraction_step(graph, n, space)) for n in nodes)
    return {
        name: step
        for name, step in steps
        if step is not None and not independent & passed_over(graph, step.node, step.parts)
    }


# ---------------------------------------------------------------- which products


def _products(graph: Graph, context: PassContext, left_out: Collection[str]) -> list[_StateProduct]:
    """The products that get a state, but for those that are left out."""
    lazy, independent = enclosing_conds(graph), independent_nodes(graph)
    products: dict[str, _StateProduct] = {}
    for node in graph.nodes.values():
        if node.name not in lazy and node.name not in left_out:
            product = _state_product(graph, node, context, independent)
            if product is not None:
                products[node.name] = product
    remaining = set(products)
    while True:
        rows = _needed_rows(graph, [products[name] for name in products if name in remaining])
        needed = {n for n in remaining if products[n].others and rows & {*products[n].rows}}
        if not needed:
            return [p for name, p in products.items() if name in remaining]
        remaining -= needed


def _needed_rows(graph: Graph, products: Sequence[_StateProduct]) -> set[str]:
    """The rows of products that something else needs, too."""
    rows = {name for p in products for name in p.rows}
    roots = {p.root.name for p in products}
    readers = users(graph)
    needed = {o.source for o in graph.outputs}
    needed |= {e.source for p in products for e in (*p.product.factors, *p.product.divisors)}
    needed |= {n for n in rows if any(u.reader not in rows | roots for u in readers[n])}
    return needed & rows


def _state_product(
    graph: Graph, node: Node, context: PassContext, independent: Collection[str]
) -> _StateProduct | None:
    """A product that should have a state; ``None`` for others.

    ``independent``: what gradients differentiate by, so that what reads it still has to.
    """
    product = product_factors(graph, node, context.space, independent)
    if product is None:
        return None
    for letter in dict.fromkeys("".join(product.terms)):
        if letter in product.result:
            continue
        inside = tuple(k for k, term in enumerate(product.terms) if letter in term)
        others = [term for k, term in enumerate(product.terms) if k not in inside]
        letters = dict.fromkeys("".join(product.terms[k] for k in inside))
        state = "".join(c for c in letters if c in product.result or any(c in t for t in others))
        distances = _distances(graph, product, letter, inside)
        if not product.inner and len(product.factors) <= 2 and not distances:
            continue
        factors = _ranges(graph, product, letter, inside, distances)
        dim = _growing_along(graph, product, letter, factors, context.space)
        if dim is None or _scores(product, factors, others) > 1:
            continue
        candidate = _StateProduct(
            product=product, letter=letter, dim=dim, inside=inside, state=state, distances=distances
        )
        if not any(c in state for term in others for c in term):
            is_alone = factors == inside and not independent
            is_chosen = bool(distances) or (len(factors) > 1 and not is_alone)
        else:
            factor = MODEL.differentiated_state_factor if independent else MODEL.state_factor
            least = _least_steps(candidate, factors, factor, context)
            candidate = replace(candidate, least_steps=least)
            is_chosen = candidate.multiplies_rows and _expected_steps(candidate, context) >= least
        if is_chosen:
            return candidate
    return None


def _scores(product: ProductFactors, inside: Sequence[int], others: Sequence[str]) -> int:
    """How many factors of a sum become numbers by products with factors that it leaves out.

    A state of a product of two, as of a score's square, adds terms that cancel in each of them.
    """
    summed = {*"".join(others)} - {*product.result}
    return sum(not summed.isdisjoint(product.terms[k]) for k in inside)


def _place(product: ProductFactors, letter: str, k: int) -> int:
    """The axis of a factor with a letter, counted from the last one."""
    return len(product.terms[k]) - product.terms[k].index(letter)


def _distances(
    graph: Graph, product: ProductFactors, letter: str, inside: Sequence[int]
) -> dict[int, Distances]:
    """The weights by distances along a letter, if nothing that is ``whole`` is passed over."""
    pairs = ((k, product.factors[k], _place(product, letter, k)) for k in inside)
    weights = ((k, distances_of(graph, edge, place)) for k, edge, place in pairs)
    return {k: w for k, w in weights if w is not None and {*w.nodes}.isdisjoint(product.whole)}


def _ranges(
    graph: Graph,
    product: ProductFactors,
    letter: str,
    inside: Sequence[int],
    weights: Collection[int],
) -> tuple[int, ...]:
    """The factors with a letter, but for weights that fade."""

    def fades(k: int) -> bool:
        edge, place = product.factors[k], _place(product, letter, k)
        return k in weights or fading_weights(graph, edge, place) is not None

    return tuple(k for k in inside if not fades(k))


def _growing_along(
    graph: Graph, product: ProductFactors, letter: str, factors: Sequence[int], space: Space
) -> str | None:
    """The dimension with which the range of a letter grows; ``None`` if there is none."""
    entries = []
    for k in factors:
        place = _place(product, letter, k)
        entries.append(next(operand_slices(graph, product.factors[k], place), None))
    entry = entries[0] if entries else None
    if entry is None or None in entries:
        return None
    domain = product.root.domain
    for dim in domain.dims:
        growing = classify_range(entry, dim, domain, space)
        if growing is not None and not isinstance(growing, Sliding):
            return dim
    return None


def _least_steps(
    p: _StateProduct, factors: Sequence[int], factor: int, context: PassContext
) -> int:
    """From how many steps on a state costs no more than a row with an element for each step, each
    element of the state as much as ``factor`` products."""
    at = estimated_sizes(context.space.universe, 1, context.sizes)
    extents = p.product.extents

    def elements(letters: str) -> int:
        return evaluate(ix.product(extents[c] for c in letters if c != p.letter), at)

    state, row = elements(p.state), sum(elements(p.product.terms[k]) for k in factors)
    return -(-factor * state // max(1, row))


def _expected_steps(p: _StateProduct, context: PassContext) -> int:
    """How many steps there are, as far as that is known.

    A recurrence within each step of another one that is long, as over the vectors of a basis, is
    taken to be short.
    """
    universe, sizes = context.space.universe, context.sizes
    at, bound = estimated_sizes(universe, 1, sizes), universe.dim(p.dim).bound
    if not unknown_bounds(universe, (bound,), sizes):
        return at[bound]
    graph, root = p.product.graph, p.root
    part = next({*part} for part in components(graph) if root.name in part)
    outer = root.domain.dims[: root.domain.dims.index(p.dim)]
    long = (d for d in outer if at[universe.dim(d).bound] >= MODEL.inner_state_steps)
    inner = any(_recurs_within(graph, root, part, d) for d in long)
    return MODEL.inner_state_steps if inner else MODEL.state_steps


def _recurs_within(graph: Graph, root: Node, part: Collection[str], step: str) -> bool:
    """Whether a node needs others of a cycle, and these need it, all at one point of a dimension
    along which the cycle goes on, too."""
    reads = {
        name: [(e.source, distance_along(graph, e, step)) for e in graph.nodes[name].inputs]
        for name in part
    }
    near = {n: [(s, d) for s, d in r if s in part and d is not None] for n, r in reads.items()}

    def before(at: tuple[str, int]) -> list[tuple[str, int]]:
        name, ahead = at
        return [(s, ahead + d) for s, d in near[name] if abs(ahead + d) <= 1]

    reached = reachable(before((root.name, 0)), before)
    return (root.name, 0) in reached and (root.name, -1) in reached


# ---------------------------------------------------------------- with states


def _reordered(
    graph: Graph, products: Sequence[_StateProduct], space: Space
) -> tuple[Graph, Mapping[str, str], set[str]]:
    """The graph with states, the product of each that is a contraction, and products without."""
    states: dict[str, str] = {}
    as_written: set[str] = set()
    for p in products:
        builder = NodeBuilder(graph=graph, space=space, node=p.root)
        parts = None
        with suppress(OperandError):
            levelled = {k: _levelled(builder, d, p.root.domain) for k, d in p.distances.items()}
            inside = {k: level.inside for k, level in levelled.items()}
            state = _state(builder, p, [inside.get(k, p.product.factors[k]) for k in p.inside])
            factors = [(p.product.factors[k], p.product.terms[k]) for k in p.others]
            factors += [
                (level.outside, p.product.terms[k].replace(p.letter, ""))
                for k, level in levelled.items()
            ]
            parts = builder.finish(_result(builder, p, state, factors))
        if parts is None:
            as_written.add(p.root.name)
            continue
        graph = replace_nodes(graph, {p.root.name: parts})
        if not isinstance(state.op, Sum):
            states[state.name if state.name in graph.nodes else p.root.name] = p.root.name
    return graph, states, as_written


def _state(builder: NodeBuilder, p: _StateProduct, edges: Sequence[Edge]) -> Node:
    """The sum of all steps so far of the factors ``inside``; raises ``OperandError``."""
    terms = tuple(p.product.terms[k] for k in p.inside)
    root, space = p.root.domain, builder.space
    domain = named_part(builder, edges, root)
    nodes = {**builder.graph.nodes, **builder.nodes}
    if any(space.outside(domain, e.entries, nodes[e.source].domain) for e in edges):
        domain = root
    if len(edges) == 1:
        axes = tuple(k for k, c in enumerate(terms[0]) if c not in p.state)
        return builder.put("state", Sum(axes=axes), edges, domain)
    op, operands = contraction(Spelling(terms, p.state), edges)
    return builder.put("state", op, operands, domain)


@dataclass(frozen=True, slots=True)
class _Levelled:
    """Weights by distances from an extreme of their range, ``inside`` a state, and what they are
    multiplied by."""

    inside: Edge
    outside: Edge


def _levelled(builder: NodeBuilder, distances: Distances, root: Domain) -> _Levelled:
    """The weights by distances from the extreme of their values; raises ``OperandError``."""
    domain = named_part(builder, (distances.values,), root)
    reduction = Max(axes=(0,)) if distances.above else Min(axes=(0,))
    extreme = builder.put("extreme", reduction, (distances.values,), domain)
    level = read_of(builder.put("level", StopGradient(), (extreme,), domain))
    inside = distances.exponents(builder, level, distances.values, domain)
    both = (distances.level, level)
    outside = distances.exponents(builder, *both, named_part(builder, both, root))
    return _Levelled(inside, outside)


def _result(
    builder: NodeBuilder, p: _StateProduct, state: Node, factors: Sequence[tuple[Edge, str]]
) -> Node:
    """The product of the state and the factors, with their letters; raises ``OperandError``."""
    product = p.product
    others = [(edge, term) for edge, term in factors if term]
    result = state
    if others or p.state != product.result:
        terms = (p.state, *(term for _, term in others))
        edges = (read_of(state), *(edge for edge, _ in others))
        op, operands = contraction(Spelling(terms, product.result), edges)
        result = builder.put("of_state", op, operands)
    for edge, term in factors:
        if not term:
            result = builder.put("scaled", Multiply(), (result, edge))
    for divisor in product.divisors:
        result = builder.put("divided", Divide(), (result, divisor))
    return result
