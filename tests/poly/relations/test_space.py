"""What the space says, example by example: the answers that diagnostics and goldens show."""

from __future__ import annotations

from dataclasses import replace
from itertools import product

import pytest

from tempoc.poly.isl import isl
from tempoc.poly.relations import syntactic as fast
from tempoc.poly.relations.space import OutsideRead, Space
from tempoc.symbolic.domain import Bound, Dim, Domain, Universe
from tempoc.symbolic.expr import TRUE, Const, Sym, maximum
from tempoc.symbolic.parse import parse_expr
from tempoc.symbolic.text import show
from tests.poly.relations.worlds import UNIVERSE, at, dom, space

S = space()


@pytest.mark.parametrize(
    ("condition", "given", "expected"),
    [
        ("t >= 1", "t >= 1", "true"),
        ("t < T", "true", "true"),
        ("t >= 1 or t == 0", "true", "true"),
        ("t < 0 or t >= T", "true", "false"),
        ("not (t == 3)", "true", "t != 3"),
        ("t <= 0", "true", "t == 0"),
        ("t < 1", "true", "t == 0"),
        ("t >= T-1", "true", "t == T-1"),
        ("t >= 5 and t >= 3", "true", "t >= 5"),
        ("t % 2 == 1 or t % 2 == 0", "true", "true"),
        ("t % 2 == 0", "true", "t % 2 == 0"),
        ("t == 0 or t >= 1 and t % 2 == 0", "true", "t % 2 == 0"),
        ("t % 2 == 0 and t >= 1", "true", "t % 2 == 0 and t >= 1"),
        ("t >= 1 and t < T-1", "t >= 1", "t < T-1"),
        ("t == 3 or t == 5", "true", "t == 3 or t == 5"),
        ("t >= 1 and not (t == T-1)", "true", "t >= 1 and t != T-1"),
        ("t//4 == 2", "true", "t//4 == 2"),
        ("t < P", "t < P", "true"),
        ("P <= T", "true", "true"),
    ],
)
def test_simplified_conditions_read_well(condition: str, given: str, expected: str) -> None:
    assert show(S.simplify(parse_expr(condition), dom("t", given))) == expected


def test_fixed_bounds_prove_but_do_not_show() -> None:
    assert S.implies(dom("l"), parse_expr("l < 3"))
    assert show(S.simplify(parse_expr("l == L-1"), dom("l"))) == "l == L-1"
    assert S.is_empty(dom("l", "l >= 3"))
    assert not S.symbolic.is_empty(dom("l", "l >= 3"))
    assert S.symbolic.symbolic is S.symbolic


def test_witnesses_are_small() -> None:
    assert S.outside(dom("t"), at("t-1"), dom("t")) == OutsideRead(
        point={"T": 1, "L": 3, "N": 1, "P": 1, "t": 0}, index=(-1,), dim="t"
    )
    hole = S.outside(dom("t"), at("t"), dom("t", "t % 2 == 0"))
    assert hole is not None
    assert (hole.point["T"], hole.point["t"], hole.index, hole.dim) == (2, 1, (1,), None)
    assert S.witness(dom("t"), parse_expr("t < 3")) == {"T": 4, "L": 3, "N": 1, "P": 1, "t": 3}
    assert S.witness(dom("t"), parse_expr("t < T")) is None


@pytest.mark.parametrize(
    ("sink", "entries", "source"),
    [
        (dom("t"), at("t"), dom("t")),
        (dom("t"), at("0:t+1"), dom("t")),
        (dom("t"), at("t:T"), dom("t")),
        (dom("t"), at("t:min(t+5, T)"), dom("t")),
        (dom("t"), at("max(0, t-3):t+1"), dom("t")),
        (dom("t"), at("T-1-t"), dom("t")),
        (dom(""), at("T-1"), dom("t")),
        (dom("t", "t >= 1"), at("t-1"), dom("t")),
        (dom("t"), at("t", "2"), dom("tl")),
        (dom("t"), at("t", "L-1"), dom("tl")),
        (dom("t", "t >= 1 and t % 2 == 0"), at("t"), dom("t", "t % 2 == 0")),
        (dom("n"), at("4*n"), dom("t")),
        (dom("n"), at("4*n:min(4*n+4, T)"), dom("t")),
        (dom("t"), at("t//4"), dom("n")),
        (dom("t"), at("P-1"), dom("t")),
        (dom("t"), at("5:3"), dom("t")),
        (dom("t"), at("0:T:2"), dom("t", "t % 2 == 0")),
    ],
)
def test_accesses_proved_inside(sink, entries, source) -> None:
    assert S.outside(sink, entries, source) is None


@pytest.mark.parametrize(
    ("domain", "keep", "expected"),
    [
        (dom("tl"), "t", "true"),
        (dom("tl", "t >= 1"), "t", "t >= 1"),
        (dom("tl", "t > l"), "t", "t >= 1"),
        (dom("tl", "l == 2"), "t", "true"),
        (dom("tl", "t == l"), "t", "t < L"),
        (dom("tl", "t >= 2 and l == t"), "l", "l < T and l >= 2"),
    ],
)
def test_projections(domain, keep: str, expected: str) -> None:
    found = S.project(domain, tuple(keep))
    assert found.dims == tuple(keep)
    assert S.equal(found.where, parse_expr(expected), dom(keep))


def test_algebra_of_domains() -> None:
    assert S.subtract(dom("t"), dom("t", "t >= 1")).where == parse_expr("t == 0")
    assert show(S.subtract(dom("t"), dom("t", "t % 2 == 0")).where) == "t % 2 == 1"
    assert S.union(dom("t", "t == 0"), dom("t", "t >= 1")) == dom("t")
    assert S.intersect(dom("t"), dom("tl", "l == 0")) == dom("tl", "l == 0")
    assert S.box(("l", "t")).dims == ("t", "l")
    assert S.contains(dom("t", "t >= 1"), dom("t", "t >= 2"))
    assert not S.contains(dom("t", "t >= 2"), dom("t", "t >= 1"))
    assert S.disjoint(parse_expr("t == 0"), parse_expr("t >= 1"), dom("t"))


@pytest.mark.parametrize(
    ("e", "domain", "most", "least"),
    [
        ("t+1", dom("t"), "T", "1"),
        ("T-t", dom("t"), "T", "1"),
        ("min(t+5, T)-t", dom("t"), "min(5, T)", "1"),
        ("t*l", dom("tl"), "L*T-L-T+1", "0"),
        ("t-l", dom("tl"), "T-1", "1-L"),
        ("min(4, max(0, t-2))", dom("t"), "max(0, min(4, T-3))", "0"),
        ("T+2", dom("t"), "T+2", "T+2"),
        ("t", dom("t", "t < P"), "P-1", "0"),
    ],
)
def test_extremes(e: str, domain, most: str, least: str) -> None:
    assert S.upper_bound(parse_expr(e), domain) == parse_expr(most)
    assert S.lower_bound(parse_expr(e), domain) == parse_expr(least)


def test_dimensions_with_one_point() -> None:
    assert S.is_fixed_by(dom("t", "t == T-1"), "t")
    assert S.is_fixed_by(dom("tl", "t >= 1 and t < 2"), "t")
    assert not S.is_fixed_by(dom("tl", "t == 0"), "l")
    assert not S.is_fixed_by(dom("t", "t >= 1"), "t")


def test_signs_of_differences() -> None:
    both = dom("tl")
    signs = S.signs(both, at("t", "l-1"), both)
    assert signs == {"t": frozenset({0}), "l": frozenset({1})}
    assert S.signs(both, at("0:t+1", "l"), both)["t"] == frozenset({0, 1})
    assert S.signs(both, at("t:T", "l"), both)["t"] == frozenset({-1, 0})
    assert S.signs(dom("t"), at("T-1-t"), dom("t"))["t"] == frozenset({-1, 0, 1})
    assert S.signs(dom("t"), at("t//2"), dom("t"))["t"] == frozenset({0, 1})


def test_reduce_drops_what_never_wins() -> None:
    assert S.reduce(parse_expr("max(0, T-t)"), dom("t")) == parse_expr("T-t")
    assert S.reduce(parse_expr("min(t, T)"), dom("t")) == parse_expr("t")
    assert S.reduce(parse_expr("min(t+5, T)"), dom("t")) == parse_expr("min(t+5, T)")


def test_equal_needs_the_domain() -> None:
    assert S.equal(parse_expr("t % 4"), parse_expr("t"), dom("t", "t < 4"))
    assert not S.equal(parse_expr("t % 4"), parse_expr("t"), dom("t"))
    assert not S.equal(parse_expr("t*l"), parse_expr("l"), dom("tl"))


def test_a_space_without_dimensions() -> None:
    empty = Space(Universe())
    assert not empty.is_empty(dom(""))
    assert empty.outside(dom(""), (), dom("")) is None
    assert empty.simplify(TRUE, dom("")) == TRUE


def test_unknown_relation_of_bounds_is_witnessed() -> None:
    universe = Universe(
        bounds=(Bound(name="A"), Bound(name="B")),
        dims=(Dim(name="a", bound="A"), Dim(name="b", bound="B")),
    )
    found = Space(universe).outside(dom("a"), at("a"), dom("b"))
    assert found is not None and found.point == {"A": 2, "B": 1, "a": 1} and found.dim == "b"


def test_sizes_are_no_less_than_asked() -> None:
    """What is plainly large enough stays as it is; bounds are at least 1."""
    universe = Universe(bounds=(Bound(name="T"),))
    t = Sym("T")
    assert fast.clamped_size(0, t - 1, universe) == t - 1
    assert fast.clamped_size(1, t, universe) == t
    assert fast.clamped_size(0, t - 2, universe) == maximum(Const(0), t - 2)
    assert fast.clamped_size(1, t - 1, universe) == maximum(Const(1), t - 1)


def test_slices_that_end_at_a_minimum_are_no_union() -> None:
    entries = at("max(0, t-2):min(t+3, T)", "max(0, t-4):min(t+1, N)")
    assert S.access_map(dom("t"), entries, dom("tn")).n_basic_map() == 1


@pytest.mark.parametrize("fact", ["L == 3", "N == (T+3)//4", "P <= T", "t < T", "n < N", "l < 3"])
def test_samples_are_points(fact: str) -> None:
    samples = S.samples
    assert samples.where(parse_expr(fact)) == samples.where(TRUE) != 0


def test_what_a_sample_refutes_is_not_asked() -> None:
    class Unasked(Space):
        def _set(self, domain: Domain) -> isl.Set:
            raise AssertionError(domain)

    s = Unasked(UNIVERSE)
    assert not s.implies(dom("t", "t % 3 == 1"), parse_expr("t % 2 == 0"))
    assert not s.is_empty(dom("tl", "t > l and l > 0"))
    assert not s.equal(parse_expr("t < 3"), parse_expr("t < 2"), dom("t"))


def test_proofs_without_a_sample() -> None:
    far = parse_expr("T == 2*P + 10000019 and T % 7 == 3")
    s = Space(replace(UNIVERSE, assumptions=(far,)))
    assert s.samples.where(TRUE) == 0
    assert not s.is_empty(dom("t", "t >= 20000"))
    assert not s.implies(dom("t"), parse_expr("t < 20000"))
    assert s.implies(dom("t"), parse_expr("P < T"))


@pytest.mark.parametrize(
    ("a", "b", "gap", "expected"),
    [
        ("t < 3", "t >= 3", 0, True),
        ("t < 3", "t > 3", 1, True),
        ("t < 3", "t > 3", 2, False),
        ("t < 3 or t >= 7", "t >= 4 and t < 6", 0, True),
        ("t < 3 or t >= 5", "t >= 4 and t < 6", 0, False),
        ("t >= T-2", "T >= t+3", 0, True),
        ("t >= T-2", "t < T-1", 0, False),
        ("2*t - T < 3", "T < 2*t - 5", 0, True),
        ("t % 7 == 0", "t % 7 == 3", 0, True),
        ("t % 7 == 0", "t % 5 == 3", 0, False),
        ("t < 3 and t >= 5", "t == 4", 0, True),
        ("t != 3", "t == 3", 0, False),
        ("t != 3", "t >= 5", 0, False),
        ("t < 3", "l > 3", 0, False),
    ],
)
def test_conditions_are_apart_by_what_they_compare(
    a: str, b: str, gap: int, expected: bool
) -> None:
    assert fast.are_apart(parse_expr(a), parse_expr(b), gap) is expected
    assert fast.are_apart(parse_expr(b), parse_expr(a), gap) is expected


def test_a_union_is_simplified_where_its_parts_meet() -> None:
    parts = [f"t == {3 * a}" for a in range(5)]
    covered = dom("t", "false")
    for part in (*parts, "t == 7", "t == 8"):
        covered = S.union(covered, dom("t", part))
    assert show(covered.where) == "t == 0 or t == 3 or t == 12 or t < 10 and t >= 6"
    for part in ("t > 12", "t > 3 and t < 6", "t > 9 and t < 12", "t < 3"):
        assert covered.where != TRUE
        covered = S.union(covered, dom("t", part))
    assert covered.where == TRUE


def test_a_union_is_known_to_be_the_whole_of_parts_that_were_not_simplified() -> None:
    short = parse_expr("t < 4 or t >= 4 and t < 8")
    assert S.either(short, parse_expr("t >= 8"), dom("t")) == TRUE
    assert S.either(short, parse_expr("t >= 9"), dom("t")) != TRUE


def test_parts_that_do_not_touch_the_last_one_still_make_the_whole() -> None:
    covered = dom("tn", "false")
    for part in product(("{} < 4", "{0} >= 4 and {0} < 8", "{} >= 8"), repeat=2):
        assert covered.where != TRUE
        cell = " and ".join(p.format(d) for p, d in zip(part, "tn", strict=True))
        covered = S.union(covered, dom("tn", cell))
    assert covered.where == TRUE
