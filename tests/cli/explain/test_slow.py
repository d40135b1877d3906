"""`explain --slow` and the last line of `run --stats`, as a person sees them."""

from __future__ import annotations

import shutil

import pytest

from tempoc.driver.compilation import Compilation
from tests.cli.session import Session
from tests.support.examples import ROOT
from tests.support.golden import Golden


@pytest.mark.usefixtures("as_users")
def test_the_report(tempoc: Session, golden: Golden) -> None:
    for name in ("07_causal_attention", "09_edit_distance", "16_large_vocabulary"):
        shutil.copy(ROOT / "examples" / f"{name}.rt", f"{name.split('_')[-1]}.rt")
    for line in (
        "explain attention.rt --slow",
        "explain distance.rt --slow --bounds M=100,N=50",
        "explain vocabulary.rt --slow --bounds T=5000",
        "compile distance.rt -o out",
        "explain out --slow --bounds M=100,N=50",
        "explain distance.rt -O1 --slow --bounds M=100,N=50",
    ):
        assert tempoc(line) == 0, tempoc.text
    golden("cli/slow.txt", tempoc.text)


def test_wrong_questions(tempoc: Session) -> None:
    for line, status in (
        ("explain fib.rt --slow --bounds M=3", 1),
        ("explain fib.rt --slow --bounds N=0", 1),
        ("explain fib.rt --slow --bounds N", 2),
        ("explain fib.rt --dump-schedule --bounds N=3", 2),
    ):
        assert tempoc(line) == status, line
    assert "--slow" in tempoc.err


def test_stats_end_with_what_costs_most(tempoc: Session, monkeypatch: pytest.MonkeyPatch) -> None:
    assert tempoc("compile fib.rt -o out") == 0
    assert tempoc("run fib.rt --bounds N=1000 --stats") == 0, tempoc.text
    last = tempoc.err.splitlines()[-1]
    assert last.startswith("costs most, as estimated: the loop over `n` on the device, 9"), last
    assert last.endswith("; `tempoc explain --slow` says why")
    # What is compiled is not compiled again for that.
    monkeypatch.setattr(Compilation, "from_directory", lambda directory: pytest.fail(directory))
    assert tempoc("run out --bounds N=1000 --stats") == 0, tempoc.text
    last = tempoc.err.splitlines()[-1]
    assert last == "`tempoc explain --slow` estimates what costs most, and says why"
