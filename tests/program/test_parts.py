"""What is in a tree: stores that are touched, and who writes them first."""

from __future__ import annotations

import pytest

from tempoc.program.analysis.traversal import (
    calls,
    overwritten_stores,
    statements_in,
    touched_stores,
)
from tempoc.program.nodes import nodes
from tempoc.symbolic.expr import Sym
from tests.program.hand_written import lifted


def call(reads: tuple[str, ...], writes: tuple[str, ...]) -> nodes.Call:
    args, results = ([nodes.Cell(store=s, key=()) for s in some] for some in (reads, writes))
    return nodes.Call(kernel="k", point=(), args=tuple(args), results=tuple(results))


def after(*items: nodes.ProgramStatement) -> nodes.Sequence:
    return nodes.Sequence(items=items)


def loop(body: nodes.ProgramStatement) -> nodes.Loop:
    return lifted(nodes.Loop(var="t", lower=0, upper="T", step=1, body=body))


FREE = nodes.Free(cells=(nodes.Cell(store="x", key=()),))


def test_everything_is_walked_in_order() -> None:
    first, second = call(("x",), ("a",)), call(("a",), ("y",))
    tree = after(first, loop(after(second, FREE)))
    assert [*calls(tree)] == [first, second]
    assert [*statements_in(tree)][-1] == FREE
    assert touched_stores(tree) == {"x", "a", "y"}


@pytest.mark.parametrize(
    ("tree", "anew"),
    [
        (call(("x",), ("a",)), True),
        (call(("x", "a"), ("a",)), False),
        (call(("a",), ("y",)), False),
        (after(call(("x",), ("y",)), call(("y",), ("a",)), call(("a",), ("a",))), True),
        (after(after(call((), ("a",))), call(("a",), ("a",))), True),
        (after(loop(call((), ("a",))), call((), ("a",))), False),
        (after(nodes.Guard(condition=Sym("T"), body=call((), ("a",)))), False),
        (call(("x",), ("y",)), False),
    ],
)
def test_who_is_first_to_write_all_of_a_store(tree: nodes.ProgramStatement, anew: bool) -> None:
    assert ("a" in overwritten_stores(tree, ("a", "b"))) == anew
