"""Padding that no reader sees: columns of ragged tensors are read without it.

    %s = exp %x                          : [t*] f32[t+1]
    %p = pad{widths=((0, T-1-t),)} %s    : [t*] f32[T]
    %c = getitem{entries=((0, T-t, 1), t)} %p[t:T] : [t*] f32[T-t]

becomes

    %s.wide = widen{shape=(T,)} %s       : [t*] f32[T]
    %c = getitem{entries=((0, T-t, 1), t)} %s.wide[t:T] : [t*] f32[T-t]

Derivatives of reads like ``x[0:t+1]`` are sums of such columns. A kernel has ragged arrays at their
full extent anyway, so widening takes nothing, and only one of both tensors is stored: consumers of
``%s`` in other groups read the first elements of ``%s.wide``. Transposes between the tensor and its
padding become another order of the indices.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import NamedTuple

from tempoc.base.names import fresh_name
from tempoc.ops.control.control import Copy
from tempoc.ops.indexing.indexing import SpatialIndex
from tempoc.ops.tensor.movement import Pad, Transpose, Widen
from tempoc.poly.relations.space import Space
from tempoc.sdg.builder import read_of
from tempoc.sdg.graph.graph import Edge, Graph, Node
from tempoc.sdg.graph.query import OperandUse, operand_type, users
from tempoc.sdg.graph.rewrite import drop_dead
from tempoc.sdg.statements.build import identity, is_computed
from tempoc.sdg.verification.verify import DomainFacts
from tempoc.symbolic import expr as ix
from tempoc.symbolic.walk import substitute


class _UnseenPadding(NamedTuple):
    """A node ``pad`` of which only columns of ``edge``, a ragged tensor, are read.

    ``order``: for each axis of the padded tensor the axis of the ragged one.
    """

    pad: Node
    edge: Edge
    order: tuple[int, ...]


def without_padding(
    graph: Graph, homes: Mapping[str, str], space: Space
) -> tuple[Graph, dict[str, str], tuple[Node, ...]]:
    """The graph without padding that nobody sees, the groups of its nodes, and what was padded.

    ``homes`` has the group of each computed node.
    """
    uses = users(graph)
    results = {o.source for o in graph.outputs}
    paddings = [
        padding
        for node in graph.nodes.values()
        if isinstance(node.op, Pad) and node.name in homes and node.name not in results
        if (padding := _padding(graph, node, uses, homes, space)) is not None
    ]
    work = _Widening(graph, dict(homes), uses)
    done = [p.pad for p in paddings if work.widen(p)]
    if not done:
        return graph, dict(homes), ()
    after = drop_dead(replace(graph, nodes=work.result()))
    return after, {n: home for n, home in work.homes.items() if n in after.nodes}, tuple(done)


# ---------------------------------------------------------------- which padding is never seen


def _padding(
    graph: Graph,
    node: Node,
    uses: Mapping[str, tuple[OperandUse, ...]],
    homes: Mapping[str, str],
    space: Space,
) -> _UnseenPadding | None:
    """What a node pads, if all its readers are columns inside of that."""
    assert isinstance(node.op, Pad)
    if any(low != ix.ZERO for low, _ in node.op.widths):
        return None
    padded = [k for k, (_, high) in enumerate(node.op.widths) if high != ix.ZERO]
    shape = operand_type(graph, node.inputs[0]).shape
    readers = [graph.nodes[use.reader] for use in uses[node.name]]
    if not all(_reads_inside(r, node, padded, shape, space) for r in readers):
        return None
    edge, order = node.inputs[0], tuple(range(len(shape)))
    while True:
        source = graph.nodes[edge.source]
        if edge.entries != identity(node.domain) or source.domain != node.domain:
            return None
        if source.name not in homes or source.vector != node.vector:
            return None
        if not isinstance(source.op, Transpose | Copy) or len(uses[source.name]) > 1:
            return _UnseenPadding(node, edge, order)
        if isinstance(source.op, Transpose):
            inner = source.op.order(len(shape))
            order = tuple(inner[k] for k in order)
        (edge,) = source.inputs


def _reads_inside(
    reader: Node, node: Node, padded: Sequence[int], shape: Sequence[ix.Expr], space: Space
) -> bool:
    """Whether a node reads columns of a padded tensor that were there before, whose extents are
    ``shape``."""
    edge = next((e for e in reader.inputs if e.source == node.name), None)
    if edge is None or len(reader.inputs) != 1 or not isinstance(reader.op, SpatialIndex):
        return False
    own = identity(node.domain)
    away = [k for k, (e, i) in enumerate(zip(edge.entries, own, strict=True)) if e != i]
    if len(away) != 1 or reader.op.gathers:
        return False
    dim, rows = node.domain.dims[away[0]], edge.entries[away[0]]
    if not isinstance(rows, ix.Slice) or rows.step != 1 or not {*reader.vector} >= {dim}:
        return False
    facts = DomainFacts(space, reader.domain)
    for k in padded:
        place = reader.op.entries[k + 1]
        growth = ix.sub(substitute(shape[k], {dim: ix.add(ix.Sym(dim), ix.ONE)}), shape[k])
        least = substitute(shape[k], {dim: rows.lo})
        if not isinstance(place, ix.Expr) or not isinstance(growth, ix.Const) or growth.value < 0:
            return False
        inside = ix.compare(">=", place, ix.ZERO), ix.compare("<", place, least)
        if not facts.holds(ix.conjunction(*inside)):
            return False
    return True


# ---------------------------------------------------------------- the rewrite


@dataclass(slots=True)
class _Widening:
    """A graph under rewriting; ``placed`` has new nodes to insert before or after others."""

    graph: Graph
    homes: dict[str, str]
    uses: Mapping[str, tuple[OperandUse, ...]]
    nodes: dict[str, Node] = field(default_factory=dict)
    before: dict[str, list[Node]] = field(default_factory=dict)
    after: dict[str, list[Node]] = field(default_factory=dict)

    def widen(self, padding: _UnseenPadding) -> bool:
        """Read a tensor without its padding; whether that was possible."""
        readers = [self.graph.nodes[use.reader] for use in self.uses[padding.pad.name]]
        parts = [_reordered(r, padding.order) for r in readers]
        if not all(part is not None for part in parts):
            return False
        source = self.graph.nodes[padding.edge.source]
        shape = padding.pad.types[0].shape
        places = [padding.order.index(k) for k in range(len(shape))]
        wide = replace(
            padding.pad,
            name=self.fresh(f"{source.name}.wide"),
            op=Widen(shape=tuple(shape[k] for k in places)),
            inputs=(padding.edge,),
            types=(replace(padding.pad.types[0], shape=tuple(shape[k] for k in places)),),
        )
        self.homes[wide.name] = self.homes[source.name]
        self.after.setdefault(source.name, []).append(wide)
        for reader, part in zip(readers, parts, strict=True):
            (edge,) = reader.inputs
            edge = replace(edge, source=wide.name, out=0)
            self.nodes[reader.name] = replace(reader, op=part or reader.op, inputs=(edge,))
        self.narrow(source, padding, wide)
        return True

    def narrow(self, source: Node, padding: _UnseenPadding, wide: Node) -> None:
        """Let consumers in other groups read the wide tensor, unless the other is stored anyway."""
        home = self.homes[source.name]
        outward = [
            use
            for use in self.uses[source.name]
            if self.homes.get(use.reader) != home and use.reader != padding.pad.name
        ]
        readers = [self.graph.nodes[use.reader] for use in outward]
        edges = [r.inputs[use.slot] for r, use in zip(readers, outward, strict=True)]
        sliced = any(isinstance(e, ix.Slice) for edge in edges for e in edge.entries)
        stored = any(o.source == source.name for o in self.graph.outputs)
        if stored or sliced or not all(r.name in self.homes and is_computed(r) for r in readers):
            return
        narrow: dict[tuple[str, Edge], Node] = {}
        for use, edge in zip(outward, edges, strict=True):
            if edge.out != padding.edge.out:
                continue
            reader = self.nodes.get(use.reader, self.graph.nodes[use.reader])
            key = self.homes[reader.name], edge
            if key not in narrow:
                narrow[key] = self.first_elements(reader, edge, wide)
            inputs = list(reader.inputs)
            inputs[use.slot] = read_of(narrow[key])
            self.nodes[reader.name] = replace(reader, inputs=tuple(inputs))

    def first_elements(self, reader: Node, edge: Edge, wide: Node) -> Node:
        """The tensor that was widened, in the group of a reader."""
        type_ = operand_type(self.graph, edge)
        node = replace(
            reader,
            name=self.fresh(f"{edge.source}.of.{self.homes[reader.name]}"),
            op=SpatialIndex(entries=tuple((ix.ZERO, e, 1) for e in type_.shape)),
            inputs=(replace(edge, source=wide.name, out=0),),
            types=(type_,),
        )
        self.homes[node.name] = self.homes[reader.name]
        self.before.setdefault(reader.name, []).append(node)
        return node

    def fresh(self, name: str) -> str:
        """A name that no other node has."""
        return fresh_name(name, self.graph.nodes, self.homes)

    def result(self) -> dict[str, Node]:
        """All nodes, new ones in place."""
        nodes: dict[str, Node] = {}
        for name, node in self.graph.nodes.items():
            every = (
                *self.before.get(name, ()),
                self.nodes.get(name, node),
                *self.after.get(name, ()),
            )
            nodes |= {n.name: n for n in every}
        return nodes


def _reordered(reader: Node, order: Sequence[int]) -> SpatialIndex | None:
    """The index of a reader for axes in another order; ``None`` if that changes the result."""
    assert isinstance(reader.op, SpatialIndex)
    first, *rest = reader.op.entries
    entries = [rest[order.index(k)] for k in range(len(order))]
    ranges = [k for k in order if isinstance(entries[k], tuple)]
    return SpatialIndex(entries=(first, *entries)) if ranges == sorted(ranges) else None
