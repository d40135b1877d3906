"""Diagnostics of graph texts (RT300 to RT302) and of evaluation (RT310 to RT317)."""

from __future__ import annotations

from tempoc.diagnostics.diagnostic import DiagnosticError, error
from tempoc.diagnostics.source import Span


def _error(code: str, message: str, span: Span | None, *notes: str) -> DiagnosticError:
    return DiagnosticError(error(code, message, span, notes=notes))


# ---------------------------------------------------------------- text


def unreadable(span: Span, actual: str, expected: tuple[str, ...]) -> DiagnosticError:
    """RT300: the text of a graph does not follow its grammar."""
    met = f"`{actual}`" if actual.strip() else "the end of the line or text"
    note = ("expected one of: " + ", ".join(expected),) if 0 < len(expected) <= 8 else ()
    return _error("RT300", f"{met} does not fit here", span, *note)


def meaningless(span: Span, why: str) -> DiagnosticError:
    """RT301: the text of a graph parses, but names or attributes do not fit."""
    return _error("RT301", why, span)


def rejected(where: str, why: str, span: Span | None) -> DiagnosticError:
    """RT302: the text of a graph means something that no program does."""
    return _error("RT302", f"`{where}`: {why}", span)


# ---------------------------------------------------------------- evaluation


def needs_itself(cycle: tuple[str, ...], span: Span | None) -> DiagnosticError:
    """RT310: a value depends on itself at the same point."""
    shown = cycle if len(cycle) <= 9 else (*cycle[:6], "...", *cycle[-2:])
    note = "it needs " + " -> ".join(shown)
    return _error("RT310", f"{cycle[0]} cannot be computed, because it needs itself", span, note)


def read_outside(reader: str, read: str, span: Span | None) -> DiagnosticError:
    """RT311: an access leaves the domain of what it reads."""
    return _error("RT311", f"{reader} reads {read}, which is not defined", span)


def not_given(kind: str, name: str, span: Span | None) -> DiagnosticError:
    """RT312: a bound, an input or a param has no value."""
    return _error("RT312", f"the {kind} `{name}` is not given", span)


def wrong_array(kind: str, name: str, expected: str, actual: str) -> DiagnosticError:
    """RT313: data of another shape than declared."""
    return _error("RT313", f"the {kind} `{name}` has shape {actual}, expected {expected}", None)


def wrong_result(name: str, expected: str, actual: str, span: Span | None) -> DiagnosticError:
    """RT314: a value has another shape than its type says."""
    return _error("RT314", f"{name} has shape {actual}, but its type says {expected}", span)


def cannot_evaluate(name: str, why: str, span: Span | None) -> DiagnosticError:
    """RT315: an operator refuses its operands at a point."""
    return _error("RT315", f"{name} cannot be computed: {why}", span)


# ---------------------------------------------------------------- checked values


class RefusedValue(DiagnosticError):
    """A value that a check of an evaluation looks for."""


def overflows(
    label: str, dtype: str, exact: float, last: int, operands: str, span: Span | None
) -> RefusedValue:
    """RT316: an integer is too large for its dtype; `exact` is what it should be."""
    help = f"{dtype} ends at {last}, where it wraps around: compute in floating point"
    help += ", or in i64" if dtype == "i32" else ""
    message = f"{label} overflows {dtype}: it would be {exact:.15g}"
    return RefusedValue(error("RT316", message, span, help, notes=(operands,) * bool(operands)))


def not_finite(label: str, value: float, operands: str, span: Span | None) -> RefusedValue:
    """RT317: a value is NaN or infinite, though its operands are not."""
    help = "keep the operands where the operation is defined, for example with where or maximum"
    return RefusedValue(error("RT317", f"{label} becomes {value}", span, help, notes=(operands,)))
