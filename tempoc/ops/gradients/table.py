"""The derivative rules of all operators, by class.

Operators that are not `differentiable` have none, nor those that passes make of others after
derivatives have been taken.
"""

from __future__ import annotations

from tempoc.ops.control.associative_scan import AssociativeScan
from tempoc.ops.control.fold import Fold
from tempoc.ops.gradients import (
    arithmetic,
    contraction,
    elementwise,
    externs,
    factors,
    fold,
    indexing,
    linear,
    movement,
    reduction,
    scan,
)
from tempoc.ops.gradients.calculus import Rules

RULES = Rules(
    arithmetic.RULES
    | contraction.RULES
    | elementwise.RULES
    | externs.RULES
    | factors.RULES
    | indexing.RULES
    | linear.RULES
    | movement.RULES
    | reduction.RULES
)
RULES[AssociativeScan] = scan.associative_scan(RULES)
RULES[Fold] = fold.fold(RULES)
