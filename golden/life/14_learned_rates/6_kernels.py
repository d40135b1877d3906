"""Kernels of 14_learned_rates, written by tempoc: one function for each statement.

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


def updated(array, part, start, when=None):
    """The array with a part put in, if a condition holds; axes of length 1 are left out meanwhile.

    XLA for CPUs copies what a loop carries if an array that has such axes is updated, then read, or
    if all of it is selected.
    """
    both = zip(array.shape, part.shape)
    axes = tuple(k for k, sizes in enumerate(both) if sizes == (1, 1))
    rest = [s for k, s in enumerate(start) if k not in axes]
    array, part = lax.squeeze(array, axes), lax.squeeze(part, axes)
    if when is not None:
        old = lax.dynamic_slice(array, rest, part.shape, allow_negative_indices=False)
        part = jnp.where(when, part, old)
    new = lax.dynamic_update_slice(array, part, rest, allow_negative_indices=False)
    return lax.expand_dims(new, axes)


def start_0_w_default(at, random_seed):
    """14_learned_rates.rt:19: param start = nn.mlp_init([1, 10, 1])
    14_learned_rates.rt:29: test[i] = loss.mse(predict(net[i, K-1], expand_dims(new_x[0:M], 1))[:, 0], new_y[0:M])
    loss.rt:6: return mean((x - target) ** 2)
    nn.rt:228: return (2.0 * random.uniform(shape) - 1.0) * sqrt(6.0 / (shape[0] + shape[1]))
    """
    glorot_key = random_key(random_seed, 3852686859)
    glorot_uniform = random_uniform(
        glorot_key, jnp.arange(10, dtype=jnp.uint32).reshape((10, 1)), 32, 23, jnp.float32,
    )
    return ((2.0 * glorot_uniform - 1.0) * 0.7385489458759964,)


def start_1_w_default(at, random_seed):
    """14_learned_rates.rt:19: param start = nn.mlp_init([1, 10, 1])
    14_learned_rates.rt:29: test[i] = loss.mse(predict(net[i, K-1], expand_dims(new_x[0:M], 1))[:, 0], new_y[0:M])
    loss.rt:6: return mean((x - target) ** 2)
    nn.rt:228: return (2.0 * random.uniform(shape) - 1.0) * sqrt(6.0 / (shape[0] + shape[1]))
    """
    glorot_key = random_key(random_seed, 3009051787)
    glorot_uniform = random_uniform(
        glorot_key, jnp.arange(10, dtype=jnp.uint32).reshape((1, 10)), 32, 23, jnp.float32,
    )
    return ((2.0 * glorot_uniform - 1.0) * 0.7385489458759964,)


def start_0_b_default(at):
    """14_learned_rates.rt:19: param start = nn.mlp_init([1, 10, 1])"""
    return (jnp.zeros((10,), jnp.float32),)


def start_1_b_default(at):
    """14_learned_rates.rt:19: param start = nn.mlp_init([1, 10, 1])"""
    return (jnp.zeros((1,), jnp.float32),)


def test_d_test_getitem_mul(at, x, new_x, rates, rates_1, *, M):
    """14_learned_rates.rt:27: train = loss.mse(predict(net, expand_dims(x[0:N], 1))[:, 0], y[0:N])
    14_learned_rates.rt:29: test[i] = loss.mse(predict(net[i, K-1], expand_dims(new_x[0:M], 1))[:, 0], new_y[0:M])
    14_learned_rates.rt:30: rates[0] = [-3.0, -3.0]
    loss.rt:6: return mean((x - target) ** 2)
    nn.rt:228: return (2.0 * random.uniform(shape) - 1.0) * sqrt(6.0 / (shape[0] + shape[1]))
    """
    train_expand_dims = jnp.expand_dims(x, 1)
    test_expand_dims = jnp.expand_dims(new_x, 1)
    d_getitem_mul = 2.0 / jnp.int32(M).astype(jnp.float32)
    rates = lax.dynamic_update_index_in_dim(rates, jnp.float32(-3.0), 0, 0)
    rates_1 = lax.dynamic_update_index_in_dim(rates_1, jnp.float32(-3.0), 0, 0)
    return (
        train_expand_dims, test_expand_dims, rates, jnp.float32(-3.0), rates_1, jnp.float32(-3.0),
        d_getitem_mul,
    )


def train(at, x, net_0_w, net_0_b, net_1_w, net_1_b, y, train2, *, N):
    """14_learned_rates.rt:21: def predict(net, x) = tanh(x @ net[0].w.T + net[0].b) @ net[1].w.T + net[1].b
    14_learned_rates.rt:27: train = loss.mse(predict(net, expand_dims(x[0:N], 1))[:, 0], y[0:N])
    loss.rt:6: return mean((x - target) ** 2)
    """
    i = at[0]
    def point(net_0_w, net_0_b, net_1_w, net_1_b):
        predict_tanh = jnp.tanh(jnp.einsum("i,jk->ij", x, net_0_w) + net_0_b)
        predict_matmul2 = jnp.einsum("ij,kj->ik", predict_tanh, net_1_w)
        getitem_getitem2 = lax.index_in_dim(net_1_b, 0, 0, keepdims=False)
        mse_sub = lax.index_in_dim(predict_matmul2, 0, 1, keepdims=False) + getitem_getitem2 - y
        train = jnp.sum(mse_sub * mse_sub, axis=0) / jnp.float32(N)
        return (predict_tanh, mse_sub, train)
    predict_tanh_rows, mse_sub_rows, train_rows = jax.vmap(point)(
        net_0_w, net_0_b, net_1_w, net_1_b,
    )
    train2_2 = updated(train2, train_rows[None, :], (i, 0))
    return predict_tanh_rows, mse_sub_rows, train2_2


def net(
    at, rates_0_last, rates_1_last, net_0_w, net_0_b, net_1_w, net_1_b, d_getitem_mul, x, y,
    train_expand_dims, *, K,
):
    """14_learned_rates.rt:23: def descend(net, slope, rates) = [net[l] - exp(rates[l]) * slope[l] for l in range(len(net))]
    14_learned_rates.rt:25: net[i, 0] = start
    14_learned_rates.rt:26: net[i, k+1] = descend(net, grad(train, net), rates)
    14_learned_rates.rt:27: train = loss.mse(predict(net, expand_dims(x[0:N], 1))[:, 0], y[0:N])
    """
    descend_exp = jnp.exp(rates_0_last)
    descend_exp2 = jnp.exp(rates_1_last)
    net_0_w_0 = net_0_w[0]
    net_0_b_0 = net_0_b[0]
    net_1_w_0 = net_1_w[0]
    net_1_b_0 = net_1_b[0]
    def step(k2, rows_0, rows_1, rows_2, rows_3, before_0, before_1, before_2, before_3):
        tanh = jnp.tanh(jnp.einsum("i,jk->ij", x, before_0) + before_1)
        getitem = lax.index_in_dim(jnp.einsum("ij,kj->ik", tanh, before_2), 0, 1, keepdims=False)
        mul = d_getitem_mul * (getitem + lax.index_in_dim(before_3, 0, 0, keepdims=False) - y)
        mul3 = jnp.einsum("i,jk->ik", mul, before_2) * (1.0 - tanh * tanh)
        sub3 = before_0 - descend_exp * transposed_matmul(mul3, train_expand_dims)
        sub4 = before_1 - descend_exp * jnp.sum(mul3, axis=0)
        expand_dims = jnp.expand_dims(mul, 1)
        sub5 = before_2 - descend_exp2 * transposed_matmul(expand_dims, tanh)
        sub6 = before_3 - descend_exp2 * jnp.sum(expand_dims, axis=0)
        return (
            lax.dynamic_update_index_in_dim(rows_0, sub3, k2+1, 0),
            lax.dynamic_update_index_in_dim(rows_1, sub4, k2+1, 0),
            lax.dynamic_update_index_in_dim(rows_2, sub5, k2+1, 0),
            lax.dynamic_update_index_in_dim(rows_3, sub6, k2+1, 0), sub3, sub4, sub5, sub6,
        )
    made = lax.fori_loop(
        0, K-1, lambda k, rows: step(k, *rows),
        (
            jnp.broadcast_to(net_0_w_0, (K, 10, 1)), jnp.broadcast_to(net_0_b_0, (K, 10)),
            jnp.broadcast_to(net_1_w_0, (K, 1, 10)), jnp.broadcast_to(net_1_b_0, (K, 1)), net_0_w_0,
            net_0_b_0, net_1_w_0, net_1_b_0,
        ),
    )
    return descend_exp, descend_exp2, made[0], made[1], made[2], made[3]


def net_0(at, start_0_w, start_0_b, start_1_w, start_1_b, net_0_w, net_0_b, net_1_w, net_1_b):
    """14_learned_rates.rt:25: net[i, 0] = start"""
    net_0_w = lax.dynamic_update_index_in_dim(net_0_w, start_0_w, 0, 0)
    net_0_b = lax.dynamic_update_index_in_dim(net_0_b, start_0_b, 0, 0)
    net_1_w = lax.dynamic_update_index_in_dim(net_1_w, start_1_w, 0, 0)
    net_1_b = lax.dynamic_update_index_in_dim(net_1_b, start_1_b, 0, 0)
    return net_0_w, net_0_b, net_1_w, net_1_b


def train_d_train_getitem_mul(at, *, N):
    """14_learned_rates.rt:27: train = loss.mse(predict(net, expand_dims(x[0:N], 1))[:, 0], y[0:N])
    loss.rt:6: return mean((x - target) ** 2)
    """
    return (1.0 / jnp.int32(N).astype(jnp.float32) * 2.0,)


def net_1(at, w_rows, rows_out1, rows_out2, rows_out3, net_0_w, net_0_b, net_1_w, net_1_b, *, K):
    """14_learned_rates.rt:26: net[i, k+1] = descend(net, grad(train, net), rates)"""
    rows_out1_next_k_rows = rows_out1[1:K]
    rows_out2_next_k_rows = rows_out2[1:K]
    rows_out3_next_k_rows = rows_out3[1:K]
    net_0_w2 = lax.dynamic_update_slice(net_0_w, w_rows[1:K], (1, 0, 0))
    net_0_b2 = lax.dynamic_update_slice(net_0_b, rows_out1_next_k_rows, (1, 0))
    net_1_w2 = lax.dynamic_update_slice(net_1_w, rows_out2_next_k_rows, (1, 0, 0))
    net_1_b2 = lax.dynamic_update_slice(net_1_b, rows_out3_next_k_rows, (1, 0))
    return net_0_w2, net_0_b2, net_1_w2, net_1_b2


def test(
    at, new_x, net_0_w, net_0_b, net_1_w, net_1_b, new_y, d_getitem_mul, test_expand_dims, test, *,
    K, M,
):
    """14_learned_rates.rt:21: def predict(net, x) = tanh(x @ net[0].w.T + net[0].b) @ net[1].w.T + net[1].b
    14_learned_rates.rt:29: test[i] = loss.mse(predict(net[i, K-1], expand_dims(new_x[0:M], 1))[:, 0], new_y[0:M])
    loss.rt:6: return mean((x - target) ** 2)
    nn.rt:228: return (2.0 * random.uniform(shape) - 1.0) * sqrt(6.0 / (shape[0] + shape[1]))
    """
    i = at[0]
    predict_tanh = jnp.tanh(jnp.einsum("i,jk->ij", new_x, net_0_w[K-1]) + net_0_b[K-1])
    net_1_w_at = net_1_w[K-1]
    predict_matmul2 = jnp.einsum("ij,kj->ik", predict_tanh, net_1_w_at)
    getitem_getitem2 = lax.index_in_dim(net_1_b[K-1], 0, 0, keepdims=False)
    mse_sub = lax.index_in_dim(predict_matmul2, 0, 1, keepdims=False) + getitem_getitem2 - new_y
    test_i = jnp.sum(mse_sub * mse_sub, axis=0) / jnp.float32(M)
    d_test_getitem = d_getitem_mul * mse_sub
    d_getitem_expand_dims = jnp.expand_dims(d_test_getitem, 1)
    d_add2_sum = jnp.sum(d_getitem_expand_dims, axis=0)
    d_tanh_sub = 1.0 - predict_tanh * predict_tanh
    d_predict_add = jnp.einsum("i,jk->ik", d_test_getitem, net_1_w_at) * d_tanh_sub
    d_transpose2_transpose = transposed_matmul(d_getitem_expand_dims, predict_tanh)
    d_add_sum = jnp.sum(d_predict_add, axis=0)
    d_transpose_transpose = transposed_matmul(d_predict_add, test_expand_dims)
    test = lax.dynamic_update_index_in_dim(test, test_i, i, 0)
    return test, d_add2_sum, d_transpose2_transpose, d_add_sum, d_transpose_transpose


def rates_1_1(at, d_rates, d_rates_1, rates_0_last, rates_1_last, rates, rates_1):
    """14_learned_rates.rt:31: rates[i+1] = rates - outer_rate * grad(test, rates)"""
    i = at[0]
    rates_0_1 = rates_0_last - 0.3 * d_rates
    rates_1_1 = rates_1_last - 0.3 * d_rates_1
    rates = lax.dynamic_update_index_in_dim(rates, rates_0_1, i+1, 0)
    rates_1 = lax.dynamic_update_index_in_dim(rates_1, rates_1_1, i+1, 0)
    return rates, rates_0_1, rates_1, rates_1_1


def train_d_train_getitem(at, d_getitem_mul, mse_sub, *, K):
    """14_learned_rates.rt:27: train = loss.mse(predict(net, expand_dims(x[0:N], 1))[:, 0], y[0:N])
    loss.rt:6: return mean((x - target) ** 2)
    """
    def point(mse_sub):
        return d_getitem_mul * mse_sub
    return (jax.vmap(point)(mse_sub[:K-1]),)


def test_d_train_predict_tanh_0_add2(
    at, train_d_train_getitem, net_1_w, predict_tanh, train_expand_dims, test_d_net_1_b_next,
    test_d_net_1_w_next, test_d_net_0_b_next, descend_exp2, test_d_net_0_w_next, descend_exp, x,
    d_getitem_mul,
):
    """14_learned_rates.rt:21: def predict(net, x) = tanh(x @ net[0].w.T + net[0].b) @ net[1].w.T + net[1].b
    14_learned_rates.rt:23: def descend(net, slope, rates) = [net[l] - exp(rates[l]) * slope[l] for l in range(len(net))]
    14_learned_rates.rt:25: net[i, 0] = start
    14_learned_rates.rt:26: net[i, k+1] = descend(net, grad(train, net), rates)
    14_learned_rates.rt:27: train = loss.mse(predict(net, expand_dims(x[0:N], 1))[:, 0], y[0:N])
    loss.rt:6: return mean((x - target) ** 2)
    """
    k = at[1]
    train_d_train_getitem_k = train_d_train_getitem[k]
    d_getitem_expand_dims = jnp.expand_dims(train_d_train_getitem_k, 1)
    train_d_net_1_b = jnp.sum(d_getitem_expand_dims, axis=0)
    net_1_w_k = net_1_w[k]
    train_d_train_predict_tanh = jnp.einsum("i,jk->ik", train_d_train_getitem_k, net_1_w_k)
    predict_tanh_k = predict_tanh[k]
    d_tanh_sub = 1.0 - predict_tanh_k * predict_tanh_k
    train_d_train_predict_add = train_d_train_predict_tanh * d_tanh_sub
    train_d_net_1_w = transposed_matmul(d_getitem_expand_dims, predict_tanh_k)
    train_d_net_0_b = jnp.sum(train_d_train_predict_add, axis=0)
    train_d_net_0_w = transposed_matmul(train_d_train_predict_add, train_expand_dims)
    d_descend_mul4 = -test_d_net_1_b_next
    d_descend_mul3 = -test_d_net_1_w_next
    d_descend_mul2 = -test_d_net_0_b_next
    d_mul3_mul2 = d_descend_mul3 * descend_exp2
    d_descend_mul = -test_d_net_0_w_next
    d_predict_matmul = jnp.einsum("i,jk->ij", x, d_descend_mul * descend_exp)
    test_d_train_d_train_predict_add = d_predict_matmul - test_d_net_0_b_next * descend_exp
    test_d_train_d_train_predict_tanh = test_d_train_d_train_predict_add * d_tanh_sub
    d_tanh_einsum = jnp.einsum("ij,kj->ik", test_d_train_d_train_predict_tanh, net_1_w_k)
    d_predict_matmul2 = jnp.einsum("ij,kj->ik", predict_tanh_k, d_mul3_mul2) + d_tanh_einsum
    d_predict_add2 = d_predict_matmul2 - test_d_net_1_b_next * descend_exp2
    d_add_mul2 = test_d_train_d_train_predict_add * train_d_train_predict_tanh
    d_mse_sub = d_getitem_mul * jnp.squeeze(d_predict_add2, (1,))
    d_tanh_einsum2 = transposed_matmul(test_d_train_d_train_predict_tanh, d_getitem_expand_dims)
    d_mul_mul = -d_add_mul2 * predict_tanh_k
    d_tanh_0_add = jnp.einsum("i,jk->ik", train_d_train_getitem_k, d_mul3_mul2) + d_mul_mul
    d_tanh_0_add2 = d_tanh_0_add + d_mul_mul
    return (
        train_d_net_1_b, train_d_net_1_w, train_d_net_0_b, train_d_net_0_w, d_descend_mul4,
        d_descend_mul3, d_descend_mul2, d_descend_mul, d_mse_sub, d_tanh_einsum2, d_tanh_0_add2,
    )


def test_d_net_descend_now(
    at, d_descend_mul4, d_net_1_b, d_exp2_sum_past, d_descend_mul3, d_net_1_w, d_exp2_sum2_past,
    d_descend_mul2, d_net_0_b, d_exp_sum_past, d_descend_mul, d_net_0_w, d_exp_sum2_past,
):
    """14_learned_rates.rt:23: def descend(net, slope, rates) = [net[l] - exp(rates[l]) * slope[l] for l in range(len(net))]"""
    d_exp2_sum_now = d_exp2_sum_past + jnp.squeeze(d_descend_mul4 * d_net_1_b, (0,))
    d_exp2_sum2_now = d_exp2_sum2_past + jnp.sum(d_descend_mul3 * d_net_1_w, axis=(0, 1))
    d_exp_sum_now = d_exp_sum_past + jnp.sum(d_descend_mul2 * d_net_0_b, axis=0)
    d_exp_sum2_now = d_exp_sum2_past + jnp.sum(d_descend_mul * d_net_0_w, axis=(0, 1))
    return (
        d_exp2_sum_now, d_exp2_sum_now, d_exp2_sum2_now, d_exp2_sum2_now, d_exp_sum_now,
        d_exp_sum_now, d_exp_sum2_now, d_exp_sum2_now,
    )


def test_d_rates_0_0(
    at, d_exp2_sum_now_0, d_exp2_sum2_now_0, descend_exp2, d_exp_sum_now_0, d_exp_sum2_now_0,
    descend_exp,
):
    """14_learned_rates.rt:23: def descend(net, slope, rates) = [net[l] - exp(rates[l]) * slope[l] for l in range(len(net))]
    14_learned_rates.rt:30: rates[0] = [-3.0, -3.0]
    14_learned_rates.rt:31: rates[i+1] = rates - outer_rate * grad(test, rates)
    """
    d_rates_0_0 = (d_exp_sum_now_0 + d_exp_sum2_now_0) * descend_exp
    return (d_exp2_sum_now_0 + d_exp2_sum2_now_0) * descend_exp2, d_rates_0_0


def test_d_train_predict(at, predict_tanh, d_predict_tanh, d_predict_transpose2, train_expand_dims):
    """14_learned_rates.rt:21: def predict(net, x) = tanh(x @ net[0].w.T + net[0].b) @ net[1].w.T + net[1].b
    14_learned_rates.rt:29: test[i] = loss.mse(predict(net[i, K-1], expand_dims(new_x[0:M], 1))[:, 0], new_y[0:M])
    nn.rt:228: return (2.0 * random.uniform(shape) - 1.0) * sqrt(6.0 / (shape[0] + shape[1]))
    """
    k = at[1]
    predict_tanh_k = predict_tanh[k]
    d_predict_add = d_predict_tanh * (1.0 - predict_tanh_k * predict_tanh_k)
    d_transpose2_transpose = jnp.transpose(d_predict_transpose2, (1, 0))
    d_transpose_transpose = transposed_matmul(d_predict_add, train_expand_dims)
    return jnp.sum(d_predict_add, axis=0), d_transpose2_transpose, d_transpose_transpose


def test_d_train_predict_2(at, d_train_getitem, net_1_w, predict_tanh):
    """14_learned_rates.rt:21: def predict(net, x) = tanh(x @ net[0].w.T + net[0].b) @ net[1].w.T + net[1].b
    14_learned_rates.rt:27: train = loss.mse(predict(net, expand_dims(x[0:N], 1))[:, 0], y[0:N])
    """
    k = at[1]
    d_getitem_expand_dims = jnp.expand_dims(d_train_getitem, 1)
    d_add2_sum = jnp.sum(d_getitem_expand_dims, axis=0)
    d_matmul2_einsum = jnp.einsum("i,jk->ik", d_train_getitem, net_1_w[k])
    d_matmul2_einsum2 = transposed_matmul(predict_tanh[k], d_getitem_expand_dims)
    return d_add2_sum, d_matmul2_einsum, d_matmul2_einsum, d_matmul2_einsum2, d_matmul2_einsum2


def test_d_rates_0_1(at):
    """14_learned_rates.rt:30: rates[0] = [-3.0, -3.0]
    14_learned_rates.rt:31: rates[i+1] = rates - outer_rate * grad(test, rates)
    """
    d_rates_0_1 = jnp.float32(0.0)
    return d_rates_0_1, d_rates_0_1


def test_d_net_0(
    at, d_test_predict_add2_sum, d_train_predict_add2_sum, d_test_predict_transpose2_transpose,
    d_train_predict_transpose2_transpose, d_test_predict_add_sum, d_train_predict_add_sum,
    d_test_predict_transpose_transpose, d_train_predict_transpose_transpose,
):
    """14_learned_rates.rt:25: net[i, 0] = start
    14_learned_rates.rt:26: net[i, k+1] = descend(net, grad(train, net), rates)
    """
    d_net_1_w_0 = d_test_predict_transpose2_transpose + d_train_predict_transpose2_transpose
    d_net_0_b_0 = d_test_predict_add_sum + d_train_predict_add_sum
    d_net_0_w_0 = d_test_predict_transpose_transpose + d_train_predict_transpose_transpose
    return d_test_predict_add2_sum + d_train_predict_add2_sum, d_net_1_w_0, d_net_0_b_0, d_net_0_w_0


def test_d_net_12(
    at, d_net_1_b_next, d_add2_sum, d_net_1_w_next, d_transpose2_transpose, d_net_0_b_next,
    d_add_sum, d_net_0_w_next, d_transpose_transpose,
):
    """14_learned_rates.rt:25: net[i, 0] = start
    14_learned_rates.rt:26: net[i, k+1] = descend(net, grad(train, net), rates)
    """
    d_net_1_w_12 = d_net_1_w_next + d_transpose2_transpose
    d_net_0_w_12 = d_net_0_w_next + d_transpose_transpose
    return d_net_1_b_next + d_add2_sum, d_net_1_w_12, d_net_0_b_next + d_add_sum, d_net_0_w_12


def test_d_net_descend_none(at):
    """14_learned_rates.rt:23: def descend(net, slope, rates) = [net[l] - exp(rates[l]) * slope[l] for l in range(len(net))]"""
    d_exp_sum_none = jnp.zeros((), jnp.float32)
    d_exp_sum2_none = jnp.zeros((), jnp.float32)
    return jnp.zeros((), jnp.float32), jnp.zeros((), jnp.float32), d_exp_sum_none, d_exp_sum2_none


def test_d_train_predict_0(at, d_tanh_0_add2, d_matmul2_einsum, d_tanh_einsum2, d_matmul2_einsum2):
    """14_learned_rates.rt:21: def predict(net, x) = tanh(x @ net[0].w.T + net[0].b) @ net[1].w.T + net[1].b"""
    return d_tanh_0_add2 + d_matmul2_einsum, d_tanh_einsum2 + d_matmul2_einsum2


def test_d_train_mse_sub_1(at, *, N):
    """loss.rt:6: return mean((x - target) ** 2)"""
    return (jnp.zeros((N,), jnp.float32),)


def strip_mined_loop(lower, upper, step, carry):
    """``lax.fori_loop`` for a number of steps that is passed.

    After each step of such a loop the host of a GPU waits to know whether there is another one, so
    there 64 steps are one of a loop around them.
    """
    if jax.default_backend() == "cpu":
        return lax.fori_loop(lower, upper, step, carry)
    rest = lower + 64 * (jnp.maximum(upper - lower, 0) // 64)
    def strip(k, carry):
        first = lower + 64 * k
        return lax.fori_loop(0, 64, lambda n, carry: step(first + n, carry), carry)
    carry = lax.fori_loop(0, (rest - lower) // 64, strip, carry)
    return lax.fori_loop(rest, upper, step, carry)


def loop_i(
    at, net_0_w, net_0_b, net_1_w, net_1_b, train2, test2, test_d_net_descend_exp2_sum_past,
    test_d_net_descend_exp2_sum2_past, test_d_net_descend_exp_sum_past,
    test_d_net_descend_exp_sum2_past, test_d_net_descend_exp2_sum_now,
    test_d_net_descend_exp2_sum2_now, test_d_net_descend_exp_sum_now,
    test_d_net_descend_exp_sum2_now, test_d_rates_1, test_d_rates_0, rates_0, rates_0_last, rates_1,
    rates_1_last, start_0_w, start_0_b, start_1_w, start_1_b, train_d_train_getitem_mul2, x, y,
    train_expand_dims, new_x, new_y, test_d_test_getitem_mul2, test_expand_dims, *, steps=None, I,
    K, N, M,
):
    """i from at[0] on, at[1] steps; the loop of net_0, net, net_1, ..."""
    I_now = at[2]
    count = at[1] if steps is None else steps
    def step_i(i2, carry):
        (
            net_0_w, net_0_b, net_1_w, net_1_b, train2, test2, test_d_net_descend_exp2_sum_past,
            test_d_net_descend_exp2_sum2_past, test_d_net_descend_exp_sum_past,
            test_d_net_descend_exp_sum2_past, test_d_net_descend_exp2_sum_now,
            test_d_net_descend_exp2_sum2_now, test_d_net_descend_exp_sum_now,
            test_d_net_descend_exp_sum2_now, test_d_rates_1, test_d_rates_0, rates_0, rates_0_last,
            rates_1, rates_1_last,
        ) = carry
        i = at[0] + i2
        net_0_w, net_0_b, net_1_w, net_1_b = net_0(
            (i,), start_0_w, start_0_b, start_1_w, start_1_b, net_0_w, net_0_b, net_1_w, net_1_b,
        )
        (
            net_descend_exp, net_descend_exp2, net_0_w_rows, net_0_w_rows_out1, net_0_w_rows_out2,
            net_0_w_rows_out3,
        ) = net(
            (i,), rates_0_last, rates_1_last, net_0_w, net_0_b, net_1_w, net_1_b,
            train_d_train_getitem_mul2, x, y, train_expand_dims, K=K,
        )
        net_0_w, net_0_b, net_1_w, net_1_b = net_1(
            (i,), net_0_w_rows, net_0_w_rows_out1, net_0_w_rows_out2, net_0_w_rows_out3, net_0_w,
            net_0_b, net_1_w, net_1_b, K=K,
        )
        train_predict_tanh, train_mse_sub, train2 = train(
            (i,), x, net_0_w, net_0_b, net_1_w, net_1_b, y, train2, N=N,
        )
        (
            test2, test_d_test_predict_add2_sum, test_d_test_predict_transpose2_transpose,
            test_d_test_predict_add_sum, test_d_test_predict_transpose_transpose,
        ) = test(
            (i,), new_x, net_0_w, net_0_b, net_1_w, net_1_b, new_y, test_d_test_getitem_mul2,
            test_expand_dims, test2, K=K, M=M,
        )
        (train_d_train_getitem2,) = train_d_train_getitem(
            (i,), train_d_train_getitem_mul2, train_mse_sub, K=K,
        )
        if I >= 2 and K >= 2:
            (
                test_d_net_descend_exp2_sum_past, test_d_net_descend_exp2_sum2_past,
                test_d_net_descend_exp_sum_past, test_d_net_descend_exp_sum2_past,
            ) = test_d_net_descend_none((i,))
        (test_d_train_getitem,) = test_d_train_mse_sub_1((i, jnp.int32(K - 1)), N=N)
        (
            test_d_train_predict_add2_sum, test_d_train_predict_matmul2_einsum,
            test_d_train_predict_tanh, test_d_train_predict_matmul2_einsum2,
            test_d_train_predict_transpose2,
        ) = test_d_train_predict_2(
            (i, jnp.int32(K - 1)), test_d_train_getitem, net_1_w, train_predict_tanh,
        )
        (
            test_d_train_predict_add_sum, test_d_train_predict_transpose2_transpose,
            test_d_train_predict_transpose_transpose,
        ) = test_d_train_predict(
            (i, jnp.int32(K - 1)), train_predict_tanh, test_d_train_predict_tanh,
            test_d_train_predict_transpose2, train_expand_dims,
        )
        (
            test_d_net_1_b, test_d_net_1_w, test_d_net_0_b, test_d_net_0_w,
        ) = test_d_net_0(
            (i, jnp.int32(K - 1)), test_d_test_predict_add2_sum, test_d_train_predict_add2_sum,
            test_d_test_predict_transpose2_transpose, test_d_train_predict_transpose2_transpose,
            test_d_test_predict_add_sum, test_d_train_predict_add_sum,
            test_d_test_predict_transpose_transpose, test_d_train_predict_transpose_transpose,
        )
        def step_k(i2, carry):
            (
                test_d_net_descend_exp2_sum_now, test_d_net_descend_exp2_sum_past,
                test_d_net_descend_exp2_sum2_now, test_d_net_descend_exp2_sum2_past,
                test_d_net_descend_exp_sum_now, test_d_net_descend_exp_sum_past,
                test_d_net_descend_exp_sum2_now, test_d_net_descend_exp_sum2_past,
                test_d_train_predict_tanh, test_d_train_predict_transpose2, test_d_net_1_b,
                test_d_net_1_w, test_d_net_0_b, test_d_net_0_w,
            ) = carry
            k = (K - 2) - i2
            (
                train_d_net_1_b, train_d_net_1_w, train_d_net_0_b, train_d_net_0_w,
                test_d_net_descend_mul4, test_d_net_descend_mul3, test_d_net_descend_mul2,
                test_d_net_descend_mul, test_d_train_getitem,
                test_d_train_d_train_predict_tanh_einsum2, test_d_train_predict_tanh_0_add2_2,
            ) = test_d_train_predict_tanh_0_add2(
                (i, k), train_d_train_getitem2, net_1_w, train_predict_tanh, train_expand_dims,
                test_d_net_1_b, test_d_net_1_w, test_d_net_0_b, net_descend_exp2, test_d_net_0_w,
                net_descend_exp, x, train_d_train_getitem_mul2,
            )
            if I >= 2 and K >= 2:
                (
                    test_d_net_descend_exp2_sum_now, test_d_net_descend_exp2_sum_past_new,
                    test_d_net_descend_exp2_sum2_now, test_d_net_descend_exp2_sum2_past_new,
                    test_d_net_descend_exp_sum_now, test_d_net_descend_exp_sum_past_new,
                    test_d_net_descend_exp_sum2_now, test_d_net_descend_exp_sum2_past_new,
                ) = test_d_net_descend_now(
                    (i, k), test_d_net_descend_mul4, train_d_net_1_b,
                    test_d_net_descend_exp2_sum_past, test_d_net_descend_mul3, train_d_net_1_w,
                    test_d_net_descend_exp2_sum2_past, test_d_net_descend_mul2, train_d_net_0_b,
                    test_d_net_descend_exp_sum_past, test_d_net_descend_mul, train_d_net_0_w,
                    test_d_net_descend_exp_sum2_past,
                )
                test_d_net_descend_exp2_sum_past = jnp.where(
                    k >= 1, test_d_net_descend_exp2_sum_past_new, test_d_net_descend_exp2_sum_past,
                )
                test_d_net_descend_exp2_sum2_past = jnp.where(
                    k >= 1, test_d_net_descend_exp2_sum2_past_new,
                    test_d_net_descend_exp2_sum2_past,
                )
                test_d_net_descend_exp_sum_past = jnp.where(
                    k >= 1, test_d_net_descend_exp_sum_past_new, test_d_net_descend_exp_sum_past,
                )
                test_d_net_descend_exp_sum2_past = jnp.where(
                    k >= 1, test_d_net_descend_exp_sum2_past_new, test_d_net_descend_exp_sum2_past,
                )
            (
                test_d_train_predict_add2_sum, test_d_train_predict_matmul2_einsum,
                test_d_train_predict_tanh_new, test_d_train_predict_matmul2_einsum2,
                test_d_train_predict_transpose2_new,
            ) = test_d_train_predict_2((i, k), test_d_train_getitem, net_1_w, train_predict_tanh)
            test_d_train_predict_tanh = jnp.where(
                k == K - 1, test_d_train_predict_tanh_new, test_d_train_predict_tanh,
            )
            test_d_train_predict_transpose2 = jnp.where(
                k == K - 1, test_d_train_predict_transpose2_new, test_d_train_predict_transpose2,
            )
            (
                test_d_train_predict_tanh, test_d_train_predict_transpose2,
            ) = test_d_train_predict_0(
                (i, k), test_d_train_predict_tanh_0_add2_2, test_d_train_predict_matmul2_einsum,
                test_d_train_d_train_predict_tanh_einsum2, test_d_train_predict_matmul2_einsum2,
            )
            (
                test_d_train_predict_add_sum, test_d_train_predict_transpose2_transpose,
                test_d_train_predict_transpose_transpose,
            ) = test_d_train_predict(
                (i, k), train_predict_tanh, test_d_train_predict_tanh,
                test_d_train_predict_transpose2, train_expand_dims,
            )
            (
                test_d_net_1_b, test_d_net_1_w, test_d_net_0_b, test_d_net_0_w,
            ) = test_d_net_12(
                (i, k), test_d_net_1_b, test_d_train_predict_add2_sum, test_d_net_1_w,
                test_d_train_predict_transpose2_transpose, test_d_net_0_b,
                test_d_train_predict_add_sum, test_d_net_0_w,
                test_d_train_predict_transpose_transpose,
            )
            return (
                test_d_net_descend_exp2_sum_now, test_d_net_descend_exp2_sum_past,
                test_d_net_descend_exp2_sum2_now, test_d_net_descend_exp2_sum2_past,
                test_d_net_descend_exp_sum_now, test_d_net_descend_exp_sum_past,
                test_d_net_descend_exp_sum2_now, test_d_net_descend_exp_sum2_past,
                test_d_train_predict_tanh, test_d_train_predict_transpose2, test_d_net_1_b,
                test_d_net_1_w, test_d_net_0_b, test_d_net_0_w,
            )
        carry = (
            test_d_net_descend_exp2_sum_now, test_d_net_descend_exp2_sum_past,
            test_d_net_descend_exp2_sum2_now, test_d_net_descend_exp2_sum2_past,
            test_d_net_descend_exp_sum_now, test_d_net_descend_exp_sum_past,
            test_d_net_descend_exp_sum2_now, test_d_net_descend_exp_sum2_past,
            test_d_train_predict_tanh, test_d_train_predict_transpose2, test_d_net_1_b,
            test_d_net_1_w, test_d_net_0_b, test_d_net_0_w,
        )
        (
            test_d_net_descend_exp2_sum_now, test_d_net_descend_exp2_sum_past,
            test_d_net_descend_exp2_sum2_now, test_d_net_descend_exp2_sum2_past,
            test_d_net_descend_exp_sum_now, test_d_net_descend_exp_sum_past,
            test_d_net_descend_exp_sum2_now, test_d_net_descend_exp_sum2_past,
            test_d_train_predict_tanh, test_d_train_predict_transpose2, test_d_net_1_b,
            test_d_net_1_w, test_d_net_0_b, test_d_net_0_w,
        ) = lax.fori_loop(0, K - 1, step_k, carry)
        if I >= 2 and K >= 2:
            test_d_rates_1, test_d_rates_0 = test_d_rates_0_0(
                (i,), test_d_net_descend_exp2_sum_now, test_d_net_descend_exp2_sum2_now,
                net_descend_exp2, test_d_net_descend_exp_sum_now, test_d_net_descend_exp_sum2_now,
                net_descend_exp,
            )
        if I >= 2:
            (
                rates_0_new, rates_0_last, rates_1_new, rates_1_last,
            ) = rates_1_1(
                (i,), test_d_rates_0, test_d_rates_1, rates_0_last, rates_1_last, rates_0, rates_1,
            )
            rates_0 = jnp.where(i < I_now - 1, rates_0_new, rates_0)
            rates_1 = jnp.where(i < I_now - 1, rates_1_new, rates_1)
        return (
            net_0_w, net_0_b, net_1_w, net_1_b, train2, test2, test_d_net_descend_exp2_sum_past,
            test_d_net_descend_exp2_sum2_past, test_d_net_descend_exp_sum_past,
            test_d_net_descend_exp_sum2_past, test_d_net_descend_exp2_sum_now,
            test_d_net_descend_exp2_sum2_now, test_d_net_descend_exp_sum_now,
            test_d_net_descend_exp_sum2_now, test_d_rates_1, test_d_rates_0, rates_0, rates_0_last,
            rates_1, rates_1_last,
        )
    carry = (
        net_0_w, net_0_b, net_1_w, net_1_b, train2, test2, test_d_net_descend_exp2_sum_past,
        test_d_net_descend_exp2_sum2_past, test_d_net_descend_exp_sum_past,
        test_d_net_descend_exp_sum2_past, test_d_net_descend_exp2_sum_now,
        test_d_net_descend_exp2_sum2_now, test_d_net_descend_exp_sum_now,
        test_d_net_descend_exp_sum2_now, test_d_rates_1, test_d_rates_0, rates_0, rates_0_last,
        rates_1, rates_1_last,
    )
    (
        net_0_w, net_0_b, net_1_w, net_1_b, train2, test2, test_d_net_descend_exp2_sum_past,
        test_d_net_descend_exp2_sum2_past, test_d_net_descend_exp_sum_past,
        test_d_net_descend_exp_sum2_past, test_d_net_descend_exp2_sum_now,
        test_d_net_descend_exp2_sum2_now, test_d_net_descend_exp_sum_now,
        test_d_net_descend_exp_sum2_now, test_d_rates_1, test_d_rates_0, rates_0, rates_0_last,
        rates_1, rates_1_last,
    ) = lax.fori_loop(0, count, step_i, carry)
    return (
        net_0_w, net_0_b, net_1_w, net_1_b, train2, test2, test_d_net_descend_exp2_sum_past,
        test_d_net_descend_exp2_sum2_past, test_d_net_descend_exp_sum_past,
        test_d_net_descend_exp_sum2_past, test_d_net_descend_exp2_sum_now,
        test_d_net_descend_exp2_sum2_now, test_d_net_descend_exp_sum_now,
        test_d_net_descend_exp_sum2_now, test_d_rates_1, test_d_rates_0, rates_0, rates_0_last,
        rates_1, rates_1_last,
    )


def loop_i2(
    at, net_0_w, net_0_b, net_1_w, net_1_b, train2, test2, test_d_rates_0, test_d_rates_1, rates_0,
    rates_0_last, rates_1, rates_1_last, start_0_w, start_0_b, start_1_w, start_1_b, x, y, new_x,
    new_y, test_d_test_getitem_mul2, test_expand_dims, *, steps=None, I, K, N, M,
):
    """i from at[0] on, at[1] steps; the loop of net_0, train, test, ..."""
    I_now = at[2]
    count = at[1] if steps is None else steps
    def step_i(i2, carry):
        (
            net_0_w, net_0_b, net_1_w, net_1_b, train2, test2, test_d_rates_0, test_d_rates_1,
            rates_0, rates_0_last, rates_1, rates_1_last,
        ) = carry
        i = at[0] + i2
        net_0_w, net_0_b, net_1_w, net_1_b = net_0(
            (i,), start_0_w, start_0_b, start_1_w, start_1_b, net_0_w, net_0_b, net_1_w, net_1_b,
        )
        train_predict_tanh, train_mse_sub, train2 = train(
            (i,), x, net_0_w, net_0_b, net_1_w, net_1_b, y, train2, N=N,
        )
        (
            test2, test_d_test_predict_add2_sum, test_d_test_predict_transpose2_transpose,
            test_d_test_predict_add_sum, test_d_test_predict_transpose_transpose,
        ) = test(
            (i,), new_x, net_0_w, net_0_b, net_1_w, net_1_b, new_y, test_d_test_getitem_mul2,
            test_expand_dims, test2, K=K, M=M,
        )
        if K == 1 and I >= 2:
            test_d_rates_0, test_d_rates_1 = test_d_rates_0_1((i,))
        if I >= 2:
            (
                rates_0_new, rates_0_last, rates_1_new, rates_1_last,
            ) = rates_1_1(
                (i,), test_d_rates_0, test_d_rates_1, rates_0_last, rates_1_last, rates_0, rates_1,
            )
            rates_0 = jnp.where(i < I_now - 1, rates_0_new, rates_0)
            rates_1 = jnp.where(i < I_now - 1, rates_1_new, rates_1)
        return (
            net_0_w, net_0_b, net_1_w, net_1_b, train2, test2, test_d_rates_0, test_d_rates_1,
            rates_0, rates_0_last, rates_1, rates_1_last,
        )
    carry = (
        net_0_w, net_0_b, net_1_w, net_1_b, train2, test2, test_d_rates_0, test_d_rates_1, rates_0,
        rates_0_last, rates_1, rates_1_last,
    )
    (
        net_0_w, net_0_b, net_1_w, net_1_b, train2, test2, test_d_rates_0, test_d_rates_1, rates_0,
        rates_0_last, rates_1, rates_1_last,
    ) = lax.fori_loop(0, count, step_i, carry)
    return (
        net_0_w, net_0_b, net_1_w, net_1_b, train2, test2, test_d_rates_0, test_d_rates_1, rates_0,
        rates_0_last, rates_1, rates_1_last,
    )


def block(
    at, rates_0, rates_1, train2, test2, x, new_x, start_0_w, start_0_b, start_1_w, start_1_b, y,
    new_y, *, I, K, N, M,
):
    """What stands between two tasks of the host: test_d_test_getitem_mul, train_d_train_getitem_mul, net_0, ..."""
    i_end = at[0]
    net_0_w = jnp.zeros((K, 10, 1), jnp.float32)
    net_0_b = jnp.zeros((K, 10), jnp.float32)
    net_1_w = jnp.zeros((K, 1, 10), jnp.float32)
    net_1_b = jnp.zeros((K, 1), jnp.float32)
    test_d_net_descend_exp2_sum_past = jnp.zeros((), jnp.float32)
    test_d_net_descend_exp2_sum2_past = jnp.zeros((), jnp.float32)
    test_d_net_descend_exp_sum_past = jnp.zeros((), jnp.float32)
    test_d_net_descend_exp_sum2_past = jnp.zeros((), jnp.float32)
    test_d_net_descend_exp2_sum_now = jnp.zeros((), jnp.float32)
    test_d_net_descend_exp2_sum2_now = jnp.zeros((), jnp.float32)
    test_d_net_descend_exp_sum_now = jnp.zeros((), jnp.float32)
    test_d_net_descend_exp_sum2_now = jnp.zeros((), jnp.float32)
    test_d_rates_1 = jnp.zeros((), jnp.float32)
    test_d_rates_0 = jnp.zeros((), jnp.float32)
    (
        train_expand_dims, test_expand_dims, rates_0, rates_0_last, rates_1, rates_1_last,
        test_d_test_getitem_mul2,
    ) = test_d_test_getitem_mul((), x, new_x, rates_0, rates_1, M=M)
    if K >= 2:
        (train_d_train_getitem_mul2,) = train_d_train_getitem_mul((), N=N)
        def step_i(i, carry):
            (
                net_0_w, net_0_b, net_1_w, net_1_b, train2, test2, test_d_net_descend_exp2_sum_past,
                test_d_net_descend_exp2_sum2_past, test_d_net_descend_exp_sum_past,
                test_d_net_descend_exp_sum2_past, test_d_net_descend_exp2_sum_now,
                test_d_net_descend_exp2_sum2_now, test_d_net_descend_exp_sum_now,
                test_d_net_descend_exp_sum2_now, test_d_rates_1, test_d_rates_0, rates_0,
                rates_0_last, rates_1, rates_1_last,
            ) = carry
            net_0_w, net_0_b, net_1_w, net_1_b = net_0(
                (i,), start_0_w, start_0_b, start_1_w, start_1_b, net_0_w, net_0_b, net_1_w,
                net_1_b,
            )
            (
                net_descend_exp, net_descend_exp2, net_0_w_rows, net_0_w_rows_out1,
                net_0_w_rows_out2, net_0_w_rows_out3,
            ) = net(
                (i,), rates_0_last, rates_1_last, net_0_w, net_0_b, net_1_w, net_1_b,
                train_d_train_getitem_mul2, x, y, train_expand_dims, K=K,
            )
            net_0_w, net_0_b, net_1_w, net_1_b = net_1(
                (i,), net_0_w_rows, net_0_w_rows_out1, net_0_w_rows_out2, net_0_w_rows_out3,
                net_0_w, net_0_b, net_1_w, net_1_b, K=K,
            )
            (
                train_predict_tanh, train_mse_sub, train2,
            ) = train((i,), x, net_0_w, net_0_b, net_1_w, net_1_b, y, train2, N=N)
            (
                test2, test_d_test_predict_add2_sum, test_d_test_predict_transpose2_transpose,
                test_d_test_predict_add_sum, test_d_test_predict_transpose_transpose,
            ) = test(
                (i,), new_x, net_0_w, net_0_b, net_1_w, net_1_b, new_y, test_d_test_getitem_mul2,
                test_expand_dims, test2, K=K, M=M,
            )
            (train_d_train_getitem2,) = train_d_train_getitem(
                (i,), train_d_train_getitem_mul2, train_mse_sub, K=K,
            )
            if I >= 2 and K >= 2:
                (
                    test_d_net_descend_exp2_sum_past, test_d_net_descend_exp2_sum2_past,
                    test_d_net_descend_exp_sum_past, test_d_net_descend_exp_sum2_past,
                ) = test_d_net_descend_none((i,))
            (test_d_train_getitem,) = test_d_train_mse_sub_1((i, jnp.int32(K - 1)), N=N)
            (
                test_d_train_predict_add2_sum, test_d_train_predict_matmul2_einsum,
                test_d_train_predict_tanh, test_d_train_predict_matmul2_einsum2,
                test_d_train_predict_transpose2,
            ) = test_d_train_predict_2(
                (i, jnp.int32(K - 1)), test_d_train_getitem, net_1_w, train_predict_tanh,
            )
            (
                test_d_train_predict_add_sum, test_d_train_predict_transpose2_transpose,
                test_d_train_predict_transpose_transpose,
            ) = test_d_train_predict(
                (i, jnp.int32(K - 1)), train_predict_tanh, test_d_train_predict_tanh,
                test_d_train_predict_transpose2, train_expand_dims,
            )
            (
                test_d_net_1_b, test_d_net_1_w, test_d_net_0_b, test_d_net_0_w,
            ) = test_d_net_0(
                (i, jnp.int32(K - 1)), test_d_test_predict_add2_sum, test_d_train_predict_add2_sum,
                test_d_test_predict_transpose2_transpose, test_d_train_predict_transpose2_transpose,
                test_d_test_predict_add_sum, test_d_train_predict_add_sum,
                test_d_test_predict_transpose_transpose, test_d_train_predict_transpose_transpose,
            )
            def step_k(i2, carry):
                (
                    test_d_net_descend_exp2_sum_now, test_d_net_descend_exp2_sum_past,
                    test_d_net_descend_exp2_sum2_now, test_d_net_descend_exp2_sum2_past,
                    test_d_net_descend_exp_sum_now, test_d_net_descend_exp_sum_past,
                    test_d_net_descend_exp_sum2_now, test_d_net_descend_exp_sum2_past,
                    test_d_train_predict_tanh, test_d_train_predict_transpose2, test_d_net_1_b,
                    test_d_net_1_w, test_d_net_0_b, test_d_net_0_w,
                ) = carry
                k = (K - 2) - i2
                (
                    train_d_net_1_b, train_d_net_1_w, train_d_net_0_b, train_d_net_0_w,
                    test_d_net_descend_mul4, test_d_net_descend_mul3, test_d_net_descend_mul2,
                    test_d_net_descend_mul, test_d_train_getitem,
                    test_d_train_d_train_predict_tanh_einsum2, test_d_train_predict_tanh_0_add2_2,
                ) = test_d_train_predict_tanh_0_add2(
                    (i, k), train_d_train_getitem2, net_1_w, train_predict_tanh, train_expand_dims,
                    test_d_net_1_b, test_d_net_1_w, test_d_net_0_b, net_descend_exp2,
                    test_d_net_0_w, net_descend_exp, x, train_d_train_getitem_mul2,
                )
                if I >= 2 and K >= 2:
                    (
                        test_d_net_descend_exp2_sum_now, test_d_net_descend_exp2_sum_past_new,
                        test_d_net_descend_exp2_sum2_now, test_d_net_descend_exp2_sum2_past_new,
                        test_d_net_descend_exp_sum_now, test_d_net_descend_exp_sum_past_new,
                        test_d_net_descend_exp_sum2_now, test_d_net_descend_exp_sum2_past_new,
                    ) = test_d_net_descend_now(
                        (i, k), test_d_net_descend_mul4, train_d_net_1_b,
                        test_d_net_descend_exp2_sum_past, test_d_net_descend_mul3, train_d_net_1_w,
                        test_d_net_descend_exp2_sum2_past, test_d_net_descend_mul2, train_d_net_0_b,
                        test_d_net_descend_exp_sum_past, test_d_net_descend_mul, train_d_net_0_w,
                        test_d_net_descend_exp_sum2_past,
                    )
                    test_d_net_descend_exp2_sum_past = jnp.where(
                        k >= 1, test_d_net_descend_exp2_sum_past_new,
                        test_d_net_descend_exp2_sum_past,
                    )
                    test_d_net_descend_exp2_sum2_past = jnp.where(
                        k >= 1, test_d_net_descend_exp2_sum2_past_new,
                        test_d_net_descend_exp2_sum2_past,
                    )
                    test_d_net_descend_exp_sum_past = jnp.where(
                        k >= 1, test_d_net_descend_exp_sum_past_new,
                        test_d_net_descend_exp_sum_past,
                    )
                    test_d_net_descend_exp_sum2_past = jnp.where(
                        k >= 1, test_d_net_descend_exp_sum2_past_new,
                        test_d_net_descend_exp_sum2_past,
                    )
                (
                    test_d_train_predict_add2_sum, test_d_train_predict_matmul2_einsum,
                    test_d_train_predict_tanh_new, test_d_train_predict_matmul2_einsum2,
                    test_d_train_predict_transpose2_new,
                ) = test_d_train_predict_2(
                    (i, k), test_d_train_getitem, net_1_w, train_predict_tanh,
                )
                test_d_train_predict_tanh = jnp.where(
                    k == K - 1, test_d_train_predict_tanh_new, test_d_train_predict_tanh,
                )
                test_d_train_predict_transpose2 = jnp.where(
                    k == K - 1, test_d_train_predict_transpose2_new,
                    test_d_train_predict_transpose2,
                )
                (
                    test_d_train_predict_tanh, test_d_train_predict_transpose2,
                ) = test_d_train_predict_0(
                    (i, k), test_d_train_predict_tanh_0_add2_2, test_d_train_predict_matmul2_einsum,
                    test_d_train_d_train_predict_tanh_einsum2, test_d_train_predict_matmul2_einsum2,
                )
                (
                    test_d_train_predict_add_sum, test_d_train_predict_transpose2_transpose,
                    test_d_train_predict_transpose_transpose,
                ) = test_d_train_predict(
                    (i, k), train_predict_tanh, test_d_train_predict_tanh,
                    test_d_train_predict_transpose2, train_expand_dims,
                )
                (
                    test_d_net_1_b, test_d_net_1_w, test_d_net_0_b, test_d_net_0_w,
                ) = test_d_net_12(
                    (i, k), test_d_net_1_b, test_d_train_predict_add2_sum, test_d_net_1_w,
                    test_d_train_predict_transpose2_transpose, test_d_net_0_b,
                    test_d_train_predict_add_sum, test_d_net_0_w,
                    test_d_train_predict_transpose_transpose,
                )
                return (
                    test_d_net_descend_exp2_sum_now, test_d_net_descend_exp2_sum_past,
                    test_d_net_descend_exp2_sum2_now, test_d_net_descend_exp2_sum2_past,
                    test_d_net_descend_exp_sum_now, test_d_net_descend_exp_sum_past,
                    test_d_net_descend_exp_sum2_now, test_d_net_descend_exp_sum2_past,
                    test_d_train_predict_tanh, test_d_train_predict_transpose2, test_d_net_1_b,
                    test_d_net_1_w, test_d_net_0_b, test_d_net_0_w,
                )
            carry = (
                test_d_net_descend_exp2_sum_now, test_d_net_descend_exp2_sum_past,
                test_d_net_descend_exp2_sum2_now, test_d_net_descend_exp2_sum2_past,
                test_d_net_descend_exp_sum_now, test_d_net_descend_exp_sum_past,
                test_d_net_descend_exp_sum2_now, test_d_net_descend_exp_sum2_past,
                test_d_train_predict_tanh, test_d_train_predict_transpose2, test_d_net_1_b,
                test_d_net_1_w, test_d_net_0_b, test_d_net_0_w,
            )
            (
                test_d_net_descend_exp2_sum_now, test_d_net_descend_exp2_sum_past,
                test_d_net_descend_exp2_sum2_now, test_d_net_descend_exp2_sum2_past,
                test_d_net_descend_exp_sum_now, test_d_net_descend_exp_sum_past,
                test_d_net_descend_exp_sum2_now, test_d_net_descend_exp_sum2_past,
                test_d_train_predict_tanh, test_d_train_predict_transpose2, test_d_net_1_b,
                test_d_net_1_w, test_d_net_0_b, test_d_net_0_w,
            ) = lax.fori_loop(0, K - 1, step_k, carry)
            if I >= 2 and K >= 2:
                test_d_rates_1, test_d_rates_0 = test_d_rates_0_0(
                    (i,), test_d_net_descend_exp2_sum_now, test_d_net_descend_exp2_sum2_now,
                    net_descend_exp2, test_d_net_descend_exp_sum_now,
                    test_d_net_descend_exp_sum2_now, net_descend_exp,
                )
            if I >= 2:
                (
                    rates_0_new, rates_0_last, rates_1_new, rates_1_last,
                ) = rates_1_1(
                    (i,), test_d_rates_0, test_d_rates_1, rates_0_last, rates_1_last, rates_0,
                    rates_1,
                )
                rates_0 = jnp.where(i < i_end - 1, rates_0_new, rates_0)
                rates_1 = jnp.where(i < i_end - 1, rates_1_new, rates_1)
            return (
                net_0_w, net_0_b, net_1_w, net_1_b, train2, test2, test_d_net_descend_exp2_sum_past,
                test_d_net_descend_exp2_sum2_past, test_d_net_descend_exp_sum_past,
                test_d_net_descend_exp_sum2_past, test_d_net_descend_exp2_sum_now,
                test_d_net_descend_exp2_sum2_now, test_d_net_descend_exp_sum_now,
                test_d_net_descend_exp_sum2_now, test_d_rates_1, test_d_rates_0, rates_0,
                rates_0_last, rates_1, rates_1_last,
            )
        carry = (
            net_0_w, net_0_b, net_1_w, net_1_b, train2, test2, test_d_net_descend_exp2_sum_past,
            test_d_net_descend_exp2_sum2_past, test_d_net_descend_exp_sum_past,
            test_d_net_descend_exp_sum2_past, test_d_net_descend_exp2_sum_now,
            test_d_net_descend_exp2_sum2_now, test_d_net_descend_exp_sum_now,
            test_d_net_descend_exp_sum2_now, test_d_rates_1, test_d_rates_0, rates_0, rates_0_last,
            rates_1, rates_1_last,
        )
        (
            net_0_w, net_0_b, net_1_w, net_1_b, train2, test2, test_d_net_descend_exp2_sum_past,
            test_d_net_descend_exp2_sum2_past, test_d_net_descend_exp_sum_past,
            test_d_net_descend_exp_sum2_past, test_d_net_descend_exp2_sum_now,
            test_d_net_descend_exp2_sum2_now, test_d_net_descend_exp_sum_now,
            test_d_net_descend_exp_sum2_now, test_d_rates_1, test_d_rates_0, rates_0, rates_0_last,
            rates_1, rates_1_last,
        ) = lax.fori_loop(0, i_end, step_i, carry)
    if K <= 1:
        def step_i2(i, carry):
            (
                net_0_w, net_0_b, net_1_w, net_1_b, train2, test2, test_d_rates_0, test_d_rates_1,
                rates_0, rates_0_last, rates_1, rates_1_last,
            ) = carry
            net_0_w, net_0_b, net_1_w, net_1_b = net_0(
                (i,), start_0_w, start_0_b, start_1_w, start_1_b, net_0_w, net_0_b, net_1_w,
                net_1_b,
            )
            (
                train_predict_tanh, train_mse_sub, train2,
            ) = train((i,), x, net_0_w, net_0_b, net_1_w, net_1_b, y, train2, N=N)
            (
                test2, test_d_test_predict_add2_sum, test_d_test_predict_transpose2_transpose,
                test_d_test_predict_add_sum, test_d_test_predict_transpose_transpose,
            ) = test(
                (i,), new_x, net_0_w, net_0_b, net_1_w, net_1_b, new_y, test_d_test_getitem_mul2,
                test_expand_dims, test2, K=K, M=M,
            )
            if K == 1 and I >= 2:
                test_d_rates_0, test_d_rates_1 = test_d_rates_0_1((i,))
            if I >= 2:
                (
                    rates_0_new2, rates_0_last, rates_1_new2, rates_1_last,
                ) = rates_1_1(
                    (i,), test_d_rates_0, test_d_rates_1, rates_0_last, rates_1_last, rates_0,
                    rates_1,
                )
                rates_0 = jnp.where(i < i_end - 1, rates_0_new2, rates_0)
                rates_1 = jnp.where(i < i_end - 1, rates_1_new2, rates_1)
            return (
                net_0_w, net_0_b, net_1_w, net_1_b, train2, test2, test_d_rates_0, test_d_rates_1,
                rates_0, rates_0_last, rates_1, rates_1_last,
            )
        carry = (
            net_0_w, net_0_b, net_1_w, net_1_b, train2, test2, test_d_rates_0, test_d_rates_1,
            rates_0, rates_0_last, rates_1, rates_1_last,
        )
        (
            net_0_w, net_0_b, net_1_w, net_1_b, train2, test2, test_d_rates_0, test_d_rates_1,
            rates_0, rates_0_last, rates_1, rates_1_last,
        ) = strip_mined_loop(0, i_end, step_i2, carry)
    return (rates_0, rates_1, train2, test2)
