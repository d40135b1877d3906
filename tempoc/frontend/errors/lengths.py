"""Diagnostics of `dim t < T until stop` (RT270 to RT281)."""

from __future__ import annotations

from tempoc.base.diagnostics import Diagnostic, Label
from tempoc.base.source import Span
from tempoc.frontend.errors.domains import listed
from tempoc.ops.definition.shapes import type_text
from tempoc.ops.definition.types import TensorType


def _error(code: str, message: str, span: Span, help: str | None = None, *notes: str) -> Diagnostic:
    return Diagnostic(code=code, message=message, primary=Label(span), help=help, notes=notes)


def no_tensor(span: Span, name: str, what: str) -> Diagnostic:
    """`until` names something that is no tensor."""
    return _error(
        "RT270",
        f"`until` takes the name of a tensor, but `{name}` is {what}",
        span,
        "the steps go on until a bool tensor is true: `dim t < T until stop`, `stop[t] = ...`",
    )


def wrong_type(span: Span, name: str, type: TensorType) -> Diagnostic:
    """What ends a dimension is no scalar bool."""
    help = "compare it with something, `stop[t] = err[t] < 1e-6`"
    if type.shape:
        help = f"say which elements decide: `any({name})` or `all({name})`"
    shown = type_text(TensorType(type.dtype, type.shape))
    return _error(
        "RT271", f"what ends a dimension is a scalar bool, but `{name}` is {shown}", span, help
    )


def does_not_vary(span: Span, name: str, dim: str, dims: tuple[str, ...]) -> Diagnostic:
    """What ends a dimension is the same at all of its steps."""
    has = f"it varies with {listed(dims)}" if dims else "it varies with no dimension"
    return _error(
        "RT272",
        f"`{name}` ends the dimension `{dim}`, but does not vary with it",
        span,
        f"say for each step whether it is the last one: `{name}[{dim}] = ...`",
        has,
    )


def declared_later(span: Span, name: str, dim: str, later: str) -> Diagnostic:
    """The lengths vary over a dimension that is declared after this one."""
    return _error(
        "RT273",
        f"the length of `{dim}` varies with `{later}`, which is declared after `{dim}`",
        span,
        f"declare `{later}` before `{dim}`, or end it when `any({name}[...])`",
        f"`{name}` varies with `{later}`",
    )


def varies_with_itself(span: Span, dim: str, other: str, bound: str) -> Diagnostic:
    """A length that varies over a dimension of that length."""
    return _error(
        "RT278",
        f"the length of `{dim}` varies with `{other}`, which has the same bound `{bound}`",
        span,
        f"give `{other}` a bound of its own",
    )


def target_without(
    span: Span, name: str, dim: str, outer: tuple[str, ...], wanted: str
) -> Diagnostic:
    """A tensor over a dimension whose length varies, without what it varies with."""
    return _error(
        "RT279",
        f"the length of `{dim}` varies with {listed(outer)}, so `{name}` does too",
        span,
        f"write `{wanted}`",
    )


def other_length(
    span: Span, text: str, bound: str, dim: str, wanted: str | None = None
) -> Diagnostic:
    """A read or write at a point with another length, of which nothing is known.

    `wanted`: a target that writes the same with this length.
    """
    return _error(
        "RT280",
        f"`{text}` is at another point of `{dim}`, where `{bound}` may be another length",
        span,
        f"write `{wanted}`"
        if wanted
        else f"give what is wanted a name in an equation that varies with `{dim}` alone, "
        f"and read that at the other point",
    )


def ragged_lengths(
    span: Span, name: str, bound: str, outer: tuple[str, ...], dim: str
) -> Diagnostic:
    """A slice or output over points with different lengths of a dimension."""
    return _error(
        "RT281",
        f"this would be ragged: the length `{bound}` of `{name}` varies with {listed(outer)}",
        span,
        f"reduce it to one value for each point first: give `sum({name}[{dim} = 0:{bound}])`, or "
        f"the last step, `{name}[{dim} = {bound}-1]`, a name in an equation, and use that",
    )


def ended_twice(span: Span, bound: str, before: Span) -> Diagnostic:
    """Two tensors end one bound."""
    return Diagnostic(
        code="RT274",
        message=f"the bound `{bound}` is ended twice",
        primary=Label(span),
        secondary=(Label(before, "ended here"),),
        help="give the two dimensions bounds of their own, or end one by `a or b`",
    )


def varying_limit(span: Span, bound: str, other: str) -> Diagnostic:
    """The largest length depends on a length."""
    return _error(
        "RT275",
        f"the largest length `{bound}` depends on `{other}`, which is found out during the run",
        span,
        f"leave the value out and give `{bound}` when the program is run",
    )


def shrinking(span: Span, bound: str, other: str) -> Diagnostic:
    """A bound that grows when a length turns out shorter."""
    return _error(
        "RT276",
        f"the bound `{bound}` may grow when `{other}` turns out shorter than its largest length",
        span,
        None,
        f"room is made for the largest lengths, so `{bound}` must be largest for the largest "
        f"`{other}`",
    )


def partly_defined(span: Span, name: str, dim: str, where: str) -> Diagnostic:
    """What ends a dimension is not defined at some steps."""
    return _error(
        "RT277",
        f"`{name}` ends the dimension `{dim}`, but is not defined at {where}",
        span,
        "say for each step whether it is the last one; `false` where it never is",
    )
