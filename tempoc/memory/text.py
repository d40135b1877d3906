"""Memory plans as a table: kind, slots and bytes of each store."""

from __future__ import annotations

from collections.abc import Mapping

from tempoc.memory.plan_types import MemoryPlan
from tempoc.program.nodes.buffers import Buffer
from tempoc.sdg.statements.statements import Statements
from tempoc.symbolic.expr import ONE, Const, Expr, add, product
from tempoc.symbolic.text import show as show_expr

BYTES = {
    "bool": 1, "i32": 4, "i64": 8, "u32": 4, "bf16": 2, "f16": 2, "f32": 4, "f64": 8, "key": 8,
}  # fmt: skip


def kind(store: Buffer) -> str:
    """How a store keeps the points of its tensor."""
    if any(k.modulo not in (None, ONE) for k in store.keys) or any(a.ring for a in store.axes):
        return "ring"
    if store.axes:
        return "growing" if store.growing else "block"
    return "points" if any(k.modulo is None for k in store.keys) else "register"


def kinds(plan: MemoryPlan, statements: Statements) -> dict[str, str]:
    """The kinds of all stores by tensor; ``resident`` for those filled before the first step."""
    return {
        name: "resident" if statements.tensors[name].is_given else kind(store)
        for name, store in plan.stores.items()
    }


def slot_counts(store: Buffer, extents: Mapping[str, Expr]) -> tuple[Expr, ...]:
    """The slots along each dimension; ``extents`` has those of keys without a modulus."""
    keys = [extents[k.dim] if k.modulo is None else k.modulo for k in store.keys]
    return (*keys, *(a.size for a in store.axes))


def bytes_of(store: Buffer, extents: Mapping[str, Expr]) -> Expr:
    """The bytes of all slots together."""
    return product((Const(BYTES[store.dtype]), *slot_counts(store, extents), *store.shape))


def show(plan: MemoryPlan, statements: Statements) -> str:
    """The table, the total, then donations and releases.

    Points are counted as if all were alive together: an upper bound.
    """
    extents, kind_of = plan.extents, kinds(plan, statements)
    rows = [("tensor", "kind", "type", "slots", "bytes")]
    for store in plan.stores.values():
        shape = f"[{', '.join(map(show_expr, store.shape))}]" if store.shape else ""
        size = show_expr(bytes_of(store, extents))
        rows.append(
            (store.name, kind_of[store.name], store.dtype + shape, _slots(store, extents), size)
        )
    widths = [max(len(row[i]) for row in rows) for i in range(5)]
    lines = ["  ".join(c.ljust(w) for c, w in zip(r, widths, strict=True)).rstrip() for r in rows]
    total = show_expr(add(*(bytes_of(store, extents) for store in plan.stores.values())))
    lines += ["", f"total  {total} bytes"]
    for statement, tensors in plan.donations.items():
        lines.append(f"after {statement}  reuse {', '.join(tensors)}")
    for statement, items in plan.releases.items():
        for r in items:
            key = f"[{', '.join(map(show_expr, r.key))}]" if r.key else ""
            condition = show_expr(r.where)
            when = "" if condition == "true" else f"  when {condition}"
            lines.append(f"after {statement}  free {r.tensor}{key}{when}")
    return "\n".join(lines) + "\n"


def _slots(store: Buffer, extents: Mapping[str, Expr]) -> str:
    """``l: L, t: ring min(W, T)``; ``t: up to T`` where that many are there only in the end.

    ``behind 1``: the first spatial axis stands before this one.
    """
    parts = []
    for k in store.keys:
        if k.modulo is None:
            parts.append(f"{k.dim}: {show_expr(extents[k.dim])}")
        elif k.modulo != Const(1):
            parts.append(f"{k.dim}: {show_expr(k.modulo)} in turn")
    for a in store.axes:
        word = "ring " if a.ring else "up to " if a.grows else ""
        behind = f" behind {a.behind}" if a.behind else ""
        parts.append(f"{a.dim}: {word}{show_expr(a.size)}{behind}")
    return ", ".join(parts) or "1"
