"""A fault names the check that failed, the value that was wrong and the sizes of bounds."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from tempoc.runtime.messages.faults import message
from tests.cli.session import Session

CHECKS = ("a", "index {value} is not in 0:T", "c is {value}")
HEAD = "dim t < T\ninput x[t]: f32\ninput j[t]: i32\nv = x[t = 0:T]\n"
EQUATIONS = {
    "promise": ("y = x[t = j in 0:T]", "index 7 is not in 0:T, "),
    "part": ("y = x[t = j in 0:T-1]", "index 4 is not in 0:T-1, "),
    "index": ("y = v[j]", "index 7 is out of range for axis 0"),
    "take": ("y = take(v, j, 0)", "index 7 is out of range for axis 0"),
    "take_along": (
        "y = take_along(v, j * ones([1], dtype = i32), 0)", "index 7 is out of range for axis 0"
    ),
    "branch": ("y = cond(j > 0, v[j], 0.0)", "index 7 is out of range for axis 0"),
    "loop": ("y[0] = v[j[0]]\ny[t] = y[t-1] + v[j]", "index 7 is out of range for axis 0"),
    "unsigned": ("y = v[u32(j)]", "index 7 is out of range for axis 0"),
}  # fmt: skip


@pytest.mark.parametrize(
    ("check", "wrong", "wanted"),
    [
        (0, 1, "a"),
        (1, 15, "index 7 is not in 0:T (T = 5)"),
        (1, 6, "index -3 is not in 0:T (T = 5)"),
        (2, 1, "c is 0"),
        (2, (2**31 - 1) // 3, "c is (too large to tell)"),
    ],
)
def test_faults_are_unpacked(check: int, wrong: int, wanted: str) -> None:
    assert message(CHECKS, len(CHECKS) * wrong - check, {"T": 5}) == wanted


@pytest.mark.parametrize("what", EQUATIONS)
def test_runs_and_the_evaluator_name_the_value(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], what: str
) -> None:
    monkeypatch.chdir(tmp_path)
    equation, wanted = EQUATIONS[what]
    tempoc = Session(capsys)
    Path("m.rt").write_text(f"{HEAD}{equation}\noutput y\n", encoding="utf-8")
    np.save("x.npy", np.arange(5, dtype=np.float32))
    j = [0, 1, 4, 3, 3] if what == "part" else [0, 1, 2, 7, 3]
    np.save("j.npy", np.array(j, np.int32))
    at = "t = 2" if what == "part" else "t = 3"
    data = "--input x=x.npy --input j=j.npy"
    for level in ("-O0", "-O2"):
        assert tempoc(f"compile m.rt -o out {level}") == 0
        assert tempoc(f"run out {data}") == 1
        assert wanted in tempoc.err and f"(T = 5) at {at}" in tempoc.err
        assert "in m.rt:5: y" in tempoc.err or "in m.rt:6: y" in tempoc.err
    assert tempoc(f"eval m.rt {data}") == 1
    assert wanted in tempoc.err and f"[{at.replace(' ', '')}]" in tempoc.err
