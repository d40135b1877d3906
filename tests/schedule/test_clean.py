"""Guards that would be nested too deeply stand behind each other, and mean the same."""

from __future__ import annotations

import pytest

from tempoc.schedule.clean import EMPTY, guard, sequence
from tempoc.schedule.tree import Execute, ScheduleTree, TreeGuard, TreeSequence
from tempoc.symbolic import expr as ix
from tempoc.symbolic.walk import evaluate


def condition(k: int, kind: str) -> ix.Expr:
    if kind == "limits":
        return ix.compare(">=", ix.Sym("T"), ix.Const(3 * k))
    return ix.compare("==", ix.mod(ix.Sym("T"), k + 2), ix.ZERO)


def chain(count: int, kind: str) -> ScheduleTree:
    tree: ScheduleTree = EMPTY
    for k in reversed(range(count)):
        statement = Execute(statement=f"s{k}", point=())
        tree = guard(condition(k, kind), sequence((statement, tree)))
    return tree


def executed(tree: ScheduleTree, at: int) -> list[str]:
    match tree:
        case TreeSequence(items=items):
            return [name for item in items for name in executed(item, at)]
        case TreeGuard(condition=c, body=body):
            return executed(body, at) if evaluate(c, {"T": at}) else []
        case Execute(statement=name):
            return [name]
        case _:
            raise AssertionError(tree)


def depth(tree: ScheduleTree) -> int:
    match tree:
        case TreeSequence(items=items):
            return max(map(depth, items), default=0)
        case TreeGuard(body=body):
            return 1 + depth(body)
        case _:
            return 0


@pytest.mark.parametrize("kind", ["limits", "moduli"])
@pytest.mark.parametrize("count", [1, 2, 7, 8, 9, 17, 60])
def test_long_chains_are_not_deep(count: int, kind: str) -> None:
    tree = chain(count, kind)
    assert depth(tree) <= min(count, 9)
    for at in (0, 1, 2, 4, 5, 12, 27, 60, 3 * count, 2520):
        expected: list[str] = []
        for k in range(count):
            if not evaluate(condition(k, kind), {"T": at}):
                break
            expected.append(f"s{k}")
        assert executed(tree, at) == expected
