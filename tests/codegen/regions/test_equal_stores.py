"""Stores that are equal after each step of a loop: loops by hand, and tables of states."""

from __future__ import annotations

from dataclasses import replace

from tempoc.codegen.regions.context import ProgramContext
from tempoc.codegen.regions.loop_state import equal_stores
from tempoc.diagnostics.source import Source
from tempoc.driver.compilation import Compilation
from tempoc.driver.options import Options
from tempoc.frontend.syntax.load_modules import load_source
from tempoc.program.nodes import nodes as prog
from tempoc.program.nodes.buffers import Buffer, Key
from tempoc.symbolic.parse import parse
from tests.support.agreement import agree

STORES = {
    name: Buffer(name=name, dtype="f32", keys=(Key(dim="m", modulo=parse("1")),))
    for name in ("now", "best", "loss")
}
CONTEXT = ProgramContext(
    stores=STORES,
    kernels={name: prog.Kernel(name=name) for name in ("step", "read")},
    bounds={"M": None},
    x64=False,
    values={"step": ("new", "new"), "read": ("loss",)},
)


def call(kernel: str, args: str, *results: str) -> prog.Call:
    given, made = (
        tuple(prog.Cell(store=name, key=(parse("m"),)) for name in names)
        for names in (args.split(), results)
    )
    return prog.Call(kernel=kernel, point=(), args=given, results=made)


def equal(*items: prog.ProgramStatement, context: ProgramContext = CONTEXT) -> dict[str, str]:
    body = prog.Sequence(items=items)
    ends = parse("0"), parse("M")
    loop = prog.Loop(var="m", lower=ends[0], upper=ends[1], step=1, body=body, place="device")
    return dict(equal_stores(loop, context))


STEP, READ = call("step", "best", "now", "best"), call("read", "now", "loss")


def test_the_value_of_a_step_is_its_next_state() -> None:
    assert equal(STEP) == {"now": "best"}
    assert equal(STEP, READ) == {"now": "best"}, "read after it is written"
    assert equal(call("step", "now", "now", "best")) == {"best": "now"}
    assert equal(call("step", "", "now", "best")) == {"best": "now"}, "both are results alone"


def test_stores_that_may_differ_after_a_step_are_two() -> None:
    assert equal(READ, STEP) == {}, "the step reads what the one before has left"
    assert equal(STEP, call("read", "", "best")) == {}, "written later"
    assert equal(STEP, prog.Guard(condition=parse("m >= 2"), body=call("read", "", "now"))) == {}
    assert equal(prog.Guard(condition=parse("m >= 2"), body=STEP)) == {}, "in some steps"
    last = replace(STEP.results[1], when=parse("m + 1 < M"))
    assert equal(replace(STEP, results=(STEP.results[0], last))) == {}, "but in the last step"
    assert equal(call("step", "now best", "now", "best")) == {}
    assert equal(STEP, context=replace(CONTEXT, values={"step": ("new", "other")})) == {}
    assert equal(STEP, context=replace(CONTEXT, values={"step": ("", "")})) == {}, "not known"
    wide = replace(STORES["now"], dtype="f64")
    assert equal(STEP, context=replace(CONTEXT, stores={**STORES, "now": wide})) == {}
    many = replace(STORES["now"], keys=(Key(dim="m"),))
    assert equal(STEP, context=replace(CONTEXT, stores={**STORES, "now": many})) == {}


TABLE = """\
dim g < G
dim m < M
input d[g]: f32[5]
best[g, 0] = zeros([7, 5])
row = minimum((best)[m % 7] + d, 1.0 + f32(m))
now = put(best, m % 7, row)
best[g, m+1] = now
output now[m = M-1] as table
"""


def test_the_table_of_a_step_is_carried_once() -> None:
    kernels = Compilation(load_source(Source("m.rt", TABLE)), Options()).emitted.kernels
    assert kernels.count("(best,) = carry") == 2, "in the loop and in the block"
    agree(TABLE, {"G": 1, "M": 1}, {"G": 2, "M": 2}, {"G": 3, "M": 9})


def test_tables_of_epochs_that_are_read_in_them() -> None:
    text = """\
dim e < E
dim m < M
input d[e, m]: f32[5]
best[0, 0] = zeros([7, 5])
best[e, m+1] = now
best[e+1, 0] = now[e, M-1]
now = put(best, m % 7, minimum((best)[m % 7], d))
sums = sum(now)
output now[e, M-1] as tables, now[E-1, M-1] as table, sums
"""
    agree(text, {"E": 1, "M": 1}, {"E": 3, "M": 1}, {"E": 1, "M": 2}, {"E": 3, "M": 9})
