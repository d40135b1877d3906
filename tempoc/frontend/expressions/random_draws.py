"""Random draws: their keys and domains.

The key of a draw is the seed, folded with the draw's position in the source (the call, and the
inlined calls and loop iterations around it) and with the index along each dimension of the draw's
domain. The domain is that of the equation: the dimensions of its target. For an unindexed target
it has all dimensions of the right-hand side, which are inferred in the rounds of elaboration.
"""

from __future__ import annotations

from tempoc.diagnostics.source import Span
from tempoc.frontend.environment.draft_node import Draft
from tempoc.frontend.environment.failure import Failure
from tempoc.frontend.environment.indexed_tensor import IndexedTensor, Placement
from tempoc.frontend.environment.round import Frame, Round
from tempoc.frontend.environment.values import Ref, Several, Value, dims_of, leaves
from tempoc.frontend.errors import types as type_errors
from tempoc.frontend.expressions import apply_operator as apply, index_expressions as indices
from tempoc.frontend.expressions.arithmetic import as_expr
from tempoc.frontend.expressions.bind_arguments import BoundArguments
from tempoc.frontend.syntax import ast
from tempoc.frontend.syntax.stable_places import place_hash
from tempoc.ops.definition.operator import Op
from tempoc.ops.definition.types import DType
from tempoc.ops.random.draws import KEY, Seed
from tempoc.symbolic import expr as ix
from tempoc.symbolic.walk import symbols

PREFIX = "random."


def draw(round: Round, frame: Frame, name: str, bound: BoundArguments) -> Value:
    """The result of a function of `random`. Raises `Failure` or `StillUnknown`."""
    kind = name.removeprefix(PREFIX)
    key = _key(round, frame, bound.span)
    if kind == "key":
        return key
    operands: tuple[Ref, ...] = ()
    op: Op
    if kind in ("uniform", "normal"):
        shape = bound.shape()
        indices.check_extents(round, frame, shape, bound.places["shape"])
        op = apply.operator(kind, shape=shape, dtype=bound.dtype(DType.F32))
    elif kind == "integers":
        shape = bound.shape()
        indices.check_extents(round, frame, shape, bound.places["shape"])
        ends = [_end(bound, n) for n in ("low", "high") if bound.has(n)]
        low, high = (ix.ZERO, *ends)[-2:]
        op = apply.operator(kind, shape=shape, low=low, high=high)
    elif kind == "permutation":
        n = bound.extent("n")
        indices.check_extents(round, frame, (n,), bound.places["n"])
        op = apply.operator(kind, n=n)
    else:
        parameter = "p" if kind == "bernoulli" else "logits"
        x = apply.tensor(round, frame, bound[parameter], bound.places[parameter])
        wide = DType.F64 if x.type.dtype is DType.F64 else DType.F32
        op = apply.operator(kind, dtype=wide) if kind == "bernoulli" else apply.operator(kind)
        operands = (x,)
    return apply.make(round, frame, op, (key, *operands), bound.span)[0]


def _end(bound: BoundArguments, name: str) -> ix.Expr:
    """An end of a range. Raises `Failure` unless it is an index expression within `i32`."""
    expr = as_expr(bound[name])
    if expr is None:
        raise Failure(type_errors.needs_index(bound.span, f"`{name}`", bound[name]))
    if isinstance(expr, ix.Const):
        apply.check_number(expr.value, DType.I32, bound.span)
    return expr


def _key(round: Round, frame: Frame, span: Span) -> Ref:
    """The key of a call at the current point."""
    round.draws += 1
    round.order.note(frame.origin)
    if round.seed is None:
        round.seed = Draft(
            hint="random.seed", dims=(), types=(KEY,), origin=frame.origin, op=Seed()
        )
        round.add(round.seed)
    seed = apply.identity(round, frame, round.seed, span)
    place = place_hash((*frame.place, round.language.place(span)))
    op = apply.operator("random_key", place=place, at=tuple(ix.Sym(d) for d in frame.draws))
    return apply.make(round, frame, op, (seed,), span, hint="key")[0]


# ---------------------------------------------------------------- domains


def draw_dims(
    round: Round,
    frame: Frame,
    targets: list[tuple[ast.EquationTarget, tuple[IndexedTensor, Placement] | None]],
) -> tuple[str, ...]:
    """The domain of the draws in the right-hand side for these targets of an equation."""
    scope = frame.scope.body()
    dims = list(frame.draws)
    for target, placed in targets:
        if placed is not None:
            cell, place = placed
            # A function's tensor has those of the call without naming them.
            named = (*scope.dims, *cell.plan.dims)
            dims = [d for d in dims if d not in named or d in place.dims] + [*place.dims]
        elif scope.kind == "module":
            dims += round.drawn.get(target.span.start, ())
    return round.universe.ordered(tuple(dims))


def record_draw_dims(round: Round, targets: tuple[ast.EquationTarget, ...], value: Value) -> None:
    """Record the dimensions of a right-hand side with draws, for its unindexed targets."""
    names: list[str] = []
    names += value.dims if isinstance(value, Several) else ()
    for part in value.items if isinstance(value, Several) else (value,):
        names += dims_of(part, round.universe)
        for _, leaf in leaves(part):
            if isinstance(leaf, Ref):
                names += [n for e in leaf.type.shape for n in symbols(e)]
    for target in targets:
        known = round.drawn.get(target.span.start, ())
        dims = round.universe.ordered((*known, *names))
        if target.entries is None and dims != known:
            round.drawn[target.span.start] = dims
            round.changed = True
