"""Random examples do not depend on what a process has imported, nor on numbers in the compiler.

hypothesis takes one number in twenty, and one text, from the constants in all modules that there
are by then. So the examples of a test would be others in each worker, and where it runs alone, and
after a change of any constant; and to read all modules takes two seconds of each process.
"""

from __future__ import annotations

import pytest

try:
    from hypothesis.internal.conjecture import providers
except ImportError:
    providers = None  # type: ignore[assignment]

CONSTANTS = "_get_local_constants"


def pytest_configure(config: pytest.Config) -> None:
    """If it still has that name. Old versions take nothing from modules.

    A fixture is too late: hypothesis reads all modules as soon as tests are collected.
    """
    if hasattr(providers, CONSTANTS):
        patch = pytest.MonkeyPatch()
        nothing = providers.Constants()
        patch.setattr(providers, CONSTANTS, lambda: nothing)
        config.add_cleanup(patch.undo)
