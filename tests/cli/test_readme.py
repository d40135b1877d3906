"""What the README says happens when one does what it says."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest

from tests.cli.session import Session
from tests.support.golden import ROOT

FILE = ROOT.parent / "README.md"
README = FILE.read_text(encoding="utf-8")


def blocks(language: str) -> list[str]:
    """The code blocks of a language."""
    found = re.findall(r"^```(.*?)\n(.*?)^```$", README, re.DOTALL | re.MULTILINE)
    return [text for kind, text in found if kind == language]


def test_first_program(tempoc: Session) -> None:
    (program,) = blocks("rt")
    Path("smooth.rt").write_text(program, encoding="utf-8")
    np.save("x.npy", np.ones((5, 8), np.float32))
    np.savez("weights.npz", U=np.eye(8, dtype=np.float32), W=np.eye(8, dtype=np.float32))
    (commands,) = (block for block in blocks("") if block.startswith("tempoc compile"))
    for line in commands.splitlines():
        # numpy writes no safetensors.
        assert tempoc(line.removeprefix("tempoc ").replace(".safetensors", ".npz")) == 0
    assert "f32[5, 8]" in tempoc.out
    assert tempoc("explain smooth.rt -O1") == 0
    assert tempoc.out in blocks("")


def test_kernel(tempoc: Session) -> None:
    (program,) = blocks("rt")
    Path("smooth.rt").write_text(program, encoding="utf-8")
    (kernel,) = (block for block in blocks("python") if block.startswith("def "))
    assert tempoc("explain smooth.rt -O1 --dump-kernels") == 0
    assert kernel in tempoc.out


def test_memory(tempoc: Session) -> None:
    (program,) = blocks("rt")
    Path("smooth.rt").write_text(program, encoding="utf-8")
    assert tempoc("explain smooth.rt --memory --bounds T=1000") == 0
    assert tempoc.out in blocks("")


def test_remarks(tempoc: Session, request: pytest.FixtureRequest) -> None:
    (program,) = blocks("rt")
    Path("smooth.rt").write_text(program, encoding="utf-8")
    assert tempoc("explain smooth.rt --remarks") == 0
    (shown,) = (block for block in blocks("") if block.startswith("smooth.rt:"))
    if request.config.getoption("--bless"):
        FILE.write_text(README.replace(shown, tempoc.err), encoding="utf-8")
    else:
        assert tempoc.err == shown


def test_first_mistake(tempoc: Session) -> None:
    (shown,) = (block for block in blocks("") if block.startswith("$ tempoc check"))
    assert tempoc("check broken.rt") == 1
    assert tempoc.err == shown.partition("\n")[2]
