"""Nodes with large points are computed one point at a time, where a loop runs anyway.

    %h = step %h[t-1], ...     : [b*, t]  f32[64]     (a loop over t)
    %d = where %h, ...         : [b*, t*] f32[64]
    %v = sum %h                : [b*, t*] f32
    ->
    %d = where %h, ...         : [b*, t]  f32[64]
    %v = sum %h                : [b*, t]  f32

A node loses its star along a dimension over which other nodes loop, if its result at a point, or an
operand that varies with the point, takes at least ``piece`` bytes. Then not all points need to be
on the device at once: they may be offloaded to the host, or their buffer be reused. Small nodes
keep their star, and so do dimensions without a loop. The meaning of a node does not change.

`accumulate` turns sums over such a dimension into running sums. Sizes are estimates
(``analysis/size_estimate.py``) and count all points of the other vectorized dimensions.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from math import prod
from typing import ClassVar

from tempoc.base.cost_model import MODEL
from tempoc.passes.analysis.size_estimate import bytes_of, estimated_sizes
from tempoc.passes.analysis.summands import Summand, nested, summands
from tempoc.passes.context import GraphPass, PassContext
from tempoc.passes.memory.accumulate_benefit import vectorized_dims
from tempoc.poly.relations.space import Space
from tempoc.sdg.graph.graph import Graph, Node
from tempoc.sdg.graph.query import operand_types
from tempoc.sdg.statements.branches import enclosing_conds
from tempoc.sdg.statements.build import is_computed
from tempoc.symbolic.walk import symbols


@dataclass(frozen=True, slots=True, kw_only=True)
class Serialize(GraphPass):
    """Removes the stars of nodes with large points, where others loop."""

    piece: int = field(
        default=MODEL.point_bytes, metadata={"help": "bytes of a point that are worth a step"}
    )

    name: ClassVar[str] = "walk"

    def run(self, graph: Graph, context: PassContext) -> Graph:
        """The graph with fewer stars."""
        at = estimated_sizes(graph.universe, size_hints=context.sizes)
        loops = looping_dims(graph, context.space)
        nodes = dict(graph.nodes)
        for name, node in graph.nodes.items():
            large = [
                d
                for d in node.vector
                if d in loops and bytes_at_point(graph, node, d, at) >= self.piece
            ]
            if large:
                vector = tuple(d for d in node.vector if d not in large)
                nodes[name] = replace(node, vector=vector)
                message = f"`{name}` step by step in {', '.join(large)}"
                context.remarks.add(self.name, message, node.span)
        return replace(graph, nodes=nodes)


def looping_dims(graph: Graph, space: Space) -> frozenset[str]:
    """The dimensions over which some node loops, with more points than one."""
    dims: set[str] = set()
    for node in filter(is_computed, graph.nodes.values()):
        loops = [d for d in node.domain.dims if d not in dims and d not in node.vector]
        dims |= {d for d in loops if not space.is_fixed_by(node.domain, d)}
    return frozenset(dims)


def bytes_at_point(graph: Graph, node: Node, dim: str, at: Mapping[str, int]) -> int:
    """The bytes of the largest result, or varying operand, of a node at a point of a dimension."""
    return max(_operand_bytes(graph, node, dim, at), default=0)


def _operand_bytes(graph: Graph, node: Node, dim: str, at: Mapping[str, int]) -> Iterator[int]:
    others = [d for d in node.vector if d != dim]
    points = prod(at[d] + 1 for d in others)
    yield from (points * bytes_of(t, at) for t in node.types)
    for edge, type_ in zip(node.inputs, operand_types(graph, node), strict=True):
        named = {s for e in edge.entries for s in symbols(e)}
        if dim in named:
            yield prod(at[d] + 1 for d in others if d in named) * bytes_of(type_, at)


def large_sums(graph: Graph, context: PassContext, least: int) -> dict[str, list[Summand]]:
    """Sums over dimensions with a loop whose summands take at least ``least`` bytes.

    As running sums they need only one summand at a time.
    """
    at, loops = (
        estimated_sizes(graph.universe, size_hints=context.sizes),
        looping_dims(graph, context.space),
    )
    lazy = enclosing_conds(graph)
    large: dict[str, list[Summand]] = {}
    for node in graph.nodes.values():
        if node.name not in lazy and len(node.types) == 1:
            along = [t for t in summands(graph, node) if t.dim in loops]
            large_terms = [t for t in along if _term_bytes(graph, node, t, at) >= least]
            large |= {node.name: nested(graph, large_terms)} if large_terms else {}
    return large


def _term_bytes(graph: Graph, node: Node, term: Summand, at: Mapping[str, int]) -> int:
    """The bytes of a summand at a point, not counting operands that are vectorized."""
    looping = tuple(e for e in term.inputs if term.dim not in vectorized_dims(graph, e.source))
    return bytes_at_point(graph, replace(node, inputs=looping, types=()), term.dim, at)
