"""What passes are given besides the graph."""

from __future__ import annotations

from dataclasses import dataclass, field

from tempoc.pipeline.step import Remarks
from tempoc.poly.space import Space
from tempoc.symbolic.domain import Universe


@dataclass(slots=True)
class PassContext:
    """The polyhedral space of the graph at hand, and a place for remarks."""

    space: Space
    remarks: Remarks = field(default_factory=Remarks)

    def declare(self, universe: Universe) -> None:
        """From here on the graph has these dimensions and bounds."""
        if universe != self.space.universe:
            self.space = Space(universe)
