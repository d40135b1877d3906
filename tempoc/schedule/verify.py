"""Is a schedule legal? Proved for all bounds and replayed at small ones, without the solver.

The proof takes the times of all points from the *tree* (so that it covers its making, too): each
point of each statement runs exactly once, and after everything it reads has been written. The
replay executes the tree at small bounds and looks.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from tempoc.base.diagnostics import DiagnosticError
from tempoc.poly.scheduling import Problem
from tempoc.poly.space import Space
from tempoc.poly.timeline import complete, timeline, violated
from tempoc.schedule import errors
from tempoc.schedule.compute import Scheduled
from tempoc.schedule.dependences import flows
from tempoc.schedule.occurrences import occurrences
from tempoc.schedule.replay import Cell, World, trace, valuations
from tempoc.schedule.tree import Tree
from tempoc.sdg.statements import Statements

SIZES = (1, 2, 3)
# A replay at more points than this would take longer than it tells.
INSTANCES = 20_000


def verify_schedule(statements: Statements, scheduled: Scheduled, space: Space) -> None:
    """Raise `DiagnosticError` if the schedule is not legal: a mistake of the compiler."""
    wrong = [*proof(statements, scheduled.tree, space), *replay(statements, scheduled.tree, space)]
    if wrong:
        raise DiagnosticError(errors.illegal(wrong[0]))


def proof(statements: Statements, tree: Tree, space: Space) -> Iterator[str]:
    """What is wrong for some bounds, by exact relations."""
    tasks = {s.name: s.domain for s in statements.statements}
    found = timeline(space, tasks, occurrences(tree))
    for name in tasks:
        if not complete(found, name):
            yield f"{name} does not run exactly once at each of its points"
            return
    for writer, reader in violated(found, Problem(space, tasks, flows(statements, space.universe))):
        yield f"{reader} may run before {writer} has written what it reads"


def replay(
    statements: Statements, tree: Tree, space: Space, sizes: tuple[int, ...] = SIZES
) -> Iterator[str]:
    """What is wrong at small bounds, by running the tree."""
    for bounds in valuations(space.universe, sizes):
        world = World(statements, space.universe, bounds)
        yield from _replay(world, tree, bounds)


def _replay(world: World, tree: Tree, bounds: Mapping[str, int]) -> Iterator[str]:
    needed = dict.fromkeys(world.instances())
    if len(needed) > INSTANCES:
        return
    by_name = {s.name: s for s in world.statements.statements}
    written: dict[Cell, None] = {}
    pending = {cell: None for name, p in needed for cell in world.writes(by_name[name], p)}
    turns: dict[str, tuple[tuple[int, ...], int]] = {}
    for name, point in trace(tree, dict(bounds)):
        at = f"{name}{list(point)} with {dict(bounds)}"
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
