"""Why there is no order: a cycle of values, in the words of the source.

At small bounds every instance is a node of a plain graph; the shortest cycle in it is what a person
wants to see. Temporaries (`beta.mul`) are left out where the named tensors tell the story.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from tempoc.base.diagnostics import Diagnostic
from tempoc.base.names import COTANGENT
from tempoc.base.source import Span
from tempoc.schedule import errors
from tempoc.schedule.errors import CycleStep
from tempoc.schedule.replay import ConcreteProgram, StatementInstance, TensorCell, valuations
from tempoc.sdg.graph.graph import Graph
from tempoc.sdg.statements.statements import Statement, Statements
from tempoc.symbolic.domain import Universe

# Small worlds only, and few: a cycle shows early or not at all.
SIZES = (1, 2, 3, 4, 5, 6)
WORLDS = 250
INSTANCES = 2_000


def blame(
    statements: Statements, tasks: Sequence[str], universe: Universe, graph: Graph | None
) -> Diagnostic:
    """The diagnostic for statements without an order; spans come from the graph, if given."""
    part = tuple(s for s in statements.statements if s.name in tasks)
    suspects = Statements(tensors=statements.tensors, statements=part)
    count = len(universe.bounds)
    sizes = next(SIZES[:n] for n in (6, 4, 3, 2, 1) if n**count <= WORLDS or n == 1)
    for bounds in sorted(valuations(universe, sizes), key=lambda v: sum(v.values())):
        found = _shortest(ConcreteProgram(suspects, universe, bounds))
        if found:
            met = [tensor for (tensor, _), _ in found]
            ended = next((b for b in universe.ended if b.until in met), None)
            steps_of = (f"{tensor}.{name}" for (tensor, _), (name, _) in found)
            gradient = any(f".{COTANGENT}." in step for step in steps_of)
            steps = _steps(found, suspects, graph)
            return errors.no_order(steps, _given(bounds), gradient=gradient, ended=ended)
    calls = [s for s in part if s.turn is not None]
    if calls:
        places = [span for s in calls if (span := _span(s, graph)) is not None]
        names = dict.fromkeys(_base(s.name) for s in calls)
        dims = max((s.domain.dims for s in calls), key=len)
        later = _later(calls, part, universe)
        return errors.no_order_of_calls(list(names), dims, list(dict.fromkeys(places)), later)
    spans = [span for s in part if (span := _span(s, graph)) is not None]
    return errors.no_order_found([_base(s.name) for s in part], spans)


def _later(calls: Sequence[Statement], part: Sequence[Statement], universe: Universe) -> str:
    """How to call after the last step what needs calls that have more dimensions than it has."""
    for call in calls:
        known = [call]
        for s in known:
            needed = {r.tensor for r in s.reads}
            known += [o for o in part if o not in known and needed & {w.tensor for w in o.writes}]
        own = {*call.domain.dims}
        inner = [s.domain.dims for s in known if s in calls and own < {*s.domain.dims}]
        if inner:
            dims = max(inner, key=len)
            last = [f"{d} == {universe.dim(d).bound} - 1" for d in dims if d not in own]
            return f"{_base(call.name)}[{', '.join(dims)}] = ... when {' and '.join(last)}"
    return ""


def _given(bounds: Mapping[str, int]) -> str:
    if not bounds:
        return ""
    return " (when " + ", ".join(f"{name} = {v}" for name, v in bounds.items()) + ")"


# A need: the reader needs the cell that the writer writes.
CellNeed = tuple[TensorCell, StatementInstance]


def _shortest(world: ConcreteProgram) -> list[CellNeed]:
    """The cells on a shortest cycle, each with the instance that writes it; empty if none."""
    by_name = world.statements.by_name
    instances = list(world.instances())
    if len(instances) > INSTANCES:
        return []
    writer = {cell: i for i in instances for cell in world.writes(by_name[i[0]], i[1])}
    needs: dict[StatementInstance, list[CellNeed]] = {}
    inside = frozenset(instances)
    for i in instances:
        needs[i] = [
            (cell, writer[cell])
            for read, cell in world.reads(by_name[i[0]], i[1])
            if cell in writer and not (read.forwarded and writer[cell] == i)
        ]
        needs[i] += [need for need in world.waits(by_name[i[0]], i[1]) if need[1] in inside]
    best: list[CellNeed] = []
    for start in instances:
        found = _cycle_from(start, needs, len(best) - 1 if best else len(instances))
        best = found or best
    return best


def _cycle_from(
    start: StatementInstance, needs: Mapping[StatementInstance, Sequence[CellNeed]], limit: int
) -> list[CellNeed]:
    """The shortest way from an instance back to itself, of at most `limit` needs."""
    came: dict[StatementInstance, tuple[StatementInstance, CellNeed]] = {}
    front = [start]
    for _ in range(limit):
        following: list[StatementInstance] = []
        for i in front:
            for need in needs[i]:
                if need[1] == start:
                    return _way(start, i, need, came)
                if need[1] not in came:
                    came[need[1]] = (i, need)
                    following.append(need[1])
        front = following
    return []


def _way(
    start: StatementInstance,
    last: StatementInstance,
    need: CellNeed,
    came: Mapping[StatementInstance, tuple[StatementInstance, CellNeed]],
) -> list[CellNeed]:
    way = [need]
    while last != start:
        last, step = came[last]
        way.append(step)
    return [way[0], *reversed(way[1:])]


def _steps(
    needs: Sequence[CellNeed], statements: Statements, graph: Graph | None
) -> list[CycleStep]:
    single = len(needs) == 1  # else a function's own tensors tell the story
    steps = []
    for (tensor, point), (name, _) in needs:
        at = f"[{', '.join(str(p) for p in point)}]" if point else ""
        shown = _base(tensor) if single else tensor
        steps.append(CycleStep(f"{shown}{at}", shown, _span(statements.by_name[name], graph)))
    following = zip(steps, (*steps[1:], steps[0]), strict=True)
    steps = [s for s, other in following if s.value != other.value] or steps[:1]
    kept = [s for s in steps if "." not in s.tensor] or steps
    # The story starts at the equation that stands first.
    starts = [s.span.start if s.span is not None else 0 for s in kept]
    first = starts.index(min(starts))
    return [*kept[first:], *kept[:first]]


def _base(name: str) -> str:
    """The tensor of the source to which a temporary belongs."""
    return name.split(".")[0]


def _span(s: Statement, graph: Graph | None) -> Span | None:
    """The place of the statement's last equation: that of what it is there for."""
    if graph is None:
        return None
    spans = [span for m in reversed(s.members) if m in graph.nodes for span in graph.nodes[m].spans]
    return spans[0] if spans else None
