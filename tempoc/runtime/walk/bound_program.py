"""A program for given bounds: what is the same in all runs that are given the same stores."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

from tempoc.program.nodes.nodes import Program
from tempoc.runtime.device.stores import Layout
from tempoc.runtime.walk import blocks
from tempoc.runtime.walk.attempts import attempted_blocks


@dataclass(frozen=True, kw_only=True)
class BoundProgram:
    """A program, its bounds, and its stores, of which ``given`` are filled before a run."""

    program: Program
    bounds: Mapping[str, int]
    layouts: Mapping[str, Layout]
    given: frozenset[str]

    @cached_property
    def single_calls(self) -> frozenset[str]:
        """The blocks that run as one call each, by their kernels."""
        return blocks.single_call_blocks(self.program, self.bounds, self.given)

    @cached_property
    def attempted(self) -> Mapping[str, tuple[int, ...]]:
        """The blocks that are first called with smaller lengths, by their kernels: their ``at``."""
        return attempted_blocks(self.program, self.bounds, self.given, self.single_calls)
