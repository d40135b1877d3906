"""Last steps behind loops of the device, put into these: trees by hand, and a decoder."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from tempoc.codegen.regions.context import ProgramContext
from tempoc.codegen.steps.kernel_kinds import KernelKinds
from tempoc.codegen.steps.last_steps import last_steps
from tempoc.diagnostics.source import Source
from tempoc.driver.compilation import Compilation
from tempoc.driver.options import Options
from tempoc.frontend.syntax.load_modules import load_source
from tempoc.program.analysis.traversal import statements_in
from tempoc.program.nodes import nodes as prog
from tempoc.program.nodes.buffers import Buffer, BufferAxis
from tempoc.symbolic import expr as ix
from tempoc.symbolic.parse import parse
from tests.support.agreement import agree, compile_text

STORES = ("w", "e", "loss")
KERNELS = {name: prog.Kernel(name=name, dims=("i",)) for name in ("error", "mean", "update")}
DECODED = """\
dim b < B
dim t < T
input start[b]: f32[8]
input wk: f32[8, 8]
input wv: f32[8, 8]
input wo: f32[8, 8]
x[b, 0] = start
k = wk @ x
v = wv @ x
s[b, t] = k[b, 0:t+1] @ x
p = exp(s - logsumexp(s))
x[b, t+1] = tanh(x + wo @ (p @ v[b, 0:t+1]))
output x
"""
BACKWARDS = """\
dim b < B
dim t < T
input seen[b, t]: f32[5]
input move: f32[5, 5]
score[b, 0] = seen[b, 0]
step[b, t] = expand_dims(score[b, t-1], 1) + move when t >= 1
score[b, t] = max(step, axis = 0) + seen[b, t]
before[b, t] = argmax(step, axis = 0) when t >= 1
path[b, T-1] = argmax(score[b, T-1])
path[b, t] = before[b, t+1][path[b, t+1]]
output path
"""
ROWS = """\
const N = 6
dim s < S
dim i < L
input x[s, i]: f32[N]
row[s, i] = where(arange(N) > i, relu(x + best), 0.0)
best[s, i] = max(below[s, i] + expand_dims(x[s, i], 1), axis = 0)
below[s, L-1] = zeros([N, N])
below[s, i] = where(expand_dims(arange(N), 1) == i + 1, row[s, i+1], below[s, i+1])
output row[s, 0] as first
"""
RUNS = """\
dim t < T
dim k < K = T
input x[t]: f32
mu[t, 0] = 0.0
mu[t+1, k+1] = 0.5 * (mu + x) when k <= t
p[t, k] = (1.0 + (x - mu) ** 2) ** (-0.5 * k - 1.0) / sqrt(1.0 + k + mu ** 2) when k <= t
r[0, 0] = 1.0
r[t+1, k+1] = raw[t, k] / z[t] when k <= t
r[t+1, 0] = z[t] / (1.0 + z[t])
raw[t, k] = r[t, k] * p[t, k] when k <= t
z[t] = 1.0 + sum(raw[t, 0:t+1])
best[t] = max(r[t, 0:t+1])
output best
"""
CONTEXT = ProgramContext(
    stores={name: Buffer(name=name, dtype="f32", shape=(parse("65536"),)) for name in STORES},
    kernels=KERNELS,
    bounds={"N": None, "M": 4},
    x64=False,
)


def call(kernel: str, at: str, args: tuple[str, ...], result: str) -> prog.Call:
    given = tuple(prog.Cell(store=name) for name in args)
    made = (prog.Cell(store=result),)
    return prog.Call(kernel=kernel, point=(parse(at),), args=given, results=made)


def step(at: str) -> tuple[prog.ProgramStatement, ...]:
    return call("error", at, ("w",), "e"), call("mean", at, ("e",), "loss")


def program(
    lower: str, upper: str, by: int = 1, when: str = "", more: tuple[prog.Call, ...] = ()
) -> prog.Sequence:
    """A loop that learns, and a step behind it that only says how well that went."""
    body = prog.Sequence(items=(*step("i"), call("update", "i", ("e", "w"), "w")))
    loop = prog.Loop(
        var="i", lower=parse(lower), upper=parse(upper), step=by, body=body, place="device"
    )
    last: tuple[prog.ProgramStatement, ...] = step(upper)
    if when:
        last = (prog.Guard(condition=parse(when), body=prog.Sequence(items=last)),)
    return prog.Sequence(items=(loop, *last, *more))


def rolled(
    tree: prog.Sequence, outputs: tuple[str, ...] = ("loss",), context: ProgramContext = CONTEXT
) -> prog.Loop | None:
    """The loop, if the step behind it is one of its own."""
    found = last_steps(tree, context, outputs)
    assert isinstance(found, prog.Sequence)
    loop = found.items[0]
    assert isinstance(loop, prog.Loop)
    return None if found == tree else loop


def test_a_last_step_becomes_a_step_of_the_loop_if_it_is_there() -> None:
    cases = (
        (program("0", "N-1"), "0", "N"),
        (program("N-1", "0", -1), "N-1", "-1"),
        (program("1", "N-2", when="N >= 3"), "1", "N-1"),
        (program("1", "N-1"), "min(1, N-1)", "N"),  # the step is there if the loop has none
    )
    for tree, lower, upper in cases:
        loop = rolled(tree)
        assert loop is not None and (loop.lower, loop.upper) == (parse(lower), parse(upper))
        assert loop.body == tree.items[0].body  # type: ignore[union-attr]
    assert rolled(program("1", "N-2", when="N >= 2")) is None, "a step without the loop"


def test_what_stays_as_it_is_is_looked_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    looked: list[prog.Loop] = []

    def counted(loop: prog.Loop, *_: Any) -> prog.Loop:
        looked.append(loop)
        return loop

    monkeypatch.setattr("tempoc.codegen.steps.last_steps.with_whole_last_step", counted)
    alone = prog.Sequence(items=program("0", "N-1").items[:1])
    assert last_steps(alone, CONTEXT, ()) == alone
    assert looked == [alone.items[0]]


def test_short_loops_of_a_last_step_may_be_those_of_the_host() -> None:
    def repeated(at: str, place: str) -> prog.Loop:
        body = prog.Sequence(items=step(at))
        return prog.Loop(
            var="k", lower=parse("0"), upper=parse("M"), step=1, body=body, place=place
        )

    for place in ("host", "unrolled", "device"):
        body = prog.Sequence(
            items=(repeated("i", "unrolled"), call("update", "i", ("e", "w"), "w"))
        )
        plain = program("0", "N-1").items[0]
        assert isinstance(plain, prog.Loop)
        loop = replace(plain, body=body)
        longer = rolled(prog.Sequence(items=(loop, repeated("N-1", place))))
        assert longer is not None and (longer.upper, longer.body) == (parse("N"), body)
    assert rolled(prog.Sequence(items=(loop, repeated("N-2", "host")))) is None


def test_what_reads_an_array_that_may_be_empty_is_done_where_there_are_other_steps() -> None:
    """If N is 1, JAX refuses to look for a row of an array that has none."""
    tree = program("0", "N-1")
    rows = replace(CONTEXT.stores["e"], shape=(parse("N-1"), parse("8")))
    longer = rolled(tree, context=replace(CONTEXT, stores={**CONTEXT.stores, "e": rows}))
    assert longer is not None and isinstance(longer.body, prog.Sequence)
    *plain, update = longer.body.items
    assert all(isinstance(part, prog.Call) for part in plain)
    assert isinstance(update, prog.Guard) and update.condition == parse("N - 1 >= 1")


def test_what_is_made_too_much_is_not_read() -> None:
    assert rolled(program("0", "N-1"), outputs=("loss", "w")) is None
    more = (call("mean", "0", ("w",), "loss"),)
    assert rolled(program("0", "N-1", more=more)) is None
    around = prog.Loop(
        var="k", lower=ix.ZERO, upper=ix.Sym("N"), step=1, body=program("0", "N-1"), place="device"
    )
    assert last_steps(around, CONTEXT, ("loss",)) == around, "the next loop goes on with it"
    start = replace(call("update", "k", (), "w"), args=())
    fresh = prog.Sequence(items=(start, *program("0", "N-1").items))
    assert last_steps(replace(around, body=fresh), CONTEXT, ("loss",)) != around
    assert rolled(program("0", "M-1")) is None, "one step more of four"


def test_a_short_loop_takes_a_last_step_that_leaves_out_what_is_light() -> None:
    def is_rolled(*light: str) -> bool:
        tree = program("0", "M-1")
        return last_steps(tree, CONTEXT, ("loss",), KernelKinds(light=light)) != tree

    assert is_rolled("update") and is_rolled("update", "mean")
    assert not is_rolled("error"), "what it leaves out is not"
    assert not is_rolled("update", "mean", "error"), "nor does it do more itself"


def test_a_last_step_with_a_loop_and_its_last_step_is_one_of_its_loop() -> None:
    """Matched as both are written: then the inner loop takes its last step in all steps."""

    def epochs(at: str, place: str) -> tuple[prog.ProgramStatement, ...]:
        body = prog.Sequence(items=(*step(at), call("update", at, ("e", "w"), "w")))
        loop = prog.Loop(
            var="k", lower=parse("0"), upper=parse("M-1"), step=1, body=body, place=place
        )
        return (loop, *step(at))

    more = call("update", "i", ("loss",), "w")
    body = prog.Sequence(items=(*epochs("i", "device"), more))
    plain = program("0", "N-1").items[0]
    assert isinstance(plain, prog.Loop)
    loop = replace(plain, body=body)
    tree = prog.Sequence(items=(loop, *epochs("N-1", "host")))
    new = last_steps(tree, CONTEXT, ("loss",), KernelKinds(light=("update",)))
    assert isinstance(new, prog.Sequence) and len(new.items) == 1
    assert isinstance(new.items[0], prog.Loop) and new.items[0].upper == parse("N")


def test_what_is_checked_too_much_does_not_count() -> None:
    kernels = {**KERNELS, "update": replace(KERNELS["update"], checks=("index",))}
    loop = rolled(program("0", "N-1"), context=replace(CONTEXT, kernels=kernels))
    assert loop is not None
    update = replace(call("update", "i", ("e", "w"), "w"), where=parse("i < N-1"))
    assert loop.body == prog.Sequence(items=(*step("i"), update))


def test_a_last_step_keeps_what_is_read_after_it() -> None:
    tree = program("0", "N-1")
    assert last_steps(tree, CONTEXT, ("w",)) == tree, "not computed element by element"
    found = last_steps(tree, CONTEXT, ("w",), kinds=KernelKinds(light=("update",)))
    assert isinstance(found, prog.Sequence) and isinstance(found.items[0], prog.Loop)
    made = (prog.Cell(store="w", when=parse("i < N-1")),)
    update = replace(call("update", "i", ("e", "w"), "w"), results=made)
    assert found.items[0].body == prog.Sequence(items=(*step("i"), update))


def test_a_last_step_keeps_few_bytes_or_a_part_of_an_array() -> None:
    tree = program("0", "N-1")
    made = (prog.Cell(store="w", when=parse("i < N-1")),)
    update = replace(call("update", "i", ("e", "w"), "w"), results=made)
    few = Buffer(name="w", dtype="f32", shape=(parse("8"),))
    row = Buffer(
        name="w", dtype="f32", shape=(parse("65536"),), axes=(BufferAxis(dim="i", size=parse("N")),)
    )
    for store in (few, row):
        context = replace(CONTEXT, stores={**CONTEXT.stores, "w": store})
        new = last_steps(tree, context, ("loss", "w"))
        assert isinstance(new, prog.Sequence) and isinstance(new.items[0], prog.Loop)
        assert new.items[0].body == prog.Sequence(items=(*step("i"), update))


def test_a_loop_begins_with_the_end_of_a_step_that_stands_before_it() -> None:
    def update(at: str) -> prog.Call:
        return call("update", at, ("e", "w"), "w")

    def tree(first: str, by: int, *after: prog.ProgramStatement) -> prog.Sequence:
        lower = "1" if by > 0 else "N-2"
        body = prog.Sequence(items=(update("i"), *step("i")))
        upper = parse("N" if by > 0 else "-1")
        loop = prog.Loop(
            var="i", lower=parse(lower), upper=upper, step=by, body=body, place="device"
        )
        return prog.Sequence(items=(*step(first), loop, *after))

    for first, by, following in (("0", 1, "i+1"), ("N-1", -1, "i-1")):
        new = last_steps(tree(first, by), CONTEXT, ("loss",))
        assert isinstance(new, prog.Sequence) and len(new.items) == 1
        loop = new.items[0]
        assert isinstance(loop, prog.Loop) and loop.lower == parse(first)
        assert loop.body == prog.Sequence(items=(*step("i"), update(following)))
        last = update("N" if by > 0 else "-1")
        assert last_steps(tree(first, by, last), CONTEXT, ("w",)) == new, "nothing is too much"
        assert last_steps(tree(first, by), CONTEXT, ("w",)) == tree(first, by)
    light = last_steps(tree("0", 1), CONTEXT, ("loss", "w"), KernelKinds(light=("update",)))
    assert isinstance(light, prog.Sequence) and len(light.items) == 1
    kept = replace(update("i+1"), results=(prog.Cell(store="w", when=parse("i < N-1")),))
    assert isinstance(light.items[0], prog.Loop)
    assert light.items[0].body == prog.Sequence(items=(*step("i"), kept))


def test_the_end_of_a_step_stays_before_a_loop_where_the_order_of_statements_matters() -> None:
    def tree(late: tuple[prog.Call, ...], early: tuple[prog.Call, ...]) -> prog.Sequence:
        body = prog.Sequence(items=late)
        loop = prog.Loop(
            var="i", lower=parse("1"), upper=parse("N"), step=1, body=body, place="device"
        )
        return prog.Sequence(items=(*early, loop))

    def is_rotated(late: tuple[prog.Call, ...], early: tuple[prog.Call, ...]) -> bool:
        return last_steps(tree(late, early), CONTEXT, ("loss",)) != tree(late, early)

    mean, moved = call("mean", "i", ("e",), "loss"), call("mean", "0", ("e",), "loss")
    apart, spoils = call("update", "i", ("loss", "w"), "w"), call("update", "i", ("loss",), "e")
    assert is_rotated((step("i")[0], apart, mean), (step("0")[0], moved)) is False, "reads w"
    assert is_rotated((step("i")[0], spoils, mean), (step("0")[0], moved)) is False, "writes e"
    assert is_rotated((apart, *step("i")), step("0"))
    alone = call("update", "i", ("w",), "w")
    assert not is_rotated((alone, *step("i")), step("0")), "XLA would copy what is read"


@pytest.mark.parametrize(("source", "bounds"), [(BACKWARDS, ("B", "T")), (ROWS, ("S", "L"))])
def test_rotated_loops_compute_the_same(source: str, bounds: tuple[str, str]) -> None:
    kernels = Compilation(load_source(Source("m.rt", source)), Options()).emitted.kernels
    assert " - 1,)" in kernels, "a statement for the step that follows"
    for sizes in ((1, 2), (3, 6)):
        agree(source, *({bounds[0]: 2, bounds[1]: n} for n in sizes))


def test_a_last_step_ends_a_loop_that_has_one_step_at_least() -> None:
    """Where T is 2, the first step is the only one; where it is 3, the last one is another."""
    kernels = Compilation(load_source(Source("m.rt", RUNS)), Options()).emitted.kernels
    block = kernels.partition("def block(")[2]
    assert "lax.fori_loop(0, T, step_t" in block
    for sizes in ((1, 2), (3, 4), (5, 8)):
        agree(RUNS, *({"T": n} for n in sizes))


def test_a_single_call_is_enough_if_xla_compiles_it_for_long() -> None:
    plain = program("0", "N-1").items[0]
    assert isinstance(plain, prog.Loop)
    body = prog.Sequence(items=(step("i")[0], call("update", "i", ("e", "w"), "w")))
    loop = replace(plain, body=body)
    tree = prog.Sequence(items=(loop, step("N-1")[0]))
    assert last_steps(tree, CONTEXT, ("e",)) == tree
    heavy = last_steps(tree, CONTEXT, ("e",), KernelKinds(heavy=("error",)))
    assert heavy == prog.Sequence(items=(replace(loop, upper=parse("N")),))


def test_rows_that_grow_are_kept_in_the_last_step() -> None:
    """A row behind the last one is not written, however many rows there are."""
    _, loaded = compile_text(DECODED, 2)
    made = [c for s in statements_in(loaded.program.tree) for c in getattr(s, "results", ())]
    assert any(store.growing for store in loaded.program.stores)
    assert [c.store for c in made if c.when is not None] == ["x"]
    agree(DECODED, *({"T": n, "B": 2} for n in (1, 2, 3, 16, 17)), bucket=4)


def test_rows_are_selected_without_the_axes_that_the_loop_leaves_out() -> None:
    """XLA copies all rows in each step for a batch of one, if these axes stand in between."""
    kernels = Compilation(load_source(Source("m.rt", DECODED)), Options()).emitted.kernels
    assert "x = selected(t < T - 1, x_new, x)" in kernels and ", (0, 1, 2))" in kernels
    agree(DECODED, *({"T": n, "B": 1} for n in (1, 2, 3, 16, 17)), bucket=4)
