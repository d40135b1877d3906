"""The base of passes, and their context: everything that they get besides the graph."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import ClassVar, NamedTuple

from tempoc.pipeline.step import Remark, Remarks
from tempoc.poly.relations.space import Space
from tempoc.sdg.graph.graph import Graph
from tempoc.symbolic.domain import Universe


class VectorizedGraph(NamedTuple):
    """A memoized run of `vectorize`: the resulting graph and its remarks."""

    graph: Graph
    remarks: tuple[Remark, ...]


@dataclass(slots=True)
class PassContext:
    """The polyhedral space of the current graph, and a collector of remarks.

    ``size_hints`` are values of bounds to optimize for; the program must be correct for all others.
    ``sizes_used``: whether a pass has read them, so that its result depends on them.
    ``vectorized`` memoizes runs of `vectorize`.
    """

    space: Space
    remarks: Remarks = field(default_factory=Remarks)
    vectorized: list[VectorizedGraph] = field(default_factory=list)
    size_hints: Mapping[str, int] = field(default_factory=dict)
    sizes_used: bool = False

    @property
    def sizes(self) -> Mapping[str, int]:
        """Values of bounds to optimize for; a pass that reads them depends on them."""
        self.sizes_used = True
        return self.size_hints

    def copy(self) -> PassContext:
        """An independent copy: remarks added to it do not appear in this one."""
        remarks = Remarks(entries=[*self.remarks.entries])
        return replace(self, remarks=remarks, vectorized=[*self.vectorized])

    def declare(self, universe: Universe) -> None:
        """Use these dimensions and bounds from now on."""
        if universe != self.space.universe:
            self.space = Space(universe, limits=self.space.frame.limits)


@dataclass(frozen=True, slots=True, kw_only=True)
class GraphPass:
    """The base of passes: by default one needs and gives nothing, and runs before `fuse`.

    Passes without options inherit how they are compared: a dataclass of its own takes 0.4 ms to
    make, at every start.
    """

    needs: ClassVar[tuple[str, ...]] = ()
    gives: ClassVar[tuple[str, ...]] = ()
    before: ClassVar[tuple[str, ...]] = ("groups",)
