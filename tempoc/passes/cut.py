"""Nodes that compute a region tile by tile, in the place of those that compute it at once."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import NamedTuple

from tempoc.ops.arithmetic import Divide
from tempoc.ops.control import Copy, Merge
from tempoc.ops.elementwise import Cast
from tempoc.ops.indexing import SpatialIndex
from tempoc.ops.joining import Stack
from tempoc.ops.movement import Pad, Transpose
from tempoc.ops.opdef import Op
from tempoc.ops.reduction import Reduction
from tempoc.ops.reshape import Reshape
from tempoc.ops.shapes import Shape, axes_of
from tempoc.ops.source import Full, IndexValue
from tempoc.ops.types import DType, TensorType
from tempoc.passes.axes import Part, narrowed
from tempoc.passes.combine import Combination, combination
from tempoc.passes.region import Meeting, Region, Ways, slices
from tempoc.poly.space import Space
from tempoc.sdg.build import identity
from tempoc.sdg.graph import Edge, Graph, Node
from tempoc.sdg.query import operand_type, operand_types
from tempoc.sdg.verify import DomainFacts
from tempoc.symbolic.domain import Domain
from tempoc.symbolic.expr import (
    ONE,
    ZERO,
    Const,
    Entry,
    Expr,
    Slice,
    Sym,
    add,
    compare,
    minimum,
    mul,
    product,
    sub,
)  # fmt: skip
from tempoc.symbolic.walk import extent

CHEAP = ("copy", "cast", "expand_dims", "squeeze", "broadcast_to", "transpose", "full", "arange")
"""What only moves or makes values is done for each tile rather than cut out of a whole."""


class Version(NamedTuple):
    """Tiles that are made in a phase, at the points of these dimensions."""

    phase: int
    dims: tuple[str, ...]


@dataclass(slots=True, kw_only=True)
class Cutter:
    """Makes tiles of ``size`` along the axis of a region, one at each point of ``dim``.

    ``space`` knows the new dimension. Large tensors are made again in each phase that reads them.
    """

    ways: Ways
    region: Region
    phases: Mapping[str, int]
    space: Space
    dim: str
    size: int
    is_large: Callable[[str], bool]
    nodes: dict[str, Node] = field(default_factory=dict)
    places: dict[str, list[str]] = field(default_factory=dict)
    made: dict[tuple[object, ...], str] = field(default_factory=dict)

    def cut(self) -> Graph:
        """The graph with tiles, without those nodes that no one reads any more."""
        old = self.ways.graph
        self.nodes = dict(old.nodes)
        versions = self.versions()
        for name, link in self.region.kept.items():
            for version in versions[name]:
                self.tile(Meeting(name, link), version)
        for name in self.region.ends:
            self.end(old.nodes[name])
        for name in self.region.whole:
            self.join(old.nodes[name])
        gone = {*self.region.kept} - {*self.region.whole}
        order = [n for name in old.nodes for n in (*self.places.get(name, ()), name)]
        return replace(
            old,
            universe=self.space.universe,
            nodes={name: self.nodes[name] for name in order if name not in gone},
        )

    # ------------------------------------------------------------ versions

    def own(self, name: str) -> Version:
        """A node's tiles where they are needed first."""
        return Version(self.phases[name], self.ways.graph.nodes[name].domain.dims)

    def versions(self) -> dict[str, dict[Version, None]]:
        """Which tiles of each kept node are read."""
        found: dict[str, dict[Version, None]] = {name: {} for name in self.region.kept}
        for name in self.region.whole:
            found[name][self.own(name)] = None
        for name, link in self.region.ends.items():
            self.ask(Meeting(name, link), self.own(name), found)
        for name, link in reversed([*self.region.kept.items()]):
            for version in found[name]:
                self.ask(Meeting(name, link), version, found)
        return found

    def ask(self, at: Meeting, reader: Version, found: dict[str, dict[Version, None]]) -> None:
        """Note which tiles a node reads."""
        for m in self.ways.sources(at):
            if self.region.kept.get(m.node) == m.link:
                found[m.node][self.version(at.node, reader, m.node)] = None

    def version(self, name: str, reader: Version, source: str) -> Version:
        """The tiles of a source that a reader reads: what is large is made for each reader.

        So it is kept neither until later phases nor for points at which it does not vary.
        """
        own = Version(reader.phase, self.ways.graph.nodes[source].domain.dims)
        if source in self.region.kept and not self.is_large(source):
            return self.own(source)
        loops = [d for d in reader.dims if d not in self.ways.graph.nodes[name].vector]
        dims = self.ways.graph.universe.sorted((*own.dims, *loops))
        return Version(reader.phase, dims)

    # ------------------------------------------------------------ tiles

    @property
    def part(self) -> Part:
        """The tile at hand: where it begins and how long it is; the last one may be shorter."""
        start = mul(Sym(self.dim), Const(self.size))
        stop = minimum(add(start, Const(self.size)), self.region.extent)
        return Part(start, extent(Slice(start, stop)))

    def tile(self, at: Meeting, version: Version) -> Node:
        """The node that makes the tiles of another one."""
        key = (at, version)
        if key not in self.made:
            node = self.ways.graph.nodes[at.node]
            inputs = self.inputs(at, version)
            op = narrowed(node.op, at.link, self.part)
            domain = self.tiled(Domain(version.dims, node.domain.where))
            self.made[key] = self.put(node, "tile", op, inputs, domain).name
        return self.nodes[self.made[key]]

    def inputs(self, at: Meeting, version: Version) -> list[Edge]:
        """The operands of a node, cut along its link."""
        pairs = zip(self.ways.graph.nodes[at.node].inputs, at.link.operands, strict=True)
        return [e if a is None else self.read(at.node, version, e, a) for e, a in pairs]

    def read(self, reader: str, version: Version, edge: Edge, axis: int) -> Edge:
        """An operand cut along one of its axes."""
        lead = slices(edge)
        if axis < lead:
            return self.cut_slice(edge, axis)
        link = self.ways.of_result(edge.source, edge.out, axis - lead)
        if link is not None:
            at = Meeting(edge.source, link)
            if self.region.kept.get(edge.source) == link or self.is_cheap(at):
                return self.at_tile(edge, self.tile(at, self.version(reader, version, at.node)))
        return self.rows(reader, version, edge, axis)

    def is_cheap(self, at: Meeting) -> bool:
        """Whether a node outside the region is made again, tile by tile."""
        if self.ways.graph.nodes[at.node].op.name not in CHEAP:
            return False
        sources = [e for e, axis in self.ways.along(at) if axis >= slices(e)]
        cheap = [m for m in self.ways.sources(at) if self.is_cheap(m)]
        return len(cheap) == len(sources)

    def cut_slice(self, edge: Edge, axis: int) -> Edge:
        """A temporal slice at the tile's positions."""
        entries: list[Entry] = list(edge.entries)
        place = [k for k, e in enumerate(entries) if isinstance(e, Slice)][axis]
        whole = entries[place]
        assert isinstance(whole, Slice)
        step = Const(whole.step)
        first = add(whole.lo, mul(self.part.start, step))
        stop = minimum(add(first, Const(self.size * whole.step)), whole.hi)
        entries[place] = Slice(first, stop, whole.step)
        return replace(edge, entries=tuple(entries))

    def at_tile(self, edge: Edge, tile: Node) -> Edge:
        """A read of a tile in the place of a read of the whole."""
        source = self.ways.graph.nodes[edge.source]
        at = dict(zip(source.domain.dims, edge.entries, strict=True))
        return replace(
            edge, source=tile.name, entries=tuple(at.get(d, Sym(d)) for d in tile.domain.dims)
        )

    def rows(self, reader: str, version: Version, edge: Edge, axis: int) -> Edge:
        """The tile's positions of an operand that is there as a whole."""
        node = self.ways.graph.nodes[reader]
        domain = self.tiled(Domain(version.dims, node.domain.where))
        key = (replace(edge, span=None), axis, domain)
        if key not in self.made:
            shape = operand_type(self.view(), edge).shape
            entries = tuple(
                (self.part.start, self.part.count, 1) if k == axis else (ZERO, e, 1)
                for k, e in enumerate(shape)
            )
            op = SpatialIndex(entries=entries)
            self.made[key] = self.put(node, "rows", op, (edge,), domain).name
        return _read(self.nodes[self.made[key]])

    # ------------------------------------------------------------ reductions

    def end(self, node: Node) -> None:
        """A reduction: what is found for a tile, added to what was found before."""
        at = Meeting(node.name, self.region.ends[node.name])
        (type_,), args = node.types, operand_types(self.ways.graph, node)
        how = combination(node.op, args, type_.dtype)
        assert how is not None
        domain = self.tiled(node.domain)
        inputs = self.inputs(at, self.own(node.name))
        if how.dtype is not type_.dtype and isinstance(node.op, Reduction):
            cast = Cast(dtype=how.dtype)
            inputs = [_read(self.put(node, "wide", cast, (e,), domain)) for e in inputs]
        each = self.put(node, "each", how.part, inputs, domain)
        if each.types[0].dtype is not how.dtype:
            each = self.put(node, "wide", Cast(dtype=how.dtype), (_read(each),), domain)
        now = self.added(node, each, how, TensorType(how.dtype, type_.shape))
        end = _at(now.domain, self.dim, sub(self.bound, ONE))
        total = Edge(source=now.name, entries=end)
        if how.divided:
            count = self.count(node, args[0].shape, how.dtype)
            last = replace(node, op=Divide(), inputs=(total, _read(count)))
        else:
            last = replace(node, op=Copy(), inputs=(total,))
        if how.dtype is not type_.dtype:
            wide = self.put(node, "total", last.op, last.inputs, node.domain)
            last = replace(node, op=Cast(dtype=type_.dtype), inputs=(_read(wide),))
        self.nodes[node.name] = last

    def added(self, node: Node, each: Node, how: Combination, type_: TensorType) -> Node:
        """The recurrence over the tiles; its value at the last tile is the result."""
        empty = Full(shape=type_.shape, value=how.start, dtype=type_.dtype)
        none = self.put(node, "none", empty, (), node.domain)
        here, down, up = Sym(self.dim), sub(Sym(self.dim), ONE), add(Sym(self.dim), ONE)
        past_name, now_name = self.free(node, "past"), self.free(node, "now")
        dims = each.domain
        inputs = (
            replace(_read(none), guard=compare("==", here, ZERO)),
            Edge(
                source=now_name,
                entries=_at(dims, self.dim, down),
                guard=compare(">=", here, ONE),
            ),
        )
        targets = (_at(dims, self.dim, ZERO), _at(dims, self.dim, up))
        merge = Merge(targets=targets)
        past = replace(each, name=past_name, op=merge, inputs=inputs, types=(type_,))
        self.add(node, past)
        both = [_read(past), _read(each)]
        if how.stacked:
            both = [_read(self.put(node, "both", Stack(), both, dims))]
        now = replace(past, name=now_name, op=how.more, inputs=tuple(both))
        self.add(node, now)
        return now

    def count(self, node: Node, shape: Shape, dtype: DType) -> Node:
        """The number of elements over which a node takes the mean."""
        assert isinstance(node.op, Reduction)
        expr = product(shape[a] for a in axes_of(node.op.axes, len(shape)))
        count = self.put(node, "count", IndexValue(expr=expr), (), node.domain)
        return self.put(node, "number", Cast(dtype=dtype), (_read(count),), node.domain)

    # ------------------------------------------------------------ putting together

    def join(self, node: Node) -> None:
        """A node that others read as a whole, put together from its tiles."""
        link = self.region.kept[node.name]
        (axis,) = link.results
        assert axis is not None
        tile = self.tile(Meeting(node.name, link), self.own(node.name))
        widths: list[tuple[Expr, Expr]] = [(ZERO, ZERO)] * len(node.types[0].shape)
        widths[axis] = (ZERO, sub(Const(self.size), self.part.count))
        full = self.put(node, "full", Pad(widths=tuple(widths)), (_read(tile),), tile.domain)
        every = Slice(ZERO, self.bound)
        entries = tuple(every if d == self.dim else Sym(d) for d in full.domain.dims)
        edge = Edge(source=full.name, entries=entries)
        shape = full.types[0].shape
        if axis:
            order = (*range(1, axis + 1), 0, *range(axis + 1, len(shape) + 1))
            edge = _read(self.put(node, "order", Transpose(axes=order), (edge,), node.domain))
        long = (*shape[:axis], mul(self.bound, Const(self.size)), *shape[axis + 1 :])
        joined = self.put(node, "joined", Reshape(shape=long), (edge,), node.domain)
        taken = tuple((ZERO, e, 1) for e in node.types[0].shape)
        index = SpatialIndex(entries=taken)
        self.nodes[node.name] = replace(node, op=index, inputs=(_read(joined),))

    # ------------------------------------------------------------ nodes

    @property
    def bound(self) -> Expr:
        """The number of tiles."""
        return Sym(self.space.universe.dim(self.dim).bound)

    def tiled(self, domain: Domain) -> Domain:
        """The points of a domain, each for every tile."""
        return Domain(self.space.universe.ordered((*domain.dims, self.dim)), domain.where)

    def view(self) -> Graph:
        """The graph as it is now."""
        return replace(self.ways.graph, universe=self.space.universe, nodes=self.nodes)

    def put(self, node: Node, part: str, op: Op, inputs: Iterable[Edge], domain: Domain) -> Node:
        """One more node, of the type that its operator infers."""
        edges = tuple(inputs)
        args = tuple(operand_type(self.view(), e) for e in edges)
        types = op.infer(args, DomainFacts(self.space, domain))
        name = self.free(node, part)
        found = replace(node, name=name, op=op, inputs=edges, domain=domain, types=types)
        self.add(node, found)
        return found

    def add(self, node: Node, found: Node) -> None:
        """A node that stands before another one."""
        self.nodes[found.name] = found
        self.places.setdefault(node.name, []).append(found.name)

    def free(self, node: Node, part: str) -> str:
        """A name for a part of a node that no other node has."""
        name, number = f"{node.name}.{part}", 2
        while name in self.nodes:
            name, number = f"{node.name}.{part}{number}", number + 1
        return name


def _at(domain: Domain, dim: str, point: Expr) -> tuple[Expr, ...]:
    """An access at a point of a dimension, elsewhere at the reader's own."""
    return tuple(point if d == dim else Sym(d) for d in domain.dims)


def _read(node: Node) -> Edge:
    return Edge(source=node.name, entries=identity(node.domain))
