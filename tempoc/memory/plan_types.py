"""The memory plan: where every tensor lives, for how long, and what may be overwritten."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from tempoc.ops.definition.types import DType
from tempoc.symbolic.expr import Expr

BufferKind = Literal["register", "points", "ring", "bucket", "block", "resident"]


@dataclass(frozen=True, slots=True, kw_only=True)
class BufferKey:
    """A dimension by which the host picks an array, reduced modulo ``modulo`` (``None``: never)."""

    dim: str
    modulo: Expr | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class BufferAxis:
    """A dimension as an array axis of ``size`` slots (over bounds); a ring when ``ring``.

    One that ``grows`` has fewer slots at first, and ``size`` when all are needed. A kernel sees
    what it has now as ``size``, and that this is no less than any of ``least``. ``behind`` so many
    spatial axes it stands in the array; all other axes stand before these. A kernel may also see
    only a part of an axis, its first slot being ``begin``.
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
    """Where a tensor lives: arrays ``[*axes, *shape]``, one for each key. Extents over bounds only.

    One axis may stand between the spatial ones. ``resident`` stores (inputs, params) are full
    before the first step and never freed.
    """

    tensor: str
    kind: BufferKind
    dtype: DType
    keys: tuple[BufferKey, ...] = ()
    axes: tuple[BufferAxis, ...] = ()
    shape: tuple[Expr, ...] = ()

    @property
    def order(self) -> tuple[int, ...]:
        """The axes of an array as they follow each other: numbers in ``[*axes, *shape]``."""
        first, count = len(self.axes), len(self.shape)
        inner = [k for k, a in enumerate(self.axes) if a.behind]
        order = [k for k in range(first) if k not in inner]
        order += range(first, first + count)
        for k in inner:
            order.insert(first - len(inner) + self.axes[k].behind, k)
        return tuple(order)


@dataclass(frozen=True, slots=True, kw_only=True)
class CapacityUse:
    """How many slots of growing axes along ``dim``, of that ``size``, an execution touches.

    As many as the largest of ``rows``, in coordinates of the statement, but never more than
    ``size``. Those in ``sure`` are below that by themselves.
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
    """Stores by tensor; releases by statement; read cells that a statement may overwrite.

    ``donations[s]`` names tensors without axes whose cell, read at a point by ``s``, is always dead
    afterwards, so the kernel may reuse its buffer. Stores with axes that ``s`` writes are always
    donated. ``extents`` has the bound of each dimension, for formulas. ``needs[s]`` says how far
    stores must have grown before ``s``; ``least`` is how many slots they have at first.
    """

    stores: Mapping[str, Buffer]
    releases: Mapping[str, tuple[MemoryRelease, ...]]
    donations: Mapping[str, tuple[str, ...]]
    extents: Mapping[str, Expr] = field(default_factory=dict)
    needs: Mapping[str, tuple[CapacityUse, ...]] = field(default_factory=dict)
    least: int = 0
