"""`--checkpoint` and `--resume` on the command line: what is refused, and what is said about it."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from tempoc.files.locks import exclusive
from tempoc.runtime.checkpoint.state import PRINTED, STATE
from tempoc.runtime.device import backend
from tests.cli.session import Session
from tests.support.golden import Golden

DRAWS = """dim t < T
input x[t]: f32
y[0] = x[0]
y[t] = y[t-1] + x[t] * random.normal([])
print y[t] when t % 2 == 0
output y
"""
CALLS = """dim t < T
extern host far(x: f32) -> (y: f32) from "far:far"
input x[t]: f32
y[t] = far(x[t])
output y
"""


def prepared(tempoc: Session) -> None:
    """A checkpoint of a program that draws, in `kept`."""
    Path("draws.rt").write_text(DRAWS, encoding="utf-8")
    np.save("a.npy", np.arange(5, dtype=np.float32))
    np.save("b.npy", np.arange(5, dtype=np.float32) + 1)
    assert tempoc("compile draws.rt -o out") == 0
    line = "run out --input x=a.npy --seed 3 --checkpoint kept --every 0s --output all.npz"
    assert tempoc(line) == 0


def test_going_on(tempoc: Session) -> None:
    """The last checkpoint of a run that has ended gives the same outputs, and no line twice."""
    prepared(tempoc)
    printed = tempoc.err
    assert len(printed.splitlines()) == 3
    assert Path("kept", PRINTED).read_text().strip() == "3"
    assert tempoc("run out --input x=a.npy --seed 3 --resume kept --output rest.npz") == 0
    assert tempoc.err == ""
    assert Path("rest.npz").read_bytes() == Path("all.npz").read_bytes()
    line = "run draws.rt --input x=a.npy --seed 3 --resume kept --checkpoint kept --every 0s"
    assert tempoc(f"{line} --output rest.npz --verify --stats") == 0
    assert Path("rest.npz").read_bytes() == Path("all.npz").read_bytes()
    Path("kept", PRINTED).write_text("1")
    assert tempoc("run out --input x=a.npy --seed 3 --resume kept") == 0
    assert len(tempoc.err.splitlines()) <= 2


def test_what_is_refused(tempoc: Session, golden: Golden) -> None:
    prepared(tempoc)
    tempoc.text = ""
    Path("other.rt").write_text(DRAWS.replace("+ x[t]", "- x[t]"), encoding="utf-8")
    Path("calls.rt").write_text(CALLS, encoding="utf-8")
    Path("far.py").write_text("def far(x):\n    return x\n", encoding="utf-8")
    Path("empty").mkdir()
    same = "--input x=a.npy --seed 3"
    for line, code in (
        (f"run out {same} --every 5s", 2),
        (f"run out {same} --checkpoint more --every soon", 2),
        (f"run out {same} --resume nowhere", 1),
        (f"run out {same} --resume empty", 1),
        (f"run out {same} --checkpoint kept", 1),
        (f"run out {same} --checkpoint a.npy", 1),
        (f"run other.rt {same} --resume kept", 1),
        ("run out --input x=b.npy --seed 4 --resume kept", 1),
        ("run calls.rt --input x=a.npy --checkpoint more", 1),
    ):
        assert tempoc(line) == code, line
    assert not Path("more", STATE).exists()
    golden("cli/checkpoints.txt", tempoc.text)


def test_broken_files(tempoc: Session) -> None:
    """No byte of a checkpoint can be another one, and none be missing."""
    prepared(tempoc)
    path = Path("kept", STATE)
    whole = path.read_bytes()
    for k in range(0, len(whole), 29):
        for broken in (whole[:k], whole[:k] + bytes([whole[k] ^ 4]) + whole[k + 1 :]):
            path.write_bytes(broken)
            assert tempoc("run out --input x=a.npy --seed 3 --resume kept") == 1, k
            assert "error[RT586]" in tempoc.err or "error[RT587]" in tempoc.err
    path.write_bytes(whole)
    Path("kept", PRINTED).write_text("many")
    assert tempoc("run out --input x=a.npy --seed 3 --resume kept") == 1
    assert "error[RT586]" in tempoc.err


def test_one_run_at_a_time_writes_there(tempoc: Session) -> None:
    prepared(tempoc)
    line = "run out --input x=a.npy --seed 3 --resume kept --checkpoint kept --output rest.npz"
    with exclusive(Path("kept", STATE)):
        assert tempoc(line) == 1
    assert tempoc.err.startswith("error[RT589]: another run writes its checkpoints to kept")
    assert tempoc(line) == 0


def test_another_machine_is_another_run(tempoc: Session, monkeypatch: pytest.MonkeyPatch) -> None:
    prepared(tempoc)
    here = backend.numerics()
    monkeypatch.setattr(backend, "numerics", lambda: here | {"JAX": "0.0", "XLA flags": "--fast"})
    line = "run out --input x=a.npy --seed 3 --resume kept --output rest.npz"
    assert tempoc(line) == 1
    lines = tempoc.err.splitlines()
    assert lines[0].startswith("error[RT588]")
    assert f"different: the machine: JAX was {here['JAX']}, is 0.0" in lines[1]
    assert f"XLA flags was {here['XLA flags'] or 'none'}, is --fast" in lines[2]
    assert "--resume-anyway" in lines[3]
    assert tempoc(f"{line} --resume-anyway") == 0
    assert tempoc("run out --input x=a.npy --resume-anyway") == 2
