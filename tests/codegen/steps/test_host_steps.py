"""What is selected in loops on the device is a branch in those that stay with the host."""

from __future__ import annotations

from dataclasses import replace

from tempoc.codegen.regions.regions import _on_host
from tempoc.codegen.steps.at_steps import items_of
from tempoc.program.nodes import nodes as prog
from tempoc.symbolic.parse import parse

KERNELS = {"f": prog.Kernel(name="f", dims=("i",))}


def call(*conditions: str | None) -> prog.Call:
    """A call with a result for each of the conditions."""
    made = tuple(
        prog.Cell(store=f"y{k}", when=None if c is None else parse(c))
        for k, c in enumerate(conditions)
    )
    return prog.Call(kernel="f", point=(parse("i"),), args=(prog.Cell(store="x"),), results=made)


def on_host(s: prog.ProgramStatement, kernels: dict[str, prog.Kernel] = KERNELS) -> object:
    """What becomes of a statement in a loop."""
    body = prog.Sequence(items=(s,))
    loop = prog.Loop(var="i", lower=parse("0"), upper=parse("N"), step=1, body=body, place="device")
    moved = _on_host(loop, kernels)
    assert moved.place == "host"
    (new,) = items_of(moved.body)
    return new


def test_operands_that_are_there_now_and_then_are_read_only_then() -> None:
    one = prog.Guard(condition=parse("i == 0"), body=call(None))
    assert on_host(call("i == 0")) == one
    both = call("i == 0", "i >= 2")
    assert on_host(both) == prog.Guard(condition=parse("i == 0 or i >= 2"), body=both)


def test_what_is_wanted_everywhere_is_no_branch() -> None:
    some, effect = (
        call("i == 0", None),
        prog.Call(kernel="f", point=(parse("i"),), args=(), results=()),
    )
    assert (on_host(some), on_host(effect)) == (some, effect)
    checked = {"f": replace(KERNELS["f"], checks=("wrong",))}
    assert on_host(call("i == 0"), checked) == call("i == 0"), "it checks everywhere"


def test_what_is_checked_too_much_is_left_out() -> None:
    checked = {"f": replace(KERNELS["f"], checks=("wrong",))}
    inside = parse("i < N - 1")
    for conditions in ((), ("i < N - 1",)):
        given = replace(call(*conditions), where=inside)
        plain = call(*(None for _ in conditions))
        assert on_host(given, checked) == prog.Guard(condition=inside, body=plain)
    some = replace(call("i < N - 1", None), where=inside)
    assert on_host(some, checked) == some
