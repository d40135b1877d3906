"""Tensors with indexed equations: where each equation writes, and what the branches were.

A `TargetPlan` is what the targets and guards alone tell, the same in all rounds. A `IndexedTensor`
is the tensor in one round: placeholders that can be read before the branches are known, and the
branches.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from tempoc.base.diagnostics import Diagnostic
from tempoc.frontend.environment.draft_node import Draft, DraftOrigin
from tempoc.frontend.environment.values import Value
from tempoc.frontend.syntax import ast
from tempoc.symbolic.expr import TRUE, Expr

TensorKey = tuple[str | int, ...]
"""Identifies a tensor in all rounds: calls and loop turns on the way to it, and its name."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Placement:
    """One equation's part of a tensor.

    `entries`: for each written dimension the point written, in the equation's own `dims`.
    `kept`: the exact condition over the tensor's points at which this equation is used.
    `needed`: the same in the equation's dimensions. `claimed`: what it would be used for if no
    equation stood above it.
    """

    number: int
    equation: ast.Equation
    target: ast.EquationTarget
    entries: Mapping[str, Expr]
    dims: tuple[str, ...]
    kept: Expr
    claimed: Expr
    needed: Expr


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class TargetPlan:
    """Where the equations of a tensor write.

    `dims` are those that the targets write; `where` is the condition on which the tensor is
    defined. `merges` tells whether it needs a `Merge`. A `broken` plan has been reported.
    """

    name: str
    dims: tuple[str, ...]
    placements: tuple[Placement, ...]
    where: Expr = TRUE
    merges: bool = False
    broken: bool = False
    problems: tuple[Diagnostic, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class EquationBranch:
    """What an equation gives: a tree of reads, and where it was evaluated."""

    placement: Placement
    value: Value
    origin: DraftOrigin


@dataclass(slots=True, kw_only=True, eq=False)
class IndexedTensor:
    """An indexed tensor in one round.

    `leaves` are the nodes that readers read, made when the first of them comes.
    `carried` are dimensions that a function's tensor has without naming them.
    """

    key: TensorKey
    name: str
    plan: TargetPlan
    origin: DraftOrigin
    carried: tuple[str, ...] = ()
    branches: list[EquationBranch] = field(default_factory=list)
    leaves: dict[tuple[str, ...], Draft] = field(default_factory=dict)
    finished: bool = False
