"""Two processes with different hash seeds write the same bytes."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from tests.support.examples import ROOT

PROGRAMS = ("examples/03_heat_equation.rt", "examples/10_viterbi.rt", "examples/llama/model.rt")


COMPILE = """import sys
from pathlib import Path
from tempoc.cli.main import status
for source in sys.argv[2:]:
    assert status(["compile", source, "-o", f"{sys.argv[1]}/{Path(source).stem}"]) == 0
"""


def compiled(folder: Path, seed: int) -> dict[str, bytes]:
    folder.mkdir()
    command = [sys.executable, "-c", COMPILE, str(folder), *PROGRAMS]
    environment = {**os.environ, "PYTHONHASHSEED": str(seed)}
    subprocess.run(command, cwd=ROOT, env=environment, check=True)
    files = sorted(path for path in folder.rglob("*") if path.is_file())
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in files}


def test_the_same_bytes(tmp_path: Path) -> None:
    first, second = (compiled(tmp_path / str(seed), seed) for seed in (1, 2))
    programs = [name for name in first if name.endswith("program.json")]
    assert list(first) == list(second) and len(programs) == len(PROGRAMS)
    assert [name for name in first if first[name] != second[name]] == []
