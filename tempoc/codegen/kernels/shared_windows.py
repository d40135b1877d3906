"""Sliding windows in vectorized kernels: neighbouring points share one slice of the array.

``k[max(0, t-255):t+1]``, vectorized over ``t``, would copy one window for each ``t``. Neighbours
read nearly the same elements, so points are computed in blocks, each with the slice that covers its
windows, and each point masks the elements outside of its own window::

    def point(t, q, k, t_from):
        t_near = k.shape[0]
        scores = jnp.matmul(q, k.T)
        spots = t_from + jnp.arange(t_near, dtype=jnp.int32)
        valid = (spots >= jnp.maximum(0, t-255)) & (spots < t+1)
    y = in_windows(point, lambda t: jnp.maximum(0, t-255), 256, ...)(q, k)

That computes half as many scores again on CPUs, twice as many on other devices, but by products of
matrices. The statement is rewritten to read an alias of the tensor for each such slice.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import replace

from tempoc.base.cost_model import MODEL
from tempoc.codegen.kernels.mapped_axes import Pointwise, with_alias
from tempoc.codegen.kernels.vmap_batches import bytes_text
from tempoc.codegen.stores.context import Stages
from tempoc.codegen.stores.window_axis import WindowAxis
from tempoc.memory.estimates import typical_bounds
from tempoc.ops.tensor.contraction import Einsum, MatMul
from tempoc.sdg.statements.statements import Read, Statement
from tempoc.symbolic import expr as ix
from tempoc.symbolic.domain import Domain
from tempoc.symbolic.walk import evaluate, extent, substitute, symbols

_IN_WINDOWS = '''\
def in_windows(point, first, width, size, axes, in_axes=0, out_axes=0):
    """jax.vmap(point), some points at a time, of some arrays only the part that these read.

    The n-th point reads up to `width` positions from `first(n)` on, along the axis that `axes` has
    for an array. It is also given the position where the part begins. What points at a time make
    has up to LIMIT; one point alone makes arrays of up to `size` bytes of its window.
    Devices other than CPUs compute many parts at once.
    """

    def call(*arrays):
        places = in_axes if isinstance(in_axes, tuple) else (in_axes,) * len(arrays)
        count = next(x.shape[a] for x, a in zip(arrays, places) if a is not None)
        length = next(x.shape[a] for x, a in zip(arrays, axes) if a is not None)
        most = max(LEAST, width)
        # Of shorter blocks less is masked, but other devices need long ones.
        most = most if jax.default_backend() != "cpu" else most // 2
        block = max(1, min(most, LIMIT // max(1, 2 * size)))
        batches = -(-count // block)
        block = -(-count // max(1, batches))
        near = min(length, block - 1 + width)
        every = jax.vmap(point, (*places, None), out_axes)

        def part(n):
            start = jnp.clip(first(n), 0, length - near).astype(jnp.int32)
            parts = []
            for x, a, b in zip(arrays, places, axes):
                if a is not None:
                    x = cut_rows(x, n, block, a)
                elif b is not None:
                    x = cut_rows(x, start, near, b)
                parts.append(x)
            return every(*parts, start)

        if batches <= 1:
            return part(jnp.int32(0))

        def step(k, buffers):
            # The last part may begin a bit earlier.
            n = lax.min(jnp.int32(k * block), jnp.int32(count - block))
            put = lambda y, rows, a: put_rows(y, rows, n, a)
            return jax.tree.map(put, buffers, part(n), outs)

        def joined(rows, a):
            early = jnp.moveaxis(rows[:-1], 0, a)
            early = early.reshape(*early.shape[:a], -1, *early.shape[a + 2 :])
            late = lax.slice_in_dim(rows[-1], batches * block - count, block, axis=a)
            return jnp.concatenate([early, late], a)

        part = jax.jit(part, inline=True)  # traced once
        shapes = jax.eval_shape(part, jnp.int32(0))
        outs = out_axes if isinstance(out_axes, tuple) else jax.tree.map(lambda _: out_axes, shapes)
        if jax.default_backend() != "cpu":
            starts = jnp.minimum(block * jnp.arange(batches, dtype=jnp.int32), count - block)
            many = max(1, MANY // max(1, 2 * size * block))
            return jax.tree.map(joined, lax.map(part, starts, batch_size=many), outs)
        whole = lambda y, a: jnp.zeros((*y.shape[:a], count, *y.shape[a + 1 :]), y.dtype)
        return lax.fori_loop(0, batches, step, jax.tree.map(whole, shapes, outs))

    return call
'''


def in_windows(batch: int) -> str:
    """The text of the function; ``batch`` is the limit in bytes."""
    least = str(MODEL.shared_points)
    text = _IN_WINDOWS.replace("LIMIT", bytes_text(batch)).replace("LEAST", least)
    return text.replace("MANY", bytes_text(MODEL.parallel_arrays * batch))


def windows(statement: Statement, stages: Stages, taken: tuple[str, ...]) -> tuple[WindowAxis, ...]:
    """The window that points of a statement share; at most one, that with the most work."""
    if statement.single is None:
        return ()
    weights: dict[tuple[str, ix.Slice], int] = {}
    for read in statement.single.reads:
        window = _window(read, statement, stages)
        if window is not None:
            weights[window] = max(weights.get(window, 0), _weight(read, window, stages))
    heavy = {window: weight for window, weight in weights.items() if weight}
    if not heavy:
        return ()
    dim, entry = max(heavy, key=lambda w: heavy[w])
    size, start = f"{dim}_near", f"{dim}_from"
    while size in taken or start in taken:
        size, start = f"{size}_", f"{start}_"
    width = stages.pad(statement.single, extent(entry))
    return (WindowAxis(dim=dim, entry=entry, width=width, size=size, start=start),)


def with_window(before: Pointwise, statement: Statement, window: WindowAxis) -> Pointwise:
    """The statement of one point, with reads of the window as reads of aliases."""
    view = before
    for read in before.single.reads:
        read_window = _window(read, replace(statement, single=before.single), before.stages)
        if read_window == (window.dim, window.entry) and read in view.single.reads:
            at = before.stages.entries(read).items()
            along = next(d for d, e in at if e == window.entry)
            store = window.part(before.stages.buffers[read.tensor], along)
            view = with_alias(view, read, f"{read.tensor}@near", store)
    return view


def _window(read: Read, statement: Statement, stages: Stages) -> tuple[str, ix.Slice] | None:
    """The dimension over which a read's window slides, and the window; ``None`` for other reads."""
    store, single = stages.buffers.get(read.tensor), statement.single
    assert single is not None
    own = [v.dim for v in statement.vector]
    written = any(w.tensor == read.tensor for w in single.writes)
    if store is None or written or read.forwarded:
        return None
    at = stages.entries(read)
    moving = [(d, e) for d, e in at.items() if isinstance(e, ix.Slice) and _named(e, own)]
    if len(moving) != 1:
        return None
    along, entry = moving[0]
    assert isinstance(entry, ix.Slice)
    named = _named(entry, own)
    axis = next((a for a in store.axes if a.dim == along), None)
    if axis is None or axis.ring or axis.grows or entry.step != 1 or len(named) != 1:
        return None
    (dim,) = named
    others = [s for d, e in at.items() if d != along for s in symbols(e)]
    if dim in others or axis.begin is not None or not _is_sliding(entry, dim, single, stages):
        return None
    return dim, entry


def _named(e: ix.Slice, dims: list[str]) -> list[str]:
    return [d for d in dims if d in symbols(e)]


def _is_sliding(entry: ix.Slice, dim: str, single: Statement, stages: Stages) -> bool:
    """Whether each point's window begins where the previous one does, or one element later.

    Its length must vary, since an axis of constant length is not padded. Slices that begin or end
    at one position for all points are not windows: they are read whole.
    """
    count = extent(entry)
    if any(dim not in symbols(e) for e in (count, entry.lo, entry.hi)):
        return False
    shift = ix.sub(substitute(entry.lo, {dim: ix.add(ix.Sym(dim), ix.ONE)}), entry.lo)
    steps = ix.conjunction(ix.compare(">=", shift, ix.ZERO), ix.compare("<=", shift, ix.ONE))
    # Not only on the domain, since points between neighbours may lie outside of it.
    return stages.space.implies(Domain(single.domain.dims), steps)


def _weight(read: Read, window: tuple[str, ix.Slice], stages: Stages) -> int:
    """The number of elements of a window that is an operand of a product; else 0."""
    if not isinstance(stages.graph.nodes[read.member].op, MatMul | Einsum):
        return 0
    rows, *others = _sizes(read, window, stages)
    number = rows * math.prod(others)
    return number if rows >= MODEL.shared_window and number > rows else 0


def _sizes(read: Read, window: tuple[str, ix.Slice], stages: Stages) -> Iterator[int]:
    """Typical extents: of the window, then of the store's spatial axes."""
    universe = stages.graph.universe
    values = typical_bounds(universe)
    wide = stages.size_space.upper_bound(extent(window[1]), stages.graph.nodes[read.member].domain)
    yield evaluate(wide, values)
    store = stages.buffers[read.tensor]
    for e in store.shape:
        yield evaluate(e, values)
