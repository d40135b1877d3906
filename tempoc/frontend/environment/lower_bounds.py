"""Lower bounds of types during type inference.

Types are the least solution of the equations, in the lattice of promotion and broadcasting. Before
the fixpoint, a tensor has a lower bound of its type: the join of the branches seen. An operand of
unknown type is replaced by a stand-in of the least type; the result is a lower bound, too. A type
error that involves a lower bound is not reported, but defers the expression to a later round.
"""

from __future__ import annotations

from tempoc.diagnostics.source import Span
from tempoc.frontend.environment import values as val
from tempoc.frontend.environment.draft_node import Doubt, Draft
from tempoc.frontend.environment.failure import StillUnknown
from tempoc.frontend.environment.round import Frame, Round
from tempoc.ops.definition.operator import Op, OperandError, ShapeFacts
from tempoc.ops.definition.promotion import is_below
from tempoc.ops.definition.types import DType, TensorType
from tempoc.symbolic import expr as ix

DEFERRED = val.Unknown(frozenset((val.LATER,)))
"""An expression that cannot be evaluated with the lower bounds of types."""

LEAST = (TensorType(DType.I32, (), weak=True), TensorType(DType.BOOL))
"""The scalars from which promotion starts, for numbers and for everything."""


def doubt_of(*values: val.Value) -> Doubt:
    """The greatest doubt of the types of these values."""
    most = Doubt.NONE
    for value in values:
        if isinstance(value, val.Ref):
            doubt = value.draft.doubt
        elif isinstance(value, val.Typed):
            doubt = value.doubt
        elif isinstance(value, (val.Several, val.Listing)):
            doubt = doubt_of(*value.items)
        elif isinstance(value, val.RecordValue):
            doubt = doubt_of(*(part for _, part in value.fields))
        else:
            continue
        if doubt is not Doubt.NONE:
            most = max(most, doubt)
    return most


def is_open(value: val.Value) -> bool:
    """Whether a value is unknown, but not because of an error."""
    return isinstance(value, val.Unknown) and val.ERROR not in value.causes


def stand_in(
    round: Round,
    frame: Frame,
    type: TensorType,
    dims: tuple[str, ...],
    span: Span,
    doubt: Doubt = Doubt.SHAPE,
) -> val.Ref:
    """A read of a placeholder node with this lower bound of a type; never part of a graph."""
    round.deferred = True
    round.doubted += 1
    draft = Draft(hint="?", dims=dims, types=(type,), origin=frame.origin, doubt=doubt)
    return val.Ref(draft, 0, tuple(ix.Sym(d) for d in dims), type, span)


def deferred(round: Round) -> StillUnknown:
    """The exception to raise for an expression that cannot be evaluated with lower bounds."""
    round.deferred = True
    return StillUnknown(DEFERRED)


def operand_types(
    round: Round, op: Op, known: tuple[TensorType | None, ...], facts: ShapeFacts
) -> tuple[TensorType, ...]:
    """The types of operands; unknown ones get the type in `LEAST` that makes the result least.

    `? + true` is an integer, `maximum(?, true)` a bool. Raises `StillUnknown`.
    """
    known_types = tuple(t for t in known if t is not None)
    if len(known_types) == len(known):
        return known_types
    best: tuple[TensorType, tuple[TensorType, ...]] | None = None
    for least in LEAST:
        types = tuple(least if t is None else t for t in known)
        try:
            result = op.infer(types, facts)[0]
        except OperandError:
            continue
        if best is None or is_below(result, best[0]):
            best = result, types
    if best is None:
        raise deferred(round)
    return best[1]


def with_vector(
    round: Round, frame: Frame, operands: tuple[val.Value, ...], span: Span
) -> val.Value | None:
    """The product of a matrix with an operand of unknown rank, which is guessed to be a vector.

    Only in `guessing` rounds; None if the guess does not apply.
    """
    matrices = [v for v in operands if isinstance(v, val.Ref) and v.type.ndim > 1]
    others = [v for v in operands if is_open(v) or _may_grow(v)]
    if not round.guessing or len(matrices) != 1 or len(others) != 1:
        return None
    (matrix,) = matrices
    shape, first = matrix.type.shape, matrix is operands[0]
    result_shape = shape[:-1] if first else (*shape[:-2], shape[-1])
    dims = val.dims_of(matrix, round.universe)
    type = TensorType(matrix.type.dtype, result_shape, matrix.type.weak)
    return stand_in(round, frame, type, dims, span)


def _may_grow(value: val.Value) -> bool:
    """Whether a value is a scalar, but only as a lower bound."""
    return isinstance(value, val.Ref) and value.type.ndim == 0 and doubt_of(value) is Doubt.SHAPE
