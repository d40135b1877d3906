"""Diagnostics of declarations and calls of Python functions, RT150 to RT169."""

from __future__ import annotations

from tempoc.base.diagnostics import Diagnostic, Label
from tempoc.base.source import Span
from tempoc.frontend.environment.values import Listing, RecordValue, Value, describe
from tempoc.frontend.errors.domains import listed
from tempoc.ops.definition.shapes import type_text
from tempoc.ops.definition.types import TensorType


def _error(code: str, message: str, span: Span, help: str | None = None) -> Diagnostic:
    return Diagnostic(code=code, message=message, primary=Label(span), help=help)


def bad_place(span: Span, text: str) -> Diagnostic:
    """RT150: where the function is cannot be read."""
    help = 'write the module and the function, as in "envs.cartpole:step"'
    return _error("RT150", f'"{text}" names no Python function', span, help)


def not_a_record(span: Span, wanted: RecordValue, found: Value) -> Diagnostic:
    """RT151: something else than the record that is declared."""
    fields = f"a record with the fields {listed(wanted.names)}"
    if isinstance(found, RecordValue):
        return _error("RT151", f"expected {fields}, found {listed(found.names)}", span)
    return _error("RT151", f"expected {fields}, found {describe(found)}", span)


def over_jax(span: Span) -> Diagnostic:
    """RT152: `over` is for host functions."""
    help = "leave it out: the compiler vectorizes functions of JAX arrays by itself"
    return _error("RT152", "`over` belongs to `extern host`", span, help)


def no_results(span: Span, name: str) -> Diagnostic:
    """RT153: nothing comes back."""
    help = "declare at least one result; only host functions are called for what they do"
    return _error("RT153", f"the function of JAX arrays `{name}` has no results", span, help)


def ragged(span: Span, name: str, type: TensorType, dim: str) -> Diagnostic:
    """RT154: an operand whose shape varies with the point."""
    return _error(
        "RT154",
        f"`{name}` is given {type_text(type)}, whose shape varies with `{dim}`",
        span,
        "JAX traces a function for one shape: give it a fixed window, pad, or use `extern host`",
    )


def not_a_tensor(span: Span, value: Value) -> Diagnostic:
    """RT155: something else is passed."""
    message = f"a Python function takes tensors, not {describe(value)}"
    help = "make one tensor of it: `stack([...], 0)`" if isinstance(value, Listing) else None
    return _error("RT155", message, span, help)


def operand(span: Span, found: TensorType, wanted: TensorType) -> Diagnostic:
    """RT156: an operand of another type."""
    return _error("RT156", f"expected {type_text(wanted)}, found {type_text(found)}", span)


def dim_extent(span: Span, dim: str) -> Diagnostic:
    """RT157: a dimension in a signature."""
    help = (
        "JAX traces a function for one shape: declare an `extern host`, which takes all shapes, or "
        "give this axis an extent without dimensions, such as a bound"
    )
    message = f"a function of JAX arrays has an extent that varies with `{dim}`"
    return _error("RT157", message, span, help)


def unknown_length(span: Span, name: str, type: TensorType, bound: str) -> Diagnostic:
    """RT159: an operand whose shape is found out during the run."""
    return _error(
        "RT159",
        f"`{name}` is given {type_text(type)}, but `{bound}` is found out during the run",
        span,
        "a Python function takes arrays of one shape: give it a fixed window, or pad",
    )


def length_extent(span: Span, bound: str) -> Diagnostic:
    """RT159: an extent of a signature that is found out during the run."""
    help = "leave the extent free by a name of its own, and give it a fixed window"
    return _error("RT159", f"`{bound}` is found out during the run", span, help)


def in_branch(span: Span, name: str) -> Diagnostic:
    """RT158: a host function is called at every point, so it cannot be in a branch."""
    message = f"the host function `{name}` is called in a branch of `cond`"
    help = "call it in an equation of its own: it is called once for every point, taken or not"
    return _error("RT158", message, span, help)
