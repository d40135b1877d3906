"""isl's answers against plain enumeration at small bounds, on generated conditions and accesses."""

from __future__ import annotations

from hypothesis import given, settings, strategies as st

from tempoc.symbolic.domain import Domain
from tempoc.symbolic.expr import (
    Const,
    Expr,
    Slice,
    Sym,
    compare,
    conjunction,
    disjunction,
    maximum,
    minimum,
    mod,
    negation,
)
from tempoc.symbolic.walk import evaluate
from tests.poly.relations.worlds import bounds, everywhere, is_in, points, reads, space
from tests.support.session.long import examples

S = space()
VALUES = st.builds(
    lambda a, b, k, c: a + c * b + Const(k),
    st.sampled_from([Sym("t"), Sym("l"), mod(Sym("t"), 2), mod(Sym("t") + Sym("l"), 3)]),
    st.sampled_from([Sym("T"), Sym("P"), Sym("l"), Const(0)]),
    st.integers(-3, 3),
    st.sampled_from([-1, 0, 0, 1]),
)
ATOMS = st.builds(compare, st.sampled_from(["<", "<=", ">", ">=", "==", "!="]), VALUES, VALUES)
CONDITIONS = st.recursive(
    ATOMS,
    lambda inner: st.one_of(
        st.builds(conjunction, inner, inner),
        st.builds(disjunction, inner, inner),
        st.builds(negation, inner),
    ),
    max_leaves=3,
)
DIMS = ("t", "l")


@settings(max_examples=examples(34, long=120), deadline=None)
@given(CONDITIONS, CONDITIONS)
def test_proofs(where: Expr, condition: Expr) -> None:
    domain = Domain(DIMS, where)
    here = list(everywhere(domain))
    if S.is_empty(domain):
        assert not here
    if S.implies(domain, condition):
        assert all(evaluate(condition, p) for p in here)
    witness = S.witness(domain, condition)
    assert (witness is None) == S.implies(domain, condition)
    if witness is not None:
        assert evaluate(where, witness) and not evaluate(condition, witness)
        bad = [p for p in here if not evaluate(condition, p)]
        if bad:  # the enumeration ends at a bound; a witness beyond it is larger
            least = min((p["T"], p["P"], p["t"], p["l"]) for p in bad)
            assert (witness["T"], witness["P"], witness["t"], witness["l"]) == least


@settings(max_examples=examples(34, long=120), deadline=None)
@given(CONDITIONS, CONDITIONS)
def test_simplify_keeps_the_truth(where: Expr, condition: Expr) -> None:
    domain = Domain(DIMS, where)
    short = S.simplify(condition, domain)
    for p in everywhere(domain):
        assert evaluate(short, p) == evaluate(condition, p)


@settings(max_examples=examples(23, long=80), deadline=None)
@given(CONDITIONS, CONDITIONS, st.sampled_from([("t",), ("l",), ()]))
def test_algebra(a: Expr, b: Expr, keep: tuple[str, ...]) -> None:
    first, second = Domain(DIMS, a), Domain(DIMS, b)
    union, difference = S.union(first, second), S.subtract(first, second)
    both, shadow = S.intersect(first, second), S.project(first, keep)
    for env in bounds(range(1, 5)):
        shadows = {tuple(p[d] for d in keep) for p in points(first, env)}
        assert shadows == {tuple(p[d] for d in keep) for p in points(shadow, env)}
        for p in points(Domain(DIMS), env):
            x, y = evaluate(a, p), evaluate(b, p)
            assert evaluate(union.where, p) == (x or y)
            assert evaluate(both.where, p) == (x and y)
            assert evaluate(difference.where, p) == (x and not y)


ENTRIES = st.one_of(
    VALUES,
    st.builds(
        Slice,
        st.one_of(VALUES, VALUES.map(lambda e: maximum(Const(0), e))),
        st.one_of(VALUES, VALUES.map(lambda e: minimum(Sym("T"), e))),
        st.integers(1, 2),
    ),
)


@settings(max_examples=examples(34, long=120), deadline=None)
@given(CONDITIONS, ENTRIES, CONDITIONS)
def test_accesses(where: Expr, entry, hole: Expr) -> None:
    sink, source = Domain(DIMS, where), Domain(DIMS, hole)
    entries = (entry, Sym("l"))
    found = S.outside(sink, entries, source)
    if found is not None:
        assert evaluate(where, found.point)
        assert found.index in set(reads(entries, found.point))
        assert not is_in(source, found.index, found.point)
    else:
        for p in everywhere(sink):
            assert all(is_in(source, index, p) for index in reads(entries, p))
    signs = S.signs(sink, entries, source)
    for p in everywhere(sink):
        for index in reads(entries, p):
            gap = p["t"] - index[0]
            assert (gap > 0) - (gap < 0) in signs["t"]


@settings(max_examples=examples(23, long=80), deadline=None)
@given(CONDITIONS, VALUES)
def test_extremes(where: Expr, e: Expr) -> None:
    domain = Domain(DIMS, where)
    if S.is_empty(domain):
        return
    most, least = S.upper_bound(e, domain), S.lower_bound(e, domain)
    for env in bounds(range(1, 5)):
        values = [evaluate(e, p) for p in points(domain, env)]
        if values:
            assert evaluate(least, env) <= min(values) and max(values) <= evaluate(most, env)
