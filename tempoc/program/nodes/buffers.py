"""Buffers: where a tensor is stored. The memory plan decides them; kernels and the runner obey.

The dimensions of a tensor are split into *keys* (the host picks one array per key) and *axes*
(leading axes of each array, in domain order); the spatial axes follow. Sizes are over bounds.
"""

from __future__ import annotations

from dataclasses import dataclass

from tempoc.symbolic.expr import Expr


@dataclass(frozen=True, slots=True, kw_only=True)
class Key:
    """A dimension as part of a cell's key; reduced modulo ``modulo`` unless that is ``None``."""

    dim: str
    modulo: Expr | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class BufferAxis:
    """A dimension as an array axis of ``size`` slots; slot ``i % size`` when it is a ring.

    If of any ``every`` points that follow each other only one exists, the slot is ``i // every``.
    One that grows has ``least`` slots at first and ``size`` in the end; 0: it has these at once. If
    it grows or is ``rounded``, there may be some more, so that runs of other sizes are alike.
    ``behind`` is the number of spatial axes before it. ``ahead``: it stands before all axes that
    are not.
    """

    dim: str
    size: Expr
    ring: bool = False
    least: int = 0
    rounded: bool = False
    behind: int = 0
    ahead: bool = False
    every: int = 1

    @property
    def grows(self) -> bool:
        """Whether the number of slots is chosen at run time."""
        return self.least > 0 or self.rounded


@dataclass(frozen=True, slots=True, kw_only=True)
class Buffer:
    """The store of the tensor ``name``: arrays ``[*axes, *shape]``, one for each key.

    ``shape`` are the spatial extents, padded to depend on bounds only. Arrays with axes start as
    zeros; without, a cell holds the last value written. At most one axis grows, at most one is
    behind spatial ones. Cells of a buffer that is ``away`` (offloaded) are on the device only from
    a `Load`, or a call that writes them, until an `Evict`.
    """

    name: str
    dtype: str
    keys: tuple[Key, ...] = ()
    axes: tuple[BufferAxis, ...] = ()
    shape: tuple[Expr, ...] = ()
    away: bool = False

    @property
    def dims(self) -> tuple[str, ...]:
        """The dimensions of the tensor, those of keys first."""
        return (*(key.dim for key in self.keys), *(axis.dim for axis in self.axes))

    @property
    def growing(self) -> BufferAxis | None:
        """The axis that grows or is rounded, if there is one."""
        return next((axis for axis in self.axes if axis.grows), None)

    @property
    def order(self) -> tuple[int, ...]:
        """The axes of an array in memory order: a permutation of ``[*axes, *shape]``."""
        inner = [k for k, axis in enumerate(self.axes) if axis.behind]
        order = [k for k, axis in enumerate(self.axes) if axis.ahead]
        order += [k for k, axis in enumerate(self.axes) if not axis.ahead and not axis.behind]
        order += range(len(self.axes), len(self.axes) + len(self.shape))
        for k in inner:
            order.insert(len(self.axes) - len(inner) + self.axes[k].behind, k)
        return tuple(order)
