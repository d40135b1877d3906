"""What benchmarks name exists: their programs, and the modules that they start as processes."""

from __future__ import annotations

import importlib
import importlib.util
import re
from pathlib import Path

ROOT = Path(__file__).parents[2]
BENCH = ROOT / "tests" / "bench"
NAMED_MODULE = re.compile(r"\btests\.bench(?:\.\w+)+")


def module_name(path: Path) -> str:
    return ".".join(path.relative_to(ROOT).with_suffix("").parts)


MODULES = [
    module_name(path)
    for path in sorted(BENCH.rglob("*.py"))
    if path.stem not in ("__init__", "__main__") and "torch" not in path.read_text()
]


def test_programs_of_benchmarks_exist() -> None:
    missing = [
        f"{name}: {value}"
        for name in MODULES
        for value in vars(importlib.import_module(name)).values()
        if isinstance(value, Path) and value.suffix == ".rt" and not (ROOT / value).exists()
    ]
    assert missing == []


def test_modules_that_benchmarks_name_exist() -> None:
    missing = [
        f"{path.relative_to(ROOT)}: {name}"
        for path in sorted(BENCH.rglob("*.py"))
        for name in NAMED_MODULE.findall(path.read_text())
        if not exists(name)
    ]
    assert missing == []


def exists(name: str) -> bool:
    """Whether a package or a module of this name exists, or a name in a module that does."""
    parent, _, _ = name.rpartition(".")
    folder = ROOT / name.replace(".", "/")
    modules = [(ROOT / part.replace(".", "/")).with_suffix(".py") for part in (name, parent)]
    return folder.is_dir() or any(module.exists() for module in modules)
