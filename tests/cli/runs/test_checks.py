"""`run --check`: the first value that overflows or is not finite."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from tests.cli.session import Session

POWERS = """dim t < T
p[0] = 1
p[t] = p[t-1] * 3 when t >= 1
output p[T-1] as last
"""
LOGS = """extern host far_call(x: f32) -> (y: f32) from "far_call:far_call"
dim t < T
input x[t]: f32
y = log(far_call(x)) * 2.0
output y
"""


def test_an_overflow_is_named_and_the_run_is_delivered(tempoc: Session) -> None:
    Path("powers.rt").write_text(POWERS, encoding="utf-8")
    assert tempoc("run powers.rt --bounds T=20 --check overflow,finite --output a.npz") == 0
    assert tempoc.err == "check: overflow and finite: nothing found\n"
    assert tempoc("run powers.rt --bounds T=30 --check overflow --output b.npz") == 3
    assert "error[RT316]: p[t=20] overflows i32: it would be 3486784401" in tempoc.err
    assert "note: of 1162261467 and 3" in tempoc.err
    assert Path("b.npz").exists()
    assert tempoc("run powers.rt --bounds T=30 --check finite --verify --output c.npz") == 0
    assert [line.split(":")[0] for line in tempoc.err.splitlines()] == ["check", "verify"]


def test_host_functions_are_not_called_again(tempoc: Session) -> None:
    Path("logs.rt").write_text(LOGS, encoding="utf-8")
    Path("far_call.py").write_text(
        "def far_call(x):\n    print(end='.', file=open('calls', 'a'))\n    return x\n",
        encoding="utf-8",
    )
    np.save("x.npy", np.array([1, -1, 2], np.float32))
    assert tempoc("run logs.rt --input x=x.npy --check finite --output a.npz") == 3
    assert "error[RT317]: `log` in y[t=1] becomes nan" in tempoc.err
    assert "note: of -1.0" in tempoc.err
    assert Path("calls").read_text() == "..."


def test_a_compiled_directory_is_checked_from_its_sources(tempoc: Session) -> None:
    Path("powers.rt").write_text(POWERS, encoding="utf-8")
    assert tempoc("compile powers.rt -o out") == 0
    assert tempoc("run out --bounds T=30 --check overflow --output a.npz") == 3
    assert "RT316" in tempoc.err
    Path("out", "model.rt").unlink()
    assert tempoc("run out --bounds T=30 --check overflow --output b.npz") == 1
    assert "error[RT" in tempoc.err and not Path("b.npz").exists()


def test_what_cannot_be_checked_is_refused(tempoc: Session) -> None:
    Path("powers.rt").write_text(POWERS, encoding="utf-8")
    assert tempoc("run powers.rt --bounds T=3 --check overflow,nan") == 2
    assert "--check knows overflow and finite, not 'nan'" in tempoc.err
    assert tempoc("run powers.rt --bounds T=3 --check ,") == 2


STEPS = """import nn
dim t < T
input x[t]: f32[2]
h[0] = x[0]
h[t+1] = exp(log(x[t+1]) + h[t]) * 2.0
y = nn.softmax(x / h)
r = {a: [sum(x), exp(sum(h))], b: x}
print "seen", 1.0 / (x[t] - 1.0)
output h, y, r
"""


@pytest.mark.parametrize(
    ("values", "output", "label"),
    [
        ([[2, 2], [2, 0]], "h", "`log`[1] in h[t=1] becomes -inf"),
        ([[90, 2], [2, 2]], "h", "`exp`[0] in h[t=1] becomes inf"),
        ([[2, 0], [2, 2]], "y", "`div`[1] in y[t=0] becomes nan"),
        ([[50, 50], [1e-9, 1e-9]], "r", "r.a.1[t=0] becomes inf"),
        ([[2, 2], [2, 1]], "x", "`div`[1] in print[t=1] becomes inf"),
    ],
)
def test_values_are_named_as_in_the_source(
    values: list[list[float]], output: str, label: str, tempoc: Session
) -> None:
    """By the tensor and the point that the equation defines; `eval` and `run` agree."""
    shown = STEPS.replace("output h, y, r", f"output {output}")
    if output != "x":
        shown = "\n".join(line for line in shown.split("\n") if not line.startswith("print"))
    Path("steps.rt").write_text(shown, encoding="utf-8")
    np.save("x.npy", np.array(values, np.float32))
    for command in ("eval", "run"):
        assert tempoc(f"{command} steps.rt --input x=x.npy --check finite") == 3
        assert f"error[RT317]: {label}" in tempoc.err.replace("print.value", "print")
        assert tempoc.err.count("error[") == 1


def test_an_evaluation_that_passes_says_so(tempoc: Session) -> None:
    Path("powers.rt").write_text(POWERS, encoding="utf-8")
    assert tempoc("eval powers.rt --bounds T=20 --check overflow,finite --output a.npz") == 0
    assert tempoc.err == "check: overflow and finite: nothing found\n"
    assert tempoc("eval powers.rt --bounds T=30 --check overflow --output b.npz") == 3
    assert not Path("b.npz").exists()
    assert tempoc("eval powers.rt --bounds T=3 --check nan") == 2
