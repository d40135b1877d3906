"""The part of an axis that the windows of neighbouring points share."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from tempoc.codegen.stores.kernel_buffer import KernelBuffer
from tempoc.ops.definition.operator import EmittedValue, Interval, Op
from tempoc.ops.definition.types import DType, TensorType
from tempoc.ops.emission.emitter import KernelEmitter
from tempoc.ops.tensor.source import Arange
from tempoc.symbolic import expr as ix


@dataclass(frozen=True, slots=True, kw_only=True)
class WindowAxis:
    """Points of ``dim`` read the window ``entry`` of an axis, of at most ``width`` elements.

    In the kernel the variable ``size`` is the length of the shared part, ``start`` its position.
    """

    dim: str
    entry: ix.Slice
    width: ix.Expr
    size: str
    start: str

    def pad(self, extent: ix.Expr) -> ix.Expr | None:
        """The size for the extent of the window, or for a constant less than that."""
        own = ix.sub(self.entry.hi, self.entry.lo)
        for e in (extent, *(extent.args if isinstance(extent, ix.IndexMax) else ())):
            less = ix.sub(e, own)
            if isinstance(less, ix.Const) and less.value <= 0:
                return ix.Sym(self.size) + less.value
        return None

    def part(self, store: KernelBuffer, along: str) -> KernelBuffer:
        """The store with only the shared part of the axis ``along``."""
        axes = [
            replace(a, size=ix.Sym(self.size), begin=ix.Sym(self.start)) if a.dim == along else a
            for a in store.axes
        ]
        return replace(store, axes=tuple(axes))


def window_positions(
    op: Op, types: Sequence[TensorType], windows: Sequence[WindowAxis], out: KernelEmitter
) -> EmittedValue | None:
    """The value of an ``Arange`` over a window: the positions of the shared part's elements."""
    if not isinstance(op, Arange) or op.dtype is not DType.I32 or op.step != 1:
        return None
    window = next((w for w in windows if (op.start, op.stop) == (w.entry.lo, w.entry.hi)), None)
    if window is None:
        return None
    size, begin = ix.Sym(window.size), ix.Sym(window.start)
    valid = {0: Interval(op.start, op.stop, begin)}
    return EmittedValue(out.positions(size, begin), types[0], (size,), valid=valid)
