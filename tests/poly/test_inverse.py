"""Inverse accesses, in the words of the source."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tempoc.poly.inverse import inverse
from tempoc.symbolic.text import show, show_entries
from tempoc.symbolic.walk import evaluate
from tests.poly.worlds import at, bounds, dom, is_in, points, reads, space

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
        ("t//2", "[2*t:min(2*t+2, T)]", "2*t < T"),
    ],
)
def test_inverse(entry: str, expected: str, where: str) -> None:
    (found,) = inverse(S, dom("t"), at(entry), dom("t"))
    assert (show_entries(found.entries), show(found.where), found.exact) == (expected, where, True)


FORMS = ["t", "t-1", "t+2", "0:t+1", "t:T", "t:T:2", "T-1-t", "t//2", "2*t", "max(0,t-2):t", "P-1"]


@settings(max_examples=60, deadline=None)
@given(st.sampled_from(FORMS), st.sampled_from(["true", "t % 2 == 0", "t >= 2", "t < T-1"]))
def test_inverse_by_enumeration(entry: str, where: str) -> None:
    sink, source = dom("t", where), dom("t")
    pieces = inverse(S, sink, at(entry), source)
    for env in bounds(range(1, 6)):
        for here in points(source, env):
            readers = {
                (p["t"],) for p in points(sink, env) if (here["t"],) in set(reads(at(entry), p))
            }
            found: set[tuple[int, ...]] = set()
            for piece in pieces:
                if evaluate(piece.where, here):
                    found |= {r for r in reads(piece.entries, here) if is_in(dom("t"), r, here)}
            if pieces:
                assert readers <= found
                if all(p.exact for p in pieces):
                    assert readers == found
