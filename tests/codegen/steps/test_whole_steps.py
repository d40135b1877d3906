"""Last steps that do what all others do: trees by hand, and programs that learn."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tempoc.codegen.regions.context import ProgramContext
from tempoc.codegen.steps.kernel_kinds import KernelKinds
from tempoc.codegen.steps.last_steps import last_steps
from tempoc.program.analysis.traversal import statements_in
from tempoc.program.nodes import nodes as prog
from tempoc.program.nodes.buffers import Buffer
from tempoc.symbolic.parse import parse
from tempoc.symbolic.walk import symbols
from tests.support.agreement import agree, compile_text

STORES = ("w", "e", "loss")
KERNELS = {name: prog.Kernel(name=name, dims=("i",)) for name in ("error", "update")}
CONTEXT = ProgramContext(
    stores={name: Buffer(name=name, dtype="f32", shape=(parse("65536"),)) for name in STORES},
    kernels=KERNELS,
    bounds={"N": None, "M": 4},
    x64=False,
)
LEARNING = """\
import optim
dim i < I
dim s < S
input x: f32[3]
w[0] = ones([3])
h[i, 0] = w * x
h[i, s] = tanh(w * h[i, s-1])
loss = sum((h[s = S-1] - 1.0) ** 2)
w[i+1] = optim.adam(w, grad(loss, w), i, lr = 0.1)
output loss
"""
LAYERS = """\
import optim
dim i < I
dim n < N
dim l < L = 2
input x[n]: f32[4]
input start[l]: f32[4, 4]
w[0, l] = start
h[i, n, 0] = x
h[i, n, l+1] = out
out = tanh(w @ h) + h
loss = mean(sum((out[l = L-1] - 1.0) ** 2)[n = 0:N])
w[i+1, l] = optim.adam(w, grad(loss, w), i, lr = 0.1)
output loss, w[I-1, 0:L] as last
"""


def call(kernel: str, args: tuple[str, ...], result: str) -> prog.Call:
    given, made = (tuple(prog.Cell(store=name) for name in names) for names in (args, (result,)))
    return prog.Call(kernel=kernel, point=(parse("i"),), args=given, results=made)


ERROR, UPDATE = call("error", ("w",), "loss"), call("update", ("w",), "w")


def program(upper: str, condition: str, *more: prog.ProgramStatement) -> prog.Sequence:
    """A loop that learns in all steps in which a condition holds."""
    guard = prog.Guard(condition=parse(condition), body=prog.Sequence(items=(UPDATE, *more)))
    body = prog.Sequence(items=(ERROR, guard))
    loop = prog.Loop(
        var="i", lower=parse("0"), upper=parse(upper), step=1, body=body, place="device"
    )
    return prog.Sequence(items=(loop,))


def opened(
    tree: prog.Sequence,
    *outputs: str,
    light: tuple[str, ...] = (),
    checks: tuple[str, ...] = (),
    rows: str = "65536",
) -> prog.ProgramStatement | None:
    """What was under the condition, if it is under none now; ``w`` has so many rows."""
    kernels = {**KERNELS, "update": replace(KERNELS["update"], checks=checks)}
    stores = {**CONTEXT.stores, "w": replace(CONTEXT.stores["w"], shape=(parse(rows),))}
    context = replace(CONTEXT, kernels=kernels, stores=stores)
    new = last_steps(tree, context, ("loss", *outputs), KernelKinds(light=light))
    if new == tree:
        return None
    assert isinstance(new, prog.Sequence) and isinstance(new.items[0], prog.Loop)
    body = new.items[0].body
    assert isinstance(body, prog.Sequence) and isinstance(body.items[1], prog.Sequence)
    return body.items[1].items[0]


def test_a_last_step_makes_what_nothing_reads() -> None:
    assert opened(program("N", "i < N - 1")) == UPDATE
    assert opened(program("N", "i <= N - 2")) == UPDATE
    assert opened(program("N", "i < N - 2")) is None, "two steps do not"


def test_what_reads_an_array_that_may_be_empty_is_done_where_there_are_other_steps() -> None:
    update = opened(program("N", "i < N - 1"), rows="N - 1")
    assert update == prog.Guard(condition=parse("N - 1 >= 1"), body=UPDATE)
    assert opened(program("N", "i >= 1")) is None, "nor does the first one"
    assert opened(program("M", "i < M - 1")) is None, "one update more of three"


def test_what_is_read_later_is_kept() -> None:
    tree = program("N", "i < N - 1")
    assert opened(tree, "w") is None, "not computed element by element"
    made = (prog.Cell(store="w", when=parse("i < N - 1")),)
    assert opened(tree, "w", light=("update",)) == replace(UPDATE, results=made)
    after = prog.Sequence(items=(*tree.items, ERROR))
    assert opened(after) is None


def test_what_loops_in_a_step_do_under_the_condition_is_kept() -> None:
    """What they write may be read later; only what stands beside them is known to be unread."""
    inside = program("N", "i < N - 1").items[0]
    assert isinstance(inside, prog.Loop)
    layers = replace(inside, var="l", upper=parse("3"), place="unrolled")
    other = prog.Guard(condition=parse("i < N - 1"), body=call("error", ("e",), "e"))
    loop = replace(inside, body=prog.Sequence(items=(layers, other)))
    new = last_steps(prog.Sequence(items=(loop,)), CONTEXT, ("loss", "w"))
    body = prog.Sequence(items=(layers, other.body))
    assert new == prog.Sequence(items=(replace(loop, body=body),))


def test_what_is_freed_or_read_in_the_step_is_not_made() -> None:
    free = prog.Free(cells=(prog.Cell(store="w"),))
    assert opened(program("N", "i < N - 1", free)) is None
    loop = program("N", "i < N - 1").items[0]
    assert isinstance(loop, prog.Loop)
    body = prog.Sequence(items=(*reversed(loop.body.items),))  # type: ignore[union-attr]
    tree = prog.Sequence(items=(replace(loop, body=body),))
    assert last_steps(tree, CONTEXT, ("loss",)) == tree


def test_what_is_checked_too_much_does_not_count() -> None:
    checked = replace(UPDATE, where=parse("i < N - 1"))
    assert opened(program("N", "i < N - 1"), checks=("index",)) == checked


@pytest.mark.parametrize("output", ["", "output w[I-1] as end\n"])
def test_programs_learn_for_any_number_of_steps(output: str) -> None:
    text = LEARNING + output
    _, loaded = compile_text(text, 2)
    parts = statements_in(loaded.program.tree)
    guards = [s for s in parts if isinstance(s, prog.Guard) and "i" in symbols(s.condition)]
    assert not guards
    agree(text, {"I": 1, "S": 1}, {"I": 2, "S": 2}, {"I": 3, "S": 1}, {"I": 5, "S": 3})


def test_programs_with_layers_are_one_loop() -> None:
    """The gradients of the last step are left out, or what it updates is not stored."""
    _, loaded = compile_text(LAYERS, 2)
    regions = [s for s in statements_in(loaded.program.tree) if isinstance(s, prog.Region)]
    loops = [s.place for s in statements_in(loaded.program.tree) if isinstance(s, prog.Loop)]
    assert len(regions) == 1 and "host" not in loops
    agree(LAYERS, {"I": 1, "N": 1}, {"I": 2, "N": 2}, {"I": 3, "N": 5})
