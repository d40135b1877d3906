"""The memory plan: the buffers of tensors, their frees, donated arguments, capacities."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from tempoc.program.nodes import nodes as prog
from tempoc.program.nodes.buffers import Buffer
from tempoc.symbolic.expr import Expr


@dataclass(frozen=True, slots=True, kw_only=True)
class CapacityUse(prog.CapacityNeed):
    """What a statement needs of growing axes, in its coordinates: at most ``size`` slots.

    ``sure`` are the rows that single accesses need, where these are provably at most ``size``.
    """

    sure: tuple[Expr, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class MemoryRelease:
    """After the statement, the cell of ``tensor`` at ``key`` (statement coordinates) is dead.

    ``where`` restricts it to some points of the statement's domain.
    """

    tensor: str
    key: tuple[Expr, ...]
    where: Expr


@dataclass(frozen=True, slots=True, kw_only=True)
class MemoryPlan:
    """Stores by tensor; releases and donations by statement.

    ``donations[s]`` names tensors without axes whose cell that ``s`` reads is always dead
    afterwards, so that the kernel may reuse its buffer. Stores with axes that ``s`` writes are
    always donated. ``extents`` has the bound of each dimension, for formulas. ``needs[s]`` are the
    capacities that growing stores must have before ``s``. ``step_local`` has the tensors whose
    arrays have no value between steps of a device loop, with the variable of that loop. ``ample``
    are the bounds whose minimum with a number counts as the number, where windows are padded.
    ``chunked`` are the inputs whose stores hold a chunk at a time.
    """

    stores: Mapping[str, Buffer]
    releases: Mapping[str, tuple[MemoryRelease, ...]]
    donations: Mapping[str, tuple[str, ...]]
    extents: Mapping[str, Expr] = field(default_factory=dict)
    needs: Mapping[str, tuple[CapacityUse, ...]] = field(default_factory=dict)
    step_local: Mapping[str, str] = field(default_factory=dict)
    ample: frozenset[str] = frozenset()
    chunked: frozenset[str] = frozenset()
