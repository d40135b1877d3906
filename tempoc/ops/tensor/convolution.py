"""Convolution (without turning the kernel around, as neural networks mean it)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Literal

from tempoc.base.arrays import np
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
    is_positive,
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
from tempoc.symbolic.walk import ceildiv, evaluate as value_of


@dataclass(frozen=True, slots=True, kw_only=True)
class Conv(Op):
    """``x: [..., H, W, C]`` with ``w: [KH, KW, C, O]``, or with one spatial axis less, or one more.

    ``"valid"``: windows inside ``x`` alone. ``"same"``: ``ceil(n / stride)`` windows, with zeros
    around ``x``, as evenly as possible, the odd one at the end. ``rhs_dilation``: the kernel's
    elements are so many places apart. With ``feature_group_count`` groups of as many channels, each
    is convolved with a part of the kernel's filters: ``w`` is ``[KH, KW, C / groups, O]``.
    """

    stride: int = 1
    padding: Literal["valid", "same"] = "valid"
    rhs_dilation: int = 1
    feature_group_count: int = 1

    name = "conv"
    library = "cuDNN"
    heavy = contraction = multilinear = overflows = True

    def infer(self, args: tuple[TensorType, ...], facts: ShapeFacts) -> tuple[TensorType, ...]:
        """Batch axes of ``x``, an extent for each spatial axis, output channels of ``w``."""
        require(args, 2, self.name)
        require_numbers(args, self.name)
        x, w = args
        spatial = w.ndim - 2
        least = min(self.stride, self.rhs_dilation, self.feature_group_count)
        if least < 1 or self.padding not in ("valid", "same"):
            raise OperandError(
                f'{self.name} takes positive strides, dilations and groups, and padding "valid" or '
                f'"same", not {least} and "{self.padding}"'
            )
        if spatial not in (1, 2, 3) or x.ndim <= spatial:
            raise OperandError(
                f"shapes {shape_text(x.shape)} and {shape_text(w.shape)} do not convolve",
                help="x is [..., H, W, C], w is [KH, KW, C, O]; or without H and KH",
            )
        self.check_channels(x, w, facts)
        lead = x.ndim - 1 - spatial
        axes = zip(x.shape[lead:-1], w.shape[:spatial], strict=True)
        extents = [self.extent(n, k, facts) for n, k in axes]
        dtype, weak = promote(args)
        return (TensorType(dtype, (*x.shape[:lead], *extents, w.shape[-1]), weak),)

    def check_channels(self, x: TensorType, w: TensorType, facts: ShapeFacts) -> None:
        """``OperandError`` unless the kernel's channels are those of a group."""
        groups = ix.Const(self.feature_group_count)
        if not same(x.shape[-1], ix.mul(groups, w.shape[-2]), facts):
            parts = f"{show(groups)} times {show(w.shape[-2])}" if groups != ix.ONE else ""
            raise OperandError(
                f"shapes {shape_text(x.shape)} and {shape_text(w.shape)} do not convolve: "
                f"{show(x.shape[-1])} channels are not {parts or show(w.shape[-2])}"
            )
        channels, filters = w.shape[-2:]
        known = isinstance(channels, ix.Const) and isinstance(filters, ix.Const)
        divided = isinstance(filters, ix.Const) and filters.value % groups.value == 0
        if groups != ix.ONE and not (known and divided):
            raise OperandError(
                f"{show(groups)} groups do not divide {show(w.shape[-1])} filters, or the channels "
                "are not known at compile time"
            )

    @property
    def step(self) -> int:
        """How far windows are apart, in places between which the operand's elements lie."""
        return self.stride

    @property
    def gap(self) -> int:
        """How many places the operand's elements are apart, zeros in between."""
        return 1

    def reach(self, k: ix.Expr) -> ix.Expr:
        """The places from the first to the last element of the kernel."""
        return ix.add(ix.mul(ix.Const(self.rhs_dilation), ix.sub(k, ix.ONE)), ix.ONE)

    def extent(self, n: ix.Expr, k: ix.Expr, facts: ShapeFacts) -> ix.Expr:
        """How many windows fit along an axis."""
        if self.padding == "same":
            return ceildiv(n, self.stride)
        k = self.reach(k)
        count = ix.add(ix.floordiv(ix.sub(n, k), self.stride), ix.ONE)
        return count if facts.holds(ix.compare(">=", n, k)) else ix.maximum(ix.ZERO, count)

    def around(self, n: ix.Expr, k: ix.Expr) -> tuple[ix.Expr, ix.Expr]:
        """Zeros before and after an axis."""
        if self.padding == "valid":
            return ix.ZERO, ix.ZERO
        k = self.reach(k)
        windows = ix.sub(ceildiv(n, self.stride), ix.ONE)
        total = ix.maximum(ix.ZERO, ix.sub(ix.add(ix.mul(windows, ix.Const(self.stride)), k), n))
        return ix.floordiv(total, 2), ix.sub(total, ix.floordiv(total, 2))

    def work(self, args: tuple[TensorType, ...], results: tuple[TensorType, ...]) -> ix.Expr:
        """Two for each element of the kernel and of the result."""
        return ix.product((ix.Const(2), *args[1].shape[:-1], *results[0].shape))

    def evaluate(self, args: tuple[Array, ...], at: Mapping[str, int]) -> tuple[Array, ...]:
        """All windows side by side, then one contraction for each group."""
        (x, w), dtype = summable(args)
        spatial = w.ndim - 2
        lead = x.ndim - 1 - spatial
        axes = tuple(range(lead, lead + spatial))
        steps: list[slice] = [slice(None)] * (x.ndim + spatial)
        reaches: list[int] = []
        for k, axis in enumerate(axes):
            reaches.append(max(0, value_of(self.reach(ix.Const(w.shape[k])), {})))
            x, short = self.laid(x, axis, w.shape[k], reaches[-1])
            steps[axis] = slice(0, 0 if short else None, self.step)
            steps[x.ndim + k] = slice(None, None, self.rhs_dilation)
        windows = np.lib.stride_tricks.sliding_window_view(x, reaches, axis=axes)[tuple(steps)]
        order = [*range(lead + spatial + 1, windows.ndim), lead + spatial]
        groups = self.feature_group_count
        parts = zip(np.split(windows, groups, axis=order[-1]), np.split(w, groups, -1), strict=True)
        with np.errstate(all="ignore"):
            rows = [np.tensordot(x, k, axes=(order, list(range(spatial + 1)))) for x, k in parts]
        return (np.concatenate(rows, axis=-1).astype(dtype, copy=False),)

    def laid(self, x: Array, axis: int, size: int, reach: int) -> tuple[Array, bool]:
        """An axis with zeros between its elements and around it; whether no window fits."""
        n = x.shape[axis]
        before, after = (value_of(e, {}) for e in self.around(ix.Const(n), ix.Const(size)))
        extent = max(0, before + (n - 1) * self.gap + 1 + after)
        wide = np.zeros((*x.shape[:axis], extent, *x.shape[axis + 1 :]), x.dtype)
        places: list[slice] = [slice(None)] * x.ndim
        places[axis] = slice(before, before + n * self.gap, self.gap)
        if n:
            wide[tuple(places)] = x
        x = wide
        short = max(0, reach - x.shape[axis])
        return np.pad(x, [(0, short * (k == axis)) for k in range(x.ndim)]), short > 0

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
        laid = [
            k
            for k in range(spatial)
            if x.is_ragged(lead + k) or w.is_ragged(k) or self.may_be_empty(x.padded[lead + k])
        ]
        x = nonempty(x, (lead + k for k in laid), out)
        if self.feature_group_count == 1:
            w = out.align(w, (*w.padded[:-2], channels, w.padded[-1]))
        zero = scalar(0, result.dtype)
        wide = padded(result.shape, out)
        kernel = out.masked(w, tuple(range(spatial + 1)), zero)
        moving = any(w.is_ragged(k) for k in range(spatial))
        masks = [*(range(lead, lead + spatial) if moving else ()), x.type.ndim - 1]
        text = out.masked(x, tuple(masks), zero)
        sizes = list(x.padded)
        layout: list[tuple[str, int]] = []
        for k in range(spatial):
            axis = lead + k
            if k not in laid:
                before, after = self.around(x.type.shape[axis], w.type.shape[k])
                layout.append((f"({out.static(before)}, {out.static(after)})", self.gap))
                continue
            distance = ix.mul(ix.sub(wide[axis], ix.ONE), ix.Const(self.step))
            slots = ix.add(distance, self.reach(w.padded[k]))
            text = self.shifted(text, x, axis, w.type.shape[k], slots, sizes, zero, out)
            layout.append(("(0, 0)", 1))
        return (self.call(text, kernel, sizes[:lead], sizes[lead:], layout, wide, out),)

    def may_be_empty(self, n: ix.Expr) -> bool:
        """Whether an axis has places between its elements, and perhaps none of these."""
        return self.gap > 1 and not is_positive(n)

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
        is_element = f"({place} >= 0)"
        if self.gap > 1:
            is_element += f" & ({place} % {self.gap} == 0)"
            place = out.bind("place", f"{place} // {self.gap}")
        inside = along(f"({is_element} & ({place} < {out.index(n)}))", axis, x.type.ndim)
        sizes[axis] = slots
        return out.bind("laid", f"jnp.where({inside}, {take_text(text, place, axis)}, {zero})")

    def call(
        self, x: str, w: str, batch: list[ix.Expr], extents: list[ix.Expr],
        axes: list[tuple[str, int]], wide: tuple[ix.Expr, ...], out: Emitter,
    ) -> str:  # fmt: skip
        """The call of XLA's convolution, which takes exactly one batch axis."""
        flat = static_shape((ix.product(batch), *extents), out)
        spatial = len(axes)
        letters = "DHW"[-spatial:]
        layout = f'("N{letters}C", "{letters}IO", "N{letters}C")'
        strides = ", ".join([str(self.step)] * spatial)
        arguments = [
            x if len(batch) == 1 else f"jnp.reshape({x}, {flat})",
            w,
            f"window_strides=({strides},)",
            f"padding=({', '.join(pads for pads, _ in axes)},)",
            f"dimension_numbers={layout}",
        ]
        if any(gap > 1 for _, gap in axes):
            arguments.append(f"lhs_dilation={tuple(gap for _, gap in axes)}")
        if self.rhs_dilation > 1:
            arguments.append(f"rhs_dilation={(self.rhs_dilation,) * spatial}")
        if self.feature_group_count > 1:
            arguments.append(f"feature_group_count={self.feature_group_count}")
        text = f"lax.conv_general_dilated({', '.join(arguments)})"
        return text if len(batch) == 1 else f"jnp.reshape({text}, {static_shape(wide, out)})"


class ConvTranspose(Conv):
    """A convolution with ``stride`` times as many windows as elements, as ``lax.conv_transpose``.

    ``stride - 1`` zeros stand between the elements of ``x``. ``"same"``: ``n * stride`` windows;
    ``"valid"``: all that meet an element, ``n * stride + max(k - stride, 0)``.
    """

    __slots__ = ()
    name = "conv_transpose"

    @property
    def step(self) -> int:
        """All places."""
        return 1

    @property
    def gap(self) -> int:
        """The stride."""
        return self.stride

    def extent(self, n: ix.Expr, k: ix.Expr, facts: ShapeFacts) -> ix.Expr:
        """How many windows there are."""
        whole = ix.mul(ix.Const(self.stride), n)
        if self.padding == "same":
            return whole
        more = ix.maximum(ix.ZERO, ix.sub(self.reach(k), ix.Const(self.stride)))
        return ix.add(whole, more)

    def around(self, n: ix.Expr, k: ix.Expr) -> tuple[ix.Expr, ix.Expr]:
        """Zeros before and after an axis, which has some between its elements already."""
        less, stride = ix.sub(self.reach(k), ix.ONE), ix.Const(self.stride)
        total = ix.add(less, ix.sub(stride, ix.ONE))
        if self.padding == "valid":
            total = ix.add(total, ix.maximum(ix.ZERO, ix.sub(self.reach(k), stride)))
            return less, ix.sub(total, less)
        before = ix.minimum(less, ceildiv(total, 2))
        return before, ix.sub(total, before)
