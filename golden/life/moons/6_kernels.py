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


def start_0_w_default(at, random_seed):
    """moons.rt:19: param start = nn.mlp_init([2 + 2 * waves, hidden, hidden, hidden, 2])
    moons.rt:27: return 2.0 * where(side, upper, lower) + 0.1 * random.normal([n, 2])
    nn.rt:217: return (2.0 * random.uniform(shape) - 1.0) * sqrt(6.0 / (shape[0] + shape[1]))
    """
    start_mlp_init_linear_init_glorot_key = random_key(random_seed, 3852686859)
    start_mlp_init_linear_init_glorot_uniform = random_uniform(start_mlp_init_linear_init_glorot_key, jnp.arange(640, dtype=jnp.uint32).reshape((64, 10)), 32, 23, jnp.float32)
    start_mlp_init_linear_init_glorot_mul = jnp.float32(2.0) * start_mlp_init_linear_init_glorot_uniform
    start_mlp_init_linear_init_glorot_sub = start_mlp_init_linear_init_glorot_mul - jnp.float32(1.0)
    start_0_w_default = start_mlp_init_linear_init_glorot_sub * jnp.float32(0.2847473987257497)
    return (start_0_w_default,)


def start_1_w_default(at, random_seed):
    """moons.rt:19: param start = nn.mlp_init([2 + 2 * waves, hidden, hidden, hidden, 2])
    moons.rt:27: return 2.0 * where(side, upper, lower) + 0.1 * random.normal([n, 2])
    nn.rt:217: return (2.0 * random.uniform(shape) - 1.0) * sqrt(6.0 / (shape[0] + shape[1]))
    """
    start_mlp_init_linear_init2_glorot_key = random_key(random_seed, 3009051787)
    start_mlp_init_linear_init2_glorot_uniform = random_uniform(start_mlp_init_linear_init2_glorot_key, jnp.arange(4096, dtype=jnp.uint32).reshape((64, 64)), 32, 23, jnp.float32)
    start_mlp_init_linear_init2_glorot_mul = jnp.float32(2.0) * start_mlp_init_linear_init2_glorot_uniform
    start_mlp_init_linear_init2_glorot_sub = start_mlp_init_linear_init2_glorot_mul - jnp.float32(1.0)
    start_1_w_default = start_mlp_init_linear_init2_glorot_sub * jnp.float32(0.21650635094610965)
    return (start_1_w_default,)


def start_2_w_default(at, random_seed):
    """moons.rt:19: param start = nn.mlp_init([2 + 2 * waves, hidden, hidden, hidden, 2])
    moons.rt:27: return 2.0 * where(side, upper, lower) + 0.1 * random.normal([n, 2])
    nn.rt:217: return (2.0 * random.uniform(shape) - 1.0) * sqrt(6.0 / (shape[0] + shape[1]))
    """
    start_mlp_init_linear_init3_glorot_key = random_key(random_seed, 1738273217)
    start_mlp_init_linear_init3_glorot_uniform = random_uniform(start_mlp_init_linear_init3_glorot_key, jnp.arange(4096, dtype=jnp.uint32).reshape((64, 64)), 32, 23, jnp.float32)
    start_mlp_init_linear_init3_glorot_mul = jnp.float32(2.0) * start_mlp_init_linear_init3_glorot_uniform
    start_mlp_init_linear_init3_glorot_sub = start_mlp_init_linear_init3_glorot_mul - jnp.float32(1.0)
    start_2_w_default = start_mlp_init_linear_init3_glorot_sub * jnp.float32(0.21650635094610965)
    return (start_2_w_default,)


def start_3_w_default(at, random_seed):
    """moons.rt:19: param start = nn.mlp_init([2 + 2 * waves, hidden, hidden, hidden, 2])
    moons.rt:27: return 2.0 * where(side, upper, lower) + 0.1 * random.normal([n, 2])
    nn.rt:217: return (2.0 * random.uniform(shape) - 1.0) * sqrt(6.0 / (shape[0] + shape[1]))
    """
    start_mlp_init_linear_init4_glorot_key = random_key(random_seed, 3023049794)
    start_mlp_init_linear_init4_glorot_uniform = random_uniform(start_mlp_init_linear_init4_glorot_key, jnp.arange(128, dtype=jnp.uint32).reshape((2, 64)), 32, 23, jnp.float32)
    start_mlp_init_linear_init4_glorot_mul = jnp.float32(2.0) * start_mlp_init_linear_init4_glorot_uniform
    start_mlp_init_linear_init4_glorot_sub = start_mlp_init_linear_init4_glorot_mul - jnp.float32(1.0)
    start_3_w_default = start_mlp_init_linear_init4_glorot_sub * jnp.float32(0.30151134457776363)
    return (start_3_w_default,)


def start_0_b_default(at):
    """moons.rt:19: param start = nn.mlp_init([2 + 2 * waves, hidden, hidden, hidden, 2])"""
    start_0_b_default = jnp.full((64,), jnp.float32(0.0))
    return start_0_b_default, start_0_b_default, start_0_b_default


def start_3_b_default(at):
    """moons.rt:19: param start = nn.mlp_init([2 + 2 * waves, hidden, hidden, hidden, 2])"""
    start_3_b_default = jnp.full((2,), jnp.float32(0.0))
    return (start_3_b_default,)


def loss(
    at, random_seed, loss_direction_wave_power, net_0_w, net_0_b, net_1_w, net_1_b, net_2_w,
    net_2_b, net_3_w, net_3_b, loss,
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
    nn.rt:217: return (2.0 * random.uniform(shape) - 1.0) * sqrt(6.0 / (shape[0] + shape[1]))
    """
    i = at[0]
    clean_moons_angle_key = random_key(random_seed, 2578763086, i)
    clean_moons_angle_uniform = random_uniform(clean_moons_angle_key, jnp.arange(256, dtype=jnp.uint32), 32, 23, jnp.float32)
    clean_moons_angle_mul = jnp.float32(3.141592653589793) * clean_moons_angle_uniform
    clean_moons_upper_cos = jnp.cos(clean_moons_angle_mul)
    clean_moons_upper_sub = clean_moons_upper_cos - jnp.float32(0.5)
    clean_moons_upper_sin = jnp.sin(clean_moons_angle_mul)
    clean_moons_upper_sub2 = clean_moons_upper_sin - jnp.float32(0.25)
    clean_moons_upper_stack = jnp.stack([clean_moons_upper_sub, clean_moons_upper_sub2], axis=1)
    clean_moons_lower_sub = jnp.float32(0.5) - clean_moons_upper_cos
    clean_moons_lower_sub2 = jnp.float32(0.25) - clean_moons_upper_sin
    clean_moons_lower_stack = jnp.stack([clean_moons_lower_sub, clean_moons_lower_sub2], axis=1)
    clean_moons_side_key = random_key(random_seed, 4039029010, i)
    clean_moons_side_mul = jnp.full((256,), jnp.float32(0.5))
    clean_moons_side_bernoulli = random_uniform(clean_moons_side_key, jnp.arange(256, dtype=jnp.uint32), 32, 23, jnp.float32) < clean_moons_side_mul
    clean_moons_side_expand_dims = jnp.expand_dims(clean_moons_side_bernoulli, 1)
    clean_moons_where = jnp.where(clean_moons_side_expand_dims, clean_moons_upper_stack, clean_moons_lower_stack)
    clean_moons_mul = jnp.float32(2.0) * clean_moons_where
    clean_moons_key = random_key(random_seed, 1561137754, i)
    clean_moons_normal = random_normal(clean_moons_key, jnp.arange(512, dtype=jnp.uint32).reshape((256, 2)), jnp.float32)
    clean_moons_mul2 = jnp.float32(0.1) * clean_moons_normal
    clean = clean_moons_mul + clean_moons_mul2
    noise_key = random_key(random_seed, 854868754, i)
    noise = random_normal(noise_key, jnp.arange(512, dtype=jnp.uint32).reshape((256, 2)), jnp.float32)
    level_key = random_key(random_seed, 704766698, i)
    level_uniform = random_uniform(level_key, jnp.arange(256, dtype=jnp.uint32), 32, 23, jnp.float32)
    level = jnp.float32(1.5707963267948966) * level_uniform
    c_cos = jnp.cos(level)
    c = jnp.expand_dims(c_cos, 1)
    d_sin = jnp.sin(level)
    d = jnp.expand_dims(d_sin, 1)
    loss_mul = c * clean
    loss_mul2 = d * noise
    loss_add = loss_mul + loss_mul2
    loss_direction_wave_expand_dims = jnp.expand_dims(level, 1)
    loss_direction_wave_mul = loss_direction_wave_expand_dims * loss_direction_wave_power
    loss_direction_sin = jnp.sin(loss_direction_wave_mul)
    loss_direction_cos = jnp.cos(loss_direction_wave_mul)
    loss_direction_concat = jnp.concatenate([loss_add, loss_direction_sin, loss_direction_cos], axis=1)
    loss_direction_mlp_h_linear_matmul = jnp.einsum("ij,kj->ik", loss_direction_concat, net_0_w)
    loss_direction_mlp_h_linear_add = loss_direction_mlp_h_linear_matmul + net_0_b
    loss_direction_mlp_h_silu = jax.nn.silu(loss_direction_mlp_h_linear_add)
    loss_direction_mlp_h_linear2_matmul = jnp.einsum("ij,kj->ik", loss_direction_mlp_h_silu, net_1_w)
    loss_direction_mlp_h_linear2_add = loss_direction_mlp_h_linear2_matmul + net_1_b
    loss_direction_mlp_h_silu2 = jax.nn.silu(loss_direction_mlp_h_linear2_add)
    loss_direction_mlp_h_linear3_matmul = jnp.einsum("ij,kj->ik", loss_direction_mlp_h_silu2, net_2_w)
    loss_direction_mlp_h_linear3_add = loss_direction_mlp_h_linear3_matmul + net_2_b
    loss_direction_mlp_h_silu3 = jax.nn.silu(loss_direction_mlp_h_linear3_add)
    loss_direction_mlp_linear_matmul = jnp.einsum("ij,kj->ik", loss_direction_mlp_h_silu3, net_3_w)
    loss_direction_mlp_linear_add = loss_direction_mlp_linear_matmul + net_3_b
    loss_mul3 = c * noise
    loss_mul4 = d * clean
    loss_sub = loss_mul3 - loss_mul4
    loss_sub2 = loss_direction_mlp_linear_add - loss_sub
    loss_power = loss_sub2 * loss_sub2
    loss_i = jnp.sum(loss_power, axis=(0, 1)) / jnp.float32(512)
    loss = lax.dynamic_update_index_in_dim(loss, loss_i, i, 0)
    return loss_direction_concat, loss_direction_mlp_h_linear_add, loss_direction_mlp_h_silu, loss_direction_mlp_h_linear2_add, loss_direction_mlp_h_silu2, loss_direction_mlp_h_linear3_add, loss_direction_mlp_h_silu3, loss_sub2, loss


def net_3_b_0(
    at, start_0_w, start_0_b, start_1_w, start_1_b, start_2_w, start_2_b, start_3_w, start_3_b,
):
    """moons.rt:32: wave = expand_dims(angle, 1) * 2.0 ** arange(waves)
    moons.rt:43: net[0] = start
    """
    loss_direction_wave_arange = jnp.arange(4, dtype=jnp.int32)
    loss_direction_wave_power = jnp.power(jnp.float32(2.0), loss_direction_wave_arange.astype(jnp.float32))
    return loss_direction_wave_power, start_0_w, start_0_b, start_1_w, start_1_b, start_2_w, start_2_b, start_3_w, start_3_b


def net_3_b_1(
    at, net_adam_adam_direction_m_moving_average_m_0_w,
    net_adam_adam_direction_m_moving_average_m_0_b, net_adam_adam_direction_m_moving_average_m_1_w,
    net_adam_adam_direction_m_moving_average_m_1_b, net_adam_adam_direction_m_moving_average_m_2_w,
    net_adam_adam_direction_m_moving_average_m_2_b, net_adam_adam_direction_m_moving_average_m_3_w,
    net_adam_adam_direction_m_moving_average_m_3_b, net_adam_adam_direction_v_moving_average_m_0_w,
    net_adam_adam_direction_v_moving_average_m_0_b, net_adam_adam_direction_v_moving_average_m_1_w,
    net_adam_adam_direction_v_moving_average_m_1_b, net_adam_adam_direction_v_moving_average_m_2_w,
    net_adam_adam_direction_v_moving_average_m_2_b, net_adam_adam_direction_v_moving_average_m_3_w,
    net_adam_adam_direction_v_moving_average_m_3_b, net_0_w, net_0_b, net_1_w, net_1_b, net_2_w,
    net_2_b, net_3_w, net_3_b, *, I,
):
    """moons.rt:42: loss = mean((direction(net, c * clean + d * noise, level) - (c * noise - d * clean)) ** 2)
    moons.rt:44: net[i+1] = optim.adam(net, grad(loss, net), i, lr = optim.cosine(i, 1e-2, I))
    optim.rt:37: return x - lr * adam_direction(g, i, b1, b2, eps)
    optim.rt:56: m = moving_average(g, i, b1) / seen(i, b1)
    optim.rt:57: v = moving_average(g * g, i, b2) / seen(i, b2)
    optim.rt:58: return m / (sqrt(v) + eps)
    optim.rt:71: return -expm1((i + 1) * log(decay))
    optim.rt:118: return last + (first - last) * 0.5 * (1.0 + cos(3.141592653589793 * clip(i / steps, 0.0, 1.0)))
    """
    i = at[0]
    net_cosine_index = jnp.int32(i)
    net_cosine_index2 = jnp.int32(I)
    net_cosine_div = net_cosine_index.astype(jnp.float32) / net_cosine_index2.astype(jnp.float32)
    net_cosine_clip = jnp.minimum(jnp.maximum(net_cosine_div, jnp.float32(0.0)), jnp.float32(1.0))
    net_cosine_mul = jnp.float32(3.141592653589793) * net_cosine_clip
    net_cosine_cos = jnp.cos(net_cosine_mul)
    net_cosine_add = jnp.float32(1.0) + net_cosine_cos
    net_cosine_mul2 = jnp.float32(0.005) * net_cosine_add
    net_cosine_add2 = jnp.float32(0.0) + net_cosine_mul2
    net_adam_adam_direction_m_seen_index = jnp.int32(i+1)
    net_adam_adam_direction_m_seen_mul = net_adam_adam_direction_m_seen_index.astype(jnp.float32) * jnp.float32(-0.10536051565782628)
    net_adam_adam_direction_m_seen_expm1 = jnp.expm1(net_adam_adam_direction_m_seen_mul)
    net_adam_adam_direction_m_seen_neg = -net_adam_adam_direction_m_seen_expm1
    net_adam_adam_direction_m_div = net_adam_adam_direction_m_moving_average_m_0_w / net_adam_adam_direction_m_seen_neg
    net_adam_adam_direction_m_div2 = net_adam_adam_direction_m_moving_average_m_0_b / net_adam_adam_direction_m_seen_neg
    net_adam_adam_direction_m_div3 = net_adam_adam_direction_m_moving_average_m_1_w / net_adam_adam_direction_m_seen_neg
    net_adam_adam_direction_m_div4 = net_adam_adam_direction_m_moving_average_m_1_b / net_adam_adam_direction_m_seen_neg
    net_adam_adam_direction_m_div5 = net_adam_adam_direction_m_moving_average_m_2_w / net_adam_adam_direction_m_seen_neg
    net_adam_adam_direction_m_div6 = net_adam_adam_direction_m_moving_average_m_2_b / net_adam_adam_direction_m_seen_neg
    net_adam_adam_direction_m_div7 = net_adam_adam_direction_m_moving_average_m_3_w / net_adam_adam_direction_m_seen_neg
    net_adam_adam_direction_m_div8 = net_adam_adam_direction_m_moving_average_m_3_b / net_adam_adam_direction_m_seen_neg
    net_adam_adam_direction_v_seen_mul = net_adam_adam_direction_m_seen_index.astype(jnp.float32) * jnp.float32(-0.0010005003335835344)
    net_adam_adam_direction_v_seen_expm1 = jnp.expm1(net_adam_adam_direction_v_seen_mul)
    net_adam_adam_direction_v_seen_neg = -net_adam_adam_direction_v_seen_expm1
    net_adam_adam_direction_v_div = net_adam_adam_direction_v_moving_average_m_0_w / net_adam_adam_direction_v_seen_neg
    net_adam_adam_direction_v_div2 = net_adam_adam_direction_v_moving_average_m_0_b / net_adam_adam_direction_v_seen_neg
    net_adam_adam_direction_v_div3 = net_adam_adam_direction_v_moving_average_m_1_w / net_adam_adam_direction_v_seen_neg
    net_adam_adam_direction_v_div4 = net_adam_adam_direction_v_moving_average_m_1_b / net_adam_adam_direction_v_seen_neg
    net_adam_adam_direction_v_div5 = net_adam_adam_direction_v_moving_average_m_2_w / net_adam_adam_direction_v_seen_neg
    net_adam_adam_direction_v_div6 = net_adam_adam_direction_v_moving_average_m_2_b / net_adam_adam_direction_v_seen_neg
    net_adam_adam_direction_v_div7 = net_adam_adam_direction_v_moving_average_m_3_w / net_adam_adam_direction_v_seen_neg
    net_adam_adam_direction_v_div8 = net_adam_adam_direction_v_moving_average_m_3_b / net_adam_adam_direction_v_seen_neg
    net_adam_adam_direction_sqrt = jnp.sqrt(net_adam_adam_direction_v_div)
    net_adam_adam_direction_sqrt2 = jnp.sqrt(net_adam_adam_direction_v_div2)
    net_adam_adam_direction_sqrt3 = jnp.sqrt(net_adam_adam_direction_v_div3)
    net_adam_adam_direction_sqrt4 = jnp.sqrt(net_adam_adam_direction_v_div4)
    net_adam_adam_direction_sqrt5 = jnp.sqrt(net_adam_adam_direction_v_div5)
    net_adam_adam_direction_sqrt6 = jnp.sqrt(net_adam_adam_direction_v_div6)
    net_adam_adam_direction_sqrt7 = jnp.sqrt(net_adam_adam_direction_v_div7)
    net_adam_adam_direction_sqrt8 = jnp.sqrt(net_adam_adam_direction_v_div8)
    net_adam_adam_direction_add = net_adam_adam_direction_sqrt + jnp.float32(1e-08)
    net_adam_adam_direction_add2 = net_adam_adam_direction_sqrt2 + jnp.float32(1e-08)
    net_adam_adam_direction_add3 = net_adam_adam_direction_sqrt3 + jnp.float32(1e-08)
    net_adam_adam_direction_add4 = net_adam_adam_direction_sqrt4 + jnp.float32(1e-08)
    net_adam_adam_direction_add5 = net_adam_adam_direction_sqrt5 + jnp.float32(1e-08)
    net_adam_adam_direction_add6 = net_adam_adam_direction_sqrt6 + jnp.float32(1e-08)
    net_adam_adam_direction_add7 = net_adam_adam_direction_sqrt7 + jnp.float32(1e-08)
    net_adam_adam_direction_add8 = net_adam_adam_direction_sqrt8 + jnp.float32(1e-08)
    net_adam_adam_direction_div = net_adam_adam_direction_m_div / net_adam_adam_direction_add
    net_adam_adam_direction_div2 = net_adam_adam_direction_m_div2 / net_adam_adam_direction_add2
    net_adam_adam_direction_div3 = net_adam_adam_direction_m_div3 / net_adam_adam_direction_add3
    net_adam_adam_direction_div4 = net_adam_adam_direction_m_div4 / net_adam_adam_direction_add4
    net_adam_adam_direction_div5 = net_adam_adam_direction_m_div5 / net_adam_adam_direction_add5
    net_adam_adam_direction_div6 = net_adam_adam_direction_m_div6 / net_adam_adam_direction_add6
    net_adam_adam_direction_div7 = net_adam_adam_direction_m_div7 / net_adam_adam_direction_add7
    net_adam_adam_direction_div8 = net_adam_adam_direction_m_div8 / net_adam_adam_direction_add8
    net_adam_mul = net_cosine_add2 * net_adam_adam_direction_div
    net_adam_mul2 = net_cosine_add2 * net_adam_adam_direction_div2
    net_adam_mul3 = net_cosine_add2 * net_adam_adam_direction_div3
    net_adam_mul4 = net_cosine_add2 * net_adam_adam_direction_div4
    net_adam_mul5 = net_cosine_add2 * net_adam_adam_direction_div5
    net_adam_mul6 = net_cosine_add2 * net_adam_adam_direction_div6
    net_adam_mul7 = net_cosine_add2 * net_adam_adam_direction_div7
    net_adam_mul8 = net_cosine_add2 * net_adam_adam_direction_div8
    net_0_w_1 = net_0_w - net_adam_mul
    net_0_b_1 = net_0_b - net_adam_mul2
    net_1_w_1 = net_1_w - net_adam_mul3
    net_1_b_1 = net_1_b - net_adam_mul4
    net_2_w_1 = net_2_w - net_adam_mul5
    net_2_b_1 = net_2_b - net_adam_mul6
    net_3_w_1 = net_3_w - net_adam_mul7
    net_3_b_1 = net_3_b - net_adam_mul8
    return net_0_w_1, net_0_b_1, net_1_w_1, net_1_b_1, net_2_w_1, net_2_b_1, net_3_w_1, net_3_b_1


def net_adam_adam_direction_v_moving_average_m_3_b_0(
    at, net_adam_adam_direction_m_moving_average_m_0_w_prev,
    net_adam_adam_direction_m_moving_average_m_0_b_prev,
    net_adam_adam_direction_m_moving_average_m_1_w_prev,
    net_adam_adam_direction_m_moving_average_m_1_b_prev,
    net_adam_adam_direction_m_moving_average_m_2_w_prev,
    net_adam_adam_direction_m_moving_average_m_2_b_prev,
    net_adam_adam_direction_m_moving_average_m_3_w_prev,
    net_adam_adam_direction_m_moving_average_m_3_b_prev,
    loss_d_loss_direction_mlp_h_linear_transpose_transpose,
    loss_d_loss_direction_mlp_h_linear_add_sum,
    loss_d_loss_direction_mlp_h_linear2_transpose_transpose,
    loss_d_loss_direction_mlp_h_linear2_add_sum,
    loss_d_loss_direction_mlp_h_linear3_transpose_transpose,
    loss_d_loss_direction_mlp_h_linear3_add_sum,
    loss_d_loss_direction_mlp_linear_transpose_transpose, loss_d_loss_direction_mlp_linear_add_sum,
    net_adam_adam_direction_v_moving_average_m_0_w_prev,
    net_adam_adam_direction_v_moving_average_m_0_b_prev,
    net_adam_adam_direction_v_moving_average_m_1_w_prev,
    net_adam_adam_direction_v_moving_average_m_1_b_prev,
    net_adam_adam_direction_v_moving_average_m_2_w_prev,
    net_adam_adam_direction_v_moving_average_m_2_b_prev,
    net_adam_adam_direction_v_moving_average_m_3_w_prev,
    net_adam_adam_direction_v_moving_average_m_3_b_prev, net_adam_adam_direction_v_mul,
    net_adam_adam_direction_v_mul2, net_adam_adam_direction_v_mul3, net_adam_adam_direction_v_mul4,
    net_adam_adam_direction_v_mul5, net_adam_adam_direction_v_mul6, net_adam_adam_direction_v_mul7,
    net_adam_adam_direction_v_mul8,
):
    """optim.rt:63: m[i] = decay * m[i-1] + (1.0 - decay) * x when i >= 1"""
    net_adam_adam_direction_m_moving_average_m_mul = jnp.float32(0.9) * net_adam_adam_direction_m_moving_average_m_0_w_prev
    net_adam_adam_direction_m_moving_average_m_mul2 = jnp.float32(0.9) * net_adam_adam_direction_m_moving_average_m_0_b_prev
    net_adam_adam_direction_m_moving_average_m_mul3 = jnp.float32(0.9) * net_adam_adam_direction_m_moving_average_m_1_w_prev
    net_adam_adam_direction_m_moving_average_m_mul4 = jnp.float32(0.9) * net_adam_adam_direction_m_moving_average_m_1_b_prev
    net_adam_adam_direction_m_moving_average_m_mul5 = jnp.float32(0.9) * net_adam_adam_direction_m_moving_average_m_2_w_prev
    net_adam_adam_direction_m_moving_average_m_mul6 = jnp.float32(0.9) * net_adam_adam_direction_m_moving_average_m_2_b_prev
    net_adam_adam_direction_m_moving_average_m_mul7 = jnp.float32(0.9) * net_adam_adam_direction_m_moving_average_m_3_w_prev
    net_adam_adam_direction_m_moving_average_m_mul8 = jnp.float32(0.9) * net_adam_adam_direction_m_moving_average_m_3_b_prev
    net_adam_adam_direction_m_moving_average_m_mul9 = jnp.float32(0.09999999999999998) * loss_d_loss_direction_mlp_h_linear_transpose_transpose
    net_adam_adam_direction_m_moving_average_m_mul10 = jnp.float32(0.09999999999999998) * loss_d_loss_direction_mlp_h_linear_add_sum
    net_adam_adam_direction_m_moving_average_m_mul11 = jnp.float32(0.09999999999999998) * loss_d_loss_direction_mlp_h_linear2_transpose_transpose
    net_adam_adam_direction_m_moving_average_m_mul12 = jnp.float32(0.09999999999999998) * loss_d_loss_direction_mlp_h_linear2_add_sum
    net_adam_adam_direction_m_moving_average_m_mul13 = jnp.float32(0.09999999999999998) * loss_d_loss_direction_mlp_h_linear3_transpose_transpose
    net_adam_adam_direction_m_moving_average_m_mul14 = jnp.float32(0.09999999999999998) * loss_d_loss_direction_mlp_h_linear3_add_sum
    net_adam_adam_direction_m_moving_average_m_mul15 = jnp.float32(0.09999999999999998) * loss_d_loss_direction_mlp_linear_transpose_transpose
    net_adam_adam_direction_m_moving_average_m_mul16 = jnp.float32(0.09999999999999998) * loss_d_loss_direction_mlp_linear_add_sum
    net_adam_adam_direction_m_moving_average_m_0_w_0 = net_adam_adam_direction_m_moving_average_m_mul + net_adam_adam_direction_m_moving_average_m_mul9
    net_adam_adam_direction_m_moving_average_m_0_b_0 = net_adam_adam_direction_m_moving_average_m_mul2 + net_adam_adam_direction_m_moving_average_m_mul10
    net_adam_adam_direction_m_moving_average_m_1_w_0 = net_adam_adam_direction_m_moving_average_m_mul3 + net_adam_adam_direction_m_moving_average_m_mul11
    net_adam_adam_direction_m_moving_average_m_1_b_0 = net_adam_adam_direction_m_moving_average_m_mul4 + net_adam_adam_direction_m_moving_average_m_mul12
    net_adam_adam_direction_m_moving_average_m_2_w_0 = net_adam_adam_direction_m_moving_average_m_mul5 + net_adam_adam_direction_m_moving_average_m_mul13
    net_adam_adam_direction_m_moving_average_m_2_b_0 = net_adam_adam_direction_m_moving_average_m_mul6 + net_adam_adam_direction_m_moving_average_m_mul14
    net_adam_adam_direction_m_moving_average_m_3_w_0 = net_adam_adam_direction_m_moving_average_m_mul7 + net_adam_adam_direction_m_moving_average_m_mul15
    net_adam_adam_direction_m_moving_average_m_3_b_0 = net_adam_adam_direction_m_moving_average_m_mul8 + net_adam_adam_direction_m_moving_average_m_mul16
    net_adam_adam_direction_v_moving_average_m_mul = jnp.float32(0.999) * net_adam_adam_direction_v_moving_average_m_0_w_prev
    net_adam_adam_direction_v_moving_average_m_mul2 = jnp.float32(0.999) * net_adam_adam_direction_v_moving_average_m_0_b_prev
    net_adam_adam_direction_v_moving_average_m_mul3 = jnp.float32(0.999) * net_adam_adam_direction_v_moving_average_m_1_w_prev
    net_adam_adam_direction_v_moving_average_m_mul4 = jnp.float32(0.999) * net_adam_adam_direction_v_moving_average_m_1_b_prev
    net_adam_adam_direction_v_moving_average_m_mul5 = jnp.float32(0.999) * net_adam_adam_direction_v_moving_average_m_2_w_prev
    net_adam_adam_direction_v_moving_average_m_mul6 = jnp.float32(0.999) * net_adam_adam_direction_v_moving_average_m_2_b_prev
    net_adam_adam_direction_v_moving_average_m_mul7 = jnp.float32(0.999) * net_adam_adam_direction_v_moving_average_m_3_w_prev
    net_adam_adam_direction_v_moving_average_m_mul8 = jnp.float32(0.999) * net_adam_adam_direction_v_moving_average_m_3_b_prev
    net_adam_adam_direction_v_moving_average_m_mul9 = jnp.float32(0.0010000000000000009) * net_adam_adam_direction_v_mul
    net_adam_adam_direction_v_moving_average_m_mul10 = jnp.float32(0.0010000000000000009) * net_adam_adam_direction_v_mul2
    net_adam_adam_direction_v_moving_average_m_mul11 = jnp.float32(0.0010000000000000009) * net_adam_adam_direction_v_mul3
    net_adam_adam_direction_v_moving_average_m_mul12 = jnp.float32(0.0010000000000000009) * net_adam_adam_direction_v_mul4
    net_adam_adam_direction_v_moving_average_m_mul13 = jnp.float32(0.0010000000000000009) * net_adam_adam_direction_v_mul5
    net_adam_adam_direction_v_moving_average_m_mul14 = jnp.float32(0.0010000000000000009) * net_adam_adam_direction_v_mul6
    net_adam_adam_direction_v_moving_average_m_mul15 = jnp.float32(0.0010000000000000009) * net_adam_adam_direction_v_mul7
    net_adam_adam_direction_v_moving_average_m_mul16 = jnp.float32(0.0010000000000000009) * net_adam_adam_direction_v_mul8
    net_adam_adam_direction_v_moving_average_m_0_w_0 = net_adam_adam_direction_v_moving_average_m_mul + net_adam_adam_direction_v_moving_average_m_mul9
    net_adam_adam_direction_v_moving_average_m_0_b_0 = net_adam_adam_direction_v_moving_average_m_mul2 + net_adam_adam_direction_v_moving_average_m_mul10
    net_adam_adam_direction_v_moving_average_m_1_w_0 = net_adam_adam_direction_v_moving_average_m_mul3 + net_adam_adam_direction_v_moving_average_m_mul11
    net_adam_adam_direction_v_moving_average_m_1_b_0 = net_adam_adam_direction_v_moving_average_m_mul4 + net_adam_adam_direction_v_moving_average_m_mul12
    net_adam_adam_direction_v_moving_average_m_2_w_0 = net_adam_adam_direction_v_moving_average_m_mul5 + net_adam_adam_direction_v_moving_average_m_mul13
    net_adam_adam_direction_v_moving_average_m_2_b_0 = net_adam_adam_direction_v_moving_average_m_mul6 + net_adam_adam_direction_v_moving_average_m_mul14
    net_adam_adam_direction_v_moving_average_m_3_w_0 = net_adam_adam_direction_v_moving_average_m_mul7 + net_adam_adam_direction_v_moving_average_m_mul15
    net_adam_adam_direction_v_moving_average_m_3_b_0 = net_adam_adam_direction_v_moving_average_m_mul8 + net_adam_adam_direction_v_moving_average_m_mul16
    return net_adam_adam_direction_m_moving_average_m_0_w_0, net_adam_adam_direction_m_moving_average_m_0_b_0, net_adam_adam_direction_m_moving_average_m_1_w_0, net_adam_adam_direction_m_moving_average_m_1_b_0, net_adam_adam_direction_m_moving_average_m_2_w_0, net_adam_adam_direction_m_moving_average_m_2_b_0, net_adam_adam_direction_m_moving_average_m_3_w_0, net_adam_adam_direction_m_moving_average_m_3_b_0, net_adam_adam_direction_v_moving_average_m_0_w_0, net_adam_adam_direction_v_moving_average_m_0_b_0, net_adam_adam_direction_v_moving_average_m_1_w_0, net_adam_adam_direction_v_moving_average_m_1_b_0, net_adam_adam_direction_v_moving_average_m_2_w_0, net_adam_adam_direction_v_moving_average_m_2_b_0, net_adam_adam_direction_v_moving_average_m_3_w_0, net_adam_adam_direction_v_moving_average_m_3_b_0


def loss_d_loss_expand_dims2(at):
    """moons.rt:42: loss = mean((direction(net, c * clean + d * noise, level) - (c * noise - d * clean)) ** 2)"""
    loss_d_loss_expand_dims = jnp.expand_dims(jnp.float32(0.001953125), 0)
    loss_d_loss_expand_dims2 = jnp.expand_dims(loss_d_loss_expand_dims, 1)
    return (loss_d_loss_expand_dims2,)


def net_adam_adam_direction_v_mul8(
    at, loss_sub2, loss_d_loss_expand_dims2, net_3_w, loss_direction_mlp_h_linear3_add, net_2_w,
    loss_direction_mlp_h_linear2_add, net_1_w, loss_direction_mlp_h_linear_add,
    loss_direction_concat, loss_direction_mlp_h_silu, loss_direction_mlp_h_silu2,
    loss_direction_mlp_h_silu3,
):
    """moons.rt:42: loss = mean((direction(net, c * clean + d * noise, level) - (c * noise - d * clean)) ** 2)
    nn.rt:29: return x @ w.T + b
    nn.rt:36: h = act(linear(h, layers[k].w, layers[k].b))
    optim.rt:57: v = moving_average(g * g, i, b2) / seen(i, b2)
    optim.rt:118: return last + (first - last) * 0.5 * (1.0 + cos(3.141592653589793 * clip(i / steps, 0.0, 1.0)))
    """
    loss_d_loss_power_mul = jnp.float32(2.0) * loss_sub2
    loss_d_loss_power_mul2 = loss_d_loss_expand_dims2 * loss_d_loss_power_mul
    loss_d_loss_direction_mlp_linear_matmul_einsum = jnp.matmul(loss_d_loss_power_mul2, net_3_w)
    loss_d_loss_direction_mlp_h_silu3_sigmoid = jax.nn.sigmoid(loss_direction_mlp_h_linear3_add)
    loss_d_loss_direction_mlp_h_silu3_sub = jnp.float32(1.0) - loss_d_loss_direction_mlp_h_silu3_sigmoid
    loss_d_loss_direction_mlp_h_silu3_mul = loss_direction_mlp_h_linear3_add * loss_d_loss_direction_mlp_h_silu3_sub
    loss_d_loss_direction_mlp_h_silu3_add = jnp.float32(1.0) + loss_d_loss_direction_mlp_h_silu3_mul
    loss_d_loss_direction_mlp_h_silu3_mul2 = loss_d_loss_direction_mlp_h_silu3_sigmoid * loss_d_loss_direction_mlp_h_silu3_add
    loss_d_loss_direction_mlp_h_silu3_mul3 = loss_d_loss_direction_mlp_linear_matmul_einsum * loss_d_loss_direction_mlp_h_silu3_mul2
    loss_d_loss_direction_mlp_h_linear3_matmul_einsum = jnp.matmul(loss_d_loss_direction_mlp_h_silu3_mul3, net_2_w)
    loss_d_loss_direction_mlp_h_silu2_sigmoid = jax.nn.sigmoid(loss_direction_mlp_h_linear2_add)
    loss_d_loss_direction_mlp_h_silu2_sub = jnp.float32(1.0) - loss_d_loss_direction_mlp_h_silu2_sigmoid
    loss_d_loss_direction_mlp_h_silu2_mul = loss_direction_mlp_h_linear2_add * loss_d_loss_direction_mlp_h_silu2_sub
    loss_d_loss_direction_mlp_h_silu2_add = jnp.float32(1.0) + loss_d_loss_direction_mlp_h_silu2_mul
    loss_d_loss_direction_mlp_h_silu2_mul2 = loss_d_loss_direction_mlp_h_silu2_sigmoid * loss_d_loss_direction_mlp_h_silu2_add
    loss_d_loss_direction_mlp_h_silu2_mul3 = loss_d_loss_direction_mlp_h_linear3_matmul_einsum * loss_d_loss_direction_mlp_h_silu2_mul2
    loss_d_loss_direction_mlp_h_linear2_matmul_einsum = jnp.matmul(loss_d_loss_direction_mlp_h_silu2_mul3, net_1_w)
    loss_d_loss_direction_mlp_h_silu_sigmoid = jax.nn.sigmoid(loss_direction_mlp_h_linear_add)
    loss_d_loss_direction_mlp_h_silu_sub = jnp.float32(1.0) - loss_d_loss_direction_mlp_h_silu_sigmoid
    loss_d_loss_direction_mlp_h_silu_mul = loss_direction_mlp_h_linear_add * loss_d_loss_direction_mlp_h_silu_sub
    loss_d_loss_direction_mlp_h_silu_add = jnp.float32(1.0) + loss_d_loss_direction_mlp_h_silu_mul
    loss_d_loss_direction_mlp_h_silu_mul2 = loss_d_loss_direction_mlp_h_silu_sigmoid * loss_d_loss_direction_mlp_h_silu_add
    loss_d_loss_direction_mlp_h_silu_mul3 = loss_d_loss_direction_mlp_h_linear2_matmul_einsum * loss_d_loss_direction_mlp_h_silu_mul2
    loss_d_loss_direction_mlp_h_linear_transpose_transpose = jnp.einsum("ij,ik->jk", loss_d_loss_direction_mlp_h_silu_mul3, loss_direction_concat)
    loss_d_loss_direction_mlp_h_linear_add_sum = jnp.sum(loss_d_loss_direction_mlp_h_silu_mul3, axis=0)
    loss_d_loss_direction_mlp_h_linear2_transpose_transpose = jnp.einsum("ij,ik->jk", loss_d_loss_direction_mlp_h_silu2_mul3, loss_direction_mlp_h_silu)
    loss_d_loss_direction_mlp_h_linear2_add_sum = jnp.sum(loss_d_loss_direction_mlp_h_silu2_mul3, axis=0)
    loss_d_loss_direction_mlp_h_linear3_transpose_transpose = jnp.einsum("ij,ik->jk", loss_d_loss_direction_mlp_h_silu3_mul3, loss_direction_mlp_h_silu2)
    loss_d_loss_direction_mlp_h_linear3_add_sum = jnp.sum(loss_d_loss_direction_mlp_h_silu3_mul3, axis=0)
    loss_d_loss_direction_mlp_linear_transpose_transpose = jnp.einsum("ij,ik->jk", loss_d_loss_power_mul2, loss_direction_mlp_h_silu3)
    loss_d_loss_direction_mlp_linear_add_sum = jnp.sum(loss_d_loss_power_mul2, axis=0)
    net_adam_adam_direction_v_mul = loss_d_loss_direction_mlp_h_linear_transpose_transpose * loss_d_loss_direction_mlp_h_linear_transpose_transpose
    net_adam_adam_direction_v_mul2 = loss_d_loss_direction_mlp_h_linear_add_sum * loss_d_loss_direction_mlp_h_linear_add_sum
    net_adam_adam_direction_v_mul3 = loss_d_loss_direction_mlp_h_linear2_transpose_transpose * loss_d_loss_direction_mlp_h_linear2_transpose_transpose
    net_adam_adam_direction_v_mul4 = loss_d_loss_direction_mlp_h_linear2_add_sum * loss_d_loss_direction_mlp_h_linear2_add_sum
    net_adam_adam_direction_v_mul5 = loss_d_loss_direction_mlp_h_linear3_transpose_transpose * loss_d_loss_direction_mlp_h_linear3_transpose_transpose
    net_adam_adam_direction_v_mul6 = loss_d_loss_direction_mlp_h_linear3_add_sum * loss_d_loss_direction_mlp_h_linear3_add_sum
    net_adam_adam_direction_v_mul7 = loss_d_loss_direction_mlp_linear_transpose_transpose * loss_d_loss_direction_mlp_linear_transpose_transpose
    net_adam_adam_direction_v_mul8 = loss_d_loss_direction_mlp_linear_add_sum * loss_d_loss_direction_mlp_linear_add_sum
    return loss_d_loss_direction_mlp_h_linear_transpose_transpose, loss_d_loss_direction_mlp_h_linear_add_sum, loss_d_loss_direction_mlp_h_linear2_transpose_transpose, loss_d_loss_direction_mlp_h_linear2_add_sum, loss_d_loss_direction_mlp_h_linear3_transpose_transpose, loss_d_loss_direction_mlp_h_linear3_add_sum, loss_d_loss_direction_mlp_linear_transpose_transpose, loss_d_loss_direction_mlp_linear_add_sum, net_adam_adam_direction_v_mul, net_adam_adam_direction_v_mul2, net_adam_adam_direction_v_mul3, net_adam_adam_direction_v_mul4, net_adam_adam_direction_v_mul5, net_adam_adam_direction_v_mul6, net_adam_adam_direction_v_mul7, net_adam_adam_direction_v_mul8


def net_adam_adam_direction_v_moving_average_m_3_b_1(
    at, loss_d_loss_direction_mlp_h_linear_transpose_transpose,
    loss_d_loss_direction_mlp_h_linear_add_sum,
    loss_d_loss_direction_mlp_h_linear2_transpose_transpose,
    loss_d_loss_direction_mlp_h_linear2_add_sum,
    loss_d_loss_direction_mlp_h_linear3_transpose_transpose,
    loss_d_loss_direction_mlp_h_linear3_add_sum,
    loss_d_loss_direction_mlp_linear_transpose_transpose, loss_d_loss_direction_mlp_linear_add_sum,
    net_adam_adam_direction_v_mul, net_adam_adam_direction_v_mul2, net_adam_adam_direction_v_mul3,
    net_adam_adam_direction_v_mul4, net_adam_adam_direction_v_mul5, net_adam_adam_direction_v_mul6,
    net_adam_adam_direction_v_mul7, net_adam_adam_direction_v_mul8,
):
    """optim.rt:64: m[i] = (1.0 - decay) * x"""
    net_adam_adam_direction_m_moving_average_m_0_w_1 = jnp.float32(0.09999999999999998) * loss_d_loss_direction_mlp_h_linear_transpose_transpose
    net_adam_adam_direction_m_moving_average_m_0_b_1 = jnp.float32(0.09999999999999998) * loss_d_loss_direction_mlp_h_linear_add_sum
    net_adam_adam_direction_m_moving_average_m_1_w_1 = jnp.float32(0.09999999999999998) * loss_d_loss_direction_mlp_h_linear2_transpose_transpose
    net_adam_adam_direction_m_moving_average_m_1_b_1 = jnp.float32(0.09999999999999998) * loss_d_loss_direction_mlp_h_linear2_add_sum
    net_adam_adam_direction_m_moving_average_m_2_w_1 = jnp.float32(0.09999999999999998) * loss_d_loss_direction_mlp_h_linear3_transpose_transpose
    net_adam_adam_direction_m_moving_average_m_2_b_1 = jnp.float32(0.09999999999999998) * loss_d_loss_direction_mlp_h_linear3_add_sum
    net_adam_adam_direction_m_moving_average_m_3_w_1 = jnp.float32(0.09999999999999998) * loss_d_loss_direction_mlp_linear_transpose_transpose
    net_adam_adam_direction_m_moving_average_m_3_b_1 = jnp.float32(0.09999999999999998) * loss_d_loss_direction_mlp_linear_add_sum
    net_adam_adam_direction_v_moving_average_m_0_w_1 = jnp.float32(0.0010000000000000009) * net_adam_adam_direction_v_mul
    net_adam_adam_direction_v_moving_average_m_0_b_1 = jnp.float32(0.0010000000000000009) * net_adam_adam_direction_v_mul2
    net_adam_adam_direction_v_moving_average_m_1_w_1 = jnp.float32(0.0010000000000000009) * net_adam_adam_direction_v_mul3
    net_adam_adam_direction_v_moving_average_m_1_b_1 = jnp.float32(0.0010000000000000009) * net_adam_adam_direction_v_mul4
    net_adam_adam_direction_v_moving_average_m_2_w_1 = jnp.float32(0.0010000000000000009) * net_adam_adam_direction_v_mul5
    net_adam_adam_direction_v_moving_average_m_2_b_1 = jnp.float32(0.0010000000000000009) * net_adam_adam_direction_v_mul6
    net_adam_adam_direction_v_moving_average_m_3_w_1 = jnp.float32(0.0010000000000000009) * net_adam_adam_direction_v_mul7
    net_adam_adam_direction_v_moving_average_m_3_b_1 = jnp.float32(0.0010000000000000009) * net_adam_adam_direction_v_mul8
    return net_adam_adam_direction_m_moving_average_m_0_w_1, net_adam_adam_direction_m_moving_average_m_0_b_1, net_adam_adam_direction_m_moving_average_m_1_w_1, net_adam_adam_direction_m_moving_average_m_1_b_1, net_adam_adam_direction_m_moving_average_m_2_w_1, net_adam_adam_direction_m_moving_average_m_2_b_1, net_adam_adam_direction_m_moving_average_m_3_w_1, net_adam_adam_direction_m_moving_average_m_3_b_1, net_adam_adam_direction_v_moving_average_m_0_w_1, net_adam_adam_direction_v_moving_average_m_0_b_1, net_adam_adam_direction_v_moving_average_m_1_w_1, net_adam_adam_direction_v_moving_average_m_1_b_1, net_adam_adam_direction_v_moving_average_m_2_w_1, net_adam_adam_direction_v_moving_average_m_2_b_1, net_adam_adam_direction_v_moving_average_m_3_w_1, net_adam_adam_direction_v_moving_average_m_3_b_1


def angle(at, loss_direction_wave_power, *, S):
    """moons.rt:32: wave = expand_dims(angle, 1) * 2.0 ** arange(waves)
    moons.rt:33: return nn.mlp(net, concat([x, sin(wave), cos(wave)], 1), act = silu)
    moons.rt:47: angle = 0.5 * pi * s / S
    moons.rt:52: guess = direction(net[I-1], x, angle + zeros([samples]))
    moons.rt:53: point = cos(angle) * x - sin(angle) * guess
    moons.rt:54: rest = sin(angle) * x + cos(angle) * guess
    """
    def point(s):
        angle_index = jnp.int32(s)
        angle_mul = jnp.float32(1.5707963267948966) * angle_index.astype(jnp.float32)
        angle_index2 = jnp.int32(S)
        angle = angle_mul / angle_index2.astype(jnp.float32)
        point_cos = jnp.cos(angle)
        point_sin = jnp.sin(angle)
        guess_add_add = angle + jnp.float32(0.0)
        guess_direction_wave_mul_mul = guess_add_add * loss_direction_wave_power
        guess_direction_sin_sin = jnp.sin(guess_direction_wave_mul_mul)
        guess_direction_sin = jnp.broadcast_to(guess_direction_sin_sin, (512, 4))
        guess_direction_cos_cos = jnp.cos(guess_direction_wave_mul_mul)
        guess_direction_cos = jnp.broadcast_to(guess_direction_cos_cos, (512, 4))
        return (angle, point_cos, point_sin, guess_direction_sin, guess_direction_cos)
    angle_rows, point_cos_rows, point_sin_rows, guess_direction_sin_rows, guess_direction_cos_rows = jax.vmap(point)(jnp.arange(S, dtype=jnp.int32))
    return angle_rows, point_cos_rows, point_sin_rows, guess_direction_sin_rows, guess_direction_cos_rows


def x_rows(
    at, random_seed, less, point_cos, point_sin, guess_direction_sin, guess_direction_cos, x_sqrt,
    x_mul3, net_0_w_at, net_0_b_at, net_1_w_at, net_1_b_at, net_2_w_at, net_2_b_at, net_3_w_at,
    net_3_b_at, *, S,
):
    """moons.rt:48: x[S-1] = random.normal([samples, 2])
    moons.rt:49: x[s-1] = less * point + sqrt(1.0 - less ** 2 - fresh ** 2) * rest + fresh * random.normal([samples, 2])
    """
    x_key = random_key(random_seed, 911336565)
    x_0 = random_normal(x_key, jnp.arange(1024, dtype=jnp.uint32).reshape((512, 2)), jnp.float32)
    less_slice = less[1:max(1, S)]
    x_sqrt_slice = x_sqrt[1:max(1, S)]
    x_mul3_slice = x_mul3[1:max(1, S)]
    less_slice2 = lax.pad(less_slice, jnp.float32(0.0), ((0, max(1, S-1)-max(0, S-1), 0),))
    x_sqrt_slice2 = lax.pad(x_sqrt_slice, jnp.float32(0.0), ((0, max(1, S-1)-max(0, S-1), 0),))
    x_mul3_slice2 = lax.pad(x_mul3_slice, jnp.float32(0.0), ((0, max(1, S-1)-max(0, S-1), 0), (0, 0, 0), (0, 0, 0)))
    def step(k, rows):
        k2 = S-2 - k
        before = rows[k2+1]
        less_slice2_row = less_slice2[k2]
        point_cos_row = point_cos[k2+1]
        point_sin_row = point_sin[k2+1]
        guess_direction_sin_row = guess_direction_sin[k2+1]
        guess_direction_cos_row = guess_direction_cos[k2+1]
        x_sqrt_slice2_row = x_sqrt_slice2[k2]
        x_mul3_slice2_row = x_mul3_slice2[k2]
        mul = point_cos_row * before
        concat = jnp.concatenate([before, guess_direction_sin_row, guess_direction_cos_row], axis=1)
        einsum = jnp.einsum("ij,kj->ik", concat, net_0_w_at)
        add = einsum + net_0_b_at
        silu = jax.nn.silu(add)
        einsum2 = jnp.einsum("ij,kj->ik", silu, net_1_w_at)
        add2 = einsum2 + net_1_b_at
        silu2 = jax.nn.silu(add2)
        einsum3 = jnp.einsum("ij,kj->ik", silu2, net_2_w_at)
        add3 = einsum3 + net_2_b_at
        silu3 = jax.nn.silu(add3)
        einsum4 = jnp.einsum("ij,kj->ik", silu3, net_3_w_at)
        add4 = einsum4 + net_3_b_at
        mul2 = point_sin_row * add4
        sub = mul - mul2
        mul3 = less_slice2_row * sub
        mul4 = point_sin_row * before
        mul5 = point_cos_row * add4
        add5 = mul4 + mul5
        mul6 = x_sqrt_slice2_row * add5
        add6 = mul3 + mul6
        add7 = add6 + x_mul3_slice2_row
        return lax.dynamic_update_index_in_dim(rows, add7, k2, 0)
    x_rows = lax.fori_loop(0, S-1, step, jnp.broadcast_to(x_0, (S, 512, 2)))
    return (x_rows,)


def less(at, random_seed, angle, less2, x_sqrt2, x_mul32, *, S):
    """moons.rt:50: sqrt(1.0 - less ** 2 - fresh ** 2) * rest +
    moons.rt:51: fresh * random.normal([samples, 2])
    moons.rt:55: less[s] = cos(angle[s-1]) when s >= 1
    moons.rt:56: fresh[s] = eta * sin(angle[s-1]) / sin(angle) * sqrt(1.0 - (cos(angle) / less) ** 2) when s >= 1
    """
    def point(s, angle_prev_s, angle_s):
        less = jnp.cos(angle_prev_s)
        x_power = less * less
        x_sub = jnp.float32(1.0) - x_power
        fresh_sin = jnp.sin(angle_prev_s)
        fresh_sin2 = jnp.sin(angle_s)
        fresh_div = fresh_sin / fresh_sin2
        fresh_cos = jnp.cos(angle_s)
        fresh_div2 = fresh_cos / less
        fresh_power = fresh_div2 * fresh_div2
        fresh_sub = jnp.float32(1.0) - fresh_power
        fresh_sqrt = jnp.sqrt(fresh_sub)
        fresh = fresh_div * fresh_sqrt
        x_power2 = fresh * fresh
        x_sub2 = x_sub - x_power2
        x_sqrt = jnp.sqrt(x_sub2)
        x_key2 = random_key(random_seed, 2089245189, s)
        x_normal = random_normal(x_key2, jnp.arange(1024, dtype=jnp.uint32).reshape((512, 2)), jnp.float32)
        x_mul3 = fresh * x_normal
        return (less, x_sqrt, x_mul3)
    less_rows, x_sqrt_rows, x_mul3_rows = jax.vmap(point)(jnp.arange(1, S, dtype=jnp.int32), angle[:S-1], angle[1:S])
    less22 = lax.dynamic_update_slice(less2, less_rows, (1,))
    x_sqrt22 = lax.dynamic_update_slice(x_sqrt2, x_sqrt_rows, (1,))
    x_mul322 = lax.dynamic_update_slice(x_mul32, x_mul3_rows, (1, 0, 0))
    return less22, x_sqrt22, x_mul322


def print_loss(at, loss):
    """moons.rt:59: print loss[i] when i % 100 == 0"""
    i = at[0]
    loss_i = loss[i]
    return (loss_i,)


def save_net(at, net_0_w, net_0_b, net_1_w, net_1_b, net_2_w, net_2_b, net_3_w, net_3_b):
    """moons.rt:60: save net[i] to 'moons.safetensors' when i == I - 1"""
    return net_0_w, net_0_b, net_1_w, net_1_b, net_2_w, net_2_b, net_3_w, net_3_b
