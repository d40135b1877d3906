"""Results that last steps need not preserve: trees by hand, and epochs of minibatches."""

from __future__ import annotations

from dataclasses import replace

from tempoc.codegen.regions.context import ProgramContext
from tempoc.codegen.steps.plain_results import plain_results
from tempoc.program.analysis.traversal import calls, statements_in
from tempoc.program.nodes import nodes as prog
from tempoc.program.nodes.buffers import Buffer, Key
from tempoc.symbolic.parse import parse
from tests.support.agreement import agree, compile_text

CONTEXT = ProgramContext(
    stores={
        name: Buffer(name=name, dtype="f32", keys=(Key(dim="m"),) if name == "each" else ())
        for name in ("w", "later", "loss", "each")
    },
    kernels={name: prog.Kernel(name=name) for name in ("learn", "copy", "error")},
    bounds={"E": None, "M": None},
    x64=False,
)
EPOCHS = """\
dim i < I
dim e < E
dim m < M
input x[i, e, m]: f32[2]
input start: f32[2]
loss[i, e, m] = sum((w * x - 1.0) ** 2)
later[i, e, m] = w - 0.1 * grad(loss, w)
w[0, 0, 0] = start
w[i, e, m+1] = later
w[i, e+1, 0] = later[i, e, M-1]
w[i+1, 0, 0] = later[i, E-1, M-1]
output loss
"""


def call(kernel: str, args: str, *results: tuple[str, str]) -> prog.Call:
    """A call; each result is a store and the condition under which it is written, if any."""
    made = tuple(
        prog.Cell(
            store=store,
            key=(parse("m"),) if store == "each" else (),
            when=parse(when) if when else None,
        )
        for store, when in results
    )
    given = tuple(prog.Cell(store=name) for name in args.split())
    return prog.Call(kernel=kernel, point=(parse("m"),), args=given, results=made)


def loop(*items: prog.ProgramStatement, place: str = "device", var: str = "m") -> prog.Loop:
    upper, body = parse(var.upper()), prog.Sequence(items=items)
    return prog.Loop(var=var, lower=parse("0"), upper=upper, step=1, body=body, place=place)  # type: ignore[arg-type]


def learning(when: str, store: str = "w") -> prog.Call:
    return call("learn", "w", ("later", ""), (store, when))


LEARN, COPY = learning("m + 1 < M"), call("copy", "later", ("w", ""))
END = parse("m == M - 1")
ERROR = call("error", "w", ("loss", ""))


def conditions(*items: prog.ProgramStatement, outputs: str = "loss") -> list[str]:
    """The conditions on results that are left."""
    new = plain_results(prog.Sequence(items=items), CONTEXT, outputs.split())
    return [str(c.when) for s in calls(new) for c in s.results if c.when is not None]


def test_what_nothing_reads_after_the_last_step_is_written_there_too() -> None:
    assert conditions(loop(LEARN), COPY, ERROR) == []
    assert conditions(loop(LEARN), outputs="later") == []
    assert conditions(loop(LEARN, COPY)) == [], "overwritten in the step"
    assert conditions(loop(loop(LEARN), COPY, var="e"), ERROR) == [], "overwritten in each epoch"
    copy = replace(COPY, results=(prog.Cell(store="w", when=parse("e < E - 1")),))
    assert conditions(loop(loop(LEARN), copy, var="e"), COPY, ERROR) == []
    others = prog.Guard(condition=parse("m < M - 1"), body=ERROR)
    assert conditions(loop(LEARN, others), COPY) == [], "read in all steps but the last"


def test_what_is_read_later_is_preserved() -> None:
    assert conditions(loop(LEARN), ERROR)
    assert conditions(loop(LEARN), outputs="w")
    free = prog.Free(cells=(prog.Cell(store="w"),))
    assert conditions(loop(LEARN, free), COPY), "it would be there for longer"
    assert conditions(loop(prog.Guard(condition=END, body=free), LEARN), COPY), "freed before"
    assert conditions(loop(LEARN, prog.Guard(condition=END, body=free)), COPY) == []
    assert conditions(loop(LEARN, ERROR)), "read in the step"
    last = prog.Guard(condition=END, body=ERROR)
    assert conditions(loop(LEARN, last)), "read in the last step"
    then_free = prog.Sequence(items=(last, prog.Guard(condition=END, body=free)))
    assert conditions(loop(LEARN, then_free), COPY), "and freed then"
    assert conditions(loop(loop(LEARN), var="e"), outputs="later"), "the next epoch goes on with it"
    guard = prog.Guard(condition=parse("M >= 2"), body=COPY)
    assert conditions(loop(LEARN), guard, ERROR), "overwritten for some bounds"
    copy = replace(COPY, results=(prog.Cell(store="w", when=parse("e < E - 1")),))
    assert len(conditions(loop(loop(LEARN), copy, var="e"), ERROR)) == 2


def test_other_conditions_are_kept() -> None:
    assert conditions(loop(learning("m >= 1")), COPY), "the first step"
    assert conditions(loop(learning("m >= 1 and m + 1 < M")), COPY) == [str(parse("m >= 1"))]
    assert conditions(loop(learning("m + 2 < M")), COPY), "two steps"
    assert conditions(loop(learning("m + 1 < M", "each")), COPY), "one of several arrays"
    assert conditions(loop(LEARN, place="host"), COPY), "the host selects nothing"
    ended = replace(LEARN, endings=(prog.Ending(bound="M", outer=(), length=parse("m")),))
    assert conditions(loop(ended), COPY), "data decide which step is the last"


def test_epochs_of_minibatches_have_one_learner() -> None:
    _, loaded = compile_text(EPOCHS, 2)
    learners = [s for s in calls(loaded.program.tree) if any("later" in c.store for c in s.results)]
    assert len({s.kernel for s in learners}) == 1
    loops = [s for s in statements_in(loaded.program.tree) if isinstance(s, prog.Loop)]
    assert {s.place for s in loops} == {"device"}
    assert not any(c.when for s in learners for c in s.results)
    agree(EPOCHS, {"I": 1, "E": 1, "M": 1}, {"I": 2, "E": 2, "M": 1}, {"I": 2, "E": 3, "M": 2})


RECURRENT = """\
dim t < T
input x[t]: f32[3]
input w: f32[3, 3]
h[0] = x[0]
h[t+1] = y
y = tanh(w @ h) + x
output y[T-1] as last
"""


def test_recurrences_select_nothing() -> None:
    _, loaded = compile_text(RECURRENT, 2)
    cells = [c for s in calls(loaded.program.tree) for c in s.results]
    assert all(c.when is None for c in cells)
    agree(RECURRENT, {"T": 1}, {"T": 2}, {"T": 3}, {"T": 7})


def test_a_bound_that_is_assumed_to_be_a_number_changes_nothing() -> None:
    text = RECURRENT.replace("input x", "assume T == 3\ninput x")
    _, loaded = compile_text(text, 2)
    assert all(c.when is None for s in calls(loaded.program.tree) for c in s.results)
    agree(text, {"T": 3})


MEMORIES = """\
dim b < B
dim t < T
input x[b, t]: f32[3]
input w: f32[3, 3]
before[b, 0] = zeros([4, 3])
before[b, t+1] = memory
place = argmin(before @ x)
memory = put(before, place, w @ x)
output memory[t = T-1] as last, place
"""


def test_memories_of_many_points_are_updated_in_place() -> None:
    _, loaded = compile_text(MEMORIES, 2)
    assert all(c.when is None for s in calls(loaded.program.tree) for c in s.results)
    bounds = {k.name: k.bounds for k in loaded.program.kernels}
    assert bounds["memory"] == ("B",), "nor in the kernel's text"
    agree(MEMORIES, {"B": 2, "T": 1}, {"B": 1, "T": 2}, {"B": 3, "T": 7})
