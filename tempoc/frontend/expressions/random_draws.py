"""Random draws: where they stand in the source, over which dimensions, with which key.

The key of a draw is that of the seed, folded with the draw's place (the call, the calls and loop
turns around it) and with the point's index along each dimension of the draw's domain. That domain
is that of the equation: the dimensions written in its target. Where nothing is written they are
all those of the right side, which the rounds of elaboration find out.
"""

from __future__ import annotations

from tempoc.base.source import Span
from tempoc.frontend.environment.draft_node import Draft
from tempoc.frontend.environment.indexed_tensor import IndexedTensor, Placement
from tempoc.frontend.environment.round import Frame, Round
from tempoc.frontend.environment.values import Ref, Several, Value, dims_of, leaves
from tempoc.frontend.expressions import index_expressions as indices
from tempoc.frontend.expressions.apply_operator import identity, make, operator, tensor
from tempoc.frontend.expressions.bind_arguments import BoundArguments
from tempoc.frontend.syntax import ast
from tempoc.frontend.syntax.stable_places import place_hash
from tempoc.ops.definition.operator import Op
from tempoc.ops.definition.types import DType
from tempoc.ops.random.draws import KEY, Seed
from tempoc.symbolic.expr import Sym
from tempoc.symbolic.walk import symbols

PREFIX = "random."


def draw(round: Round, frame: Frame, name: str, bound: BoundArguments) -> Value:
    """The result of a function of `random`. Raises `Problem` or `StillUnknown`."""
    kind = name.removeprefix(PREFIX)
    key = _key(round, frame, bound.span)
    if kind == "key":
        return key
    operands: tuple[Ref, ...] = ()
    op: Op
    if kind in ("uniform", "normal"):
        shape = bound.shape()
        indices.check_extents(round, frame, shape, bound.places["shape"])
        op = operator(kind, shape=shape, dtype=bound.dtype(DType.F32))
    elif kind == "permutation":
        n = bound.extent("n")
        indices.check_extents(round, frame, (n,), bound.places["n"])
        op = operator(kind, n=n)
    else:
        parameter = "p" if kind == "bernoulli" else "logits"
        x = tensor(round, frame, bound[parameter], bound.places[parameter])
        wide = DType.F64 if x.type.dtype is DType.F64 else DType.F32
        op = operator(kind, dtype=wide) if kind == "bernoulli" else operator(kind)
        operands = (x,)
    return make(round, frame, op, (key, *operands), bound.span)[0]


def _key(round: Round, frame: Frame, span: Span) -> Ref:
    """The key of a call at the point at hand."""
    round.draws += 1
    if round.seed is None:
        round.seed = Draft(
            hint="random.seed", dims=(), types=(KEY,), origin=frame.origin, op=Seed()
        )
        round.add(round.seed)
    seed = identity(round, frame, round.seed, span)
    place = place_hash((*frame.place, round.language.place(span)))
    op = operator("random_key", place=place, at=tuple(Sym(d) for d in frame.draws))
    return make(round, frame, op, (seed,), span, hint="key")[0]


# ---------------------------------------------------------------- domains


def written(
    round: Round,
    frame: Frame,
    targets: list[tuple[ast.EquationTarget, tuple[IndexedTensor, Placement] | None]],
) -> tuple[str, ...]:
    """The domain of the draws in an equation, or in that part of it which these targets get."""
    scope = frame.scope.body()
    dims = list(frame.draws)
    for target, found in targets:
        if found is not None:
            cell, place = found
            # A function's tensor has those of the call without naming them.
            named = (*scope.dims, *cell.plan.dims)
            dims = [d for d in dims if d not in named or d in place.dims] + [*place.dims]
        elif scope.kind == "module":
            dims += round.drawn.get(target.span.start, ())
    return round.universe.ordered(tuple(dims))


def settle(round: Round, targets: tuple[ast.EquationTarget, ...], value: Value) -> None:
    """Remember over which dimensions a right side varies, in which something was drawn."""
    names: list[str] = []
    names += value.dims if isinstance(value, Several) else ()
    for part in value.items if isinstance(value, Several) else (value,):
        names += dims_of(part, round.universe)
        for _, leaf in leaves(part):
            if isinstance(leaf, Ref):
                names += [n for e in leaf.type.shape for n in symbols(e)]
    for target in targets:
        known = round.drawn.get(target.span.start, ())
        found = round.universe.ordered((*known, *names))
        if target.entries is None and found != known:
            round.drawn[target.span.start] = found
            round.changed = True
