"""Explains why a program is unschedulable: a shortest dependence cycle, in names of the source.

At small bounds, the statement instances and their dependences are an explicit graph, which is
searched for a shortest cycle. Temporaries (`beta.mul`) are left out if the cycle also has named
tensors. isl may take minutes to find that a large program has no schedule, where this search takes
less than a second, so that it comes first there (`small_cycle`).
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import groupby, islice, pairwise

from tempoc.base.effort import EFFORT
from tempoc.base.graphs import cyclic_nodes, strongly_connected_components
from tempoc.base.names import COTANGENT
from tempoc.diagnostics.diagnostic import Diagnostic
from tempoc.diagnostics.source import Span
from tempoc.schedule import errors
from tempoc.schedule.errors import CycleStep
from tempoc.schedule.replay import ConcreteProgram, StatementInstance, TensorCell, bound_assignments
from tempoc.schedule.samples import sampled
from tempoc.sdg.graph.graph import Graph
from tempoc.sdg.statements.statements import Statement, Statements
from tempoc.symbolic.domain import Universe

# Only a few small assignments of bounds are searched: a cycle shows early or not at all.
SIZES = (1, 2, 3, 4, 5, 6)


def explain_cycle(
    statements: Statements, tasks: Sequence[str], universe: Universe, graph: Graph | None
) -> Diagnostic:
    """The diagnostic for unschedulable statements; spans come from the graph, if given."""
    part = tuple(s for s in statements.statements if s.name in tasks)
    suspects = Statements(tensors=statements.tensors, statements=part)
    for world, instances in _worlds(suspects, universe):
        cycle = _shortest_cycle(world, instances)
        if cycle:
            tensors = [tensor for (tensor, _), _ in cycle]
            ended = next((b for b in universe.ended if b.until in tensors), None)
            names = [name for (tensor, _), (task, _) in cycle for name in (tensor, task)]
            roots = _roots(graph)
            gradient = any(_cotangent_of(name, roots) for name in names)
            steps = (_by_equations if gradient else _steps)(cycle, suspects, graph)
            where = _given(world.bounds)
            copy = _copy_to_differentiate(cycle, universe, graph) if graph else ""
            return errors.no_order(steps, where, gradient=gradient, ended=ended, copy=copy)
    calls = [s for s in part if s.turn is not None]
    if calls:
        places = [span for s in calls if (span := _span(s, graph)) is not None]
        callers = dict.fromkeys(_base(s.name) for s in calls)
        dims = max((s.domain.dims for s in calls), key=len)
        later = _later(calls, part, universe)
        return errors.no_order_of_calls(list(callers), dims, list(dict.fromkeys(places)), later)
    spans = [span for s in part if (span := _span(s, graph)) is not None]
    return errors.no_order_found([_base(s.name) for s in part], spans)


def _worlds(
    suspects: Statements, universe: Universe
) -> Iterator[tuple[ConcreteProgram, list[StatementInstance]]]:
    """Programs at small bounds with all instances, then a sample at larger ones."""
    count = len(universe.bounds)
    sizes = next(SIZES[:n] for n in (6, 4, 3, 2, 1) if n**count <= EFFORT.blamed_worlds or n == 1)
    for bounds in sorted(bound_assignments(universe, sizes), key=lambda v: sum(v.values())):
        world = ConcreteProgram(suspects, universe, bounds)
        yield world, list(world.instances())
    sample = sampled(suspects, universe)
    if sample is not None:
        world, instances = sample
        for component in sorted(_components(world, instances), key=len)[:1]:
            yield world, list(component)


def small_cycle(
    statements: Statements, universe: Universe, tasks: Collection[str]
) -> tuple[str, ...]:
    """Those ``tasks`` of which instances need each other, of a smallest such set; empty if none.

    All bounds are equal, or those of a sample. What waits for the end of a dimension is not looked
    at.
    """
    among = frozenset(tasks)
    writers = {
        s.name: [w.name for r in s.reads for w, _ in statements.writers(r.tensor)]
        for s in statements.statements
        if s.name in among
    }
    suspects = cyclic_nodes(writers, lambda name: [w for w in writers[name] if w in among])
    part = tuple(s for s in statements.statements if s.name in suspects)
    suspected = Statements(tensors=statements.tensors, statements=part)
    for size in EFFORT.cyclic_sizes:
        for bounds in bound_assignments(universe, (size,)):
            world = ConcreteProgram(suspected, universe, bounds)
            components = _components(world, world.instances())
            if components:
                return tuple(dict.fromkeys(name for name, _ in min(components, key=len)))
    components = _components(*sample) if (sample := sampled(suspected, universe)) else []
    return tuple(dict.fromkeys(name for name, _ in min(components, key=len, default=())))


def _components(
    world: ConcreteProgram, among: Iterable[StatementInstance]
) -> list[tuple[StatementInstance, ...]]:
    """The sets of instances of which each needs all others; none if there are too many to look."""
    by_name = world.statements.by_name
    instances = list(islice(among, EFFORT.replayed_instances + 1))
    if len(instances) > EFFORT.replayed_instances:
        return []
    writer: dict[TensorCell, StatementInstance] = {}
    needs: dict[StatementInstance, list[StatementInstance]] = {}
    cells = 0
    for i in instances:
        for cell in world.writes(by_name[i[0]], i[1]):
            writer[cell] = i
            cells += 1
            if cells > EFFORT.replayed_cells:
                return []
    for i in instances:
        needs[i] = []
        for read, cell in world.reads(by_name[i[0]], i[1]):
            if cell in writer and not (read.forwarded and writer[cell] == i):
                needs[i].append(writer[cell])
            cells += 1
            if cells > EFFORT.replayed_cells:
                return []
    components = strongly_connected_components(instances, needs.__getitem__)
    return [c for c in components if len(c) > 1 or c[0] in needs[c[0]]]


def _later(calls: Sequence[Statement], part: Sequence[Statement], universe: Universe) -> str:
    """A target for a call that depends on calls over more dimensions: at their last points."""
    for call in calls:
        producers = [call]
        for s in producers:
            operands = {r.tensor for r in s.reads}
            producers += [
                o for o in part if o not in producers and operands & {w.tensor for w in o.writes}
            ]
        own = {*call.domain.dims}
        inner = [s.domain.dims for s in producers if s in calls and own < {*s.domain.dims}]
        if inner:
            dims = max(inner, key=len)
            last = [f"{d} == {universe.dim(d).bound} - 1" for d in dims if d not in own]
            return f"{_base(call.name)}[{', '.join(dims)}] = ... when {' and '.join(last)}"
    return ""


def _given(bounds: Mapping[str, int]) -> str:
    if not bounds:
        return ""
    return " (when " + ", ".join(f"{name} = {v}" for name, v in bounds.items()) + ")"


# The cell that an instance reads, and the instance that writes it.
CellDependence = tuple[TensorCell, StatementInstance]


def _shortest_cycle(
    world: ConcreteProgram, instances: Sequence[StatementInstance]
) -> list[CellDependence]:
    """The dependences on a shortest cycle of some instances; empty if there is none."""
    by_name = world.statements.by_name
    if len(instances) > EFFORT.blamed_instances:
        return []
    writer = {cell: i for i in instances for cell in world.writes(by_name[i[0]], i[1])}
    needs: dict[StatementInstance, list[CellDependence]] = {}
    inside = frozenset(instances)
    for i in instances:
        needs[i] = [
            (cell, writer[cell])
            for read, cell in world.reads(by_name[i[0]], i[1])
            if cell in writer and not (read.forwarded and writer[cell] == i)
        ]
        needs[i] += [need for need in world.waits(by_name[i[0]], i[1]) if need[1] in inside]
    best: list[CellDependence] = []
    for start in cyclic_nodes(instances, lambda i: [writing for _, writing in needs[i]]):
        cycle = _cycle_from(start, needs, len(best) - 1 if best else len(instances))
        best = cycle or best
    return best


def _cycle_from(
    start: StatementInstance,
    needs: Mapping[StatementInstance, Sequence[CellDependence]],
    limit: int,
) -> list[CellDependence]:
    """A shortest path from an instance to itself, of at most `limit` dependences (BFS)."""
    parents: dict[StatementInstance, tuple[StatementInstance, CellDependence]] = {}
    frontier = [start]
    for _ in range(limit):
        successors: list[StatementInstance] = []
        for i in frontier:
            for need in needs[i]:
                if need[1] == start:
                    return _path_back(start, i, need, parents)
                if need[1] not in parents:
                    parents[need[1]] = (i, need)
                    successors.append(need[1])
        frontier = successors
    return []


def _path_back(
    start: StatementInstance,
    last: StatementInstance,
    need: CellDependence,
    came: Mapping[StatementInstance, tuple[StatementInstance, CellDependence]],
) -> list[CellDependence]:
    path = [need]
    while last != start:
        last, step = came[last]
        path.append(step)
    return [path[0], *reversed(path[1:])]


def _steps(
    needs: Sequence[CellDependence], statements: Statements, graph: Graph | None
) -> list[CycleStep]:
    single = len(needs) == 1  # otherwise the local tensors of a function matter
    steps = []
    for (tensor, point), (name, _) in needs:
        at = f"[{', '.join(str(p) for p in point)}]" if point else ""
        shown = _base(tensor) if single else tensor
        steps.append(CycleStep(f"{shown}{at}", shown, _span(statements.by_name[name], graph)))
    pairs = zip(steps, (*steps[1:], steps[0]), strict=True)
    steps = [s for s, other in pairs if s.value != other.value] or steps[:1]
    return _from_first([s for s in steps if "." not in s.tensor] or steps)


def _by_equations(
    needs: Sequence[CellDependence], statements: Statements, graph: Graph | None
) -> list[CycleStep]:
    """The steps of a cycle through a derivative: one for each equation and derivative on it.

    All of a backward pass, and the leaves of records, are temporaries: without them nothing is left
    of the cycle, and with them it is longer than anyone reads.
    """
    steps: list[CycleStep] = []
    roots = _roots(graph)
    for (tensor, point), (name, _) in needs:
        parts = tensor.split(".")
        shown, kind = parts[0], parts[0]
        if by := _cotangent_of(tensor, roots):
            shown, kind = f"grad({parts[0]}, {by})", f"grad({parts[0]})"
        at = f"[{', '.join(str(p) for p in point)}]" if point else ""
        span = _span(statements.by_name[name], graph)
        if not steps or steps[-1].tensor != kind:
            steps.append(CycleStep(f"{shown}{at}", kind, span))
        elif by:  # the read that closes the cycle is next to the last step
            steps[-1] = replace(steps[-1], span=span)
    if len(steps) > 1 and steps[-1].tensor == steps[0].tensor:
        steps[0] = CycleStep(steps.pop().value, steps[0].tensor, steps[0].span)
    return _from_first([replace(s, tensor=s.value.split("[")[0]) for s in steps])


def _roots(graph: Graph | None) -> set[str] | None:
    """The source tensors to which the nodes of a graph belong, if it is known."""
    return None if graph is None else {_base(n) for n in graph.nodes}


def _cotangent_of(name: str, roots: Collection[str] | None) -> str | None:
    """The tensor, one of `roots`, of which a node is the cotangent; a function may have a `d`."""
    pairs = pairwise(name.split(".")[1:])
    named = (by for p, by in pairs if p == COTANGENT and (roots is None or by in roots))
    return next(named, None)


def _copy_to_differentiate(
    needs: Sequence[CellDependence], universe: Universe, graph: Graph
) -> str:
    """`w2[i, k] = w`, if what reads a gradient by `w` is at some `k`, over all of which it sums."""
    roots = _roots(graph)
    tensors = [tensor for (tensor, _), _ in needs]
    for k, tensor in enumerate(tensors):
        by = _cotangent_of(tensor, roots)
        if by is None or by == _cotangent_of(tensors[k - 1], roots):
            continue
        before = [*reversed(tensors[:k]), *reversed(tensors[k:])]
        _, reader = next(groupby(before, _base))
        read = [d for t in reader if t in graph.nodes for d in graph.nodes[t].domain.dims]
        nodes = (node for name, node in graph.nodes.items() if _base(name) == by)
        own = max((node.domain.dims for node in nodes), key=len)
        dims = universe.ordered((*own, *read))
        if dims != own:
            return f"{by}2[{', '.join(dims)}] = {by}"
    return ""


def _from_first(steps: Sequence[CycleStep]) -> list[CycleStep]:
    """The steps of a cycle, beginning at the first equation in the source."""
    starts = [s.span.start if s.span is not None else 0 for s in steps]
    first = starts.index(min(starts))
    return [*steps[first:], *steps[:first]]


def _base(name: str) -> str:
    """The source tensor to which a temporary belongs."""
    return name.split(".")[0]


def _span(s: Statement, graph: Graph | None) -> Span | None:
    """The span of the last member with one: the equation that the statement computes."""
    if graph is None:
        return None
    spans = [span for m in reversed(s.members) if m in graph.nodes for span in graph.nodes[m].spans]
    return spans[0] if spans else None
