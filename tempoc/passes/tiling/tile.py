"""Strip-mines large tensors into tiles, along an axis that a temporal slice introduced.

    %z = matmul %h[0:T], %W : [] f32[T, 32000]
    %e = logsumexp{axes=(-1,)} %z : [] f32[T]
    %l = mean %e            : [] f32

becomes, with ``dim tile < tiles`` and ``tiles = (T+511)//512``,

    %z.tile = matmul %h[512*tile:min(512*tile+512, T)], %W : [tile] f32[max(0, min(...)), 32000]
    %e.tile = logsumexp{axes=(-1,)} %z.tile : [tile] f32[max(0, min(...))]
    %l.each = sum %e.tile : [tile] f32
    %l.none = full 0 : [] f32
    %l.past = merge %l.none when tile == 0, %l.now[tile-1] when tile >= 1 : [tile] f32
    %l.now  = add %l.past, %l.each : [tile] f32
    %l      = %l.now[tiles-1] / T : [] f32

so that at most 512 rows of ``%z`` are live at any time. The axis is followed through the operators
that keep it (``Op.links``, ``axis_flow.py``, ``region.py``). Where it is reduced, the
partial results of the tiles are combined (``partial_results.py``); where nodes outside need all of
it, the tiles are reassembled (``tiler.py``). So a batch that comes from a slice is cut into
microbatches, and gradients are accumulated.

A vectorized dimension is an axis too: ``%z : [t*]``, whose points are summed, becomes
``%z.tile : [tile, row*]`` with ``row < 512``, at the points ``t = min(512*tile+row, T-1)``; rows
beyond the last point are dropped where the tile is read as a slice.

An axis may vary with the point, like the scores of one step with all steps so far:

    %s = matmul %k[0:t+1], %q : [t*] f32[t+1]

becomes, with ``tiles`` enough for the longest one,

    %s.tile = matmul %k[512*tile:min(512*tile+512, t+1)], %q : [t*, tile] f32[max(0, min(...))]

and is empty where the tile begins beyond the axis' end. Points of a loop have only the tiles that
they need. Sums of ``exp(s - max(s))`` run in the same loop as the maximum, relative to the maximum
so far (``online_softmax.py``, ``online_tiler.py``), so that a softmax and its weighted sum take one
loop. Derivatives take further loops, in which tiles of the scores are computed again; they read
columns of padded tensors, ``%p[t:T]`` at ``[:, t]``, where the axis becomes the dimension ``t``
(``AxisToDim`` in ``axis_flow.py``).

Operands of two loops over tiles are computed in both, so value numbering must not run after this
pass.

Tensors that fit into ``limit`` bytes are not cut, nor is a region whose largest tensor would not
become smaller, nor one that a single kernel computes for some points at a time, nor one that would
take all steps of a recurrence for each tile where bounds are not known. Tiles have at least
``least`` rows. Sizes are estimates (``analysis/size_estimate.py``).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from math import prod
from typing import ClassVar

from tempoc.base.cost_model import MODEL
from tempoc.base.effort import EFFORT
from tempoc.ops.control.recurrence import Recurrence
from tempoc.ops.definition.types import TensorType
from tempoc.passes.analysis.size_estimate import (
    bytes_of,
    estimated_sizes,
    size_formula,
    unknown_bounds,
)
from tempoc.passes.context import GraphPass, PassContext
from tempoc.passes.tiling.axis_flow import AxisAt, AxisFlows, VectorDim
from tempoc.passes.tiling.neighbour_tiler import NeighbourTiler
from tempoc.passes.tiling.online_softmax import RunningEndFinder
from tempoc.passes.tiling.region import (
    PhasedOperands,
    RegionFinder,
    TileRegion,
    operands_in_one_loop,
    phased_operands,
    phases,
)
from tempoc.pipeline.step import LoopRemark
from tempoc.sdg.graph.graph import Graph, Node
from tempoc.sdg.graph.new_dimension import with_dimension
from tempoc.sdg.graph.rewrite import drop_dead
from tempoc.sdg.statements.build import is_computed
from tempoc.symbolic import expr as ix
from tempoc.symbolic.domain import Domain, Universe, slice_count
from tempoc.symbolic.walk import ceildiv, evaluate, is_affine, symbols


@dataclass(frozen=True, slots=True, kw_only=True)
class Tile(GraphPass):
    """Cuts large tensors into tiles."""

    size: int = field(
        default=0,
        metadata={"help": "rows of a tile, also where all fits; 0: by the limit"},
    )
    limit: int = field(default=MODEL.array_bytes, metadata={"help": "bytes that a tensor may take"})
    least: int = field(default=MODEL.tile_rows, metadata={"help": "fewest rows of a tile"})

    name: ClassVar[str] = "tile"

    def run(self, graph: Graph, context: PassContext) -> Graph:
        """The graph with loops over tiles."""
        tried: set[AxisAt] = set()
        own = frozenset(d.name for d in graph.universe.dims)
        for _ in range(EFFORT.tile_rounds):
            tiled = TensorSearch(graph, context, self, tried, own).cut()
            if tiled is None:
                break
            graph = drop_dead(tiled)
        return graph


class TensorSearch:
    """Searches for a region to cut, largest tensor first; ``own`` dimensions are not of tiles."""

    def __init__(
        self,
        graph: Graph,
        context: PassContext,
        options: Tile,
        tried: set[AxisAt],
        own: frozenset[str],
    ) -> None:
        self.graph = graph
        self.context = context
        self.options = options
        self.tried = tried
        self.own = own
        self.usual: dict[int | str, Mapping[str, int]] = {}
        self.weighed: dict[str, tuple[int, int]] = {}
        self.flows = AxisFlows(graph, context.space)
        self.beside, self.pass_name = "", options.name
        self.forward = True

    def cut(self) -> Graph | None:
        """The graph with one more loop over tiles; ``None`` if no region is left to cut."""
        sized = [(self.bytes(n), n) for n in self.graph.nodes if self.is_large(n)]
        starts = [m for _, n in sorted(sized, key=lambda x: -x[0]) for m in self.axes(n)]
        for start in starts:
            first = not any(m.node == start.node for m in self.tried)
            self.tried.add(start)
            region = RegionFinder(flows=self.flows, is_large=self.is_large).region(start)
            self.tried |= {AxisAt(n, flow) for n, flow in region.carriers.items()}
            size = self.size(region)
            why = self.objection(region, size)
            if not why:
                plain = phased_operands(self.flows, region)
                for waits in (operands_in_one_loop(self.flows, region, plain), plain):
                    order = phases(self.flows, region, waits)
                    if order is not None:
                        return self.tiled(start.node, region, waits, order, size)
                why = "what it is made of needs what is made of it"
            self.remark_missed(start.node, why, first)
        return None

    # ------------------------------------------------------------ candidates

    def bytes(self, name: str) -> int:
        """The bytes of a node's largest result, at all points that are vectorized."""
        return self.weight(name)[1]

    def each(self, name: str) -> int:
        """The bytes of a node's largest result at one point."""
        return self.weight(name)[0]

    def weight(self, name: str) -> tuple[int, int]:
        """The bytes at one point and at all vectorized points, memoized."""
        if name not in self.weighed:
            node, at = self.graph.nodes[name], self.at(name)
            each = max((bytes_of(self.longest(t, node), at) for t in node.types), default=0)
            self.weighed[name] = each, each * prod(at[d] + 1 for d in self.together(node))
        return self.weighed[name]

    def together(self, node: Node) -> tuple[str, ...]:
        """The dimensions of a node all points of which count as one tensor."""
        return node.vector

    def longest(self, type_: TensorType, node: Node) -> TensorType:
        """A type with the greatest extents at any point of a node."""
        shape = (self.context.space.upper_bound(e, node.domain) for e in type_.shape)
        return replace(type_, shape=tuple(shape))

    def at(self, name: str) -> Mapping[str, int]:
        """The assumed values of bounds and dimensions for the size of a node."""
        if name not in self.usual:
            count, sizes = len(self.unknown(name)), self.context.sizes
            at = self.usual.get(count) or estimated_sizes(self.graph.universe, count, sizes)
            self.usual |= {count: at, name: at}
        return self.usual[name]

    def unknown(self, name: str) -> tuple[str, ...]:
        """The unknown bounds on which the size of a node depends."""
        node = self.graph.nodes[name]
        names = [s for t in node.types for e in t.shape for s in symbols(e)]
        every = (*names, *self.together(node))
        return unknown_bounds(self.graph.universe, every, self.context.sizes)

    def is_large(self, name: str) -> bool:
        """Whether a tensor exceeds the limit."""
        node = self.graph.nodes[name]
        if not is_computed(node):
            return False
        limit = self.options.limit * (MODEL.starred_excess if node.vector else 1)
        return self.bytes(name) > (0 if self.options.size else limit)

    def axes(self, name: str) -> Iterator[AxisAt]:
        """The axes of a node along which it may be cut and that were not tried."""
        for at in (AxisAt(name, flow) for flow in self.flows.through(name)):
            if not at.flow.is_reduced and at not in self.tried:
                extent = self.flows.extent(at)
                summed = not isinstance(at.flow, VectorDim) or at.flow.dim in self.flows.summed
                if self.is_simple(extent) and summed:
                    yield at

    def is_simple(self, extent: ix.Expr) -> bool:
        """Whether an extent varies, with one dimension at most, and is known before the run.

        An extent that varies with tiles has been cut already; with several dimensions proofs are
        hard.
        """
        names, universe = symbols(extent), self.graph.universe
        dims = [s for s in names if universe.is_dim(s)]
        if not names or not is_affine(extent) or any(s in universe.lengths for s in names):
            return False
        return len(dims) <= 1 and self.own.issuperset(dims)

    # ------------------------------------------------------------ profitability

    def size(self, region: TileRegion) -> int:
        """The rows of a tile: a power of two, so that several of its tensors fit the limit."""
        if self.options.size:
            return self.options.size
        row = max(1, max(self.bytes(n) // self.rows(region, n) for n in region.carriers))
        fitting = max(1, self.options.limit // MODEL.tile_tensors // row)
        least = MODEL.ranged_tile_rows if self.is_ragged(region) else self.options.least
        return max(least, 1 << (fitting.bit_length() - 1))

    def rows(self, region: TileRegion, name: str) -> int:
        """The assumed length of the region's axis at one of its nodes."""
        extent = self.flows.extent(AxisAt(name, region.carriers[name]))
        most = self.context.space.upper_bound(extent, self.graph.nodes[name].domain)
        return max(1, evaluate(most, self.at(name)))

    def objection(self, region: TileRegion, size: int) -> str:
        """Why a region is not cut; empty if cutting it pays."""
        if not any(self.is_temporal(AxisAt(*item)) for item in region.carriers.items()):
            return "the axis comes from no temporal slice"
        turned = any(self.flows.axis_to_dim(n) is not None for n in region.carriers)
        stars = any(isinstance(flow, VectorDim) for flow in region.carriers.values())
        if not region.ends and stars and not turned:
            return "nothing adds up what is computed at once"
        if why := self.in_batches(region) or self.with_steps(region):
            return why
        rows = max(self.rows(region, n) for n in region.carriers)
        if rows <= size:
            return f"{rows} rows are a small tile already"
        if name := self.full_reader(region):
            return f"`{name}` reads all of it at each point"
        if any(len(self.graph.nodes[n].types) > 1 for n in region.materialized):
            return f"`{region.materialized[0]}` is needed as a whole"
        before = {n: self.bytes(n) for n in region.carriers}
        remaining = {
            n: b if n in region.materialized else b * size // self.rows(region, n)
            for n, b in before.items()
        }
        if not self.options.size:  # whoever asks for tiles knows that their operands are stored
            remaining |= {n: self.bytes(n) for n in self.outside(region)}
        if not self.options.size and self.options.limit == MODEL.array_bytes:
            remaining |= self.kept_steps(region)
        if max(remaining.values()) >= max(before.values()):
            most = max(remaining, key=remaining.__getitem__)
            return f"`{most}`, which is as large, is needed as a whole"
        return ""

    def in_batches(self, region: TileRegion) -> str:
        """Why a region with vectorized ranges needs no tiles; empty if it does.

        A kernel computes its intermediate arrays for some points at a time if they are many
        (``codegen/kernels/vmap_batches.py``): only columns that another kernel reads are stored for
        all points.
        """
        if self.options.size or not self.is_ragged(region):
            return ""
        turned = any(self.flows.axis_to_dim(n) is not None for n in region.carriers)
        named, most = self.lengths(region), 0
        for name in region.carriers:
            along = [d for d in self.graph.nodes[name].vector if turned and d in named[name]]
            most = max(most, self.each(name) * prod(self.at(name)[d] + 1 for d in along))
        if most > self.options.limit * (MODEL.starred_excess if turned else 1):
            return ""
        return "of each sequence it is small" if turned else "some points at a time are small"

    def with_steps(self, region: TileRegion) -> str:
        """Why a region is not cut by a guess: a loop would take all its steps for each tile.

        Steps of a recurrence are short, and take hardly longer for all rows. A tensor that is large
        for bounds that are known, or too large for a budget, is cut all the same.
        """
        if self.options.size or self.options.limit != MODEL.array_bytes:
            return ""
        if not any(self.unknown(n) for n in region.carriers):
            return ""
        names = {*region.carriers, *region.ends}
        nodes = [self.graph.nodes[n] for n in names]
        loops = [frozenset(n.domain.dims).difference(n.vector) for n in nodes]
        inner = frozenset[str]().union(*loops).difference(frozenset.intersection(*loops))
        steps = [n for n in region.carriers if isinstance(self.graph.nodes[n].op, Recurrence)]
        if steps or not self.own.isdisjoint(inner):
            loop = f"the recurrence `{steps[0]}`" if steps else f"`{min(inner & self.own)}`"
            return f"all steps of {loop} would be taken for each tile"
        return ""

    def is_ragged(self, region: TileRegion) -> bool:
        """Whether the axis has different lengths at vectorized points."""
        named = self.lengths(region)
        return any(d in named[n] for n in named for d in self.graph.nodes[n].vector)

    def lengths(self, region: TileRegion) -> dict[str, tuple[str, ...]]:
        """The symbols on which the axis' length depends, at each node."""
        every = {**region.carriers, **region.ends}
        return {n: symbols(self.flows.length(AxisAt(n, flow))) for n, flow in every.items()}

    def full_reader(self, region: TileRegion) -> str:
        """A node that reads all points of a dimension that is cut, at each of its own points."""
        for name, flow in {**region.carriers, **region.ends}.items():
            node = self.graph.nodes[name]
            for edge in node.inputs if not isinstance(flow, VectorDim) else ():
                carrier = region.carriers.get(edge.source)
                if isinstance(carrier, VectorDim) and carrier.dim in node.domain.dims:
                    return name
        return ""

    def is_temporal(self, at: AxisAt) -> bool:
        """Whether the axis of a node comes from a temporal slice."""
        if isinstance(at.flow, VectorDim):
            return True
        pairs = zip(self.graph.nodes[at.node].inputs, at.flow.operands, strict=True)
        return any(axis is not None and axis < slice_count(edge.entries) for edge, axis in pairs)

    def outside(self, region: TileRegion) -> Iterator[str]:
        """The large operands outside of the region from which tiles are cut."""
        for name, flow in region.carriers.items():
            at = AxisAt(name, flow)
            for edge, axis in zip(
                self.graph.nodes[name].inputs, self.flows.places(at), strict=True
            ):
                is_vector = isinstance(flow, VectorDim) and any(
                    flow.dim in symbols(e) for e in edge.entries
                )
                inside = region.carriers.get(edge.source) is not None
                if (axis is not None or is_vector) and not inside and self.is_large(edge.source):
                    yield edge.source

    def kept_steps(self, region: TileRegion) -> dict[str, int]:
        """The bytes of all steps of a loop that a step of it reads along the region's axis.

        They are stored whatever is cut, as the keys of a decoder are. If they are no smaller than
        what a step makes of them, tiles hardly save memory. A budget may keep them with the host.
        """
        stored: dict[str, int] = {}
        for name, flow in region.carriers.items():
            node = self.graph.nodes[name]
            loops = {*node.domain.dims}.difference(node.vector)
            at = AxisAt(name, flow)
            for edge, axis in zip(node.inputs, self.flows.places(at), strict=True):
                if axis is None or axis >= slice_count(edge.entries):
                    continue
                if edge.source in region.carriers:
                    continue
                source, usual = self.graph.nodes[edge.source], self.at(name)
                dim = self.flows.sliced(edge, axis)
                if dim in loops.difference(source.vector):
                    own = (d for d in node.vector if self.flows.is_own(edge, d))
                    step = bytes_of(self.longest(source.types[edge.out], source), usual)
                    points = prod(usual[d] + 1 for d in own)
                    stored[edge.source] = step * points * self.rows(region, name)
        return stored

    def remark_missed(self, name: str, why: str, first: bool) -> None:
        """Remark why the first axis of a tensor is not cut, unless a tile size was requested."""
        if first and not self.options.size and not self.graph.nodes[name].vector:
            text = f"`{name}` takes {self.formula(name)}: {why}"
            self.context.remarks.add("tile", text, self.graph.nodes[name].span)

    def whole(self, name: str) -> ix.Expr:
        """The bytes of a node's result, at all points that are vectorized."""
        node = self.graph.nodes[name]
        type_ = self.longest(node.types[0], node)
        bounds = [ix.Sym(self.graph.universe.dim(d).bound) for d in node.vector]
        each = ix.Const(type_.dtype.itemsize)
        return ix.product((each, *bounds, *type_.shape))

    def formula(self, name: str) -> str:
        """The size of a node's result, as text."""
        node = self.graph.nodes[name]
        bounds = [ix.Sym(self.graph.universe.dim(d).bound) for d in node.vector]
        return size_formula(self.longest(node.types[0], node), bounds)

    # ------------------------------------------------------------ cutting

    def tiled(
        self,
        name: str,
        region: TileRegion,
        waits: PhasedOperands,
        order: Mapping[str, int],
        size: int,
    ) -> Graph:
        """The graph with the region in tiles."""
        finder = RunningEndFinder(flows=self.flows, region=region, needs=waits, phases=order)
        running, order = finder.find()
        count = self.count(region, size)
        stars = any(isinstance(flow, VectorDim) for flow in region.carriers.values())
        nodes = (self.graph.nodes[n] for n in (*region.carriers, *region.ends))
        region_dims = {d for n in nodes for d in n.domain.dims}
        universe, tiles = _declared(self.graph, "tile", count, region_dims, self.beside)
        rows = ""
        if stars:
            graph = replace(self.graph, universe=universe)
            beside = self.beside and tiles
            universe, rows = _declared(graph, "row", ix.Const(size), region_dims, beside)
        self.context.declare(universe)
        tiler = NeighbourTiler(
            old=self.graph,
            flows=self.flows,
            region=region,
            phases=order,
            running=running,
            space=self.context.space,
            dim=tiles,
            row=rows,
            size=size,
            forward=self.forward,
            partial=self.is_partial(region),
            is_large=self.is_large,
        )
        text = self.remark(name, size)
        loop = LoopRemark(reason="tile", dim=tiles, nodes=(name,), size=self.uncut(name))
        self.context.remarks.add(self.pass_name, text, self.graph.nodes[name].span, loop)
        for end, how in running.items():
            text = f"`{end}` is summed along with the maximum so far (online softmax)"
            self.context.remarks.add(self.pass_name, text, self.graph.nodes[how.top].span)
        return tiler.build()

    def remark(self, name: str, size: int) -> str:
        """What is said of a region that is cut, which began with a node."""
        return f"`{name}` would take {self.formula(name)}; computed {size} rows at a time"

    def uncut(self, name: str) -> ix.Expr:
        """The bytes that a region which began with a node would take."""
        return self.whole(name)

    def count(self, region: TileRegion, size: int) -> ix.Expr:
        """The number of tiles of the region's longest axis, at least one."""
        space = self.context.space
        every = {**region.carriers, **region.ends}
        longest = dict.fromkeys(
            space.upper_bound(self.flows.length(AxisAt(n, flow)), self.graph.nodes[n].domain)
            for n, flow in every.items()
        )
        extent = ix.maximum(*longest)
        count = ceildiv(extent, size)
        if not space.implies(Domain(()), ix.compare(">=", extent, ix.ONE)):
            count = ix.maximum(ix.ONE, count)
        return count

    def is_partial(self, region: TileRegion) -> bool:
        """Whether a tile count per point is needed: the axis varies at points of loops.

        No such dimension is vectorized.
        """
        named = self.lengths(region)
        stars = {d for n in named for d in self.graph.nodes[n].vector}
        dims = {s for names in named.values() for s in names if self.graph.universe.is_dim(s)}
        return bool(dims) and not dims & stars


def _declared(
    graph: Graph, name: str, count: ix.Expr, own: set[str], beside: str = ""
) -> tuple[Universe, str]:
    """A universe with a dimension of ``count`` points, and the dimension's name.

    It stands right after the dimension ``beside``, else last. An existing dimension of that size is
    reused, unless it is one of ``own``.
    """
    universe = graph.universe
    for dim in universe.dims:
        bound = universe.bound(dim.bound)
        if dim.name.startswith(name) and bound.value == count and dim.name not in own:
            return universe, dim.name
    after = (k for k, d in enumerate(universe.dims, 1) if d.name == beside)
    place = next(after, len(universe.dims))
    universe, dim = with_dimension(graph, universe, name, count, place)
    return universe, dim.name
