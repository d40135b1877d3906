"""What a kernel sees of a buffer: the current capacity of its axes, or a part of one of them."""

from __future__ import annotations

from dataclasses import dataclass

from tempoc.program.nodes.buffers import Buffer, BufferAxis
from tempoc.symbolic.expr import Expr


@dataclass(frozen=True, slots=True, kw_only=True)
class KernelAxis(BufferAxis):
    """An axis of an array in a kernel.

    If it grows, ``size`` is its current capacity, which is at least each of ``sure``. If the kernel
    gets only a part of the axis, that starts at the slot ``begin``.
    """

    sure: tuple[Expr, ...] = ()
    begin: Expr | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class KernelBuffer(Buffer):
    """A buffer as a kernel sees it; its size may be over variables of the kernel."""

    axes: tuple[KernelAxis, ...] = ()


def kernel_buffer(store: Buffer) -> KernelBuffer:
    """A buffer of the memory plan as a kernel sees it that gets all of it."""
    return KernelBuffer(
        name=store.name,
        dtype=store.dtype,
        keys=store.keys,
        axes=tuple(
            KernelAxis(
                dim=a.dim,
                size=a.size,
                ring=a.ring,
                least=a.least,
                behind=a.behind,
                ahead=a.ahead,
                every=a.every,
            )
            for a in store.axes
        ),
        shape=store.shape,
    )
