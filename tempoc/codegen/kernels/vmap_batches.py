"""Vectorized kernels over all points at once, or in batches where that would need too much memory.

``jax.vmap`` materializes intermediate values for all points: the attention scores of one step are
``T`` numbers, of all steps ``T*T``. Where intermediates may be much larger than what a point reads
and writes in stores, the kernel states the bytes per point, and ``in_batches`` replaces
``jax.vmap``. The number of points is known when JAX traces the kernel.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import replace

from tempoc.base.cost_model import MODEL
from tempoc.codegen.stores.context import Stages
from tempoc.memory.estimates import typical_bounds
from tempoc.memory.text import element_bytes
from tempoc.ops.definition.dtype_text import tupled
from tempoc.ops.definition.types import TensorType
from tempoc.ops.tensor.contraction import Einsum, MatMul
from tempoc.poly.relations.run_lengths import largest
from tempoc.sdg.graph.query import operand_type
from tempoc.sdg.statements.statements import Read, Statement
from tempoc.symbolic import expr as ix
from tempoc.symbolic.walk import evaluate, symbols

CUT_ROWS = '''\
def cut_rows(x, start, count, axis):
    """So many rows along an axis, from the start on; a slice under jax.vmap, too.

    JAX makes a gather of it, with bounds to check, which XLA takes several kernels for.
    """
    cut = lambda x, start: lax.dynamic_slice_in_dim(x, start, count, axis)
    call = jax.custom_batching.custom_vmap(cut)

    def mapped(size, every, x, start):
        if every[1]:
            return jax.vmap(cut, [0 if own else None for own in every])(x, start), True
        return cut_rows(x, start, count, axis + 1), True

    call.def_vmap(mapped)
    return call(x, start)
'''

PUT_ROWS = '''\
def put_rows(x, rows, start, axis):
    """The array with rows put in along an axis, from the start on; see `cut_rows`."""
    put = lambda x, rows, start: lax.dynamic_update_slice_in_dim(x, rows, start, axis)
    call = jax.custom_batching.custom_vmap(put)

    def mapped(size, every, x, rows, start):
        if every[2]:
            return jax.vmap(put, [0 if own else None for own in every])(x, rows, start), True
        each = lambda x, own: x if own else jnp.broadcast_to(x, (size, *x.shape))
        return put_rows(each(x, every[0]), each(rows, every[1]), start, axis + 1), True

    call.def_vmap(mapped)
    return call(x, rows, start)
'''

_IN_BATCHES = '''\
def in_batches(point, size, in_axes=0, out_axes=0):
    """jax.vmap(point, in_axes, out_axes), by as many points as fit LIMIT.

    Those of one point have up to `size` bytes.
    """
    every = jax.vmap(point, in_axes, out_axes)

    def call(*arrays):
        axes = in_axes if isinstance(in_axes, tuple) else (in_axes,) * len(arrays)
        count = next(x.shape[a] for x, a in zip(arrays, axes) if a is not None)
        batches = -(-count // max(1, LIMIT // max(1, size)))
        if batches <= 1:
            return every(*arrays)
        batch = -(-count // batches)

        def part(first):
            cut = lambda x, a: x if a is None else cut_rows(x, first, batch, a)
            return every(*(cut(x, a) for x, a in zip(arrays, axes)))

        def step(k, buffers):
            # The last batch may begin a bit earlier.
            first = lax.min(jnp.int32(k * batch), jnp.int32(count - batch))
            put = lambda y, rows, a: put_rows(y, rows, first, a)
            return jax.tree.map(put, buffers, part(first), outs)

        part = jax.jit(part, inline=True)  # traced once
        shapes = jax.eval_shape(part, jnp.int32(0))
        outs = out_axes if isinstance(out_axes, tuple) else jax.tree.map(lambda _: out_axes, shapes)
        whole = lambda y, a: jnp.zeros((*y.shape[:a], count, *y.shape[a + 1 :]), y.dtype)
        return lax.fori_loop(0, batches, step, jax.tree.map(whole, shapes, outs))

    return call
'''


def in_batches(batch: int) -> str:
    """The text of the function; ``batch`` is the limit in bytes."""
    return _IN_BATCHES.replace("LIMIT", bytes_text(batch))


def bytes_text(size: int) -> str:
    """A number of bytes in emitted code, by mebibytes if it is so large."""
    return f"{size >> 20} * 2**20" if size >= 2**20 else str(size)


def point_bytes(statement: Statement, stages: Stages) -> ix.Expr | None:
    """The bytes of a point's largest intermediate array, if all points may exceed the limit.

    ``None`` if that is not much more than what is in stores, or if all points fit the limit.
    """
    single = statement.single
    assert single is not None
    values = _large_bounds(stages)
    sizes = list(_computed_bytes(single, statement, stages))
    biggest = max(sizes, key=lambda e: evaluate(e, values), default=None)
    if biggest is None:
        return None
    stored = sum(evaluate(e, values) for e in _stored_bytes(single, stages))
    count = math.prod(evaluate(ix.sub(v.upper, v.lower), values) for v in statement.vector)
    size = evaluate(biggest, values)
    return biggest if size > MODEL.batched_excess * stored and size * count > stages.batch else None


def _large_bounds(stages: Stages) -> dict[str, int]:
    """Bounds so large that arrays that may exceed the limit do."""
    universe = stages.graph.universe
    values = typical_bounds(universe)
    names = largest(universe)
    values |= {most: values[name] for name, most in names.items()}
    return values | {r.name: values[universe.dim(r.dim).bound] for r in stages.dynamic_sizes}


def _computed_bytes(single: Statement, statement: Statement, stages: Stages) -> Iterator[ix.Expr]:
    """The bytes of each value that a point computes, and of each slice that it copies."""
    graph, stages = stages.graph, replace(stages, windows=())
    for member in single.members:
        for type_ in graph.nodes[member].types:
            yield _type_bytes(type_, single, stages)
    for read in single.reads:
        part = any(a.begin is not None for a in stages.buffers[read.tensor].axes)
        if part or not _reads_own_slice(read, statement):
            continue
        if not _is_shared(read, single, statement, stages):
            type_ = operand_type(graph, graph.nodes[read.member].inputs[read.slot])
            yield _type_bytes(type_, single, stages)


def _reads_own_slice(read: Read, statement: Statement) -> bool:
    """Whether each point reads a slice of its own."""
    own = [v.dim for v in statement.vector]
    return any(isinstance(e, ix.Slice) and any(d in symbols(e) for d in own) for e in read.entries)


def _is_shared(read: Read, single: Statement, statement: Statement, stages: Stages) -> bool:
    """Whether a product reads prefixes or suffixes of one array that all points share.

    Its emission avoids a copy for each point (``contraction.py``).
    """
    if not isinstance(stages.graph.nodes[read.member].op, MatMul | Einsum):
        return False
    if any(
        r != read and r.member == read.member and _reads_own_slice(r, statement)
        for r in single.reads
    ):
        return False
    own = [v.dim for v in statement.vector]
    axes = {axis.dim: axis for axis in stages.buffers[read.tensor].axes}
    for dim, entry in stages.entries(read).items():
        if not isinstance(entry, ix.Slice):
            continue
        rising = any(d in symbols(entry.lo) for d in own)
        if dim not in axes or axes[dim].ring or entry.step != 1:
            return False
        if rising and entry.hi != axes[dim].size:
            return False
    return True


def _stored_bytes(single: Statement, stages: Stages) -> Iterator[ix.Expr]:
    """The bytes of each row that a point reads or writes in stores."""
    tensors = [w.tensor for w in single.writes]
    tensors += [
        r.tensor for r in single.reads if not any(isinstance(e, ix.Slice) for e in r.entries)
    ]
    for tensor in tensors:
        store = stages.buffers[tensor]
        yield ix.product((ix.Const(element_bytes(store)), *store.shape))


def _type_bytes(type_: TensorType, single: Statement, stages: Stages) -> ix.Expr:
    return ix.product(
        (ix.Const(type_.dtype.itemsize), *(stages.pad(single, e) for e in type_.shape))
    )


# ---------------------------------------------------------------- text of calls


def vmapped(function: str, places: Sequence[int | None], outs: Sequence[int], size: str) -> str:
    """``jax.vmap`` of a function, with axes where these are not all 0.

    In batches if ``size``, the bytes per point, is given.
    """
    axes = axes_text(places, outs)
    return f"in_batches({function}, {size}{axes})" if size else f"jax.vmap({function}{axes})"


def axes_text(places: Sequence[int | None], outs: Sequence[int]) -> str:
    """The axes of arguments and results as keyword arguments, where these are not all 0."""
    text = "" if all(p == 0 for p in places) else f", in_axes={joined([str(p) for p in places])}"
    return text + (f", out_axes={joined([str(p) for p in outs])}" if any(outs) else "")


def joined(texts: Sequence[str]) -> str:
    """One value bare, several as a tuple."""
    return texts[0] if len(texts) == 1 else tupled(texts)
