"""`run --tune`: what is measured, recorded, taken by later runs, and refused."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
import pytest

from tempoc.base.cost_model import MODEL
from tempoc.driver.search import tuning
from tempoc.driver.search.tuning import TimedRun
from tempoc.program.codec import sealed
from tempoc.runtime.device import backend
from tests.cli.session import Session
from tests.support.golden import Golden

SUMS = """dim t < T
input x[t]: f32[4]
y[t]: f32[4] = x[t] + 0.1 * sum(tanh(y[0:t] + x[t]), axis = 0)
print y[t] when t == T-1
output y
"""
CALLS = """dim t < T
extern host called(x: f32) -> (y: f32) from "called_once:called"
input x[t]: f32
y[t] = called(x[t])
output y
"""
CHOICES = Path("out", "tuned", "choices.json")
BY_HOST = "loops run by the host"

Fast = Callable[[str], None]


@pytest.fixture
def fast(monkeypatch: pytest.MonkeyPatch) -> Fast:
    """From now on that way is the fastest, whatever else is done as usual."""

    def choose(about: str) -> None:
        def clock(runs: Sequence[TimedRun]) -> list[list[float]]:
            for once in runs:
                once.run()
            return [[0.5 if once.about == about else 1.0] * 3 for once in runs]

        monkeypatch.setattr(tuning, "interleaved", clock)

    return choose


@pytest.fixture
def sums(tempoc: Session, monkeypatch: pytest.MonkeyPatch) -> Session:
    """A program with a loop, compiled, and data for it."""
    monkeypatch.setattr(tuning, "MODEL", MODEL._replace(hopeless_factor=1e9))
    monkeypatch.setattr(backend, "device_text", lambda: "a device")
    monkeypatch.setattr(backend, "VERSION", "1.2.3")
    Path("sums.rt").write_text(SUMS, encoding="utf-8")
    for count in (6, 7):
        np.save(f"x{count}.npy", np.linspace(0, 1, 4 * count, dtype=np.float32).reshape(-1, 4))
    assert tempoc("compile sums.rt -o out") == 0
    return tempoc


def taken(tempoc: Session, line: str = "run out --input x=x6.npy") -> str:
    """The variant that a run takes."""
    assert tempoc(f"{line} --stats") == 0
    return " ".join(row for row in tempoc.err.splitlines() if row.startswith("variant"))


def test_a_choice_is_taken(
    sums: Session, fast: Fast, golden: Golden, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert taken(sums) == ""
    fast(BY_HOST)
    sums.text = ""
    assert sums("run out --input x=x6.npy --tune --output tuned.npz --verify") == 0
    assert sums.err.count("y[t=5]") == 1
    (choice,) = json.loads(CHOICES.read_text())["choices"]
    assert sums("explain out --variants") == 0
    golden("cli/tuning.txt", sums.text.replace(choice["name"], "tuned/loops-by-host-01234567"))
    assert BY_HOST in taken(sums)
    assert taken(sums, "run out --input x=x7.npy") == ""
    assert taken(sums, "run out --input x=x6.npy --precision high") == ""
    monkeypatch.setattr(backend, "device_text", lambda: "another device")
    assert taken(sums) == ""
    monkeypatch.setattr(backend, "device_text", lambda: "a device")
    monkeypatch.setattr(backend, "VERSION", "1.2.4")
    assert taken(sums) == ""
    monkeypatch.setattr(backend, "VERSION", "1.2.3")
    # Other conditions have choices of their own; one that is not right any more is forgotten.
    fast("point by point, in loops on the device")
    assert sums("run out --input x=x7.npy --tune") == 0
    assert len(json.loads(CHOICES.read_text())["choices"]) == 2
    fast("")
    assert sums("run out --input x=x6.npy --tune") == 0
    assert "nothing is faster" in sums.err
    assert not Path("out", choice["name"]).exists()
    assert taken(sums) == "" and "point by point" in taken(sums, "run out --input x=x7.npy")
    assert sums("compile sums.rt -o out") == 0
    assert not CHOICES.exists()


def test_what_is_damaged_is_refused(sums: Session, fast: Fast) -> None:
    fast(BY_HOST)
    assert sums("run out --input x=x6.npy --tune --checkpoint kept --every 0s") == 2
    assert sums("run out --input x=x6.npy --tune") == 0
    good, (folder,) = CHOICES.read_text(), CHOICES.parent.glob("*/")
    other = good.replace('"program": "', '"program": "0')
    for text in ("{", "{}", good.replace("digest", "sum"), other):
        CHOICES.write_text(text)
        assert sums("run out --input x=x6.npy") == 1
        assert "RT506" in sums.err and "remove its folder" in sums.err
    data = json.loads(good.replace("tuned/", "../"))
    data.pop("seal")
    CHOICES.write_text(sealed(data))
    assert sums("run out --input x=x6.npy") == 1 and "no folder's name" in sums.err
    CHOICES.write_text(good)
    text = (folder / "kernels.py").read_text()
    (folder / "kernels.py").write_text(text + "\n")
    assert sums("run out --input x=x6.npy") == 1 and "RT503" in sums.err
    shutil.rmtree(folder)
    assert sums("run out --input x=x6.npy") == 1 and "not there any more" in sums.err
    shutil.rmtree(CHOICES.parent)
    assert taken(sums) == ""


def test_a_checkpoint_is_of_one_way(sums: Session, fast: Fast) -> None:
    """What was begun before a choice goes on as it was; what was begun with one needs it."""
    line = "run out --input x=x6.npy --every 0s --output y.npz"
    assert sums(f"{line} --checkpoint before") == 0
    fast(BY_HOST)
    assert sums("run out --input x=x6.npy --tune") == 0
    assert sums(f"{line} --checkpoint after") == 0
    assert taken(sums, f"{line} --checkpoint before --resume before") == ""
    assert BY_HOST in taken(sums, f"{line} --checkpoint after --resume after")
    shutil.rmtree(CHOICES.parent)
    assert sums(f"{line} --checkpoint after --resume after") == 1
    assert "different: the variant" in sums.err


def test_programs_in_source(sums: Session, fast: Fast) -> None:
    fast(BY_HOST)
    assert BY_HOST in taken(sums, "run sums.rt --input x=x6.npy --tune")
    assert "for this run" in sums.err
    assert taken(sums, "run sums.rt --input x=x6.npy") == ""


def test_a_choice_keeps_to_the_budget(sums: Session, fast: Fast) -> None:
    """One that takes more is not taken by runs that may not."""
    fast("initial capacity for all steps")
    assert sums("run out --input x=x6.npy --tune --memory") == 0
    text = CHOICES.read_text()
    assert "bucket-0" in text
    assert "bucket-0" in taken(sums)
    assert sums("run out --input x=x6.npy --memory-budget 10B") == 1
    assert "RT580" in sums.err


def test_hosts_are_not_called_again(tempoc: Session) -> None:
    Path("calls.rt").write_text(CALLS, encoding="utf-8")
    Path("called_once.py").write_text("def called(x):\n    open('called', 'w')\n    return x\n")
    np.save("x.npy", np.ones(3, np.float32))
    assert tempoc("run calls.rt --input x=x.npy --tune") == 1
    assert "RT590" in tempoc.err and not Path("called").exists()
