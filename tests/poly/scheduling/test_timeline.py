"""Times in as few coordinates as a comparison needs compare as the whole ones do."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product

from hypothesis import given, settings, strategies as st

from tempoc.poly.relations.space import Space
from tempoc.poly.scheduling.timeline import Occurrence, Timeline, timeline
from tempoc.symbolic.domain import Domain, Universe
from tempoc.symbolic.expr import TRUE, Const, Expr, Sym
from tempoc.symbolic.walk import symbols

Tree = int | tuple["Tree", ...] | dict[str, "Tree"]

# A number is a task, a tuple a sequence, a dictionary a loop.
trees = st.recursive(
    st.integers(0, 5),
    lambda inner: (
        st.lists(inner, min_size=1, max_size=3).map(tuple) | inner.map(lambda tree: {"loop": tree})
    ),
    max_leaves=8,
)


def places(tree: Tree, time: tuple[Expr, ...] = ()) -> Iterator[tuple[int, tuple[Expr, ...]]]:
    if isinstance(tree, int):
        yield tree, time
    elif isinstance(tree, dict):
        yield from places(tree["loop"], (*time, Sym(f"v{len(time)}")))
    else:
        for k, item in enumerate(tree):
            yield from places(item, (*time, Const(k)))


def instances(time: tuple[Expr, ...], length: int) -> list[tuple[int, ...]]:
    """All moments with loops of two steps."""
    names = [n for e in time for n in symbols(e)]
    found = []
    for values in product((0, 1), repeat=len(names)):
        at = dict(zip(names, values, strict=True))
        moment = [e.value if isinstance(e, Const) else at[symbols(e)[0]] for e in time]
        found.append((*moment, *[0] * (length - len(moment))))
    return found


def orders(one: tuple[Expr, ...], other: tuple[Expr, ...], length: int) -> list[int]:
    pairs = product(instances(one, length), instances(other, length))
    return [(a > b) - (a < b) for a, b in pairs]


def made(tree: Tree) -> Timeline:
    found = [(str(task), time) for task, time in places(tree)]
    tasks = {str(k): Domain(()) for k in range(6)}
    occurrences = [
        Occurrence(
            task=task,
            variables=tuple(n for e in time for n in symbols(e)),
            where=TRUE,
            point=(),
            time=time,
        )
        for task, time in found
    ]
    return timeline(Space(Universe()), tasks, occurrences)


@given(trees, st.sets(st.sampled_from("012345"), min_size=1))
@settings(deadline=None)
def test_they_compare_with_anchors_as_before(tree: Tree, anchors: set[str]) -> None:
    line = made(tree)
    least = line.compared(tuple(line.tasks), sorted(anchors))
    for anchor, task in product(sorted(anchors), line.tasks):
        pairs = product(range(len(line.places[anchor])), range(len(line.places[task])))
        for k, j in pairs:
            whole = orders(line.places[anchor][k].time, line.places[task][j].time, 9)
            short = orders(least[anchor].times[k], least[task].times[j], 9)
            assert {*whole} == {*short}
            assert whole == short or len(whole) != len(short)  # loops that decide nothing may go


def test_what_all_share_is_left_out() -> None:
    line = made(({"loop": (0, 1, {"loop": (2, 3)})}, 4))
    found = line.compared(("2", "3"), ["2"])
    assert [found[t].times for t in ("2", "3")] == [
        ((Sym("v1"), Sym("v3"), Const(1)),),
        ((Sym("v1"), Sym("v3"), Const(2)),),
    ]
    assert {found[t].length for t in ("2", "3")} == {3}
    found = line.compared(("0", "3", "4"), ["0"])
    assert [found[t].times for t in ("0", "3", "4")] == [
        ((Const(1), Sym("v1"), Const(1)),),
        ((Const(1), Sym("v1"), Const(2)),),
        ((Const(2),),),
    ]


def test_tasks_that_run_alike_are_one() -> None:
    line = made(({"loop": (0, 1)}, {"loop": (0, 1)}))
    assert line.like["1"] == "0"
    assert line.compared(("0",), ["0"])["0"] == line.compared(("1",), ["1"])["1"]
