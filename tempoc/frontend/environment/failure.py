"""Exceptions that abort the evaluation of an expression."""

from __future__ import annotations

from tempoc.base.limits import LimitReached
from tempoc.diagnostics.diagnostic import Diagnostic
from tempoc.diagnostics.source import Span
from tempoc.frontend.environment import values as val


class Failure(Exception):
    """The expression is in error: its value becomes unknown, and the diagnostic is reported."""

    def __init__(self, diagnostic: Diagnostic) -> None:
        """Carry a diagnostic."""
        super().__init__(diagnostic.message)
        self.diagnostic = diagnostic


class LimitReachedAt(LimitReached):
    """A limit is reached, and where."""

    def __init__(self, limit: LimitReached, span: Span) -> None:
        """Carry the limit and the span."""
        super().__init__(limit.name, limit.most)
        self.span = span


class StillUnknown(Exception):
    """A compile-time value depends on something unknown in this round."""

    def __init__(self, value: val.Unknown) -> None:
        """Carry the unknown value."""
        super().__init__()
        self.value = value
