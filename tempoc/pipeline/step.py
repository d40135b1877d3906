"""The interface of passes: a frozen dataclass whose fields are the options, with a ``run``.

Names, types, defaults and (from ``metadata={"help": ...}``) descriptions of the options are those
of the fields; the parser of pipeline texts and the help of the command line are derived from them.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal, Protocol, TypeVar

from tempoc.diagnostics.source import Span
from tempoc.symbolic.expr import Expr

G = TypeVar("G")
C = TypeVar("C", contravariant=True)


LoopReason = Literal[
    "cycle", "ahead", "kept", "shown", "length", "holes", "outside", "partial",
    "python", "print", "nested print", "save", "own length", "again", "given",
    "unrolled", "arrays", "moves", "tile", "range", "diagonals", "state",
]  # fmt: skip
"""Why a dimension is a loop (first row), why a loop is one of the host (second), and what tiles,
ranges, diagonals and states are; ``driver/slow/findings.py`` has the sentences."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LoopRemark:
    """That some nodes are computed point by point along ``dim``, or that a loop is the host's.

    ``size``: the bytes that a tensor in tiles would take as a whole; the steps from which on a
    state pays.
    """

    reason: LoopReason
    dim: str
    nodes: tuple[str, ...] = ()
    size: Expr | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Remark:
    """An optimization remark: something that a pass did, or why it did not.

    ``loop`` says the same as data, where a loop is what is left.
    """

    step: str
    message: str
    span: Span | None = None
    loop: LoopRemark | None = None


@dataclass(slots=True)
class Remarks:
    """The remarks of one run of a pipeline, in order."""

    entries: list[Remark] = field(default_factory=list)

    def add(
        self, step: str, message: str, span: Span | None = None, loop: LoopRemark | None = None
    ) -> None:
        """Add a remark."""
        self.entries.append(Remark(step=step, message=message, span=span, loop=loop))


class Context(Protocol):
    """The interface of contexts; packages that define passes extend it with what these need."""

    @property
    def remarks(self) -> Remarks:
        """The collector of remarks."""


class PassStep(Protocol[G, C]):
    """A pass. ``needs``, ``gives``, ``before`` name properties of the graph, see ``order.py``."""

    @property
    def name(self) -> str:
        """The name of the pass in pipeline texts; a verb."""

    @property
    def needs(self) -> tuple[str, ...]:
        """Properties that must hold before."""

    @property
    def gives(self) -> tuple[str, ...]:
        """Properties that hold afterwards."""

    @property
    def before(self) -> tuple[str, ...]:
        """Properties that must not hold before."""

    def run(self, graph: G, context: C) -> G:
        """The transformed graph; the input is not modified."""
