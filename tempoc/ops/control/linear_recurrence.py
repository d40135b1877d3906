"""Recurrences that are linear in the row before, element by element: any order of steps will do.

``h[k+1] = a[k] * h[k] + b[k]`` is a chain of maps ``h -> a * h + b``, and two of these are one:
where many steps can be computed at the same time, prefixes of the chain are found in parallel
(Blelloch, Prefix sums and their applications, 1990). Several tensors may be carried that make each
other, like the parts of a complex number. What multiplies the row before and what is added to it
need not be found in the steps: they are the derivative of a step, which is the same everywhere, and
its value at 0.
"""

from __future__ import annotations

from collections.abc import Sequence

from tempoc.base.cost_model import MODEL
from tempoc.ops.control.control import Copy, Select
from tempoc.ops.control.steps import OpStep, assumed_types
from tempoc.ops.definition.types import TensorType
from tempoc.ops.tensor import arithmetic as binary, elementwise as unary


def is_linear(
    steps: Sequence[OpStep], first: Sequence[TensorType], others: Sequence[TensorType]
) -> bool:
    """Whether the new rows are linear in the rows before and as large, element by element."""
    alike = all((t.shape, t.dtype) == (first[0].shape, first[0].dtype) for t in first)
    if not alike or len(first) > MODEL.combined_states or not first[0].dtype.is_float:
        return False
    types = assumed_types(steps, [*first, *others])
    varies = [True] * len(first) + [False] * len(others)
    for op, taken, dtypes in steps:
        moving = [k for k, number in enumerate(taken) if varies[number]]
        produced = range(len(varies), len(varies) + len(dtypes))
        if moving:
            same = all(types[n].shape == first[0].shape for n in produced)
            if not same or any(d is not first[0].dtype for d in dtypes):
                return False
            match op:
                case binary.Add() | binary.Subtract() | unary.Negative() | Copy():
                    pass
                case binary.Multiply() if len(moving) == 1:
                    pass
                case binary.Divide() if moving == [0]:
                    pass
                case Select() if 0 not in moving:
                    pass
                case _:
                    return False
        varies += [bool(moving)] * len(dtypes)
    return True


LINEAR_ROWS = '''\
def linear_rows(row, first, count, reverse=False):
    """Rows that `row(k, ...)` makes of the one before, in which it is linear element by element.

    `first` and `count` rows after it; with `reverse` before it, the last one first. One after the
    other on a CPU, which takes less time; elsewhere as prefixes of a chain of linear maps, unless
    a prefix is not finite: infinity times 0 is no number, which a row need not have.
    """
    def in_turn():
        alone = len(first) == 1  # of several tensors XLA would copy those that are read back
        back, ahead = (1, 0) if reverse else (0, 1)
        take = lambda x, k: lax.dynamic_index_in_dim(x, k, 0, False, allow_negative_indices=False)

        def put(x, y, k):
            return lax.dynamic_update_index_in_dim(x, y, k, 0, allow_negative_indices=False)

        def step(n, buffers):
            k = count - 1 - n if reverse else n
            rows, before = buffers
            at = lax.convert_element_type(k, jnp.uint32)  # nobody asks whether that is negative
            new = row(at, *([take(rows[0], k + back)] if alone else before))
            made = tuple(put(x, y, k + ahead) for x, y in zip(rows, new))
            return made, () if alone else new

        rows = tuple(jnp.broadcast_to(x, (count + 1, *x.shape)) for x in first)
        return lax.fori_loop(0, count, step, (rows, () if alone else tuple(first)))[0]

    if not count:
        return tuple(x[None] for x in first)
    if jax.default_backend() == "cpu":
        return in_turn()

    def both(k):
        zeros = tuple(jnp.zeros_like(x) for x in first)
        added, slope = jax.linearize(lambda *before: row(k, *before), *zeros)
        units = [[jnp.full_like(x, i == j) for i, x in enumerate(first)] for j in range(len(first))]
        return tuple(slope(*unit) for unit in units), added

    def after(early, late):
        (a, b), (c, d) = early, late
        times = lambda x: tuple(sum(x[m] * c[m][i] for m in range(len(x))) for i in range(len(x)))
        return tuple(times(x) for x in a), tuple(x + y for x, y in zip(times(b), d))

    factors, added = lax.associative_scan(after, jax.vmap(both)(jnp.arange(count)), reverse=reverse)
    made = [
        sum((f[i] * x for f, x in zip(factors, first)), added[i]) for i in range(len(first))
    ]
    parts = ((y, x[None]) if reverse else (x[None], y) for x, y in zip(first, made))
    rows = tuple(jnp.concatenate(part) for part in parts)
    finite = [jnp.isfinite(x).all() for x in (*jax.tree.leaves(factors), *made)]
    once = lambda state: (jnp.bool_(False), in_turn())
    return lax.while_loop(lambda state: state[0], once, (~jnp.stack(finite).all(), rows))[1]
'''
"""Stands in front of kernels that have such recurrences."""

SCANNED_ROWS = '''\
def scanned_rows(row, first, elements, count, reverse=False, behind=False):
    """Rows that `row(*elements, *before)` makes of those before, for many points; `first` ones too.

    `elements` have a row for each step, and some have one more, before or `behind` these. With
    `reverse` the last one comes first. One step more gives the first rows, unless much would be
    copied for it; then they are selected: JAX would turn the rows around, point by point, to
    concatenate them.
    """
    begin, low = count if reverse else 0, reverse == behind

    def longer(x, low):
        widths = [(1, 0, 0) if low else (0, 1, 0), *[(0, 0, 0)] * (x.ndim - 1)]
        return lax.pad(x, jnp.zeros_like(x, shape=()), widths)

    def step(before, given):
        k, *given = given
        new = row(*given, *before)
        if k is not None:
            new = tuple(jnp.where(k == begin, x, y) for x, y in zip(before, new))
        return new, before if more and behind else new

    def joined(x, y):
        y = longer(y, not reverse)
        return jnp.where(lax.broadcasted_iota(jnp.int32, y.shape, 0) == begin, x, y)

    copied = sum(x.size for x in elements if len(x) == count)
    more = count > 1 and copied <= count * sum(x.size for x in first)
    if more:
        given = [longer(x, low) if len(x) == count else x for x in elements]
        at = None if behind else jnp.arange(count + 1)
        return lax.scan(step, first, (at, *given), count + 1, reverse)[1]
    given = [x[len(x) - count:] if low else x[:count] for x in elements]
    made = lax.scan(step, first, (None, *given), count, reverse)[1]
    return tuple(joined(x, y) for x, y in zip(first, made))
'''
"""The same for recurrences of mapped points, linear or not.

2026-11-27, CPU us with rows selected and with one step more: 64 sums of 2000, as they lie in memory
788 and 428, by steps 371 and 160; 8 of 200 49 and 11; an LSTM whose 128 sums for 32 numbers were
copied 3975 and 4383; one step with a matrix of 64, for 64 points, 41 and 77.
"""

LINEAR_SCANNED_ROWS = '''\
def linear_scanned_rows(row, first, elements, count, reverse=False, behind=False):
    """`scanned_rows` whose steps are linear in the rows before: other devices combine them."""
    if jax.default_backend() == "cpu":
        return scanned_rows(row, first, elements, count, reverse, behind)
    starts = [len(x) - count if reverse == behind else 0 for x in elements]
    one = lambda k, *before: row(*(x[k + n] for x, n in zip(elements, starts)), *before)
    return linear_rows(one, first, count, reverse)
'''
