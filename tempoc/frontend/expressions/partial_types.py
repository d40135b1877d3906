"""Partial type inference of builtin calls with unknown operands.

`reshape(?, [2, 3])` has a known shape, all parts of a `stack` have one shape, and the extents of an
`einsum` come from any operand with the same letter.
"""

from __future__ import annotations

from dataclasses import replace

from tempoc.diagnostics.source import Span
from tempoc.frontend.environment.draft_node import Doubt
from tempoc.frontend.environment.lower_bounds import LEAST, doubt_of, is_open, stand_in
from tempoc.frontend.environment.round import Frame, Round
from tempoc.frontend.environment.values import (
    ConstantNumber,
    ConstantText,
    Listing,
    Ref,
    Typed,
    Unknown,
    Value,
    dims_of,
    map_leaves,
    unknown_in,
)
from tempoc.frontend.expressions import index_expressions as indices
from tempoc.frontend.expressions.apply_operator import type_of
from tempoc.frontend.expressions.bind_arguments import BoundArguments
from tempoc.ops.definition.operator import OperandError
from tempoc.ops.definition.promotion import promote
from tempoc.ops.definition.types import TensorType
from tempoc.symbolic.expr import Expr

BOTTOM = LEAST[-1]


def partial_result(round: Round, frame: Frame, name: str, bound: BoundArguments) -> Value | None:
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


def stand_ins(round: Round, frame: Frame, types: Value, dims: tuple[str, ...], span: Span) -> Value:
    """Stand-ins for an unknown value of these types."""

    def leaf(_: tuple[str, ...], v: Value) -> Value:
        if not isinstance(v, Typed):
            return v
        return stand_in(round, frame, v.type, dims, span, Doubt.DTYPE)

    return map_leaves(leaf, types)


def _reshape_type(round: Round, frame: Frame, bound: BoundArguments) -> Value | None:
    """The result of `reshape` or `broadcast_to` to a known shape."""
    x, shape = bound["x"], bound["shape"]
    items = shape.items if isinstance(shape, Listing) else (shape,)
    if (
        not (is_open(x) or doubt_of(x) is Doubt.SHAPE)
        or unknown_in(shape)
        or ConstantNumber(-1) in items
    ):
        return None
    extents = tuple(indices.extent(v, bound.places["shape"]) for v in items)
    type = BOTTOM if isinstance(x, Unknown) else type_of(x, bound.span)
    dims = dims_of(x, round.universe)
    return stand_in(round, frame, replace(type, shape=extents), dims, bound.span, Doubt.DTYPE)


def _fill_stack(round: Round, frame: Frame, bound: BoundArguments) -> None:
    """Give unknown parts of a `stack` the shape of the others."""
    parts = bound["xs"]
    items = parts.items if isinstance(parts, Listing) else ()
    known = next((v for v in items if isinstance(v, Ref)), None)
    if known is None or not any(is_open(v) for v in items):
        return
    like = replace(BOTTOM, shape=known.type.shape)
    doubt = max(Doubt.DTYPE, doubt_of(known))
    bound.values["xs"] = Listing(
        tuple(stand_in(round, frame, like, (), bound.span, doubt) if is_open(v) else v
              for v in items)
    )  # fmt: skip


def _einsum_type(round: Round, frame: Frame, bound: BoundArguments) -> Value | None:
    """The result of an `einsum` whose known operands have all of its axes."""
    spec, operands = bound.values.get("spec"), bound.rest
    if not isinstance(spec, ConstantText) or "." in spec.value or "->" not in spec.value:
        return None
    if not any(is_open(v) for v in operands):
        return None
    terms, result = spec.value.replace(" ", "").split("->")
    extents: dict[str, Expr] = {}
    known = [v for v in operands if isinstance(v, Ref)]
    for term, v in zip(terms.split(","), operands, strict=False):
        if isinstance(v, Ref) and len(term) == v.type.ndim:
            extents.update(zip(term, v.type.shape, strict=True))
    if not all(letter in extents for letter in result):
        return None
    try:
        dtype, weak = promote(v.type for v in known) if known else (BOTTOM.dtype, False)
    except OperandError:
        return None
    type = TensorType(dtype, tuple(extents[letter] for letter in result), weak)
    dims = dims_of(Listing(tuple(known)), round.universe)
    doubt = max(Doubt.DTYPE, doubt_of(*known))
    return stand_in(round, frame, type, dims, bound.span, doubt)
