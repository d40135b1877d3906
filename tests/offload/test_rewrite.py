"""Where loads and evictions are put, and what the check of places lets through."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest

from tempoc.offload.rewrite import FAR, NEAR, offloadable, offloaded
from tempoc.program.analysis.verify_made import verify_made
from tempoc.program.nodes.bounds import FoundLength, ProgramBound
from tempoc.program.nodes.buffers import Buffer, BufferAxis, Key
from tempoc.program.nodes.errors import ProgramError
from tempoc.program.nodes.nodes import (
    Call,
    Cell,
    Evict,
    Free,
    Guard,
    Kernel,
    Load,
    Loop,
    Program,
    ProgramInput,
    ProgramOutput,
    ProgramStatement,
    Sequence,
)
from tempoc.program.text import program_text
from tempoc.symbolic.expr import Const, Sym
from tests.program.hand_written import lifted, op

BACK = Sym("t") - 1
NEXT = Sym("t") + 1


def cell(store: str, *key: object, when: object = None) -> Cell:
    return lifted(Cell(store=store, key=key, when=when))  # type: ignore[arg-type]


def call(results: Cell, *args: Cell) -> Call:
    return Call(kernel="k", point=(), args=args, results=(results,))


def there_and_back(turns: int | None = None) -> Program:
    """``h`` forwards, then ``g`` backwards, with weights ``w`` in both."""
    first = call(cell("h", 0), cell("x"))
    up = Loop(
        var="t", lower=1, upper="T", step=1,
        body=call(cell("h", "t"), cell("w"), cell("h", BACK)),
    )  # fmt: skip
    down = Loop(
        var="t", lower=op("-", "T", 1), upper=-1, step=-1,
        body=Sequence(items=(
            call(cell("g"), cell("w"), cell("g")),
            call(cell("y"), cell("h", "t"), cell("g")),
            Free(cells=(cell("h", "t"),)),
        )),
    )  # fmt: skip
    return lifted(Program(
        name="p",
        bounds=(ProgramBound(name="T"),),
        dims=(("t", "T"),),
        inputs=(ProgramInput(name="x", store="x", dims=(), dtype="f32", shape=(8,)),),
        stores=(
            Buffer(name="x", dtype="f32", shape=(8,)),
            Buffer(name="w", dtype="f32", shape=(8,)),
            Buffer(name="h", dtype="f32", shape=(8,), keys=(Key(dim="t", modulo=turns),)),
            Buffer(name="g", dtype="f32", shape=(8,)),
            Buffer(name="y", dtype="f32", shape=(8,)),
        ),
        kernels=(Kernel(name="k"),),
        tree=Sequence(items=(call(cell("w")), first, up, down)),
        outputs=(ProgramOutput(name="y", store="y", dims=(), entries=(), dtype="f32", shape=(8,)),),
    ))  # fmt: skip


def tree_text(program: Program) -> str:
    lines = program_text(program).splitlines()
    start = next(k for k, line in enumerate(lines) if line.startswith("  kernel")) + 1
    end = next(k for k, line in enumerate(lines) if line.startswith("  output"))
    return "\n".join(line[2:] for line in lines[start:end])


def test_next_to_each_use() -> None:
    found = offloaded(there_and_back(), {"h": NEAR, "w": NEAR})
    assert (
        tree_text(found)
        == """\
w = k()
evict w
h[0] = k(x)
evict h[0]
for t in range(1, T):
  load w, h[t - 1]
  h[t] = k(w, h[t - 1])
  evict w where t + 1 >= T, h[t - 1], h[t] where t + 1 >= T
for t in range(T - 1, -1, -1):
  load w
  g = k(w, g)
  evict w
  load h[t]
  y = k(h[t], g)
  drop h[t]
  free h[t]"""
    )


def test_outside_of_loops_in_which_a_cell_is_the_same() -> None:
    found = offloaded(there_and_back(), {"h": FAR, "w": FAR})
    assert (
        tree_text(found)
        == """\
w = k()
h[0] = k(x)
evict h[0]
for t in range(1, T):
  load h[t - 1]
  h[t] = k(w, h[t - 1])
  evict h[t - 1], h[t] where t + 1 >= T
for t in range(T - 1, -1, -1):
  g = k(w, g)
  load h[t]
  y = k(h[t], g)
  drop h[t]
  free h[t]
drop w"""
    )


def test_within_the_body_of_a_loop() -> None:
    found = offloaded(there_and_back(), {"g": 1, "x": 1})
    assert (
        tree_text(found).split("for t")[2]
        == """\
 in range(T - 1, -1, -1):
  load g
  g = k(w, g)
  y = k(h[t], g)
  evict g where t - 1 <= -1
  free h[t]"""
    )


def test_cells_that_may_be_the_same_come_and_go_together() -> None:
    """``h[0]`` and ``h[t]`` in one body: where ``t`` is 0, evicting one evicts the other."""
    body = Sequence(items=(
        call(cell("y"), cell("h", 0)), call(cell("y"), cell("w")), call(cell("y"), cell("h", "t")),
        call(cell("y"), cell("h", 0)),
    ))  # fmt: skip
    loop = lifted(Loop(var="t", lower=0, upper="T", step=1, body=body))
    program = there_and_back()
    program = replace(program, tree=Sequence(items=(*tree_items(program)[:3], loop)))
    found = offloaded(program, {"h": NEAR})
    assert (
        tree_text(found).split("range(T):\n")[1]
        == """\
  load h[0]
  y = k(h[0])
  evict h[0]
  y = k(w)
  load h[t], h[0]
  y = k(h[t])
  y = k(h[0])
  evict h[t], h[0]"""
    )
    verify_made(offloaded(program, {"h": FAR}))


def tree_items(program: Program) -> tuple[ProgramStatement, ...]:
    assert isinstance(program.tree, Sequence)
    return program.tree.items


def test_a_ring_turns_under_a_load() -> None:
    found = tree_text(offloaded(there_and_back(turns=2), {"h": NEAR}))
    assert "load h[t - 1]\n  h[t] = k(w, h[t - 1])\n  evict h[t - 1], h[t] where" in found


def test_where_it_may_not_be_there() -> None:
    """What is read under a condition is loaded under it."""
    one = call(cell("g"), cell("h", BACK, when=op(">", "t", 0)))
    loop = lifted(Loop(var="t", lower=0, upper="T", step=1, body=one))
    program = replace(there_and_back(), tree=loop)
    assert (
        tree_text(offloaded(program, {"h": FAR}))
        == """\
for t in range(T):
  load h[t - 1] where t > 0
  g = k(h[t - 1] where t > 0)
  evict h[t - 1]"""
    )


def test_what_the_next_step_reads_comes_ahead() -> None:
    """Not what a step of the loop writes: ``h`` on the way up."""
    found = offloaded(there_and_back(), {"h": NEAR, "w": NEAR}, ahead=("h", "w"))
    assert tree_text(found).split("for t")[1:] == [
        """\
 in range(1, T):
  load w, h[t - 1]
  h[t] = k(w, h[t - 1])
  evict w where t + 1 >= T, h[t - 1], h[t] where t + 1 >= T
""",
        """\
 in range(T - 1, -1, -1):
  load w
  g = k(w, g)
  evict w where t - 1 <= -1
  load h[t]
  load ahead h[t - 1] where t - 1 > -1
  y = k(h[t], g)
  drop h[t]
  free h[t]""",
    ]


def test_what_cannot_be_with_the_host() -> None:
    program = there_and_back()
    axis = BufferAxis(dim="t", size=Sym("T"), least=4)
    grown = Buffer(name="w", dtype="f32", axes=(axis,), shape=(Const(8),))
    stores = tuple(grown if s.name == "w" else s for s in program.stores)
    assert offloadable(replace(program, stores=stores)) == ("x", "h", "g", "y")
    late = call(cell("y"), cell("h", op("-", "T", 1)))
    found_out = replace(
        program,
        bounds=(ProgramBound(name="T"), ProgramBound(name="M", value=Sym("T"))),
        lengths=(FoundLength(bound="T", largest="M"),),
        tree=Sequence(items=(program.tree, late)),
    )
    assert offloadable(found_out) == ("x", "w", "g", "y")


# ------------------------------------------------------------------ what is refused

Change = Callable[[tuple[ProgramStatement, ...]], tuple[ProgramStatement, ...]]


def without(kind: type[ProgramStatement], store: str) -> Change:  # type: ignore[valid-type]
    """The same without moves of a store."""

    def change(items: tuple[ProgramStatement, ...]) -> tuple[ProgramStatement, ...]:
        found: list[ProgramStatement] = []
        for item in items:
            if isinstance(item, kind) and isinstance(item, Load | Evict):
                left = tuple(c for c in item.cells if c.store != store)
                found += [replace(item, cells=left)] if left else []
            elif isinstance(item, Loop | Guard):
                body = item.body.items if isinstance(item.body, Sequence) else (item.body,)
                found.append(replace(item, body=Sequence(items=change(body))))
            else:
                found.append(item)
        return tuple(found)

    return change


def early(items: tuple[ProgramStatement, ...]) -> tuple[ProgramStatement, ...]:
    """Evicts ``h[0]`` before the last use of a body in which ``h[t]`` is there."""
    found = []
    for item in items:
        if isinstance(item, Loop):
            assert isinstance(item.body, Sequence)
            k = next(n for n, s in enumerate(item.body.items) if isinstance(s, Call))
            gone = Evict(cells=(cell("h", 0),))
            body = Sequence(items=(*item.body.items[:k], gone, *item.body.items[k:]))
            found.append(replace(item, body=body))
        else:
            found.append(item)
    return tuple(found)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (without(Load, "h"), "call of k: h is with the host there"),
        (without(Load, "w"), "call of k: w is with the host there"),
        (without(Evict, "h"), "loop t: does not leave the device as it finds it"),
        (without(Evict, "w"), "program: leaves cells on the device"),
        (early, "call of k: h is with the host there"),
    ],
)
def test_the_check_of_places_sees(change: Change, said: str) -> None:
    reach = FAR if said.startswith("program") else NEAR
    program = offloaded(there_and_back(), {"h": NEAR, "w": reach})
    with pytest.raises(ProgramError, match=said):
        verify_made(replace(program, tree=Sequence(items=change(tree_items(program)))))


def test_a_move_of_what_stays_is_refused() -> None:
    program = there_and_back()
    tree = Sequence(items=(Load(cells=(cell("w"),)), program.tree))
    with pytest.raises(ProgramError, match="w always stays on the device"):
        verify_made(replace(program, tree=tree))


def test_what_was_given_is_not_dropped() -> None:
    program = offloaded(there_and_back(), {"x": NEAR})
    tree = Sequence(items=(program.tree, Evict(cells=(cell("x"),), dead=True)))
    with pytest.raises(ProgramError, match="drops x, which was given"):
        verify_made(replace(program, tree=tree))


def test_a_program_without_away_has_no_moves() -> None:
    program = there_and_back()
    assert offloaded(program, {}) is program
