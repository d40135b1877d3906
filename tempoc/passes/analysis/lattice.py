"""Lattices: dependence cycles along two dimensions, neither of which can be vectorized alone.

The cells of ``d[i, j]``, computed from ``d[i-1, j]``, ``d[i, j-1]`` and ``d[i-1, j-1]``, as in
alignments, need only cells before them along both dimensions. So no cell of an anti-diagonal needs
another (Lamport, The parallel execution of DO loops, CACM 1974). Equations of the rim, such as
``d[i, 0] = i``, have only one of both dimensions; in a lattice they are taken as nodes over both,
with the condition ``j == 0``.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, MutableMapping
from dataclasses import dataclass, replace

from tempoc.base.cost_model import MODEL
from tempoc.base.graphs import strongly_connected_components
from tempoc.ops.control.cond import Cond
from tempoc.ops.control.control import Copy, Merge
from tempoc.ops.control.externs import ExternCall
from tempoc.ops.definition.dtype_text import Scalar
from tempoc.ops.definition.operator import Op
from tempoc.ops.definition.types import DType, TensorType
from tempoc.ops.indexing.indexing import SpatialIndex
from tempoc.ops.tensor.source import Full, Literal
from tempoc.passes.analysis.dependence import loop_dims
from tempoc.passes.analysis.size_estimate import bytes_of
from tempoc.poly.relations.space import Space
from tempoc.sdg.graph.graph import Edge, Graph, Node
from tempoc.sdg.graph.query import components, distance_along, type_of_read
from tempoc.sdg.graph.rewrite import compose_node
from tempoc.sdg.statements.branches import enclosing_conds
from tempoc.sdg.statements.build import is_computed
from tempoc.symbolic import expr as ix
from tempoc.symbolic.domain import Domain, entries_at
from tempoc.symbolic.walk import symbols

Shift = tuple[int, int]
"""How far from the own cell a read is, along the first and the second dimension."""


class StaysNested(Exception):
    """Why a cycle along two dimensions stays a nest of loops; its text ends a remark."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Lattice:
    """A cycle whose cells read only cells before them, ``reach`` anti-diagonals back at most.

    ``nodes``: its nodes, all over ``dims``. ``shifts`` are those of reads of each other, by reader
    and slot; ``directions`` are those, 1 or -1, in which cells follow each other along each of the
    dimensions. ``pins``: the values of the dimensions that nodes of the rim lack.
    """

    dims: tuple[str, str]
    nodes: Mapping[str, Node]
    shifts: Mapping[tuple[str, int], Shift]
    directions: Shift
    reach: int
    pins: Mapping[str, Mapping[str, ix.Expr]]


def nested_cycles(graph: Graph) -> Iterator[tuple[tuple[str, ...], tuple[str, str]]]:
    """The dependence cycles of nodes of which each is a loop along the same two dimensions.

    In a loop that goes on from step to step, as of training, they are the cycles within a step.
    """
    for part in components(graph):
        yield from _nested_cycles(graph, part, ())


def _nested_cycles(
    graph: Graph, part: tuple[str, ...], outer: tuple[str, ...]
) -> Iterator[tuple[tuple[str, ...], tuple[str, str]]]:
    """Those among nodes that need each other at the same points of outer dimensions."""
    reads = [e for n in part for e in graph.nodes[n].inputs if e.source in part]
    if not reads:
        return
    lengths = [graph.nodes[n].domain.dims for n in part]
    along = graph.universe.sorted(tuple(d for dims in lengths for d in dims))
    moving = [d for d in along if any(_moves(graph, e, d) for e in reads)]
    moving += [d for d in along if d not in moving and not all(d in dims for dims in lengths)]
    if len(moving) == 2:
        first, second = graph.universe.sorted(tuple(moving))
        tables = [graph.nodes[n] for n in part if isinstance(graph.nodes[n].op, Merge)]
        whole = all(d in t.domain.dims for t in tables for d in moving)
        if whole and any(_is_nested(graph.nodes[n], (first, second)) for n in part):
            yield part, (first, second)
    elif len(moving) > 2 and not outer:
        step = moving[0]
        for inner in _within_step(graph, part, step):
            nodes = [graph.nodes[n] for n in inner]
            if all(step in loop_dims(n.domain.dims, n.vector) for n in nodes):
                yield from _nested_cycles(graph, inner, (step,))


def _within_step(graph: Graph, part: tuple[str, ...], step: str) -> list[tuple[str, ...]]:
    """The cycles that are left where nothing is read of earlier points of a dimension.

    None of them reads itself at earlier points.
    """

    def sources(name: str) -> list[str]:
        inputs = graph.nodes[name].inputs
        return [e.source for e in inputs if e.source in part and not _is_earlier(graph, e, step)]

    return [
        inner
        for inner in strongly_connected_components(part, sources)
        if not any(
            e.source in inner and _moves(graph, e, step)
            for n in inner
            for e in graph.nodes[n].inputs
        )
    ]


def _is_earlier(graph: Graph, edge: Edge, dim: str) -> bool:
    """Whether a read is always some points before the reader's own, along a dimension."""
    distance = distance_along(graph, edge, dim)
    return distance is not None and distance < 0


def _is_nested(node: Node, dims: tuple[str, str]) -> bool:
    """Whether a node is computed in a loop along each of these dimensions."""
    own = loop_dims(node.domain.dims, node.vector)
    return is_computed(node) and all(d in own for d in dims)


def _moves(graph: Graph, edge: Edge, dim: str) -> bool:
    """Whether a read is at other points of a dimension than the reader's own."""
    pairs = zip(graph.nodes[edge.source].domain.dims, edge.entries, strict=True)
    return any(d == dim and entry != ix.Sym(dim) for d, entry in pairs)


def lattice(graph: Graph, names: tuple[str, ...], dims: tuple[str, str], space: Space) -> Lattice:
    """The lattice of a cycle along these dimensions. Raises ``StaysNested``."""
    for dim in dims:
        least = graph.universe.settled(ix.Sym(graph.universe.dim(dim).bound))
        if isinstance(least, ix.Const) and least.value < MODEL.diagonal_cells:
            raise StaysNested(f"{dim} has only {least.value} points")
    branches = {*enclosing_conds(graph)}
    for name in names:
        _check_node(graph.nodes[name], dims, branches)
    pins = _pins(graph, names, dims, space)
    nodes = {n: _over_both(graph, graph.nodes[n], dims, pins, space) for n in names}
    shifts = {
        (n, slot): _shift(node, edge, nodes[edge.source], dims, space)
        for n, node in nodes.items()
        for slot, edge in enumerate(node.inputs)
        if edge.source in nodes
    }
    first, second = (_direction({s[k] for s in shifts.values()}) for k in (0, 1))
    if not all(any(s[k] for s in shifts.values()) for k in (0, 1)):
        raise StaysNested("its cycle is along one of them only")
    _check_own_cells(nodes, shifts)
    reach = max(abs(a) + abs(b) for a, b in shifts.values())
    return Lattice(
        dims=dims, nodes=nodes, shifts=shifts, directions=(first, second), reach=reach, pins=pins
    )


def _check_node(node: Node, dims: tuple[str, str], branches: set[str]) -> None:
    op = node.op
    if isinstance(op, Cond | ExternCall) or node.name in branches:
        raise StaysNested(f"`{node.name}` is not to be computed at more points than its own")
    if not isinstance(op, Merge) and (not op.computed or not op.pure or op.checks):
        raise StaysNested(f"`{node.name}` is not to be computed at more points than its own")
    if any(d in symbols(e) for t in node.types for e in t.shape for d in dims):
        raise StaysNested(f"`{node.name}` has another size at each point")
    if op.heavy and any(d in node.vector for d in dims):
        raise StaysNested(f"`{node.name}` is computed for whole rows at once")
    if not is_small(node):
        raise StaysNested(f"a point of `{node.name}` is work enough for a step of a loop")


def is_small(node: Node) -> bool:
    """Whether a point costs less than the call of a kernel for it."""
    if not all(isinstance(e, ix.Const) for t in node.types for e in t.shape):
        return False
    return sum(bytes_of(t, {}) for t in node.types) <= MODEL.point_bytes


def _direction(distances: set[int]) -> int:
    """The direction in which cells follow each other, given how far back or ahead they read."""
    if min(distances) < 0 < max(distances):
        raise StaysNested("it reads on both sides along one of them")
    return -1 if max(distances) > 0 else 1


def _check_own_cells(nodes: Mapping[str, Node], shifts: Mapping[tuple[str, int], Shift]) -> None:
    """No cell may need itself."""
    own: dict[str, list[str]] = {n: [] for n in nodes}
    for (name, slot), shift in shifts.items():
        if shift == (0, 0):
            own[name].append(nodes[name].inputs[slot].source)
    for part in strongly_connected_components([*nodes], own.__getitem__):
        if len(part) > 1 or part[0] in own[part[0]]:
            raise StaysNested("which of its points need each other depends on more than distances")


# ---------------------------------------------------------------- nodes of the rim


def _pins(
    graph: Graph, names: tuple[str, ...], dims: tuple[str, str], space: Space
) -> dict[str, dict[str, ix.Expr]]:
    """For each node that lacks one of the dimensions, at which of its points it is written.

    By a merge, or by what reads it on the rim alone: ``d[i-1, 0]`` where ``j == 0``.
    """
    pins: dict[str, dict[str, ix.Expr]] = {}
    for node in sorted((graph.nodes[n] for n in names), key=lambda n: not isinstance(n.op, Merge)):
        for slot, edge in enumerate(node.inputs):
            own = graph.nodes[edge.source].domain.dims
            lacking = [d for d in dims if d not in own and d in node.domain.dims]
            if edge.source not in names or not lacking:
                continue
            if isinstance(node.op, Merge):
                places = node.domain.at(node.op.targets[slot])
            elif edge.source in pins:
                continue
            else:
                reader = space.restrict(node.domain, edge.guard)
                if not all(space.is_fixed_by(reader, d) for d in lacking):
                    continue
                places = {d: space.lower_bound(ix.Sym(d), reader) for d in lacking}
            _pin(graph, names, edge.source, {d: places[d] for d in lacking}, pins)
    lacks = (n for n in names if any(d not in graph.nodes[n].domain.dims for d in dims))
    if any(n not in pins for n in lacks):
        raise StaysNested("a part of it does not vary with both")
    return pins


def _pin(
    graph: Graph,
    names: tuple[str, ...],
    name: str,
    lacking: Mapping[str, ix.Expr],
    pins: dict[str, dict[str, ix.Expr]],
) -> None:
    """Note where a node is written, and likewise for those that it reads."""
    if not lacking or pins.get(name) == lacking:
        return
    dims = [d.name for d in graph.universe.dims]
    if name in pins or any(s in dims for e in lacking.values() for s in symbols(e)):
        raise StaysNested(f"`{name}` is written at several points")
    pins[name] = dict(lacking)
    for edge in graph.nodes[name].inputs:
        source = graph.nodes[edge.source]
        if edge.source in names and not isinstance(source.op, Merge):
            rest = {d: e for d, e in lacking.items() if d not in source.domain.dims}
            _pin(graph, names, edge.source, rest, pins)


def _over_both(
    graph: Graph,
    node: Node,
    dims: tuple[str, str],
    pins: Mapping[str, Mapping[str, ix.Expr]],
    space: Space,
) -> Node:
    """A node as one over both dimensions, and so those of the cycle that it reads."""
    own = (ix.compare("==", ix.Sym(d), e) for d, e in pins.get(node.name, {}).items())
    domain = Domain(
        graph.universe.ordered((*node.domain.dims, *dims)),
        ix.conjunction(node.domain.where, *own),
    )
    edges: list[Edge] = []
    for edge in node.inputs:
        if edge.source in pins:
            source = graph.nodes[edge.source].domain.dims
            at = dict(zip(source, edge.entries, strict=True))
            entries = entries_at(graph.universe.ordered((*source, *dims)), at)
            edge = replace(edge, entries=entries)
            reader = space.restrict(domain, edge.guard)
            for dim, place in pins[edge.source].items():
                if not space.implies(reader, ix.compare("==", ix.Sym(dim), place)):
                    raise StaysNested(f"`{edge.source}` is the same for all {dim}")
        edges.append(edge)
    return replace(node, domain=domain, inputs=tuple(edges), vector=())


def _shift(
    node: Node, edge: Edge, source: Node, dims: tuple[str, str], space: Space
) -> tuple[int, int]:
    """How far from its own cell a node reads another of the cycle. Raises ``StaysNested``."""
    reader = Domain(node.domain.dims, ix.conjunction(node.domain.where, edge.guard))
    shift: dict[str, int] = {}
    for dim, entry in zip(source.domain.dims, edge.entries, strict=True):
        if dim not in dims:
            continue
        far = ix.sub(entry, ix.Sym(dim)) if isinstance(entry, ix.Expr) else None
        if far is not None and not isinstance(far, ix.Const):
            ends = space.lower_bound(far, reader), space.upper_bound(far, reader)
            far = ends[0] if ends[0] == ends[1] else None
        if not isinstance(far, ix.Const):
            raise StaysNested(f"`{edge.source}` is read at a distance that varies")
        shift[dim] = far.value
    return shift[dims[0]], shift[dims[1]]


# ---------------------------------------------------------------- reads of other tensors


def axes_of_slices(node: Node, edge: Edge) -> dict[str, int]:
    """The axis that a read has along each dimension of which it takes a slice."""
    pairs = zip(node.domain.dims, edge.entries, strict=True)
    return {d: k for k, d in enumerate(d for d, e in pairs if isinstance(e, ix.Slice))}


def map_entry(entry: ix.Entry, change: Callable[[ix.Expr], ix.Expr]) -> ix.Entry:
    """An entry with its point changed; a slice as it is."""
    return entry if isinstance(entry, ix.Slice) else change(entry)


def is_recomputable(node: Node) -> bool:
    """Whether it is little work to compute a node at each place of each row."""
    op = node.op
    if not is_computed(node) or not op.pure or op.checks or op.contraction or not is_small(node):
        return False
    plain = op.elementwise or op.moves or op.cheap or op.monoid is not None
    return plain or isinstance(op, SpatialIndex | Copy)


def takes_of_larger(
    graph: Graph, edge: Edge, dims: Collection[str], known: MutableMapping[Edge, int]
) -> bool:
    """Whether what is read would be computed, at each place, of a larger part of a table.

    As an element of a softmax is: laid out beforehand is then the element, not the row that it is
    taken of. A table varies with both dimensions. ``known``: what is found of other reads.
    """
    largest = _extent_of_tables(graph, edge, dims, known)
    return largest > elements_of(graph.nodes[edge.source], edge)


def _extent_of_tables(
    graph: Graph, edge: Edge, dims: Collection[str], known: MutableMapping[Edge, int]
) -> int:
    """The elements of the largest part of a table that is read at a place of a row."""
    source, key = graph.nodes[edge.source], replace(edge, guard=ix.TRUE, span=None)
    if not {*dims} <= {s for e in edge.entries for s in symbols(e)}:
        return 0
    if key not in known:
        composed = compose_node(source, edge, graph.universe) if is_recomputable(source) else None
        if composed is None:
            known[key] = elements_of(source, edge)
        else:
            parts = (_extent_of_tables(graph, read, dims, known) for read in composed[1])
            known[key] = max(parts, default=0)
    return known[key]


def elements_of(source: Node, edge: Edge) -> int:
    """How many elements a read has; 0 where that depends on bounds."""
    count = ix.product(type_of_read(source, edge).shape)
    return count.value if isinstance(count, ix.Const) else 0


def filled(type_: TensorType, number: Scalar) -> Op:
    """A number everywhere in a tensor."""
    value = bool(number) if type_.dtype is DType.BOOL else number
    if type_.shape:
        return Full(value=value, dtype=type_.dtype, shape=type_.shape)
    return Literal(value=value, dtype=type_.dtype)
