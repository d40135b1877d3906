"""Runs with host functions: verification, statistics, profiles, what breaks off in between."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from tests.cli.session import Session
from tests.support.functions import laid_out

FILES = {
    "main.rt": """
dim i < I
dim t < T
extern host step(s: f32[2], i: i32) -> (s2: f32[2], r: f32) from "hr_env:step"
extern host note(r: f32) -> () from "hr_env:note"
input x[i]: f32[2]
s[i, 0] = x[i]
s[i, t+1] = s2[i, t]
s2, r = step(s, i)
_ = note(r)
ret[i] = sum(r[i, 0:T])
output s, r, ret
save ret to "ret-{i}.safetensors"
print ret
""",
    "hr_env.py": """
import random

count = 0
seen = []
stop = None


def step(s, i):
    # A state that survives calls and runs, and chance that nobody seeded.
    global count
    count += 1
    if stop is not None and i == 1:
        raise stop
    return s * 0.5 + count, random.random()


def note(r):
    seen.append(float(r))
""",
}
RUN = "run main.rt --input x=x.npy --bounds T=3"


@pytest.fixture
def folder(tempoc: Session, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A program with an environment, and its data."""
    monkeypatch.delitem(__import__("sys").modules, "hr_env", raising=False)
    laid_out(Path.cwd(), FILES)
    np.save("x.npy", np.ones((2, 2), np.float32))
    return Path.cwd()


def test_verify_calls_nothing_again(tempoc: Session, folder: Path) -> None:
    assert tempoc(f"{RUN} --verify") == 0
    assert "all outputs agree" in tempoc.err
    import hr_env  # type: ignore[import-not-found]

    assert (hr_env.count, len(hr_env.seen)) == (6, 6)
    assert tempoc("compile main.rt -o out") == 0
    assert tempoc("run out --input x=x.npy --bounds T=2 --verify") == 0
    assert (hr_env.count, len(hr_env.seen)) == (10, 10)


def test_statistics_and_profiles_show_the_calls(tempoc: Session, folder: Path) -> None:
    assert tempoc(f"{RUN} --stats") == 0
    rows = [line.split() for line in tempoc.err.splitlines()]
    assert ["host", "function", "calls", "time"] in rows
    assert [r[:2] for r in rows if r[:1] in (["step"], ["note"])] == [["step", "6"], ["note", "6"]]
    assert tempoc(f"{RUN} --stats --profile p.json") == 0
    rows = [line.split() for line in tempoc.err.splitlines()]
    assert ["host", "step", "6"] in [r[:3] for r in rows]
    events = json.loads(Path("p.json").read_text())["traceEvents"]
    at = [e["args"]["at"] for e in events if e["name"] == "host step"]
    assert at == [[i, t] for i in range(2) for t in range(3)]


STOPS = {"SystemExit(0)": 1, "StopIteration()": 1, "KeyboardInterrupt()": 130}


@pytest.mark.parametrize("stop", STOPS)
def test_what_breaks_off_leaves_whole_files(stop: str, tempoc: Session, folder: Path) -> None:
    path = Path("hr_env.py")
    path.write_text(path.read_text().replace("stop = None", f"stop = {stop}"))
    assert tempoc(RUN) == STOPS[stop]
    assert sorted(p.name for p in Path().glob("ret*")) == ["ret-0.safetensors"]
    if STOPS[stop] == 1:
        name = stop.partition("(")[0]
        assert f"error[RT573]: step (hr_env:step) raised {name}" in tempoc.err
        assert "at i = 1, t = 0" in tempoc.err
        assert "hr_env.py" in tempoc.err and "tempoc/runtime" not in tempoc.err
