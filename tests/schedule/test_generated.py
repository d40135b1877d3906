"""Generated systems of equations: whatever schedule is found is legal; none is missed lightly."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given, settings, strategies as st

from tempoc.autodiff.differentiate import differentiate
from tempoc.diagnostics.diagnostic import DiagnosticError
from tempoc.driver.check import check_file
from tempoc.driver.check_order import has_order
from tempoc.driver.options import Options
from tempoc.poly.relations.space import Space
from tempoc.poly.scheduling.liveness import Liveness, StoredTensor, TensorUse
from tempoc.schedule.compute import Scheduled, compute
from tempoc.schedule.replay import (
    ConcreteProgram,
    accessed_points,
    bound_assignments,
    execution_trace,
)
from tempoc.schedule.text import show
from tempoc.schedule.verify import proof, replay
from tempoc.sdg.statements.build import statements
from tempoc.sdg.statements.certain_order import unproved_components
from tempoc.symbolic.walk import evaluate
from tests.schedule.programs import Builder
from tests.schedule.schedule_text import parse
from tests.support.elaborated import graph_of
from tests.support.session.long import examples

AT_T = ["t", "t-1", "t-2", "t+1", "0", "T-1", "T-1-t", "0:t+1", "0:t", "t:T", "t+1:T", "0:T"]
AT_T += ["max(0, t-2):t+1", "t:min(t+3, T)", "t//2", "t:T:2"]
AT_L = ["l", "l-1", "l", "0", "L-1", "0:L", "0:l+1"]
NAMES = "abc"


@st.composite
def programs(draw) -> Builder:
    b = Builder("t<T l<L=2")
    dims = {n: draw(st.sampled_from(["t", "t", "t l"])) for n in NAMES}

    def read(own: str) -> str:
        name = draw(st.sampled_from(NAMES))
        entries = [draw(st.sampled_from(AT_T))]
        if "l" in dims[name]:
            entries.append(draw(st.sampled_from(AT_L if "l" in own else ["0", "L-1", "0:L"])))
        return f"{name}[{', '.join(entries)}]"

    for name in NAMES:
        own, rest = dims[name], ", l" if "l" in dims[name] else ""
        b.tensor(name, own)
        form = draw(st.sampled_from(["plain", "forward", "back", "target", "parity"]))
        reads = [read(own) for _ in range(draw(st.integers(0, 2)))]
        first = "l" if rest else ""
        if form == "plain":
            b.statement(name, own, *reads)
        elif form == "forward":
            b.statement(f"{name}.0", first, writes=(f"{name}[0{rest}]",))
            b.statement(f"{name}.1", f"{own} | t >= 1", *reads, writes=(f"{name}[t{rest}]",))
        elif form == "back":
            b.statement(f"{name}.0", first, writes=(f"{name}[T-1{rest}]",))
            b.statement(f"{name}.1", f"{own} | t < T-1", *reads, writes=(f"{name}[t{rest}]",))
        elif form == "parity":
            for k in (0, 1):
                more = [read(own) for _ in range(draw(st.integers(0, 2)))]
                where = f"{own} | t % 2 == {k}"
                b.statement(f"{name}.{k}", where, *more, writes=(f"{name}[t{rest}]",))
        else:
            b.statement(f"{name}.0", first, writes=(f"{name}[0{rest}]",))
            where = f"{name}[t+1{rest}] | t+1 < T"
            b.statement(f"{name}.1", own, *reads, writes=(where,))
    return b


@settings(max_examples=examples(34, long=120), deadline=None)
@given(programs())
def test_whatever_is_found_is_legal(b: Builder) -> None:
    try:
        found = compute(b.statements, b.space)
    except DiagnosticError as error:
        assert error.diagnostics[0].code in ("RT400", "RT401")
        return
    assert list(proof(b.statements, found.tree, b.space)) == []
    assert list(replay(b.statements, found.tree, b.space, (1, 2, 3, 4))) == []
    assert parse(show(found.tree)) == found.tree


@settings(max_examples=examples(57, long=200), deadline=None)
@given(programs())
def test_there_is_an_order_exactly_if_one_is_made(b: Builder) -> None:
    """`check` makes none."""
    components = unproved_components(b.statements, b.universe)
    known = not components or has_order(b.statements, b.space, components)
    try:
        compute(b.statements, b.space)
    except DiagnosticError:
        assert not known
    else:
        assert known


AT_I = ["i", "i-1", "i+1", "0", "I-1", "k", "k//4", "k//4 + 1", "k//4 - 1", "0:i+1", "(k+4)//4"]
AT_K = ["k", "k-1", "k-3", "k+1", "0", "K-1", "4*i", "4*i + 3", "4*i - 1", "4*i:4*i + 4", "0:4*i"]
AT_K += ["0:4*i + 5", "4*(k//4)", "4*(k//4) - 1:k", "k//2"]


@st.composite
def updates(draw) -> Builder:
    """Iterations, each of four updates."""
    b = Builder("i<I k<K=4*I")
    dims = {n: draw(st.sampled_from("ik")) for n in NAMES}
    for name in NAMES:
        own = dims[name]
        b.tensor(name, own)
        reads = []
        for _ in range(draw(st.integers(0, 2))):
            other = draw(st.sampled_from(NAMES))
            at = AT_I if dims[other] == "i" else AT_K
            lacking = "i" if own == "k" else "k"
            reads.append(f"{other}[{draw(st.sampled_from([e for e in at if lacking not in e]))}]")
        if draw(st.booleans()):
            b.statement(f"{name}.0", "", writes=(f"{name}[0]",))
            where = f"{name}[{own}+1] | {own}+1 < {own.upper()}"
            b.statement(f"{name}.1", own, *reads, writes=(where,))
        else:
            b.statement(name, own, *reads)
    return b


@settings(max_examples=examples(57, long=200), deadline=None)
@given(updates())
def test_steps_inside_coarser_steps_have_an_order_exactly_if_one_is_made(b: Builder) -> None:
    test_there_is_an_order_exactly_if_one_is_made.hypothesis.inner_test(b)


def test_updates_run_in_their_iterations() -> None:
    b = Builder("i<I k<K=16*I")
    b.tensor("w", "k")
    b.statement("w.0", "", writes=("w[0]",))
    b.statement("w.1", "k", "w[k]", "x[k//16]", writes=("w[k+1] | k+1 < K",))
    b.statement("x", "i", "w[16*i]")
    assert unproved_components(b.statements, b.universe) == ()
    b.statement("y", "i", "z[16*i + 15]")
    b.statement("z", "k", "y[k//16]")
    assert unproved_components(b.statements, b.universe) == (("y", "z"),)


def test_the_order_of_ppo_is_evident() -> None:
    """`tempoc check` asks isl for no order where iterations hold epochs, and these updates."""
    path = Path(__file__).parents[2] / "examples" / "rl" / "ppo.rt"
    assert check_file(str(path), Options(), differentiate).doubtful == ()


def stored(b: Builder) -> dict[str, StoredTensor]:
    system = b.statements
    return {
        name: StoredTensor(
            domain=tensor.domain,
            writes=tuple(
                TensorUse(task=s.name, entries=w.entries, where=w.where)
                for s, w in system.writers(name)
            ),
            reads=tuple(TensorUse(task=s.name, entries=r.entries) for s, r in system.readers(name)),
        )
        for name, tensor in system.tensors.items()
    }


def check_slots(b: Builder, found: Scheduled) -> None:
    """Run with every tensor in as many slots as its windows say; releases free what is dead."""
    tensors = stored(b)
    life = Liveness(found.timeline, tensors)
    windows = {name: life.windows(name) for name in tensors}
    by_name = {s.name: s for s in b.statements.statements}
    for env in bound_assignments(b.universe, (1, 2, 3)):
        world = ConcreteProgram(b.statements, b.universe, env)
        sizes = {name: [evaluate(w, env) for w in ws] for name, ws in windows.items()}
        memory: dict[object, object] = {}
        written: dict[object, None] = {}
        for name, point in execution_trace(found.tree, dict(env)):
            s = by_name[name]
            cells = [(c, slot_of(c, sizes)) for c in world.writes(s, point)]
            for _, cell in world.reads(s, point):
                if cell in written:
                    assert memory[slot_of(cell, sizes)] == cell
            for cell, slot in cells:
                memory[slot] = cell
                written[cell] = None


def slot_of(cell, sizes):
    name, point = cell
    return name, tuple(i % n for i, n in zip(point, sizes[name], strict=True))


def check_releases(b: Builder, found: Scheduled) -> None:
    """No released cell is read again, and none is released twice."""
    tensors = stored(b)
    life = Liveness(found.timeline, tensors)
    by_task: dict[str, list] = {}
    for name in tensors:
        for r in life.releases(name):
            by_task.setdefault(r.task, []).append((name, r))
    by_name = {s.name: s for s in b.statements.statements}
    for env in bound_assignments(b.universe, (1, 2, 3)):
        world = ConcreteProgram(b.statements, b.universe, env)
        dead: dict[object, None] = {}
        for name, point in execution_trace(found.tree, dict(env)):
            s = by_name[name]
            assert not any(cell in dead for _, cell in world.reads(s, point))
            here = world.at(s, point)
            for tensor, r in by_task.get(name, ()):
                if evaluate(r.where, here):
                    for cell in cells_of(tensor, r.entries, here):
                        assert cell not in dead
                        dead[cell] = None


def cells_of(tensor, entries, here):
    for p in accessed_points(entries, here):
        yield tensor, p


@settings(max_examples=examples(17, long=60), deadline=None)
@given(programs())
def test_windows_and_releases_are_right(b: Builder) -> None:
    try:
        found = compute(b.statements, b.space)
    except DiagnosticError:
        return
    check_slots(b, found)
    check_releases(b, found)


def test_last_use_is_one_at_all_points() -> None:
    b = Builder("t<T")
    b.statement("x", "t")
    b.statement("y", "t", "x[max(0, t-1):t+1]")
    b.statement("z", "t", "y[t]")
    found = compute(b.statements, b.space)
    life = Liveness(found.timeline, stored(b))
    (window,), (own,) = (life.stored[name].reads for name in ("x", "y"))
    assert not life.is_last_use("x", "y", window.entries)  # but at T-1
    assert life.is_last_use("y", "z", own.entries)
    assert not life.is_last_use("y", "y", own.entries)


@pytest.mark.parametrize(
    ("reads", "stop", "ordered"),
    [
        ("z[t] when t >= 1", "y", True),
        ("y[t-1] + z[t] when t >= 1 and t <= T-2", "z", True),
        ("z[t] when t < T-1", "y", False),
        ("z[t+1] when t < T-1", "y", False),
        ("z[T-1] when t >= 1", "y", False),
    ],
)
def test_a_step_waits_for_those_that_may_end_its_loop(reads: str, stop: str, ordered: bool) -> None:
    text = "dim t < T until done\ninput x[t]: f32\nz[0] = 1.0\nz[t+1] = 2.0 * z + x\n"
    graph = graph_of(f"{text}y[t] = {reads}\ny[t] = 0.0\ndone = {stop} > 3.0\noutput y\n")
    space = Space(graph.universe)
    parts = statements(graph, space)
    components = unproved_components(parts, graph.universe)
    assert (components == ()) == ordered
    assert has_order(parts, space, [tuple(s.name for s in parts.statements)]) == ordered
