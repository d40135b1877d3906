"""`explain --capture`, as a person sees it on a machine without a GPU."""

from __future__ import annotations

import shutil

import pytest

from tests.cli.session import Session
from tests.support.examples import ROOT
from tests.support.golden import Golden


@pytest.mark.usefixtures("as_users")
def test_the_report(tempoc: Session, golden: Golden) -> None:
    for name in ("03_heat_equation", "11_collatz"):
        shutil.copy(ROOT / "examples" / f"{name}.rt", f"{name.split('_')[1]}.rt")
    for line, status in (
        ("explain heat.rt --capture", 0),
        ("explain collatz.rt --capture --bounds T=100", 0),
        ("compile heat.rt -o out", 0),
        ("explain out --capture --bounds N=100,T=50", 0),
        ("explain heat.rt --capture --bounds N=100", 1),
    ):
        assert tempoc(line) == status, tempoc.text
    golden("cli/capture.txt", tempoc.text)
