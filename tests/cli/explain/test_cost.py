"""`explain --cost`: operations, bytes and intensity as formulas and as numbers."""

from __future__ import annotations

import shutil

import pytest

from tests.cli.session import Session
from tests.support.examples import ROOT
from tests.support.golden import Golden


@pytest.mark.usefixtures("as_users")
def test_the_report(tempoc: Session, golden: Golden) -> None:
    for name in ("07_causal_attention", "16_large_vocabulary", "rl/gym"):
        shutil.copy(ROOT / "examples" / f"{name}.rt", f"{name.split('_')[-1].split('/')[-1]}.rt")
    for line in (
        "explain attention.rt --cost",
        "explain vocabulary.rt --cost --bounds T=5000",
        "explain gym.rt --cost",
        "explain fib.rt --cost --memory --bounds N=1000",
        "compile sums.rt -o out",
        "explain out --cost --bounds T=5",
    ):
        assert tempoc(line) == 0, tempoc.text
    golden("cli/cost.txt", tempoc.text)


def test_wrong_questions(tempoc: Session, golden: Golden) -> None:
    for line, code in (
        ("explain fib.rt --cost --bounds M=3", 1),
        ("explain fib.rt --cost --bounds N=0", 1),
        ("explain fib.rt --cost --bounds N", 2),
        ("explain fib.rt --cost --solve N", 2),
    ):
        assert tempoc(line) == code, line
    golden("cli/cost_errors.txt", tempoc.text)
