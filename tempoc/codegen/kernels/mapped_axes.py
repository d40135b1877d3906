"""Reads of elements become mapped axes: `x[t]`, vectorized over `t`, needs no gather.

The result of a scan over a whole dimension is an array without that dimension; a consumer of step
`t` reads its element `t`. In a kernel vectorized over `t`, ``jax.vmap`` gives each point its own
element, as if the array were the store of a tensor that varies with `t`::

    def point(total_t):
        return jnp.tanh(total_t)
    y = jax.vmap(point)(total)

The statement is rewritten to read such tensors, each an alias of an array and one of its axes. If
the array itself holds several points, as in ``x[t:T][:, t]``, these get a dimension of their own.
Likewise a tensor that is read at several distances, ``x[t]`` and ``x[t+1]``, becomes one alias for
each distance, mapped over slices of the store that are shifted against each other. One that is
read at ``x[max(t-1, 0)]`` is mapped over a copy that is moved by one, with its first element twice.
One that is read at ``x[k-1, t-1]`` in a loop over ``k`` is mapped over that row, one that is read
at ``x[t+k]`` over a part of it that begins at ``k``. Tiles that are read as a sequence,
``x[t//8, t%8]``, are mapped over their rows, the two axes being one.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from itertools import pairwise
from typing import TypeVar

from tempoc.codegen.kernels.distances import Moved, TakenAxis, axis_parts, distance_along
from tempoc.codegen.stores.context import Stages
from tempoc.codegen.stores.kernel_buffer import KernelAxis, KernelBuffer
from tempoc.codegen.text.naming import access_name
from tempoc.ops.control.control import Copy
from tempoc.ops.indexing.indexing import SpatialIndex
from tempoc.sdg.graph.graph import Edge, Node
from tempoc.sdg.statements.statements import Read, Statement, Tensor, Write
from tempoc.symbolic import expr as ix
from tempoc.symbolic.domain import Domain, slice_count
from tempoc.symbolic.walk import substitute, symbols

T = TypeVar("T")


@dataclass(frozen=True, slots=True, kw_only=True)
class Element:
    """A tensor over ``dim`` that is an alias of the elements of ``tensor`` along a spatial axis.

    A point reads it ``at`` its own index plus an expression over bounds.
    """

    name: str
    tensor: str
    dim: str
    axis: int
    at: ix.Expr


@dataclass(frozen=True, slots=True, kw_only=True)
class Pointwise:
    """The statement of one point with its aliases, and the stages extended by them.

    ``origins`` maps each alias to its tensor; ``elements`` has the aliases of array elements,
    ``moved`` how aliases are moved, by dimension, ``parts`` what aliases take of axes of their
    tensors. For the aliases in ``joined``, two axes of the array are one, this and the next.
    """

    single: Statement
    stages: Stages
    elements: Mapping[str, Element]
    origins: Mapping[str, str]
    moved: Mapping[str, Mapping[str, Moved]] = field(default_factory=dict)
    parts: Mapping[str, tuple[TakenAxis, ...]] = field(default_factory=dict)
    joined: Mapping[str, int] = field(default_factory=dict)


def pointwise(statement: Statement, stages: Stages) -> Pointwise:
    """The statement of one point, with reads of elements at its own index as reads of aliases."""
    assert statement.single is not None
    view = Pointwise(single=statement.single, stages=stages, elements={}, origins={})
    for read in statement.single.reads:
        element = _element(read, statement, stages)
        if element is not None:
            # Distances over bounds, as ``x[t-P]`` and ``x[t-P+1]`` have, share a name.
            while view.elements.get(element.name, element) != element:
                element = replace(element, name=f"{element.name}@")
            view = _with_element(view, read, element)
    for read in {(r.tensor, r.entries): r for r in view.single.reads}.values():
        if rows := _rows_of_tiles(read, view.single, statement, stages):
            view = _with_joined(view, read, rows)
    for tensor in dict.fromkeys(r.tensor for r in view.single.reads):
        for read in _at_distances(view.single, tensor, statement, stages):
            view = _with_shifted(view, read, statement)
        for read, parts in _in_parts(view.single, tensor, statement, stages).items():
            view = _with_part(view, read, parts, statement)
    return view


def _at_distances(
    single: Statement, tensor: str, statement: Statement, stages: Stages
) -> list[Read]:
    """The reads of a tensor at constant distances, if the accesses have several distances.

    None if a read is forwarded from a write of the same point: that goes through the store.
    """
    store = stages.buffers.get(tensor)
    reads = [r for r in single.reads if r.tensor == tensor]
    writes = [w for w in single.writes if w.tensor == tensor]
    if store is None or any(r.forwarded for r in reads) or any(a.ring for a in store.axes):
        return []
    own = _own_axes(store, statement)
    accesses: list[Read | Write] = [*reads, *writes]
    distances = {
        a: [distance_along(access, a, statement, stages) for access in accesses] for a in own
    }
    if all(len({*ds}) == 1 and not isinstance(ds[0], Moved) for ds in distances.values()):
        return []
    near = [r for k, r in enumerate(reads) if all(ds[k] is not None for ds in distances.values())]
    if len(own) < len(store.axes):  # slices would copy all other axes
        whole = all(_covers(a, statement) for a in own)
        places = [k for k, r in enumerate(reads) if r in near and whole]
        near = [reads[k] for k in places if all(ds[k] == ix.ZERO for ds in distances.values())]
        near = [r for r in near if not _is_row_in_loop(r, statement, stages)]
    return list({r.entries: r for r in near}.values()) if own else []


def _own_axes(store: KernelBuffer, statement: Statement) -> list[KernelAxis]:
    """The axes of a store that the points of a kernel may be mapped over."""
    return [a for a in store.axes if any(a.dim == v.dim for v in statement.vector)]


def _covers(axis: KernelAxis, statement: Statement) -> bool:
    """Whether the points of a kernel are all of an axis."""
    ends = (ix.ZERO, axis.size)
    return any((v.lower, v.upper) == ends for v in statement.vector if v.dim == axis.dim)


def _with_shifted(before: Pointwise, read: Read, statement: Statement) -> Pointwise:
    """The statement with the reads at one distance as reads of an alias."""
    stages = before.stages
    store, at = stages.buffers[read.tensor], stages.entries(read)
    axes = [a.dim for a in store.axes]
    name = f"{access_name(read.tensor, axes, [at[d] for d in axes])}@{'_'.join(axes)}"
    mapped = _own_axes(store, statement)
    distances = {a.dim: distance_along(read, a, statement, stages) for a in mapped}
    steps = {d: far for d, far in distances.items() if isinstance(far, Moved)}
    if not steps:
        return with_alias(before, read, name, store)
    dims = stages.statements.tensors[read.tensor].domain.dims
    own = tuple(ix.Sym(d) if d in steps else e for d, e in zip(dims, read.entries, strict=True))
    view = with_alias(before, read, name, store, own)
    (alias,) = view.origins.keys() - before.origins.keys()
    return replace(view, moved={**view.moved, alias: steps})


def _in_parts(
    single: Statement, tensor: str, statement: Statement, stages: Stages
) -> dict[Read, tuple[TakenAxis, ...]]:
    """The reads of a tensor that take parts of its array over which points can be mapped.

    A row is taken out before points are mapped over it if they have several distances, or if its
    slot is known only when the kernel runs: mapped, that would be a gather (as JAX batches slices).
    """
    store = stages.buffers.get(tensor)
    reads = [r for r in single.reads if r.tensor == tensor]
    if store is None or any(r.forwarded for r in reads):
        return {}
    taken = {r: parts for r in reads if (parts := axis_parts(r, statement, stages))}
    own = [a for a in store.axes if any(a.dim == v.dim for v in statement.vector)]
    accesses: list[Read | Write] = [*reads, *(w for w in single.writes if w.tensor == tensor)]
    apart = False
    for axis in own:
        distances = [distance_along(access, axis, statement, stages) for access in accesses]
        apart = apart or len({*distances}) > 1 or any(isinstance(d, Moved) for d in distances)
    apart = apart or (bool(own) and any(_moves(p, statement) for ps in taken.values() for p in ps))
    chosen: dict[Read, tuple[TakenAxis, ...]] = {}
    for read, parts in taken.items():
        gone = {p.axis.dim for p in parts}
        # What no axis is left of is no row: all points read the same element.
        is_row = apart and any(a.dim not in gone for a in own)
        if is_row or any(p.dim for p in parts):
            chosen[read] = parts
    return chosen


@dataclass(frozen=True, slots=True, kw_only=True)
class _TileRows:
    """Two axes that follow each other in memory, read as one: each point ``dim`` at its ``row``."""

    outer: KernelAxis
    inner: KernelAxis
    dim: str
    row: ix.Expr


def _rows_of_tiles(
    read: Read, single: Statement, statement: Statement, stages: Stages
) -> _TileRows | None:
    """The axes that a read takes at ``(t // n, t % n)``, as of tiles of ``n`` rows; ``None``.

    Mapped, that would be a gather by two indices, whose result has axes of length 1: XLA's library
    for sums on CPUs takes eleven times as long over those.
    """
    store = stages.buffers.get(read.tensor)
    if store is None or read.forwarded or any(w.tensor == read.tensor for w in single.writes):
        return None
    extents = {s for e in stages.statements.tensors[read.tensor].type.shape for s in symbols(e)}
    for j, k in pairwise(store.order):
        if max(j, k) < len(store.axes):
            outer, inner = store.axes[j], store.axes[k]
            if extents.isdisjoint((outer.dim, inner.dim)):  # else each row has a length of its own
                rows = _joined_axes(outer, inner, read, statement, stages)
                if rows is not None:
                    return rows
    return None


def _joined_axes(
    outer: KernelAxis, inner: KernelAxis, read: Read, statement: Statement, stages: Stages
) -> _TileRows | None:
    """The two axes, if that is how a read takes them."""
    at = stages.entries(read)
    tile, row = at.pop(outer.dim), at.pop(inner.dim)
    if not isinstance(tile, ix.FloorDiv) or row != ix.mod(tile.arg, tile.divisor):
        return None
    v = next((v for v in statement.vector if v.dim in symbols(tile.arg)), None)
    if v is None or any(v.dim in symbols(e) for e in at.values()):
        return None
    if any(a.ring or a.grows or a.every > 1 or a.begin is not None for a in (outer, inner)):
        return None
    shift, count = ix.sub(tile.arg, ix.Sym(v.dim)), ix.Const(tile.divisor)
    low, high = ix.add(v.lower, shift), ix.add(v.upper, shift)
    ends = ix.compare(">=", low, ix.ZERO), ix.compare("<=", high, ix.mul(count, outer.size))
    full = ix.conjunction(ix.compare("==", inner.size, count), *ends)
    first = ix.compare("<=", high, inner.size), ix.compare("<=", high, count)
    alone = ix.conjunction(*first, *ends)  # all is in the first tile
    if not isinstance(shift, ix.Const) or not stages.proves(statement, ix.disjunction(full, alone)):
        return None
    return _TileRows(outer=outer, inner=inner, dim=v.dim, row=tile.arg)


def _with_joined(before: Pointwise, read: Read, rows: _TileRows) -> Pointwise:
    """The statement with the reads like this one as reads of an alias that has one axis of two."""
    stages, gone = before.stages, (rows.outer.dim, rows.inner.dim)
    store, own = stages.buffers[read.tensor], f"{rows.dim}@rows"
    entries = {own if d == rows.dim else d: e for d, e in stages.entries(read).items()}
    entries = {d: e for d, e in entries.items() if d not in gone} | {rows.dim: rows.row}
    axes = [replace(a, dim=own) if a.dim == rows.dim else a for a in store.axes]
    size = ix.mul(rows.outer.size, rows.inner.size)
    axes[store.axes.index(rows.outer)] = replace(rows.outer, dim=rows.dim, size=size, sure=())
    axes.remove(rows.inner)
    first = store.order.index(store.axes.index(rows.outer))
    keys = tuple(replace(k, dim=own if k.dim == rows.dim else k.dim) for k in store.keys)
    joined = replace(store, axes=tuple(axes), keys=keys)
    name = f"{access_name(read.tensor, [rows.dim], [rows.row])}@{rows.dim}"
    view = with_alias(before, read, name, joined, tuple(entries.values()), tuple(entries))
    (alias,) = view.origins.keys() - before.origins.keys()
    return replace(view, joined={**view.joined, alias: first})


def _is_row_in_loop(read: Read, statement: Statement, stages: Stages) -> bool:
    """Whether a read takes a row of an array that another step takes another row of."""
    return any(_moves(p, statement) for p in axis_parts(read, statement, stages) or ())


def _moves(part: TakenAxis, statement: Statement) -> bool:
    """Whether another point of the loops around the kernel takes another part."""
    return any(s in statement.domain.dims for s in symbols(part.start))


def _with_part(
    before: Pointwise, read: Read, parts: tuple[TakenAxis, ...], statement: Statement
) -> Pointwise:
    """The statement with the reads like this one as reads of an alias of a part of the array."""
    stages = before.stages
    tensor, store = stages.statements.tensors[read.tensor], stages.buffers[read.tensor]
    if any(stages.graph.universe.is_dim(s) for e in tensor.type.shape for s in symbols(e)):
        return before
    taken = {p.axis.dim: p for p in parts}
    mapped = {p.dim for p in parts}
    rows = {d: f"{d}@rows" for d in tensor.domain.dims if d in mapped and d not in taken}
    entries: dict[str, ix.Entry] = {}
    steps: dict[str, Moved] = {}
    axes: list[KernelAxis] = []
    for dim, entry in stages.entries(read).items():
        axis = next((a for a in store.axes if a.dim == dim), None)
        part = taken.get(dim)
        if part is None:
            if axis is not None and any(v.dim == dim for v in statement.vector):
                far = distance_along(read, axis, statement, stages)
                if isinstance(far, Moved):
                    steps[dim], entry = far, ix.Sym(dim)
            entries[rows.get(dim, dim)] = entry
        elif part.dim:
            lower = next(v.lower for v in statement.vector if v.dim == part.dim)
            entries[part.dim] = ix.sub(ix.Sym(part.dim), lower)
    for axis in store.axes:
        part = taken.get(axis.dim)
        if part is None:
            axes.append(replace(axis, dim=rows.get(axis.dim, axis.dim)))
        elif part.dim:
            axes.append(replace(axis, dim=part.dim, size=part.size, sure=()))
    at = stages.entries(read)
    name = f"{access_name(read.tensor, [*at], [*at.values()])}@{'_'.join(taken)}"
    keys = tuple(replace(k, dim=rows.get(k.dim, k.dim)) for k in store.keys)
    cut = replace(store, axes=tuple(axes), keys=keys)
    view = with_alias(before, read, name, cut, tuple(entries.values()), tuple(entries))
    (alias,) = view.origins.keys() - before.origins.keys()
    return replace(view, moved={**view.moved, alias: steps}, parts={**view.parts, alias: parts})


def with_alias(
    before: Pointwise,
    read: Read,
    name: str,
    store: KernelBuffer,
    entries: tuple[ix.Entry, ...] | None = None,
    dims: tuple[str, ...] | None = None,
) -> Pointwise:
    """The statement with all reads equal to ``read`` as reads of an alias with this store.

    It is read at ``entries`` if they are given, and has the dimensions ``dims`` if those are.
    """
    stages = before.stages
    at = read.entries if entries is None else entries
    tensor = stages.statements.tensors[read.tensor]
    while name in before.origins:
        name += "@"
    source = stages.graph.nodes[tensor.node]
    domain = tensor.domain if dims is None else Domain(dims)
    nodes = dict(stages.graph.nodes)
    nodes[name] = replace(source, name=name, domain=domain, types=(tensor.type,), inputs=())
    reads: list[Read] = []
    for r in before.single.reads:
        if (r.tensor, r.entries) == (read.tensor, read.entries):
            inputs = list(nodes[r.member].inputs)
            inputs[r.slot] = replace(inputs[r.slot], source=name, out=0)
            if entries is not None:
                inputs[r.slot] = replace(inputs[r.slot], entries=entries)
            nodes[r.member] = replace(nodes[r.member], inputs=tuple(inputs))
            r = replace(r, tensor=name, entries=at)
        reads.append(r)
    alias = replace(tensor, name=name, node=name, out=0, domain=domain)
    return _extended(before, reads, nodes, alias, replace(store, name=name), read.tensor)


def _extended(
    before: Pointwise,
    reads: Iterable[Read],
    nodes: Mapping[str, Node],
    alias: Tensor,
    store: KernelBuffer,
    origin: str,
) -> Pointwise:
    """The statement with these reads, and the stages with an alias of a tensor and its store."""
    name, stages = alias.name, before.stages
    tensors, buffers = stages.statements.tensors, stages.buffers
    head = name.partition("@")[0]
    changed = replace(
        stages,
        local={head: stages.local_name(origin) + head.removeprefix(origin), **stages.local},
        graph=replace(stages.graph, nodes=nodes),
        statements=replace(stages.statements, tensors={**tensors, name: alias}),
        buffers={**buffers, name: store},
    )
    single = replace(before.single, reads=tuple(reads))
    origins = {**before.origins, name: origin}
    return replace(before, single=single, stages=changed, origins=origins)


def _element(read: Read, statement: Statement, stages: Stages) -> Element | None:
    """The alias for a read of the element at the point's own index; ``None`` for other reads."""
    assert statement.single is not None
    op = stages.graph.nodes[read.member].op
    if not isinstance(op, SpatialIndex) or read.slot != 0 or op.gathers:
        return None
    written = any(w.tensor == read.tensor for w in statement.single.writes)
    written = written or any(a.behind for a in stages.buffers[read.tensor].axes)
    dims = [v.dim for v in statement.vector]
    spatial_entries = op.entries[slice_count(read.entries) :]
    parts = [(k, e) for k, e in enumerate(spatial_entries) if any(d in _names(e) for d in dims)]
    if written or len(parts) != 1:
        return None
    axis, part = parts[0]
    dim = next(d for d in dims if d in _names(part))
    at = [s for e in read.entries if not isinstance(e, ix.Slice) for s in symbols(e)]
    if not isinstance(part, ix.Expr) or dim in at:
        return None
    shift = ix.sub(part, ix.Sym(dim))
    if any(stages.graph.universe.is_dim(s) for s in symbols(shift)):
        return None
    name = f"{access_name(read.tensor, [dim], [part])}@{dim}{axis or ''}"
    return Element(name=name, tensor=read.tensor, dim=dim, axis=axis, at=part)


def _names(part: object) -> tuple[str, ...]:
    """The symbols in an entry of a spatial index."""
    parts = part if isinstance(part, tuple) else (part,)
    return tuple(s for e in parts if isinstance(e, ix.Expr) for s in symbols(e))


def _with_element(before: Pointwise, read: Read, element: Element) -> Pointwise:
    """The statement with one read of an array element as a read of an alias."""
    stages, axis = before.stages, element.axis
    tensor, store = stages.statements.tensors[read.tensor], stages.buffers[read.tensor]
    row_dims = {d: f"{d}@rows" if d == element.dim else d for d in tensor.domain.dims}
    entries: dict[str, ix.Entry] = dict(zip(row_dims.values(), read.entries, strict=True))
    entries[element.dim] = element.at
    dims = tuple(entries)
    if element.dim not in tensor.domain.dims:
        dims = stages.graph.universe.sorted(dims)
    domain = Domain(
        dims, substitute(tensor.domain.where, {d: ix.Sym(n) for d, n in row_dims.items()})
    )
    type_ = replace(tensor.type, shape=_without(tensor.type.shape, axis))
    column = replace(tensor, name=element.name, node=element.name, out=0, domain=domain, type=type_)
    others = [replace(a, dim=row_dims[a.dim]) for a in store.axes]
    axes = (*others, KernelAxis(dim=element.dim, size=store.shape[axis]))
    keys = tuple(replace(k, dim=row_dims[k.dim]) for k in store.keys)
    shape = _without(store.shape, axis)
    rows = replace(store, name=column.name, keys=keys, axes=axes, shape=shape)
    at = tuple(entries[d] for d in dims)
    reader = _reader(stages.graph.nodes[read.member], read, element, at)
    source = stages.graph.nodes[tensor.node]
    source = replace(source, name=column.name, domain=domain, types=(type_,), inputs=())
    nodes = {**stages.graph.nodes, source.name: source, reader.name: reader}
    new = replace(read, tensor=column.name, entries=at)
    reads = (new if r == read else r for r in before.single.reads)
    view = _extended(before, reads, nodes, column, rows, element.tensor)
    return replace(view, elements={**before.elements, column.name: element})


def _reader(node: Node, read: Read, element: Element, at: tuple[ix.Entry, ...]) -> Node:
    """The node that reads the alias, at these entries."""
    assert isinstance(node.op, SpatialIndex)
    entries = _without(node.op.entries, slice_count(read.entries) + element.axis)
    op = SpatialIndex(entries=entries) if entries else Copy()
    edge = Edge(source=element.name, entries=at)
    return replace(node, op=op, inputs=(edge, *node.inputs[1:]))


def _without(items: tuple[T, ...], place: int) -> tuple[T, ...]:
    return (*items[:place], *items[place + 1 :])
