"""Kernels of moons, written by tempoc: one function for each statement.

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


def start_0_w_default(at, random_seed):
    """moons.rt:19: param start = nn.mlp_init([2 + 2 * waves, hidden, hidden, hidden, 2])
    moons.rt:27: return 2.0 * where(side, upper, lower) + 0.1 * random.normal([n, 2])
    nn.rt:228: return (2.0 * random.uniform(shape) - 1.0) * sqrt(6.0 / (shape[0] + shape[1]))
    """
    glorot_key = random_key(random_seed, 3852686859)
    glorot_uniform = random_uniform(
        glorot_key, jnp.arange(640, dtype=jnp.uint32).reshape((64, 10)), 32, 23, jnp.float32,
    )
    return ((2.0 * glorot_uniform - 1.0) * 0.2847473987257497,)


def start_1_w_default(at, random_seed):
    """moons.rt:19: param start = nn.mlp_init([2 + 2 * waves, hidden, hidden, hidden, 2])
    moons.rt:27: return 2.0 * where(side, upper, lower) + 0.1 * random.normal([n, 2])
    nn.rt:228: return (2.0 * random.uniform(shape) - 1.0) * sqrt(6.0 / (shape[0] + shape[1]))
    """
    glorot_key = random_key(random_seed, 3009051787)
    glorot_uniform = random_uniform(
        glorot_key, jnp.arange(4096, dtype=jnp.uint32).reshape((64, 64)), 32, 23, jnp.float32,
    )
    return ((2.0 * glorot_uniform - 1.0) * 0.21650635094610965,)


def start_2_w_default(at, random_seed):
    """moons.rt:19: param start = nn.mlp_init([2 + 2 * waves, hidden, hidden, hidden, 2])
    moons.rt:27: return 2.0 * where(side, upper, lower) + 0.1 * random.normal([n, 2])
    nn.rt:228: return (2.0 * random.uniform(shape) - 1.0) * sqrt(6.0 / (shape[0] + shape[1]))
    """
    glorot_key = random_key(random_seed, 1738273217)
    glorot_uniform = random_uniform(
        glorot_key, jnp.arange(4096, dtype=jnp.uint32).reshape((64, 64)), 32, 23, jnp.float32,
    )
    return ((2.0 * glorot_uniform - 1.0) * 0.21650635094610965,)


def start_3_w_default(at, random_seed):
    """moons.rt:19: param start = nn.mlp_init([2 + 2 * waves, hidden, hidden, hidden, 2])
    moons.rt:27: return 2.0 * where(side, upper, lower) + 0.1 * random.normal([n, 2])
    nn.rt:228: return (2.0 * random.uniform(shape) - 1.0) * sqrt(6.0 / (shape[0] + shape[1]))
    """
    glorot_key = random_key(random_seed, 3023049794)
    glorot_uniform = random_uniform(
        glorot_key, jnp.arange(128, dtype=jnp.uint32).reshape((2, 64)), 32, 23, jnp.float32,
    )
    return ((2.0 * glorot_uniform - 1.0) * 0.30151134457776363,)


def start_0_b_default(at):
    """moons.rt:19: param start = nn.mlp_init([2 + 2 * waves, hidden, hidden, hidden, 2])"""
    b_default = jnp.zeros((64,), jnp.float32)
    return b_default, b_default, b_default


def start_3_b_default(at):
    """moons.rt:19: param start = nn.mlp_init([2 + 2 * waves, hidden, hidden, hidden, 2])"""
    return (jnp.zeros((2,), jnp.float32),)


def loss(
    at, random_seed, wave_power, net_0_w, net_0_b, net_1_w, net_1_b, net_2_w, net_2_b, net_3_w,
    net_3_b, loss,
):
    """moons.rt:23: angle = pi * random.uniform([n])
    moons.rt:24: upper = stack([cos(angle) - 0.5, sin(angle) - 0.25], 1)
    moons.rt:25: lower = stack([0.5 - cos(angle), 0.25 - sin(angle)], 1)
    moons.rt:26: side = expand_dims(random.bernoulli(0.5 * ones([n])), 1)
    moons.rt:27: return 2.0 * where(side, upper, lower) + 0.1 * random.normal([n, 2])
    moons.rt:32: wave = expand_dims(angle, 1) * 2.0 ** arange(waves)
    moons.rt:33: return nn.mlp(net, concat([x, sin(wave), cos(wave)], 1), act = silu)
    moons.rt:37: clean[i] = moons(batch)
    moons.rt:38: noise[i] = random.normal([batch, 2])
    moons.rt:39: level[i] = 0.5 * pi * random.uniform([batch])
    moons.rt:40: c = expand_dims(cos(level), 1)
    moons.rt:41: d = expand_dims(sin(level), 1)
    moons.rt:42: loss = mean((direction(net, c * clean + d * noise, level) - (c * noise - d * clean)) ** 2)
    nn.rt:29: return x @ w.T + b
    nn.rt:36: h = act(linear(h, layers[k].w, layers[k].b))
    nn.rt:228: return (2.0 * random.uniform(shape) - 1.0) * sqrt(6.0 / (shape[0] + shape[1]))
    """
    i = at[0]
    angle_key = random_key(random_seed, 2578763086, i)
    angle_uniform = random_uniform(
        angle_key, jnp.arange(256, dtype=jnp.uint32), 32, 23, jnp.float32,
    )
    angle_mul = 3.141592653589793 * angle_uniform
    upper_cos = jnp.cos(angle_mul)
    upper_sin = jnp.sin(angle_mul)
    upper_stack = jnp.stack([upper_cos - 0.5, upper_sin - 0.25], axis=1)
    lower_stack = jnp.stack([0.5 - upper_cos, 0.25 - upper_sin], axis=1)
    side_key = random_key(random_seed, 4039029010, i)
    side_mul = jnp.full((256,), jnp.float32(0.5))
    side_bernoulli = random_uniform(
        side_key, jnp.arange(256, dtype=jnp.uint32), 32, 23, jnp.float32,
    ) < side_mul
    moons_mul = 2.0 * jnp.where(jnp.expand_dims(side_bernoulli, 1), upper_stack, lower_stack)
    moons_key = random_key(random_seed, 1561137754, i)
    moons_normal = random_normal(
        moons_key, jnp.arange(512, dtype=jnp.uint32).reshape((256, 2)), jnp.float32,
    )
    clean = moons_mul + 0.1 * moons_normal
    noise_key = random_key(random_seed, 854868754, i)
    noise = random_normal(
        noise_key, jnp.arange(512, dtype=jnp.uint32).reshape((256, 2)), jnp.float32,
    )
    level_key = random_key(random_seed, 704766698, i)
    level_uniform = random_uniform(
        level_key, jnp.arange(256, dtype=jnp.uint32), 32, 23, jnp.float32,
    )
    level = 1.5707963267948966 * level_uniform
    c = jnp.expand_dims(jnp.cos(level), 1)
    d = jnp.expand_dims(jnp.sin(level), 1)
    loss_add = c * clean + d * noise
    wave_mul = jnp.expand_dims(level, 1) * wave_power
    direction_concat = jnp.concatenate([loss_add, jnp.sin(wave_mul), jnp.cos(wave_mul)], axis=1)
    h_linear_add = jnp.einsum("ij,kj->ik", direction_concat, net_0_w) + net_0_b
    h_silu = jax.nn.silu(h_linear_add)
    linear2_add = jnp.einsum("ij,kj->ik", h_silu, net_1_w) + net_1_b
    h_silu2 = jax.nn.silu(linear2_add)
    linear3_add = jnp.einsum("ij,kj->ik", h_silu2, net_2_w) + net_2_b
    h_silu3 = jax.nn.silu(linear3_add)
    loss_sub2 = jnp.einsum("ij,kj->ik", h_silu3, net_3_w) + net_3_b - (c * noise - d * clean)
    loss_i = jnp.sum(loss_sub2 * loss_sub2, axis=(0, 1)) / 512
    loss = lax.dynamic_update_index_in_dim(loss, loss_i, i, 0)
    return (
        direction_concat, h_linear_add, h_silu, linear2_add, h_silu2, linear3_add, h_silu3,
        loss_sub2, loss,
    )


def net_3_b_0(
    at, start_0_w, start_0_b, start_1_w, start_1_b, start_2_w, start_2_b, start_3_w, start_3_b,
):
    """moons.rt:32: wave = expand_dims(angle, 1) * 2.0 ** arange(waves)
    moons.rt:43: net[0] = start
    """
    wave_power = jnp.power(jnp.float32(2.0), jnp.arange(4, dtype=jnp.int32).astype(jnp.float32))
    return (
        wave_power, start_0_w, start_0_b, start_1_w, start_1_b, start_2_w, start_2_b, start_3_w,
        start_3_b,
    )


def net_1(
    at, m_moving_average_m_0_w, m_moving_average_m_0_b, m_moving_average_m_1_w,
    m_moving_average_m_1_b, m_moving_average_m_2_w, m_moving_average_m_2_b, m_moving_average_m_3_w,
    m_moving_average_m_3_b, v_moving_average_m_0_w, v_moving_average_m_0_b, v_moving_average_m_1_w,
    v_moving_average_m_1_b, v_moving_average_m_2_w, v_moving_average_m_2_b, v_moving_average_m_3_w,
    v_moving_average_m_3_b, net_0_w, net_0_b, net_1_w, net_1_b, net_2_w, net_2_b, net_3_w, net_3_b,
):
    """moons.rt:42: loss = mean((direction(net, c * clean + d * noise, level) - (c * noise - d * clean)) ** 2)
    moons.rt:44: net[i+1] = optim.adam(net, grad(loss, net), i, lr = optim.cosine(i, 1e-2, I))
    optim.rt:44: return x - lr * adam_direction(g, i, b1, b2, eps)
    optim.rt:139: m = moving_average(g, i, b1) / seen(i, b1)
    optim.rt:140: v = moving_average(g * g, i, b2) / seen(i, b2)
    optim.rt:141: return m / (sqrt(v) + eps)
    optim.rt:154: return -expm1((i + 1) * log(decay))
    optim.rt:201: return last + (first - last) * 0.5 * (1.0 + cos(3.141592653589793 * clip(i / steps, 0.0, 1.0)))
    """
    I = at[1]
    i = at[0]
    cosine_div = jnp.int32(i).astype(jnp.float32) / jnp.int32(I).astype(jnp.float32)
    cosine_clip = jnp.minimum(jnp.maximum(cosine_div, jnp.float32(0.0)), jnp.float32(1.0))
    cosine_add2 = 0.0 + 0.005 * (1.0 + jnp.cos(3.141592653589793 * cosine_clip))
    seen_index = jnp.int32(i+1)
    m_seen_neg = -jnp.expm1(seen_index.astype(jnp.float32) * -0.10536051565782628)
    v_seen_neg = -jnp.expm1(seen_index.astype(jnp.float32) * -0.0010005003335835344)
    adam_direction_add = jnp.sqrt(v_moving_average_m_0_w / v_seen_neg) + 1e-08
    adam_direction_add2 = jnp.sqrt(v_moving_average_m_0_b / v_seen_neg) + 1e-08
    adam_direction_add3 = jnp.sqrt(v_moving_average_m_1_w / v_seen_neg) + 1e-08
    adam_direction_add4 = jnp.sqrt(v_moving_average_m_1_b / v_seen_neg) + 1e-08
    adam_direction_add5 = jnp.sqrt(v_moving_average_m_2_w / v_seen_neg) + 1e-08
    adam_direction_add6 = jnp.sqrt(v_moving_average_m_2_b / v_seen_neg) + 1e-08
    adam_direction_add7 = jnp.sqrt(v_moving_average_m_3_w / v_seen_neg) + 1e-08
    adam_direction_add8 = jnp.sqrt(v_moving_average_m_3_b / v_seen_neg) + 1e-08
    net_0_w_1 = net_0_w - cosine_add2 * (m_moving_average_m_0_w / m_seen_neg / adam_direction_add)
    net_0_b_1 = net_0_b - cosine_add2 * (m_moving_average_m_0_b / m_seen_neg / adam_direction_add2)
    net_1_w_1 = net_1_w - cosine_add2 * (m_moving_average_m_1_w / m_seen_neg / adam_direction_add3)
    net_1_b_1 = net_1_b - cosine_add2 * (m_moving_average_m_1_b / m_seen_neg / adam_direction_add4)
    net_2_w_1 = net_2_w - cosine_add2 * (m_moving_average_m_2_w / m_seen_neg / adam_direction_add5)
    net_2_b_1 = net_2_b - cosine_add2 * (m_moving_average_m_2_b / m_seen_neg / adam_direction_add6)
    net_3_w_1 = net_3_w - cosine_add2 * (m_moving_average_m_3_w / m_seen_neg / adam_direction_add7)
    net_3_b_1 = net_3_b - cosine_add2 * (m_moving_average_m_3_b / m_seen_neg / adam_direction_add8)
    return net_0_w_1, net_0_b_1, net_1_w_1, net_1_b_1, net_2_w_1, net_2_b_1, net_3_w_1, net_3_b_1


def net_adam_adam_direction_0(
    at, m_moving_average_m_0_w_prev, m_moving_average_m_0_b_prev, m_moving_average_m_1_w_prev,
    m_moving_average_m_1_b_prev, m_moving_average_m_2_w_prev, m_moving_average_m_2_b_prev,
    m_moving_average_m_3_w_prev, m_moving_average_m_3_b_prev, d_net_0_w, d_net_0_b, d_net_1_w,
    d_net_1_b, d_net_2_w, d_net_2_b, d_net_3_w, d_net_3_b, v_moving_average_m_0_w_prev,
    v_moving_average_m_0_b_prev, v_moving_average_m_1_w_prev, v_moving_average_m_1_b_prev,
    v_moving_average_m_2_w_prev, v_moving_average_m_2_b_prev, v_moving_average_m_3_w_prev,
    v_moving_average_m_3_b_prev, v_mul, v_mul2, v_mul3, v_mul4, v_mul5, v_mul6, v_mul7, v_mul8,
):
    """optim.rt:146: m[i] = decay * m[i-1] + (1.0 - decay) * x when i >= 1"""
    m_moving_average_m_0_w_0 = 0.9 * m_moving_average_m_0_w_prev + 0.09999999999999998 * d_net_0_w
    m_moving_average_m_0_b_0 = 0.9 * m_moving_average_m_0_b_prev + 0.09999999999999998 * d_net_0_b
    m_moving_average_m_1_w_0 = 0.9 * m_moving_average_m_1_w_prev + 0.09999999999999998 * d_net_1_w
    m_moving_average_m_1_b_0 = 0.9 * m_moving_average_m_1_b_prev + 0.09999999999999998 * d_net_1_b
    m_moving_average_m_2_w_0 = 0.9 * m_moving_average_m_2_w_prev + 0.09999999999999998 * d_net_2_w
    m_moving_average_m_2_b_0 = 0.9 * m_moving_average_m_2_b_prev + 0.09999999999999998 * d_net_2_b
    m_moving_average_m_3_w_0 = 0.9 * m_moving_average_m_3_w_prev + 0.09999999999999998 * d_net_3_w
    m_moving_average_m_3_b_0 = 0.9 * m_moving_average_m_3_b_prev + 0.09999999999999998 * d_net_3_b
    v_moving_average_m_0_w_0 = 0.999 * v_moving_average_m_0_w_prev + 0.0010000000000000009 * v_mul
    v_moving_average_m_0_b_0 = 0.999 * v_moving_average_m_0_b_prev + 0.0010000000000000009 * v_mul2
    v_moving_average_m_1_w_0 = 0.999 * v_moving_average_m_1_w_prev + 0.0010000000000000009 * v_mul3
    v_moving_average_m_1_b_0 = 0.999 * v_moving_average_m_1_b_prev + 0.0010000000000000009 * v_mul4
    v_moving_average_m_2_w_0 = 0.999 * v_moving_average_m_2_w_prev + 0.0010000000000000009 * v_mul5
    v_moving_average_m_2_b_0 = 0.999 * v_moving_average_m_2_b_prev + 0.0010000000000000009 * v_mul6
    v_moving_average_m_3_w_0 = 0.999 * v_moving_average_m_3_w_prev + 0.0010000000000000009 * v_mul7
    v_moving_average_m_3_b_0 = 0.999 * v_moving_average_m_3_b_prev + 0.0010000000000000009 * v_mul8
    return (
        m_moving_average_m_0_w_0, m_moving_average_m_0_b_0, m_moving_average_m_1_w_0,
        m_moving_average_m_1_b_0, m_moving_average_m_2_w_0, m_moving_average_m_2_b_0,
        m_moving_average_m_3_w_0, m_moving_average_m_3_b_0, v_moving_average_m_0_w_0,
        v_moving_average_m_0_b_0, v_moving_average_m_1_w_0, v_moving_average_m_1_b_0,
        v_moving_average_m_2_w_0, v_moving_average_m_2_b_0, v_moving_average_m_3_w_0,
        v_moving_average_m_3_b_0,
    )


def loss_d_loss_expand_dims2(at):
    """moons.rt:42: loss = mean((direction(net, c * clean + d * noise, level) - (c * noise - d * clean)) ** 2)"""
    return (jnp.expand_dims(jnp.expand_dims(jnp.float32(0.001953125), 0), 1),)


def net_adam_adam_direction_v_mul8(
    at, loss_sub2, d_loss_expand_dims2, net_3_w, linear3_add, net_2_w, linear2_add, net_1_w,
    linear_add, direction_concat, h_silu, h_silu2, h_silu3,
):
    """moons.rt:42: loss = mean((direction(net, c * clean + d * noise, level) - (c * noise - d * clean)) ** 2)
    moons.rt:43: net[0] = start
    moons.rt:44: net[i+1] = optim.adam(net, grad(loss, net), i, lr = optim.cosine(i, 1e-2, I))
    nn.rt:29: return x @ w.T + b
    nn.rt:36: h = act(linear(h, layers[k].w, layers[k].b))
    optim.rt:140: v = moving_average(g * g, i, b2) / seen(i, b2)
    optim.rt:201: return last + (first - last) * 0.5 * (1.0 + cos(3.141592653589793 * clip(i / steps, 0.0, 1.0)))
    """
    d_loss_sub2 = d_loss_expand_dims2 * (2.0 * loss_sub2)
    d_silu3_sigmoid = jax.nn.sigmoid(linear3_add)
    d_silu3_mul2 = d_silu3_sigmoid * (1.0 + linear3_add * (1.0 - d_silu3_sigmoid))
    d_silu3_mul3 = jnp.matmul(d_loss_sub2, net_3_w) * d_silu3_mul2
    d_silu2_sigmoid = jax.nn.sigmoid(linear2_add)
    d_silu2_mul2 = d_silu2_sigmoid * (1.0 + linear2_add * (1.0 - d_silu2_sigmoid))
    d_silu2_mul3 = jnp.matmul(d_silu3_mul3, net_2_w) * d_silu2_mul2
    d_silu_sigmoid = jax.nn.sigmoid(linear_add)
    d_silu_mul2 = d_silu_sigmoid * (1.0 + linear_add * (1.0 - d_silu_sigmoid))
    d_silu_mul3 = jnp.matmul(d_silu2_mul3, net_1_w) * d_silu_mul2
    d_net_0_w = transposed_matmul(d_silu_mul3, direction_concat)
    d_net_0_b = jnp.sum(d_silu_mul3, axis=0)
    d_net_1_w = transposed_matmul(d_silu2_mul3, h_silu)
    d_net_1_b = jnp.sum(d_silu2_mul3, axis=0)
    d_net_2_w = transposed_matmul(d_silu3_mul3, h_silu2)
    d_net_2_b = jnp.sum(d_silu3_mul3, axis=0)
    d_net_3_w = transposed_matmul(d_loss_sub2, h_silu3)
    d_net_3_b = jnp.sum(d_loss_sub2, axis=0)
    v_mul = d_net_0_w * d_net_0_w
    v_mul2 = d_net_0_b * d_net_0_b
    v_mul3 = d_net_1_w * d_net_1_w
    v_mul4 = d_net_1_b * d_net_1_b
    v_mul5 = d_net_2_w * d_net_2_w
    v_mul6 = d_net_2_b * d_net_2_b
    v_mul7 = d_net_3_w * d_net_3_w
    v_mul8 = d_net_3_b * d_net_3_b
    return (
        d_net_0_w, d_net_0_b, d_net_1_w, d_net_1_b, d_net_2_w, d_net_2_b, d_net_3_w, d_net_3_b,
        v_mul, v_mul2, v_mul3, v_mul4, v_mul5, v_mul6, v_mul7, v_mul8,
    )


def net_adam_adam_direction_1(
    at, d_net_0_w, d_net_0_b, d_net_1_w, d_net_1_b, d_net_2_w, d_net_2_b, d_net_3_w, d_net_3_b,
    v_mul, v_mul2, v_mul3, v_mul4, v_mul5, v_mul6, v_mul7, v_mul8,
):
    """optim.rt:147: m[i] = (1.0 - decay) * x"""
    m_moving_average_m_0_w_1 = 0.09999999999999998 * d_net_0_w
    m_moving_average_m_0_b_1 = 0.09999999999999998 * d_net_0_b
    m_moving_average_m_1_w_1 = 0.09999999999999998 * d_net_1_w
    m_moving_average_m_1_b_1 = 0.09999999999999998 * d_net_1_b
    m_moving_average_m_2_w_1 = 0.09999999999999998 * d_net_2_w
    m_moving_average_m_2_b_1 = 0.09999999999999998 * d_net_2_b
    m_moving_average_m_3_w_1 = 0.09999999999999998 * d_net_3_w
    m_moving_average_m_3_b_1 = 0.09999999999999998 * d_net_3_b
    v_moving_average_m_0_w_1 = 0.0010000000000000009 * v_mul
    v_moving_average_m_0_b_1 = 0.0010000000000000009 * v_mul2
    v_moving_average_m_1_w_1 = 0.0010000000000000009 * v_mul3
    v_moving_average_m_1_b_1 = 0.0010000000000000009 * v_mul4
    v_moving_average_m_2_w_1 = 0.0010000000000000009 * v_mul5
    v_moving_average_m_2_b_1 = 0.0010000000000000009 * v_mul6
    v_moving_average_m_3_w_1 = 0.0010000000000000009 * v_mul7
    v_moving_average_m_3_b_1 = 0.0010000000000000009 * v_mul8
    return (
        m_moving_average_m_0_w_1, m_moving_average_m_0_b_1, m_moving_average_m_1_w_1,
        m_moving_average_m_1_b_1, m_moving_average_m_2_w_1, m_moving_average_m_2_b_1,
        m_moving_average_m_3_w_1, m_moving_average_m_3_b_1, v_moving_average_m_0_w_1,
        v_moving_average_m_0_b_1, v_moving_average_m_1_w_1, v_moving_average_m_1_b_1,
        v_moving_average_m_2_w_1, v_moving_average_m_2_b_1, v_moving_average_m_3_w_1,
        v_moving_average_m_3_b_1,
    )


def angle(at, wave_power, *, S):
    """moons.rt:32: wave = expand_dims(angle, 1) * 2.0 ** arange(waves)
    moons.rt:33: return nn.mlp(net, concat([x, sin(wave), cos(wave)], 1), act = silu)
    moons.rt:47: angle = 0.5 * pi * s / S
    moons.rt:52: guess = direction(net[I-1], x, angle + zeros([samples]))
    moons.rt:53: point = cos(angle) * x - sin(angle) * guess
    moons.rt:54: rest = sin(angle) * x + cos(angle) * guess
    """
    def point(s):
        angle_mul = 1.5707963267948966 * jnp.int32(s).astype(jnp.float32)
        angle = angle_mul / jnp.int32(S).astype(jnp.float32)
        mul_mul = (angle + 0.0) * wave_power
        return (angle, jnp.cos(angle), jnp.sin(angle), jnp.sin(mul_mul), jnp.cos(mul_mul))
    (
        angle_rows, point_cos_rows, point_sin_rows, sin_sin_rows, cos_cos_rows,
    ) = jax.vmap(point)(jnp.arange(S, dtype=jnp.int32))
    return angle_rows, point_cos_rows, point_sin_rows, sin_sin_rows, cos_cos_rows


def x_rows(
    at, random_seed, less, point_cos, point_sin, sin_sin, cos_cos, x_sqrt, x_mul3, net_0_w_at,
    net_0_b_at, net_1_w_at, net_1_b_at, net_2_w_at, net_2_b_at, net_3_w_at, net_3_b_at, *, S,
):
    """moons.rt:48: x[S-1] = random.normal([samples, 2])
    moons.rt:49: x[s-1] = less * point + sqrt(1.0 - less ** 2 - fresh ** 2) * rest + fresh * random.normal([samples, 2])
    """
    x_key = random_key(random_seed, 911336565)
    x = random_normal(x_key, jnp.arange(1024, dtype=jnp.uint32).reshape((512, 2)), jnp.float32)
    x_sqrt_slice = x_sqrt[1:max(1, S)]
    x_mul3_slice = x_mul3[1:max(1, S)]
    less_slice2 = lax.pad(less[1:max(1, S)], jnp.float32(0.0), ((0, max(1, S-1)-max(0, S-1), 0),))
    x_sqrt_slice2 = lax.pad(x_sqrt_slice, jnp.float32(0.0), ((0, max(1, S-1)-max(0, S-1), 0),))
    x_mul3_slice2 = lax.pad(
        x_mul3_slice, jnp.float32(0.0), ((0, max(1, S-1)-max(0, S-1), 0), (0, 0, 0), (0, 0, 0)),
    )
    def step(k, rows):
        k2 = S-2 - k
        before = rows[k2+1]
        point_cos_row = point_cos[k2+1]
        point_sin_row = point_sin[k2+1]
        broadcast_to = jnp.broadcast_to(sin_sin[k2+1], (512, 4))
        broadcast_to2 = jnp.broadcast_to(cos_cos[k2+1], (512, 4))
        concat = jnp.concatenate([before, broadcast_to, broadcast_to2], axis=1)
        silu = jax.nn.silu(jnp.einsum("ij,kj->ik", concat, net_0_w_at) + net_0_b_at)
        silu2 = jax.nn.silu(jnp.einsum("ij,kj->ik", silu, net_1_w_at) + net_1_b_at)
        silu3 = jax.nn.silu(jnp.einsum("ij,kj->ik", silu2, net_2_w_at) + net_2_b_at)
        add4 = jnp.einsum("ij,kj->ik", silu3, net_3_w_at) + net_3_b_at
        mul6 = x_sqrt_slice2[k2] * (point_sin_row * before + point_cos_row * add4)
        add6 = less_slice2[k2] * (point_cos_row * before - point_sin_row * add4) + mul6
        return lax.dynamic_update_index_in_dim(rows, add6 + x_mul3_slice2[k2], k2, 0)
    return (lax.fori_loop(0, S-1, step, jnp.broadcast_to(x, (S, 512, 2))),)


def less(at, random_seed, angle, less2, x_sqrt2, x_mul3_2, *, S):
    """moons.rt:50: sqrt(1.0 - less ** 2 - fresh ** 2) * rest +
    moons.rt:51: fresh * random.normal([samples, 2])
    moons.rt:55: less[s] = cos(angle[s-1]) when s >= 1
    moons.rt:56: fresh[s] = eta * sin(angle[s-1]) / sin(angle) * sqrt(1.0 - (cos(angle) / less) ** 2) when s >= 1
    """
    def point(s, angle_prev_s, angle_s):
        less = jnp.cos(angle_prev_s)
        fresh_div2 = jnp.cos(angle_s) / less
        fresh = jnp.sin(angle_prev_s) / jnp.sin(angle_s) * jnp.sqrt(1.0 - fresh_div2 * fresh_div2)
        x_key2 = random_fold(random_key(random_seed, 2089245189), s)
        x_normal = random_normal(
            x_key2, jnp.arange(1024, dtype=jnp.uint32).reshape((512, 2)), jnp.float32,
        )
        return (less, jnp.sqrt(1.0 - less * less - fresh * fresh), fresh * x_normal)
    less_rows, x_sqrt_rows, x_mul3_rows = jax.vmap(point)(
        jnp.arange(1, S, dtype=jnp.int32), angle[:S-1], angle[1:S],
    )
    less2_2 = lax.dynamic_update_slice(less2, less_rows, (1,))
    x_sqrt2_2 = lax.dynamic_update_slice(x_sqrt2, x_sqrt_rows, (1,))
    x_mul3_2_2 = lax.dynamic_update_slice(x_mul3_2, x_mul3_rows, (1, 0, 0))
    return less2_2, x_sqrt2_2, x_mul3_2_2


def print_loss(at, loss):
    """moons.rt:59: print loss[i] when i % 100 == 0"""
    i = at[0]
    return (loss[i],)


def save_net(at, net_0_w, net_0_b, net_1_w, net_1_b, net_2_w, net_2_b, net_3_w, net_3_b):
    """moons.rt:60: save net[i] to "moons.safetensors" when i == I - 1"""
    return net_0_w, net_0_b, net_1_w, net_1_b, net_2_w, net_2_b, net_3_w, net_3_b


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


def loop_i(
    at, loss2, net_adam_adam_direction_m_moving_average_m_0_w,
    net_adam_adam_direction_m_moving_average_m_0_b, net_adam_adam_direction_m_moving_average_m_1_w,
    net_adam_adam_direction_m_moving_average_m_1_b, net_adam_adam_direction_m_moving_average_m_2_w,
    net_adam_adam_direction_m_moving_average_m_2_b, net_adam_adam_direction_m_moving_average_m_3_w,
    net_adam_adam_direction_m_moving_average_m_3_b, net_adam_adam_direction_v_moving_average_m_0_w,
    net_adam_adam_direction_v_moving_average_m_0_b, net_adam_adam_direction_v_moving_average_m_1_w,
    net_adam_adam_direction_v_moving_average_m_1_b, net_adam_adam_direction_v_moving_average_m_2_w,
    net_adam_adam_direction_v_moving_average_m_2_b, net_adam_adam_direction_v_moving_average_m_3_w,
    net_adam_adam_direction_v_moving_average_m_3_b, net_0_w, net_0_b, net_1_w, net_1_b, net_2_w,
    net_2_b, net_3_w, net_3_b, random_seed, loss_direction_wave_power, loss_d_loss_expand_dims2_2,
    *, steps=None,
):
    """i from at[0] on, at[1] steps; the loop of loss, net_adam_adam_direction_v_mul8, net_adam_adam_direction_0, ..."""
    I_now = at[2]
    print_loss_rows = (jnp.int32(0), jnp.zeros((4096,), jnp.int32), jnp.zeros((4096,), jnp.float32))
    count = at[1] if steps is None else steps
    def step_i(i2, carry):
        (
            loss2, net_adam_adam_direction_m_moving_average_m_0_w,
            net_adam_adam_direction_m_moving_average_m_0_b,
            net_adam_adam_direction_m_moving_average_m_1_w,
            net_adam_adam_direction_m_moving_average_m_1_b,
            net_adam_adam_direction_m_moving_average_m_2_w,
            net_adam_adam_direction_m_moving_average_m_2_b,
            net_adam_adam_direction_m_moving_average_m_3_w,
            net_adam_adam_direction_m_moving_average_m_3_b,
            net_adam_adam_direction_v_moving_average_m_0_w,
            net_adam_adam_direction_v_moving_average_m_0_b,
            net_adam_adam_direction_v_moving_average_m_1_w,
            net_adam_adam_direction_v_moving_average_m_1_b,
            net_adam_adam_direction_v_moving_average_m_2_w,
            net_adam_adam_direction_v_moving_average_m_2_b,
            net_adam_adam_direction_v_moving_average_m_3_w,
            net_adam_adam_direction_v_moving_average_m_3_b, net_0_w, net_0_b, net_1_w, net_1_b,
            net_2_w, net_2_b, net_3_w, net_3_b, print_loss_rows,
        ) = carry
        i = at[0] + i2
        (
            loss_direction_concat, loss_direction_mlp_h_linear_add, loss_direction_mlp_h_silu,
            loss_direction_mlp_h_linear2_add, loss_direction_mlp_h_silu2,
            loss_direction_mlp_h_linear3_add, loss_direction_mlp_h_silu3, loss_sub2, loss2,
        ) = loss(
            (i,), random_seed, loss_direction_wave_power, net_0_w, net_0_b, net_1_w, net_1_b,
            net_2_w, net_2_b, net_3_w, net_3_b, loss2,
        )
        (
            loss_d_net_0_w, loss_d_net_0_b, loss_d_net_1_w, loss_d_net_1_b, loss_d_net_2_w,
            loss_d_net_2_b, loss_d_net_3_w, loss_d_net_3_b, net_adam_adam_direction_v_mul,
            net_adam_adam_direction_v_mul2, net_adam_adam_direction_v_mul3,
            net_adam_adam_direction_v_mul4, net_adam_adam_direction_v_mul5,
            net_adam_adam_direction_v_mul6, net_adam_adam_direction_v_mul7,
            net_adam_adam_direction_v_mul8_2,
        ) = net_adam_adam_direction_v_mul8(
            (i,), loss_sub2, loss_d_loss_expand_dims2_2, net_3_w, loss_direction_mlp_h_linear3_add,
            net_2_w, loss_direction_mlp_h_linear2_add, net_1_w, loss_direction_mlp_h_linear_add,
            loss_direction_concat, loss_direction_mlp_h_silu, loss_direction_mlp_h_silu2,
            loss_direction_mlp_h_silu3,
        )
        (
            net_adam_adam_direction_m_moving_average_m_0_w,
            net_adam_adam_direction_m_moving_average_m_0_b,
            net_adam_adam_direction_m_moving_average_m_1_w,
            net_adam_adam_direction_m_moving_average_m_1_b,
            net_adam_adam_direction_m_moving_average_m_2_w,
            net_adam_adam_direction_m_moving_average_m_2_b,
            net_adam_adam_direction_m_moving_average_m_3_w,
            net_adam_adam_direction_m_moving_average_m_3_b,
            net_adam_adam_direction_v_moving_average_m_0_w,
            net_adam_adam_direction_v_moving_average_m_0_b,
            net_adam_adam_direction_v_moving_average_m_1_w,
            net_adam_adam_direction_v_moving_average_m_1_b,
            net_adam_adam_direction_v_moving_average_m_2_w,
            net_adam_adam_direction_v_moving_average_m_2_b,
            net_adam_adam_direction_v_moving_average_m_3_w,
            net_adam_adam_direction_v_moving_average_m_3_b,
        ) = net_adam_adam_direction_0(
            (i,), net_adam_adam_direction_m_moving_average_m_0_w,
            net_adam_adam_direction_m_moving_average_m_0_b,
            net_adam_adam_direction_m_moving_average_m_1_w,
            net_adam_adam_direction_m_moving_average_m_1_b,
            net_adam_adam_direction_m_moving_average_m_2_w,
            net_adam_adam_direction_m_moving_average_m_2_b,
            net_adam_adam_direction_m_moving_average_m_3_w,
            net_adam_adam_direction_m_moving_average_m_3_b, loss_d_net_0_w, loss_d_net_0_b,
            loss_d_net_1_w, loss_d_net_1_b, loss_d_net_2_w, loss_d_net_2_b, loss_d_net_3_w,
            loss_d_net_3_b, net_adam_adam_direction_v_moving_average_m_0_w,
            net_adam_adam_direction_v_moving_average_m_0_b,
            net_adam_adam_direction_v_moving_average_m_1_w,
            net_adam_adam_direction_v_moving_average_m_1_b,
            net_adam_adam_direction_v_moving_average_m_2_w,
            net_adam_adam_direction_v_moving_average_m_2_b,
            net_adam_adam_direction_v_moving_average_m_3_w,
            net_adam_adam_direction_v_moving_average_m_3_b, net_adam_adam_direction_v_mul,
            net_adam_adam_direction_v_mul2, net_adam_adam_direction_v_mul3,
            net_adam_adam_direction_v_mul4, net_adam_adam_direction_v_mul5,
            net_adam_adam_direction_v_mul6, net_adam_adam_direction_v_mul7,
            net_adam_adam_direction_v_mul8_2,
        )
        (
            net_adam_adam_direction_m_moving_average_m_0_w_new,
            net_adam_adam_direction_m_moving_average_m_0_b_new,
            net_adam_adam_direction_m_moving_average_m_1_w_new,
            net_adam_adam_direction_m_moving_average_m_1_b_new,
            net_adam_adam_direction_m_moving_average_m_2_w_new,
            net_adam_adam_direction_m_moving_average_m_2_b_new,
            net_adam_adam_direction_m_moving_average_m_3_w_new,
            net_adam_adam_direction_m_moving_average_m_3_b_new,
            net_adam_adam_direction_v_moving_average_m_0_w_new,
            net_adam_adam_direction_v_moving_average_m_0_b_new,
            net_adam_adam_direction_v_moving_average_m_1_w_new,
            net_adam_adam_direction_v_moving_average_m_1_b_new,
            net_adam_adam_direction_v_moving_average_m_2_w_new,
            net_adam_adam_direction_v_moving_average_m_2_b_new,
            net_adam_adam_direction_v_moving_average_m_3_w_new,
            net_adam_adam_direction_v_moving_average_m_3_b_new,
        ) = net_adam_adam_direction_1(
            (jnp.int32(0),), loss_d_net_0_w, loss_d_net_0_b, loss_d_net_1_w, loss_d_net_1_b,
            loss_d_net_2_w, loss_d_net_2_b, loss_d_net_3_w, loss_d_net_3_b,
            net_adam_adam_direction_v_mul, net_adam_adam_direction_v_mul2,
            net_adam_adam_direction_v_mul3, net_adam_adam_direction_v_mul4,
            net_adam_adam_direction_v_mul5, net_adam_adam_direction_v_mul6,
            net_adam_adam_direction_v_mul7, net_adam_adam_direction_v_mul8_2,
        )
        net_adam_adam_direction_m_moving_average_m_0_w = jnp.where(
            i < 1, net_adam_adam_direction_m_moving_average_m_0_w_new,
            net_adam_adam_direction_m_moving_average_m_0_w,
        )
        net_adam_adam_direction_m_moving_average_m_0_b = jnp.where(
            i < 1, net_adam_adam_direction_m_moving_average_m_0_b_new,
            net_adam_adam_direction_m_moving_average_m_0_b,
        )
        net_adam_adam_direction_m_moving_average_m_1_w = jnp.where(
            i < 1, net_adam_adam_direction_m_moving_average_m_1_w_new,
            net_adam_adam_direction_m_moving_average_m_1_w,
        )
        net_adam_adam_direction_m_moving_average_m_1_b = jnp.where(
            i < 1, net_adam_adam_direction_m_moving_average_m_1_b_new,
            net_adam_adam_direction_m_moving_average_m_1_b,
        )
        net_adam_adam_direction_m_moving_average_m_2_w = jnp.where(
            i < 1, net_adam_adam_direction_m_moving_average_m_2_w_new,
            net_adam_adam_direction_m_moving_average_m_2_w,
        )
        net_adam_adam_direction_m_moving_average_m_2_b = jnp.where(
            i < 1, net_adam_adam_direction_m_moving_average_m_2_b_new,
            net_adam_adam_direction_m_moving_average_m_2_b,
        )
        net_adam_adam_direction_m_moving_average_m_3_w = jnp.where(
            i < 1, net_adam_adam_direction_m_moving_average_m_3_w_new,
            net_adam_adam_direction_m_moving_average_m_3_w,
        )
        net_adam_adam_direction_m_moving_average_m_3_b = jnp.where(
            i < 1, net_adam_adam_direction_m_moving_average_m_3_b_new,
            net_adam_adam_direction_m_moving_average_m_3_b,
        )
        net_adam_adam_direction_v_moving_average_m_0_w = jnp.where(
            i < 1, net_adam_adam_direction_v_moving_average_m_0_w_new,
            net_adam_adam_direction_v_moving_average_m_0_w,
        )
        net_adam_adam_direction_v_moving_average_m_0_b = jnp.where(
            i < 1, net_adam_adam_direction_v_moving_average_m_0_b_new,
            net_adam_adam_direction_v_moving_average_m_0_b,
        )
        net_adam_adam_direction_v_moving_average_m_1_w = jnp.where(
            i < 1, net_adam_adam_direction_v_moving_average_m_1_w_new,
            net_adam_adam_direction_v_moving_average_m_1_w,
        )
        net_adam_adam_direction_v_moving_average_m_1_b = jnp.where(
            i < 1, net_adam_adam_direction_v_moving_average_m_1_b_new,
            net_adam_adam_direction_v_moving_average_m_1_b,
        )
        net_adam_adam_direction_v_moving_average_m_2_w = jnp.where(
            i < 1, net_adam_adam_direction_v_moving_average_m_2_w_new,
            net_adam_adam_direction_v_moving_average_m_2_w,
        )
        net_adam_adam_direction_v_moving_average_m_2_b = jnp.where(
            i < 1, net_adam_adam_direction_v_moving_average_m_2_b_new,
            net_adam_adam_direction_v_moving_average_m_2_b,
        )
        net_adam_adam_direction_v_moving_average_m_3_w = jnp.where(
            i < 1, net_adam_adam_direction_v_moving_average_m_3_w_new,
            net_adam_adam_direction_v_moving_average_m_3_w,
        )
        net_adam_adam_direction_v_moving_average_m_3_b = jnp.where(
            i < 1, net_adam_adam_direction_v_moving_average_m_3_b_new,
            net_adam_adam_direction_v_moving_average_m_3_b,
        )
        (
            net_0_w_new, net_0_b_new, net_1_w_new, net_1_b_new, net_2_w_new, net_2_b_new,
            net_3_w_new, net_3_b_new,
        ) = net_1(
            (i, I_now), net_adam_adam_direction_m_moving_average_m_0_w,
            net_adam_adam_direction_m_moving_average_m_0_b,
            net_adam_adam_direction_m_moving_average_m_1_w,
            net_adam_adam_direction_m_moving_average_m_1_b,
            net_adam_adam_direction_m_moving_average_m_2_w,
            net_adam_adam_direction_m_moving_average_m_2_b,
            net_adam_adam_direction_m_moving_average_m_3_w,
            net_adam_adam_direction_m_moving_average_m_3_b,
            net_adam_adam_direction_v_moving_average_m_0_w,
            net_adam_adam_direction_v_moving_average_m_0_b,
            net_adam_adam_direction_v_moving_average_m_1_w,
            net_adam_adam_direction_v_moving_average_m_1_b,
            net_adam_adam_direction_v_moving_average_m_2_w,
            net_adam_adam_direction_v_moving_average_m_2_b,
            net_adam_adam_direction_v_moving_average_m_3_w,
            net_adam_adam_direction_v_moving_average_m_3_b, net_0_w, net_0_b, net_1_w, net_1_b,
            net_2_w, net_2_b, net_3_w, net_3_b,
        )
        net_0_w = jnp.where(i < I_now - 1, net_0_w_new, net_0_w)
        net_0_b = jnp.where(i < I_now - 1, net_0_b_new, net_0_b)
        net_1_w = jnp.where(i < I_now - 1, net_1_w_new, net_1_w)
        net_1_b = jnp.where(i < I_now - 1, net_1_b_new, net_1_b)
        net_2_w = jnp.where(i < I_now - 1, net_2_w_new, net_2_w)
        net_2_b = jnp.where(i < I_now - 1, net_2_b_new, net_2_b)
        net_3_w = jnp.where(i < I_now - 1, net_3_w_new, net_3_w)
        net_3_b = jnp.where(i < I_now - 1, net_3_b_new, net_3_b)
        def taken(carry):
            (print_loss_rows,) = carry
            (row,) = print_loss((i,), loss2)
            print_loss_rows = with_row(print_loss_rows, (i, row), 1)
            return (print_loss_rows,)
        (print_loss_rows,) = taken_if(i % 100 == 0, taken, (print_loss_rows,))
        return (
            loss2, net_adam_adam_direction_m_moving_average_m_0_w,
            net_adam_adam_direction_m_moving_average_m_0_b,
            net_adam_adam_direction_m_moving_average_m_1_w,
            net_adam_adam_direction_m_moving_average_m_1_b,
            net_adam_adam_direction_m_moving_average_m_2_w,
            net_adam_adam_direction_m_moving_average_m_2_b,
            net_adam_adam_direction_m_moving_average_m_3_w,
            net_adam_adam_direction_m_moving_average_m_3_b,
            net_adam_adam_direction_v_moving_average_m_0_w,
            net_adam_adam_direction_v_moving_average_m_0_b,
            net_adam_adam_direction_v_moving_average_m_1_w,
            net_adam_adam_direction_v_moving_average_m_1_b,
            net_adam_adam_direction_v_moving_average_m_2_w,
            net_adam_adam_direction_v_moving_average_m_2_b,
            net_adam_adam_direction_v_moving_average_m_3_w,
            net_adam_adam_direction_v_moving_average_m_3_b, net_0_w, net_0_b, net_1_w, net_1_b,
            net_2_w, net_2_b, net_3_w, net_3_b, print_loss_rows,
        )
    carry = (
        loss2, net_adam_adam_direction_m_moving_average_m_0_w,
        net_adam_adam_direction_m_moving_average_m_0_b,
        net_adam_adam_direction_m_moving_average_m_1_w,
        net_adam_adam_direction_m_moving_average_m_1_b,
        net_adam_adam_direction_m_moving_average_m_2_w,
        net_adam_adam_direction_m_moving_average_m_2_b,
        net_adam_adam_direction_m_moving_average_m_3_w,
        net_adam_adam_direction_m_moving_average_m_3_b,
        net_adam_adam_direction_v_moving_average_m_0_w,
        net_adam_adam_direction_v_moving_average_m_0_b,
        net_adam_adam_direction_v_moving_average_m_1_w,
        net_adam_adam_direction_v_moving_average_m_1_b,
        net_adam_adam_direction_v_moving_average_m_2_w,
        net_adam_adam_direction_v_moving_average_m_2_b,
        net_adam_adam_direction_v_moving_average_m_3_w,
        net_adam_adam_direction_v_moving_average_m_3_b, net_0_w, net_0_b, net_1_w, net_1_b, net_2_w,
        net_2_b, net_3_w, net_3_b, print_loss_rows,
    )
    (
        loss2, net_adam_adam_direction_m_moving_average_m_0_w,
        net_adam_adam_direction_m_moving_average_m_0_b,
        net_adam_adam_direction_m_moving_average_m_1_w,
        net_adam_adam_direction_m_moving_average_m_1_b,
        net_adam_adam_direction_m_moving_average_m_2_w,
        net_adam_adam_direction_m_moving_average_m_2_b,
        net_adam_adam_direction_m_moving_average_m_3_w,
        net_adam_adam_direction_m_moving_average_m_3_b,
        net_adam_adam_direction_v_moving_average_m_0_w,
        net_adam_adam_direction_v_moving_average_m_0_b,
        net_adam_adam_direction_v_moving_average_m_1_w,
        net_adam_adam_direction_v_moving_average_m_1_b,
        net_adam_adam_direction_v_moving_average_m_2_w,
        net_adam_adam_direction_v_moving_average_m_2_b,
        net_adam_adam_direction_v_moving_average_m_3_w,
        net_adam_adam_direction_v_moving_average_m_3_b, net_0_w, net_0_b, net_1_w, net_1_b, net_2_w,
        net_2_b, net_3_w, net_3_b, print_loss_rows,
    ) = lax.fori_loop(0, count, step_i, carry)
    return (
        loss2, net_adam_adam_direction_m_moving_average_m_0_w,
        net_adam_adam_direction_m_moving_average_m_0_b,
        net_adam_adam_direction_m_moving_average_m_1_w,
        net_adam_adam_direction_m_moving_average_m_1_b,
        net_adam_adam_direction_m_moving_average_m_2_w,
        net_adam_adam_direction_m_moving_average_m_2_b,
        net_adam_adam_direction_m_moving_average_m_3_w,
        net_adam_adam_direction_m_moving_average_m_3_b,
        net_adam_adam_direction_v_moving_average_m_0_w,
        net_adam_adam_direction_v_moving_average_m_0_b,
        net_adam_adam_direction_v_moving_average_m_1_w,
        net_adam_adam_direction_v_moving_average_m_1_b,
        net_adam_adam_direction_v_moving_average_m_2_w,
        net_adam_adam_direction_v_moving_average_m_2_b,
        net_adam_adam_direction_v_moving_average_m_3_w,
        net_adam_adam_direction_v_moving_average_m_3_b, net_0_w, net_0_b, net_1_w, net_1_b, net_2_w,
        net_2_b, net_3_w, net_3_b, print_loss_rows,
    )


def block(
    at, loss_direction_wave_power, random_seed, net_0_w, net_0_b, net_1_w, net_1_b, net_2_w,
    net_2_b, net_3_w, net_3_b, *, S,
):
    """What stands between two tasks of the host: angle, less, x_rows."""
    less2 = jnp.zeros((S,), jnp.float32)
    x_sqrt = jnp.zeros((S,), jnp.float32)
    x_mul3 = jnp.zeros((S, 512, 2), jnp.float32)
    (
        angle2, point_cos, point_sin, guess_direction_sin_sin, guess_direction_cos_cos,
    ) = angle((), loss_direction_wave_power, S=S)
    if S >= 2:
        less2, x_sqrt, x_mul3 = less((), random_seed, angle2, less2, x_sqrt, x_mul3, S=S)
    (x_rows2,) = x_rows(
        (), random_seed, less2, point_cos, point_sin, guess_direction_sin_sin,
        guess_direction_cos_cos, x_sqrt, x_mul3, net_0_w, net_0_b, net_1_w, net_1_b, net_2_w,
        net_2_b, net_3_w, net_3_b, S=S,
    )
    return (x_rows2,)
