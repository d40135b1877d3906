"""Diagnostics of declarations and calls of Python functions, RT150 to RT169."""

from __future__ import annotations

from tempoc.diagnostics.diagnostic import Diagnostic, error
from tempoc.diagnostics.error_row import ErrorRow
from tempoc.diagnostics.source import Span
from tempoc.frontend.environment import values as val
from tempoc.frontend.errors.domains import listed
from tempoc.ops.definition.shapes import type_text
from tempoc.ops.definition.types import TensorType

bad_place = ErrorRow(
    "RT150",
    '"{text}" names no Python function',
    'write the module and the function, as in "envs.cartpole:step"',
)


def not_a_record(span: Span, expected: val.RecordValue, actual: val.Value) -> Diagnostic:
    """RT151: something else than the record that is declared."""
    fields = f"a record with the fields {listed(expected.names)}"
    if isinstance(actual, val.RecordValue):
        return error("RT151", f"expected {fields}, found {listed(actual.names)}", span)
    return error("RT151", f"expected {fields}, found {val.describe(actual)}", span)


over_jax = ErrorRow(
    "RT152",
    "`over` belongs to `extern host`",
    "leave it out: the compiler vectorizes functions of JAX arrays by itself",
)
no_results = ErrorRow(
    "RT153",
    "the function of JAX arrays `{name}` has no results",
    "declare at least one result; only host functions are called for what they do",
)


def ragged(span: Span, name: str, type: TensorType, dim: str) -> Diagnostic:
    """RT154: an operand whose shape varies with the point."""
    return error(
        "RT154",
        f"`{name}` is given {type_text(type)}, whose shape varies with `{dim}`",
        span,
        "JAX traces a function for one shape: give it a fixed window, pad, or use `extern host`",
    )


def not_a_tensor(span: Span, value: val.Value) -> Diagnostic:
    """RT155: something else is passed."""
    message = f"a Python function takes tensors, not {val.describe(value)}"
    help = "make one tensor of it: `stack([...], 0)`" if isinstance(value, val.Listing) else None
    return error("RT155", message, span, help)


def operand(span: Span, actual: TensorType, expected: TensorType) -> Diagnostic:
    """RT156: an operand of another type."""
    return error("RT156", f"expected {type_text(expected)}, found {type_text(actual)}", span)


dim_extent = ErrorRow(
    "RT157",
    "a function of JAX arrays has an extent that varies with `{dim}`",
    "JAX traces a function for one shape: declare an `extern host`, which takes all shapes, or "
    "give this axis an extent without dimensions, such as a bound",
)


def unknown_length(span: Span, name: str, type: TensorType, bound: str) -> Diagnostic:
    """RT159: an operand whose shape is found out during the run."""
    return error(
        "RT159",
        f"`{name}` is given {type_text(type)}, but `{bound}` is found out during the run",
        span,
        "a Python function takes arrays of one shape: give it a fixed window, or pad",
    )


length_extent = ErrorRow(
    "RT159",
    "`{bound}` is found out during the run",
    "leave the extent free by a name of its own, and give it a fixed window",
)
in_branch = ErrorRow(
    "RT158",
    "the host function `{name}` is called in a branch of `cond`",
    "call it in an equation of its own: it is called once for every point, taken or not",
)
