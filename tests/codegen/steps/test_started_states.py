"""First steps whose state comes from elsewhere than that of others: trees by hand, a program."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tempoc.codegen.regions.context import ProgramContext
from tempoc.codegen.steps.kernel_kinds import KernelKinds
from tempoc.codegen.steps.rolled_steps import rolled_steps
from tempoc.program.analysis.traversal import calls
from tempoc.program.nodes import nodes as prog
from tempoc.program.nodes.buffers import Buffer
from tempoc.symbolic import expr as ix
from tests.support.agreement import agree, compile_text

CONTEXT = ProgramContext(
    stores={name: Buffer(name=name, dtype="f32", shape=(ix.Const(8),)) for name in "abxy"},
    kernels={name: prog.Kernel(name=name, dims=("i",)) for name in "spfg"},
    bounds={"N": None},
    x64=False,
)
KINDS = KernelKinds(heavy=("f",), moves={"p": (0,)})
TABLES = """\
dim t < T
input start: f32[96, 96]
input x[t]: f32[96]
before[0] = start * 2.0
before[t] = after[t-1]
h = tanh(before @ x)
after = before + expand_dims(h, 1) * expand_dims(x - before @ h, 0)
y = sum(after @ x) + sum(before)
output y[0:T] as ys
output after[T-1] as last
"""


def call(kernel: str, at: str, args: str, results: str) -> prog.Call:
    given, made = (tuple(prog.Cell(store=name) for name in names) for names in (args, results))
    return prog.Call(
        kernel=kernel, point=(ix.Sym("i") if at == "i" else ix.ZERO,), args=given, results=made
    )


START, FIRST = call("s", "0", "x", "a"), call("f", "0", "a", "b")
LOOP = prog.Loop(
    var="i",
    lower=ix.ONE,
    upper=ix.Sym("N"),
    step=1,
    body=prog.Sequence(items=(call("p", "i", "b", "a"), call("f", "i", "a", "b"))),
    place="device",
)


def converted(*before: prog.ProgramStatement) -> prog.Sequence:
    tree = prog.Sequence(items=(*before, LOOP))
    found = rolled_steps(tree, CONTEXT, KINDS)
    assert isinstance(found, prog.Sequence)
    return found


def test_the_start_is_written_to_what_is_passed_on() -> None:
    other = call("g", "0", "x", "y")
    longer = replace(LOOP, lower=ix.ZERO)
    for between in ((), (other,)):
        wanted = (call("s", "0", "x", "b"), *between, longer)
        assert converted(START, *between, FIRST).items == wanted


@pytest.mark.parametrize(
    "before",
    [
        (FIRST,),
        (START, call("g", "0", "b", "y"), FIRST),
        (START, call("g", "0", "x", "b"), FIRST),
        (START, FIRST, call("g", "0", "x", "a")),
        (call("s", "0", "xb", "ab"), FIRST),
        (call("s", "0", "xa", "a"), FIRST),
        (START, call("f", "0", "ab", "b")),
        (START, prog.Free(cells=(prog.Cell(store="a"),)), FIRST),
        (
            replace(
                START,
                results=(prog.Cell(store="a", when=ix.compare(">=", ix.Sym("N"), ix.ONE + 1)),),
            ),
            FIRST,
        ),
    ],
)
def test_it_stays_where_something_else_depends_on_the_arrays(
    before: tuple[prog.ProgramStatement, ...],
) -> None:
    assert converted(*before).items == (*before, LOOP)


def test_tables_before_and_after_steps() -> None:
    _, loaded = compile_text(TABLES, 2)
    assert [c.kernel for c in calls(loaded.program.tree)] == ["before_0", "before_1", "y"]
    agree(TABLES, {"T": 1}, {"T": 2}, {"T": 5}, levels=(2,))


def test_states_of_batches_are_not_selected_either() -> None:
    """Each step would copy them, and carry both what it is given and what it makes."""
    source = """\
dim b < B
dim t < T
input start: f32[16, 16]
input x[b, t]: f32[16]
before[b, 0] = start * 2.0
before[b, t] = after[b, t-1]
h = tanh(before @ x)
after = before + expand_dims(h, 1) * expand_dims(x - before @ h, 0)
y = sum(after @ x) + sum(before)
output y, after[0:B, T-1] as last
"""
    _, loaded = compile_text(source, 2)
    made = [c for call in calls(loaded.program.tree) for c in call.results]
    assert [c for c in made if c.when is not None] == []
    agree(source, *({"B": 2, "T": n} for n in (1, 2, 5)), levels=(2,))
