"""Is a schedule legal? Proved for all bounds and replayed at small ones, without the solver.

The proof takes the times of all points from the *tree* (so that it covers its making, too): each
point of each statement runs exactly once, and after everything it reads has been written. The
replay executes the tree at small bounds and looks.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace

from tempoc.base.diagnostics import DiagnosticError
from tempoc.poly.relations.space import Space
from tempoc.poly.scheduling.problem import SchedulingProblem
from tempoc.poly.scheduling.timeline import complete, timeline, violated
from tempoc.schedule import errors
from tempoc.schedule.compute import Scheduled
from tempoc.schedule.dependences import flows
from tempoc.schedule.occurrences import occurrences
from tempoc.schedule.replay import ConcreteProgram, TensorCell, endings, trace, valuations
from tempoc.schedule.tree import ScheduleTree
from tempoc.sdg.statements.statements import Statements
from tempoc.symbolic.domain import Point

SIZES = (1, 2, 3)
# A replay at more points than this would take longer than it tells.
INSTANCES = 20_000


def verify_schedule(statements: Statements, scheduled: Scheduled, space: Space) -> None:
    """Raise `DiagnosticError` if the schedule is not legal: a mistake of the compiler."""
    wrong = [*proof(statements, scheduled.tree, space), *replay(statements, scheduled.tree, space)]
    if wrong:
        raise DiagnosticError(errors.illegal(wrong[0]))


def proof(statements: Statements, tree: ScheduleTree, space: Space) -> Iterator[str]:
    """What is wrong for some bounds, by exact relations."""
    tasks = {s.name: s.domain for s in statements.statements}
    problem = SchedulingProblem(space, tasks, flows(statements, space.universe))
    found = timeline(problem.space, tasks, occurrences(tree))
    for name in tasks:
        if not complete(found, name):
            yield f"{name} does not run exactly once at each of its points"
            return
    for writer, reader in violated(found, problem):
        yield f"{reader} may run before {writer} has written what it reads"


def replay(
    statements: Statements, tree: ScheduleTree, space: Space, sizes: tuple[int, ...] = SIZES
) -> Iterator[str]:
    """What is wrong at small bounds, by running the tree."""
    for bounds in valuations(space.universe, sizes):
        for ends in endings(space.universe, bounds):
            world = ConcreteProgram(statements, space.universe, bounds, ends)
            yield from _replay(world, tree, bounds)


def _replay(world: ConcreteProgram, tree: ScheduleTree, bounds: Mapping[str, int]) -> Iterator[str]:
    """A run whose lengths are those of the world, each known only when its end has been seen."""
    needed = dict.fromkeys(world.instances())
    seen: dict[tuple[str, Point], int] = {}
    knowing = replace(world, ends=seen)
    if len(needed) > INSTANCES:
        return
    by_name = world.statements.by_name
    written: dict[TensorCell, None] = {}
    pending = {cell: None for name, p in needed for cell in world.writes(by_name[name], p)}
    turns: dict[str, tuple[tuple[int, ...], int]] = {}
    for name, point in trace(tree, dict(bounds)):
        lengths = "".join(f", {b}{list(p) or ''} = {n}" for (b, p), n in world.ends.items())
        at = f"{name}{list(point)} with {dict(bounds)}{lengths}"
        s = by_name[name]
        if not knowing.has(s, point) or (s.is_free and (name, point) not in needed):
            if not world.universe.ended:
                yield f"{at} is no point of its domain"
                return
            continue
        if world.ends and knowing.does(s, point) != world.does(s, point) and not s.is_free:
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
                seen[bound, outer] = step + 1
        if (name, point) not in needed:
            yield f"{at} runs twice or is no point of its domain"
            return
        del needed[name, point]
        if (taken := by_name[name].turn) is not None:
            now = world.turn(by_name[name], point)
            if taken.queue in turns and turns[taken.queue] > now:
                yield f"{at} runs after what has its turn later in {taken.queue}"
                return
            turns[taken.queue] = now
        own = tuple(world.writes(by_name[name], point))
        for read, cell in world.reads(by_name[name], point):
            early = cell in pending and cell not in written
            if early and not (read.forwarded and cell in own):
                yield f"{at} reads {cell[0]}{list(cell[1])} before it is written"
                return
        written.update(dict.fromkeys(own))
    if needed:
        name, point = next(iter(needed))
        yield f"{name}{list(point)} never runs with {dict(bounds)}"
