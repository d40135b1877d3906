"""Whether the padding of a column of widened rows is known to be zeros.

    %s.wide = widen{shape=(T,)} %s                 : [t*] f32[T],    %s : [t*] f32[t+1]
    %c = getitem{entries=((0, T-t, 1), t)} %s.wide[t:T] : [t*] f32[T-t]

All points share the whole array, of which those rows count for a point whose own elements reach its
column. The column of an earlier row lies beyond that row's own elements, where kernels write zeros
(`Widen`). A product then need not mask the column, which would make a transposed copy of all rows.
"""

from __future__ import annotations

from tempoc.codegen.stores.context import Stages
from tempoc.ops.tensor.movement import Widen
from tempoc.poly.relations.space import Space
from tempoc.sdg.graph.graph import Node
from tempoc.sdg.graph.query import operand_type
from tempoc.sdg.statements.statements import Read
from tempoc.symbolic import expr as ix
from tempoc.symbolic.walk import substitute, symbols


def has_zero_columns(read: Read, stages: Stages, dim: str, axis: int, place: ix.Expr) -> bool:
    """Whether the rows that a read leaves out hold zeros at ``place``, a position of ``axis``.

    ``dim`` is the dimension of the rows, of which the read takes a range.
    """
    tensor, store = stages.statements.tensors[read.tensor], stages.buffers[read.tensor]
    writers = stages.statements.writers(read.tensor)
    source = stages.graph.nodes[tensor.node]
    if tensor.is_given or not isinstance(source.op, Widen) or len(writers) != 1:
        return False
    rows = stages.entries(read).get(dim)
    places = [a for a in store.axes if a.dim == dim]
    if not places or places[0].ring or places[0].grows or places[0].every != 1:
        return False
    if not isinstance(rows, ix.Slice) or rows.step != 1 or source.domain.where != ix.TRUE:
        return False
    extent = _own_extent(stages, source, axis)
    if extent is None:
        return False
    reader, last = stages.graph.nodes[read.member], ix.sub(rows.lo, ix.ONE)
    covers = _are_all_rows(rows, dim, source, reader, stages.space, places[0].size)
    if not covers or any(stages.graph.universe.is_dim(s) and s != dim for s in symbols(extent)):
        return False
    growth = ix.sub(substitute(extent, {dim: ix.add(ix.Sym(dim), ix.ONE)}), extent)
    rises = isinstance(growth, ix.Const) and growth.value >= 0
    beyond = ix.compare(">=", place, substitute(extent, {dim: last}))
    return rises and stages.space.implies(reader.domain, beyond)


def _own_extent(stages: Stages, source: Node, axis: int) -> ix.Expr | None:
    """The extent of a row before it was widened; ``None`` if it was along another axis as well."""
    assert isinstance(source.op, Widen)
    shape = operand_type(stages.graph, source.inputs[0]).shape
    others = [k for k in range(len(shape)) if k != axis]
    return shape[axis] if all(shape[k] == source.op.shape[k] for k in others) else None


def _are_all_rows(
    rows: ix.Slice, dim: str, source: Node, reader: Node, space: Space, size: ix.Expr
) -> bool:
    """Whether the points of a reader read together all rows of an array, each up to the last."""
    first = space.lower_bound(ix.Sym(dim), source.domain)
    end = ix.add(space.upper_bound(ix.Sym(dim), source.domain), ix.ONE)
    begins = space.lower_bound(rows.lo, reader.domain) == first == ix.ZERO
    return begins and size == end and space.implies(reader.domain, ix.compare(">=", rows.hi, end))
