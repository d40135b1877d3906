"""Programs of others that need what only `pip install -e '.[bench]'` brings."""

from __future__ import annotations

import sys
from importlib import import_module
from importlib.util import find_spec
from typing import Any


def peer(name: str, *packages: str) -> Any:
    """A module below this folder, or `None`, and a word about it, where packages are missing."""
    missing = [package for package in packages if find_spec(package) is None]
    if missing:
        print(f"without {name}: no {', '.join(missing)} here (extra `bench`)", file=sys.stderr)
        return None
    return import_module(f"tests.bench.{name}")
