"""Kernels of 16_large_vocabulary, written by tempoc: one function for each statement.

``at`` holds the coordinates of the point at which a statement is executed. Arrays of stores come in
and go out whole and are updated in place; bounds are keyword arguments, known when JAX traces.
"""

import jax
import jax.numpy as jnp
from jax import lax


def greatest(x, axes, keepdims=False):
    """``jnp.max``; NaN if one is there and the others are infinite.

    A finite one may lose NaN, which comes back in what it is subtracted from.
    """
    def result(x):
        best = jnp.max(x, axes, keepdims=keepdims)
        if jax.default_backend() != "cpu" or x.size < 4096:
            return best
        odd = lambda: jnp.any(jnp.isnan(x), axes, keepdims=keepdims)
        searched = lambda: jnp.where(odd(), jnp.nan, best)
        return lax.cond(jnp.any(jnp.isinf(best)), searched, lambda: best)
    call = jax.custom_batching.custom_vmap(result)
    later = [a + 1 for a in axes]
    call.def_vmap(lambda size, mapped, x: (greatest(x, later, keepdims), True))
    return call(x)


def transposed_matmul(x, y, summed=None):
    """x.T @ y: the outer products of rows, summed over the first axes, or over all but the last.

    XLA for CPUs is faster with many rows if narrow ones are laid out as columns first, and if the
    axes of a row are one. So are rows of a multiple of 32 elements while they
    fit into a cache, of which few lines take the elements of a column.
    """
    several = summed is not None
    first = tuple(range(summed if several else x.ndim - 1))
    rows, columns = x.shape[len(first) :], y.shape[len(first) :]
    a, b = (lax.collapse(lax.collapse(v, len(first)), 0, len(first)) for v in (x, y))
    width = min(a.shape[1], b.shape[1])
    strided = width % 32 == 0
    fits = strided and len(a) * width * x.dtype.itemsize <= 1048576
    narrow = several or width <= 16 or fits
    if jax.default_backend() != "cpu" or len(a) < 128 or not narrow:
        return jnp.tensordot(x, y, (first, first)) if several else jnp.matmul(a.T, b)
    if a.shape[1] <= b.shape[1]:
        product = jnp.matmul(lax.optimization_barrier(a.T), b)
    else:
        product = lax.optimization_barrier(jnp.matmul(lax.optimization_barrier(b.T), a)).T
    return product.reshape(*rows, *columns)


def valid_rows_product(valid, x, y):
    """The same of those rows that are valid.

    XLA for CPUs writes masked copies of both arrays. That is left where all rows are valid, as in
    all tiles but the last one, unless an array is large: then there is no room for copies beside.
    """
    masked = lambda: transposed_matmul(jnp.where(valid, x, 0), jnp.where(valid, y, 0))
    most = max(x.size, y.size) * x.dtype.itemsize
    if jax.default_backend() != "cpu" or not 65536 <= most <= 4194304:
        return masked()
    return lax.cond(jnp.all(valid), lambda: transposed_matmul(x, y), masked)


def h(at, place, mix):
    """16_large_vocabulary.rt:19: h = tanh(place @ mix)
    16_large_vocabulary.rt:22: loss = mean(logsumexp(scores, axis = 1) - sum(scores * said, axis = 1))
    """
    def point(place):
        h = jnp.tanh(jnp.matmul(place, mix))
        return (h, 1.0 - h * h)
    h_rows, d_h_sub_rows = jax.vmap(point)(place)
    return h_rows, d_h_sub_rows


def loss_d_head_now(at, h, head, word, loss_past, d_loss_div, d_head_past, d_einsum_full, *, T):
    """16_large_vocabulary.rt:17: param head: f32[D, V]
    16_large_vocabulary.rt:20: scores = h[0:T] @ head
    16_large_vocabulary.rt:21: said = one_hot(word[0:T], V)
    16_large_vocabulary.rt:22: loss = mean(logsumexp(scores, axis = 1) - sum(scores * said, axis = 1))
    """
    tile = at[0]
    h_slice = jnp.take(
        h, 1024*tile + jnp.arange(min(1024, T), dtype=jnp.int32), axis=0, mode="clip",
    )
    scores_tile = jnp.matmul(h_slice, head)
    word_slice = jnp.take(
        word, 1024*tile + jnp.arange(min(1024, T), dtype=jnp.int32), axis=0, mode="clip",
    )
    said_tile = (
        word_slice[..., None] == jnp.arange(2048, dtype=jnp.int32)
    ).astype(jnp.int32).astype(jnp.float32)
    d_greatest_tile = greatest(scores_tile, (1,), True)
    d_exp_tile = jnp.exp(scores_tile - d_greatest_tile)
    d_sum_tile = jnp.sum(d_exp_tile, axis=1, keepdims=True)
    isinf_tile = jnp.isinf(d_greatest_tile)
    where_tile = jnp.where(isinf_tile, d_greatest_tile, jnp.log(d_sum_tile) + d_greatest_tile)
    sub_tile = jnp.squeeze(where_tile, (1,)) - jnp.sum(scores_tile * said_tile, axis=1)
    valid = jnp.arange(min(1024, T), dtype=jnp.int32) < jnp.maximum(
        0, jnp.minimum(1024, T-1024*tile),
    )
    loss_now = loss_past + jnp.sum(jnp.where(valid, sub_tile, 0.0), axis=0)
    d_scores_tile = d_loss_div / d_sum_tile * d_exp_tile - d_loss_div * said_tile
    d_einsum_tile = jnp.einsum("ij,kj->ik", d_scores_tile, head)
    d_einsum_full_tile = jnp.where(
        (jnp.arange(1024, dtype=jnp.int32) < jnp.maximum(0, jnp.minimum(1024, T-1024*tile)))[
            :, None,
        ], lax.pad(d_einsum_tile, jnp.float32(0.0), ((0, max(0, 1024-T), 0), (0, 0, 0))),
        jnp.float32(0.0),
    )
    valid2 = (
        jnp.arange(min(1024, T), dtype=jnp.int32) < jnp.maximum(0, jnp.minimum(1024, T-1024*tile))
    )[:, None]
    d_head_now = d_head_past + valid_rows_product(valid2, h_slice, d_scores_tile)
    d_einsum_full = lax.dynamic_update_index_in_dim(d_einsum_full, d_einsum_full_tile, tile, 0)
    return loss_now, loss_now, d_einsum_full, d_head_now, d_head_now


def loss_d_loss_div(at, *, T):
    """16_large_vocabulary.rt:17: param head: f32[D, V]
    16_large_vocabulary.rt:20: scores = h[0:T] @ head
    16_large_vocabulary.rt:22: loss = mean(logsumexp(scores, axis = 1) - sum(scores * said, axis = 1))
    """
    d_head_none = jnp.zeros((8, 2048), jnp.float32)
    return jnp.zeros((), jnp.float32), 1.0 / jnp.int32(T).astype(jnp.float32), d_head_none


def loss(at, loss_now_at, d_einsum_full, d_head_now_at, *, T, tiles):
    """16_large_vocabulary.rt:17: param head: f32[D, V]
    16_large_vocabulary.rt:20: scores = h[0:T] @ head
    16_large_vocabulary.rt:22: loss = mean(logsumexp(scores, axis = 1) - sum(scores * said, axis = 1))
    """
    loss = loss_now_at / jnp.int32(T).astype(jnp.float32)
    d_scores_einsum = lax.slice_in_dim(jnp.reshape(d_einsum_full, (1024*tiles, 8)), 0, T, axis=0)
    return loss, d_scores_einsum, d_head_now_at


def loss_d_h_mul2(at, d_h_sub, d_scores_einsum):
    """16_large_vocabulary.rt:19: h = tanh(place @ mix)"""
    def point(d_scores_einsum_t, d_h_sub):
        return d_scores_einsum_t * d_h_sub
    return (jax.vmap(point)(d_scores_einsum, d_h_sub),)


def loss_d_mix(at, d_h_mul2, place):
    """16_large_vocabulary.rt:16: param mix: f32[D, D]"""
    return (transposed_matmul(place, d_h_mul2),)


def loop_tile(
    at, loss_now, loss_past, loss_d_scores_einsum_full, loss_d_head_now2, loss_d_head_past, h2,
    head, word, loss_d_loss_div2, *, steps=None, T,
):
    """tile from at[0] on, at[1] steps; the loop of loss_d_head_now."""
    count = at[1] if steps is None else steps
    def step_tile(i, carry):
        (loss_past, loss_d_scores_einsum_full, loss_d_head_past) = carry
        tile = at[0] + i
        (
            loss_now, loss_past, loss_d_scores_einsum_full, loss_d_head_now2, loss_d_head_past,
        ) = loss_d_head_now(
            (tile,), h2, head, word, loss_past, loss_d_loss_div2, loss_d_head_past,
            loss_d_scores_einsum_full, T=T,
        )
        return (loss_past, loss_d_scores_einsum_full, loss_d_head_past)
    carry = (loss_past, loss_d_scores_einsum_full, loss_d_head_past)
    (loss_past, loss_d_scores_einsum_full, loss_d_head_past) = lax.fori_loop(
        0, count, step_tile, carry,
    )
    loss_now = jnp.where(0 < count, loss_past, loss_now)
    loss_d_head_now2 = jnp.where(0 < count, loss_d_head_past, loss_d_head_now2)
    return (loss_now, loss_past, loss_d_scores_einsum_full, loss_d_head_now2, loss_d_head_past)


def block(at, place, mix, head, word, *, T, tiles):
    """What stands between two tasks of the host: h, loss_d_loss_div, loss_d_head_now, ..."""
    loss_now = jnp.zeros((), jnp.float32)
    loss_d_scores_einsum_full = jnp.zeros((tiles, 1024, 8), jnp.float32)
    loss_d_head_now2 = jnp.zeros((8, 2048), jnp.float32)
    h2, loss_d_h_sub = h((), place, mix)
    loss_past, loss_d_loss_div2, loss_d_head_past = loss_d_loss_div((), T=T)
    def step_tile(tile, carry):
        (loss_past, loss_d_scores_einsum_full, loss_d_head_past) = carry
        (
            loss_now, loss_past, loss_d_scores_einsum_full, loss_d_head_now2, loss_d_head_past,
        ) = loss_d_head_now(
            (tile,), h2, head, word, loss_past, loss_d_loss_div2, loss_d_head_past,
            loss_d_scores_einsum_full, T=T,
        )
        return (loss_past, loss_d_scores_einsum_full, loss_d_head_past)
    carry = (loss_past, loss_d_scores_einsum_full, loss_d_head_past)
    (loss_past, loss_d_scores_einsum_full, loss_d_head_past) = lax.fori_loop(
        0, tiles, step_tile, carry,
    )
    loss_now = jnp.where(0 < tiles, loss_past, loss_now)
    loss_d_head_now2 = jnp.where(0 < tiles, loss_d_head_past, loss_d_head_now2)
    loss2, loss_d_scores_einsum, loss_d_head = loss(
        (), loss_now, loss_d_scores_einsum_full, loss_d_head_now2, T=T, tiles=tiles,
    )
    (loss_d_h_mul2_2,) = loss_d_h_mul2((), loss_d_h_sub, loss_d_scores_einsum)
    (loss_d_mix2,) = loss_d_mix((), loss_d_h_mul2_2, place)
    return (loss2, loss_d_head, loss_d_mix2)
