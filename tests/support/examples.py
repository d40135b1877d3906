"""The numbered examples with their data, for tests: what `examples/data.py` lists."""

from __future__ import annotations

import importlib.util
import sys
from contextlib import chdir
from functools import cache
from pathlib import Path
from typing import Any

from tempoc.driver.compilation import Compilation
from tempoc.driver.options import Options

ROOT = Path(__file__).resolve().parents[2]


def load(path: Path) -> Any:
    """A script of `examples/` as a module."""
    spec = importlib.util.spec_from_file_location(f"examples_{path.stem}", path)
    assert spec and spec.loader
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


_data = load(ROOT / "examples" / "data.py")
EXAMPLES = _data.EXAMPLES
Example = _data.Example


@cache
def compiled(source: Path) -> Compilation:
    """A program of this checkout at -O2, compiled once for all tests that only look at it.

    It is named as a person in the checkout names it.
    """
    with chdir(ROOT):
        return Compilation.from_path(source.relative_to(ROOT).as_posix(), Options())
