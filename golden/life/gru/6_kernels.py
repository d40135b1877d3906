"""Kernels of gru, written by tempoc: one function for each statement.

``at`` holds the coordinates of the point at which a statement is executed. Arrays of stores come in
and go out whole and are updated in place; bounds are keyword arguments, known when JAX traces.
"""

import jax
import jax.numpy as jnp
from jax import lax


def threefry(key, x, y):
    """Two words for each pair of words. Written out, rounds fuse with what is around them."""
    schedule = (key[0], key[1], key[0] ^ key[1] ^ jnp.uint32(0x1BD11BDA))
    x, y = x + schedule[0], y + schedule[1]
    for i in range(5):
        for r in ((13, 15, 26, 6), (17, 29, 16, 24))[i % 2]:
            x = x + y
            y = (y << r | y >> (32 - r)) ^ x
        x, y = x + schedule[(i + 1) % 3], y + schedule[(i + 2) % 3] + jnp.uint32(i + 1)
    return x, y


def random_key(seed, *path):
    """The key of a draw: the seed's, folded with the place and the indices of the draw."""
    key = seed
    for number in path:
        key = threefry(key, jnp.uint32(0), jnp.uint32(number))
    return jnp.stack(key)


def random_bits(key, positions):
    """A random u32 for each position."""
    x, y = threefry(key, jnp.uint32(0), positions)
    return x ^ y


def random_uniform(key, positions, width, digits, dtype):
    """Multiples of 2**-digits in [0, 1), from the lowest bits of width."""
    bits = random_bits(key, positions) & jnp.uint32(2**width - 1)
    drawn = (bits >> (width - digits)).astype(jnp.float32)
    return (drawn * jnp.float32(2.0**-digits)).astype(dtype)


def random_normal(key, positions, dtype):
    """Standard normal numbers: the inverse of the distribution function at uniform ones."""
    lowest = jnp.float32(-1.0 + 2.0**-24)
    u = random_uniform(key, positions, 32, 23, jnp.float32) * jnp.float32(2.0) + lowest
    u = jnp.maximum(u, lowest)
    w = -jnp.log((jnp.float32(1.0) - u) * (jnp.float32(1.0) + u))
    centre = jnp.polyval(jnp.array((
        2.81022636e-08, 3.43273939e-07, -3.5233877e-06, -4.39150654e-06, 0.00021858087,
        -0.00125372503, -0.00417768164, 0.246640727, 1.50140941,
    ), jnp.float32), w - jnp.float32(2.5))
    tail = jnp.polyval(jnp.array((
        -0.000200214257, 0.000100950558, 0.00134934322, -0.00367342844, 0.00573950773,
        -0.0076224613, 0.00943887047, 1.00167406, 2.83297682,
    ), jnp.float32), jnp.sqrt(w) - jnp.float32(3.0))
    return (jnp.float32(2.0**0.5) * (jnp.where(w < 5.0, centre, tail) * u)).astype(dtype)


def start_letters_default(at, random_seed):
    """gru.rt:19: param start = {letters: nn.embedding_init(V, E), cell: nn.gru_init(E, H), out: nn.linear_init(V, H)}
    nn.rt:281: return random.normal([tokens, width]) * sqrt(1.0 / width)
    """
    start_embedding_init_key = random_key(random_seed, 2838371397)
    start_embedding_init_normal = random_normal(start_embedding_init_key, jnp.arange(1392, dtype=jnp.uint32).reshape((58, 24)), jnp.float32)
    start_letters_default = start_embedding_init_normal * jnp.float32(0.2041241452319315)
    return (start_letters_default,)


def start_cell_w_default(at, random_seed):
    """gru.rt:19: param start = {letters: nn.embedding_init(V, E), cell: nn.gru_init(E, H), out: nn.linear_init(V, H)}
    gru.rt:32: loss = mean(cost[t = 0:T])
    nn.rt:137: return (1.0 - z) * n + z * h
    nn.rt:217: return (2.0 * random.uniform(shape) - 1.0) * sqrt(6.0 / (shape[0] + shape[1]))
    nn.rt:261: return gain * q if shape[0] >= shape[1] else gain * q.T
    """
    start_gru_init_w_glorot_key = random_key(random_seed, 3724917717)
    start_gru_init_w_glorot_uniform = random_uniform(start_gru_init_w_glorot_key, jnp.arange(2304, dtype=jnp.uint32).reshape((96, 24)), 32, 23, jnp.float32)
    start_gru_init_w_glorot_mul = jnp.float32(2.0) * start_gru_init_w_glorot_uniform
    start_gru_init_w_glorot_sub = start_gru_init_w_glorot_mul - jnp.float32(1.0)
    start_gru_init_w_glorot_mul2 = start_gru_init_w_glorot_sub * jnp.float32(0.22360679774997896)
    start_gru_init_w_glorot2_key = random_key(random_seed, 1148537413)
    start_gru_init_w_glorot2_uniform = random_uniform(start_gru_init_w_glorot2_key, jnp.arange(2304, dtype=jnp.uint32).reshape((96, 24)), 32, 23, jnp.float32)
    start_gru_init_w_glorot2_mul = jnp.float32(2.0) * start_gru_init_w_glorot2_uniform
    start_gru_init_w_glorot2_sub = start_gru_init_w_glorot2_mul - jnp.float32(1.0)
    start_gru_init_w_glorot2_mul2 = start_gru_init_w_glorot2_sub * jnp.float32(0.22360679774997896)
    start_gru_init_w_glorot3_key = random_key(random_seed, 683919773)
    start_gru_init_w_glorot3_uniform = random_uniform(start_gru_init_w_glorot3_key, jnp.arange(2304, dtype=jnp.uint32).reshape((96, 24)), 32, 23, jnp.float32)
    start_gru_init_w_glorot3_mul = jnp.float32(2.0) * start_gru_init_w_glorot3_uniform
    start_gru_init_w_glorot3_sub = start_gru_init_w_glorot3_mul - jnp.float32(1.0)
    start_gru_init_w_glorot3_mul2 = start_gru_init_w_glorot3_sub * jnp.float32(0.22360679774997896)
    start_cell_w_default = jnp.concatenate([start_gru_init_w_glorot_mul2, start_gru_init_w_glorot2_mul2, start_gru_init_w_glorot3_mul2], axis=0)
    return (start_cell_w_default,)


def start_cell_u_default(at, random_seed):
    """gru.rt:19: param start = {letters: nn.embedding_init(V, E), cell: nn.gru_init(E, H), out: nn.linear_init(V, H)}
    nn.rt:246: below = expand_dims(arange(n), 1) >= arange(m)
    nn.rt:247: x = where(below, random.normal([n, m]), 0.0)
    nn.rt:248: first = sum(eye(n, m) * x, axis = 0)
    nn.rt:249: side = where(first < 0.0, -1.0, 1.0)
    nn.rt:250: v = x + eye(n, m) * side * sqrt(sum(x * x, axis = 0))
    nn.rt:251: dots = v.T @ v
    nn.rt:252: above = expand_dims(arange(m), 1) < arange(m)
    nn.rt:253: half = 0.5 * sum(v * v, axis = 0)
    nn.rt:254: power = where(above, -dots, 0.0) / expand_dims(half, 1)
    nn.rt:255: inverse = eye(m)
    nn.rt:257: inverse = inverse + power @ inverse if 2 ** k < m else inverse
    nn.rt:258: power = power @ power if 2 ** (k + 1) < m else power
    nn.rt:260: q = -side * (eye(n, m) - v @ ((inverse / half) @ v[0:m].T))
    """
    start_gru_init_u_orthogonal_below_arange = jnp.arange(96, dtype=jnp.int32)
    start_gru_init_u_orthogonal_below_expand_dims = jnp.expand_dims(start_gru_init_u_orthogonal_below_arange, 1)
    start_gru_init_u_orthogonal_below_ge = start_gru_init_u_orthogonal_below_expand_dims >= start_gru_init_u_orthogonal_below_arange
    start_gru_init_u_orthogonal_x_key = random_key(random_seed, 1271816731)
    start_gru_init_u_orthogonal_x_normal = random_normal(start_gru_init_u_orthogonal_x_key, jnp.arange(9216, dtype=jnp.uint32).reshape((96, 96)), jnp.float32)
    start_gru_init_u_orthogonal_x_where = jnp.where(start_gru_init_u_orthogonal_below_ge, start_gru_init_u_orthogonal_x_normal, jnp.float32(0.0))
    start_gru_init_u_orthogonal_first_eye = jnp.eye(96, 96, dtype=jnp.float32)
    start_gru_init_u_orthogonal_first_mul = start_gru_init_u_orthogonal_first_eye * start_gru_init_u_orthogonal_x_where
    start_gru_init_u_orthogonal_first_sum = jnp.sum(start_gru_init_u_orthogonal_first_mul, axis=0)
    start_gru_init_u_orthogonal_side_lt = start_gru_init_u_orthogonal_first_sum < jnp.float32(0.0)
    start_gru_init_u_orthogonal_side_where = jnp.where(start_gru_init_u_orthogonal_side_lt, jnp.float32(-1.0), jnp.float32(1.0))
    start_gru_init_u_orthogonal_v_mul = start_gru_init_u_orthogonal_first_eye * start_gru_init_u_orthogonal_side_where
    start_gru_init_u_orthogonal_v_mul2 = start_gru_init_u_orthogonal_x_where * start_gru_init_u_orthogonal_x_where
    start_gru_init_u_orthogonal_v_sum = jnp.sum(start_gru_init_u_orthogonal_v_mul2, axis=0)
    start_gru_init_u_orthogonal_v_sqrt = jnp.sqrt(start_gru_init_u_orthogonal_v_sum)
    start_gru_init_u_orthogonal_v_mul3 = start_gru_init_u_orthogonal_v_mul * start_gru_init_u_orthogonal_v_sqrt
    start_gru_init_u_orthogonal_v_add = start_gru_init_u_orthogonal_x_where + start_gru_init_u_orthogonal_v_mul3
    start_gru_init_u_orthogonal_dots_matmul = jnp.einsum("ij,ik->jk", start_gru_init_u_orthogonal_v_add, start_gru_init_u_orthogonal_v_add)
    start_gru_init_u_orthogonal_above_lt = start_gru_init_u_orthogonal_below_expand_dims < start_gru_init_u_orthogonal_below_arange
    start_gru_init_u_orthogonal_half_mul = start_gru_init_u_orthogonal_v_add * start_gru_init_u_orthogonal_v_add
    start_gru_init_u_orthogonal_half_sum = jnp.sum(start_gru_init_u_orthogonal_half_mul, axis=0)
    start_gru_init_u_orthogonal_half_mul2 = jnp.float32(0.5) * start_gru_init_u_orthogonal_half_sum
    start_gru_init_u_orthogonal_power_neg = -start_gru_init_u_orthogonal_dots_matmul
    start_gru_init_u_orthogonal_power_where = jnp.where(start_gru_init_u_orthogonal_above_lt, start_gru_init_u_orthogonal_power_neg, jnp.float32(0.0))
    start_gru_init_u_orthogonal_power_expand_dims = jnp.expand_dims(start_gru_init_u_orthogonal_half_mul2, 1)
    start_gru_init_u_orthogonal_power_div = start_gru_init_u_orthogonal_power_where / start_gru_init_u_orthogonal_power_expand_dims
    start_gru_init_u_orthogonal_inverse_matmul = jnp.matmul(start_gru_init_u_orthogonal_power_div, start_gru_init_u_orthogonal_first_eye)
    start_gru_init_u_orthogonal_inverse_add = start_gru_init_u_orthogonal_first_eye + start_gru_init_u_orthogonal_inverse_matmul
    start_gru_init_u_orthogonal_power_matmul = jnp.matmul(start_gru_init_u_orthogonal_power_div, start_gru_init_u_orthogonal_power_div)
    start_gru_init_u_orthogonal_inverse_matmul2 = jnp.matmul(start_gru_init_u_orthogonal_power_matmul, start_gru_init_u_orthogonal_inverse_add)
    start_gru_init_u_orthogonal_inverse_add2 = start_gru_init_u_orthogonal_inverse_add + start_gru_init_u_orthogonal_inverse_matmul2
    start_gru_init_u_orthogonal_power_matmul2 = jnp.matmul(start_gru_init_u_orthogonal_power_matmul, start_gru_init_u_orthogonal_power_matmul)
    start_gru_init_u_orthogonal_inverse_matmul3 = jnp.matmul(start_gru_init_u_orthogonal_power_matmul2, start_gru_init_u_orthogonal_inverse_add2)
    start_gru_init_u_orthogonal_inverse_add3 = start_gru_init_u_orthogonal_inverse_add2 + start_gru_init_u_orthogonal_inverse_matmul3
    start_gru_init_u_orthogonal_power_matmul3 = jnp.matmul(start_gru_init_u_orthogonal_power_matmul2, start_gru_init_u_orthogonal_power_matmul2)
    start_gru_init_u_orthogonal_inverse_matmul4 = jnp.matmul(start_gru_init_u_orthogonal_power_matmul3, start_gru_init_u_orthogonal_inverse_add3)
    start_gru_init_u_orthogonal_inverse_add4 = start_gru_init_u_orthogonal_inverse_add3 + start_gru_init_u_orthogonal_inverse_matmul4
    start_gru_init_u_orthogonal_power_matmul4 = jnp.matmul(start_gru_init_u_orthogonal_power_matmul3, start_gru_init_u_orthogonal_power_matmul3)
    start_gru_init_u_orthogonal_inverse_matmul5 = jnp.matmul(start_gru_init_u_orthogonal_power_matmul4, start_gru_init_u_orthogonal_inverse_add4)
    start_gru_init_u_orthogonal_inverse_add5 = start_gru_init_u_orthogonal_inverse_add4 + start_gru_init_u_orthogonal_inverse_matmul5
    start_gru_init_u_orthogonal_power_matmul5 = jnp.matmul(start_gru_init_u_orthogonal_power_matmul4, start_gru_init_u_orthogonal_power_matmul4)
    start_gru_init_u_orthogonal_inverse_matmul6 = jnp.matmul(start_gru_init_u_orthogonal_power_matmul5, start_gru_init_u_orthogonal_inverse_add5)
    start_gru_init_u_orthogonal_inverse_add6 = start_gru_init_u_orthogonal_inverse_add5 + start_gru_init_u_orthogonal_inverse_matmul6
    start_gru_init_u_orthogonal_power_matmul6 = jnp.matmul(start_gru_init_u_orthogonal_power_matmul5, start_gru_init_u_orthogonal_power_matmul5)
    start_gru_init_u_orthogonal_inverse_matmul7 = jnp.matmul(start_gru_init_u_orthogonal_power_matmul6, start_gru_init_u_orthogonal_inverse_add6)
    start_gru_init_u_orthogonal_inverse_add7 = start_gru_init_u_orthogonal_inverse_add6 + start_gru_init_u_orthogonal_inverse_matmul7
    start_gru_init_u_orthogonal_q_neg = -start_gru_init_u_orthogonal_side_where
    start_gru_init_u_orthogonal_q_div = start_gru_init_u_orthogonal_inverse_add7 / start_gru_init_u_orthogonal_half_mul2
    start_gru_init_u_orthogonal_q_matmul = jnp.einsum("ij,kj->ik", start_gru_init_u_orthogonal_q_div, start_gru_init_u_orthogonal_v_add)
    start_gru_init_u_orthogonal_q_matmul2 = jnp.matmul(start_gru_init_u_orthogonal_v_add, start_gru_init_u_orthogonal_q_matmul)
    start_gru_init_u_orthogonal_q_sub = start_gru_init_u_orthogonal_first_eye - start_gru_init_u_orthogonal_q_matmul2
    start_gru_init_u_orthogonal_q_mul = start_gru_init_u_orthogonal_q_neg * start_gru_init_u_orthogonal_q_sub
    start_gru_init_u_orthogonal2_x_key = random_key(random_seed, 2829219409)
    start_gru_init_u_orthogonal2_x_normal = random_normal(start_gru_init_u_orthogonal2_x_key, jnp.arange(9216, dtype=jnp.uint32).reshape((96, 96)), jnp.float32)
    start_gru_init_u_orthogonal2_x_where = jnp.where(start_gru_init_u_orthogonal_below_ge, start_gru_init_u_orthogonal2_x_normal, jnp.float32(0.0))
    start_gru_init_u_orthogonal2_first_mul = start_gru_init_u_orthogonal_first_eye * start_gru_init_u_orthogonal2_x_where
    start_gru_init_u_orthogonal2_first_sum = jnp.sum(start_gru_init_u_orthogonal2_first_mul, axis=0)
    start_gru_init_u_orthogonal2_side_lt = start_gru_init_u_orthogonal2_first_sum < jnp.float32(0.0)
    start_gru_init_u_orthogonal2_side_where = jnp.where(start_gru_init_u_orthogonal2_side_lt, jnp.float32(-1.0), jnp.float32(1.0))
    start_gru_init_u_orthogonal2_v_mul = start_gru_init_u_orthogonal_first_eye * start_gru_init_u_orthogonal2_side_where
    start_gru_init_u_orthogonal2_v_mul2 = start_gru_init_u_orthogonal2_x_where * start_gru_init_u_orthogonal2_x_where
    start_gru_init_u_orthogonal2_v_sum = jnp.sum(start_gru_init_u_orthogonal2_v_mul2, axis=0)
    start_gru_init_u_orthogonal2_v_sqrt = jnp.sqrt(start_gru_init_u_orthogonal2_v_sum)
    start_gru_init_u_orthogonal2_v_mul3 = start_gru_init_u_orthogonal2_v_mul * start_gru_init_u_orthogonal2_v_sqrt
    start_gru_init_u_orthogonal2_v_add = start_gru_init_u_orthogonal2_x_where + start_gru_init_u_orthogonal2_v_mul3
    start_gru_init_u_orthogonal2_dots_matmul = jnp.einsum("ij,ik->jk", start_gru_init_u_orthogonal2_v_add, start_gru_init_u_orthogonal2_v_add)
    start_gru_init_u_orthogonal2_half_mul = start_gru_init_u_orthogonal2_v_add * start_gru_init_u_orthogonal2_v_add
    start_gru_init_u_orthogonal2_half_sum = jnp.sum(start_gru_init_u_orthogonal2_half_mul, axis=0)
    start_gru_init_u_orthogonal2_half_mul2 = jnp.float32(0.5) * start_gru_init_u_orthogonal2_half_sum
    start_gru_init_u_orthogonal2_power_neg = -start_gru_init_u_orthogonal2_dots_matmul
    start_gru_init_u_orthogonal2_power_where = jnp.where(start_gru_init_u_orthogonal_above_lt, start_gru_init_u_orthogonal2_power_neg, jnp.float32(0.0))
    start_gru_init_u_orthogonal2_power_expand_dims = jnp.expand_dims(start_gru_init_u_orthogonal2_half_mul2, 1)
    start_gru_init_u_orthogonal2_power_div = start_gru_init_u_orthogonal2_power_where / start_gru_init_u_orthogonal2_power_expand_dims
    start_gru_init_u_orthogonal2_inverse_matmul = jnp.matmul(start_gru_init_u_orthogonal2_power_div, start_gru_init_u_orthogonal_first_eye)
    start_gru_init_u_orthogonal2_inverse_add = start_gru_init_u_orthogonal_first_eye + start_gru_init_u_orthogonal2_inverse_matmul
    start_gru_init_u_orthogonal2_power_matmul = jnp.matmul(start_gru_init_u_orthogonal2_power_div, start_gru_init_u_orthogonal2_power_div)
    start_gru_init_u_orthogonal2_inverse_matmul2 = jnp.matmul(start_gru_init_u_orthogonal2_power_matmul, start_gru_init_u_orthogonal2_inverse_add)
    start_gru_init_u_orthogonal2_inverse_add2 = start_gru_init_u_orthogonal2_inverse_add + start_gru_init_u_orthogonal2_inverse_matmul2
    start_gru_init_u_orthogonal2_power_matmul2 = jnp.matmul(start_gru_init_u_orthogonal2_power_matmul, start_gru_init_u_orthogonal2_power_matmul)
    start_gru_init_u_orthogonal2_inverse_matmul3 = jnp.matmul(start_gru_init_u_orthogonal2_power_matmul2, start_gru_init_u_orthogonal2_inverse_add2)
    start_gru_init_u_orthogonal2_inverse_add3 = start_gru_init_u_orthogonal2_inverse_add2 + start_gru_init_u_orthogonal2_inverse_matmul3
    start_gru_init_u_orthogonal2_power_matmul3 = jnp.matmul(start_gru_init_u_orthogonal2_power_matmul2, start_gru_init_u_orthogonal2_power_matmul2)
    start_gru_init_u_orthogonal2_inverse_matmul4 = jnp.matmul(start_gru_init_u_orthogonal2_power_matmul3, start_gru_init_u_orthogonal2_inverse_add3)
    start_gru_init_u_orthogonal2_inverse_add4 = start_gru_init_u_orthogonal2_inverse_add3 + start_gru_init_u_orthogonal2_inverse_matmul4
    start_gru_init_u_orthogonal2_power_matmul4 = jnp.matmul(start_gru_init_u_orthogonal2_power_matmul3, start_gru_init_u_orthogonal2_power_matmul3)
    start_gru_init_u_orthogonal2_inverse_matmul5 = jnp.matmul(start_gru_init_u_orthogonal2_power_matmul4, start_gru_init_u_orthogonal2_inverse_add4)
    start_gru_init_u_orthogonal2_inverse_add5 = start_gru_init_u_orthogonal2_inverse_add4 + start_gru_init_u_orthogonal2_inverse_matmul5
    start_gru_init_u_orthogonal2_power_matmul5 = jnp.matmul(start_gru_init_u_orthogonal2_power_matmul4, start_gru_init_u_orthogonal2_power_matmul4)
    start_gru_init_u_orthogonal2_inverse_matmul6 = jnp.matmul(start_gru_init_u_orthogonal2_power_matmul5, start_gru_init_u_orthogonal2_inverse_add5)
    start_gru_init_u_orthogonal2_inverse_add6 = start_gru_init_u_orthogonal2_inverse_add5 + start_gru_init_u_orthogonal2_inverse_matmul6
    start_gru_init_u_orthogonal2_power_matmul6 = jnp.matmul(start_gru_init_u_orthogonal2_power_matmul5, start_gru_init_u_orthogonal2_power_matmul5)
    start_gru_init_u_orthogonal2_inverse_matmul7 = jnp.matmul(start_gru_init_u_orthogonal2_power_matmul6, start_gru_init_u_orthogonal2_inverse_add6)
    start_gru_init_u_orthogonal2_inverse_add7 = start_gru_init_u_orthogonal2_inverse_add6 + start_gru_init_u_orthogonal2_inverse_matmul7
    start_gru_init_u_orthogonal2_q_neg = -start_gru_init_u_orthogonal2_side_where
    start_gru_init_u_orthogonal2_q_div = start_gru_init_u_orthogonal2_inverse_add7 / start_gru_init_u_orthogonal2_half_mul2
    start_gru_init_u_orthogonal2_q_matmul = jnp.einsum("ij,kj->ik", start_gru_init_u_orthogonal2_q_div, start_gru_init_u_orthogonal2_v_add)
    start_gru_init_u_orthogonal2_q_matmul2 = jnp.matmul(start_gru_init_u_orthogonal2_v_add, start_gru_init_u_orthogonal2_q_matmul)
    start_gru_init_u_orthogonal2_q_sub = start_gru_init_u_orthogonal_first_eye - start_gru_init_u_orthogonal2_q_matmul2
    start_gru_init_u_orthogonal2_q_mul = start_gru_init_u_orthogonal2_q_neg * start_gru_init_u_orthogonal2_q_sub
    start_gru_init_u_orthogonal3_x_key = random_key(random_seed, 2091371773)
    start_gru_init_u_orthogonal3_x_normal = random_normal(start_gru_init_u_orthogonal3_x_key, jnp.arange(9216, dtype=jnp.uint32).reshape((96, 96)), jnp.float32)
    start_gru_init_u_orthogonal3_x_where = jnp.where(start_gru_init_u_orthogonal_below_ge, start_gru_init_u_orthogonal3_x_normal, jnp.float32(0.0))
    start_gru_init_u_orthogonal3_first_mul = start_gru_init_u_orthogonal_first_eye * start_gru_init_u_orthogonal3_x_where
    start_gru_init_u_orthogonal3_first_sum = jnp.sum(start_gru_init_u_orthogonal3_first_mul, axis=0)
    start_gru_init_u_orthogonal3_side_lt = start_gru_init_u_orthogonal3_first_sum < jnp.float32(0.0)
    start_gru_init_u_orthogonal3_side_where = jnp.where(start_gru_init_u_orthogonal3_side_lt, jnp.float32(-1.0), jnp.float32(1.0))
    start_gru_init_u_orthogonal3_v_mul = start_gru_init_u_orthogonal_first_eye * start_gru_init_u_orthogonal3_side_where
    start_gru_init_u_orthogonal3_v_mul2 = start_gru_init_u_orthogonal3_x_where * start_gru_init_u_orthogonal3_x_where
    start_gru_init_u_orthogonal3_v_sum = jnp.sum(start_gru_init_u_orthogonal3_v_mul2, axis=0)
    start_gru_init_u_orthogonal3_v_sqrt = jnp.sqrt(start_gru_init_u_orthogonal3_v_sum)
    start_gru_init_u_orthogonal3_v_mul3 = start_gru_init_u_orthogonal3_v_mul * start_gru_init_u_orthogonal3_v_sqrt
    start_gru_init_u_orthogonal3_v_add = start_gru_init_u_orthogonal3_x_where + start_gru_init_u_orthogonal3_v_mul3
    start_gru_init_u_orthogonal3_dots_matmul = jnp.einsum("ij,ik->jk", start_gru_init_u_orthogonal3_v_add, start_gru_init_u_orthogonal3_v_add)
    start_gru_init_u_orthogonal3_half_mul = start_gru_init_u_orthogonal3_v_add * start_gru_init_u_orthogonal3_v_add
    start_gru_init_u_orthogonal3_half_sum = jnp.sum(start_gru_init_u_orthogonal3_half_mul, axis=0)
    start_gru_init_u_orthogonal3_half_mul2 = jnp.float32(0.5) * start_gru_init_u_orthogonal3_half_sum
    start_gru_init_u_orthogonal3_power_neg = -start_gru_init_u_orthogonal3_dots_matmul
    start_gru_init_u_orthogonal3_power_where = jnp.where(start_gru_init_u_orthogonal_above_lt, start_gru_init_u_orthogonal3_power_neg, jnp.float32(0.0))
    start_gru_init_u_orthogonal3_power_expand_dims = jnp.expand_dims(start_gru_init_u_orthogonal3_half_mul2, 1)
    start_gru_init_u_orthogonal3_power_div = start_gru_init_u_orthogonal3_power_where / start_gru_init_u_orthogonal3_power_expand_dims
    start_gru_init_u_orthogonal3_inverse_matmul = jnp.matmul(start_gru_init_u_orthogonal3_power_div, start_gru_init_u_orthogonal_first_eye)
    start_gru_init_u_orthogonal3_inverse_add = start_gru_init_u_orthogonal_first_eye + start_gru_init_u_orthogonal3_inverse_matmul
    start_gru_init_u_orthogonal3_power_matmul = jnp.matmul(start_gru_init_u_orthogonal3_power_div, start_gru_init_u_orthogonal3_power_div)
    start_gru_init_u_orthogonal3_inverse_matmul2 = jnp.matmul(start_gru_init_u_orthogonal3_power_matmul, start_gru_init_u_orthogonal3_inverse_add)
    start_gru_init_u_orthogonal3_inverse_add2 = start_gru_init_u_orthogonal3_inverse_add + start_gru_init_u_orthogonal3_inverse_matmul2
    start_gru_init_u_orthogonal3_power_matmul2 = jnp.matmul(start_gru_init_u_orthogonal3_power_matmul, start_gru_init_u_orthogonal3_power_matmul)
    start_gru_init_u_orthogonal3_inverse_matmul3 = jnp.matmul(start_gru_init_u_orthogonal3_power_matmul2, start_gru_init_u_orthogonal3_inverse_add2)
    start_gru_init_u_orthogonal3_inverse_add3 = start_gru_init_u_orthogonal3_inverse_add2 + start_gru_init_u_orthogonal3_inverse_matmul3
    start_gru_init_u_orthogonal3_power_matmul3 = jnp.matmul(start_gru_init_u_orthogonal3_power_matmul2, start_gru_init_u_orthogonal3_power_matmul2)
    start_gru_init_u_orthogonal3_inverse_matmul4 = jnp.matmul(start_gru_init_u_orthogonal3_power_matmul3, start_gru_init_u_orthogonal3_inverse_add3)
    start_gru_init_u_orthogonal3_inverse_add4 = start_gru_init_u_orthogonal3_inverse_add3 + start_gru_init_u_orthogonal3_inverse_matmul4
    start_gru_init_u_orthogonal3_power_matmul4 = jnp.matmul(start_gru_init_u_orthogonal3_power_matmul3, start_gru_init_u_orthogonal3_power_matmul3)
    start_gru_init_u_orthogonal3_inverse_matmul5 = jnp.matmul(start_gru_init_u_orthogonal3_power_matmul4, start_gru_init_u_orthogonal3_inverse_add4)
    start_gru_init_u_orthogonal3_inverse_add5 = start_gru_init_u_orthogonal3_inverse_add4 + start_gru_init_u_orthogonal3_inverse_matmul5
    start_gru_init_u_orthogonal3_power_matmul5 = jnp.matmul(start_gru_init_u_orthogonal3_power_matmul4, start_gru_init_u_orthogonal3_power_matmul4)
    start_gru_init_u_orthogonal3_inverse_matmul6 = jnp.matmul(start_gru_init_u_orthogonal3_power_matmul5, start_gru_init_u_orthogonal3_inverse_add5)
    start_gru_init_u_orthogonal3_inverse_add6 = start_gru_init_u_orthogonal3_inverse_add5 + start_gru_init_u_orthogonal3_inverse_matmul6
    start_gru_init_u_orthogonal3_power_matmul6 = jnp.matmul(start_gru_init_u_orthogonal3_power_matmul5, start_gru_init_u_orthogonal3_power_matmul5)
    start_gru_init_u_orthogonal3_inverse_matmul7 = jnp.matmul(start_gru_init_u_orthogonal3_power_matmul6, start_gru_init_u_orthogonal3_inverse_add6)
    start_gru_init_u_orthogonal3_inverse_add7 = start_gru_init_u_orthogonal3_inverse_add6 + start_gru_init_u_orthogonal3_inverse_matmul7
    start_gru_init_u_orthogonal3_q_neg = -start_gru_init_u_orthogonal3_side_where
    start_gru_init_u_orthogonal3_q_div = start_gru_init_u_orthogonal3_inverse_add7 / start_gru_init_u_orthogonal3_half_mul2
    start_gru_init_u_orthogonal3_q_matmul = jnp.einsum("ij,kj->ik", start_gru_init_u_orthogonal3_q_div, start_gru_init_u_orthogonal3_v_add)
    start_gru_init_u_orthogonal3_q_matmul2 = jnp.matmul(start_gru_init_u_orthogonal3_v_add, start_gru_init_u_orthogonal3_q_matmul)
    start_gru_init_u_orthogonal3_q_sub = start_gru_init_u_orthogonal_first_eye - start_gru_init_u_orthogonal3_q_matmul2
    start_gru_init_u_orthogonal3_q_mul = start_gru_init_u_orthogonal3_q_neg * start_gru_init_u_orthogonal3_q_sub
    start_cell_u_default = jnp.concatenate([start_gru_init_u_orthogonal_q_mul, start_gru_init_u_orthogonal2_q_mul, start_gru_init_u_orthogonal3_q_mul], axis=0)
    return (start_cell_u_default,)


def start_out_w_default(at, random_seed):
    """gru.rt:19: param start = {letters: nn.embedding_init(V, E), cell: nn.gru_init(E, H), out: nn.linear_init(V, H)}
    gru.rt:32: loss = mean(cost[t = 0:T])
    nn.rt:137: return (1.0 - z) * n + z * h
    nn.rt:217: return (2.0 * random.uniform(shape) - 1.0) * sqrt(6.0 / (shape[0] + shape[1]))
    nn.rt:261: return gain * q if shape[0] >= shape[1] else gain * q.T
    """
    start_linear_init_glorot_key = random_key(random_seed, 1226745117)
    start_linear_init_glorot_uniform = random_uniform(start_linear_init_glorot_key, jnp.arange(5568, dtype=jnp.uint32).reshape((58, 96)), 32, 23, jnp.float32)
    start_linear_init_glorot_mul = jnp.float32(2.0) * start_linear_init_glorot_uniform
    start_linear_init_glorot_sub = start_linear_init_glorot_mul - jnp.float32(1.0)
    start_out_w_default = start_linear_init_glorot_sub * jnp.float32(0.19738550848793068)
    return (start_out_w_default,)


def start_cell_b_default(at):
    """gru.rt:19: param start = {letters: nn.embedding_init(V, E), cell: nn.gru_init(E, H), out: nn.linear_init(V, H)}"""
    start_cell_b_default = jnp.full((288,), jnp.float32(0.0))
    return start_cell_b_default, start_cell_b_default


def start_out_b_default(at):
    """gru.rt:19: param start = {letters: nn.embedding_init(V, E), cell: nn.gru_init(E, H), out: nn.linear_init(V, H)}"""
    start_out_b_default = jnp.full((58,), jnp.float32(0.0))
    return (start_out_b_default,)


def net_out_b_0(
    at, start_letters, start_cell_w, start_cell_u, start_cell_b, start_cell_c, start_out_w,
    start_out_b, h_0, *, T, N,
):
    """gru.rt:22: at[i, t] = (arange(B) * (N // B) + i * T + t) % (N - 1)
    gru.rt:26: h[0, 0] = zeros([B, H])
    gru.rt:31: cost = mean(take_along(-nn.log_softmax(logits), expand_dims(next, 1), axis = 1))
    gru.rt:32: loss = mean(cost[t = 0:T])
    gru.rt:34: net[0] = start
    nn.rt:136: n = tanh(split(a, 3, -1)[2] + r * split(g, 3, -1)[2])
    """
    at_arange = jnp.arange(16, dtype=jnp.int32)
    at_index = jnp.int32(N//16)
    at_mul = at_arange * at_index
    h_02 = jnp.full((16, 96), jnp.float32(0.0))
    loss_d_loss_index = jnp.int32(T)
    loss_d_loss_cast = loss_d_loss_index.astype(jnp.float32)
    loss_d_cost_div = jnp.float32(0.0625) / loss_d_loss_cast
    loss_d_cost_expand_dims = jnp.expand_dims(loss_d_cost_div, 0)
    loss_d_cost_expand_dims2 = jnp.expand_dims(loss_d_cost_expand_dims, 1)
    loss_d_cost_take_along_expand_dims_expand_dims = jnp.expand_dims(loss_d_cost_expand_dims2, 2)
    h_0 = lax.dynamic_update_index_in_dim(h_0, h_02, 0, 0)
    return at_mul, h_0, loss_d_cost_take_along_expand_dims_expand_dims, start_letters, start_cell_w, start_cell_u, start_cell_b, start_cell_c, start_out_w, start_out_b


def at_add(at, at_mul, *, T):
    """gru.rt:22: at[i, t] = (arange(B) * (N // B) + i * T + t) % (N - 1)"""
    i = at[0]
    at_index2 = jnp.int32(T*i)
    at_add = at_mul + at_index2
    return (at_add,)


def letter(
    at, at_add, text, net_letters, net_cell_w, net_cell_b,
    loss_d_cost_take_along_expand_dims_expand_dims, *, T, N,
):
    """gru.rt:22: at[i, t] = (arange(B) * (N // B) + i * T + t) % (N - 1)
    gru.rt:23: letter = (text[0:N])[at]
    gru.rt:24: next = (text[0:N])[at+1]
    gru.rt:29: state[i, t] = nn.gru_cell(net[i].letters[letter], h[i, t], net[i].cell)
    gru.rt:31: cost = mean(take_along(-nn.log_softmax(logits), expand_dims(next, 1), axis = 1))
    nn.rt:14: return x - logsumexp(x, axis = axis, keepdims = true)
    nn.rt:132: a = x @ cell.w.T + cell.b
    nn.rt:134: r = sigmoid(split(a, 3, -1)[0] + split(g, 3, -1)[0])
    nn.rt:135: z = sigmoid(split(a, 3, -1)[1] + split(g, 3, -1)[1])
    nn.rt:136: n = tanh(split(a, 3, -1)[2] + r * split(g, 3, -1)[2])
    """
    def point(t):
        at_index3 = jnp.int32(t)
        at_add2 = at_add + at_index3
        at_index4 = jnp.int32(N-1)
        divisor = jnp.where(at_index4 == 0, jnp.int32(1), at_index4)
        at2 = jnp.where(at_index4 == 0, jnp.int32(0), jnp.remainder(at_add2, divisor))
        holds = jnp.all((at2 >= -N) & (at2 < N))
        letter = jnp.take(text, jnp.where(at2 < 0, at2 + N, at2), axis=0, mode="clip")
        next_add = at2 + jnp.int32(1)
        holds2 = jnp.all((next_add >= -N) & (next_add < N))
        next2 = jnp.take(text, jnp.where(next_add < 0, next_add + N, next_add), axis=0, mode="clip")
        holds3 = jnp.all((letter >= -58) & (letter < 58))
        state_getitem = jnp.take(net_letters, jnp.where(letter < 0, letter + 58, letter), axis=0, mode="clip")
        state_gru_cell_a_matmul = jnp.einsum("ij,kj->ik", state_getitem, net_cell_w)
        state_gru_cell_a_add = state_gru_cell_a_matmul + net_cell_b
        state_gru_cell_r_split_0 = lax.slice_in_dim(state_gru_cell_a_add, 0, 96, axis=1)
        state_gru_cell_r_split_1 = lax.slice_in_dim(state_gru_cell_a_add, 96, 192, axis=1)
        state_gru_cell_r_split_2 = lax.slice_in_dim(state_gru_cell_a_add, 192, 288, axis=1)
        cost_expand_dims = jnp.expand_dims(next2, 1)
        loss_d_cost_take_along_lt = cost_expand_dims < jnp.int32(0)
        loss_d_cost_take_along_add = cost_expand_dims + jnp.int32(58)
        loss_d_cost_take_along_where = jnp.where(loss_d_cost_take_along_lt, loss_d_cost_take_along_add, cost_expand_dims)
        loss_d_cost_take_along_one_hot = (loss_d_cost_take_along_where[..., None] == jnp.arange(58, dtype=jnp.int32)).astype(jnp.float32)
        loss_d_cost_take_along_mul = loss_d_cost_take_along_expand_dims_expand_dims * loss_d_cost_take_along_one_hot
        loss_d_cost_take_along_sum = jnp.squeeze(loss_d_cost_take_along_mul, (1,))
        loss_d_cost_log_softmax_sub_sum = jnp.sum(loss_d_cost_take_along_sum, axis=1, keepdims=True)
        return (letter, state_getitem, state_gru_cell_r_split_0, state_gru_cell_r_split_1, state_gru_cell_r_split_2, cost_expand_dims, loss_d_cost_take_along_sum, loss_d_cost_log_softmax_sub_sum, jnp.where(holds, jnp.where(holds2, jnp.where(holds3, jnp.int32(0), jnp.int32(3)), jnp.int32(2)), jnp.int32(1)))
    letter_rows, state_getitem_rows, state_gru_cell_r_split_0_rows, state_gru_cell_r_split_1_rows, state_gru_cell_r_split_2_rows, cost_expand_dims_rows, loss_d_cost_take_along_sum_rows, loss_d_cost_log_softmax_sub_sum_rows, fault = jax.vmap(point)(jnp.arange(T, dtype=jnp.int32))
    faults = jnp.ravel(fault)
    first = jnp.argmax(faults != 0)
    return letter_rows, state_getitem_rows, state_gru_cell_r_split_0_rows, state_gru_cell_r_split_1_rows, state_gru_cell_r_split_2_rows, cost_expand_dims_rows, loss_d_cost_take_along_sum_rows, loss_d_cost_log_softmax_sub_sum_rows, jnp.stack([faults[first], first.astype(jnp.int32)])


def cost(
    at, h, net_cell_u, net_cell_c, state_gru_cell_r_split_out1, state_gru_cell_r_split,
    state_gru_cell_r_split_out2, net_out_w, net_out_b, cost_expand_dims,
    loss_d_cost_log_softmax_sub_sum, loss_d_cost_take_along_sum,
):
    """gru.rt:29: state[i, t] = nn.gru_cell(net[i].letters[letter], h[i, t], net[i].cell)
    gru.rt:30: logits = nn.linear(state, net.out.w, net.out.b)
    gru.rt:31: cost = mean(take_along(-nn.log_softmax(logits), expand_dims(next, 1), axis = 1))
    gru.rt:32: loss = mean(cost[t = 0:T])
    nn.rt:14: return x - logsumexp(x, axis = axis, keepdims = true)
    nn.rt:29: return x @ w.T + b
    nn.rt:133: g = h @ cell.u.T + cell.c
    nn.rt:134: r = sigmoid(split(a, 3, -1)[0] + split(g, 3, -1)[0])
    nn.rt:135: z = sigmoid(split(a, 3, -1)[1] + split(g, 3, -1)[1])
    nn.rt:136: n = tanh(split(a, 3, -1)[2] + r * split(g, 3, -1)[2])
    nn.rt:137: return (1.0 - z) * n + z * h
    nn.rt:217: return (2.0 * random.uniform(shape) - 1.0) * sqrt(6.0 / (shape[0] + shape[1]))
    nn.rt:261: return gain * q if shape[0] >= shape[1] else gain * q.T
    """
    def point(h, state_gru_cell_r_split_out1, state_gru_cell_r_split, state_gru_cell_r_split_out2, cost_expand_dims, loss_d_cost_log_softmax_sub_sum, loss_d_cost_take_along_sum):
        state_gru_cell_g_matmul = jnp.einsum("ij,kj->ik", h, net_cell_u)
        state_gru_cell_g_add = state_gru_cell_g_matmul + net_cell_c
        state_gru_cell_r_split2_0 = lax.slice_in_dim(state_gru_cell_g_add, 0, 96, axis=1)
        state_gru_cell_r_split2_1 = lax.slice_in_dim(state_gru_cell_g_add, 96, 192, axis=1)
        state_gru_cell_r_split2_2 = lax.slice_in_dim(state_gru_cell_g_add, 192, 288, axis=1)
        state_gru_cell_z_add = state_gru_cell_r_split_out1 + state_gru_cell_r_split2_1
        state_gru_cell_z_sigmoid = jax.nn.sigmoid(state_gru_cell_z_add)
        state_gru_cell_sub = jnp.float32(1.0) - state_gru_cell_z_sigmoid
        state_gru_cell_r_add = state_gru_cell_r_split + state_gru_cell_r_split2_0
        state_gru_cell_r_sigmoid = jax.nn.sigmoid(state_gru_cell_r_add)
        state_gru_cell_n_mul = state_gru_cell_r_sigmoid * state_gru_cell_r_split2_2
        state_gru_cell_n_add = state_gru_cell_r_split_out2 + state_gru_cell_n_mul
        state_gru_cell_n_tanh = jnp.tanh(state_gru_cell_n_add)
        state_gru_cell_mul = state_gru_cell_sub * state_gru_cell_n_tanh
        state_gru_cell_mul2 = state_gru_cell_z_sigmoid * h
        state = state_gru_cell_mul + state_gru_cell_mul2
        logits_linear_matmul = jnp.einsum("ij,kj->ik", state, net_out_w)
        logits = logits_linear_matmul + net_out_b
        cost_log_softmax_logsumexp = jax.nn.logsumexp(logits, axis=1, keepdims=True)
        cost_log_softmax_sub = logits - cost_log_softmax_logsumexp
        holds = jnp.all((cost_expand_dims >= -58) & (cost_expand_dims < 58))
        cost_take_along_take_along = jnp.take_along_axis(cost_log_softmax_sub, jnp.where(cost_expand_dims < 0, cost_expand_dims + 58, cost_expand_dims), axis=1, mode="clip")
        cost_mean = jnp.sum(cost_take_along_take_along, axis=(0, 1)) / jnp.float32(16)
        cost = -cost_mean
        loss_d_cost_log_softmax_logsumexp_exp = jnp.exp(cost_log_softmax_sub)
        loss_d_cost_log_softmax_logsumexp_mul = loss_d_cost_log_softmax_sub_sum * loss_d_cost_log_softmax_logsumexp_exp
        loss_d_logits_add = loss_d_cost_log_softmax_logsumexp_mul - loss_d_cost_take_along_sum
        loss_d_logits_linear_matmul_einsum = jnp.matmul(loss_d_logits_add, net_out_w)
        loss_d_state_gru_cell_z_sigmoid_add_sub = h - state_gru_cell_n_tanh
        loss_d_state_gru_cell_z_sigmoid_mul = state_gru_cell_z_sigmoid * state_gru_cell_sub
        loss_d_state_gru_cell_n_tanh_mul = state_gru_cell_n_tanh * state_gru_cell_n_tanh
        loss_d_state_gru_cell_n_tanh_sub = jnp.float32(1.0) - loss_d_state_gru_cell_n_tanh_mul
        loss_d_state_gru_cell_r_sigmoid_sub = jnp.float32(1.0) - state_gru_cell_r_sigmoid
        loss_d_state_gru_cell_r_sigmoid_mul = state_gru_cell_r_sigmoid * loss_d_state_gru_cell_r_sigmoid_sub
        return (state_gru_cell_r_split2_2, state_gru_cell_z_sigmoid, state_gru_cell_sub, state_gru_cell_r_sigmoid, state, cost, loss_d_logits_add, loss_d_logits_linear_matmul_einsum, loss_d_state_gru_cell_z_sigmoid_add_sub, loss_d_state_gru_cell_z_sigmoid_mul, loss_d_state_gru_cell_n_tanh_sub, loss_d_state_gru_cell_r_sigmoid_mul, jnp.where(holds, jnp.int32(0), jnp.int32(1)))
    state_gru_cell_r_split2_2_rows, state_gru_cell_z_sigmoid_rows, state_gru_cell_sub_rows, state_gru_cell_r_sigmoid_rows, state_rows, cost_rows, loss_d_logits_add_rows, loss_d_logits_linear_matmul_einsum_rows, loss_d_state_gru_cell_z_sigmoid_add_sub_rows, loss_d_state_gru_cell_z_sigmoid_mul_rows, loss_d_state_gru_cell_n_tanh_sub_rows, loss_d_state_gru_cell_r_sigmoid_mul_rows, fault = jax.vmap(point)(h, state_gru_cell_r_split_out1, state_gru_cell_r_split, state_gru_cell_r_split_out2, cost_expand_dims, loss_d_cost_log_softmax_sub_sum, loss_d_cost_take_along_sum)
    faults = jnp.ravel(fault)
    first = jnp.argmax(faults != 0)
    return state_gru_cell_r_split2_2_rows, state_gru_cell_z_sigmoid_rows, state_gru_cell_sub_rows, state_gru_cell_r_sigmoid_rows, state_rows, cost_rows, loss_d_logits_add_rows, loss_d_logits_linear_matmul_einsum_rows, loss_d_state_gru_cell_z_sigmoid_add_sub_rows, loss_d_state_gru_cell_z_sigmoid_mul_rows, loss_d_state_gru_cell_n_tanh_sub_rows, loss_d_state_gru_cell_r_sigmoid_mul_rows, jnp.stack([faults[first], first.astype(jnp.int32)])


def h_1(at, state_prev, h, *, T):
    """gru.rt:27: h[i, 0] = stop_gradient(state[i-1, T-1])"""
    state_at = state_prev[T-1]
    h = lax.dynamic_update_index_in_dim(h, state_at, 0, 0)
    return (h,)


def h_rows(
    at, h, state_gru_cell_r_split_out1, state_gru_cell_r_split_out2, state_gru_cell_r_split,
    net_cell_u, net_cell_c, *, T,
):
    """gru.rt:26: h[0, 0] = zeros([B, H])
    gru.rt:27: h[i, 0] = stop_gradient(state[i-1, T-1])
    gru.rt:28: h[i, t] = state[i, t-1]
    gru.rt:32: loss = mean(cost[t = 0:T])
    nn.rt:137: return (1.0 - z) * n + z * h
    nn.rt:217: return (2.0 * random.uniform(shape) - 1.0) * sqrt(6.0 / (shape[0] + shape[1]))
    nn.rt:261: return gain * q if shape[0] >= shape[1] else gain * q.T
    """
    h_0 = h[0]
    def step(k, rows):
        before = rows[k]
        state_gru_cell_r_split_out1_row = state_gru_cell_r_split_out1[k]
        state_gru_cell_r_split_out2_row = state_gru_cell_r_split_out2[k]
        state_gru_cell_r_split_row = state_gru_cell_r_split[k]
        einsum = jnp.einsum("ij,kj->ik", before, net_cell_u)
        add = einsum + net_cell_c
        split = lax.slice_in_dim(add, 0, 96, axis=1)
        split2 = lax.slice_in_dim(add, 96, 192, axis=1)
        split3 = lax.slice_in_dim(add, 192, 288, axis=1)
        add2 = state_gru_cell_r_split_out1_row + split2
        sigmoid = jax.nn.sigmoid(add2)
        sub = jnp.float32(1.0) - sigmoid
        add3 = state_gru_cell_r_split_row + split
        sigmoid2 = jax.nn.sigmoid(add3)
        mul = sigmoid2 * split3
        add4 = state_gru_cell_r_split_out2_row + mul
        tanh = jnp.tanh(add4)
        mul2 = sub * tanh
        mul3 = sigmoid * before
        add5 = mul2 + mul3
        copy = add5
        return lax.dynamic_update_index_in_dim(rows, copy, k+1, 0)
    h_rows = lax.fori_loop(0, T-1, step, jnp.broadcast_to(h_0, (T, 16, 96)))
    return (h_rows,)


def h_2(at, h_rows, h, *, T):
    """gru.rt:28: h[i, t] = state[i, t-1]"""
    h_rows_t_rows = h_rows[1:T]
    h2 = lax.dynamic_update_slice(h, h_rows_t_rows, (1, 0, 0))
    return (h2,)


def loss(
    at, cost, loss_d_logits_linear_matmul_einsum, state_gru_cell_z_sigmoid,
    loss_d_state_gru_cell_z_sigmoid_add_sub, loss_d_state_gru_cell_z_sigmoid_mul,
    state_gru_cell_sub, loss_d_state_gru_cell_n_tanh_sub, state_gru_cell_r_sigmoid,
    state_gru_cell_r_split2_out2, loss_d_state_gru_cell_r_sigmoid_mul, net_cell_u, loss, *, T,
):
    """gru.rt:26: h[0, 0] = zeros([B, H])
    gru.rt:29: state[i, t] = nn.gru_cell(net[i].letters[letter], h[i, t], net[i].cell)
    gru.rt:32: loss = mean(cost[t = 0:T])
    nn.rt:136: n = tanh(split(a, 3, -1)[2] + r * split(g, 3, -1)[2])
    """
    i = at[0]
    loss_i = jnp.sum(cost, axis=0) / jnp.float32(T)
    h_0_2 = jnp.full((16, 96), jnp.float32(0.0))
    loss_d_logits_linear_matmul_einsum_at = loss_d_logits_linear_matmul_einsum[T-1]
    def step(k, rows):
        k2 = T-2 - k
        before = rows[k2+1]
        loss_d_logits_linear_matmul_einsum_row = loss_d_logits_linear_matmul_einsum[k2]
        state_gru_cell_z_sigmoid_row = state_gru_cell_z_sigmoid[k2+1]
        loss_d_state_gru_cell_z_sigmoid_add_sub_row = loss_d_state_gru_cell_z_sigmoid_add_sub[k2+1]
        loss_d_state_gru_cell_z_sigmoid_mul_row = loss_d_state_gru_cell_z_sigmoid_mul[k2+1]
        state_gru_cell_sub_row = state_gru_cell_sub[k2+1]
        loss_d_state_gru_cell_n_tanh_sub_row = loss_d_state_gru_cell_n_tanh_sub[k2+1]
        state_gru_cell_r_sigmoid_row = state_gru_cell_r_sigmoid[k2+1]
        state_gru_cell_r_split2_out2_row = state_gru_cell_r_split2_out2[k2+1]
        loss_d_state_gru_cell_r_sigmoid_mul_row = loss_d_state_gru_cell_r_sigmoid_mul[k2+1]
        mul = before * state_gru_cell_z_sigmoid_row
        mul2 = before * loss_d_state_gru_cell_z_sigmoid_add_sub_row
        mul3 = mul2 * loss_d_state_gru_cell_z_sigmoid_mul_row
        concat = jnp.concatenate([h_0_2, mul3, h_0_2], axis=1)
        mul4 = before * state_gru_cell_sub_row
        mul5 = mul4 * loss_d_state_gru_cell_n_tanh_sub_row
        mul6 = mul5 * state_gru_cell_r_sigmoid_row
        concat2 = jnp.concatenate([h_0_2, h_0_2, mul6], axis=1)
        add = concat + concat2
        mul7 = mul5 * state_gru_cell_r_split2_out2_row
        mul8 = mul7 * loss_d_state_gru_cell_r_sigmoid_mul_row
        concat3 = jnp.concatenate([mul8, h_0_2, h_0_2], axis=1)
        add2 = add + concat3
        matmul = jnp.matmul(add2, net_cell_u)
        add3 = mul + matmul
        add4 = loss_d_logits_linear_matmul_einsum_row + add3
        return lax.dynamic_update_index_in_dim(rows, add4, k2, 0)
    loss_d_state_rows = lax.fori_loop(0, T-1, step, jnp.broadcast_to(loss_d_logits_linear_matmul_einsum_at, (T, 16, 96)))
    loss = lax.dynamic_update_index_in_dim(loss, loss_i, i, 0)
    return loss, loss_d_state_rows


def net_adam_adam_direction_v_moving_average_m_out_b_0(
    at, net_adam_adam_direction_m_moving_average_m_letters_prev,
    net_adam_adam_direction_m_moving_average_m_cell_w_prev,
    net_adam_adam_direction_m_moving_average_m_cell_u_prev,
    net_adam_adam_direction_m_moving_average_m_cell_b_prev,
    net_adam_adam_direction_m_moving_average_m_cell_c_prev,
    net_adam_adam_direction_m_moving_average_m_out_w_prev,
    net_adam_adam_direction_m_moving_average_m_out_b_prev, loss_d_net_letters_sum,
    loss_d_state_gru_cell_a_transpose_transpose, loss_d_state_gru_cell_g_transpose_transpose,
    loss_d_net_cell_b_sum, loss_d_net_cell_c_sum, loss_d_logits_linear_transpose_transpose,
    loss_d_net_out_b_sum, net_adam_adam_direction_v_moving_average_m_letters_prev,
    net_adam_adam_direction_v_moving_average_m_cell_w_prev,
    net_adam_adam_direction_v_moving_average_m_cell_u_prev,
    net_adam_adam_direction_v_moving_average_m_cell_b_prev,
    net_adam_adam_direction_v_moving_average_m_cell_c_prev,
    net_adam_adam_direction_v_moving_average_m_out_w_prev,
    net_adam_adam_direction_v_moving_average_m_out_b_prev, net_adam_adam_direction_v_mul,
    net_adam_adam_direction_v_mul2, net_adam_adam_direction_v_mul3, net_adam_adam_direction_v_mul4,
    net_adam_adam_direction_v_mul5, net_adam_adam_direction_v_mul6, net_adam_adam_direction_v_mul7,
):
    """optim.rt:63: m[i] = decay * m[i-1] + (1.0 - decay) * x when i >= 1"""
    net_adam_adam_direction_m_moving_average_m_mul = jnp.float32(0.9) * net_adam_adam_direction_m_moving_average_m_letters_prev
    net_adam_adam_direction_m_moving_average_m_mul2 = jnp.float32(0.9) * net_adam_adam_direction_m_moving_average_m_cell_w_prev
    net_adam_adam_direction_m_moving_average_m_mul3 = jnp.float32(0.9) * net_adam_adam_direction_m_moving_average_m_cell_u_prev
    net_adam_adam_direction_m_moving_average_m_mul4 = jnp.float32(0.9) * net_adam_adam_direction_m_moving_average_m_cell_b_prev
    net_adam_adam_direction_m_moving_average_m_mul5 = jnp.float32(0.9) * net_adam_adam_direction_m_moving_average_m_cell_c_prev
    net_adam_adam_direction_m_moving_average_m_mul6 = jnp.float32(0.9) * net_adam_adam_direction_m_moving_average_m_out_w_prev
    net_adam_adam_direction_m_moving_average_m_mul7 = jnp.float32(0.9) * net_adam_adam_direction_m_moving_average_m_out_b_prev
    net_adam_adam_direction_m_moving_average_m_mul8 = jnp.float32(0.09999999999999998) * loss_d_net_letters_sum
    net_adam_adam_direction_m_moving_average_m_mul9 = jnp.float32(0.09999999999999998) * loss_d_state_gru_cell_a_transpose_transpose
    net_adam_adam_direction_m_moving_average_m_mul10 = jnp.float32(0.09999999999999998) * loss_d_state_gru_cell_g_transpose_transpose
    net_adam_adam_direction_m_moving_average_m_mul11 = jnp.float32(0.09999999999999998) * loss_d_net_cell_b_sum
    net_adam_adam_direction_m_moving_average_m_mul12 = jnp.float32(0.09999999999999998) * loss_d_net_cell_c_sum
    net_adam_adam_direction_m_moving_average_m_mul13 = jnp.float32(0.09999999999999998) * loss_d_logits_linear_transpose_transpose
    net_adam_adam_direction_m_moving_average_m_mul14 = jnp.float32(0.09999999999999998) * loss_d_net_out_b_sum
    net_adam_adam_direction_m_moving_average_m_letters_0 = net_adam_adam_direction_m_moving_average_m_mul + net_adam_adam_direction_m_moving_average_m_mul8
    net_adam_adam_direction_m_moving_average_m_cell_w_0 = net_adam_adam_direction_m_moving_average_m_mul2 + net_adam_adam_direction_m_moving_average_m_mul9
    net_adam_adam_direction_m_moving_average_m_cell_u_0 = net_adam_adam_direction_m_moving_average_m_mul3 + net_adam_adam_direction_m_moving_average_m_mul10
    net_adam_adam_direction_m_moving_average_m_cell_b_0 = net_adam_adam_direction_m_moving_average_m_mul4 + net_adam_adam_direction_m_moving_average_m_mul11
    net_adam_adam_direction_m_moving_average_m_cell_c_0 = net_adam_adam_direction_m_moving_average_m_mul5 + net_adam_adam_direction_m_moving_average_m_mul12
    net_adam_adam_direction_m_moving_average_m_out_w_0 = net_adam_adam_direction_m_moving_average_m_mul6 + net_adam_adam_direction_m_moving_average_m_mul13
    net_adam_adam_direction_m_moving_average_m_out_b_0 = net_adam_adam_direction_m_moving_average_m_mul7 + net_adam_adam_direction_m_moving_average_m_mul14
    net_adam_adam_direction_v_moving_average_m_mul = jnp.float32(0.999) * net_adam_adam_direction_v_moving_average_m_letters_prev
    net_adam_adam_direction_v_moving_average_m_mul2 = jnp.float32(0.999) * net_adam_adam_direction_v_moving_average_m_cell_w_prev
    net_adam_adam_direction_v_moving_average_m_mul3 = jnp.float32(0.999) * net_adam_adam_direction_v_moving_average_m_cell_u_prev
    net_adam_adam_direction_v_moving_average_m_mul4 = jnp.float32(0.999) * net_adam_adam_direction_v_moving_average_m_cell_b_prev
    net_adam_adam_direction_v_moving_average_m_mul5 = jnp.float32(0.999) * net_adam_adam_direction_v_moving_average_m_cell_c_prev
    net_adam_adam_direction_v_moving_average_m_mul6 = jnp.float32(0.999) * net_adam_adam_direction_v_moving_average_m_out_w_prev
    net_adam_adam_direction_v_moving_average_m_mul7 = jnp.float32(0.999) * net_adam_adam_direction_v_moving_average_m_out_b_prev
    net_adam_adam_direction_v_moving_average_m_mul8 = jnp.float32(0.0010000000000000009) * net_adam_adam_direction_v_mul
    net_adam_adam_direction_v_moving_average_m_mul9 = jnp.float32(0.0010000000000000009) * net_adam_adam_direction_v_mul2
    net_adam_adam_direction_v_moving_average_m_mul10 = jnp.float32(0.0010000000000000009) * net_adam_adam_direction_v_mul3
    net_adam_adam_direction_v_moving_average_m_mul11 = jnp.float32(0.0010000000000000009) * net_adam_adam_direction_v_mul4
    net_adam_adam_direction_v_moving_average_m_mul12 = jnp.float32(0.0010000000000000009) * net_adam_adam_direction_v_mul5
    net_adam_adam_direction_v_moving_average_m_mul13 = jnp.float32(0.0010000000000000009) * net_adam_adam_direction_v_mul6
    net_adam_adam_direction_v_moving_average_m_mul14 = jnp.float32(0.0010000000000000009) * net_adam_adam_direction_v_mul7
    net_adam_adam_direction_v_moving_average_m_letters_0 = net_adam_adam_direction_v_moving_average_m_mul + net_adam_adam_direction_v_moving_average_m_mul8
    net_adam_adam_direction_v_moving_average_m_cell_w_0 = net_adam_adam_direction_v_moving_average_m_mul2 + net_adam_adam_direction_v_moving_average_m_mul9
    net_adam_adam_direction_v_moving_average_m_cell_u_0 = net_adam_adam_direction_v_moving_average_m_mul3 + net_adam_adam_direction_v_moving_average_m_mul10
    net_adam_adam_direction_v_moving_average_m_cell_b_0 = net_adam_adam_direction_v_moving_average_m_mul4 + net_adam_adam_direction_v_moving_average_m_mul11
    net_adam_adam_direction_v_moving_average_m_cell_c_0 = net_adam_adam_direction_v_moving_average_m_mul5 + net_adam_adam_direction_v_moving_average_m_mul12
    net_adam_adam_direction_v_moving_average_m_out_w_0 = net_adam_adam_direction_v_moving_average_m_mul6 + net_adam_adam_direction_v_moving_average_m_mul13
    net_adam_adam_direction_v_moving_average_m_out_b_0 = net_adam_adam_direction_v_moving_average_m_mul7 + net_adam_adam_direction_v_moving_average_m_mul14
    return net_adam_adam_direction_m_moving_average_m_letters_0, net_adam_adam_direction_m_moving_average_m_cell_w_0, net_adam_adam_direction_m_moving_average_m_cell_u_0, net_adam_adam_direction_m_moving_average_m_cell_b_0, net_adam_adam_direction_m_moving_average_m_cell_c_0, net_adam_adam_direction_m_moving_average_m_out_w_0, net_adam_adam_direction_m_moving_average_m_out_b_0, net_adam_adam_direction_v_moving_average_m_letters_0, net_adam_adam_direction_v_moving_average_m_cell_w_0, net_adam_adam_direction_v_moving_average_m_cell_u_0, net_adam_adam_direction_v_moving_average_m_cell_b_0, net_adam_adam_direction_v_moving_average_m_cell_c_0, net_adam_adam_direction_v_moving_average_m_out_w_0, net_adam_adam_direction_v_moving_average_m_out_b_0


def loss_d_logits_sum(
    at, loss_d_state_gru_cell_n_tanh_mul2, loss_d_state_gru_cell_z_sigmoid_mul2,
    loss_d_state_gru_cell_r_sigmoid_mul2, net_cell_w, letter, loss_d_state_gru_cell_g_add_add2,
    loss_d_logits_add,
):
    """gru.rt:26: h[0, 0] = zeros([B, H])
    gru.rt:29: state[i, t] = nn.gru_cell(net[i].letters[letter], h[i, t], net[i].cell)
    gru.rt:30: logits = nn.linear(state, net.out.w, net.out.b)
    nn.rt:132: a = x @ cell.w.T + cell.b
    nn.rt:133: g = h @ cell.u.T + cell.c
    nn.rt:134: r = sigmoid(split(a, 3, -1)[0] + split(g, 3, -1)[0])
    nn.rt:135: z = sigmoid(split(a, 3, -1)[1] + split(g, 3, -1)[1])
    nn.rt:136: n = tanh(split(a, 3, -1)[2] + r * split(g, 3, -1)[2])
    """
    def point(loss_d_state_gru_cell_n_tanh_mul2, loss_d_state_gru_cell_z_sigmoid_mul2, loss_d_state_gru_cell_r_sigmoid_mul2, letter, loss_d_state_gru_cell_g_add_add2, loss_d_logits_add):
        h_0_3 = jnp.full((16, 96), jnp.float32(0.0))
        loss_d_state_gru_cell_n_split_concat = jnp.concatenate([h_0_3, h_0_3, loss_d_state_gru_cell_n_tanh_mul2], axis=1)
        loss_d_state_gru_cell_z_split_concat = jnp.concatenate([h_0_3, loss_d_state_gru_cell_z_sigmoid_mul2, h_0_3], axis=1)
        loss_d_state_gru_cell_a_add_add = loss_d_state_gru_cell_n_split_concat + loss_d_state_gru_cell_z_split_concat
        loss_d_state_gru_cell_r_split_concat = jnp.concatenate([loss_d_state_gru_cell_r_sigmoid_mul2, h_0_3, h_0_3], axis=1)
        loss_d_state_gru_cell_a_add_add2 = loss_d_state_gru_cell_a_add_add + loss_d_state_gru_cell_r_split_concat
        loss_d_state_gru_cell_a_matmul_einsum = jnp.matmul(loss_d_state_gru_cell_a_add_add2, net_cell_w)
        holds = jnp.all((letter >= -58) & (letter < 58))
        loss_d_state_getitem_scatter_add = jnp.zeros((58, 24), jnp.float32).at[jnp.where(letter < 0, letter + 58, letter)].add(loss_d_state_gru_cell_a_matmul_einsum, mode="drop")
        loss_d_state_gru_cell_a_add_sum = jnp.sum(loss_d_state_gru_cell_a_add_add2, axis=0)
        loss_d_state_gru_cell_g_add_sum = jnp.sum(loss_d_state_gru_cell_g_add_add2, axis=0)
        loss_d_logits_sum = jnp.sum(loss_d_logits_add, axis=0)
        return (loss_d_state_gru_cell_a_add_add2, loss_d_state_getitem_scatter_add, loss_d_state_gru_cell_a_add_sum, loss_d_state_gru_cell_g_add_sum, loss_d_logits_sum, jnp.where(holds, jnp.int32(0), jnp.int32(1)))
    loss_d_state_gru_cell_a_add_add2_rows, loss_d_state_getitem_scatter_add_rows, loss_d_state_gru_cell_a_add_sum_rows, loss_d_state_gru_cell_g_add_sum_rows, loss_d_logits_sum_rows, fault = jax.vmap(point)(loss_d_state_gru_cell_n_tanh_mul2, loss_d_state_gru_cell_z_sigmoid_mul2, loss_d_state_gru_cell_r_sigmoid_mul2, letter, loss_d_state_gru_cell_g_add_add2, loss_d_logits_add)
    faults = jnp.ravel(fault)
    first = jnp.argmax(faults != 0)
    return loss_d_state_gru_cell_a_add_add2_rows, loss_d_state_getitem_scatter_add_rows, loss_d_state_gru_cell_a_add_sum_rows, loss_d_state_gru_cell_g_add_sum_rows, loss_d_logits_sum_rows, jnp.stack([faults[first], first.astype(jnp.int32)])


def loss_d_state_gru_cell_g_add_add2(
    at, state_gru_cell_sub, loss_d_state_gru_cell_n_tanh_sub,
    loss_d_state_gru_cell_z_sigmoid_add_sub, loss_d_state_gru_cell_z_sigmoid_mul,
    state_gru_cell_r_split2_out2, loss_d_state_gru_cell_r_sigmoid_mul, state_gru_cell_r_sigmoid,
    loss_d_state_rows,
):
    """gru.rt:26: h[0, 0] = zeros([B, H])
    gru.rt:29: state[i, t] = nn.gru_cell(net[i].letters[letter], h[i, t], net[i].cell)
    nn.rt:133: g = h @ cell.u.T + cell.c
    nn.rt:134: r = sigmoid(split(a, 3, -1)[0] + split(g, 3, -1)[0])
    nn.rt:135: z = sigmoid(split(a, 3, -1)[1] + split(g, 3, -1)[1])
    nn.rt:136: n = tanh(split(a, 3, -1)[2] + r * split(g, 3, -1)[2])
    nn.rt:137: return (1.0 - z) * n + z * h
    """
    def point(loss_d_state_rows_t, state_gru_cell_sub, loss_d_state_gru_cell_n_tanh_sub, loss_d_state_gru_cell_z_sigmoid_add_sub, loss_d_state_gru_cell_z_sigmoid_mul, state_gru_cell_r_split2_out2, loss_d_state_gru_cell_r_sigmoid_mul, state_gru_cell_r_sigmoid):
        loss_d_state_gru_cell_mul_mul2 = loss_d_state_rows_t * state_gru_cell_sub
        loss_d_state_gru_cell_n_tanh_mul2 = loss_d_state_gru_cell_mul_mul2 * loss_d_state_gru_cell_n_tanh_sub
        loss_d_state_gru_cell_z_sigmoid_add = loss_d_state_rows_t * loss_d_state_gru_cell_z_sigmoid_add_sub
        loss_d_state_gru_cell_z_sigmoid_mul2 = loss_d_state_gru_cell_z_sigmoid_add * loss_d_state_gru_cell_z_sigmoid_mul
        loss_d_state_gru_cell_n_mul_mul = loss_d_state_gru_cell_n_tanh_mul2 * state_gru_cell_r_split2_out2
        loss_d_state_gru_cell_r_sigmoid_mul2 = loss_d_state_gru_cell_n_mul_mul * loss_d_state_gru_cell_r_sigmoid_mul
        h_0_4 = jnp.full((16, 96), jnp.float32(0.0))
        loss_d_state_gru_cell_z_split2_concat = jnp.concatenate([h_0_4, loss_d_state_gru_cell_z_sigmoid_mul2, h_0_4], axis=1)
        loss_d_state_gru_cell_n_mul_mul2 = loss_d_state_gru_cell_n_tanh_mul2 * state_gru_cell_r_sigmoid
        loss_d_state_gru_cell_n_split2_concat = jnp.concatenate([h_0_4, h_0_4, loss_d_state_gru_cell_n_mul_mul2], axis=1)
        loss_d_state_gru_cell_g_add_add = loss_d_state_gru_cell_z_split2_concat + loss_d_state_gru_cell_n_split2_concat
        loss_d_state_gru_cell_r_split2_concat = jnp.concatenate([loss_d_state_gru_cell_r_sigmoid_mul2, h_0_4, h_0_4], axis=1)
        loss_d_state_gru_cell_g_add_add2 = loss_d_state_gru_cell_g_add_add + loss_d_state_gru_cell_r_split2_concat
        return (loss_d_state_gru_cell_n_tanh_mul2, loss_d_state_gru_cell_z_sigmoid_mul2, loss_d_state_gru_cell_r_sigmoid_mul2, loss_d_state_gru_cell_g_add_add2)
    loss_d_state_gru_cell_n_tanh_mul2_rows, loss_d_state_gru_cell_z_sigmoid_mul2_rows, loss_d_state_gru_cell_r_sigmoid_mul2_rows, loss_d_state_gru_cell_g_add_add2_rows = jax.vmap(point)(loss_d_state_rows, state_gru_cell_sub, loss_d_state_gru_cell_n_tanh_sub, loss_d_state_gru_cell_z_sigmoid_add_sub, loss_d_state_gru_cell_z_sigmoid_mul, state_gru_cell_r_split2_out2, loss_d_state_gru_cell_r_sigmoid_mul, state_gru_cell_r_sigmoid)
    return loss_d_state_gru_cell_n_tanh_mul2_rows, loss_d_state_gru_cell_z_sigmoid_mul2_rows, loss_d_state_gru_cell_r_sigmoid_mul2_rows, loss_d_state_gru_cell_g_add_add2_rows


def net_adam_adam_direction_v_mul7(
    at, loss_d_state_getitem_scatter_add, loss_d_state_gru_cell_a_add_add2, state_getitem,
    loss_d_state_gru_cell_g_add_add2, h, loss_d_state_gru_cell_a_add_sum,
    loss_d_state_gru_cell_g_add_sum, loss_d_logits_add, state, loss_d_logits_sum,
):
    """gru.rt:34: net[0] = start
    gru.rt:35: net[i+1] = optim.adam(net, grad(loss, net), i, lr = 5e-3)
    nn.rt:29: return x @ w.T + b
    nn.rt:132: a = x @ cell.w.T + cell.b
    nn.rt:133: g = h @ cell.u.T + cell.c
    optim.rt:57: v = moving_average(g * g, i, b2) / seen(i, b2)
    """
    loss_d_net_letters_sum = jnp.sum(loss_d_state_getitem_scatter_add, axis=0)
    loss_d_state_gru_cell_a_transpose_transpose = jnp.einsum("ijk,ijl->kl", loss_d_state_gru_cell_a_add_add2, state_getitem)
    loss_d_state_gru_cell_g_transpose_transpose = jnp.einsum("ijk,ijl->kl", loss_d_state_gru_cell_g_add_add2, h)
    loss_d_net_cell_b_sum = jnp.sum(loss_d_state_gru_cell_a_add_sum, axis=0)
    loss_d_net_cell_c_sum = jnp.sum(loss_d_state_gru_cell_g_add_sum, axis=0)
    loss_d_logits_linear_transpose_transpose = jnp.einsum("ijk,ijl->kl", loss_d_logits_add, state)
    loss_d_net_out_b_sum = jnp.sum(loss_d_logits_sum, axis=0)
    net_adam_adam_direction_v_mul = loss_d_net_letters_sum * loss_d_net_letters_sum
    net_adam_adam_direction_v_mul2 = loss_d_state_gru_cell_a_transpose_transpose * loss_d_state_gru_cell_a_transpose_transpose
    net_adam_adam_direction_v_mul3 = loss_d_state_gru_cell_g_transpose_transpose * loss_d_state_gru_cell_g_transpose_transpose
    net_adam_adam_direction_v_mul4 = loss_d_net_cell_b_sum * loss_d_net_cell_b_sum
    net_adam_adam_direction_v_mul5 = loss_d_net_cell_c_sum * loss_d_net_cell_c_sum
    net_adam_adam_direction_v_mul6 = loss_d_logits_linear_transpose_transpose * loss_d_logits_linear_transpose_transpose
    net_adam_adam_direction_v_mul7 = loss_d_net_out_b_sum * loss_d_net_out_b_sum
    return loss_d_net_letters_sum, loss_d_state_gru_cell_a_transpose_transpose, loss_d_state_gru_cell_g_transpose_transpose, loss_d_net_cell_b_sum, loss_d_net_cell_c_sum, loss_d_logits_linear_transpose_transpose, loss_d_net_out_b_sum, net_adam_adam_direction_v_mul, net_adam_adam_direction_v_mul2, net_adam_adam_direction_v_mul3, net_adam_adam_direction_v_mul4, net_adam_adam_direction_v_mul5, net_adam_adam_direction_v_mul6, net_adam_adam_direction_v_mul7


def net_adam_adam_direction_v_moving_average_m_out_b_1(
    at, loss_d_net_letters_sum, loss_d_state_gru_cell_a_transpose_transpose,
    loss_d_state_gru_cell_g_transpose_transpose, loss_d_net_cell_b_sum, loss_d_net_cell_c_sum,
    loss_d_logits_linear_transpose_transpose, loss_d_net_out_b_sum, net_adam_adam_direction_v_mul,
    net_adam_adam_direction_v_mul2, net_adam_adam_direction_v_mul3, net_adam_adam_direction_v_mul4,
    net_adam_adam_direction_v_mul5, net_adam_adam_direction_v_mul6, net_adam_adam_direction_v_mul7,
):
    """optim.rt:64: m[i] = (1.0 - decay) * x"""
    net_adam_adam_direction_m_moving_average_m_letters_1 = jnp.float32(0.09999999999999998) * loss_d_net_letters_sum
    net_adam_adam_direction_m_moving_average_m_cell_w_1 = jnp.float32(0.09999999999999998) * loss_d_state_gru_cell_a_transpose_transpose
    net_adam_adam_direction_m_moving_average_m_cell_u_1 = jnp.float32(0.09999999999999998) * loss_d_state_gru_cell_g_transpose_transpose
    net_adam_adam_direction_m_moving_average_m_cell_b_1 = jnp.float32(0.09999999999999998) * loss_d_net_cell_b_sum
    net_adam_adam_direction_m_moving_average_m_cell_c_1 = jnp.float32(0.09999999999999998) * loss_d_net_cell_c_sum
    net_adam_adam_direction_m_moving_average_m_out_w_1 = jnp.float32(0.09999999999999998) * loss_d_logits_linear_transpose_transpose
    net_adam_adam_direction_m_moving_average_m_out_b_1 = jnp.float32(0.09999999999999998) * loss_d_net_out_b_sum
    net_adam_adam_direction_v_moving_average_m_letters_1 = jnp.float32(0.0010000000000000009) * net_adam_adam_direction_v_mul
    net_adam_adam_direction_v_moving_average_m_cell_w_1 = jnp.float32(0.0010000000000000009) * net_adam_adam_direction_v_mul2
    net_adam_adam_direction_v_moving_average_m_cell_u_1 = jnp.float32(0.0010000000000000009) * net_adam_adam_direction_v_mul3
    net_adam_adam_direction_v_moving_average_m_cell_b_1 = jnp.float32(0.0010000000000000009) * net_adam_adam_direction_v_mul4
    net_adam_adam_direction_v_moving_average_m_cell_c_1 = jnp.float32(0.0010000000000000009) * net_adam_adam_direction_v_mul5
    net_adam_adam_direction_v_moving_average_m_out_w_1 = jnp.float32(0.0010000000000000009) * net_adam_adam_direction_v_mul6
    net_adam_adam_direction_v_moving_average_m_out_b_1 = jnp.float32(0.0010000000000000009) * net_adam_adam_direction_v_mul7
    return net_adam_adam_direction_m_moving_average_m_letters_1, net_adam_adam_direction_m_moving_average_m_cell_w_1, net_adam_adam_direction_m_moving_average_m_cell_u_1, net_adam_adam_direction_m_moving_average_m_cell_b_1, net_adam_adam_direction_m_moving_average_m_cell_c_1, net_adam_adam_direction_m_moving_average_m_out_w_1, net_adam_adam_direction_m_moving_average_m_out_b_1, net_adam_adam_direction_v_moving_average_m_letters_1, net_adam_adam_direction_v_moving_average_m_cell_w_1, net_adam_adam_direction_v_moving_average_m_cell_u_1, net_adam_adam_direction_v_moving_average_m_cell_b_1, net_adam_adam_direction_v_moving_average_m_cell_c_1, net_adam_adam_direction_v_moving_average_m_out_w_1, net_adam_adam_direction_v_moving_average_m_out_b_1


def net_out_b_1(
    at, net_adam_adam_direction_m_moving_average_m_letters,
    net_adam_adam_direction_m_moving_average_m_cell_w,
    net_adam_adam_direction_m_moving_average_m_cell_u,
    net_adam_adam_direction_m_moving_average_m_cell_b,
    net_adam_adam_direction_m_moving_average_m_cell_c,
    net_adam_adam_direction_m_moving_average_m_out_w,
    net_adam_adam_direction_m_moving_average_m_out_b,
    net_adam_adam_direction_v_moving_average_m_letters,
    net_adam_adam_direction_v_moving_average_m_cell_w,
    net_adam_adam_direction_v_moving_average_m_cell_u,
    net_adam_adam_direction_v_moving_average_m_cell_b,
    net_adam_adam_direction_v_moving_average_m_cell_c,
    net_adam_adam_direction_v_moving_average_m_out_w,
    net_adam_adam_direction_v_moving_average_m_out_b, net_letters, net_cell_w, net_cell_u,
    net_cell_b, net_cell_c, net_out_w, net_out_b,
):
    """gru.rt:35: net[i+1] = optim.adam(net, grad(loss, net), i, lr = 5e-3)
    optim.rt:37: return x - lr * adam_direction(g, i, b1, b2, eps)
    optim.rt:56: m = moving_average(g, i, b1) / seen(i, b1)
    optim.rt:57: v = moving_average(g * g, i, b2) / seen(i, b2)
    optim.rt:58: return m / (sqrt(v) + eps)
    optim.rt:71: return -expm1((i + 1) * log(decay))
    """
    i = at[0]
    net_adam_adam_direction_m_seen_index = jnp.int32(i+1)
    net_adam_adam_direction_m_seen_mul = net_adam_adam_direction_m_seen_index.astype(jnp.float32) * jnp.float32(-0.10536051565782628)
    net_adam_adam_direction_m_seen_expm1 = jnp.expm1(net_adam_adam_direction_m_seen_mul)
    net_adam_adam_direction_m_seen_neg = -net_adam_adam_direction_m_seen_expm1
    net_adam_adam_direction_m_div = net_adam_adam_direction_m_moving_average_m_letters / net_adam_adam_direction_m_seen_neg
    net_adam_adam_direction_m_div2 = net_adam_adam_direction_m_moving_average_m_cell_w / net_adam_adam_direction_m_seen_neg
    net_adam_adam_direction_m_div3 = net_adam_adam_direction_m_moving_average_m_cell_u / net_adam_adam_direction_m_seen_neg
    net_adam_adam_direction_m_div4 = net_adam_adam_direction_m_moving_average_m_cell_b / net_adam_adam_direction_m_seen_neg
    net_adam_adam_direction_m_div5 = net_adam_adam_direction_m_moving_average_m_cell_c / net_adam_adam_direction_m_seen_neg
    net_adam_adam_direction_m_div6 = net_adam_adam_direction_m_moving_average_m_out_w / net_adam_adam_direction_m_seen_neg
    net_adam_adam_direction_m_div7 = net_adam_adam_direction_m_moving_average_m_out_b / net_adam_adam_direction_m_seen_neg
    net_adam_adam_direction_v_seen_mul = net_adam_adam_direction_m_seen_index.astype(jnp.float32) * jnp.float32(-0.0010005003335835344)
    net_adam_adam_direction_v_seen_expm1 = jnp.expm1(net_adam_adam_direction_v_seen_mul)
    net_adam_adam_direction_v_seen_neg = -net_adam_adam_direction_v_seen_expm1
    net_adam_adam_direction_v_div = net_adam_adam_direction_v_moving_average_m_letters / net_adam_adam_direction_v_seen_neg
    net_adam_adam_direction_v_div2 = net_adam_adam_direction_v_moving_average_m_cell_w / net_adam_adam_direction_v_seen_neg
    net_adam_adam_direction_v_div3 = net_adam_adam_direction_v_moving_average_m_cell_u / net_adam_adam_direction_v_seen_neg
    net_adam_adam_direction_v_div4 = net_adam_adam_direction_v_moving_average_m_cell_b / net_adam_adam_direction_v_seen_neg
    net_adam_adam_direction_v_div5 = net_adam_adam_direction_v_moving_average_m_cell_c / net_adam_adam_direction_v_seen_neg
    net_adam_adam_direction_v_div6 = net_adam_adam_direction_v_moving_average_m_out_w / net_adam_adam_direction_v_seen_neg
    net_adam_adam_direction_v_div7 = net_adam_adam_direction_v_moving_average_m_out_b / net_adam_adam_direction_v_seen_neg
    net_adam_adam_direction_sqrt = jnp.sqrt(net_adam_adam_direction_v_div)
    net_adam_adam_direction_sqrt2 = jnp.sqrt(net_adam_adam_direction_v_div2)
    net_adam_adam_direction_sqrt3 = jnp.sqrt(net_adam_adam_direction_v_div3)
    net_adam_adam_direction_sqrt4 = jnp.sqrt(net_adam_adam_direction_v_div4)
    net_adam_adam_direction_sqrt5 = jnp.sqrt(net_adam_adam_direction_v_div5)
    net_adam_adam_direction_sqrt6 = jnp.sqrt(net_adam_adam_direction_v_div6)
    net_adam_adam_direction_sqrt7 = jnp.sqrt(net_adam_adam_direction_v_div7)
    net_adam_adam_direction_add = net_adam_adam_direction_sqrt + jnp.float32(1e-08)
    net_adam_adam_direction_add2 = net_adam_adam_direction_sqrt2 + jnp.float32(1e-08)
    net_adam_adam_direction_add3 = net_adam_adam_direction_sqrt3 + jnp.float32(1e-08)
    net_adam_adam_direction_add4 = net_adam_adam_direction_sqrt4 + jnp.float32(1e-08)
    net_adam_adam_direction_add5 = net_adam_adam_direction_sqrt5 + jnp.float32(1e-08)
    net_adam_adam_direction_add6 = net_adam_adam_direction_sqrt6 + jnp.float32(1e-08)
    net_adam_adam_direction_add7 = net_adam_adam_direction_sqrt7 + jnp.float32(1e-08)
    net_adam_adam_direction_div = net_adam_adam_direction_m_div / net_adam_adam_direction_add
    net_adam_adam_direction_div2 = net_adam_adam_direction_m_div2 / net_adam_adam_direction_add2
    net_adam_adam_direction_div3 = net_adam_adam_direction_m_div3 / net_adam_adam_direction_add3
    net_adam_adam_direction_div4 = net_adam_adam_direction_m_div4 / net_adam_adam_direction_add4
    net_adam_adam_direction_div5 = net_adam_adam_direction_m_div5 / net_adam_adam_direction_add5
    net_adam_adam_direction_div6 = net_adam_adam_direction_m_div6 / net_adam_adam_direction_add6
    net_adam_adam_direction_div7 = net_adam_adam_direction_m_div7 / net_adam_adam_direction_add7
    net_adam_mul = jnp.float32(0.005) * net_adam_adam_direction_div
    net_adam_mul2 = jnp.float32(0.005) * net_adam_adam_direction_div2
    net_adam_mul3 = jnp.float32(0.005) * net_adam_adam_direction_div3
    net_adam_mul4 = jnp.float32(0.005) * net_adam_adam_direction_div4
    net_adam_mul5 = jnp.float32(0.005) * net_adam_adam_direction_div5
    net_adam_mul6 = jnp.float32(0.005) * net_adam_adam_direction_div6
    net_adam_mul7 = jnp.float32(0.005) * net_adam_adam_direction_div7
    net_letters_1 = net_letters - net_adam_mul
    net_cell_w_1 = net_cell_w - net_adam_mul2
    net_cell_u_1 = net_cell_u - net_adam_mul3
    net_cell_b_1 = net_cell_b - net_adam_mul4
    net_cell_c_1 = net_cell_c - net_adam_mul5
    net_out_w_1 = net_out_w - net_adam_mul6
    net_out_b_1 = net_out_b - net_adam_mul7
    return net_letters_1, net_cell_w_1, net_cell_u_1, net_cell_b_1, net_cell_c_1, net_out_w_1, net_out_b_1


def print_loss(at, loss):
    """gru.rt:38: print loss[i] when i % 50 == 0"""
    i = at[0]
    loss_i = loss[i]
    return (loss_i,)


def save_net(at, net_letters, net_cell_w, net_cell_u, net_cell_b, net_cell_c, net_out_w, net_out_b):
    """gru.rt:39: save net[i] to 'gru.safetensors' when i == I - 1"""
    return net_letters, net_cell_w, net_cell_u, net_cell_b, net_cell_c, net_out_w, net_out_b
