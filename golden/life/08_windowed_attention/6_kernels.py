"""Kernels of 08_windowed_attention, written by tempoc: one function for each statement.

``at`` holds the coordinates of the point at which a statement is executed. Arrays of stores come in
and go out whole and are updated in place; bounds are keyword arguments, known when JAX traces.
"""

import jax
import jax.numpy as jnp
from jax import lax


def all_finite(x):
    """Whether all elements are finite. If their sum overflows, they count as if they were not."""
    return jnp.isfinite(jnp.sum(x, dtype=jnp.promote_types(x.dtype, jnp.float32)))


def usually(right, usual, rare):
    """usual() if that is right, else rare().

    tempoc's runner has another one of this name for CPUs: rare() is traced when data need it.
    """
    return lax.cond(right, usual, rare)


def term_by_term(product, axes, *arrays):
    """A product as the sum of those of parts, which are one position of an axis of some arrays.

    Under jax.vmap each point may mask a part of an array that all of them have in common.
    """
    lengths = [x.shape[a] for x, a in zip(arrays, axes) if a is not None]
    if 0 in lengths:
        return product(*arrays)
    result = jax.eval_shape(product, *arrays)
    dtype = jnp.promote_types(result.dtype, jnp.float32)
    wide = lambda x: x if x.dtype != result.dtype else x.astype(dtype)

    def step(k, total):
        cut = lambda x, a: x if a is None else lax.dynamic_slice_in_dim(x, k, 1, a)
        return total + product(*(wide(cut(x, a)) for x, a in zip(arrays, axes)))

    total = lax.fori_loop(0, max(lengths), step, jnp.zeros(result.shape, dtype))
    return total.astype(result.dtype)


def matvec(matrix, vector, points):
    """matrix @ vector, which so many points compute together.

    Vectors of many points are rows of an array, which one product takes and gives as they lie. For
    few of them XLA for CPUs is faster if the matrix comes first. It may abort where a matrix with
    an axis of up to three elements is that of some of the points only.
    """
    if points == 1:
        return jnp.matmul(matrix, vector)
    if jax.default_backend() == "cpu" and points <= 16 and min(matrix.shape) > 3:
        return lax.optimization_barrier(jnp.matmul(matrix, vector))
    return jnp.matmul(vector, matrix.T)


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


def in_batches(point, size, in_axes=0, out_axes=0):
    """jax.vmap(point, in_axes, out_axes), by as many points as fit 64 * 2**20.

    Those of one point have up to `size` bytes.
    """
    every = jax.vmap(point, in_axes, out_axes)

    def call(*arrays):
        axes = in_axes if isinstance(in_axes, tuple) else (in_axes,) * len(arrays)
        count = next(x.shape[a] for x, a in zip(arrays, axes) if a is not None)
        batches = -(-count // max(1, 64 * 2**20 // max(1, size)))
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


def sparse(at, k, q, v, *, B, T):
    """08_windowed_attention.rt:17: near = nn.attention(q, k[t = max(0, t-window+1):t+1], v[t = max(0, t-window+1):t+1])
    08_windowed_attention.rt:20: sparse = nn.attention(q, k[t = t%2:t+1:2], v[t = t%2:t+1:2])
    nn.rt:8: e = exp(x - stop_gradient(max(x, axis = axis, keepdims = true)))
    nn.rt:9: return e / sum(e, axis = axis, keepdims = true)
    nn.rt:93: return softmax((keys @ q) / sqrt(f32(size(q, -1)))) @ values
    """
    def rows(finite):
        def point(t, k, q, v):
            k_slice = lax.dynamic_slice_in_dim(k, jnp.maximum(0, t-3), min(4, T), axis=0)
            near_attention_div = matvec(k_slice, q, B*T) / 2.8284270763397217
            valid = jnp.arange(min(4, T), dtype=jnp.int32) < jnp.minimum(4, t+1)
            near_attention_div_masked = jnp.where(valid, near_attention_div, -jnp.inf)
            near_attention_softmax_e_max = jnp.max(near_attention_div_masked, axis=0, keepdims=True)
            near_attention_softmax_e_sub = near_attention_div_masked - near_attention_softmax_e_max
            near_attention_softmax_e_exp = jnp.exp(near_attention_softmax_e_sub)
            near_attention_softmax_sum = jnp.sum(
                near_attention_softmax_e_exp, axis=0, keepdims=True,
            )
            near_attention_softmax_div = near_attention_softmax_e_exp / near_attention_softmax_sum
            v_slice = lax.dynamic_slice_in_dim(v, jnp.maximum(0, t-3), min(4, T), axis=0)
            valid2 = (jnp.arange(min(4, T), dtype=jnp.int32) < jnp.minimum(4, t+1))[:, None]
            near = jnp.matmul(near_attention_softmax_div, v_slice) if finite else term_by_term(
                lambda v_slice, near_attention_softmax_div, valid2: jnp.matmul(
                    near_attention_softmax_div, jnp.where(valid2, v_slice, 0.0),
                ), (0, 0, 0), v_slice, near_attention_softmax_div, valid2,
            )
            k_slice2 = jnp.take(
                k, t%2 + 2 * jnp.arange((T+1)//2, dtype=jnp.int32), axis=0, mode="clip",
            )
            sparse_attention_div = matvec(k_slice2, q, B*T) / 2.8284270763397217
            valid3 = jnp.arange((T+1)//2, dtype=jnp.int32) < (t-t%2)//2+1
            sparse_attention_div_masked = jnp.where(valid3, sparse_attention_div, -jnp.inf)
            sparse_attention_softmax_e_max = jnp.max(
                sparse_attention_div_masked, axis=0, keepdims=True,
            )
            sparse_attention_softmax_e_sub = sparse_attention_div_masked - sparse_attention_softmax_e_max
            sparse_attention_softmax_e_exp = jnp.exp(sparse_attention_softmax_e_sub)
            sparse_attention_softmax_sum = jnp.sum(
                sparse_attention_softmax_e_exp, axis=0, keepdims=True,
            )
            sparse_attention_softmax_div = sparse_attention_softmax_e_exp / sparse_attention_softmax_sum
            v_slice2 = jnp.take(
                v, t%2 + 2 * jnp.arange((T+1)//2, dtype=jnp.int32), axis=0, mode="clip",
            )
            valid4 = (jnp.arange((T+1)//2, dtype=jnp.int32) < (t-t%2)//2+1)[:, None]
            sparse = jnp.matmul(sparse_attention_softmax_div, jnp.where(valid4, v_slice2, 0.0))
            return (near, sparse)
        point = in_batches(point, 32*((T+1)//2), in_axes=(0, None, 0, None))
        return in_batches(point, 32*T*((T+1)//2), in_axes=(None, 0, 0, 0))(
            jnp.arange(T, dtype=jnp.int32), k, q, v,
        )
    near_rows, sparse_rows = usually(all_finite(v), lambda: rows(True), lambda: rows(False))
    return near_rows, sparse_rows
