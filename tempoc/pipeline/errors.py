"""Diagnostics of pipeline texts, RT320 to RT323; one function per code."""

from __future__ import annotations

from tempoc.diagnostics.diagnostic import DiagnosticError, error
from tempoc.diagnostics.source import Span


def unreadable(span: Span, text: str) -> DiagnosticError:
    """RT320: the text of a pipeline does not follow its grammar."""
    token = f"`{text}`" if text else "the end"
    return DiagnosticError(
        error(
            "RT320",
            f"{token} does not fit into a list of passes",
            span,
            "write `canonicalize,fuse{limit=4}`",
        )
    )


def unknown(span: Span, what: str, name: str, known: tuple[str, ...]) -> DiagnosticError:
    """RT321: there is no such pass, or the pass has no such option."""
    return DiagnosticError(
        error(
            "RT321",
            f"there is no {what} `{name}`",
            span,
            "known are " + ", ".join(f"`{k}`" for k in known) if known else None,
        )
    )


def wrong_value(span: Span, option: str, expected: str) -> DiagnosticError:
    """RT322: an option's value is of another type."""
    message = f"`{option}` must be {expected}"
    return DiagnosticError(error("RT322", message, span))


def wrong_order(span: Span, message: str) -> DiagnosticError:
    """RT323: a pass stands where it cannot run."""
    return DiagnosticError(error("RT323", message, span))
