"""Tensors with indexed equations: the points written by each equation, and the branches.

A `TargetPlan` follows from the targets and guards alone and is the same in all rounds. An
`IndexedTensor` is the tensor in one round: placeholder nodes, which can be read before the branches
are evaluated, and the branches.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from tempoc.diagnostics.diagnostic import Diagnostic
from tempoc.frontend.environment import values as val
from tempoc.frontend.environment.draft_node import Draft, DraftOrigin
from tempoc.frontend.syntax import ast
from tempoc.symbolic import expr as ix

TensorKey = tuple[str | int, ...]
"""Identifies a tensor in all rounds: the inlined calls and loop iterations, and its name."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Placement:
    """One equation's part of a tensor.

    `entries`: for each written dimension the point written, in the equation's own `dims`.
    `used`: the condition over the tensor's points under which this equation applies (first match).
    `local`: the same in the equation's dimensions. `claimed`: the same without the equations above
    it.
    """

    number: int
    equation: ast.Equation
    target: ast.EquationTarget
    entries: Mapping[str, ix.Expr]
    dims: tuple[str, ...]
    used: ix.Expr
    claimed: ix.Expr
    local: ix.Expr


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class TargetPlan:
    """The points written by the equations of a tensor.

    `dims` are the dimensions of the targets; `where` is the domain of the tensor; `merges` is
    whether it needs a `Merge`. The errors of a `broken` plan are in `problems`.
    """

    name: str
    dims: tuple[str, ...]
    placements: tuple[Placement, ...]
    where: ix.Expr = ix.TRUE
    merges: bool = False
    broken: bool = False
    problems: tuple[Diagnostic, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class EquationBranch:
    """An evaluated equation: its right-hand side as a tree of reads, and its origin."""

    placement: Placement
    value: val.Value
    origin: DraftOrigin


@dataclass(slots=True, kw_only=True, eq=False)
class IndexedTensor:
    """An indexed tensor in one round.

    `leaves` are the placeholder nodes, created at the first read.
    `carried` are dimensions of the call, which a function's tensor has without naming them.
    `ahead` evaluate its equations when it is read before their turn, as far as that may be.
    """

    key: TensorKey
    name: str
    plan: TargetPlan
    origin: DraftOrigin
    carried: tuple[str, ...] = ()
    branches: list[EquationBranch] = field(default_factory=list)
    leaves: dict[tuple[str, ...], Draft] = field(default_factory=dict)
    finished: bool = False
    ahead: tuple[Callable[[], None], ...] = ()
