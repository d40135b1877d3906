"""First steps before loops of the device, put into these: trees by hand."""

from __future__ import annotations

from dataclasses import replace

from tempoc.codegen.regions.context import ProgramContext
from tempoc.codegen.steps.rolled_steps import KernelKinds, rolled_steps
from tempoc.program.nodes import nodes as prog
from tempoc.program.nodes.buffers import Buffer
from tempoc.symbolic import expr as ix
from tempoc.symbolic.parse import parse

STORES = ("w", "g", "m", "h")
CONTEXT = ProgramContext(
    stores={name: Buffer(name=name, dtype="f32", shape=(parse("8"),)) for name in STORES},
    kernels={name: prog.Kernel(name=name, dims=("i",)) for name in ("f", "c", "a", "s", "u")},
    bounds={"N": None, "M": None},
    x64=False,
)


def call(kernel: str, at: str, args: str, results: str) -> prog.Call:
    cells = (tuple(prog.Cell(store=name) for name in names) for names in (args, results))
    given, made = cells
    return prog.Call(kernel=kernel, point=(parse(at),), args=given, results=made)


def step(at: str, average: prog.ProgramStatement) -> prog.Sequence:
    """A step: what is the same, and in between what the first step does in another way."""
    one, two, three = call("f", at, "w", "h"), call("c", at, "h", "g"), call("u", at, "mw", "w")
    return prog.Sequence(items=(one, two, average, three))


def program(lower: str, upper: str, by: int, first: str) -> prog.Sequence:
    body = step("i", call("a", "i", "mg", "m"))
    loop = prog.Loop(
        var="i", lower=parse(lower), upper=parse(upper), step=by, body=body, place="device"
    )
    return prog.Sequence(items=(*step(first, call("s", first, "g", "m")).items, loop))


def rolled(tree: prog.ProgramStatement, light: tuple[str, ...] = ("a", "s")) -> prog.Loop | None:
    """The loop, if nothing stands before it any more."""
    found = rolled_steps(tree, CONTEXT, KernelKinds(light=light))
    assert isinstance(found, prog.Sequence)
    assert len(found.items) == 1 or found == tree
    return found.items[0] if len(found.items) == 1 else None  # type: ignore[return-value]


def test_what_the_first_step_makes_replaces_what_others_make() -> None:
    for lower, upper, by, first, condition in (
        ("1", "N", 1, "0", "i < 1"),
        ("N-1", "0", -1, "N", "i > N-1"),
    ):
        loop = rolled(program(lower, upper, by, first))
        assert loop is not None and loop.lower == parse(first)
        start = replace(call("s", first, "g", "m"), results=())
        made = (prog.Cell(store="m", when=parse(condition)),)
        items = list(step("i", call("a", "i", "mg", "m")).items)
        items.insert(3, replace(start, results=made))
        assert loop.body == prog.Sequence(items=tuple(items))


def test_a_loop_without_steps_keeps_the_one_before_it() -> None:
    ends = {}
    for upper in ("N", "M-1", "N+M"):
        loop = rolled(program("1", upper, 1, "0"))
        assert loop is not None
        ends[upper] = loop.upper
    assert ends == {"N": parse("N"), "M-1": parse("max(1, M-1)"), "N+M": parse("N+M")}
    tree = prog.Guard(condition=parse("M >= 2"), body=program("1", "M-1", 1, "0"))
    guarded = rolled_steps(tree, CONTEXT, KernelKinds(light=("a", "s")))
    assert isinstance(guarded, prog.Guard) and isinstance(guarded.body, prog.Sequence)
    (loop,) = guarded.body.items
    assert isinstance(loop, prog.Loop) and loop.upper == parse("M-1")


def test_what_costs_more_stays_apart() -> None:
    tree = program("1", "N", 1, "0")
    assert rolled(tree, light=("s",)) is None, "more than a pass over arrays"
    assert rolled(program("2", "N", 1, "0")) is None, "another step"
    few = prog.Sequence(items=tree.items[2:])
    assert rolled(few) is None, "little is the same"
    *before, loop = tree.items
    assert isinstance(loop, prog.Loop)
    assert rolled(prog.Sequence(items=(*before, replace(loop, place="host")))) is None
    assert rolled(prog.Sequence(items=(*before, replace(loop, limit=ix.Sym("N"))))) is None
