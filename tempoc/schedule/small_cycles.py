"""Whether a few steps of a program already need each other: decided without the solver.

isl may take minutes to find that a large program has no schedule, where its instances at bounds
of 1, 2 or 3 show a cycle within a second.
"""

from __future__ import annotations

from collections.abc import Collection

from tempoc.base.effort import EFFORT
from tempoc.base.graphs import cyclic_nodes, strongly_connected_components
from tempoc.schedule.replay import ConcreteProgram, StatementInstance, bound_assignments
from tempoc.sdg.statements.statements import Statements
from tempoc.symbolic.domain import Universe

SIZES = (1, 2, 3)


def small_cycle(
    statements: Statements, universe: Universe, tasks: Collection[str]
) -> tuple[str, ...]:
    """Those ``tasks`` of which instances need each other, of a smallest such set; empty if none.

    All bounds are equal. What waits for the end of a dimension is not looked at.
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
    for size in SIZES:
        for bounds in bound_assignments(universe, (size,)):
            components = _components(ConcreteProgram(suspected, universe, bounds))
            if components:
                return tuple(dict.fromkeys(name for name, _ in min(components, key=len)))
    return ()


def _components(world: ConcreteProgram) -> list[tuple[StatementInstance, ...]]:
    """The sets of instances of which each needs all others; none if there are too many to look."""
    by_name = world.statements.by_name
    instances = []
    for instance in world.instances():
        instances.append(instance)
        if len(instances) > EFFORT.replayed_instances:
            return []
    writer = {cell: i for i in instances for cell in world.writes(by_name[i[0]], i[1])}
    needs = {
        i: [
            writer[cell]
            for read, cell in world.reads(by_name[i[0]], i[1])
            if cell in writer and not (read.forwarded and writer[cell] == i)
        ]
        for i in instances
    }
    components = strongly_connected_components(instances, needs.__getitem__)
    return [c for c in components if len(c) > 1 or c[0] in needs[c[0]]]
