"""Calls that are left out as nothing reads what they make: trees by hand."""

from __future__ import annotations

from dataclasses import replace

from tempoc.codegen.regions.context import ProgramContext
from tempoc.codegen.steps.unread import without_unread
from tempoc.program.nodes import nodes as prog
from tempoc.program.nodes.buffers import Buffer, Key
from tempoc.symbolic.parse import parse

CONTEXT = ProgramContext(
    stores={
        name: Buffer(name=name, dtype="f32", keys=(Key(dim="l"),) if name == "k" else ())
        for name in ("a", "b", "k")
    },
    kernels={"f": prog.Kernel(name="f"), "c": prog.Kernel(name="c", checks=("index",))},
    bounds={"N": None},
    x64=False,
)


def cells(names: str) -> prog.Cells:
    return tuple(  # type: ignore[return-value]
        prog.Cell(store=name, key=(parse("l"),) if name == "k" else ()) for name in names
    )


def call(args: str, results: str, kernel: str = "f") -> prog.Call:
    return prog.Call(kernel=kernel, point=(), args=cells(args), results=cells(results))  # type: ignore[arg-type]


def loop(*items: prog.ProgramStatement) -> prog.Loop:
    body = prog.Sequence(items=items)
    return prog.Loop(var="l", lower=parse("0"), upper=parse("N"), step=1, body=body)


def left(*items: prog.ProgramStatement, outputs: str = "a") -> tuple[prog.ProgramStatement, ...]:
    new = without_unread(prog.Sequence(items=items), CONTEXT, outputs)
    assert isinstance(new, prog.Sequence)
    return new.items


def test_what_nothing_reads_is_not_made() -> None:
    one, two = call("a", "b"), call("b", "a")
    assert left(one, two) == (one, two)
    assert left(two, one) == (two,)
    assert left(one, call("", "b"), two)[1:] == (two,), "overwritten before that"
    assert left(one, outputs="") == ()
    checked = call("a", "b", kernel="c")
    assert left(two, checked) == (two, checked)
    guard = prog.Guard(condition=parse("N >= 2"), body=call("", "b"))
    assert left(one, guard, two) == (one, guard, two), "overwritten for some bounds"
    selected = replace(one, results=(prog.Cell(store="b", when=parse("N >= 2")),))
    assert left(one, selected, two) == (one, selected, two)


def test_what_only_the_next_step_makes_of_itself_is_not_made() -> None:
    one, two = call("b", "b"), call("a", "a")
    assert left(loop(one, two)) == (loop(two),)
    assert left(loop(one)) == ()
    read = loop(call("ab", "a"), one)
    assert left(read) == (read,)


def test_a_store_of_several_arrays_is_read_as_long_as_one_is() -> None:
    one, two = call("", "k"), call("k", "a")
    assert left(one, one, two) == (one, one, two)
    assert left(two, one) == (two,)


def freed(condition: str = "", name: str = "b") -> prog.ProgramStatement:
    free = prog.Free(cells=cells(name))
    return prog.Guard(condition=parse(condition), body=free) if condition else free


def test_a_loop_that_only_frees_is_none() -> None:
    unread = call("", "b")
    assert left(loop(unread, freed())) == (freed("0 < N"),)
    assert left(loop(unread, freed("l == N - 2"))) == (freed("0 <= N - 2"),)
    assert left(loop(unread, freed("N >= 3 and l == 1"))) == (freed("1 < N and N >= 3"),)
    (one,) = left(loop(unread, freed("l == 2", "k")))
    assert one == prog.Guard(
        condition=parse("2 < N"), body=prog.Free(cells=(prog.Cell(store="k", key=(parse("2"),)),))
    )


def test_a_loop_of_which_each_step_frees_its_own_stays() -> None:
    for body in (freed("", "k"), freed("l >= 2"), freed("l == 2 * l - N")):
        assert left(loop(call("", "b"), body)) == (loop(body),)
    backwards = replace(loop(freed()), step=-1)
    assert left(backwards) == (backwards,)
    used = loop(call("a", "a"), freed())
    assert left(used) == (used,)


def test_frees_and_prints_stay() -> None:
    free = prog.Free(cells=(prog.Cell(store="b"),))
    assert left(call("", "b"), free) == (free,)
    effect = prog.Effect(kind="print", call=call("b", ""), places=())
    assert left(call("", "b"), effect) == (call("", "b"), effect)
