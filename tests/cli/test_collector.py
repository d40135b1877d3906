"""When garbage is collected: not while modules are imported, nor while a program is checked."""

from __future__ import annotations

import subprocess
import sys

COUNTED = """
import gc, sys
gc.collect()
seen = []
gc.callbacks.append(lambda phase, about: seen.append(phase))
from tempoc.cli.start import main
sys.argv = ["tempoc", *sys.argv[1:]]
try:
    main()
finally:
    print(len(seen), gc.isenabled(), gc.get_freeze_count() > 0)
"""


def counted(*words: str) -> str:
    """How often garbage was collected, whether it will be, and whether what is imported stays."""
    command = [sys.executable, "-c", COUNTED, *words]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout.strip()


def test_check_collects_nothing() -> None:
    counted("check", "examples/rl/a2c.rt")  # keeps the methods of dataclasses
    assert counted("check", "examples/rl/a2c.rt") == "0 True True"
    assert counted("--version").endswith("\n0 True True")
