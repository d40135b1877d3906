"""Who takes turns: what is seen outside happens in the order of plain loops, in each queue.

A queue is a Python module whose host functions are called, or all that is printed and saved over
one tuple of dimensions. In a queue points come in lexicographic order (dimensions as declared), a
point before those it begins, and of two calls at one point first the one that stands first.
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
class Turn:
    """A place in a queue; ``number`` is that in the source."""

    queue: str
    number: int


class Before(NamedTuple):
    """The points of the earlier one that agree in ``shared``, or up to the last, which is less."""

    shared: tuple[str, ...]
    less: bool


def turn(node: Node) -> Turn | None:
    """The place of a node that is seen outside, None for all others."""
    match node.op:
        case ExternHost(module=module, turn=number):
            return Turn(queue=module, number=number)
        case EffectOp(turn=number):
            # No line waits for those over other dimensions: of these some may come much later.
            return Turn(queue=f"over {', '.join(node.domain.dims)}", number=number)
        case _:
            return None


def befores(
    later: tuple[str, ...], earlier: tuple[str, ...], first: bool, universe: Universe
) -> Iterator[Before]:
    """What of one in a queue comes before a point of another (or itself), by their dimensions.

    ``first``: at equal points the earlier one has its turn first.
    """
    shared: tuple[str, ...] = ()
    for d in (dim.name for dim in universe.dims):
        here, there = d in later, d in earlier
        if here and there:
            shared = (*shared, d)
            yield Before(shared, less=True)
        elif here:
            yield Before(shared, less=False)
            return
        elif there:
            return
    if first:
        yield Before(shared, less=False)
