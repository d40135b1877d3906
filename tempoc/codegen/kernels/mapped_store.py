"""What one of many points sees of a store: its own row, a part around it, or all of it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from tempoc.codegen.kernels.mapped_axes import Element
from tempoc.codegen.stores.kernel_buffer import KernelBuffer
from tempoc.symbolic.expr import Expr


@dataclass(frozen=True, slots=True, kw_only=True)
class MappedStore:
    """The store of a tensor; where only ``x[t+c]`` is touched, ``shifts`` has ``t: c``.

    With ``element`` it stands for an array of another tensor, one of its spatial axes being ``t``.
    """

    store: KernelBuffer
    shifts: Mapping[str, Expr]
    element: Element | None = None

    def place(self, dim: str, done: Sequence[str]) -> int | None:
        """The position of a mapped axis when those of ``done`` are gone; ``None`` if not mapped."""
        if dim not in self.shifts:
            return None
        gone = [k for k, a in enumerate(self.store.axes) if a.dim in done and a.dim in self.shifts]
        own = next(k for k, a in enumerate(self.store.axes) if a.dim == dim)
        left = [k for k in self.store.order if k not in gone]
        return left.index(own) + self.spatial_before(dim)

    @property
    def is_partial(self) -> bool:
        """Whether a point is given another array than all points together."""
        return bool(self.shifts) or any(a.begin is not None for a in self.store.axes)

    def part(self, done: Sequence[str]) -> int | None:
        """The position of an axis of which points are given a part; see ``place``."""
        gone = [k for k, a in enumerate(self.store.axes) if a.dim in done and a.dim in self.shifts]
        left = [k for k in self.store.order if k not in gone]
        cut = (k for k, a in enumerate(self.store.axes) if a.begin is not None)
        return next((left.index(k) for k in cut), None)

    def spatial_before(self, dim: str) -> int:
        """How many spatial axes stand before the axis of a dimension."""
        return self.element.axis if self.element and self.element.dim == dim else 0

    def is_mapped_behind(self, dim: str) -> bool:
        """Whether axes are mapped, and all of them stand behind that of a dimension in memory."""
        axes = self.store.axes
        first = next(self.store.order.index(k) for k, a in enumerate(axes) if a.dim == dim)
        mapped = [self.store.order.index(k) for k, a in enumerate(axes) if a.dim in self.shifts]
        return bool(mapped) and self.element is None and min(mapped) > first
