"""Kernels of recite, written by tempoc: one function for each statement.

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


def minus_log(v):
    """-log(v / 2**32) of positive u32 words, in units of 2**-27."""
    doublings = lax.clz(v)
    m, total = v << doublings, doublings * jnp.uint32(93032640)
    for k, log in enumerate((
        54420606, 29949820, 15808571, 8136899, 4130102, 2080937, 1044501, 523267, 261888,
        131008, 65520, 32764, 16383, 8192,
    ), 1):
        grown = m + (m >> k)
        fits = grown >= m
        m = jnp.where(fits, grown, m)
        total = jnp.where(fits, total + jnp.uint32(log), total)
    return total + ((~m + jnp.uint32(1)) >> 5)


def random_gumbel(key, positions):
    """Noise whose sum with logits is greatest at k with probability softmax[k]."""
    exponential = jnp.maximum(minus_log(random_bits(key, positions) | 1), jnp.uint32(1))
    noise = (minus_log(exponential) >> 1).astype(jnp.int32) - 232581600
    return noise.astype(jnp.float32) * jnp.float32(2.0**-26)


def unknown_zero():
    """0.0, but XLA for CPUs does not know it: where draws are added, the sum may be NaN.

    An argmax of draws alone, which it proves not to be NaN, it compiles for minutes.
    """
    zero = jnp.float32(0.0)
    if jax.default_backend() != "cpu":
        return zero
    return lax.fori_loop(0, 2, lambda i, zero: -zero, zero)


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


def in_windows(point, first, width, size, axes, in_axes=0, out_axes=0):
    """jax.vmap(point), some points at a time, of some arrays only the part that these read.

    The n-th point reads up to `width` positions from `first(n)` on, along the axis that `axes` has
    for an array. It is also given the position where the part begins. What points at a time make
    has up to 64 * 2**20; one point alone makes arrays of up to `size` bytes of its window.
    Devices other than CPUs compute many parts at once.
    """

    def call(*arrays):
        places = in_axes if isinstance(in_axes, tuple) else (in_axes,) * len(arrays)
        count = next(x.shape[a] for x, a in zip(arrays, places) if a is not None)
        length = next(x.shape[a] for x, a in zip(arrays, axes) if a is not None)
        most = max(64, width)
        # Of shorter blocks less is masked, but other devices need long ones.
        most = most if jax.default_backend() != "cpu" else most // 2
        block = max(1, min(most, 64 * 2**20 // max(1, 2 * size)))
        batches = -(-count // block)
        block = -(-count // max(1, batches))
        near = min(length, block - 1 + width)
        every = jax.vmap(point, (*places, None), out_axes)

        def part(n):
            start = jnp.clip(first(n), 0, length - near).astype(jnp.int32)
            parts = []
            for x, a, b in zip(arrays, places, axes):
                if a is not None:
                    x = cut_rows(x, n, block, a)
                elif b is not None:
                    x = cut_rows(x, start, near, b)
                parts.append(x)
            return every(*parts, start)

        if batches <= 1:
            return part(jnp.int32(0))

        def step(k, buffers):
            # The last part may begin a bit earlier.
            n = lax.min(jnp.int32(k * block), jnp.int32(count - block))
            put = lambda y, rows, a: put_rows(y, rows, n, a)
            return jax.tree.map(put, buffers, part(n), outs)

        def joined(rows, a):
            early = jnp.moveaxis(rows[:-1], 0, a)
            early = early.reshape(*early.shape[:a], -1, *early.shape[a + 2 :])
            late = lax.slice_in_dim(rows[-1], batches * block - count, block, axis=a)
            return jnp.concatenate([early, late], a)

        part = jax.jit(part, inline=True)  # traced once
        shapes = jax.eval_shape(part, jnp.int32(0))
        outs = out_axes if isinstance(out_axes, tuple) else jax.tree.map(lambda _: out_axes, shapes)
        if jax.default_backend() != "cpu":
            starts = jnp.minimum(block * jnp.arange(batches, dtype=jnp.int32), count - block)
            many = max(1, 512 * 2**20 // max(1, 2 * size * block))
            return jax.tree.map(joined, lax.map(part, starts, batch_size=many), outs)
        whole = lambda y, a: jnp.zeros((*y.shape[:a], count, *y.shape[a + 1 :]), y.dtype)
        return lax.fori_loop(0, batches, step, jax.tree.map(whole, shapes, outs))

    return call


def net_letters_default(at, random_seed):
    """recite.rt:21: param net = transformer.init(V, D, layers)
    nn.rt:292: return random.normal([tokens, width]) * sqrt(1.0 / width)
    """
    embedding_init_key = random_key(random_seed, 40866147)
    embedding_init_normal = random_normal(
        embedding_init_key, jnp.arange(3712, dtype=jnp.uint32).reshape((58, 64)), jnp.float32,
    )
    return (embedding_init_normal * 0.125,)


def net_blocks_0_attention_q_default(at, random_seed):
    """recite.rt:21: param net = transformer.init(V, D, layers)
    nn.rt:228: return (2.0 * random.uniform(shape) - 1.0) * sqrt(6.0 / (shape[0] + shape[1]))
    """
    glorot_key = random_key(random_seed, 1443646537)
    glorot_uniform = random_uniform(
        glorot_key, jnp.arange(4096, dtype=jnp.uint32).reshape((64, 64)), 32, 23, jnp.float32,
    )
    return ((2.0 * glorot_uniform - 1.0) * 0.21650635094610965,)


def net_blocks_0_attention_k_default(at, random_seed):
    """recite.rt:21: param net = transformer.init(V, D, layers)
    nn.rt:228: return (2.0 * random.uniform(shape) - 1.0) * sqrt(6.0 / (shape[0] + shape[1]))
    """
    glorot2_key = random_key(random_seed, 688795455)
    glorot2_uniform = random_uniform(
        glorot2_key, jnp.arange(4096, dtype=jnp.uint32).reshape((64, 64)), 32, 23, jnp.float32,
    )
    return ((2.0 * glorot2_uniform - 1.0) * 0.21650635094610965,)


def net_blocks_0_attention_v_default(at, random_seed):
    """recite.rt:21: param net = transformer.init(V, D, layers)
    nn.rt:228: return (2.0 * random.uniform(shape) - 1.0) * sqrt(6.0 / (shape[0] + shape[1]))
    """
    glorot3_key = random_key(random_seed, 3215435955)
    glorot3_uniform = random_uniform(
        glorot3_key, jnp.arange(4096, dtype=jnp.uint32).reshape((64, 64)), 32, 23, jnp.float32,
    )
    return ((2.0 * glorot3_uniform - 1.0) * 0.21650635094610965,)


def net_blocks_0_attention_out_default(at, random_seed):
    """recite.rt:21: param net = transformer.init(V, D, layers)
    nn.rt:228: return (2.0 * random.uniform(shape) - 1.0) * sqrt(6.0 / (shape[0] + shape[1]))
    """
    glorot4_key = random_key(random_seed, 1731170759)
    glorot4_uniform = random_uniform(
        glorot4_key, jnp.arange(4096, dtype=jnp.uint32).reshape((64, 64)), 32, 23, jnp.float32,
    )
    return ((2.0 * glorot4_uniform - 1.0) * 0.21650635094610965,)


def net_blocks_0_mlp_0_w_default(at, random_seed):
    """recite.rt:21: param net = transformer.init(V, D, layers)
    nn.rt:228: return (2.0 * random.uniform(shape) - 1.0) * sqrt(6.0 / (shape[0] + shape[1]))
    """
    glorot_key = random_key(random_seed, 3408260592)
    glorot_uniform = random_uniform(
        glorot_key, jnp.arange(8192, dtype=jnp.uint32).reshape((128, 64)), 32, 23, jnp.float32,
    )
    return ((2.0 * glorot_uniform - 1.0) * 0.1767766952966369,)


def net_blocks_0_mlp_1_w_default(at, random_seed):
    """recite.rt:21: param net = transformer.init(V, D, layers)
    nn.rt:228: return (2.0 * random.uniform(shape) - 1.0) * sqrt(6.0 / (shape[0] + shape[1]))
    """
    glorot_key = random_key(random_seed, 2961748675)
    glorot_uniform = random_uniform(
        glorot_key, jnp.arange(8192, dtype=jnp.uint32).reshape((64, 128)), 32, 23, jnp.float32,
    )
    return ((2.0 * glorot_uniform - 1.0) * 0.1767766952966369,)


def net_blocks_1_attention_q_default(at, random_seed):
    """recite.rt:21: param net = transformer.init(V, D, layers)
    nn.rt:228: return (2.0 * random.uniform(shape) - 1.0) * sqrt(6.0 / (shape[0] + shape[1]))
    """
    glorot_key = random_key(random_seed, 541127911)
    glorot_uniform = random_uniform(
        glorot_key, jnp.arange(4096, dtype=jnp.uint32).reshape((64, 64)), 32, 23, jnp.float32,
    )
    return ((2.0 * glorot_uniform - 1.0) * 0.21650635094610965,)


def net_blocks_1_attention_k_default(at, random_seed):
    """recite.rt:21: param net = transformer.init(V, D, layers)
    nn.rt:228: return (2.0 * random.uniform(shape) - 1.0) * sqrt(6.0 / (shape[0] + shape[1]))
    """
    glorot2_key = random_key(random_seed, 1830670459)
    glorot2_uniform = random_uniform(
        glorot2_key, jnp.arange(4096, dtype=jnp.uint32).reshape((64, 64)), 32, 23, jnp.float32,
    )
    return ((2.0 * glorot2_uniform - 1.0) * 0.21650635094610965,)


def net_blocks_1_attention_v_default(at, random_seed):
    """recite.rt:21: param net = transformer.init(V, D, layers)
    nn.rt:228: return (2.0 * random.uniform(shape) - 1.0) * sqrt(6.0 / (shape[0] + shape[1]))
    """
    glorot3_key = random_key(random_seed, 3739660007)
    glorot3_uniform = random_uniform(
        glorot3_key, jnp.arange(4096, dtype=jnp.uint32).reshape((64, 64)), 32, 23, jnp.float32,
    )
    return ((2.0 * glorot3_uniform - 1.0) * 0.21650635094610965,)


def net_blocks_1_attention_out_default(at, random_seed):
    """recite.rt:21: param net = transformer.init(V, D, layers)
    nn.rt:228: return (2.0 * random.uniform(shape) - 1.0) * sqrt(6.0 / (shape[0] + shape[1]))
    """
    glorot4_key = random_key(random_seed, 179971067)
    glorot4_uniform = random_uniform(
        glorot4_key, jnp.arange(4096, dtype=jnp.uint32).reshape((64, 64)), 32, 23, jnp.float32,
    )
    return ((2.0 * glorot4_uniform - 1.0) * 0.21650635094610965,)


def net_blocks_1_mlp_0_w_default(at, random_seed):
    """recite.rt:21: param net = transformer.init(V, D, layers)
    nn.rt:228: return (2.0 * random.uniform(shape) - 1.0) * sqrt(6.0 / (shape[0] + shape[1]))
    """
    glorot_key = random_key(random_seed, 2528477057)
    glorot_uniform = random_uniform(
        glorot_key, jnp.arange(8192, dtype=jnp.uint32).reshape((128, 64)), 32, 23, jnp.float32,
    )
    return ((2.0 * glorot_uniform - 1.0) * 0.1767766952966369,)


def net_blocks_1_mlp_1_w_default(at, random_seed):
    """recite.rt:21: param net = transformer.init(V, D, layers)
    nn.rt:228: return (2.0 * random.uniform(shape) - 1.0) * sqrt(6.0 / (shape[0] + shape[1]))
    """
    glorot_key = random_key(random_seed, 28284977)
    glorot_uniform = random_uniform(
        glorot_key, jnp.arange(8192, dtype=jnp.uint32).reshape((64, 128)), 32, 23, jnp.float32,
    )
    return ((2.0 * glorot_uniform - 1.0) * 0.1767766952966369,)


def net_blocks_0_first_scale_default(at):
    """recite.rt:21: param net = transformer.init(V, D, layers)"""
    scale_default = jnp.ones((64,), jnp.float32)
    return scale_default, scale_default, scale_default, scale_default, scale_default


def net_blocks_0_first_bias_default(at):
    """recite.rt:21: param net = transformer.init(V, D, layers)"""
    bias_default = jnp.zeros((64,), jnp.float32)
    return (
        bias_default, bias_default, bias_default, bias_default, bias_default, bias_default,
        bias_default,
    )


def net_blocks_0_mlp_0_b_default(at):
    """recite.rt:21: param net = transformer.init(V, D, layers)"""
    b_default = jnp.zeros((128,), jnp.float32)
    return b_default, b_default


def drawn_logits_x_attention_v_reshape_early(
    at, net_letters, first_scale, first_bias, attention_q, speed_power, attention_k, attention_v,
    prompt, letter, *, T, P,
):
    """recite.rt:23: letter[t] = prompt[t] + zeros([B], dtype = i32) when t < P
    nn.rt:48: d = x - mean(x, axis = -1, keepdims = true)
    nn.rt:49: return d * rsqrt(mean(d * d, axis = -1, keepdims = true) + eps) * scale + bias
    nn.rt:79: angle = position * (speed if stretch == 1.0 else stretched(speed, stretch, slow, fast, length))
    nn.rt:80: low = split(x, 2, -1)[0]
    nn.rt:81: high = split(x, 2, -1)[1]
    nn.rt:82: return concat([low * cos(angle) - high * sin(angle), high * cos(angle) + low * sin(angle)], -1)
    transformer.rt:13: q = nn.rope(reshape(x @ layer.q.T, [size(x, 0) * heads, -1]), t)
    transformer.rt:14: k = nn.rope(reshape(x @ layer.k.T, [size(x, 0) * heads, -1]), t)
    transformer.rt:15: v = reshape(x @ layer.v.T, [size(x, 0) * heads, -1])
    transformer.rt:22: x = net.letters[letter]
    """
    def point(t, prompt_t_p):
        letter_0 = jnp.broadcast_to(prompt_t_p, (3,))
        wrong = wrong_value(
            letter_0, ((letter_0 >= -58) & (letter_0 < 58)) | ((t < P-63) | (T <= P)),
        )
        x_getitem = jnp.take(
            net_letters, jnp.where(letter_0 < 0, letter_0 + 58, letter_0), axis=0, mode="clip",
        )
        d_sub = x_getitem - jnp.sum(x_getitem, axis=1, keepdims=True) / 64
        layer_norm_rsqrt = lax.rsqrt(jnp.sum(d_sub * d_sub, axis=1, keepdims=True) / 64 + 1e-05)
        layer_norm_add2 = d_sub * layer_norm_rsqrt * first_scale + first_bias
        q_reshape = jnp.reshape(jnp.einsum("ij,kj->ik", layer_norm_add2, attention_q), (12, 16))
        angle_mul = jnp.int32(t).astype(jnp.float32) * speed_power
        q_rope_low_split_0 = lax.slice_in_dim(q_reshape, 0, 8, axis=1)
        q_rope_low_split_1 = lax.slice_in_dim(q_reshape, 8, 16, axis=1)
        rope_cos = jnp.cos(angle_mul)
        rope_sin = jnp.sin(angle_mul)
        q_rope_sub = q_rope_low_split_0 * rope_cos - q_rope_low_split_1 * rope_sin
        q_rope_add = q_rope_low_split_1 * rope_cos + q_rope_low_split_0 * rope_sin
        q_rope_concat = jnp.concatenate([q_rope_sub, q_rope_add], axis=1)
        k_reshape = jnp.reshape(jnp.einsum("ij,kj->ik", layer_norm_add2, attention_k), (12, 16))
        k_rope_low_split_0 = lax.slice_in_dim(k_reshape, 0, 8, axis=1)
        k_rope_low_split_1 = lax.slice_in_dim(k_reshape, 8, 16, axis=1)
        k_rope_sub = k_rope_low_split_0 * rope_cos - k_rope_low_split_1 * rope_sin
        k_rope_add = k_rope_low_split_1 * rope_cos + k_rope_low_split_0 * rope_sin
        k_rope_concat = jnp.concatenate([k_rope_sub, k_rope_add], axis=1)
        v_reshape = jnp.reshape(jnp.einsum("ij,kj->ik", layer_norm_add2, attention_v), (12, 16))
        return (
            letter_0, x_getitem, rope_cos, rope_sin, q_rope_concat, k_rope_concat, v_reshape, wrong,
        )
    (
        letter_0_rows, x_getitem_rows, rope_cos_rows, rope_sin_rows, q_rope_concat_rows,
        k_rope_concat_rows, v_reshape_rows, fault,
    ) = jax.vmap(point)(
        jnp.arange(min(P, T), dtype=jnp.int32),
        lax.dynamic_slice_in_dim(prompt, 0, min(P, T), axis=0),
    )
    letter2 = lax.dynamic_update_slice(letter, letter_0_rows, (0, 0))
    return (
        letter2, x_getitem_rows, rope_cos_rows, rope_sin_rows, q_rope_concat_rows,
        k_rope_concat_rows, v_reshape_rows, jnp.stack(first_lane(fault)),
    )


def drawn_temperature_categorical_late(
    at, temperature_categorical_prev, net_letters, blocks_0_first_scale, blocks_0_first_bias,
    blocks_0_attention_q, speed_power, blocks_0_attention_k, blocks_0_attention_v,
    attention_k_rope_concat, attention_v_reshape, blocks_0_attention_out, blocks_0_second_scale,
    blocks_0_second_bias, blocks_0_mlp_0_w, blocks_0_mlp_0_b, blocks_0_mlp_1_w, blocks_0_mlp_1_b,
    blocks_1_first_scale, blocks_1_first_bias, blocks_1_attention_q, blocks_1_attention_k,
    blocks_1_attention_v, attention2_k_rope_concat, attention2_v_reshape, blocks_1_attention_out,
    blocks_1_second_scale, blocks_1_second_bias, blocks_1_mlp_0_w, blocks_1_mlp_0_b,
    blocks_1_mlp_1_w, blocks_1_mlp_1_b, last_scale, last_bias, random_seed, letter, *, T,
):
    """recite.rt:24: letter[t] = drawn[t-1]
    nn.rt:8: e = exp(x - stop_gradient(max(x, axis = axis, keepdims = true)))
    nn.rt:9: return e / sum(e, axis = axis, keepdims = true)
    nn.rt:29: return x @ w.T + b
    nn.rt:36: h = act(linear(h, layers[k].w, layers[k].b))
    nn.rt:48: d = x - mean(x, axis = -1, keepdims = true)
    nn.rt:49: return d * rsqrt(mean(d * d, axis = -1, keepdims = true) + eps) * scale + bias
    nn.rt:79: angle = position * (speed if stretch == 1.0 else stretched(speed, stretch, slow, fast, length))
    nn.rt:80: low = split(x, 2, -1)[0]
    nn.rt:81: high = split(x, 2, -1)[1]
    nn.rt:82: return concat([low * cos(angle) - high * sin(angle), high * cos(angle) + low * sin(angle)], -1)
    nn.rt:104: scores = einsum("hd,shd->hs", q, keys) / sqrt(f32(size(q, -1)))
    nn.rt:105: return einsum("hs,she->he", softmax(scores), values)
    sampling.rt:10: return random.categorical(logits / heat)
    transformer.rt:13: q = nn.rope(reshape(x @ layer.q.T, [size(x, 0) * heads, -1]), t)
    transformer.rt:14: k = nn.rope(reshape(x @ layer.k.T, [size(x, 0) * heads, -1]), t)
    transformer.rt:15: v = reshape(x @ layer.v.T, [size(x, 0) * heads, -1])
    transformer.rt:17: return reshape(past, [size(x, 0), -1]) @ layer.out.T
    transformer.rt:22: x = net.letters[letter]
    transformer.rt:25: x = x + attention(seen, block.attention, t, heads, window)
    transformer.rt:26: x = x + nn.mlp(block.mlp, nn.layer_norm(x, block.second.scale, block.second.bias), gelu)
    transformer.rt:28: return nn.layer_norm(x, net.last.scale, net.last.bias) @ net.letters.T
    """
    t = at[0]
    wrong = wrong_value(
        temperature_categorical_prev,
        ((temperature_categorical_prev >= -58) & (temperature_categorical_prev < 58)) | (t >= T-1),
    )
    x_getitem = jnp.take(
        net_letters,
        jnp.where(
            temperature_categorical_prev < 0, temperature_categorical_prev + 58,
            temperature_categorical_prev,
        ), axis=0, mode="clip",
    )
    drawn_logits_seen_layer_norm_d_sub = x_getitem - jnp.sum(x_getitem, axis=1, keepdims=True) / 64
    seen_layer_norm_mul = drawn_logits_seen_layer_norm_d_sub * drawn_logits_seen_layer_norm_d_sub
    seen_layer_norm_add = jnp.sum(seen_layer_norm_mul, axis=1, keepdims=True) / 64 + 1e-05
    seen_layer_norm_mul2 = drawn_logits_seen_layer_norm_d_sub * lax.rsqrt(seen_layer_norm_add)
    seen_layer_norm_add2 = seen_layer_norm_mul2 * blocks_0_first_scale + blocks_0_first_bias
    attention_q_matmul = jnp.einsum("ij,kj->ik", seen_layer_norm_add2, blocks_0_attention_q)
    attention_q_reshape = jnp.reshape(attention_q_matmul, (12, 16))
    angle_mul = jnp.int32(t).astype(jnp.float32) * speed_power
    attention_q_rope_low_split_0 = lax.slice_in_dim(attention_q_reshape, 0, 8, axis=1)
    attention_q_rope_low_split_1 = lax.slice_in_dim(attention_q_reshape, 8, 16, axis=1)
    rope_cos = jnp.cos(angle_mul)
    rope_sin = jnp.sin(angle_mul)
    attention_q_rope_mul2 = attention_q_rope_low_split_1 * rope_sin
    attention_q_rope_sub = attention_q_rope_low_split_0 * rope_cos - attention_q_rope_mul2
    attention_q_rope_mul4 = attention_q_rope_low_split_0 * rope_sin
    attention_q_rope_add = attention_q_rope_low_split_1 * rope_cos + attention_q_rope_mul4
    attention_q_rope_concat = jnp.concatenate([attention_q_rope_sub, attention_q_rope_add], axis=1)
    attention_k_matmul = jnp.einsum("ij,kj->ik", seen_layer_norm_add2, blocks_0_attention_k)
    attention_k_reshape = jnp.reshape(attention_k_matmul, (12, 16))
    attention_k_rope_low_split_0 = lax.slice_in_dim(attention_k_reshape, 0, 8, axis=1)
    attention_k_rope_low_split_1 = lax.slice_in_dim(attention_k_reshape, 8, 16, axis=1)
    attention_k_rope_mul2 = attention_k_rope_low_split_1 * rope_sin
    attention_k_rope_sub = attention_k_rope_low_split_0 * rope_cos - attention_k_rope_mul2
    attention_k_rope_mul4 = attention_k_rope_low_split_0 * rope_sin
    attention_k_rope_add = attention_k_rope_low_split_1 * rope_cos + attention_k_rope_mul4
    attention_k_rope_concat_late = jnp.concatenate(
        [attention_k_rope_sub, attention_k_rope_add], axis=1,
    )
    attention_v_matmul = jnp.einsum("ij,kj->ik", seen_layer_norm_add2, blocks_0_attention_v)
    attention_v_reshape_late = jnp.reshape(attention_v_matmul, (12, 16))
    attention_k_rope_concat = lax.dynamic_update_index_in_dim(
        attention_k_rope_concat, attention_k_rope_concat_late, lax.rem(t, min(32, T)), 2,
    )
    attention_k_rope_concat_slice = jnp.moveaxis(attention_k_rope_concat, 2, 0)
    attention_past_multi_head_attention_scores_einsum = jnp.einsum(
        "hd,shd->hs", attention_q_rope_concat, attention_k_rope_concat_slice,
    )
    attention_past_multi_head_attention_scores_div = attention_past_multi_head_attention_scores_einsum * 0.25
    valid = jnp.arange(min(32, T), dtype=jnp.int32) < jnp.minimum(32, t+1)
    attention_past_multi_head_attention_scores_div_masked = jnp.where(
        valid, attention_past_multi_head_attention_scores_div, -jnp.inf,
    )
    attention_past_multi_head_attention_softmax_e_max = jnp.max(
        attention_past_multi_head_attention_scores_div_masked, axis=1, keepdims=True,
    )
    attention_past_multi_head_attention_softmax_e_sub = attention_past_multi_head_attention_scores_div_masked - attention_past_multi_head_attention_softmax_e_max
    attention_past_multi_head_attention_softmax_e_exp = jnp.exp(
        attention_past_multi_head_attention_softmax_e_sub
    )
    attention_past_multi_head_attention_softmax_sum = jnp.sum(
        attention_past_multi_head_attention_softmax_e_exp, axis=1, keepdims=True,
    )
    attention_past_multi_head_attention_softmax_div = attention_past_multi_head_attention_softmax_e_exp / attention_past_multi_head_attention_softmax_sum
    attention_v_reshape = lax.dynamic_update_index_in_dim(
        attention_v_reshape, attention_v_reshape_late, lax.rem(t, min(32, T)), 1,
    )
    attention_v_reshape_slice = jnp.moveaxis(attention_v_reshape, 1, 0)
    attention_past_multi_head_attention_einsum = jnp.einsum(
        "hs,she->he", attention_past_multi_head_attention_softmax_div, attention_v_reshape_slice,
    )
    attention_reshape = jnp.reshape(attention_past_multi_head_attention_einsum, (3, 64))
    x_add = x_getitem + jnp.einsum("ij,kj->ik", attention_reshape, blocks_0_attention_out)
    drawn_logits_x_layer_norm_d_sub = x_add - jnp.sum(x_add, axis=1, keepdims=True) / 64
    x_layer_norm_mul = drawn_logits_x_layer_norm_d_sub * drawn_logits_x_layer_norm_d_sub
    x_layer_norm_rsqrt = lax.rsqrt(jnp.sum(x_layer_norm_mul, axis=1, keepdims=True) / 64 + 1e-05)
    x_layer_norm_mul3 = drawn_logits_x_layer_norm_d_sub * x_layer_norm_rsqrt * blocks_0_second_scale
    x_layer_norm_add2 = x_layer_norm_mul3 + blocks_0_second_bias
    mlp_h_linear_matmul = jnp.einsum("ij,kj->ik", x_layer_norm_add2, blocks_0_mlp_0_w)
    mlp_h_gelu = jax.nn.gelu(mlp_h_linear_matmul + blocks_0_mlp_0_b, approximate=False)
    x_add2 = x_add + (jnp.einsum("ij,kj->ik", mlp_h_gelu, blocks_0_mlp_1_w) + blocks_0_mlp_1_b)
    drawn_logits_seen_layer_norm2_d_sub = x_add2 - jnp.sum(x_add2, axis=1, keepdims=True) / 64
    seen_layer_norm2_mul = drawn_logits_seen_layer_norm2_d_sub * drawn_logits_seen_layer_norm2_d_sub
    seen_layer_norm2_add = jnp.sum(seen_layer_norm2_mul, axis=1, keepdims=True) / 64 + 1e-05
    seen_layer_norm2_mul2 = drawn_logits_seen_layer_norm2_d_sub * lax.rsqrt(seen_layer_norm2_add)
    seen_layer_norm2_add2 = seen_layer_norm2_mul2 * blocks_1_first_scale + blocks_1_first_bias
    attention2_q_matmul = jnp.einsum("ij,kj->ik", seen_layer_norm2_add2, blocks_1_attention_q)
    attention2_q_reshape = jnp.reshape(attention2_q_matmul, (12, 16))
    attention2_q_rope_low_split_0 = lax.slice_in_dim(attention2_q_reshape, 0, 8, axis=1)
    attention2_q_rope_low_split_1 = lax.slice_in_dim(attention2_q_reshape, 8, 16, axis=1)
    attention2_q_rope_mul2 = attention2_q_rope_low_split_1 * rope_sin
    attention2_q_rope_sub = attention2_q_rope_low_split_0 * rope_cos - attention2_q_rope_mul2
    attention2_q_rope_mul4 = attention2_q_rope_low_split_0 * rope_sin
    attention2_q_rope_add = attention2_q_rope_low_split_1 * rope_cos + attention2_q_rope_mul4
    attention2_q_rope_concat = jnp.concatenate(
        [attention2_q_rope_sub, attention2_q_rope_add], axis=1,
    )
    attention2_k_matmul = jnp.einsum("ij,kj->ik", seen_layer_norm2_add2, blocks_1_attention_k)
    attention2_k_reshape = jnp.reshape(attention2_k_matmul, (12, 16))
    attention2_k_rope_low_split_0 = lax.slice_in_dim(attention2_k_reshape, 0, 8, axis=1)
    attention2_k_rope_low_split_1 = lax.slice_in_dim(attention2_k_reshape, 8, 16, axis=1)
    attention2_k_rope_mul2 = attention2_k_rope_low_split_1 * rope_sin
    attention2_k_rope_sub = attention2_k_rope_low_split_0 * rope_cos - attention2_k_rope_mul2
    attention2_k_rope_mul4 = attention2_k_rope_low_split_0 * rope_sin
    attention2_k_rope_add = attention2_k_rope_low_split_1 * rope_cos + attention2_k_rope_mul4
    attention2_k_rope_concat_late = jnp.concatenate(
        [attention2_k_rope_sub, attention2_k_rope_add], axis=1,
    )
    attention2_v_matmul = jnp.einsum("ij,kj->ik", seen_layer_norm2_add2, blocks_1_attention_v)
    attention2_v_reshape_late = jnp.reshape(attention2_v_matmul, (12, 16))
    attention2_k_rope_concat = lax.dynamic_update_index_in_dim(
        attention2_k_rope_concat, attention2_k_rope_concat_late, lax.rem(t, min(32, T)), 2,
    )
    attention2_k_rope_concat_slice = jnp.moveaxis(attention2_k_rope_concat, 2, 0)
    attention2_past_multi_head_attention_scores_einsum = jnp.einsum(
        "hd,shd->hs", attention2_q_rope_concat, attention2_k_rope_concat_slice,
    )
    attention2_past_multi_head_attention_scores_div = attention2_past_multi_head_attention_scores_einsum * 0.25
    attention2_past_multi_head_attention_scores_div_masked = jnp.where(
        valid, attention2_past_multi_head_attention_scores_div, -jnp.inf,
    )
    attention2_past_multi_head_attention_softmax_e_max = jnp.max(
        attention2_past_multi_head_attention_scores_div_masked, axis=1, keepdims=True,
    )
    attention2_past_multi_head_attention_softmax_e_sub = attention2_past_multi_head_attention_scores_div_masked - attention2_past_multi_head_attention_softmax_e_max
    attention2_past_multi_head_attention_softmax_e_exp = jnp.exp(
        attention2_past_multi_head_attention_softmax_e_sub
    )
    attention2_past_multi_head_attention_softmax_sum = jnp.sum(
        attention2_past_multi_head_attention_softmax_e_exp, axis=1, keepdims=True,
    )
    attention2_past_multi_head_attention_softmax_div = attention2_past_multi_head_attention_softmax_e_exp / attention2_past_multi_head_attention_softmax_sum
    attention2_v_reshape = lax.dynamic_update_index_in_dim(
        attention2_v_reshape, attention2_v_reshape_late, lax.rem(t, min(32, T)), 1,
    )
    attention2_v_reshape_slice = jnp.moveaxis(attention2_v_reshape, 1, 0)
    attention2_past_multi_head_attention_einsum = jnp.einsum(
        "hs,she->he", attention2_past_multi_head_attention_softmax_div, attention2_v_reshape_slice,
    )
    attention2_reshape = jnp.reshape(attention2_past_multi_head_attention_einsum, (3, 64))
    x_add3 = x_add2 + jnp.einsum("ij,kj->ik", attention2_reshape, blocks_1_attention_out)
    drawn_logits_x_layer_norm2_d_sub = x_add3 - jnp.sum(x_add3, axis=1, keepdims=True) / 64
    x_layer_norm2_mul = drawn_logits_x_layer_norm2_d_sub * drawn_logits_x_layer_norm2_d_sub
    x_layer_norm2_rsqrt = lax.rsqrt(jnp.sum(x_layer_norm2_mul, axis=1, keepdims=True) / 64 + 1e-05)
    x_layer_norm2_mul2 = drawn_logits_x_layer_norm2_d_sub * x_layer_norm2_rsqrt
    x_layer_norm2_add2 = x_layer_norm2_mul2 * blocks_1_second_scale + blocks_1_second_bias
    mlp2_h_linear_matmul = jnp.einsum("ij,kj->ik", x_layer_norm2_add2, blocks_1_mlp_0_w)
    mlp2_h_gelu = jax.nn.gelu(mlp2_h_linear_matmul + blocks_1_mlp_0_b, approximate=False)
    x_add4 = x_add3 + (jnp.einsum("ij,kj->ik", mlp2_h_gelu, blocks_1_mlp_1_w) + blocks_1_mlp_1_b)
    drawn_logits_layer_norm_d_sub = x_add4 - jnp.sum(x_add4, axis=1, keepdims=True) / 64
    logits_layer_norm_mul = drawn_logits_layer_norm_d_sub * drawn_logits_layer_norm_d_sub
    logits_layer_norm_add = jnp.sum(logits_layer_norm_mul, axis=1, keepdims=True) / 64 + 1e-05
    logits_layer_norm_mul2 = drawn_logits_layer_norm_d_sub * lax.rsqrt(logits_layer_norm_add)
    logits_layer_norm_add2 = logits_layer_norm_mul2 * last_scale + last_bias
    temperature_div = jnp.einsum("ij,kj->ik", logits_layer_norm_add2, net_letters) / 0.7
    temperature_key = random_key(random_seed, 3419918578, t)
    scores = temperature_div + random_gumbel(
        temperature_key, jnp.arange(174, dtype=jnp.uint32).reshape((3, 58)),
    ) + unknown_zero()
    temperature_categorical_late = jnp.argmax(scores, axis=-1).astype(jnp.int32)
    letter = lax.dynamic_update_index_in_dim(letter, temperature_categorical_prev, t, 0)
    return (
        letter, attention_k_rope_concat, attention_v_reshape, attention2_k_rope_concat,
        attention2_v_reshape, temperature_categorical_late, wrong,
    )


def drawn_logits_x_attention_q_rope_speed_power(at):
    """nn.rt:78: speed = theta ** (-arange(size(x, -1) // 2) / (size(x, -1) // 2))"""
    speed_div = (-jnp.arange(8, dtype=jnp.int32)).astype(jnp.float32) / 8.0
    return (jnp.power(jnp.float32(10000.0), speed_div),)


def drawn_logits_x_last(
    at, attention_k_rope_concat, attention_v_reshape, attention2_k_rope_concat,
    attention2_v_reshape, drawn_logits_x_attention_k_rope_concat,
    drawn_logits_x_attention_v_reshape, drawn_logits_x_attention2_k_rope_concat,
    drawn_logits_x_attention2_v_reshape, *, T,
):
    """nn.rt:82: return concat([low * cos(angle) - high * sin(angle), high * cos(angle) + low * sin(angle)], -1)
    transformer.rt:15: v = reshape(x @ layer.v.T, [size(x, 0) * heads, -1])
    """
    t = at[0]
    attention_k_rope_concat_t = attention_k_rope_concat[t]
    attention_v_reshape_t = attention_v_reshape[t]
    attention2_k_rope_concat_t = attention2_k_rope_concat[t]
    attention2_v_reshape_t = attention2_v_reshape[t]
    drawn_logits_x_attention_k_rope_concat = lax.dynamic_update_index_in_dim(
        drawn_logits_x_attention_k_rope_concat, attention_k_rope_concat_t, lax.rem(t, min(32, T)),
        2,
    )
    drawn_logits_x_attention_v_reshape = lax.dynamic_update_index_in_dim(
        drawn_logits_x_attention_v_reshape, attention_v_reshape_t, lax.rem(t, min(32, T)), 1,
    )
    drawn_logits_x_attention2_k_rope_concat = lax.dynamic_update_index_in_dim(
        drawn_logits_x_attention2_k_rope_concat, attention2_k_rope_concat_t, lax.rem(t, min(32, T)),
        2,
    )
    drawn_logits_x_attention2_v_reshape = lax.dynamic_update_index_in_dim(
        drawn_logits_x_attention2_v_reshape, attention2_v_reshape_t, lax.rem(t, min(32, T)), 1,
    )
    return (
        drawn_logits_x_attention_k_rope_concat, drawn_logits_x_attention_v_reshape,
        drawn_logits_x_attention2_k_rope_concat, drawn_logits_x_attention2_v_reshape,
    )


def drawn_logits_early(
    at, q_rope_concat, attention_out, x_getitem, second_scale, second_bias, mlp_0_w, mlp_0_b,
    mlp_1_w, mlp_1_b, first_scale, first_bias, attention_k, rope_cos, rope_sin, attention_v,
    attention_k_rope_concat, attention_v_reshape, *, T, P,
):
    """nn.rt:8: e = exp(x - stop_gradient(max(x, axis = axis, keepdims = true)))
    nn.rt:9: return e / sum(e, axis = axis, keepdims = true)
    nn.rt:29: return x @ w.T + b
    nn.rt:36: h = act(linear(h, layers[k].w, layers[k].b))
    nn.rt:48: d = x - mean(x, axis = -1, keepdims = true)
    nn.rt:49: return d * rsqrt(mean(d * d, axis = -1, keepdims = true) + eps) * scale + bias
    nn.rt:80: low = split(x, 2, -1)[0]
    nn.rt:81: high = split(x, 2, -1)[1]
    nn.rt:82: return concat([low * cos(angle) - high * sin(angle), high * cos(angle) + low * sin(angle)], -1)
    nn.rt:104: scores = einsum("hd,shd->hs", q, keys) / sqrt(f32(size(q, -1)))
    nn.rt:105: return einsum("hs,she->he", softmax(scores), values)
    transformer.rt:14: k = nn.rope(reshape(x @ layer.k.T, [size(x, 0) * heads, -1]), t)
    transformer.rt:15: v = reshape(x @ layer.v.T, [size(x, 0) * heads, -1])
    transformer.rt:17: return reshape(past, [size(x, 0), -1]) @ layer.out.T
    transformer.rt:25: x = x + attention(seen, block.attention, t, heads, window)
    transformer.rt:26: x = x + nn.mlp(block.mlp, nn.layer_norm(x, block.second.scale, block.second.bias), gelu)
    """
    def rows(finite):
        def point(
            t, q_rope_concat, attention_k_rope_concat_near, attention_v_reshape_near, x_getitem,
            rope_cos, rope_sin, t_from,
        ):
            scores_einsum = jnp.einsum("hd,shd->hs", q_rope_concat, attention_k_rope_concat_near)
            spots = t_from + jnp.arange(attention_k_rope_concat_near.shape[0], dtype=jnp.int32)
            valid = (spots >= jnp.maximum(0, t-31)) & (spots < t+1)
            scores_div_masked = jnp.where(valid, scores_einsum * 0.25, -jnp.inf)
            e_exp = jnp.exp(scores_div_masked - jnp.max(scores_div_masked, axis=1, keepdims=True))
            softmax_div = e_exp / jnp.sum(e_exp, axis=1, keepdims=True)
            valid2 = ((spots >= jnp.maximum(0, t-31)) & (spots < t+1))[:, None, None]
            multi_head_attention_einsum = jnp.einsum(
                "hs,she->he", softmax_div, attention_v_reshape_near,
            ) if finite else term_by_term(
                lambda attention_v_reshape_near, softmax_div, valid2: jnp.einsum(
                    "hs,she->he", softmax_div, jnp.where(valid2, attention_v_reshape_near, 0.0),
                ), (0, 1, 0), attention_v_reshape_near, softmax_div, valid2,
            )
            attention_reshape = jnp.reshape(multi_head_attention_einsum, (3, 64))
            x_add = x_getitem + jnp.einsum("ij,kj->ik", attention_reshape, attention_out)
            drawn_logits_x_layer_norm_d_sub = x_add - jnp.sum(x_add, axis=1, keepdims=True) / 64
            layer_norm_mul = drawn_logits_x_layer_norm_d_sub * drawn_logits_x_layer_norm_d_sub
            layer_norm_add = jnp.sum(layer_norm_mul, axis=1, keepdims=True) / 64 + 1e-05
            layer_norm_mul2 = drawn_logits_x_layer_norm_d_sub * lax.rsqrt(layer_norm_add)
            layer_norm_add2 = layer_norm_mul2 * second_scale + second_bias
            h_linear_add = jnp.einsum("ij,kj->ik", layer_norm_add2, mlp_0_w) + mlp_0_b
            h_gelu = jax.nn.gelu(h_linear_add, approximate=False)
            x_add2 = x_add + (jnp.einsum("ij,kj->ik", h_gelu, mlp_1_w) + mlp_1_b)
            drawn_logits_seen_layer_norm2_d_mean = jnp.sum(x_add2, axis=1, keepdims=True) / 64
            drawn_logits_seen_layer_norm2_d_sub = x_add2 - drawn_logits_seen_layer_norm2_d_mean
            layer_norm2_mul = drawn_logits_seen_layer_norm2_d_sub * drawn_logits_seen_layer_norm2_d_sub
            layer_norm2_add = jnp.sum(layer_norm2_mul, axis=1, keepdims=True) / 64 + 1e-05
            layer_norm2_mul2 = drawn_logits_seen_layer_norm2_d_sub * lax.rsqrt(layer_norm2_add)
            layer_norm2_add2 = layer_norm2_mul2 * first_scale + first_bias
            k_matmul = jnp.einsum("ij,kj->ik", layer_norm2_add2, attention_k)
            k_reshape = jnp.reshape(k_matmul, (12, 16))
            low_split_0 = lax.slice_in_dim(k_reshape, 0, 8, axis=1)
            low_split_1 = lax.slice_in_dim(k_reshape, 8, 16, axis=1)
            rope_sub = low_split_0 * rope_cos - low_split_1 * rope_sin
            rope_add = low_split_1 * rope_cos + low_split_0 * rope_sin
            attention2_k_rope_concat = jnp.concatenate([rope_sub, rope_add], axis=1)
            v_matmul = jnp.einsum("ij,kj->ik", layer_norm2_add2, attention_v)
            attention2_v_reshape = jnp.reshape(v_matmul, (12, 16))
            return (x_add2, layer_norm2_add2, attention2_k_rope_concat, attention2_v_reshape)
        return in_windows(
            point, lambda t: jnp.maximum(0, t-31), min(32, P), 0,
            axes=(None, None, 0, 0, None, None, None), in_axes=(0, 0, None, None, 0, 0, 0),
        )(
            jnp.arange(min(P, T), dtype=jnp.int32), q_rope_concat, attention_k_rope_concat,
            attention_v_reshape, x_getitem, rope_cos, rope_sin,
        )
    (
        x_add2_rows, layer_norm2_add2_rows, attention2_k_rope_concat_rows,
        attention2_v_reshape_rows,
    ) = usually(all_finite(attention_v_reshape), lambda: rows(True), lambda: rows(False))
    return (
        x_add2_rows, layer_norm2_add2_rows, attention2_k_rope_concat_rows,
        attention2_v_reshape_rows,
    )


def drawn_temperature_categorical_early(
    at, seen_layer_norm2_add2, attention_q, rope_cos, rope_sin, k_rope_concat, v_reshape,
    attention_out, x_add2, second_scale, second_bias, mlp_0_w, mlp_0_b, mlp_1_w, mlp_1_b,
    last_scale, last_bias, net_letters, random_seed, *, P,
):
    """nn.rt:8: e = exp(x - stop_gradient(max(x, axis = axis, keepdims = true)))
    nn.rt:9: return e / sum(e, axis = axis, keepdims = true)
    nn.rt:29: return x @ w.T + b
    nn.rt:36: h = act(linear(h, layers[k].w, layers[k].b))
    nn.rt:48: d = x - mean(x, axis = -1, keepdims = true)
    nn.rt:49: return d * rsqrt(mean(d * d, axis = -1, keepdims = true) + eps) * scale + bias
    nn.rt:80: low = split(x, 2, -1)[0]
    nn.rt:81: high = split(x, 2, -1)[1]
    nn.rt:82: return concat([low * cos(angle) - high * sin(angle), high * cos(angle) + low * sin(angle)], -1)
    nn.rt:104: scores = einsum("hd,shd->hs", q, keys) / sqrt(f32(size(q, -1)))
    nn.rt:105: return einsum("hs,she->he", softmax(scores), values)
    sampling.rt:10: return random.categorical(logits / heat)
    transformer.rt:13: q = nn.rope(reshape(x @ layer.q.T, [size(x, 0) * heads, -1]), t)
    transformer.rt:17: return reshape(past, [size(x, 0), -1]) @ layer.out.T
    transformer.rt:25: x = x + attention(seen, block.attention, t, heads, window)
    transformer.rt:26: x = x + nn.mlp(block.mlp, nn.layer_norm(x, block.second.scale, block.second.bias), gelu)
    transformer.rt:28: return nn.layer_norm(x, net.last.scale, net.last.bias) @ net.letters.T
    """
    t = at[0]
    q_matmul = jnp.einsum("ij,kj->ik", seen_layer_norm2_add2[t], attention_q)
    q_reshape = jnp.reshape(q_matmul, (12, 16))
    low_split_0 = lax.slice_in_dim(q_reshape, 0, 8, axis=1)
    low_split_1 = lax.slice_in_dim(q_reshape, 8, 16, axis=1)
    rope_cos_t = rope_cos[t]
    rope_sin_t = rope_sin[t]
    rope_sub = low_split_0 * rope_cos_t - low_split_1 * rope_sin_t
    rope_add = low_split_1 * rope_cos_t + low_split_0 * rope_sin_t
    q_rope_concat = jnp.concatenate([rope_sub, rope_add], axis=1)
    k_rope_concat_slice = lax.dynamic_slice_in_dim(
        k_rope_concat, jnp.maximum(0, t-31), min(32, P), axis=0,
    )
    scores_div = jnp.einsum("hd,shd->hs", q_rope_concat, k_rope_concat_slice) * 0.25
    valid = jnp.arange(min(32, P), dtype=jnp.int32) < jnp.minimum(32, t+1)
    scores_div_masked = jnp.where(valid, scores_div, -jnp.inf)
    e_exp = jnp.exp(scores_div_masked - jnp.max(scores_div_masked, axis=1, keepdims=True))
    softmax_div = e_exp / jnp.sum(e_exp, axis=1, keepdims=True)
    v_reshape_slice = lax.dynamic_slice_in_dim(v_reshape, jnp.maximum(0, t-31), min(32, P), axis=0)
    valid2 = (jnp.arange(min(32, P), dtype=jnp.int32) < jnp.minimum(32, t+1))[:, None, None]
    v_reshape_slice_masked = jnp.where(valid2, v_reshape_slice, 0.0)
    multi_head_attention_einsum = jnp.einsum("hs,she->he", softmax_div, v_reshape_slice_masked)
    attention2_reshape = jnp.reshape(multi_head_attention_einsum, (3, 64))
    x_add3 = x_add2[t] + jnp.einsum("ij,kj->ik", attention2_reshape, attention_out)
    drawn_logits_x_layer_norm2_d_sub = x_add3 - jnp.sum(x_add3, axis=1, keepdims=True) / 64
    layer_norm2_mul = drawn_logits_x_layer_norm2_d_sub * drawn_logits_x_layer_norm2_d_sub
    layer_norm2_rsqrt = lax.rsqrt(jnp.sum(layer_norm2_mul, axis=1, keepdims=True) / 64 + 1e-05)
    layer_norm2_mul3 = drawn_logits_x_layer_norm2_d_sub * layer_norm2_rsqrt * second_scale
    h_linear_add = jnp.einsum("ij,kj->ik", layer_norm2_mul3 + second_bias, mlp_0_w) + mlp_0_b
    h_gelu = jax.nn.gelu(h_linear_add, approximate=False)
    x_add4 = x_add3 + (jnp.einsum("ij,kj->ik", h_gelu, mlp_1_w) + mlp_1_b)
    drawn_logits_layer_norm_d_sub = x_add4 - jnp.sum(x_add4, axis=1, keepdims=True) / 64
    layer_norm_mul = drawn_logits_layer_norm_d_sub * drawn_logits_layer_norm_d_sub
    layer_norm_rsqrt = lax.rsqrt(jnp.sum(layer_norm_mul, axis=1, keepdims=True) / 64 + 1e-05)
    layer_norm_add2 = drawn_logits_layer_norm_d_sub * layer_norm_rsqrt * last_scale + last_bias
    temperature_div = jnp.einsum("ij,kj->ik", layer_norm_add2, net_letters) / 0.7
    temperature_key = random_key(random_seed, 3419918578, t)
    scores = temperature_div + random_gumbel(
        temperature_key, jnp.arange(174, dtype=jnp.uint32).reshape((3, 58)),
    ) + unknown_zero()
    return (jnp.argmax(scores, axis=-1).astype(jnp.int32),)


def written(at, letter):
    """recite.rt:27: written = letter[0:T].T"""
    written = jnp.transpose(letter, (1, 0))
    return (written,)


def first_fault(fault, kernel, code, point):
    """What failed first: the kernel, its check, which of its points, the coordinates."""
    check, lane = (code[0], code[1]) if code.ndim else (code, jnp.int32(0))
    rest = [0] * (fault.size - 3 - len(point))
    new = jnp.stack([jnp.int32(kernel), check, lane, *point, *rest])
    return jnp.where(fault[1] != 0, fault, new)


def loop_t(
    at, drawn_logits_x_attention_k_rope_concat, drawn_logits_x_attention_v_reshape,
    drawn_logits_x_attention2_k_rope_concat, drawn_logits_x_attention2_v_reshape,
    drawn_logits_x_attention_k_rope_concat_early, drawn_logits_x_attention_v_reshape_early2,
    drawn_logits_x_attention2_k_rope_concat_early, drawn_logits_x_attention2_v_reshape_early, *,
    steps=None, T,
):
    """t from at[0] on, at[1] steps; the loop of drawn_logits_x_last."""
    count = at[1] if steps is None else steps
    def step_t(i, carry):
        (
            drawn_logits_x_attention_k_rope_concat, drawn_logits_x_attention_v_reshape,
            drawn_logits_x_attention2_k_rope_concat, drawn_logits_x_attention2_v_reshape,
        ) = carry
        t = at[0] + i
        (
            drawn_logits_x_attention_k_rope_concat, drawn_logits_x_attention_v_reshape,
            drawn_logits_x_attention2_k_rope_concat, drawn_logits_x_attention2_v_reshape,
        ) = drawn_logits_x_last(
            (t,), drawn_logits_x_attention_k_rope_concat_early,
            drawn_logits_x_attention_v_reshape_early2,
            drawn_logits_x_attention2_k_rope_concat_early,
            drawn_logits_x_attention2_v_reshape_early, drawn_logits_x_attention_k_rope_concat,
            drawn_logits_x_attention_v_reshape, drawn_logits_x_attention2_k_rope_concat,
            drawn_logits_x_attention2_v_reshape, T=T,
        )
        return (
            drawn_logits_x_attention_k_rope_concat, drawn_logits_x_attention_v_reshape,
            drawn_logits_x_attention2_k_rope_concat, drawn_logits_x_attention2_v_reshape,
        )
    carry = (
        drawn_logits_x_attention_k_rope_concat, drawn_logits_x_attention_v_reshape,
        drawn_logits_x_attention2_k_rope_concat, drawn_logits_x_attention2_v_reshape,
    )
    (
        drawn_logits_x_attention_k_rope_concat, drawn_logits_x_attention_v_reshape,
        drawn_logits_x_attention2_k_rope_concat, drawn_logits_x_attention2_v_reshape,
    ) = lax.fori_loop(0, count, step_t, carry)
    return (
        drawn_logits_x_attention_k_rope_concat, drawn_logits_x_attention_v_reshape,
        drawn_logits_x_attention2_k_rope_concat, drawn_logits_x_attention2_v_reshape,
    )


def loop_t2(
    at, letter, drawn_logits_x_attention_k_rope_concat, drawn_logits_x_attention_v_reshape,
    drawn_logits_x_attention2_k_rope_concat, drawn_logits_x_attention2_v_reshape,
    drawn_temperature_categorical, net_letters, net_blocks_0_first_scale, net_blocks_0_first_bias,
    net_blocks_0_attention_q, drawn_logits_x_attention_q_rope_speed_power2,
    net_blocks_0_attention_k, net_blocks_0_attention_v, net_blocks_0_attention_out,
    net_blocks_0_second_scale, net_blocks_0_second_bias, net_blocks_0_mlp_0_w, net_blocks_0_mlp_0_b,
    net_blocks_0_mlp_1_w, net_blocks_0_mlp_1_b, net_blocks_1_first_scale, net_blocks_1_first_bias,
    net_blocks_1_attention_q, net_blocks_1_attention_k, net_blocks_1_attention_v,
    net_blocks_1_attention_out, net_blocks_1_second_scale, net_blocks_1_second_bias,
    net_blocks_1_mlp_0_w, net_blocks_1_mlp_0_b, net_blocks_1_mlp_1_w, net_blocks_1_mlp_1_b,
    net_last_scale, net_last_bias, random_seed, *, steps=None, T, P,
):
    """t from at[0] on, at[1] steps; the loop of drawn_temperature_categorical_late."""
    fault = jnp.zeros(4, jnp.int32)
    count = at[1] if steps is None else steps
    def step_t(i, carry):
        (
            letter, drawn_logits_x_attention_k_rope_concat, drawn_logits_x_attention_v_reshape,
            drawn_logits_x_attention2_k_rope_concat, drawn_logits_x_attention2_v_reshape,
            drawn_temperature_categorical, fault,
        ) = carry
        t = at[0] + i
        if T > P:
            (
                letter, drawn_logits_x_attention_k_rope_concat, drawn_logits_x_attention_v_reshape,
                drawn_logits_x_attention2_k_rope_concat, drawn_logits_x_attention2_v_reshape,
                drawn_temperature_categorical, code,
            ) = drawn_temperature_categorical_late(
                (t,), drawn_temperature_categorical, net_letters, net_blocks_0_first_scale,
                net_blocks_0_first_bias, net_blocks_0_attention_q,
                drawn_logits_x_attention_q_rope_speed_power2, net_blocks_0_attention_k,
                net_blocks_0_attention_v, drawn_logits_x_attention_k_rope_concat,
                drawn_logits_x_attention_v_reshape, net_blocks_0_attention_out,
                net_blocks_0_second_scale, net_blocks_0_second_bias, net_blocks_0_mlp_0_w,
                net_blocks_0_mlp_0_b, net_blocks_0_mlp_1_w, net_blocks_0_mlp_1_b,
                net_blocks_1_first_scale, net_blocks_1_first_bias, net_blocks_1_attention_q,
                net_blocks_1_attention_k, net_blocks_1_attention_v,
                drawn_logits_x_attention2_k_rope_concat, drawn_logits_x_attention2_v_reshape,
                net_blocks_1_attention_out, net_blocks_1_second_scale, net_blocks_1_second_bias,
                net_blocks_1_mlp_0_w, net_blocks_1_mlp_0_b, net_blocks_1_mlp_1_w,
                net_blocks_1_mlp_1_b, net_last_scale, net_last_bias, random_seed, letter, T=T,
            )
            fault = first_fault(fault, 17, code, (t,))
        return (
            letter, drawn_logits_x_attention_k_rope_concat, drawn_logits_x_attention_v_reshape,
            drawn_logits_x_attention2_k_rope_concat, drawn_logits_x_attention2_v_reshape,
            drawn_temperature_categorical, fault,
        )
    carry = (
        letter, drawn_logits_x_attention_k_rope_concat, drawn_logits_x_attention_v_reshape,
        drawn_logits_x_attention2_k_rope_concat, drawn_logits_x_attention2_v_reshape,
        drawn_temperature_categorical, fault,
    )
    (
        letter, drawn_logits_x_attention_k_rope_concat, drawn_logits_x_attention_v_reshape,
        drawn_logits_x_attention2_k_rope_concat, drawn_logits_x_attention2_v_reshape,
        drawn_temperature_categorical, fault,
    ) = lax.fori_loop(0, count, step_t, carry)
    return (
        letter, drawn_logits_x_attention_k_rope_concat, drawn_logits_x_attention_v_reshape,
        drawn_logits_x_attention2_k_rope_concat, drawn_logits_x_attention2_v_reshape,
        drawn_temperature_categorical, fault,
    )


def block(
    at, net_letters, net_blocks_0_first_scale, net_blocks_0_first_bias, net_blocks_0_attention_q,
    net_blocks_0_attention_k, net_blocks_0_attention_v, prompt, net_blocks_0_attention_out,
    net_blocks_0_second_scale, net_blocks_0_second_bias, net_blocks_0_mlp_0_w, net_blocks_0_mlp_0_b,
    net_blocks_0_mlp_1_w, net_blocks_0_mlp_1_b, net_blocks_1_first_scale, net_blocks_1_first_bias,
    net_blocks_1_attention_k, net_blocks_1_attention_v, net_blocks_1_attention_q,
    net_blocks_1_attention_out, net_blocks_1_second_scale, net_blocks_1_second_bias,
    net_blocks_1_mlp_0_w, net_blocks_1_mlp_0_b, net_blocks_1_mlp_1_w, net_blocks_1_mlp_1_b,
    net_last_scale, net_last_bias, random_seed, *, T, P,
):
    """What stands between two tasks of the host: drawn_logits_x_attention_q_rope_speed_power, drawn_logits_x_attention_v_reshape_early, drawn_logits_early, ..."""
    fault = jnp.zeros(4, jnp.int32)
    letter = jnp.zeros((T, 3), jnp.int32)
    drawn_logits_x_attention_k_rope_concat = jnp.zeros((12, 16, min(32, T)), jnp.float32)
    drawn_logits_x_attention_v_reshape = jnp.zeros((12, min(32, T), 16), jnp.float32)
    drawn_logits_x_attention2_k_rope_concat = jnp.zeros((12, 16, min(32, T)), jnp.float32)
    drawn_logits_x_attention2_v_reshape = jnp.zeros((12, min(32, T), 16), jnp.float32)
    (drawn_logits_x_attention_q_rope_speed_power2,) = drawn_logits_x_attention_q_rope_speed_power(
        ()
    )
    (
        letter, drawn_logits_x_getitem_early, drawn_logits_x_attention_q_rope_cos_early,
        drawn_logits_x_attention_q_rope_sin_early, drawn_logits_x_attention_q_rope_concat_early,
        drawn_logits_x_attention_k_rope_concat_early, drawn_logits_x_attention_v_reshape_early2,
        code,
    ) = drawn_logits_x_attention_v_reshape_early(
        (), net_letters, net_blocks_0_first_scale, net_blocks_0_first_bias,
        net_blocks_0_attention_q, drawn_logits_x_attention_q_rope_speed_power2,
        net_blocks_0_attention_k, net_blocks_0_attention_v, prompt, letter, T=T, P=P,
    )
    fault = first_fault(fault, 16, code, ())
    (
        drawn_logits_x_add2_early, drawn_logits_seen_layer_norm2_add2_early,
        drawn_logits_x_attention2_k_rope_concat_early, drawn_logits_x_attention2_v_reshape_early,
    ) = drawn_logits_early(
        (), drawn_logits_x_attention_q_rope_concat_early, net_blocks_0_attention_out,
        drawn_logits_x_getitem_early, net_blocks_0_second_scale, net_blocks_0_second_bias,
        net_blocks_0_mlp_0_w, net_blocks_0_mlp_0_b, net_blocks_0_mlp_1_w, net_blocks_0_mlp_1_b,
        net_blocks_1_first_scale, net_blocks_1_first_bias, net_blocks_1_attention_k,
        drawn_logits_x_attention_q_rope_cos_early, drawn_logits_x_attention_q_rope_sin_early,
        net_blocks_1_attention_v, drawn_logits_x_attention_k_rope_concat_early,
        drawn_logits_x_attention_v_reshape_early2, T=T, P=P,
    )
    def step_t(t, carry):
        (
            drawn_logits_x_attention_k_rope_concat, drawn_logits_x_attention_v_reshape,
            drawn_logits_x_attention2_k_rope_concat, drawn_logits_x_attention2_v_reshape,
        ) = carry
        (
            drawn_logits_x_attention_k_rope_concat, drawn_logits_x_attention_v_reshape,
            drawn_logits_x_attention2_k_rope_concat, drawn_logits_x_attention2_v_reshape,
        ) = drawn_logits_x_last(
            (t,), drawn_logits_x_attention_k_rope_concat_early,
            drawn_logits_x_attention_v_reshape_early2,
            drawn_logits_x_attention2_k_rope_concat_early,
            drawn_logits_x_attention2_v_reshape_early, drawn_logits_x_attention_k_rope_concat,
            drawn_logits_x_attention_v_reshape, drawn_logits_x_attention2_k_rope_concat,
            drawn_logits_x_attention2_v_reshape, T=T,
        )
        return (
            drawn_logits_x_attention_k_rope_concat, drawn_logits_x_attention_v_reshape,
            drawn_logits_x_attention2_k_rope_concat, drawn_logits_x_attention2_v_reshape,
        )
    carry = (
        drawn_logits_x_attention_k_rope_concat, drawn_logits_x_attention_v_reshape,
        drawn_logits_x_attention2_k_rope_concat, drawn_logits_x_attention2_v_reshape,
    )
    (
        drawn_logits_x_attention_k_rope_concat, drawn_logits_x_attention_v_reshape,
        drawn_logits_x_attention2_k_rope_concat, drawn_logits_x_attention2_v_reshape,
    ) = lax.fori_loop(max(0, P - 31), P, step_t, carry)
    (drawn_temperature_categorical,) = drawn_temperature_categorical_early(
        (jnp.int32(P - 1),), drawn_logits_seen_layer_norm2_add2_early, net_blocks_1_attention_q,
        drawn_logits_x_attention_q_rope_cos_early, drawn_logits_x_attention_q_rope_sin_early,
        drawn_logits_x_attention2_k_rope_concat_early, drawn_logits_x_attention2_v_reshape_early,
        net_blocks_1_attention_out, drawn_logits_x_add2_early, net_blocks_1_second_scale,
        net_blocks_1_second_bias, net_blocks_1_mlp_0_w, net_blocks_1_mlp_0_b, net_blocks_1_mlp_1_w,
        net_blocks_1_mlp_1_b, net_last_scale, net_last_bias, net_letters, random_seed, P=P,
    )
    def step_t2(t, carry):
        (
            letter, drawn_logits_x_attention_k_rope_concat, drawn_logits_x_attention_v_reshape,
            drawn_logits_x_attention2_k_rope_concat, drawn_logits_x_attention2_v_reshape,
            drawn_temperature_categorical, fault,
        ) = carry
        if T > P:
            (
                letter, drawn_logits_x_attention_k_rope_concat, drawn_logits_x_attention_v_reshape,
                drawn_logits_x_attention2_k_rope_concat, drawn_logits_x_attention2_v_reshape,
                drawn_temperature_categorical, code,
            ) = drawn_temperature_categorical_late(
                (t,), drawn_temperature_categorical, net_letters, net_blocks_0_first_scale,
                net_blocks_0_first_bias, net_blocks_0_attention_q,
                drawn_logits_x_attention_q_rope_speed_power2, net_blocks_0_attention_k,
                net_blocks_0_attention_v, drawn_logits_x_attention_k_rope_concat,
                drawn_logits_x_attention_v_reshape, net_blocks_0_attention_out,
                net_blocks_0_second_scale, net_blocks_0_second_bias, net_blocks_0_mlp_0_w,
                net_blocks_0_mlp_0_b, net_blocks_0_mlp_1_w, net_blocks_0_mlp_1_b,
                net_blocks_1_first_scale, net_blocks_1_first_bias, net_blocks_1_attention_q,
                net_blocks_1_attention_k, net_blocks_1_attention_v,
                drawn_logits_x_attention2_k_rope_concat, drawn_logits_x_attention2_v_reshape,
                net_blocks_1_attention_out, net_blocks_1_second_scale, net_blocks_1_second_bias,
                net_blocks_1_mlp_0_w, net_blocks_1_mlp_0_b, net_blocks_1_mlp_1_w,
                net_blocks_1_mlp_1_b, net_last_scale, net_last_bias, random_seed, letter, T=T,
            )
            fault = first_fault(fault, 17, code, (t,))
        return (
            letter, drawn_logits_x_attention_k_rope_concat, drawn_logits_x_attention_v_reshape,
            drawn_logits_x_attention2_k_rope_concat, drawn_logits_x_attention2_v_reshape,
            drawn_temperature_categorical, fault,
        )
    carry = (
        letter, drawn_logits_x_attention_k_rope_concat, drawn_logits_x_attention_v_reshape,
        drawn_logits_x_attention2_k_rope_concat, drawn_logits_x_attention2_v_reshape,
        drawn_temperature_categorical, fault,
    )
    (
        letter, drawn_logits_x_attention_k_rope_concat, drawn_logits_x_attention_v_reshape,
        drawn_logits_x_attention2_k_rope_concat, drawn_logits_x_attention2_v_reshape,
        drawn_temperature_categorical, fault,
    ) = lax.fori_loop(P, T, step_t2, carry)
    (written2,) = written((), letter)
    return (written2, fault)
