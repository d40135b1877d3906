"""What is too large is computed tile by tile, along an axis that a temporal slice introduced.

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

so that no more than 512 rows of ``%z`` are there at any time. The axis is followed through the
operators that keep it (``axes.py``, ``region.py``); where it is reduced, what is found for the
tiles is combined (``combine.py``); what others need with the axis is put together again
(``cut.py``). A batch that comes from a slice is cut into microbatches that way, and gradients are
accumulated.

What two loops over tiles need is made in both, so duplicates must not be looked for afterwards.

Nothing is cut that fits into ``limit`` bytes, nor where the largest tensor would not become
smaller, nor below ``least`` rows. Sizes are estimates (``sizes.py``).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from math import prod
from typing import ClassVar

from tempoc.base.source import Span
from tempoc.passes.axes import Link
from tempoc.passes.context import PassContext
from tempoc.passes.cut import Cutter
from tempoc.passes.region import Finder, Meeting, Region, Ways, phases, slices
from tempoc.passes.sizes import bytes_of, formula, usual
from tempoc.sdg.build import is_computed
from tempoc.sdg.graph import Graph, Node
from tempoc.sdg.rewrite import drop_dead
from tempoc.symbolic.domain import Bound, Dim, Domain, Universe
from tempoc.symbolic.expr import ONE, Expr, compare, maximum
from tempoc.symbolic.walk import ceildiv, evaluate, is_affine, symbols

ROUNDS = 8
"""The most loops over tiles that one program gets."""
TENSORS = 8
"""How many tensors of a tile's size the limit leaves room for."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Tile:
    """Cuts large tensors into tiles."""

    size: int = field(
        default=0,
        metadata={"help": "rows of a tile, also where all fits; 0: by the limit"},
    )
    limit: int = field(default=64 << 20, metadata={"help": "bytes that a tensor may take"})
    least: int = field(default=16, metadata={"help": "fewest rows of a tile"})

    name: ClassVar[str] = "tile"
    needs: ClassVar[tuple[str, ...]] = ()
    gives: ClassVar[tuple[str, ...]] = ()
    before: ClassVar[tuple[str, ...]] = ("groups",)

    def run(self, graph: Graph, context: PassContext) -> Graph:
        """The graph with loops over tiles."""
        tried: set[tuple[str, Link]] = set()
        for _ in range(ROUNDS):
            found = _Search(graph, context, self, tried).cut()
            if found is None:
                break
            graph = drop_dead(found)
        return graph


class _Search:
    """Looks for something to cut, the largest tensor first."""

    def __init__(
        self, graph: Graph, context: PassContext, options: Tile, tried: set[tuple[str, Link]]
    ) -> None:
        self.graph = graph
        self.context = context
        self.options = options
        self.tried = tried
        self.at = usual(graph.universe)
        self.ways = Ways(graph, context.space)

    def cut(self) -> Graph | None:
        """The graph with one more loop over tiles; ``None`` if there is nothing left to cut."""
        sized = [(self.bytes(n), n) for n in self.graph.nodes if self.is_large(n)]
        starts = [(n, k) for _, n in sorted(sized, key=lambda x: -x[0]) for k in self.axes(n)]
        for name, link in starts:
            first = not any(n == name for n, _ in self.tried)
            self.tried.add((name, link))
            finder = Finder(ways=self.ways, is_large=self.is_large)
            region = finder.region(name, link, self.extent(name, link))
            self.tried |= {*region.kept.items()}
            size = self.size(region)
            why = self.against(region, size)
            if not why:
                order = phases(self.ways, region)
                if order is not None:
                    return self.tiled(name, region, order, size)
                why = "what it is made of needs what is made of it"
            self.missed(name, why, first)
        return None

    # ------------------------------------------------------------ where to begin

    def bytes(self, name: str) -> int:
        """The bytes of the largest result of a node, at all points that are computed at once."""
        node = self.graph.nodes[name]
        each = max((bytes_of(t, self.at) for t in node.types), default=0)
        return each * prod(self.at[d] for d in node.vector)

    def is_large(self, name: str) -> bool:
        """Whether a tensor shall not be there as a whole."""
        if not is_computed(self.graph.nodes[name]):
            return False
        return self.bytes(name) > (0 if self.options.size else self.options.limit)

    def axes(self, name: str) -> Iterator[Link]:
        """The axes of a node along which it may be cut, and which were not tried."""
        for link in self.ways.links(name):
            if not link.is_reduced and (name, link) not in self.tried:
                extent = self.extent(name, link)
                dims = [s for s in symbols(extent) if self.graph.universe.is_dim(s)]
                varies = any(s in self.graph.universe.lengths for s in symbols(extent))
                if not dims and not varies and is_affine(extent):
                    yield link

    def extent(self, name: str, link: Link) -> Expr:
        """The extent of an axis."""
        out, axis = next((k, a) for k, a in enumerate(link.results) if a is not None)
        return self.graph.nodes[name].types[out].shape[axis]

    # ------------------------------------------------------------ whether it is worth it

    def size(self, region: Region) -> int:
        """How many rows a tile has: a power of two, so that several of its tensors fit."""
        if self.options.size:
            return self.options.size
        rows = max(1, evaluate(region.extent, self.at))
        row = max(1, max(self.bytes(n) for n in region.kept) // rows)
        fitting = max(1, self.options.limit // TENSORS // row)
        return max(self.options.least, 1 << (fitting.bit_length() - 1))

    def against(self, region: Region, size: int) -> str:
        """Why a region stays as it is; empty if it is worth cutting."""
        if not any(
            axis < slices(edge)
            for name, link in region.kept.items()
            for edge, axis in self.ways.along(Meeting(name, link))
        ):
            return "the axis comes from no temporal slice"
        rows = evaluate(region.extent, self.at)
        if rows <= size:
            return f"{rows} rows are a small tile already"
        if any(len(self.graph.nodes[n].types) > 1 for n in region.whole):
            return f"`{region.whole[0]}` is needed as a whole"
        before = {n: self.bytes(n) for n in region.kept}
        left = {n: b if n in region.whole else b * size // rows for n, b in before.items()}
        left |= {n: self.bytes(n) for n in self.outside(region)}
        if max(left.values()) >= max(before.values()):
            most = max(left, key=left.__getitem__)
            return f"`{most}`, which is as large, is needed as a whole"
        return ""

    def outside(self, region: Region) -> Iterator[str]:
        """The large tensors from which tiles are cut out, which must be there."""
        for name, link in region.kept.items():
            for edge, axis in self.ways.along(Meeting(name, link)):
                inside = axis < slices(edge) or edge.source in region.kept
                if not inside and self.is_large(edge.source):
                    yield edge.source

    def missed(self, name: str, why: str, first: bool) -> None:
        """Say why the first axis of a tensor is not cut, unless tiles were asked for."""
        if first and not self.options.size:
            text = f"`{name}` takes {self.formula(name)} bytes: {why}"
            self.context.remarks.add("tile", text, _span(self.graph.nodes[name]))

    def formula(self, name: str) -> str:
        """The bytes of a node's result as text."""
        return formula(self.graph.nodes[name].types[0])

    # ------------------------------------------------------------ cutting

    def tiled(self, name: str, region: Region, order: Mapping[str, int], size: int) -> Graph:
        """The graph with the region in tiles."""
        space = self.context.space
        count = ceildiv(region.extent, size)
        if not space.implies(Domain(()), compare(">=", region.extent, ONE)):
            count = maximum(ONE, count)
        universe, dim = _declared(self.graph, count)
        self.context.declare(universe)
        cutter = Cutter(
            ways=self.ways,
            region=region,
            phases=order,
            space=self.context.space,
            dim=dim,
            size=size,
            is_large=self.is_large,
        )
        text = f"`{name}` would take {self.formula(name)} bytes; computed {size} rows at a time"
        self.context.remarks.add("tile", text, _span(self.graph.nodes[name]))
        return cutter.cut()


def _declared(graph: Graph, count: Expr) -> tuple[Universe, str]:
    """The dimensions of the graph with one for so many tiles, which may be there already."""
    universe = graph.universe
    for dim in universe.dims:
        bound = next(b for b in universe.bounds if b.name == dim.bound)
        if dim.name.startswith("tile") and bound.value == count:
            return universe, dim.name
    taken = {*graph.nodes, *(b.name for b in universe.bounds), *(d.name for d in universe.dims)}
    number = ""
    while {f"tile{number}", f"tiles{number}"} & taken:
        number = str(int(number or "1") + 1)
    bound = Bound(name=f"tiles{number}", value=count)
    dim = Dim(name=f"tile{number}", bound=bound.name)
    declared = replace(universe, bounds=(*universe.bounds, bound), dims=(*universe.dims, dim))
    return declared, dim.name


def _span(node: Node) -> Span | None:
    return node.spans[0] if node.spans else None
