"""Commands that end at any operation on files leave the old or the new, whole, and no rubbish."""

from __future__ import annotations

import os
import subprocess
import sys

import numpy as np

from tempoc.cli.main import status
from tests.files.faults import Faults, rubbish
from tests.house.source import ROOT
from tests.support.session.long import chosen

SECONDS = 1.0
STRIDE = 11
"""A run takes long; `scenarios.py` has its parts, at every operation."""
SOURCE = """dim t < T
input x[t]: f32
m[0] = x[0]
m[t] = 0.9 * m[t-1] + 0.1 * x[t]
save m[t] to "kept/m-{t}.safetensors" when t % 2 == 0
print m[t] when t == 3
output m
"""


def in_process(module: str, *arguments: str) -> str:
    """What a module prints, in a process that may fork."""
    command = [sys.executable, "-m", module, *arguments]
    done = subprocess.run(
        command,
        cwd=ROOT,
        capture_output=True,
        text=True,
        env=os.environ | {"PYTHONPATH": str(ROOT)},
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_old_or_new_after_every_operation(tmp_path):
    stride = 1 if chosen["long"] else 11
    lines = in_process("tests.files.crash_points", str(tmp_path), str(stride)).splitlines()
    counts = [int(line.split()[-2]) for line in lines]
    assert len(counts) == 10 and min(counts) > 10 // stride, lines


def test_two_writers_and_a_reader(tmp_path):
    lines = in_process("tests.files.race", str(tmp_path), str(SECONDS)).splitlines()
    assert len(lines) == 2


def test_a_whole_run_on_a_full_disk(tmp_path, monkeypatch, capfd):
    """Operations of a run fail; the run afterwards is as if nothing had been."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "m.rt").write_text(SOURCE)
    np.save("x.npy", np.arange(6, dtype=np.float32))
    assert status(["compile", "m.rt", "-o", "out"]) == 0
    run = ["run", "out", "--input=x=x.npy", "--output=y.npz", "--output-dir=d", "--every=0s"]
    run += ["--profile=p.json", "--memory-plot=p.svg"]
    assert status([*run, "--checkpoint=whole"]) == 0
    wanted = np.load("y.npz")["m"]
    for point in range(1, 1000, STRIDE):
        capfd.readouterr()
        faults = Faults(point, dies=False)
        with monkeypatch.context() as patch:
            faults.install(patch.setattr)
            ended = status([*run, f"--checkpoint=kept-{point}"])
        err = capfd.readouterr().err
        assert err.count("error[RT") == (ended == 1) and ended in (0, 1), f"{point}: {err}"
        assert "error[RT9" not in err, f"{point}: {err}"
        np.testing.assert_array_equal(np.load("y.npz")["m"], wanted)
        if faults.count < point:
            break
    assert point > 50
    assert status([*run, "--checkpoint=last"]) == 0
    left = [name for name in rubbish(tmp_path) if not name.startswith("kept-")]
    assert not left
