"""Diagnostics of `dim t < T until stop` (RT270 to RT281), and of lengths of data (RT110)."""

from __future__ import annotations

from tempoc.diagnostics.diagnostic import Diagnostic, Label, error
from tempoc.diagnostics.error_row import ErrorRow
from tempoc.diagnostics.source import Span
from tempoc.frontend.errors.domains import listed
from tempoc.ops.definition.shapes import type_text
from tempoc.ops.definition.types import TensorType
from tempoc.symbolic.expr import Expr
from tempoc.symbolic.text import show

no_tensor = ErrorRow(
    "RT270",
    "`until` takes the name of a tensor, but `{name}` is {what}",
    "the steps go on until a bool tensor is true: `dim t < T until stop`, `stop[t] = ...`",
)


def wrong_type(span: Span, name: str, type: TensorType) -> Diagnostic:
    """What ends a dimension is no scalar bool."""
    help = "compare it with something, `stop[t] = err[t] < 1e-6`"
    if type.shape:
        help = f"say which elements decide: `any({name})` or `all({name})`"
    shown = type_text(TensorType(type.dtype, type.shape))
    return error(
        "RT271", f"what ends a dimension is a scalar bool, but `{name}` is {shown}", span, help
    )


def does_not_vary(span: Span, name: str, dim: str, dims: tuple[str, ...]) -> Diagnostic:
    """What ends a dimension is the same at all of its steps."""
    has = f"it varies with {listed(dims)}" if dims else "it varies with no dimension"
    return error(
        "RT272",
        f"`{name}` ends the dimension `{dim}`, but does not vary with it",
        span,
        f"say for each step whether it is the last one: `{name}[{dim}] = ...`",
        notes=(has,),
    )


declared_later = ErrorRow(
    "RT273",
    "the length of `{dim}` varies with `{later}`, which is declared after `{dim}`",
    "declare `{later}` before `{dim}`, or end it when `any({name}[...])`",
    "`{name}` varies with `{later}`",
)


varies_with_itself = ErrorRow(
    "RT278",
    "the length of `{dim}` varies with `{other}`, which has the same bound `{bound}`",
    "give `{other}` a bound of its own",
)


def open_most(span: Span, most: Expr, *, given: bool) -> Diagnostic:
    """The largest length of a length that the data decide is not known when the program starts."""
    help = "make it of numbers and of bounds that are known then, as in `most = 64`"
    return error(
        "RT110",
        f"the largest length, {show(most)}, is not known when the program starts",
        span,
        help if given else "give one: `most = ...`, " + help.removeprefix("make it "),
    )


def target_without(
    span: Span, name: str, dim: str, outer: tuple[str, ...], target: str
) -> Diagnostic:
    """A tensor over a dimension whose length varies, without what it varies with."""
    return error(
        "RT279",
        f"the length of `{dim}` varies with {listed(outer)}, so `{name}` does too",
        span,
        f"write `{target}`",
    )


def other_length(
    span: Span, text: str, bound: str, dim: str, target: str | None = None
) -> Diagnostic:
    """A read or write at a point with another length, of which nothing is known.

    `target`: a target that writes the same with this length.
    """
    return error(
        "RT280",
        f"`{text}` is at another point of `{dim}`, where `{bound}` may be another length",
        span,
        f"write `{target}`"
        if target
        else f"give what is wanted a name in an equation that varies with `{dim}` alone, "
        f"and read that at the other point",
    )


def ragged_lengths(
    span: Span, name: str, bound: str, outer: tuple[str, ...], dim: str
) -> Diagnostic:
    """A slice or output over points with different lengths of a dimension.

    `dim` is empty if the length is one of an axis.
    """
    help = (
        f"reduce it to one value for each point first: give `sum({name}[{dim} = 0:{bound}])`, or "
        f"the last step, `{name}[{dim} = {bound}-1]`, a name in an equation, and use that"
    )
    if not dim:
        help = "reduce it first, as by `sum`, or `pad` it to the extent that is the largest"
    message = f"this would be ragged: the length `{bound}` of `{name}` varies with {listed(outer)}"
    return error("RT281", message, span, help)


def ended_twice(span: Span, bound: str, before: Span) -> Diagnostic:
    """Two tensors end one bound."""
    return error(
        "RT274",
        f"the bound `{bound}` is ended twice",
        span,
        "give the two dimensions bounds of their own, or end one by `a or b`",
        secondary=(Label(before, "ended here"),),
    )


varying_limit = ErrorRow(
    "RT275",
    "the largest length `{bound}` depends on `{other}`, which is found out during the run",
    "leave the value out and give `{bound}` when the program is run",
)
shrinking = ErrorRow(
    "RT276",
    "the bound `{bound}` may grow when `{other}` turns out shorter than its largest length",
    None,
    "room is made for the largest lengths, so `{bound}` must be largest for the largest `{other}`",
)
partly_defined = ErrorRow(
    "RT277",
    "`{name}` ends the dimension `{dim}`, but is not defined at {where}",
    "say for each step whether it is the last one; `false` where it never is",
)
