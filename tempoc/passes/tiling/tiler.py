"""Builds the nodes that compute a region tile by tile, in place of its original nodes."""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import NamedTuple

from tempoc.ops.control.control import Copy
from tempoc.ops.definition.axis_links import Link
from tempoc.ops.definition.dtype_text import Scalar
from tempoc.ops.definition.types import DType, TensorType
from tempoc.ops.indexing.indexing import SpatialIndex
from tempoc.ops.tensor import arithmetic as binary, elementwise as unary
from tempoc.ops.tensor.movement import Pad, Transpose
from tempoc.ops.tensor.reduction import Max, Reduction
from tempoc.ops.tensor.reshape import Reshape
from tempoc.passes.tiling.axis_flow import AxisAt, VectorDim, column
from tempoc.passes.tiling.partial_results import combination
from tempoc.passes.tiling.region import TileRegion
from tempoc.passes.tiling.tile_index import Tiling
from tempoc.sdg.builder import read_of
from tempoc.sdg.graph.graph import Edge, Graph, Node
from tempoc.sdg.graph.query import operand_types, substitute_in_op
from tempoc.sdg.graph.rewrite import edge_at
from tempoc.sdg.statements.vectorized import vector_ranges
from tempoc.symbolic import expr as ix
from tempoc.symbolic.domain import Domain, entries_at, slice_count
from tempoc.symbolic.walk import substitute, symbols


class TileVersion(NamedTuple):
    """The tiles of a node that are computed in a phase, at the points of these dimensions.

    ``top``: the maximum whose value so far is subtracted from the tiles. ``where``: the condition
    under which consumers need the tiles, so that they can share a kernel.
    """

    phase: int
    dims: tuple[str, ...]
    top: str = ""
    where: ix.Expr = ix.TRUE


@dataclass(slots=True, kw_only=True)
class Tiler(Tiling):
    """Builds tiles along the axis of a region.

    Large tensors are computed again in each phase that reads them.
    """

    region: TileRegion
    phases: Mapping[str, int]
    row: str
    is_large: Callable[[str], bool]
    requested: dict[str, dict[TileVersion, None]] = field(default_factory=dict)
    memo: dict[tuple[object, ...], str] = field(default_factory=dict)
    sums: dict[str, str] = field(default_factory=dict)

    def build(self) -> Graph:
        """The graph with tiles, without the carriers that they replace."""
        old = self.old
        self.nodes = dict(old.nodes)
        self.requested = self.versions()
        for name, flow in self.region.carriers.items():
            for version in self.requested[name]:
                self.tile(AxisAt(name, flow), version)
        for name in self.region.ends:
            self.reduce(old.nodes[name])
        for name in self.region.materialized:
            self.reassemble(old.nodes[name])
        replaced = {*self.region.carriers} - {*self.region.materialized}
        order = [n for name in old.nodes for n in (*self.places.get(name, ()), name)]
        return replace(
            old,
            universe=self.space.universe,
            nodes={name: self.nodes[name] for name in order if name not in replaced},
        )

    # ------------------------------------------------------------ versions

    def own_version(self, name: str) -> TileVersion:
        """The version of a node's tiles in the node's own phase."""
        return TileVersion(self.phases[name], self.loops(name))

    def loops(self, name: str) -> tuple[str, ...]:
        """The dimensions of a node without the one that is cut."""
        flow = self.region.carriers.get(name)
        dims = self.old.nodes[name].domain.dims
        return tuple(d for d in dims if not (isinstance(flow, VectorDim) and d == flow.dim))

    def versions(self) -> dict[str, dict[TileVersion, None]]:
        """The versions of each carrier's tiles that are read."""
        versions: dict[str, dict[TileVersion, None]] = {name: {} for name in self.region.carriers}
        for name in self.region.materialized:
            versions[name][self.own_version(name)] = None
        for name, flow in self.region.ends.items():
            self.request(AxisAt(name, flow), self.own_version(name), versions)
        for name, flow in reversed([*self.region.carriers.items()]):
            versions[name] = {_among(v, versions[name]): None for v in versions[name]}
            for version in versions[name]:
                self.request(AxisAt(name, flow), version, versions)
        return versions

    def request(
        self, at: AxisAt, reader: TileVersion, versions: dict[str, dict[TileVersion, None]]
    ) -> None:
        """Add the versions of the tiles that a node reads."""
        for m in self.flows.sources(at):
            if self.region.carriers.get(m.node) == m.flow:
                versions[m.node][self.version(at.node, reader, m.node)] = None

    def version(self, name: str, reader: TileVersion, source: str) -> TileVersion:
        """The version of a source's tiles for a reader; large tensors are computed for each reader.

        So they are live neither until later phases nor at points that they do not vary with.
        """
        if source in self.region.carriers and not self.is_large(source):
            return self.own_version(source)
        node = self.old.nodes[name]
        outer = [d for d in reader.dims if d not in node.vector]
        dims = self.old.universe.sorted((*self.loops(source), *outer))
        needed = TileVersion(reader.phase, dims, where=self.where(name, reader, source, dims))
        return _among(needed, self.requested.get(source, ()))

    def where(self, name: str, reader: TileVersion, source: str, dims: tuple[str, ...]) -> ix.Expr:
        """The condition under which a reader needs a source; ``TRUE`` if it is not known.

        It is known of dimensions that are read at the reader's own point. It is ``TRUE`` as well if
        the points of vectorized dimensions would no longer form intervals.
        """
        node, domain = self.old.nodes[name], self.old.nodes[source].domain
        condition = ix.conjunction(reader.where, node.domain.where)
        named = {*symbols(condition)}
        reads = [self.flows.at(e) for e in self.flows.inputs(name) if e.source == source]
        is_own = all(at.get(d, ix.Sym(d)) == ix.Sym(d) for at in reads for d in named)
        if not is_own or not named <= {*dims, *self.bounds} or condition == domain.where:
            return ix.TRUE
        vector = [d for d in self.old.nodes[source].vector if d in dims]
        ranges = vector_ranges(Domain(dims, condition), vector, self.space)
        return ix.TRUE if ranges is None else condition

    @property
    def bounds(self) -> tuple[str, ...]:
        """The names of all bounds."""
        return tuple(b.name for b in self.space.universe.bounds)

    # ------------------------------------------------------------ tiles

    def tile(self, at: AxisAt, version: TileVersion) -> Node:
        """The node that computes the tiles of another one."""
        key = (at, version)
        if key not in self.memo:
            node = self.old.nodes[at.node]
            inputs = self.inputs(at, version)
            domain = self.domain(at, version.dims, version.where)
            if isinstance(at.flow, VectorDim):
                self.memo[key] = self.vector_tile(node, at.flow, inputs, domain).name
            else:
                op = self.narrowed(node.op, at)
                self.memo[key] = self.put(node, "tile", op, inputs, domain).name
        return self.nodes[self.memo[key]]

    def vector_tile(
        self, node: Node, vector_dim: VectorDim, inputs: Iterable[Edge], domain: Domain
    ) -> Node:
        """A node at the rows of a tile, as many as the dimension has points at most.

        Rows beyond the last point repeat the last point.
        """
        positions = self.tile_positions(vector_dim)
        has_row = ix.compare("<", ix.Sym(self.row), self.size_of(vector_dim.dim))
        loop_dims = domain.dims
        dims = self.space.universe.ordered((*loop_dims, self.row))
        vector = tuple(self.row if d == vector_dim.dim else d for d in node.vector)
        types = tuple(
            replace(t, shape=tuple(substitute(e, positions) for e in t.shape)) for t in node.types
        )
        op, read = substitute_in_op(node.op, positions), column(node)
        turn = None if read is None else self.flows.axis_to_dim(node.inputs[0].source)
        if read is not None and turn is not None and turn.dim == vector_dim.dim:
            assert isinstance(op, SpatialIndex)
            columns = (ix.Sym(self.row) if k == read.axis else e for k, e in enumerate(op.entries))
            op = replace(op, entries=tuple(columns))
        tile = replace(
            node,
            name=self.fresh_name(node, "tile"),
            op=op,
            inputs=tuple(inputs),
            domain=Domain(dims, ix.conjunction(domain.where, has_row)),
            types=types,
            vector=self.space.universe.sorted(vector),
        )
        return self.add(node, tile)

    def tile_positions(self, vector_dim: VectorDim) -> dict[str, ix.Expr]:
        """The point of the cut dimension for the row of a tile."""
        last = ix.sub(ix.Sym(self.space.universe.dim(vector_dim.dim).bound), ix.ONE)
        return {vector_dim.dim: ix.minimum(ix.add(self.start, ix.Sym(self.row)), last)}

    def inputs(self, at: AxisAt, version: TileVersion) -> list[Edge]:
        """The operands of a node, cut along its axis."""
        pairs = zip(self.old.nodes[at.node].inputs, self.flows.places(at), strict=True)
        return [self.read(at, version, edge, axis) for edge, axis in pairs]

    def read(self, reader: AxisAt, version: TileVersion, edge: Edge, axis: int | None) -> Edge:
        """A tile of an operand, along one of its axes or along the dimension that is cut."""
        source = self.flows.source(reader, edge, axis)
        is_tile = source is not None and self.region.carriers.get(source.node) == source.flow
        if source is not None and (is_tile or self.is_recomputed(source)):
            tile = self.tile(source, self.version(reader.node, version, source.node))
            if isinstance(source.flow, VectorDim) and axis is not None:
                return self.sliced(reader, version, edge, tile)
            turned = isinstance(reader.flow, VectorDim) and isinstance(source.flow, Link)
            return self.at_tile(self.at_row(reader, edge) if turned else edge, tile)
        if isinstance(reader.flow, VectorDim):
            return self.at_row(reader, edge)
        if axis is None:
            return edge
        if axis < slice_count(edge.entries):
            return self.cut_slice(edge, axis)
        return self.rows(reader, version, edge, axis)

    def at_row(self, reader: AxisAt, edge: Edge) -> Edge:
        """The read at the row of a tile."""
        assert isinstance(reader.flow, VectorDim)
        return edge_at(edge, self.tile_positions(reader.flow))

    def sliced(self, reader: AxisAt, version: TileVersion, edge: Edge, tile: Node) -> Edge:
        """A slice of the rows of a tile, as an axis of an operand."""
        flow = self.region.carriers[edge.source]
        assert isinstance(flow, VectorDim)
        rows = ix.minimum(self.size_of(self.row), self.size_of(flow.dim))
        at = {**self.flows.at(edge), self.row: ix.Slice(ix.ZERO, rows)}
        entries = entries_at(tile.domain.dims, at)
        every = replace(edge, source=tile.name, entries=entries)
        named = zip(tile.domain.dims, entries, strict=True)
        place = [d for d, e in named if isinstance(e, ix.Slice)].index(self.row)
        axis = self.flows.slice_of(edge, flow.dim)
        node = self.old.nodes[reader.node]
        domain = self.domain(reader, version.dims, version.where)
        if axis != place:
            order = [k for k in range(len(self.type_of(every).shape)) if k != place]
            order.insert(axis, place)
            op = Transpose(axes=tuple(order))
            every = read_of(self.put(node, "order", op, (every,), domain))
        return self.tile_elements(reader, every, axis, ix.ZERO, domain)

    def is_recomputed(self, at: AxisAt) -> bool:
        """Whether a node outside of the region is computed again for each tile, not sliced."""
        node = self.old.nodes[at.node]
        light = node.op.moves or node.op.cheap or isinstance(node.op, unary.Cast)
        if isinstance(at.flow, VectorDim) or not light:
            return False
        pairs = zip(node.inputs, at.flow.operands, strict=True)
        inner = sum(axis is not None and axis >= slice_count(e.entries) for e, axis in pairs)
        return sum(self.is_recomputed(m) for m in self.flows.sources(at)) == inner

    def cut_slice(self, edge: Edge, axis: int) -> Edge:
        """A temporal slice, narrowed to the positions of the tile."""
        entries: list[ix.Entry] = list(edge.entries)
        place = [k for k, e in enumerate(entries) if isinstance(e, ix.Slice)][axis]
        full = entries[place]
        assert isinstance(full, ix.Slice)
        step = ix.Const(full.step)
        first = ix.add(full.lo, ix.mul(self.start, step))
        stop = ix.minimum(ix.add(first, ix.Const(self.size * full.step)), full.hi)
        entries[place] = ix.Slice(first, stop, full.step)
        return replace(edge, entries=tuple(entries))

    def at_tile(self, edge: Edge, tile: Node) -> Edge:
        """The read of a tile in place of a read of all of the axis."""
        source = self.old.nodes[edge.source]
        at = source.domain.at(edge.entries)
        return replace(edge, source=tile.name, entries=entries_at(tile.domain.dims, at))

    def rows(self, reader: AxisAt, version: TileVersion, edge: Edge, axis: int) -> Edge:
        """The positions of the tile in an operand that is stored at full extent."""
        domain = self.domain(reader, version.dims, version.where)
        return self.tile_elements(reader, edge, axis, self.start, domain)

    def tile_elements(
        self, at: AxisAt, edge: Edge, axis: int, start: ix.Expr, domain: Domain
    ) -> Edge:
        """As many elements of an axis, from ``start`` on, as the tile has."""
        key = (replace(edge, span=None), axis, domain)
        if key not in self.memo:
            shape = self.type_of(edge).shape
            entries = tuple(
                (start, self.part(at).count, 1) if k == axis else (ix.ZERO, e, 1)
                for k, e in enumerate(shape)
            )
            op, node = SpatialIndex(entries=entries), self.old.nodes[at.node]
            self.memo[key] = self.put(node, "rows", op, (edge,), domain).name
        return read_of(self.nodes[self.memo[key]])

    # ------------------------------------------------------------ reductions

    def reduce(self, node: Node) -> None:
        """Build a reduction: the partial result of a tile, combined with the previous ones."""
        at = AxisAt(node.name, self.region.ends[node.name])
        (type_,), args = node.types, operand_types(self.old, node)
        how = combination(node.op, args, type_.dtype)
        assert how is not None
        domain = self.domain(at, node.domain.dims)
        inputs = self.inputs(at, self.own_version(node.name))
        if isinstance(node.op, Max):
            inputs = [self.padded(at, inputs[0], how.start, domain)]
        if how.dtype is not type_.dtype and isinstance(node.op, Reduction):
            cast = unary.Cast(dtype=how.dtype)
            inputs = [read_of(self.put(node, "wide", cast, (e,), domain)) for e in inputs]
        each = self.put(node, "each", how.part, inputs, domain)
        if each.types[0].dtype is not how.dtype:
            each = self.put(node, "wide", unary.Cast(dtype=how.dtype), (each,), domain)
        result = TensorType(how.dtype, type_.shape)
        now = self.running_recurrence(node, each, how, result, self.scale(node, how.dtype))
        self.sums[node.name] = now.name
        end = entries_at(now.domain.dims, {self.dim: self.last(at) if self.forward else ix.ZERO})
        total = self.finish(node, Edge(source=now.name, entries=end))
        if how.divided:
            count = self.count(node, args[0].shape, how.dtype)
            last = replace(node, op=binary.Divide(), inputs=(total, read_of(count)))
        else:
            last = replace(node, op=Copy(), inputs=(total,))
        if how.dtype is not type_.dtype:
            wide = self.put(node, "total", last.op, last.inputs, node.domain)
            last = replace(node, op=unary.Cast(dtype=type_.dtype), inputs=(read_of(wide),))
        self.nodes[node.name] = last

    def scale(self, node: Node, dtype: DType) -> Edge | None:
        """The factor of the previous running sum at each tile; none here."""
        return None

    def finish(self, node: Node, total: Edge) -> Edge:
        """The result, given the sum of all tiles."""
        return total

    def padded(self, at: AxisAt, edge: Edge, value: Scalar, domain: Domain) -> Edge:
        """An operand that is never empty: where a tile may be, it is padded with ``value``."""
        (axis,) = self.flows.places(at)
        assert axis is not None
        count = self.type_of(edge).shape[axis]
        if self.space.implies(domain, ix.compare(">=", count, ix.ONE)):
            return edge
        rank = len(self.type_of(edge).shape)
        op = Pad(widths=self.up_to_size(axis, rank, count), value=value)
        return read_of(self.put(self.old.nodes[at.node], "full", op, (edge,), domain))

    # ------------------------------------------------------------ reassembly

    def reassemble(self, node: Node) -> None:
        """Replace a node by its full tensor, reassembled from its tiles."""
        flow = self.region.carriers[node.name]
        at = AxisAt(node.name, flow)
        tile = self.tile(at, self.own_version(node.name))
        if isinstance(flow, VectorDim):
            point = ix.Sym(flow.dim)
            places = {self.dim: ix.floordiv(point, self.size), self.row: ix.mod(point, self.size)}
            point_entries = entries_at(tile.domain.dims, places)
            edge = Edge(source=tile.name, entries=point_entries)
            self.nodes[node.name] = replace(node, op=Copy(), inputs=(edge,))
            return
        (axis,) = flow.results
        assert axis is not None
        widths = self.up_to_size(axis, len(node.types[0].shape), self.part(at).count)
        full = self.put(node, "full", Pad(widths=widths), (tile,), tile.domain)
        full = self.nodes[full.name] = self.full_size(full, axis)
        count = ix.add(self.last(at), ix.ONE)
        entries = entries_at(full.domain.dims, {self.dim: ix.Slice(ix.ZERO, count)})
        edge = Edge(source=full.name, entries=entries)
        shape = full.types[0].shape
        if axis:
            order = (*range(1, axis + 1), 0, *range(axis + 1, len(shape) + 1))
            edge = read_of(self.put(node, "order", Transpose(axes=order), (edge,), node.domain))
        long = (*shape[:axis], ix.mul(count, ix.Const(self.size)), *shape[axis + 1 :])
        joined = self.put(node, "joined", Reshape(shape=long), (edge,), node.domain)
        entire = tuple((ix.ZERO, e, 1) for e in node.types[0].shape)
        index = SpatialIndex(entries=entire)
        self.nodes[node.name] = replace(node, op=index, inputs=(read_of(joined),))

    def full_size(self, node: Node, axis: int) -> Node:
        """A node of padded tiles, with the tile size for the extent of the axis."""
        shape = list(node.types[0].shape)
        shape[axis] = ix.Const(self.size)
        return replace(node, types=(replace(node.types[0], shape=tuple(shape)),))


def _among(version: TileVersion, others: Container[TileVersion]) -> TileVersion:
    """The version without its condition, if there is one without: it serves for both."""
    wide = version._replace(where=ix.TRUE)
    return wide if wide in others else version
