"""Whether the padding of a column of widened rows is known to be zeros.

    %s.wide = widen{shape=(T,)} %s                 : [t*] f32[T],    %s : [t*] f32[t+1]
    %c = getitem{entries=((0, T-t, 1), t)} %s.wide[t:T] : [t*] f32[T-t]

All points share the whole array, of which those rows count for a point whose own elements reach its
column. The column of an earlier row lies beyond that row's own elements, where kernels write zeros
(`Widen`), or the program does (`Pad`, of tiles). A product then need not mask the column, which
would make a transposed copy of all rows.
"""

from __future__ import annotations

from tempoc.codegen.stores.context import Stages
from tempoc.ops.tensor.movement import Pad, Widen
from tempoc.poly.relations.space import Space
from tempoc.sdg.graph.graph import Node
from tempoc.sdg.graph.query import operand_type
from tempoc.sdg.statements.statements import Read
from tempoc.symbolic import expr as ix
from tempoc.symbolic.walk import substitute


def has_zero_columns(read: Read, stages: Stages, axis: int, place: ix.Expr) -> bool:
    """Whether the rows that a read leaves out hold zeros at ``place``, a position of ``axis``.

    It takes a range of rows along one dimension.
    """
    tensor, store = stages.statements.tensors[read.tensor], stages.buffers[read.tensor]
    source, reader = stages.graph.nodes[tensor.node], stages.graph.nodes[read.member]
    at = stages.entries(read)
    ranges = {d: e for d, e in at.items() if isinstance(e, ix.Slice)}
    extent = _own_extent(stages, source, axis)
    if tensor.is_given or len(stages.statements.writers(read.tensor)) != 1:
        return False
    if extent is None or len(ranges) != 1 or source.domain.where != ix.TRUE:
        return False
    ((dim, rows),) = ranges.items()
    axes = [a for a in store.axes if a.dim == dim and not (a.ring or a.grows) and a.every == 1]
    if rows.step != 1 or len(axes) != 1:
        return False
    if not _are_all_rows(rows, dim, source, reader, stages.space, axes[0].size):
        return False
    following = substitute(extent, {dim: ix.add(ix.Sym(dim), ix.ONE)})
    rises = stages.space.implies(source.domain, ix.compare(">=", following, extent))
    points = {d: e for d, e in at.items() if not isinstance(e, ix.Slice)}
    last = substitute(extent, {**points, dim: ix.sub(rows.lo, ix.ONE)})
    return rises and stages.space.implies(reader.domain, ix.compare(">=", place, last))


def _own_extent(stages: Stages, source: Node, axis: int) -> ix.Expr | None:
    """The extent of a row before zeros were added; ``None`` if they are elsewhere, too."""
    if not isinstance(source.op, Widen | Pad):
        return None
    shape = operand_type(stages.graph, source.inputs[0]).shape
    if any(e != shape[k] for k, e in enumerate(source.types[0].shape) if k != axis):
        return None
    if isinstance(source.op, Pad) and (source.op.value or source.op.widths[axis][0] != ix.ZERO):
        return None
    return shape[axis]


def _are_all_rows(
    rows: ix.Slice, dim: str, source: Node, reader: Node, space: Space, size: ix.Expr
) -> bool:
    """Whether the points of a reader read together all rows of an array, each up to the last."""
    first = space.lower_bound(ix.Sym(dim), source.domain)
    end = ix.add(space.upper_bound(ix.Sym(dim), source.domain), ix.ONE)
    begins = space.lower_bound(rows.lo, reader.domain) == first == ix.ZERO
    return begins and size == end and space.implies(reader.domain, ix.compare(">=", rows.hi, end))
