"""What passes are given besides the graph."""

from __future__ import annotations

from dataclasses import dataclass, field

from tempoc.pipeline.step import Remarks
from tempoc.poly.space import Space


@dataclass(frozen=True, slots=True)
class PassContext:
    """The polyhedral space of the compilation, and a place for remarks."""

    space: Space
    remarks: Remarks = field(default_factory=Remarks)
