"""The helper functions that regions and blocks call, as the texts that `kernels.py` has of them."""

UPDATED = '''\
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
'''
"""Stands in front of kernels that update arrays of which an axis may have length 1."""

SELECTED = '''\
def selected(condition, new, old):
    """An array as it was updated if a condition holds; axes of length 1 are left out meanwhile.

    XLA for CPUs selects the part that was put in, unless the loop has no such axes: it copies all.
    """
    axes = tuple(k for k, size in enumerate(old.shape) if size == 1)
    some = jnp.where(condition, lax.squeeze(new, axes), lax.squeeze(old, axes))
    return lax.expand_dims(some, axes)
'''
"""Stands in front of regions that select arrays which loops carry without such axes."""

BOX_AT = '''\
def box_at(array, place):
    """``array[place]``, for slices and for integers that are not negative, as one slice."""
    sizes = array.shape
    cuts = [*place, *[slice(None)] * (len(sizes) - len(place))]
    ends = [p.indices(n)[:2] if isinstance(p, slice) else (p, p + 1) for p, n in zip(cuts, sizes)]
    lengths = [max(0, b - a) if isinstance(p, slice) else 1 for p, (a, b) in zip(cuts, ends)]
    starts = [jnp.int32(a) for a, _ in ends]
    box = lax.dynamic_slice(array, starts, lengths, allow_negative_indices=False)
    return lax.squeeze(box, [k for k, p in enumerate(cuts) if not isinstance(p, slice)])
'''
"""Stands in front of kernels that read slices of rows."""

RING_AGE = '''\
def ring_age(ring, age):
    """Where a row is in a ring of rows by age, for how long before the current step it is.

    In front are two empty tuples or more: the first as long as steps are looked ahead, the second
    empty unless the loop goes down.
    """
    ahead, down = ring[:2]
    return 2 + len(ahead) + (-age if down else age)
'''

RING_ROW = '''\
def ring_row(ring, step, age, cuts=None):
    """The row of so many steps before one, or slices of it; no such step is negative."""
    if isinstance(ring, tuple):
        row = ring[ring_age(ring, age)]
        return row[cuts] if cuts else row
    return box_at(ring, (lax.rem(step - age, jnp.int32(ring.shape[0])), *(cuts or ())))
'''
"""Stands in front of kernels that read rows of short rings (`stores/ring_rows.py`)."""

WITH_RING_ROW = '''\
def with_ring_row(ring, step, age, part, start=None):
    """A ring with a part put into the row of so many steps before one."""
    if isinstance(ring, tuple):
        k = ring_age(ring, age)
        row = part if start is None else updated(ring[k], part, start)
        return (*ring[:k], row, *ring[k + 1 :])
    first = (0,) * part.ndim if start is None else start
    slot = lax.rem(step - age, jnp.int32(ring.shape[0]))
    return updated(ring, part[None], [slot, *(jnp.int32(k) for k in first)])
'''
"""Stands in front of kernels that write rows of short rings."""

WITH_JOINED_ROW = '''\
def with_joined_row(ring, step, age, boxes):
    """A ring with boxes put into the row of so many steps before one."""
    if isinstance(ring, tuple):
        k = ring_age(ring, age)
        return (*ring[:k], joined(ring[k], boxes), *ring[k + 1 :])
    return joined(ring, boxes, lax.rem(step - age, jnp.int32(ring.shape[0])))
'''
"""Stands in front of kernels that write all boxes of a row of a short ring."""

_CLAMPED = '''\
def clamped(array, *moves, apart=False):
    """What stands so many steps further along axes: past their ends, what stands there.

    The last move of large arrays, and of those to compute `apart` from what reads them, updates a
    new array: XLA for CPUs concatenates element by element, each computed anew. It updates an array
    in place by what it reads of it at other places, which may be overwritten.
    """
    apart = apart or array.size * array.dtype.itemsize >= LIMIT
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
'''

_AROUND = '''\
def around(array, *moves, apart=False):
    """What stands so many steps further around axes, the first element following the last.

    The last move may update a padded array: see `clamped`.
    """
    *before, (steps, axis) = moves
    for far, along in before:
        array = jnp.roll(array, -far, along)
    size = array.shape[axis]
    apart = apart or array.size * array.dtype.itemsize >= LIMIT
    if not apart or jax.default_backend() != "cpu":
        return jnp.roll(array, -steps, axis)
    config = [(-steps, steps, 0) if k == axis else (0, 0, 0) for k in range(array.ndim)]
    inside = lax.pad(array, jnp.zeros((), array.dtype), config)
    low, high, place = (0, steps, size - steps) if steps > 0 else (size + steps, size, 0)
    rest = lax.slice_in_dim(array, low, high, axis=axis)
    return lax.dynamic_update_slice_in_dim(inside, rest, place, axis)
'''


def clamped(limit: int) -> str:
    """Stands in front of kernels that read at clamped distances; arrays of ``limit`` are large."""
    return _CLAMPED.replace("LIMIT", str(limit))


def around(limit: int) -> str:
    """Stands in front of kernels that read around circles; arrays of ``limit`` bytes are large."""
    return _AROUND.replace("LIMIT", str(limit))


SQUEEZED = '''\
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
'''
"""Stands in front of the two that follow, and of ``branched``."""

LOOPED = '''\
def looped(lower, upper, step, carry, places):
    """``lax.fori_loop``, of arrays at these places without axes of length 1 (see ``updated``)."""
    narrow, wide = squeezed(carry, places)
    def narrow_step(i, arrays):
        return narrow(step(i, wide(arrays)))
    return wide(lax.fori_loop(lower, upper, narrow_step, narrow(carry)))
'''
"""Stands in front of regions with loops that update such arrays and read them."""


def strip_mined_loop(count: int) -> str:
    """Stands in front of regions and blocks with loops for a passed number of brief steps.

    Strips are of ``count`` steps.
    """
    return f'''\
def strip_mined_loop(lower, upper, step, carry):
    """``lax.fori_loop`` for a number of steps that is passed.

    After each step of such a loop the host of a GPU waits to know whether there is another one, so
    there {count} steps are one of a loop around them.
    """
    if jax.default_backend() == "cpu":
        return lax.fori_loop(lower, upper, step, carry)
    rest = lower + {count} * (jnp.maximum(upper - lower, 0) // {count})
    def strip(k, carry):
        first = lower + {count} * k
        return lax.fori_loop(0, {count}, lambda n, carry: step(first + n, carry), carry)
    carry = lax.fori_loop(0, (rest - lower) // {count}, strip, carry)
    return lax.fori_loop(rest, upper, step, carry)
'''


LOOPED_IN_STRIPS = '''\
def looped_in_strips(lower, upper, step, carry, places):
    """``looped`` on a CPU, for which axes of length 1 count, and ``strip_mined_loop`` on a GPU."""
    if jax.default_backend() == "cpu":
        return looped(lower, upper, step, carry, places)
    return strip_mined_loop(lower, upper, step, carry)
'''
"""Stands in front of regions and blocks with loops for which both count."""


def looped_in_prefixes(parts: tuple[int, ...], least: int) -> str:
    """Stands in front of blocks with loops whose first steps read only first rows.

    A block is one call, so that its growing stores have their final size from the start, with room
    for the runs that share it. A step reads all rows that it is given, and masks those to come; so
    the first ones are given these ``parts`` of them if that saves reading ``least`` bytes: XLA
    compiles the steps once more for each. A part is copied once, and then each step reads less.
    """
    return f'''\
def looped_in_prefixes(lower, upper, loop, carry, axes, ahead):
    """A loop of which a step reads rows up to ``ahead`` beyond it: first on parts of all rows.

    ``axes`` are those along which arrays of the carry have rows, by their place.
    """
    rows = [jax.tree.leaves(carry[place])[0].shape[axis] for place, axis in axes.items()][0]
    every = jax.tree.leaves([carry[place] for place in axes])
    size = sum(x.size * x.dtype.itemsize for x in every)
    saved = lambda part: rows // part * (size - size // part)
    def first_rows(count):
        cut = lambda axis: lambda x: lax.slice_in_dim(x, 0, count, axis=axis)
        both = enumerate(carry)
        return tuple(jax.tree.map(cut(axes[k]), x) if k in axes else x for k, x in both)
    put = lambda x, part: lax.dynamic_update_slice(x, part, (0,) * x.ndim)
    for count in [rows // part for part in {parts} if saved(part) >= {least}]:
        if jax.default_backend() == "cpu":
            end = jnp.clip(count - ahead + 1, lower, upper)
            both = enumerate(zip(carry, loop(lower, end, first_rows(count))))
            carry = tuple(jax.tree.map(put, x, y) if k in axes else y for k, (x, y) in both)
            lower = end
    return loop(lower, upper, carry)
'''


LOOPED_WHILE = '''\
def looped_while(more, step, carry, places):
    """``lax.while_loop`` of a number and arrays, some without axes of length 1."""
    narrow, wide = squeezed(carry[1], places)
    def narrow_more(carry):
        return more((carry[0], wide(carry[1])))
    def narrow_step(carry):
        n, arrays = step((carry[0], wide(carry[1])))
        return n, narrow(arrays)
    n, arrays = lax.while_loop(narrow_more, narrow_step, (carry[0], narrow(carry[1])))
    return n, wide(arrays)
'''
"""Stands in front of regions with such loops that find out how long they last."""


BRANCHED = '''\
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
'''
"""Stands in front of regions in which something is done only sometimes, on a CPU."""


def is_brief(most: int) -> str:
    """Stands in front of functions that may do a step for nothing.

    On a GPU the host waits for a condition, and may as well launch steps that move ``most`` bytes.
    """
    return f'''\
def is_brief(step):
    """Whether a traced step has no loops and moves few bytes."""
    size = lambda x: x.aval.size * x.aval.dtype.itemsize
    moved = sum(size(x) for e in step.eqns for x in (*e.invars, *e.outvars))
    text = f"{{step}}"
    return moved <= {most} and "while[" not in text and "scan[" not in text
'''


TAKEN_IF = '''\
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
'''
"""Stands in front of regions in which something is done only sometimes."""


PUT_INTO = '''\
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
'''
"""Stands in front of functions that select parts of arrays instead of all."""


SELECTED_PARTS = '''\
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
'''
"""Stands in front of regions in which all steps but one put something into arrays."""


def selected_if(most: int) -> str:
    """Stands in front of regions in which all steps but one do something.

    The function computes it in that one, too, if it changes ``most`` bytes at most, and on a CPU if
    it puts parts into arrays: for a branch XLA may copy such arrays in each step.
    """
    return f'''\
def selected_if(condition, step, carry):
    """``taken_if``; a small step is computed in any case, so that XLA can fuse it with others.

    So is a brief one on a CPU that puts parts into arrays.
    """
    size = lambda arrays: sum(x.size * x.dtype.itemsize for x in arrays)
    leaves, tree = jax.tree.flatten(carry)
    if size(leaves) <= {most}:
        chosen = lambda new, old: jnp.where(condition, new, old)
        own = jax.tree.map(lambda x: x, carry)  # The step writes into dicts of its carry.
        return jax.tree.map(chosen, step(own), carry)
    if jax.default_backend() == "cpu":
        flat = lambda *x: jax.tree.leaves(step(jax.tree.unflatten(tree, x)))
        traced = jax.make_jaxpr(flat)(*leaves)
        puts = [put_into(traced.jaxpr, k) for k in range(len(leaves))]
        whole = size(x for x, put in zip(leaves, puts) if not put)
        if whole <= {most} and is_brief(traced):
            return jax.tree.unflatten(tree, [*selected_parts(condition, traced, leaves, puts)])
    return taken_if(condition, step, carry)
'''


def in_branch(least: int) -> str:
    """Stands in front of regions that change a place of arrays which others read.

    Arrays of fewer than ``least`` bytes XLA does not copy in such a loop.
    """
    return f'''\
def in_branch(i, step, carry):
    """The step, in a branch for XLA on CPUs, which is taken: no coordinate ``i`` is so small.

    XLA would compute what the step changes in each of its readers once more, from the arrays as
    they were, which it would copy for that.
    """
    size = sum(x.size * x.dtype.itemsize for x in jax.tree.leaves(carry))
    if jax.default_backend() != "cpu" or size < {least}:
        return step(carry)
    return lax.cond(i > -(2**31), step, lambda carry: carry, carry)
'''


FIRST_FAULT = '''\
def first_fault(fault, kernel, code, point):
    """What failed first: the kernel, its check, which of its points, the coordinates."""
    check, lane = (code[0], code[1]) if code.ndim else (code, jnp.int32(0))
    rest = [0] * (fault.size - 3 - len(point))
    new = jnp.stack([jnp.int32(kernel), check, lane, *point, *rest])
    return jnp.where(fault[1] != 0, fault, new)
'''
"""Stands in front of regions that check something."""

WITH_ROW = '''\
def with_row(rows, values, more):
    """What a print shows as one more row of arrays, after their number; 0 ``more``: not counted."""
    count, *arrays = rows
    put = lambda array, value: lax.dynamic_update_index_in_dim(
        array, jnp.asarray(value, array.dtype), count, 0
    )
    return (count + more, *(put(array, value) for array, value in zip(arrays, values)))
'''
"""Stands in front of regions that print."""


def rotated(limit: int) -> str:
    """The function of loops that carry short rings as rows; ``limit`` is in bytes of a row.

    Of a ring, XLA for CPUs lets those who read a row that the same step has written compute it once
    more, and copies all of the ring. Here what a step makes, and what the steps before it made, are
    arrays of their own: the oldest is forgotten, the others become one step older.
    """
    return f'''\
def rotated(lower, upper, step, carry, rings, first, sign=1, places=None):
    """``looped`` from a first step on, of short rings at some places as their rows by age.

    ``rings`` has for each place how many steps ahead a step writes. Large rows, and those of GPUs,
    stay in their rings. The row of a step is at first the oldest one, whose slot it takes: what has
    been put there beforehand stays unless the step writes it.
    """
    size = lambda ring: ring[0].size * ring.dtype.itemsize
    small = {{k: n for k, n in rings.items() if size(carry[k]) <= {limit}}}
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
'''
