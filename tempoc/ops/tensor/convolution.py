"""Convolution (without turning the kernel around, as neural networks mean it)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view

from tempoc.ops.definition.axis_links import Link, Same
from tempoc.ops.definition.dtype_text import scalar
from tempoc.ops.definition.operator import (
    Array,
    EmittedValue,
    EmittedValues,
    Emitter,
    Op,
    OperandError,
    ShapeFacts,
)
from tempoc.ops.definition.padding import (
    along,
    atom,
    converted,
    nonempty,
    padded,
    static_shape,
    take_text,
    with_own_padding,
)
from tempoc.ops.definition.promotion import promote
from tempoc.ops.definition.shapes import require, same, shape_text
from tempoc.ops.definition.types import TensorType, Types
from tempoc.ops.tensor.contraction import require_numbers, summable
from tempoc.symbolic import expr as ix
from tempoc.symbolic.text import show
from tempoc.symbolic.walk import ceildiv


@dataclass(frozen=True, slots=True, kw_only=True)
class Conv(Op):
    """``x: [..., H, W, C]`` with ``w: [KH, KW, C, O]``, or with one spatial axis less, or one more.

    ``"valid"``: windows inside ``x`` alone. ``"same"``: ``ceil(n / stride)`` windows, with zeros
    around ``x``, as evenly as possible, the odd one at the end.
    """

    stride: int = 1
    padding: Literal["valid", "same"] = "valid"

    name = "conv"
    heavy = contraction = multilinear = overflows = True

    def infer(self, args: tuple[TensorType, ...], facts: ShapeFacts) -> tuple[TensorType, ...]:
        """Batch axes of ``x``, an extent for each spatial axis, output channels of ``w``."""
        require(args, 2, self.name)
        require_numbers(args, self.name)
        x, w = args
        spatial = w.ndim - 2
        if self.stride < 1 or self.padding not in ("valid", "same"):
            raise OperandError(
                f'conv takes a positive stride and padding "valid" or "same", '
                f'not {self.stride} and "{self.padding}"'
            )
        if spatial not in (1, 2, 3) or x.ndim <= spatial:
            raise OperandError(
                f"shapes {shape_text(x.shape)} and {shape_text(w.shape)} do not convolve",
                help="x is [..., H, W, C], w is [KH, KW, C, O]; or without H and KH",
            )
        if not same(x.shape[-1], w.shape[-2], facts):
            raise OperandError(
                f"shapes {shape_text(x.shape)} and {shape_text(w.shape)} do not convolve: "
                f"{show(x.shape[-1])} channels are not {show(w.shape[-2])}"
            )
        lead = x.ndim - 1 - spatial
        axes = zip(x.shape[lead:-1], w.shape[:spatial], strict=True)
        extents = [self.extent(n, k, facts) for n, k in axes]
        dtype, weak = promote(args)
        return (TensorType(dtype, (*x.shape[:lead], *extents, w.shape[-1]), weak),)

    def extent(self, n: ix.Expr, k: ix.Expr, facts: ShapeFacts) -> ix.Expr:
        """How many windows fit along an axis."""
        if self.padding == "same":
            return ceildiv(n, self.stride)
        count = ix.add(ix.floordiv(ix.sub(n, k), self.stride), ix.ONE)
        return count if facts.holds(ix.compare(">=", n, k)) else ix.maximum(ix.ZERO, count)

    def around(self, n: ix.Expr, k: ix.Expr) -> tuple[ix.Expr, ix.Expr]:
        """Zeros before and after an axis."""
        if self.padding == "valid":
            return ix.ZERO, ix.ZERO
        windows = ix.sub(ceildiv(n, self.stride), ix.ONE)
        total = ix.maximum(ix.ZERO, ix.sub(ix.add(ix.mul(windows, ix.Const(self.stride)), k), n))
        return ix.floordiv(total, 2), ix.sub(total, ix.floordiv(total, 2))

    def work(self, args: tuple[TensorType, ...], results: tuple[TensorType, ...]) -> ix.Expr:
        """Two for each element of the kernel and of the result."""
        return ix.product((ix.Const(2), *args[1].shape[:-1], *results[0].shape))

    def evaluate(self, args: tuple[Array, ...], at: Mapping[str, int]) -> tuple[Array, ...]:
        """All windows side by side, then one contraction."""
        (x, w), dtype = summable(args)
        spatial = w.ndim - 2
        lead = x.ndim - 1 - spatial
        widths = [(0, 0)] * x.ndim
        for k in range(spatial):
            n, size = x.shape[lead + k], w.shape[k]
            if self.padding == "same":
                total = max(0, (-(-n // self.stride) - 1) * self.stride + size - n)
                widths[lead + k] = (total // 2, total - total // 2)
        x = np.pad(x, widths)
        axes = tuple(range(lead, lead + spatial))
        short = [max(0, w.shape[k] - x.shape[lead + k]) for k in range(spatial)]
        x = np.pad(x, [(0, short[a - lead] if a in axes else 0) for a in range(x.ndim)])
        windows = sliding_window_view(x, w.shape[:spatial], axis=axes)
        steps = [slice(None)] * windows.ndim
        for a in axes:
            steps[a] = slice(0, 0 if short[a - lead] else None, self.stride)
        order = [*range(lead + spatial + 1, windows.ndim), lead + spatial]
        with np.errstate(all="ignore"):
            y = np.tensordot(windows[tuple(steps)], w, axes=(order, list(range(spatial + 1))))
        return (np.asarray(y).astype(dtype, copy=False),)

    def links(self, args: Types, results: Types, same: Same) -> Iterator[Link]:
        """The batch."""
        for axis in range(args[0].ndim - args[1].ndim + 1):
            yield Link((axis, None), (axis,))

    def emit(self, args: EmittedValues, results: Types, out: Emitter) -> tuple[str, ...]:
        """Batch axes become one; ragged spatial axes get their zeros by masking, others by XLA."""
        (result,) = results
        x, w = (converted(with_own_padding(v, out), result.dtype, out) for v in args)
        spatial = w.type.ndim - 2
        lead = x.type.ndim - 1 - spatial
        channels = x.padded[-1]
        laid = [k for k in range(spatial) if x.is_ragged(lead + k) or w.is_ragged(k)]
        x = nonempty(x, (lead + k for k in laid), out)
        w = out.align(w, (*w.padded[:-2], channels, w.padded[-1]))
        zero = scalar(0, result.dtype)
        wide = padded(result.shape, out)
        kernel = out.masked(w, tuple(range(spatial + 1)), zero)
        moving = any(w.is_ragged(k) for k in range(spatial))
        masks = [*(range(lead, lead + spatial) if moving else ()), x.type.ndim - 1]
        text = out.masked(x, tuple(masks), zero)
        sizes = list(x.padded)
        pads: list[str] = []
        for k in range(spatial):
            axis = lead + k
            if k not in laid:
                before, after = self.around(x.type.shape[axis], w.type.shape[k])
                pads.append(f"({out.static(before)}, {out.static(after)})")
                continue
            slots = ix.add(ix.mul(ix.sub(wide[axis], ix.ONE), ix.Const(self.stride)), w.padded[k])
            text = self.shifted(text, x, axis, w.type.shape[k], slots, sizes, zero, out)
            pads.append("(0, 0)")
        return (self.call(text, kernel, sizes[:lead], sizes[lead:], pads, wide, out),)

    def shifted(
        self, text: str, x: EmittedValue, axis: int, kernel: ix.Expr, slots: ix.Expr,
        sizes: list[ix.Expr], zero: str, out: Emitter,
    ) -> str:  # fmt: skip
        """An axis of true extent ``n`` laid into ``slots`` slots with its zeros around it."""
        n = x.type.shape[axis]
        before, _ = self.around(n, kernel)
        place = out.bind(
            "place", f"jnp.arange({out.static(slots)}, dtype=jnp.int32) - {atom(out.index(before))}"
        )
        inside = along(f"(({place} >= 0) & ({place} < {out.index(n)}))", axis, x.type.ndim)
        sizes[axis] = slots
        return out.bind("laid", f"jnp.where({inside}, {take_text(text, place, axis)}, {zero})")

    def call(
        self, x: str, w: str, batch: list[ix.Expr], extents: list[ix.Expr], pads: list[str],
        wide: tuple[ix.Expr, ...], out: Emitter,
    ) -> str:  # fmt: skip
        """The call of XLA's convolution, which takes exactly one batch axis."""
        flat = static_shape((ix.product(batch), *extents), out)
        spatial = len(pads)
        letters = "DHW"[-spatial:]
        layout = f'("N{letters}C", "{letters}IO", "N{letters}C")'
        strides = ", ".join([str(self.stride)] * spatial)
        arguments = [
            x if len(batch) == 1 else f"jnp.reshape({x}, {flat})",
            w,
            f"window_strides=({strides},)",
            f"padding=({', '.join(pads)},)",
            f"dimension_numbers={layout}",
        ]
        text = f"lax.conv_general_dilated({', '.join(arguments)})"
        return text if len(batch) == 1 else f"jnp.reshape({text}, {static_shape(wide, out)})"
