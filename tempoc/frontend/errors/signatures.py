"""Diagnostics of signatures: arguments and results that have not their declared types."""

from __future__ import annotations

from dataclasses import replace

from tempoc.diagnostics.diagnostic import Diagnostic, Label, error
from tempoc.diagnostics.source import Span
from tempoc.symbolic.expr import Expr
from tempoc.symbolic.text import show

ARGUMENT = "RT056"
RESULT = "RT057"


def argument(
    span: Span,
    function: str,
    parameter: str,
    declared: str,
    given: str,
    notes: tuple[str, ...],
    place: Span,
) -> Diagnostic:
    """An argument has not the type that the signature says."""
    message = f"`{function}` takes {_line(declared)} for `{parameter}`, not {given}"
    return _declared_at(place, ARGUMENT, message, span, notes=notes)


def unbound_extent(span: Span, function: str, parameter: str, name: str, place: Span) -> Diagnostic:
    """An argument that is a number leaves open what a name of the signature stands for."""
    message = f"what `{name}` stands for in this call of `{function}` is not known"
    help = f"a number fits every shape: give `{parameter}` a tensor, as `zeros([...])` is one"
    return _declared_at(place, ARGUMENT, message, span, help)


def result(
    span: Span, function: str, declared: str, given: str, notes: tuple[str, ...], place: Span
) -> Diagnostic:
    """A result has not the type that the signature says."""
    message = f"`{function}` returns {given}, its signature says {_line(declared)}"
    return _declared_at(place, RESULT, message, span, notes=notes)


def result_count(span: Span, function: str, expected: int, given: int, place: Span) -> Diagnostic:
    """A function returns more or fewer values than its signature says."""
    plural = "value" if given == 1 else "values"
    message = f"`{function}` returns {given} {plural}, its signature says {expected}"
    return _declared_at(place, RESULT, message, span)


def _declared_at(
    place: Span,
    code: str,
    message: str,
    span: Span,
    help: str | None = None,
    notes: tuple[str, ...] = (),
) -> Diagnostic:
    """The error, with the place of the signature beside that of the call."""
    return error(code, message, span, help, notes=notes, secondary=(Label(place, "declared here"),))


def extent_of(name: str, extent: Expr, parameter: str) -> str:
    """A note: what a name in a signature stands for in a call."""
    return f"`{name}` is {show(extent)}, an extent of `{parameter}`"


def with_dimension(problem: Diagnostic, dim: str | None) -> Diagnostic:
    """The diagnostic with a hint if a dimension of the program stands in the type."""
    if dim is None:
        return problem
    help = f"`{dim}` is a dimension of the program; a name that nothing has fits every extent"
    return replace(problem, help=help)


def tensor_as_extent(span: Span, name: str) -> Diagnostic:
    """A tensor of the program stands where a signature has an extent."""
    help = f"`{name}` is a tensor of the program; a name that nothing has fits every extent"
    message = "an extent must be an index expression, not a tensor"
    return error("RT068", message, span, help)


def _line(text: str) -> str:
    """The text of a type on one line."""
    return " ".join(text.split())
