"""Inverse accesses, in the words of the source."""

from __future__ import annotations

import pytest
from hypothesis import given, settings, strategies as st

from tempoc.poly.relations.inverse import covering, readers
from tempoc.poly.relations.space import Space
from tempoc.symbolic.domain import Bound, Dim, Domain, Universe
from tempoc.symbolic.expr import Const
from tempoc.symbolic.parse import parse
from tempoc.symbolic.text import show
from tempoc.symbolic.walk import evaluate
from tests.poly.relations.worlds import at, bounds, dom, points, reads, space
from tests.support.session.long import examples
from tests.symbolic.entries import show_entries

S = space()


@pytest.mark.parametrize(
    ("entry", "expected", "where"),
    [
        ("t", "[t]", "true"),
        ("t+3", "[t-3]", "t >= 3"),
        ("t-1", "[t+1]", "t < T-1"),
        ("max(0, t-3):t+1", "[t:min(t+4, T)]", "true"),
        ("t:T", "[0:t+1]", "true"),
        ("0:T", "[0:T]", "true"),
        ("0:t+1", "[t:T]", "true"),
        ("t:min(t+5, T)", "[max(0, t-4):t+1]", "true"),
        ("T-1-t", "[T-1-t]", "true"),
        ("0", "[0:T]", "t == 0"),
        ("2*t", "[t//2]", "t % 2 == 0"),
        ("t//2", "[2*t:min(2*t+2, T)]", "true"),
    ],
)
def test_inverse(entry: str, expected: str, where: str) -> None:
    pieces = readers(S, dom("t"), at(entry), dom("t"))
    assert pieces is not None
    (found,) = pieces
    assert (show_entries(found.entries), show(found.where), found.exact) == (expected, where, True)


FORMS = ["t", "t-1", "t+2", "0:t+1", "t:T", "t:T:2", "T-1-t", "t//2", "2*t", "max(0,t-2):t", "P-1"]
FORMS += ["(3*t) % 7", "t%3:t+1:2", "min(t, T-t):T"]
WHERES = ["true", "t % 2 == 0", "t >= 2", "t < T-1"]


@settings(max_examples=examples(17, long=60), deadline=None)
@given(st.sampled_from(FORMS), st.sampled_from(WHERES))
def test_readers_by_enumeration(entry: str, where: str) -> None:
    sink, source = dom("t", where), dom("t")
    pieces, cover = readers(S, sink, at(entry), source), covering(S, sink, at(entry), source)
    for env in bounds(range(1, 6)):
        for here in points(source, env):
            wanted = {
                (p["t"],) for p in points(sink, env) if (here["t"],) in set(reads(at(entry), p))
            }
            covered = set(reads(cover.entries, here)) if evaluate(cover.where, here) else set()
            assert wanted <= covered
            if pieces is not None:
                found = [
                    r for p in pieces if evaluate(p.where, here) for r in reads(p.entries, here)
                ]
                assert sorted(found) == sorted(wanted)


def test_covering_is_as_short_as_can_be_said() -> None:
    found = covering(S, dom("tl"), at("t+l"), dom("t"))
    assert show_entries(found.entries) == "[max(0, t-L+1):t+1, 0:min(t+1, L)]"
    assert not found.exact


def test_a_circle_of_fixed_size_has_one_reader_of_each_point() -> None:
    (found,) = readers(S, dom("l"), at("(l+L-1) % 3"), dom("l")) or ()
    assert (show_entries(found.entries), show(found.where)) == ("[(l+1)%3]", "true")


def test_where_sizesleave_no_reader_there_is_none() -> None:
    bound, dim = Bound(name="L", value=Const(1)), Dim(name="l", bound="L")
    one = Universe(bounds=(bound,), dims=(dim,))
    assert readers(Space(one), dom("l"), at("0:l"), dom("l")) == ()


def test_points_in_several_intervals_read_themselves() -> None:
    """Also where the size of one is known: isl would tell of each interval where it is instead."""
    sizes = (Bound(name="T"), Bound(name="J", value=parse("2*T+1")))
    dims = (Dim(name="t", bound="T"), Dim(name="j", bound="J"))
    ends = Domain(("t", "j"), parse("t != T-1 and (j < 1 or j >= J-1)"))
    of_all = Space(Universe(bounds=sizes, dims=dims))
    (found,) = readers(of_all, ends, at("t", "j"), Domain(("t", "j"))) or ()
    assert found.exact and show_entries(found.entries) == "[t, j]"
