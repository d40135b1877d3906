"""Memory plans as a table: kind, slots and bytes of each store."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from tempoc.memory.plan_types import MemoryPlan
from tempoc.ops.definition.types import DType
from tempoc.program.nodes.buffers import Buffer
from tempoc.sdg.statements.statements import Statements
from tempoc.symbolic import expr as ix
from tempoc.symbolic.amounts import bytes_text
from tempoc.symbolic.text import show as show_expr


def kind(store: Buffer) -> str:
    """How a store keeps the points of its tensor."""
    if any(k.modulo not in (None, ix.ONE) for k in store.keys) or any(a.ring for a in store.axes):
        return "ring"
    if store.axes:
        return "growing" if store.growing and store.growing.least else "block"
    return "points" if any(k.modulo is None for k in store.keys) else "register"


def kinds(plan: MemoryPlan, statements: Statements) -> dict[str, str]:
    """The kinds of all stores by tensor; ``resident`` for those filled before the first step."""
    return {
        name: "resident" if statements.tensors[name].is_given else kind(store)
        for name, store in plan.stores.items()
    }


def slot_counts(store: Buffer, extents: Mapping[str, ix.Expr]) -> tuple[ix.Expr, ...]:
    """The slots along each dimension; ``extents`` has those of keys without a modulus."""
    keys = [extents[k.dim] if k.modulo is None else k.modulo for k in store.keys]
    return (*keys, *(a.size for a in store.axes))


def element_bytes(store: Buffer) -> int:
    """The bytes of an element; a random key has two of them."""
    return DType(store.dtype).itemsize


def cell_bytes(store: Buffer) -> ix.Expr:
    """The bytes of one array."""
    return ix.product((ix.Const(element_bytes(store)), *(a.size for a in store.axes), *store.shape))


def bytes_of(store: Buffer, extents: Mapping[str, ix.Expr]) -> ix.Expr:
    """The bytes of all slots together."""
    return ix.product((cell_bytes(store), *slot_counts(store, extents)[: len(store.keys)]))


def show(plan: MemoryPlan, statements: Statements) -> str:
    """The table, the total, then donations and releases.

    Points are counted as if all were alive together: an upper bound.
    """
    extents, kind_of = plan.extents, kinds(plan, statements)
    rows = [("tensor", "kind", "type", "slots", "bytes")]
    for store in plan.stores.values():
        shape = f"[{', '.join(map(show_expr, store.shape))}]" if store.shape else ""
        size = show_expr(bytes_of(store, extents))
        slots = slots_text(store, extents, order=True)
        rows.append((store.name, kind_of[store.name], store.dtype + shape, slots, size))
    widths = [max(len(row[i]) for row in rows) for i in range(5)]
    lines = ["  ".join(c.ljust(w) for c, w in zip(r, widths, strict=True)).rstrip() for r in rows]
    total = ix.add(*(bytes_of(store, extents) for store in plan.stores.values()))
    lines += ["", f"total  {bytes_text(total)}"]
    for statement, tensors in plan.donations.items():
        lines.append(f"after {statement}  reuse {', '.join(tensors)}")
    for statement, items in plan.releases.items():
        for r in items:
            key = f"[{', '.join(map(show_expr, r.key))}]" if r.key else ""
            condition = show_expr(r.where)
            when = "" if condition == "true" else f"  when {condition}"
            lines.append(f"after {statement}  free {r.tensor}{key}{when}")
    for var in dict.fromkeys(plan.step_local.values()):
        own = (name for name, loop in plan.step_local.items() if loop == var)
        lines.append(f"each step of {var}  new {', '.join(own)}")
    return "\n".join(lines) + "\n"


def slots_text(
    store: Buffer,
    extents: Mapping[str, ix.Expr],
    shown: Callable[[ix.Expr], str] = show_expr,
    order: bool = False,
) -> str:
    """``l: L, t: ring min(W, T)``; ``t: up to T`` where that many are there only in the end.

    ``extents`` has the slots of keys without a modulus; ``shown`` writes a size. With ``order``
    also ``behind 1``, the first spatial axis stands before this one, and ``ahead``, this one stands
    before the others.
    """
    parts = []
    for k in store.keys:
        if k.modulo is None:
            parts.append(f"{k.dim}: {shown(extents[k.dim])}")
        elif k.modulo != ix.ONE:
            parts.append(f"{k.dim}: {shown(k.modulo)} in turn")
    for a in store.axes:
        word = "ring " if a.ring else "rounded " if a.rounded else "up to " if a.grows else ""
        place = f" behind {a.behind}" if a.behind else " ahead" if a.ahead else ""
        every = f" of every {a.every}" if a.every > 1 else ""
        parts.append(f"{a.dim}: {word}{shown(a.size)}{every}{place if order else ''}")
    return ", ".join(parts) or "1"
