"""What can be wrong with `grad`."""

from __future__ import annotations

from collections.abc import Sequence

from tempoc.base.diagnostics import Diagnostic, Label
from tempoc.base.source import Span
from tempoc.ops.shapes import type_text
from tempoc.ops.types import DType, TensorType


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


def itself(span: Span) -> Diagnostic:
    """The gradient is part of what it differentiates."""
    return Diagnostic(
        code="RT265",
        message="this gradient is differentiated to compute itself",
        primary=Label(span),
        notes=(
            "the loss depends on the gradient other than through the tensor that is "
            "differentiated by, so that its derivative needs its own derivative",
        ),
        help="differentiate by everything that the gradient updates (the whole record), or put "
        "stop_gradient around what shall count as constant",
    )


def other_lengths(spans: Sequence[Span], bound: str, dim: str) -> Diagnostic:
    """RT282: a derivative through a read of points with other lengths, at steps that vary."""
    return Diagnostic(
        code="RT282",
        message=f"a derivative goes through a read at other points of `{dim}`, "
        f"at steps that vary",
        primary=Label(spans[0]) if spans else None,
        notes=(
            f"`{bound}` may be another length there, so that who reads a step depends on the "
            f"lengths at all points of `{dim}` at once",
        ),
        help="read steps there that are the same for all, such as the first one, or put "
        "stop_gradient around the read",
    )
