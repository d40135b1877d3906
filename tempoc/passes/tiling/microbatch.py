"""Cuts vectorized tensors into tiles that are large only together: microbatches.

    %h = tanh %z              : [t*, b*] f32[64]        what a layer computes, of all points
    %e = mul %g, %s           : [t*, b*] f32[64]        its cotangent
    %d = einsum %e[0:T, 0:B], %h[0:T, 0:B] : [] f32[64, 64]

Each of these fits, but a network has many, and a derivative needs all of them at once. So one loop
over tiles of ``t`` computes the rows of all of them, forward and backward, and adds up what they
contribute to ``%d``. How tiles are made is the same as in `tile`, but here the region
(``region.py``) has all operands of products along the dimension, and a tile's rows are few enough
for its tensors to stay in a cache.

What a loop over ``t`` has computed is stored for all its points if the tiles read it. Large tensors
of that kind are computed again for a tile (``vectorized_again.py``) if what they are computed from
is small, or is stored anyway:

    %h = tanh %z : [t, b*] f32[64]           ->       %h.again = tanh %z.again : [t*, b*] f32[64]

If a loop over tiles would compute large tensors again that an earlier one has computed, since what
it reads comes from a scan along the dimension, or from a neighbouring point, of what that one made,
the two become one where that is possible: it runs in the direction of the scan (``neighbours.py``).
Not where each kernel is launched: a tile of a scan takes many small ones.

Tensors that fit into ``limit`` bytes together are not cut. Sizes are estimates
(``analysis/size_estimate.py``).
"""

from __future__ import annotations

from collections.abc import Container, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from math import prod
from typing import ClassVar, NamedTuple

from tempoc.base.cost_model import MODEL
from tempoc.passes.analysis.size_estimate import unknown_bounds
from tempoc.passes.context import GraphPass, PassContext
from tempoc.passes.running_recurrence import LoopEnds
from tempoc.passes.tiling.axis_flow import AxisAt, AxisFlows, VectorDim
from tempoc.passes.tiling.neighbours import (
    NeighbourNode,
    ends_of,
    neighbour_nodes,
    with_selected_ends,
)
from tempoc.passes.tiling.region import (
    PhasedOperands,
    RegionFinder,
    TileRegion,
    computed_in,
    late_operands,
    operands_in_one_loop,
    phased_operands,
    phases,
)
from tempoc.passes.tiling.tile import TensorSearch, Tile
from tempoc.passes.tiling.vectorized_again import reads_at_once, vectorized_again
from tempoc.sdg.graph.graph import Graph, Node
from tempoc.sdg.graph.query import node_operations
from tempoc.sdg.graph.rewrite import drop_dead
from tempoc.sdg.statements.build import is_computed
from tempoc.symbolic import expr as ix
from tempoc.symbolic.walk import evaluate, symbols

Loops = tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Microbatch(GraphPass):
    """Cuts a vectorized dimension into tiles where large operands of products have it."""

    size: int = field(
        default=0,
        metadata={"help": "rows of a tile, also where all fits; 0: by the limit"},
    )
    limit: int = field(
        default=MODEL.microbatch_bytes, metadata={"help": "bytes that all operands may take"}
    )

    launched: bool = field(
        default=False, metadata={"help": "each kernel is launched: scans are not cut into tiles"}
    )

    name: ClassVar[str] = "microbatch"

    def run(self, graph: Graph, context: PassContext) -> Graph:
        """The graph with a loop over tiles, of the first dimension that may be cut."""
        for dim in graph.universe.dims:
            for loops in _loops(graph, dim.name):
                search = _MicrobatchSearch(graph, context, self, dim.name, loops)
                if (cut := search.cut()) is not None:
                    return drop_dead(cut)
        return graph


def _loops(graph: Graph, dim: str) -> tuple[Loops, ...]:
    """The loops around the nodes that are vectorized along a dimension."""
    nodes = (n for n in graph.nodes.values() if dim in n.vector and is_computed(n))
    return tuple(dict.fromkeys(_loops_of(n) for n in nodes))


def _loops_of(node: Node) -> Loops:
    return tuple(d for d in node.domain.dims if d not in node.vector)


class _Plan(NamedTuple):
    """How a dimension is cut; ``again``: operations of large nodes in further loops over tiles."""

    start: str
    region: TileRegion
    waits: PhasedOperands
    order: Mapping[str, int]
    size: int
    again: int


class _MicrobatchSearch(TensorSearch):
    """The large tensors of a dimension, within the same loops, as one region.

    ``wide`` are the nodes at all points of which there are about as many bytes as in the widest.
    """

    def __init__(
        self, graph: Graph, context: PassContext, options: Microbatch, dim: str, loops: Loops
    ) -> None:
        own = frozenset(d.name for d in graph.universe.dims)
        super().__init__(graph, context, Tile(size=options.size, limit=options.limit), set(), own)
        self.flow = VectorDim(dim)
        self.launched = options.launched
        self.within = loops
        self.beside, self.pass_name = dim, options.name
        self.least_bytes = 0 if options.size else options.limit
        self.wide = self.wide_nodes()

    def wide_nodes(self) -> dict[str, None]:
        """The nodes along the dimension with the largest results, tensors of merges among them."""
        along = [n.name for n in self.graph.nodes.values() if self.is_along(n)]
        widest = max(map(self.bytes, along), default=0)
        wide = (n for n in along if self.bytes(n) * MODEL.wide_factor >= widest)
        return dict.fromkeys(wide)

    def is_along(self, node: Node) -> bool:
        """Whether a node is computed at points of the dimension, within the loops."""
        loops = tuple(d for d in _loops_of(node) if d != self.flow.dim)
        return self.flow.dim in node.domain.dims and loops == self.within

    def together(self, node: Node) -> tuple[str, ...]:
        """The dimensions of a node all points of which count as one tensor: this one as well."""
        more = (self.flow.dim,) if self.flow.dim in node.domain.dims else ()
        return tuple(dict.fromkeys((*node.vector, *more)))

    def is_large(self, name: str) -> bool:
        """Whether a tensor belongs to the region."""
        node = self.graph.nodes[name]
        return name in self.wide and self.flow.dim in node.vector and is_computed(node)

    def operands(self) -> Iterator[str]:
        """The wide nodes of which all points are stored at once.

        Those are vectorized operands of products, and what vectorized nodes read of a loop.
        """
        for name in self.wide:
            uses = self.flows.uses[name]
            if self.flow.dim in self.graph.nodes[name].vector:
                is_stored = any(self.graph.nodes[use.reader].op.contraction for use in uses)
            else:
                is_stored = reads_at_once(self.graph, uses, self.flow.dim)
            if is_stored:
                yield name

    def cut(self) -> Graph | None:
        """The graph with a loop over tiles; ``None`` if the dimension is not cut."""
        stored = [*self.operands()]
        if self.flow.dim not in self.flows.summed or not stored or not self.is_sequence():
            return None
        if sum(map(self.bytes, stored)) <= self.least_bytes:
            return None
        self.use(
            vectorized_again(self.graph, self.flow.dim, self.within, self.wide, self.is_affordable)
        )
        graph, best = self.graph, self.plan()
        if best is None:
            return None
        directions = (False, True) if best.again and not self.launched else ()
        for forward in directions:
            ends = ends_of(graph, self.flow.dim, forward=forward)
            plan = self.plan_with_neighbours(graph, ends)
            if plan is not None and plan.again < best.again:
                return self.tiled(plan.start, plan.region, plan.waits, plan.order, plan.size)
        if directions:
            self.use(graph)
        return self.tiled(best.start, best.region, best.waits, best.order, best.size)

    def plan_with_neighbours(self, graph: Graph, ends: LoopEnds) -> _Plan | None:
        """How the dimension is cut if tiles find what the tile before in a loop has computed."""
        graph = with_selected_ends(graph, self.context.space, ends)
        neighbours = neighbour_nodes(graph, ends)
        if not neighbours:
            return None
        self.use(graph, neighbours, forward=ends.forward)
        plan = self.plan()
        if plan is None or self.is_partial(plan.region):
            return None
        stops = late_operands(self.flows, plan.region, plan.order, self.is_large)
        self.use(graph, neighbours, stops, forward=ends.forward)
        return self.plan()

    def plan(self) -> _Plan | None:
        """How the dimension is cut; ``None`` if it is not."""
        starts = [AxisAt(n, self.flow) for n in self.graph.nodes if self.is_start(n)]
        if not starts:
            return None
        region = RegionFinder(flows=self.flows, is_large=self.is_large).region(*starts)
        size = self.size(region)
        if self.objection(region, size):
            return None
        plain = phased_operands(self.flows, region)
        for waits in (operands_in_one_loop(self.flows, region, plain), plain):
            order = phases(self.flows, region, waits)
            if order is not None:
                computed = computed_in(self.flows, region, order, self.is_large)
                large = ((n, len(k) - 1) for n, k in computed.items() if self.is_large(n))
                again = sum(more * self.work(n) for n, more in large if more > 0)
                return _Plan(starts[0].node, region, waits, order, size, again)
        return None

    def is_sequence(self) -> bool:
        """Whether some nodes have a loop over the dimension: of a batch, which may be small, no one
        knows whether it is worth it."""
        nodes = self.graph.nodes.values()
        loops = any(self.flow.dim in _loops_of(n) and is_computed(n) for n in nodes)
        return loops or bool(self.options.size)

    def is_affordable(self, names: Sequence[str], replaced: Sequence[str]) -> bool:
        """Whether some nodes are computed about as fast as others are written and read."""
        if self.options.size:
            return True
        flops = sum(self.work(name) for name in names)
        moved = 2 * sum(self.bytes(name) for name in replaced)
        return flops / MODEL.flops_per_ns <= MODEL.again_factor * moved / MODEL.bytes_per_ns

    def work(self, name: str) -> int:
        """The operations of a node at all points."""
        node, at = self.graph.nodes[name], self.at(name)
        each = evaluate(node_operations(self.graph, node), at)
        return each * prod(at[d] + 1 for d in self.together(node))

    def is_start(self, name: str) -> bool:
        """Whether the region begins with a node."""
        return self.is_large(name) and self.flow in self.flows.through(name)

    def use(
        self,
        graph: Graph,
        neighbours: Mapping[str, NeighbourNode] | None = None,
        stops: Container[str] = (),
        *,
        forward: bool = True,
    ) -> None:
        """Search in a graph with further nodes, which take part like those they were made from."""
        self.graph = graph
        self.usual, self.weighed = {}, {}
        self.flows = AxisFlows(graph, self.context.space, neighbours, stops)
        self.forward = forward
        self.wide = self.wide_nodes()

    def size(self, region: TileRegion) -> int:
        """The rows of a tile: a power of two, so that its tensors stay in a cache."""
        if self.options.size:
            return self.options.size
        row = max(1, max(self.bytes(n) // self.rows(region, n) for n in region.carriers))
        fewest = MODEL.guessed_rows if any(map(self.is_guessed, region.carriers)) else 1
        return 1 << (max(fewest, MODEL.cached_bytes // row).bit_length() - 1)

    def is_guessed(self, name: str) -> bool:
        """Whether the size of a row varies with bounds of which only a run knows the value."""
        node = self.graph.nodes[name]
        names = [s for t in node.types for e in t.shape for s in symbols(e)]
        names += [d for d in self.together(node) if d != self.flow.dim]
        return bool(unknown_bounds(self.graph.universe, names, self.context.sizes))

    def objection(self, region: TileRegion, size: int) -> str:
        """Why the region is not cut; empty if cutting it pays."""
        if not region.ends:
            return "nothing adds up what is computed at once"
        if name := self.full_reader(region):
            return f"`{name}` reads all of it at each point"
        if any(len(self.graph.nodes[n].types) > 1 for n in region.materialized):
            return f"`{region.materialized[0]}` is needed as a whole"
        rows = max(self.rows(region, n) for n in region.carriers)
        if rows <= size and not self.options.size:
            return f"{rows} rows are a small tile already"
        stored = {*self.operands()}
        tiled = {n for n in stored & region.carriers.keys() if n not in region.materialized}
        if 2 * sum(map(self.bytes, tiled)) <= sum(map(self.bytes, stored)):
            return "much of what is stored is needed as a whole"
        return ""

    def remark(self, name: str, size: int) -> str:
        """How many tensors are cut, and how large the widest is."""
        operands = self.tiled_operands()
        widest = max(operands, key=self.bytes)
        text = (
            f"{len(operands)} operands of products, each of {self.formula(widest)} at most, would"
        )
        return f"{text} be live together; computed {size} rows of `{self.flow.dim}` at a time"

    def uncut(self, name: str) -> ix.Expr:
        """The bytes of all operands that are cut."""
        return ix.add(*map(self.whole, self.tiled_operands()))

    def tiled_operands(self) -> list[str]:
        """The operands of products that are cut."""
        return [n for n in self.operands() if self.is_large(n)]
