"""A part of an axis that neighbouring points read together."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from tempoc.memory.plan_types import Buffer
from tempoc.ops.definition.operator import EmittedValue, Op, Stretch
from tempoc.ops.definition.types import DType, TensorType
from tempoc.ops.emission.emitter import KernelEmitter
from tempoc.ops.tensor.source import Arange
from tempoc.symbolic.expr import Const, Expr, IndexMax, Slice, Sym, sub


@dataclass(frozen=True, slots=True, kw_only=True)
class WindowAxis:
    """Points of ``dim`` read ``entry`` of an axis, up to ``width`` elements.

    In the kernel ``size`` is how long the part is that they are given, ``start`` where it begins.
    """

    dim: str
    entry: Slice
    width: Expr
    size: str
    start: str

    def pad(self, extent: Expr) -> Expr | None:
        """The size for extents of the window itself, or so many less."""
        own = sub(self.entry.hi, self.entry.lo)
        for e in (extent, *(extent.args if isinstance(extent, IndexMax) else ())):
            less = sub(e, own)
            if isinstance(less, Const) and less.value <= 0:
                return Sym(self.size) + less.value
        return None

    def part(self, store: Buffer, along: str) -> Buffer:
        """The store of an array of which points are given a part."""
        axes = [
            replace(a, size=Sym(self.size), begin=Sym(self.start)) if a.dim == along else a
            for a in store.axes
        ]
        return replace(store, axes=tuple(axes))


def window_positions(
    op: Op, types: Sequence[TensorType], windows: Sequence[WindowAxis], out: KernelEmitter
) -> EmittedValue | None:
    """Numbers in a row, one for each element of a window, that say where these elements are."""
    if not isinstance(op, Arange) or op.dtype is not DType.I32 or op.step != 1:
        return None
    window = next((w for w in windows if (op.start, op.stop) == (w.entry.lo, w.entry.hi)), None)
    if window is None:
        return None
    stretch = Stretch(0, op.start, op.stop, Sym(window.start))
    value = EmittedValue("", types[0], (Sym(window.size),), amid=(stretch,))
    return replace(value, text=out.spots(value, stretch))
