"""Results that are read only in the steps that make them: trees by hand, and epochs with Adam."""

from __future__ import annotations

from dataclasses import replace

from tempoc.codegen.regions.context import ProgramContext
from tempoc.codegen.steps.fresh_results import fresh_results
from tempoc.program.analysis.traversal import calls
from tempoc.program.nodes import nodes as prog
from tempoc.program.nodes.buffers import Buffer
from tempoc.symbolic import expr as ix
from tempoc.symbolic.parse import parse
from tests.support.agreement import agree, compile_text

CONTEXT = ProgramContext(
    stores={name: Buffer(name=name, dtype="f32") for name in ("m", "before", "loss")},
    kernels={
        name: prog.Kernel(name=name, checks=("wrong",) * (name == "check"))
        for name in ("pass", "average", "check")
    },
    bounds={"E": None, "K": None},
    x64=False,
)


def expression(text: str) -> ix.Expr:
    e = parse(text)
    assert isinstance(e, ix.Expr)
    return e


def call(kernel: str, given: str, made: str, when: str = "") -> prog.Call:
    condition = expression(when) if when else None
    args = tuple(prog.Cell(store=name) for name in given.split())
    results = tuple(prog.Cell(store=name, when=condition) for name in made.split())
    return prog.Call(kernel=kernel, point=(), args=args, results=results)


def loop(*items: prog.ProgramStatement, var: str = "k", place: str = "device") -> prog.Loop:
    upper, body = expression(var.upper()), prog.Sequence(items=items)
    return prog.Loop(var=var, lower=ix.ZERO, upper=upper, step=1, body=body, place=place)


def when(condition: str, body: prog.ProgramStatement) -> prog.Guard:
    return prog.Guard(condition=expression(condition), body=body)


def is_plain(*items: prog.ProgramStatement, around: str = "e", outputs: str = "m") -> bool:
    """Whether the first result of a step has lost its condition."""
    inner = loop(*items)
    new = fresh_results(loop(inner, var=around), CONTEXT, outputs.split())
    assert [c.results for c in calls(new)][1:] == [c.results for c in calls(inner)][1:]
    return next(calls(new)).results[0].when is None


PASS = call("pass", "m", "before", "k >= 1")
FIRST = call("pass", "m", "before", "k < 1 and e != 0")
AVERAGE = call("average", "before", "m", "k >= 1")


def test_what_only_steps_that_make_it_read_is_made_in_all() -> None:
    assert is_plain(PASS, AVERAGE)
    assert is_plain(when("K >= 2", PASS), AVERAGE)
    later = call("average", "before", "m", "k < 1 and e != 0")
    assert is_plain(when("K >= 2", PASS), when("E >= 2", FIRST), AVERAGE, later)
    assert is_plain(PASS, call("pass", "m", "before"), call("average", "before", "m"))


def test_what_other_steps_read_is_preserved() -> None:
    assert not is_plain(PASS, call("average", "before", "m"))
    assert not is_plain(PASS, AVERAGE, outputs="before")
    assert not is_plain(PASS, call("average", "before", "m", "k < 1"))
    assert not is_plain(PASS, call("check", "before", "m", "k >= 1")), "it may fail in other steps"
    assert not is_plain(when("k >= 2", PASS), AVERAGE), "a branch leaves what was there"
    assert not is_plain(call("pass", "m before", "before", "k >= 1"), AVERAGE), "it reads itself"
    assert not is_plain(PASS, loop(AVERAGE, var="e"), around="i")
    later = call("average", "before", "m", "k < 1 and e != 0")
    assert not is_plain(PASS, when("E >= 3", FIRST), later), "bounds may leave that out"
    both = loop(PASS, AVERAGE), loop(call("average", "before", "loss"))
    new = fresh_results(prog.Sequence(items=both), CONTEXT, ["m"])
    assert next(calls(new)).results[0].when is not None, "another loop goes on with it"
    host = replace(loop(PASS, AVERAGE), place="host")
    assert fresh_results(host, CONTEXT, ["m"]) == host


EPOCHS = """\
import optim
dim e < E
dim k < K
input x[k]: f32[2]
input start: f32[2]
loss = sum((w * x - 1.0) ** 2)
w2 = optim.adam(w, grad(loss, w), e * K + k)
w[0, 0] = start
w[e, k+1] = w2
w[e+1, 0] = w2[e, K-1]
output w2[E-1, K-1] as w
"""


def test_what_adam_remembers_is_carried_once() -> None:
    """The value before a step is one of the step itself or of the epoch before."""
    _, loaded = compile_text(EPOCHS, 2)
    made = [c for s in calls(loaded.program.tree) for c in s.results if c.store.endswith(".if")]
    assert made and any(c.when is None for c in made)
    agree(EPOCHS, {"E": 3, "K": 1}, {"E": 3, "K": 3})
