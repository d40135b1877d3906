"""Operators that look up positions, which are data, along an axis of their first operand.

Of their second operand negative ones count from the end, and one that is outside stops the run,
unless all are ``sure`` to be there.
"""

from __future__ import annotations

from tempoc.ops.definition.shapes import Shape, axis_of
from tempoc.ops.indexing.indexing import SpatialIndex, Take, TakeAlong
from tempoc.ops.indexing.put import Put
from tempoc.ops.indexing.scatter import Scatter
from tempoc.symbolic import expr as ix

Lookup = Take | SpatialIndex | TakeAlong | Put | Scatter


def searched(op: Lookup, x: Shape) -> tuple[ix.Expr, int]:
    """The extent of the axis, and which one it is; ``x`` is the first operand's shape."""
    match op:
        case SpatialIndex():
            axis = op.entries.index("tensor")
            return op.joint(x)[axis], axis
        case Scatter():
            return op.n, op.axis
        case _:
            axis = axis_of(op.axis, len(x))
            return x[axis], axis
