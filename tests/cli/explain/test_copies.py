"""`explain --copies`: what XLA updates in place, and what it copies."""

from __future__ import annotations

import re
import shutil
from pathlib import Path

import pytest

from tempoc.runtime.walk import blocks
from tests.cli.session import Session
from tests.support.examples import ROOT
from tests.support.golden import Golden


@pytest.mark.usefixtures("as_users")
def test_the_report(tempoc: Session, golden: Golden, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(blocks, "single_call_blocks", lambda *_: frozenset())
    shutil.copy(ROOT / "examples" / "03_heat_equation.rt", "heat.rt")
    for line in (
        "explain fib.rt --copies --bounds N=1000",
        "explain heat.rt --copies --bounds N=1000,T=9",
        "compile sums.rt -o out",
        "explain out --copies --bounds T=5",
    ):
        assert tempoc(line) == 0, line
    # What is temporary differs between versions of XLA.
    golden("cli/copies.txt", re.sub(r"  \d+$", "  ...", tempoc.text, flags=re.MULTILINE))


def test_wrong_questions(tempoc: Session, golden: Golden) -> None:
    for line, code in (
        ("explain fib.rt --copies", 1),
        ("explain fib.rt --copies --bounds M=3", 1),
        ("explain fib.rt --copies --bounds N=0", 1),
        ("explain fib.rt --copies --bounds N", 2),
    ):
        assert tempoc(line) == code, line
    golden("cli/copies_errors.txt", tempoc.text)


def test_a_function_that_jax_cannot_trace(tempoc: Session) -> None:
    text = 'extern jax f(x: f32) -> (y: f32) from "math:sin"\ndim t < T\nx[0] = 1.\n'
    Path("bad.rt").write_text(text + "x[t+1] = f(x[t])\noutput x\n", encoding="utf-8")
    assert tempoc("explain bad.rt --copies --bounds T=4") == 1
    assert "f (math:sin) raised" in tempoc.err
    assert "bad.rt:4: x[t+1] = f(x[t])" in tempoc.err


def test_functions_in_another_folder(tempoc: Session) -> None:
    text = 'extern jax f(x: f32) -> (y: f32) from "afar:f"\ndim t < T\nx[0] = 1.\n'
    Path("afar.rt").write_text(text + "x[t+1] = f(x[t])\noutput x\n", encoding="utf-8")
    Path("lib").mkdir()
    Path("lib", "afar.py").write_text("def f(x):\n    return 2 * x\n", encoding="utf-8")
    assert tempoc("explain afar.rt --copies --bounds T=4") == 1
    assert "there is no Python module afar" in tempoc.err
    assert tempoc("explain afar.rt --copies --bounds T=4 --extern-path lib") == 0
    assert tempoc("explain afar.rt --cost --extern-path lib") == 2
    assert "--extern-path belongs to --copies and --capture" in tempoc.err
