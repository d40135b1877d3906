"""Paths between groups, against a search anew after each merge."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from hypothesis import given, settings, strategies as st

from tempoc.poly.scheduling.reachability import Paths

Links = Mapping[int, Sequence[int]]


def searched(links: Links, start: Sequence[int]) -> set[int]:
    """What can be reached from some nodes, themselves included."""
    found, waiting = {*start}, [*start]
    while waiting:
        fresh = [n for n in links[waiting.pop()] if n not in found]
        found.update(fresh)
        waiting += fresh
    return found


def between(links: Links, first: int, second: int) -> set[int]:
    """The nodes on paths of at least two steps from one to the other."""
    found = set()
    for a, b in ((first, second), (second, first)):
        within = searched(links, [n for n in links[a] if n != b])
        found |= {k for k in within if b in searched(links, [k])}
    return found - {first, second}


def merged(links: Links, old: Sequence[int]) -> dict[int, list[int]]:
    """The links when several nodes are the first of them."""
    found: dict[int, list[int]] = {k: [] for k in links if k not in old[1:]}
    for k, others in links.items():
        for n in others:
            a, b = (old[0] if end in old else end for end in (k, n))
            if a != b and b not in found[a]:
                found[a].append(b)
    return found


@settings(deadline=None)
@given(st.data())
def test_paths_after_merges(data: st.DataObject) -> None:
    count = data.draw(st.integers(2, 9), "nodes")
    pairs = [(a, b) for a in range(count) for b in range(a + 1, count)]
    drawn = data.draw(st.lists(st.sampled_from(pairs), unique=True), "links")
    links: dict[int, list[int]] = {n: [b for a, b in drawn if a == n] for n in range(count)}
    paths = Paths(range(count), links)
    while len(links) > 1:
        a, b = data.draw(st.permutations(sorted(links)), "merge")[:2]
        asked = paths.between(a, b)
        assert {*asked} == between(links, a, b)
        old = (a, *asked, b)
        paths.merge(old)
        links = merged(links, old)
