"""How many bytes of stores a call of a kernel reads and writes, from which its time is estimated.

Of a part that is picked or changed it is the part's bytes. A copy of a tensor to another point of
it, which has the same array, takes nothing.
"""

from __future__ import annotations

from dataclasses import replace

from tempoc.codegen.stores.context import Stages
from tempoc.memory.text import cell_bytes, element_bytes
from tempoc.ops.control.control import Copy
from tempoc.ops.definition.types import TensorType
from tempoc.sdg.statements.accessed import accessed_part
from tempoc.sdg.statements.statements import Read, Statement, Write
from tempoc.symbolic import expr as ix
from tempoc.symbolic.walk import extent, symbols


def touched_bytes(s: Statement, stages: Stages) -> ix.Expr:
    """The bytes of stores that a call of a statement reads and writes: at a point, not of it all.

    Of ranges it is the most points that they may have. What several members read alike counts once.
    """
    sizes: dict[tuple[str, tuple[ix.Entry, ...]], list[ix.Expr]] = {}
    copied = _copied_in_place(s, stages)
    accesses: list[Read | Write] = [*s.reads, *s.writes]
    for access in accesses:
        if access.member not in copied:
            known = sizes.setdefault((access.tensor, access.entries), [])
            known.append(_accessed_bytes(access, s, stages))
    return ix.add(*(ix.maximum(*known) for known in sizes.values()))


def _copied_in_place(s: Statement, stages: Stages) -> set[str]:
    """The members that copy a tensor of one array from one point to another."""
    sources = {r.member: r.tensor for r in s.reads}
    return {
        w.member
        for w in s.writes
        if isinstance(stages.graph.nodes[w.member].op, Copy)
        and sources.get(w.member) == w.tensor
        and not stages.buffers[w.tensor].axes
    }


def _accessed_bytes(access: Read | Write, s: Statement, stages: Stages) -> ix.Expr:
    part = accessed_part(access, s, stages.graph)
    store = stages.buffers[access.tensor]
    if part is not None and not any(stages.graph.universe.is_dim(n) for n in _names(part)):
        return ix.product((ix.Const(element_bytes(store)), *part.shape))
    dims = stages.statements.tensors[access.tensor].domain.dims
    at = dict(zip(dims, access.entries, strict=True))
    ranges = ((axis, at[axis.dim]) for axis in store.axes)
    axes = tuple(
        replace(axis, size=ix.minimum(axis.size, *_lengths(entry, stages)))
        for axis, entry in ranges
        if isinstance(entry, ix.Slice)
    )
    return cell_bytes(replace(store, axes=axes))


def _lengths(entry: ix.Slice, stages: Stages) -> list[ix.Expr]:
    """Numbers of points that a range has at most, the same in each step."""
    length = extent(entry)
    parts = length.args if isinstance(length, ix.IndexMin) else (length,)
    is_dim = stages.graph.universe.is_dim
    return [part for part in parts if not any(map(is_dim, symbols(part)))]


def _names(type_: TensorType) -> list[str]:
    return [name for extent in type_.shape for name in symbols(extent)]
