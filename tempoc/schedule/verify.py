"""The verifier of schedules: a proof for all bounds and a replay at small ones, without the solver.

The proof takes the times of all instances from the *tree* (so that it covers the lowering, too):
each instance runs exactly once, and after all writes of the cells that it reads. The replay
executes the tree at small bounds and checks the same. Every compilation is proved: that took 1.5 %
of the CPU time of 169 programs, and at most 13 % of one.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace

from tempoc.base.effort import EFFORT
from tempoc.diagnostics.diagnostic import DiagnosticError
from tempoc.poly.relations.space import Space
from tempoc.poly.scheduling.problem import SchedulingProblem
from tempoc.poly.scheduling.timeline import (
    Timeline,
    complete,
    in_turn,
    timeline,
    violated,
    without_remainders,
)
from tempoc.schedule import errors
from tempoc.schedule.dependences import data_dependences, effect_dependences, length_dependences
from tempoc.schedule.occurrences import occurrences
from tempoc.schedule.replay import (
    ConcreteProgram,
    TensorCell,
    bound_assignments,
    execution_trace,
    length_assignments,
)
from tempoc.schedule.tree import ScheduleTree
from tempoc.sdg.statements.statements import Statements
from tempoc.symbolic.domain import Domain, Point, Universe

SIZES = (1, 2, 3)
# A replay of more instances than this takes too long for what it can detect.


def verify_schedule(
    statements: Statements, tree: ScheduleTree, space: Space, *, replayed: bool
) -> None:
    """Raise `DiagnosticError` if the schedule is not legal: a bug of the compiler.

    ``replayed``: execute the tree at small bounds as well.
    """
    checks = (proof, replay) if replayed else (proof,)
    for check in checks:
        for violation in check(statements, tree, space):
            raise DiagnosticError(errors.illegal(violation))


def proof(statements: Statements, tree: ScheduleTree, space: Space) -> Iterator[str]:
    """The violations for any bounds, by exact relations, but for questions that are too hard."""
    tasks = {s.name: s.domain for s in statements.statements}
    universe = space.universe
    needs = [*data_dependences(statements), *length_dependences(statements, universe)]
    places = tuple(occurrences(tree))
    times = timeline(SchedulingProblem(space, tasks, needs).space, tasks, places)
    for name in tasks:
        if complete(times, name) is False:
            yield f"{name} does not run exactly once at each of its points"
            return
    needs += effect_dependences(statements, universe, _ordered_effects(statements, times, universe))
    for writer, reader in violated(times, SchedulingProblem(space, tasks, needs)):
        yield f"{reader} may run before {writer} has written what it reads"


def _ordered_effects(
    statements: Statements, times: Timeline, universe: Universe
) -> Mapping[str, int]:
    """Effects that run in the order of their queue, by the numbers of parts of queues."""
    parts: dict[tuple[str, Domain], list[tuple[int, str]]] = {}
    for s in statements.statements:
        # Points in lexicographic order are those of plain loops if dimensions are as declared.
        if s.turn is not None and s.domain.dims == universe.sorted(s.domain.dims):
            part = s.turn.queue, without_remainders(s.domain)
            parts.setdefault(part, []).append((s.turn.number, s.name))
    ordered: dict[str, int] = {}
    for number, effects in enumerate(parts.values()):
        names = [name for _, name in sorted(effects)]
        if len(names) > 1 and in_turn(times, names):
            ordered |= dict.fromkeys(names, number)
    return ordered


def replay(
    statements: Statements, tree: ScheduleTree, space: Space, sizes: tuple[int, ...] = SIZES
) -> Iterator[str]:
    """The violations at small bounds, by executing the tree."""
    for bounds in bound_assignments(space.universe, sizes):
        for ends in length_assignments(space.universe, bounds):
            world = ConcreteProgram(statements, space.universe, bounds, ends)
            yield from _replay(world, tree, bounds)


def _replay(world: ConcreteProgram, tree: ScheduleTree, bounds: Mapping[str, int]) -> Iterator[str]:
    """The violations in a run with given lengths, each known only after its last step ran."""
    unexecuted = dict.fromkeys(world.instances())
    known_lengths: dict[tuple[str, Point], int] = {}
    observed = replace(world, ends=known_lengths)
    if len(unexecuted) > EFFORT.replayed_instances:
        return
    by_name = world.statements.by_name
    written: dict[TensorCell, None] = {}
    pending = {cell: None for name, p in unexecuted for cell in world.writes(by_name[name], p)}
    last_positions: dict[str, tuple[tuple[int, ...], int]] = {}
    for name, point in execution_trace(tree, dict(bounds)):
        lengths = "".join(f", {b}{list(p) or ''} = {n}" for (b, p), n in world.ends.items())
        at = f"{name}{list(point)} with {dict(bounds)}{lengths}"
        s = by_name[name]
        if not observed.has(s, point) or (s.is_free and (name, point) not in unexecuted):
            if not world.universe.ended:
                yield f"{at} is no point of its domain"
                return
            continue
        if world.ends and observed.does(s, point) != world.does(s, point) and not s.is_free:
            yield f"{at} runs before it is known whether it does"
            return
        for bound in s.ends:
            outer = tuple(world.at(s, point)[d] for d in world.universe.outer(bound))
            (step,) = (
                i
                for i, d in zip(point, s.domain.dims, strict=True)
                if d not in world.universe.outer(bound)
            )
            if world.ends[bound, outer] == step + 1:
                known_lengths[bound, outer] = step + 1
        if (name, point) not in unexecuted:
            yield f"{at} runs twice or is no point of its domain"
            return
        del unexecuted[name, point]
        if (effect := by_name[name].turn) is not None:
            position = world.turn(by_name[name], point)
            if effect.queue in last_positions and last_positions[effect.queue] > position:
                yield f"{at} runs after what has its turn later in {effect.queue}"
                return
            last_positions[effect.queue] = position
        own = tuple(world.writes(by_name[name], point))
        for read, cell in world.reads(by_name[name], point):
            early = cell in pending and cell not in written
            if early and not (read.forwarded and cell in own):
                yield f"{at} reads {cell[0]}{list(cell[1])} before it is written"
                return
        written.update(dict.fromkeys(own))
    if unexecuted:
        name, point = next(iter(unexecuted))
        yield f"{name}{list(point)} never runs with {dict(bounds)}"
