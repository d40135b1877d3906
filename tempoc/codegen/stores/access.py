"""The JAX text of reads and writes of stored tensors.

The array of a store is ``[*axes, *spatial]``, or has one axis between the spatial ones; the result
of a read is ``[*axes, *spatial]``. Along each axis a read takes

- a *point*: plain indexing, ``k[t]``, in a ring ``k[lax.rem(t, w)]``;
- a *whole* axis or a *static* slice: ``k`` or ``k[2:T]``; a ring whose order does not matter;
- a *window* that provably fits: ``lax.dynamic_slice_in_dim``, whose start then never clamps;
- the *first* elements of an axis that may have fewer than the slice is padded to: zeros beyond;
- a *suffix*, ``k[t:T]``: the longest one, in which the valid elements come last;
- all of an axis that is already the part shared by some points (``shared_windows.py``);
- anything else: a *gather*, whose positions beyond the slice's end repeat a valid one and count as
  padding (the consumer masks them).

A write replaces one row. Stores are donated to the kernel, so XLA updates them in place.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from tempoc.codegen.stores.kernel_buffer import KernelAxis, KernelBuffer
from tempoc.codegen.stores.ring_rows import row_place, short_ring
from tempoc.ops.definition import padding as pads
from tempoc.ops.definition.operator import Emitter, Interval
from tempoc.ops.indexing.pick import Pick
from tempoc.sdg.graph.graph import Node
from tempoc.symbolic import expr as ix
from tempoc.symbolic.walk import extent, symbols

NO_ROWS: Mapping[str, str] = {}
"""No rows."""


@dataclass(frozen=True, slots=True, kw_only=True)
class KernelFrame:
    """The context of an access in its kernel.

    ``out`` writes lines; ``proves`` decides a condition on the statement's domain (false also
    means "not known"); ``dims`` are the statement's dimensions. ``x64``: 64-bit integers are on,
    so that plain ints no longer mix with i32 indices.
    """

    out: Emitter
    proves: Callable[[ix.Expr], bool]
    dims: tuple[str, ...]
    x64: bool = False

    def is_static(self, e: ix.Expr) -> bool:
        """Whether the value is known when JAX traces the kernel."""
        return not any(s in self.dims for s in symbols(e))

    def ring_place(self, store: KernelBuffer, at: Mapping[str, ix.Entry]) -> str | None:
        """Which row of a short ring is accessed: the arguments step and age (`ring_rows.py`)."""
        ring = short_ring(store)
        entry = at[ring.dim] if ring is not None else None
        if ring is None or not isinstance(entry, ix.Expr):
            return None
        known = self.proves(ix.compare(">=", entry, ix.ZERO))
        return row_place(ring, entry, self.dims, self.out) if known else None


@dataclass(frozen=True, slots=True)
class KernelArray:
    """An array in the kernel: its text and the static extents that it really has.

    ``gathered``: positions beyond the end of a slice repeat others. ``valid``: the valid positions
    of axes where they do not come first (``EmittedValue.valid``).
    """

    text: str
    padded: tuple[ix.Expr, ...]
    gathered: bool = False
    valid: Mapping[int, Interval] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class _AxisRead:
    """What a slice takes of an axis, as a static index and a call afterwards, if any.

    ``call`` gives the text from that of the array and the number of the axis.
    """

    size: ix.Expr
    index: str = ":"
    call: Callable[[str, int], str] | None = None
    gathered: bool = False
    valid: Interval | None = None


# ---------------------------------------------------------------- reading


def read(
    array: str,
    store: KernelBuffer,
    at: Mapping[str, ix.Entry],
    frame: KernelFrame,
    hint: str,
    rows: Mapping[str, str] = NO_ROWS,
    *,
    turned: bool = False,
    uncut: bool = False,
) -> KernelArray:
    """What the entries ``at`` (by dimension) select of a store's array.

    ``rows`` names the points (traced ``i32``) that are read of some dimensions instead. The result
    has an axis for each slice, padded to its bound, then the store's spatial axes. Of rings it has
    all rows as they lie if these may be ``turned``. ``uncut``: a slice of all elements but the last
    one is the whole axis: a product of an array is faster than a copy of nearly all of it.
    """
    index = [":" for _ in store.order]
    parts: dict[int, _AxisRead] = {}
    for number, axis in enumerate(store.axes):
        entry = at[axis.dim]
        if axis.dim in rows or not isinstance(entry, ix.Slice):
            place = rows.get(axis.dim)
            index[number] = _in_ring(place, axis, frame) if place else slot(entry, axis, frame)
        else:
            whole = turned and axis.ring
            parts[number] = _AxisRead(axis.size) if whole else _slice(entry, axis, frame)
            if uncut and _lacks_last(entry, axis, frame):
                parts[number] = _AxisRead(ix.add(parts[number].size, ix.ONE))
            index[number] = parts[number].index
    entries = [index[k] for k in store.order]
    if not rows and (place := frame.ring_place(store, at)):
        array, entries = f"ring_row({array}, {place})", entries[1:]
    while entries and entries[-1] == ":":
        entries.pop()
    text = f"{array}[{', '.join(entries)}]" if entries else array
    left = [k for k in store.order if k in parts or k >= len(store.axes)]
    for number, part in parts.items():
        if part.call:
            source = frame.out.bind(hint, text) if not text.isidentifier() else text
            text = part.call(source, left.index(number))
    taken = list(parts.values())
    return KernelArray(
        to_axis_order(text, left),
        (*(part.size for part in taken), *store.shape),
        gathered=any(part.gathered for part in taken),
        valid={k: part.valid for k, part in enumerate(taken) if part.valid},
    )


def to_axis_order(text: str, numbers: Sequence[int]) -> str:
    """Transpose an array whose axes have these numbers to ascending order."""
    if list(numbers) == sorted(numbers):
        return text
    if move := _misplaced(numbers):
        return f"jnp.moveaxis({text}, {move[0]}, {move[1]})"
    return _transposed(text, [list(numbers).index(k) for k in sorted(numbers)])


def from_axis_order(text: str, numbers: Sequence[int]) -> str:
    """Transpose an array with ascending axes to this order of axis numbers."""
    if list(numbers) == sorted(numbers):
        return text
    if move := _misplaced(numbers):
        return f"jnp.moveaxis({text}, {move[1]}, {move[0]})"
    return _transposed(text, [sorted(numbers).index(k) for k in numbers])


def _transposed(text: str, axes: Sequence[int]) -> str:
    return f"jnp.transpose({text}, ({', '.join(map(str, axes))}))"


def _misplaced(numbers: Sequence[int]) -> tuple[int, int] | None:
    """The position of the only axis that is out of order, and its place; ``None``: not one axis."""
    ordered = sorted(numbers)
    for k in ordered:
        others = [n for n in numbers if n != k]
        if list(numbers) != ordered and others == [n for n in ordered if n != k]:
            return list(numbers).index(k), ordered.index(k)
    return None


def slot(entry: ix.Entry, axis: KernelAxis, frame: KernelFrame) -> str:
    """The position of a point on an axis."""
    assert isinstance(entry, ix.Expr)
    if axis.every > 1:
        return _among_every(entry, axis.every, frame)
    if axis.ring and isinstance(entry, ix.Const) and isinstance(axis.size, ix.Const):
        return frame.out.index(ix.mod(entry, axis.size.value))
    text = frame.out.index(entry)
    if not axis.ring or frame.is_static(entry):
        return _in_ring(text, axis, frame)
    if not frame.proves(ix.compare(">=", entry, ix.ZERO)):
        return _in_ring(text, axis, frame)
    # One operation; `%` is many, to round down.
    size = frame.out.static(axis.size)
    return f"lax.rem({text}, {f'jnp.int32({size})' if frame.x64 else size})"


def _among_every(entry: ix.Expr, every: int, frame: KernelFrame) -> str:
    """The slot of a point where only one of ``every`` points has one."""
    place = ix.floordiv(entry, every)
    inside = frame.proves(ix.compare(">=", entry, ix.ZERO))
    if frame.is_static(entry) or not inside or not isinstance(place, ix.FloorDiv):
        return frame.out.index(place)
    divisor = f"jnp.int32({every})" if frame.x64 else f"{every}"
    return f"lax.div({frame.out.index(entry)}, {divisor})"


def _in_ring(text: str, axis: KernelAxis, frame: KernelFrame) -> str:
    return f"{_atom(text)} % {_atom(frame.out.static(axis.size))}" if axis.ring else text


def _slice(entry: ix.Slice, axis: KernelAxis, frame: KernelFrame) -> _AxisRead:
    """What a slice takes of an axis."""
    if axis.begin is not None:
        return _AxisRead(axis.size, valid=Interval(entry.lo, entry.hi, axis.begin))
    out = frame.out
    pad = out.pad(extent(entry))
    if not axis.ring and any(
        frame.proves(_fits(entry, pad, size, frame)) for size in (axis.size, *axis.sure)
    ):
        full = ix.compare("==", pad, axis.size)
        if entry.step == 1 and entry.lo == ix.ZERO and frame.proves(full):
            return _AxisRead(pad)
        if frame.is_static(entry.lo):
            return _AxisRead(pad, _static_slice(entry, pad, out))
        if entry.step == 1:
            start, size = out.index(entry.lo), axis.size
            return _AxisRead(pad, call=lambda x, k: pads.window_text(x, start, pad, k, size, out))
    if _is_end(entry, pad, axis, frame):
        before = ix.sub(axis.size, pad)
        index = ":" if before == ix.ZERO else f"{out.static(before)}:"
        return _AxisRead(pad, index, valid=Interval(ix.sub(entry.lo, before), pad))
    if not axis.ring and entry.step == 1 and entry.lo == ix.ZERO:
        # A gather of the rows that are there would be element by element on a CPU.
        return _AxisRead(pad, call=lambda x, k: pads.first_text(x, pad, k, out), gathered=True)
    steps = f"jnp.arange({out.static(pad)}, dtype=jnp.int32)"
    if entry.step != 1:
        steps = f"{entry.step} * {steps}"
    rows = steps if entry.lo == ix.ZERO else f"{out.index(entry.lo)} + {steps}"
    if axis.ring:
        rows = f"({rows}) % {_atom(out.static(axis.size))}"
    return _AxisRead(pad, call=lambda x, k: pads.take_text(x, rows, k), gathered=True)


def _lacks_last(entry: ix.Slice, axis: KernelAxis, frame: KernelFrame) -> bool:
    """Whether a slice may have all elements of an axis but the last one."""
    if axis.ring or axis.begin is not None or entry.step != 1 or entry.lo != ix.ZERO:
        return False
    most = ix.add(frame.out.pad(entry.hi), ix.ONE)
    return not isinstance(most, ix.Const) and frame.proves(ix.compare("==", axis.size, most))


def _is_end(entry: ix.Slice, pad: ix.Expr, axis: KernelAxis, frame: KernelFrame) -> bool:
    """Whether a slice is a suffix of an axis of at least ``pad`` elements."""
    if axis.ring or entry.step != 1 or not frame.is_static(axis.size):
        return False
    ends = ix.compare("==", entry.hi, axis.size), ix.compare("<=", pad, axis.size)
    return frame.proves(ix.conjunction(*ends))


def _fits(entry: ix.Slice, pad: ix.Expr, size: ix.Expr, frame: KernelFrame) -> ix.Expr:
    """The condition that ``pad`` elements fit from the slice's start wherever it is not empty.

    An empty slice may read any elements, but the axis must still have ``pad`` of them.
    """
    last = ix.add(entry.lo, ix.mul(ix.Const(entry.step), ix.sub(pad, ix.Const(1))))
    inside = ix.compare("<", last, size)
    if frame.is_static(entry.lo):
        return ix.disjunction(inside, ix.compare("<=", pad, ix.ZERO))
    empty = ix.compare("<=", entry.hi, entry.lo)
    return ix.conjunction(ix.disjunction(inside, empty), ix.compare("<=", pad, size))


def _static_slice(entry: ix.Slice, pad: ix.Expr, out: Emitter) -> str:
    lo = "" if entry.lo == ix.ZERO else out.static(entry.lo)
    hi = out.static(ix.add(entry.lo, ix.mul(ix.Const(entry.step), pad)))
    return f"{lo}:{hi}" + (f":{entry.step}" if entry.step != 1 else "")


def is_nearly_whole(store: KernelBuffer, at: Mapping[str, ix.Entry], frame: KernelFrame) -> bool:
    """Whether a read with these entries has all elements of an axis but the last one."""
    entries = ((at[axis.dim], axis) for axis in store.axes)
    return any(isinstance(e, ix.Slice) and _lacks_last(e, axis, frame) for e, axis in entries)


# ---------------------------------------------------------------- writing


def write(
    array: str,
    store: KernelBuffer,
    at: Mapping[str, ix.Expr],
    row: str,
    where: ix.Expr,
    frame: KernelFrame,
) -> str:
    """The store's array with ``row`` at the point ``at`` if ``where`` holds there."""
    slots = [slot(at[axis.dim], axis, frame) for axis in store.axes]
    ring = frame.ring_place(store, at) if where == ix.TRUE else None
    if ring and len(slots) == 1:
        return f"with_ring_row({array}, {ring}, {row})"
    if len(slots) == 1:
        place = store.order.index(0)
        text = f"lax.dynamic_update_index_in_dim({array}, {row}, {slots[0]}, {place})"
    else:
        starts = [*slots, *("0" for _ in store.shape)]
        if frame.x64:
            fixed = [
                *(frame.is_static(at[a.dim]) for a in store.axes),
                *(True for _ in store.shape),
            ]
            starts = [f"jnp.int32({s})" if f else s for s, f in zip(starts, fixed, strict=True)]
        starts = [starts[k] for k in store.order]
        lead = ["None" if k < len(slots) else ":" for k in store.order]
        while lead[-1] == ":":
            lead.pop()
        text = f"lax.dynamic_update_slice({array}, {row}[{', '.join(lead)}], ({', '.join(starts)}))"
    if where == ix.TRUE:
        return text
    # XLA turns the selection into one of rows, so that this stays in place.
    return f"jnp.where({frame.out.index(where)}, {text}, {array})"


def written_rows(
    store: KernelBuffer, at: Mapping[str, ix.Expr], row: str, frame: KernelFrame
) -> str:
    """What a write of ``row`` at the point ``at`` changes of an array.

    It has no axes along which the point varies, and one of length 1 where it does not.
    """
    fixed = [k for k, axis in enumerate(store.axes) if frame.is_static(at[axis.dim])]
    lead = [
        "None" if k in fixed else ":" for k in store.order if k in fixed or k >= len(store.axes)
    ]
    while lead and lead[-1] == ":":
        lead.pop()
    return f"{row}[{', '.join(lead)}]" if lead else row


def _atom(text: str) -> str:
    """The text in brackets unless it is a name, a number or a call."""
    return text if re.fullmatch(r"\w+(\([^()]*\))?", text) else f"({text})"


def row_pick(node: Node) -> Pick | None:
    """The operator of a node that picks one row of a slice, so that only this row is read.

    ``None`` for a second pick in one access: it picks from the result of the first.
    """
    if not isinstance(node.op, Pick):
        return None
    slices = [e for e in node.inputs[0].entries if isinstance(e, ix.Slice)]
    return node.op if node.op.axis < len(slices) else None
