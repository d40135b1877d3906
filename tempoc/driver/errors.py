"""What can go wrong where programs are reported on or measured."""

from __future__ import annotations

from collections.abc import Sequence

from tempoc.diagnostics.diagnostic import Diagnostic, error
from tempoc.diagnostics.error_row import ErrorRow
from tempoc.diagnostics.source import Span


def not_measured(externs: Sequence[str]) -> Diagnostic:
    """A run that calls Python functions of the user's is not to be repeated."""
    return error(
        "RT590",
        f"this run cannot be repeated to measure it: it calls {', '.join(externs)}",
        help="run without --tune, or make them extern jax if they are pure",
        notes=("each measurement would call host functions again, with all that they do",),
    )


no_configuration = ErrorRow("RT054", "{path} is no configuration: {reason}")
nothing_configured = ErrorRow(
    "RT054",
    "the program takes nothing from {path}",
    'name the entry behind a constant or a fixed bound: `const D = 64 from "hidden_size"`',
)

no_kernels = ErrorRow("RT111", "{path} is no table of kernels: {reason}")
kernel_entry = ErrorRow("RT112", "the entry {name} of {path}: {why}")


def kernel_fails(name: str, reason: str, at: str) -> Diagnostic:
    """A function cannot be called at the sizes at which it is compared."""
    return error(
        "RT113",
        f"the function of the entry {name} cannot be compared with its formula: {reason}",
        help=f"it was called with {at}; give sizes that it takes: `sizes = {{T = 128}}`",
    )


def other_values(name: str, function: str, difference: float, at: str) -> Diagnostic:
    """A function does not compute the formula of its entry."""
    return error(
        "RT114",
        f"{function} does not compute the formula of the entry {name}: "
        f"results differ by {difference:.3g}",
        help=f"arguments come in the order of `arguments`, dimensions first; at {at}",
    )


def configured_value(span: Span, entry: str, path: str) -> Diagnostic:
    """An entry of a configuration is an object, or has one in it."""
    return error(
        "RT054",
        f"{entry} of {path} is neither a number nor a bool, a string or a list",
        span,
        'name an entry of an object with a dot: "rope_scaling.factor"',
    )
