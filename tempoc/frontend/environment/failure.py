"""How a mistake travels from where it is found to the expression that is given up for it."""

from __future__ import annotations

from tempoc.base.diagnostics import Diagnostic
from tempoc.frontend.environment.values import Unknown


class Failure(Exception):
    """The expression at hand is wrong; it becomes unknown, and the diagnostic is reported."""

    def __init__(self, diagnostic: Diagnostic) -> None:
        """Carry a diagnostic."""
        super().__init__(diagnostic.message)
        self.diagnostic = diagnostic


class StillUnknown(Exception):
    """What is computed at compile time depends on something that this round does not know."""

    def __init__(self, value: Unknown) -> None:
        """Carry what is unknown."""
        super().__init__()
        self.value = value
