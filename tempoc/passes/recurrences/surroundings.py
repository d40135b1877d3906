"""What recurrences of a graph along a dimension are judged by, computed once for all of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

from tempoc.passes.analysis.expansion import Origins, expanding_nodes, origin_sizes
from tempoc.passes.analysis.full_extent import full_extent_nodes
from tempoc.sdg.graph.graph import Graph
from tempoc.sdg.graph.query import OperandUse, users


@dataclass(frozen=True, kw_only=True, eq=False)
class CycleSurroundings:
    """A graph and a dimension; each property walks the whole graph when it is first asked for."""

    graph: Graph
    dim: str

    @cached_property
    def readers(self) -> Mapping[str, Sequence[OperandUse]]:
        """The consumers of each node."""
        return users(self.graph)

    @cached_property
    def origins(self) -> Origins:
        """The elements of which each node makes its result."""
        return origin_sizes(self.graph, self.dim)

    @cached_property
    def expanding(self) -> frozenset[str]:
        """The nodes that make much of little."""
        return expanding_nodes(self.graph, self.dim)

    @cached_property
    def full_extent(self) -> set[str]:
        """The nodes that are stored at all points."""
        return full_extent_nodes(self.graph, self.dim)

    @cached_property
    def full_extent_inside(self) -> set[str]:
        """The nodes that are stored at all points because of other nodes, whatever is an output."""
        return full_extent_nodes(replace(self.graph, outputs=()), self.dim)

    @cached_property
    def along(self) -> set[str]:
        """The nodes that have the dimension."""
        return {n for n, node in self.graph.nodes.items() if self.dim in node.domain.dims}
