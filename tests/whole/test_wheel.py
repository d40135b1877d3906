"""A wheel carries grammar and standard library, which a checkout has beside it, and the manual."""

from __future__ import annotations

import os
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PROGRAM = """import nn
dim t < T
input x[t]: f32[3]
y = nn.softmax(x)
output y
"""


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("wheel")
    command = [sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "--wheel-dir"]
    subprocess.run([*command, str(folder), str(ROOT)], check=True)
    return next(folder.glob("tempoc-*.whl"))


@pytest.mark.parametrize("folder", ["grammar", "stdlib"])
def test_resources_are_inside(wheel: Path, folder: str) -> None:
    inside = set(zipfile.ZipFile(wheel).namelist())
    beside = [path for path in (ROOT / folder).iterdir() if path.suffix in {".lark", ".rt"}]
    assert beside and {f"tempoc/_{folder}/{path.name}" for path in beside} <= inside


def test_the_manual_is_inside(wheel: Path) -> None:
    pages = {f"tempoc/manual/{path.name}" for path in (ROOT / "tempoc/manual").glob("*.md")}
    assert pages and pages <= set(zipfile.ZipFile(wheel).namelist())


def test_an_installed_tempoc_finds_them(wheel: Path, tmp_path: Path) -> None:
    installed = tmp_path / "installed"
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(installed)
    (tmp_path / "model.rt").write_text(PROGRAM)
    done = subprocess.run(
        [sys.executable, "-m", "tempoc", "check", "model.rt"],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(installed)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
