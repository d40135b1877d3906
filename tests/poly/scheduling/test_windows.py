"""Slots of what each use takes whole along a dimension: known without a question about it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from itertools import permutations

import pytest

from tempoc.poly.isl import isl
from tempoc.poly.relations.space import Space
from tempoc.poly.scheduling import liveness as liveness_module
from tempoc.poly.scheduling.liveness import Liveness, StoredTensor, TensorUse
from tempoc.poly.scheduling.timeline import Occurrence, timeline
from tempoc.symbolic.domain import Bound, Dim, Universe
from tempoc.symbolic.expr import TRUE, Const, Sym
from tempoc.symbolic.text import show
from tests.poly.relations.worlds import at, dom

COLUMN = "0:min(P, T)"
UNIVERSE = Universe(
    bounds=(Bound(name="T"), Bound(name="P")),
    dims=(Dim(name="t", bound="T"), Dim(name="p", bound="P")),
)


def liveness(reads: dict[str, str], where: str = "true") -> Liveness:
    """What ``w`` writes at each ``t``, row by row, and ``r`` reads in the same loop later."""
    tasks = {"w": dom("t"), "r": dom("t")}
    occurrences = [
        Occurrence(task=task, variables=("t",), where=TRUE, point=(Sym("t"),), time=(Sym("t"), k))
        for task, k in (("w", Const(0)), ("r", Const(1)))
    ]
    writes = (TensorUse(task="w", entries=at("t", COLUMN)),)
    uses = tuple(TensorUse(task="r", entries=at(t, p)) for t, p in reads.items())
    tensor = StoredTensor(domain=dom("tp", where), writes=writes, reads=uses)
    return Liveness(timeline(Space(UNIVERSE), tasks, occurrences), {"x": tensor})


@pytest.mark.parametrize(
    ("reads", "sizes"),
    [
        ({"t": COLUMN}, ("1", "min(P, T)")),
        ({"t": COLUMN, "max(0, t-1)": COLUMN}, ("2", "min(P, T)")),
        ({}, ("1", "1")),
    ],
)
def test_one_question_for_all_orders(
    reads: dict[str, str], sizes: tuple[str, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[tuple[str, ...]] = []
    size = Liveness._size

    def counted(self, gaps, dims, equal, dim):
        asked.append((*sorted(equal), dim))
        return size(self, gaps, dims, equal, dim)

    monkeypatch.setattr(Liveness, "_size", counted)
    found = liveness(reads)
    assert {tuple(map(show, found.windows("x", order))) for order in permutations("tp")} == {sizes}
    assert asked == [("t",)]
    monkeypatch.setattr(Liveness, "_whole", lambda self, stored: {})
    again = liveness(reads)
    assert {tuple(map(show, again.windows("x", order))) for order in permutations("tp")} == {sizes}
    assert len(asked) > 2


def test_tensors_that_are_used_alike_are_asked_about_once(monkeypatch: pytest.MonkeyPatch) -> None:
    first = liveness({"t": COLUMN})
    both = replace(first, stored={"x": first.stored["x"], "y": replace(first.stored["x"])})
    assert tuple(map(show, both.windows("x"))) == ("1", "min(P, T)")
    monkeypatch.setattr(Liveness, "_whole", None)
    assert both.windows("y") == both.windows("x")


def test_equal_distances_are_measured_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Two tensors with live ranges of their own, which both go back by one step."""
    measured: list[str] = []
    furthest = liveness_module._furthest

    def counted(gaps: isl.Set) -> Iterator[isl.PwAff]:
        measured.append(str(gaps))
        return furthest(gaps)

    monkeypatch.setattr(liveness_module, "_furthest", counted)
    first = liveness({"t": COLUMN, "max(0, t-1)": COLUMN})
    other = liveness({"t": "0:1", "max(0, t-1)": "0:1"}).stored["x"]
    both = replace(first, stored={**first.stored, "y": other})
    assert [show(both.windows(name)[0]) for name in "xy"] == ["2", "2"]
    assert measured and len(measured) == len({*measured})


@pytest.mark.parametrize(
    ("column", "where"), [("0:T-1", "p < T-1"), ("1:T", "p >= 1"), (COLUMN, "p <= t")]
)
def test_what_may_be_empty_or_depends_on_others_is_asked(column: str, where: str) -> None:
    found = liveness({"t": column}, where)
    assert found._whole(found.stored["x"]) == {}
