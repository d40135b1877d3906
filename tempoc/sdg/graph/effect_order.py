"""The order of effects: observable actions of one queue happen in the order of plain loops.

A queue is the host functions of one Python module, or all prints and saves over one tuple of
dimensions. Within a queue, points are in lexicographic order (dimensions in declaration order), a
prefix before its extensions, and at equal points in source order.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

from tempoc.ops.control.effects import EffectOp
from tempoc.ops.control.externs import ExternHost
from tempoc.sdg.graph.graph import Node
from tempoc.symbolic.domain import Universe


@dataclass(frozen=True, slots=True, kw_only=True)
class EffectPosition:
    """The position of a node in a queue; ``number`` is its rank in the source."""

    queue: str
    number: int


class PrecedingPoints(NamedTuple):
    """The points of the earlier node with equal indices along ``shared``; with ``less`` the last
    index is smaller."""

    shared: tuple[str, ...]
    less: bool


def effect_position(node: Node) -> EffectPosition | None:
    """The queue position of an effectful node, None for a pure one."""
    match node.op:
        case ExternHost(module=module, turn=number):
            return EffectPosition(queue=module, number=number)
        case EffectOp(turn=number):
            # Queues per dimensions: effects over other dimensions may run much later.
            return EffectPosition(queue=f"over {', '.join(node.domain.dims)}", number=number)
        case _:
            return None


def preceding_points(
    later: tuple[str, ...], earlier: tuple[str, ...], first: bool, universe: Universe
) -> Iterator[PrecedingPoints]:
    """The points of ``earlier`` that precede a point of ``later`` in their common queue.

    Both are given by their dimensions, and may be the same node. ``first``: at equal points
    ``earlier`` comes first.
    """
    shared: tuple[str, ...] = ()
    for d in (dim.name for dim in universe.dims):
        here, there = d in later, d in earlier
        if here and there:
            shared = (*shared, d)
            yield PrecedingPoints(shared, less=True)
        elif here:
            yield PrecedingPoints(shared, less=False)
            return
        elif there:
            return
    if first:
        yield PrecedingPoints(shared, less=False)
