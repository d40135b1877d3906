"""Windows of many points: one part of an array for some neighbours, instead of a copy for each.

``k[max(0, t-255):t+1]``, for all ``t`` at once, would be as many overlapping copies. Neighbours
read nearly the same; so points are computed some at a time, with that part of the array which these
need together, and each looks at its own elements of it::

    def point(t, q, k, t_from):
        t_near = k.shape[0]
        scores = jnp.matmul(q, k.T)
        spots = t_from + jnp.arange(t_near, dtype=jnp.int32)
        valid = (spots >= jnp.maximum(0, t-255)) & (spots < t+1)
    y = in_windows(point, lambda t: jnp.maximum(0, t-255), 256, ...)(q, k)

There are about twice as many scores, but products of matrices make them. A statement is seen with a
tensor of its own for each such part.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import replace

from tempoc.codegen.kernels.mapped_axes import Pointwise, with_alias
from tempoc.codegen.kernels.vmap_batches import bytes_text
from tempoc.codegen.stores.context import Stages
from tempoc.codegen.stores.window_axis import WindowAxis
from tempoc.memory.estimates import typical_bounds
from tempoc.ops.tensor.contraction import Einsum, MatMul
from tempoc.sdg.statements.statements import Read, Statement
from tempoc.symbolic.domain import Domain
from tempoc.symbolic.expr import ONE, ZERO, Slice, Sym, add, compare, conjunction, sub
from tempoc.symbolic.walk import evaluate, extent, substitute, symbols

WIDE = 16
"""From so many elements on, copies of windows are more work than scores that nobody wants."""
LEAST = 64
"""So many points at a time at least, as long as memory allows."""

_IN_WINDOWS = '''\
def in_windows(point, first, width, size, axes, in_axes=0, out_axes=0):
    """jax.vmap(point), some points at a time, of some arrays only the part that these read.

    The n-th point reads up to `width` positions from `first(n)` on, along the axis that `axes` has
    for an array. It is also given the position where the part begins. What points at a time make
    has up to LIMIT; one point alone makes arrays of up to `size` bytes of its window.
    """

    def call(*arrays):
        places = in_axes if isinstance(in_axes, tuple) else (in_axes,) * len(arrays)
        count = next(x.shape[a] for x, a in zip(arrays, places) if a is not None)
        length = next(x.shape[a] for x, a in zip(arrays, axes) if a is not None)
        block = max(1, min(max(LEAST, width), LIMIT // max(1, 2 * size)))
        batches = -(-count // block)
        block = -(-count // max(1, batches))
        near = min(length, block - 1 + width)
        every = jax.vmap(point, (*places, None), out_axes)

        def part(n):
            start = jnp.clip(first(n), 0, length - near).astype(jnp.int32)
            parts = []
            for x, a, b in zip(arrays, places, axes):
                if a is not None:
                    x = lax.dynamic_slice_in_dim(x, n, block, a)
                elif b is not None:
                    x = lax.dynamic_slice_in_dim(x, start, near, b)
                parts.append(x)
            return every(*parts, start)

        if batches <= 1:
            return part(jnp.int32(0))

        def step(k, found):
            n = jnp.minimum(k * block, count - block)  # the last part may begin a bit earlier
            put = lambda y, rows, a: lax.dynamic_update_slice_in_dim(y, rows, n, a)
            return jax.tree.map(put, found, part(n), outs)

        shapes = jax.eval_shape(part, jnp.int32(0))
        outs = out_axes if isinstance(out_axes, tuple) else jax.tree.map(lambda _: out_axes, shapes)
        whole = lambda y, a: jnp.zeros((*y.shape[:a], count, *y.shape[a + 1 :]), y.dtype)
        return lax.fori_loop(0, batches, step, jax.tree.map(whole, shapes, outs))

    return call
'''


def in_windows(batch: int) -> str:
    """The text of the function; ``batch`` is the limit in bytes."""
    return _IN_WINDOWS.replace("LIMIT", bytes_text(batch)).replace("LEAST", str(LEAST))


def windows(statement: Statement, stages: Stages, taken: tuple[str, ...]) -> tuple[WindowAxis, ...]:
    """The windows that points of a statement read together; one at most, the heaviest."""
    if statement.single is None:
        return ()
    weights: dict[tuple[str, Slice], int] = {}
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
    """What a statement does at one point, parts of arrays being read as tensors."""
    view = before
    for read in before.single.reads:
        read_window = _window(read, replace(statement, single=before.single), before.stages)
        if read_window == (window.dim, window.entry) and read in view.single.reads:
            at = dict(zip(_dims(read, before.stages), read.entries, strict=True))
            along = next(d for d, e in at.items() if e == window.entry)
            store = window.part(before.stages.plan.stores[read.tensor], along)
            view = with_alias(view, read, f"{read.tensor}@near", store)
    return view


def _dims(read: Read, stages: Stages) -> tuple[str, ...]:
    return stages.statements.tensors[read.tensor].domain.dims


def _window(read: Read, statement: Statement, stages: Stages) -> tuple[str, Slice] | None:
    """The dimension along which a read is a window around the point, and the window."""
    store, single = stages.plan.stores.get(read.tensor), statement.single
    assert single is not None
    own = [v.dim for v in statement.vector]
    written = any(w.tensor == read.tensor for w in single.writes)
    if store is None or written or read.forwarded:
        return None
    at = dict(zip(_dims(read, stages), read.entries, strict=True))
    moving = [(d, e) for d, e in at.items() if isinstance(e, Slice) and _named(e, own)]
    if len(moving) != 1:
        return None
    along, entry = moving[0]
    assert isinstance(entry, Slice)
    named = _named(entry, own)
    axis = next((a for a in store.axes if a.dim == along), None)
    if axis is None or axis.ring or axis.grows or entry.step != 1 or len(named) != 1:
        return None
    (dim,) = named
    others = [s for d, e in at.items() if d != along for s in symbols(e)]
    if dim in others or axis.begin is not None or not _is_sliding(entry, dim, single, stages):
        return None
    return dim, entry


def _named(e: Slice, dims: list[str]) -> list[str]:
    return [d for d in dims if d in symbols(e)]


def _is_sliding(entry: Slice, dim: str, single: Statement, stages: Stages) -> bool:
    """Whether each point's window begins where that of the one before does, or one later.

    Its length must vary, since one that is the same everywhere is no padded axis. What begins or
    ends at one place for all points is read whole.
    """
    count = extent(entry)
    if any(dim not in symbols(e) for e in (count, entry.lo, entry.hi)):
        return False
    shift = sub(substitute(entry.lo, {dim: add(Sym(dim), ONE)}), entry.lo)
    steps = conjunction(compare(">=", shift, ZERO), compare("<=", shift, ONE))
    # Everywhere, since neighbours may have points between them that compute nothing.
    return stages.space.implies(Domain(single.domain.dims), steps)


def _weight(read: Read, window: tuple[str, Slice], stages: Stages) -> int:
    """How many numbers a copy of the window would have that meets others in a product, or 0."""
    if not isinstance(stages.graph.nodes[read.member].op, MatMul | Einsum):
        return 0
    rows, *others = _sizes(read, window, stages)
    number = rows * math.prod(others)
    return number if rows >= WIDE and number > rows else 0


def _sizes(read: Read, window: tuple[str, Slice], stages: Stages) -> Iterator[int]:
    """Typical extents: of the window, then of what is read at each of its positions."""
    universe = stages.graph.universe
    values = typical_bounds(universe)
    wide = stages.size_space.upper_bound(extent(window[1]), stages.graph.nodes[read.member].domain)
    yield evaluate(wide, values)
    store = stages.plan.stores[read.tensor]
    for e in store.shape:
        yield evaluate(e, values)
