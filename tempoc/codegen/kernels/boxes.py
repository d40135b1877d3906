"""Boxes: what a statement writes of an array at a point, if that is a span of each axis."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass

from tempoc.codegen.kernels.distances import shift
from tempoc.codegen.kernels.kernel import KernelFunction
from tempoc.codegen.stores.context import Stages
from tempoc.codegen.stores.kernel_buffer import KernelAxis
from tempoc.sdg.statements.statements import Read, Statement, Write
from tempoc.symbolic import expr as ix
from tempoc.symbolic.walk import symbols


@dataclass(frozen=True, slots=True, kw_only=True)
class WrittenBox:
    """What is written of an array: in the slots ``at`` of its first axes, then spans.

    ``at`` are points along the dimensions of these axes, the same for all that is written. A span
    is the start and the size along an axis, over bounds.
    """

    at: tuple[tuple[KernelAxis, ix.Expr], ...]
    spans: tuple[tuple[ix.Expr, ix.Expr], ...]


def written_boxes(
    statement: Statement, f: KernelFunction, stages: Stages
) -> Mapping[str, WrittenBox] | None:
    """The box of each tensor that a statement writes; ``None`` if it writes or does more."""
    single = statement.single or statement
    if f.checks or f.endings or f.lengths or f.windows or statement.turn is not None:
        return None
    if statement.name in stages.plan.needs or len({w.tensor for w in single.writes}) < len(
        single.writes
    ):
        return None
    if any(r.forwarded for r in single.reads):
        return None
    boxes: dict[str, WrittenBox] = {}
    for write in single.writes:
        box = _box(statement, write, stages)
        if box is None or not stages.proves(statement, write.where):
            return None
        boxes[write.tensor] = box
    return boxes or None


def _box(statement: Statement, write: Write, stages: Stages) -> WrittenBox | None:
    """The box of a write of a statement of one point, for all points of the statement."""
    store, vectors = stages.buffers[write.tensor], {v.dim: v for v in statement.vector}
    at: list[tuple[KernelAxis, ix.Expr]] = []
    spans: list[tuple[ix.Expr, ix.Expr]] = []
    for k in store.order:
        if k >= len(store.axes):
            spans.append((ix.ZERO, store.shape[k - len(store.axes)]))
            continue
        axis = store.axes[k]
        entry = stages.entries(write)[axis.dim]
        if axis.grows or isinstance(entry, ix.Slice):
            return None
        if axis.dim in vectors:
            vector, distance = vectors[axis.dim], shift(write, axis.dim, stages)
            if axis.ring or distance is None:
                return None
            size = ix.sub(vector.upper, vector.lower)
            spans.append((ix.add(vector.lower, distance), size))
        elif any(d in symbols(entry) for d in statement.domain.dims):
            if spans:
                return None
            at.append((axis, entry))
        elif axis.ring:
            return None
        else:
            spans.append((ix.floordiv(entry, axis.every), ix.ONE))
    return WrittenBox(at=tuple(at), spans=tuple(spans)) if store.axes else None


def reads_of_others(
    statement: Statement, tensors: Collection[str], writes: Mapping[str, Write], stages: Stages
) -> bool:
    """Whether a statement may read, of these tensors, what is written at the same point.

    ``writes`` has for each of the tensors one of the writes there.
    """
    single = statement.single or statement
    return any(
        not _elsewhere(statement, read, writes[read.tensor], stages)
        for read in single.reads
        if read.tensor in tensors
    )


def _elsewhere(statement: Statement, read: Read, write: Write, stages: Stages) -> bool:
    """Whether a read is of other points than a write, along a dimension of the loops around."""
    at, dims = stages.entries(read), statement.domain.dims
    for dim, written in stages.entries(write).items():
        entry = at[dim]
        if isinstance(written, ix.Slice) or not any(d in dims for d in symbols(written)):
            continue
        gap = ix.sub(entry.hi - 1 if isinstance(entry, ix.Slice) else entry, written)
        before = isinstance(gap, ix.Const) and gap.value < 0
        if before or (isinstance(gap, ix.Const) and gap.value and isinstance(entry, ix.Expr)):
            return True
    return False
