"""Nothing that a test writes is synced to the disk: nobody pulls the plug, and disks are slow.

The directory of a compiled program has more than a hundred files. To sync them takes several times
as long as to compile a small program. Child processes sync what they write; `synced` is for tests
that are about it.
"""

from __future__ import annotations

import os
from collections.abc import Iterator

import pytest

from tempoc.codegen.program import bundle

SYNC = os.fsync
"""What `os.fsync` is outside of tests."""


@pytest.fixture(scope="session", autouse=True)
def not_synced() -> Iterator[None]:
    """`os.fsync` does nothing, but to refuse what is no handle."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(os, "fsync", lambda handle: os.fstat(handle) and None)
        yield


@pytest.fixture
def synced(monkeypatch: pytest.MonkeyPatch) -> list[os.stat_result]:
    """Files and folders are synced, and listed here."""
    done: list[os.stat_result] = []

    def sync(handle: int) -> None:
        SYNC(handle)
        done.append(os.fstat(handle))

    monkeypatch.setattr(os, "fsync", sync)
    return done


@pytest.fixture
def without_runner() -> Iterator[None]:
    """Compiled programs come without the modules that run them: this process has these.

    To write and remove them takes as long as to compile a small program.
    """
    before = bundle._shipped
    bundle._shipped = dict  # type: ignore[assignment]  # no patch: equal programs are still compiled once
    yield
    bundle._shipped = before


@pytest.fixture
def with_runner() -> None:
    """Compiled programs are whole, for tests that start them."""
