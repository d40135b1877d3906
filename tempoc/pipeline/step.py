"""What a pass is: a frozen dataclass whose fields are its options, with a ``run``.

The options' names, types, defaults and (with ``metadata={"help": ...}``) explanations come from the
fields; the text of a pipeline, its parser and the help of the command line are made from them.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Protocol, TypeVar

from tempoc.base.source import Span

G = TypeVar("G")
C = TypeVar("C", contravariant=True)


@dataclass(frozen=True, slots=True, kw_only=True)
class Remark:
    """One thing that a step did, or did not and why."""

    step: str
    message: str
    span: Span | None = None


@dataclass(slots=True)
class Remarks:
    """What the steps of one run have to say, in order."""

    found: list[Remark] = field(default_factory=list)

    def add(self, step: str, message: str, span: Span | None = None) -> None:
        """Remember one remark."""
        self.found.append(Remark(step=step, message=message, span=span))


class Context(Protocol):
    """What every context of a run has; the rooms that define passes add what those need."""

    @property
    def remarks(self) -> Remarks:
        """Where steps say what they did."""


class PassStep(Protocol[G, C]):
    """A pass. ``needs``, ``gives``, ``before`` name properties of the graph, see ``order.py``."""

    @property
    def name(self) -> str:
        """How the step is called in the text of a pipeline; a verb."""

    @property
    def needs(self) -> tuple[str, ...]:
        """Properties that earlier steps must have given."""

    @property
    def gives(self) -> tuple[str, ...]:
        """Properties that hold afterwards."""

    @property
    def before(self) -> tuple[str, ...]:
        """Properties that must not hold yet."""

    def run(self, graph: G, context: C) -> G:
        """The transformed graph; the one given stays as it is."""
