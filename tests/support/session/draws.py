"""Random examples do not depend on what a process has imported, nor on numbers in the compiler.

hypothesis takes one number in twenty, and one text, from the constants in all modules that there
are by then. So the examples of a test would be others in each worker, and where it runs alone, and
after a change of any constant; and to read all modules takes two seconds of each process.
"""

from __future__ import annotations

from collections.abc import Iterator

import pytest

try:
    from hypothesis.internal.conjecture import providers
except ImportError:
    providers = None  # type: ignore[assignment]

CONSTANTS = "_get_local_constants"


@pytest.fixture(scope="session", autouse=True)
def drawn_from_no_modules() -> Iterator[None]:
    """If it still has that name. Old versions take nothing from modules."""
    with pytest.MonkeyPatch.context() as patch:
        if hasattr(providers, CONSTANTS):
            nothing = providers.Constants()
            patch.setattr(providers, CONSTANTS, lambda: nothing)
        yield
