"""First steps of which short loops, as over layers, differ in part: trees by hand."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from tempoc.codegen.regions.context import ProgramContext
from tempoc.codegen.steps.at_steps import items_of
from tempoc.codegen.steps.kernel_kinds import KernelKinds
from tempoc.codegen.steps.rolled_steps import rolled_steps
from tempoc.program.nodes import nodes as prog
from tempoc.program.nodes.buffers import Buffer, Key
from tempoc.symbolic import expr as ix
from tempoc.symbolic.parse import parse

KEY = Key(dim="l")
CONTEXT = ProgramContext(
    stores={
        name: Buffer(name=name, dtype="f32", shape=(parse("8"),), keys=(KEY,))
        for name in ("w", "g", "m")
    },
    kernels={name: prog.Kernel(name=name, dims=("i", "l")) for name in ("f", "c", "a", "s", "u")},
    bounds={"N": None, "L": 3},
    x64=False,
)


def call(kernel: str, at: str, args: str, result: str, key: str = "l") -> prog.Call:
    given = tuple(prog.Cell(store=name, key=(parse("l"),)) for name in args)
    made = (prog.Cell(store=result, key=(parse(key),)),)
    return prog.Call(kernel=kernel, point=(parse(at), parse("l")), args=given, results=made)


def layers(place: str, upper: str, *items: prog.ProgramStatement) -> prog.Loop:
    ends = {"lower": ix.ZERO, "upper": parse(upper), "step": 1}
    return prog.Loop(var="l", **ends, body=prog.Sequence(items=items), place=place)


def step(at: str, average: prog.ProgramStatement) -> tuple[prog.ProgramStatement, ...]:
    one, two, three = call("f", at, "w", "g"), call("c", at, "g", "g"), call("u", at, "mw", "w")
    return one, two, average, three


START, AVERAGE = call("s", "0", "g", "m"), call("a", "i", "mg", "m")


def merged(
    first: prog.Loop, average: prog.ProgramStatement = AVERAGE
) -> Sequence[prog.ProgramStatement] | None:
    """A step of the layers, if nothing stands before the loop any more."""
    body = layers("unrolled", "L", *step("i", average))
    ends = {"lower": ix.ONE, "upper": parse("N"), "step": 1}
    loop = prog.Loop(var="i", **ends, body=body, place="device")
    tree = prog.Sequence(items=(first, loop))
    new = rolled_steps(tree, CONTEXT, KernelKinds(light=("a", "s")))
    assert isinstance(new, prog.Sequence)
    if new == tree:
        return None
    (longer,) = new.items
    assert isinstance(longer, prog.Loop) and (longer.lower, longer.place) == (ix.ZERO, "device")
    (inner,) = items_of(longer.body)
    assert isinstance(inner, prog.Loop) and replace(inner, body=body.body) == body
    return items_of(inner.body)


def when(s: prog.Call, condition: str) -> prog.Call:
    return replace(s, results=tuple(replace(c, when=parse(condition)) for c in s.results))


def test_layers_of_the_host_are_a_part_of_the_step() -> None:
    steps = merged(layers("host", "L", *step("0", START)))
    one, two, _, three = step("i", AVERAGE)
    assert steps == (one, two, AVERAGE, when(START, "i < 1"), three)


def test_what_other_keys_have_is_not_overwritten() -> None:
    other = call("s", "0", "g", "m", key="L-1-l")
    one, two, _, three = step("i", AVERAGE)
    steps = merged(layers("host", "L", *step("0", other)))
    assert steps == (one, two, when(AVERAGE, "i >= 1"), when(other, "i < 1"), three)


def test_a_condition_on_bounds_inside_of_layers_holds() -> None:
    guard = prog.Guard(condition=parse("N >= 1"), body=AVERAGE)
    assert merged(layers("host", "L", *step("0", START)), guard) is not None
    longer = prog.Guard(condition=parse("N >= 2"), body=AVERAGE)
    steps = merged(layers("host", "L", *step("0", START)), longer)
    assert steps is not None and steps[2] == longer


def test_loops_that_differ_stay_apart() -> None:
    assert merged(layers("host", "L-1", *step("0", START))) is None, "fewer layers"
    heavy = call("h", "0", "g", "m")
    assert merged(layers("host", "L", *step("0", heavy))) is None, "not computed by element"
    by_step = replace(START, results=(prog.Cell(store="m", key=(parse("i"),)),))
    assert merged(layers("host", "L", *step("0", by_step))) is None, "which array is not known"


def test_layers_under_a_condition_that_holds_at_first_are_no_loop() -> None:
    body = prog.Guard(condition=parse("i != 1"), body=layers("unrolled", "L", *step("i", AVERAGE)))
    loop = prog.Loop(var="i", lower=ix.ONE, upper=parse("N"), step=1, body=body, place="device")
    tree = prog.Sequence(items=(layers("host", "L", *step("0", START)), loop))
    assert rolled_steps(tree, CONTEXT, KernelKinds(light=("a", "s"))) == tree
