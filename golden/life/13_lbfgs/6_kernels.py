"""Kernels of 13_lbfgs, written by tempoc: one function for each statement.

``at`` holds the coordinates of the point at which a statement is executed. Arrays of stores come in
and go out whole and are updated in place; bounds are keyword arguments, known when JAX traces.
"""

import jax
import jax.numpy as jnp
from jax import lax


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


def at_least(a, b):
    """`a >= b`, which XLA takes to be true for NaN where `a` is a square and `b` turns out 0."""
    return (a > b) | (a == b)


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


def box_at(array, place):
    """``array[place]``, for slices and for integers that are not negative, as one slice."""
    sizes = array.shape
    cuts = [*place, *[slice(None)] * (len(sizes) - len(place))]
    ends = [p.indices(n)[:2] if isinstance(p, slice) else (p, p + 1) for p, n in zip(cuts, sizes)]
    lengths = [max(0, b - a) if isinstance(p, slice) else 1 for p, (a, b) in zip(cuts, ends)]
    starts = [jnp.int32(a) for a, _ in ends]
    box = lax.dynamic_slice(array, starts, lengths, allow_negative_indices=False)
    return lax.squeeze(box, [k for k, p in enumerate(cuts) if not isinstance(p, slice)])


def ring_age(ring, age):
    """Where a row is in a ring of rows by age, for how long before the current step it is.

    In front are two empty tuples or more: the first as long as steps are looked ahead, the second
    empty unless the loop goes down.
    """
    ahead, down = ring[:2]
    return 2 + len(ahead) + (-age if down else age)


def ring_row(ring, step, age, cuts=None):
    """The row of so many steps before one, or slices of it; no such step is negative."""
    if isinstance(ring, tuple):
        row = ring[ring_age(ring, age)]
        return row[cuts] if cuts else row
    return box_at(ring, (lax.rem(step - age, jnp.int32(ring.shape[0])), *(cuts or ())))


def with_ring_row(ring, step, age, part, start=None):
    """A ring with a part put into the row of so many steps before one."""
    if isinstance(ring, tuple):
        k = ring_age(ring, age)
        row = part if start is None else updated(ring[k], part, start)
        return (*ring[:k], row, *ring[k + 1 :])
    first = (0,) * part.ndim if start is None else start
    slot = lax.rem(step - age, jnp.int32(ring.shape[0]))
    return updated(ring, part[None], [slot, *(jnp.int32(k) for k in first)])


def length(at, *, K):
    """13_lbfgs.rt:43: length = 0.5 ** k
    13_lbfgs.rt:44: enough = objective(w + length * direction) <= loss + 1e-4 * length * (slope @ direction)
    """
    def point(k):
        length = jnp.power(jnp.float32(0.5), jnp.int32(k).astype(jnp.float32))
        return (length, 0.0001 * length)
    length_rows, enough_mul2_rows = jax.vmap(point)(jnp.arange(K, dtype=jnp.int32))
    return length_rows, enough_mul2_rows


def enough(at, length, r_0, w, x, label, enough_mul2, matmul_matmul, loss, *, N, K):
    """13_lbfgs.rt:19: def objective(w) = mean(softplus(x[0:N] @ w) - label[0:N] * (x[0:N] @ w)) + decay * (w @ w)
    13_lbfgs.rt:44: enough = objective(w + length * direction) <= loss + 1e-4 * length * (slope @ direction)
    """
    i = at[0]
    def point(length, enough_mul2):
        enough_add = ring_row(w, i, 0) - length * r_0
        objective_matmul = matvec(x, enough_add, K)
        objective_mul = label.astype(jnp.int32).astype(jnp.float32) * objective_matmul
        objective_sub = jax.nn.softplus(objective_matmul) - objective_mul
        objective_mul2 = 0.01 * jnp.matmul(enough_add, enough_add)
        objective_add = jnp.sum(objective_sub, axis=0) / jnp.float32(N) + objective_mul2
        enough = at_least(loss[i] - enough_mul2 * matmul_matmul, objective_add)
        return enough
    return (jax.vmap(point)(length, enough_mul2),)


def slope(at, x, w, label, d_mean_div, add_mul, loss, slope, *, N):
    """13_lbfgs.rt:19: def objective(w) = mean(softplus(x[0:N] @ w) - label[0:N] * (x[0:N] @ w)) + decay * (w @ w)
    13_lbfgs.rt:21: w[0] = zeros([D])
    13_lbfgs.rt:22: w[i+1] = w + size * direction
    13_lbfgs.rt:23: loss = objective(w)
    13_lbfgs.rt:24: slope = grad(loss, w)
    """
    i = at[0]
    w_i = ring_row(w, i, 0)
    objective_matmul = jnp.matmul(x, w_i)
    objective_mul = label.astype(jnp.int32).astype(jnp.float32) * objective_matmul
    objective_sub = jax.nn.softplus(objective_matmul) - objective_mul
    loss_i = jnp.sum(objective_sub, axis=0) / jnp.float32(N) + 0.01 * jnp.matmul(w_i, w_i)
    d_matmul3_mul = 0.009999999776482582 * w_i
    slope_matmul = jnp.matmul(d_mean_div * jax.nn.sigmoid(objective_matmul) - add_mul, x)
    slope_i = d_matmul3_mul + d_matmul3_mul + slope_matmul
    loss = lax.dynamic_update_index_in_dim(loss, loss_i, i, 0)
    slope = with_ring_row(slope, i, 0, slope_i)
    return loss, slope, slope_i


def slope_add_mul(at, label, w, *, N):
    """13_lbfgs.rt:19: def objective(w) = mean(softplus(x[0:N] @ w) - label[0:N] * (x[0:N] @ w)) + decay * (w @ w)
    13_lbfgs.rt:21: w[0] = zeros([D])
    13_lbfgs.rt:22: w[i+1] = w + size * direction
    13_lbfgs.rt:23: loss = objective(w)
    13_lbfgs.rt:24: slope = grad(loss, w)
    13_lbfgs.rt:29: past[i, j] = {s: zeros([D]), y: zeros([D])}
    13_lbfgs.rt:31: rho = where(bend > 0.0, 1.0 / bend, 0.0)
    13_lbfgs.rt:37: scale = where(bend > 0.0, bend / (past.y @ past.y), 1.0)
    """
    d_mean_div = 1.0 / jnp.int32(N).astype(jnp.float32)
    w_0 = jnp.zeros((5,), jnp.float32)
    w = lax.dynamic_update_index_in_dim(w, w_0, 0, 0)
    return d_mean_div, d_mean_div * label.astype(jnp.int32).astype(jnp.float32), w


def enough_matmul_matmul(at, slope, r_0):
    """13_lbfgs.rt:44: enough = objective(w + length * direction) <= loss + 1e-4 * length * (slope @ direction)"""
    i = at[0]
    return (jnp.matmul(ring_row(slope, i, 0), r_0),)


def size(at, enough, length):
    """13_lbfgs.rt:45: size = length[k = argmax(enough[k = 0:K]) in 0:K]"""
    size = length[jnp.argmax(enough).astype(jnp.int32)]
    return (size,)


def w_1(at, size, r_0, w):
    """13_lbfgs.rt:22: w[i+1] = w + size * direction"""
    i = at[0]
    w_1 = ring_row(w, i, 0) - size * r_0
    w = with_ring_row(w, i, -1, w_1)
    return (w,)


def moved(at, w, slope, moved_s, moved_y, *, I, J):
    """13_lbfgs.rt:27: moved[i] = {s: w - w[i-1], y: slope - slope[i-1]} when i >= 1"""
    i = at[0]
    moved_s_i = ring_row(w, i, 0) - ring_row(w, i, 1)
    moved_y_i = ring_row(slope, i, 0) - ring_row(slope, i, 1)
    moved_s = lax.dynamic_update_index_in_dim(
        moved_s, moved_s_i, lax.rem(i, max(1, min(I-1, J))), 0,
    )
    moved_y = lax.dynamic_update_index_in_dim(
        moved_y, moved_y_i, lax.rem(i, max(1, min(I-1, J))), 0,
    )
    return moved_s, moved_y


def past_0(at, moved_s, moved_y, past_s, past_y, *, I, J):
    """13_lbfgs.rt:28: past[i, j] = moved[i-j] when j < i"""
    i, j = at[0], at[1]
    moved_s_at = moved_s[lax.rem(i-j, max(1, min(I-1, J)))]
    moved_y_at = moved_y[lax.rem(i-j, max(1, min(I-1, J)))]
    past_s = lax.dynamic_update_index_in_dim(past_s, moved_s_at, j, 0)
    past_y = lax.dynamic_update_index_in_dim(past_y, moved_y_at, j, 0)
    return past_s, past_y


def past_s_1(at, past_s, past_y):
    """13_lbfgs.rt:21: w[0] = zeros([D])
    13_lbfgs.rt:29: past[i, j] = {s: zeros([D]), y: zeros([D])}
    """
    j = at[1]
    w = jnp.zeros((5,), jnp.float32)
    past_s = lax.dynamic_update_index_in_dim(past_s, w, j, 0)
    past_y = lax.dynamic_update_index_in_dim(past_y, w, j, 0)
    return past_s, past_y


def scale(at, past_s, past_y):
    """13_lbfgs.rt:23: loss = objective(w)
    13_lbfgs.rt:30: bend = past.s @ past.y
    13_lbfgs.rt:31: rho = where(bend > 0.0, 1.0 / bend, 0.0)
    13_lbfgs.rt:37: scale = where(bend > 0.0, bend / (past.y @ past.y), 1.0)
    """
    def point(past_s, past_y):
        bend = jnp.matmul(past_s, past_y)
        rho_gt = bend > 0.0
        rho = jnp.where(rho_gt, 1.0 / bend, 0.0)
        scale = jnp.where(rho_gt, bend / jnp.matmul(past_y, past_y), 1.0)
        return (rho, scale)
    rho_rows, scale_rows = jax.vmap(point)(past_s, past_y)
    return rho_rows, scale_rows


def alpha(at, past_s, q, rho, alpha):
    """13_lbfgs.rt:36: alpha = rho * (past.s @ q)"""
    j = at[1]
    alpha = lax.dynamic_update_index_in_dim(alpha, rho[j] * jnp.matmul(past_s[j], q), j, 0)
    return (alpha,)


def q_1(at, alpha, past_y, q):
    """13_lbfgs.rt:35: q[i, j+1] = q - alpha * past.y"""
    j = at[1]
    q_1 = q - alpha[j] * past_y[j]
    return (q_1,)


def r_1(at, past_y, r, rho, alpha, past_s):
    """13_lbfgs.rt:39: r[i, j-1] = r[i, j] + past[i, j-1].s * (alpha[i, j-1] - rho[i, j-1] * (past[i, j-1].y @ r[i, j]))"""
    j = at[1]
    r_1 = r + past_s[j-1] * (alpha[j-1] - rho[j-1] * jnp.matmul(past_y[j-1], r))
    return (r_1,)


def r_0(at, scale, q_at):
    """13_lbfgs.rt:38: r[i, J-1] = scale[i, 0] * q[i, J-1]"""
    r_0 = scale[0] * q_at
    return (r_0,)


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


def looped(lower, upper, step, carry, places):
    """``lax.fori_loop``, of arrays at these places without axes of length 1 (see ``updated``)."""
    narrow, wide = squeezed(carry, places)
    def narrow_step(i, arrays):
        return narrow(step(i, wide(arrays)))
    return wide(lax.fori_loop(lower, upper, narrow_step, narrow(carry)))


def rotated(lower, upper, step, carry, rings, first, sign=1, places=None):
    """``looped`` from a first step on, of short rings at some places as their rows by age.

    ``rings`` has for each place how many steps ahead a step writes. Large rows, and those of GPUs,
    stay in their rings. The row of a step is at first the oldest one, whose slot it takes: what has
    been put there beforehand stays unless the step writes it.
    """
    size = lambda ring: ring[0].size * ring.dtype.itemsize
    small = {k: n for k, n in rings.items() if size(carry[k]) <= 262144}
    if not small or jax.default_backend() != "cpu":
        return looped(lower, upper, step, carry, places or ())
    each = lambda change, xs: tuple(change(x, k) if k in small else x for k, x in enumerate(xs))
    def apart(ring, k):
        ages = range(1, len(ring) + 1)
        slots = [(first + sign * (small[k] - age)) % len(ring) for age in ages]
        rows = [lax.dynamic_index_in_dim(ring, slot, 0, False) for slot in slots]
        return ((),) * small[k], ((),) * (sign < 0), *rows
    def together(rows, k):
        ages = sign * (end - jnp.arange(len(rows) - 2, dtype=jnp.int32)) + small[k] - 1
        return jnp.stack(rows[2:])[ages % (len(rows) - 2)]
    def aged(i, carry):
        carry = step(i, each(lambda rows, k: (*rows[:2], rows[-1], *rows[2:]), carry))
        return each(lambda rows, k: rows[:-1], carry)
    carry = looped(lower, upper, aged, each(apart, carry), places or ())
    end = first + sign * jnp.maximum(upper - lower, 0)
    return each(together, carry)


def loop_i(
    at, loss, slope2, moved_s, moved_y, w, x, label, loss_d_loss_objective_mean_div, slope_add_mul2,
    length2, enough_mul2, *, steps=None, N, I, J, K,
):
    """i from at[0] on, at[1] steps; the loop of slope, moved, past_0, ..."""
    I_now = at[2]
    count = at[1] if steps is None else steps
    def step_i(i2, carry):
        (loss, slope2, moved_s, moved_y, w) = carry
        i = at[0] + i2
        past_s = jnp.zeros((J, 5), jnp.float32)
        past_y = jnp.zeros((J, 5), jnp.float32)
        alpha2 = jnp.zeros((J,), jnp.float32)
        loss, slope2, q = slope(
            (i,), x, w, label, loss_d_loss_objective_mean_div, slope_add_mul2, loss, slope2, N=N,
        )
        if I >= 2:
            def taken(carry):
                (moved_s, moved_y) = carry
                moved_s, moved_y = moved((i,), w, slope2, moved_s, moved_y, I=I, J=J)
                return (moved_s, moved_y)
            (moved_s, moved_y) = selected_if(i >= 1, taken, (moved_s, moved_y))
        def step_j(j, carry):
            (past_s, past_y) = carry
            if I >= 2:
                past_s, past_y = past_0((i, j), moved_s, moved_y, past_s, past_y, I=I, J=J)
            return (past_s, past_y)
        (past_s, past_y) = lax.fori_loop(0, jnp.minimum(i, J), step_j, (past_s, past_y))
        def step_j2(j, carry):
            (past_s, past_y) = carry
            past_s, past_y = past_s_1((i, j), past_s, past_y)
            return (past_s, past_y)
        (past_s, past_y) = lax.fori_loop(i, J, step_j2, (past_s, past_y))
        rho, scale2 = scale((i,), past_s, past_y)
        for j in range(0, J - 1):
            (alpha2,) = alpha((i, jnp.int32(j)), past_s, q, rho, alpha2)
            (q,) = q_1((i, jnp.int32(j)), alpha2, past_y, q)
        (alpha2,) = alpha((i, jnp.int32(J - 1)), past_s, q, rho, alpha2)
        (r,) = r_0((i,), scale2, q)
        for j in range(J - 1, 0, -1):
            (r,) = r_1((i, jnp.int32(j)), past_y, r, rho, alpha2, past_s)
        (enough_matmul_matmul2,) = enough_matmul_matmul((i,), slope2, r)
        (enough2,) = enough(
            (i,), length2, r, w, x, label, enough_mul2, enough_matmul_matmul2, loss, N=N, K=K,
        )
        (size2,) = size((i,), enough2, length2)
        def taken2(carry):
            (w,) = carry
            (w,) = w_1((i,), size2, r, w)
            return (w,)
        (w,) = selected_if(i < I_now - 1, taken2, (w,))
        return (loss, slope2, moved_s, moved_y, w)
    carry = (loss, slope2, moved_s, moved_y, w)
    (loss, slope2, moved_s, moved_y, w) = rotated(
        0, count, step_i, carry, {1: 0}, at[0], 1, (0, 1, 4),
    )
    return (loss, slope2, moved_s, moved_y, w)


def block(at, loss, label, x, *, N, I, J, K):
    """What stands between two tasks of the host: length, slope_add_mul, slope, ..."""
    i_end = at[0]
    w = jnp.zeros((2, 5), jnp.float32)
    slope2 = jnp.zeros((2, 5), jnp.float32)
    moved_s = jnp.zeros((max(1, min(I - 1, J)), 5), jnp.float32)
    moved_y = jnp.zeros((max(1, min(I - 1, J)), 5), jnp.float32)
    length2, enough_mul2 = length((), K=K)
    loss_d_loss_objective_mean_div, slope_add_mul2, w = slope_add_mul((), label, w, N=N)
    def step_i(i, carry):
        (loss, slope2, moved_s, moved_y, w) = carry
        past_s = jnp.zeros((J, 5), jnp.float32)
        past_y = jnp.zeros((J, 5), jnp.float32)
        alpha2 = jnp.zeros((J,), jnp.float32)
        loss, slope2, q = slope(
            (i,), x, w, label, loss_d_loss_objective_mean_div, slope_add_mul2, loss, slope2, N=N,
        )
        if I >= 2:
            def taken(carry):
                (moved_s, moved_y) = carry
                moved_s, moved_y = moved((i,), w, slope2, moved_s, moved_y, I=I, J=J)
                return (moved_s, moved_y)
            (moved_s, moved_y) = selected_if(i >= 1, taken, (moved_s, moved_y))
        def step_j(j, carry):
            (past_s, past_y) = carry
            if I >= 2:
                past_s, past_y = past_0((i, j), moved_s, moved_y, past_s, past_y, I=I, J=J)
            return (past_s, past_y)
        (past_s, past_y) = lax.fori_loop(0, jnp.minimum(i, J), step_j, (past_s, past_y))
        def step_j2(j, carry):
            (past_s, past_y) = carry
            past_s, past_y = past_s_1((i, j), past_s, past_y)
            return (past_s, past_y)
        (past_s, past_y) = lax.fori_loop(i, J, step_j2, (past_s, past_y))
        rho, scale2 = scale((i,), past_s, past_y)
        for j in range(0, J - 1):
            (alpha2,) = alpha((i, jnp.int32(j)), past_s, q, rho, alpha2)
            (q,) = q_1((i, jnp.int32(j)), alpha2, past_y, q)
        (alpha2,) = alpha((i, jnp.int32(J - 1)), past_s, q, rho, alpha2)
        (r,) = r_0((i,), scale2, q)
        for j in range(J - 1, 0, -1):
            (r,) = r_1((i, jnp.int32(j)), past_y, r, rho, alpha2, past_s)
        (enough_matmul_matmul2,) = enough_matmul_matmul((i,), slope2, r)
        (enough2,) = enough(
            (i,), length2, r, w, x, label, enough_mul2, enough_matmul_matmul2, loss, N=N, K=K,
        )
        (size2,) = size((i,), enough2, length2)
        def taken2(carry):
            (w,) = carry
            (w,) = w_1((i,), size2, r, w)
            return (w,)
        (w,) = selected_if(i < i_end - 1, taken2, (w,))
        return (loss, slope2, moved_s, moved_y, w)
    carry = (loss, slope2, moved_s, moved_y, w)
    (loss, slope2, moved_s, moved_y, w) = rotated(0, i_end, step_i, carry, {1: 0}, 0, 1, (0, 1, 4))
    return (loss, w)
