"""Two processes with different hash seeds write the same bytes."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.examples import ROOT

PROGRAMS = ("examples/03_heat_equation.rt", "examples/10_viterbi.rt", "examples/llama/model.rt")


def compiled(source: str, folder: Path, seed: int) -> dict[str, bytes]:
    command = [sys.executable, "-m", "tempoc", "compile", source, "-o", str(folder)]
    environment = {**os.environ, "PYTHONHASHSEED": str(seed)}
    subprocess.run(command, cwd=ROOT, env=environment, check=True)
    files = sorted(path for path in folder.rglob("*") if path.is_file())
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in files}


@pytest.mark.parametrize("source", PROGRAMS)
def test_the_same_bytes(source: str, tmp_path: Path) -> None:
    first, second = (compiled(source, tmp_path / str(seed), seed) for seed in (1, 2))
    assert list(first) == list(second) and "program.json" in first
    assert [name for name in first if first[name] != second[name]] == []
