"""First steps before loops of the device, put into these: trees by hand."""

from __future__ import annotations

import itertools
from dataclasses import replace

import numpy as np
import pytest

from tempoc.codegen.regions.context import ProgramContext
from tempoc.codegen.steps.at_steps import items_of, substituted
from tempoc.codegen.steps.kernel_kinds import KernelKinds
from tempoc.codegen.steps.rolled_steps import joined_loops, rolled_steps
from tempoc.program.analysis.traversal import statements_in
from tempoc.program.nodes import nodes as prog
from tempoc.program.nodes.bounds import PointRange
from tempoc.program.nodes.buffers import Buffer, BufferAxis
from tempoc.runtime.data.bindings import Given
from tempoc.runtime.data.source import as_sources
from tempoc.runtime.run import Settings, run_given
from tempoc.symbolic import expr as ix
from tempoc.symbolic.parse import parse
from tempoc.symbolic.walk import evaluate, symbols
from tests.support.agreement import agree, compile_text
from tests.support.checkpoints import Lines

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


def test_what_has_no_such_variable_stays_as_it_is() -> None:
    one = call("f", "i+1", "w", "h")
    given = prog.Cell(store="w", key=(parse("i"),), when=parse("i >= 1"))
    two = replace(one, args=(given, prog.Cell(store="g")))
    assert substituted(one, {"t": ix.ZERO}) is one
    assert substituted(two, {"t": ix.ZERO}) is two
    assert substituted(two, {"i": ix.ONE}) == prog.Call(
        kernel="f",
        point=(parse("2"),),
        args=(prog.Cell(store="w", key=(ix.ONE,)), prog.Cell(store="g")),
        results=one.results,
    )


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


def test_loops_one_after_the_other_are_compared_with_their_own_steps(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def numbered(s: prog.ProgramStatement, k: int) -> prog.ProgramStatement:
        match s:
            case prog.Call(args=args, results=results):
                parts = (
                    tuple(replace(c, store=f"{c.store}{k}") for c in p) for p in (args, results)
                )
                given, made = parts
                return replace(s, kernel=f"{s.kernel}{k}", args=given, results=made)
            case prog.Sequence(items=items):
                return replace(s, items=tuple(numbered(item, k) for item in items))
            case prog.Loop(body=body):
                return replace(s, body=numbered(body, k))
            case _:
                raise AssertionError(s)

    def compared(count: int) -> int:
        """How many statements are compared, where each loop has something that costs much."""
        numbers = range(count)
        context = replace(
            CONTEXT,
            stores={f"{n}{k}": CONTEXT.stores[n] for n in STORES for k in numbers},
            kernels={f"{n}{k}": kernel for n, kernel in CONTEXT.kernels.items() for k in numbers},
        )
        own = (numbered(program("1", "N", 1, "0"), k) for k in numbers)
        tree = prog.Sequence(items=tuple(s for part in own for s in items_of(part)))
        places: list[prog.ProgramStatement] = []

        def counted(s: prog.ProgramStatement, arrays: tuple[str, ...]) -> prog.ProgramStatement:
            places.append(s)
            return s

        with monkeypatch.context() as patch:
            patch.setattr(KernelKinds, "bare", lambda _, s, arrays: counted(s, arrays))
            assert rolled_steps(tree, context, KernelKinds()) == tree
        return len(places)

    assert compared(8) == 8 * compared(1)


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


def delayed(*ends: tuple[str, str, prog.ProgramStatement], by: int = 1) -> prog.Sequence:
    """Loops from and to such steps, of which some statement differs."""
    loops = (
        prog.Loop(
            var="i",
            lower=parse(lower),
            upper=parse(upper),
            step=by,
            body=step("i", average),
            place="device",
        )
        for lower, upper, average in ends
    )
    return prog.Sequence(items=(*loops,))


START, AVERAGE = call("s", "i", "g", "m"), call("a", "i", "mg", "m")


def test_loops_of_which_one_goes_on_with_the_other_become_one() -> None:
    made = (prog.Cell(store="m", when=parse("i < 4")),)
    forwards = step("i", AVERAGE).items
    for tree, lower, upper in (
        (delayed(("0", "min(4, N)", START), ("4", "N", AVERAGE)), "0", "N"),
        (delayed(("0", "4", START), ("4", "N", AVERAGE)), "0", "max(4, N)"),
        (delayed(("M", "min(4, N)", START), ("4", "N", AVERAGE)), "min(M, 4)", "N"),
        (delayed(("M", "4", START), ("max(4, M)", "N", AVERAGE)), "M", "max(4, M, N)"),
    ):
        new = joined_loops(tree, CONTEXT, KernelKinds(light=("a", "s")))
        assert isinstance(new, prog.Sequence)
        (loop,) = new.items
        assert isinstance(loop, prog.Loop)
        assert (loop.lower, loop.upper) == (parse(lower), parse(upper))
        started = replace(START, results=made)
        assert items_of(loop.body) == (*forwards[:3], started, forwards[3])


def performed(tree: prog.ProgramStatement, bounds: dict[str, int]) -> list[tuple[int, str]]:
    """The steps of loops, and the call of which each has the result in the end."""
    steps = []
    for loop in items_of(tree):
        assert isinstance(loop, prog.Loop)
        for i in range(evaluate(loop.lower, bounds), evaluate(loop.upper, bounds), loop.step):
            made = [s for s in items_of(loop.body) if isinstance(s, prog.Call) and "s" in s.kernel]
            made += [s for s in items_of(loop.body) if isinstance(s, prog.Call) and s.kernel == "a"]
            holds = [s for s in made if evaluate(s.results[0].when or ix.TRUE, {**bounds, "i": i})]
            steps.append((i, holds[0].kernel))
    return steps


def test_loops_as_one_do_what_they_did() -> None:
    """Whatever their ends are, and of them some are of loops that go on with each other."""
    ends = ("4", "N", "min(4, N)", "max(4, N)")
    number = 0
    for by in (1, -1):
        for lower, end, begin, upper in itertools.product(ends, repeat=4):
            tree = delayed((lower, end, START), (begin, upper, AVERAGE), by=by)
            new = joined_loops(tree, CONTEXT, KernelKinds(light=("a", "s")))
            if new != tree:
                number += 1
                for n, m in itertools.product((1, 3, 4, 6), repeat=2):
                    values = {"N": n, "M": m}
                    assert performed(new, values) == performed(tree, values), (tree, values)
    assert number > 20


def test_loops_with_other_steps_between_them_stay_apart() -> None:
    for tree in (
        delayed(("0", "min(4, M)", START), ("4", "N", AVERAGE)),
        delayed(("0", "min(3, N)", START), ("4", "N", AVERAGE)),
        delayed(("N-1", "4", START), ("5", "0", AVERAGE), by=-1),
    ):
        assert joined_loops(tree, CONTEXT, KernelKinds(light=("a", "s"))) == tree
    heavy = delayed(("0", "min(4, N)", START), ("4", "N", AVERAGE))
    assert joined_loops(heavy, CONTEXT, KernelKinds(light=("a",))) == heavy


def test_what_is_done_where_the_later_loop_has_no_steps_is_done_after_it() -> None:
    early, late = delayed(("0", "min(4, N)", START), ("4", "N", AVERAGE)).items
    for condition, moved in (("N <= 4", True), ("N <= 5", False)):
        between = prog.Guard(condition=parse(condition), body=call("f", "N-1", "w", "h"))
        tree = prog.Sequence(items=(early, between, late))
        new = joined_loops(tree, CONTEXT, KernelKinds(light=("a", "s")))
        assert (new != tree) == moved
        assert not moved or items_of(new)[1:] == (between,)


DELAYS = """\
dim t < T
input x[t]: f32[3]
input w: f32[3, 3]
h[0] = zeros([3])
a = tanh(w @ h + x)
b = tanh(w @ a + (a[t-1] if t >= 1 else zeros([3])))
c = tanh(w @ b + (b[t-2] if t >= 2 else ones([3])))
d = tanh(w @ c + (c[t-4] if t >= 4 else x))
h[t+1] = d
loss = sum((sum(h ** 2))[t = 0:T])
dw = grad(loss, w)
output h, dw
"""


def test_delays_do_not_divide_a_loop() -> None:
    _, loaded = compile_text(DELAYS.replace(", dw", ""), 2)
    loops = [s for s in statements_in(loaded.program.tree) if isinstance(s, prog.Loop)]
    assert len([s for s in loops if "T" in symbols(s.upper)]) == 1
    agree(DELAYS, *({"T": n} for n in (1, 2, 3, 4, 5, 9)))
    agree(DELAYS, {"T": 4})


SINKS = """\
dim t < T
input x[t]: f32[3]
input w: f32[3, 3]
h[0] = x[0]
k = tanh(w @ h)
seen = concat([k[0:min(SINKS, t+1)], k[max(SINKS, t-4):max(SINKS, t+1)]], 0)
h[t+1] = tanh(w @ (exp(seen @ h) @ seen)) + x
output h
"""


@pytest.mark.parametrize(("sinks", "count"), [(2, 1), (16, 1), (17, 2)])
def test_first_steps_that_also_keep_what_all_read_do_not_divide_a_loop(
    sinks: int, count: int
) -> None:
    """Few slots are kept in a branch, of which XLA may copy the array."""
    source = SINKS.replace("SINKS", str(sinks))
    _, loaded = compile_text(source, 2)
    loops = [s for s in statements_in(loaded.program.tree) if isinstance(s, prog.Loop)]
    assert len([s for s in loops if "T" in symbols(s.upper)]) == count
    if sinks == 2:
        agree(source, *({"T": n} for n in (1, 2, 3, 4, 9)))


STARTS = """\
dim t < T
input x[t]: f32[3]
input w: f32[3, 3]
h[0] = x[0]
a = tanh(w @ tanh(w @ h))
k = tanh(w @ tanh(w @ a))
m[t] = START when t < 3
m[t] = k + sin(m[t-3])
seen = m[max(0, t-3):t+1]
h[t+1] = tanh(w @ tanh(w @ (exp(seen @ h) @ seen))) + x
output h
"""


@pytest.mark.parametrize(("start", "count"), [("k * 2.0", 1), ("k + w @ sin(k)", 2)])
def test_a_branch_in_a_loop_computes_each_element_by_itself(start: str, count: int) -> None:
    source = STARTS.replace("START", start)
    _, loaded = compile_text(source, 2)
    loops = [s for s in statements_in(loaded.program.tree) if isinstance(s, prog.Loop)]
    assert len([s for s in loops if "T" in symbols(s.upper)]) == count
    agree(source, {"T": 3}, {"T": 7})


PRINTS = """
import optim
dim i < I
dim b < B = 2
input x[i, b]: f32[3]
input v: f32[3, 3]
w[0] = v
y = tanh(w @ x)
loss[i] = sum((sum(tanh(w @ y) * y))[b = 0:B])
w[i+1] = optim.adam(w, grad(loss, w), i, lr = 0.1)
print i, loss when WHEN
output loss, w[I-1]
"""


@pytest.mark.parametrize(
    ("when", "steps"),
    [("i >= 0", [0, 1, 2, 3, 4, 5]), ("i % 3 == 2", [2, 5]), ("i == 0", [0]), ("i < I-1", [0])],
)
def test_first_and_last_steps_of_loops_that_print_are_compiled_once(
    when: str, steps: list[int]
) -> None:
    """Unless they print in another way than those between.

    What is there only without other steps is not called otherwise.
    """
    _, loaded = compile_text(PRINTS.replace("WHEN", when), 2)
    blocks = [s for s in statements_in(loaded.program.tree) if isinstance(s, prog.Block)]
    bodies = [items_of(s.body) for s in blocks]
    assert not any(isinstance(b[0], prog.Guard) and len(b) == 1 for b in bodies)
    loops = [s for s in statements_in(loaded.program.tree) if isinstance(s, prog.Loop)]
    once = [(loop.lower, loop.upper) for loop in loops] == [(ix.ZERO, ix.Sym("I"))]
    assert once == (when in ("i >= 0", "i % 3 == 2"))
    for size in {2 if when == "i < I-1" else 6, 1}:
        random = np.random.default_rng(0)
        shapes = {"x": (size, 2, 3), "v": (3, 3)}
        given = {k: random.standard_normal(s).astype(np.float32) for k, s in shapes.items()}
        lines = Lines()
        bound = Given(bounds={"I": size}, inputs=as_sources(given), params={})
        loss = run_given(loaded, bound, Settings(show=lines)).outputs["loss"]
        expected = [k for k in steps if k < size - (when == "i < I-1")]
        assert [line[-2:] for line in lines.found] == [
            (np.int32(k).tobytes().hex(), loss[k].tobytes().hex()) for k in expected
        ]
