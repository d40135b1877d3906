"""Diagnostics of `grad` (RT260 to RT263)."""

from __future__ import annotations

from tempoc.base.diagnostics import Diagnostic, Label
from tempoc.base.source import Span
from tempoc.ops.definition.shapes import type_text
from tempoc.ops.definition.types import DType, TensorType


def not_scalar(span: Span, type: TensorType) -> Diagnostic:
    """The loss has axes."""
    return Diagnostic(
        code="RT260",
        message=f"grad needs a scalar loss, this one is {type_text(type)}",
        primary=Label(span),
        help="take its sum or mean",
    )


def not_float(span: Span, what: str, type: TensorType) -> Diagnostic:
    """Integers have no derivative."""
    subject = "differentiates by" if what == "x" else "needs a loss of"
    return Diagnostic(
        code="RT261",
        message=f"grad {subject} floating point numbers, this is {type_text(type)}",
        primary=Label(span),
        help=None
        if type.dtype is DType.KEY
        else "convert with f32(...) before anything is computed from it",
    )


def not_a_name(span: Span) -> Diagnostic:
    """The second argument is an expression."""
    return Diagnostic(
        code="RT262",
        message="grad differentiates by a tensor that has a name, this is an expression",
        primary=Label(span),
        help="give it a name, compute the loss from that name, and differentiate by it; "
        "read the gradient at other points as `grad(loss, x)[t = ...]`",
    )


def not_differentiable(span: Span, what: str) -> Diagnostic:
    """The second argument is no tensor."""
    return Diagnostic(
        code="RT263",
        message=f"grad differentiates by a tensor, not by {what}",
        primary=Label(span),
    )
