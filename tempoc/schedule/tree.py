"""The schedule tree: the order of execution as loops.

Grammar::

    Tree = TreeSequence(Tree*) | TreeLoop(var, lower, upper, step, body)
         | TreeGuard(condition, body) | Execute(statement, point)

Expressions are over the variables of enclosing loops and the bounds; variables are never negative.
``upper`` is exclusive. A negative ``step`` counts down, as in ``range``. The ``place`` of a loop is
the host (step by step), the device (as part of a region, ``placement/``), or ``unrolled`` within a
region.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

from tempoc.symbolic.expr import Expr

LoopPlace = Literal["host", "device", "unrolled"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Execute:
    """Run a statement at a point: one expression for each dimension of its domain."""

    statement: str
    point: tuple[Expr, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class TreeLoop:
    """``for var in range(lower, upper, step)``."""

    var: str
    lower: Expr
    upper: Expr
    step: int
    body: ScheduleTree
    place: LoopPlace = "host"


@dataclass(frozen=True, slots=True, kw_only=True)
class TreeGuard:
    """Run the body where the condition holds."""

    condition: Expr
    body: ScheduleTree


@dataclass(frozen=True, slots=True, kw_only=True)
class TreeSequence:
    """Subtrees executed in order."""

    items: tuple[ScheduleTree, ...]


ScheduleTree = TreeSequence | TreeLoop | TreeGuard | Execute


def walk(
    tree: ScheduleTree, around: tuple[TreeLoop, ...] = ()
) -> Iterator[tuple[ScheduleTree, tuple[TreeLoop, ...]]]:
    """All subtrees in pre-order, each with the loops around it, the outermost first."""
    yield tree, around
    match tree:
        case TreeSequence(items=items):
            for item in items:
                yield from walk(item, around)
        case TreeLoop(body=body):
            yield from walk(body, (*around, tree))
        case TreeGuard(body=body):
            yield from walk(body, around)
        case Execute():
            pass


def executed(tree: ScheduleTree) -> Iterator[Execute]:
    """All executions in a subtree, in order."""
    return (part for part, _ in walk(tree) if isinstance(part, Execute))


def loops(tree: ScheduleTree) -> Iterator[TreeLoop]:
    """All loops in a subtree, in order."""
    return (part for part, _ in walk(tree) if isinstance(part, TreeLoop))
