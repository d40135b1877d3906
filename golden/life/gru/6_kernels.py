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


def random_fold(key, *path):
    """The key folded with numbers, written out: rounds at many points fuse with what follows."""
    for number in path:
        key = jnp.stack(threefry(key, jnp.uint32(0), jnp.uint32(number)))
    return key


def random_key(seed, *path):
    """The key of a draw: the seed's, folded with the place and with indices of the draw.

    On a CPU in a loop, of two turns at least: rounds that are written out XLA copies into all that
    reads the key, and then it takes seconds to compile that.
    """
    if jax.default_backend() != "cpu":
        return random_fold(seed, *path)
    words = jnp.stack([jnp.uint32(number) for number in path])

    def fold(i, key):
        word = lax.dynamic_index_in_dim(words, i, keepdims=False)
        return jnp.where(i < len(path), random_fold(key, word), key)

    return lax.fori_loop(0, max(2, len(path)), fold, seed)


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


def first_lane(codes):
    """The first code that is not 0, and its place among all elements; 0 if there is none.

    Maxima of long arrays take XLA for CPUs three loops to compile, this takes it one. tempoc's
    runner looks for this scope: on CPUs it is computed when a code is not 0.
    """
    def first(a, b):
        keep = lax.lt(a[1], b[1])
        return lax.select(keep, a[0], b[0]), lax.min(a[1], b[1])
    codes, number = lax.collapse(codes, 0), codes.dtype.type
    none, size = number(0), number(codes.size)
    lanes = lax.iota(codes.dtype, codes.size)
    lanes = lax.select(lax.eq(codes, none), lax.full_like(codes, size), lanes)
    with jax.named_scope("first_code"):
        return lax.reduce((codes, lanes), (none, size), first, (0,))


def wrong_value(value, fine):
    """0 if all values are fine, else the first that is not, as a number above 0.

    tempoc's runner looks for this scope: on CPUs the number is made of a value when one is wrong.
    """
    value = lax.convert_element_type(value, jnp.int32)
    number = value.dtype.type
    value = lax.clamp(number(-2**29), value, number(2**29))
    positive = lax.convert_element_type(lax.ge(value, number(0)), jnp.int32)
    code = lax.add(lax.mul(lax.abs(value), number(2)), positive)
    with jax.named_scope("wrong_code"):
        code = lax.select(fine, lax.full_like(code, 0), code)
    return first_lane(code)[0] if code.ndim else code


def first_wrong(*wrong):
    """0 if all are 0, else the first that is not, and its number, in one number."""
    count, fault = len(wrong), jnp.int32(0)
    for number in reversed(range(count)):
        code = jnp.minimum(wrong[number], (2**31 - 1) // count)
        fault = jnp.where(code == 0, fault, count * code - number)
    return fault


def start_letters_default(at, random_seed):
    """gru.rt:19: param start = {letters: nn.embedding_init(V, E), cell: nn.gru_init(E, H), out: nn.linear_init(V, H)}
    nn.rt:292: return random.normal([tokens, width]) * sqrt(1.0 / width)
    """
    embedding_init_key = random_key(random_seed, 2838371397)
    embedding_init_normal = random_normal(
        embedding_init_key, jnp.arange(1392, dtype=jnp.uint32).reshape((58, 24)), jnp.float32,
    )
    return (embedding_init_normal * 0.2041241452319315,)


def start_cell_w_default(at, random_seed):
    """gru.rt:19: param start = {letters: nn.embedding_init(V, E), cell: nn.gru_init(E, H), out: nn.linear_init(V, H)}
    gru.rt:32: loss = mean(cost[t = 0:T])
    nn.rt:148: return (1.0 - z) * n + z * h
    nn.rt:228: return (2.0 * random.uniform(shape) - 1.0) * sqrt(6.0 / (shape[0] + shape[1]))
    nn.rt:272: return gain * q if shape[0] >= shape[1] else gain * q.T
    """
    glorot_key = random_key(random_seed, 3724917717)
    glorot_uniform = random_uniform(
        glorot_key, jnp.arange(2304, dtype=jnp.uint32).reshape((96, 24)), 32, 23, jnp.float32,
    )
    glorot_mul2 = (2.0 * glorot_uniform - 1.0) * 0.22360679774997896
    glorot2_key = random_key(random_seed, 1148537413)
    glorot2_uniform = random_uniform(
        glorot2_key, jnp.arange(2304, dtype=jnp.uint32).reshape((96, 24)), 32, 23, jnp.float32,
    )
    glorot2_mul2 = (2.0 * glorot2_uniform - 1.0) * 0.22360679774997896
    glorot3_key = random_key(random_seed, 683919773)
    glorot3_uniform = random_uniform(
        glorot3_key, jnp.arange(2304, dtype=jnp.uint32).reshape((96, 24)), 32, 23, jnp.float32,
    )
    glorot3_mul2 = (2.0 * glorot3_uniform - 1.0) * 0.22360679774997896
    return (jnp.concatenate([glorot_mul2, glorot2_mul2, glorot3_mul2], axis=0),)


def start_cell_u_default(at, random_seed):
    """gru.rt:19: param start = {letters: nn.embedding_init(V, E), cell: nn.gru_init(E, H), out: nn.linear_init(V, H)}
    gru.rt:31: cost = mean(take_along(-nn.log_softmax(logits), expand_dims(next, 1), axis = 1))
    nn.rt:257: below = expand_dims(arange(n), 1) >= arange(m)
    nn.rt:258: x = where(below, random.normal([n, m]), 0.0)
    nn.rt:259: first = sum(eye(n, m) * x, axis = 0)
    nn.rt:260: side = where(first < 0.0, -1.0, 1.0)
    nn.rt:261: v = x + eye(n, m) * side * sqrt(sum(x * x, axis = 0))
    nn.rt:262: dots = v.T @ v
    nn.rt:263: above = expand_dims(arange(m), 1) < arange(m)
    nn.rt:264: half = 0.5 * sum(v * v, axis = 0)
    nn.rt:265: power = where(above, -dots, 0.0) / expand_dims(half, 1)
    nn.rt:266: inverse = eye(m)
    nn.rt:268: inverse = inverse + power @ inverse if 2 ** k < m else inverse
    nn.rt:269: power = power @ power if 2 ** (k + 1) < m else power
    nn.rt:271: q = -side * (eye(n, m) - v @ ((inverse / half) @ v[0:m].T))
    """
    below_arange = jnp.arange(96, dtype=jnp.int32)
    below_expand_dims = jnp.expand_dims(below_arange, 1)
    below_ge = below_expand_dims >= below_arange
    orthogonal_x_key = random_key(random_seed, 1271816731)
    orthogonal_x_normal = random_normal(
        orthogonal_x_key, jnp.arange(9216, dtype=jnp.uint32).reshape((96, 96)), jnp.float32,
    )
    orthogonal_x_where = jnp.where(below_ge, orthogonal_x_normal, 0.0)
    first_eye = jnp.eye(96, 96, dtype=jnp.int32).astype(jnp.float32)
    orthogonal_side_lt = jnp.sum(first_eye * orthogonal_x_where, axis=0) < 0.0
    orthogonal_side_where = jnp.where(orthogonal_side_lt, jnp.float32(-1.0), jnp.float32(1.0))
    orthogonal_v_sqrt = jnp.sqrt(jnp.sum(orthogonal_x_where * orthogonal_x_where, axis=0))
    orthogonal_v_add = orthogonal_x_where + first_eye * orthogonal_side_where * orthogonal_v_sqrt
    above_lt = below_expand_dims < below_arange
    orthogonal_half_mul2 = 0.5 * jnp.sum(orthogonal_v_add * orthogonal_v_add, axis=0)
    orthogonal_power_neg = -transposed_matmul(orthogonal_v_add, orthogonal_v_add)
    orthogonal_power_where = jnp.where(above_lt, orthogonal_power_neg, 0.0)
    orthogonal_power_div = orthogonal_power_where / jnp.expand_dims(orthogonal_half_mul2, 1)
    orthogonal_inverse_add = first_eye + jnp.matmul(orthogonal_power_div, first_eye)
    orthogonal_power_matmul = jnp.matmul(orthogonal_power_div, orthogonal_power_div)
    orthogonal_inverse_matmul2 = jnp.matmul(orthogonal_power_matmul, orthogonal_inverse_add)
    orthogonal_inverse_add2 = orthogonal_inverse_add + orthogonal_inverse_matmul2
    orthogonal_power_matmul2 = jnp.matmul(orthogonal_power_matmul, orthogonal_power_matmul)
    orthogonal_inverse_matmul3 = jnp.matmul(orthogonal_power_matmul2, orthogonal_inverse_add2)
    orthogonal_inverse_add3 = orthogonal_inverse_add2 + orthogonal_inverse_matmul3
    orthogonal_power_matmul3 = jnp.matmul(orthogonal_power_matmul2, orthogonal_power_matmul2)
    orthogonal_inverse_matmul4 = jnp.matmul(orthogonal_power_matmul3, orthogonal_inverse_add3)
    orthogonal_inverse_add4 = orthogonal_inverse_add3 + orthogonal_inverse_matmul4
    orthogonal_power_matmul4 = jnp.matmul(orthogonal_power_matmul3, orthogonal_power_matmul3)
    orthogonal_inverse_matmul5 = jnp.matmul(orthogonal_power_matmul4, orthogonal_inverse_add4)
    orthogonal_inverse_add5 = orthogonal_inverse_add4 + orthogonal_inverse_matmul5
    orthogonal_power_matmul5 = jnp.matmul(orthogonal_power_matmul4, orthogonal_power_matmul4)
    orthogonal_inverse_matmul6 = jnp.matmul(orthogonal_power_matmul5, orthogonal_inverse_add5)
    orthogonal_inverse_add6 = orthogonal_inverse_add5 + orthogonal_inverse_matmul6
    orthogonal_power_matmul6 = jnp.matmul(orthogonal_power_matmul5, orthogonal_power_matmul5)
    orthogonal_inverse_matmul7 = jnp.matmul(orthogonal_power_matmul6, orthogonal_inverse_add6)
    orthogonal_q_div = (orthogonal_inverse_add6 + orthogonal_inverse_matmul7) / orthogonal_half_mul2
    orthogonal_q_matmul = jnp.einsum("ij,kj->ik", orthogonal_q_div, orthogonal_v_add)
    orthogonal_q_sub = first_eye - jnp.matmul(orthogonal_v_add, orthogonal_q_matmul)
    orthogonal_q_mul = -orthogonal_side_where * orthogonal_q_sub
    orthogonal2_x_key = random_key(random_seed, 2829219409)
    orthogonal2_x_normal = random_normal(
        orthogonal2_x_key, jnp.arange(9216, dtype=jnp.uint32).reshape((96, 96)), jnp.float32,
    )
    orthogonal2_x_where = jnp.where(below_ge, orthogonal2_x_normal, 0.0)
    orthogonal2_side_lt = jnp.sum(first_eye * orthogonal2_x_where, axis=0) < 0.0
    orthogonal2_side_where = jnp.where(orthogonal2_side_lt, jnp.float32(-1.0), jnp.float32(1.0))
    orthogonal2_v_sqrt = jnp.sqrt(jnp.sum(orthogonal2_x_where * orthogonal2_x_where, axis=0))
    orthogonal2_v_mul3 = first_eye * orthogonal2_side_where * orthogonal2_v_sqrt
    orthogonal2_v_add = orthogonal2_x_where + orthogonal2_v_mul3
    orthogonal2_half_mul2 = 0.5 * jnp.sum(orthogonal2_v_add * orthogonal2_v_add, axis=0)
    orthogonal2_power_neg = -transposed_matmul(orthogonal2_v_add, orthogonal2_v_add)
    orthogonal2_power_where = jnp.where(above_lt, orthogonal2_power_neg, 0.0)
    orthogonal2_power_div = orthogonal2_power_where / jnp.expand_dims(orthogonal2_half_mul2, 1)
    orthogonal2_inverse_add = first_eye + jnp.matmul(orthogonal2_power_div, first_eye)
    orthogonal2_power_matmul = jnp.matmul(orthogonal2_power_div, orthogonal2_power_div)
    orthogonal2_inverse_matmul2 = jnp.matmul(orthogonal2_power_matmul, orthogonal2_inverse_add)
    orthogonal2_inverse_add2 = orthogonal2_inverse_add + orthogonal2_inverse_matmul2
    orthogonal2_power_matmul2 = jnp.matmul(orthogonal2_power_matmul, orthogonal2_power_matmul)
    orthogonal2_inverse_matmul3 = jnp.matmul(orthogonal2_power_matmul2, orthogonal2_inverse_add2)
    orthogonal2_inverse_add3 = orthogonal2_inverse_add2 + orthogonal2_inverse_matmul3
    orthogonal2_power_matmul3 = jnp.matmul(orthogonal2_power_matmul2, orthogonal2_power_matmul2)
    orthogonal2_inverse_matmul4 = jnp.matmul(orthogonal2_power_matmul3, orthogonal2_inverse_add3)
    orthogonal2_inverse_add4 = orthogonal2_inverse_add3 + orthogonal2_inverse_matmul4
    orthogonal2_power_matmul4 = jnp.matmul(orthogonal2_power_matmul3, orthogonal2_power_matmul3)
    orthogonal2_inverse_matmul5 = jnp.matmul(orthogonal2_power_matmul4, orthogonal2_inverse_add4)
    orthogonal2_inverse_add5 = orthogonal2_inverse_add4 + orthogonal2_inverse_matmul5
    orthogonal2_power_matmul5 = jnp.matmul(orthogonal2_power_matmul4, orthogonal2_power_matmul4)
    orthogonal2_inverse_matmul6 = jnp.matmul(orthogonal2_power_matmul5, orthogonal2_inverse_add5)
    orthogonal2_inverse_add6 = orthogonal2_inverse_add5 + orthogonal2_inverse_matmul6
    orthogonal2_power_matmul6 = jnp.matmul(orthogonal2_power_matmul5, orthogonal2_power_matmul5)
    orthogonal2_inverse_matmul7 = jnp.matmul(orthogonal2_power_matmul6, orthogonal2_inverse_add6)
    orthogonal2_inverse_add7 = orthogonal2_inverse_add6 + orthogonal2_inverse_matmul7
    orthogonal2_q_div = orthogonal2_inverse_add7 / orthogonal2_half_mul2
    orthogonal2_q_matmul = jnp.einsum("ij,kj->ik", orthogonal2_q_div, orthogonal2_v_add)
    orthogonal2_q_sub = first_eye - jnp.matmul(orthogonal2_v_add, orthogonal2_q_matmul)
    orthogonal2_q_mul = -orthogonal2_side_where * orthogonal2_q_sub
    orthogonal3_x_key = random_key(random_seed, 2091371773)
    orthogonal3_x_normal = random_normal(
        orthogonal3_x_key, jnp.arange(9216, dtype=jnp.uint32).reshape((96, 96)), jnp.float32,
    )
    orthogonal3_x_where = jnp.where(below_ge, orthogonal3_x_normal, 0.0)
    orthogonal3_side_lt = jnp.sum(first_eye * orthogonal3_x_where, axis=0) < 0.0
    orthogonal3_side_where = jnp.where(orthogonal3_side_lt, jnp.float32(-1.0), jnp.float32(1.0))
    orthogonal3_v_sqrt = jnp.sqrt(jnp.sum(orthogonal3_x_where * orthogonal3_x_where, axis=0))
    orthogonal3_v_mul3 = first_eye * orthogonal3_side_where * orthogonal3_v_sqrt
    orthogonal3_v_add = orthogonal3_x_where + orthogonal3_v_mul3
    orthogonal3_half_mul2 = 0.5 * jnp.sum(orthogonal3_v_add * orthogonal3_v_add, axis=0)
    orthogonal3_power_neg = -transposed_matmul(orthogonal3_v_add, orthogonal3_v_add)
    orthogonal3_power_where = jnp.where(above_lt, orthogonal3_power_neg, 0.0)
    orthogonal3_power_div = orthogonal3_power_where / jnp.expand_dims(orthogonal3_half_mul2, 1)
    orthogonal3_inverse_add = first_eye + jnp.matmul(orthogonal3_power_div, first_eye)
    orthogonal3_power_matmul = jnp.matmul(orthogonal3_power_div, orthogonal3_power_div)
    orthogonal3_inverse_matmul2 = jnp.matmul(orthogonal3_power_matmul, orthogonal3_inverse_add)
    orthogonal3_inverse_add2 = orthogonal3_inverse_add + orthogonal3_inverse_matmul2
    orthogonal3_power_matmul2 = jnp.matmul(orthogonal3_power_matmul, orthogonal3_power_matmul)
    orthogonal3_inverse_matmul3 = jnp.matmul(orthogonal3_power_matmul2, orthogonal3_inverse_add2)
    orthogonal3_inverse_add3 = orthogonal3_inverse_add2 + orthogonal3_inverse_matmul3
    orthogonal3_power_matmul3 = jnp.matmul(orthogonal3_power_matmul2, orthogonal3_power_matmul2)
    orthogonal3_inverse_matmul4 = jnp.matmul(orthogonal3_power_matmul3, orthogonal3_inverse_add3)
    orthogonal3_inverse_add4 = orthogonal3_inverse_add3 + orthogonal3_inverse_matmul4
    orthogonal3_power_matmul4 = jnp.matmul(orthogonal3_power_matmul3, orthogonal3_power_matmul3)
    orthogonal3_inverse_matmul5 = jnp.matmul(orthogonal3_power_matmul4, orthogonal3_inverse_add4)
    orthogonal3_inverse_add5 = orthogonal3_inverse_add4 + orthogonal3_inverse_matmul5
    orthogonal3_power_matmul5 = jnp.matmul(orthogonal3_power_matmul4, orthogonal3_power_matmul4)
    orthogonal3_inverse_matmul6 = jnp.matmul(orthogonal3_power_matmul5, orthogonal3_inverse_add5)
    orthogonal3_inverse_add6 = orthogonal3_inverse_add5 + orthogonal3_inverse_matmul6
    orthogonal3_power_matmul6 = jnp.matmul(orthogonal3_power_matmul5, orthogonal3_power_matmul5)
    orthogonal3_inverse_matmul7 = jnp.matmul(orthogonal3_power_matmul6, orthogonal3_inverse_add6)
    orthogonal3_inverse_add7 = orthogonal3_inverse_add6 + orthogonal3_inverse_matmul7
    orthogonal3_q_div = orthogonal3_inverse_add7 / orthogonal3_half_mul2
    orthogonal3_q_matmul = jnp.einsum("ij,kj->ik", orthogonal3_q_div, orthogonal3_v_add)
    orthogonal3_q_sub = first_eye - jnp.matmul(orthogonal3_v_add, orthogonal3_q_matmul)
    orthogonal3_q_mul = -orthogonal3_side_where * orthogonal3_q_sub
    return (jnp.concatenate([orthogonal_q_mul, orthogonal2_q_mul, orthogonal3_q_mul], axis=0),)


def start_out_w_default(at, random_seed):
    """gru.rt:19: param start = {letters: nn.embedding_init(V, E), cell: nn.gru_init(E, H), out: nn.linear_init(V, H)}
    gru.rt:32: loss = mean(cost[t = 0:T])
    nn.rt:148: return (1.0 - z) * n + z * h
    nn.rt:228: return (2.0 * random.uniform(shape) - 1.0) * sqrt(6.0 / (shape[0] + shape[1]))
    nn.rt:272: return gain * q if shape[0] >= shape[1] else gain * q.T
    """
    glorot_key = random_key(random_seed, 1226745117)
    glorot_uniform = random_uniform(
        glorot_key, jnp.arange(5568, dtype=jnp.uint32).reshape((58, 96)), 32, 23, jnp.float32,
    )
    return ((2.0 * glorot_uniform - 1.0) * 0.19738550848793068,)


def start_cell_b_default(at):
    """gru.rt:19: param start = {letters: nn.embedding_init(V, E), cell: nn.gru_init(E, H), out: nn.linear_init(V, H)}"""
    b_default = jnp.zeros((288,), jnp.float32)
    return b_default, b_default


def start_out_b_default(at):
    """gru.rt:19: param start = {letters: nn.embedding_init(V, E), cell: nn.gru_init(E, H), out: nn.linear_init(V, H)}"""
    return (jnp.zeros((58,), jnp.float32),)


def net_out_b_0(
    at, start_letters, start_cell_w, start_cell_u, start_cell_b, start_cell_c, start_out_w,
    start_out_b, h_0, *, T, N,
):
    """gru.rt:22: at[i, t] = (arange(B) * (N // B) + i * T + t) % (N - 1)
    gru.rt:26: h[0, 0] = zeros([B, H])
    gru.rt:31: cost = mean(take_along(-nn.log_softmax(logits), expand_dims(next, 1), axis = 1))
    gru.rt:32: loss = mean(cost[t = 0:T])
    gru.rt:34: net[0] = start
    nn.rt:147: n = tanh(split(a, 3, -1)[2] + r * split(g, 3, -1)[2])
    """
    at_mul = jnp.arange(16, dtype=jnp.int32) * jnp.int32(N//16)
    d_cost_expand_dims = jnp.expand_dims(0.0625 / jnp.int32(T).astype(jnp.float32), 0)
    d_expand_dims_expand_dims = jnp.expand_dims(jnp.expand_dims(d_cost_expand_dims, 1), 2)
    h_0 = lax.dynamic_update_index_in_dim(h_0, jnp.zeros((16, 96), jnp.float32), 0, 0)
    return (
        at_mul, h_0, d_expand_dims_expand_dims, start_letters, start_cell_w, start_cell_u,
        start_cell_b, start_cell_c, start_out_w, start_out_b,
    )


def at_add(at, at_mul, *, T):
    """gru.rt:22: at[i, t] = (arange(B) * (N // B) + i * T + t) % (N - 1)"""
    i = at[0]
    return (at_mul + jnp.int32(T*i),)


def letter(at, at_add, text, net_letters, cell_w, cell_b, d_expand_dims_expand_dims, *, T, N):
    """gru.rt:22: at[i, t] = (arange(B) * (N // B) + i * T + t) % (N - 1)
    gru.rt:23: letter = (text[0:N])[at]
    gru.rt:24: next = (text[0:N])[at+1]
    gru.rt:29: state[i, t] = nn.gru_cell(net[i].letters[letter], h[i, t], net[i].cell)
    gru.rt:31: cost = mean(take_along(-nn.log_softmax(logits), expand_dims(next, 1), axis = 1))
    nn.rt:14: return x - logsumexp(x, axis = axis, keepdims = true)
    nn.rt:143: a = x @ cell.w.T + cell.b
    nn.rt:145: r = sigmoid(split(a, 3, -1)[0] + split(g, 3, -1)[0])
    nn.rt:146: z = sigmoid(split(a, 3, -1)[1] + split(g, 3, -1)[1])
    nn.rt:147: n = tanh(split(a, 3, -1)[2] + r * split(g, 3, -1)[2])
    nn.rt:258: x = where(below, random.normal([n, m]), 0.0)
    nn.rt:260: side = where(first < 0.0, -1.0, 1.0)
    nn.rt:265: power = where(above, -dots, 0.0) / expand_dims(half, 1)
    """
    def point(t):
        at_index4 = jnp.int32(N-1)
        divisor = jnp.where(at_index4 == 0, jnp.int32(1), at_index4)
        at2 = jnp.where(at_index4 == 0, jnp.int32(0), jnp.remainder(at_add + jnp.int32(t), divisor))
        wrong = wrong_value(at2, (at2 >= -N) & (at2 < N))
        letter = jnp.take(text, jnp.where(at2 < 0, at2 + N, at2), axis=0, mode="clip")
        next_add = at2 + 1
        wrong2 = wrong_value(next_add, (next_add >= -N) & (next_add < N))
        next2 = jnp.take(text, jnp.where(next_add < 0, next_add + N, next_add), axis=0, mode="clip")
        wrong3 = wrong_value(letter, (letter >= -58) & (letter < 58))
        state_getitem = jnp.take(
            net_letters, jnp.where(letter < 0, letter + 58, letter), axis=0, mode="clip",
        )
        a_add = jnp.einsum("ij,kj->ik", state_getitem, cell_w) + cell_b
        r_split_0 = lax.slice_in_dim(a_add, 0, 96, axis=1)
        r_split_1 = lax.slice_in_dim(a_add, 96, 192, axis=1)
        r_split_2 = lax.slice_in_dim(a_add, 192, 288, axis=1)
        cost_expand_dims = jnp.expand_dims(next2, 1)
        d_take_along_add = cost_expand_dims + 58
        d_take_along_where = jnp.where(cost_expand_dims < 0, d_take_along_add, cost_expand_dims)
        d_take_along_one_hot = (d_take_along_where[..., None] == jnp.arange(58, dtype=jnp.int32))
        d_take_along_where2 = jnp.where(d_take_along_one_hot, d_expand_dims_expand_dims, 0.0)
        d_take_along_sum = jnp.squeeze(d_take_along_where2, (1,))
        d_log_softmax_logsumexp = jnp.sum(d_take_along_sum, axis=1, keepdims=True)
        return (
            letter, state_getitem, r_split_0, r_split_1, r_split_2, cost_expand_dims,
            d_take_along_sum, d_log_softmax_logsumexp, first_wrong(wrong, wrong2, wrong3),
        )
    (
        letter_rows, state_getitem_rows, r_split_0_rows, r_split_1_rows, r_split_2_rows,
        cost_expand_dims_rows, d_take_along_sum_rows, d_log_softmax_logsumexp_rows, fault,
    ) = jax.vmap(point)(jnp.arange(T, dtype=jnp.int32))
    return (
        letter_rows, state_getitem_rows, r_split_0_rows, r_split_1_rows, r_split_2_rows,
        cost_expand_dims_rows, d_take_along_sum_rows, d_log_softmax_logsumexp_rows,
        jnp.stack(first_lane(fault)),
    )


def cost(
    at, h, cell_u, cell_c, split_out1, r_split, split_out2, out_w, out_b, cost_expand_dims,
    d_log_softmax_logsumexp, d_take_along_sum,
):
    """gru.rt:29: state[i, t] = nn.gru_cell(net[i].letters[letter], h[i, t], net[i].cell)
    gru.rt:30: logits = nn.linear(state, net.out.w, net.out.b)
    gru.rt:31: cost = mean(take_along(-nn.log_softmax(logits), expand_dims(next, 1), axis = 1))
    gru.rt:32: loss = mean(cost[t = 0:T])
    nn.rt:14: return x - logsumexp(x, axis = axis, keepdims = true)
    nn.rt:29: return x @ w.T + b
    nn.rt:144: g = h @ cell.u.T + cell.c
    nn.rt:145: r = sigmoid(split(a, 3, -1)[0] + split(g, 3, -1)[0])
    nn.rt:146: z = sigmoid(split(a, 3, -1)[1] + split(g, 3, -1)[1])
    nn.rt:147: n = tanh(split(a, 3, -1)[2] + r * split(g, 3, -1)[2])
    nn.rt:148: return (1.0 - z) * n + z * h
    nn.rt:228: return (2.0 * random.uniform(shape) - 1.0) * sqrt(6.0 / (shape[0] + shape[1]))
    nn.rt:272: return gain * q if shape[0] >= shape[1] else gain * q.T
    """
    def point(
        h, split_out1, r_split, split_out2, cost_expand_dims, d_log_softmax_logsumexp,
        d_take_along_sum,
    ):
        g_add = jnp.einsum("ij,kj->ik", h, cell_u) + cell_c
        r_split2_2 = lax.slice_in_dim(g_add, 192, 288, axis=1)
        z_sigmoid = jax.nn.sigmoid(split_out1 + lax.slice_in_dim(g_add, 96, 192, axis=1))
        gru_cell_sub = 1.0 - z_sigmoid
        r_sigmoid = jax.nn.sigmoid(r_split + lax.slice_in_dim(g_add, 0, 96, axis=1))
        n_tanh = jnp.tanh(split_out2 + r_sigmoid * r_split2_2)
        state = gru_cell_sub * n_tanh + z_sigmoid * h
        logits = jnp.einsum("ij,kj->ik", state, out_w) + out_b
        log_softmax_sub = logits - jax.nn.logsumexp(logits, axis=1, keepdims=True)
        wrong = wrong_value(cost_expand_dims, (cost_expand_dims >= -58) & (cost_expand_dims < 58))
        take_along_take_along = jnp.take_along_axis(
            log_softmax_sub,
            jnp.where(cost_expand_dims < 0, cost_expand_dims + 58, cost_expand_dims), axis=1,
            mode="clip",
        )
        cost = -(jnp.sum(take_along_take_along, axis=(0, 1)) / 16)
        d_logsumexp_exp = jnp.exp(log_softmax_sub)
        d_logsumexp_div = d_log_softmax_logsumexp / jnp.sum(d_logsumexp_exp, axis=1, keepdims=True)
        d_logits = d_logsumexp_div * d_logsumexp_exp - d_take_along_sum
        d_matmul_einsum = jnp.matmul(d_logits, out_w)
        d_tanh_sub = 1.0 - n_tanh * n_tanh
        d_r_sigmoid_mul = r_sigmoid * (1.0 - r_sigmoid)
        d_z_sigmoid_sub = h - n_tanh
        d_z_sigmoid_mul = z_sigmoid * gru_cell_sub
        return (
            r_split2_2, z_sigmoid, gru_cell_sub, r_sigmoid, state, cost, d_logits, d_matmul_einsum,
            d_tanh_sub, d_r_sigmoid_mul, d_z_sigmoid_sub, d_z_sigmoid_mul, wrong,
        )
    (
        r_split2_2_rows, z_sigmoid_rows, gru_cell_sub_rows, r_sigmoid_rows, state_rows, cost_rows,
        d_logits_rows, d_matmul_einsum_rows, d_tanh_sub_rows, d_r_sigmoid_mul_rows,
        d_z_sigmoid_sub_rows, d_z_sigmoid_mul_rows, fault,
    ) = jax.vmap(point)(
        h, split_out1, r_split, split_out2, cost_expand_dims, d_log_softmax_logsumexp,
        d_take_along_sum,
    )
    return (
        r_split2_2_rows, z_sigmoid_rows, gru_cell_sub_rows, r_sigmoid_rows, state_rows, cost_rows,
        d_logits_rows, d_matmul_einsum_rows, d_tanh_sub_rows, d_r_sigmoid_mul_rows,
        d_z_sigmoid_sub_rows, d_z_sigmoid_mul_rows, jnp.stack(first_lane(fault)),
    )


def h_1(at, state_prev, h, *, T):
    """gru.rt:27: h[i, 0] = stop_gradient(state[i-1, T-1])"""
    h = lax.dynamic_update_index_in_dim(h, state_prev[T-1], 0, 0)
    return (h,)


def h_rows(at, h, split_out1, split_out2, r_split, cell_u, cell_c, *, T):
    """gru.rt:26: h[0, 0] = zeros([B, H])
    gru.rt:27: h[i, 0] = stop_gradient(state[i-1, T-1])
    gru.rt:28: h[i, t] = state[i, t-1]
    gru.rt:32: loss = mean(cost[t = 0:T])
    nn.rt:148: return (1.0 - z) * n + z * h
    nn.rt:228: return (2.0 * random.uniform(shape) - 1.0) * sqrt(6.0 / (shape[0] + shape[1]))
    nn.rt:272: return gain * q if shape[0] >= shape[1] else gain * q.T
    """
    def step(k, rows):
        before = rows[k]
        add = jnp.einsum("ij,kj->ik", before, cell_u) + cell_c
        sigmoid = jax.nn.sigmoid(split_out1[k] + lax.slice_in_dim(add, 96, 192, axis=1))
        sigmoid2 = jax.nn.sigmoid(r_split[k] + lax.slice_in_dim(add, 0, 96, axis=1))
        tanh = jnp.tanh(split_out2[k] + sigmoid2 * lax.slice_in_dim(add, 192, 288, axis=1))
        copy = (1.0 - sigmoid) * tanh + sigmoid * before
        return lax.dynamic_update_index_in_dim(rows, copy, k+1, 0)
    return (lax.fori_loop(0, T-1, step, jnp.broadcast_to(h[0], (T, 16, 96))),)


def h_2(at, h_rows, h, *, T):
    """gru.rt:28: h[i, t] = state[i, t-1]"""
    h2 = lax.dynamic_update_slice(h, h_rows[1:T], (1, 0, 0))
    return (h2,)


def loss(
    at, cost, d_matmul_einsum, z_sigmoid, gru_cell_sub, d_tanh_sub, split2_out2, d_r_sigmoid_mul,
    d_sigmoid_sub, d_z_sigmoid_mul, r_sigmoid, cell_u, loss, *, T,
):
    """gru.rt:29: state[i, t] = nn.gru_cell(net[i].letters[letter], h[i, t], net[i].cell)
    gru.rt:32: loss = mean(cost[t = 0:T])
    """
    i = at[0]
    def step(k, rows):
        k2 = T-2 - k
        before = rows[k2+1]
        mul3 = before * gru_cell_sub[k2+1] * d_tanh_sub[k2+1]
        mul5 = mul3 * split2_out2[k2+1] * d_r_sigmoid_mul[k2+1]
        mul7 = before * d_sigmoid_sub[k2+1] * d_z_sigmoid_mul[k2+1]
        matmul = jnp.matmul(jnp.concatenate([mul5, mul7, mul3 * r_sigmoid[k2+1]], axis=1), cell_u)
        add2 = d_matmul_einsum[k2] + (before * z_sigmoid[k2+1] + matmul)
        return lax.dynamic_update_index_in_dim(rows, add2, k2, 0)
    loss = lax.dynamic_update_index_in_dim(loss, jnp.sum(cost, axis=0) / jnp.float32(T), i, 0)
    return loss, lax.fori_loop(0, T-1, step, jnp.broadcast_to(d_matmul_einsum[T-1], (T, 16, 96)))


def net_adam_adam_direction_0(
    at, m_moving_average_m_letters_prev, m_moving_average_m_cell_w_prev,
    m_moving_average_m_cell_u_prev, m_moving_average_m_cell_b_prev, m_moving_average_m_cell_c_prev,
    m_moving_average_m_out_w_prev, m_moving_average_m_out_b_prev, d_net_letters, d_cell_w, d_cell_u,
    d_cell_b, d_cell_c, d_out_w, d_out_b, v_moving_average_m_letters_prev,
    v_moving_average_m_cell_w_prev, v_moving_average_m_cell_u_prev, v_moving_average_m_cell_b_prev,
    v_moving_average_m_cell_c_prev, v_moving_average_m_out_w_prev, v_moving_average_m_out_b_prev,
    v_mul, v_mul2, v_mul3, v_mul4, v_mul5, v_mul6, v_mul7,
):
    """optim.rt:146: m[i] = decay * m[i-1] + (1.0 - decay) * x when i >= 1"""
    m_moving_average_m_mul8 = 0.09999999999999998 * d_net_letters
    m_moving_average_m_mul9 = 0.09999999999999998 * d_cell_w
    m_moving_average_m_mul10 = 0.09999999999999998 * d_cell_u
    m_moving_average_m_mul11 = 0.09999999999999998 * d_cell_b
    m_moving_average_m_mul12 = 0.09999999999999998 * d_cell_c
    m_moving_average_m_letters_0 = 0.9 * m_moving_average_m_letters_prev + m_moving_average_m_mul8
    m_moving_average_m_cell_w_0 = 0.9 * m_moving_average_m_cell_w_prev + m_moving_average_m_mul9
    m_moving_average_m_cell_u_0 = 0.9 * m_moving_average_m_cell_u_prev + m_moving_average_m_mul10
    m_moving_average_m_cell_b_0 = 0.9 * m_moving_average_m_cell_b_prev + m_moving_average_m_mul11
    m_moving_average_m_cell_c_0 = 0.9 * m_moving_average_m_cell_c_prev + m_moving_average_m_mul12
    m_moving_average_m_out_w_0 = 0.9 * m_moving_average_m_out_w_prev + 0.09999999999999998 * d_out_w
    m_moving_average_m_out_b_0 = 0.9 * m_moving_average_m_out_b_prev + 0.09999999999999998 * d_out_b
    v_moving_average_m_mul8 = 0.0010000000000000009 * v_mul
    v_moving_average_m_mul9 = 0.0010000000000000009 * v_mul2
    v_moving_average_m_mul10 = 0.0010000000000000009 * v_mul3
    v_moving_average_m_mul11 = 0.0010000000000000009 * v_mul4
    v_moving_average_m_mul12 = 0.0010000000000000009 * v_mul5
    v_moving_average_m_mul13 = 0.0010000000000000009 * v_mul6
    v_moving_average_m_mul14 = 0.0010000000000000009 * v_mul7
    v_moving_average_m_letters_0 = 0.999 * v_moving_average_m_letters_prev + v_moving_average_m_mul8
    v_moving_average_m_cell_w_0 = 0.999 * v_moving_average_m_cell_w_prev + v_moving_average_m_mul9
    v_moving_average_m_cell_u_0 = 0.999 * v_moving_average_m_cell_u_prev + v_moving_average_m_mul10
    v_moving_average_m_cell_b_0 = 0.999 * v_moving_average_m_cell_b_prev + v_moving_average_m_mul11
    v_moving_average_m_cell_c_0 = 0.999 * v_moving_average_m_cell_c_prev + v_moving_average_m_mul12
    v_moving_average_m_out_w_0 = 0.999 * v_moving_average_m_out_w_prev + v_moving_average_m_mul13
    v_moving_average_m_out_b_0 = 0.999 * v_moving_average_m_out_b_prev + v_moving_average_m_mul14
    return (
        m_moving_average_m_letters_0, m_moving_average_m_cell_w_0, m_moving_average_m_cell_u_0,
        m_moving_average_m_cell_b_0, m_moving_average_m_cell_c_0, m_moving_average_m_out_w_0,
        m_moving_average_m_out_b_0, v_moving_average_m_letters_0, v_moving_average_m_cell_w_0,
        v_moving_average_m_cell_u_0, v_moving_average_m_cell_b_0, v_moving_average_m_cell_c_0,
        v_moving_average_m_out_w_0, v_moving_average_m_out_b_0,
    )


def loss_d_state_gru_cell_add(
    at, gru_cell_sub, d_tanh_sub, split2_out2, d_r_sigmoid_mul, d_sigmoid_sub, d_z_sigmoid_mul,
    r_sigmoid, d_state_rows,
):
    """gru.rt:29: state[i, t] = nn.gru_cell(net[i].letters[letter], h[i, t], net[i].cell)
    nn.rt:144: g = h @ cell.u.T + cell.c
    nn.rt:145: r = sigmoid(split(a, 3, -1)[0] + split(g, 3, -1)[0])
    nn.rt:146: z = sigmoid(split(a, 3, -1)[1] + split(g, 3, -1)[1])
    nn.rt:147: n = tanh(split(a, 3, -1)[2] + r * split(g, 3, -1)[2])
    nn.rt:148: return (1.0 - z) * n + z * h
    """
    def point(
        d_state_rows_t, gru_cell_sub, d_tanh_sub, split2_out2, d_r_sigmoid_mul, d_sigmoid_sub,
        d_z_sigmoid_mul, r_sigmoid,
    ):
        d_n_add = d_state_rows_t * gru_cell_sub * d_tanh_sub
        d_r_add = d_n_add * split2_out2 * d_r_sigmoid_mul
        d_z_add = d_state_rows_t * d_sigmoid_sub * d_z_sigmoid_mul
        d_g_add = jnp.concatenate([d_r_add, d_z_add, d_n_add * r_sigmoid], axis=1)
        return (d_n_add, d_r_add, d_z_add, d_g_add)
    (
        d_n_add_rows, d_r_add_rows, d_z_add_rows, d_g_add_rows,
    ) = jax.vmap(point)(
        d_state_rows, gru_cell_sub, d_tanh_sub, split2_out2, d_r_sigmoid_mul, d_sigmoid_sub,
        d_z_sigmoid_mul, r_sigmoid,
    )
    return d_n_add_rows, d_r_add_rows, d_z_add_rows, d_g_add_rows


def loss_d_logits_sum(at, d_r_add, d_z_add, d_n_add, cell_w, d_g_add, d_logits):
    """gru.rt:29: state[i, t] = nn.gru_cell(net[i].letters[letter], h[i, t], net[i].cell)
    gru.rt:30: logits = nn.linear(state, net.out.w, net.out.b)
    nn.rt:143: a = x @ cell.w.T + cell.b
    nn.rt:144: g = h @ cell.u.T + cell.c
    """
    def point(d_r_add, d_z_add, d_n_add, d_g_add, d_logits):
        d_a_add = jnp.concatenate([d_r_add, d_z_add, d_n_add], axis=1)
        d_a_add_sum = jnp.sum(d_a_add, axis=0)
        d_g_add_sum = jnp.sum(d_g_add, axis=0)
        d_logits_sum = jnp.sum(d_logits, axis=0)
        return (d_a_add, jnp.matmul(d_a_add, cell_w), d_a_add_sum, d_g_add_sum, d_logits_sum)
    (
        d_a_add_rows, d_state_getitem_rows, d_a_add_sum_rows, d_g_add_sum_rows, d_logits_sum_rows,
    ) = jax.vmap(point)(d_r_add, d_z_add, d_n_add, d_g_add, d_logits)
    return d_a_add_rows, d_state_getitem_rows, d_a_add_sum_rows, d_g_add_sum_rows, d_logits_sum_rows


def net_adam_adam_direction_v_mul7(
    at, d_state_getitem, letter, d_a_add, state_getitem, d_g_add, h, d_a_add_sum, d_g_add_sum,
    d_logits, state, d_logits_sum,
):
    """gru.rt:34: net[0] = start
    gru.rt:35: net[i+1] = optim.adam(net, grad(loss, net), i, lr = 5e-3)
    nn.rt:29: return x @ w.T + b
    nn.rt:143: a = x @ cell.w.T + cell.b
    nn.rt:144: g = h @ cell.u.T + cell.c
    optim.rt:140: v = moving_average(g * g, i, b2) / seen(i, b2)
    """
    wrong = wrong_value(letter, (letter >= -58) & (letter < 58))
    d_net_letters = jnp.zeros((58, 24), jnp.float32).at[
        jnp.where(letter < 0, letter + 58, letter)
    ].add(d_state_getitem, mode="drop")
    d_cell_w = transposed_matmul(d_a_add, state_getitem)
    d_cell_u = transposed_matmul(d_g_add, h)
    d_cell_b = jnp.sum(d_a_add_sum, axis=0)
    d_cell_c = jnp.sum(d_g_add_sum, axis=0)
    d_out_w = transposed_matmul(d_logits, state)
    d_out_b = jnp.sum(d_logits_sum, axis=0)
    v_mul = d_net_letters * d_net_letters
    v_mul2 = d_cell_w * d_cell_w
    v_mul3 = d_cell_u * d_cell_u
    v_mul4 = d_cell_b * d_cell_b
    v_mul5 = d_cell_c * d_cell_c
    v_mul6 = d_out_w * d_out_w
    v_mul7 = d_out_b * d_out_b
    return (
        d_net_letters, d_cell_w, d_cell_u, d_cell_b, d_cell_c, d_out_w, d_out_b, v_mul, v_mul2,
        v_mul3, v_mul4, v_mul5, v_mul6, v_mul7, wrong,
    )


def net_adam_adam_direction_1(
    at, d_net_letters, d_cell_w, d_cell_u, d_cell_b, d_cell_c, d_out_w, d_out_b, v_mul, v_mul2,
    v_mul3, v_mul4, v_mul5, v_mul6, v_mul7,
):
    """optim.rt:147: m[i] = (1.0 - decay) * x"""
    m_moving_average_m_letters_1 = 0.09999999999999998 * d_net_letters
    m_moving_average_m_cell_w_1 = 0.09999999999999998 * d_cell_w
    m_moving_average_m_cell_u_1 = 0.09999999999999998 * d_cell_u
    m_moving_average_m_cell_b_1 = 0.09999999999999998 * d_cell_b
    m_moving_average_m_cell_c_1 = 0.09999999999999998 * d_cell_c
    m_moving_average_m_out_w_1 = 0.09999999999999998 * d_out_w
    m_moving_average_m_out_b_1 = 0.09999999999999998 * d_out_b
    v_moving_average_m_letters_1 = 0.0010000000000000009 * v_mul
    v_moving_average_m_cell_w_1 = 0.0010000000000000009 * v_mul2
    v_moving_average_m_cell_u_1 = 0.0010000000000000009 * v_mul3
    v_moving_average_m_cell_b_1 = 0.0010000000000000009 * v_mul4
    v_moving_average_m_cell_c_1 = 0.0010000000000000009 * v_mul5
    v_moving_average_m_out_w_1 = 0.0010000000000000009 * v_mul6
    v_moving_average_m_out_b_1 = 0.0010000000000000009 * v_mul7
    return (
        m_moving_average_m_letters_1, m_moving_average_m_cell_w_1, m_moving_average_m_cell_u_1,
        m_moving_average_m_cell_b_1, m_moving_average_m_cell_c_1, m_moving_average_m_out_w_1,
        m_moving_average_m_out_b_1, v_moving_average_m_letters_1, v_moving_average_m_cell_w_1,
        v_moving_average_m_cell_u_1, v_moving_average_m_cell_b_1, v_moving_average_m_cell_c_1,
        v_moving_average_m_out_w_1, v_moving_average_m_out_b_1,
    )


def net_1(
    at, m_moving_average_m_letters, m_moving_average_m_cell_w, m_moving_average_m_cell_u,
    m_moving_average_m_cell_b, m_moving_average_m_cell_c, m_moving_average_m_out_w,
    m_moving_average_m_out_b, v_moving_average_m_letters, v_moving_average_m_cell_w,
    v_moving_average_m_cell_u, v_moving_average_m_cell_b, v_moving_average_m_cell_c,
    v_moving_average_m_out_w, v_moving_average_m_out_b, net_letters, net_cell_w, net_cell_u,
    net_cell_b, net_cell_c, net_out_w, net_out_b,
):
    """gru.rt:35: net[i+1] = optim.adam(net, grad(loss, net), i, lr = 5e-3)
    optim.rt:44: return x - lr * adam_direction(g, i, b1, b2, eps)
    optim.rt:139: m = moving_average(g, i, b1) / seen(i, b1)
    optim.rt:140: v = moving_average(g * g, i, b2) / seen(i, b2)
    optim.rt:141: return m / (sqrt(v) + eps)
    optim.rt:154: return -expm1((i + 1) * log(decay))
    """
    i = at[0]
    seen_index = jnp.int32(i+1)
    m_seen_neg = -jnp.expm1(seen_index.astype(jnp.float32) * -0.10536051565782628)
    v_seen_neg = -jnp.expm1(seen_index.astype(jnp.float32) * -0.0010005003335835344)
    adam_direction_add = jnp.sqrt(v_moving_average_m_letters / v_seen_neg) + 1e-08
    adam_direction_add2 = jnp.sqrt(v_moving_average_m_cell_w / v_seen_neg) + 1e-08
    adam_direction_add3 = jnp.sqrt(v_moving_average_m_cell_u / v_seen_neg) + 1e-08
    adam_direction_add4 = jnp.sqrt(v_moving_average_m_cell_b / v_seen_neg) + 1e-08
    adam_direction_add5 = jnp.sqrt(v_moving_average_m_cell_c / v_seen_neg) + 1e-08
    adam_direction_add6 = jnp.sqrt(v_moving_average_m_out_w / v_seen_neg) + 1e-08
    adam_direction_add7 = jnp.sqrt(v_moving_average_m_out_b / v_seen_neg) + 1e-08
    adam_mul = 0.005 * (m_moving_average_m_letters / m_seen_neg / adam_direction_add)
    adam_mul2 = 0.005 * (m_moving_average_m_cell_w / m_seen_neg / adam_direction_add2)
    adam_mul3 = 0.005 * (m_moving_average_m_cell_u / m_seen_neg / adam_direction_add3)
    adam_mul4 = 0.005 * (m_moving_average_m_cell_b / m_seen_neg / adam_direction_add4)
    adam_mul5 = 0.005 * (m_moving_average_m_cell_c / m_seen_neg / adam_direction_add5)
    net_letters_1 = net_letters - adam_mul
    net_cell_w_1 = net_cell_w - adam_mul2
    net_cell_u_1 = net_cell_u - adam_mul3
    net_cell_b_1 = net_cell_b - adam_mul4
    net_cell_c_1 = net_cell_c - adam_mul5
    net_out_w_1 = net_out_w - 0.005 * (m_moving_average_m_out_w / m_seen_neg / adam_direction_add6)
    net_out_b_1 = net_out_b - 0.005 * (m_moving_average_m_out_b / m_seen_neg / adam_direction_add7)
    return (
        net_letters_1, net_cell_w_1, net_cell_u_1, net_cell_b_1, net_cell_c_1, net_out_w_1,
        net_out_b_1,
    )


def print_loss(at, loss):
    """gru.rt:38: print loss[i] when i % 50 == 0"""
    i = at[0]
    return (loss[i],)


def save_net(at, net_letters, cell_w, cell_u, cell_b, cell_c, out_w, out_b):
    """gru.rt:39: save net[i] to "gru.safetensors" when i == I - 1"""
    return net_letters, cell_w, cell_u, cell_b, cell_c, out_w, out_b


def first_fault(fault, kernel, code, point):
    """What failed first: the kernel, its check, which of its points, the coordinates."""
    check, lane = (code[0], code[1]) if code.ndim else (code, jnp.int32(0))
    rest = [0] * (fault.size - 3 - len(point))
    new = jnp.stack([jnp.int32(kernel), check, lane, *point, *rest])
    return jnp.where(fault[1] != 0, fault, new)


def with_row(rows, values, more):
    """What a print shows as one more row of arrays, after their number; 0 ``more``: not counted."""
    count, *arrays = rows
    put = lambda array, value: lax.dynamic_update_index_in_dim(
        array, jnp.asarray(value, array.dtype), count, 0
    )
    return (count + more, *(put(array, value) for array, value in zip(arrays, values)))


def squeezed(carry, places):
    """What takes axes of length 1 from the arrays at some places, and what gives them back."""
    def narrow(carry):
        return tuple(
            jax.tree.map(jnp.squeeze, x) if k in places else x for k, x in enumerate(carry)
        )
    def wide(arrays):
        back = lambda y, x: jnp.reshape(y, jnp.shape(x))
        both = enumerate(zip(arrays, carry))
        return tuple(jax.tree.map(back, y, x) if k in places else y for k, (y, x) in both)
    return narrow, wide


def branched(condition, step, carry):
    """The step if the condition holds, else the carry; axes of length 1 stay in the branch.

    XLA for CPUs makes an array that a loop updates once more for a branch that reads it in another
    shape, and copies it for that. The barrier keeps the reshape from moving out of the branch.
    """
    leaves, tree = jax.tree.flatten(carry)
    if 1 not in {size for x in leaves for size in x.shape}:
        return lax.cond(condition, step, lambda carry: carry, carry)
    traced = jax.make_jaxpr(lambda *x: step(jax.tree.unflatten(tree, x)))(*leaves)
    count, arrays = len(leaves), (*leaves, *traced.consts)
    narrow, wide = squeezed(arrays, range(len(arrays)))
    def taken(arrays):
        arrays = wide(lax.optimization_barrier(arrays))
        new = jax.core.eval_jaxpr(traced.jaxpr, arrays[count:], *arrays[:count])
        return narrow(tuple(jax.tree.leaves(new)))
    some = lax.cond(condition, taken, lambda arrays: arrays[:count], narrow(arrays))
    return jax.tree.unflatten(tree, wide(some))


def is_brief(step):
    """Whether a traced step has no loops and moves few bytes."""
    size = lambda x: x.aval.size * x.aval.dtype.itemsize
    moved = sum(size(x) for e in step.eqns for x in (*e.invars, *e.outvars))
    text = f"{step}"
    return moved <= 4194304 and "while[" not in text and "scan[" not in text


def taken_if(condition, step, carry):
    """The step if the condition holds, else the carry.

    GPUs compute a brief step in any case: their host need not wait for the condition. They copy
    arrays that a ``lax.cond`` may give back as they are, but none that a loop carries.
    """
    if jax.default_backend() == "cpu":
        return branched(condition, step, carry)
    if is_brief(jax.make_jaxpr(step)(carry)):
        chosen = lambda new, old: jnp.where(condition, new, old)
        own = jax.tree.map(lambda x: x, carry)  # The step writes into dicts of its carry.
        return jax.tree.map(chosen, step(own), carry)
    once = lambda state: (jnp.bool_(False), step(state[1]))
    return lax.while_loop(lambda state: state[0], once, (condition, carry))[1]


def put_into(step, k):
    """The operator of a traced step by which result ``k`` is argument ``k`` with a part put in.

    ``None`` if there is none. Both arrays may lack axes of length 1 there.
    """
    reshapes = "broadcast_in_dim", "reshape", "squeeze"
    made = lambda v: next((e for e in step.eqns for x in e.outvars if x is v), None)
    def source(v):
        while (e := made(v)) and e.primitive.name in reshapes:
            v = e.invars[0]
        return v, e
    put = source(step.outvars[k])[1]
    is_put = put is not None and put.primitive.name == "dynamic_update_slice"
    return put if is_put and source(put.invars[0])[0] is step.invars[k] else None


def selected_parts(condition, traced, carry, puts):
    """The results of a traced step if the condition holds, else the carry.

    Where ``puts`` has an operator, a part is put in and selected, of others the whole array.
    """
    step = traced.jaxpr
    made = [v for v, put in zip(step.outvars, puts) for v in (put.invars if put else [v])]
    values = jax.core.eval_jaxpr(step.replace(outvars=made), traced.consts, *carry)
    for x, put in zip(carry, puts):
        array, *given = (values.pop(0) for _ in (put.invars if put else [x]))
        if not put:
            yield jnp.where(condition, array, x)
            continue
        part, *start = given  # None of these counts from the end any more.
        old = lax.dynamic_slice(array, start, part.shape, allow_negative_indices=False)
        part = jnp.where(condition, part, old)
        new = lax.dynamic_update_slice(array, part, start, allow_negative_indices=False)
        yield jnp.reshape(new, x.shape)


def selected_if(condition, step, carry):
    """``taken_if``; a small step is computed in any case, so that XLA can fuse it with others.

    So is a brief one on a CPU that puts parts into arrays.
    """
    size = lambda arrays: sum(x.size * x.dtype.itemsize for x in arrays)
    leaves, tree = jax.tree.flatten(carry)
    if size(leaves) <= 32768:
        chosen = lambda new, old: jnp.where(condition, new, old)
        own = jax.tree.map(lambda x: x, carry)  # The step writes into dicts of its carry.
        return jax.tree.map(chosen, step(own), carry)
    if jax.default_backend() == "cpu":
        flat = lambda *x: jax.tree.leaves(step(jax.tree.unflatten(tree, x)))
        traced = jax.make_jaxpr(flat)(*leaves)
        puts = [put_into(traced.jaxpr, k) for k in range(len(leaves))]
        whole = size(x for x, put in zip(leaves, puts) if not put)
        if whole <= 32768 and is_brief(traced):
            return jax.tree.unflatten(tree, [*selected_parts(condition, traced, leaves, puts)])
    return taken_if(condition, step, carry)


def loop_i(
    at, h, state, loss2, net_adam_adam_direction_m_moving_average_m_letters,
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
    net_cell_b, net_cell_c, net_out_w, net_out_b, at_mul, text,
    loss_d_cost_take_along_expand_dims_expand_dims, *, steps=None, I, T, N,
):
    """i from at[0] on, at[1] steps; the loop of at_add, letter, h_1, ..."""
    I_now = at[2]
    print_loss_rows = (jnp.int32(0), jnp.zeros((4096,), jnp.int32), jnp.zeros((4096,), jnp.float32))
    fault = jnp.zeros(4, jnp.int32)
    count = at[1] if steps is None else steps
    def step_i(i2, carry):
        (
            h, state, loss2, net_adam_adam_direction_m_moving_average_m_letters,
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
            net_cell_b, net_cell_c, net_out_w, net_out_b, print_loss_rows, fault,
        ) = carry
        i = at[0] + i2
        (at_add2,) = at_add((i,), at_mul, T=T)
        (
            letter2, state_getitem, state_gru_cell_r_split, state_gru_cell_r_split_out1,
            state_gru_cell_r_split_out2, cost_expand_dims, loss_d_cost_take_along_sum,
            loss_d_cost_log_softmax_logsumexp, code,
        ) = letter(
            (i,), at_add2, text, net_letters, net_cell_w, net_cell_b,
            loss_d_cost_take_along_expand_dims_expand_dims, T=T, N=N,
        )
        fault = first_fault(fault, 8, code, (i,))
        def taken(carry):
            (h,) = carry
            (h,) = h_1((i,), state, h, T=T)
            return (h,)
        (h,) = selected_if(i >= 1, taken, (h,))
        if T >= 2:
            (h_rows2,) = h_rows(
                (i,), h, state_gru_cell_r_split_out1, state_gru_cell_r_split_out2,
                state_gru_cell_r_split, net_cell_u, net_cell_c, T=T,
            )
            (h,) = h_2((i,), h_rows2, h, T=T)
        (
            state_gru_cell_r_split2_out2, state_gru_cell_z_sigmoid, state_gru_cell_sub,
            state_gru_cell_r_sigmoid, state, cost2, loss_d_logits,
            loss_d_logits_linear_matmul_einsum, loss_d_state_gru_cell_n_tanh_sub,
            loss_d_state_gru_cell_r_sigmoid_mul, loss_d_state_gru_cell_z_sigmoid_sub,
            loss_d_state_gru_cell_z_sigmoid_mul, code,
        ) = cost(
            (i,), h, net_cell_u, net_cell_c, state_gru_cell_r_split_out1, state_gru_cell_r_split,
            state_gru_cell_r_split_out2, net_out_w, net_out_b, cost_expand_dims,
            loss_d_cost_log_softmax_logsumexp, loss_d_cost_take_along_sum,
        )
        fault = first_fault(fault, 9, code, (i,))
        loss2, loss_d_state_rows = loss(
            (i,), cost2, loss_d_logits_linear_matmul_einsum, state_gru_cell_z_sigmoid,
            state_gru_cell_sub, loss_d_state_gru_cell_n_tanh_sub, state_gru_cell_r_split2_out2,
            loss_d_state_gru_cell_r_sigmoid_mul, loss_d_state_gru_cell_z_sigmoid_sub,
            loss_d_state_gru_cell_z_sigmoid_mul, state_gru_cell_r_sigmoid, net_cell_u, loss2, T=T,
        )
        (
            loss_d_state_gru_cell_n_add, loss_d_state_gru_cell_r_add, loss_d_state_gru_cell_z_add,
            loss_d_state_gru_cell_g_add,
        ) = loss_d_state_gru_cell_add(
            (i,), state_gru_cell_sub, loss_d_state_gru_cell_n_tanh_sub,
            state_gru_cell_r_split2_out2, loss_d_state_gru_cell_r_sigmoid_mul,
            loss_d_state_gru_cell_z_sigmoid_sub, loss_d_state_gru_cell_z_sigmoid_mul,
            state_gru_cell_r_sigmoid, loss_d_state_rows,
        )
        if I >= 2:
            def taken2(carry):
                (
                    net_adam_adam_direction_m_moving_average_m_letters,
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
                    net_adam_adam_direction_v_moving_average_m_out_b, net_letters, net_cell_w,
                    net_cell_u, net_cell_b, net_cell_c, net_out_w, net_out_b, fault,
                ) = carry
                (
                    loss_d_state_gru_cell_a_add, loss_d_state_getitem,
                    loss_d_state_gru_cell_a_add_sum, loss_d_state_gru_cell_g_add_sum,
                    loss_d_logits_sum2,
                ) = loss_d_logits_sum(
                    (i,), loss_d_state_gru_cell_r_add, loss_d_state_gru_cell_z_add,
                    loss_d_state_gru_cell_n_add, net_cell_w, loss_d_state_gru_cell_g_add,
                    loss_d_logits,
                )
                (
                    loss_d_net_letters, loss_d_net_cell_w, loss_d_net_cell_u, loss_d_net_cell_b,
                    loss_d_net_cell_c, loss_d_net_out_w, loss_d_net_out_b,
                    net_adam_adam_direction_v_mul, net_adam_adam_direction_v_mul2,
                    net_adam_adam_direction_v_mul3, net_adam_adam_direction_v_mul4,
                    net_adam_adam_direction_v_mul5, net_adam_adam_direction_v_mul6,
                    net_adam_adam_direction_v_mul7_2, code,
                ) = net_adam_adam_direction_v_mul7(
                    (i,), loss_d_state_getitem, letter2, loss_d_state_gru_cell_a_add, state_getitem,
                    loss_d_state_gru_cell_g_add, h, loss_d_state_gru_cell_a_add_sum,
                    loss_d_state_gru_cell_g_add_sum, loss_d_logits, state, loss_d_logits_sum2,
                )
                fault = first_fault(fault, 17, code, (i,))
                if I >= 3:
                    (
                        net_adam_adam_direction_m_moving_average_m_letters_new,
                        net_adam_adam_direction_m_moving_average_m_cell_w_new,
                        net_adam_adam_direction_m_moving_average_m_cell_u_new,
                        net_adam_adam_direction_m_moving_average_m_cell_b_new,
                        net_adam_adam_direction_m_moving_average_m_cell_c_new,
                        net_adam_adam_direction_m_moving_average_m_out_w_new,
                        net_adam_adam_direction_m_moving_average_m_out_b_new,
                        net_adam_adam_direction_v_moving_average_m_letters_new,
                        net_adam_adam_direction_v_moving_average_m_cell_w_new,
                        net_adam_adam_direction_v_moving_average_m_cell_u_new,
                        net_adam_adam_direction_v_moving_average_m_cell_b_new,
                        net_adam_adam_direction_v_moving_average_m_cell_c_new,
                        net_adam_adam_direction_v_moving_average_m_out_w_new,
                        net_adam_adam_direction_v_moving_average_m_out_b_new,
                    ) = net_adam_adam_direction_0(
                        (i,), net_adam_adam_direction_m_moving_average_m_letters,
                        net_adam_adam_direction_m_moving_average_m_cell_w,
                        net_adam_adam_direction_m_moving_average_m_cell_u,
                        net_adam_adam_direction_m_moving_average_m_cell_b,
                        net_adam_adam_direction_m_moving_average_m_cell_c,
                        net_adam_adam_direction_m_moving_average_m_out_w,
                        net_adam_adam_direction_m_moving_average_m_out_b, loss_d_net_letters,
                        loss_d_net_cell_w, loss_d_net_cell_u, loss_d_net_cell_b, loss_d_net_cell_c,
                        loss_d_net_out_w, loss_d_net_out_b,
                        net_adam_adam_direction_v_moving_average_m_letters,
                        net_adam_adam_direction_v_moving_average_m_cell_w,
                        net_adam_adam_direction_v_moving_average_m_cell_u,
                        net_adam_adam_direction_v_moving_average_m_cell_b,
                        net_adam_adam_direction_v_moving_average_m_cell_c,
                        net_adam_adam_direction_v_moving_average_m_out_w,
                        net_adam_adam_direction_v_moving_average_m_out_b,
                        net_adam_adam_direction_v_mul, net_adam_adam_direction_v_mul2,
                        net_adam_adam_direction_v_mul3, net_adam_adam_direction_v_mul4,
                        net_adam_adam_direction_v_mul5, net_adam_adam_direction_v_mul6,
                        net_adam_adam_direction_v_mul7_2,
                    )
                    net_adam_adam_direction_m_moving_average_m_letters = jnp.where(
                        i >= 1, net_adam_adam_direction_m_moving_average_m_letters_new,
                        net_adam_adam_direction_m_moving_average_m_letters,
                    )
                    net_adam_adam_direction_m_moving_average_m_cell_w = jnp.where(
                        i >= 1, net_adam_adam_direction_m_moving_average_m_cell_w_new,
                        net_adam_adam_direction_m_moving_average_m_cell_w,
                    )
                    net_adam_adam_direction_m_moving_average_m_cell_u = jnp.where(
                        i >= 1, net_adam_adam_direction_m_moving_average_m_cell_u_new,
                        net_adam_adam_direction_m_moving_average_m_cell_u,
                    )
                    net_adam_adam_direction_m_moving_average_m_cell_b = jnp.where(
                        i >= 1, net_adam_adam_direction_m_moving_average_m_cell_b_new,
                        net_adam_adam_direction_m_moving_average_m_cell_b,
                    )
                    net_adam_adam_direction_m_moving_average_m_cell_c = jnp.where(
                        i >= 1, net_adam_adam_direction_m_moving_average_m_cell_c_new,
                        net_adam_adam_direction_m_moving_average_m_cell_c,
                    )
                    net_adam_adam_direction_m_moving_average_m_out_w = jnp.where(
                        i >= 1, net_adam_adam_direction_m_moving_average_m_out_w_new,
                        net_adam_adam_direction_m_moving_average_m_out_w,
                    )
                    net_adam_adam_direction_m_moving_average_m_out_b = jnp.where(
                        i >= 1, net_adam_adam_direction_m_moving_average_m_out_b_new,
                        net_adam_adam_direction_m_moving_average_m_out_b,
                    )
                    net_adam_adam_direction_v_moving_average_m_letters = jnp.where(
                        i >= 1, net_adam_adam_direction_v_moving_average_m_letters_new,
                        net_adam_adam_direction_v_moving_average_m_letters,
                    )
                    net_adam_adam_direction_v_moving_average_m_cell_w = jnp.where(
                        i >= 1, net_adam_adam_direction_v_moving_average_m_cell_w_new,
                        net_adam_adam_direction_v_moving_average_m_cell_w,
                    )
                    net_adam_adam_direction_v_moving_average_m_cell_u = jnp.where(
                        i >= 1, net_adam_adam_direction_v_moving_average_m_cell_u_new,
                        net_adam_adam_direction_v_moving_average_m_cell_u,
                    )
                    net_adam_adam_direction_v_moving_average_m_cell_b = jnp.where(
                        i >= 1, net_adam_adam_direction_v_moving_average_m_cell_b_new,
                        net_adam_adam_direction_v_moving_average_m_cell_b,
                    )
                    net_adam_adam_direction_v_moving_average_m_cell_c = jnp.where(
                        i >= 1, net_adam_adam_direction_v_moving_average_m_cell_c_new,
                        net_adam_adam_direction_v_moving_average_m_cell_c,
                    )
                    net_adam_adam_direction_v_moving_average_m_out_w = jnp.where(
                        i >= 1, net_adam_adam_direction_v_moving_average_m_out_w_new,
                        net_adam_adam_direction_v_moving_average_m_out_w,
                    )
                    net_adam_adam_direction_v_moving_average_m_out_b = jnp.where(
                        i >= 1, net_adam_adam_direction_v_moving_average_m_out_b_new,
                        net_adam_adam_direction_v_moving_average_m_out_b,
                    )
                (
                    net_adam_adam_direction_m_moving_average_m_letters_new2,
                    net_adam_adam_direction_m_moving_average_m_cell_w_new2,
                    net_adam_adam_direction_m_moving_average_m_cell_u_new2,
                    net_adam_adam_direction_m_moving_average_m_cell_b_new2,
                    net_adam_adam_direction_m_moving_average_m_cell_c_new2,
                    net_adam_adam_direction_m_moving_average_m_out_w_new2,
                    net_adam_adam_direction_m_moving_average_m_out_b_new2,
                    net_adam_adam_direction_v_moving_average_m_letters_new2,
                    net_adam_adam_direction_v_moving_average_m_cell_w_new2,
                    net_adam_adam_direction_v_moving_average_m_cell_u_new2,
                    net_adam_adam_direction_v_moving_average_m_cell_b_new2,
                    net_adam_adam_direction_v_moving_average_m_cell_c_new2,
                    net_adam_adam_direction_v_moving_average_m_out_w_new2,
                    net_adam_adam_direction_v_moving_average_m_out_b_new2,
                ) = net_adam_adam_direction_1(
                    (jnp.int32(0),), loss_d_net_letters, loss_d_net_cell_w, loss_d_net_cell_u,
                    loss_d_net_cell_b, loss_d_net_cell_c, loss_d_net_out_w, loss_d_net_out_b,
                    net_adam_adam_direction_v_mul, net_adam_adam_direction_v_mul2,
                    net_adam_adam_direction_v_mul3, net_adam_adam_direction_v_mul4,
                    net_adam_adam_direction_v_mul5, net_adam_adam_direction_v_mul6,
                    net_adam_adam_direction_v_mul7_2,
                )
                net_adam_adam_direction_m_moving_average_m_letters = jnp.where(
                    i == 0, net_adam_adam_direction_m_moving_average_m_letters_new2,
                    net_adam_adam_direction_m_moving_average_m_letters,
                )
                net_adam_adam_direction_m_moving_average_m_cell_w = jnp.where(
                    i == 0, net_adam_adam_direction_m_moving_average_m_cell_w_new2,
                    net_adam_adam_direction_m_moving_average_m_cell_w,
                )
                net_adam_adam_direction_m_moving_average_m_cell_u = jnp.where(
                    i == 0, net_adam_adam_direction_m_moving_average_m_cell_u_new2,
                    net_adam_adam_direction_m_moving_average_m_cell_u,
                )
                net_adam_adam_direction_m_moving_average_m_cell_b = jnp.where(
                    i == 0, net_adam_adam_direction_m_moving_average_m_cell_b_new2,
                    net_adam_adam_direction_m_moving_average_m_cell_b,
                )
                net_adam_adam_direction_m_moving_average_m_cell_c = jnp.where(
                    i == 0, net_adam_adam_direction_m_moving_average_m_cell_c_new2,
                    net_adam_adam_direction_m_moving_average_m_cell_c,
                )
                net_adam_adam_direction_m_moving_average_m_out_w = jnp.where(
                    i == 0, net_adam_adam_direction_m_moving_average_m_out_w_new2,
                    net_adam_adam_direction_m_moving_average_m_out_w,
                )
                net_adam_adam_direction_m_moving_average_m_out_b = jnp.where(
                    i == 0, net_adam_adam_direction_m_moving_average_m_out_b_new2,
                    net_adam_adam_direction_m_moving_average_m_out_b,
                )
                net_adam_adam_direction_v_moving_average_m_letters = jnp.where(
                    i == 0, net_adam_adam_direction_v_moving_average_m_letters_new2,
                    net_adam_adam_direction_v_moving_average_m_letters,
                )
                net_adam_adam_direction_v_moving_average_m_cell_w = jnp.where(
                    i == 0, net_adam_adam_direction_v_moving_average_m_cell_w_new2,
                    net_adam_adam_direction_v_moving_average_m_cell_w,
                )
                net_adam_adam_direction_v_moving_average_m_cell_u = jnp.where(
                    i == 0, net_adam_adam_direction_v_moving_average_m_cell_u_new2,
                    net_adam_adam_direction_v_moving_average_m_cell_u,
                )
                net_adam_adam_direction_v_moving_average_m_cell_b = jnp.where(
                    i == 0, net_adam_adam_direction_v_moving_average_m_cell_b_new2,
                    net_adam_adam_direction_v_moving_average_m_cell_b,
                )
                net_adam_adam_direction_v_moving_average_m_cell_c = jnp.where(
                    i == 0, net_adam_adam_direction_v_moving_average_m_cell_c_new2,
                    net_adam_adam_direction_v_moving_average_m_cell_c,
                )
                net_adam_adam_direction_v_moving_average_m_out_w = jnp.where(
                    i == 0, net_adam_adam_direction_v_moving_average_m_out_w_new2,
                    net_adam_adam_direction_v_moving_average_m_out_w,
                )
                net_adam_adam_direction_v_moving_average_m_out_b = jnp.where(
                    i == 0, net_adam_adam_direction_v_moving_average_m_out_b_new2,
                    net_adam_adam_direction_v_moving_average_m_out_b,
                )
                (
                    net_letters, net_cell_w, net_cell_u, net_cell_b, net_cell_c, net_out_w,
                    net_out_b,
                ) = net_1(
                    (i,), net_adam_adam_direction_m_moving_average_m_letters,
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
                    net_adam_adam_direction_v_moving_average_m_out_b, net_letters, net_cell_w,
                    net_cell_u, net_cell_b, net_cell_c, net_out_w, net_out_b,
                )
                return (
                    net_adam_adam_direction_m_moving_average_m_letters,
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
                    net_adam_adam_direction_v_moving_average_m_out_b, net_letters, net_cell_w,
                    net_cell_u, net_cell_b, net_cell_c, net_out_w, net_out_b, fault,
                )
            carry = (
                net_adam_adam_direction_m_moving_average_m_letters,
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
                net_adam_adam_direction_v_moving_average_m_out_b, net_letters, net_cell_w,
                net_cell_u, net_cell_b, net_cell_c, net_out_w, net_out_b, fault,
            )
            (
                net_adam_adam_direction_m_moving_average_m_letters,
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
                net_adam_adam_direction_v_moving_average_m_out_b, net_letters, net_cell_w,
                net_cell_u, net_cell_b, net_cell_c, net_out_w, net_out_b, fault,
            ) = taken_if(i < I_now - 1, taken2, carry)
        def taken3(carry):
            (print_loss_rows,) = carry
            (row,) = print_loss((i,), loss2)
            print_loss_rows = with_row(print_loss_rows, (i, row), fault[1] == 0)
            return (print_loss_rows,)
        (print_loss_rows,) = taken_if(i % 50 == 0, taken3, (print_loss_rows,))
        return (
            h, state, loss2, net_adam_adam_direction_m_moving_average_m_letters,
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
            net_cell_b, net_cell_c, net_out_w, net_out_b, print_loss_rows, fault,
        )
    carry = (
        h, state, loss2, net_adam_adam_direction_m_moving_average_m_letters,
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
        net_cell_b, net_cell_c, net_out_w, net_out_b, print_loss_rows, fault,
    )
    (
        h, state, loss2, net_adam_adam_direction_m_moving_average_m_letters,
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
        net_cell_b, net_cell_c, net_out_w, net_out_b, print_loss_rows, fault,
    ) = lax.fori_loop(0, count, step_i, carry)
    return (
        h, state, loss2, net_adam_adam_direction_m_moving_average_m_letters,
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
        net_cell_b, net_cell_c, net_out_w, net_out_b, print_loss_rows, fault,
    )
