from __future__ import annotations

from pathlib import Path

import pytest

from tests.cli.session import Session, fill


@pytest.fixture
def tempoc(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Session:
    """Command lines in a fresh directory with programs and data."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "80")
    monkeypatch.delenv("TEMPOC_TRACEBACK", raising=False)
    fill(tmp_path)
    return Session(capsys)
