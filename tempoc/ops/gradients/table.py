"""The derivative rule of each operator, by its name.

A rule takes the operator, a `Calculus`, the operands, the results and the cotangents of the
results (terms at one point) and gives the cotangent of each operand; `None` where that is zero
whatever happens (integers, conditions). `FLAT` are operators that are constant nearly everywhere,
`None` altogether.
"""

from __future__ import annotations

from collections.abc import Callable

from tempoc.ops.definition.operator import Op
from tempoc.ops.gradients import arithmetic, contraction, externs, indexing, movement, reduction
from tempoc.ops.gradients import fold as folds
from tempoc.ops.gradients import scan as scans
from tempoc.ops.gradients.calculus import Calculus, Term
from tempoc.ops.gradients.elementwise import SLOPES, unary

Terms = tuple[Term, ...]
DerivativeRule = Callable[[Op, Calculus, Terms, Terms, Terms], tuple[Term | None, ...]]

RULES: dict[str, DerivativeRule] = {
    **{name: unary(slope) for name, slope in SLOPES.items()},
    "add": arithmetic.add, "sub": arithmetic.subtract, "mul": arithmetic.multiply,
    "div": arithmetic.divide, "mod": arithmetic.remainder, "power": arithmetic.power,
    "minimum": arithmetic.minimum, "maximum": arithmetic.maximum, "clip": arithmetic.clip,
    "where": arithmetic.select, "cond": arithmetic.cond,
    "sum": reduction.total, "mean": reduction.mean, "prod": reduction.prod,
    "max": reduction.extremum, "min": reduction.extremum, "logsumexp": reduction.logsumexp,
    "var": reduction.variance,
    "cumsum": reduction.cumsum, "cumprod": reduction.cumprod, "cummax": reduction.cummax,
    "cummin": reduction.cummax,
    "ensure": movement.ensure, "transpose": movement.transpose,
    "expand_dims": movement.expand_dims, "squeeze": movement.squeeze,
    "broadcast_to": movement.broadcast_to, "pad": movement.pad, "flip": movement.flip,
    "reshape": movement.reshape, "concat": movement.concat, "stack": movement.stack,
    "split": movement.split,
    "getitem": indexing.getitem, "take": indexing.take, "take_along": indexing.take_along,
    "scatter_add": indexing.scatter_add, "sort": indexing.sort, "top_k": indexing.top_k,
    "pick": indexing.pick,
    "matmul": contraction.matmul, "einsum": contraction.einsum, "conv": contraction.conv,
    "extern_jax": externs.extern_jax, "extern_vjp": externs.extern_jax,
}  # fmt: skip
RULES["associative_scan"] = scans.associative_scan(RULES)
RULES["fold"] = folds.fold(RULES)
FLAT = (
    "stop_gradient", "sign", "floor", "ceil", "round", "floordiv", "argmax", "argmin", "argsort",
    "one_hot", "isnan", "isinf", "not", "lt", "le", "gt", "ge", "eq", "ne", "and", "or", "any",
    "all", "extern_host", "print", "save", "until", "literal", "index", "input", "param", "full",
    "eye", "arange", "seed", "random_key", "uniform", "normal", "bernoulli", "categorical",
    "permutation",
)  # fmt: skip
"""Operators through which nothing flows back."""
LATE = ("cumlogsumexp", "window", "recurrence", "after")
"""Operators that passes make of others, after derivatives have been taken."""
