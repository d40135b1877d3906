"""What conditions of steps that are written out say before XLA knows anything."""

from __future__ import annotations

import pytest

from tempoc.codegen.regions.branches import static_part
from tempoc.codegen.steps.at_steps import hoisted_conditions
from tempoc.program.analysis.live import StoreKinds, live_before
from tempoc.program.nodes import nodes as prog
from tempoc.symbolic import expr as ix
from tempoc.symbolic.parse import parse
from tempoc.symbolic.walk import symbols


@pytest.mark.parametrize(
    ("condition", "part"),
    [
        ("i == 0 and l >= 2 or L >= 2 and i >= 1 and l == L", "l >= 2 or L >= 2 and l == L"),
        ("l >= 1 and (i == 0 or l < L)", "l >= 1"),
        ("i == 0 or l >= 1", "0 == 0"),
        ("l >= 1", "l >= 1"),
    ],
)
def test_no_step_is_left_out_that_the_condition_may_hold_for(condition: str, part: str) -> None:
    """Of these only ``i`` is a number that XLA computes."""
    assert static_part(parse(condition), lambda e: "i" not in symbols(e)) == parse(part)


CALL = prog.Call(kernel="f", point=(), args=(), results=())


def when(condition: str, *body: prog.ProgramStatement) -> prog.Guard:
    e = parse(condition)
    assert isinstance(e, ix.Expr)
    return prog.Guard(condition=e, body=body[0] if len(body) == 1 else prog.Sequence(items=body))


def loop(body: prog.ProgramStatement, step: int = 1, place: str = "device") -> prog.Loop:
    return prog.Loop(var="i", lower=ix.ZERO, upper=ix.Sym("I"), step=step, body=body, place=place)


def test_conditions_on_bounds_stand_around_the_branch_that_implies_them() -> None:
    branch = when("i < I - 1", when("I >= 2", CALL), CALL, when("I >= 2 and T >= 2", CALL))
    new = when("I >= 2", when("i < I - 1", CALL, CALL, when("T >= 2", CALL)))
    assert hoisted_conditions(loop(branch), ["I", "T"]) == loop(new)


@pytest.mark.parametrize(
    "other",
    [
        loop(when("i < I - 1", when("I >= 3", CALL))),
        loop(when("i < I - 1", when("I >= 2", CALL)), place="host"),
        loop(when("i >= 1", when("I >= 2", CALL)), step=2),
        loop(when("i < I - 1", when("i < I - 1", CALL))),
        loop(when("T >= 2", when("I >= 2", CALL))),
    ],
)
def test_other_conditions_stay_where_they_are(other: prog.Loop) -> None:
    assert hoisted_conditions(other, ["I", "T"]) == other


def test_what_a_branch_makes_for_itself_is_its_own() -> None:
    """A loop that need not carry gradients of a step that there is only before the last one."""
    d, w = prog.Cell(store="d"), prog.Cell(store="w")
    make = prog.Call(kernel="gradient", point=(), args=(w,), results=(d,))
    use = prog.Call(kernel="update", point=(), args=(w, d), results=(w,))
    steps = loop(when("i < I - 1", when("I >= 2", make), when("I >= 2", use)))
    kinds = StoreKinds(single=frozenset("dw"))
    assert live_before(steps, frozenset("w"), kinds) == {"d", "w"}
    assert live_before(hoisted_conditions(steps, ["I"]), frozenset("w"), kinds) == {"w"}
