"""Orders of multiplication: their costs as polynomials, and which is cheapest where.

The cost of a product is its number of multiplications: the extents of all letters of its two
operands, times the points of its domain. An intermediate product that varies with fewer dimensions
than the root has fewer points. Costs are compared in two ways: by evaluation at many sizes, to find
candidates, and by proof, before one order replaces another.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from itertools import product as combinations
from math import gcd

from tempoc.base.cost_model import MODEL
from tempoc.base.effort import EFFORT
from tempoc.passes.contraction.chain import Chain, ProductTree, leaves
from tempoc.poly.relations.products import without_values
from tempoc.poly.relations.space import Space
from tempoc.symbolic import expr as ix
from tempoc.symbolic.domain import Domain, Universe
from tempoc.symbolic.walk import evaluate, is_affine, substitute

Sizes = Mapping[str, int]


@dataclass(frozen=True, slots=True, kw_only=True)
class Costs:
    """The costs of products of a chain; ``domains`` has the domain of each set of factors.

    ``at_point``: all products have the root's dimensions, so costs are for one point. ``letters``
    has the result letters of each set of factors.
    """

    chain: Chain
    space: Space
    domains: Mapping[frozenset[int], Domain]
    at_point: bool
    letters: Mapping[frozenset[int], str]

    def of(self, tree: ProductTree, domains: Mapping[frozenset[int], Domain]) -> ix.Expr:
        """The cost of an order as a polynomial."""
        if isinstance(tree, int):
            return ix.Const(0)
        parts = leaves(tree)
        own = self.step(parts, leaves(tree[0]), leaves(tree[1]), domains)
        return ix.add(own, *(self.of(part, domains) for part in tree))

    def step(
        self,
        parts: frozenset[int],
        left: frozenset[int],
        right: frozenset[int],
        domains: Mapping[frozenset[int], Domain],
    ) -> ix.Expr:
        """The cost of one product, at all of its points."""
        universe = self.space.universe
        letters = dict.fromkeys(self.letters[left] + self.letters[right])
        extents = [self.chain.extents[c] for c in letters]
        if self.at_point:
            return without_values(ix.product(extents), universe)
        root = self.chain.root.domain
        longest = [self.space.upper_bound(e, root) for e in extents]
        points = [ix.Sym(universe.dim(d).bound) for d in domains[parts].dims]
        return without_values(ix.product((*longest, *points)), universe)


def product_letters(chain: Chain, parts: frozenset[int]) -> str:
    """The letters of the product of some factors: those that other factors or the result have."""
    terms = chain.letters.terms
    outside = "".join(t for k, t in enumerate(terms) if k not in parts) + chain.letters.result
    if len(parts) == len(terms):
        return chain.letters.result
    if len(parts) == 1:
        (only,) = parts
        return terms[only]
    inside = dict.fromkeys("".join(terms[k] for k in sorted(parts)))
    return "".join(c for c in inside if c in outside)


def letters_by_product(chain: Chain) -> dict[frozenset[int], str]:
    """The letters of each product, and of each factor."""
    count = len(chain.factors)
    single = [frozenset((k,)) for k in range(count)]
    return {parts: product_letters(chain, parts) for parts in (*single, *subsets(count))}


def cheapest_orders(costs: Costs, sizes: Sequence[Sizes]) -> Iterator[ProductTree]:
    """The cheapest order for each of these sizes."""
    universe = costs.space.universe
    orders: dict[tuple[int, ...], ProductTree] = {}
    longest = {c: _longest(e, costs) for c, e in costs.chain.extents.items()}
    dims = () if costs.at_point else costs.chain.root.domain.dims
    for at in sizes:
        extents = {c: evaluate(e, at) for c, e in longest.items()}
        steps = {d: at[universe.dim(d).bound] for d in dims}
        key = (*extents.values(), *steps.values())
        if key not in orders:
            orders[key] = _cheapest_order(costs, extents, steps)
        yield orders[key]


def _cheapest_order(
    costs: Costs, extents: Mapping[str, int], steps: Mapping[str, int]
) -> ProductTree:
    """The cheapest order by dynamic programming over sets of factors."""
    count = len(costs.chain.factors)

    def points(parts: frozenset[int]) -> int:
        dims = () if costs.at_point else costs.domains[parts].dims
        return reduce(lambda n, d: n * steps[d], dims, 1)

    table: dict[frozenset[int], tuple[int, ProductTree]] = {
        frozenset((k,)): (0, k) for k in range(count)
    }
    for parts in subsets(count):
        options = []
        for left in _bipartitions(parts):
            right = parts - left
            letters = {*costs.letters[left], *costs.letters[right]}
            work = reduce(lambda n, c: n * extents[c], sorted(letters), points(parts))
            (a, x), (b, y) = table[left], table[right]
            options.append((a + b + work, (x, y)))
        table[parts] = min(options, key=lambda option: option[0])
    return table[frozenset(range(count))][1]


def _longest(e: ix.Expr, costs: Costs) -> ix.Expr:
    if costs.at_point:
        return e
    return costs.space.upper_bound(e, costs.chain.root.domain)


def subsets(count: int) -> Iterator[frozenset[int]]:
    """All sets of two and more factors, smaller ones first."""
    sets = [frozenset(k for k in range(count) if bits >> k & 1) for bits in range(1, 1 << count)]
    return iter(sorted((s for s in sets if len(s) > 1), key=lambda s: (len(s), sorted(s))))


def _bipartitions(parts: frozenset[int]) -> Iterator[frozenset[int]]:
    """All partitions of a set in two, each given by the part with the first factor."""
    first, *others = sorted(parts)
    for bits in range(1 << len(others)):
        left = frozenset((first, *(r for k, r in enumerate(others) if bits >> k & 1)))
        if len(left) < len(parts):
            yield left


# ---------------------------------------------------------------- sizes to look at


def samples(universe: Universe, domain: Domain) -> list[Sizes]:
    """Sizes that the assumptions allow: all bounds equal, and some much greater than others."""
    free = [b.name for b in universe.bounds if b.value is None or b.until]
    grid: list[Sequence[int]] = [[n] * len(free) for n in EFFORT.order_sizes]
    if 1 < len(free) <= EFFORT.mixed_order_bounds:
        grid += combinations(EFFORT.mixed_order_sizes, repeat=len(free))
    sampled = []
    for values in grid:
        sizes = dict(zip(free, values, strict=True))
        for b in universe.bounds:
            if b.name not in sizes and b.value is not None:
                sizes[b.name] = evaluate(b.value, sizes)
        if all(n >= 1 for n in sizes.values()):
            sampled += [at for at in _points(universe, domain, sizes) if _allowed(universe, at)]
    return sampled


def _points(universe: Universe, domain: Domain, sizes: Sizes) -> Iterator[Sizes]:
    """The first, the middle and the last point of a domain."""
    for part in (0, 1, 2):
        at = {d: (sizes[universe.dim(d).bound] - 1) * part // 2 for d in domain.dims}
        if evaluate(domain.where, {**sizes, **at}):
            yield {**sizes, **at}


def _allowed(universe: Universe, at: Sizes) -> bool:
    return all(evaluate(fact, at) for fact in universe.assumptions)


def is_better(first: ix.Expr, second: ix.Expr, at: Sizes) -> bool:
    """Whether the second cost is clearly less for these sizes."""
    return evaluate(first, at) > MODEL.contraction_speedup * evaluate(second, at)


# ---------------------------------------------------------------- proofs


def never_negative(e: ix.Expr, space: Space, domain: Domain) -> bool:
    """Whether a polynomial is at least 0 at all points of a domain, whatever the bounds.

    Every bound is at least 1, and at least one more than a dimension along it. A polynomial is
    never negative if substituting each bound by that minimum plus its excess leaves no negative
    coefficient.
    """
    if is_affine(e):
        return space.implies(domain, ix.compare(">=", e, ix.Const(0)))
    universe = space.universe
    least: dict[str, ix.Expr] = {}
    for bound in universe.bounds:
        along = [d for d in domain.dims if universe.dim(d).bound == bound.name]
        least[bound.name] = ix.add(ix.Sym(bound.name), ix.Const(1), *map(ix.Sym, along[:1]))
    low, _ = ix.interval(substitute(e, least))
    return low is not None and low >= 0


def primitive(e: ix.Expr) -> ix.Expr:
    """A polynomial divided by the bounds that are factors of all of its terms.

    It has the same sign, since bounds are positive.
    """
    if not isinstance(e, ix.IndexSum) or e.const:
        return e
    factors = [x.factors if isinstance(x, ix.IndexProduct) else (x,) for _, x in e.terms]
    shared: list[ix.Expr] = []
    for f in factors[0]:
        multiplicity = shared.count(f) + 1
        if isinstance(f, ix.Sym) and all(fs.count(f) >= multiplicity for fs in factors):
            shared.append(f)
    terms = []
    for (c, _), fs in zip(e.terms, factors, strict=True):
        remaining = list(fs)
        for f in shared:
            remaining.remove(f)
        terms.append(ix.mul(ix.Const(c), ix.product(remaining)))
    return ix.add(*terms)


def positive(e: ix.Expr) -> ix.Expr:
    """The condition that an integer is positive, in small numbers: ``t > 1`` for ``4*t - 4``."""
    if not isinstance(e, ix.IndexSum):
        return ix.compare(">", e, ix.Const(0))
    shared = gcd(*(c for c, _ in e.terms))
    limit = -e.const // shared
    if all(c < 0 for c, _ in e.terms):  # ``c > k`` for whole numbers is ``-c <= -k - 1``
        small = ix.add(*(ix.mul(ix.Const(-c // shared), x) for c, x in e.terms))
        return ix.compare("<", small, ix.Const(-limit))
    return ix.compare(
        ">", ix.add(*(ix.mul(ix.Const(c // shared), x) for c, x in e.terms)), ix.Const(limit)
    )
