"""The schedule tree: when everything is computed.

Grammar::

    Tree = Sequence(Tree*) | Loop(var, lower, upper, step, body) | Guard(condition, body)
         | Execute(statement, point)

Expressions are over the variables of enclosing loops and the bounds; variables are never negative.
``upper`` is exclusive. A negative ``step`` counts down, as in ``range``. Who runs a loop is its
``place``: the host, step by step; the device, as part of a region (``regions.py``); or nobody,
where its steps are written out one after the other within a region.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

from tempoc.symbolic.expr import Expr

Place = Literal["host", "device", "unrolled"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Execute:
    """Run a statement at a point: one expression for each dimension of its domain."""

    statement: str
    point: tuple[Expr, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Loop:
    """``for var in range(lower, upper, step)``."""

    var: str
    lower: Expr
    upper: Expr
    step: int
    body: Tree
    place: Place = "host"


@dataclass(frozen=True, slots=True, kw_only=True)
class Guard:
    """Run the body where the condition holds."""

    condition: Expr
    body: Tree


@dataclass(frozen=True, slots=True, kw_only=True)
class Sequence:
    """One after the other."""

    items: tuple[Tree, ...]


Tree = Sequence | Loop | Guard | Execute


def executed(tree: Tree) -> Iterator[Execute]:
    """All executions in a part, in order."""
    match tree:
        case Sequence(items=items):
            for item in items:
                yield from executed(item)
        case Loop(body=body) | Guard(body=body):
            yield from executed(body)
        case Execute():
            yield tree


def variables(tree: Tree) -> Iterator[str]:
    """The variables of all loops in a part, in order."""
    match tree:
        case Sequence(items=items):
            for item in items:
                yield from variables(item)
        case Loop(var=var, body=body):
            yield var
            yield from variables(body)
        case Guard(body=body):
            yield from variables(body)
        case Execute():
            pass
