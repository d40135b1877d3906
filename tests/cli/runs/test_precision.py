"""`--precision`: for a compiled program, and for one run of it."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from tempoc.runtime.main import main
from tests.cli.session import Session


def test_command_lines(tempoc: Session) -> None:
    assert tempoc("compile sums.rt -o out --precision high") == 0
    assert '"precision", "high"' in " ".join(Path("out/program.json").read_text().split())
    data = "--input x=x.npy --params w.npz"
    assert tempoc(f"run out {data} --precision default --output a.npz") == 0
    assert tempoc(f"run sums.rt {data} --precision high --output b.npz") == 0
    assert tempoc(f"run out {data} --precision low") == 2
    assert tempoc("explain out --precision high") == 2
    args = ["out", "--input", "x=x.npy", "--params", "w.npz", "--precision", "high"]
    assert main([*args, "--output", "c.npz"]) == 0
    assert main([*args[:-1], "low"]) == 2
    a, b, c = (np.load(f"{name}.npz") for name in "abc")
    assert a["s"].tobytes() == b["s"].tobytes() == c["s"].tobytes()
