"""What passes are given besides the graph."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import NamedTuple

from tempoc.pipeline.step import Remark, Remarks
from tempoc.poly.relations.space import Space
from tempoc.sdg.graph.graph import Graph
from tempoc.symbolic.domain import Universe


class Starred(NamedTuple):
    """What `vectorize` made of a graph, and what it said; to do it again gives the same."""

    graph: Graph
    remarks: tuple[Remark, ...]


@dataclass(slots=True)
class PassContext:
    """The polyhedral space of the graph at hand, and a place for remarks.

    ``told`` are values of bounds for which the program is compiled; it must be right for others.
    ``asked``: whether a pass has looked at them.
    """

    space: Space
    remarks: Remarks = field(default_factory=Remarks)
    starred: list[Starred] = field(default_factory=list)
    told: Mapping[str, int] = field(default_factory=dict)
    asked: bool = False

    @property
    def sizes(self) -> Mapping[str, int]:
        """Values of bounds for which the program is compiled."""
        self.asked = True
        return self.told

    def copy(self) -> PassContext:
        """The same for another run, as it is here."""
        said = Remarks(found=[*self.remarks.found])
        return replace(self, remarks=said, starred=[*self.starred])

    def declare(self, universe: Universe) -> None:
        """From here on the graph has these dimensions and bounds."""
        if universe != self.space.universe:
            self.space = Space(universe)
