"""What is seen outside comes in the order of plain loops; a tree with another order is caught."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from graphlib import CycleError, TopologicalSorter
from itertools import pairwise

import pytest
from hypothesis import given, settings, strategies as st

from tempoc.diagnostics.diagnostic import DiagnosticError
from tempoc.poly.relations.sets import IslFrame
from tempoc.poly.relations.space import Space
from tempoc.poly.scheduling import timeline
from tempoc.poly.scheduling.problem import SchedulingProblem
from tempoc.poly.scheduling.timeline import Timeline
from tempoc.schedule import verify
from tempoc.schedule.compute import compute
from tempoc.schedule.replay import ConcreteProgram, bound_assignments, execution_trace
from tempoc.schedule.tree import Execute, ScheduleTree, TreeLoop, TreeSequence
from tempoc.schedule.verify import proof, replay
from tempoc.sdg.statements.build import statements
from tempoc.sdg.statements.statements import Statements
from tempoc.symbolic.domain import Universe
from tempoc.symbolic.expr import Const
from tests.schedule.programs import Builder
from tests.schedule.schedule_text import parse
from tests.support.elaborated import graph_of
from tests.support.session.long import examples

HEAD = """
dim i < I
dim t < T
extern host reset() -> (s: f32) from "env:reset"
extern host step(s: f32) -> (s2: f32) from "env:step"
extern host note(s: f32) -> (n: i32) from "log:note"
input x[i, t]: f32
"""
PROGRAMS = {
    "prefixes": """
s[i] = reset()
r = step(x)
last[i] = step(s[i])
n = note(x)
all = reset()
output r
""",
    "lines": """
output x
print x
print x when t >= i
print x[i, 0]
save x to "{i}-{t}.safetensors"
""",
    "state": """
h[i, 0] = 0.0
h[i, t+1] = step(h[i, t])
m[t] = step(sum(x[0:I, t]))
output h
""",
    "remainders": """
h[t] = sum(x[0, t])
print h when t % 2 == 0
print h when t % 3 == 0
print h
print h when t % 5 == 0 and t >= 2
output h
""",
}


def variants(tree: ScheduleTree) -> Iterator[ScheduleTree]:
    """The tree with one loop the other way round, or one sequence, or one pair of loops swapped."""
    match tree:
        case TreeSequence(items=items):
            yield TreeSequence(items=items[::-1])
            for k, item in enumerate(items):
                for other in variants(item):
                    yield TreeSequence(items=(*items[:k], other, *items[k + 1 :]))
        case TreeLoop(lower=lower, upper=upper, step=step, body=body):
            if step == 1:
                yield replace(tree, lower=upper - Const(1), upper=lower - Const(1), step=-1)
            if isinstance(body, TreeLoop):
                yield replace(body, body=replace(tree, body=body.body))
            for other in variants(body):
                yield replace(tree, body=other)
        case Execute():
            return


def calls(system: Statements, tree: ScheduleTree, universe: Universe, size: int) -> dict[str, list]:
    """What each queue sees: indices as declared (-1 where there is none), and who."""
    by_name = {s.name: s for s in system.statements}
    seen: dict[str, list] = {}
    bounds = {b.name: size for b in universe.bounds}
    for name, point in execution_trace(tree, bounds):
        s = by_name[name]
        if s.turn is not None:
            at = dict(zip(s.domain.dims, point, strict=True))
            place = [at.get(d.name, -1) for d in universe.dims]
            seen.setdefault(s.turn.queue, []).append((place, s.turn.number))
    return seen


@pytest.mark.parametrize("name", PROGRAMS)
def test_order_is_found_proved_and_replayed(name: str) -> None:
    graph = graph_of(HEAD + PROGRAMS[name])
    space = Space(graph.universe)
    system = statements(graph, space)
    tree = compute(system, space, graph).tree
    assert list(proof(system, tree, space)) == []
    assert list(replay(system, tree, space)) == []
    wanted = calls(system, tree, graph.universe, 3)
    assert wanted
    assert all(seen == sorted(seen) for seen in wanted.values())
    broken = 0
    for other in variants(tree):
        seen = calls(system, other, graph.universe, 3)
        if sorted(map(str, seen.items())) != sorted(map(str, wanted.items())):
            broken += 1
            assert list(proof(system, other, space))
            assert list(replay(system, other, space))
    assert broken >= 3


def test_effects_in_turn_are_proved_by_neighbours(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of many effects all pairs would be by far the most relations of a proof."""
    text = "dim t < T\ninput x[t]: f32\noutput x\n"
    graph = graph_of(text + "".join(f"print x when t % {k} == 0\n" for k in range(2, 22)))
    space = Space(graph.universe)
    system = statements(graph, space)
    tree = compute(system, space, graph).tree
    asked: list[int] = []

    def violated(times: Timeline, problem: SchedulingProblem) -> tuple[tuple[str, str], ...]:
        asked.append(len(problem.flows))
        return timeline.violated(times, problem)

    monkeypatch.setattr(verify, "violated", violated)
    assert list(proof(system, tree, space)) == []
    assert asked[-1] <= 20
    assert "may run before" in next(proof(system, next(variants(tree)), space))
    assert asked[-1] >= 400


def test_tasks_that_run_alike_are_proved_by_few_questions(monkeypatch: pytest.MonkeyPatch) -> None:
    """A proof asks of reads, not of their names: as often for nine chains as for three."""
    asked: list[int] = []

    def proof_of(chains: int) -> list[int]:
        rows = [f"a{k}[0] = x\na{k}[t] = tanh(a{k}[t-1]) + x\n" for k in range(chains)]
        rows += [f"output a{k}\n" for k in range(chains)]
        graph = graph_of(f"dim t < T\ninput x: f32\n{''.join(rows)}")
        space = Space(graph.universe)
        system = statements(graph, space)
        tree = compute(system, space, graph).tree
        asked.clear()
        assert list(proof(system, tree, space)) == []
        return [*asked]

    within_patience = IslFrame.within_patience

    def counted(self: IslFrame, answer: Callable[[], object]) -> object:
        asked.append(1)
        return within_patience(self, answer)

    monkeypatch.setattr(IslFrame, "within_patience", counted)
    assert 0 < len(proof_of(3)) == len(proof_of(9))


@pytest.mark.parametrize(
    ("writes", "loops", "wrong"),
    [
        (("a[t+1]", "b[t+1]"), ("r.a r.b w.a w.b",), ()),
        (("a[t+1]", "b[t]"), ("w.b r.a r.b w.a",), ()),
        (("a[t+1]", "b[t]"), ("r.a r.b w.a w.b",), ("r.b",)),
        (("a[t] | t >= T", "b[t]"), ("r.a r.b w.a w.b",), ("r.b",)),
        (("a[t+1]", "b[t+1]"), ("r.a w.a", "r.b", "w.b"), ("r.b",)),
    ],
)
def test_of_tasks_that_read_alike_each_is_proved(
    writes: tuple[str, ...], loops: tuple[str, ...], wrong: tuple[str, ...]
) -> None:
    """One may run in another order, or read what is written elsewhere."""
    b = Builder("t<T")
    for name, written in zip("ab", writes, strict=True):
        b.tensor(name, "t")
        b.statement(f"w.{name}", "t | t < T-1", writes=(written,))
        b.statement(f"r.{name}", "t | t < T-1", f"{name}[t]")
    lines = (f"for t in 0..T-1:\n  {'[t] '.join(loop.split())}[t]" for loop in loops)
    tree = parse("\n".join(lines).replace("] ", "]\n  "))
    assert [v.split()[0] for v in proof(b.statements, tree, b.space)] == [*wrong]


def test_only_what_is_forwarded_is_read_by_the_instance_that_writes_it() -> None:
    b = Builder("t<T")
    b.statement("a", "t", "~a[t]")
    b.statement("b", "t", "b[t]")
    tree = parse("for t in 0..T:\n  a[t]\n  b[t]")
    assert [v.split()[0] for v in proof(b.statements, tree, b.space)] == ["b"]


def test_replay_needs_no_dependences(monkeypatch: pytest.MonkeyPatch) -> None:
    text = "dim t < T\ninput x[t]: f32\noutput x\nprint x\n"
    graph = graph_of(text)
    space = Space(graph.universe)
    system = statements(graph, space)
    monkeypatch.setattr("tempoc.schedule.dependences.preceding_points", lambda *_: iter(()))
    tree = compute(system, space, graph).tree
    back = next(variants(tree))
    assert list(proof(system, back, space)) == []
    assert "has its turn later" in next(replay(system, back, space))


def test_places_of_instances() -> None:
    graph = graph_of(HEAD + PROGRAMS["prefixes"])
    system = statements(graph, Space(graph.universe))
    world = ConcreteProgram(system, graph.universe, next(bound_assignments(graph.universe, (2,))))
    places = {
        s.name: world.turn(s, (1,) * len(s.domain.dims))[0]
        for s in system.statements
        if s.turn is not None
    }
    assert set(places.values()) == {(-1, -1), (1, -1), (1, 1)}


@st.composite
def programs(draw: st.DrawFn) -> str:
    """Calls of two modules over some dimensions, each with what came before or after it."""
    lines = ["dim i < I", "dim t < T", "input x[i, t]: f32"]
    for module in ("m", "n"):
        lines.append(f'extern host {module}(x: f32) -> (y: f32) from "{module}:f"')
    dims = [draw(st.sampled_from([(), ("i",), ("t",), ("i", "t")])) for _ in range(4)]
    reads = {"i": ["i", "i-1", "0", "0:i", "i:I"], "t": ["t", "t+1", "T-1", "t:T", "0:T"]}
    for k, own in enumerate(dims):
        source = draw(st.sampled_from([*range(-1, k)] * 4 + [*range(k, 4)]))
        read, theirs = (f"a{source}", dims[source]) if source >= 0 else ("x", ("i", "t"))
        entries = []
        for d in theirs:
            last, whole = f"{d.upper()}-1", f"0:{d.upper()}"
            entries.append(draw(st.sampled_from(reads[d] if d in own else [last, whole])))
        at = f"[{', '.join(entries)}]" if entries else ""
        parts = []
        if "i-1" in entries:
            parts.append("i >= 1")
        if "t+1" in entries:
            parts.append("t < T-1")
        guard = f" when {' and '.join(parts)}" if parts else ""
        target = f"a{k}[{', '.join(own)}]" if own else f"a{k}"
        module = draw(st.sampled_from("mn"))
        if guard:
            lines.append(f"{target} = {module}(sum({read}{at})){guard}")
            lines.append(f"{target} = 0.0")
        else:
            lines.append(f"{target} = {module}(sum({read}{at}))")
    return "\n".join([*lines, "output x", ""])


@settings(max_examples=examples(17, long=60), deadline=None)
@given(programs())
def test_an_order_is_found_where_there_is_one(text: str) -> None:
    try:
        graph = graph_of(text)
    except DiagnosticError:
        return
    space = Space(graph.universe)
    system = statements(graph, space)
    try:
        tree = compute(system, space, graph).tree
    except DiagnosticError as error:
        assert error.diagnostics[0].code in ("RT400", "RT401", "RT403")
        small = bound_assignments(graph.universe, (1, 2, 3))
        assert any(has_cycle(ConcreteProgram(system, graph.universe, b)) for b in small)
        return
    assert list(proof(system, tree, space)) == []
    assert list(replay(system, tree, space)) == []


def has_cycle(world: ConcreteProgram) -> bool:
    """Whether values and turns together leave no first instance, found without isl."""
    by_name = {s.name: s for s in world.statements.statements}
    instances = list(world.instances())
    writer = {cell: i for i in instances for cell in world.writes(by_name[i[0]], i[1])}
    needs = {
        i: {writer[cell] for _, cell in world.reads(by_name[i[0]], i[1]) if cell in writer}
        for i in instances
    }
    for queue in "mn":
        taking = [i for i in instances if (t := by_name[i[0]].turn) and t.queue == queue]
        taking.sort(key=lambda i: world.turn(by_name[i[0]], i[1]))
        for before, after in pairwise(taking):
            needs[after].add(before)
    try:
        list(TopologicalSorter(needs).static_order())
    except CycleError:
        return True
    return False
