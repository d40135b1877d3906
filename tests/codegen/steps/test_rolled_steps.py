"""First steps before loops of the device, put into these: trees by hand."""

from __future__ import annotations

from dataclasses import replace

from tempoc.codegen.regions.context import ProgramContext
from tempoc.codegen.steps.at_steps import items_of
from tempoc.codegen.steps.kernel_kinds import KernelKinds
from tempoc.codegen.steps.rolled_steps import rolled_steps
from tempoc.program.nodes import nodes as prog
from tempoc.program.nodes.bounds import PointRange
from tempoc.program.nodes.buffers import Buffer, BufferAxis
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


def rolled(
    tree: prog.ProgramStatement, light: tuple[str, ...] = ("a", "s"), place: str = "device"
) -> prog.Loop | None:
    """The loop, if nothing stands before it any more."""
    found = rolled_steps(tree, CONTEXT, KernelKinds(light=light), place)
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
    on_host = prog.Sequence(items=(*before, replace(loop, place="host")))
    assert rolled(on_host) is None, "another place"
    assert rolled(on_host, place="host") is None, "a call more in each of many steps"
    assert rolled(prog.Sequence(items=(*before, replace(loop, limit=ix.Sym("N"))))) is None


def test_a_loop_of_the_host_branches() -> None:
    """No array is there before it is made, so what others replace is not made either."""
    tree = program("1", "4", 1, "0")
    *before, loop = tree.items
    assert isinstance(loop, prog.Loop)
    on_host = prog.Sequence(items=(*before, replace(loop, place="host")))
    longer = rolled(on_host, light=(), place="host")
    assert longer is not None and (longer.lower, longer.place) == (ix.ZERO, "host")
    f, c, average, start, u = items_of(longer.body)
    assert average == prog.Guard(condition=parse("i >= 1"), body=call("a", "i", "mg", "m"))
    assert start == prog.Guard(condition=parse("i < 1"), body=call("s", "0", "g", "m"))
    assert (f, c, u) == tuple(s for s in items_of(loop.body) if s != average.body)


def test_kernels_that_only_pass_arrays_on_are_the_same() -> None:
    one, two = (call(kernel, at, "w", "g") for kernel, at in (("p", "0"), ("q", "i")))
    step = call("f", "i", "g", "w")
    body = prog.Sequence(items=(two, step))
    loop = prog.Loop(var="i", lower=ix.ONE, upper=parse("N"), step=1, body=body, place="device")
    tree = prog.Sequence(items=(one, call("f", "0", "g", "w"), loop))
    kernels = {**CONTEXT.kernels, **{n: prog.Kernel(name=n, dims=("i",)) for n in ("p", "q")}}
    context = replace(CONTEXT, kernels=kernels)
    moves = KernelKinds(heavy=("f",), moves={"p": (0,), "q": (0,)})
    longer = prog.Sequence(items=(replace(loop, lower=ix.ZERO),))
    assert rolled_steps(tree, context, moves) == longer
    assert rolled_steps(tree, context, replace(moves, moves={})) == tree
    assert rolled_steps(tree, context, replace(moves, heavy=())) == tree


def test_steps_that_may_have_no_points_keep_their_condition() -> None:
    """JAX traces steps of a loop that has none: for `N == 1` that of rows without elements."""
    *first, loop = program("1", "N-1", 1, "0").items
    guard = prog.Guard(condition=parse("N >= 2"), body=prog.Sequence(items=tuple(first)))
    axes = (BufferAxis(dim="j", size=parse("max(1, N-1)")),)
    stores = {**CONTEXT.stores, "h": replace(CONTEXT.stores["h"], axes=axes)}
    for lower, kept in (("1", True), ("0", False)):
        rows = (PointRange(dim="j", lower=parse(lower), upper=parse("N")),)
        kernels = {**CONTEXT.kernels, "f": replace(CONTEXT.kernels["f"], vector=rows)}
        context = replace(CONTEXT, stores=stores, kernels=kernels)
        tree = prog.Sequence(items=(guard, loop))
        longer = rolled_steps(tree, context, KernelKinds(light=("a", "s")))
        assert isinstance(longer, prog.Sequence) and isinstance(longer.items[0], prog.Loop)
        body = longer.items[0].body
        assert isinstance(body, prog.Guard) == kept


def test_a_first_step_may_have_a_condition_without_which_there_are_no_steps() -> None:
    *first, loop = program("1", "N-1", 1, "0").items
    assert isinstance(loop, prog.Loop)
    for condition, same in (("N >= 2", True), ("M >= 2", False)):
        guard = prog.Guard(condition=parse(condition), body=prog.Sequence(items=tuple(first)))
        tree = prog.Sequence(items=(guard, loop))
        longer = rolled(tree)
        assert (longer is not None) == same
        assert longer is None or (longer.lower, longer.upper) == (ix.ZERO, parse("N-1"))


def test_branches_for_one_value_and_the_others_become_one() -> None:
    one, others = step("0", call("s", "0", "g", "m")), step("k", call("a", "k", "mg", "m"))
    branches = (
        prog.Guard(condition=parse("k == 0"), body=one),
        prog.Guard(condition=parse("k != 0"), body=others),
    )
    loop = prog.Loop(
        var="k",
        lower=ix.ZERO,
        upper=parse("N"),
        step=1,
        body=prog.Sequence(items=branches),
        place="device",
    )
    (found,) = rolled_steps(prog.Sequence(items=(loop,)), CONTEXT, KernelKinds(light="as")).items
    assert [c.kernel for c in found.body.items] == ["f", "c", "a", "s", "u"]
    assert found.body.items[3].results[0].when == parse("k == 0")
