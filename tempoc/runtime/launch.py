"""Starts a compiled program: this file becomes its ``__main__.py``, so ``python out/`` runs it.

Beside it lie copies of the packages ``program`` and ``runtime``, whose modules know themselves as
``tempoc.program`` and ``tempoc.runtime``. A package of that name is made here, with this directory
as its only place, so nothing needs to be installed and no installed tempoc gets in between.
"""

from __future__ import annotations

import importlib
import sys
import types
from pathlib import Path


def start() -> int:
    """Run the command line of the program in this directory; returns the exit status."""
    here = Path(__file__).resolve().parent
    package = types.ModuleType("tempoc")
    package.__path__ = [str(here)]
    sys.modules["tempoc"] = package
    main = importlib.import_module("tempoc.runtime.main").main
    status: int = main([str(here), *sys.argv[1:]])
    return status


if __name__ == "__main__":
    sys.exit(start())
