"""Short rings that a loop carries as their rows by age, as a person would write it in JAX.

::

    (x, total) = rotated(2, T, step_t, (x, total), {0: 0}, 2)

Of a ring, XLA for CPUs lets those who read a row that the same step has written compute it once
more, and copies all of the ring. Here what a step makes, and what the steps before it made, are
arrays of their own: the oldest is forgotten, the others become one step older.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from tempoc.base.cost_model import MODEL
from tempoc.codegen.kernels.kernel import KernelFunction
from tempoc.codegen.regions.context import ProgramContext
from tempoc.codegen.stores.context import Stages
from tempoc.codegen.stores.ring_rows import RingUse, ring_use, short_ring
from tempoc.codegen.text.naming import names_in
from tempoc.program.analysis.traversal import calls
from tempoc.program.nodes import nodes as prog
from tempoc.symbolic import expr as ix


def rotated_helper(limit: int = MODEL.rotated_bytes) -> str:
    """The function that loops call; ``limit`` is in bytes of a row."""
    return f'''\
def rotated(lower, upper, step, carry, rings, first, sign=1, places=None):
    """``looped`` from a first step on, of short rings at some places as their rows by age.

    ``rings`` has for each place how many steps ahead a step writes. Large rows, and those of GPUs,
    stay in their rings.
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
        carry = step(i, each(lambda rows, k: (*rows[:3], *rows[2:]), carry))
        return each(lambda rows, k: rows[:-1], carry)
    carry = looped(lower, upper, aged, each(apart, carry), places or ())
    end = first + sign * jnp.maximum(upper - lower, 0)
    return each(together, carry)
'''


def ring_uses(functions: Iterable[KernelFunction], stages: Stages) -> dict[str, dict[str, RingUse]]:
    """For each kernel the short rings of which it uses nothing but rows; callers come last."""
    uses: dict[str, dict[str, RingUse]] = {}
    for f in functions:
        own = uses.setdefault(f.name, {})
        called = [uses[name] for name in uses if name != f.name and name in names_in([f.text])]
        tensors = [a.cell[0] for a in f.arguments]
        for argument in f.arguments:
            tensor = argument.cell[0]
            store = stages.buffers.get(tensor)
            if store is None or short_ring(store) is None or tensors.count(tensor) > 1:
                continue
            use = ring_use(f.text, argument.name, uses.keys() - {f.name})
            parts = [part.get(tensor) for part in called if tensor in part]
            if use is not None:
                for part in parts:
                    use = RingUse(use.read | part.read, use.written | part.written)
                own[tensor] = use
    return uses


def rotated_rings(
    loop: prog.Loop, cells: Mapping[str, prog.Cells], context: ProgramContext
) -> Iterator[tuple[str, int]]:
    """The rings that a loop may carry as rows, and how many steps ahead a step writes of them."""
    if abs(loop.step) != 1:
        return
    touching: dict[str, list[prog.Call]] = {}
    for call in calls(loop):
        for cell in (*call.args, *call.results):
            touching.setdefault(cell.store, []).append(call)
    for store, some in touching.items():
        if store not in cells or len(cells[store].keys) > 1:
            continue
        uses = [_use(call, store, loop, context) for call in some]
        known = [use for use in uses if use is not None]
        written = {loop.step * age for use in known for age in use.written}
        if len(known) < len(uses) or len(written) != 1:
            continue
        (ahead,) = (-age for age in written)
        size = context.stores[store].axes[context.stores[store].order[0]].size
        assert isinstance(size, ix.Const)
        places = {ahead + loop.step * age for use in known for age in use.read}
        # What nobody reads in the step that makes it is best put into its slot.
        if ahead >= 0 and 0 in places and all(0 <= place <= size.value for place in places):
            yield store, ahead


def _use(call: prog.Call, store: str, loop: prog.Loop, context: ProgramContext) -> RingUse | None:
    """How a call uses a ring at the step of a loop; ``None``: not only by its rows."""
    cells = [cell for cell in (*call.args, *call.results) if cell.store == store]
    use = context.ring_uses.get(call.kernel, {}).get(store)
    buffer, kernel = context.stores[store], context.kernels[call.kernel]
    if use is None or any(cell.when is not None for cell in cells):
        return None
    dim = buffer.axes[buffer.order[0]].dim
    at = dict(zip(kernel.dims, call.point, strict=True)).get(dim)
    return use if at == ix.Sym(loop.var) else None
