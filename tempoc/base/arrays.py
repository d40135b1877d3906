"""NumPy and its further dtypes, loaded when something of them is used.

A program is checked without them, and they would take a third of the time.
"""

import importlib
from typing import TYPE_CHECKING, Any

__all__ = ["ml_dtypes", "np"]

if TYPE_CHECKING:
    import ml_dtypes
    import numpy as np
else:

    class _Late:
        def __init__(self, name: str) -> None:
            self._name = name

        def __getattr__(self, name: str) -> Any:
            value = getattr(importlib.import_module(self._name), name)
            setattr(self, name, value)
            return value

    ml_dtypes = _Late("ml_dtypes")
    np = _Late("numpy")
