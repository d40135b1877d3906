"""Errors of differentiation: RT265, RT282."""

from __future__ import annotations

from collections.abc import Sequence

from tempoc.diagnostics.diagnostic import Diagnostic, error
from tempoc.diagnostics.source import Span


def itself(span: Span) -> Diagnostic:
    """RT265: a gradient depends on its own derivative."""
    return error(
        "RT265",
        "this gradient is differentiated to compute itself",
        span,
        "differentiate by everything that the gradient updates (the whole record), or put "
        "stop_gradient around what shall count as constant",
        notes=(
            "the loss depends on the gradient other than through the tensor that is "
            "differentiated by, so that its derivative needs its own derivative",
        ),
    )


def other_lengths(spans: Sequence[Span], bound: str, dim: str) -> Diagnostic:
    """RT282: a derivative through a read of points with other lengths, at steps that vary."""
    return error(
        "RT282",
        f"a derivative goes through a read at other points of `{dim}`, at steps that vary",
        spans[0] if spans else None,
        "read steps there that are the same for all, such as the first one, or put "
        "stop_gradient around the read",
        notes=(
            f"`{bound}` may be another length there, so that the readers of a step depend on "
            f"the lengths at all points of `{dim}`",
        ),
    )


def lacks_dim(spans: Sequence[Span], bound: str, dim: str) -> Diagnostic:
    """RT282: a derivative by data over steps whose number varies with a dimension they lack."""
    return error(
        "RT282",
        f"a derivative by what does not vary with `{dim}`, at steps that vary",
        spans[0] if spans else None,
        f"let it vary with `{dim}` as well, and sum its derivatives",
        notes=(
            f"`{bound}` may be another length at each point of `{dim}`, and all of them read "
            "the same rows",
        ),
    )
