"""The interface of passes: a frozen dataclass whose fields are the options, with a ``run``.

Names, types, defaults and (from ``metadata={"help": ...}``) descriptions of the options are those
of the fields; the parser of pipeline texts and the help of the command line are derived from them.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Protocol, TypeVar

from tempoc.diagnostics.source import Span

G = TypeVar("G")
C = TypeVar("C", contravariant=True)


@dataclass(frozen=True, slots=True, kw_only=True)
class Remark:
    """An optimization remark: something that a pass did, or why it did not."""

    step: str
    message: str
    span: Span | None = None


@dataclass(slots=True)
class Remarks:
    """The remarks of one run of a pipeline, in order."""

    entries: list[Remark] = field(default_factory=list)

    def add(self, step: str, message: str, span: Span | None = None) -> None:
        """Add a remark."""
        self.entries.append(Remark(step=step, message=message, span=span))


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
