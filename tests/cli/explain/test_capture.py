"""`explain --capture`, as a person sees it on a machine without a GPU."""

from __future__ import annotations

import shutil

import pytest

from tempoc.diagnostics.diagnostic import RunError
from tempoc.runtime.device import backend
from tempoc.runtime.messages.run import no_device
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


def test_without_any_device(tempoc: Session, monkeypatch: pytest.MonkeyPatch) -> None:
    """`JAX_PLATFORMS=cuda` on a machine without a GPU."""

    def refuse() -> None:
        raise RunError(no_device("none of this kind", "cuda"))

    monkeypatch.setattr(backend, "check_device", refuse)
    monkeypatch.setattr(backend, "has_commands", lambda: pytest.fail("there is no device"))
    assert tempoc("explain fib.rt --capture") == 0, tempoc.text
    assert "JAX has no GPU here" in tempoc.out
    assert tempoc("explain fib.rt --copies --bounds N=9") == 1
    assert "RT556" in tempoc.err
