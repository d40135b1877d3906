"""The packages that the compiler needs; `diagnostics/requirements.py` has those of programs."""

from collections.abc import Mapping

from tempoc.cli.reports.errors import unmet_requirement
from tempoc.diagnostics.diagnostic import Diagnostic
from tempoc.diagnostics.requirements import RUNNER, Release, install, unmet_here

PYTHON = (3, 11)
COMPILER: Mapping[str, Release] = {
    **RUNNER, "click": (8, 4), "islpy": (2025, 2, 2), "lark": (1, 2, 1), "rich": (13, 7),
    "sympy": (1, 12),
}  # fmt: skip
"""Packages with the oldest version of each that works."""


def unmet_requirements() -> list[Diagnostic]:
    """RT904 for each package that is missing or too old, which may be why something has failed."""
    return [
        unmet_requirement(sentence, install({package: sentence}, COMPILER))
        for package, sentence in unmet_here(COMPILER).items()
    ]
