"""Rows of short rings: how kernels read and write them, so that a loop may carry them apart.

A kernel that gets ``x`` of the last two steps reads ``ring_row(x, t, 1)``, the row of one step
before its own, and returns ``with_ring_row(x, t, 0, row)``. Both take the ring as an array, of
which slots come around again, or as its rows by age, as loops on CPUs carry them
(`rotated` in `codegen/regions/prelude.py`).
"""

from __future__ import annotations

import ast
from collections.abc import Collection, Iterator
from typing import NamedTuple

from tempoc.base.cost_model import MODEL
from tempoc.codegen.stores.kernel_buffer import KernelAxis, KernelBuffer
from tempoc.ops.definition.operator import Emitter
from tempoc.symbolic import expr as ix

READ, WRITE, JOIN = "ring_row", "with_ring_row", "with_joined_row"
UPDATES = ("updated", "lax.dynamic_update_index_in_dim", "lax.dynamic_update_slice_in_dim")


class RingUse(NamedTuple):
    """The ages of the rows that a kernel reads and writes, in steps before its own."""

    read: frozenset[int] = frozenset()
    written: frozenset[int] = frozenset()


def short_ring(store: KernelBuffer) -> KernelAxis | None:
    """The first axis of an array, if it is a ring of few rows."""
    first = store.order[0] if store.axes else 0
    if first >= len(store.axes) or not store.axes[first].ring:
        return None
    size = store.axes[first].size
    short = isinstance(size, ix.Const) and size.value <= MODEL.rotated_rows
    short = short and store.axes[first].every == 1
    return store.axes[first] if short else None


def row_place(ring: KernelAxis, entry: ix.Expr, dims: Collection[str], out: Emitter) -> str | None:
    """The step of a kernel and how long before it a row of a short ring is, as two arguments.

    ``None`` if that varies. ``dims`` are the dimensions of the loops around the kernel.
    """
    if ring.dim not in dims:
        return None
    age = ix.sub(ix.Sym(ring.dim), entry)
    return f"{out.index(ix.Sym(ring.dim))}, {age.value}" if isinstance(age, ix.Const) else None


def ring_use(text: str, parameter: str, parts: Collection[str]) -> RingUse | None:
    """How a kernel uses the ring that is this parameter; ``None``: not only by its rows.

    It may pass the ring on to the functions ``parts``.
    """
    function = ast.parse(text).body[0]
    names, allowed = {parameter}, set[ast.expr]()
    read, written = set[int](), set[int]()
    for node in _in_order(function):
        match node:
            case ast.Call(func=ast.Name(id=called), args=[ast.Name(id=name) as ring, *_]) if (
                called in (READ, WRITE, JOIN) and name in names
            ):
                (read if called == READ else written).add(ast.literal_eval(node.args[2]))
                allowed.add(ring)
            case ast.Call(func=ast.Name(id=called)) if called in parts:
                allowed.update(node.args)
            case ast.Return(value=ast.Tuple(elts=results)):
                allowed.update(results)
            case ast.Assign(
                targets=[ast.Name(id=new)], value=ast.Call(func=ast.Name(id=called), args=args)
            ) if called in (WRITE, JOIN) and isinstance(args[0], ast.Name):
                names |= {new} if args[0].id in names else set()
    others = (n for n in ast.walk(function) if isinstance(n, ast.Name) and n not in allowed)
    if any(n.id in names and isinstance(n.ctx, ast.Load) for n in others):
        return None
    return RingUse(frozenset(read), frozenset(written))


def is_only_written(text: str, parameter: str) -> bool:
    """Whether a kernel puts something into the array that is this parameter, and that is all."""
    function = ast.parse(text).body[0]
    names, allowed = {parameter}, set[ast.expr]()
    for node in _in_order(function):
        match node:
            case ast.Call(func=called, args=[ast.Name(id=name) as array, *_]) if (
                name in names and ast.unparse(called) in UPDATES
            ):
                allowed.add(array)
            case ast.Return(value=ast.Tuple(elts=results)):
                allowed.update(results)
        match node:
            case ast.Assign(
                targets=[ast.Name(id=new)],
                value=ast.Call(func=called, args=[ast.Name(id=name), *_]),
            ) if ast.unparse(called) in UPDATES:
                names |= {new} if name in names else set()
    loads = (n for n in ast.walk(function) if isinstance(n, ast.Name) and n not in allowed)
    return not any(n.id in names and isinstance(n.ctx, ast.Load) for n in loads)


def _in_order(node: ast.AST) -> Iterator[ast.AST]:
    """A node and what is in it, as it is written."""
    yield node
    for child in ast.iter_child_nodes(node):
        yield from _in_order(child)
