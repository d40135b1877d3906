"""The memory plan: the buffers of tensors, their frees, and donated arguments."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from tempoc.ops.definition.types import DType
from tempoc.program.nodes.axis_order import axes_in_order
from tempoc.program.nodes.nodes import Key
from tempoc.symbolic.expr import Expr

BufferKind = Literal["register", "points", "ring", "bucket", "block", "resident"]


@dataclass(frozen=True, slots=True, kw_only=True)
class BufferAxis:
    """A dimension as an array axis of ``size`` slots (over bounds); a ring if ``ring``.

    An axis that ``grows`` has fewer slots at first, and at most ``size``. In a kernel, ``size`` is
    its current capacity, which is at least each of ``least``. It stands after ``behind`` of the
    spatial axes; all other axes stand before these. A kernel may also get only a part of an axis,
    which starts at the slot ``begin``.
    """

    dim: str
    size: Expr
    ring: bool = False
    grows: bool = False
    least: tuple[Expr, ...] = ()
    behind: int = 0
    begin: Expr | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Buffer:
    """The store of a tensor: arrays ``[*axes, *shape]``, one for each key; extents over bounds.

    One axis may stand between the spatial ones. ``resident`` stores (inputs, params) are filled
    before the first step and never freed.
    """

    tensor: str
    kind: BufferKind
    dtype: DType
    keys: tuple[Key, ...] = ()
    axes: tuple[BufferAxis, ...] = ()
    shape: tuple[Expr, ...] = ()

    @property
    def order(self) -> tuple[int, ...]:
        """The axis order of the array, as numbers in ``[*axes, *shape]``."""
        return axes_in_order([a.behind for a in self.axes], len(self.shape))


@dataclass(frozen=True, slots=True, kw_only=True)
class CapacityUse:
    """The slots that a statement needs of growing axes along ``dim`` with this ``size``.

    They are the largest of ``rows``, in coordinates of the statement, but at most ``size``. The
    rows in ``sure`` are provably at most ``size``.
    """

    dim: str
    size: Expr
    rows: tuple[Expr, ...]
    sure: tuple[Expr, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class MemoryRelease:
    """After the statement, the cell of ``tensor`` at ``key`` (statement coordinates) is dead.

    ``where`` restricts it to some points of the statement's domain.
    """

    tensor: str
    key: tuple[Expr, ...]
    where: Expr


@dataclass(frozen=True, slots=True, kw_only=True)
class MemoryPlan:
    """Stores by tensor; releases and donations by statement.

    ``donations[s]`` names tensors without axes whose cell that ``s`` reads is always dead
    afterwards, so that the kernel may reuse its buffer. Stores with axes that ``s`` writes are
    always donated. ``extents`` has the bound of each dimension, for formulas. ``needs[s]`` are the
    capacities that growing stores must have before ``s``; ``least`` is their initial capacity.
    """

    stores: Mapping[str, Buffer]
    releases: Mapping[str, tuple[MemoryRelease, ...]]
    donations: Mapping[str, tuple[str, ...]]
    extents: Mapping[str, Expr] = field(default_factory=dict)
    needs: Mapping[str, tuple[CapacityUse, ...]] = field(default_factory=dict)
    least: int = 0
