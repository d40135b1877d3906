"""Draft nodes: mutable nodes of the graph under construction.

Drafts are compared by identity. The `role` determines the domain: a `root` (a tensor of the
program) is computed wherever its equations define it, a `temporary` where it is read, a `local` (an
indexed tensor of a function) where it is read and defined.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import IntEnum
from typing import Literal

from tempoc.diagnostics.source import Span
from tempoc.ops.definition.operator import Op
from tempoc.ops.definition.types import TensorType
from tempoc.symbolic import expr as ix

Role = Literal["root", "local", "temporary"]


class Doubt(IntEnum):
    """The part of an inferred type that is only a lower bound, in rounds before the last."""

    NONE = 0
    DTYPE = 1
    SHAPE = 2
    """Both dtype and shape are lower bounds."""


@dataclass(frozen=True, slots=True)
class CallSite:
    """An inlined call, for the notes of diagnostics."""

    name: str
    span: Span
    definition: Span

    def signature(self) -> str:
        """The parameters of the function, in parentheses, as they are written."""
        text = self.definition.text
        depth, start = 0, text.index("(")
        for k in range(start, len(text)):
            depth += (text[k] in "([{") - (text[k] in ")]}")
            if depth == 0:
                return " ".join(text[start : k + 1].split())
        return text[start:]


@dataclass(frozen=True, slots=True, eq=False)
class Wire:
    """An operand of a draft, which becomes an edge. `calls`: those in which the read is written."""

    source: Draft
    out: int
    entries: tuple[ix.Entry, ...]
    span: Span
    guard: ix.Expr = ix.TRUE
    calls: tuple[CallSite, ...] = ()


@dataclass(frozen=True, slots=True, eq=False)
class DraftOrigin:
    """The origin of a node: its equation, and the inlined calls around it, outermost first."""

    span: Span
    target: str = ""
    guard: ix.Expr = ix.TRUE
    calls: tuple[CallSite, ...] = ()


@dataclass(slots=True, eq=False)
class Draft:
    """A draft node. `op` is None for a tensor that is read before it is defined.

    `written`: the dimensions named by the targets of a local tensor; the others are those of the
    call. `defined`: where the equations of a tensor define it. `where`: the domain of the finished
    node. `turn`: the position in the source, for effects. `doubt`: of its types.
    """

    hint: str
    dims: tuple[str, ...]
    types: tuple[TensorType, ...]
    origin: DraftOrigin
    op: Op | None = None
    inputs: list[Wire] = field(default_factory=list)
    role: Role = "temporary"
    written: tuple[str, ...] = ()
    defined: ix.Expr = ix.TRUE
    where: ix.Expr = ix.TRUE
    uses: int = 0
    spans: tuple[Span, ...] = ()
    turn: tuple[int, ...] = ()
    doubt: Doubt = Doubt.NONE

    def copy_from(self, other: Draft) -> None:
        """Become the same computation as `other`, under this draft's own name and domain."""
        self.op, self.inputs, self.types = other.op, other.inputs, other.types
        self.doubt = max(self.doubt, other.doubt)
