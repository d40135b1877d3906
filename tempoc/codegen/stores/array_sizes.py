"""Sizes that a kernel takes from the shape of a growing array.

::

    def y(at, q, k):
        t = at[0]
        T_room = k.shape[0]
        valid = jnp.arange(T_room, dtype=jnp.int32) < t+1

JAX traces the kernel again for each size; the kernel may assume that the array has the rows that
its point needs.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from tempoc.codegen.stores.kernel_buffer import KernelBuffer
from tempoc.memory.plan_types import CapacityUse
from tempoc.program.nodes.buffers import Buffer, BufferAxis
from tempoc.symbolic import expr as ix
from tempoc.symbolic.domain import Universe


@dataclass(frozen=True, slots=True, kw_only=True)
class DynamicSize:
    """The size ``name`` of growing axes along ``dim``; no less than any of ``least``."""

    name: str
    dim: str
    size: ix.Expr
    least: tuple[ix.Expr, ...]

    def pad(self, extent: ix.Expr) -> ix.Expr | None:
        """The size for an extent that is a constant less than a guaranteed number of rows.

        Or than a multiple of it, as where several words of each step are one axis.
        """
        padded: list[tuple[int, ix.Expr]] = []
        for e in self.least:
            times = ix.Const(_multiple(extent, e))
            difference = ix.sub(extent, ix.mul(times, e))
            if isinstance(difference, ix.Const) and difference.value <= 0:
                size = ix.add(ix.mul(times, ix.Sym(self.name)), difference)
                padded.append((difference.value, size))
        return max(padded, key=lambda pair: pair[0])[1] if padded else None

    def is_of(self, axis: BufferAxis) -> bool:
        """Whether this is the size of an axis."""
        return axis.grows and (axis.dim, axis.size) == (self.dim, self.size)


def _multiple(extent: ix.Expr, rows: ix.Expr) -> int:
    """How often the terms of a number of rows are in an extent; at least 1."""
    own, others = (e.terms if isinstance(e, ix.IndexSum) else ((1, e),) for e in (rows, extent))
    counts = [c // k for k, x in own for c, y in others if x == y]
    return max([1, *counts])


def dynamic_sizes(
    needs: tuple[CapacityUse, ...], universe: Universe, taken: tuple[str, ...]
) -> tuple[DynamicSize, ...]:
    """The sizes that vary during the run; not those of which the statement needs all rows."""
    sizes: list[DynamicSize] = []
    for need in needs:
        if need.size in need.rows:
            continue
        name = f"{universe.dim(need.dim).bound}_room"
        while name in taken or any(r.name == name for r in sizes):
            name += "_"
        sizes.append(DynamicSize(name=name, dim=need.dim, size=need.size, least=need.sure))
    return tuple(sizes)


def with_dynamic_sizes(
    buffers: Mapping[str, KernelBuffer], sizes: tuple[DynamicSize, ...]
) -> Mapping[str, KernelBuffer]:
    """The buffers with these sizes, as the kernel sees them."""
    return {name: _sized(store, sizes) for name, store in buffers.items()} if sizes else buffers


def _sized(store: KernelBuffer, sizes: tuple[DynamicSize, ...]) -> KernelBuffer:
    dynamic = next((r for r in sizes if store.growing and r.is_of(store.growing)), None)
    if dynamic is None:
        return store
    now, sure = ix.Sym(dynamic.name), dynamic.least
    axes = (replace(a, size=now, sure=sure) if a.grows else a for a in store.axes)
    return replace(store, axes=tuple(axes))


def size_axis(store: Buffer, dynamic: DynamicSize) -> int | None:
    """The axis of a store's array that has this size; ``None`` if none has it."""
    number = next((k for k, axis in enumerate(store.axes) if dynamic.is_of(axis)), None)
    return None if number is None else store.order.index(number)


def size_lines(
    sizes: tuple[DynamicSize, ...],
    arguments: Mapping[str, Buffer],
    used: frozenset[str],
) -> list[str]:
    """``T_room = k.shape[0]`` for each size that the kernel names."""
    written = []
    for dynamic in sizes:
        if dynamic.name not in used:
            continue
        axis, name = next(
            (axis, name)
            for name, store in arguments.items()
            if (axis := size_axis(store, dynamic)) is not None
        )
        written.append(f"{dynamic.name} = {name}.shape[{axis}]")
    return written
