"""Partial type inference of builtin calls with unknown operands.

`reshape(?, [2, 3])` has a known shape, all parts of a `stack` have one shape, and the extents of an
`einsum` come from any operand with the same letter.
"""

from __future__ import annotations

from dataclasses import replace

from tempoc.diagnostics.source import Span
from tempoc.frontend.environment import values as val
from tempoc.frontend.environment.draft_node import Doubt
from tempoc.frontend.environment.lower_bounds import LEAST, doubt_of, is_open, stand_in
from tempoc.frontend.environment.round import Frame, Round
from tempoc.frontend.expressions import apply_operator as apply, index_expressions as indices
from tempoc.frontend.expressions.bind_arguments import BoundArguments
from tempoc.ops.definition.operator import OperandError
from tempoc.ops.definition.promotion import promote
from tempoc.ops.definition.types import TensorType
from tempoc.symbolic.expr import Expr

BOTTOM = LEAST[-1]


def partial_result(
    round: Round, frame: Frame, name: str, bound: BoundArguments
) -> val.Value | None:
    """A stand-in for the result of a builtin, if its type is partially known; otherwise `None`."""
    if not round.partial:
        return None
    match name:
        case "reshape" | "broadcast_to":
            return _reshape_type(round, frame, bound)
        case "stack":
            _fill_stack(round, frame, bound)
            return None
        case "einsum":
            return _einsum_type(round, frame, bound)
        case _:
            return None


def stand_ins(
    round: Round, frame: Frame, types: val.Value, dims: tuple[str, ...], span: Span
) -> val.Value:
    """Stand-ins for an unknown value of these types."""

    def leaf(_: tuple[str, ...], v: val.Value) -> val.Value:
        if not isinstance(v, val.Typed):
            return v
        return stand_in(round, frame, v.type, dims, span, Doubt.DTYPE)

    return val.map_leaves(leaf, types)


def _reshape_type(round: Round, frame: Frame, bound: BoundArguments) -> val.Value | None:
    """The result of `reshape` or `broadcast_to` to a known shape."""
    x, shape = bound["x"], bound["shape"]
    items = shape.items if isinstance(shape, val.Listing) else (shape,)
    if (
        not (is_open(x) or doubt_of(x) is Doubt.SHAPE)
        or val.unknown_in(shape)
        or val.ConstantNumber(-1) in items
    ):
        return None
    extents = tuple(indices.extent(v, bound.places["shape"]) for v in items)
    type = BOTTOM if isinstance(x, val.Unknown) else apply.type_of(x, bound.span)
    dims = val.dims_of(x, round.universe)
    return stand_in(round, frame, replace(type, shape=extents), dims, bound.span, Doubt.DTYPE)


def _fill_stack(round: Round, frame: Frame, bound: BoundArguments) -> None:
    """Give unknown parts of a `stack` the shape of the others."""
    parts = bound["xs"]
    items = parts.items if isinstance(parts, val.Listing) else ()
    known = next((v for v in items if isinstance(v, val.Ref)), None)
    if known is None or not any(is_open(v) for v in items):
        return
    like = replace(BOTTOM, shape=known.type.shape)
    doubt = max(Doubt.DTYPE, doubt_of(known))
    bound.values["xs"] = val.Listing(
        tuple(stand_in(round, frame, like, (), bound.span, doubt) if is_open(v) else v
              for v in items)
    )  # fmt: skip


def _einsum_type(round: Round, frame: Frame, bound: BoundArguments) -> val.Value | None:
    """The result of an `einsum` whose known operands have all of its axes."""
    spec, operands = bound.values.get("spec"), bound.rest
    if not isinstance(spec, val.ConstantText) or "." in spec.value or "->" not in spec.value:
        return None
    if not any(is_open(v) for v in operands):
        return None
    terms, result = spec.value.replace(" ", "").split("->")
    extents: dict[str, Expr] = {}
    known = [v for v in operands if isinstance(v, val.Ref)]
    for term, v in zip(terms.split(","), operands, strict=False):
        if isinstance(v, val.Ref) and len(term) == v.type.ndim:
            extents.update(zip(term, v.type.shape, strict=True))
    if not all(letter in extents for letter in result):
        return None
    try:
        dtype, weak = promote(v.type for v in known) if known else (BOTTOM.dtype, False)
    except OperandError:
        return None
    type = TensorType(dtype, tuple(extents[letter] for letter in result), weak)
    dims = val.dims_of(val.Listing(tuple(known)), round.universe)
    doubt = max(Doubt.DTYPE, doubt_of(*known))
    return stand_in(round, frame, type, dims, bound.span, doubt)
