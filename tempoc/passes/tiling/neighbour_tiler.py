"""Builds tiles of nodes that need their neighbours (``neighbours.py``).

    %g.past  = merge %g.none when tile == tiles-1, %g.end[tile+1] when tile < tiles-1 : [tile]
    %g.handed = where %g.first, %d.tile[tile, (T-1)%8], %g.past                   : [tile]
    %g.is    = index{expr=8*tile+row < T-1}                                    : [tile, row*]
    %g.rows  = recurrence{reverse=true} %g.handed, %d.tile[tile, 0:8], ..., %g.is[tile, 0:8]
    %g.tile  = getitem{entries=(row,)} %g.rows                                 : [tile, row*]
    %g.end   = getitem{entries=(0,)} %g.rows                                   : [tile]

The first point of the loop, and rows beyond the last point, keep the state that they were given.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import NamedTuple

from tempoc.ops.control.control import Copy, Merge, Select
from tempoc.ops.control.recurrence import Recurrence
from tempoc.ops.control.steps import OpStep
from tempoc.ops.definition.operator import Op
from tempoc.ops.definition.types import Types
from tempoc.ops.indexing.indexing import SpatialIndex
from tempoc.ops.tensor.movement import Pad
from tempoc.ops.tensor.source import Full, IndexValue
from tempoc.passes.tiling.axis_flow import AxisAt, VectorDim
from tempoc.passes.tiling.neighbours import ends_of
from tempoc.passes.tiling.online_tiler import OnlineTiler
from tempoc.passes.tiling.tiler import TileVersion
from tempoc.sdg.builder import read_of
from tempoc.sdg.graph.graph import Edge, Node
from tempoc.symbolic import expr as ix
from tempoc.symbolic.domain import Domain, entries_at
from tempoc.symbolic.walk import extent


class _TiledScan(NamedTuple):
    """A scan whose rows are computed for tiles, along with the node that reads them."""

    at: AxisAt
    version: TileVersion
    node: Node
    op: Recurrence
    domain: Domain


@dataclass(slots=True, kw_only=True)
class NeighbourTiler(OnlineTiler):
    """Builds tiles, in a loop over tiles in which a tile finds its neighbour's results."""

    scans: dict[tuple[str, TileVersion], list[Node]] = field(default_factory=dict)

    def tile(self, at: AxisAt, version: TileVersion) -> Node:
        """The node that computes the tiles of another one."""
        sources = [m for m in self.flows.neighbour_sources(at) if self.is_carrier(m)]
        key = (at, version)
        if sources and key not in self.memo:
            assert isinstance(at.flow, VectorDim)
            rows = self.flows.neighbours[at.node].rows
            make = self.row_tile if rows else self.near_tile
            self.memo[key] = make(at, version).name
        return self.nodes[self.memo[key]] if sources else OnlineTiler.tile(self, at, version)

    def is_carrier(self, at: AxisAt) -> bool:
        """Whether the region has tiles of a node."""
        return self.region.carriers.get(at.node) == at.flow

    @property
    def row_count(self) -> ix.Expr:
        """The number of rows of a full tile."""
        (flow,) = {f for f in self.region.carriers.values() if isinstance(f, VectorDim)}
        return ix.minimum(self.size_of(self.row), self.size_of(flow.dim))

    @property
    def end_row(self) -> ix.Expr:
        """The row of a tile that the next one in the loop needs."""
        return ix.sub(self.row_count, ix.ONE) if self.forward else ix.ZERO

    def first_row(self, dim: str) -> ix.Expr:
        """The row, in the first tile of the loop, of the first point."""
        last = ix.sub(self.size_of(dim), ix.ONE)
        return ix.ZERO if self.forward else ix.mod(last, self.size)

    def row_domain(self, domain: Domain) -> Domain:
        """The domain with the rows of a tile."""
        has_row = ix.compare("<", ix.Sym(self.row), self.row_count)
        dims = self.space.universe.ordered((*domain.dims, self.row))
        return Domain(dims, ix.conjunction(domain.where, has_row))

    def put_rows(
        self, node: Node, part: str, op: Op, inputs: tuple[Edge | Node, ...], domain: Domain
    ) -> Node:
        """Insert a node that computes all rows of a tile at once."""
        made = self.put(node, part, op, inputs, self.row_domain(domain))
        vector = self.space.universe.sorted((*made.vector, self.row))
        made = self.nodes[made.name] = replace(made, vector=vector)
        return made

    def source_tile(self, at: AxisAt, version: TileVersion, name: str) -> Node:
        """The tiles of a source."""
        return self.tile(AxisAt(name, at.flow), self.version(at.node, version, name))

    def handed(self, node: Node, first: Edge, end: Edge, domain: Domain) -> Node:
        """At each tile what the one before in the loop ended with; ``first`` at the first tile.

        That is selected: as a statement of the first tile alone, it would stand before the loop,
        and with it all that it needs of that tile.
        """
        loop, types = self.loop, (self.type_of(end),)
        full = Full(shape=types[0].shape, value=0, dtype=types[0].dtype)
        around = tuple(d for d in domain.dims if d != self.dim)
        none = self.put(node, "none", full, (), Domain(around, domain.where))
        before = entries_at(domain.dims, {self.dim: loop.before})
        after = entries_at(domain.dims, {self.dim: loop.after})
        inputs = (
            replace(read_of(none), guard=loop.is_first),
            replace(end, entries=before, guard=loop.is_later),
        )
        merge = Merge(targets=(entries_at(domain.dims, {self.dim: loop.first}), after))
        name = self.fresh_name(node, "past")
        past = replace(none, name=name, op=merge, domain=domain, inputs=inputs, vector=())
        is_first = self.put(node, "first", IndexValue(expr=loop.is_first), (), Domain((self.dim,)))
        return self.put(node, "handed", Select(), (is_first, first, self.add(node, past)), domain)

    # ------------------------------------------------------------ neighbours

    def near_tile(self, at: AxisAt, version: TileVersion) -> Node:
        """The neighbours of the points of a tile; of the first point itself."""
        node = self.old.nodes[at.node]
        domain = self.domain(at, version.dims, version.where)
        tile = self.source_tile(at, version, node.inputs[0].source)

        def read(row: ix.Expr) -> Edge:
            return replace(
                read_of(tile, node.inputs[0].out),
                entries=entries_at(tile.domain.dims, {self.row: row}),
            )

        assert isinstance(at.flow, VectorDim)
        end = self.put(node, "end", Copy(), (read(self.end_row),), domain)
        handed = self.handed(node, read(self.first_row(at.flow.dim)), read_of(end), domain)
        last, row = ix.sub(self.row_count, ix.ONE), ix.Sym(self.row)
        if self.forward:
            inner, place = ix.compare(">=", row, ix.ONE), ix.maximum(row - 1, ix.ZERO)
        else:
            inner, place = ix.compare("<", row, last), ix.minimum(row + 1, last)
        near = self.put_rows(node, "inner", Copy(), (read(place),), domain)
        is_inner = self.put_rows(node, "is", IndexValue(expr=inner), (), Domain(()))
        return self.put_rows(node, "tile", Select(), (is_inner, near, handed), domain)

    # ------------------------------------------------------------ scans

    def row_tile(self, at: AxisAt, version: TileVersion) -> Node:
        """A row of a scan, of those that are computed for a tile."""
        node = self.old.nodes[at.node]
        rows = self.scan(at, version)
        assert isinstance(node.op, SpatialIndex)
        place = ix.add(ix.Sym(self.row), ix.Const(int(self.forward)))
        op = replace(node.op, entries=(place, *node.op.entries[1:]))
        domain = self.domain(at, version.dims, version.where)
        return self.put_rows(node, "tile", op, (read_of(rows, node.inputs[0].out),), domain)

    def scan(self, at: AxisAt, version: TileVersion) -> Node:
        """The rows of a scan for a tile, and the state before them; maybe at more points."""
        node = self.old.nodes[self.flows.neighbours[at.node].rows]
        domain = self.domain(at, version.dims, version.where)
        known = self.scans.setdefault((node.name, version), [])
        for scan in known:
            if scan.domain in (domain, Domain(domain.dims)):
                return scan
        assert isinstance(node.op, Recurrence)
        scan = self.built_scan(_TiledScan(at, version, node, node.op, domain))
        known.append(scan)
        return scan

    def built_scan(self, scan: _TiledScan) -> Node:
        """The scan of a tile, which goes on where that of the tile before in the loop ended."""
        node, op, domain = scan.node, scan.op, scan.domain
        first, elements, constants = op.parts(node.inputs)
        name = self.fresh_name(node, "tile")
        shapes = [
            replace(t, shape=(ix.add(self.row_count, ix.ONE), *t.shape[1:])) for t in node.types
        ]
        made = replace(node, name=name, domain=domain, types=tuple(shapes))
        made = replace(made, vector=tuple(d for d in node.vector if d in domain.dims))
        self.nodes[name] = made  # its inputs need the state that it ends with
        starts = []
        for out, edge in enumerate(first):
            end = self.put(node, "end", self.end(made, out), (read_of(made, out),), domain)
            starts.append(
                read_of(self.handed(node, self.start_read(scan, edge), read_of(end), domain))
            )
        parts = [self.element(scan, edge) for edge in elements]
        goes_on = read_of(self.put_rows(node, "is", self.goes_on(scan.at), (), Domain((self.dim,))))
        parts.append(self.all_rows(goes_on))
        del self.nodes[name]
        made = replace(
            made,
            op=Recurrence(
                steps=_kept_unless(op, node.types),
                carried=tuple(_results(op, len(node.inputs))),
                starts=(0,) * len(parts),
                count=self.row_count,
                reverse=op.reverse,
            ),
            inputs=(*starts, *parts, *constants),
        )
        return self.add(node, made)

    def end(self, rows: Node, out: int) -> SpatialIndex:
        """The row of a tile's scan with which the next one in the loop goes on."""
        full = tuple((ix.ZERO, e, 1) for e in rows.types[out].shape[1:])
        return SpatialIndex(entries=(self.row_count if self.forward else ix.ZERO, *full))

    def goes_on(self, at: AxisAt) -> IndexValue:
        """Whether a row of a tile has a state that a step of the scan makes."""
        assert isinstance(at.flow, VectorDim)
        point = ix.add(self.start, ix.Sym(self.row))
        ends = ends_of(self.old, at.flow.dim, forward=self.forward)
        if self.forward:
            return IndexValue(expr=ix.compare(">=", point, ends.first + 1))
        return IndexValue(expr=ix.compare("<", point, ends.first))

    def start_read(self, scan: _TiledScan, edge: Edge) -> Edge:
        """The state at the loop's first point, in the first tile."""
        source = AxisAt(edge.source, scan.at.flow)
        if not self.is_carrier(source) or source not in self.flows.sources(scan.at):
            return edge
        assert isinstance(scan.at.flow, VectorDim)
        tile = self.source_tile(scan.at, scan.version, edge.source)
        at = self.flows.at(edge) | {self.row: self.first_row(scan.at.flow.dim)}
        return replace(edge, source=tile.name, entries=entries_at(tile.domain.dims, at))

    def element(self, scan: _TiledScan, edge: Edge) -> Edge:
        """The rows of an element for the steps of a tile."""
        source = AxisAt(edge.source, scan.at.flow)
        if self.is_carrier(source) and source in self.flows.sources(scan.at):
            tile = self.source_tile(scan.at, scan.version, edge.source)
            at = {d: e for d, e in self.flows.at(edge).items() if d in tile.domain.dims}
            entries = entries_at(tile.domain.dims, at)
            return self.all_rows(replace(edge, source=tile.name, entries=entries))
        edge = self.cut_slice(edge, 0)
        part = next(e for e in edge.entries if isinstance(e, ix.Slice))
        rank = len(self.type_of(edge).shape)
        op = Pad(widths=self.up_to_size(0, rank, extent(part)))
        return read_of(self.put(scan.node, "full", op, (edge,), scan.domain))

    def all_rows(self, edge: Edge) -> Edge:
        """A read of all rows of a tile, as an axis."""
        dims = self.nodes[edge.source].domain.dims
        entries = zip(dims, edge.entries, strict=True)
        every = ix.Slice(ix.ZERO, self.row_count)
        return replace(edge, entries=tuple(every if d == self.row else e for d, e in entries))


def _results(op: Recurrence, operands: int) -> range:
    """The numbers of the states that are selected in the end, with one more element."""
    steps = sum(len(dtypes) for _, _, dtypes in op.steps)
    first = operands + 1 + steps
    return range(first, first + len(op.carried))


def _kept_unless(op: Recurrence, types: Types) -> tuple[OpStep, ...]:
    """The steps, then states that are kept unless one more element, the last one, holds."""
    place = len(op.carried) + len(op.starts)

    def moved(number: int) -> int:
        return number + (number >= place)

    steps = [(step, tuple(map(moved, taken)), dtypes) for step, taken, dtypes in op.steps]
    for k, number in enumerate(op.carried):
        steps.append((Select(), (place, moved(number), k), (types[k].dtype,)))
    return tuple(steps)
