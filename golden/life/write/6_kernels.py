"""Kernels of write, written by tempoc: one function for each statement.

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


def after(
    at, net_letters, cell_w, cell_b, cell_u, state, cell_c, out_w, out_b, random_seed, letter, *, B,
):
    """write.rt:29: after = nn.gru_cell(net.letters[letter], state, net.cell)
    nn.rt:29: return x @ w.T + b
    nn.rt:143: a = x @ cell.w.T + cell.b
    nn.rt:144: g = h @ cell.u.T + cell.c
    nn.rt:145: r = sigmoid(split(a, 3, -1)[0] + split(g, 3, -1)[0])
    nn.rt:146: z = sigmoid(split(a, 3, -1)[1] + split(g, 3, -1)[1])
    nn.rt:147: n = tanh(split(a, 3, -1)[2] + r * split(g, 3, -1)[2])
    nn.rt:148: return (1.0 - z) * n + z * h
    sampling.rt:10: return random.categorical(logits / heat)
    """
    T = at[1]
    t = at[0]
    def point(b, letter_t, state):
        wrong = wrong_value(letter_t, ((letter_t >= -58) & (letter_t < 58)) | (t >= T-1))
        after_getitem = jnp.take(
            net_letters, jnp.where(letter_t < 0, letter_t + 58, letter_t), axis=0, mode="clip",
        )
        a_add = matvec(cell_w, after_getitem, B) + cell_b
        g_add = matvec(cell_u, state, B) + cell_c
        r_add = lax.slice_in_dim(a_add, 0, 96, axis=0) + lax.slice_in_dim(g_add, 0, 96, axis=0)
        z_add = lax.slice_in_dim(a_add, 96, 192, axis=0) + lax.slice_in_dim(g_add, 96, 192, axis=0)
        z_sigmoid = jax.nn.sigmoid(z_add)
        n_mul = jax.nn.sigmoid(r_add) * lax.slice_in_dim(g_add, 192, 288, axis=0)
        gru_cell_sub = 1.0 - z_sigmoid
        gru_cell_mul = gru_cell_sub * jnp.tanh(lax.slice_in_dim(a_add, 192, 288, axis=0) + n_mul)
        after = gru_cell_mul + z_sigmoid * state
        temperature_div = (matvec(out_w, after, B) + out_b) / 0.7
        temperature_key = random_fold(random_key(random_seed, 3419918578), b, t)
        scores = temperature_div + random_gumbel(
            temperature_key, jnp.arange(58, dtype=jnp.uint32),
        ) + unknown_zero()
        return (after, jnp.argmax(scores, axis=-1).astype(jnp.int32), wrong)
    (
        after_rows, temperature_categorical_rows, fault,
    ) = jax.vmap(point)(jnp.arange(B, dtype=jnp.int32), letter[t], state)
    return after_rows, temperature_categorical_rows, jnp.stack(first_lane(fault))


def letter_0(at, prompt, letter, *, B, T, P):
    """write.rt:24: letter[b, t] = prompt[t] when t < P"""
    def point(b, prompt_t_p):
        return prompt_t_p
    point = jax.vmap(point, in_axes=(None, 0))
    prompt_t_p_rows = jax.vmap(point, in_axes=(0, None))(
        jnp.arange(B, dtype=jnp.int32), lax.dynamic_slice_in_dim(prompt, 0, min(P, T), axis=0),
    )
    letter2 = updated(letter, jnp.moveaxis(prompt_t_p_rows, 0, 1), (0, 0))
    return (letter2,)


def letter_1(at, temperature_categorical_prev, letter):
    """write.rt:25: letter[b, t] = drawn[b, t-1]"""
    t = at[0]
    letter2 = updated(letter, temperature_categorical_prev[None, :], (t, 0))
    return (letter2,)


def state_0(at, *, B):
    """write.rt:27: state[b, 0] = zeros([H])"""
    def point(b):
        return jnp.zeros((96,), jnp.float32)
    return (jax.vmap(point)(jnp.arange(B, dtype=jnp.int32)),)


def first_fault(fault, kernel, code, point):
    """What failed first: the kernel, its check, which of its points, the coordinates."""
    check, lane = (code[0], code[1]) if code.ndim else (code, jnp.int32(0))
    rest = [0] * (fault.size - 3 - len(point))
    new = jnp.stack([jnp.int32(kernel), check, lane, *point, *rest])
    return jnp.where(fault[1] != 0, fault, new)


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


def looped(lower, upper, step, carry, places):
    """``lax.fori_loop``, of arrays at these places without axes of length 1 (see ``updated``)."""
    narrow, wide = squeezed(carry, places)
    def narrow_step(i, arrays):
        return narrow(step(i, wide(arrays)))
    return wide(lax.fori_loop(lower, upper, narrow_step, narrow(carry)))


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


def looped_in_strips(lower, upper, step, carry, places):
    """``looped`` on a CPU, for which axes of length 1 count, and ``strip_mined_loop`` on a GPU."""
    if jax.default_backend() == "cpu":
        return looped(lower, upper, step, carry, places)
    return strip_mined_loop(lower, upper, step, carry)


def loop_t(
    at, state, drawn_temperature_categorical, net_letters, net_cell_w, net_cell_b, net_cell_u,
    net_cell_c, net_out_w, net_out_b, random_seed, letter, *, steps=None, B,
):
    """t from at[0] on, at[1] steps; the loop of after."""
    T_now = at[2]
    fault = jnp.zeros(4, jnp.int32)
    count = at[1] if steps is None else steps
    def step_t(i, carry):
        (state, drawn_temperature_categorical, fault) = carry
        t = at[0] + i
        (
            state_new, drawn_temperature_categorical, code,
        ) = after(
            (t, T_now), net_letters, net_cell_w, net_cell_b, net_cell_u, state, net_cell_c,
            net_out_w, net_out_b, random_seed, letter, B=B,
        )
        state = jnp.where(t + 1 < T_now, state_new, state)
        fault = first_fault(fault, 0, code, (t,))
        return (state, drawn_temperature_categorical, fault)
    carry = (state, drawn_temperature_categorical, fault)
    (state, drawn_temperature_categorical, fault) = lax.fori_loop(0, count, step_t, carry)
    return (state, drawn_temperature_categorical, fault)


def loop_t2(
    at, letter, state, drawn_temperature_categorical, net_letters, net_cell_w, net_cell_b,
    net_cell_u, net_cell_c, net_out_w, net_out_b, random_seed, *, steps=None, B,
):
    """t from at[0] on, at[1] steps; the loop of letter_1, after."""
    T_now = at[2]
    fault = jnp.zeros(4, jnp.int32)
    count = at[1] if steps is None else steps
    def step_t(i, carry):
        (letter, state, drawn_temperature_categorical, fault) = carry
        t = at[0] + i
        (letter,) = letter_1((t,), drawn_temperature_categorical, letter)
        state, drawn_temperature_categorical, code = after(
            (t, T_now), net_letters, net_cell_w, net_cell_b, net_cell_u, state, net_cell_c,
            net_out_w, net_out_b, random_seed, letter, B=B,
        )
        fault = first_fault(fault, 0, code, (t,))
        return (letter, state, drawn_temperature_categorical, fault)
    carry = (letter, state, drawn_temperature_categorical, fault)
    (letter, state, drawn_temperature_categorical, fault) = looped(0, count, step_t, carry, (0,))
    return (letter, state, drawn_temperature_categorical, fault)


def block(
    at, letter, prompt, net_letters, net_cell_w, net_cell_b, net_cell_u, net_cell_c, net_out_w,
    net_out_b, random_seed, *, B, T, P,
):
    """What stands between two tasks of the host: letter_0, state_0, after, ..."""
    T_now = at[0]
    fault = jnp.zeros(4, jnp.int32)
    drawn_temperature_categorical = jnp.zeros((B,), jnp.int32)
    (letter,) = letter_0((), prompt, letter, B=B, T=T, P=P)
    (state,) = state_0((), B=B)
    def step_t(t, carry):
        (state, drawn_temperature_categorical, fault) = carry
        (
            state_new, drawn_temperature_categorical, code,
        ) = after(
            (t, T_now), net_letters, net_cell_w, net_cell_b, net_cell_u, state, net_cell_c,
            net_out_w, net_out_b, random_seed, letter, B=B,
        )
        state = jnp.where(t + 1 < T_now, state_new, state)
        fault = first_fault(fault, 0, code, (t,))
        return (state, drawn_temperature_categorical, fault)
    carry = (state, drawn_temperature_categorical, fault)
    (state, drawn_temperature_categorical, fault) = lax.fori_loop(0, P, step_t, carry)
    def step_t2(t, carry):
        (letter, state, drawn_temperature_categorical, fault) = carry
        (letter,) = letter_1((t,), drawn_temperature_categorical, letter)
        state, drawn_temperature_categorical, code = after(
            (t, T_now), net_letters, net_cell_w, net_cell_b, net_cell_u, state, net_cell_c,
            net_out_w, net_out_b, random_seed, letter, B=B,
        )
        fault = first_fault(fault, 0, code, (t,))
        return (letter, state, drawn_temperature_categorical, fault)
    carry = (letter, state, drawn_temperature_categorical, fault)
    (letter, state, drawn_temperature_categorical, fault) = looped_in_strips(
        P, T_now, step_t2, carry, (0,),
    )
    return (letter, fault)
