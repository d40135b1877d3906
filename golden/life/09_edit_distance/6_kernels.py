"""Kernels of 09_edit_distance, written by tempoc: one function for each statement.

``at`` holds the coordinates of the point at which a statement is executed. Arrays of stores come in
and go out whole and are updated in place; bounds are keyword arguments, known when JAX traces.
"""

import jax
import jax.numpy as jnp
from jax import lax


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


def clamped(array, *moves, apart=False):
    """What stands so many steps further along axes: past their ends, what stands there.

    The last move of large arrays, and of those to compute `apart` from what reads them, updates a
    new array: XLA for CPUs concatenates element by element, each computed anew. It updates an array
    in place by what it reads of it at other places, which may be overwritten.
    """
    apart = apart or array.size * array.dtype.itemsize >= 131072
    for k, (steps, axis) in enumerate(moves):
        size = array.shape[axis]
        count = min(max(steps, -steps), size)
        low, high, end = (count, size, size - 1) if steps > 0 else (0, size - count, 0)
        inside = lax.slice_in_dim(array, low, high, axis=axis)
        end = lax.slice_in_dim(array, end, end + 1, axis=axis)
        if apart and k == len(moves) - 1 and jax.default_backend() == "cpu":
            ends = jnp.broadcast_to(end, array.shape)
            return lax.dynamic_update_slice_in_dim(ends, inside, count - low, axis)
        ends = jnp.repeat(end, count, axis)
        array = jnp.concatenate([inside, ends] if steps > 0 else [ends, inside], axis)
    return array


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


def left_places(at, left, d_rows, *, I):
    """09_edit_distance.rt:12: input left[m]: i32
    09_edit_distance.rt:15: d[i, 0] = i
    09_edit_distance.rt:16: d[0, j] = j
    09_edit_distance.rt:17: d[i, j] = minimum( d[i-1, j-1] + where(left[i-1] == right[j-1], 0, 1), minimum(d[i-1, j], d[i, j-1]) + 1, )
    """
    def point(i):
        return (left[jnp.maximum(0, i-1)], jnp.int32(0), jnp.int32(0))
    left_at_rows, d_rows_0_rows, d_rows_0_rows2 = jax.vmap(point)(jnp.arange(I, dtype=jnp.int32))
    d_rows2 = lax.dynamic_update_slice(d_rows, d_rows_0_rows[None, :], (0, 0))
    d_rows2_2 = lax.dynamic_update_slice(d_rows2, d_rows_0_rows2[None, :], (1, 0))
    return left_at_rows, d_rows2_2


def right_line(at, right, *, N, I, J, lines):
    """09_edit_distance.rt:13: input right[n]: i32"""
    def point(line):
        return right[jnp.maximum(0, jnp.minimum(I+J-3-line, N-1))]
    return (jax.vmap(point)(jnp.arange(lines, dtype=jnp.int32)),)


def d_skewed(at, left_places, right_line, d_rows, d_skewed2, *, I, J):
    """09_edit_distance.rt:15: d[i, 0] = i
    09_edit_distance.rt:16: d[0, j] = j
    09_edit_distance.rt:17: d[i, j] = minimum( d[i-1, j-1] + where(left[i-1] == right[j-1], 0, 1), minimum(d[i-1, j], d[i, j-1]) + 1, )
    """
    diagonal = at[0]
    def point(
        i, left_places, right_line_at_line, d_rows_prev2_at_diagonal, d_rows_prev_at_diagonal,
        d_rows_prev_diagonal,
    ):
        where_skewed = jnp.where(left_places == right_line_at_line, jnp.int32(0), jnp.int32(1))
        add2_skewed = jnp.minimum(d_rows_prev_at_diagonal, d_rows_prev_diagonal) + 1
        d_2_skewed = jnp.minimum(d_rows_prev2_at_diagonal + where_skewed, add2_skewed)
        d_1_skewed = jnp.int32(diagonal-2-i)
        skewed_which = jnp.where(jnp.bool_((i == 0) & (diagonal-2-i != 0)), d_1_skewed, d_2_skewed)
        d_skewed = jnp.where(jnp.bool_(diagonal-2-i == 0), jnp.int32(i), skewed_which)
        return (d_skewed, d_skewed)
    d_skewed_rows, d_skewed_rows2 = jax.vmap(point)(
        jnp.arange(I, dtype=jnp.int32), left_places,
        lax.dynamic_slice_in_dim(right_line, I+J-diagonal, I, axis=0),
        clamped(ring_row(d_rows, diagonal, 2), (-1, 0)),
        clamped(ring_row(d_rows, diagonal, 1), (-1, 0)), ring_row(d_rows, diagonal, 1),
    )
    d_skewed2_2 = lax.dynamic_update_slice(d_skewed2, d_skewed_rows[None, :], (diagonal, 0))
    return d_skewed2_2, with_ring_row(d_rows, diagonal, 0, d_skewed_rows2)


def d(at, d_skewed, *, I, J):
    """09_edit_distance.rt:15: d[i, 0] = i
    09_edit_distance.rt:16: d[0, j] = j
    09_edit_distance.rt:17: d[i, j] = minimum( d[i-1, j-1] + where(left[i-1] == right[j-1], 0, 1), minimum(d[i-1, j], d[i, j-1]) + 1, )
    """
    def point(i, j):
        return d_skewed[i+j+2, i]
    point = jax.vmap(point, in_axes=(None, 0))
    d_skewed_at_rows = jax.vmap(point, in_axes=(0, None))(
        jnp.arange(I, dtype=jnp.int32), jnp.arange(J, dtype=jnp.int32),
    )
    return (d_skewed_at_rows,)


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


def loop_diagonal(at, d_skewed2, d_rows, left_places2, right_line2, *, steps=None, I, J):
    """diagonal from at[0] on, at[1] steps; the loop of d_skewed."""
    count = at[1] if steps is None else steps
    def step_diagonal(i, carry):
        (d_skewed2, d_rows) = carry
        diagonal = at[0] + i
        d_skewed2, d_rows = d_skewed(
            (diagonal,), left_places2, right_line2, d_rows, d_skewed2, I=I, J=J,
        )
        return (d_skewed2, d_rows)
    (d_skewed2, d_rows) = looped(0, count, step_diagonal, (d_skewed2, d_rows), (1,))
    return (d_skewed2, d_rows)


def block(at, left, right, *, M, N, I, J, lines):
    """What stands between two tasks of the host: left_places, right_line, d_skewed, ..."""
    d_rows = jnp.zeros((2, I), jnp.int32)
    d_skewed2 = jnp.zeros((M + N + 3, M + 1), jnp.int32)
    left_places2, d_rows = left_places((), left, d_rows, I=I)
    (right_line2,) = right_line((), right, N=N, I=I, J=J, lines=lines)
    def step_diagonal(diagonal, carry):
        (d_skewed2, d_rows) = carry
        d_skewed2, d_rows = d_skewed(
            (diagonal,), left_places2, right_line2, d_rows, d_skewed2, I=I, J=J,
        )
        return (d_skewed2, d_rows)
    (d_skewed2, d_rows) = looped(2, M + N + 3, step_diagonal, (d_skewed2, d_rows), (1,))
    (d2,) = d((), d_skewed2, I=I, J=J)
    return (d_skewed2, d2)
