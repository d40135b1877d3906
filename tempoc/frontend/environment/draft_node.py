"""Nodes of the graph while it is being made: like `sdg.Node`, but still growing.

A draft is compared by identity. `role` says who decides where it is computed: a `root` (a tensor of
the program) everywhere its equations define it, a `temporary` where it is read, a `local` (an
indexed tensor of a function) where it is read and defined.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import IntEnum
from typing import Literal

from tempoc.base.source import Span
from tempoc.ops.definition.operator import Op
from tempoc.ops.definition.types import TensorType
from tempoc.symbolic.expr import TRUE, Entry, Expr

Role = Literal["root", "local", "temporary"]


class Doubt(IntEnum):
    """How much of a type is only a lower bound, in rounds before the last."""

    NONE = 0
    DTYPE = 1
    SHAPE = 2
    """Neither dtype nor shape is sure."""


@dataclass(frozen=True, slots=True, eq=False)
class Wire:
    """An operand: what will become an edge. `shown` is the source text of the read."""

    source: Draft
    out: int
    entries: tuple[Entry, ...]
    span: Span
    guard: Expr = TRUE


@dataclass(frozen=True, slots=True)
class CallSite:
    """A call that has been expanded, for the notes of diagnostics."""

    name: str
    span: Span
    definition: Span


@dataclass(frozen=True, slots=True, eq=False)
class DraftOrigin:
    """Where a node comes from: the equation, and the calls around it, outermost first."""

    span: Span
    target: str = ""
    guard: Expr = TRUE
    calls: tuple[CallSite, ...] = ()


@dataclass(slots=True, eq=False)
class Draft:
    """A node in the making. `op` is None for a tensor that is read before it is defined.

    `written`: the dimensions that the targets of a local tensor name, the others are carried along.
    `defined`: where the equations of a tensor define it. `where`: the points of the finished node.
    `turn`: the place in the source, where the order of calls counts. `doubt`: of its types.
    """

    hint: str
    dims: tuple[str, ...]
    types: tuple[TensorType, ...]
    origin: DraftOrigin
    op: Op | None = None
    inputs: list[Wire] = field(default_factory=list)
    role: Role = "temporary"
    written: tuple[str, ...] = ()
    defined: Expr = TRUE
    where: Expr = TRUE
    uses: int = 0
    spans: tuple[Span, ...] = ()
    turn: tuple[int, ...] = ()
    doubt: Doubt = Doubt.NONE

    def copy_from(self, other: Draft) -> None:
        """Become the same computation as `other`, under this draft's own name and domain."""
        self.op, self.inputs, self.types = other.op, other.inputs, other.types
        self.doubt = max(self.doubt, other.doubt)
