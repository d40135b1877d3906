"""What regions and blocks are made of: stores, kernels, bounds, lengths."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property

from tempoc.program.analysis.live import registers
from tempoc.program.analysis.traversal import lengths_of
from tempoc.program.nodes import nodes
from tempoc.program.nodes.arithmetic import Arith
from tempoc.program.nodes.bounds import FoundLength, ProgramBound


@dataclass(frozen=True, kw_only=True)
class ProgramContext:
    """All of a program but its tree; of ``bounds`` those that are constants have a value.

    ``narrow`` are the kernels that update arrays of which an axis may have length 1, with those
    stores that they also read.
    ``declared`` are bounds with their expressions, ``lengths`` those found out during the run,
    which are not among ``bounds``.
    """

    stores: Mapping[str, nodes.Store]
    kernels: Mapping[str, nodes.Kernel]
    bounds: Mapping[str, int | None]
    x64: bool
    narrow: Mapping[str, frozenset[str]] = field(default_factory=dict)
    declared: tuple[ProgramBound, ...] = ()
    lengths: tuple[FoundLength, ...] = ()

    @cached_property
    def registers(self) -> frozenset[str]:
        """The stores that are one array."""
        return registers(self.stores)

    @property
    def fixed(self) -> dict[str, int]:
        """The bounds that are constants."""
        return {name: value for name, value in self.bounds.items() if value is not None}

    def lengths_of(self, call: nodes.Call) -> Iterator[Arith]:
        """The lengths that a kernel takes, at the point of a call."""
        return lengths_of(call, self.kernels[call.kernel], self.declared, self.lengths)
