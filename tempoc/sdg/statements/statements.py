"""Statements and tensors: the graph as the scheduler, the memory planner and codegen see it.

A *tensor* is what is stored: a merge, an input, a param, or an output of a node that somebody reads
from another statement, at another point, or at the end. A *statement* is a group of nodes (a single
node before ``fuse``) executed at each point of its domain. A merge is never executed: it is a
tensor with several writers, one for each branch, and writes are stated in the writer's coordinates.
``build.py`` (``statements(graph, space)``) derives all this from the graph.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Literal

from tempoc.ops.definition.types import TensorType
from tempoc.sdg.graph.effect_order import EffectPosition
from tempoc.symbolic import expr as ix
from tempoc.symbolic.domain import Domain

TensorOrigin = Literal["computed", "input", "param"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Tensor:
    """A stored value; ``node`` is a merge, input, param or computed node (see ``origin``)."""

    name: str
    node: str
    out: int
    domain: Domain
    type: TensorType
    origin: TensorOrigin = "computed"

    @property
    def is_given(self) -> bool:
        """Whether an input or param, which is stored before the first step and never freed."""
        return self.origin != "computed"


@dataclass(frozen=True, slots=True, kw_only=True)
class Read:
    """Operand ``slot`` of ``member`` reads ``tensor`` at ``entries`` (in the statement's dims).

    ``forwarded``: the same statement instance writes (part of) what is read, so inside the kernel
    the read comes after the write.
    """

    tensor: str
    member: str
    slot: int
    entries: tuple[ix.Entry, ...]
    forwarded: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Write:
    """Output ``out`` of ``member`` becomes ``tensor`` at ``entries`` where ``where`` holds.

    One affine expression over the statement's dimensions for each dimension of the tensor's domain,
    or a slice where the statement runs all points of a dimension at once.
    """

    tensor: str
    member: str
    out: int
    entries: tuple[ix.Entry, ...]
    where: ix.Expr = ix.TRUE

    @property
    def point(self) -> tuple[ix.Expr, ...]:
        """The entries of a statement that runs one point at a time."""
        return tuple(e for e in self.entries if not isinstance(e, ix.Slice))


@dataclass(frozen=True, slots=True, kw_only=True)
class Vector:
    """A vectorized dimension, ``lower <= dim < upper``; the ends are expressions over bounds."""

    dim: str
    lower: ix.Expr
    upper: ix.Expr


@dataclass(frozen=True, slots=True, kw_only=True)
class Statement:
    """Nodes executed together at each point of ``domain``; members in topological order.

    A statement with a ``turn`` has effects, so the order of its points matters. The domain of a
    vectorized statement (``vectorized.py``) is without the dimensions of ``vector``; ``single`` is
    the statement of one point. ``ends`` names the bounds whose last step it decides. ``mentions``
    are the expressions over such bounds that members and writes use: extents, attributes, points,
    conditions.
    """

    name: str
    domain: Domain
    members: tuple[str, ...]
    reads: tuple[Read, ...]
    writes: tuple[Write, ...]
    turn: EffectPosition | None = None
    vector: tuple[Vector, ...] = ()
    single: Statement | None = None
    ends: tuple[str, ...] = ()
    mentions: tuple[ix.Expr, ...] = ()

    @property
    def is_free(self) -> bool:
        """Whether it may run speculatively: it has no reads, effects or lengths."""
        return not (self.reads or self.turn or self.ends or self.mentions)


@dataclass(frozen=True, kw_only=True)
class Statements:
    """The whole program; outputs are read after the last statement."""

    tensors: Mapping[str, Tensor]
    statements: tuple[Statement, ...]

    def writers(self, tensor: str) -> tuple[tuple[Statement, Write], ...]:
        """The writers of a tensor, in statement order."""
        return tuple(self._writers.get(tensor, ()))

    def readers(self, tensor: str) -> tuple[tuple[Statement, Read], ...]:
        """The readers of a tensor, in statement order."""
        return tuple(self._readers.get(tensor, ()))

    @cached_property
    def by_name(self) -> Mapping[str, Statement]:
        """The statements by their names."""
        return {s.name: s for s in self.statements}

    @cached_property
    def _writers(self) -> dict[str, list[tuple[Statement, Write]]]:
        writers: dict[str, list[tuple[Statement, Write]]] = {}
        for s in self.statements:
            for w in s.writes:
                writers.setdefault(w.tensor, []).append((s, w))
        return writers

    @cached_property
    def _readers(self) -> dict[str, list[tuple[Statement, Read]]]:
        readers: dict[str, list[tuple[Statement, Read]]] = {}
        for s in self.statements:
            for r in s.reads:
                readers.setdefault(r.tensor, []).append((s, r))
        return readers
