"""Kernels of 16_large_vocabulary, written by tempoc: one function for each statement.

``at`` holds the coordinates of the point at which a statement is executed. Arrays of stores come in
and go out whole and are updated in place; bounds are keyword arguments, known when JAX traces.
"""

import jax
import jax.numpy as jnp
from jax import lax


def h(at, place, mix, h, *, T):
    """16_large_vocabulary.rt:19: h = tanh(place @ mix)
    16_large_vocabulary.rt:22: loss = mean(logsumexp(scores, axis = 1) - sum(scores * said, axis = 1))
    """
    t = at[0]
    place_t = place[t]
    h_matmul = jnp.matmul(place_t, mix)
    h_t = jnp.tanh(h_matmul)
    loss_d_h_mul = h_t * h_t
    loss_d_h_sub = jnp.float32(1.0) - loss_d_h_mul
    h = lax.dynamic_update_index_in_dim(h, h_t, t % min(1024, T), 0)
    return h, loss_d_h_sub


def loss_d_scores_einsum2_now(
    at, h, head, word, loss_past, loss_d_loss_expand_dims, loss_d_loss_sum_expand_dims,
    loss_d_scores_einsum2_past, loss_d_scores_einsum_full, *, T,
):
    """16_large_vocabulary.rt:20: scores = h[0:T] @ head
    16_large_vocabulary.rt:21: said = one_hot(word[0:T], V)
    16_large_vocabulary.rt:22: loss = mean(logsumexp(scores, axis = 1) - sum(scores * said, axis = 1))
    """
    tile = at[0]
    h_slice = jnp.take(h, (1024*tile + jnp.arange(min(1024, T), dtype=jnp.int32)) % min(1024, T), axis=0, mode="clip")
    scores_tile = jnp.matmul(h_slice, head)
    word_slice = jnp.take(word, 1024*tile + jnp.arange(min(1024, T), dtype=jnp.int32), axis=0, mode="clip")
    said_tile = (word_slice[..., None] == jnp.arange(2048, dtype=jnp.int32)).astype(jnp.float32)
    loss_logsumexp_tile = jax.nn.logsumexp(scores_tile, axis=1)
    loss_mul_tile = scores_tile * said_tile
    loss_sum_tile = jnp.sum(loss_mul_tile, axis=1)
    loss_sub_tile = loss_logsumexp_tile - loss_sum_tile
    valid = jnp.arange(min(1024, T), dtype=jnp.int32) < jnp.maximum(0, jnp.minimum(1024, T-1024*tile))
    loss_sub_tile_masked = jnp.where(valid, loss_sub_tile, jnp.float32(0.0))
    loss_each = jnp.sum(loss_sub_tile_masked, axis=0)
    loss_now = loss_past + loss_each
    loss_d_loss_broadcast_to_tile = jnp.broadcast_to(loss_d_loss_expand_dims, (min(1024, T),))
    loss_d_loss_logsumexp_expand_dims_tile = jnp.expand_dims(loss_logsumexp_tile, 1)
    loss_d_loss_logsumexp_sub_tile = scores_tile - loss_d_loss_logsumexp_expand_dims_tile
    loss_d_loss_logsumexp_exp_tile = jnp.exp(loss_d_loss_logsumexp_sub_tile)
    loss_d_loss_logsumexp_expand_dims2_tile = jnp.expand_dims(loss_d_loss_broadcast_to_tile, 1)
    loss_d_loss_logsumexp_mul_tile = loss_d_loss_logsumexp_expand_dims2_tile * loss_d_loss_logsumexp_exp_tile
    loss_d_loss_sum_broadcast_to_rows = jnp.take(loss_d_loss_sum_expand_dims, 1024*tile + jnp.arange(min(1024, T), dtype=jnp.int32), axis=0, mode="clip")
    loss_d_loss_sum_broadcast_to_tile = jnp.broadcast_to(loss_d_loss_sum_broadcast_to_rows, (min(1024, T), 2048))
    loss_d_loss_mul_mul_tile = loss_d_loss_sum_broadcast_to_tile * said_tile
    loss_d_scores_add_tile = loss_d_loss_logsumexp_mul_tile + loss_d_loss_mul_mul_tile
    loss_d_scores_einsum_tile = jnp.einsum("ij,kj->ik", loss_d_scores_add_tile, head)
    place = jnp.arange(1024, dtype=jnp.int32) - 0
    loss_d_scores_einsum_full_tile = jnp.where(((place >= 0) & (place < jnp.maximum(0, jnp.minimum(1024, T-1024*tile))))[:, None], jnp.take(loss_d_scores_einsum_tile, place, axis=0, mode="clip"), jnp.float32(0.0))
    valid2 = (jnp.arange(min(1024, T), dtype=jnp.int32) < jnp.maximum(0, jnp.minimum(1024, T-1024*tile)))[:, None]
    loss_d_scores_add_tile_masked = jnp.where(valid2, loss_d_scores_add_tile, jnp.float32(0.0))
    h_slice_masked = jnp.where(valid2, h_slice, jnp.float32(0.0))
    loss_d_scores_einsum2_each = jnp.einsum("ij,ik->kj", loss_d_scores_add_tile_masked, h_slice_masked)
    loss_d_scores_einsum2_now = loss_d_scores_einsum2_past + loss_d_scores_einsum2_each
    loss_d_scores_einsum_full = lax.dynamic_update_index_in_dim(loss_d_scores_einsum_full, loss_d_scores_einsum_full_tile, tile, 0)
    return loss_now, loss_now, loss_d_scores_einsum_full, loss_d_scores_einsum2_now, loss_d_scores_einsum2_now


def loss_d_loss_sum_expand_dims(at, *, T):
    """16_large_vocabulary.rt:16: param mix: f32[D, D]
    16_large_vocabulary.rt:20: scores = h[0:T] @ head
    16_large_vocabulary.rt:22: loss = mean(logsumexp(scores, axis = 1) - sum(scores * said, axis = 1))
    """
    loss_none = jnp.full((), jnp.float32(0.0))
    loss_d_loss_index = jnp.int32(T)
    loss_d_loss_cast = loss_d_loss_index.astype(jnp.float32)
    loss_d_loss_div = jnp.float32(1.0) / loss_d_loss_cast
    loss_d_loss_expand_dims = jnp.expand_dims(loss_d_loss_div, 0)
    loss_d_loss_broadcast_to = jnp.broadcast_to(loss_d_loss_expand_dims, (T,))
    loss_d_loss_sub_neg = -loss_d_loss_broadcast_to
    loss_d_loss_sum_expand_dims = jnp.expand_dims(loss_d_loss_sub_neg, 1)
    loss_d_scores_einsum2_none = jnp.full((8, 2048), jnp.float32(0.0))
    loss_d_mix_einsum_none = jnp.full((8, 8), jnp.float32(0.0))
    return loss_none, loss_d_loss_expand_dims, loss_d_loss_sum_expand_dims, loss_d_scores_einsum2_none, loss_d_mix_einsum_none


def loss(at, loss_now_at, loss_d_scores_einsum_full, *, T, tiles):
    """16_large_vocabulary.rt:20: scores = h[0:T] @ head
    16_large_vocabulary.rt:22: loss = mean(logsumexp(scores, axis = 1) - sum(scores * said, axis = 1))
    """
    loss_count = jnp.int32(T)
    loss_number = loss_count.astype(jnp.float32)
    loss = loss_now_at / loss_number
    loss_d_scores_einsum_joined = jnp.reshape(loss_d_scores_einsum_full, (1024*tiles, 8))
    loss_d_scores_einsum = lax.slice_in_dim(loss_d_scores_einsum_joined, 0, T, axis=0)
    return loss, loss_d_scores_einsum


def loss_d_mix_einsum_now(at, loss_d_scores_einsum, loss_d_h_sub, place, loss_d_mix_einsum_past):
    """16_large_vocabulary.rt:16: param mix: f32[D, D]
    16_large_vocabulary.rt:19: h = tanh(place @ mix)
    """
    t = at[0]
    loss_d_h_getitem = lax.dynamic_index_in_dim(loss_d_scores_einsum, t, 0, keepdims=False)
    loss_d_h_mul2 = loss_d_h_getitem * loss_d_h_sub
    place_t = place[t]
    loss_d_mix_einsum_each = jnp.einsum("j,k->kj", loss_d_h_mul2, place_t)
    loss_d_mix_einsum_now = loss_d_mix_einsum_past + loss_d_mix_einsum_each
    return loss_d_mix_einsum_now, loss_d_mix_einsum_now
