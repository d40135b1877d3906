"""Joins one after the other: the answers are those of a test from scratch."""

from __future__ import annotations

import pytest
from hypothesis import given, settings, strategies as st

from tempoc.base.graphs import strongly_connected_components
from tempoc.passes.analysis.dependence import (
    Dependence,
    is_carried,
    unschedulable_statements,
)
from tempoc.passes.fusion import loop_nests
from tempoc.passes.fusion.loop_nests import LoopNests
from tests.support.session.long import examples

NAMES = ("a", "b", "c", "d", "e", "f")
SIGNS = st.sampled_from([(0,), (1,), (-1,), (0, 1), (-1, 0), (-1, 0, 1)])
DIMS = ("i", "t")


def need(sink: str, source: str, signs: tuple[tuple[int, ...], ...]) -> Dependence:
    listed = tuple((d, frozenset(s)) for d, s in zip(DIMS, signs, strict=True))
    return Dependence(sink=sink, source=source, signs=listed)


needs = st.lists(
    st.builds(need, st.sampled_from(NAMES), st.sampled_from(NAMES), st.tuples(SIGNS, SIGNS)),
    max_size=12,
)
joins = st.lists(st.tuples(st.sampled_from(NAMES), st.sampled_from(NAMES)), max_size=20)


def contracted(found: list[Dependence], a: str, b: str) -> list[Dependence]:
    """The dependences when the second is part of the first."""
    result: dict[Dependence, None] = {}
    for d in found:
        sink, source = (a if end == b else end for end in (d.sink, d.source))
        whole = d.sink == d.source or sink != source
        for part in (d,) if whole else d.moving():
            result[part._replace(sink=sink, source=source)] = None
    return list(result)


def around(name: str, left: list[str], found: list[Dependence]) -> tuple[str, ...]:
    """What is in a cycle with a statement, itself included."""
    sources: dict[str, list[str]] = {n: [] for n in left}
    for d in found:
        sources[d.sink].append(d.source)
    return next(
        part for part in strongly_connected_components(left, sources.__getitem__) if name in part
    )


@given(needs, joins)
@settings(max_examples=examples(114, long=400), deadline=None)
def test_joins_are_judged_as_from_scratch(
    found: list[Dependence], pairs: list[tuple[str, str]]
) -> None:
    dims = dict.fromkeys(NAMES, DIMS)
    nests, left = LoopNests(NAMES, found, dims), list(NAMES)
    for a, b in pairs:
        if a == b or a not in left or b not in left:
            continue
        after = contracted(found, a, b)
        rest = [n for n in left if n != b]
        expected = not unschedulable_statements(around(a, rest, after), after, dims)
        assert nests.may_join(a, b) is expected
        if expected:
            nests.join(a, b)
            found, left = after, rest
            mine = {d for name in left for d in (*nests.touching[name], *nests.own[name])}
            assert mine == {*found}


def test_what_is_refused_is_decided_anew_if_its_cycle_has_other_members(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    asked: list[tuple[str, ...]] = []

    def counted(names: tuple[str, ...], *about: object) -> bool:
        asked.append(names)
        return is_carried(names, *about)  # type: ignore[arg-type]

    monkeypatch.setattr(loop_nests, "is_carried", counted)
    here = ((0,), (0,))
    found = [need("c", "a", here), need("b", "c", here), need("f", "e", here)]
    found.append(need("c", "c", ((0,), (1,))))  # or no loop would be asked about
    nests = LoopNests(NAMES, found, dict.fromkeys(NAMES, DIMS))
    assert not nests.may_join("a", "b") and not nests.may_join("a", "b")
    nests.join("e", "f")
    assert not nests.may_join("a", "b")
    assert asked == [("a", "c")]
    nests.join("a", "c")
    assert nests.may_join("a", "b")


@given(needs, st.sampled_from(DIMS))
def test_cycles_along_one_dimension(found: list[Dependence], dim: str) -> None:
    nests = LoopNests(NAMES, found, dict.fromkeys(NAMES, DIMS))
    along = [d for d in found if all(0 in s or k == dim for k, s in d.signs)]
    for a, b in (("a", "b"), ("c", "a")):
        assert nests.is_cyclic(a, b, dim) is (b in around(a, list(NAMES), along))


def test_no_loop_is_asked_about_if_nothing_moves_along_one(monkeypatch: pytest.MonkeyPatch) -> None:
    def never(*about: object) -> bool:
        raise AssertionError(about)

    monkeypatch.setattr(loop_nests, "is_carried", never)
    here, ahead = ((0,), (0,)), ((0,), (1,))
    found = [need("c", "a", here), need("b", "c", here), need("f", "e", ahead)]
    nests = LoopNests(NAMES, found, dict.fromkeys(NAMES, DIMS))
    assert not nests.may_join("a", "b")
    nests.join("d", "e")
    nests.join("d", "f")  # moves now, but is in no cycle with the others
    assert not nests.may_join("a", "b")
