"""Diagnostics of `grad` (RT260 to RT263)."""

from __future__ import annotations

from tempoc.diagnostics.diagnostic import Diagnostic, error
from tempoc.diagnostics.error_row import ErrorRow
from tempoc.diagnostics.source import Span
from tempoc.ops.definition.shapes import type_text
from tempoc.ops.definition.types import DType, TensorType


def not_scalar(span: Span, type: TensorType) -> Diagnostic:
    """The loss has axes."""
    return error(
        "RT260",
        f"grad needs a scalar loss, this one is {type_text(type)}",
        span,
        "take its sum or mean",
    )


def not_float(span: Span, what: str, type: TensorType) -> Diagnostic:
    """Integers have no derivative."""
    subject = "differentiates by" if what == "x" else "needs a loss of"
    return error(
        "RT261",
        f"grad {subject} floating point numbers, this is {type_text(type)}",
        span,
        None
        if type.dtype is DType.KEY
        else "convert with f32(...) before anything is computed from it",
    )


not_a_name = ErrorRow(
    "RT262",
    "grad differentiates by a tensor that has a name, this is an expression",
    "give it a name, compute the loss from that name, and differentiate by it; read the gradient "
    "at other points as `grad(loss, x)[t = ...]`",
)
points = ErrorRow(
    "RT262",
    "grad differentiates by a tensor, not by points of `{name}`",
    "write `{name}` alone: its gradient has the same dimensions, and is read at other points as "
    "`grad(loss, {name})[{dim} = ...]`",
)
not_differentiable = ErrorRow("RT263", "grad differentiates by a tensor, not by {what}")
