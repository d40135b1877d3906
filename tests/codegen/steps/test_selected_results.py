"""Branches in steps of loops on the device whose results are selected: trees by hand."""

from __future__ import annotations

from dataclasses import replace

from tempoc.codegen.regions.context import ProgramContext
from tempoc.codegen.steps.kernel_kinds import KernelKinds
from tempoc.codegen.steps.selected_results import selected_results
from tempoc.program.nodes import nodes as prog
from tempoc.program.nodes.buffers import Buffer, BufferAxis
from tempoc.symbolic.parse import parse

STORES = ("g", "m")
CONTEXT = ProgramContext(
    stores={name: Buffer(name=name, dtype="f32", shape=(parse("8"),)) for name in STORES},
    kernels={name: prog.Kernel(name=name, dims=("i",)) for name in ("average", "start")},
    bounds={"N": None},
    x64=False,
)


def call(kernel: str, args: str) -> prog.Call:
    given = tuple(prog.Cell(store=name) for name in args)
    made = (prog.Cell(store="m"),)
    return prog.Call(kernel=kernel, point=(parse("i"),), args=given, results=made)


AVERAGE, START = call("average", "mg"), call("start", "g")


def step(
    *branches: tuple[str, prog.ProgramStatement],
    light: tuple[str, ...] = ("average", "start"),
    context: ProgramContext = CONTEXT,
) -> tuple[prog.ProgramStatement, ...]:
    """What becomes of branches in a step of a loop."""
    items = tuple(prog.Guard(condition=parse(c), body=body) for c, body in branches)
    loop = prog.Loop(
        var="i",
        lower=parse("0"),
        upper=parse("N"),
        step=1,
        body=prog.Sequence(items=items),
        place="device",
    )
    new = selected_results(loop, context, KernelKinds(light=light))
    assert isinstance(new, prog.Loop) and isinstance(new.body, prog.Sequence)
    return tuple(
        part
        for item in new.body.items
        for part in (item.items if isinstance(item, prog.Sequence) else (item,))
    )


def where(made: prog.Call, condition: str) -> prog.Call:
    return replace(made, results=(prog.Cell(store="m", when=parse(condition)),))


def test_what_all_steps_but_one_compute_is_selected() -> None:
    assert step(("i >= 1", AVERAGE)) == (where(AVERAGE, "i >= 1"),)
    assert step(("i < N - 1", AVERAGE)) == (where(AVERAGE, "i < N - 1"),)
    inner = prog.Guard(condition=parse("N >= 3"), body=AVERAGE)
    (kept,) = step(("i >= 1", inner))
    assert kept == replace(inner, body=where(AVERAGE, "i >= 1"))
    free = prog.Free(cells=(prog.Cell(store="g"),))
    (kept,) = step(("i >= 1", replace(inner, body=prog.Sequence(items=(AVERAGE, free)))))
    parts = where(AVERAGE, "i >= 1"), prog.Guard(condition=parse("i >= 1"), body=free)
    assert kept == replace(inner, body=prog.Sequence(items=parts))


def test_what_happens_every_now_and_then_stays_a_branch() -> None:
    for rare, often in (("i % 20 == 0", "i % 20 != 0"), ("i >= 5", "i < 5")):
        both = step((rare, START), (often, AVERAGE))
        assert [type(part) for part in both] == [prog.Guard, prog.Guard]


def test_what_one_step_computes_is_selected_where_others_write_the_same() -> None:
    one = prog.Guard(condition=parse("i == 0"), body=START)
    assert step(("i == 0", START)) == (one,)
    both = step(("i >= 1", AVERAGE), ("i == 0", START))
    assert both == (where(AVERAGE, "i >= 1"), where(START, "i == 0"))


def test_what_is_not_computed_element_by_element_stays_a_branch() -> None:
    tree = ("i >= 1", AVERAGE)
    assert step(tree, light=()) == (prog.Guard(condition=parse("i >= 1"), body=AVERAGE),)


def test_a_part_of_an_array_stays_a_branch() -> None:
    axis = BufferAxis(dim="t", size=parse("N"))
    stores = {**CONTEXT.stores, "m": replace(CONTEXT.stores["m"], axes=(axis,))}
    points = prog.PointRange(dim="t", lower=parse("0"), upper=parse("N"))
    for vector, filled in (
        ((), False),
        ((points,), True),
        ((replace(points, upper=parse("N - 1")),), False),
    ):
        kernels = {**CONTEXT.kernels, "average": replace(CONTEXT.kernels["average"], vector=vector)}
        context = replace(CONTEXT, stores=stores, kernels=kernels)
        (new,) = step(("i >= 1", AVERAGE), context=context)
        assert isinstance(new, prog.Call) == filled
