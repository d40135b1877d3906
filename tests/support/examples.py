"""The numbered examples with their data, for tests: what `examples/data.py` lists."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from typing import Any

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
